"""Odd-one-out choices as arrays, and the options of analyses of ideas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.names import codes_in
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import LEAST_RESAMPLES, IntervalSettings, Settings, level_option, option, seed_option
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Ints
from assay.statistics.comparisons.odd_one_out import PairTable

Chosen = Literal["humans", "judges"]
Pairs = Literal["humans", "annotator", "pairs", "itself"]

# -- Options ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings(Settings):
    """Options about the columns of texts, and the annotators."""

    texts: Sequence[str] | None = option(
        None,
        "Three columns that name the texts of a triplet, separated by commas (default: by usual names).",
        details="In the order of labels A, B and C. Default: the first existing of ``first_item`` … (as in a study), "
        "``id_a`` …, ``first`` …, ``a`` …, ``text_a`` ….",
    )
    document: str | None = option(
        None,
        "Item column with the document whose texts are compared (default: 'document', if it exists).",
        details="Texts are compared within a document.",
        first=True,
    )
    annotators: Chosen | Sequence[str] = option(
        "humans", "Annotators to include: humans, judges, or names separated by commas."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.texts is not None and len(set(self.texts)) != 3:
            raise DesignError("texts=... needs three columns: the names of the three texts of a triplet")


@dataclass(frozen=True, kw_only=True)
class TripletSettings(ChoiceSettings):
    """Options of `assay.triplet_similarity`."""

    floor: int = option(3, "Mark pairs with fewer comparisons.", low=1, details="Their ``enough`` is False.")
    confidence: float = level_option(
        details="Wilson intervals with the effective number of independent choices about a pair: several choices from "
        "one triplet share their third text (`dependence`).",
    )


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings(ChoiceSettings):
    """Options of `assay.triplet_embedding`."""

    dimensions: int | None = option(
        None,
        "Dimensions of the space (default: chosen by cross-validation).",
        low=1,
        high=50,
        details="Default: the number among 1, 2, 3, 4 and 6 that predicts choices best.",
    )
    folds: int = option(5, "Cross-validation folds.", low=2, details="Over triplets.")
    n_resamples: int = option(
        100, "Resamples of the triplets, each refitted; 0 for no intervals.", low=0, key="resamples"
    )
    confidence: float = level_option()
    seed: int = seed_option()


@dataclass(frozen=True, kw_only=True)
class ReliabilitySettings(IntervalSettings):
    """Options of `assay.odd_one_out_agreement`; triplets are resampled."""

    who: Sequence[Pairs] = option(
        ("humans", "annotator", "itself"),
        "Rows: all humans, each annotator with the humans, each pair, repeats of each annotator.",
    )
    by: str | None = option(None, "Analyse each value of this item column separately, such as the document.")
    clusters: str | None = option(None, "Column that groups dependent triplets.")

    def __post_init__(self) -> None:
        if isinstance(self.who, str):
            object.__setattr__(self, "who", (self.who,))
        super().__post_init__()


@dataclass(frozen=True)
class ValidateSettings(ChoiceSettings):
    """Options of `assay.validate_similarity`."""

    measures: Any = option(
        None,
        "Similarity measures, separated by commas; judges of the table are added.",
        details="``rouge-l``, ``bleu``, ``words`` …; a function of two texts, with an optional method ``matrix`` that "
        "scores all pairs of a list; a judge's numeric labels of pairs, averaged over repeats (binary and continuous "
        "prompts); a table of ``first``, ``second`` and a number; several of these, or a mapping of names to them. A "
        "mapping of settings to measures is a sweep: the table has its best setting, with ρ from nested choice.",
        first=True,
    )
    _: KW_ONLY
    contents: Sequence[str] | None = option(
        None,
        "Three columns with the contents of the texts (default: the columns of their names).",
        details="In a study, ``first``, ``second``, ``third`` for names in ``first_item`` ….",
    )
    with_judges: bool = option(
        True,
        "Include odd-one-out choices of judges as measures.",
        details="Each by equation 1, separately for each condition.",
    )
    authors: Sequence[str] | None = option(
        None,
        "Three columns with the authors of the texts; the same author is then a baseline measure.",
        details="Default: ``first_author``, ``second_author``, ``third_author``, if they exist.",
    )
    floor: int = option(
        1,
        "Exclude pairs with fewer comparisons.",
        low=1,
        details="For measures and ceilings.",
    )
    n_resamples: int = option(
        1000,
        "Permutations of the permutation test.",
        low=LEAST_RESAMPLES,
        key="resamples",
        details="Intervals do not use resamples: they come from influences of texts, pairs and choices.",
    )
    confidence: float = level_option()
    seed: int = seed_option()


@dataclass(frozen=True, kw_only=True)
class SampleSizeSettings(ChoiceSettings):
    """Options of `assay.plan.judgments`."""

    sizes: Sequence[int] | None = option(
        None,
        "Numbers of judgments, separated by commas.",
        low=10,
        details="Default: ten steps up to twice the existing number.",
    )
    target: float = option(0.8, "Target rank correlation.", above=0, below=1, details="The paper uses .8.")
    n_splits: int = option(100, "Random halves, and bootstrap runs for each size.", low=LEAST_RESAMPLES, key="splits")
    confidence: float = level_option()
    seed: int = seed_option()


@dataclass(frozen=True, kw_only=True)
class SampleSettings(Settings):
    """Options of `assay.sample_triplets`."""

    renamed: ClassVar[Mapping[str, str]] = {"n": "n_triplets=..."}

    document: str | None = option(
        None,
        "Column of a frame with the document within which texts are compared.",
        key="",
        hidden=True,
    )
    name: str | None = option(
        None,
        "Column of a frame with the names of texts.",
        key="",
        hidden=True,
        details="Default: ``item`` or ``name``, otherwise the text itself.",
    )
    text: str | None = option(
        None,
        "Column of a frame with the texts (default: 'text', if it exists).",
        key="",
        hidden=True,
    )
    floor: int = option(3, "Comparisons of each pair of texts of a document.", low=1, always=True, first=True)
    n_triplets: int | None = option(
        None,
        "Number of triplets instead, least compared pairs first.",
        low=1,
        details="Any initial part is balanced: with 15 texts no pair is ever two comparisons below the mean.",
    )
    seed: int = seed_option(always=True)


@dataclass(frozen=True)
class PlanTripletsSettings(Settings):
    """Options of `assay.plan.triplets`."""

    n_texts: int = option(15, "Texts of a document.", low=3, high=200, key="texts", always=True, first=True)
    n_documents: int = option(1, "Documents.", low=1, key="documents", always=True, first=True)
    _: KW_ONLY
    agreement: float | None = option(
        None,
        "Share of triplets on which two experts agree (default: .6; chance is a third).",
        above=1 / 3,
        below=1,
        always=True,
        details="With ``pilot``, the agreement of its humans.",
        first=True,
    )
    floors: Sequence[int] = option(
        (1, 2, 3, 5, 8, 10, 15, 20, 30, 50),
        "Numbers of comparisons of each pair, separated by commas.",
        low=1,
        details="Above the number of different triplets of a pair, each triplet has several judgments.",
    )
    target: float = option(0.9, "Target rank correlation with the true similarities.", above=0, below=1)
    power: float = option(0.8, "Power: share of studies that reach the target.", above=0, below=1)
    dimensions: int = option(3, "Dimensions of the simulated texts.", low=1, high=50)
    n_studies: int = option(200, "Simulated studies.", low=20, key="studies")
    pilot: Any = option(None, "Existing odd-one-out choices, for the agreement of humans.", hidden=True, first=True)
    seed: int = seed_option(always=True)


@dataclass(frozen=True)
class StyleSettings(IntervalSettings):
    """Options of `assay.style_effect`; pairs are resampled."""

    measures: Any = option(
        None,
        "Similarity measures, separated by commas.",
        details="As in `assay.validate_similarity`; not needed if the frame has judges' numbers.",
    )


@dataclass(frozen=True, kw_only=True)
class MapSettings(IntervalSettings):
    """Options of `assay.annotator_similarity`; items are resampled."""

    similarity: Any = option(
        "words",
        "Similarity measure for texts.",
        details="``words``, ``rouge-l``, ``embeddings:MODEL`` … or a function of two texts.",
        first=True,
    )
    min_items: int = option(10, "Minimum number of items shared with the humans.", low=2)
    clusters: str | None = option(None, "Column that groups dependent items, such as the document.")


# -- Choices of the odd one of three texts, as arrays ----------------------------------------------

NAMES = (
    ("first_item", "second_item", "third_item"), ("id_a", "id_b", "id_c"), ("first", "second", "third"),
    ("a", "b", "c"), ("text_a", "text_b", "text_c"),
)  # fmt: skip
"""Default columns of the names of the three texts of a triplet: the first of these that exist."""

CONTENTS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("first_item", "second_item", "third_item"): ("first", "second", "third"),
    ("id_a", "id_b", "id_c"): ("text_a", "text_b", "text_c"),
}
"""Columns with the contents of the texts, by the columns of their names."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Odd-one-out choices, one entry per choice.

    Attributes
    ----------
    texts : polars.DataFrame
        One row per text: ``document`` (can be null), ``text`` (its name); in natural order. Texts with one name in two
        documents are two texts.
    member : (choices, 3) int
        The three texts of each choice, as rows of ``texts``, in the order of the labels A, B, C.
    odd : (choices,) int
        0, 1 or 2: which of them was chosen.
    item, annotator : (choices,) int
        The triplet, and who chose: positions in ``labels.items`` and in ``annotators``.
    annotators : tuple of str
    kinds : mapping of annotator to ``human`` or ``judge``
    columns : tuple of str
        The three columns that name the texts.
    data : str
        Fingerprint of the labels and of all columns that were used.
    exclusions : tuple of Exclusion
    """

    texts: pl.DataFrame
    member: Ints
    odd: Ints
    item: Ints
    annotator: Ints
    annotators: tuple[str, ...]
    kinds: Mapping[str, str]
    columns: tuple[str, ...]
    data: str
    of_item: Ints
    """(items, 3): the three texts of every item of the table."""
    exclusions: tuple[Exclusion, ...] = ()

    @classmethod
    def of(cls, labels: Annotations | Chunks, settings: ChoiceSettings, question: str, *more: str | None) -> Choices:
        """The choices of a table, of all annotators; `chosen_by` takes those whose choices count.

        Raises
        ------
        DesignError
            For labels that are not odd-one-out choices, or if the columns of the texts are not found.
        DataError
            For a triplet that does not name three different texts.
        """
        labels = odd_one_labels(labels.in_memory(question), question)
        columns = columns_of_texts(labels, settings.texts)
        document = document_of(labels, settings.document)
        items = labels.items.select("item")
        named = {c: item_column(labels, c) for c in (*columns, *([document] if document else []))}
        items = items.with_columns(**{f"_{i}": named[c].cast(pl.String) for i, c in enumerate(columns)})
        items = items.with_columns(_document=named[document].cast(pl.String) if document else pl.lit(None, pl.String))
        _refuse_strange_triplets(items, columns, document)
        texts, member = _coded_texts(items)
        frame = labels.labels
        item = codes_in(frame["item"], labels.items["item"]).astype(np.int64)
        who = labels.annotators["annotator"]
        odd = codes_in(frame["label"].cast(pl.String), pl.Series(["A", "B", "C"])).astype(np.int64)
        kinds = dict(labels.annotators.select("annotator", "kind").iter_rows())
        used = dict.fromkeys((*columns, document, *more))
        data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *used))
        return cls(
            texts, member[item], odd, item, codes_in(frame["annotator"], who).astype(np.int64),
            tuple(who.to_list()), kinds, columns, data, member,
        )  # fmt: skip

    def chosen_by(self, wanted: str | Sequence[str], also: Collection[str] = ()) -> Choices:
        """The choices of humans, of judges, or of the named annotators; others, except for those ``also``, are
        counted as
        excluded."""
        names = self.chosen(wanted)
        keep = np.isin(self.annotator, [self.annotators.index(n) for n in names])
        left = Counter(self.annotators[k] for k in self.annotator[~keep].tolist())
        who = [n for n in natural(left) if n not in also]
        why = f"of {listing(who, 4)}, whose choices are not asked about"
        gone = (Exclusion("choice", sum(left[n] for n in who), why),) if who else ()
        return replace(self.where(keep), exclusions=(*self.exclusions, *gone))

    def chosen(self, wanted: str | Sequence[str]) -> tuple[str, ...]:
        """The annotators meant by ``humans``, ``judges`` or by names."""
        present = set(np.unique(self.annotator).tolist())
        there = [n for i, n in enumerate(self.annotators) if i in present]
        if list(wanted) in (["humans"], ["judges"]):
            wanted = wanted[0]  # as a command line gives the word
        if not isinstance(wanted, str):
            for name in wanted:
                if name not in there:
                    raise DataError(unknown("annotator", name, there, "the choices"))
            return tuple(wanted)
        found = natural([n for n in there if self.kinds[n] == wanted.removesuffix("s")])
        if not found:
            other = "judges" if wanted == "humans" else "humans"
            raise DesignError(
                f"no {'human' if wanted == 'humans' else 'judge'} made odd-one-out choices; set "
                f"annotators='{other}', or "
                "name the annotators to include"
            )
        return tuple(found)

    def where(self, keep: Any) -> Choices:
        """Some of the choices; texts keep their positions."""
        return replace(
            self, member=self.member[keep], odd=self.odd[keep], item=self.item[keep], annotator=self.annotator[keep]
        )

    def __len__(self) -> int:
        return len(self.odd)

    @cached_property
    def pairs(self) -> PairTable:
        """How often each pair was compared and kept together."""
        return PairTable.of(self.member, self.odd, self.texts.height)

    @cached_property
    def document(self) -> Ints:
        """The document of each text, numbered in the order of their first text."""
        return self.texts["document"].fill_null("").rank("dense").to_numpy().astype(np.int64) - 1

    @property
    def documents(self) -> tuple[str | None, ...]:
        """Names by the numbers of ``document``."""
        return tuple(self.texts["document"].unique().sort(nulls_last=False).to_list())

    @cached_property
    def n_triplets(self) -> int:
        """Number of different triplets with choices."""
        return int(np.count_nonzero(np.bincount(self.item)))

    @property
    def facts(self) -> dict[str, object]:
        """Counts for the signature."""
        seen = np.flatnonzero(np.bincount(self.annotator))
        people = sum(self.kinds[self.annotators[i]] == "human" for i in seen.tolist())
        return {"choices": len(self), "triplets": self.n_triplets, "texts": self.texts.height,
                "documents": len(self.documents), "humans": people, "judges": len(seen) - people}  # fmt: skip

    def named_pairs(self, first: Ints, second: Ints) -> pl.DataFrame:
        """``document``, ``first``, ``second`` of pairs of texts."""
        texts = self.texts["text"]
        return pl.DataFrame(
            {"document": self.texts["document"].gather(first), "first": texts.gather(first),
             "second": texts.gather(second)}
        )  # fmt: skip


def odd_one_labels(labels: Annotations, question: str) -> Annotations:
    """The labels on the scale odd-one-out, of one criterion."""
    found = [c for c in (labels.criteria or (None,)) if labels.scale_of(c).kind == "odd-one-out"]
    if not found:
        kinds = listing(sorted({labels.scale_of(c).describe() for c in (labels.criteria or (None,))}))
        raise DesignError(
            f"{question} needs odd-one-out choices: labels A, B or C, the text of three that fits the others least; "
            f"these are {kinds}. Read them with scale='odd-one-out'"
        )
    if len(found) > 1:
        raise DesignError(
            f"{question} needs one criterion; {listing(found)} have odd-one-out choices; choose one with "
            f"labels.where(criterion='{found[0]}')"
        )
    return labels.of_kind("odd-one-out")


def has_choices(labels: Annotations) -> bool:
    """Whether the table has odd-one-out choices on one criterion, with names of texts."""
    found = [c for c in (labels.criteria or (None,)) if labels.scale_of(c).kind == "odd-one-out"]
    return len(found) == 1 and any(all(has_column(labels, c) for c in names) for names in NAMES)


def columns_of_texts(labels: Annotations, given: Sequence[str] | None) -> tuple[str, ...]:
    """The three columns that name the texts of a triplet."""
    if given is not None:
        return tuple(labels.column_name(c) for c in given)
    for names in NAMES:
        if all(has_column(labels, c) for c in names):
            return tuple(labels.column_name(c) for c in names)
    raise DesignError(
        "nothing says which three texts an item compares; name the columns with texts=['a', 'b', 'c'], in the order "
        f"of the labels A, B and C (the table has {listing([*labels.labels.columns, *labels.items.columns[1:]])})"
    )


def document_of(labels: Annotations, given: str | None) -> str | None:
    """The column of the document, if any."""
    if given is not None:
        return labels.column_name(given)
    return "document" if has_column(labels, "document") else None


def has_column(labels: Annotations, name: str) -> bool:
    """Whether the table has a column of that name, wherever reading has put it."""
    return any(name in f.columns for f in (labels.items, labels.labels, labels.annotators)) or name in labels.names


def item_column(labels: Annotations, name: str) -> pl.Series:
    """A column about the items, one value an item, wherever reading has put it."""
    if name in labels.items.columns:
        return labels.items[name]
    values = labels.labels.select("item").with_columns(labels.column(name).alias(name))
    if labels.items.height < values.height:
        values = values.unique()
    twice = values.filter(pl.col("item").is_duplicated())
    if twice.height:
        raise DataError(f"item '{twice['item'].sort()[0]}' has several values in '{name}'; a triplet has one")
    return labels.items.select("item").join(values, on="item", how="left", maintain_order="left")[name]


def _refuse_strange_triplets(items: pl.DataFrame, columns: Sequence[str], document: str | None) -> None:
    places = [f"_{i}" for i in range(3)]
    for name, column in (*zip(places, columns, strict=True), *([("_document", document)] if document else [])):
        empty = items.filter(pl.col(name).is_null() | (pl.col(name).str.strip_chars() == ""))
        if empty.height:
            raise DataError(
                f"{counted(empty.height, 'triplet')} ({listing(empty['item'].to_list(), 3)}) "
                f"{'has' if empty.height == 1 else 'have'} nothing in '{column}'; fill it or drop them"
            )
    same = items.filter(
        (pl.col("_0") == pl.col("_1")) | (pl.col("_0") == pl.col("_2")) | (pl.col("_1") == pl.col("_2"))
    )
    if same.height:
        row = same.row(0, named=True)
        name = row["_0"] if row["_0"] in (row["_1"], row["_2"]) else row["_1"]
        raise DataError(
            f"{counted(same.height, 'triplet')} ({listing(same['item'].to_list(), 3)}) "
            f"{'names' if same.height == 1 else 'name'} a text twice ('{name}'); a triplet has three different texts"
        )


def _coded_texts(items: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """Every text with its document, in natural order; and the texts of each item: (items, 3)."""
    long = pl.concat(
        [items.select(pl.col("_document").alias("document"), pl.col(f"_{i}").alias("text")) for i in range(3)]
    )
    texts = long.unique()
    order = {key: i for i, key in enumerate(natural([f"{d}\0{t}" for d, t in texts.fill_null("").iter_rows()]))}
    key = pl.concat_str([pl.col("document").fill_null(""), pl.col("text")], separator="\0")
    texts = texts.with_columns(_key=key)
    texts = texts.with_columns(_order=pl.Series([order[k] for k in texts["_key"]])).sort("_order")
    code = codes_in(long.select(key).to_series(), texts["_key"]).astype(np.int64)
    return texts.select("document", "text"), code.reshape(3, -1).T
