"""The formats that `assay.read` supports, by name, and how a file of each is recognised.

Recognition inspects only the beginning of a file, and only properties that no plain table has. If it is
not certain, the file is read as a plain table, and the user can specify ``format=...``.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import polars as pl

from assay.data import words as sentences
from assay.data.annotations import Annotations, from_frame
from assay.data.columns import BLANK, SPLIT_DETAILS, FrameSettings, Reading, drop_blank_rows, whole_ids
from assay.data.formats import FormatSettings, KeyColumns, Rows, tables
from assay.data.formats.nested.objects import CROSS
from assay.data.formats.platforms.intake import OFF_SCALE, is_number
from assay.data.formats.platforms.label_studio import read_label_studio
from assay.data.formats.platforms.mturk import read_mturk
from assay.data.formats.platforms.paths import (
    ARGILLA_SETTINGS,
    Argilla,
    DeepEval,
    Inspect,
    LmEval,
    MLflow,
    Prodigy,
    Promptfoo,
)
from assay.data.formats.platforms.potato import is_potato, is_potato_line, read_potato
from assay.data.formats.platforms.scores import ScoreTable
from assay.data.formats.sheets import PACKED, SPREADSHEETS, TEXTS, standard_input, unpack
from assay.data.formats.tables import (
    COLUMNS,
    is_alt_test,
    is_arena,
    is_dataset,
    naming,
    read_alt_test,
    read_arena,
    read_hugging_face,
    read_table,
)
from assay.data.joining import Match, differ, match_ids, rename_ids
from assay.data.names import model_names, natural, questions_split, spelling_key, strip_spaces
from assay.data.scales import Nominal, Preference, Scale
from assay.data.structure.annotators import of_one
from assay.data.structure.cells import shared_key
from assay.data.structure.finder import find_structure
from assay.data.structure.readings import MOST_READINGS, UnclearTableError, of_several, readings_of, unclear
from assay.data.structure.role_names import called, called_people, human_names, loose_criteria, plain_name
from assay.data.structure.roles import IGNORED, PLACE, ROWS, Choice, Doubt, Layout, Role, Stated, Structure
from assay.data.structure.sides import PAIR_OF
from assay.data.values import infer_scale, points_note, valid_as_written, words_of
from assay.errors import AssayError, DataError, DesignError, counted, listing, unknown
from assay.estimation.options import hints_of, option
from assay.plugins import Registry

HEAD = 64 * 2**10
"""Bytes at the beginning of a file in which a platform's marks are searched: some records of any of them."""


class Beginning:
    """The beginning of a file (or the contents of a folder), read once for all formats."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder, self.suffix = path, path.is_dir(), path.suffix.lower()

    @cached_property
    def text(self) -> str:
        """The first characters of a text file."""
        if self.folder or self.suffix in (".parquet", ".pq", ".eval", *tables.ARROW, *tables.SPSS, *SPREADSHEETS):
            return ""
        with self.path.open("rb") as file:
            return file.read(HEAD).decode("utf-8-sig", errors="replace")

    @cached_property
    def first_line(self) -> str:
        """The header of a CSV file, the first object of JSON Lines."""
        return self.text.partition("\n")[0].strip()

    @cached_property
    def columns(self) -> set[str]:
        """Column names of a CSV, TSV or Parquet file."""
        if self.suffix in (".parquet", ".pq"):
            try:
                return set(pl.read_parquet_schema(self.path))
            except (pl.exceptions.PolarsError, OSError):
                return set()
        if self.suffix in (".csv", ".tsv"):
            return {c.strip().strip('"') for c in re.split(r"[,;\t|]", self.first_line)}
        return set()

    def has(self, name: str) -> bool:
        """Whether a table has a column, or a JSON text objects with a key, of this name."""
        return name in self.columns or self.keys(name)

    def keys(self, *names: str) -> bool:
        """Whether a JSON text begins with objects that have all these keys."""
        in_json = self.suffix in (".json", ".jsonl", ".ndjson")
        return in_json and all(re.search(rf'"{re.escape(n)}"\s*:', self.text) for n in names)


@dataclass(frozen=True)
class Format:
    """One format: its name and description, and how it is read and recognised."""

    name: str
    about: str
    read: Callable[[Path, Any, FormatSettings], Rows]
    """The file, the field with the user's item id, the options."""
    recognises: Callable[[Beginning], bool]
    options: tuple[str, ...] = ()
    """The `FormatSettings` that its reader uses."""
    joins_items: bool = False
    """Whether several columns can name its items together."""

    def options_from(self, texts: Iterable[str]) -> dict[str, Any]:
        """Parse options from the command line: ``users=users.json``, ``shown=left,right``, ``predictions=no``."""
        found: dict[str, Any] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            if not equals:
                raise DataError(f"an option is written NAME=VALUE; got '{text}'")
            self._check(name)
            hint = str(hints_of(FormatSettings)[name][0])
            if "bool" in hint:
                if value.lower() not in ("yes", "no", "true", "false"):
                    raise DataError(f"option '{name}' is yes or no; got '{value}'")
                found[name] = value.lower() in ("yes", "true")
            else:
                several = "Sequence[str]" in hint and ("," in value or "str | " not in hint)
                found[name] = value.split(",") if several else value
        return found

    def _check(self, option: str) -> None:
        if option == "judge" and option not in self.options:
            raise DataError(f"for a {self.name}, name the judges with judges=['...'], not judge=...", option=option)
        if option not in self.options:
            raise DataError(unknown("option", option, self.options, f"format '{self.name}'"), option=option)

    def rows(self, path: Path, item: str | tuple[str, ...] | None, settings: FormatSettings) -> Rows:
        """Read a file of this format; other formats' options are refused."""
        for name in format_options(settings):
            self._check(name)
        if isinstance(item, tuple) and not self.joins_items:
            raise DesignError(
                f"{path}: in the format '{self.name}' one field contains the item id, but item=... names "
                f"{listing(item)}; give one of them",
                option="item", value=item,
            )  # fmt: skip
        with naming(path, self.about.partition(":")[0]):
            return self.read(path, item, settings)


def _label_studio(file: Beginning) -> bool:
    tasks = file.keys("data") and (file.keys("annotations", "was_cancelled") or file.keys("annotations", "predictions"))
    flat = ("annotation_id", "annotator", "lead_time", "updated_at")
    predictions = file.keys("data", "predictions", "model_version", "from_name")
    return tasks or predictions or file.keys(*flat) or set(flat) <= file.columns


def _argilla(file: Beginning) -> bool:
    if file.folder:
        tables = (Beginning(one) for pattern in ("*.parquet", "data/*.parquet") for one in file.path.glob(pattern))
        return (file.path / ARGILLA_SETTINGS).is_file() or any(_argilla(one) for one in tables)
    flat = any(c.endswith(".responses.users") for c in file.columns) or '.responses.users"' in file.text
    return flat or file.keys("fields", "responses", "suggestions", "_server_id")


def _potato(file: Beginning) -> bool:
    if file.folder:
        return is_potato(file.path)
    # A sheet has a column for each choice (schema.choice), Parquet one for each schema.
    if {"instance_id", "user_id"} < file.columns:
        rest = file.columns - {"instance_id", "user_id"}
        in_parquet = file.suffix in (".parquet", ".pq")
        return not rest & {"label", "labels", "annotation", "value"} if in_parquet else all("." in one for one in rest)
    state = file.path.name == "user_state.json" and file.keys("instance_id_ordering")
    return state or (file.suffix == ".jsonl" and is_potato_line(file.first_line))


