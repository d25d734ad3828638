"""Arrays for the difference estimator, from a judge's labels of all items and human labels of some.

Labels are read in slices, so that a folder in chunks gives the same result as a table. This module also tests whether
the labelled items are a random sample, and cross-fits a prediction from several judges and columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import gammaln, stdtr

from assay.data.annotations import Annotations, Answers, Repeats, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.names import natural, natural_places
from assay.data.ratings import Ratings, cluster_codes
from assay.data.scales import Scale
from assay.errors import DataError, DesignError, counted, listing, unknown_judge
from assay.estimates import words
from assay.estimates.difference import Checked, JudgeMean, sum_at
from assay.estimation.resampling import gather
from assay.estimation.result import Exclusion, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.clusters import LEAST_GROUPS, grouped_items, groups_without

Population = Literal["infinite", "finite"]

REFUSED = 0.001
"""Significance level, over all columns, at which labelled items are refused as a random sample: at most one random
sample in a thousand is refused."""

DOUBTED = 0.01
"""Significance level for a caution."""

ONE_HUMAN = (
    "the variance among annotators cannot be estimated from one annotator; add annotators, or use raters='fixed'"
)

LEAST_EXPECTED = 5.0
"""Least expected labelled items at a level for the normal approximation of its share."""

MOST_LEVELS = 10
"""Text columns with more levels than this are names, and are not tested."""

MOST_SORTED = 10**6
"""Most items whose numbers are sorted (.1 s) to check for few levels; with more, only the mean is tested."""

ITEMS_A_REGRESSOR = 5
"""Least labelled items per judge and column of a prediction: with 12 regressors, 30 items cover .915 to .94."""

RIDGE = 1.0
"""Ridge penalty on standardised columns, relative to n items: it prevents overflow with collinear judges, and changes
no coefficient from 30 items by more than a thirtieth."""


@dataclass(frozen=True, eq=False)
class SpotChecks:
    """A judge's labels of all items, and human labels of some.

    Attributes
    ----------
    judges, people : tuple of str
    scale : Scale
    categories : tuple or None
        The categories that label values index, if labels are categories.
    n_all : int
    values : (rows, judges) float
        Judges' labels: one row per item or, for a folder in chunks, one row per different label.
    counts : (rows,) float or None
        The number of items of each row; None if it is one.
    position : (n,) int
        The positions of the labelled items among all.
    row, person, y : (labels,)
        Labelled item, annotator and label.
    judged : (n, judges) float
        Judges' labels of the labelled items; NaN if missing.
    weight : (n,) float
    cluster, stratum : (items,) int, optional
        Of all items.
    columns : mapping of name to Series
        Further columns of all items.
    """

    judges: tuple[str, ...]
    people: tuple[str, ...]
    scale: Scale
    categories: tuple[Any, ...] | None
    n_all: int
    values: Floats
    counts: Floats | None
    position: Ints
    row: Ints
    person: Ints
    y: Floats
    judged: Floats
    weight: Floats
    fingerprint: str
    cluster: Ints | None = None
    stratum: Ints | None = None
    columns: Mapping[str, pl.Series] = field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()
    table: Annotations | None = field(default=None, repr=False)
    """The labels of these judges and annotators, with the items of the arrays; None for a folder in chunks."""

    @classmethod
    def of(
        cls,
        labels: Annotations | Chunks,
        judges: Sequence[str],
        annotators: Sequence[str] | None = None,
        *,
        repeats: Repeats = "error",
        clusters: str | None = None,
        strata: str | None = None,
        probabilities: str | None = None,
        columns: Sequence[str] = (),
        gold: str | None = None,
    ) -> SpotChecks:
        """Read the labels of some judges and of all or some humans.

        Raises
        ------
        DataError
            For an unknown judge, annotator or column.
        DesignError
            If no annotator labelled an item that the judge labelled; if a majority is of more repeats on the labelled
            items than on the others.
        """
        needed = [c for c in (strata, probabilities, gold, clusters, *columns) if c is not None]
        if needed:
            labels = labels.in_memory(f"an estimate with a column of the items ('{needed[0]}')")
        for name in judges:
            if name not in labels.judges:
                raise DataError(unknown_judge(name, labels.judges, labels.humans))
        people = tuple(annotators or (labels.humans if gold is None else ()))
        for name in people:
            if name in judges:
                raise DesignError(f"'{name}' is the judge and cannot also be one of the annotators")
        chosen = (*judges, *people)
        if isinstance(labels, Chunks):
            ratings = Ratings.of(labels, chosen)
        else:
            table = labels if set(chosen) == {*labels.humans, *labels.judges} else labels.where(annotator=list(chosen))
            if repeats == "majority" and table.has_repeats:
                _refuse_uneven_repeats(table, judges, people)
            labels = table.resolve_repeats(repeats) if table.has_repeats else table
            ratings = Ratings.of(table, repeats=repeats)
        made = cls._read(ratings, tuple(judges), people)
        if isinstance(labels, Annotations):
            made = replace(made, table=labels)
        if needed:
            assert isinstance(labels, Annotations)
            made = made._add_columns(labels, clusters, strata, probabilities, columns, gold)
        return made._refuse_few()

    @classmethod
    def _read(cls, ratings: Ratings, judges: tuple[str, ...], people: tuple[str, ...]) -> SpotChecks:
        place = {name: i for i, name in enumerate((*judges, *people))}
        code = np.array([place.get(name, -1) for name in ratings.annotators])
        tabled = ratings.in_chunks
        if tabled and len(judges) > 1:
            raise DesignError("several judges require the whole table in memory; read a part of the folder")
        jobs = (partial(_read_slice, read, first, code, len(judges), tabled) for read, first, _ in ratings.slices(1))
        parts = gather(jobs)
        offsets = np.cumsum([0, *(len(p[2]) for p in parts)])
        values, counts = (
            _merge_counts([p[0] for p in parts], [p[1] for p in parts])
            if tabled
            else (np.concatenate([p[0] for p in parts]), None)
        )
        position = np.concatenate([p[2] for p in parts])
        row = np.concatenate([p[3] + start for p, start in zip(parts, offsets, strict=False)])
        categories = ratings.source.categories
        return cls(
            judges, people, ratings.scale, categories, ratings.n_items, values, counts, position, row,
            np.concatenate([p[4] for p in parts]), np.concatenate([p[5] for p in parts]),
            np.concatenate([p[6] for p in parts]), np.ones(len(position)), ratings.fingerprint, notes=ratings.notes,
        )  # fmt: skip

    def _add_columns(
        self, labels: Annotations, clusters: str | None, strata: str | None, probabilities: str | None,
        columns: Sequence[str], gold: str | None,
    ) -> SpotChecks:  # fmt: skip
        """The same with columns of the items."""
        made = self
        used = [c for c in (clusters, strata, probabilities, *columns, gold) if c is not None]
        data = fingerprint_with(self.fingerprint, **digest_of_columns(labels, *used))
        made = replace(made, fingerprint=data, columns={c: item_column(labels, c) for c in columns})
        if gold is not None:
            made = made._use_gold(item_column(labels, gold), gold)
        if clusters is not None:
            made = replace(made, cluster=cluster_codes(labels, clusters))
        if strata is not None:
            made = made.stratify(cluster_codes(labels, strata), strata)
        if probabilities is not None:
            chance = item_column(labels, probabilities).cast(pl.Float64, strict=False).to_numpy()[made.position]
            if not ((chance > 0) & (chance <= 1)).all():
                item = labels.items["item"][int(made.position[np.flatnonzero(~((chance > 0) & (chance <= 1)))[0]])]
                raise DataError(
                    f"every labelled item requires a probability above 0 and up to 1 in '{probabilities}'; item "
                    f"'{item}' has none. Fill in the probability that humans labelled the item"
                )
            made = replace(made, weight=1 / chance)
        return made

    def balance(self, groups: Ints, units: Ints) -> SpotChecks:
        """Return checks reweighted to equal shares of labelled items in every group, with units sampled whole:
        (items,)."""
        codes = groups if self.stratum is None else groups * (int(self.stratum.max()) + 1) + self.stratum
        sizes = np.bincount(codes)
        drawn = np.bincount(codes[self.position], minlength=len(sizes))
        weight = (sizes / np.maximum(drawn, 1))[codes[self.position]]
        return replace(self, weight=weight, stratum=None, cluster=units)

    def stratify(self, codes: Ints, name: str) -> SpotChecks:
        """Return the checks with items sampled within strata: (items,)."""
        sizes = np.bincount(codes)
        drawn = np.bincount(codes[self.position], minlength=len(sizes))
        if (empty := np.flatnonzero((drawn == 0) & (sizes > 0))).size:
            raise DesignError(
                f"{counted(len(empty), 'stratum')} of '{name}' "
                f"{'has' if len(empty) == 1 else 'have'} no labelled items; label some items of "
                f"{'it' if len(empty) == 1 else 'each'}, or merge strata"
            )
        return replace(self, stratum=codes, weight=(sizes / np.maximum(drawn, 1))[codes[self.position]])

    def _use_gold(self, given: pl.Series, name: str) -> SpotChecks:
        """A column of true labels instead of human labels."""
        filled = np.flatnonzero(given.is_not_null().to_numpy())
        kept = given.gather(pl.Series(filled))
        if self.categories is None:
            y = kept.cast(pl.Float64, strict=False).to_numpy()
        else:
            known = {str(word): i for i, word in enumerate(self.categories)}
            y = np.array([known.get(str(one), np.nan) for one in kept.to_list()], dtype=float)
        valid = np.isfinite(y)
        if self.scale.bounds is not None and self.categories is None:
            valid &= (y >= self.scale.bounds[0]) & (y <= self.scale.bounds[1])
        if not valid.all():
            raise DataError(
                f"'{name}' has {kept[int(np.flatnonzero(~valid)[0])]!r}, which is not on the scale "
                f"({self.scale.describe()}); correct it, or empty the cell"
            )
        judged = self.values[filled]
        n = len(filled)
        return replace(
            self, people=(name,), position=filled, row=np.arange(n), person=np.zeros(n, dtype=np.int64), y=y,
            judged=judged, weight=np.ones(n),
        )  # fmt: skip

    def _refuse_few(self) -> SpotChecks:
        """The same, without annotators who labelled only one item.

        Raises
        ------
        DesignError
            If the judge's labels cannot be corrected.
        """
        judge = listing(self.judges)
        if not self.people:
            raise DesignError("an estimate requires human labels of some items; the table has none")
        if not len(self.row) or not np.isfinite(self.judged).any():
            raise DesignError(
                f"no item has both a label of '{judge}' and a human label, so the judge's errors are not estimable; "
                "have annotators label some of the items that the judge labelled"
            )
        if len(self.position) == 1:
            raise DesignError(
                "humans labelled one item, which is not enough to estimate the judge's errors; label 30 or more items"
            )
        loads = np.bincount(self.person, minlength=len(self.people))
        single = [name for name, load in zip(self.people, loads, strict=True) if load < 2]
        if len(single) == len(self.people):
            raise DesignError(
                "no annotator labelled two items, so differences between annotators and between items are confounded; "
                "have the same annotators label several items, or give all of them one name"
            )
        if not single:
            return self
        out = Exclusion("person", len(single), "labelled fewer than 2 items", tuple(single[:8]))
        made = self.select_people(tuple(name for name in self.people if name not in single))
        return replace(made, exclusions=(*self.exclusions, replace(out, what="annotator")))

    def select_people(self, people: tuple[str, ...]) -> SpotChecks:
        """Return the labels of some of the humans; items that only others labelled are then unlabelled."""
        code = np.array([people.index(name) if name in people else -1 for name in self.people])
        keep = code[self.person] >= 0
        rows, row = np.unique(self.row[keep], return_inverse=True)
        return replace(
            self, people=people, row=row, person=code[self.person[keep]], y=self.y[keep], position=self.position[rows],
            judged=self.judged[rows], weight=self.weight[rows],
        )  # fmt: skip

    def where(self, keep: Bools) -> SpotChecks:
        """Return some of the items, (items,): a slice."""
        assert self.counts is None
        place = np.cumsum(keep) - 1
        made = self._where_labelled(keep[self.position])
        return replace(
            made,
            n_all=int(keep.sum()),
            values=self.values[keep],
            position=place[made.position],
            cluster=None if self.cluster is None else _dense(self.cluster[keep]),
            stratum=None if self.stratum is None else _dense(self.stratum[keep]),
            columns={c: s.filter(pl.Series(keep)) for c, s in self.columns.items()},
        )

    def _where_labelled(self, keep: Bools) -> SpotChecks:
        """The same with some of the labelled items, (n,)."""
        labels, at = keep[self.row], np.cumsum(keep) - 1
        return replace(
            self, position=self.position[keep], row=at[self.row[labels]], person=self.person[labels],
            y=self.y[labels], judged=self.judged[keep], weight=self.weight[keep],
        )  # fmt: skip

    def judged_by(self, j: int) -> SpotChecks:
        """Return the items, or the rows of a folder in chunks, with a label of one of the judges."""
        there = np.isfinite(self.values[:, j])
        if there.all():
            return self
        if self.counts is None:
            return self.where(there)
        counts = self.counts[there]
        made = self._where_labelled(np.isfinite(self.judged[:, j]))
        return replace(made, values=self.values[there], counts=counts, n_all=int(counts.sum()))

    def present(self) -> SpotChecks:
        """Return the checks without annotators who labelled fewer than two of these items."""
        loads = np.bincount(self.person, minlength=len(self.people))
        return self.select_people(tuple(name for name, load in zip(self.people, loads, strict=True) if load > 1))

    # -- the input of the estimator ------------------------------------------------------------------

    @property
    def n(self) -> int:
        """The number of labelled items."""
        return len(self.position)

    def drawn(self, population: Population) -> Checked:
        """Return the sampling design of the labelled items."""
        return Checked(
            self.row, self.person, self.weight, len(self.people), self.n_all,
            None if self.cluster is None else self.cluster[self.position],
            None if self.cluster is None else np.bincount(self.cluster),
            None if self.stratum is None else self.stratum[self.position],
            None if self.stratum is None else np.bincount(self.stratum),
            population == "finite",
        )  # fmt: skip

    def seen(self, number: Callable[[Floats], Floats]) -> JudgeMean:
        """Return the judge's labels of all items as numbers; missing labels are imputed by its mean."""
        return self._judge_mean(number(self.values[:, 0]), number(self.judged[:, 0]))

    def _judge_mean(self, everywhere: Floats, here: Floats) -> JudgeMean:
        there = np.isfinite(everywhere)
        complete = bool(there.all())
        counts = self.counts if self.counts is None or complete else self.counts[there]
        given = everywhere if complete else everywhere[there]
        total = float(len(given)) if counts is None else float(counts.sum())
        if not total:
            return JudgeMean(np.zeros(self.n), 0.0, 0.0)
        mean = float(given.sum() if counts is None else counts @ given) / total
        off = given - mean
        variance = float(off @ off if counts is None else counts @ off**2) / self.n_all
        sums = None
        if self.cluster is not None:
            sums = sum_at(self.cluster, np.where(there, everywhere - mean, 0.0))
        filled = None if counts is not None else everywhere if complete else np.where(there, everywhere, mean)
        return JudgeMean(np.where(np.isfinite(here), here, mean), mean, variance, sums, filled)

    @property
    def n_unjudged(self) -> int:
        """Items without a label of the (first) judge."""
        lacking = ~np.isfinite(self.values[:, 0])
        return int(lacking.sum() if self.counts is None else self.counts[lacking].sum())

    def predict_people(self, number: Callable[[Floats], Floats], folds: int, seed: int) -> JudgeMean:
        """A prediction of people's mean from all judges and columns, fitted on other items than it is used on."""
        x = self._regressors()
        y = np.bincount(self.row, number(self.y), self.n) / np.bincount(self.row, minlength=self.n)
        part = self._fold_of(folds, seed)
        fits = [ridge(x[self.position[part != k]], y[part != k], self.weight[part != k]) for k in np.unique(part)]
        everywhere = np.mean([x @ b + a for a, b in fits], axis=0)
        here = np.empty(self.n)
        for k, (a, b) in zip(np.unique(part), fits, strict=True):
            here[part == k] = x[self.position[part == k]] @ b + a
        everywhere[self.position] = here
        return self._judge_mean(everywhere, here)

    def _regressors(self) -> Floats:
        """(items, regressors), standardised: each judge's label, each column, each level of a text column."""
        found = [self._judge_columns(j) for j in range(self.values.shape[1])]
        for name, column in self.columns.items():
            found.append(_column_numbers(column, name))
        x = np.concatenate(found, axis=1)
        x = x - x.mean(axis=0)
        scale = x.std(axis=0)
        x = x[:, scale > 0] / scale[scale > 0]
        if x.shape[1] * ITEMS_A_REGRESSOR > self.n:
            raise DesignError(
                f"a prediction from {x.shape[1]} judges, columns and levels requires {ITEMS_A_REGRESSOR * x.shape[1]} "
                f"labelled items ({ITEMS_A_REGRESSOR} each); there are {self.n}. Use fewer columns, or label more items"
            )
        return np.asarray(x)

    def _judge_columns(self, j: int) -> Floats:
        given = self.values[:, j]
        if self.categories is not None and not self.scale.ordered:
            levels = np.unique(given[np.isfinite(given)])[1:]
            return np.stack([(given == level).astype(float) for level in levels], axis=1)
        return np.where(np.isfinite(given), given, np.nanmean(given))[:, None]

    def _fold_of(self, folds: int, seed: int) -> Ints:
        """The fold of each labelled item; clusters stay whole."""
        unit = np.arange(self.n) if self.cluster is None else _dense(self.cluster[self.position])
        number = int(unit.max()) + 1
        k = min(folds, number)
        return np.asarray(np.random.default_rng(seed).permutation(number)[unit] % k)


