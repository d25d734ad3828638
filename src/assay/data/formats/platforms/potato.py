"""Output of potato: each user's ``user_state.json`` (the original), or its exports as a table or in JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from assay.data.formats import FormatSettings, Rows
from assay.data.formats.platforms.intake import (
    AMBIGUOUS,
    EMPTY,
    Intake,
    PlatformAnswer,
    chosen_of_two,
    is_number,
    members,
    number,
    odd_of_three,
    parse_cell,
    set_of,
)
from assay.data.formats.tables import json_objects, load_json, read_delimited
from assay.data.names import natural
from assay.data.scales import Interval, Nominal, OddOneOut, Ordinal, Preference, Scale, Text
from assay.errors import DataError

STATE = "user_state.json"
BOXES = ("free_response", "text_box", "bad_text")
"""Names of the boxes next to the choices of a question: words instead of a choice, or the mark of an unusable item."""

IN_WORDS = "words in a text box instead of a choice"
SHUFFLED = "shuffled on the screen in an order that the file does not contain"
Labels = dict[str, dict[str, Any]]
"""{schema: {label: value}}: the form in all outputs of potato."""


def read_potato(path: Path, item: str | None, settings: FormatSettings) -> Rows:
    """Read annotations of a project: its folder, ``annotation_output``, one ``user_state.json``, or an export.

    Exports are ``annotations`` with the suffix jsonl, csv, tsv or parquet. Items have potato's ids.
    """
    root, config_path = _project(path, None if settings.config is None else Path(settings.config))
    config = {} if config_path is None else _yaml(config_path)
    items = {} if config_path is None else _items(config_path.parent, config)
    shown = None if settings.shown is None else str(settings.shown)
    project = _Project(Intake(path), {s["name"]: s for s in config.get("annotation_schemes") or ()}, items, shown)
    for user, name, labels, about in _entries(root):
        project.entry(user, name, labels, about)
    for name, fields in items.items():
        project.intake.item(name, fields)
    for name, schema in project.schemes.items():
        scale = _scale(schema)
        if scale is not None:
            project.intake.scales[name] = scale
    return project.intake.rows(settings.criteria, texts=True)


class _Project:
    """Reader of one project."""

    def __init__(
        self, intake: Intake, schemes: dict[str, dict[str, Any]], items: dict[str, dict[str, Any]], shown: str | None
    ) -> None:
        self.intake, self.schemes, self.items, self.shown = intake, schemes, items, shown

    def entry(self, user: str, item: str, labels: Labels, about: dict[str, Any]) -> None:
        """Read all annotations of one user on one item."""
        changes, order = about.pop("changes", ()), about.pop("order", {})
        if not labels:
            self.intake.exclude(EMPTY)
        for schema, given in labels.items():
            triads = parse_cell(next(iter(given.values()), None))
            if not given or ("selection" in given and schema in order):
                self.intake.exclude(SHUFFLED if given else EMPTY)
            elif "selection" in given:
                self.intake.scales[schema] = Preference()
                label, position = self.read_preference(item, schema, str(given["selection"]))
                self.add(user, item, schema, label, {**about, "position": position})
            elif isinstance(triads, dict) and "triads" in triads:
                self.intake.scales[schema] = OddOneOut()
                for k, triad in enumerate(triads["triads"], 1):
                    name = item if len(triads["triads"]) == 1 else f"{item}#{k}"
                    odd, position = self.odd(item, name, schema, triad)
                    self.add(user, name, schema, odd, {**about, "position": position})
            elif self.is_written(schema, given):
                self.intake.scales[schema] = Text()
                self.add(user, item, schema, str(next(iter(given.values()))), about)
            else:
                declared = [str(one) for one in self.schemes.get(schema, {}).get("labels") or ()]
                chosen = {name: value for name, value in given.items() if name in declared or name not in BOXES}
                if chosen:
                    self.add(user, item, schema, self.ticked(schema, chosen, changes), about)
                else:
                    self.intake.exclude(IN_WORDS)

    def is_written(self, schema: str, given: Mapping[str, Any]) -> bool:
        """Whether an answer is text: by its schema, otherwise by the name of its one box."""
        kind = self.schemes.get(schema, {}).get("annotation_type")
        if len(given) != 1 or kind not in (None, "text"):
            return False
        ((name, value),) = given.items()
        return kind == "text" or name == "text_box" or (name == "text" and value not in ("on", "true", "text"))

    def add(self, user: str, item: str, schema: str, label: Any, about: dict[str, Any]) -> None:
        """Add one answer, or count it if the chosen option cannot be determined."""
        if label is None:
            self.intake.exclude(AMBIGUOUS)
        else:
            self.intake.answers.append(PlatformAnswer(item, user, f"{user}: {item}", label, schema, about=about))

    def read_preference(self, item: str, schema: str, selection: str) -> tuple[int | None, int | None]:
        """Preference and screen position of A, B or tie, which are positions in the item's own list."""
        if selection not in ("A", "B", "tie"):
            return None, None
        place = None if selection == "tie" else "AB".index(selection)
        names = self.listed(item, self.shown) if self.shown else []
        if len(names) == 2:
            self.intake.item(item, members(names))
            preferred = chosen_of_two(names, place)
        else:
            self.intake.note(f"{schema}: A is assumed to be the first; name the options A and B with shown=...")
            preferred = 0 if place is None else (-1, 1)[place]
        return preferred, None if place is None else place + 1

    def odd(self, item: str, name: str, schema: str, triad: list[str]) -> tuple[str | None, int | None]:
        """Letter in the item's own order and screen position of the odd one of three texts."""
        *texts, chosen = triad
        if len(texts) != 3 or chosen not in texts:
            return None, None
        field = self.schemes.get(schema, {}).get("items_field")
        own = self.listed(item, field) if field else []
        order = own if set(own) == set(texts) else list(natural(texts))
        self.intake.item(name, dict(zip(("first", "second", "third"), order, strict=False)))
        place = texts.index(chosen)
        return odd_of_three(texts, place, order), place + 1

    def listed(self, item: str, field: str) -> list[str]:
        """The options that an item compares, in its own order."""
        values = self.items.get(item, {}).get(field)
        return [str(v) for v in values] if isinstance(values, list) else []

    def ticked(self, schema: str, given: dict[str, Any], changes: Sequence[Mapping[str, Any]]) -> Any:
        """The ticked choice of likert, radio or multiselect, whose names are the keys."""
        kind = self.schemes.get(schema, {}).get("annotation_type")
        chosen = [str(v if k == schema else k) for k, v in given.items()]
        if kind in ("slider", "number"):
            chosen = [str(v) for v in given.values()]
        if len(chosen) == 1 or kind == "multiselect":
            if kind not in ("likert", "slider", "number"):
                return set_of(chosen)
            return next((number(one) for one in (*chosen, *map(str, given.values())) if is_number(one)), None)
        if kind not in ("likert", "radio"):
            self.intake.note(f"{schema}: several labels on an item are assumed to be a set; to check, set config=...")
            return set_of(chosen)
        # Old versions stored both answers of a user who changed the answer: the last change decides.
        mine = [c for c in changes if c.get("schema_name") == schema and str(c.get("new_value")) in chosen]
        mine = [c for c in mine if kind != "likert" or is_number(str(c["new_value"]))]
        last = max(mine, key=lambda c: c.get("timestamp") or 0, default=None)
        return None if last is None else number(last["new_value"]) if kind == "likert" else str(last["new_value"])


