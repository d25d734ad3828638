"""Training data of a rater: texts as sequences of sentences, human labels of each item, and folds by document.

An item has its own text, or it is a segment of a document with one text. The sentences of a document are divided among
its segments by time stamps, if the segments have times, or otherwise into equal numbers of words, in the order of the
segments.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, Repeats
from assay.data.names import natural, stems
from assay.data.ratings import cluster_codes
from assay.data.scales import Label, Scale
from assay.data.structure.cells import ColumnView
from assay.data.structure.dependence import dependence
from assay.data.structure.groups import item_groups
from assay.data.structure.orders import order_of
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import Settings, level_option, option, seed_option
from assay.estimation.result import Exclusion
from assay.estimation.statistic import Bools, Floats, Ints
from assay.similarity.embeddings import Embeddings, Encoder, OwnEncoder, SentenceEncoder, sentences

Size = Literal["auto", "short", "long", "paper"]
Holds = Literal["auto", "item", "document"]
Progress = Callable[[str, int, int], None]

EXTRA = "train"
FAMILY = "encoder"
"""Name of the family, and of the mean of its members."""

STAMP = re.compile(r"\s*[\[(]?(?:(\d{1,3}):)?(\d{1,3}):(\d\d(?:[.,]\d+)?)(?:\s*-->\s*[\d:.,]+)?[\])]?(?:\s+[-–—|])?\s*")
"""A time at the beginning of a line: 1:02:03, [02:03.5], or 00:02:03.000 --> 00:02:07.000."""

MOST_CATEGORIES = 12
"""Numeric labels with more different values have no shares: only their mean is predicted."""

LEAST_GRAMS = 4
"""Fewest 3-grams of a compared text: shorter texts share most of them by chance."""

COMMON = 100
"""A 3-gram in more texts than this, such as *I would like*, is no evidence of copies."""

MOST_GRAMS = 2_000_000
"""Above this number of 3-grams a sample is compared, the same in every text; its error is negligible."""


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Settings):
    """Options of `assay.train`."""

    text: str | None = option(
        None, "Item column with the text.", details="By default 'text', or the only column of texts.", first=True
    )
    text_holds: Holds = option(
        "auto", "Whether a text belongs to the item or to its document.",
        details="With auto, a text belongs to the document if all items of the document have the same text.",
    )  # fmt: skip
    order: str | None = option(
        None, "Item column that orders the segments of a document; by default they are ordered by item id."
    )
    starts: str | None = option(
        None, "Item column with the start time of a segment: seconds, or 1:02:03.",
        details="Lines of the text must begin with their times; a segment ends at the next one. By default, sentences "
        "are divided into segments with equal numbers of words.",
    )  # fmt: skip
    document: str | None = option(
        None, "Item column with the document; by default the common part of item ids.",
        details="A document is in one fold.", first=True,
    )  # fmt: skip
    document_pattern: str | None = option(
        None, r"Regular expression whose first group is the document in an item id, such as '^(\d+)_'."
    )
    together: Sequence[str] | None = option(
        None, "Further item columns whose items stay in one fold, such as teacher or author.",
        details="By default the column with the fewest values that groups whole documents, if it has at least twice as "
        "many values as there are folds, and no column with predefined folds; [] for none.",
    )  # fmt: skip
    near: float = option(
        0.6, "Share of common 3-grams above which two texts are treated as one document; 0 disables the comparison.",
        low=0, high=1, details="As a share of the 3-grams of the shorter text.",
    )  # fmt: skip
    folds: int = option(5, "Number of folds of the documents.", low=2, first=True)
    fold: str | None = option(
        None, "Item column with predefined folds.", details="An error if a document is in two of them."
    )
    annotators: Sequence[str] | None = option(None, "Annotators whose labels are used; by default all humans.")
    repeats: Repeats = option("error", "How to combine repeated labels.")
    encoders: str | Sequence[str] | Callable[..., Any] | None = option(
        None, "Sentence-embedding models: folders, or names on the Hugging Face Hub.", key="",
        details="Or a function of a list of texts that returns one row of numbers per text.", first=True,
    )  # fmt: skip
    members: int = option(3, "Number of raters per embedding model, which differ in their seed.", low=1, first=True)
    size: Size = option(
        "auto", "Default sizes and training schedule: for short texts, for long texts, or as in the paper.",
        details="auto uses long if texts have a median of at least 12 sentences.", first=True,
    )  # fmt: skip
    layers: int | None = option(None, "Transformer layers.", low=1)
    width: int | None = option(None, "Dimensions of a sentence in the encoder.", low=1)
    heads: int | None = option(None, "Attention heads.", low=1)
    feedforward: int | None = option(None, "Width of the feed-forward layers.", low=1)
    dropout: float | None = option(None, "Dropout rate in training.", low=0, below=1)
    epochs: int | None = option(None, "Largest number of epochs.", low=1)
    patience: int | None = option(None, "Epochs without improvement on held-out documents before stopping.", low=1)
    learning_rate: float | None = option(None, "Largest learning rate of Adamax.", above=0, key="rate")
    batch: int | None = option(None, "Windows per batch.", low=1)
    window: int | None = option(
        None, "Most sentences in a window of the encoder.", low=1,
        details="By default the mean length of a segment, at most 140.",
    )  # fmt: skip
    windows: int = option(8, "Random windows of a long document in each epoch.", low=1)
    threads: int = option(1, "Number of threads; another number can change the last digits.", low=1)
    device: str | None = option(None, "cpu or cuda; by default a GPU if there is one.")
    folder: str | None = option(
        None, "Folder for the trained rater; an interrupted training continues from it.", transient=True
    )
    n_resamples: int = option(2000, "Bootstrap resamples of documents.", low=20, key="resamples")
    confidence: float = level_option()
    seed: int = seed_option()
    progress: Progress | None = option(
        None, "Called with (what, done, steps).", transient=True, details="For a progress bar."
    )


# -- texts ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Texts:
    """Sequences of sentences, and each item's part of its sequence.

    Attributes
    ----------
    items : tuple of str
        Items that have a text.
    sentences : list of list of str
        The sentences of each sequence: an item's own text, or a document.
    sequence, first, end : (items,) int
        The item's sequence, and its sentences in it, from ``first`` to before ``end``.
    """

    items: tuple[str, ...]
    sentences: list[list[str]]
    sequence: Ints
    first: Ints
    end: Ints

    @property
    def by_document(self) -> bool:
        """Whether items are segments of longer texts."""
        return len(self.sentences) < len(self.items)

    @cached_property
    def length(self) -> Ints:
        """Number of sentences of each sequence."""
        return np.array([len(one) for one in self.sentences])

    def text_of(self, item: int) -> list[str]:
        """Return an item's sentences."""
        return self.sentences[self.sequence[item]][self.first[item] : self.end[item]]

    def some(self, items: Ints) -> Texts:
        """Return a subset of the items with all sequences."""
        names = tuple(self.items[i] for i in items)
        return Texts(names, self.sentences, self.sequence[items], self.first[items], self.end[items])


