"""Exports of Label Studio: JSON, JSON_MIN, CSV, TSV and snapshots; predictions out.

Only the full JSON contains skips, drafts, predictions and deleted accounts; the flat forms do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from assay.data.annotations import Annotations
from assay.data.columns import KEY
from assay.data.formats import FormatSettings, Rows, one_answer_each
from assay.data.formats.platforms.intake import (
    AMBIGUOUS,
    DRAFT,
    EMPTY,
    SKIPPED,
    UNKNOWN_ANNOTATOR,
    Intake,
    PlatformAnswer,
    chosen_of_two,
    members,
    name_table,
    odd_of_three,
    own_id,
    parse_cell,
    set_of,
)
from assay.data.formats.tables import load_json, read_delimited
from assay.data.scales import Interval, Label, Nominal, Ordinal, Preference, Scale, Text
from assay.errors import DataError, counted, listing

SYSTEM_COLUMNS = {"id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time"}
"""Columns of the flat exports that are Label Studio's own."""

VALUES = {"rating": "rating", "number": "number", "choices": "choices", "textarea": "text", "pairwise": "selected"}
"""Types of control whose answer is a label, and the key of the answer."""

UNANSWERED = "task without an annotation"


def read_label_studio(path: Path, item: str | None, settings: FormatSettings) -> Rows:
    """Read annotations and predictions of an export; ``item`` is the field of the task's data with your item id."""
    reader = _Export(path, item, settings)
    scales = {} if settings.config is None else read_config(Path(settings.config))
    if path.suffix.lower() == ".json":
        tasks = load_json(path)
        if not isinstance(tasks, list) or not all(isinstance(t, dict) for t in tasks):
            raise DataError(f"{path} must contain a list of tasks, as Label Studio exports them")
        nested = any("annotations" in t or "predictions" in t for t in tasks)
    else:
        tasks, nested = read_delimited(path).to_dicts(), False
    if nested:
        if settings.unchosen_is_tie:
            stated = [c for c, s in scales.items() if isinstance(s, Preference)]
            reader.ties = [*dict.fromkeys(stated + _pairwise(tasks))]
        for task in tasks:
            reader.task(task)
    else:
        reader.flat(tasks, {*(settings.criteria or ()), *(c for c in scales if c is not None)})
    reader.offer(scales)
    return reader.intake.rows(settings.criteria)


