"""Who is compared with whom: panels, pairs, consensus, the rest, a human drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.concordance.coefficient import Measure
from assay.concordance.sheet import Sheet, in_order
from assay.data.annotations import Answers
from assay.data.scales import Interval
from assay.estimation import Floats
from assay.statistics.base import Ints, grid

Who = Literal["humans", "judges", "pairs", "consensus", "rest", "any human", "drawn human"]
WHO: tuple[Who, ...] = ("humans", "judges", "pairs", "consensus", "rest", "any human", "drawn human")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two or more annotators, or what stands for several, side by side.

    Attributes
    ----------
    who : str
        The kind of comparison.
    first, second : str
        Who is compared with whom; of a panel, its name and nobody.
    sheet : function of Measure
        The labels; a consensus depends on what the coefficient can take, so it is asked for each. All sheets
        of a table have the same items, so that comparisons can be paired.
    masks : (annotators,) bool, twice, optional
        For ``any human`` and ``drawn human``: whose labels are first and second.
    """

    who: Who
    first: str
    second: str | None
    sheet: Callable[[Measure], Sheet]
    masks: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None


def comparisons(
    sheet: Sheet, humans: tuple[str, ...], judges: tuple[str, ...], who: tuple[Who, ...]
) -> list[Comparison]:
    """All comparisons of the kinds asked for that the table has annotators for."""
    makers = {
        "humans": lambda: _panel(sheet, "humans", humans),
        "judges": lambda: _panel(sheet, "judges", judges),
        "pairs": lambda: _pairs(sheet, (*humans, *judges)),
        "consensus": lambda: _with_consensus(sheet, humans, judges),
        "rest": lambda: _with_rest(sheet, humans, judges),
        "any human": lambda: _with_humans(sheet, humans, judges, "any human"),
        "drawn human": lambda: _with_humans(sheet, humans, judges, "drawn human"),
    }
    return [comparison for kind in who for comparison in makers[kind]()]


def _panel(sheet: Sheet, who: Who, names: tuple[str, ...]) -> Iterator[Comparison]:
    if len(names) > 1:
        yield Comparison(who, who, None, _always(only(sheet, names)))


def _pairs(sheet: Sheet, names: tuple[str, ...]) -> Iterator[Comparison]:
    joint, position = sheet.joint, {name: i for i, name in enumerate(sheet.annotators)}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if joint[position[a], position[b]] >= 2:
                yield Comparison("pairs", a, b, _always(only(sheet, (a, b))))


def _always(sheet: Sheet) -> Callable[[Measure], Sheet]:
    return lambda _: sheet


def _with_consensus(sheet: Sheet, humans: tuple[str, ...], judges: tuple[str, ...]) -> Iterator[Comparison]:
    if len(humans) < 2:
        return
    for judge in judges:
        yield Comparison("consensus", "humans' consensus", judge, _columns(sheet, humans, (judge,)))
    if len(judges) > 1:
        yield Comparison("consensus", "humans' consensus", "judges' consensus", _columns(sheet, humans, judges))


def _with_rest(sheet: Sheet, humans: tuple[str, ...], judges: tuple[str, ...]) -> Iterator[Comparison]:
    for kind, names in (("humans", humans), ("judges", judges)):
        for name in names if len(names) > 2 else ():
            rest = tuple(n for n in names if n != name)
            yield Comparison("rest", f"other {kind}' consensus", name, _columns(sheet, rest, (name,)))


def _with_humans(sheet: Sheet, humans: tuple[str, ...], judges: tuple[str, ...], who: Who) -> Iterator[Comparison]:
    """The second is the one in question, so that a signed difference says how much higher it labels."""
    people = np.isin(sheet.annotators, humans)
    if len(humans) > 1 and who == "any human":
        yield Comparison(who, "another human", "any human", _always(sheet), (people, people))
    for name in judges if who == "any human" or len(humans) < 2 else (*humans, *judges):
        one = np.array(sheet.annotators) == name
        other = "another human" if name in humans else "any human" if who == "any human" else "a human"
        yield Comparison(who, other, name, _always(sheet), (people, one))