SCORES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "langfuse": (("traceId", "trace_id"), ("name",), ("value",), ("source", "annotator"), ("dataType", "data_type")),
    "phoenix": (("span_id", "trace_id", "session_id", "id"), ("annotator_kind",)),
    "langsmith": (
        ("run_id",), ("key",), ("score",), ("feedback_source", "feedback_source.type", "feedback_source_type"),
    ),
    "mlflow": (("assessment_name", "assessment_id", "trace_id"), ("source_type", "source.source_type")),
}  # fmt: skip
"""The columns that recognise a platform's tables of scores; one of each tuple."""


def platform_of(has: Callable[[str], bool]) -> str | None:
    """Return the platform whose tables of scores have these columns; None if there is none."""
    return next((name for name, marks in SCORES.items() if all(any(map(has, names)) for names in marks)), None)


def _scores(name: str, title: str) -> Format:
    """The format of a platform's table of scores."""
    recognises: Callable[[Beginning], bool] = lambda file: platform_of(file.has) == name  # noqa: E731
    return Format(name, f"{title}: tables of scores", partial(ScoreTable.of, name), recognises, ("criteria", "judge"))


def _read_mlflow(path: Path, item: Any, settings: FormatSettings) -> Rows:
    is_table = platform_of(Beginning(path).has) == "mlflow" and not Beginning(path).has("assessments")
    return ScoreTable.of("mlflow", path, item, settings) if is_table else MLflow.read(path, item, settings)


def _mlflow(file: Beginning) -> bool:
    if platform_of(file.has) == "mlflow":
        return True
    if file.keys("columns", "data"):
        return re.search(r'/v\d+/score"', file.text) is not None
    return file.keys("assessments", "trace_id") or any(re.search(r"/v\d+/score$", c) for c in file.columns)


def _hugging_face(file: Beginning) -> bool:
    line = file.first_line
    return file.suffix == ".jsonl" and all(re.search(rf'"{key}":\s*\[', line) for key in ("annotator", "label"))


FORMATS = Registry("assay.formats", Format, {
    f.name: f
    for f in (
        Format(
            "alt-test", "folder with human_annotations.json", lambda path, *_: read_alt_test(path),
            lambda file: file.folder and is_alt_test(file.path), joins_items=True,
        ),
        Format(
            "label-studio", "Label Studio: JSON, JSON_MIN, CSV, TSV, snapshots", read_label_studio, _label_studio,
            ("criteria", "users", "config", "shown", "predictions", "keep_unknown", "unchosen_is_tie"),
        ),
        Format(
            "argilla", "Argilla: records.json, flat records, Hub parquet", Argilla.read, _argilla,
            ("criteria", "users", "settings", "rankings", "suggestions"),
        ),
        Format(
            "prodigy", "Prodigy: JSON Lines of db-out", Prodigy.read,
            lambda file: file.suffix == ".jsonl" and file.keys("_input_hash", "_task_hash", "answer"),
            ("criteria", "dataset", "question", "pair"),
        ),
        Format(
            "potato", "potato: project folder, user_state.json, exports", read_potato, _potato,
            ("criteria", "config", "shown"),
        ),
        Format(
            "mturk", "Amazon Mechanical Turk: batch CSV", read_mturk,
            lambda file: "WorkerId" in file.columns and any(c.startswith("Answer.") for c in file.columns),
            ("criteria", "numbered", "swap", "rejected", "workers", "salt"),
        ),
        Format(
            "inspect-ai", "Inspect AI: .eval and .json logs", Inspect.read,
            lambda file: file.suffix == ".eval" or file.keys("version", "status", "eval", "task_id"),
            ("criteria", "judge", "with_model"),
        ),
        Format(
            "promptfoo", "promptfoo: results.json, results.jsonl", Promptfoo.read,
            lambda file: file.keys("gradingResult", "testIdx", "promptIdx") or file.keys("evalId", "results")
            or {"Status", "Score", "Named Scores", "Grader Reason"} <= file.columns,
            ("criteria", "judge", "value"),
        ),
        Format(
            "deepeval", "DeepEval: test_run_*.json, .latest_test_run.json", DeepEval.read,
            lambda file: file.keys("testCases", "metricsData") or file.keys("testRunData"),
            ("criteria", "judge", "value"),
        ),
        Format(
            "lm-eval", "lm-evaluation-harness: samples_TASK_TIME.jsonl", LmEval.read,
            lambda file: file.keys("doc_id", "filtered_resps", "metrics"), ("criteria", "judge"),
        ),
        Format(
            "mlflow", "MLflow: evaluation tables, traces, assessments", _read_mlflow, _mlflow, ("criteria", "judge")
        ),
        _scores("langfuse", "Langfuse"), _scores("phoenix", "Phoenix"), _scores("langsmith", "LangSmith"),
        Format(
            "arena", "pairwise comparisons: model_a, model_b, winner", lambda path, item, _: read_arena(path, item),
            lambda file: is_arena(file.columns) or (file.keys(*COLUMNS) and not file.keys("label")), joins_items=True,
        ),
        Format(
            "hugging-face", "JSON Lines, one item per line with lists of labels",
            lambda path, *_: read_hugging_face(path), _hugging_face, joins_items=True,
        ),
        Format(
            "table", "CSV, TSV, spreadsheets, JSON, JSON Lines, Parquet",
            lambda path, _, settings: read_table(path, _one_sheet(settings)), lambda _: True, ("sheet",),
            joins_items=True,
        ),
    )
})  # fmt: skip
"""Every format by name, those of installed packages included (`assay.plugins`)."""


def format_options(settings: FormatSettings) -> list[str]:
    """Return the options of formats that differ from their default."""
    return [name for name in settings.changed() if name in hints_of(FormatSettings)]


def format_of(path: Path, name: str = "auto") -> Format:
    """Return the format with that name; with ``auto``, the format that is recognised."""
    if name == "auto":
        with naming(path):
            file = Beginning(path)
            every = FORMATS.everything() if FORMATS.further else FORMATS
            # A plain table recognises everything, so it comes last.
            return next(f for f in sorted(every.values(), key=lambda f: f.name == "table") if f.recognises(file))
    if name not in FORMATS and name not in FORMATS.further:
        raise DataError(
            unknown("format", name, FORMATS.names, f"the formats that are read: auto, {listing(FORMATS.names, 20)}")
        )
    return FORMATS[name]


