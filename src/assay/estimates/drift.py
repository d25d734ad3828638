"""Changes of a judge's labels between two runs, divided into judge drift and system change.

Anchor items are texts of the later run that the earlier version of the judge also labelled. On them only the judge can
have changed; the remainder of the total change is the system change. This requires anchors that are a random sample of
the later run: if the drift depends on the text, anchors from old texts give a false system change in .27 to .74 of
studies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtr, stdtrit

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.ratings import Ratings, cluster_codes
from assay.data.scales import Scale
from assay.data.structure.vote_sides import align_sides
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimates import words
from assay.estimates.difference import FEW_OFF
from assay.estimates.words import AGREEMENT, FLIPS, R_AFTER, R_BEFORE, R_CHANGE, SYSTEM, WHOLE
from assay.estimates.words import JUDGE as JUDGE
from assay.estimation.intervals import (
    Estimate,
    EstimateByRule,
    missing,
    same_everywhere,
    wilson,
    wilson_estimate,
    without_interval,
)
from assay.estimation.options import Settings, level_option, option, question_of_two
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Bools, Floats, Ints
from assay.statistics.clusters import ClusteredSum, design_effect
from assay.statistics.means import WelchDifference
from assay.statistics.words import dependence_cautions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_ANCHORS = 10
"""Least anchor items for an interval of a change."""

REFUSED = 0.01
"""Significance level, with Bonferroni adjustment, at which anchors are refused as a random sample of the later run: a
false system change costs more than a refusal."""

SAME = 1e-12
"""Relative differences up to this are rounding."""

TEXT = "text"
"""Default column of the text of an item."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings(Settings):
    """Options of `assay.drift`."""

    judge: str | None = option(None, "Judge of the earlier run.", details="Default: the only judge of the table.")
    judge_after: str | None = option(None, "Name of the judge in the later run, if it differs.")
    anchors: Annotations | None = option(
        None, "Labels by the earlier version of texts of the later run.", hidden=True,
        details="Default: items with the same text in both runs are anchors.",
        first=True,
    )  # fmt: skip
    text: str | None = option(
        None, "Item column with the text.", details="Default: 'text' if both runs have it; else items with the same "
        "id are assumed to have the same text, and a note reports this.",
        first=True,
    )  # fmt: skip
    clusters: str | None = option(
        None, "Item column of clusters of items, such as documents.",
        details="If labels of one document are assumed independent, a change is significant in up to half of the "
        "comparisons of equal runs.",
        first=True,
    )  # fmt: skip
    repeats: Repeats = option("error", "How to combine repeated labels.")
    confidence: float = level_option()