def _read_slice(read: Callable[[], Answers], first: int, code: Ints, n_judges: int, tabled: bool) -> tuple[Any, ...]:
    """Judges' labels (one row per item, or different labels and their counts), and human labels of this slice."""
    answers = read()
    who = code[answers.annotator]
    mine = (who >= 0) & (who < n_judges)
    cells = np.full((answers.n_items, n_judges), np.nan)
    cells[answers.item[mine], who[mine]] = answers.value[mine]
    theirs = who >= n_judges
    items, row = np.unique(answers.item[theirs], return_inverse=True)
    judged = cells[items]
    values, counts = cells, None
    if tabled:
        seen, number = np.unique(cells[:, 0], return_counts=True)  # one NaN for all
        values, counts = seen[:, None], number.astype(float)
    return values, counts, items + first, row, who[theirs] - n_judges, answers.value[theirs].astype(float), judged


def _merge_counts(values: list[Floats], counts: list[Floats]) -> tuple[Floats, Floats]:
    """The different labels of several slices and their counts."""
    seen, place = np.unique(np.concatenate(values)[:, 0], return_inverse=True)
    return seen[:, None], sum_at(place, np.concatenate(counts), len(seen))


def _dense(codes: Ints) -> Ints:
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def ridge(x: Floats, y: Floats, weight: Floats) -> tuple[float, Floats]:
    """Intercept and slopes, with a small ridge penalty."""
    w = weight / weight.mean()
    centre, mean = (w @ x) / w.sum(), float(w @ y) / w.sum()
    dx = x - centre
    b: Floats = np.linalg.solve((dx * w[:, None]).T @ dx + RIDGE * np.eye(x.shape[1]), (dx * w[:, None]).T @ (y - mean))
    return mean - float(centre @ b), b


