"""Agreement among annotators, and the agreement of judges with humans compared with that among humans."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from assay.concordance import plots, words
from assay.concordance.coefficient import (
    MOST_IN_PAIRS,
    Advice,
    AgreementSettings,
    Measure,
    Spread,
    Who,
    describe_values,
    groups_left_out,
    offers_of,
    recommend,
    small_sample_intervals,
    sums_of,
    undefined_reason,
)
from assay.concordance.comparisons import (
    A_HUMAN,
    A_RANDOM_HUMAN,
    WHO,
    Comparisons,
    Families,
    Pairing,
    closest_human,
    draw_humans,
    permutation_p,
)
from assay.concordance.measures import all_measures
from assay.data.annotations import Annotations, Answers, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation.intervals import (
    MOST_UNDEFINED,
    Estimate,
    EstimateByRule,
    Estimates,
    adjust_p,
    missing,
    quantile_estimate,
)
from assay.estimation.options import Adjustment, Raters, question
from assay.estimation.resampling import ONE_UNIT, Sums, width_limit
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Bools, Floats
from assay.statistics.categories import PanelStatistic, Together
from assay.statistics.clusters import by_items
from assay.statistics.pairs import WithinItems, label_pairs
from assay.statistics.ranks import Ranks
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ONE_BY_ONE = 100
"""Largest number of annotators that are compared one by one."""

SAME = 1e-9
"""Difference of two values of one quantity."""

Excluded = dict[tuple[str, str], int]
"""The number of exclusions by kind (item, comparison) and reason."""

MOST_DRAWN = 2**33
"""Largest product of draws, pairs of labels and moments for 'random human': some seconds per annotator."""

PERMUTATION = "within-item permutation"
T_TEST = "t"
BOTH = "larger p of the t and the within-item permutation"
"""The test of a difference between a judge and humans."""

SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("criterion", "group", "who", "first", "second", "coefficient", "title"), pl.String),
    **dict.fromkeys(("estimate", "low", "high"), pl.Float64),
    "n": pl.Int64,
    **dict.fromkeys(("p", "p_adjusted"), pl.Float64),
    **dict.fromkeys(("interval", "reason", "than_humans"), pl.String),
}


@dataclass(frozen=True, eq=False)
class Agreement(ResultOfRows):
    """Agreement of annotators, by every coefficient that the scale allows.

    Attributes
    ----------
    table : polars.DataFrame
        One row per coefficient and comparison: ``criterion``, ``group`` (a value of ``by``; empty for all),
        ``who`` (humans, judges, pairs, consensus, rest, human pairs, random human), ``first``, ``second``,
        ``coefficient``, ``title``, ``estimate``, ``low``, ``high``, ``n`` (items), ``p`` (of no agreement beyond
        chance), ``p_adjusted``, ``interval``, ``reason``. For a judge, or a random judge of a family, with a random
        human, ``than_humans`` compares it with two random humans under draws with items resampled: "better",
        "worse" or "undecided", not adjusted.
    differences : polars.DataFrame
        For each judge and coefficient: its agreement with humans minus the agreement among humans, both on the items
        that the judge labelled, with the interval under the same resamples. ``p`` is from permuting the judge's label
        with a human's within items, or its labels within clusters (``test``; above 3,000 items, a t-test; the larger p
        of both if humans labelled parts of clusters). ``p_adjusted`` adjusts over the judges, criteria and groups of a
        coefficient. ``closer`` is "yes", "no" or "undecided" by that. If a judge is closer to three or more humans,
        ``without`` is the closest annotator, and ``p_without`` the p-value without that annotator. If ``p_without`` is
        above 1 − ``confidence``, as it is for a judge that copies one annotator, ``closer`` is "depends on one".
    headline : str
        The coefficient in the summary and the plot.
    run : Run
        Every option, and the comparisons that were not possible.
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
    advice: tuple[Advice, ...] = field(repr=False, metadata={"json": False})
    comparisons_of_rows: tuple[tuple[_Block, Pairing], ...] = field(repr=False, metadata={"json": False})
    """The comparison of each row, from which it is estimated again: thousands of rows keep no resamples."""

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The coefficient in each row. It draws its resamples again, with the same seed, when they are needed."""
        rows = zip(self.rows.iter_rows(named=True), self.comparisons_of_rows, strict=True)
        return [_row_estimate(row, *compared) for row, compared in rows]

    @property
    def headline_is_error(self) -> bool:
        """Whether lower values of the headline coefficient are better."""
        return all_measures()[self.headline].lower_is_better

    def select(self, *who: Who, coefficient: str | None = None) -> pl.DataFrame:
        """Return the rows of one coefficient (default: the headline), for some kinds of comparison."""
        rows = self.rows.filter(pl.col("coefficient") == (coefficient or self.headline))
        return rows.filter(pl.col("who").is_in(who)) if who else rows

    def summary(self) -> str:
        """Return agreement of the panels and of each judge, and the comparisons of judges with humans."""
        return words.agreement_summary(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the headline coefficient of panels, and of judges with the consensus and with humans: a forest plot."""
        several = len(self.criteria) > 1
        rows = self.select("humans", "judges", "consensus", *(() if several else ("human pairs",)))
        return plots.forest(rows if rows.height else self.select(), self.judges, ax)

    def heat_map(self, ax: Axes | None = None, *, coefficient: str | None = None, criterion: str | None = None) -> Axes:
        """Draw the agreement of each pair of annotators as a grid of colours.

        Raises
        ------
        DesignError
            If the table has no pairs, or not this criterion or coefficient.
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
            raise DesignError("a heat map shows pairs of annotators; call agreement with who=['pairs', ...]")
        if name not in rows["coefficient"]:
            raise DesignError(unknown("coefficient", name, rows["coefficient"].unique().to_list(), "the pairs"))
        return plots.heat_map(rows.filter(pl.col("coefficient") == name), self.humans, self.judges, criterion, ax)

    # -- families of raters compared with humans, as in Hardy (2025) ---------------------------------

    @cached_property
    def with_random_human(self) -> pl.DataFrame:
        """Agreement of humans, each family and each judge with a random human: figures 1 and 7b as a table.

        Columns ``criterion, rater, coefficient, title, estimate, low, high, n, than_humans``.
        """
        from assay.concordance import families

        return families.random_human_rows(self.rows, self.humans)

    @cached_property
    def better_than_humans(self) -> pl.DataFrame:
        """The number of criteria on which each rater is better than a random human, by each coefficient: table 6.

        Columns ``coefficient, title, rater, criteria, better, share, significantly_better, significantly_worse``.
        ``better`` compares estimates, as the paper does. The last two count the criteria with a significant difference.
        """
        from assay.concordance import families

        return families.better_than_humans(self.with_random_human)

    @cached_property
    def label_shares(self) -> pl.DataFrame:
        """The label distributions of humans, each family and each judge: figures 6 and 7a as a table.

        Columns ``criterion, rater, label, n, share``. Numbers with many different values are counted in ranges.
        """
        from assay.concordance import families

        blocks = {id(block): (row["criterion"], block) for row, (block, _) in self._rows_of_all()}
        return families.label_shares([(name, block.ratings, block.families) for name, block in blocks.values()])

    def _rows_of_all(self) -> Iterator[tuple[dict[str, Any], tuple[_Block, Pairing]]]:
        """The rows for all items and annotators, with their comparisons."""
        rows = zip(self.rows.iter_rows(named=True), self.comparisons_of_rows, strict=True)
        return ((row, compared) for row, compared in rows if row["group"] is None)

    def plot_raters(self, ax: Axes | None = None, *, coefficient: str | None = None) -> Axes:
        """Draw one coefficient of humans, families and judges with a random human, by criterion: figure 1.

        Raises
        ------
        DesignError
            If the table has no rows of ``random human``, or not this coefficient.
        """
        from assay.concordance import families

        known = self.with_random_human["coefficient"].unique(maintain_order=True).to_list()
        name = coefficient or (self.headline if self.headline in known else known[0])
        if name not in known:
            raise DesignError(unknown("coefficient", name, known, "the rows of random humans"))
        return families.plot_raters(self.drawn(self.with_random_human), name, ax)

    def plot_coefficients(self, ax: Axes | None = None) -> Axes:
        """Draw every coefficient of humans, families and judges with a random human, as a grid: figure 7b."""
        from assay.concordance import families

        return families.plot_coefficients(self.drawn(self.with_random_human), ax)

    def plot_labels(self, ax: Axes | None = None) -> Axes:
        """Draw the label distributions of humans, families and judges: figures 6 and 7a."""
        from assay.concordance import families

        return families.plot_labels(self.drawn(self.label_shares), ax)

    def drawn(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of humans, of families, and of judges that belong to no family."""
        from assay.concordance import families

        drawn = [families.raters_to_draw(block.families, self.judges) for _, (block, _) in self._rows_of_all()]
        return frame.filter(pl.col("rater").is_in(sorted({name for names in drawn for name in names})))