# -- from files to the one table -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadSettings(FrameSettings, FormatSettings):
    """How a file, a folder or a frame is read, and the roles of its columns."""

    item: str | int | Sequence[str | int] = option(  # type: ignore[assignment]  # a frame's item is one column
        "item",
        "Column with the item id.",
        first=True,
        details="Several columns together are one id. In a platform export: the field with your item id; by default "
        "the platform's id.",
    )
    label: str | int | Sequence[str | int] = option(  # type: ignore[assignment]
        "label", "Column with the label.", first=True, details="Several columns are one criterion each."
    )
    layout: Layout = option(
        "auto",
        "One row per label (`long`), per item (`wide`) or per annotator (`transposed`).",
        details="`auto` detects it: a table with columns of item, annotator and label is long. For other tables, the "
        "rows decide the roles of columns, which are reported in `reading`. If several readings are left, the error "
        "has the call of each; see `assay.look`.",
    )
    columns: Sequence[str | int] | None = option(
        None,
        "Label columns of a wide table, or item columns of a transposed one.",
        details="By default all columns that could contain labels; `reading` reports these and the ignored columns.",
    )
    split_columns: str | None = option(
        None,
        "What the column names of a wide table say, such as `annotator_criterion`; `criterion` for one annotator.",
        details="`annotator / criterion` reads `Ann / clarity`, `criterion_annotator` reads `clarity_ann`; the text "
        "between the two words is the separator. `annotator_repeat` reads `A_1` and `A_2` as two labels of A. "
        "`criterion` reads columns as the criteria of one annotator, whom `humans=['ann']` or `judges=['gpt-4o']` "
        "names; `repeat` reads them as repeated labels, and `item` or `item_criterion` as parts of the item, such as "
        "rated systems. Of `clarity` next to `gpt4_clarity` (or, in the other order, `clarity_gpt4`), the annotator is "
        "`human`; next to "
        "`human_clarity`, it is `judge`.",
    )
    format: str = option(
        "auto",
        "File format: auto, or a platform such as label-studio, argilla, prodigy or mturk.",
        details="Exports are recognised by marks that no plain table has; otherwise name the format: "
        f"{', '.join(f'`{name}`' for name in sorted(FORMATS.names, key=lambda n: n != 'table'))}.",
    )

    match: Match = option(
        "exact",
        "How item ids of several files match.",
        details="Without an exact match, `loose` also matches ids that differ in case, punctuation or leading zeros, "
        "`How helpful? [Answer 1]` with `Answer 1`, paths with names of files, ids with a prefix or suffix that all of "
        "a file share, such as `-run1`, and numbered ids by their number; also a single criterion that files call by "
        "different names. `reading` shows the matches.",
    )
    what: Literal["labels", "votes", "triplets", "outputs", "spans"] = option(
        "labels",
        "Of a study: all labels, only votes or choices of triplets, the outputs of its systems, or marked spans.",
        details="With outputs, each system is an annotator, and each of its outputs of an item a repeat; `output_id` "
        "is the item id of an output in ratings, votes and triplets.",
    )

    split_item: str | None = option(
        "auto",
        "Split criteria off item ids such as `img_7__Color`: auto, no, the separator or a regular expression.",
        details="With `auto`, item ids such as `img_7__Color` are split into item and criterion if all of them show "
        "this structure: a few words after the last `__`, each for most items, and no column of criteria. "
        "`reading` reports it. " + SPLIT_DETAILS,
    )

    @property
    def names_roles(self) -> bool:
        """Whether the user names the columns of annotators or labels, as for a plain table."""
        return self.annotator != "annotator" or self.label != "label" or self.layout != "auto"

    def own_item(self) -> str | tuple[str, ...] | None:
        """Return the field, or fields, that the user names as the item id."""
        if isinstance(self.item, str | int):
            return None if self.item == "item" or isinstance(self.item, int) else self.item
        names = tuple(map(str, self.item))
        return names[0] if len(names) == 1 else names


def read_labels(path: Path, scale: Scale | Mapping[str, Scale] | None) -> Annotations:
    """Read a file of labels with the usual column names, and of items whose ids are known."""
    settings = ReadSettings(scale=scale, split_item="no")
    return annotations_of(rows_of(existing_path(path), settings), settings)


def existing_path(source: str | os.PathLike[str]) -> Path:
    """Return the path of an existing file or folder.

    Raises
    ------
    DataError
        If it does not exist; the message has the nearest name.
    """
    if os.fspath(source) in ("-", "/dev/stdin"):
        return standard_input()
    if re.match(r"https?:/", os.fspath(source)):
        raise DataError(f"'{os.fspath(source)}' is an address: download the file and give its path")
    path = Path(source).expanduser()
    if not path.exists():
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], n=1)
        hint = f"; did you mean '{path.parent / near[0]}'?" if near else ""
        raise DataError(f"the file or folder '{path}' does not exist{hint}")
    return path


def rows_of(path: Path, settings: ReadSettings) -> Rows:
    """Read the rows of a file or folder in any format."""
    if path.suffix.lower() in PACKED and (inside := unpack(path)) is not None:
        try:
            rows = rows_of(inside[0], settings)
        except AssayError as error:
            error.args = (str(error).replace(str(inside[0]), inside[1]),)
            raise
        return replace(rows, reading=replace(rows.reading, source=inside[1]))
    chosen = format_of(path, settings.format)
    if chosen.name in SCORES and settings.format == "auto" and settings.names_roles:
        chosen = FORMATS["table"]
    if chosen.name == "table" and path.is_dir() and not is_dataset(path):
        kinds = [one.suffix for one in path.iterdir() if one.suffix.lower() in (*TEXTS, *SPREADSHEETS)]
        files = "a file in it"
        if len(kinds) > 1:
            files = f"files in it, such as {path / ('*' + Counter(kinds).most_common(1)[0][0])}"
        raise DataError(
            f"the folder '{path}' contains no study.yaml, no {tables.HUMANS} and no Parquet or Arrow files; "
            f"name {files}"
        )
    rows = chosen.rows(path, settings.own_item(), settings)
    places = chosen.name == "arena"
    return tables.votes_by_place(rows, settings.annotator, settings.named["judges"]) if places else rows


def _one_sheet(settings: FormatSettings) -> str | None:
    """The sheet to read; several are read one by one (`sheets_of`)."""
    return settings.sheet if settings.sheet is None or isinstance(settings.sheet, str) else settings.sheet[0]


def sheets_of(path: Path, settings: ReadSettings) -> list[Rows]:
    """Read the rows of a file, or of each of several sheets of a spreadsheet, whose sources then name the sheet."""
    if settings.sheet is None or isinstance(settings.sheet, str):
        return [rows_of(path, settings)]
    parts = [(name, rows_of(path, replace(settings, sheet=name))) for name in settings.sheet]
    return [replace(rows, reading=replace(rows.reading, source=f"{path}/{name}")) for name, rows in parts]


def _file_name(source: str) -> str:
    """The name of a file without its suffix, or of a sheet."""
    path = Path(source)
    return path.name if path.parent.suffix.lower() in SPREADSHEETS else path.stem


def annotations_of(rows: Rows, settings: ReadSettings) -> Annotations:
    """Convert rows to the one table.

    Raises
    ------
    UnclearTableError
        With all problems at once, and the readings that are left.
    """
    try:
        return table_of(rows, settings)
    except AssayError as first:
        if not first.advised and not first.choices:
            raise
        problems, readings = readings_left(rows, settings, first)
        if len(problems) == 1 and not isinstance(first, UnclearTableError):
            raise
        given = given_options(settings)
        readings = [(said, {**given, **more} if more else more) for said, more in readings]
        raise unclear(rows.reading.source, problems, readings) from first


MOST_REASON = 120
"""Characters of an error that follows an answer."""

_ROWS_NAMED = re.compile(r" \((?:item|rows?) [^()]*\)")
"""The rows that an error names, which are left out of such an error."""


