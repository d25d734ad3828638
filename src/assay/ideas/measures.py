"""Similarity measures of the pairs of texts that experts compared.

A measure can be a name, a function of two texts, numbers of pairs, a judge's labels of pairs, or a judge's odd-one-out
choices; each becomes one number for each two texts of a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, counted, listing
from assay.estimation.options import digest
from assay.estimation.statistic import Bools, Floats, Ints
from assay.ideas.choices import (
    CONTENTS,
    Choices,
    ChoiceSettings,
    ValidateSettings,
    has_choices,
    has_column,
    item_column,
)
from assay.similarity.lexical import word_similarity
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity
from assay.statistics.comparisons.odd_one_out import PairTable
from assay.statistics.comparisons.round_robin import TextBlocks

PAIR_NAMES = (("first_item", "second_item"), ("id_a", "id_b"), ("first", "second"), ("a", "b"))
"""Columns that name the two texts of a pair, the first of these that are there."""

LEAST_PAIRS = 3
"""A ranking of fewer pairs says nothing."""

AUTHORS = ("first_author", "second_author", "third_author")
"""Columns that say who wrote the three texts, where nothing else is said."""


@dataclass(frozen=True, eq=False)
class PairMeasure:
    """One measure: its name, the sweep it belongs to, its similarity of each pair.

    Attributes
    ----------
    name : str
    kind : str
        ``similarity`` (of the texts alone), ``judge`` (choices or labels of a model), ``pairs`` (given values) or
        ``baseline`` (length, shared words, author).
    every : (numbers,) float
        Of every two texts of each document, in the layout of `TextBlocks`; NaN without a value.
    values : (pairs,) float
        Of the pairs that experts compared.
    family : str or None
        The sweep, if it is one setting of several.
    about : str
        The model that read the texts, and its limits.
    """

    name: str
    kind: str
    every: Floats
    values: Floats
    family: str | None = None
    about: str = ""


def name_measures(given: Any) -> dict[str, Any]:
    """Measures by name: a name alone, several of them, or a mapping of names to measures."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    several = [given] if isinstance(given, str | Annotations | pl.DataFrame) or callable(given) else list(given)
    words = [one for one in several if isinstance(one, str)]
    brief = [short_measure(one) for one in words]
    found: dict[str, Any] = {}
    for i, one in enumerate(several):
        name = one if isinstance(one, str) else getattr(one, "name", None) or getattr(one, "__name__", None)
        name = str(name) if name else f"measure {i + 1}"
        if isinstance(one, str) and brief.count(short_measure(one)) == 1:
            name = short_measure(one)
        if name in found:
            raise DesignError(f"two measures are called '{name}'; rename one, or give them as a mapping of names")
        found[name] = one
    return found


