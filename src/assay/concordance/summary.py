"""Do the annotators agree, and is the judge as close to the people as they are to each other?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from assay.concordance import drawing
from assay.concordance.coefficient import MOST_IN_PAIRS, Measure, bounded, estimate_of, pairs_of, why_undefined
from assay.concordance.comparisons import A_HUMAN, WHO, Comparison, Drawing, comparisons
from assay.concordance.measures import all_measures
from assay.concordance.settings import AgreementSettings, CoefficientOptions, Who
from assay.data.annotations import Annotations
from assay.data.chunks import Chunks
from assay.data.clusters import digest_of_columns
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, Estimates, Transform, missing
from assay.estimation.multiplicity import adjust_p
from assay.estimation.options import Adjustment
from assay.estimation.result import Exclusion, Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Together
from assay.statistics.base import PanelStatistic
from assay.statistics.pairs import WithinItems, label_pairs
from assay.statistics.ranks import AlphaRanks, PairRanks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ONE_BY_ONE = 100
"""Annotators up to which each is compared by itself."""

MOST_DRAWN = 2**33
"""Draws times pairs of labels times moments up to which 'random human' is computed: some seconds an annotator."""

SCHEMA = {
    "criterion": pl.String,
    "group": pl.String,
    "who": pl.String,
    "first": pl.String,
    "second": pl.String,
    "coefficient": pl.String,
    "title": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "interval": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, eq=False)
class Agreement(Result):
    """Who agrees with whom, by every coefficient that the scale allows.

    Attributes
    ----------
    table : polars.DataFrame
        One row a coefficient of a comparison: ``criterion``, ``group`` (a value of ``by``; empty for all),
        ``who`` (humans, judges, pairs, consensus, rest, any human, random human), ``first``, ``second``,
        ``coefficient``, ``title``, ``estimate``, ``low``, ``high``, ``n`` (items), ``p`` (of no agreement beyond
        chance), ``p_adjusted``, ``interval``, ``reason``.
    differences : polars.DataFrame
        For each judge and coefficient: its agreement with any human less that of any human with another,
        under the same resamples; ``closer`` says "yes", "no" or "not shown" by the adjusted p-value.
    headline : str
        The coefficient that the summary and the picture show.
    run : Run
        Every option, and the comparisons that could not be made.
    """

    rows: pl.DataFrame = field(metadata={"json": False})
    differences: pl.DataFrame
    headline: str
    humans: tuple[str, ...]
    judges: tuple[str, ...]
    criteria: tuple[str, ...]
    by: str | None
    scale: str
    n_items: int
    n_labels: int
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row a coefficient of a comparison."""
        return self.rows

    def shown(self, *who: Who, coefficient: str | None = None) -> pl.DataFrame:
        """The rows of one coefficient (the headline when not given), of some kinds of comparison."""
        rows = self.rows.filter(pl.col("coefficient") == (coefficient or self.headline))
        return rows.filter(pl.col("who").is_in(who)) if who else rows

    def summary(self) -> str:
        """The headline coefficient of the panels and of each judge, and whether the judge is closer."""
        lines = [
            f"{len(self.humans)} humans and {len(self.judges)} judges on {self.n_items:,} items "
            f"({self.n_labels:,} labels, scale {self.scale})."
        ]
        many = self.shown("humans", "judges", "consensus")
        shown = many if many.height else self.shown()
        for row in shown.head(24).iter_rows(named=True):
            where = ", ".join(v for v in (row["criterion"], row["group"]) if v)
            who = row["first"] if row["second"] is None else f"{row['first']} and {row['second']}"
            lines.append(f"{f'{where}: ' if where else ''}{who}, {row['title']} {_number(row)}, {row['n']} items.")
        lines += self.comparisons()
        return "\n".join([*lines, self.how(), *self.run.closing()])

    def comparisons(self) -> list[str]:
        """Whether each judge is closer to the people than they are to each other, a sentence each."""
        lines = []
        for row in self.differences.filter(pl.col("coefficient") == self.headline).head(12).iter_rows(named=True):
            where = ", ".join(v for v in (row["criterion"], row["group"]) if v)
            words = {
                "yes": "is closer to the people than they are to each other",
                "no": "is further from the people than they are from each other",
                "not shown": "is not shown to be closer to the people, nor further away, than they are from each other",
            }
            lines.append(f"{f'{where}: ' if where else ''}{row['judge']} {words[row['closer']]}: {_number(row)}.")
        return lines

    def how(self) -> str:
        """How intervals and p-values were made."""
        family = "over the rows of a coefficient and kind of comparison"
        adjust = self.settings.to_dict()["adjust"]
        tests = "not adjusted" if adjust == "none" else f"adjusted {family} ({adjust})"
        return f"{self.run.interval}; p-values {tests}."

    def plot(self, ax: Axes | None = None) -> Axes:
        """The headline coefficient of panels, of judges with the consensus and with any human: a forest plot."""
        several = len(self.criteria) > 1
        rows = self.shown("humans", "judges", "consensus", *(() if several else ("human pairs",)))
        return drawing.forest(rows if rows.height else self.shown(), self.judges, ax)

    def heat_map(self, ax: Axes | None = None, *, coefficient: str | None = None, criterion: str | None = None) -> Axes:
        """Agreement of each two annotators as a grid of colours.

        Raises
        ------
        DesignError
            Where the pairs were not asked for, or a criterion or coefficient is not there.
        """
        name = coefficient or self.headline
        rows = self.rows.filter((pl.col("who") == "pairs") & pl.col("group").is_null())
        if len(self.criteria) > 1 and criterion is None:
            criterion = self.criteria[0]
        if criterion is not None:
            if criterion not in self.criteria:
                raise DesignError(unknown("criterion", criterion, self.criteria))
            rows = rows.filter(pl.col("criterion") == criterion)
        if not rows.height:
            raise DesignError("a heat map shows pairs of annotators; ask agreement for who=['pairs', ...]")
        if name not in rows["coefficient"]:
            raise DesignError(unknown("coefficient", name, rows["coefficient"].unique().to_list(), "the pairs"))
        return drawing.heat_map(rows.filter(pl.col("coefficient") == name), self.humans, self.judges, criterion, ax)