@dataclass(frozen=True, eq=False)
class Drift(Result):
    """Changes between two runs.

    Attributes
    ----------
    lines : mapping of name to Estimate
        ``judge drift`` on anchor items, ``changed labels`` (share of anchors with a different label), ``total change``
        of the mean, ``system change`` (the remainder). With human labels also ``agreement with humans`` (its change)
        and the agreement ratio R: ``R before``, ``R after`` and its change ``R``.
    n : mapping of name to int
    changed : tuple of str
        Differences in the configuration of the judge, from the tables of annotators.
    not_apportioned : str or None
        The reason why the total change is not divided.
    """

    leads: ClassVar[bool] = True
    symbol: ClassVar[str] = "change"

    lines: dict[str, Estimate] = field(metadata={"json": False})
    n: dict[str, int]
    changed: tuple[str, ...]
    not_apportioned: str | None
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row per estimate: ``quantity``, ``estimate``, ``low``, ``high``, ``n``, ``reason``."""
        rows = [{"quantity": k, **one.row(), "n": self.n[k], "reason": one.reason} for k, one in self.lines.items()]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimate in each row."""
        return tuple(self.lines.values())

    @property
    def significant(self) -> bool:
        """Whether the judge drift is significant."""
        low, high = self.lines[JUDGE].low, self.lines[JUDGE].high
        return bool(low > 0 or high < 0)

    def summary(self) -> str:
        """Return the changes, the exclusions, the notes and the signature."""
        return "\n".join([*words.drift_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every change with its interval, and 0."""
        from assay.reporting import pictures

        keys = [k for k in (WHOLE, JUDGE, SYSTEM, AGREEMENT, R_CHANGE) if k in self.lines]
        ax = pictures.axes(ax, height=1.2 + 0.3 * len(keys))
        each = [self.lines[k] for k in keys]
        pictures.forest(ax, keys, [e.estimate for e in each], [e.low for e in each], [e.high for e in each])
        ax.axvline(0, color=pictures.MUTED, linewidth=1)
        ax.set_xlabel("after − before")
        return ax


@question_of_two(DriftSettings)
def drift(before: Annotations, after: Annotations, settings: DriftSettings) -> Drift:
    """Measure how a judge's labels changed between two runs.

    Parameters
    ----------
    before, after : Annotations, path or frame
        Labels of the two runs on the same scale; human labels if available.

    Raises
    ------
    DesignError
        If the runs are on different scales or have no items.

    Examples
    --------
    >>> import assay, polars as pl
    >>> before = assay.simulate(n_items=200, n_annotators=2, scale="1-5", seed=1)
    >>> rows = before.labels.with_columns(label=pl.when((pl.col("annotator") == "judge") & (pl.col("label") < 3))
    ...     .then(pl.col("label") + 1).otherwise(pl.col("label")))
    >>> found = assay.drift(before, assay.read(rows, judges=["judge"], scale="1-5"))
    >>> found.significant
    True
    """
    given = {"before": before, "after": after} | ({} if settings.anchors is None else {"anchors": settings.anchors})
    tables = align_sides([table.in_memory("drift") for table in given.values()], list(given))
    runs = [_run_of(table, which, settings) for which, table in zip(given, tables, strict=True)]
    old, new = runs[:2]
    anchor = old if settings.anchors is None else runs[2]
    old, new, anchor = _same_codes(old, new, anchor)
    if old.scale.spec != new.scale.spec:
        raise DesignError(
            f"the runs are on different scales ({old.scale.spec}; {new.scale.spec}); read both with one scale=..."
        )
    key = _key(old, new, settings)
    cluster_of = _clusters_of([old, new, anchor], key, settings)
    pairs = _pair_anchors(anchor.labels_by(key), new.labels_by(key), cluster_of)
    found, n, reason = _changes(old.labels_by(key), new.labels_by(key), pairs, cluster_of, _span(old), settings)
    same = settings.anchors is None and len(pairs.x) == len(old.value) == len(new.value)
    doubt = None if same else reason or _check_anchors(new, pairs, key, cluster_of)
    if doubt is not None:
        found[SYSTEM] = missing(doubt)
    people, counts = _agreement_changes(old, new, anchor, pairs, key, settings)
    found, n = found | people, n | counts
    notes = (
        ["items with the same id are assumed to have the same text (text=... names a column of texts)"]
        if key == "item"
        else []
    )
    exclusions = (*old.exclusions, *new.exclusions)
    data = fingerprint_with(
        old.fingerprint, after=new.fingerprint, anchors=None if settings.anchors is None else anchor.fingerprint
    )
    facts = {"before": len(old.value), "after": len(new.value), "anchors": len(pairs.x)}
    if pairs.cluster is not None:
        facts["clusters"] = len(np.unique(pairs.cluster))
    cautions = _dependent_anchors(new, pairs, key)
    run = Run("drift", settings, data, facts, "", exclusions, tuple(notes), cautions)
    return Drift(found, n, _changed_columns(old, new), doubt, run)


# -- the two runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A judge's labels of one run, with the human labels."""

    judge: str
    table: Annotations
    scale: Scale
    item: list[str]
    value: Floats
    people: dict[str, list[float]]
    fingerprint: str
    categories: tuple[Any, ...] | None = None
    exclusions: tuple[Any, ...] = ()

    def labels_by(self, key: str) -> dict[str, float]:
        """Return the judge's label by item, or by text."""
        return dict(zip(self.keys(key), self.value.tolist(), strict=True))

    def keys(self, key: str) -> list[str]:
        """Return the item id, or the text, of each labelled item."""
        if key == "item":
            return self.item
        column = dict(zip(self.table.items["item"], self.table.of_items(key).cast(pl.String), strict=True))
        return [column[i] or "" for i in self.item]

    def people_by(self, key: str) -> dict[str, list[float]]:
        """Return the human labels by item, or by text."""
        if key == "item":
            return self.people
        column = dict(zip(self.table.items["item"], self.table.of_items(key).cast(pl.String), strict=True))
        return {column[i] or "": labels for i, labels in self.people.items()}


def _run_of(labels: Annotations, which: str, settings: DriftSettings) -> ScoredRun:
    wanted = settings.judge_after if which == "after" and settings.judge_after is not None else settings.judge
    if wanted is None:
        if len(labels.judges) != 1:
            option_name = "judge_after" if which == "after" else "judge"
            raise DesignError(
                f"specify the judge with {option_name}=...; the run {which} has {listing(labels.judges) or 'no judge'}",
                option=option_name,
            )
        wanted = labels.judges[0]
    elif wanted not in labels.judges:
        raise DataError(unknown("judge", wanted, labels.judges, f"the judges of the run {which}"))
    ratings = Ratings.of(labels, (wanted, *labels.humans), repeats=settings.repeats)
    answers = ratings.answers
    two = answers.categories is not None and len(answers.categories) <= 2
    if not (ratings.scale.ordered or two or ratings.scale.numeric):
        raise DesignError(
            f"drift requires numbers, ordered labels or two categories; these labels are on the scale "
            f"'{ratings.scale.spec}'. Reduce the labels to one category against the others"
        )
    mine = answers.annotator == 0
    names = list(answers.items)
    people: dict[str, list[float]] = {}
    for i, v in zip(answers.item[~mine].tolist(), answers.value[~mine].tolist(), strict=True):
        people.setdefault(names[i], []).append(float(v))
    data = fingerprint_with(ratings.fingerprint, **digest_of_columns(labels, settings.text, settings.clusters))
    return ScoredRun(
        wanted, labels, ratings.scale, [names[i] for i in answers.item[mine].tolist()],
        answers.value[mine].astype(float), people, data, answers.categories, ratings.exclusions,
    )  # fmt: skip


def _clusters_of(runs: Sequence[ScoredRun], key: str, settings: DriftSettings) -> dict[str, int] | None:
    """The cluster of each item, or text, of all runs; None without clusters."""
    declared = {run.table.reading.clusters for run in runs}
    if settings.clusters is None or (
        settings.clusters in declared and not all(_has_items(run.table, settings.clusters) for run in runs)
    ):
        return None  # a study declares its documents, and the other run does not have them
    found: dict[str, str] = {}
    for run in runs:
        cluster_codes(run.table, settings.clusters)  # refuses an unknown column and items without a cluster
        column = run.table.of_items(settings.clusters).cast(pl.String).to_list()
        named = dict(zip(run.table.items["item"].to_list(), column, strict=True))
        found |= {name: named[item] for name, item in zip(run.keys(key), run.item, strict=True)}
    place = {name: i for i, name in enumerate(sorted(set(found.values())))}
    return {name: place[cluster] for name, cluster in found.items()}


def _dependent_anchors(new: ScoredRun, pairs: AnchorPairs, key: str) -> tuple[str, ...]:
    """A caution if the changes of labels depend on one another within documents that are not named as clusters."""
    if pairs.cluster is not None or len(pairs.x) < LEAST_ANCHORS:
        return ()
    d, keys = dict(zip(pairs.names, pairs.d - pairs.d.mean(), strict=True)), new.keys(key)
    part = dict(zip(new.item, [d.get(name, math.nan) for name in keys], strict=True))
    each = np.array([part.get(item, math.nan) for item in new.table.items["item"].to_list()])
    return dependence_cautions([each], new.table, (key,))


def _same_codes(*runs: ScoredRun) -> list[ScoredRun]:
    """The runs with common codes of categories, if each run has only the categories that occur."""
    names = sorted({str(word) for run in runs for word in run.categories or ()})
    if not names or all(run.categories == runs[0].categories for run in runs):
        return list(runs)
    if len(names) > 2:
        raise DesignError(
            f"drift requires two categories; the runs have {listing(names)}. Reduce the labels to one category against "
            "the others"
        )
    found = []
    for run in runs:
        code = np.array([names.index(str(word)) for word in run.categories or ()], dtype=float)
        people = {item: [float(code[int(v)]) for v in labels] for item, labels in run.people.items()}
        found.append(replace(run, value=code[run.value.astype(int)], people=people, categories=tuple(names)))
    return found


def _key(old: ScoredRun, new: ScoredRun, settings: DriftSettings) -> str:
    """The column that identifies the same text."""
    tables = [old.table, new.table] + ([] if settings.anchors is None else [settings.anchors])
    if settings.text is not None:
        for table in tables:
            table.of_items(settings.text)  # refuses an unknown column
        return settings.text
    return TEXT if all(_has_items(table, TEXT) for table in tables) else "item"


def _has_items(table: Annotations, name: str) -> bool:
    """Whether a table has a column with one value for each item."""
    try:
        return len(table.of_items(name)) > 0
    except DataError:
        return False


@dataclass(frozen=True, eq=False)
class AnchorPairs:
    """Labels of the same texts by both versions of the judge."""

    names: list[str]
    x: Floats
    y: Floats
    cluster: Ints | None = None

    @property
    def d(self) -> Floats:
        """After minus before."""
        return np.asarray(self.y - self.x)


def _pair_anchors(old: dict[str, float], new: dict[str, float], cluster_of: dict[str, int] | None) -> AnchorPairs:
    names = sorted(old.keys() & new.keys())
    x, y = (np.array([run[k] for k in names]) for run in (old, new))
    return AnchorPairs(names, x, y, _codes(names, cluster_of))


def _codes(names: Sequence[str], cluster_of: dict[str, int] | None) -> Ints | None:
    """The cluster of each of these, numbered from 0."""
    if cluster_of is None:
        return None
    return np.unique(np.array([cluster_of[k] for k in names], dtype=np.int64), return_inverse=True)[1].reshape(-1)


# -- changes -------------------------------------------------------------------------------------------------


def _changes(
    old: dict[str, float],
    new: dict[str, float],
    pairs: AnchorPairs,
    cluster_of: dict[str, int] | None,
    ends: float | None,
    settings: DriftSettings,
) -> tuple[dict[str, Estimate], dict[str, int], str | None]:
    """The judge drift, the total change and the system change; the reason if drift is not estimable."""
    level, n = settings.confidence, len(pairs.x)
    counts = {WHOLE: len(old.keys() | new.keys()), JUDGE: n, FLIPS: n, SYSTEM: n}
    means = [np.mean(list(run.values())) for run in (old, new)]
    names = sorted(old.keys() | new.keys() | set(pairs.names))
    place = {name: i for i, name in enumerate(names)}
    phi = np.zeros(len(names))
    for run, mean, sign in ((old, means[0], -1.0), (new, means[1], 1.0)):
        at = np.array([place[k] for k in run])
        phi[at] += sign * (np.array(list(run.values())) - mean) / len(run)
    value = float(means[1] - means[0])
    if old.keys() == new.keys() and n == len(old) and not np.ptp(pairs.d) > SAME * max(1.0, abs(value)):
        whole = _mean_of_pairs(pairs.d, level, pairs.cluster)
    else:
        smaller = min(_n_units(run, cluster_of) for run in (old, new))
        whole = _mean_estimate(value, phi, level, smaller, _codes(names, cluster_of))
    if n < LEAST_ANCHORS:
        what = (
            "no text was labelled in both runs"
            if n == 0
            else f"{counted(n, 'anchor item')}; {LEAST_ANCHORS} are required"
        )
        reason = f"{what}; have the earlier version label a random sample of the later run's texts (anchors=...)"
        none = missing(reason)
        return {JUDGE: none, FLIPS: none, WHOLE: whole, SYSTEM: none}, counts, reason
    d = pairs.d
    judge = _judge_drift(pairs, ends, level)
    flipped = float((d != 0).mean())
    known = n / design_effect((d != 0).astype(float), pairs.cluster)
    low, high = (float(v) for v in wilson(np.array(flipped), known, level))
    rest = phi.copy()
    rest[[place[k] for k in pairs.names]] -= (d - d.mean()) / n
    remainder = value - float(d.mean())
    if np.abs(rest).max() < SAME and abs(remainder) < SAME:
        system: Estimate = missing("both runs have the same texts, so the total change is judge drift")
    else:
        n_units = _n_units(pairs.names, cluster_of)
        system = _mean_estimate(remainder, rest, level, n_units, _codes(names, cluster_of))
    return {JUDGE: judge, FLIPS: wilson_estimate(flipped, low, high, n), WHOLE: whole, SYSTEM: system}, counts, None


def _judge_drift(pairs: AnchorPairs, ends: float | None, level: float) -> Estimate:
    """The mean change on anchors: of a share by Tango's interval, else with a t interval if enough labels changed."""
    d, labels = pairs.d, np.unique(np.concatenate([pairs.x, pairs.y]))
    effect, n_clusters = design_effect(d, pairs.cluster), len(d if pairs.cluster is None else np.unique(pairs.cluster))
    if n_clusters < LEAST_ANCHORS:
        return without_interval(float(d.mean()), _too_few(n_clusters))
    if len(labels) <= 2 and ends is not None:
        low_label, span = (labels[0], float(np.ptp(labels))) if len(labels) == 2 else (labels[0] - 1, 1.0)
        return tango(pairs.x > low_label, pairs.y > low_label, span, level, effect)
    if (d != 0).sum() < FEW_OFF * effect and ends is not None:
        return few_changed(d, ends, level, effect)
    return _mean_of_pairs(d, level, pairs.cluster)


def _mean_of_pairs(d: Floats, level: float, cluster: Ints | None = None) -> Estimate:
    """The mean change with a t interval; if all items changed by the same amount, with the sign test."""
    value, n = float(d.mean()), len(d if cluster is None else np.unique(cluster))
    if np.ptp(d) > SAME * max(1.0, abs(value)):
        return _mean_estimate(value, (d - value) / len(d), level, n, cluster)
    return same_everywhere(value, n, 2.0 ** (1 - n), level) if value else without_interval(value, "no item changed")


def _mean_estimate(value: float, phi: Floats, level: float, n: int, cluster: Ints | None = None) -> Estimate:
    """A mean with a t interval from the contribution of each item, or cluster, to its error; n units are in the
    smaller sample."""
    if cluster is not None:
        size, phi = np.bincount(cluster).astype(float), np.bincount(cluster, phi).astype(float)
        if n < LEAST_ANCHORS:
            return without_interval(value, _too_few(n))
        # Clusters of unequal size: as many as equal ones would be (Carter, Schnepel & Steigerwald 2017).
        n = max(min(n, math.floor((size**2).sum() ** 2 / (size**4).sum() + 1e-9)), 2)
    error = math.sqrt(float(phi @ phi) * n / max(n - 1, 1))
    if not error > SAME * max(1.0, abs(value)):
        return without_interval(value, "it is the same without any item, so that no interval can be estimated")

    def ends(at: float) -> tuple[float, float]:
        t = float(stdtrit(n - 1, (1 + at) / 2))
        return value - t * error, value + t * error

    def test(null: float) -> float:
        return float(2 * stdtr(n - 1, -abs(value - null) / error))

    return EstimateByRule(value, *ends(level), error, ends=ends, test=test)


def _n_units(names: Iterable[str], cluster_of: dict[str, int] | None) -> int:
    """The number of items, or of their clusters."""
    return len(set(names) if cluster_of is None else {cluster_of[name] for name in names})


def _too_few(n_clusters: int) -> str:
    return f"{counted(n_clusters, 'cluster')}; {LEAST_ANCHORS} are required"


def _span(run: ScoredRun) -> float | None:
    """The largest possible change of a label; None for unbounded numbers."""
    if run.scale.bounds is not None:
        return run.scale.bounds[1] - run.scale.bounds[0]
    return 1.0 if run.categories is not None else None


def few_changed(d: Floats, span: float, level: float, effect: float = 1.0) -> EstimateByRule:
    """The mean change if very few labels changed: the shares of increased and decreased labels, times the largest
    change.

    The ends are from Wilson's intervals of both shares. The interval always has a width, and is wider than that of a
    mean. A design effect of clusters divides the number of items.
    """
    n, up, down = len(d) / effect, float((d > 0).mean()), float((d < 0).mean())
    value = float(d.mean())

    def ends(at: float) -> tuple[float, float]:
        most = [float(wilson(np.array(share), n, at)[1]) for share in (down, up)]
        return min(value, -span * most[0] + max(value, 0.0)), max(value, span * most[1] + min(value, 0.0))

    return EstimateByRule(value, *ends(level), float(d.std()) / math.sqrt(n), ends=ends)


def tango(before: Bools, after: Bools, span: float, level: float, effect: float = 1.0) -> EstimateByRule:
    """The change of a share of the same items: Tango's (1998) score interval, also for few or no changed labels.

    A design effect of clusters divides all counts.
    """
    n = len(before) / effect
    up, down = float((after & ~before).sum()) / effect, float((before & ~after).sum()) / effect
    value = (up - down) / n

    def ends(at: float) -> tuple[float, float]:
        z = float(ndtri((1 + at) / 2))
        return tuple(span * _tango_end(up, down, n, sign * z) for sign in (-1.0, 1.0))  # type: ignore[return-value]

    error = span * math.sqrt(max(up + down - (up - down) ** 2 / n, 0.0)) / n
    return EstimateByRule(span * value, *ends(level), error, ends=ends)


def _tango_end(up: float, down: float, n: float, z: float) -> float:
    """The difference at which the score statistic is z, by bisection: it decreases with the difference."""

    def score(delta: float) -> float:
        a, b = 2.0 * n, -up - down + (2 * n - up + down) * delta
        c = -down * delta * (1 - delta)
        q = (math.sqrt(max(b * b - 4 * a * c, 0.0)) - b) / (2 * a)
        variance = n * (2 * q + delta * (1 - delta))
        off = up - down - n * delta
        return off / math.sqrt(variance) if variance > 1e-12 else math.copysign(math.inf, off) if off else 0.0

    low, high = -1.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > -z else (low, middle)
    return (low + high) / 2


def _check_anchors(new: ScoredRun, pairs: AnchorPairs, key: str, cluster_of: dict[str, int] | None) -> str | None:
    """How anchors differ from the other texts of the later run, if they are not a random sample; else None."""
    anchors = set(pairs.names)
    keys = new.keys(key)
    mine = np.array([k in anchors for k in keys])
    if mine.all() or not mine.any():
        return None
    cluster = _codes(keys, cluster_of)
    means = (new.value[mine].mean(), new.value[~mine].mean())
    text = f"the judge's mean label is {means[0]:.3g} on anchors and {means[1]:.3g} on the other texts"
    tested = [(_two_means(new.value, mine, cluster), text)]
    if key != "item":
        long = np.array([len(k) for k in keys], dtype=float)
        own, other = long[mine], long[~mine]
        text = f"anchors have {own.mean():.0f} characters on average, the other texts {other.mean():.0f}"
        tested.append((_two_means(long, mine, cluster), text))
    at = {item: i for i, item in enumerate(new.table.items["item"].to_list())}
    rows = [at[i] for i in new.item]
    for name in new.table.items.columns[1:]:
        column = new.table.items[name]
        if name != key and column.dtype.is_numeric():
            x = column.cast(pl.Float64).to_numpy().astype(float)[rows]
            there = np.isfinite(x)
            if (mine & there).sum() > 2 and (~mine & there).sum() > 2:
                a, b = x[mine & there], x[~mine & there]
                p = _two_means(x[there], mine[there], None if cluster is None else cluster[there])
                tested.append((p, f"the mean of '{name}' is {a.mean():.3g} on anchors, {b.mean():.3g} elsewhere"))
    p, text = min(tested)
    if p * len(tested) >= REFUSED:
        return None
    return (
        f"anchors are not a random sample of the later run: {text}; have the earlier version label a random sample of "
        "its texts (anchors=...)"
    )


def _two_means(x: Floats, here: Bools, cluster: Ints | None) -> float:
    """The two-sided p of equal means here and elsewhere: Welch's, or robust to clusters."""
    if min(here.sum(), (~here).sum()) < 2:
        return 1.0
    found = WelchDifference.of(x[here], x[~here]) if cluster is None else ClusteredSum.difference(x, here, cluster)
    return found.p()


# -- agreement with humans -------------------------------------------------------------------------------------


def _agreement_changes(
    old: ScoredRun, new: ScoredRun, anchor: ScoredRun, pairs: AnchorPairs, key: str, settings: DriftSettings
) -> tuple[dict[str, Estimate], dict[str, int]]:
    """Change of the agreement with humans, and of R, on anchors with human labels."""
    labels = {**old.people_by(key), **anchor.people_by(key), **new.people_by(key)}
    at = [i for i, name in enumerate(pairs.names) if labels.get(name)]
    if len(at) < LEAST_ANCHORS:
        return {}, {}
    given = [labels[pairs.names[i]] for i in at]
    both = [run[at] for run in (pairs.x, pairs.y)]
    cluster = None if pairs.cluster is None else np.unique(pairs.cluster[at], return_inverse=True)[1].reshape(-1)
    close = [
        np.array([np.mean([a == v for a in each]) for each, v in zip(given, run, strict=True)])
        if not old.scale.ordered
        else np.array([-np.mean([abs(a - v) for a in each]) for each, v in zip(given, run, strict=True)])
        for run in both
    ]
    d = close[1] - close[0]
    found: dict[str, Estimate] = {AGREEMENT: _mean_of_pairs(d, settings.confidence, cluster)}
    ratios = _ratio_changes(given, both, cluster, numeric=old.scale.ordered, level=settings.confidence)
    return found | ratios, dict.fromkeys((AGREEMENT, *ratios), len(at))


def _ratio_changes(
    given: list[list[float]], runs: list[Floats], cluster: Ints | None, *, numeric: bool, level: float
) -> dict[str, Estimate]:
    """R = A(judge, humans) / A(humans, humans), before, after and its change, with the jackknife over items or
    clusters.

    A = 1 − observed / expected squared distance, expected from labels of different items. The distance of categories is
    0 or 1.
    """
    several = [i for i, each in enumerate(given) if len(each) > 1]
    if len(several) < LEAST_ANCHORS:
        return {}
    values = np.unique(np.concatenate([*map(np.array, given), *runs]))
    sums = np.array([_moments_of(given[i], [run[i] for run in runs], values, numeric=numeric) for i in several])
    if cluster is not None:
        _, code = np.unique(cluster[several], return_inverse=True)
        by_cluster = np.zeros((int(code.max()) + 1, sums.shape[1]))
        np.add.at(by_cluster, code.reshape(-1), sums)
        sums = by_cluster
        if len(sums) < LEAST_ANCHORS:
            return {}
    total = sums.sum(axis=0)
    k = 1 if numeric else len(values)
    whole, without = _agreement_ratio(total[None], k)[0], _agreement_ratio(total - sums, k)
    n = len(sums)
    names, columns = (R_BEFORE, R_AFTER, R_CHANGE), np.array([[1, 0], [0, 1], [-1, 1]])
    found: dict[str, Estimate] = {}
    for name, weights in zip(names, columns, strict=True):
        value, each = float(whole @ weights), without @ weights
        if not (math.isfinite(value) and np.isfinite(each).all()):
            found[name] = missing("agreement among humans on these items is not above chance")
            continue
        found[name] = _mean_estimate(value, (each - each.mean()) * (n - 1) / n, level, n)
    return found


def _moments_of(labels: list[float], judged: list[float], values: Floats, *, numeric: bool) -> Floats:
    """The sums of an item: 1, the mean and mean square of human labels, their distance, the same for both runs."""

    def coded(x: float) -> Floats:
        return np.array([x]) if numeric else (values == x).astype(float)

    people = np.array([coded(x) for x in labels])
    m, mean = len(people), people.mean(axis=0)
    square = float((people**2).sum()) / m
    own = 2 * m / (m - 1) * (square - float(mean @ mean))
    parts = [np.array([1.0]), mean, np.array([square, own])]
    for x in judged:
        j = coded(x)
        parts += [j, np.array([float(j @ j), float(((people - j) ** 2).sum()) / m])]
    return np.concatenate(parts)


def _agreement_ratio(total: Floats, k: int) -> Floats:
    """R of both runs from sums: (rows, …) -> (rows, 2)."""
    n = total[:, :1]
    mean, square, own = total[:, 1 : k + 1] / n, total[:, k + 1] / n[:, 0], total[:, k + 2] / n[:, 0]
    expected = 2 * (square - (mean**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        people = 1 - own / expected
        found = []
        for r in range(2):
            start = k + 3 + r * (k + 2)
            j, jj, off = (
                total[:, start : start + k] / n,
                total[:, start + k] / n[:, 0],
                total[:, start + k + 1] / n[:, 0],
            )
            among = jj + square - 2 * (j * mean).sum(axis=1)
            found.append(np.where(people > 0, (1 - off / among) / people, np.nan))
    return np.stack(found, axis=1)


def _changed_columns(old: ScoredRun, new: ScoredRun) -> tuple[str, ...]:
    """Columns of the judge's row that differ: model, prompt, request."""
    rows = [run.table.annotators.filter(pl.col("annotator") == run.judge).row(0, named=True) for run in (old, new)]
    names = [c for c in rows[0] if c in rows[1] and c not in ("annotator", "kind")]
    return tuple(f"{c} {rows[0][c]} → {rows[1][c]}" for c in names if rows[0][c] != rows[1][c])
