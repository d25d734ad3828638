"""Where do annotators disagree: on which items, which categories, and what does a judge say where people say what?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.concordance import plots
from assay.concordance.coefficient import (
    CoefficientSettings,
    Measure,
    Spread,
    describe_values,
    estimate_ratings,
    label_word,
    small_sample_intervals,
)
from assay.concordance.measures import fleiss, scott
from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Nominal
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.intervals import Estimate, adjust_p, missing
from assay.estimation.options import IntervalSettings, option, question
from assay.estimation.resampling import Sums
from assay.estimation.result import Exclusion, ResultOfRows, Run
from assay.estimation.statistic import Bools, Floats, Ints
from assay.reporting.tables import estimated, said
from assay.statistics.categories import Together, category_counts, grid, ratio
from assay.statistics.pairs import WithinItems

if TYPE_CHECKING:
    from matplotlib.axes import Axes

First = Literal["all", "people", "judges"]

MOST_CATEGORIES = 20
"""Different labels up to which categories are looked at one by one: more are numbers, which are near or far."""

LEAST_TESTED = 10
"""Items on which a category must have been given for its κ to be set against that of all: of fewer the jackknife does
not know how much it varies."""

MOST_CELLS = 50_000_000
"""Items times annotators that are laid out as one table (400 MB)."""

MOST_TEXT = 60
"""Characters of an item's text that a summary quotes."""

SPECIFIC = Measure("specific-agreement", "Specific agreement", "labels", transform="share", zero=False, share=True)

NUMBERS = dict.fromkeys(("estimate", "low", "high"), pl.Float64)


@dataclass(frozen=True)
class DisagreementSettings(IntervalSettings):
    """Options of `assay.disagreement`."""

    first: First = option(
        "all",
        "Which items come first.",
        details="all: those whose labels lie farthest apart; people: those on which people do; judges: those on which "
        "judges are farther from people than people are from each other.",
        first=True,
    )
    show: int = option(5, "Items that the summary names.", low=0, first=True)
    repeats: Repeats = option(
        "error", "What repeated answers stand for.", details="A table with repeats is refused until this is said."
    )
    clusters: str | None = option(None, "Item column whose items are resampled together.")