def agreement(
    labels: Annotations | Chunks,
    *,
    coefficients: Iterable[str] | None = None,
    who: Iterable[Who] | None = None,
    by: str | None = None,
    draws: int = 1000,
    adjust: Adjustment = "holm",
    **options: Unpack[CoefficientOptions],
) -> Agreement:
    """Who agrees with whom, how well, and is a judge as close to the people as they are to each other?

    Parameters
    ----------
    labels : Annotations or Chunks
        One or more criteria, each analysed by itself.
    coefficients : list of str, optional
        Names from `all_measures`; when not given, every one that the scale allows.
    who : list of str, optional
        Kinds of comparison; all when not given. ``humans`` and ``judges``: all of them as a panel. ``pairs``: each
        two annotators. ``consensus``: the people's consensus with each judge and with the judges' consensus;
        the mean for coefficients of numbers, the majority for those of categories (an item without one has no
        consensus). ``rest``: each annotator with the consensus of the others of its kind. ``human pairs``: each
        judge with all people, and people with each other, over the pairs of labels of an item, each item
        counting once. ``random human``: each annotator with one person drawn anew for each item, ``draws`` times
        (Hardy, "All that glitters", figure 1); the estimate is the mean over draws, and the interval takes
        draws with items resampled.
    by : str, optional
        A column: of the items (benchmark, language) or the single answer, to analyse each of its values beside
        all; or of the annotators (gender, expertise), to analyse the people with each of its values, with
        all judges.
    draws : int
        For ``random human``; the paper's number is 1,000.
    adjust : {"holm", "by", "bh", "none"}
        How p-values are adjusted; the family is all rows of one coefficient in one kind of comparison.
    **options
        ``repeats``, ``clusters``, ``method``, ``n_resamples``, ``confidence``, ``seed``: see
        `assay.concordance.settings.CoefficientOptions`.

    Returns
    -------
    Agreement
        ``table``, ``differences``, ``summary()``, ``plot()``, ``heat_map()``.

    Raises
    ------
    DataError
        For a column or name that is not there.
    DesignError
        For fewer than two annotators, repeats that nobody decided about, text labels.

    Notes
    -----
    P-values test a coefficient of 0, no agreement beyond chance, with the standard error and the scale of its
    interval; shares and errors have no such zero and no p-value. Rows of one table overlap, so the
    adjustments that allow any dependence (``holm``, ``by``) are safe.
    """
    asked = {"by": by, "draws": draws, "adjust": adjust, "coefficients": _tuple(coefficients), "who": _tuple(who)}
    settings = AgreementSettings.of({**options, **asked}, "agreement")
    measures = _measures(settings.coefficients)
    whole, parts = _parts(labels, settings)
    rows: list[dict[str, Any]] = []
    differences: list[dict[str, Any]] = []
    lost: dict[str, int] = {}
    for place, ratings in parts:
        block = _Block(ratings, measures, settings, lost)
        rows += [place | row for row in block.rows(settings.who or WHO)]
        differences += [place | row for row in block.differences()] if "human pairs" in (settings.who or WHO) else []
    if not rows:
        raise DesignError(
            f"there is nothing to compare: {listing([f'{what} ({n})' for what, n in lost.items()]) or 'no annotators'}"
        )
    table = _adjusted(pl.DataFrame(rows, schema={k: v for k, v in SCHEMA.items() if k != "p_adjusted"}), adjust)
    headline = _headline(whole, table["coefficient"].unique().to_list())
    scale = ", ".join(sorted({s.spec for s in _scales(whole)}))
    interval = table.filter(pl.col("coefficient") == headline)["interval"][0]
    return Agreement(
        rows=table.select(*SCHEMA),
        differences=_difference_frame(differences, adjust, 1 - settings.confidence),
        headline=headline,
        humans=whole.humans,
        judges=whole.judges,
        criteria=whole.criteria if isinstance(whole, Annotations) else (),
        by=by,
        scale=scale,
        n_items=whole.n_items,
        n_labels=len(whole) if isinstance(whole, Annotations) else whole.n_labels,
        run=_run(labels, settings, interval, lost, parts[0][1]),
    )


