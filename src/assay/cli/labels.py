"""How a command reads its labels, and what it says about them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.options import Names, as_typed, typed_value
from assay.data.names import Spelling
from assay.data.values import Decimal
from assay.errors import AssayError

if TYPE_CHECKING:
    from assay.data.annotations import Annotations

_GROUP = Group("Reading the labels", sort_key=1)


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class LabelOptions:
    """How the labels are read; see `assay.read`."""

    item: Annotated[
        Names, Parameter(help="Column that names the item; several name it together.", show_default="item")
    ] = None
    annotator: Annotated[str, Parameter(help="Column that names who answered.")] = "annotator"
    label: Annotated[
        Names, Parameter(help="Column that holds the label; several are one criterion each.", show_default="label")
    ] = None
    criterion: Annotated[str | None, Parameter(help="Column that names the question asked.")] = None
    repeat: Annotated[str | None, Parameter(help="Column that numbers repeated answers.")] = None
    judges: Annotated[
        Names, Parameter(help="Annotators that are models, all of them, separated by commas; the others are people.")
    ] = None
    humans: Annotated[Names, Parameter(help="Annotators that are people, where a name looks like a model's.")] = None
    spelling: Annotated[Spelling, Parameter(help="What becomes of names that differ only in case or inner spaces.")] = (
        "refuse"
    )
    scale: Annotated[
        list[str] | None,
        Parameter(
            help="What a label may be: 1-5, interval:0-100, ordinal:low<mid<high, nominal:yes,no, text, ...; "
            "CRITERION=SCALE where criteria differ, once each."
        ),
    ] = None
    missing: Annotated[
        Names, Parameter(help="Labels that are no answer, separated by commas: N/A,-99. '' where none of them is.")
    ] = None
    label_spelling: Annotated[
        Spelling, Parameter(help="What becomes of categories that differ only in case or inner spaces.")
    ] = "refuse"
    decimal: Annotated[
        Decimal | None, Parameter(help="What stands before decimals, where labels such as 1,234 do not tell.")
    ] = None
    wide: Annotated[bool, Parameter(help="One row an item, one column an annotator.", show_default=False)] = False
    columns: Annotated[Names, Parameter(help="The annotators' columns of a wide table.")] = None
    conditions: Annotated[Names, Parameter(help="Columns that were varied on purpose.")] = None
    split_item: Annotated[
        str | None, Parameter(help="Separator, or regular expression with named groups, that splits the item id.")
    ] = None
    items: Annotated[Path | None, Parameter(help="A table with one row an item: text, document, gold, ...")] = None
    annotator_table: Annotated[Path | None, Parameter(help="A table with one row an annotator.")] = None
    format: Annotated[
        str, Parameter(help="auto, or the platform that wrote the file: label-studio, argilla, prodigy, mturk, ...")
    ] = "auto"
    option: Annotated[
        list[str] | None, Parameter(help="NAME=VALUE for the format's reader, such as users=users.json; may repeat.")
    ] = None
    where: Annotated[
        list[str] | None, Parameter(help="Keep labels with COLUMN=VALUE (or COLUMN=A,B); repeat to narrow further.")
    ] = None

    def outputs(self, source: str) -> Annotations:
        """What systems wrote: of a study's folder, its outputs; else the table."""
        if not (Path(source) / "study.yaml").is_file():
            return self.read(source)
        from assay.reading import study_outputs
        from assay.study.definition import load_study

        labels = study_outputs(load_study(source))
        tell(labels)
        return labels

    def read(self, source: str) -> Annotations:
        """The table, with a note on standard error for all that reading left out or assumed."""
        try:
            labels = self._table(source)
            for condition in self.where or ():
                labels = _narrowed(labels, condition)
        except AssayError as error:
            # Said here, because a question may have an option of the same name.
            raise type(error)(as_typed(str(error), NAMES)) from error
        tell(labels)
        return labels

    def _table(self, source: str) -> Annotations:
        from assay.reading import read

        return read(
            source, item=_one(self.item, "item"), annotator=self.annotator, label=_one(self.label, "label"),
            criterion=self.criterion, repeat=self.repeat, judges=self.judges, humans=self.humans,
            spelling=self.spelling, scale=_scale(self.scale), missing=self.missing,
            label_spelling=self.label_spelling, decimal=self.decimal,
            layout="wide" if self.wide else "long", columns=self.columns, conditions=self.conditions or (),
            split_item=self.split_item, items=self.items, annotators=self.annotator_table, format=self.format,
            **self._reader_options(source),
        )  # fmt: skip

    def _reader_options(self, source: str) -> dict[str, Any]:
        if not self.option:
            return {}
        from assay.data.formats.registry import format_of
        from assay.errors import DataError

        if not Path(source).exists():
            raise DataError(f"there is no file or folder '{source}'")
        return format_of(Path(source), self.format).options_from(self.option)