def readings_left(rows: Rows, settings: ReadSettings, error: AssayError) -> tuple[list[str], list[Choice]]:
    """Return all problems of a table, and the readings that the user can choose between.

    Each reading is its answers in words and its options. Each has been tried on this table, and leads to another
    problem or to a table; an answer that needs another table has no options.
    """
    problems: list[str] = []
    found: list[Choice] = []
    source, tried = f"{rows.reading.source}: ", 0

    def follow(error: AssayError, said: str, options: Mapping[str, Any], *, listed: bool = True) -> None:
        nonlocal tried
        if listed:
            problems.extend(getattr(error, "problems", None) or [str(error).removeprefix(source)])
        before = len(problems)
        steps: Sequence[Choice] = error.choices or ([("", error.advised)] if error.advised else [])
        for words, more in steps:
            further, here = {**options, **more}, "; ".join(one for one in (said, words) if one)
            if not more:
                found.append((here, {}))
            elif further != options and tried < MOST_READINGS:
                tried += 1
                try:
                    table_of(rows, replace(settings, **further))
                except AssayError as next_error:
                    if next_error.advised or isinstance(next_error, UnclearTableError) or not here:
                        # Further problems are listed for one of the answers: others say the same in other words.
                        follow(next_error, here, further, listed=listed and len(problems) == before)
                    else:  # this answer leads to an error that another table has to resolve
                        if next_error.option in ("judges", "humans"):
                            continue  # names are no annotators in this reading, so it is not what the table means
                        why = _ROWS_NAMED.sub("", str(next_error).removeprefix(source))
                        why = why if len(why) < MOST_REASON else f"{why[:MOST_REASON]}..."
                        found.append((f"{here} (not yet: {why})", {}))
                else:
                    found.append((here, further))

    follow(error, "", {})
    return list(dict.fromkeys(problems)), found


def table_of(rows: Rows, settings: ReadSettings) -> Annotations:
    """Convert rows to the one table; the first problem is refused."""
    item, label, criterion = _text(settings.item), _text(settings.label), _text(settings.criterion)
    annotator, scale = _text(settings.annotator), settings.parsed_scale()
    if rows.scales is not None:
        said = (*rows.reading.apart,) if isinstance(scale, Scale) else (*(scale or ()),)
        apart = tuple(criterion for criterion in rows.reading.apart if criterion not in said)
        rows = replace(rows, reading=replace(rows.reading, apart=apart))
        rows, scale = settle_scales(rows, scale, settings.codes)
        item = "item"
    there, n_blank = drop_blank_rows(rows.labels)
    if n_blank:
        rows = replace(rows, labels=there, reading=rows.reading.without(BLANK, n_blank))
    if rows.scales is None:
        rows = tables.number_rows_of_items(rows, item, (annotator, _text(settings.repeat)), settings.named["judges"])
    if not isinstance(item, str):
        rows, item = tables.join_items(rows, item), "item"
    if not isinstance(label, str):
        rows, label, criterion = tables.stack_criteria(rows, label), "label", "criterion"
    if rows.scales is None:
        rows, settings = find_columns(rows, replace(settings, item=item, label=label, criterion=criterion))
        check = _numbers_wanted(scale) is not False
        rows, item, annotator, label, criterion = long_rows(rows, settings, check=check)
    leave = (item, annotator, criterion or "criterion", label, "_row")
    rows = _without_marks(rows, (*leave, "item", "annotator", "kind"), settings)
    if rows.untyped:
        rows = typed(rows, leave)
    frame = rows.labels
    reading = replace(rows.reading, as_text=rows.untyped or rows.reading.as_text, orders=rows.orders)
    options = {f.name: getattr(settings, f.name) for f in fields(FrameSettings)}
    if settings.split_item in ("auto", "no", None):
        unasked = settings.split_item == "auto"
        mark, notes = questions_split(frame, item, criterion or "criterion", pooled=not unasked)
        options["split_item"] = mark if unasked else None
        reading = replace(reading.add_notes(*notes), split_detected=unasked and mark is not None)
    tables_of = {"items": rows.items, "annotator_table": rows.annotators}
    about = {name: one for name, one in tables_of.items() if options[name] is None}
    reading = replace(reading, with_items="items" in about)
    roles = {"item": item, "annotator": annotator, "label": label, "criterion": criterion}
    read = FrameSettings(**{**options, **roles, **about, "reading": reading,
                             "scale": scale if settings.several is None else settings.scale})  # fmt: skip
    made, own = from_frame(frame, read), settings.own_item()
    pairs = PAIR_OF in (*made.labels.columns, *made.items.columns) and PAIR_OF not in frame.columns
    if "items" not in about and rows.items is not None and read.splitting is None and not pairs:
        made = made.with_unlabelled(
            rows.items.with_columns(strip_spaces(whole_ids(rows.items["item"]).cast(pl.String)))
        )
    if not isinstance(own, str) or read.splitting is not None:
        return made
    return made.also_called({own: PAIR_OF if pairs else "item"})


def _without_marks(rows: Rows, leave: Sequence[str | None], settings: ReadSettings) -> Rows:
    """The rows without marks of missing values in columns that describe answers, items or annotators."""
    frames: dict[str, Any] = {"labels": rows.labels, "items": rows.items, "annotators": rows.annotators}
    found: dict[str, list[str]] = {}
    for part, frame in frames.items():
        if frame is not None:
            frames[part], marks = tables.without_marks(frame, leave, settings.marks, untyped=rows.untyped)
            for mark, columns in marks.items():
                found[mark] = list(dict.fromkeys((*found.get(mark, ()), *columns)))
    notes = [sentences.marks_in_columns(mark, columns) for mark, columns in found.items()]
    return replace(rows, **frames, reading=rows.reading.add_notes(*notes))


def typed(rows: Rows, leave: Iterable[str | None]) -> Rows:
    """Convert the columns of numbers that a text file has, wherever they are: next to labels, or of items."""
    items, annotators = rows.items, rows.annotators
    if items is not None:
        items = tables.parse_numeric_columns(items, leave=("item",))
    if annotators is not None:
        annotators = tables.parse_numeric_columns(annotators, leave=("annotator",))
    labels = tables.parse_numeric_columns(rows.labels, leave=[name for name in leave if name is not None])
    return replace(rows, labels=labels, items=items, annotators=annotators)


def long_rows(rows: Rows, settings: ReadSettings, *, check: bool) -> tuple[Rows, str, str, str, str | None]:
    """Convert a table of any shape to a long one; also return its columns of item, annotator, label and criterion."""
    made = _long_rows(rows, settings, check=check)
    long, label = made[0], made[3]
    if settings.decimal is None and Path(rows.reading.source).suffix.lower() in TEXTS and label in long.labels:
        notes = points_note(long.labels[label], rows.labels, rows.reading.source)
        long = replace(long, reading=long.reading.add_notes(*notes)) if notes else long
    return long, *made[1:]


def _long_rows(rows: Rows, settings: ReadSettings, *, check: bool) -> tuple[Rows, str, str, str, str | None]:
    item, annotator, label, criterion = (
        _text(getattr(settings, role)) for role in ("item", "annotator", "label", "criterion")
    )
    if settings.layout not in ("wide", "transposed"):
        if {item, annotator, label} <= {*rows.labels.columns}:
            by = [one for one in {item: 0, criterion or "criterion": 0} if one in rows.labels.columns]
            named = [name for names in settings.named.values() for name in names]
            rows = tables.stack_criteria_of_named(rows, named, by, label, annotator)
            rows = tables.stack_named(rows, named, by, label, annotator)
        return rows, item, annotator, label, criterion
    columns = _text(settings.columns)
    if settings.layout == "transposed":
        rows = tables.transpose(rows, annotator, columns)
    else:
        within, judges = {"criterion": criterion, "repeat": _text(settings.repeat)}, settings.named["judges"]
        # Each criterion can have its own scale.
        check = check and "criterion" not in (settings.split_columns or "")
        rows = tables.unpivot(rows, item, columns, **within, judges=judges, check=check)
    if settings.layout == "wide" and settings.split_columns is not None:
        rows = tables.split_names(rows, settings.split_columns, [*settings.people])
        criterion = "criterion" if "criterion" in rows.labels.columns else criterion
    return rows, "item", "annotator", "label", criterion