def _project(path: Path, config: Path | None) -> tuple[Path, Path | None]:
    """The folder of the annotations, and the configuration if there is one."""
    if path.is_dir():
        root = path / "annotation_output" if (path / "annotation_output").is_dir() else path
        found = [p for p in (path / "config.yaml", root.parent / "config.yaml") if p.is_file()]
        return root, config or (found[0] if found else None)
    return path, config


def _entries(root: Path) -> Iterator[tuple[str, str, Labels, dict[str, Any]]]:
    """(user, item, labels, about) of every item that a user has opened."""
    if root.is_dir():
        states = sorted(root.glob(f"*/{STATE}")) or sorted(root.glob(STATE))
        if not states:
            raise DataError(f"{root} contains no user's folder with {STATE}; name the project's folder or an export")
        for state in states:
            yield from _state(state)
    elif root.name == STATE:
        yield from _state(root)
    elif root.suffix.lower() in (".csv", ".tsv"):
        for row in read_delimited(root).to_dicts():
            labels: Labels = {}
            for column, value in row.items():
                schema, dot, name = column.partition(".")
                if dot and value is not None:
                    labels.setdefault(schema, {})[name] = value
            yield row["user_id"], row["instance_id"], labels, {}
    elif root.suffix.lower() in (".parquet", ".pq"):
        for row in pl.read_parquet(root).to_dicts():
            item, user = str(row.pop("instance_id")), str(row.pop("user_id"))
            chosen = {k: v if isinstance(v, list) else [v] for k, v in row.items() if v is not None}
            names = {k: [f"{one:g}" if isinstance(one, float) else str(one) for one in v] for k, v in chosen.items()}
            yield user, item, {k: dict(zip(v, v, strict=True)) for k, v in names.items()}, {}
    else:
        for row in json_objects(root):
            yield str(row["user_id"]), str(row["instance_id"]), row.get("labels") or {}, {}