def _parts(
    labels: Annotations | Chunks, settings: AgreementSettings
) -> tuple[Annotations | Chunks, list[tuple[dict[str, str | None], Ratings]]]:
    """The labels with repeats decided, and each criterion of each group, by itself."""
    nowhere: dict[str, str | None] = {"criterion": None, "group": None}
    if isinstance(labels, Chunks):
        if settings.by is not None:
            raise DesignError("by=... needs the whole table in memory; scan the parts of the folder with where={...}")
        return labels, [(nowhere, Ratings.of(labels, clusters=settings.clusters).at_least(2, "agreement"))]
    labels = labels.resolve_repeats(settings.repeats)
    found = []
    for criterion in labels.criteria or (None,):
        one = labels if criterion is None else labels.where(criterion=criterion)
        for group, part in _groups(one, settings.by):
            place = {"criterion": criterion, "group": None if group is None else str(group)}
            found.append((place, Ratings.of(part, clusters=settings.clusters).at_least(2, "agreement")))
    return labels, found


def _run(
    labels: Annotations | Chunks, settings: AgreementSettings, interval: str, lost: dict[str, int], first: Ratings
) -> Run:  # fmt: skip
    repeated = isinstance(labels, Annotations) and labels.has_repeats
    facts = {
        "items": labels.n_items, "humans": len(labels.humans), "judges": len(labels.judges) or None,
        "scale": tuple(sorted({s.spec for s in _scales(labels)})),
        "interval": interval.split(" over")[0].replace(" ", "-"),
    }  # fmt: skip
    data = labels.fingerprint
    if isinstance(labels, Annotations):
        data = fingerprint_with(data, **digest_of_columns(labels, settings.by, settings.clusters))
    return Run(
        "agreement", settings, data, facts, interval,
        tuple(Exclusion("comparison", count, what) for what, count in lost.items()),
        notes=(f"repeated answers: {settings.repeats}",) if repeated else (),
    )  # fmt: skip