@question(AgreementSettings)
def agreement(labels: Annotations | Chunks, settings: AgreementSettings) -> Agreement:
    """Compute agreement coefficients among annotators, and compare judges with humans.

    Parameters
    ----------
    labels : Annotations or Chunks
        One or more criteria, each analysed separately.

    Returns
    -------
    Agreement
        ``table``, ``differences``, ``summary()``, ``plot()``, ``heat_map()``.

    Raises
    ------
    DataError
        For an unknown column or name.
    DesignError
        For fewer than two annotators, unresolved repeated labels, or text labels.

    Notes
    -----
    With random raters, each member of a panel is left out in turn, and each human of a consensus and of human pairs.
    Named single annotators, judges compared with humans, and random humans are treated as fixed.

    P-values test a coefficient of 0 (no agreement beyond chance) with the standard error and on the scale of the
    interval. Shares and errors have no such zero and no p-value. The rows of a table are dependent, so use an
    adjustment that allows any dependence (``holm``, ``by``).

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=40, scale="1-5", judges={"gpt": 0.2}, seed=1)
    >>> found = assay.agreement(labels, coefficients=["exact-agreement"], n_resamples=50)
    >>> found.table.filter(who="humans").select("estimate", "n").rows()
    [(0.7916666666666666, 40)]
    """
    measures = _measures(settings.coefficients)
    whole, parts = _parts(labels, settings)
    rows: list[dict[str, Any]] = []
    compared: list[tuple[_Block, Pairing]] = []
    differences: list[dict[str, Any]] = []
    errors: list[Floats] = []
    excluded: Excluded = {}
    for place, ratings in parts:
        if len(ratings.annotators) < 2:  # among several criteria or groups
            where = ", ".join(v for v in place.values() if v)
            excluded["comparison", f"{where}: labels of only {listing(ratings.annotators)}"] = 1
            continue
        block = _Block(ratings, measures, settings, excluded, ", ".join(v for v in place.values() if v))
        block.families = _families(whole, ratings, settings.family)
        for comparison, row in block.rows(settings.who or WHO):
            rows.append(place | row)
            compared.append((block, comparison))
        differences += [place | row for row in block.differences()] if "human pairs" in (settings.who or WHO) else []
        if isinstance(whole, Annotations):
            errors += [by_items(whole, ratings.answers.items, part) for part in block.item_errors]
    if not rows:
        if all(scale.kind == "text" for scale in _scales(whole)):
            raise DesignError(
                "agreement requires categories, ordered labels or numbers; these labels are free text. Name the "
                "categories with scale=..., or compare the texts by a similarity in the alternative annotator test"
            )
        reasons = listing([f"{why} ({n})" for (_, why), n in excluded.items()])
        raise DesignError(f"there is nothing to compare: {reasons or 'no annotators'}")
    first = parts[0][1]
    judges = whole.judges if isinstance(whole, Annotations) else first.judges
    n_items = whole.n_items if isinstance(whole, Annotations) else first.n_items
    table = _adjust(pl.DataFrame(rows, schema={k: v for k, v in SCHEMA.items() if k != "p_adjusted"}), settings.adjust)
    advice = {one.name: one for one in map(recommend, _scales(whole)) if one is not None}
    headline = _headline(advice, [one.name for one in measures], table["coefficient"].unique().to_list())
    scale = ", ".join(sorted({s.spec for s in _scales(whole)}))
    interval = words.joint_interval(table.filter(pl.col("coefficient") == headline)["interval"].to_list())
    return Agreement(
        rows=table.select(*SCHEMA),
        differences=_differences_table(differences, settings.adjust, 1 - settings.confidence),
        headline=headline,
        humans=whole.humans,
        judges=judges,
        criteria=whole.criteria if isinstance(whole, Annotations) else (),
        by=settings.by,
        scale=scale,
        n_items=n_items,
        n_labels=len(whole) if isinstance(whole, Annotations) else whole.n_labels,
        run=_run(
            labels,
            settings,
            interval,
            _exclusions(excluded, measures),
            n_items,
            len(judges),
            _value_notes(measures, parts, table),
            dependence_cautions(errors, whole) if isinstance(whole, Annotations) else (),
        ),
        advice=tuple(advice.values()),
        comparisons_of_rows=tuple(compared),
    )


