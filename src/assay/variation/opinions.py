"""Does a judge know the distribution of the annotators' labels, and not only the most frequent label?

Formulas of items are in `distances`, intervals in `intervals`; this module reads the table and gathers the estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.data.structure.probabilities import OFF_ONE, PREFIXES
from assay.errors import DataError, DesignError, counted, unknown_judge
from assay.estimation.intervals import Estimate, adjust_p, missing
from assay.estimation.options import Raters, Settings, level_option, option, question
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.statistics.clusters import by_items
from assay.statistics.words import dependence_cautions, few_clusters
from assay.variation import words
from assay.variation.distances import ItemDistances, JudgeDistribution, LabelSlots, item_distances, share_distances
from assay.variation.intervals import (
    LeaveOuts,
    RatioSample,
    jackknife,
    known_slope,
    one_sided,
    repeated_slope,
    slope_hc3,
    too_few_units,
)
from assay.variation.labels import (
    Combined,
    LabelNumbers,
    matched_annotator,
    people_of,
    present,
    require_comparable,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Distance = Literal["auto", "nominal", "ordered"]
Source = Literal["probabilities", "repeats", "label"]
"""How a judge's distribution is known: by probabilities of labels, by repeated labels, or as a single label."""

ROUNDED = 1e-3
"""Deviation of a sum of rounded probabilities that is not mentioned."""

ROUNDING = 1e-12
"""Largest error of summation, relative to the distances."""

LEAST_REPEATS = 4
"""Least repeats for the slope: the variance of the spread needs two pairs of different repeats."""

APPLIES = ("no", "yes")
"""Labels of the criteria that a question with several labels per answer becomes."""

BINS = 6
"""Groups of items in the picture of the spread."""


@dataclass(frozen=True)
class OpinionSettings(Settings):
    """Options of `assay.opinions`."""

    judge: str | Sequence[str] | None = option(
        None, "Judges to compare with the annotators.", details="Default: every judge of the table."
    )
    _: KW_ONLY
    distance: Distance = option(
        "auto", "Distance of two labels: 0 or 1 (nominal), or their difference (ordered).",
        details="auto: the difference of ordered labels and numbers, 0 or 1 for categories.", first=True,
    )  # fmt: skip
    raters: Raters = option("fixed", "Treat annotators as fixed, or as a random sample of annotators.", first=True)
    annotators: Sequence[str] | None = option(None, "Annotators whose labels are used (default: all).")
    clusters: str | None = option(None, "Item column of clusters of items, such as documents.", first=True)
    repeats: Combined = option(
        "error", "How to combine repeated labels of an annotator.",
        details="Repeated labels of a judge are its distribution, and are never combined.",
    )  # fmt: skip
    confidence: float = level_option()


_NAMES = ("criterion", "judge", "other", "quantity")
_NUMBERS = ("estimate", "low", "high", "people", "people_at_least", "people_at_most")