def find_columns(rows: Rows, settings: ReadSettings, *, alone: bool = True) -> tuple[Rows, ReadSettings]:
    """Detect the columns that the user has not specified; refuse ambiguous tables.

    Raises
    ------
    UnclearTableError
        With all problems, and the readings that are left.
    """
    known = rows.labels.columns
    named = {role: str(getattr(settings, role)) for role in ("item", "annotator", "label")}
    shape = None if settings.layout == "auto" else settings.layout
    if shape in (None, "long") and all(name in known for name in named.values()):
        if settings.columns is not None:
            raise DataError("columns=... names the annotators of a wide table; also set layout='wide'")
        return rows, settings
    found = structure_of(rows, settings, alone=alone)
    answers = [options for one in found.questions for _, options in one.choices]
    rows = tables.number_rows(rows, [found.options, *answers])
    if found.errors:
        raise unclear(rows.reading.source, found.problems)
    if found.questions:
        raise unclear(rows.reading.source, found.problems, readings_of(found, given_options(settings)))
    options = dict(found.options)
    if isinstance(options.get("item"), list):
        rows = tables.join_items(rows, options["item"])
        options["item"] = "item"
    if isinstance(options.get("label"), list):
        rows = tables.stack_criteria(rows, options["label"])
        options |= {"label": "label", "criterion": "criterion"}
    if shape is None and found.shape != "long":
        options["layout"] = found.shape
    for why, names in found.rows.items():
        column = rows.labels[str(options.get("item", named["item"]))].cast(pl.String)
        away = strip_spaces(column).is_in(list(names)).fill_null(False)
        reading = rows.reading.without(f"{why}: {listing(names, 3)}", int(away.sum()))
        rows = replace(rows, labels=rows.labels.filter(~away), reading=reading)
    notes = found.notes() if settings.columns is None else sentences.left_out_notes(found.left_out)
    if found.shape != "long":
        # Ignored columns are not metadata of the items either: a column of means would reveal their labels.
        gone = found.named(*IGNORED) + (found.named("confidence") if found.shape == "transposed" else [])
        gone = [name for name in gone if name in rows.labels.columns]
        rows = replace(rows, labels=rows.labels.drop(gone))
    reading = replace(rows.reading.add_notes(*notes), left_out=tuple(found.left_out))
    return replace(rows, reading=reading), replace(settings, **options)


def structure_of(rows: Rows, settings: ReadSettings, *, alone: bool = True) -> Structure:
    """Find the structure of a table, with the columns that the user has specified.

    Without ``alone``, the table is one of several files, which can contain the labels of a single annotator.
    """
    known, source = rows.labels.columns, rows.reading.source
    absent: dict[str, str] = {}
    specified = {}
    asked = {
        "item": "the item", "annotator": "the annotator", "label": "the label", "criterion": "the criterion",
        "repeat": "the repeat",
    }  # fmt: skip
    for role, what in asked.items():
        name = getattr(settings, role)
        if name is None or str(name) in known or str(name) == ROWS:
            specified[role] = None if name is None else str(name)
        elif str(name) != role:
            absent[role] = unknown("column", str(name), known, source) + f" (it should contain {what})"
    if "label" not in settings.changed() and "label" in known and not rows.views["label"].could_be_labels:
        specified["label"] = None
    columns = None if settings.columns is None else tuple(map(str, settings.columns))
    for name in columns or ():
        if name not in known:
            raise DataError(unknown("column", name, known, source))
    kind = str(settings.kind) if settings.kind in known else None
    stated = Stated(
        **specified, kind=kind, columns=columns, judges=None if settings.judges is None else settings.named["judges"],
        humans=None if settings.humans is None else settings.named["humans"],
        shape=None if settings.layout == "auto" else settings.layout,
        exclude=None if settings.exclude is None else settings.excluded, split_columns=settings.split_columns,
        alone=alone, by_name=frozenset(role for role in asked if role not in settings.changed()),
        compared=rows.compared,
    )  # fmt: skip
    stating = {"layout", "columns", "item", "label", "annotator"} & {*settings.changed()}
    if not stating and (number := _number_of_first_row(rows.labels)) is not None:
        unknown_roles = tuple(Role(n, "unknown", "", v.examples(), "doubtful") for n, v in rows.views.items())
        return Structure("long", unknown_roles, errors=(sentences.numbered_first_row(number),))
    stating = {"layout", "columns", "label", "annotator", "split_columns"} & {*settings.changed()}
    if rows.keys is not None and not stating and {*rows.keys.columns} <= {*known}:
        found = _with_keys(rows, rows.keys, stated)
    else:
        found = find_structure(rows.labels, rows.views, stated)
    doubts = [Doubt(text, ((text, {role: found.options.get(role, role)}),)) for role, text in absent.items()]
    return replace(found, questions=(*doubts, *found.questions))


LEAST_CONTINUED = 3
"""Rows that continue the number above them, from which the first row of a file is no header."""

HEAD_OF_NUMBERS = 100
"""Rows whose numbers are compared with the name of the first column."""


def _number_of_first_row(frame: pl.DataFrame) -> int | None:
    """The name of the first column if it is a number that the cells below continue; None for other names."""
    name = next((n for n in frame.columns if n != "_row"), "")
    if not name.isdecimal() or frame.height < LEAST_CONTINUED:
        return None
    cells = frame[name].cast(pl.String, strict=False).str.strip_chars().head(HEAD_OF_NUMBERS).to_list()
    return int(name) if cells == [str(int(name) + k) for k in range(1, len(cells) + 1)] else None


def _with_keys(rows: Rows, keys: KeyColumns, stated: Stated) -> Structure:
    """Find the structure of a table with columns that were keys of objects, and ask what these are."""
    crossed = keys.who and keys.who != keys.columns
    rated = f"item{CROSS}criterion" if crossed else "item" if keys.who else "criterion"
    found = find_structure(rows.labels, rows.views, replace(stated, columns=keys.columns, split_columns=rated))
    options = {**found.options, "layout": "wide", "columns": [*keys.columns]}
    people = {role: [*named] for role in ("humans", "judges") if (named := getattr(stated, role))}
    alone = [("human" if "humans" in people else "judge", {**options, "split_columns": rated, **people})]
    one = alone if len(stated.people) == 1 else of_one({**options, "split_columns": rated})
    choices: list[Choice]
    if keys.who:
        models = model_names(keys.who)
        said = sentences.are_judges(models, [n for n in keys.who if n not in models]) if models else ""
        both = {**options, **({"split_columns": f"annotator{CROSS}criterion"} if crossed else {})}
        both |= {"judges": models} if models else {}
        choices = [(said or sentences.columns_are_annotators(keys.who), both)]
        choices += [(sentences.columns_are_rated(keys.who, who), answer) for who, answer in one]
        asked = Doubt(sentences.keys_are_rated(keys.who, keys.objects), tuple(choices))
    else:
        choices = [(sentences.answered_by_one(keys.columns, who), answer) for who, answer in one]
        choices += [] if one is alone else [(sentences.columns_are_annotators(keys.columns), options)]
        asked = Doubt(sentences.keys_are(keys.columns, keys.objects), tuple(choices))
    return replace(found, questions=(*found.questions, asked), options={**found.options, **choices[0][1]})


def given_options(settings: ReadSettings) -> dict[str, Any]:
    """Return the options that the user has specified."""
    return {name: value for name, value in settings.changed().items() if isinstance(value, str | int | tuple | dict)}