def text_column(items: pl.DataFrame, given: str | None) -> str:
    """Return the column with the texts.

    Raises
    ------
    DataError
        If there is no such column, or if it is ambiguous.
    """
    if given is not None:
        if given not in items.columns:
            raise DataError(unknown("item column", given, items.columns, "the table of items"))
        if items.schema[given] != pl.String:
            raise DataError(f"item column '{given}' does not contain texts ({items.schema[given]})")
        return given
    texts = [c for c in items.columns if c != "item" and items.schema[c] == pl.String]
    if "text" in texts:
        return "text"
    long = [c for c in texts if (items[c].drop_nulls().str.count_matches(r"\s").mean() or 0) >= 2]  # type: ignore[operator]
    if len(long) != 1:
        found = f"{listing(long)} are candidates" if long else f"there is no candidate among {listing(items.columns)}"
        raise DataError(f"the item column with the text is not clear: {found}; name it with text='...'")
    return long[0]


def gather_texts(
    items: pl.DataFrame, settings: TrainSettings, document: Sequence[Any] | None
) -> tuple[Texts, list[Exclusion], list[str]]:
    """Return the texts of the items, in the natural order of the item ids.

    Parameters
    ----------
    items : polars.DataFrame
        One row per item, column ``item``.
    settings : TrainSettings
    document : list, optional
        The document of each item, in the order of the rows.
    """
    column = text_column(items, settings.text)
    place = {name: i for i, name in enumerate(items["item"].to_list())}
    names = [str(n) for n in natural(items["item"].to_list())]
    text = [items[column][place[n]] or "" for n in names]
    empty = tuple(n for n, t in zip(names, text, strict=True) if not t.strip())
    kept = [i for i, t in enumerate(text) if t.strip()]
    left = [Exclusion("item", len(empty), f"no text in '{column}'", empty)] if empty else []
    if not kept:
        raise DataError(f"no item has a text in '{column}'")
    names, text = [names[i] for i in kept], [text[i] for i in kept]
    notes = [] if settings.text == column else [f"texts from item column '{column}'"]
    owner = None if document is None else [document[place[n]] for n in names]
    shared = _is_shared(text, owner, settings.text_holds)
    if settings.starts is not None and (settings.order is not None or not shared):
        raise DesignError(
            "starts=... also determines the order of segments; omit order=..." if shared else
            "starts=... divides the text of a document among its items, but here each item has its own text; "
            "omit starts, or name the column with the documents with document='...'",
            option="starts", value=settings.starts,
        )  # fmt: skip
    if not shared:
        at = np.arange(len(names))
        split = [split_sentences(one) for one in text]
        return Texts(tuple(names), split, at, 0 * at, np.array([len(one) for one in split])), left, notes
    assert owner is not None
    by = settings.starts or settings.order
    cells = None if by is None else items[_check_column(items, by)].gather([place[n] for n in names])
    if cells is not None and settings.starts is None:
        cells = order_of(cells, by or "")
    order = None if cells is None else dict(zip(names, cells, strict=True))
    if settings.starts is None:
        notes.append(
            "a document's sentences are divided among its items into equal numbers of words, in the order of "
            + ("the item ids" if order is None else f"'{settings.order}'")
        )
        return _segments(names, text, owner, order), left, notes
    assert order is not None
    assert by is not None
    notes.append(f"a document's sentences are divided among its items by their time stamps and '{by}'")
    found = _segments(names, text, owner, {n: seconds(value, by, n) for n, value in order.items()}, timed=True)
    here = found.end > found.first
    if not here.any():
        raise DataError(
            f"no segment contains a sentence: all times in '{by}' are later than the last times of the texts; give "
            "them in seconds, or as 1:02:03"
        )
    if not here.all():
        missing = tuple(n for n, there in zip(names, here.tolist(), strict=True) if not there)
        left.append(Exclusion("item", len(missing), f"no sentence between its '{by}' and the next", missing))
    return found.some(np.flatnonzero(here)), left, notes