@dataclass(frozen=True, eq=False)
class Opinions(ResultOfRows):
    """How close judges' distributions of labels are to those of the annotators.

    Attributes
    ----------
    table : polars.DataFrame
        One row per quantity: ``criterion``, ``judge``, ``other``, ``quantity``, ``estimate``, ``low``, ``high``, ``n``
        (items), ``people``, ``people_at_least``, ``people_at_most`` (annotators in a poll that is as close; none if the
        judge is not demonstrated to be closer than the label shares, no upper end if the interval of ψ includes 0),
        ``p``, ``p_adjusted``, ``matches``, ``reason``. The quantities:

        - ``relative distance``: ψ = ΣD / Σh; 0 for the annotators' distribution, 1 for a label of one annotator;
        - ``one drawn label``: ψ of a single label that is drawn from the judge's distribution;
        - ``against shares``: mean D minus that of the label shares of this sample, with one-sided ``p`` (below 0);
        - ``spread ratio``: Σs / Σh;
        - ``spread slope``: disagreement among annotators per unit of the judge's spread;
        - ``difference``: mean D of ``judge`` minus that of ``other``, with ``p_adjusted`` (Holm).

        ``matches`` names an annotator whose labels the judge's labels match more often than agreement with the others
        explains.
    items : polars.DataFrame
        ``criterion``, ``judge``, ``item``, ``D`` (energy distance; unbiased, so it can be negative), ``h`` (mean
        distance of two annotators), ``s`` (mean distance of two labels of the judge), ``n`` (annotators), and the item
        metadata.
    distances : polars.DataFrame
        Published distances between label shares, means over items: ``criterion``, ``judge``, ``distance``, ``mean``,
        ``n_labels`` (median number of annotators). With few annotators they favour a judge with too little spread.
    sources : mapping of judge to {"probabilities", "repeats", "label"}
        How the judge's distribution is known.
    """

    items: pl.DataFrame = field(metadata={"json": False})
    rows: pl.DataFrame = field(metadata={"json": False})
    distances: pl.DataFrame
    sources: Mapping[str, Source]
    run: Run
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})

    symbol: ClassVar[str] = "estimate"
    leads: ClassVar[bool] = True

    def summary(self) -> str:
        """Return a paragraph for each judge, the comparisons of judges, the notes and the signature."""
        return "\n".join([*words.opinion_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw ψ of each judge; dotted lines mark polls of 1, 2 and 5 annotators."""
        rows = self.rows.filter(quantity="relative distance").head(pictures.MOST_ROWS)
        names = [", ".join(v for v in row if v) for row in rows.select("criterion", "judge").iter_rows()]
        ax = pictures.axes(ax, height=1.5 + 0.3 * max(len(names), 2))
        pictures.forest_of_rows(ax, names, rows)
        for people in (1, 2, 5):
            ax.axvline(1 / people, color=pictures.MUTED, linewidth=1, linestyle=":", zorder=1)
            ax.annotate(
                str(people), (1 / people, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), ha="center",
                textcoords="offset points", fontsize=8, color=pictures.MUTED,
            )  # fmt: skip
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
        ax.set_xlabel("relative distance ψ (above: annotators in an equally close poll)")
        return ax

    def plot_spread(self, ax: Axes | None = None) -> Axes:
        """Draw the annotators' disagreement by the judge's spread: means of groups of items, with standard errors.

        Raises
        ------
        DesignError
            If every judge gave one label per item.
        """
        spread = [judge for judge, source in self.sources.items() if source != "label"]
        if not spread:
            raise DesignError("the judges gave one label per item, which has no spread")
        ax = pictures.axes(ax, height=3.4)
        top = 0.0
        for judge, colour in zip(spread, pictures.PALETTE, strict=False):
            part = self.items.filter(judge=judge).sort("s", "item")
            groups = [g for g in np.array_split(np.arange(part.height), min(BINS, part.height)) if len(g) > 1]
            s, h = part["s"].to_numpy(), part["h"].to_numpy()
            x, y = [float(s[g].mean()) for g in groups], [float(h[g].mean()) for g in groups]
            error = [float(h[g].std(ddof=1)) / math.sqrt(len(g)) for g in groups]
            ax.errorbar(x, y, yerr=error, color=colour, marker="o", markersize=4, linewidth=1.2, label=judge)
            top = max([top, *x, *y])
        ax.plot([0, top], [0, top], color=pictures.MUTED, linewidth=1, linestyle=":", label="equal")
        ax.set_xlabel("spread of the judge's distribution, s")
        ax.set_ylabel("disagreement among annotators, h")
        pictures.legend(ax, loc="best")
        return ax


@question(OpinionSettings)
def opinions(labels: Annotations | Chunks, settings: OpinionSettings) -> Opinions:
    """Estimate how close judges' distributions of labels are to the distributions of the annotators' labels.

    A judge's distribution is known from probabilities (columns ``p_LABEL`` or ``p:LABEL`` next to its label), or from
    repeated labels. A single label per item is a distribution without spread.

    Parameters
    ----------
    labels : Annotations
        Labels of two or more annotators per item. Each criterion is analysed separately; the labels of a question with
        several labels per answer (``question: label``, no or yes) are summed.

    Returns
    -------
    Opinions
        ``table``, ``items``, ``distances``; ``summary()``, ``plot()``, ``plot_spread()``.

    Raises
    ------
    DataError
        For an unknown judge, annotator or column, and for probabilities that do not sum to 1.
    DesignError
        If no item has labels of two annotators and of a judge; for free text, and for chunks.

    Notes
    -----
    For each item, with the judge's probabilities q, the annotators' labels y and the distance d of two labels,
    a = Σ q_k mean_r d(k, y_r), h = mean of d over pairs of different annotators, s = Σ q_k q_l d(k, l) (over pairs of
    different repeats, if there are no probabilities), and D = 2a − h − s. D is unbiased for the energy distance
    (Székely & Rizzo 2013) of the two distributions; for categories this is the Brier distance Σ (q − π)², for ordered
    labels twice the excess of the continuous ranked probability score. The label shares of k random annotators have the
    expected distance h / k. ψ = ΣD / Σh = 1 / k therefore is the distance of a poll of k annotators.

    The interval of ψ is Hall's (1992) for skewed contributions; with fewer than 50 items with disagreement each end is
    the wider of Hall's and Fieller's, and with fewer than 20 there is none. Spread ratios have Fieller's interval,
    slopes on probabilities HC3 standard errors, slopes on repeats a jackknife without attenuation. With
    ``raters="random"`` annotators are left out too.

    Examples
    --------
    >>> import assay, polars as pl
    >>> rng = __import__("numpy").random.default_rng(1)
    >>> truth, rows = rng.beta(1, 1, 80), []
    >>> for i, share in enumerate(truth):
    ...     for who in ("ann", "bob", "cho"):
    ...         rows.append((f"i{i}", who, "no" if rng.random() > share else "yes", None, None))
    ...     rows.append((f"i{i}", "gpt", "yes" if share > 0.5 else "no", 1 - share, share))
    >>> frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "p_no", "p_yes"], orient="row")
    >>> found = assay.opinions(assay.read(frame, judges=["gpt"], scale="nominal:no,yes"))
    >>> found.at(quantity="relative distance").high < 0.2
    True
    """
    labels = labels.in_memory("opinions item by item")
    judges = _judges_of(labels, settings)
    people = people_of(labels, settings.annotators, "opinions")
    rows: list[dict[str, Any]] = []
    estimates: list[Estimate] = []
    items, published, sources = list[pl.DataFrame](), list[dict[str, Any]](), dict[str, Source]()
    exclusions, notes, used = list[Exclusion](), dict[str, None](), set[str]()
    errors, least = list[Floats](), list[int]()
    for name, parts in _groups(labels):
        samples = {}
        for judge in judges:
            sample = _sample(parts, judge, people, settings)
            if sample is None:
                continue
            samples[judge] = sample
            sources[judge] = sample.source
            used |= set(sample.columns)
            place = {"criterion": name, "judge": judge}
            items.append(sample.items_frame(place, labels))
            published += [{**place, **row} for row in sample.published]
            exclusions += [e for e in sample.exclusions if e not in exclusions]
            notes |= dict.fromkeys(sample.notes)
            matches = matched_annotator(parts, judge, people, settings)
            found = _quantities(sample, settings, matches)
            rows += [{**place, **row} for row, _ in found]
            estimates += [estimate for _, estimate in found]
        errors += [by_items(labels, *one) for one in _errors(samples)]
        least += [len(np.unique(sample.unit)) for sample in samples.values()]
        for row, estimate in _differences(samples, settings):
            rows.append({"criterion": name, **row})
            estimates.append(estimate)
    if not rows:
        raise DesignError("no item has labels of two annotators and of a judge")
    if len(people) == 2:
        notes |= {"with two annotators, a judge that repeats the labels of one of them is not detected": None}
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, *sorted(used), settings.clusters))
    facts = {"items": labels.n_items, "humans": len(people), "judges": len(sources)}
    cautions = dependence_cautions(errors, labels) if settings.clusters is None else few_clusters(min(least))
    run = Run(
        "opinions", settings, data, facts, _interval_words(settings), tuple(exclusions), tuple(notes), tuple(cautions)
    )  # fmt: skip
    return Opinions(
        pl.concat(items, how="diagonal_relaxed"), _frame(rows), _published_frame(published), sources, run,
        tuple(estimates),
    )  # fmt: skip


def _interval_words(settings: OpinionSettings) -> str:
    unit = "items" if settings.clusters is None else f"clusters ({settings.clusters})"
    if settings.raters == "random":
        return f"jackknife over {unit} and annotators, for annotators like these"
    return f"Hall's over {unit} for ψ, Fieller's for spread ratios, t otherwise; for these annotators"


def _judges_of(labels: Annotations, settings: OpinionSettings) -> tuple[str, ...]:
    """The judges, in the order in which they were named."""
    if settings.judge is None:
        if not labels.judges:
            raise DesignError("opinions requires a judge; name the judges of the table with judges=...", option="judge")
        return labels.judges
    named = (settings.judge,) if isinstance(settings.judge, str) else tuple(dict.fromkeys(settings.judge))
    for one in named:
        if one not in labels.judges:
            raise DataError(unknown_judge(one, labels.judges, labels.humans))
    return named


def _groups(labels: Annotations) -> Iterator[tuple[str | None, list[Annotations]]]:
    """Each criterion; the criteria of a question with several labels per answer together, under its name."""
    sets: dict[str, list[str]] = {}
    for one in labels.criteria:
        stem, _, rest = one.partition(": ")
        categories = labels.scale_of(one).categories
        whole = bool(rest) and categories is not None and tuple(map(str, categories)) == APPLIES
        sets.setdefault(stem if whole else one, []).append(one)
    if not labels.criteria:
        yield None, [labels]
    for name, criteria in sets.items():
        yield (name if len(criteria) > 1 else criteria[0]), [labels.where(criterion=one) for one in criteria]


# -- one judge on one question --------------------------------------------------------------------------

COUNT, ENERGY, HUMAN, SPREAD, SHARES = range(5)
"""Columns of the moments: 1, D, h, s, and D minus that of the label shares."""


@dataclass(frozen=True, eq=False)
class OpinionSample:
    """The distances of the items that count for one judge.

    Attributes
    ----------
    names : (items,) tuple of str
    moments : (items, 5) float
        See `COUNT` … `SHARES`.
    quadruples : (items,) float
        Products of distances of four different repeats, NaN if unknown.
    item, person : (changes,) int
        Each annotator of each item, sorted; each pair once.
    change : (changes, 5) float
        Moments of the item without the annotator, minus those with all.
    unit : (items,) int
        The cluster of each item, or the item.
    """

    names: tuple[str, ...]
    moments: Floats
    quadruples: Floats
    item: Ints
    person: Ints
    change: Floats
    unit: Ints
    n_people: int
    number: Ints
    source: Source
    together: int
    columns: tuple[str, ...] = ()
    published: tuple[dict[str, Any], ...] = ()
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()

    def by_unit(self, values: Floats) -> Floats:
        """Sum (items, k) values by unit."""
        n = int(self.unit.max()) + 1
        return np.stack([np.bincount(self.unit, column, n) for column in values.T], axis=1)

    def ratio(self, top: Floats, bottom: Floats) -> RatioSample:
        """A ratio of sums over units."""
        return RatioSample.of(top, bottom, self.unit)

    def leave_outs(self, moments: Floats, change: Floats) -> LeaveOuts:
        """The leave-outs of units and annotators, for moments (items, k) and changes (changes, k)."""
        return LeaveOuts(self.by_unit(moments), self.unit[self.item], self.person, change, self.n_people)

    def items_frame(self, place: Mapping[str, Any], labels: Annotations) -> pl.DataFrame:
        """One row per item, with the item metadata."""
        columns = {"D": ENERGY, "h": HUMAN, "s": SPREAD}
        frame = pl.DataFrame({
            "item": list(self.names), **{name: self.moments[:, k] for name, k in columns.items()}, "n": self.number,
        })  # fmt: skip
        frame = frame.select(*(pl.lit(v, pl.String).alias(k) for k, v in place.items()), pl.all())
        about = labels.items.select("item", *(c for c in labels.items.columns if c not in frame.columns))
        return frame.join(about, on="item", how="left", maintain_order="left")


def _sample(
    parts: Sequence[Annotations], judge: str, people: tuple[str, ...], settings: OpinionSettings
) -> OpinionSample | None:
    """The items of a judge with labels of two annotators; None if there are none."""
    read = [one for part in parts if (one := _read(part, judge, people, settings)) is not None]
    if not read:
        return None
    names = tuple(sorted({name for one in read for name in one.names}))
    at = {name: i for i, name in enumerate(names)}
    n, moments = len(names), np.zeros((len(names), 5))
    changed: dict[str, list[Any]] = {"key": [], "change": []}
    number = np.zeros(n, dtype=np.int64)
    for one in read:
        place = np.array([at[name] for name in one.names])
        found = _moments(one.found)
        moments[place] += found
        number[place] = np.maximum(number[place], one.people.number)
        changed["key"].append(place[one.found.left_item] * len(people) + one.found.left_person)
        changed["change"].append(_changes(one.found, found))
    key, back = np.unique(np.concatenate(changed["key"]), return_inverse=True)
    change = np.concatenate(changed["change"])
    change = np.stack([np.bincount(back.reshape(-1), column, len(key)) for column in change.T], axis=1)
    moments[:, COUNT] = 1.0
    gone = change[:, COUNT] < 0
    change[gone, COUNT] = -1.0
    unit = _units(parts[0], names, settings)
    first = read[0]
    return OpinionSample(
        names, moments, first.found.quadruples if len(read) == 1 else np.full(n, np.nan), key // len(people),
        key % len(people), change, unit, len(people), number, first.source, len(read), first.columns,
        tuple(row for one in read[:1] for row in one.published), tuple(e for one in read for e in one.exclusions),
        tuple(dict.fromkeys(note for one in read for note in one.notes)),
    )  # fmt: skip


def _moments(found: ItemDistances) -> Floats:
    """The moments of each item; a difference from the label shares that is rounding is 0."""
    energy = found.energy
    shares = energy - found.constant
    shares = np.where(np.abs(shares) <= ROUNDING * max(float(found.human.max()), 1e-300), 0.0, shares)
    return np.stack([np.ones(len(energy)), energy, found.human, found.spread, shares], axis=1)


def _changes(found: ItemDistances, moments: Floats) -> Floats:
    """What leaving out an annotator changes; an item with two annotators drops out."""
    i = found.left_item
    energy = 2 * found.left_cross - found.left_human - found.spread[i]
    without = np.stack(
        [np.ones(len(i)), energy, found.left_human, found.spread[i], energy - found.left_constant], axis=1
    )
    return np.where(np.isnan(energy)[:, None], 0.0, without) - moments[i]


def _units(table: Annotations, names: Sequence[str], settings: OpinionSettings) -> Ints:
    if settings.clusters is None:
        return np.arange(len(names))
    codes = cluster_codes(table, settings.clusters)
    at = dict(zip(table.items["item"].to_list(), codes.tolist(), strict=True))
    lost = [name for name in names if name not in at]
    if lost:
        raise DataError(f"item '{lost[0]}' has no '{settings.clusters}'")
    return np.unique(np.array([at[name] for name in names]), return_inverse=True)[1].reshape(-1).astype(np.int64)


# -- reading --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The labels of one criterion that count for a judge, and their distances."""

    names: tuple[str, ...]
    people: LabelSlots
    found: ItemDistances
    source: Source
    columns: tuple[str, ...]
    published: tuple[dict[str, Any], ...]
    exclusions: tuple[Exclusion, ...]
    notes: tuple[str, ...]