@dataclass(frozen=True, eq=False)
class Disagreement(ResultOfRows):
    """Items, categories and confusions on which annotators disagree.

    Attributes
    ----------
    items : polars.DataFrame
        An item a row, the most divided first: ``criterion``, ``item``, ``disagreement`` (mean distance of each two of
        its labels, 0 to 1 of the scale), ``people`` (of people's labels), ``judges`` (of judges' labels from people's),
        ``excess`` (judges less people), ``n`` (labels), ``labels`` (who said what), and what the item table knows.
    table : polars.DataFrame
        Agreement for each category: ``criterion``, ``who`` (humans, judges, or a judge with people), ``category``,
        ``coefficient``, ``estimate``, ``low``, ``high``, ``n`` (items on which it was given), ``interval``, ``reason``.
        ``specific-agreement`` is how often the category is given by another where one gives it, 0 to 1;
        ``category-kappa`` is the same beyond chance, Fleiss's κ of this category against all others, with
        ``p_adjusted`` (Holm, over the categories of a group given to 10 items or more) of no difference from the κ of
        all categories together, and ``than_all``: "less", "more" or "not shown".
    confusion : polars.DataFrame
        What each judge says where people say what: ``criterion``, ``judge``, ``people``, ``says``, ``pairs`` (of a
        judge's label and a person's), ``share`` (of the pairs with this label of people).
    """

    items: pl.DataFrame = field(metadata={"json": False})
    rows: pl.DataFrame = field(metadata={"json": False})
    confusion: pl.DataFrame
    n_items: int
    n_agreed: int
    run: Run
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})

    def summary(self) -> str:
        """The items, categories and confusions to look at first."""
        share = f"On {self.n_agreed:,} of {counted(self.n_items, 'item')} with two labels or more all labels are equal."
        settings = self.run.settings
        assert isinstance(settings, DisagreementSettings)
        divided = self.items.filter(pl.col(_ranked_by(settings.first)) > 0).head(settings.show)
        ahead = {
            "all": "Most divided",
            "people": "People are most divided on",
            "judges": "Judges are farthest from people on",
        }
        lines = [share] + ([f"{ahead[settings.first]}:"] if divided.height else [])
        lines += [f"  {_item_words(row, settings.first)}" for row in divided.iter_rows(named=True)]
        lines += [*self.category_words(), *self.confusion_words()]
        return "\n".join([*lines, f"{self.run.interval}.", *self.run.closing()])

    def category_words(self) -> list[str]:
        """Which categories are shown to be agreed on less than all together, of each panel and each judge."""
        found = []
        tested = self.rows.filter(pl.col("than_all").is_not_null())
        for (criterion, who), part in tested.group_by("criterion", "who", maintain_order=True):
            less = part.filter(than_all="less").sort("estimate")
            mine = self.rows.filter(
                pl.col("criterion").eq_missing(pl.lit(criterion, pl.String)), pl.col("who") == who,
                coefficient="specific-agreement",
            )  # fmt: skip
            share = {c: _number(mine.filter(category=c).row(0, named=True)) for c in less["category"]}
            named = [f"'{c}' (where one gives it, another does in {often} of cases)" for c, often in share.items()]
            words = f"agree less on {listing(named)}, beyond chance, than on all categories"
            if not named:
                words = "are not shown to agree less on any category than on the others"
            found.append(f"{f'{criterion}: ' if criterion else ''}{_whose(str(who))} {words}.")
        return found

    def confusion_words(self) -> list[str]:
        """What each judge and people most often say in each other's place."""
        found = []
        apart = self.confusion.filter(pl.col("people") != pl.col("says"), pl.col("pairs") > 0)
        for (criterion, judge), part in apart.group_by("criterion", "judge", maintain_order=True):
            first = part.sort("pairs", descending=True).row(0, named=True)
            start = f"{criterion}: " if criterion else ""
            found.append(
                f"{start}Where {judge} and a person differ, it is most often people '{first['people']}', {judge} "
                f"'{first['says']}': {first['pairs']} of {part['pairs'].sum()} such pairs."
            )
        return found

    def plot(self, ax: Axes | None = None) -> Axes:
        """Specific agreement of each category: a forest plot."""
        rows = self.rows.filter(coefficient="specific-agreement")
        if not rows.height:
            raise DesignError("these labels have too many values to be looked at one by one; `items` has the answer")
        return plots.categories(rows, ax)

    def confusion_map(self, judge: str | None = None, ax: Axes | None = None, *, criterion: str | None = None) -> Axes:
        """What a judge says (columns) where people say what (rows), as shares of people's labels.

        Raises
        ------
        DesignError
            Where there is no judge beside people, or not this one.
        """
        rows = self.confusion
        if not rows.height:
            raise DesignError("a confusion sets a judge beside people; these labels have none, or too many values")
        judges = rows["judge"].unique(maintain_order=True).to_list()
        if judge is not None and judge not in judges:
            raise DesignError(unknown("judge", judge, judges))
        rows = rows.filter(judge=judge or judges[0])
        named = rows["criterion"].unique(maintain_order=True).to_list()
        if criterion is not None and criterion not in named:
            raise DesignError(unknown("criterion", criterion, [str(n) for n in named]))
        rows = rows.filter(pl.col("criterion").eq_missing(pl.lit(criterion or named[0], pl.String)))
        return plots.confusion(rows, judge or judges[0], ax)