class _Export:
    """Reader of one export."""

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        self.intake, self.item, self.settings = Intake(path), item, settings
        self.users = name_table(settings.users)
        self.shown = [settings.shown] if isinstance(settings.shown, str) else settings.shown
        if self.shown is not None and len(self.shown) not in (2, 3):
            raise DataError(
                f"shown=... requires the two or three fields shown next to each other; got {len(self.shown)}"
            )
        self.ties: list[str | None] = []
        """Pairwise controls for which an annotation without an answer means no preference."""
        self.types: dict[str, str] = {}
        self.tasks: dict[str, object] = {}
        """The first task of each item."""
        self.edited = self.prediction_ids = 0

    def offer(self, scales: Mapping[str | None, Scale]) -> None:
        """Add the notes, and the scales that the configuration or the control defines."""
        stated: dict[str, Scale] = {"number": Interval(), "textarea": Text(), "choices": Nominal()}
        for control, kind in self.types.items():
            if kind == "pairwise":
                self.intake.scales[control] = Preference()
                if self.shown is None:
                    self.intake.note(f"{control}: the left option is the first; name the fields with shown=[...]")
            elif control in scales:
                self.intake.scales[control] = scales[control]
            elif kind in stated:
                self.intake.scales[control] = stated[kind]
        if self.edited:
            self.intake.note(f"{counted(self.edited, 'annotation')} last changed by another user than the author")
        if self.prediction_ids:
            self.intake.note(
                f"{counted(self.prediction_ids, 'prediction')} given only by number; a snapshot with expanded "
                "predictions contains their answers"
            )
        if any(a.annotator.isdecimal() for a in self.intake.answers):
            self.intake.note("annotators are user numbers of one server; name them with users=...")

    def name_of(self, task: Mapping[str, Any], data: Mapping[str, Any], where: str) -> str:
        """The item's id."""
        own = own_id(self.item, data, where)
        if own is None:
            fields = listing([k for k in data if k not in SYSTEM_COLUMNS], 6)
            self.intake.note(f"items are named by task number; name your own field with item=... ({fields})")
            return str(task.get("id"))
        if self.tasks.setdefault(own, task.get("id")) != task.get("id"):
            self.intake.note("some items have several tasks: for each annotator, the later answer is used")
        return own

    def person(self, who: Any) -> str | None:
        """The name of the author of an annotation; None for a deleted account."""
        if isinstance(who, dict):
            who = who.get("email") or who.get("id")
        if who is None or str(who) in ("", "None"):
            return "unknown" if self.settings.keep_unknown else None
        return self.users.get(str(who), str(who))

    # -- full JSON ------------------------------------------------------------------------------

    def task(self, task: dict[str, Any]) -> None:
        """Read one task of the full JSON."""
        data = task.get("data") or {}
        name = self.name_of(task, data, f"{self.intake.source}, task {task.get('id')}")
        self.intake.item(name, data)
        for annotation in task.get("annotations") or ():
            self.annotation(annotation, task, name, data)
        for _ in task.get("drafts") or ():
            self.intake.exclude(DRAFT)
        for prediction in task.get("predictions") or ():
            if not isinstance(prediction, dict):
                self.prediction_ids += 1
            elif self.settings.predictions:
                self.prediction(prediction, task, name, data)

    def annotation(self, made: dict[str, Any], task: dict[str, Any], name: str, data: dict[str, Any]) -> None:
        """Read one annotation: skipped, empty, or an answer for each control."""
        if not isinstance(made, dict):
            raise DataError(f"{self.intake.source} contains only the numbers of annotations; export them in full")
        result = made.get("result") or []
        who = self.person(made.get("completed_by"))
        if made.get("was_cancelled"):
            return self.intake.exclude(SKIPPED)
        if not result:
            return self.intake.exclude(EMPTY)
        if who is None:
            return self.intake.exclude(UNKNOWN_ANNOTATOR, len(result))
        author = made.get("completed_by")
        author = author.get("id") if isinstance(author, dict) else author
        self.edited += made.get("updated_by") not in (None, author)
        about = {"seconds": made.get("lead_time"), "ground_truth": bool(made.get("ground_truth"))}
        answered = {r.get("from_name") for r in result}
        result = result + [{"from_name": c, "type": "pairwise", "value": {}} for c in self.ties if c not in answered]
        base = PlatformAnswer(
            name,
            who,
            f"task {task.get('id')}, annotation {made.get('id')}",
            time=made.get("created_at"),
            submission=("annotation", made.get("id"), made.get("unique_id")),
        )
        self.results(result, base, about, data)
        return None

    def prediction(self, made: dict[str, Any], task: dict[str, Any], name: str, data: dict[str, Any]) -> None:
        """Read one prediction as a judge's answers."""
        if not made.get("result"):
            return self.intake.exclude(EMPTY)
        judge = str(made.get("model_version") or "prediction")
        base = PlatformAnswer(
            name,
            judge,
            f"task {task.get('id')}, prediction {made.get('id')}",
            kind="judge",
            time=made.get("created_at"),
            submission=("prediction", made.get("id"), task.get("id"), id(made)),
        )
        self.results(made["result"], base, {}, data)
        return None

    def results(
        self, result: Sequence[dict[str, Any]], base: PlatformAnswer, about: dict[str, Any], data: Mapping[str, Any]
    ) -> None:
        """Add an answer for each control of one annotation or prediction."""
        for control, kind, raw in _controls(result):
            if raw is None and kind != "pairwise":
                self.intake.exclude(f"'{kind}': not a label of the whole item")
            else:
                self.answer(control, kind, raw, base, about, data)

    def answer(
        self, control: str, kind: str, raw: Any, base: PlatformAnswer, about: dict[str, Any], data: Mapping[str, Any]
    ) -> None:
        """Add one answer, with its position converted to the option."""
        self.types.setdefault(control, kind)
        label, extra = raw, dict(about)
        shown = None if self.shown is None else [str(own_id(f, data, base.where)) for f in self.shown]
        if kind == "pairwise":
            side = {"left": 0, "right": 1, None: None}.get(raw)
            label = {0: -1, 1: 1, None: 0}[side] if shown is None else chosen_of_two(shown, side)
            extra["position"] = None if side is None else side + 1
        elif shown is not None and len(shown) == 3 and kind == "choices" and raw in ("A", "B", "C"):
            label = odd_of_three(shown, "ABC".index(raw))
            extra["position"] = "ABC".index(raw) + 1
        if shown is not None:
            self.intake.item(base.item, members(shown))
        if label is None:
            return self.intake.exclude(AMBIGUOUS)
        self.intake.answers.append(replace(base, label=label, criterion=control, about=extra))
        return None

    # -- flat forms -----------------------------------------------------------------------------

    def flat(self, rows: list[dict[str, Any]], named: set[str]) -> None:
        """Read JSON_MIN, CSV and TSV: one row per annotation, with answers and data in columns."""
        kinds = {key: known[0] for row in rows for key, cell in row.items() if (known := _typed_cell(cell)) is not None}
        found = [*kinds, *sorted(named)] if named else [*kinds, *_varied(rows)]
        answers = [c for c in dict.fromkeys(found) if any(c in row for row in rows)]
        data_columns = [c for c in dict.fromkeys(k for r in rows for k in r) if c not in {*SYSTEM_COLUMNS, *answers}]
        if not answers:
            raise DataError(
                f"{self.intake.source}: a flat export does not distinguish answers from data; name the columns with "
                f"answers in criteria=[...] (columns: {listing(data_columns)}), or export as JSON"
            )
        self.intake.note("a flat export contains no skips, drafts, predictions and ground truth; JSON contains them")
        if not named:
            self.intake.note(
                f"answers: {listing(answers)}; assumed data: {listing(data_columns)} (if wrong, set criteria=[...])"
            )
        for row in rows:
            where = f"task {row.get('id')}, annotation {row.get('annotation_id')}"
            data = {c.removeprefix("_data_"): row[c] for c in data_columns if row.get(c) is not None}
            name = self.name_of(row, {**row, **data}, f"{self.intake.source}, {where}")
            self.intake.item(name, data)
            given = {c: row[c] for c in answers if _is_answer(row.get(c), kinds.get(c))}
            who = self.person(row.get("annotator"))
            if row.get("annotation_id") in (None, ""):
                self.intake.exclude(UNANSWERED)
            elif not given:
                self.intake.exclude(EMPTY)
            elif who is None:
                self.intake.exclude(UNKNOWN_ANNOTATOR, len(given))
            else:
                base = PlatformAnswer(name, who, where, time=row.get("created_at"), submission=row["annotation_id"])
                about = {"seconds": _seconds(row.get("lead_time"))}
                for control, cell in given.items():
                    kind, raw = _typed_cell(cell) or ("choices" if isinstance(cell, str) else "textarea", cell)
                    self.answer(control, kind, raw, base, about, {**row, **data})