def _read(table: Annotations, judge: str, people: tuple[str, ...], settings: OpinionSettings) -> JudgedItems | None:
    """The distances of the items of one criterion; None if no item counts."""
    scale = table.scale
    require_comparable(scale, "opinions")
    ordered = scale.ordered if settings.distance == "auto" else settings.distance == "ordered"
    if ordered and not (scale.ordered or scale.kind == "preference"):
        raise DesignError("categories have no order; use distance='nominal'", option="distance")
    here = present(people, table)
    if judge not in table.judges or len(here) < 2:
        return None
    numbers = LabelNumbers.of(table)
    given = table.where(annotator=here).resolve_repeats(settings.repeats).answers()
    mine = table.where(annotator=[judge])
    names, judged, source, columns, notes = _judge_labels(mine, judge, numbers, table)
    person = np.array([people.index(name) for name in given.annotators])[given.annotator]
    slots = LabelSlots.of(given.item, person, numbers.of_answers(given), given.n_items)
    place = {name: i for i, name in enumerate(given.items)}
    both = [(place[name], i) for i, name in enumerate(names) if name in place and slots.number[place[name]] > 1]
    if not both:
        return None
    both.sort()
    human, own = (np.array(one) for one in zip(*both, strict=True))
    slots, judged = slots.at(human), judged.at(own)
    excluded = [
        Exclusion("item", given.n_items - len(both), f"without two annotators or without a label of {judge}")
    ] if given.n_items > len(both) else []  # fmt: skip
    published = share_distances(slots, judged, ordered=ordered)
    m = float(np.median(slots.number))
    return JudgedItems(
        tuple(given.items[i] for i in human.tolist()), slots, item_distances(slots, judged, ordered=ordered), source,
        columns, tuple({"distance": k, "mean": v, "n_labels": m} for k, v in published.items()), tuple(excluded), notes,
    )  # fmt: skip