@question(DisagreementSettings)
def disagreement(labels: Annotations | Chunks, settings: DisagreementSettings) -> Disagreement:
    """On which items, and on which categories, do annotators disagree?

    Parameters
    ----------
    labels : Annotations
        One or more criteria, each looked at by itself.

    Returns
    -------
    Disagreement
        ``items`` with their texts, the most divided first; ``table`` with the agreement for each category;
        ``confusion`` of judges and people; ``summary()``, ``plot()``, ``confusion_map()``.

    Raises
    ------
    DesignError
        For fewer than two annotators, repeats that nobody decided about, free text, or chunks.

    Notes
    -----
    The distance of two labels is 0 or 1 for categories, and their difference as a share of the scale for labels with an
    order (steps of ordered words). Agreement for a category is the proportion of specific agreement (Cicchetti &
    Feinstein 1990; for many annotators Fleiss 1971, eq. 10), each label of an item weighing the same; a judge with
    people is averaged over the people of an item. κ of a category is (P − p) / (1 − p), p its share of labels (Fleiss
    1971, eq. 12).

    Examples
    --------
    >>> import assay, polars as pl
    >>> rows = {"item": [*"aabbcc"], "annotator": ["ann", "bob"] * 3, "label": [1, 5, 2, 2, 4, 3]}
    >>> found = disagreement(assay.Annotations.from_frame(pl.DataFrame(rows), scale=assay.Ordinal(1, 5)))
    >>> found.items.select("item", "disagreement", "labels").row(0)
    ('a', 1.0, 'ann 1, bob 5')
    """
    labels = labels.in_memory("disagreement item by item")
    resolved = labels.resolve_repeats(settings.repeats)
    items, rows, confusions, estimates = [], [], [], []
    exclusions: list[Exclusion] = []
    data, words, agreed, several = labels.fingerprint, "", 0, 0
    for criterion in resolved.criteria or (None,):
        one = resolved if criterion is None else resolved.where(criterion=criterion)
        ratings = Ratings.of(one, clusters=settings.clusters).require_annotators(2, "disagreement")
        if not (ratings.scale.ordered or ratings.scale.kind in ("nominal", "preference")):
            raise DesignError(
                "disagreement needs labels that can be equal or in order, and these are free text. Say with scale=... "
                "which categories they are"
            )
        data = ratings.fingerprint if criterion is None else data
        frame = item_distances(ratings).with_columns(criterion=pl.lit(criterion, pl.String))
        single = ratings.n_items - frame.height
        if single:
            exclusions.append(Exclusion("item", single, "no two labels to compare"))
        agreed, several = agreed + frame.filter(pl.col("disagreement") == 0).height, several + frame.height
        items.append(frame.join(one.items, on="item", how="left"))
        if len(ratings.values) > MOST_CATEGORIES:
            exclusions.append(Exclusion("criterion", 1, f"more than {MOST_CATEGORIES} different labels: no categories"))
            continue
        for row, estimate in _categories(ratings, settings):
            rows.append({"criterion": criterion, **row})
            estimates.append(estimate)
            words = words or str(row["interval"])
        confusions += [{"criterion": criterion, **row} for row in _confusion(ratings)]
    by = _ranked_by(settings.first)
    ranked = pl.concat(items, how="diagonal_relaxed").sort(by, "disagreement", descending=True, nulls_last=True)
    ranked = ranked.select("criterion", pl.exclude("criterion"))
    facts = {
        "items": labels.n_items, "humans": len(labels.humans), "judges": len(labels.judges) or None,
        "scale": tuple(sorted({s.spec for s in labels.scales.values()})),
    }  # fmt: skip
    notes = (f"repeated answers: {settings.repeats}",) if labels.has_repeats else ()
    return Disagreement(
        items=ranked, rows=_frame(rows), confusion=_confusion_frame(confusions), n_items=several, n_agreed=agreed,
        run=Run("disagreement", settings, data, facts, words or "no interval", tuple(exclusions), notes),
        estimates=tuple(estimates),
    )  # fmt: skip


def _ranked_by(first: First) -> str:
    return {"all": "disagreement", "people": "people", "judges": "excess"}[first]


# -- items -------------------------------------------------------------------------------------------