def _varied(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns that differ between annotations of one task, as its data cannot."""
    cells: dict[str, dict[Any, set[str]]] = {}
    for row in rows:
        for name, cell in row.items():
            if name not in SYSTEM_COLUMNS and cell not in (None, ""):
                cells.setdefault(name, {}).setdefault(row.get("id"), set()).add(str(cell))
    return [name for name, tasks in cells.items() if any(len(values) > 1 for values in tasks.values())]


def _controls(result: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, Any]]:
    """(control, type, answer) of each result; the answer is None if it is not a label of the whole item."""
    for one in result:
        kind, value = str(one.get("type", "")), one.get("value") or {}
        # Other keys of a value (start, x, width …) select a region of the item.
        whole = kind in VALUES and set(value) <= {VALUES[kind]}
        raw = value.get(VALUES[kind]) if whole else None
        if isinstance(raw, list):
            raw = (set_of(raw) if kind == "choices" else "\n".join(map(str, raw))) or None
        yield str(one.get("from_name")), kind, raw


def _pairwise(tasks: Sequence[dict[str, Any]]) -> list[str | None]:
    """The Pairwise controls with at least one answer."""
    made = (one for task in tasks for one in task.get("annotations") or ())
    results = (r for one in made for r in one.get("result") or ())
    return [str(r.get("from_name")) for r in results if r.get("type") == "pairwise"]


def _typed_cell(cell: Any) -> tuple[str, Label] | None:
    """Type and answer of a flat cell that contains JSON; None for other cells."""
    value = parse_cell(cell)
    if isinstance(value, dict) and isinstance(value.get("choices"), list) and value["choices"]:
        return "choices", set_of(value["choices"])
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        for kind in ("rating", "number", "pairwise"):
            if set(value[0]) == {VALUES[kind]}:
                return kind, value[0][VALUES[kind]]
    return None


def _is_answer(cell: Any, kind: str | None) -> bool:
    """Whether a flat cell contains an answer; for unanswered controls, JSON_MIN has data of the same name."""
    if cell in (None, "", []):
        return False
    return kind in (None, "choices") or _typed_cell(cell) is not None


def _seconds(cell: Any) -> float | None:
    return None if cell in (None, "") else float(cell)


def read_config(path: Path) -> dict[str | None, Scale]:
    """Return the scales that a labelling configuration defines, by control."""
    try:
        root = ElementTree.fromstring(path.read_text("utf-8-sig"))
    except (OSError, ElementTree.ParseError) as error:
        raise DataError(f"{path} cannot be parsed as a labelling configuration: {error}") from None
    scales: dict[str | None, Scale] = {}
    for tag in root.iter():
        name = tag.get("name")
        if tag.tag == "Rating":
            scales[name] = Ordinal(1, int(tag.get("maxRating", 5)))
        elif tag.tag == "Number":
            low, high = tag.get("min"), tag.get("max")
            scales[name] = Interval() if low is None or high is None else Interval(float(low), float(high))
        elif tag.tag == "Pairwise":
            scales[name] = Preference()
        elif tag.tag == "TextArea":
            scales[name] = Text()
        elif tag.tag == "Choices":
            values = [c.get("alias") or c.get("value") or "" for c in tag.iter("Choice")]
            single = tag.get("choice", "single") != "multiple"
            scales[name] = Nominal(values) if single and values else Nominal()
    return scales


# -- writing ------------------------------------------------------------------------------------------


def write_label_studio(labels: Annotations, path: Path, *, field: str = "text") -> list[str]:
    """Write judge labels as predictions, one task per item, ready for Label Studio's import.

    The control is named by the criterion (``label`` if there is only one question) and labels the object
    ``field``; stars become Rating, other numbers Number, categories Choices, free text TextArea, and a
    preference Choices of first, tie and second, because Pairwise does not support ties.

    Returns
    -------
    list of str
        Everything that was not written, and why.
    """
    if not labels.judges:
        raise DataError(
            "Label Studio predictions are judge labels; the table contains none; name the judges with judges=[...]"
        )
    labels = one_answer_each(labels, "a prediction")
    judged = labels.labels.filter(labels.column("kind") == "judge")
    tasks: dict[str, dict[str, Any]] = {}
    about = {row["item"]: row for row in _item_fields(labels).iter_rows(named=True)}
    for row in judged.iter_rows(named=True):
        data = {k: v for k, v in about[row["item"]].items() if v is not None}
        task = tasks.setdefault(row["item"], {"data": data, "predictions": {}})
        criterion = row.get("criterion")
        result = _result(labels.scale_of(criterion), row["label"], criterion or "label", field)
        task["predictions"].setdefault(row["annotator"], []).append(result)
    written = [
        {
            "data": task["data"],
            "predictions": [
                {"model_version": judge, "result": result} for judge, result in task["predictions"].items()
            ],
        }
        for task in tasks.values()
    ]
    path.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", "utf-8")
    people = len(labels) - judged.height
    return [f"{counted(people, 'human label')} not written: predictions are labels of models"] if people else []


def _item_fields(labels: Annotations) -> pl.DataFrame:
    """The attributes of each item, including columns of the answers that have one value per item."""
    taken = {*KEY, "label", *labels.conditions, *labels.items.columns}
    rest = [c for c in labels.labels.columns if c not in taken]
    per_item = labels.labels.group_by("item").agg(pl.col(rest).n_unique())
    single = [c for c in rest if (per_item[c] == 1).all()]
    about = labels.labels.select("item", *single).unique("item", keep="first")
    table = labels.items.join(about, on="item", how="left", maintain_order="left")
    return table.select("item", *sorted(c for c in table.columns if c != "item"))


def _result(scale: Scale, label: Label, control: str, field: str) -> dict[str, Any]:
    value: dict[str, Any]
    if isinstance(scale, Preference):
        kind, value = "choices", {"choices": [{-1: "first", 0: "tie", 1: "second"}[int(label)]]}
    elif scale.numeric:
        whole = isinstance(scale, Ordinal)
        kind = "rating" if whole else "number"
        value = {kind: int(float(label)) if whole else float(label)}
    elif isinstance(scale, Text):
        kind, value = "textarea", {"text": [str(label)]}
    else:
        kind, value = "choices", {"choices": [str(label)]}
    return {"from_name": control, "to_name": field, "type": kind, "value": value}
