"""Disagreement of annotators by item and by category, and confusions of judges with humans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from assay.concordance import plots, words
from assay.concordance.coefficient import (
    CoefficientSettings,
    Measure,
    Spread,
    describe_values,
    estimate_ratings,
    label_word,
    small_sample_intervals,
)
from assay.concordance.groups.between_groups import group_frame, group_rows
from assay.concordance.measures import fleiss, scott
from assay.data.annotations import Annotations, Answers, Repeats
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Nominal
from assay.data.structure.groups import annotator_groups
from assay.errors import DesignError, unknown
from assay.estimation.intervals import Estimate, adjust_p, missing
from assay.estimation.options import IntervalSettings, option, question
from assay.estimation.resampling import Sums
from assay.estimation.result import Exclusion, ResultOfRows, Run
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.categories import Together, category_counts, grid, ratio
from assay.statistics.clusters import by_items
from assay.statistics.pairs import WithinItems
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

First = Literal["all", "people", "judges"]

MOST_CATEGORIES = 20
"""Most different labels that are analysed as categories. More are numbers, which have distances."""

OFF_STEP = 0.01
"""Share of a step by which a number must differ from the humans' numbers to be one between them, not a rounded one."""

LEAST_TESTED = 10
"""Least items with a category for the test of its κ against that of all categories: with fewer the jackknife
underestimates the variance."""

MOST_CELLS = 50_000_000
"""Most items times annotators in one table (400 MB)."""

SPECIFIC = Measure("specific-agreement", "Specific agreement", "labels", transform="share", zero=False, share=True)

NUMBERS = dict.fromkeys(("estimate", "low", "high"), pl.Float64)


@dataclass(frozen=True)
class DisagreementSettings(IntervalSettings):
    """Options of `assay.disagreement`."""

    first: First = option(
        "all",
        "Order of the items.",
        details="all: by the disagreement of all labels; people: by the disagreement among humans; judges: by the "
        "disagreement of judges with humans beyond that among humans.",
        first=True,
    )
    show: int = option(5, "Number of items in the summary.", low=0, first=True)
    by: str | None = option(
        None,
        "Annotator column (gender, expertise) whose groups are compared.",
        details="Adds `groups`: the disagreement between humans of two groups and within each group.",
        first=True,
    )
    repeats: Repeats = option(
        "error", "How to combine repeated labels.", details="With error, a table with repeated labels is refused."
    )
    clusters: str | None = option(None, "Column that groups dependent items, such as the document.")