def _parts(
    labels: Annotations | Chunks, settings: AgreementSettings
) -> tuple[Annotations | Chunks, list[tuple[dict[str, str | None], Ratings]]]:
    """The labels with repeats combined, and each criterion of each group separately."""
    nowhere: dict[str, str | None] = {"criterion": None, "group": None}
    if isinstance(labels, Chunks):
        if settings.by is not None:
            raise DesignError("by=... needs the whole table in memory; scan the parts of the folder with where={...}")
        return labels, [(nowhere, Ratings.of(labels, clusters=settings.clusters).require_annotators(2, "agreement"))]
    labels = labels.resolve_repeats(settings.repeats)
    found = []
    for criterion in labels.criteria or (None,):
        one = labels if criterion is None else labels.where(criterion=criterion)
        for group, part in _groups(one, settings.by):
            place = {"criterion": criterion, "group": None if group is None else str(group)}
            found.append((place, Ratings.of(part, clusters=settings.clusters)))
    if not any(len(ratings.annotators) > 1 for _, ratings in found):
        found[0][1].require_annotators(2, "agreement")
    return labels, found


def _exclusions(excluded: Excluded, measures: Sequence[Measure]) -> tuple[Exclusion, ...]:
    """The exclusions, those of several coefficients for one reason together."""
    titles = sorted((measure.title for measure in measures), key=len, reverse=True)
    joint: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = {}
    for (what, why), count in excluded.items():
        title = next((one for one in titles if why.startswith(f"{one} compares ")), "")
        number, names = joint.get((what, why.removeprefix(f"{title} ")), (0, ()))
        joint[what, why.removeprefix(f"{title} ")] = number + count, (*names, *([title] if title else []))
    return tuple(Exclusion(what, count, why, names) for (what, why), (count, names) in joint.items())


def _run(
    labels: Annotations | Chunks, settings: AgreementSettings, interval: str, excluded: tuple[Exclusion, ...],
    n_items: int, n_judges: int, value_notes: Sequence[str], cautions: tuple[str, ...],
) -> Run:  # fmt: skip
    repeated = isinstance(labels, Annotations) and labels.has_repeats
    facts = {
        "items": n_items, "humans": len(labels.humans), "judges": n_judges or None,
        "scale": tuple(sorted({s.spec for s in _scales(labels)})),
        "interval": interval.split(" over")[0].replace(" ", "-"),
    }  # fmt: skip
    data = labels.fingerprint
    if isinstance(labels, Annotations):
        data = fingerprint_with(data, **digest_of_columns(labels, settings.by, settings.clusters, settings.family))
    return Run(
        "agreement", settings, data, facts, interval, excluded,
        notes=(*((f"repeated labels: {settings.repeats}",) if repeated else ()), *value_notes), cautions=cautions,
    )  # fmt: skip