def _judge_labels(
    mine: Annotations, judge: str, numbers: LabelNumbers, table: Annotations
) -> tuple[list[str], JudgeDistribution, Source, tuple[str, ...], tuple[str, ...]]:
    """The items of a judge, its probabilities or labels, how they are known, the columns and the notes."""
    columns = {
        name: value
        for name in dict.fromkeys((*mine.labels.columns, *mine.items.columns))
        if name.startswith(PREFIXES) and (value := numbers.of_text(name[2:])) is not None
        and (column := mine.column(name)).dtype.is_numeric() and column.null_count() < len(column)
    }  # fmt: skip
    if len(columns) > 1:
        shared = [name for name in columns if name not in mine.labels.columns]
        if shared and len(table.judges) > 1:
            raise DesignError(
                f"'{shared[0]}' is a column of the items, and the table has {len(table.judges)} judges; give the "
                "probabilities in the rows of the judge's labels"
            )
        names, found, notes = _probabilities(mine, judge, columns)
        return names, found, "probabilities", tuple(columns), notes
    given = mine.resolve_repeats("each").answers()
    slots = LabelSlots.of(given.item, given.annotator, numbers.of_answers(given), given.n_items)
    several = slots.number > 1
    if not several.any():
        return list(given.items), JudgeDistribution(slots.label), "label", (), ()
    keep = np.flatnonzero(several)
    lost = len(several) - len(keep)
    notes = (f"{judge}: {counted(lost, 'item')} with one label excluded",) if lost else ()
    return [given.items[i] for i in keep.tolist()], JudgeDistribution(slots.label[keep]), "repeats", (), notes