@dataclass(frozen=True, eq=False)
class Disagreement(ResultOfRows):
    """Disagreement of annotators by item and category, and confusions of judges with humans.

    Attributes
    ----------
    items : polars.DataFrame
        One row per item, the largest disagreement first: ``criterion``, ``item``, ``disagreement`` (mean distance of
        pairs of labels, as a share of the scale), ``people`` (among humans), ``judges`` (of judges' labels from
        humans'), ``excess`` (``judges`` minus ``people``), ``n`` (labels), ``labels`` (annotators with their labels),
        and the item metadata.
    table : polars.DataFrame
        Agreement by category: ``criterion``, ``who`` (humans, judges, or a judge with humans), ``category``,
        ``coefficient``, ``estimate``, ``low``, ``high``, ``n`` (items with the category), ``interval``, ``reason``.
        ``specific-agreement`` is the share of other annotators who give the category when one annotator gives it.
        ``category-kappa`` corrects it for chance: Fleiss's κ of this category against all others, with ``p_adjusted``
        (Holm, over the categories of a group with at least 10 items) of no difference from the κ of all categories,
        and ``than_all``: "less", "more" or "undecided".
    confusion : polars.DataFrame
        Labels of each judge by human label: ``criterion``, ``judge``, ``human_label``, ``judge_label``, ``pairs`` (of
        a judge's label and a human's), ``share`` (of the pairs with this human label).
    groups : polars.DataFrame or None
        With ``by``, one row per criterion and two groups of humans: ``group``, ``other``; ``annotators``, ``others``
        (numbers of people); ``within``, ``within_other``, ``between`` (mean distance of two labels of an item, as a
        share of the scale); ``difference``: the distance between the groups minus the mean of the two within, after
        subtracting the mean distance of each item; ``n`` (items that both groups labelled); ``p`` (one-sided),
        ``p_adjusted`` (Holm), ``significant``; ``reason``.
    """

    items: pl.DataFrame = field(metadata={"json": False})
    rows: pl.DataFrame = field(metadata={"json": False})
    confusion: pl.DataFrame
    groups: pl.DataFrame | None
    n_items: int
    n_agreed: int
    run: Run
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})

    def summary(self) -> str:
        """Return the items, categories and confusions with the largest disagreement."""
        return words.lines_of(self, [*words.disagreement_lines(self), f"{self.run.interval}."])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the specific agreement of each category: a forest plot."""
        rows = self.rows.filter(coefficient="specific-agreement")
        if not rows.height:
            raise DesignError("these labels have too many values for an analysis by category; see `items`")
        return plots.categories(rows, ax)

    def confusion_map(self, judge: str | None = None, ax: Axes | None = None, *, criterion: str | None = None) -> Axes:
        """Draw a judge's labels (columns) by human label (rows), as shares of the human labels.

        Raises
        ------
        DesignError
            If there are no judges and humans to compare, or this judge is unknown.
        """
        rows = self.confusion
        if not rows.height:
            raise DesignError("a confusion map requires a judge, humans and few different labels")
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
    """List the items and categories on which annotators disagree most.

    Parameters
    ----------
    labels : Annotations
        One or more criteria, each analysed separately.

    Returns
    -------
    Disagreement
        ``items`` with their texts, the largest disagreement first; ``table`` with the agreement by category;
        ``confusion`` of judges with humans; ``summary()``, ``plot()``, ``confusion_map()``.

    Raises
    ------
    DesignError
        For fewer than two annotators, unresolved repeated labels, free text, or chunks.

    Notes
    -----
    The distance of two labels is 0 or 1 for categories. For ordered labels it is their difference as a share of the
    scale (ordered words are equally spaced). Agreement on a category is the proportion of specific agreement (Cicchetti
    & Feinstein 1990; for many annotators Fleiss 1971, eq. 10), with equal weights for the labels of an item. A judge
    is compared with the mean over the humans of an item. κ of a category is (P − p) / (1 − p), with p its share of
    labels (Fleiss 1971, eq. 12).

    Groups of humans (``by``) are compared by a permutation test: p is the share of random assignments of the annotators
    to groups of the same sizes with the same or a larger difference. It needs six annotators or more.

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
    items, rows, confusions, estimates, compared, parts = [], [], [], [], [], []
    if settings.by is not None and settings.repeats == "each" and labels.has_repeats:
        raise DesignError("each annotator counts once with by=...; use another repeats=...")
    other = "use agreement, which has this option as well"
    groups = None if settings.by is None else annotator_groups(resolved, settings.by, of_items=other)
    exclusions: list[Exclusion] = []
    data, how, agreed, several = labels.fingerprint, "", 0, 0
    if groups is not None and (out := len(resolved.humans) - sum(map(len, groups.values()))):
        exclusions.append(Exclusion("annotator", out, f"no value of '{settings.by}', not in the groups"))
    for criterion in resolved.criteria or (None,):
        one = resolved if criterion is None else resolved.where(criterion=criterion)
        ratings = Ratings.of(one, clusters=settings.clusters).require_annotators(2, "disagreement")
        if not (ratings.scale.ordered or ratings.scale.kind in ("nominal", "preference")):
            raise DesignError(
                "disagreement requires categories, ordered labels or numbers; these labels are free text. Name the "
                "categories with scale=..."
            )
        data = ratings.fingerprint if criterion is None else data
        frame = item_distances(ratings).with_columns(criterion=pl.lit(criterion, pl.String))
        single = ratings.n_items - frame.height
        if single:
            exclusions.append(Exclusion("item", single, "no two labels to compare"))
        agreed, several = agreed + frame.filter(pl.col("disagreement") == 0).height, several + frame.height
        items.append(frame.join(_described(one), on="item", how="left"))
        if groups is not None:
            pairs = group_rows(ratings.only(ratings.humans), groups, distance_unit(ratings), settings.seed)
            compared += [{"criterion": criterion, **row} for row in pairs]
        finer = finer_judges(ratings)
        if finer:
            exclusions.append(Exclusion("judge", len(finer), words.FINER_JUDGE, finer))
            ratings = ratings.without(finer)
        if len(ratings.values) > MOST_CATEGORIES:
            exclusions.append(Exclusion("criterion", 1, f"more than {MOST_CATEGORIES} different labels: no categories"))
            continue
        errors: list[Floats] = []
        for row, estimate in _categories(ratings, settings, errors):
            rows.append({"criterion": criterion, **row})
            estimates.append(estimate)
            how = how or str(row["interval"])
        parts += [by_items(labels, ratings.answers.items, error) for error in errors]
        confusions += [{"criterion": criterion, **row} for row in _confusion(ratings)]
    by = _ranked_by(settings.first)
    ranked = pl.concat(items, how="diagonal_relaxed").sort(by, "disagreement", descending=True, nulls_last=True)
    ranked = ranked.select("criterion", pl.exclude("criterion"))
    facts = {
        "items": labels.n_items, "humans": len(labels.humans), "judges": len(labels.judges) or None,
        "scale": tuple(sorted({s.spec for s in labels.scales.values()})),
    }  # fmt: skip
    notes = (f"repeated labels: {settings.repeats}",) if labels.has_repeats else ()
    cautions = dependence_cautions(parts, labels)
    return Disagreement(
        items=ranked, rows=_frame(rows), confusion=_confusion_frame(confusions),
        groups=None if groups is None else group_frame(compared, settings.confidence),
        n_items=several, n_agreed=agreed,
        run=Run("disagreement", settings, data, facts, how or "no interval", tuple(exclusions), notes, cautions),
        estimates=tuple(estimates),
    )  # fmt: skip