def _value_notes(
    measures: Sequence[Measure], parts: Sequence[tuple[Mapping[str, str | None], Ratings]], table: pl.DataFrame
) -> list[str]:
    """The notes on the coefficients in the table, each once."""
    shown = set(table["coefficient"])
    notes = (one.note(ratings) for one in measures if one.note and one.name in shown for _, ratings in parts)
    return list(dict.fromkeys(note for note in notes if note))


def _families(labels: Annotations | Chunks, ratings: Ratings, column: str | None) -> Families:
    """The humans, and the judges of each family: one rater is drawn from each for every item."""
    found = [(A_RANDOM_HUMAN, ratings.humans)]
    if column is None:
        return [*found, ("a random judge", ratings.judges)]
    if isinstance(labels, Chunks):
        raise DesignError("family=... is a column of the annotators, and requires the whole table in memory")
    about = labels.annotators
    if column not in about.columns:
        raise DataError(unknown("annotator column", column, about.columns, "the table of annotators"))
    judges = about.filter(pl.col("annotator").is_in(ratings.judges) & pl.col(column).is_not_null())
    for value, members in judges.group_by(pl.col(column).cast(pl.String), maintain_order=True):
        found.append((f"a random judge of {value[0]}", tuple(members["annotator"].to_list())))
    return sorted(found)


def _scales(labels: Annotations | Chunks) -> list[Scale]:
    return list(labels.scales.values()) if isinstance(labels, Annotations) else [labels.scale]


class _Ready(NamedTuple):
    """A coefficient with its labels."""

    measure: Measure
    ratings: Ratings
    statistic: PanelStatistic | Ranks


class _Found(NamedTuple):
    """A coefficient with its value, its number of items, its p-value and its kind of interval."""

    measure: Measure
    one: Estimate
    n: int
    p: float | None
    interval: str
    draws: Floats | None = None
    """The value in each draw of humans, with items resampled."""