def _probabilities(
    mine: Annotations, judge: str, columns: Mapping[str, float]
) -> tuple[list[str], JudgeDistribution, tuple[str, ...]]:
    """The probabilities of each item, the mean over repeats.

    Raises
    ------
    DataError
        If they are negative or do not sum to 1.
    """
    frame = pl.DataFrame(
        {"item": mine.labels["item"], **{name: mine.column(name).cast(pl.Float64) for name in columns}}
    )
    frame = frame.filter(pl.any_horizontal(pl.col(*columns).is_not_null()))
    shares = frame.select(pl.col(*columns).fill_null(0.0).fill_nan(0.0)).to_numpy()
    total = shares.sum(axis=1)
    wrong = (np.abs(total - 1) > OFF_ONE) | (shares < 0).any(axis=1)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise DataError(
            f"item '{frame['item'][i]}': the probabilities of {judge} ({', '.join(columns)}) "
            + (f"sum to {total[i]:.3g}; they must sum to 1" if (shares[i] >= 0).all() else "include a negative number")
        )
    notes = (f"probabilities of {judge} normalised to sum to 1",) if np.abs(total - 1).max(initial=0) > ROUNDED else ()
    frame = frame.select("item").with_columns(
        pl.Series(name, column) for name, column in zip(columns, (shares / total[:, None]).T, strict=True)
    )
    means = frame.group_by("item").mean().sort("item")
    if means.height < frame.height:
        notes = (*notes, f"probabilities of {judge}: mean over its repeated labels")
    values = np.array(list(columns.values()))
    return means["item"].to_list(), JudgeDistribution(values, means.select(*columns).to_numpy()), notes