@Parameter(name="*")
@dataclass(frozen=True)
class Tested:
    """Which of the judges are tested."""

    only: Annotated[
        Names, Parameter(help="Test these of the judges only, separated by commas.", show_default="all of the table")
    ] = None
    judge: Annotated[Names, Parameter(help="The earlier name of --only.", show=False)] = None

    def names(self) -> list[str] | None:
        """Who was chosen; None where nobody was, and all judges are meant."""
        if self.only is not None and self.judge is not None:
            raise AssayError("--only and --judge are one option under two names; give --only")
        return self.only if self.only is not None else self.judge

    def among(self, labels: Annotations) -> list[str]:
        """The judges to test.

        Raises
        ------
        AssayError
            Where the table names no judges: who is tested does not say who the other judges are.
        """
        chosen = self.names()
        if chosen and not labels.judges:
            raise AssayError(
                f"nothing says who is a judge. Name all judges with --judges {typed_value(','.join(chosen))}, and with "
                "--only those of them to test"
            )
        return list(labels.judges) if chosen is None else chosen


ALL_JUDGES = Tested()
"""Every judge of the table."""

NAMES = {f.name: f"--{f.name.replace('_', '-')}" for f in fields(LabelOptions)} | {"annotators": "--annotator-table"}
"""Every option of `assay.read` as it is typed."""

PLAIN = LabelOptions()
"""Labels as `assay.read` reads them without options."""


def tell(labels: Annotations) -> None:
    """What reading left out or assumed, on standard error; the report says it too."""
    for line in labels.reading.lines():
        print(f"note: {as_typed(line, NAMES)}", file=sys.stderr)


def _narrowed(labels: Annotations, condition: str) -> Annotations:
    """The labels with ``COLUMN=VALUE`` or ``COLUMN=A,B``."""
    name, equals, values = condition.partition("=")
    if not equals:
        raise AssayError(f"--where takes COLUMN=VALUE; got '{condition}'")
    seen = {str(v): v for v in labels.values_of(name)}
    wanted = [values] if values in seen else values.split(",")
    return labels.where(**{name: [seen.get(v, v) for v in wanted]})


def _one(names: list[str] | None, default: str) -> str | list[str]:
    """A single name as itself."""
    return default if not names else names[0] if len(names) == 1 else names


def _scale(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """One scale, or one for each criterion: ``1-5``, or ``stars=1-5`` and ``why=text``."""
    if not given:
        return None
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    pairs = [one.partition("=") for one in given]
    for name, equals, _ in pairs:
        if not equals:
            raise AssayError(f"several scales are given as CRITERION=SCALE; got '{name}'")
    return {name: scale for name, _, scale in pairs}


def similarity(name: str) -> Any:
    """A similarity by its name, or a table of label pairs by its path."""
    path = Path(name)
    if path.suffix and path.exists():
        from assay.data.formats.tables import numbers_where_all_are, read_table

        return numbers_where_all_are(read_table(path).labels.drop("_row", strict=False), leave=())
    from assay.similarity.registry import similarity_named

    return similarity_named(name)