@dataclass(frozen=True, eq=False)
class PairsOfTexts:
    """The pairs that experts compared.

    Attributes
    ----------
    first, second : (pairs,) int
        Rows of ``texts``.
    texts : polars.DataFrame
        ``document``, ``text`` (its name).
    document : (texts,) int
        Of each text, from 0.
    contents : tuple of str or None
        The texts themselves, in the order of ``texts``.
    authors : tuple of str or None
        Author of each text, if known.
    """

    first: Ints
    second: Ints
    texts: pl.DataFrame
    document: Ints
    contents: tuple[str, ...] | None
    authors: tuple[str, ...] | None = None

    @cached_property
    def blocks(self) -> TextBlocks:
        """Positions of the values of pairs of texts of a document."""
        return TextBlocks.of(self.document)

    @cached_property
    def groups(self) -> list[Ints]:
        """The texts of each document."""
        order = np.argsort(self.document, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.document))[:-1])

    def measure(self, name: str, kind: str, every: Floats, family: str | None = None, about: str = "") -> PairMeasure:
        """A measure from its values of every two texts."""
        return PairMeasure(name, kind, every, every[self.blocks.where(self.first, self.second)], family, about)

    def of(self, name: str, given: Any, family: str | None = None) -> list[PairMeasure]:
        """The measures of one argument: a table of labels can have several judges."""
        if isinstance(given, Mapping) and given and not isinstance(next(iter(given)), tuple):
            if family is not None:
                raise DesignError(f"measure '{family}' holds a sweep in a sweep")
            return [m for setting, one in given.items() for m in self.of(f"{name} {setting}", one, name)]
        if isinstance(given, Annotations):
            answers = self._judges_of_triplets(given) if has_choices(given) else judged_pairs(given, self)
            return [self.measure(who, "judge", values, family) for who, values in answers.items()]
        if isinstance(given, Mapping | pl.DataFrame):
            return [self.measure(name, "pairs", self._read_values(name, given), family)]
        if not (isinstance(given, str | Similarity) or callable(given) or hasattr(given, "matrix")):
            raise DesignError(
                f"measure '{name}' is {type(given).__name__}; give a name, a function of two texts, a table of pairs "
                "(first, second, value), a judge's labels of pairs or of triplets, or a mapping of settings to these"
            )
        return [self._score(name, as_similarity(given), family)]

    def _score(self, name: str, similarity: Similarity, family: str | None) -> PairMeasure:
        """A similarity of the texts, document by document, fitted to all of them if it learns."""
        contents = self.contents
        if contents is None:
            raise DesignError(
                f"measure '{name}' reads the texts; name the three columns that hold them with contents=['a', 'b', 'c']"
            )
        fitted = similarity.fitted(list(contents))
        alike = fitted.matrices([[contents[i] for i in some] for some in self.groups])
        return self.measure(name, "similarity", np.concatenate([one.ravel() for one in alike]), family, fitted.about)

    def _judges_of_triplets(self, labels: Annotations) -> dict[str, Floats]:
        """Equation 1 of each judge in a separate table of odd-one-out choices, by condition."""
        choices = Choices.of(labels, ChoiceSettings(), "validate_similarity")
        known = self.texts["document"].null_count() == 0 and choices.texts["document"].null_count() == 0
        keys = ["document"] if known else []
        found = {}
        for name, mine in each_judge(labels, choices.annotators):
            pairs = choices.where(mine).pairs
            table = choices.named_pairs(pairs.first, pairs.second).with_columns(value=pl.Series(pairs.share))
            found[name] = self.look_up(name, table.select(*keys, "first", "second", "value"), keys)
        return found

    def shares(self, pairs: PairTable) -> Floats:
        """Equation 1 of choices about these texts, of every two of them."""
        return self.blocks.fill(pairs.first, pairs.second, pairs.share)

    def baselines(self) -> list[PairMeasure]:
        """Baseline measures of the texts: length, shared words, author."""
        found = []
        if self.contents is not None:
            length = np.array([len(text) for text in self.contents], dtype=float)
            parts = [-np.abs(length[some][:, None] - length[some]) for some in self.groups]
            found.append(self.measure(LENGTH, "baseline", np.concatenate([part.ravel() for part in parts])))
            words = self._score(WORDS, word_similarity, None)
            found.append(self.measure(WORDS, "baseline", words.every))
        if self.authors is not None:
            codes = np.unique(self.authors, return_inverse=True)[1]
            parts = [(codes[some][:, None] == codes[some]).astype(float) for some in self.groups]
            found.append(self.measure(AUTHOR, "baseline", np.concatenate([part.ravel() for part in parts])))
        return [one for one in found if np.ptp(one.values) > 0]

    def _read_values(self, name: str, given: Any) -> Floats:
        """Given values of pairs, in either order."""
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
        return self.look_up(name, table, keys)

    def look_up(self, name: str, table: pl.DataFrame, keys: Sequence[str]) -> Floats:
        """The value of every two texts from a table of pairs, which may name either text first."""
        swapped = table.rename({"first": "second", "second": "first"}).select(table.columns)
        both = pl.concat([table, swapped]).unique()
        columns = [*keys, "first", "second"]
        twice = both.filter(both.select(columns).is_duplicated())
        if twice.height:
            row = twice.row(0, named=True)
            raise DataError(f"measure '{name}' has two values for '{row['first']}' and '{row['second']}'")
        texts = self.texts.with_columns(_document=pl.Series(self.document)).with_row_index("_at")
        first = texts.select(pl.col("text").alias("first"), "_document", *keys, _a="_at")
        second = texts.select(pl.col("text").alias("second"), "_document", _b="_at")
        joined = both.join(first, on=[*keys, "first"], nulls_equal=True).join(second, on=["_document", "second"])
        values = joined["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        first_at, second_at = (joined[c].to_numpy().astype(np.int64) for c in ("_a", "_b"))
        return self.blocks.fill(first_at, second_at, values)


def compared_pairs(labels: Annotations, experts: Choices, settings: ValidateSettings) -> tuple[PairsOfTexts, Ints]:
    """The pairs that experts compared often enough, and which they are of all that were compared."""
    table = experts.pairs
    above = np.flatnonzero(table.n >= settings.floor)
    if len(above) < LEAST_PAIRS:
        raise DesignError(
            f"{counted(len(above), 'pair')} compared {settings.floor} times or more; a ranking needs "
            f"{LEAST_PAIRS} at least"
        )
    first, second = table.first[above], table.second[above]
    contents, authors = _contents(labels, experts, settings), _authors(labels, experts, settings)
    return PairsOfTexts(first, second, experts.texts, experts.document, contents, authors), above


def _contents(labels: Annotations, choices: Choices, settings: ValidateSettings) -> tuple[str, ...] | None:
    """The texts themselves, by the columns that hold them; their names where nothing else does."""
    columns: Sequence[str] | None = settings.contents
    if columns is None:
        columns = CONTENTS.get(choices.columns, choices.columns)
        if not all(c in (*labels.items.columns, *labels.labels.columns) for c in columns):
            return None
    elif len(columns) != 3:
        raise DesignError("contents=... needs three columns: the three texts of a triplet")
    return _values_of_texts(
        labels, choices, columns, "has different contents in two triplets; names of texts must be unique"
    )


def _authors(labels: Annotations, choices: Choices, settings: ValidateSettings) -> tuple[str, ...] | None:
    """The author of each text, if there are columns for it."""
    columns: Sequence[str] | None = settings.authors
    if columns is None:
        if not all(has_column(labels, c) for c in AUTHORS):
            return None
        columns = AUTHORS
    elif len(columns) != 3:
        raise DesignError("authors=... needs three columns: the authors of the three texts of a triplet")
    return _values_of_texts(
        labels, choices, columns, "has different authors in two triplets; names of texts must be unique"
    )


def _values_of_texts(labels: Annotations, choices: Choices, columns: Sequence[str], wrong: str) -> tuple[str, ...]:
    """What three columns say of each text."""
    found: list[str | None] = [None] * choices.texts.height
    for place, column in enumerate(columns):
        values = item_column(labels, labels.column_name(column)).cast(pl.String)
        for text, value in zip(choices.of_item[:, place].tolist(), values.to_list(), strict=True):
            if found[text] is None:
                found[text] = value
            elif found[text] != value:
                raise DataError(f"text '{choices.texts['text'][text]}' {wrong}")
    return tuple(text or "" for text in found)


LENGTH, WORDS, AUTHOR = "length alone", "shared words alone", "same author alone"
"""Baseline measures: a valid measure must be significantly better than each."""


def each_judge(
    labels: Annotations, names: Sequence[str], except_for: Collection[str] = ()
) -> Iterator[tuple[str, Bools]]:
    """Names and rows of every annotator's choices under each condition that varies, except for ``except_for``."""
    varied = [c for c in labels.conditions if c != "order" and len(labels.values_of(c)) > 1]
    cells = labels.labels.select("annotator", *(labels.column(c).cast(pl.String).alias(c) for c in varied))
    for row in cells.unique().sort(cells.columns, nulls_last=False).iter_rows(named=True):
        who = row.pop("annotator")
        if who not in names or who in except_for:
            continue
        mine = cells["annotator"] == who
        for c, value in row.items():
            mine = mine & (cells[c].is_null() if value is None else cells[c] == value)
        yield variant(who, row), mine.to_numpy()


def judged_pairs(labels: Annotations, pairs: PairsOfTexts) -> dict[str, Floats]:
    """Each judge's numeric labels of pairs, averaged over repeats and orders."""
    columns = next((p for p in PAIR_NAMES if all(has_column(labels, c) for c in p)), None)
    if columns is None:
        raise DataError(
            "labels of pairs need two columns that name their texts, such as first_item and second_item; the table has "
            f"{listing([*labels.labels.columns, *labels.items.columns[1:]])}"
        )
    for criterion in labels.criteria or (None,):
        if not labels.scale_of(criterion).numeric:
            raise DataError(
                "labels of pairs must be numbers, such as 0-1 or interval:0-1; "
                f"{labels.scale_of(criterion).describe()} has none"
            )
    varied = [c for c in labels.conditions if c != "order" and len(labels.values_of(c)) > 1]
    keys = ["document"] if has_column(labels, "document") and pairs.texts["document"].null_count() == 0 else []
    who = [*(["criterion"] if len(labels.criteria) > 1 else []), *varied]
    table = labels.labels.with_columns(
        first=labels.column(columns[0]).cast(pl.String), second=labels.column(columns[1]).cast(pl.String),
        **{c: labels.column(c).cast(pl.String) for c in keys},
    )  # fmt: skip
    found = {}
    for part in table.partition_by("annotator", *who, maintain_order=True):
        name = variant(part["annotator"][0], {c: part[c][0] for c in who})
        values = part.group_by(*keys, "first", "second").agg(value=pl.col("label").cast(pl.Float64).mean())
        found[name] = pairs.look_up(name, _order_averaged(values, keys), keys)
    return found


def _order_averaged(values: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """One row per pair, averaged over both orders."""
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
    """The judge of a measure, without its condition."""
    name, bracket, asked = measure.rpartition(" (")
    return name if bracket and "=" in asked and asked.endswith(")") else measure


def check_values(found: Sequence[PairMeasure], pairs: PairsOfTexts) -> None:
    """A measure without a value for any pair compares nothing."""
    for one in found:
        if not np.isfinite(one.values).any():
            first, second = (pairs.texts["text"][int(at[0])] for at in (pairs.first, pairs.second))
            raise DataError(
                f"measure '{one.name}' has no value for any of the {counted(len(pairs.first), 'pair')} that the "
                f"experts compared, such as '{first}' and '{second}'; check that its texts have the same names"
            )


def short_measure(name: str) -> str:
    """A measure's name without the folders of its model: ``embeddings:/models/small`` becomes ``embeddings:small``."""
    word, colon, rest = name.partition(":")
    model, comma, options = rest.partition(",")
    path = model.rstrip("/")
    folder = path.startswith(("/", ".", "~")) or path.count("/") > 1
    return f"{word}{colon}{path.rsplit('/', 1)[-1]}{comma}{options}" if folder else name


def named_apart(tables: Mapping[str, Sequence[PairMeasure]], own: Sequence[PairMeasure]) -> list[PairMeasure]:
    """The measures of several tables; a judge in two of them, or in the table itself, is also named after its table."""
    names = Counter(one.name for found in (*tables.values(), own) for one in found)
    return [
        replace(one, name=f"{one.name} ({table})") if one.kind == "judge" and names[one.name] > 1 else one
        for table, found in tables.items()
        for one in found
    ]


def signed_measures(named: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Measures as a signature says them: the name, and what tells it from another of that name."""
    return tuple(name if identity(one) == name else f"{name}@{identity(one)}" for name, one in named.items()) or None


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
        return f"{short_measure(given)}, {about}" if about else given
    return digest(given)