def item_distances(ratings: Ratings, *, quoted: bool = True) -> pl.DataFrame:
    """How far the labels of each item with two or more lie apart, as a share of the scale; quoted: who said what."""
    m = len(ratings.annotators)
    if ratings.n_items * m > MOST_CELLS:
        raise DesignError(f"{ratings.n_items:,} items by {m:,} annotators are too many to lay out; choose some items")
    cells = grid(ratings.answers)
    people, judges = (np.isin(ratings.annotators, names) for names in (ratings.humans, ratings.judges))
    unit = _span(ratings)
    far = partial(_far, ordered=ratings.scale.ordered)
    both = mean_distance(cells, ordered=ratings.scale.ordered) / unit
    among = mean_distance(cells[:, people], ordered=ratings.scale.ordered) / unit
    apart = [far(cells[:, j, None], cells[:, people]) for j in np.flatnonzero(judges)]
    pairs = np.concatenate(apart, axis=1) if apart else np.full((len(cells), 1), np.nan)
    there = ~np.isnan(pairs)
    beside = ratio(np.where(there, pairs, 0.0).sum(axis=1), there.sum(axis=1).astype(float)) / unit
    number = (~np.isnan(cells)).sum(axis=1)
    keep = np.flatnonzero(number > 1)
    names = [ratings.answers.items[i] for i in keep.tolist()]
    return pl.DataFrame({
        "item": pl.Series(names, dtype=pl.String),
        "disagreement": both[keep], "people": among[keep], "judges": beside[keep],
        "excess": beside[keep] - among[keep], "n": number[keep],
        **({"labels": _who_said_what(ratings, names)} if quoted else {}),
    }).with_columns(pl.col(pl.Float64).fill_nan(None))  # fmt: skip


def farthest_items(labels: Annotations, judge: str, most: int, repeats: Repeats = "error") -> pl.DataFrame:
    """The items on which a judge is farther from people than people are from each other, the farthest first.

    Returns
    -------
    polars.DataFrame
        Of each criterion at most ``most`` items: ``criterion, judge, item, people_say, judge_says, apart`` (mean
        distance from people's labels, as a share of the scale), ``people_apart`` (people's from each other), then what
        the item table knows.
    """
    labels = labels.where(annotator=[*labels.humans, judge]).resolve_repeats(repeats)
    found = []
    for criterion in labels.criteria or (None,):
        one = labels if criterion is None else labels.where(criterion=criterion)
        if judge not in one.judges or not one.humans:
            continue
        ratings = Ratings.of(one)
        far = item_distances(ratings, quoted=False).filter(pl.col("judges").is_not_null())
        far = far.with_columns(more=pl.coalesce("excess", "judges")).filter(pl.col("more") > 0)
        far = far.sort("more", "judges", descending=True, maintain_order=True).head(most)
        people, says = (_labels_given(ratings.only(who), far["item"].to_list()) for who in (ratings.humans, (judge,)))
        found.append(
            far.select(
                pl.lit(criterion, pl.String).alias("criterion"), pl.lit(judge).alias("judge"), "item",
                pl.Series("people_say", people, pl.String),
                pl.Series("judge_says", says, pl.String),
                pl.col("judges").alias("apart"), pl.col("people").alias("people_apart"),
            ).join(one.items, on="item", how="left", maintain_order="left")
        )  # fmt: skip
    return pl.concat(found, how="diagonal_relaxed") if found else pl.DataFrame()


def _span(ratings: Ratings) -> float:
    """What counts as 1: the whole scale, or all that was seen where it has no ends."""
    if not ratings.scale.ordered:
        return 1.0
    if ratings.scale.bounds is not None:
        low, high = ratings.scale.bounds
        return high - low
    seen = ratings.values if ratings.scale.categories is not None else ratings.answers.value
    return max(float(np.ptp(seen)), np.finfo(float).tiny) if len(seen) else 1.0


def _far(one: Floats, others: Floats, *, ordered: bool) -> Floats:
    if ordered:
        return np.abs(one - others)
    return np.where(np.isnan(one) | np.isnan(others), np.nan, (one != others).astype(float))


