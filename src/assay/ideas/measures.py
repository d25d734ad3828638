"""Measures of how alike two texts are, brought to the pairs that experts compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, counted, listing
from assay.estimation.options import digest
from assay.estimation.statistic import Floats
from assay.ideas.choices import is_there
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity

PAIR_NAMES = (("first_item", "second_item"), ("id_a", "id_b"), ("first", "second"), ("a", "b"))
"""Columns that name the two texts of a pair, the first of these that are there."""


@dataclass(frozen=True, eq=False)
class Measure:
    """One measure: its name, the sweep it belongs to, its similarity of each pair.

    Attributes
    ----------
    name : str
    kind : str
        ``similarity`` (of the texts alone), ``judge`` (a model that was asked) or ``pairs`` (values that were given).
    values : (pairs,) float
        NaN for a pair that it has no value for.
    family : str or None
        The sweep, where it is one setting of several.
    about : str
        Which model read the texts, and what it did not tell of them.
    """

    name: str
    kind: str
    values: Floats
    family: str | None = None
    about: str = ""


def listed_measures(given: Any) -> dict[str, Any]:
    """Measures by name: a name alone, several of them, or a mapping of names to what was given."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    several = [given] if isinstance(given, str | Annotations | pl.DataFrame) or callable(given) else list(given)
    found: dict[str, Any] = {}
    for i, one in enumerate(several):
        name = one if isinstance(one, str) else getattr(one, "name", None) or getattr(one, "__name__", None)
        name = str(name) if name else f"measure {i + 1}"
        if name in found:
            raise DesignError(f"two measures are called '{name}'; give them as a mapping of names")
        found[name] = one
    return found