def _scales(labels: Annotations | Chunks) -> list[Scale]:
    return list(labels.scales.values()) if isinstance(labels, Annotations) else [labels.scale]


def _tuple(names: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)


class _Block:
    """One criterion of one group: every comparison under the same resamples."""

    def __init__(
        self, ratings: Ratings, measures: Sequence[Measure], settings: AgreementSettings, lost: dict[str, int]
    ) -> None:
        self.ratings = ratings
        self.humans, self.judges = ratings.humans, ratings.judges
        self.measures = [m for m in measures if m.applies(ratings)]
        self.how, self.lost = settings, lost
        self.intervals: list[str] = []

    def rows(self, kinds: tuple[Who, ...]) -> Iterator[dict[str, Any]]:
        """A row for each comparison and coefficient."""
        most: dict[Who, int] = {"pairs": MOST_IN_PAIRS, "rest": MOST_ONE_BY_ONE, "random human": MOST_ONE_BY_ONE}
        for kind, limit in most.items():
            if kind in kinds and len(self.ratings.annotators) > limit:
                self._lose(f"'{kind}' with more than {limit} annotators", 1)
                kinds = tuple(k for k in kinds if k != kind)
        for comparison in comparisons(self.ratings, self.humans, self.judges, kinds):
            ready = list(self._ready(comparison))
            for measure, interval, n, p in (
                self._drawn(comparison, ready) if comparison.who == "random human" else self._estimated(ready)
            ):
                yield {
                    "who": comparison.who,
                    "first": comparison.first,
                    "second": comparison.second,
                    "coefficient": measure.name,
                    "title": measure.title,
                    "estimate": interval.estimate,
                    "low": interval.low,
                    "high": interval.high,
                    "n": n,
                    "p": p,
                    "interval": self.intervals[-1],
                    "reason": interval.reason,
                }

    def differences(self) -> Iterator[dict[str, Any]]:
        """Each judge with any human, less any human with another."""
        pairs = comparisons(self.ratings, self.humans, self.judges, ("human pairs",))
        among = [c for c in pairs if c.second == A_HUMAN]
        if self.how.method == "none":
            return
        for judge in pairs:
            if judge in among or not among:
                continue
            people = {m.name: s for m, _, s in self._ready(among[0])}
            for measure, ratings, statistic in self._ready(judge):
                if measure.directed or measure.name not in people or not isinstance(statistic, WithinItems):
                    continue
                other = people[measure.name]
                assert isinstance(other, WithinItems)
                sums = ratings.sums(statistic, other)
                found = sums.estimate(self.how, measure.transform).contrast(np.array([[1.0, -1.0]]))
                yield {
                    "judge": judge.second,
                    "coefficient": measure.name,
                    "title": measure.title,
                    **found[0].row(),
                    "n": min(sums.n_items),
                    "p": _p(found, 0),
                    "better": -1.0 if measure.lower_is_better else 1.0,
                    "reason": found[0].reason,
                }

    def _ready(
        self, comparison: Comparison
    ) -> Iterator[tuple[Measure, Ratings, PanelStatistic | PairRanks | AlphaRanks]]:
        """The coefficients that this comparison can have, with their labels and statistics."""
        for measure in self.measures:
            ratings = comparison.ratings(measure)
            try:
                if comparison.masks is None:
                    measure.check(ratings)
                    ends = pairs_of(ratings, measure)[:2] if measure.pair is not None else ()
                    yield measure, ratings, measure.statistic(ratings, *ends)
                    continue
                two = _as_two(ratings)
                inner = measure.statistic(two, np.array([0]), np.array([1]))
            except DesignError as refusal:
                if not (measure.directed and comparison.second is None):
                    self._lose(str(refusal).split(";")[0], 1)
                continue
            if isinstance(inner, PairRanks | AlphaRanks):
                self._lose(f"{measure.title} with {comparison.who}: too many different labels for a table", 1)
                continue
            yield measure, ratings, WithinItems(inner, *comparison.masks)

    def _estimated(
        self, ready: Sequence[tuple[Measure, Ratings, PanelStatistic | PairRanks | AlphaRanks]]
    ) -> Iterator[tuple[Measure, Estimate, int, float | None]]:
        """Coefficients of the same labels that are made on the same scale are estimated together."""
        groups: dict[tuple[int, Transform], list[tuple[Measure, Ratings, PanelStatistic]]] = {}
        for measure, ratings, statistic in ready:
            if isinstance(statistic, PairRanks | AlphaRanks):
                found = estimate_of(ratings, statistic, self.how, measure.transform)
                yield self._finished(measure, ratings, found, 0, found.n_items)
            else:
                groups.setdefault((id(ratings), measure.transform), []).append((measure, ratings, statistic))
        for members in groups.values():
            ratings, transform = members[0][1], members[0][0].transform
            sums = ratings.sums(*(statistic for _, _, statistic in members))
            for chosen, part in sums.apart():
                found = part.estimate(self.how, transform)
                total, edge, place = part.sums.sum(axis=0), 0, 0
                for measure, _, statistic in (members[i] for i in chosen):
                    yield self._finished(measure, ratings, found, place, found.n_items)
                    # A coefficient of pairs gives each pair's value after their mean, which is the one that counts.
                    place += len(statistic.value(total[edge : edge + statistic.width]))
                    edge += statistic.width

    def _finished(
        self, measure: Measure, ratings: Ratings, found: Estimates, at: int, n: int
    ) -> tuple[Measure, Estimate, int, float | None]:
        interval, words = bounded(measure, found, found[at])
        self.intervals.append(words)
        if np.isnan(interval.estimate):
            interval = missing(why_undefined(ratings))
        return measure, interval, n, _p(found, at) if measure.zero and np.isfinite(interval.standard_error) else None

    def _drawn(
        self, comparison: Comparison, ready: Sequence[tuple[Measure, Ratings, PanelStatistic | PairRanks | AlphaRanks]]
    ) -> Iterator[tuple[Measure, Estimate, int, float | None]]:
        """The published procedure: a person drawn for each item, over and over."""
        assert comparison.masks is not None
        item, pairs = label_pairs(self.ratings.answers, *comparison.masks)
        if not len(pairs):
            return
        inner = [s.statistic for _, _, s in ready if isinstance(s, WithinItems)]
        if self.how.draws * len(pairs) * sum(s.width for s in inner) > MOST_DRAWN:
            self._lose("'random human' on so many labels takes too long; ask for fewer coefficients, draws or items", 1)
            return
        seed, level = self.how.seed, self.how.confidence
        joint, moments = Together.of(pairs, *inner)
        drawing = Drawing(item, moments, self.ratings.n_items)
        fixed = drawing.values(joint.value, self.how.draws, seed, items=False)
        moving = drawing.values(joint.value, self.how.draws, seed, items=True)
        n = len(np.unique(item))
        self.intervals.append(f"{100 * level:g}% percentile interval, {self.how.draws:,} draws with items resampled")
        for i, (measure, _, _) in enumerate(ready):
            yield measure, _of_draws(fixed[:, i], moving[:, i], level), n, None

    def _lose(self, what: str, count: int) -> None:
        self.lost[what] = self.lost.get(what, 0) + count