def mean_distance(cells: Floats, *, ordered: bool) -> Floats:
    """The mean distance of each two labels of a row; NaN where there are fewer.

    Of numbers by their order: the k-th of n, from 1, is added 2k − n − 1 times.
    """
    number = (~np.isnan(cells)).sum(axis=1)
    values = np.sort(cells, axis=1)  # NaN comes last
    place = np.arange(1, cells.shape[1] + 1)
    if ordered:
        weight = 2 * place - number[:, None] - 1
        total = np.where(place <= number[:, None], weight * np.nan_to_num(values), 0.0).sum(axis=1)
    else:
        new = np.ones(values.shape, dtype=bool)
        new[:, 1:] = values[:, 1:] != values[:, :-1]
        # A label differs from all but those of its own run; each two are looked at once.
        start = np.maximum.accumulate(np.where(new, place - 1, 0), axis=1)
        total = np.where(place <= number[:, None], start, 0).sum(axis=1).astype(float)
    return ratio(total, number * (number - 1) / 2.0)


def _labels_given(ratings: Ratings, items: Sequence[str]) -> list[str]:
    """``5 (3 of 4), 4 (1 of 4)`` for each item: its labels, the commonest first; of one annotator the label."""
    answers = ratings.answers
    number = {name: i for i, name in enumerate(answers.items)}
    found = []
    for name in items:
        values, counts = np.unique(answers.value[answers.item == number[name]], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        each = [(label_word(ratings, float(values[k])), int(counts[k])) for k in order]
        total = int(counts.sum())
        found.append(", ".join(word if total == 1 else f"{word} ({count} of {total})" for word, count in each))
    return found


def _who_said_what(ratings: Ratings, items: Sequence[str]) -> list[str]:
    """``ann 1, bob 5`` for each of these items, people first."""
    answers = ratings.answers
    order = {name: i for i, name in enumerate((*ratings.humans, *ratings.judges))}
    number = {name: i for i, name in enumerate(answers.items)}
    said_of: dict[int, list[tuple[int, str]]] = {number[name]: [] for name in items}
    words = {value: label_word(ratings, value) for value in np.unique(answers.value).tolist()}
    for i, j, value in zip(answers.item.tolist(), answers.annotator.tolist(), answers.value.tolist(), strict=True):
        if i in said_of:
            name = answers.annotators[j]
            said_of[i].append((order.get(name, j), f"{name} {words[value]}"))
    return [", ".join(text for _, text in sorted(each)) for each in said_of.values()]


# -- categories --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CategoryShares:
    """How often each category is given twice, and at all: of a panel, or of pairs of a judge and people.

    Attributes
    ----------
    first, second : (annotators,) bool, optional
        Whose labels are compared with whose; of a panel everybody's with each other's.
    """

    categories: Floats
    first: Bools | None = None
    second: Bools | None = None

    @property
    def width(self) -> int:
        """Agreement on each category, and how often each was given."""
        return 2 * len(self.categories)

    def moments(self, data: Answers) -> Floats:
        """Of each item: labels that another one matches, and labels; every label weighs one."""
        if self.first is None or self.second is None:
            counts = category_counts(data, self.categories)
            number = counts.sum(axis=1, keepdims=True)
            given = np.where(number > 1, counts, 0.0)
            return np.concatenate([given * (given - 1) / np.maximum(number - 1, 1), given], axis=1)
        shares = []
        for mask in (self.first, self.second):
            counts = category_counts(data.select(mask[data.annotator]), self.categories)
            shares.append(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
        x, y = shares
        both = (x.any(axis=1) & y.any(axis=1))[:, None]
        return np.concatenate([np.where(both, 2 * x * y, 0.0), np.where(both, x + y, 0.0)], axis=1)

    def value(self, sums: Floats) -> Floats:
        """Specific agreement of each category: (..., categories)."""
        agreed, given = np.split(sums, 2, axis=-1)
        return ratio(agreed, given)


@dataclass(frozen=True)
class KappaOfCategories:
    """κ of each category less the κ of all together, from the sums of `CategoryShares`."""

    def value(self, sums: Floats) -> Floats:
        """(P − p) / (1 − p) less its mean with weights p (1 − p), Fleiss's κ (1971, eq. 12): (..., categories)."""
        agreed, given = np.split(sums, 2, axis=-1)
        p = ratio(given, given.sum(axis=-1, keepdims=True))
        each = ratio(ratio(agreed, given) - p, 1 - p)
        weight = p * (1 - p)
        whole = ratio((weight * np.nan_to_num(each)).sum(axis=-1), weight.sum(axis=-1))
        return np.asarray(each - whole[..., None])


def _groups(ratings: Ratings) -> Iterator[tuple[str, Ratings, Bools | None, Bools | None]]:
    """Panels of people and, without people, of judges; each judge with people."""
    panels = {"humans": ratings.humans, "judges": ratings.judges if not ratings.humans else ()}
    for who, names in panels.items():
        if len(names) > 1:
            yield who, ratings.only(names), None, None
    people = np.isin(ratings.annotators, ratings.humans)
    for judge in ratings.judges if ratings.humans else ():
        yield judge, ratings, np.array(ratings.annotators) == judge, people


def _categories(ratings: Ratings, settings: DisagreementSettings) -> Iterator[tuple[dict[str, Any], Estimate]]:
    """A row for each category of each group, and coefficient."""
    values = ratings.values
    for who, part, first, second in _groups(ratings):
        sums = part.sums(Together((CategoryShares(values, first, second),)))
        c = len(values)
        tested = _compare_categories(sums, settings)
        for k, value in enumerate(values.tolist()):
            place = {"who": who, "category": label_word(ratings, value)}
            columns = sums.sums[:, [k, c + k]]
            n = _items_with(part, value, first, second)
            if not columns[:, 1].any():
                continue
            # Units without the category say nothing of it, and are no part of its sample.
            one = Sums(CategoryShares(values[k : k + 1]), columns[columns[:, 1] > 0], (n,), sums.name)
            found = one.estimate(settings, "share")
            estimate, words, _ = describe_values((SPECIFIC,), found)[0]
            yield _row(place, SPECIFIC.name, estimate, n, words), estimate
            estimate, words = _category_kappa(part, value, settings, first, second)
            yield _row(place, "category-kappa", estimate, n, words) | tested.get(k, {}), estimate


def _compare_categories(sums: Sums, settings: DisagreementSettings) -> dict[int, dict[str, Any]]:
    """For each category given to enough items: whether its κ differs from that of all categories."""
    c = sums.sums.shape[1] // 2
    often = [k for k in range(c) if np.count_nonzero(sums.sums[:, c + k]) >= LEAST_TESTED]
    if len(often) < 2 or settings.method == "none":
        return {}
    found = Sums(KappaOfCategories(), sums.sums, sums.n_items, sums.name).estimate(settings)
    each = found.part(np.array(often))
    p = adjust_p(each.p(0.0), "holm")
    shown = p <= 1 - settings.confidence
    words = np.where(~shown, "not shown", np.where(each.value < 0, "less", "more")).tolist()
    return {k: {"p_adjusted": q, "than_all": word} for k, q, word in zip(often, p.tolist(), words, strict=True)}


def _items_with(part: Ratings, value: float, first: Bools | None, second: Bools | None) -> int:
    """Items with labels to compare, one of which is this category."""
    cells = grid(part.answers)
    if first is None or second is None:
        there = (~np.isnan(cells)).sum(axis=1) > 1
        return int((there & (cells == value).any(axis=1)).sum())
    there = ~np.isnan(cells[:, first]).all(axis=1) & ~np.isnan(cells[:, second]).all(axis=1)
    return int((there & (cells[:, first | second] == value).any(axis=1)).sum())


def _category_kappa(
    part: Ratings, value: float, settings: DisagreementSettings, first: Bools | None, second: Bools | None
) -> tuple[Estimate, str]:
    """κ of one category against all others, with the intervals that rare labels have."""
    names = ("other", label_word(part, value))
    two = part.derive(partial(_one_category, value=value, names=names), part.annotators, Nominal(list(names)))
    given = {f: getattr(settings, f) for f in ("method", "n_resamples", "confidence", "seed")}
    if first is None or second is None:
        found = estimate_ratings(fleiss(), two, CoefficientSettings(**given))
        if np.isnan(found.estimate):
            return missing(found.reason or "undefined"), found.run.interval
        return found.row_estimates()[0] or missing("undefined"), found.run.interval
    measure, pair = scott(), scott().statistic(two.only(two.annotators[:2]), _FIRST, _SECOND)
    assert not hasattr(pair, "value_of_items")
    statistic = WithinItems(pair, first, second)
    estimates = two.sums(Together((statistic,))).estimate(settings, measure.transform)
    estimates = small_sample_intervals([(measure, statistic)], estimates, Spread(two)).get(0, estimates)
    one, words, _ = describe_values((measure,), estimates)[0]
    return (missing("the category is all that there is") if np.isnan(one.estimate) else one), words


_FIRST, _SECOND = np.array([0]), np.array([1])


def _one_category(answers: Answers, value: float, names: tuple[str, ...]) -> Answers:
    """This category or another, of items with two labels or more."""
    answers = answers.select(np.bincount(answers.item, minlength=answers.n_items)[answers.item] > 1)
    return replace(answers, value=(answers.value == value).astype(np.int64), categories=names)


def _row(place: Mapping[str, Any], name: str, estimate: Estimate, n: int, words: str) -> dict[str, Any]:
    return {**place, "coefficient": name, **estimate.row(), "n": n, "interval": words, "reason": estimate.reason}


def _frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "who", "category", "coefficient"), pl.String)
    schema: dict[str, Any] = {**names, **NUMBERS, "n": pl.Int64, "interval": pl.String, "reason": pl.String}
    schema |= {"p_adjusted": pl.Float64, "than_all": pl.String}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