@dataclass(frozen=True, eq=False)
class PairsOfTexts:
    """The pairs that experts compared.

    Attributes
    ----------
    named : polars.DataFrame
        ``document``, ``first``, ``second``.
    first, second : (pairs,) int
        Rows of ``texts``.
    texts : polars.DataFrame
        ``document``, ``text`` (its name).
    contents : tuple of str or None
        The texts themselves, in the order of ``texts``.
    """

    named: pl.DataFrame
    first: Any
    second: Any
    texts: pl.DataFrame
    contents: tuple[str, ...] | None

    def of(self, name: str, given: Any, family: str | None = None) -> list[Measure]:
        """The measures that something given stands for: a judge's answers may hold several judges."""
        if isinstance(given, Mapping) and given and not isinstance(next(iter(given)), tuple):
            if family is not None:
                raise DesignError(f"measure '{family}' holds a sweep in a sweep")
            return [m for setting, one in given.items() for m in self.of(f"{name} {setting}", one, name)]
        if isinstance(given, Annotations):
            return [Measure(who, "judge", values, family) for who, values in judged_pairs(given, self).items()]
        if isinstance(given, Mapping | pl.DataFrame):
            return [Measure(name, "pairs", self._given(name, given), family)]
        if not (isinstance(given, str | Similarity) or callable(given) or hasattr(given, "matrix")):
            raise DesignError(
                f"measure '{name}' is {type(given).__name__}; give a name, a function of two texts, a table of pairs "
                "(first, second, value), a judge's labels of pairs, or a mapping of settings to these"
            )
        return [self._scored(name, as_similarity(given), family)]

    def _scored(self, name: str, similarity: Similarity, family: str | None) -> Measure:
        """A similarity of the texts, document by document, learned from all of them where it learns."""
        if self.contents is None:
            raise DesignError(
                f"measure '{name}' reads the texts; name the three columns that hold them with contents=['a', 'b', 'c']"
            )
        documents = self.texts["document"].fill_null("").to_numpy()
        rows = [np.flatnonzero(documents == d) for d in dict.fromkeys(documents[self.first].tolist())]
        fitted = similarity.fitted(list(self.contents))
        alike = fitted.matrices([[self.contents[i] for i in some] for some in rows])
        found = np.full(len(self.first), np.nan)
        place = np.full(len(documents), -1)
        for some, values in zip(rows, alike, strict=True):
            place[:] = -1
            place[some] = np.arange(len(some))
            mine = np.flatnonzero(place[self.first] >= 0)
            found[mine] = values[place[self.first[mine]], place[self.second[mine]]]
        return Measure(name, "similarity", found, family, fitted.about)

    def _given(self, name: str, given: Any) -> Floats:
        """Values of pairs that somebody brings, whichever text is named first."""
        if isinstance(given, Mapping):
            rows = [(*pair, value) for pair, value in given.items()]
            given = pl.DataFrame(rows, schema=["first", "second", "value"], orient="row")
        value = [c for c in given.columns if c not in ("document", "first", "second") and given[c].dtype.is_numeric()]
        if not {"first", "second"} <= set(given.columns) or len(value) != 1:
            raise DataError(
                f"measure '{name}' needs columns 'first', 'second' and one of numbers; it has {listing(given.columns)}"
            )
        keys = ["document"] if "document" in given.columns else []
        table = given.select(*(pl.col(c).cast(pl.String) for c in (*keys, "first", "second")), value=pl.col(value[0]))
        return self.looked_up(name, table, keys)

    def looked_up(self, name: str, table: pl.DataFrame, keys: Sequence[str]) -> Floats:
        """The value of each pair in a table of pairs, which may name either text first."""
        swapped = table.rename({"first": "second", "second": "first"}).select(table.columns)
        both = pl.concat([table, swapped]).unique()
        columns = [*keys, "first", "second"]
        twice = both.filter(both.select(columns).is_duplicated())
        if twice.height:
            row = twice.row(0, named=True)
            raise DataError(f"measure '{name}' has two values for '{row['first']}' and '{row['second']}'")
        found = self.named.join(both, on=columns, how="left", nulls_equal=True, maintain_order="left")
        return found["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def judged_pairs(labels: Annotations, pairs: PairsOfTexts) -> dict[str, Floats]:
    """What each judge answered about pairs, on a scale of numbers, averaged over repeats and orders."""
    columns = next((p for p in PAIR_NAMES if all(is_there(labels, c) for c in p)), None)
    if columns is None:
        raise DataError(
            "labels of pairs need two columns that name their texts, such as first_item and second_item; the table has "
            f"{listing([*labels.labels.columns, *labels.items.columns[1:]])}"
        )
    for criterion in labels.criteria or (None,):
        if not labels.scale_of(criterion).numeric:
            raise DataError(
                f"labels of pairs must be numbers, such as 0-1 or interval:0-1; "
                f"{labels.scale_of(criterion).describe()} "
                "has none"
            )
    varied = [c for c in labels.conditions if c != "order" and len(labels.values_of(c)) > 1]
    keys = ["document"] if is_there(labels, "document") and pairs.named["document"].null_count() == 0 else []
    who = [*(["criterion"] if len(labels.criteria) > 1 else []), *varied]
    table = labels.labels.with_columns(
        first=labels.column(columns[0]).cast(pl.String), second=labels.column(columns[1]).cast(pl.String),
        **{c: labels.column(c).cast(pl.String) for c in keys},
    )  # fmt: skip
    found = {}
    for part in table.partition_by("annotator", *who, maintain_order=True):
        name = variant(part["annotator"][0], {c: part[c][0] for c in who})
        values = part.group_by(*keys, "first", "second").agg(value=pl.col("label").cast(pl.Float64).mean())
        found[name] = pairs.looked_up(name, _either_way(values, keys), keys)
    return found


def _either_way(values: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row a pair, where it was asked both ways round."""
    low, high = pl.min_horizontal("first", "second"), pl.max_horizontal("first", "second")
    return (
        values.group_by(*keys, first=low, second=high)
        .agg(pl.col("value").mean())
        .select(*keys, "first", "second", "value")
    )


def variant(name: str, of: Mapping[str, Any]) -> str:
    """A judge under a condition: ``gpt (prompt=strict)``."""
    return f"{name} ({', '.join(f'{c}={v}' for c, v in of.items())})" if of else name


def judge_of(measure: str) -> str:
    """The judge whose measure this is, whatever it was asked."""
    name, bracket, asked = measure.rpartition(" (")
    return name if bracket and "=" in asked and asked.endswith(")") else measure


def refuse_no_values(found: Sequence[Measure], named: pl.DataFrame) -> None:
    """A measure without a value for any pair compares nothing."""
    for one in found:
        if not np.isfinite(one.values).any():
            row = named.row(0, named=True)
            raise DataError(
                f"measure '{one.name}' has no value for any of the {counted(named.height, 'pair')} that the experts "
                f"compared, such as '{row['first']}' and '{row['second']}'; are its texts named alike?"
            )


def identity(given: Any) -> str:
    """What tells one measure from another of the same name."""
    if isinstance(given, Annotations):
        return given.fingerprint
    if isinstance(given, pl.DataFrame):
        return digest(given.rows())
    if isinstance(given, Mapping):
        return digest({str(k): identity(v) for k, v in given.items()})
    if isinstance(given, str):
        about = as_similarity(given).about
        return f"{given}, {about}" if about else given
    return digest(given)


def is_place(name: Any) -> bool:
    """Whether a measure's name is a file or a folder."""
    return isinstance(name, str) and Path(name).exists()