def _check_column(items: pl.DataFrame, column: str) -> str:
    if column not in items.columns:
        raise DataError(unknown("item column", column, items.columns, "the table of items"))
    return column


def _is_shared(text: Sequence[str], owner: Sequence[Any] | None, holds: Holds) -> bool:
    """Whether the texts are those of documents with several items."""
    if holds == "item" or (owner is None and holds == "auto"):
        return False
    if owner is None:
        raise DesignError("text_holds='document' requires documents; name their column with document='...'")
    seen: dict[Any, set[str]] = {}
    for name, one in zip(owner, text, strict=True):
        seen.setdefault(name, set()).add(one)
    several = [name for name, texts in seen.items() if len(texts) > 1]
    if holds == "document" and several:
        raise DataError(
            f"the items of document '{several[0]}' have {len(seen[several[0]])} different texts; "
            "text_holds='document' requires one text per document"
        )
    return not several and len(seen) < len(text)


def _segments(
    names: Sequence[str], text: Sequence[str], owner: Sequence[Any], order: dict[str, Any] | None, *,
    timed: bool = False,
) -> Texts:  # fmt: skip
    """Divide the sentences of each document among its items; timed items extend from their start to the next."""
    whole: dict[Any, list[int]] = {}
    for i, one in enumerate(owner):
        whole.setdefault(one, []).append(i)
    sequence, first, end = (np.zeros(len(names), dtype=np.int64) for _ in range(3))
    split = []
    for number, (document, mine) in enumerate(whole.items()):
        if order is not None:
            mine.sort(key=lambda i: (order[names[i]] is None, order[names[i]]))
        if timed:
            assert order is not None
            of_document, edges = _split_by_time(text[mine[0]], [(order[names[i]], names[i]) for i in mine], document)
        else:
            of_document = split_sentences(text[mine[0]])
            edges = equal_partition([len(one.split()) for one in of_document], len(mine))
        split.append(of_document)
        for k, i in enumerate(mine):
            sequence[i], first[i], end[i] = number, edges[k], edges[k + 1]
    return Texts(tuple(names), split, sequence, first, end)