def _with_annotators_by_file(error: UnclearTableError, parts: Sequence[Rows]) -> UnclearTableError:
    """The error about one of several files, without readings in which a column that all files share says who answered.

    Such a column describes the items, such as the author of a text: the files are those of the annotators.
    """
    first = parts[0].labels
    shared = {n for n in first.columns if all(n in p.labels.columns and first[n].equals(p.labels[n]) for p in parts)}
    choices = [(said, {k: v for k, v in given.items() if k != "annotator" or v not in shared})
               for said, given in error.choices]  # fmt: skip
    return error if choices == list(error.choices) else unclear(error.source, error.problems, choices)


def _text(name: Any) -> Any:
    """The name of a column as text; pandas names columns by numbers too."""
    if isinstance(name, list | tuple):
        return [_text(one) for one in name]
    return str(name) if isinstance(name, int) else name


def _numbers_wanted(scales: Scale | Mapping[str, Scale] | None) -> bool | None:
    """Whether labels have to be numbers; None if no scale is specified."""
    if scales is None:
        return None
    each = [scales] if isinstance(scales, Scale) else list(scales.values())
    return all(s.numeric for s in each) and not any(isinstance(s, Preference) for s in each)


# -- several files as one table --------------------------------------------------------------------


def join_tables(parts: Sequence[Rows], settings: ReadSettings) -> tuple[Rows, ReadSettings]:
    """Join several files by item id to one table, after converting each to long form."""
    usual = {str(getattr(settings, role)) for role in ("item", "annotator", "label")}
    alike = all(usual <= set(p.labels.columns) or p.scales is not None for p in parts)
    if len(parts) == 1:
        return join_files(parts), settings
    one = isinstance(settings.item, str | int) and isinstance(settings.label, str | int)
    if alike or not one:
        parts = _with_whole_ids(parts, settings)
        if isinstance(settings.item, str | int):
            parts = _with_first_ids(parts, str(settings.item), settings.match)
        parts = _with_first_criterion(parts, settings)
        return _note_items(join_files(parts), parts, settings), settings
    _refuse_absent_columns(parts, settings)
    try:
        items = _items_of_all(parts, settings)
        long = [_standard_names(part, replace(settings, item=item)) for part, item in zip(parts, items, strict=True)]
    except UnclearTableError as error:
        error = _with_annotators_by_file(error, parts)
        raise of_several(error, [part.reading.source for part in parts], given_options(settings)) from error
    long = _named_by_files(long, parts, settings)
    back = ReadSettings()
    standard = ("item", "annotator", "label", "layout", "columns", "split_columns")
    roles: dict[str, Any] = {name: getattr(back, name) for name in standard}
    settings = replace(settings, **roles)
    long = _with_first_ids(_with_whole_ids(long, settings), "item", settings.match)
    long = _with_first_criterion(long, settings)
    return _note_items(join_files(long), long, settings), settings


def _refuse_absent_columns(parts: Sequence[Rows], settings: ReadSettings) -> None:
    """Refuse a column that the user names and none of the files has."""
    known = [*dict.fromkeys(name for part in parts for name in part.labels.columns if name != "_row")]
    for role in ("item", "annotator", "label", "criterion", "repeat"):
        name = getattr(settings, role)
        if isinstance(name, str) and name not in (role, PLACE, ROWS, *known) and all(p.scales is None for p in parts):
            raise DataError(unknown("column", name, known, "the files"), option=role, value=name)


def _named_by_files(parts: list[Rows], sources: Sequence[Rows], settings: ReadSettings) -> list[Rows]:
    """Name annotators by their files where columns of labels are called ``score``, or as criteria of other files."""
    names = [part.labels["annotator"].cast(pl.String).unique().to_list() for part in parts]
    items = [part.labels["item"].cast(pl.String).unique() for part in parts]
    people = settings.people
    files = [_file_name(part.reading.source) for part in parts]
    criteria = [{*p.labels["criterion"].unique()} for p in parts if "criterion" in p.labels.columns]
    sheets = not (settings.sheet is None or isinstance(settings.sheet, str))
    alike, made = len({frozenset(own) for own in names}) == 1, []
    for k, (part, own) in enumerate(zip(parts, names, strict=True)):
        usual = ["label", *(["questions"] if alike else [])]
        unnamed = all(any(called(plain_name(name), role) for role in usual) for name in own) or {*own} in criteria
        one = len(own) == 1 and not any(map(_is_criterion, files))
        unnamed |= alike and not any(map(_is_name, own)) and (one or all(map(_is_name, files)))
        others = pl.concat([one for i, one in enumerate(items) if i != k])
        wide = set(own) <= {*sources[k].labels.columns} - people and len(set(files)) == len(files)
        if unnamed and wide and "criterion" not in part.labels.columns and items[k].is_in(others.implode()).any():
            criterion = [] if len(own) == 1 else [pl.col("annotator").alias("criterion")]
            labels = part.labels.with_columns(*criterion, annotator=pl.lit(files[k]))
            note = f"the annotator is named by the file; labels are in {listing([repr(n) for n in natural(own)], 4)}"
            part = replace(part, labels=labels, reading=part.reading.add_notes(note))
        elif sheets and alike and "criterion" not in part.labels.columns and set(own) <= {*sources[k].labels.columns}:
            labels = part.labels.with_columns(criterion=pl.lit(files[k]))
            part = replace(part, labels=labels, reading=part.reading.add_notes("the criterion is named by the sheet"))
        made.append(part)
    return made


def _is_name(column: str) -> bool:
    """Whether a column is called as an annotator or a model is."""
    return bool(human_names([column]) or called_people(plain_name(column)) or model_names([column]))


def _is_criterion(file: str) -> bool:
    return called(plain_name(file), "questions") or called(plain_name(file), "criterion")


def _with_first_ids(parts: list[Rows], item: str, match: Match) -> list[Rows]:
    """Return the files with the ids of the first one where their own match loosely."""
    columns = [item if part.scales is None else "item" for part in parts]
    if any(name not in part.labels.columns for name, part in zip(columns, parts, strict=True)):
        return parts
    made, first = [parts[0]], parts[0].labels[columns[0]]
    for name, part in zip(columns[1:], parts[1:], strict=True):
        ids = (first, part.labels[name])
        who = [one.labels["annotator"].unique() for one in (parts[0], part) if "annotator" in one.labels.columns]
        again = len(who) > 1 and not {*who[0]}.isdisjoint(who[1])
        names, note = match_ids(*ids, (parts[0].reading.source, part.reading.source), match, again=again)
        labels, about = part.labels.with_columns(rename_ids(part.labels[name], names)), part.items
        if about is not None and "item" in about.columns:
            about = about.with_columns(rename_ids(about["item"], names))
        reading = part.reading.add_notes(note) if note else part.reading
        made.append(replace(part, labels=labels, items=about, reading=reading))
    return made