def _state(path: Path) -> Iterator[tuple[str, str, Labels, dict[str, Any]]]:
    state = load_json(path)
    behaviour = state.get("instance_id_to_behavioral_data") or {}
    for item, pairs in (state.get("instance_id_to_label_to_value") or {}).items():
        labels: Labels = {}
        for key, value in pairs:
            labels.setdefault(key["schema"], {})[key["name"]] = value
        seen = behaviour.get(item) or {}
        about: dict[str, Any] = {"changes": seen.get("annotation_changes") or ()}
        about["order"] = (state.get("instance_id_to_presentation_order") or {}).get(item) or {}
        if seen.get("total_time_ms") is not None:
            about["seconds"] = seen["total_time_ms"] / 1000
        yield str(state.get("user_id") or path.parent.name), item, labels, about


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise DataError(f"{path} cannot be read as potato's configuration: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} is not potato's configuration: it contains no settings")
    return found


def _items(folder: Path, settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The items of the project's data files, by id."""
    key = (settings.get("item_properties") or {}).get("id_key", "id")
    items: dict[str, dict[str, Any]] = {}
    for name in settings.get("data_files") or ():
        file = folder / str(name)
        if not file.is_file():
            continue
        if file.suffix in (".csv", ".tsv"):
            found = read_delimited(file).to_dicts()
        elif file.suffix == ".json" and not file.read_text("utf-8-sig").lstrip().startswith("{"):
            found = load_json(file)
        else:
            found = json_objects(file)
        items.update({str(row[key]): {k: v for k, v in row.items() if k != key} for row in found if key in row})
    return items


def _scale(schema: Mapping[str, Any]) -> Scale | None:
    """The scale that a schema of the configuration defines."""
    kind = schema.get("annotation_type")
    if kind == "likert" and schema.get("size"):
        return Ordinal(1, int(schema["size"]))
    if kind == "slider" and {"min_value", "max_value"} <= set(schema):
        return Interval(float(schema["min_value"]), float(schema["max_value"]))
    if kind == "radio" and schema.get("labels"):
        names = [str(one["name"]) if isinstance(one, dict) else str(one) for one in schema["labels"]]
        return Nominal(names)
    return {"text": Text(), "multiselect": Nominal(), "pairwise": Preference(), "triad_test": OddOneOut()}.get(
        str(kind)
    )


def is_potato(folder: Path) -> bool:
    """Whether a folder is a potato project or its output."""
    return any(True for pattern in (f"*/{STATE}", f"annotation_output/*/{STATE}") for _ in folder.glob(pattern))


def is_potato_line(line: str) -> bool:
    """Whether a line is from potato's JSON Lines export."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return False
    return isinstance(row, dict) and {"instance_id", "user_id", "labels"} <= set(row)