def _of_draws(fixed: Floats, moving: Floats, level: float) -> Estimate:
    """The mean over draws, with the percentiles of draws under resampled items."""
    fixed, moving = fixed[~np.isnan(fixed)], moving[~np.isnan(moving)]
    if not len(fixed) or not len(moving):
        return missing("undefined in every draw")
    if np.ptp(moving) == 0:
        return Estimate(float(fixed.mean()), np.nan, np.nan, np.nan, "every draw gives the same value")
    low, high = np.quantile(moving, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(fixed.mean()), float(low), float(high), float(moving.std(ddof=1)))


def _as_two(ratings: Ratings) -> Ratings:
    """What a statistic needs to know of two annotators who both answer: `label_pairs` makes their labels."""
    return replace(ratings, annotators=("first", "second"), n_labels=2 * ratings.n_items)


def _p(found: Estimates, at: int) -> float | None:
    """Two-sided p of a value of 0, on the scale of its interval."""
    p = float(found.part(np.array([at])).p(0.0)[0])
    return None if np.isnan(p) else p


def _measures(names: tuple[str, ...] | None) -> list[Measure]:
    known = all_measures()
    if names is None:
        return list(known.values())
    chosen = []
    for name in names:
        if name not in known:
            raise DesignError(unknown("coefficient", name, known, "the coefficients"))
        chosen.append(known[name])
    return chosen