def _split_by_time(text: str, begins: Sequence[tuple[float, str]], document: Any) -> tuple[list[str], list[int]]:
    """The sentences of a text without time stamps; the first sentence of each item, and the end."""
    found, times = stamped_sentences(text)
    if not np.isfinite(times).any():
        raise DataError(
            f"no line of document '{document}' begins with a time, such as [0:12:05]; add times, or omit starts=... "
            "to divide its sentences into segments with equal numbers of words"
        )
    if (back := np.flatnonzero(np.diff(times) < 0)).size:
        one, other = (_clock(times[back[0] + k]) for k in (0, 1))
        raise DataError(f"the times of document '{document}' decrease from {one} to {other}; sort its lines by time")
    for (start, name), (again, other_name) in pairwise(begins):
        if start == again:
            raise DataError(
                f"items '{name}' and '{other_name}' of document '{document}' both begin at {_clock(start)}; start "
                "times must be different"
            )
    return found, [*np.searchsorted(times, [start for start, _ in begins]).tolist(), len(found)]


def stamped_sentences(text: str) -> tuple[list[str], Floats]:
    """Return the sentences of a text without time stamps, and their times in seconds.

    The time of a sentence is the last stamp before it; −∞ before the first.
    """
    found: list[str] = []
    times: list[float] = []
    now = -math.inf
    for line in text.splitlines():
        if (stamp := STAMP.match(line)) is not None:
            now, line = _seconds(stamp), line[stamp.end() :]
        each = split_sentences(line) if line.strip() else []
        found += each
        times += [now] * len(each)
    return found, np.array(times)


def seconds(value: Any, column: str, item: str) -> float:
    """Return the start time of an item in seconds."""
    if isinstance(value, (int, float)) and math.isfinite(value):
        return float(value)
    stamp = STAMP.fullmatch(value) if isinstance(value, str) else None
    if stamp is None:
        raise DataError(
            f"item '{item}' has {value!r} in '{column}', which is not a time; use seconds, or 1:02:03"
            if value is not None
            else f"item '{item}' has no time in '{column}'; add it, or remove the item"
        )
    return _seconds(stamp)


def _seconds(stamp: re.Match[str]) -> float:
    hours, minutes, rest = stamp.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes) + float(rest.replace(",", "."))


def _clock(time: float) -> str:
    return f"{int(time // 3600)}:{int(time // 60) % 60:02d}:{time % 60:02.0f}"