def _with_first_criterion(parts: Sequence[Rows], settings: ReadSettings) -> list[Rows]:
    """Return the files with one criterion, if those that name one name the same, or one each and match loosely."""
    column = str(settings.criterion) if isinstance(settings.criterion, str | int) else "criterion"
    parts = _with_known_criteria(parts, column, settings.match)
    each = [_criteria_of(part, column) for part in parts]
    people = [{*p.labels["annotator"].cast(pl.String)} if "annotator" in p.labels.columns else set() for p in parts]
    known = [*dict.fromkeys(name for names in each for name in names)]
    apart = all(one.isdisjoint(other) for one, other in combinations(people, 2))
    loose = settings.match == "loose" and apart and all(len(names) == 1 for names in each)
    if not known or not (loose or (len(known) == 1 and not all(each))):
        return [*parts]
    made = []
    for part, names in zip(parts, each, strict=True):
        note = sentences.criterion_of_file(names, known[0])
        if names == [known[0]]:
            made.append(part)
            continue
        labels = part.labels.with_columns(pl.lit(known[0]).alias(column if part.scales is None else "criterion"))
        stated = [*(part.scales or {}).values()]
        scales: Mapping[str | None, Scale] | None = {known[0]: stated[0]} if stated else part.scales
        made.append(replace(part, labels=labels, scales=scales, reading=part.reading.add_notes(note)))
    return made


def _with_known_criteria(parts: Sequence[Rows], column: str, match: Match) -> list[Rows]:
    """The files with the first one's names of criteria that differ in spelling or in a scale, if that is requested."""
    made = [*parts[:1]]
    for part in parts[1:]:
        found = loose_criteria(_criteria_of(parts[0], column), _criteria_of(part, column))
        if found and part.scales is None:
            note = sentences.loose_criteria(found, matched=match == "loose")
            labels = part.labels
            if match == "loose":
                labels = labels.with_columns(pl.col(column).cast(pl.String).replace(found))
            part = replace(part, labels=labels, reading=part.reading.add_notes(note))
        made.append(part)
    return made


def _criteria_of(part: Rows, column: str) -> list[str]:
    name = column if part.scales is None else "criterion"
    known = [one for one in part.scales or () if one is not None]
    if name not in part.labels.columns:
        return known
    return [*dict.fromkeys((*part.labels[name].cast(pl.String).drop_nulls().unique(), *known))]


def _with_whole_ids(parts: Sequence[Rows], settings: ReadSettings) -> list[Rows]:
    """Convert ids of each file to whole numbers if possible: next to text of another file, 4.0 would not equal 4."""
    ids = {"item", "annotator", *_item_columns(settings), str(settings.annotator)}
    whole = [part.labels.with_columns(whole_ids(part.labels[name]) for name in part.labels.columns if name in ids)
             for part in parts]  # fmt: skip
    return [replace(part, labels=table) for part, table in zip(parts, whole, strict=True)]


def _item_columns(settings: ReadSettings) -> list[str]:
    return [str(settings.item)] if isinstance(settings.item, str | int) else list(map(str, settings.item))


def _note_items(joined: Rows, parts: Sequence[Rows], settings: ReadSettings) -> Rows:
    """Add a note on the items that occur in only one of the files."""
    wanted = [["item"] if part.scales is not None else _item_columns(settings) for part in parts]
    if not all(set(names) <= set(part.labels.columns) for names, part in zip(wanted, parts, strict=True)):
        return joined
    merged = settings.spelling == "merge"
    each = [_item_names(part.labels, names, merged) for names, part in zip(wanted, parts, strict=True)]
    shared = pl.concat(each).alias("item").value_counts().filter(pl.col("count") > 1)["item"]
    alone = [(part.reading.source, items, items.filter(~items.is_in(shared.implode())))
             for part, items in zip(parts, each, strict=True)]  # fmt: skip
    alone = [one for one in alone if len(one[2])]
    if not alone:
        return joined
    if len(shared):
        counts = [f"{len(own):,} of {len(items):,} in {source} ('{own[0]}')" for source, items, own in alone]
        note = f"items in only one file: {listing(counts, 3)}"
    else:
        first = listing([f"{source} has '{own[0]}'" for source, _, own in alone], 3)
        note = f"no item is in two files: {first}; items are joined by their ids"
    return replace(joined, reading=joined.reading.add_notes(note))


def _item_names(labels: pl.DataFrame, columns: Sequence[str], merged: bool) -> pl.Series:
    """The distinct item ids, which can consist of several columns."""
    names = labels.select(pl.concat_str([pl.col(c).cast(pl.String) for c in columns], separator="/")).to_series()
    names = strip_spaces(names.drop_nulls().unique(maintain_order=True)).unique(maintain_order=True)
    return spelling_key(names).unique(maintain_order=True) if merged else names


def _items_of_all(parts: Sequence[Rows], settings: ReadSettings) -> list[str]:
    """Return the column of each file that names its items; refuse a file without one.

    The rows of a single file can be numbered, but other files do not have their rows in the same order.
    """
    named = str(settings.item)
    found = [None if p.scales is not None else _item_of_one(p, settings) for p in parts]
    if ROWS not in found:
        return [item or named for item in found]
    keys = shared_key([p.views for p in parts]) if all(p.scales is None for p in parts) else None
    if keys is None:
        rows = parts[found.index(ROWS)]
        raise DataError(
            f"{rows.reading.source}: no column with the item id, by which several files are joined; add a column with "
            f"the ids that {listing([p.reading.source for p in parts if p is not rows], 3)} also "
            f"{'has' if len(parts) == 2 else 'have'}"
        )
    return keys


def _item_of_one(rows: Rows, settings: ReadSettings) -> str:
    """The detected item column of one of several files; `ROWS` if there is none."""
    if str(settings.item) in rows.labels.columns:
        return str(settings.item)
    found = structure_of(rows, _settings_of_one(rows, settings), alone=False)
    return str(found.options.get("item", settings.item))


def _settings_of_one(rows: Rows, settings: ReadSettings) -> ReadSettings:
    """The settings for one of several files: only the columns that it contains."""
    there = rows.labels.columns
    known: dict[str, Any] = {}
    for role in ("item", "annotator", "label"):
        known[role] = str(getattr(settings, role)) if str(getattr(settings, role)) in there else role
    known["columns"] = [c for c in settings.columns or () if str(c) in there] or None
    # A layout that is stated with columns or annotators of another file is the layout of that file.
    others = bool(settings.columns) and known["columns"] is None
    if others or (settings.annotator != "annotator" and str(settings.annotator) not in there):
        known |= {"layout": "auto", "split_columns": None}
    # The judges are determined for all files together.
    return replace(settings, **known, judges=settings.judges or ())


def _standard_names(rows: Rows, settings: ReadSettings) -> Rows:
    """Convert one of several files to long form, with the columns item, annotator and label."""
    if rows.scales is not None:
        return rows
    places, item = (_text(settings.annotator), _text(settings.repeat)), str(settings.item)
    if PLACE in places and item in rows.labels.columns and rows.labels[item].is_duplicated().any():
        rows = tables.number_rows_of_items(rows, item, places, settings.named["judges"])
    rows, chosen = find_columns(rows, _settings_of_one(rows, settings), alone=False)
    rows, item, annotator, label, criterion = long_rows(rows, chosen, check=True)
    names = {item: "item", annotator: "annotator", label: "label"}
    names |= {criterion: "criterion"} if criterion else {}
    clash = [new for old, new in names.items() if old != new and new in rows.labels.columns]
    return replace(rows, labels=rows.labels.drop(clash).rename(names))


def _place(rows: Rows) -> pl.Expr:
    """The place of each row in its file; answers from one list have none, and are numbered."""
    return pl.col("_row") if "_row" in rows.labels.columns else pl.format("answer {}", pl.int_range(1, pl.len() + 1))