class _Block:
    """One criterion of one group: every comparison under the same resamples."""

    def __init__(
        self, ratings: Ratings, measures: Sequence[Measure], settings: AgreementSettings, excluded: Excluded, place: str
    ) -> None:
        self.ratings, self.place = ratings, place
        self.humans, self.judges = ratings.humans, ratings.judges
        self.measures = [m for m in measures if m.needs in offers_of(ratings.scale)]
        self.how, self.excluded = settings, excluded
        self.raters = {random: settings.raters_for(random=random) for random in (False, True)}
        self.width_limit = width_limit(ratings.n_items)
        self.families: Families = ()
        self.human_pairs: list[tuple[Pairing, list[_Ready]]] | None = None
        self.leaves_out = True
        self.item_errors: list[Floats] = []
        """The contributions of items to the errors of the first coefficient, among humans and in differences."""
        self._inner: dict[str, PanelStatistic | Ranks] = {}
        self._again: tuple[Pairing, dict[str, Estimate]] | None = None

    def rows(self, kinds: Sequence[Who]) -> Iterator[tuple[Pairing, dict[str, Any]]]:
        """Yield a row for each comparison and coefficient."""
        most: dict[Who, int] = {"pairs": MOST_IN_PAIRS, "rest": MOST_ONE_BY_ONE, "random human": MOST_ONE_BY_ONE}
        for kind, limit in most.items():
            if kind in kinds and len(self.ratings.annotators) > limit:
                self._exclude(f"'{kind}' with more than {limit} annotators", 1)
                kinds = tuple(k for k in kinds if k != kind)
        among: dict[str, Floats | None] = {}
        self.human_pairs = []
        every = Comparisons(self.ratings, self.families).of(kinds)
        # Humans with each other first: judges with a random human are compared with them.
        for comparison in sorted(
            every, key=lambda c: (kinds.index(c.who), c.who == "random human" and c.second != A_RANDOM_HUMAN)
        ):
            ready = list(self._prepare(comparison))
            if comparison.who == "human pairs":
                self.human_pairs.append((comparison, ready))
            for consensus, items in comparison.tied.items():
                start = f"{self.place}: " if self.place else ""
                self._exclude(f"{start}no majority, a tie between categories in the {consensus}", items, "item")
            for shown, found in self._shown(comparison, ready):
                if comparison.second == A_RANDOM_HUMAN:
                    among[found.measure.name] = found.draws
                known = among.get(found.measure.name) if comparison.second not in self.humans else None
                yield (
                    shown,
                    {
                        "who": comparison.who,
                        "first": comparison.first,
                        "second": comparison.second,
                        **_columns(found.measure, found.one, found.n, found.p),
                        "interval": found.interval,
                        "than_humans": self._human_contrast(comparison, found, known),
                    },
                )

    def _shown(self, comparison: Pairing, ready: Sequence[_Ready]) -> Iterator[tuple[Pairing, _Found]]:
        """The coefficients of a comparison, with the interval of the pair where it is the same quantity.

        With two humans, α of a human and another one is α of the pair; Cohen's κ is not, as its margins are pooled.
        """
        pair = None
        if comparison.second == A_HUMAN and len(self.ratings.humans) == 2:
            two = self.ratings.only(self.ratings.humans)
            pair = replace(comparison, ratings=lambda _: two, masks=None, fewer=None)
            of_pair = {one.measure.name: one for one in self._coefficients(pair, list(self._prepare(pair)))}
        for found in self._coefficients(comparison, ready):
            same = None if pair is None else of_pair.get(found.measure.name)
            fixed = self._raters(comparison, found.measure) == "fixed"
            if pair is not None and same is not None and fixed and abs(same.one.estimate - found.one.estimate) < SAME:
                yield pair, same
            else:
                yield comparison, found

    def _coefficients(self, comparison: Pairing, ready: Sequence[_Ready]) -> Iterator[_Found]:
        """Estimate the coefficients of a comparison."""
        return (self._draw if comparison.who == "random human" else self._estimate)(comparison, ready)

    def estimate_again(self, comparison: Pairing, coefficient: str) -> Estimate:
        """Return a coefficient of a comparison with its resamples. Those of the last comparison are kept."""
        if self._again is None or self._again[0] is not comparison:
            quiet = copy(self)
            quiet.excluded = {}
            found = quiet._coefficients(comparison, list(quiet._prepare(comparison)))
            self._again = comparison, {one.measure.name: one.one for one in found}
        return self._again[1][coefficient]

    def _human_contrast(self, comparison: Pairing, found: _Found, among: Floats | None) -> str | None:
        """Whether a judge, or a random judge of a family, agrees better with a random human than another human does."""
        if found.draws is None or among is None or comparison.second == A_RANDOM_HUMAN or found.measure.directed:
            return None
        difference = (found.draws - among) * (-1.0 if found.measure.lower_is_better else 1.0)
        return compare_draws(difference, self.how.confidence)

    def differences(self) -> Iterator[dict[str, Any]]:
        """Yield the agreement of each judge with humans minus that among humans. Call `rows` first."""
        assert self.human_pairs is not None, "call rows first"
        among = next(((c, ready) for c, ready in self.human_pairs if c.second == A_HUMAN), None)
        if among is None or self.how.method == "none":
            return
        humans = {r.measure.name: r for r in among[1]}
        for judge, both in self.human_pairs:
            ready = [r for r in both if not r.measure.directed and r.measure.name in humans]
            if judge is among[0] or not ready:
                continue
            if (block := self._on_items_of(judge.second, [one.measure for one in ready])) is not None:
                yield from block.differences()
                continue
            sides = [*ready, *(humans[r.measure.name] for r in ready)]
            joint, k = _side_by_side(sides), len(ready)
            if sum(joint.widths) <= self.width_limit:
                yield from self._differences(judge, among[0], ready, joint)
                continue
            for i in range(k):
                yield from self._differences(judge, among[0], [ready[i]], joint.part([i, k + i]))

    def _on_items_of(self, judge: str | None, measures: Sequence[Measure]) -> _Block | None:
        """The same with the items that the judge labelled, if it left items with two human labels unanswered.

        A judge can skip hard items: humans agree less on all items than on those, and both sides are of the same items.
        Chunks are not read again.
        """
        assert judge is not None
        if self.ratings.in_chunks:
            return None
        answers, code = self.ratings.answers, self.ratings.annotators.index(judge)
        people = np.isin(self.ratings.annotators, self.humans)[answers.annotator]
        labelled = np.bincount(answers.item[answers.annotator == code], minlength=answers.n_items) > 0
        if not (~labelled & (np.bincount(answers.item[people], minlength=answers.n_items) > 1)).any():
            return None
        ratings = self.ratings.derive(partial(_labels_of_items, items=labelled), self.ratings.annotators)
        return self._of_one_judge(ratings, judge, measures)

    def _of_one_judge(self, ratings: Ratings, judge: str, measures: Sequence[Measure]) -> _Block:
        """Other labels of the humans and a judge, for their differences."""
        found = _Block(ratings, measures, self.how, {}, self.place)
        pairings = Comparisons(found.ratings).of(["human pairs"])
        found.human_pairs = [(c, list(found._prepare(c))) for c in pairings if c.second in (A_HUMAN, judge)]
        found.leaves_out, found.item_errors = self.leaves_out, self.item_errors
        return found

    def _differences(
        self, judge: Pairing, humans: Pairing, ready: Sequence[_Ready], joint: Together
    ) -> Iterator[dict[str, Any]]:
        """Coefficients of a judge minus those of humans, under the same resamples; ``joint`` has the judge's first."""
        k, sums = len(ready), self.ratings.sums(joint)
        found = sums.estimate(self.how, [one.measure.transform for one in ready] * 2)
        if found.n_units == 1:  # one unit cannot be resampled, so the difference has no interval
            return
        if ready[0].measure is self.measures[0]:
            self._note_errors(sums, 0, k)
        if self._raters(judge, ready[0].measure) == "random":
            measures = [one.measure for one in ready]
            left, right = (self._leave_one_out(side, measures, sums) for side in (judge, humans))
            parts = ((np.append(v, w), np.hstack([x, y])) for (v, x), (w, y) in zip(left, right, strict=True))
            found = groups_left_out(found, [parts])
        found = found.contrast(np.hstack([np.eye(k), -np.eye(k)]))
        assert judge.second is not None
        p, test = self._tested(found, joint, judge.second)
        better = np.array([-1.0 if one.measure.lower_is_better else 1.0 for one in ready])
        closer = (p <= 1 - self.how.confidence) & (found.value * better > 0)
        closest, p_without = self._without_closest(
            judge.second, [one.measure for one, yes in zip(ready, closer, strict=True) if yes]
        )
        for i, one in enumerate(ready):
            n = min(sums.n_items[i], sums.n_items[k + i])
            yield {
                "judge": judge.second,
                **_columns(one.measure, found[i], n, None if np.isnan(p[i]) else float(p[i])),
                "test": test,
                "better": better[i],
                "without": closest if closer[i] else None,
                "p_without": p_without.get(one.measure.name),
            }

    def _tested(self, found: Estimates, joint: Together, judge: str) -> tuple[Floats, str]:
        """The p-values of differences, and the name of their test.

        If humans labelled parts of clusters, clusters are not permuted. The t-test rejects 7 to 9% of true nulls with
        12 to 30 clusters and rare errors, and the permutation within items up to 9% if raters err on whole clusters.
        The larger of both rejects 2 to 6%, and has .52 power where the t-test has .56.
        """
        how = {"permutations": self.how.n_resamples, "seed": self.how.seed}
        permuted = permutation_p(self.ratings, joint, judge, **how)
        if permuted is not None:
            return permuted, PERMUTATION
        apart = None
        if self.ratings.clusters is not None:
            apart = permutation_p(replace(self.ratings, clusters=None), joint, judge, **how)
        return (found.p(0.0), T_TEST) if apart is None else (np.maximum(found.p(0.0), apart), BOTH)

    def _without_closest(self, judge: str, measures: Sequence[Measure]) -> tuple[str | None, dict[str, float | None]]:
        """The closest annotator of a judge that is closer to humans, and the p-values without that annotator.

        A judge that copies one annotator is closer to all humans than they are to each other, because no human copies
        another. Neither of two humans can be left out, and chunks are not read again.
        """
        if not (measures and self.leaves_out and len(self.ratings.humans) > 2) or self.ratings.in_chunks:
            return None, {}
        closest = closest_human(self.ratings, judge)
        fewer = self._of_one_judge(self.ratings.without((closest,)), judge, measures)
        fewer.leaves_out, fewer.item_errors = False, []
        return closest, {row["coefficient"]: row["p"] for row in fewer.differences()}

    def _prepare(self, comparison: Pairing) -> Iterator[_Ready]:
        """Yield the coefficients that this comparison allows, with their labels and statistics."""
        tables = {means: comparison.ratings(means) for means in {m.takes_means for m in self.measures}}
        for measure in self.measures:
            ratings = tables[measure.takes_means]
            try:
                if comparison.masks is None:
                    yield _Ready(measure, ratings, measure.prepare(ratings)[0])
                    continue
                inner = self._pair_statistic(measure)
            except DesignError as refusal:
                if not (measure.directed and comparison.second is None):
                    self._exclude(str(refusal).split(";")[0], 1)
                continue
            if isinstance(inner, Ranks):
                self._exclude(f"{measure.title} with {comparison.who}: too many different labels for a table", 1)
                continue
            yield _Ready(measure, ratings, WithinItems(inner, *comparison.masks))

    def _pair_statistic(self, measure: Measure) -> PanelStatistic | Ranks:
        """The statistic of two annotators who both answer. `label_pairs` makes their labels."""
        if measure.name not in self._inner:
            self._inner[measure.name] = measure.statistic(self._two, np.array([0]), np.array([1]))
        return self._inner[measure.name]

    @cached_property
    def _two(self) -> Ratings:
        return replace(self.ratings, annotators=("first", "second"), n_labels=2 * self.ratings.n_items)

    def _estimate(self, comparison: Pairing, ready: Sequence[_Ready]) -> Iterator[_Found]:
        """Estimate coefficients of the same labels together, each over its own items."""
        found: dict[int, _Found] = {}
        spreads = {id(one.ratings): Spread(one.ratings) for one in ready}
        for one in ready:
            if isinstance(one.statistic, Ranks):
                sums = sums_of(one.ratings, one.statistic)
                alone = sums.estimate(self.how, one.measure.transform)
                yield from self._apply_raters(comparison, [one], alone.part(np.array([0])), sums, spreads)
        for members, joint in self._batches(ready):
            together = ready[members[0]].ratings.sums(joint)
            if comparison.who == "humans" and ready[members[0]].measure is self.measures[0]:
                self._note_errors(together, 0)
            for chosen, part, sums in together.estimate_apart(self.how, [ready[i].measure.transform for i in members]):
                some = [members[k] for k in chosen]
                finished = self._apply_raters(comparison, [ready[i] for i in some], part, sums, spreads)
                found |= zip(some, finished, strict=True)
        yield from _sort_found(ready, found)

    def _note_errors(self, sums: Sums, value: int, minus: int | None = None) -> None:
        """Keep the contributions of items to the error of a value or a difference, if items are resampled."""
        if not self.ratings.in_chunks and (part := sums.item_errors(value, minus)) is not None:
            self.item_errors.append(part)

    def _apply_raters(
        self, comparison: Pairing, ready: Sequence[_Ready], found: Estimates, sums: Sums, spreads: Mapping[int, Spread]
    ) -> list[_Found]:  # fmt: skip
        """Coefficients of the same labels, with raters fixed or random."""
        raters = [self._raters(comparison, one.measure) for one in ready]
        finished: dict[int, _Found] = {}
        spread = spreads[id(ready[0].ratings)]
        for kind in dict.fromkeys(raters):
            mine = [i for i, one in enumerate(raters) if one == kind]
            part, some = found if len(mine) == len(ready) else found.part(np.array(mine)), [ready[i] for i in mine]
            if kind == "random" and self.how.method != "none":
                part = groups_left_out(part, [self._leave_one_out(comparison, [one.measure for one in some], sums)])
            finished |= zip(mine, _wrap_found(some, part), strict=True)
            for k, few in small_sample_intervals([(one.measure, one.statistic) for one in some], part, spread).items():
                finished[mine[k]] = _wrap_found([some[k]], few)[0]
        return [finished[i] for i in range(len(ready))]

    def _raters(self, comparison: Pairing, measure: Measure) -> Raters:
        panel = comparison.who in ("humans", "judges")
        return "fixed" if comparison.fewer is None else self.raters[measure.random_raters and panel]

    def _leave_one_out(
        self, comparison: Pairing, measures: Sequence[Measure], sums: Sums
    ) -> Iterator[tuple[Floats, Floats]]:
        """The coefficients of the comparison without each human in turn, and also without each unit of `sums`."""
        assert comparison.fewer is not None
        quiet = copy(self)
        quiet.measures, quiet.excluded = list(measures), {}
        place = {measure.name: i for i, measure in enumerate(measures)}
        for fewer in comparison.fewer():
            values, without = np.full(len(measures), np.nan), np.full((len(sums.used), len(measures)), np.nan)
            ready = list(quiet._prepare(fewer))
            parts = [([i], sums_of(one.ratings, one.statistic)) for i, one in enumerate(ready) if _ranks(one)]
            for members, joint in quiet._batches(ready):
                parts.append((members, ready[members[0]].ratings.sums(joint, sums.units)))
            for members, part in parts:
                columns = [place[ready[i].measure.name] for i in members]
                value, left_out = part.value_and_without(sums.used)
                values[columns], without[:, columns] = value[: len(columns)], left_out[:, : len(columns)]
            yield values, without

    def _draw(self, comparison: Pairing, ready: Sequence[_Ready]) -> Iterator[_Found]:
        """The published procedure: draw a human for each item, many times."""
        assert comparison.masks is not None
        if self.ratings.in_chunks:
            self._exclude("'random human' requires the whole table in memory", 1)
            return
        pairs = label_pairs(self.ratings.answers, *comparison.masks)
        n = len(pairs.item)
        if not ready or not n:
            return
        joint = Together(tuple(one.statistic.statistic for one in ready if isinstance(one.statistic, WithinItems)))
        if self.how.draws * len(pairs.kind) * sum(joint.widths) > MOST_DRAWN:
            self._exclude(
                "'random human' takes too long on this many labels; use fewer coefficients, draws or items", 1
            )
            return
        seed, level = self.how.seed, self.how.confidence
        moments = joint.moments(pairs.labels)
        fixed, moving = (
            draw_humans(pairs, moments, joint.value, self.how.draws, seed, items=items) for items in (False, True)
        )
        how = f"{100 * level:g}% percentile interval, {self.how.draws:,} draws with items resampled"
        for i, one in enumerate(ready):
            found, drawn = summarize_draws(fixed[:, i], moving[:, i], level), moving[:, i]
            if n == 1:
                found = Estimate(found.estimate, np.nan, np.nan, np.nan, found.reason or ONE_UNIT)
            yield _Found(one.measure, found, n, None, how, None if n == 1 else drawn)

    def _batches(self, ready: Sequence[_Ready]) -> Iterator[tuple[list[int], Together]]:
        """Coefficients of the same labels, split by transform if all of them would make the blocks of items larger."""
        same: dict[int, list[int]] = {}
        for i, one in enumerate(ready):
            if not isinstance(one.statistic, Ranks):
                same.setdefault(id(one.ratings), []).append(i)
        for members in same.values():
            joint = _side_by_side([ready[i] for i in members])
            if sum(joint.widths) <= self.width_limit:
                yield members, joint
                continue
            scale = [ready[i].measure.transform for i in members]
            for transform in dict.fromkeys(scale):
                some = [i for i, on in zip(members, scale, strict=True) if on == transform]
                yield some, _side_by_side([ready[i] for i in some])

    def _exclude(self, why: str, count: int, what: str = "comparison") -> None:
        if count:
            self.excluded[what, why] = self.excluded.get((what, why), 0) + count