def finer_judges(ratings: Ratings) -> tuple[str, ...]:
    """Return the judges with numbers between those that humans give, such as 2.33: agreement on it is 0 by design.

    The numbers of humans have a smallest step. A label is between them if it is not a whole number of such steps away.
    """
    if not ratings.scale.numeric or ratings.scale.categories is not None or not ratings.humans:
        return ()
    seen = np.unique(ratings.only(ratings.humans).answers.value)
    if len(seen) < 2:
        return ()
    step = np.diff(seen).min()
    answers = ratings.answers
    places = (answers.value - seen[0]) / step
    between = np.abs(places - np.rint(places)) > OFF_STEP
    return tuple(j for j in ratings.judges if between[answers.annotator == answers.annotators.index(j)].any())


def _ranked_by(first: First) -> str:
    return {"all": "disagreement", "people": "people", "judges": "excess"}[first]


# -- items -------------------------------------------------------------------------------------------


def item_distances(ratings: Ratings, *, quoted: bool = True) -> pl.DataFrame:
    """Return the mean distance of the labels of each item, as a share of the scale; quoted: with the labels."""
    m = len(ratings.annotators)
    if ratings.n_items * m > MOST_CELLS:
        raise DesignError(f"{ratings.n_items:,} items by {m:,} annotators do not fit in memory; select some items")
    cells = grid(ratings.answers)
    people, judges = (np.isin(ratings.annotators, names) for names in (ratings.humans, ratings.judges))
    unit = distance_unit(ratings)
    far = partial(_far, ordered=ratings.scale.ordered)
    both = mean_distance(cells, ordered=ratings.scale.ordered) / unit
    among = mean_distance(cells[:, people], ordered=ratings.scale.ordered) / unit
    each = [far(cells[:, j, None], cells[:, people]) for j in np.flatnonzero(judges)]
    pairs = np.concatenate(each, axis=1) if each else np.full((len(cells), 1), np.nan)
    known = ~np.isnan(pairs)
    between = ratio(np.where(known, pairs, 0.0).sum(axis=1), known.sum(axis=1).astype(float)) / unit
    number = (~np.isnan(cells)).sum(axis=1)
    keep = np.flatnonzero(number > 1)
    names = [ratings.answers.items[i] for i in keep.tolist()]
    return pl.DataFrame({
        "item": pl.Series(names, dtype=pl.String),
        "disagreement": both[keep], "people": among[keep], "judges": between[keep],
        "excess": between[keep] - among[keep], "n": number[keep],
        **({"labels": _quoted_labels(ratings, names)} if quoted else {}),
    }).with_columns(pl.col(pl.Float64).fill_nan(None))  # fmt: skip