def join_files(parts: Sequence[Rows]) -> Rows:
    """Join several files to one table; every count and note names its file. A single file is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    parts = unify_types(parts)
    first = parts[0]
    labels = pl.concat(
        [p.labels.with_columns(_row=pl.format("{}, {}", pl.lit(p.reading.source), _place(p))) for p in parts],
        how="diagonal_relaxed",
    )
    texts, said = (one[0] if len(one := list({p.texts for p in parts})) == 1 else None), list[str]()
    if texts is not None:
        labels, said = tables.texts_on_one_side(labels, texts)
    about = [p.items for p in parts if p.items is not None]
    items = (
        pl.concat(about, how="diagonal_relaxed").unique("item", keep="first", maintain_order=True) if about else None
    )
    reading = Reading(
        f"{counted(len(parts), 'file')} ({listing([p.reading.source for p in parts], 3)})",
        sum(p.reading.rows for p in parts),
        tuple(replace(e, reason=f"{e.reason} ({p.reading.source})") for p in parts for e in p.reading.exclusions),
        (*(f"{p.reading.source}: {note}" for p in parts for note in _notes(p)), *said),
        places=tuple(dict.fromkeys(name for p in parts for name in p.reading.places)),
    )
    scales = None if first.scales is None else {c: s for p in reversed(parts) for c, s in (p.scales or {}).items()}
    stated = {c: [(p.scales or {}).get(c) for p in parts] for c in scales or ()}
    apart = tuple(c for c, known in stated.items() if differ(known))
    return Rows(
        labels,
        items=items,
        reading=replace(reading, apart=apart),
        scales=scales,
        untyped=any(p.untyped for p in parts),
        texts=texts,
    )


def _notes(part: Rows) -> list[str]:
    """The notes of one of several files; a wide table counts its labels, which are its rows in long form."""
    labels, reading = part.labels, part.reading
    whole = labels.height == reading.rows and "label" in labels.columns and not labels["label"].null_count()
    return [f"{counted(reading.rows, 'label' if whole else 'row')} read", *reading.notes]


def _two_kinds_of_labels(both: str) -> str:
    """The error for a table of texts and one of numbers, which can be votes and scores."""
    return (
        f"{both}: labels are text in one and numbers in the other; convert them to one type. If one has votes and the "
        "other scores of the same systems, scores become votes: assay ratings VOTES SCORES --scored SYSTEM --sources "
        "QUESTION, or votes.join(scores, scored='system', sources='question')"
    )


def unify_types(parts: Sequence[Rows]) -> Sequence[Rows]:
    """Convert the labels of all files to one type; numbers become text only if criteria of both kinds are joined."""
    first = parts[0]
    types = [part.labels.schema.get("label") for part in parts]
    for part, dtype in zip(parts, types, strict=True):
        both = f"{first.reading.source} and {part.reading.source}"
        if (dtype is None) != (types[0] is None):
            raise DataError(f"{both} have different columns; read them separately")
        if (dtype == pl.String) != (types[0] == pl.String) and (part.scales is None or first.scales is None):
            raise DataError(_two_kinds_of_labels(both))
    if pl.String in types and not all(dtype == pl.String for dtype in types):
        return [replace(part, labels=part.labels.cast({"label": pl.String})) for part in parts]
    return parts


# -- scales of platforms and of the user ------------------------------------------------------------


def settle_scales(
    rows: Rows, specified: Scale | Mapping[str, Scale] | None, codes: Any = None
) -> tuple[Rows, Scale | dict[str, Scale] | None]:
    """Return the scales, of the user or otherwise of the platform; and the rows that are on them.

    Platforms accept labels off their own scale, and the user cannot correct an export, so such labels are excluded
    and counted. The scale of criteria with ``codes`` is that of their words, which are still to be inserted.
    """
    asked = rows.labels["criterion"].unique().to_list() if "criterion" in rows.labels.columns else [""]
    coded = [] if codes is None else [c or "" for c in asked if words_of(codes, c or None)]
    if isinstance(specified, Scale):
        scales = {c or "": specified for c in asked if (c or "") not in coded} if coded else {"": specified}
        return _keep_on_scale(rows, scales), specified
    given = specified or {}
    known = {c or "": s for c, s in (rows.scales or {}).items() if (c or "") not in coded} | dict(given)
    _needs_scale(rows, known | dict.fromkeys(coded, Nominal()))
    if not given and not known.keys() >= set(asked):
        return rows, None
    stated = [f"{c or 'labels'} {known[c].spec}" for c in natural(asked) if c in known and c not in given]
    if stated:
        rows = replace(rows, reading=rows.reading.add_notes(f"scale stated in the export: {'; '.join(stated)}"))
    return _keep_on_scale(rows, {c: s for c, s in known.items() if c not in coded}), known.get("") or known


def _needs_scale(rows: Rows, known: Mapping[str, Scale]) -> None:
    """Refuse a table with numeric and text questions if their scales are not specified."""
    frame = rows.labels
    if "criterion" not in frame.columns or frame["label"].dtype != pl.String:
        return
    asked = frame["criterion"].fill_null("")
    unspecified = [c for c in natural(asked.unique().to_list()) if c not in known]
    labels = {c: frame.filter(asked == c)["label"].drop_nulls() for c in unspecified}
    numeric = [c for c in unspecified if all(is_number(v) for v in labels[c])]
    if numeric and "" in unspecified:  # its scale cannot be specified: that of "" applies to all
        named = [c for c in unspecified if c]
        raise DataError(
            f"{rows.reading.source}: a question without a name occurs together with {listing(named)}; give it a name, "
            f"or read the others with criteria={named}",
            advised={"criteria": named},
        )
    if numeric:
        likely = {c: _likely_scale(labels[c], numeric=c in numeric) for c in unspecified}
        raise DataError(
            f"{rows.reading.source}: some questions have numeric labels and some have text; set the scale of "
            f"{listing(unspecified)} (scale={likely}), or read one kind with criteria=...",
            advised={"scale": likely},
        )


def _likely_scale(labels: pl.Series, *, numeric: bool) -> str:
    """The inferred scale of a criterion, as an option."""
    there = labels.cast(pl.Float64) if numeric else labels
    return infer_scale(there, None)[0].spec


def _keep_on_scale(rows: Rows, scales: Mapping[str, Scale]) -> Rows:
    """Return the rows whose label is on the scale of its criterion; the name "" applies to every criterion."""
    frame = rows.labels
    valid = pl.Series([True] * frame.height)
    for criterion, scale in scales.items():
        concerned = pl.Series([True] * frame.height)
        if criterion:
            concerned = (frame["criterion"] == criterion).fill_null(False)
        valid = valid & (~concerned | valid_as_written(frame["label"], scale))
    off = frame.filter(~valid)
    if not off.height:
        return rows
    shown = ", ".join(f"{where}: {v!r}" for where, v in off.head(5).select("_row", "label").iter_rows())
    more = f" and {off.height - 5} more" if off.height > 5 else ""
    who = ""
    if rows.reading.apart and "annotator" in frame.columns:
        # Another source of the joined ones states this scale: an annotator of it alone would vanish.
        kept = frame.filter(valid)["annotator"].unique()
        gone = off.filter(~off["annotator"].is_in(kept.implode()))["annotator"].unique().sort()
        who = f" of '{gone[0]}'" if len(gone) else ""
    if off.height == frame.height or who:
        allowed = " or ".join(dict.fromkeys(scale.describe() for scale in scales.values()))
        raise DataError(
            f"{rows.reading.source}: every label{who} is off its scale ({shown}{more}); each must be {allowed}. "
            "Specify the right scale with scale=..."
        )
    reading = rows.reading.without(OFF_SCALE, off.height).add_notes(f"labels off the scale: {shown}{more}")
    return replace(rows, labels=frame.filter(valid), reading=reading)