def _row_estimate(row: Mapping[str, Any], block: _Block, comparison: Pairing) -> Estimate:
    """The coefficient of a row, which is estimated again when its interval at another level is needed."""
    again = partial(block.estimate_again, comparison, row["coefficient"])
    return EstimateByRule(
        row["estimate"], row["low"], row["high"], np.nan, row["reason"],
        ends=lambda level: again().interval(level), test=lambda null: again().p(null),
    )  # fmt: skip


def _labels_of_items(answers: Answers, items: Bools) -> Answers:
    """The labels of some items; all items are kept."""
    kept = items[answers.item]
    return replace(
        answers, item=answers.item[kept], annotator=answers.annotator[kept], value=answers.value[kept]
    )  # fmt: skip


def _ranks(one: _Ready) -> bool:
    return isinstance(one.statistic, Ranks)


def _columns(measure: Measure, one: Estimate, n: int, p: float | None) -> dict[str, Any]:
    """The columns of any estimate."""
    ends = {"estimate": one.estimate, "low": one.low, "high": one.high}
    return {"coefficient": measure.name, "title": measure.title, **ends, "n": n, "p": p, "reason": one.reason}


def _side_by_side(ready: Sequence[_Ready]) -> Together:
    statistics = [one.statistic for one in ready]
    return Together(tuple(s for s in statistics if not isinstance(s, Ranks)), first_only=True)