# -- estimates ------------------------------------------------------------------------------------------


def _quantities(
    sample: OpinionSample, settings: OpinionSettings, matches: str | None
) -> list[tuple[dict[str, Any], Estimate]]:
    """The rows of one judge."""
    _, energy, human, spread, shares = sample.moments.T
    count, change = np.ones(len(energy)), sample.change
    against = _ratio(sample, (shares, count), change[:, [SHARES, COUNT]], settings, "mean")
    p = one_sided(against)
    earned = matches is None and (sample.source == "label" or p < 1 - settings.confidence)
    psi = _ratio(sample, (energy, human), change[:, [ENERGY, HUMAN]], settings, "psi")
    drawn = ratio = slope = missing("one label per item has no spread")
    if sample.source != "label":
        without = np.stack([change[:, ENERGY] + change[:, SPREAD], change[:, HUMAN]], axis=1)
        drawn = _ratio(sample, (energy + spread, human), without, settings, "psi")
        ratio = _ratio(sample, (spread, human), change[:, [SPREAD, HUMAN]], settings, "ratio")
        slope = _slope(sample, settings)
    found = {"relative distance": psi, "one drawn label": drawn, "against shares": against}
    found |= {"spread ratio": ratio, "spread slope": slope}
    if sample.source == "label":
        del found["one drawn label"]
    rows = []
    for quantity, one in found.items():
        people = earned and quantity in ("relative distance", "one drawn label")
        own = p if quantity == "against shares" else math.nan
        rows.append((_row(quantity, one, len(energy), p=own, people=people) | {"matches": matches}, one))
    return rows