def farthest_items(labels: Annotations, judge: str, most: int, repeats: Repeats = "error") -> pl.DataFrame:
    """Return items on which a judge differs more from humans than they differ from each other, the largest first.

    Returns
    -------
    polars.DataFrame
        For each criterion at most ``most`` items: ``criterion, judge, item, human_labels, judge_label, distance`` (mean
        distance from the human labels, as a share of the scale), ``human_distance`` (of human labels from each other),
        then the item metadata.
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
        humans, own = (_labels_given(ratings.only(who), far["item"].to_list()) for who in (ratings.humans, (judge,)))
        found.append(
            far.select(
                pl.lit(criterion, pl.String).alias("criterion"), pl.lit(judge).alias("judge"), "item",
                pl.Series("human_labels", humans, pl.String),
                pl.Series("judge_label", own, pl.String),
                pl.col("judges").alias("distance"), pl.col("people").alias("human_distance"),
            ).join(_described(one), on="item", how="left", maintain_order="left")
        )  # fmt: skip
    return pl.concat(found, how="diagonal_relaxed") if found else pl.DataFrame()


def _described(labels: Annotations) -> pl.DataFrame:
    """The items with the columns that describe them, without those that only record how a study drew them."""
    frame = labels.items.drop([c for c in labels.technical_columns if c in labels.items.columns and c != "item"])
    return frame.select(c for c in frame.columns if frame[c].null_count() < frame.height)


def distance_unit(ratings: Ratings) -> float:
    """The unit of distances: the range of the scale, or the observed range if the scale has no ends."""
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
    """Return the mean distance of the pairs of labels in each row; NaN for fewer than two labels.

    For sorted numbers, the k-th of n has weight 2k − n − 1.
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
        # A label differs from all labels before its own run; each pair counts once.
        start = np.maximum.accumulate(np.where(new, place - 1, 0), axis=1)
        total = np.where(place <= number[:, None], start, 0).sum(axis=1).astype(float)
    return ratio(total, number * (number - 1) / 2.0)


def _labels_given(ratings: Ratings, items: Sequence[str]) -> list[str]:
    """``5 (3 of 4), 4 (1 of 4)`` for each item: its labels, the most frequent first; for one annotator the label."""
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


def _quoted_labels(ratings: Ratings, items: Sequence[str]) -> list[str]:
    """``ann 1, bob 5`` for each of these items, humans first."""
    answers = ratings.answers
    order = {name: i for i, name in enumerate((*ratings.humans, *ratings.judges))}
    number = {name: i for i, name in enumerate(answers.items)}
    quoted: dict[int, list[tuple[int, str]]] = {number[name]: [] for name in items}
    texts = {value: label_word(ratings, value) for value in np.unique(answers.value).tolist()}
    for i, j, value in zip(answers.item.tolist(), answers.annotator.tolist(), answers.value.tolist(), strict=True):
        if i in quoted:
            name = answers.annotators[j]
            quoted[i].append((order.get(name, j), f"{name} {texts[value]}"))
    return [", ".join(text for _, text in sorted(each)) for each in quoted.values()]