def _wrap_found(ready: Sequence[_Ready], found: Estimates) -> list[_Found]:
    """Coefficients of the same labels, ready for the rows."""
    finished = []
    for one, (interval, how, p) in zip(ready, describe_values([one.measure for one in ready], found), strict=True):
        known = one.measure.zero and np.isfinite(interval.standard_error) and not np.isnan(p)
        if np.isnan(interval.estimate):
            interval = missing(undefined_reason(one.ratings))
        finished.append(_Found(one.measure, interval, found.n_items, p if known else None, how))
    return finished


def _sort_found(ready: Sequence[_Ready], found: dict[int, _Found]) -> list[_Found]:
    """Sort by labels and transform, then by number of items; otherwise keep the order of the coefficients."""
    place: dict[Hashable, int] = {}
    keys: dict[int, tuple[int, int, int]] = {}
    for i in sorted(found):
        labels = (id(ready[i].ratings), ready[i].measure.transform)
        keys[i] = place.setdefault(labels, i), place.setdefault((labels, found[i].n), i), i
    return [found[i] for i in sorted(found, key=lambda i: keys[i])]


def summarize_draws(fixed: Floats, moving: Floats, level: float) -> Estimate:
    """The mean over draws, with percentiles of the draws under resampled items."""
    fixed, moving = fixed[~np.isnan(fixed)], moving[~np.isnan(moving)]
    if not len(fixed) or not len(moving):
        return missing("undefined in every draw")
    if np.ptp(moving) == 0:
        return Estimate(float(fixed.mean()), np.nan, np.nan, np.nan, "every draw gives the same value")
    return quantile_estimate(float(fixed.mean()), moving, level)