def _quotient(sums: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _ratio(
    sample: OpinionSample, terms: tuple[Floats, Floats], change: Floats, settings: OpinionSettings,
    rule: Literal["psi", "ratio", "mean"],
) -> Estimate:  # fmt: skip
    """A ratio of sums, for these annotators by its rule, for annotators like these by leaving them out."""
    units = sample.ratio(*terms)
    if rule == "psi":
        found = units.relative_distance(settings.confidence, int(np.count_nonzero(terms[1] > 0)))
    else:
        found = units.ratio(settings.confidence) if rule == "ratio" else units.mean(settings.confidence)
    if settings.raters == "fixed" or math.isnan(found.low):
        return found
    moments = np.stack(terms, axis=1)
    return sample.leave_outs(moments, change).estimate(_quotient, settings.confidence)


def _slope(sample: OpinionSample, settings: OpinionSettings) -> Estimate:
    """The slope of the annotators' disagreement on the judge's spread."""
    human, spread = sample.moments[:, HUMAN], sample.moments[:, SPREAD]
    known = sample.source == "probabilities"
    keep = np.ones(len(human), dtype=bool) if known else ~np.isnan(sample.quadruples)
    if sample.together > 1 and not known:
        return missing("several labels per answer: the slope requires probabilities")
    if keep.sum() < 4:
        return missing(f"the slope requires probabilities, or {LEAST_REPEATS} repeated labels per item")
    if known and settings.raters == "fixed" and settings.clusters is None:
        return slope_hc3(spread, human, settings.confidence)
    columns = [np.ones(len(human)), spread, human, spread * human, spread**2]
    columns += [] if known else [np.nan_to_num(sample.quadruples)]
    moments = np.stack(columns, axis=1) * keep[:, None]
    value = known_slope if known else repeated_slope
    units = sample.by_unit(moments)
    if np.ptp(spread[keep]) <= 1e-9 * max(float(np.abs(spread).max()), 1e-300):
        return missing("the judge's spread is the same for all items")
    total = units.sum(axis=0)
    point = float(value(total))
    if math.isnan(point):
        return missing("the variance of the judge's spread is not above 0")
    if settings.clusters is not None and (few := too_few_units(point, len(units))) is not None:
        return few
    if settings.raters == "fixed":
        return jackknife(point, value(total - units), settings.confidence)
    i = sample.item
    left = sample.change[:, HUMAN]
    gone = sample.change[:, COUNT] < 0
    change = np.zeros((len(i), moments.shape[1]))
    change[:, 2], change[:, 3] = left, spread[i] * left
    change = np.where(gone[:, None], -moments[i], change * keep[i][:, None])
    return sample.leave_outs(moments, change).estimate(value, settings.confidence)


def _errors(samples: Mapping[str, OpinionSample]) -> Iterator[tuple[tuple[str, ...], Floats]]:
    """The items, with their contributions to the errors of ψ and of the spread ratio, and of differences of D."""
    for sample in samples.values():
        energy, human, spread = sample.moments[:, [ENERGY, HUMAN, SPREAD]].T
        for top in (energy, spread) if sample.source != "label" else (energy,):
            units = RatioSample(top, human)
            if human.sum() > 0:
                yield sample.names, units.residuals
    for a, b in combinations(samples.values(), 2):
        names, i, j = np.intersect1d(a.names, b.names, return_indices=True)
        d = a.moments[i, ENERGY] - b.moments[j, ENERGY]
        yield tuple(names.tolist()), d - (d.mean() if len(d) else 0.0)


def _differences(
    samples: Mapping[str, OpinionSample], settings: OpinionSettings
) -> Iterator[tuple[dict[str, Any], Estimate]]:
    """D of each judge minus that of each later one, on the items of both, with Holm's correction."""
    found = []
    for one, other in combinations(samples, 2):
        a, b = samples[one], samples[other]
        names, i, j = np.intersect1d(a.names, b.names, return_indices=True)
        if len(names) < 3:
            continue
        found.append((one, other, len(names), _difference(a, b, i, j, settings)))
    p = adjust_p(np.array([each[3].p(0.0) for each in found]), "holm") if found else ()
    for (one, other, n, estimate), adjusted in zip(found, p, strict=True):
        raw = estimate.p(0.0)
        row = {"judge": one, "other": other, **_row("difference", estimate, n, p=raw)}
        yield {**row, "p_adjusted": None if math.isnan(raw) else float(adjusted)}, estimate


def _difference(a: OpinionSample, b: OpinionSample, i: Ints, j: Ints, settings: OpinionSettings) -> Estimate:
    """The mean difference of D on items i of a, which are items j of b."""
    energy = a.moments[i, ENERGY] - b.moments[j, ENERGY]
    unit = np.unique(a.unit[i], return_inverse=True)[1].reshape(-1)
    units = RatioSample.of(energy, np.ones(len(energy)), unit)
    found = units.mean(settings.confidence)
    if settings.raters == "fixed" or math.isnan(found.low):
        return found
    changes = []
    for sample, mine in ((a, i), (b, j)):
        at = np.full(len(sample.names), -1)
        at[mine] = np.arange(len(mine))
        rows = np.flatnonzero(at[sample.item] >= 0)
        changes.append((at[sample.item[rows]], sample.person[rows], sample.change[rows]))
    (item, person, first), (_, _, second) = changes
    change = np.stack([first[:, ENERGY] - second[:, ENERGY], first[:, COUNT]], axis=1)
    moments = np.stack([units.top, units.bottom], axis=1)
    return LeaveOuts(moments, unit[item], person, change, a.n_people).estimate(_quotient, settings.confidence)


def _row(quantity: str, found: Estimate, n: int, *, p: float = math.nan, people: bool = False) -> dict[str, Any]:
    row = {"quantity": quantity, **found.row(), "n": n, "p": None if math.isnan(p) else p, "reason": found.reason}
    if people:
        row |= dict(zip(("people", "people_at_least", "people_at_most"), poll_size(found), strict=True))
    return row


def poll_size(found: Estimate) -> tuple[float | None, float | None, float | None]:
    """Return 1/ψ with its interval: annotators whose poll is as close; None without an end."""
    each = (found.estimate, found.high, found.low)
    return tuple(1 / x if x > 0 else None for x in each)  # type: ignore[return-value]  # three of three


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    schema: dict[str, Any] = dict.fromkeys(_NAMES, pl.String)
    schema |= {**dict.fromkeys(_NUMBERS[:3], pl.Float64), "n": pl.Int64, **dict.fromkeys(_NUMBERS[3:], pl.Float64)}
    schema |= {"p": pl.Float64, "p_adjusted": pl.Float64, "matches": pl.String, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def _published_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "judge", "distance"), pl.String)
    return pl.DataFrame(rows, schema={**names, "mean": pl.Float64, "n_labels": pl.Float64})