# -- categories --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CategoryShares:
    """Counts of agreement on each category and of its labels, for a panel or for pairs of a judge and humans.

    Attributes
    ----------
    first, second : (annotators,) bool, optional
        The annotators on each side of the comparison; None for a panel.
    """

    categories: Floats
    first: Bools | None = None
    second: Bools | None = None

    @property
    def width(self) -> int:
        """Number of sums: agreement on each category, and its frequency."""
        return 2 * len(self.categories)

    def moments(self, data: Answers) -> Floats:
        """For each item: matched labels, and labels; every label has weight one."""
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
        """Return the specific agreement of each category: (..., categories)."""
        agreed, given = np.split(sums, 2, axis=-1)
        return ratio(agreed, given)


@dataclass(frozen=True)
class KappaOfCategories:
    """κ of each category minus the κ of all categories, from the sums of `CategoryShares`."""

    def value(self, sums: Floats) -> Floats:
        """(P − p) / (1 − p) minus its mean with weights p (1 − p), Fleiss's κ (1971, eq. 12): (..., categories)."""
        agreed, given = np.split(sums, 2, axis=-1)
        p = ratio(given, given.sum(axis=-1, keepdims=True))
        each = ratio(ratio(agreed, given) - p, 1 - p)
        weight = p * (1 - p)
        whole = ratio((weight * np.nan_to_num(each)).sum(axis=-1), weight.sum(axis=-1))
        return np.asarray(each - whole[..., None])


def _compared_judges(ratings: Ratings) -> list[str]:
    """Return the judges among the raters, if there are humans to compare them with."""
    return [judge for judge in ratings.judges if judge in ratings.annotators] if ratings.humans else []


def _groups(ratings: Ratings) -> Iterator[tuple[str, Ratings, Bools | None, Bools | None]]:
    """The panel of humans or, without humans, of judges; then each judge with humans."""
    panels = {"humans": ratings.humans, "judges": ratings.judges if not ratings.humans else ()}
    for who, names in panels.items():
        if len(names) > 1:
            yield who, ratings.only(names), None, None
    people = np.isin(ratings.annotators, ratings.humans)
    for judge in _compared_judges(ratings):
        yield judge, ratings, np.array(ratings.annotators) == judge, people


def _categories(
    ratings: Ratings, settings: DisagreementSettings, errors: list[Floats]
) -> Iterator[tuple[dict[str, Any], Estimate]]:
    """A row for each category of each group, and coefficient; ``errors`` gets the contributions of items to tests."""
    values = ratings.values
    for who, part, first, second in _groups(ratings):
        sums = part.sums(Together((CategoryShares(values, first, second),)))
        c = len(values)
        tested = _compare_categories(sums, settings, errors)
        for k, value in enumerate(values.tolist()):
            place = {"who": who, "category": label_word(ratings, value)}
            columns = sums.sums[:, [k, c + k]]
            n = _items_with(part, value, first, second)
            if not columns[:, 1].any():
                continue
            # Units without the category are not part of its sample.
            one = Sums(CategoryShares(values[k : k + 1]), columns[columns[:, 1] > 0], (n,), sums.name)
            found = one.estimate(settings, "share")
            estimate, how, _ = describe_values((SPECIFIC,), found)[0]
            yield _row(place, SPECIFIC.name, estimate, n, how), estimate
            estimate, how = _category_kappa(part, value, settings, first, second)
            yield _row(place, "category-kappa", estimate, n, how) | tested.get(k, {}), estimate