def compare_draws(differences: Floats, confidence: float) -> Literal["better", "worse", "undecided"]:
    """Return whether the differences in all draws are above 0, below 0, or undecided; NaN if undefined in a draw."""
    if np.isnan(differences).mean() > MOST_UNDEFINED:
        return "undecided"
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(differences, [tail, 1 - tail])
    return "better" if low > 0 else "worse" if high < 0 else "undecided"


def _measures(names: Sequence[str] | None) -> list[Measure]:
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
    """All labels, then those of each value of a column; for a column of annotators, the humans with each value."""
    yield None, labels
    if by is None:
        return
    if by in labels.annotators.columns:
        humans = labels.annotators.filter(pl.col("kind") == "human")
        for value in labels.where(kind="human").values_of(by) if humans.height else ():
            same = pl.col(by).is_null() if value is None else pl.col(by) == value
            names = humans.filter(same)["annotator"].to_list()
            yield value, labels.where(annotator=[*names, *labels.judges])
        return
    yield from labels.split(by)


def _adjust(rows: pl.DataFrame, adjust: Adjustment) -> pl.DataFrame:
    """P-values adjusted over the rows of each coefficient and kind of comparison."""
    p = rows["p"].to_numpy().astype(float)
    family = rows.select(c for c in ("coefficient", "who") if c in rows.columns).rows()
    adjusted = adjust_p(p, adjust, family)
    return rows.with_columns(p_adjusted=pl.Series(adjusted, dtype=pl.Float64).fill_nan(None))


def _differences_table(rows: list[dict[str, Any]], adjust: Adjustment, alpha: float) -> pl.DataFrame:
    """The differences, with ``closer`` from the adjusted p-values."""
    kept = ("coefficient", "title", "estimate", "low", "high", "n", "p")
    names = dict.fromkeys(("criterion", "group", "judge"), pl.String)
    schema = {**names, **{name: SCHEMA[name] for name in kept}, "test": pl.String, "better": pl.Float64}
    schema |= {"without": pl.String, "p_without": pl.Float64, "reason": pl.String}
    frame = _adjust(pl.DataFrame(rows, schema=schema), adjust)
    significant = pl.col("p_adjusted").fill_null(1.0) <= alpha
    nearer = pl.col("estimate") * pl.col("better") > 0
    on_one = pl.col("without").is_not_null() & (pl.col("p_without").fill_null(1.0) > alpha)
    closer = pl.when(on_one).then(pl.lit("depends on one")).when(nearer).then(pl.lit("yes")).otherwise(pl.lit("no"))
    closer = pl.when(significant).then(closer).otherwise(pl.lit("undecided"))
    return frame.with_columns(closer=closer).drop("better")


def _headline(advice: Mapping[str, Advice], requested: Sequence[str], computed: Sequence[str]) -> str:
    """The recommended coefficient if it was requested; else the first requested one."""
    # For criteria on several scales: a coefficient that all of them allow.
    advice = {name: one for name, one in advice.items() if name != "icc(a,1)"} or advice
    nominal = "krippendorff-alpha-nominal"
    advice = {nominal: advice[nominal]} if nominal in advice else advice
    return next(name for name in (*advice, *requested) if name in computed)