def _groups(labels: Annotations, by: str | None) -> Iterator[tuple[Any, Annotations]]:
    """All labels, then those of each value of a column; of a column about annotators, people with each value."""
    yield None, labels
    if by is None:
        return
    if by in labels.annotators.columns:
        people = labels.annotators.filter(pl.col("kind") == "human")
        for value in labels.where(kind="human").values_of(by) if people.height else ():
            same = pl.col(by).is_null() if value is None else pl.col(by) == value
            names = people.filter(same)["annotator"].to_list()
            yield value, labels.where(annotator=[*names, *labels.judges])
        return
    yield from labels.split(by)


def _adjusted(rows: pl.DataFrame, adjust: Adjustment) -> pl.DataFrame:
    """P-values adjusted over the rows of each coefficient and kind of comparison."""
    p = rows["p"].to_numpy().astype(float)
    adjusted = np.full(len(p), np.nan)
    family = rows.select(pl.struct([c for c in ("coefficient", "who") if c in rows.columns]).rank("dense")).to_series()
    for one in family.unique():
        mine = (family == one).to_numpy()
        adjusted[mine] = adjust_p(p[mine], adjust)
    return rows.with_columns(p_adjusted=pl.Series(adjusted, dtype=pl.Float64).fill_nan(None))


def _difference_frame(rows: list[dict[str, Any]], adjust: Adjustment, alpha: float) -> pl.DataFrame:
    """Differences with their verdict, which takes the number of them into account."""
    names = (
        "criterion",
        "group",
        "judge",
        "coefficient",
        "title",
        "estimate",
        "low",
        "high",
        "n",
        "p",
        "better",
        "reason",
    )
    schema = {name: SCHEMA.get(name, pl.Float64 if name == "better" else pl.String) for name in names}
    frame = _adjusted(pl.DataFrame(rows, schema=schema), adjust)
    shown = pl.col("p_adjusted").fill_null(1.0) <= alpha
    nearer = pl.col("estimate") * pl.col("better") > 0
    closer = pl.when(~shown).then(pl.lit("not shown")).when(nearer).then(pl.lit("yes")).otherwise(pl.lit("no"))
    return frame.with_columns(closer=closer).drop("better")


def _headline(labels: Annotations | Chunks, names: Sequence[str]) -> str:
    """The coefficient most readers of such labels look for first."""
    ordered = all(s.ordered for s in _scales(labels))
    numeric = all(s.numeric for s in _scales(labels))
    listed = all(s.categories is not None for s in _scales(labels))
    wish = ["krippendorff-alpha-nominal"]
    if ordered:
        wish = ["krippendorff-alpha-ordinal", *wish]
    if numeric and not listed:
        wish = ["icc(a,1)", *wish]
    return next((name for name in wish if name in names), sorted(names)[0])


def _number(row: dict[str, Any]) -> str:
    if row["low"] is None or not np.isfinite(row["low"]):
        return f"{row['estimate']:.3f} (no interval: {row['reason']})"
    return f"{row['estimate']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