def _compare_categories(sums: Sums, settings: DisagreementSettings, errors: list[Floats]) -> dict[int, dict[str, Any]]:
    """Test for each category with enough items whether its κ differs from that of all categories."""
    c = sums.sums.shape[1] // 2
    often = [k for k in range(c) if np.count_nonzero(sums.sums[:, c + k]) >= LEAST_TESTED]
    if len(often) < 2 or settings.method == "none":
        return {}
    differences = Sums(KappaOfCategories(), sums.sums, sums.n_items, sums.name)
    errors += [part for k in often if (part := differences.item_errors(k)) is not None]
    each = differences.estimate(settings).part(np.array(often))
    p = adjust_p(each.p(0.0), "holm")
    significant = p <= 1 - settings.confidence
    codes = np.where(~significant, "undecided", np.where(each.value < 0, "less", "more")).tolist()
    return {k: {"p_adjusted": q, "than_all": code} for k, q, code in zip(often, p.tolist(), codes, strict=True)}


def _items_with(part: Ratings, value: float, first: Bools | None, second: Bools | None) -> int:
    """The number of items with labels to compare that include this category."""
    cells = grid(part.answers)
    if first is None or second is None:
        there = (~np.isnan(cells)).sum(axis=1) > 1
        return int((there & (cells == value).any(axis=1)).sum())
    there = ~np.isnan(cells[:, first]).all(axis=1) & ~np.isnan(cells[:, second]).all(axis=1)
    return int((there & (cells[:, first | second] == value).any(axis=1)).sum())


def _category_kappa(
    part: Ratings, value: float, settings: DisagreementSettings, first: Bools | None, second: Bools | None
) -> tuple[Estimate, str]:
    """κ of one category against all others, with the intervals for rare labels."""
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
    one, how, _ = describe_values((measure,), estimates)[0]
    return (missing("all labels are in this category") if np.isnan(one.estimate) else one), how


_FIRST, _SECOND = np.array([0]), np.array([1])


def _one_category(answers: Answers, value: float, names: tuple[str, ...]) -> Answers:
    """This category or another, for items with two labels or more."""
    answers = answers.select(np.bincount(answers.item, minlength=answers.n_items)[answers.item] > 1)
    return replace(answers, value=(answers.value == value).astype(np.int64), categories=names)


def _row(place: Mapping[str, Any], name: str, estimate: Estimate, n: int, how: str) -> dict[str, Any]:
    return {**place, "coefficient": name, **estimate.row(), "n": n, "interval": how, "reason": estimate.reason}


def _frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "who", "category", "coefficient"), pl.String)
    schema: dict[str, Any] = {**names, **NUMBERS, "n": pl.Int64, "interval": pl.String, "reason": pl.String}
    schema |= {"p_adjusted": pl.Float64, "than_all": pl.String}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


# -- confusions --------------------------------------------------------------------------------------


def _confusion(ratings: Ratings) -> Iterator[dict[str, Any]]:
    """Pairs of each judge's label and a human's, counted."""
    cells, values = grid(ratings.answers), ratings.values
    people = cells[:, np.isin(ratings.annotators, ratings.humans)]
    texts = [label_word(ratings, value) for value in values.tolist()]
    for judge in _compared_judges(ratings):
        own = np.broadcast_to(cells[:, ratings.annotators.index(judge), None], people.shape)
        both = ~np.isnan(own) & ~np.isnan(people)
        place: Ints = np.searchsorted(values, people[both]) * len(values) + np.searchsorted(values, own[both])
        pairs = np.bincount(place, minlength=len(values) ** 2).reshape(len(values), -1)
        for i, row in enumerate(pairs):
            for k, count in enumerate(row.tolist()):
                share = count / row.sum() if row.sum() else None
                yield {"judge": judge, "human_label": texts[i], "judge_label": texts[k], "pairs": count, "share": share}


def _confusion_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "judge", "human_label", "judge_label"), pl.String)
    return pl.DataFrame(rows, schema={**names, "pairs": pl.Int64, "share": pl.Float64})