def item_column(labels: Annotations, name: str) -> pl.Series:
    """Return a column of the items.

    Raises
    ------
    DataError
        For an unknown column.
    """
    column = labels.of_items(name)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _column_numbers(column: pl.Series, name: str) -> Floats:
    """A column as regressors; an empty cell becomes the mean, or a separate level."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        given = column.cast(pl.Float64).to_numpy().astype(float)
        return np.where(np.isfinite(given), given, np.nanmean(given))[:, None]
    words = column.cast(pl.String).fill_null("")
    levels = natural(words.unique().to_list())
    if len(levels) > MOST_LEVELS:
        raise DesignError(
            f"'{name}' has {len(levels)} different texts; a covariate must be a number or have at most {MOST_LEVELS} "
            "levels"
        )
    return (
        np.stack([(words == level).to_numpy().astype(float) for level in levels[1:]], axis=1)
        if len(levels) > 1
        else np.zeros((len(words), 1))
    )


# -- are the labelled items a random sample? -------------------------------------------------------------


@dataclass(frozen=True)
class SamplingCheck:
    """A difference between the labelled items and all items, with its p-value."""

    p: float
    words: str


MOST_UNEVEN = 0.1
"""Largest difference, in the mean number of repeats of a judge, between the labelled items and the others."""


def _refuse_uneven_repeats(table: Annotations, judges: Sequence[str], people: Sequence[str]) -> None:
    """Refuse majorities of other numbers of repeats on the labelled items than elsewhere: they err at other rates."""
    labelled = table.labels.filter(pl.col("annotator").cast(pl.String).is_in([*people]))["item"].unique()
    for name in judges:
        mine = table.labels.filter(pl.col("annotator").cast(pl.String) == name)
        number = mine.group_by("item").len()
        there = number["item"].is_in(labelled.implode())
        on, off = number["len"].filter(there).mean(), number["len"].filter(~there).mean()
        if isinstance(on, float) and isinstance(off, float) and abs(on - off) > MOST_UNEVEN:
            raise DesignError(words.uneven_repeats(name, on, off), option="repeats")


def sampling_checks(
    checks: SpotChecks, *, skip: Sequence[str | None] = (), by_order: bool = True
) -> list[SamplingCheck]:
    """Compare the labelled items with all items: the judge's labels, the columns of the items, the order of names.

    Each is compared on items with a judge's label: items without one are often absent from a table if humans did not
    label them either. P-values are adjusted (Bonferroni); the smallest comes first.
    """
    if checks.n >= checks.n_all:
        return []
    found, order = _check_judges(checks), list[SamplingCheck]()
    if checks.table is not None:
        there: Bools = np.asarray(np.isfinite(checks.values).any(axis=1))
        items = checks.table.items.filter(pl.Series(there))
        known = checks if there.all() else checks.where(there)
        if 0 < known.n < known.n_all:
            order = _check_order(known, items["item"]) if by_order else []
            for name in items.columns[1:]:
                if name not in skip:
                    found += _check_column(known, items[name], name)
            for name, code in grouped_items(items, [one for one in skip if one]).items() if by_order else ():
                found += _check_groups(known, code, name)
    tested = [one for one in (*found, *order) if math.isfinite(one.p)]
    if len(order) > 1:  # two tests of one thing: the first is easier to understand
        tested.remove(order[1] if order[0].p * len(tested) < REFUSED or order[0].p <= order[1].p else order[0])
    number = len(tested) + (len(order) > 1)
    return sorted((SamplingCheck(min(one.p * number, 1.0), one.words) for one in tested), key=lambda one: one.p)


def annotator_checks(checks: SpotChecks, *, skip: Sequence[str | None] = ()) -> list[tuple[str, SamplingCheck]]:
    """Compare the items of each annotator with all items: the annotators whose items are not a random sample of them.

    Consecutive batches of items are the usual way to divide work, so the order of names is not compared. P-values are
    adjusted for the number of annotators, too (Bonferroni).
    """
    some = {name: checks.select_people((name,)) for name in checks.people}
    each = {name: part for name, part in some.items() if 1 < part.n < checks.n}
    tested = [(name, found[0]) for name, part in each.items()
              if (found := sampling_checks(part, skip=skip, by_order=False))]  # fmt: skip
    adjusted = [(name, SamplingCheck(min(one.p * len(tested), 1.0), one.words)) for name, one in tested]
    return [(name, one) for name, one in adjusted if one.p < DOUBTED]


def missing_check(checks: SpotChecks, further: int) -> SamplingCheck:
    """Compare the share of the labelled items without a label of the (first) judge with that of all items.

    Parameters
    ----------
    further : int
        Items without any label, which are not in the arrays.
    """
    everywhere, here = ~np.isfinite(checks.values[:, 0]), ~np.isfinite(checks.judged[:, 0])
    k, n, n_all = int(here.sum()), checks.n, checks.n_all + further
    text = words.missing_judge_labels(checks.judges[0], (k, n), (checks.n_unjudged + further - k, n_all - n))
    everywhere = np.concatenate([everywhere, np.ones(further, dtype=bool)])
    return _level(replace(checks, n_all=n_all), everywhere, here, text)


def _check_order(checks: SpotChecks, names: pl.Series) -> list[SamplingCheck]:
    """Test the mean and the spread of the places of the labelled items in the natural order of the names."""
    last = checks.n_all - 1
    place = natural_places(names)[checks.position].astype(float)
    share, variance = _share(checks), last * (last + 2) / 12
    mean = float(share @ place)
    early = "early" if mean < last / 2 else "late"
    shift = _measure_shift(checks, place - last / 2, variance, f"they are {early} in the order of the item names")
    # Of the squared distance of a uniform number from the mean, on a line of length 1: 1/80 − 1/144.
    off = (place - mean) ** 2 - variance
    low, high = (f"{int(one) + 1:,}" for one in np.quantile(place, (0.25, 0.75), method="inverted_cdf"))
    how = f"close together in the order of the item names, half of them at places {low} to {high} of"
    if float(share @ off) > 0:
        how = f"far apart in the order of the item names, half of them at places up to {low} or from {high} of"
    spread = _measure_shift(checks, off, variance**2 * 4 / 5, f"they are {how} {checks.n_all:,}")
    return [one for one in (shift, spread) if math.isfinite(one.p)]


def _share(checks: SpotChecks) -> Floats:
    return np.asarray(checks.weight / checks.weight.sum())


def _check_judges(checks: SpotChecks) -> list[SamplingCheck]:
    found = []
    for j, judge in enumerate(checks.judges):
        part = checks.judged_by(j)
        if not 0 < part.n < part.n_all:
            continue
        everywhere, here = part.values[:, j], part.judged[:, j]
        different: Floats | Ints = np.empty(0)
        if checks.categories is not None:
            different = np.flatnonzero(np.bincount(everywhere.astype(np.int64)))
        elif len(everywhere) < MOST_SORTED:
            different = np.unique(everywhere)
        if checks.categories is None and not 0 < len(different) <= MOST_LEVELS:
            text = f"the mean label of '{judge}' is {here.mean():.3g} on them and "
            found.append(_test_mean(part, everywhere, here, f"{text}{_mean(everywhere, part.counts):.3g} on all"))
            continue
        for value in different:
            word = checks.categories[int(value)] if checks.categories is not None else f"{value:g}"
            text = f"'{judge}' labels {{}} of them and {{}} of all as {word}"
            found.append(_level(part, everywhere == value, here == value, text))
    return found


def _check_column(checks: SpotChecks, column: pl.Series, name: str) -> list[SamplingCheck]:
    if column.dtype.is_numeric() and column.n_unique() > 2:
        given = column.cast(pl.Float64).to_numpy().astype(float)
        here = given[checks.position]
        if not np.isfinite(here).any():
            return []
        text = f"the mean of '{name}' is {np.nanmean(here):.3g} on them and {np.nanmean(given):.3g} on all"
        return [_test_mean(checks, given, here, text)]
    if column.dtype.is_nested() or column.n_unique() > MOST_LEVELS:
        return []
    texts = column.cast(pl.String)
    found = []
    for level in natural([v for v in texts.unique().to_list() if v is not None]):
        there = (texts == level).fill_null(value=False).to_numpy()
        found.append(
            _level(checks, there, there[checks.position], f"'{name}' is {level} for {{}} of them and {{}} of all")
        )
    return found


def _check_groups(checks: SpotChecks, code: Ints, name: str) -> list[SamplingCheck]:
    """Test whether the labelled items are in few of many groups, such as documents: whole groups were sampled.

    Whether items of `LEAST_GROUPS` groups depend on one another is measured, but not of fewer.
    """
    even = checks.stratum is not None or (checks.weight == checks.weight[0]).all()
    number, all_of = len(np.unique(code[checks.position])), int(code.max()) + 1
    if checks.cluster is not None or not even or number >= LEAST_GROUPS:
        return []
    expected, p = groups_without(code, checks.position, checks.stratum)
    text = f"they have {number:,} of {all_of:,} values of '{name}', and a random sample about {expected:,.0f}"
    return [SamplingCheck(2 * p, text)]


def _level(checks: SpotChecks, everywhere: Bools, here: Bools, template: str) -> SamplingCheck:
    """Test the share of a level: the exact hypergeometric tail if items were sampled with equal probabilities."""
    count = float(everywhere.sum() if checks.counts is None else checks.counts[everywhere].sum())
    text = template.format(f"{100 * here.mean():.0f}%", f"{100 * count / checks.n_all:.0f}%")
    if (checks.weight == checks.weight[0]).all() and checks.cluster is None:
        return SamplingCheck(_hypergeometric(int(here.sum()), checks.n, round(count), checks.n_all), text)
    share = count / checks.n_all
    if min(share, 1 - share) * checks.n < LEAST_EXPECTED:
        return SamplingCheck(math.nan, text)
    return _test_mean(checks, everywhere.astype(float), here.astype(float), text)


def _hypergeometric(k: int, n: int, count: int, n_all: int) -> float:
    """Two-sided p-value of k of n drawn, if ``count`` of ``n_all`` are of the kind: twice the smaller tail."""
    each = np.arange(max(0, n + count - n_all), min(n, count) + 1)

    def log_choose(total: int, some: Ints) -> Floats:
        return np.asarray(gammaln(total + 1) - gammaln(some + 1) - gammaln(total - some + 1))

    chance = np.exp(log_choose(count, each) + log_choose(n_all - count, n - each) - log_choose(n_all, np.array(n)))
    return float(min(2 * min(chance[each <= k].sum(), chance[each >= k].sum()), 1.0))


def _mean(values: Floats, counts: Floats | None) -> float:
    there = np.isfinite(values)
    return float(np.average(values[there], weights=None if counts is None else counts[there]))


def _test_mean(checks: SpotChecks, everywhere: Floats, here: Floats, text: str) -> SamplingCheck:
    """Test whether the labelled items have the mean of all."""
    mean, there = _mean(everywhere, checks.counts), np.isfinite(everywhere)
    counts = None if checks.counts is None else checks.counts[there]
    variance = float(np.average((everywhere[there] - mean) ** 2, weights=counts))
    return _measure_shift(checks, np.asarray(np.where(np.isfinite(here), here - mean, 0.0)), variance, text)


def _measure_shift(checks: SpotChecks, off: Floats, variance: float, text: str) -> SamplingCheck:
    """Test the difference of the weighted mean of the labelled items from that of all, in standard errors.

    Parameters
    ----------
    off : (n,) float
        Of each labelled item, minus the mean of all.
    variance : float
        Of all.
    """
    each = _share(checks) * off
    if checks.cluster is not None:
        each = sum_at(checks.cluster[checks.position], each)
    if checks.stratum is not None:
        h = checks.stratum[checks.position]
        size = np.bincount(h)[h]
        each = (each - (sum_at(h, each) / np.maximum(np.bincount(h), 1))[h]) * np.sqrt(size / np.maximum(size - 1, 1))
    even = (checks.weight == checks.weight[0]).all() and checks.cluster is None and checks.stratum is None
    error = math.sqrt(variance / checks.n * (1 - checks.n / checks.n_all) if even else float(each @ each))
    if error <= 1e-9 * math.sqrt(variance):  # equal by the weights, up to rounding
        return SamplingCheck(math.nan, text)
    units = checks.n if checks.cluster is None else len(np.unique(checks.cluster[checks.position]))
    p = 2 * stdtr(max(units - 1, 1), -abs(float(_share(checks) @ off)) / error)
    return SamplingCheck(float(p), text)


def judge_of(labels: Annotations, named: str | None) -> str:
    """Return the named judge, or the only judge of the table."""
    if named is not None:
        if named not in labels.judges:
            raise DataError(unknown_judge(named, labels.judges, labels.humans))
        return named
    if len(labels.judges) != 1:
        raise DesignError(
            f"specify the judge with judge=...; the table has {listing(labels.judges) or 'no judge'}", option="judge"
        )
    return labels.judges[0]