def _columns(sheet: Sheet, first: tuple[str, ...], second: tuple[str, ...]) -> Callable[[Measure], Sheet]:
    """Two groups of annotators as two annotators: means where the coefficient takes them, else majorities."""
    made: dict[bool, Sheet] = {}

    def of(measure: Measure) -> Sheet:
        mean = sheet.scale.numeric and measure.takes_means
        if mean not in made:
            made[mean] = consensus(sheet, first, second, mean=mean)
        return made[mean]

    return of


def only(sheet: Sheet, names: tuple[str, ...]) -> Sheet:
    """The labels of some annotators, in that order; the items stay."""
    answers = sheet.answers
    code = np.full(len(answers.annotators), -1)
    code[[answers.annotators.index(name) for name in names]] = range(len(names))
    kept = answers.select(code[answers.annotator] >= 0)
    kept = in_order(replace(kept, annotator=code[kept.annotator], annotators=names))
    return replace(sheet, labels=kept, annotators=names, n_labels=len(kept))


def consensus(sheet: Sheet, first: tuple[str, ...], second: tuple[str, ...], *, mean: bool) -> Sheet:
    """Two groups of annotators as two annotators, each the mean or the majority of its group.

    A group of one stands for itself. An item whose group is divided has no majority, and no label.
    """
    cells = grid(sheet.answers)
    columns = [cells[:, [sheet.annotators.index(name) for name in group]] for group in (first, second)]
    combine = _means if mean else _majorities
    pair = np.stack([combine(c) if c.shape[1] > 1 else c[:, 0] for c in columns], axis=1)
    item, annotator = np.nonzero(~np.isnan(pair))
    names = (" + ".join(first) if len(first) < 3 else f"{len(first)} annotators", " + ".join(second))
    answers = Answers(item, annotator, pair[item, annotator], sheet.answers.items, names, sheet.answers.categories)
    bounds = sheet.scale.bounds
    scale = Interval(*(bounds or ())) if mean else sheet.scale
    return replace(sheet, labels=answers, annotators=names, scale=scale, n_labels=len(answers))


def _means(cells: Floats) -> Floats:
    there = ~np.isnan(cells)
    number = there.sum(axis=1)
    total = np.where(there, cells, 0.0).sum(axis=1)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), np.nan))


def _majorities(cells: Floats) -> Floats:
    """The one most frequent label of each row; NaN where there is none or several are."""
    seen = np.unique(cells[~np.isnan(cells)])
    if not len(seen):
        return np.full(len(cells), np.nan)
    number = np.stack([(cells == value).sum(axis=1) for value in seen], axis=1)
    most = number.max(axis=1)
    single = (number == most[:, None]).sum(axis=1) == 1
    return np.asarray(np.where((most > 0) & single, seen[number.argmax(axis=1)], np.nan))


@dataclass(frozen=True, eq=False)
class Drawing:
    """One label pair drawn for each item, over and over: the published procedure."""

    pair_item: Ints
    moments: Floats
    n_items: int

    def values(self, value: Callable[[Floats], Floats], draws: int, seed: int, *, items: bool) -> Floats:
        """The statistic in each draw, of the items as they are or of items resampled: (draws, q)."""
        number = np.bincount(self.pair_item, minlength=self.n_items)
        start = np.cumsum(number) - number
        has = np.flatnonzero(number)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(items),)))
        found = []
        # Draws in blocks: the product of draws and pairs must not fill the memory.
        block = max(1, 2**24 // max(1, len(self.pair_item)))
        for done in range(0, draws, block):
            rows = min(block, draws - done)
            which = (
                rng.integers(0, len(has), size=(rows, len(has))) if items else np.arange(len(has))[None].repeat(rows, 0)
            )
            picked = has[which]
            pair = start[picked] + np.floor(rng.random(picked.shape) * number[picked]).astype(np.int64)
            cell = pair + len(self.pair_item) * np.arange(rows)[:, None]
            counts = np.bincount(cell.ravel(), minlength=rows * len(self.pair_item)).reshape(rows, -1)
            found.append(value(counts @ self.moments))
        return np.concatenate(found)