def equal_partition(words: Sequence[int], parts: int) -> list[int]:
    """Return the first sentence of each part, and the end, so that parts have nearly equal numbers of words.

    Each part has at least one sentence if there are enough; otherwise parts share sentences.
    """
    n, total = len(words), max(sum(words), 1)
    middle = np.cumsum(words) - np.asarray(words) / 2
    part = np.minimum((parts * middle / total).astype(int), parts - 1)
    starts = [int(np.searchsorted(part, k)) for k in range(parts)] + [n]
    if n < parts:
        return [min(k, n - 1) for k in range(parts)] + [n]
    for k in range(1, parts):
        starts[k] = min(max(starts[k], starts[k - 1] + 1), n - (parts - k))
    return starts


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; a line break ends a sentence."""
    return [one for line in text.splitlines() for one in (sentences(line) if line.strip() else [])] or [text.strip()]


def encoders_of(settings: TrainSettings) -> list[Encoder]:
    """Return the named embedding models, or the default one."""
    given = settings.encoders
    if given is None:
        return [SentenceEncoder(device=settings.device)]
    if callable(given):
        return [OwnEncoder(given)]
    named = [given] if isinstance(given, str) else list(given)
    if not named:
        raise DesignError("encoders is empty; name a model, or omit it", option="encoders", value=given)
    return [SentenceEncoder(one, device=settings.device) for one in named]


def embed(texts: Texts, encoder: Encoder) -> list[Floats]:
    """Return the embeddings of all sentences: one array of (sentences, dimensions) per sequence."""
    every = [one for sequence in texts.sentences for one in sequence]
    rows = Embeddings(encoder, split="whole").embeddings(every).astype(np.float32)
    return np.split(rows, np.cumsum(texts.length)[:-1])


# -- human labels -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Target:
    """The human labels of each item by one criterion.

    Attributes
    ----------
    criterion : str or None
    scale : Scale
    categories : tuple
        Labels with a predicted share; empty if there are too many.
    number : (categories,) float
        The number of each; empty for nominal categories.
    share : (items, categories) float
        Share of the item's annotators who gave each label; NaN for items without labels.
    mean : (items,) float
        Mean of the annotators' numbers; NaN for items without labels, and for nominal categories.
    item, who, value : (labels,)
        Index of the item, index of the annotator, and number (for nominal categories, index) of each label.
    """

    criterion: str | None
    scale: Scale
    categories: tuple[Label, ...]
    number: Floats
    share: Floats
    mean: Floats
    item: Ints
    who: Ints
    value: Floats
    whole: bool
    """Whether all labels are whole numbers."""

    @property
    def name(self) -> str:
        """The criterion as text; empty if the table has one criterion."""
        return "" if self.criterion is None else self.criterion

    @property
    def nominal(self) -> bool:
        """Whether labels have no order."""
        return self.scale.kind == "nominal"

    @cached_property
    def labelled(self) -> Bools:
        """Whether each item has a label."""
        found = np.zeros(len(self.mean), dtype=bool)
        found[self.item] = True
        return found

    def label_of(self, value: Any) -> Any:
        """Return predictions as labels: the nearest label of the scale, or the category with the largest share.

        Parameters
        ----------
        value : (items,) or (items, categories) float
        """
        if self.nominal:
            return [self.categories[k] for k in value.argmax(axis=1)]
        bounds = self.scale.bounds
        near = np.clip(value, *bounds) if bounds is not None else np.asarray(value)
        if self.scale.categories is None:
            return (np.floor(near + 0.5).astype(int) if self.whole else near).tolist()
        listed = self.scale.values(pl.Series(list(self.scale.categories)))
        return [self.scale.categories[k] for k in np.abs(near[:, None] - listed[None, :]).argmin(axis=1)]

    def coordinates(self, value: Any) -> Floats:
        """Return labels as points with the squared distances of the scale: (n, 1) numbers, or one-hot categories."""
        if not self.nominal:
            return np.asarray(value, dtype=float).reshape(-1, 1)
        return np.asarray(np.eye(len(self.categories))[np.asarray(value, dtype=int)] / math.sqrt(2))


def targets_of(labels: Annotations, people: Sequence[str], items: Sequence[str]) -> list[Target]:
    """Return the human labels of these items by criterion.

    Raises
    ------
    DesignError
        If labels are texts or odd-one-out choices.
    """
    place = {name: i for i, name in enumerate(items)}
    found = []
    for criterion in labels.criteria or (None,):
        scale = labels.scale_of(criterion)
        if scale.kind in ("text", "odd-one-out"):
            raise DesignError(f"a rater requires categories or numbers as labels; these labels are {scale.describe()}")
        rows = labels.labels.filter(pl.col("annotator").is_in(list(people)) & pl.col("item").is_in(list(items)))
        rows = rows if criterion is None else rows.filter(pl.col("criterion") == criterion)
        if not rows.height:
            by = "" if criterion is None else f" by {criterion}"
            raise DataError(f"no item with a text has a label{by}")
        found.append(_target(criterion, scale, rows, place, {name: i for i, name in enumerate(people)}))
    return found


def _target(
    criterion: str | None, scale: Scale, rows: pl.DataFrame, place: dict[str, int], who: dict[str, int]
) -> Target:
    label = rows["label"] if not scale.numeric else scale.cast(rows["label"])
    item = np.array([place[name] for name in rows["item"]], dtype=np.int64)
    order = np.lexsort([np.array([who[name] for name in rows["annotator"]]), item])
    seen = natural(label.unique().to_list())
    nominal = scale.kind == "nominal"
    categories: tuple[Label, ...] = tuple(scale.categories or seen)
    if nominal:
        value = np.array([categories.index(one) for one in label], dtype=float)
    else:
        value = scale.values(label)
        if len(categories) > MOST_CATEGORIES:
            categories = tuple(seen) if len(seen) <= MOST_CATEGORIES else ()
    number = np.empty(0) if nominal or not categories else scale.values(pl.Series(list(categories)))
    code = value.astype(int) if nominal else (value[:, None] == number[None, :]).argmax(1) if len(number) else None
    n = np.bincount(item, minlength=len(place)).astype(float)
    n[n == 0] = np.nan
    share = np.zeros((len(place), len(categories)))
    if code is not None:
        np.add.at(share, (item, code), 1)
    share /= n[:, None]
    mean = np.full(len(place), np.nan)
    if not nominal:  # exact in any order of the annotators
        mine: dict[int, list[float]] = {}
        for i, one in zip(item.tolist(), value.tolist(), strict=True):
            mine.setdefault(i, []).append(one)
        for i, several in mine.items():
            mean[i] = math.fsum(several) / len(several)
    people = np.array([who[name] for name in rows["annotator"]], dtype=np.int64)
    return Target(criterion, scale, categories, number, share, mean, item[order], people[order], value[order],
                  not nominal and bool((value == np.round(value)).all()))  # fmt: skip


# -- groups and folds --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of each item; items of a group are in the same fold.

    Attributes
    ----------
    group, fold : (items,) int
    names : tuple of str
        Names of the folds.
    words : tuple of str
        Notes on how groups and folds were made.
    """

    group: Ints
    fold: Ints
    names: tuple[str, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def inner(self, items: Ints, number: int, *seed: int) -> Ints:
        """Return inner folds of some items, by whole groups."""
        return draw_folds(self.group[items], number, np.random.default_rng([*seed]))


def documents_of(labels: Annotations, settings: TrainSettings) -> tuple[list[Any] | None, str]:
    """Return the document of each item in the order of the table, and how it was determined; None without documents."""
    names = labels.items["item"]
    if settings.document is not None:
        cluster_codes(labels, settings.document)  # refuses an item without one
        column = labels.items[labels.names.get(settings.document, settings.document)]
        return column.to_list(), f"by item column '{settings.document}'"
    if settings.document_pattern is not None:
        found = names.str.extract(_check_pattern(settings.document_pattern), 1)
        if found.null_count():
            raise DesignError(
                f"document_pattern='{settings.document_pattern}' does not match item "
                f"'{names.filter(found.is_null())[0]}'"
            )
        return found.to_list(), "by the pattern of the item ids"
    parts = stems(names)
    if parts is None:
        return None, ""
    return parts.stem.codes.tolist(), f"by the part of the item ids before '{parts.separator}'"


def columns_together(
    labels: Annotations, documents: tuple[list[Any] | None, str], settings: TrainSettings
) -> tuple[str, ...]:
    """Return the item columns whose items stay in one fold: those of the settings, or the coarsest that is found.

    A teacher groups the lessons: each lesson has one teacher. Columns of measurements, or with few values, do not
    group documents.
    """
    if settings.together is not None or settings.fold is not None:
        return tuple(settings.together or ())
    items = labels.items
    used = {"item", settings.text, settings.document, settings.fold, settings.order, settings.starts}
    owner = ColumnView(pl.Series("document", documents[0] or items["item"])).codes
    groups = int(owner.max(initial=-1)) + 1
    found = []
    for one in item_groups(items, labels.scale.categories or (), [n for n in used if n in items.columns]).strata:
        if one.name not in items.columns:  # a pattern in a column
            continue
        view = ColumnView(items[one.name])
        names = (view.values is None or view.whole) and view.filled == view.rows and not one.order
        # A level has two documents or more on average: lengths of documents have one.
        few = 2 * settings.folds <= view.n_values <= groups / 2
        if names and few and not dependence(view.codes, owner).broken:
            found.append((view.n_values, one.name))
    return (min(found)[1],) if found else ()


def _check_pattern(pattern: str) -> str:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise DesignError(f"document_pattern='{pattern}' is not a regular expression: {error}") from None
    if groups < 1:
        raise DesignError(f"document_pattern='{pattern}' has no group; put the document between ( and )")
    return pattern


def make_folds(
    labels: Annotations, texts: Texts, documents: tuple[list[Any] | None, str], settings: TrainSettings
) -> Folds:
    """Return groups of items with a common document, teacher or most of their words, and folds of whole groups.

    Raises
    ------
    DataError
        If predefined folds divide a group, or if there are fewer groups than folds.
    """
    table = {name: i for i, name in enumerate(labels.items["item"].to_list())}
    rows = np.array([table[name] for name in texts.items])
    n, words, joined = len(rows), [], []
    owner, how = documents
    parts: list[Ints] = [texts.sequence]
    if owner is not None:
        parts.append(np.unique(np.array([str(owner[i]) for i in rows]), return_inverse=True)[1])
        words.append(f"{counted(len(set(parts[-1].tolist())), 'document')} {how}")
    for column in columns_together(labels, documents, settings):
        parts.append(cluster_codes(labels, column)[rows])
        how = " (found; together=[] for none)" if settings.together is None else ""
        words.append(f"items with the same '{column}' are in the same fold{how}")
    group = merge_groups(n, parts)
    n_before = int(group.max()) + 1
    if settings.near > 0:
        pairs = near_duplicates(texts, settings.near)
        firsts = {int(s): i for i, s in reversed(list(enumerate(texts.sequence)))}
        joined = [(firsts[a], firsts[b]) for a, b in pairs if a in firsts and b in firsts]
        apart = sum(group[a] != group[b] for a, b in joined)
        if apart:
            words.append(
                f"{counted(apart, 'pair')} of texts with at least {100 * settings.near:g}% common 3-grams "
                f"{'is' if apart == 1 else 'are'} treated as one document"
            )
        group = merge_groups(n, [group], joined)
    n_groups = len(set(group.tolist()))
    if settings.fold is not None:
        return _given_folds(labels, rows, group, settings.fold, (*words, f"folds from item column '{settings.fold}'"))
    if n_groups < settings.folds:
        raise DataError(_too_few(n_groups, n_before, settings))
    fold = draw_folds(group, settings.folds, np.random.default_rng([settings.seed, 1]))
    rated = set(labels.labels.filter(pl.col("annotator").is_in(labels.humans))["item"].to_list())
    labelled = len(set(group[[i for i, name in enumerate(texts.items) if name in rated]].tolist()))
    known = "" if labelled == n_groups else f" ({labelled:,} with human labels)"
    words.append(f"{settings.folds} folds of {n_groups:,} groups{known}, drawn with seed {settings.seed}")
    return Folds(group, fold, tuple(str(k + 1) for k in range(settings.folds)), tuple(words))


def _too_few(groups: int, before: int, settings: TrainSettings) -> str:
    if before >= settings.folds:
        return (
            f"{before:,} documents are treated as {groups} because of their common words; if they are different, raise "
            "the required share of common 3-grams with near=0.9, or disable the comparison with near=0"
        )
    if groups > 1:
        return f"{groups} documents cannot be divided into {settings.folds} folds; use folds={groups}"
    return "all items belong to one document, so none can be held out; name smaller documents with document='...'"


def _given_folds(labels: Annotations, rows: Ints, group: Ints, column: str, words: tuple[str, ...]) -> Folds:
    codes = cluster_codes(labels, column)[rows]
    values = labels.items[column].gather(rows).to_list()
    different, fold = np.unique(codes, return_inverse=True)
    if len(different) < 2:
        raise DataError(f"item column '{column}' has only one fold, so no items can be held out")
    for one in np.unique(group):
        mine = np.flatnonzero(group == one)
        if len(set(fold[mine].tolist())) > 1:
            other = mine[fold[mine] != fold[mine[0]]][0]
            items = labels.items["item"]
            raise DataError(
                f"folds of '{column}' divide a document: items '{items[int(rows[mine[0]])]}' and "
                f"'{items[int(rows[other])]}' belong together and are in folds '{values[mine[0]]}' and "
                f"'{values[other]}'. Assign them to one fold, or omit fold"
            )
    names = tuple(str(values[int(np.flatnonzero(fold == k)[0])]) for k in range(len(different)))
    return Folds(group, fold, names, words)


def merge_groups(n: int, parts: Sequence[Ints], pairs: Sequence[tuple[int, int]] = ()) -> Ints:
    """Connected groups of items with a common part or in a pair, numbered by their first item."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rows, columns = [a for a, _ in pairs], [b for _, b in pairs]
    for part in parts:
        first = np.unique(part, return_index=True, return_inverse=True)
        rows += list(range(n))
        columns += first[1][first[2]].tolist()
    table = coo_matrix((np.ones(len(rows)), (np.array(rows), np.array(columns))), shape=(n, n))
    found = connected_components(table, directed=False)[1]
    order = {one: place for place, one in enumerate(dict.fromkeys(found.tolist()))}
    return np.array([order[one] for one in found.tolist()])


def draw_folds(group: Ints, folds: int, rng: np.random.Generator) -> Ints:
    """Assign whole groups in random order to the fold with the fewest items."""
    numbers, inverse = np.unique(group, return_inverse=True)
    size = np.bincount(inverse)
    filled, fold = np.zeros(folds), np.zeros(len(numbers), dtype=np.int64)
    for one in rng.permutation(len(numbers)):
        fold[one] = filled.argmin()
        filled[fold[one]] += size[one]
    return fold[inverse]


def near_duplicates(texts: Texts, share: float, most: int = MOST_GRAMS) -> list[tuple[int, int]]:
    """Return pairs of sequences with at least this share of common word 3-grams, relative to the shorter.

    With more 3-grams than ``most``, a sample of about so many is compared.
    """
    from scipy.sparse import csr_matrix

    grams = [word_grams(" ".join(one)) for one in texts.sentences]
    every = Counter(gram for one in grams for gram in one)
    sampled = max(sum(every.values()) // most, 1)
    kept = {g: k for k, g in enumerate(g for g, n in every.items() if n <= COMMON and g % sampled == 0)}
    at = [[kept[g] for g in one if g in kept] for one in grams]
    start = np.cumsum([0, *map(len, at)])
    ones = np.ones(start[-1], dtype=np.int32)
    table = csr_matrix((ones, [g for one in at for g in one], start), shape=(len(grams), max(len(kept), 1)))
    shared = (table @ table.T).tocoo()
    size = np.array([sum(g % sampled == 0 for g in one) for one in grams])
    least = np.minimum(size[shared.row], size[shared.col])
    near = (shared.row < shared.col) & (least >= LEAST_GRAMS) & (shared.data >= share * least)
    return sorted(zip(shared.row[near].tolist(), shared.col[near].tolist(), strict=True))


def word_grams(text: str) -> set[int]:
    """Checksums of every three words in a row, in lower case and without punctuation."""
    words = re.findall(r"\w+", text.lower())
    return {zlib.crc32(" ".join(words[k : k + 3]).encode()) for k in range(len(words) - 2)}