# -- confusions --------------------------------------------------------------------------------------


def _confusion(ratings: Ratings) -> Iterator[dict[str, Any]]:
    """Each judge's labels beside people's, pair by pair."""
    cells, values = grid(ratings.answers), ratings.values
    people = cells[:, np.isin(ratings.annotators, ratings.humans)]
    words = [label_word(ratings, value) for value in values.tolist()]
    for judge in ratings.judges if ratings.humans else ():
        own = np.broadcast_to(cells[:, ratings.annotators.index(judge), None], people.shape)
        both = ~np.isnan(own) & ~np.isnan(people)
        place: Ints = np.searchsorted(values, people[both]) * len(values) + np.searchsorted(values, own[both])
        pairs = np.bincount(place, minlength=len(values) ** 2).reshape(len(values), -1)
        for i, row in enumerate(pairs):
            for k, count in enumerate(row.tolist()):
                share = count / row.sum() if row.sum() else None
                yield {"judge": judge, "people": words[i], "says": words[k], "pairs": count, "share": share}


def _confusion_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "judge", "people", "says"), pl.String)
    return pl.DataFrame(rows, schema={**names, "pairs": pl.Int64, "share": pl.Float64})


# -- words -------------------------------------------------------------------------------------------


def _whose(who: str) -> str:
    return {"humans": "People", "judges": "Judges"}.get(who, f"{who} and people")


def _number(row: Mapping[str, Any]) -> str:
    if row["low"] is None:
        return f"{said(row['estimate'])} (no interval: {row['reason']})"
    return estimated(row["estimate"], row["low"], row["high"])


def _item_words(row: Mapping[str, Any], first: First) -> str:
    where = f"{row['criterion']}: " if row["criterion"] else ""
    text = row.get("text")
    quoted = "" if not isinstance(text, str) else f" “{text[:MOST_TEXT]}{'…' if len(text) > MOST_TEXT else ''}”"
    return f"{where}{row['item']}{quoted}: {said(row[_ranked_by(first)])} of the scale ({row['labels']})"
