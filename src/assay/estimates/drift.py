"""Has the judge changed between two runs, and how much of a change of the scores is the judge's?

Anchors are texts of the later run that the earlier version judged too. On them nothing but the judge can have changed;
what is left of the whole change is the systems'. Anchors that are no sample of the later run cannot say it: where the
judge's change depends on the text, old texts blame the systems in .27 to .74 of studies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtr, stdtrit

from assay.data.annotations import Annotations, Repeats, digest_of_columns
from assay.data.ratings import Ratings
from assay.data.scales import Scale
from assay.data.vote_sides import align_sides
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimates.difference import FEW_OFF
from assay.estimation.intervals import Estimate, EstimateByRule, missing, wilson, wilson_estimate
from assay.estimation.options import Settings, level_option, option, question_of_two
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Bools, Floats
from assay.reporting.tables import estimated, interval, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_ANCHORS = 10
"""Anchors from which a change has an interval."""

UNLIKE = 0.01
"""Anchors count as no sample of the later run where chance would make them differ so much in one study in a hundred
(Bonferroni over what is compared): a wrong word about the systems costs more than a refusal."""

TEXT = "text"
"""The column that holds an item's text, unless another is named."""


@dataclass(frozen=True, kw_only=True)
class DriftSettings(Settings):
    """Options of `assay.drift`."""

    judge: str | None = option(None, "The judge of the earlier run.", details="The table's, if it has one.")
    judge_after: str | None = option(None, "Its name in the later run, where that is another.")
    anchors: Annotations | None = option(
        None, "The earlier version's labels of texts of the later run.", hidden=True,
        details="Without them items whose text is the same in both runs are anchors.",
        first=True,
    )  # fmt: skip
    text: str | None = option(
        None, "Item column with the text.", details="When not given, 'text' where both runs have it; else items of one "
        "name are taken for the same text, and that is said.",
        first=True,
    )  # fmt: skip
    repeats: Repeats = option("error", "How to combine repeated labels.")
    confidence: float = level_option()


@dataclass(frozen=True, eq=False)
class Drift(Result):
    """What changed between two runs.

    Attributes
    ----------
    lines : mapping of name to Estimate
        ``judge's change`` on anchors, ``flips`` (share of anchors with another label), ``whole change`` of the mean,
        ``systems' change`` (the rest); with people's labels ``closeness`` (change of the agreement with people) and
        ``R`` before, after and its change.
    n : mapping of name to int
    changed : tuple of str
        What differs in how the judge was asked, as the tables of annotators say.
    not_apportioned : str or None
        Why the whole change is not divided.
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
        """One row a number: ``of``, ``estimate``, ``low``, ``high``, ``n``, ``reason``."""
        rows = [{"of": k, **one.row(), "n": self.n[k], "reason": one.reason} for k, one in self.lines.items()]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    def row_estimates(self) -> Sequence[Estimate]:
        """Of each row."""
        return tuple(self.lines.values())

    @property
    def shown(self) -> bool:
        """Whether the judge is shown to have changed."""
        low, high = self.lines[JUDGE].low, self.lines[JUDGE].high
        return bool(low > 0 or high < 0)

    def sentences(self) -> list[str]:
        """What changed, and whose change it is."""
        judge, whole, system = (self.lines[k] for k in (JUDGE, WHOLE, SYSTEM))
        lines = [f"The whole change is {_format_change(whole)}, from {counted(self.n[WHOLE], 'item')}."]
        if judge.reason is None:
            verdict = "the judge has changed" if self.shown else "no change of the judge is shown"
            lines.append(
                f"On {counted(self.n[JUDGE], 'anchor')} {verdict}: {_format_change(judge)}; "
                f"{estimated(self.lines[FLIPS].estimate, self.lines[FLIPS].low, self.lines[FLIPS].high)} of the labels "
                "are others."
            )
        else:
            lines.append(f"The judge's change is not known: {judge.reason}.")
        if self.not_apportioned is not None:
            lines.append(f"The whole change is not divided between judge and systems: {self.not_apportioned}.")
        elif system.reason is None:
            moved = system.low > 0 or system.high < 0
            lines.append(
                f"Without the judge's change {_format_change(system)} is left: "
                + ("the systems have changed." if moved else "no change of the systems is shown.")
            )
        for key in (CLOSENESS, R_CHANGE):
            one = self.lines.get(key)
            if one is not None and one.reason is None:
                what = "Its agreement with people" if key == CLOSENESS else "R, what it keeps of people's agreement,"
                way = "rose" if one.low > 0 else "fell" if one.high < 0 else "is not shown to have changed"
                lines.append(f"{what} {way}: {_format_change(one)}.")
        if self.changed:
            lines.append(f"The judge was asked otherwise: {'; '.join(self.changed)}.")
        return lines

    def summary(self) -> str:
        """The sentences, and what they rest on."""
        return "\n".join([*self.sentences(), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Every change with its interval, and 0."""
        from assay.reporting import pictures

        keys = [k for k in (WHOLE, JUDGE, SYSTEM, CLOSENESS, R_CHANGE) if k in self.lines]
        ax = pictures.axes(ax, height=1.2 + 0.3 * len(keys))
        each = [self.lines[k] for k in keys]
        pictures.forest(ax, keys, [e.estimate for e in each], [e.low for e in each], [e.high for e in each])
        ax.axvline(0, color=pictures.MUTED, linewidth=1)
        ax.set_xlabel("after − before")
        return ax


JUDGE, FLIPS, WHOLE, SYSTEM, CLOSENESS = "judge's change", "flips", "whole change", "systems' change", "closeness"
R_BEFORE, R_AFTER, R_CHANGE = "R before", "R after", "R"


def _format_change(one: Estimate) -> str:
    return f"{signed(one.estimate)} {interval(one.low, one.high)}"


@question_of_two(DriftSettings)
def drift(before: Annotations, after: Annotations, settings: DriftSettings) -> Drift:
    """Has the judge changed between two runs, and how much of the change of the scores is its own?

    Parameters
    ----------
    before, after : Annotations, path or frame
        Labels of the two runs, on one scale; people's labels where there are some.

    Raises
    ------
    DesignError
        Where the runs are on different scales or have no items.

    Examples
    --------
    >>> import assay, polars as pl
    >>> before = assay.simulate(n_items=200, n_annotators=2, scale="1-5", seed=1)
    >>> rows = before.labels.with_columns(label=pl.when((pl.col("annotator") == "judge") & (pl.col("label") < 3))
    ...     .then(pl.col("label") + 1).otherwise(pl.col("label")))
    >>> found = assay.drift(before, assay.read(rows, judges=["judge"], scale="1-5"))
    >>> found.shown
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
    pairs = _pair_anchors(anchor.labels_by(key), new.labels_by(key))
    found, n, reason = _changes(old.labels_by(key), new.labels_by(key), pairs, _span(old), settings)
    same = settings.anchors is None and len(pairs.x) == len(old.value) == len(new.value)
    doubt = None if same else reason or _unlike(new, new.labels_by(key), pairs, key)
    if doubt is not None:
        found[SYSTEM] = missing(doubt)
    people, counts = _agreement_changes(old, new, anchor, pairs, key, settings)
    found, n = found | people, n | counts
    notes = (
        [] if key != "item" else ["items of one name are taken for the same text; text=... names the column of texts"]
    )
    exclusions = (*old.exclusions, *new.exclusions)
    data = fingerprint_with(
        old.fingerprint, after=new.fingerprint, anchors=None if settings.anchors is None else anchor.fingerprint
    )
    facts = {"before": len(old.value), "after": len(new.value), "anchors": len(pairs.x)}
    run = Run("drift", settings, data, facts, "", exclusions, tuple(notes))
    return Drift(found, n, _changed_columns(old, new), doubt, run)


# -- the two runs ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A judge's labels of one run, and people's beside them."""

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
        """The judge's label by item, or by text."""
        return dict(zip(self.keys(key), self.value.tolist(), strict=True))

    def keys(self, key: str) -> list[str]:
        """What names each labelled item."""
        if key == "item":
            return self.item
        column = dict(zip(self.table.items["item"], self.table.items[key].cast(pl.String), strict=True))
        return [column[i] or "" for i in self.item]

    def people_by(self, key: str) -> dict[str, list[float]]:
        """People's labels by item, or by text."""
        if key == "item":
            return self.people
        column = dict(zip(self.table.items["item"], self.table.items[key].cast(pl.String), strict=True))
        return {column[i] or "": labels for i, labels in self.people.items()}


def _run_of(labels: Annotations, which: str, settings: DriftSettings) -> ScoredRun:
    wanted = settings.judge_after if which == "after" and settings.judge_after is not None else settings.judge
    if wanted is None:
        if len(labels.judges) != 1:
            option_name = "judge_after" if which == "after" else "judge"
            raise DesignError(
                f"say which judge is compared with {option_name}=...; the run {which} has "
                f"{listing(labels.judges) or 'none'}",
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
            f"drift is of numbers, ordered labels or two categories; these are on the scale '{ratings.scale.spec}'. "
            "Read one category against the others"
        )
    mine = answers.annotator == 0
    names = list(answers.items)
    people: dict[str, list[float]] = {}
    for i, v in zip(answers.item[~mine].tolist(), answers.value[~mine].tolist(), strict=True):
        people.setdefault(names[i], []).append(float(v))
    data = fingerprint_with(ratings.fingerprint, **digest_of_columns(labels, settings.text))
    return ScoredRun(
        wanted, labels, ratings.scale, [names[i] for i in answers.item[mine].tolist()],
        answers.value[mine].astype(float), people, data, answers.categories, ratings.exclusions,
    )  # fmt: skip


def _same_codes(*runs: ScoredRun) -> list[ScoredRun]:
    """The runs with one code for each category, where categories are those that each has seen."""
    words = sorted({str(word) for run in runs for word in run.categories or ()})
    if not words or all(run.categories == runs[0].categories for run in runs):
        return list(runs)
    if len(words) > 2:
        raise DesignError(
            f"drift is of two categories, and the runs have {listing(words)}. Read one against the others"
        )
    found = []
    for run in runs:
        code = np.array([words.index(str(word)) for word in run.categories or ()], dtype=float)
        people = {item: [float(code[int(v)]) for v in labels] for item, labels in run.people.items()}
        found.append(replace(run, value=code[run.value.astype(int)], people=people, categories=tuple(words)))
    return found


def _key(old: ScoredRun, new: ScoredRun, settings: DriftSettings) -> str:
    """The column by which items are the same text."""
    tables = [old.table, new.table] + ([] if settings.anchors is None else [settings.anchors])
    if settings.text is not None:
        for table in tables:
            if settings.text not in table.items.columns:
                raise DataError(unknown("item column", settings.text, table.items.columns, "the table of items"))
        return settings.text
    return TEXT if all(TEXT in table.items.columns for table in tables) else "item"


@dataclass(frozen=True, eq=False)
class AnchorPairs:
    """Labels of the same texts by both versions."""

    names: list[str]
    x: Floats
    y: Floats

    @property
    def d(self) -> Floats:
        """After less before."""
        return np.asarray(self.y - self.x)


def _pair_anchors(old: dict[str, float], new: dict[str, float]) -> AnchorPairs:
    names = sorted(old.keys() & new.keys())
    return AnchorPairs(names, np.array([old[k] for k in names]), np.array([new[k] for k in names]))


# -- changes -------------------------------------------------------------------------------------------------


def _changes(
    old: dict[str, float], new: dict[str, float], pairs: AnchorPairs, ends: float | None, settings: DriftSettings
) -> tuple[dict[str, Estimate], dict[str, int], str | None]:
    """The judge's change, the whole one and what is left; and why there is no judge's."""
    level, n = settings.confidence, len(pairs.x)
    counts = {WHOLE: len(old.keys() | new.keys()), JUDGE: n, FLIPS: n, SYSTEM: n}
    means = [np.mean(list(run.values())) for run in (old, new)]
    names = sorted(old.keys() | new.keys() | set(pairs.names))
    place = {name: i for i, name in enumerate(names)}
    phi = np.zeros(len(names))
    for run, mean, sign in ((old, means[0], -1.0), (new, means[1], 1.0)):
        at = np.array([place[k] for k in run])
        phi[at] += sign * (np.array(list(run.values())) - mean) / len(run)
    whole = _mean_estimate(float(means[1] - means[0]), phi, level, min(len(old), len(new)))
    if n < LEAST_ANCHORS:
        what = (
            "no text was judged in both runs" if n == 0 else f"{counted(n, 'anchor')}, and {LEAST_ANCHORS} are needed"
        )
        reason = f"{what}; have the earlier version judge a random sample of the later run's texts (anchors=...)"
        none = missing(reason)
        return {JUDGE: none, FLIPS: none, WHOLE: whole, SYSTEM: none}, counts, reason
    d = pairs.d
    labels = np.unique(np.concatenate([pairs.x, pairs.y]))
    if len(labels) <= 2 and ends is not None:
        low_label, span = (labels[0], float(np.ptp(labels))) if len(labels) == 2 else (labels[0] - 1, 1.0)
        judge: Estimate = tango(pairs.x > low_label, pairs.y > low_label, span, level)
    elif (d != 0).sum() < FEW_OFF and ends is not None:
        judge = few_changed(d, ends, level)
    else:
        judge = _mean_estimate(float(d.mean()), (d - d.mean()) / n, level, n)
    flipped = float((d != 0).mean())
    low, high = (float(v) for v in wilson(np.array(flipped), n, level))
    rest = phi.copy()
    rest[[place[k] for k in pairs.names]] -= (d - d.mean()) / n
    value = float(means[1] - means[0] - d.mean())
    if np.abs(rest).max() < 1e-12 and abs(value) < 1e-12:
        system: Estimate = missing("both runs have the same texts, so the whole change is the judge's")
    else:
        system = _mean_estimate(value, rest, level, n)
    return {JUDGE: judge, FLIPS: wilson_estimate(flipped, low, high, n), WHOLE: whole, SYSTEM: system}, counts, None


def _mean_estimate(value: float, phi: Floats, level: float, n: int) -> Estimate:
    """A mean with t from what each item adds to its error."""
    error = math.sqrt(float(phi @ phi) * n / max(n - 1, 1))
    if not error > 0:
        return Estimate(value, math.nan, math.nan, math.nan, "the labels do not vary")

    def ends(at: float) -> tuple[float, float]:
        t = float(stdtrit(n - 1, (1 + at) / 2))
        return value - t * error, value + t * error

    def test(null: float) -> float:
        return float(2 * stdtr(n - 1, -abs(value - null) / error))

    return EstimateByRule(value, *ends(level), error, ends=ends, test=test)


def _span(run: ScoredRun) -> float | None:
    """The most that a label can change: None where numbers have no ends."""
    if run.scale.bounds is not None:
        return run.scale.bounds[1] - run.scale.bounds[0]
    return 1.0 if run.categories is not None else None


def few_changed(d: Floats, span: float, level: float) -> EstimateByRule:
    """The mean change where hardly any label changed: each of the shares that may have risen or fallen, times the most.

    Ends are those of Wilson's intervals of both shares: never without width, and wider than a mean's.
    """
    n, up, down = len(d), float((d > 0).mean()), float((d < 0).mean())
    value = float(d.mean())

    def ends(at: float) -> tuple[float, float]:
        most = [float(wilson(np.array(share), n, at)[1]) for share in (down, up)]
        return min(value, -span * most[0] + max(value, 0.0)), max(value, span * most[1] + min(value, 0.0))

    return EstimateByRule(value, *ends(level), float(d.std()) / math.sqrt(n), ends=ends)


def tango(before: Bools, after: Bools, span: float, level: float) -> EstimateByRule:
    """The change of a share of the same items: Tango's (1998) score interval, for few or no changed labels too."""
    n = len(before)
    up, down = float((after & ~before).sum()), float((before & ~after).sum())
    value = (up - down) / n

    def ends(at: float) -> tuple[float, float]:
        z = float(ndtri((1 + at) / 2))
        return tuple(span * _tango_end(up, down, n, sign * z) for sign in (-1.0, 1.0))  # type: ignore[return-value]

    error = span * math.sqrt(max(up + down - (up - down) ** 2 / n, 0.0)) / n
    return EstimateByRule(span * value, *ends(level), error, ends=ends)


def _tango_end(up: float, down: float, n: int, z: float) -> float:
    """The difference at which the score statistic is z, by halving: it falls as the difference grows."""

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


def _unlike(new: ScoredRun, labels: dict[str, float], pairs: AnchorPairs, key: str) -> str | None:
    """How anchors differ from the other texts of the later run, where they are no sample of these; else None."""
    anchors = set(pairs.names)
    keys = new.keys(key)
    mine = np.array([k in anchors for k in keys])
    if mine.all() or not mine.any():
        return None
    said = (new.value[mine].mean(), new.value[~mine].mean())
    words = f"the judge says {said[0]:.3g} of anchors on average, and {said[1]:.3g} of the other texts"
    tested = [(_two_means(new.value[mine], new.value[~mine]), words)]
    if key != "item":
        long = np.array([len(k) for k in keys], dtype=float)
        own, other = long[mine], long[~mine]
        words = f"anchors have {own.mean():.0f} characters on average, and the other texts {other.mean():.0f}"
        tested.append((_two_means(own, other), words))
    at = {item: i for i, item in enumerate(new.table.items["item"].to_list())}
    rows = [at[i] for i in new.item]
    for name in new.table.items.columns[1:]:
        column = new.table.items[name]
        if name != key and column.dtype.is_numeric():
            x = column.cast(pl.Float64).to_numpy().astype(float)[rows]
            there = np.isfinite(x)
            if (mine & there).sum() > 2 and (~mine & there).sum() > 2:
                a, b = x[mine & there], x[~mine & there]
                tested.append(
                    (_two_means(a, b), f"the mean of '{name}' is {a.mean():.3g} on anchors, {b.mean():.3g} else")
                )
    p, words = min(tested)
    if p * len(tested) >= UNLIKE:
        return None
    return (
        f"anchors are no sample of the later run: {words}; have the earlier version judge a random sample of its texts "
        "(anchors=...)"
    )


def _two_means(x: Floats, y: Floats) -> float:
    """Welch's two-sided p."""
    if len(x) < 2 or len(y) < 2:
        return 1.0
    v = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)
    if not sum(v) > 0:
        return 1.0
    df = sum(v) ** 2 / (v[0] ** 2 / (len(x) - 1) + v[1] ** 2 / (len(y) - 1))
    return float(2 * stdtr(df, -abs(float(x.mean() - y.mean())) / math.sqrt(sum(v))))


# -- against people --------------------------------------------------------------------------------------------


def _agreement_changes(
    old: ScoredRun, new: ScoredRun, anchor: ScoredRun, pairs: AnchorPairs, key: str, settings: DriftSettings
) -> tuple[dict[str, Estimate], dict[str, int]]:
    """Change of the agreement with people, and of R, on anchors that people labelled."""
    labels = {**old.people_by(key), **anchor.people_by(key), **new.people_by(key)}
    at = [i for i, name in enumerate(pairs.names) if labels.get(name)]
    if len(at) < LEAST_ANCHORS:
        return {}, {}
    given = [labels[pairs.names[i]] for i in at]
    both = [run[at] for run in (pairs.x, pairs.y)]
    close = [
        np.array([np.mean([a == v for a in each]) for each, v in zip(given, run, strict=True)])
        if not old.scale.ordered
        else np.array([-np.mean([abs(a - v) for a in each]) for each, v in zip(given, run, strict=True)])
        for run in both
    ]
    d = close[1] - close[0]
    found: dict[str, Estimate] = {
        CLOSENESS: _mean_estimate(float(d.mean()), (d - d.mean()) / len(d), settings.confidence, len(d))
    }
    kept = _retention_changes(given, both, numeric=old.scale.ordered, level=settings.confidence)
    return found | kept, dict.fromkeys((CLOSENESS, *kept), len(at))


def _retention_changes(
    given: list[list[float]], runs: list[Floats], *, numeric: bool, level: float
) -> dict[str, Estimate]:
    """R = A(judge, people) / A(people, people), before, after and its change, with the jackknife over items.

    A = 1 − observed / expected squared distance, expected from labels of different items; of categories the distance is
    whether they differ.
    """
    several = [i for i, each in enumerate(given) if len(each) > 1]
    if len(several) < LEAST_ANCHORS:
        return {}
    values = np.unique(np.concatenate([*map(np.array, given), *runs]))
    sums = np.array([_moments_of(given[i], [run[i] for run in runs], values, numeric=numeric) for i in several])
    total = sums.sum(axis=0)
    k = 1 if numeric else len(values)
    whole, without = _retention(total[None], k)[0], _retention(total - sums, k)
    n = len(several)
    names, columns = (R_BEFORE, R_AFTER, R_CHANGE), np.array([[1, 0], [0, 1], [-1, 1]])
    found: dict[str, Estimate] = {}
    for name, weights in zip(names, columns, strict=True):
        value, each = float(whole @ weights), without @ weights
        if not (math.isfinite(value) and np.isfinite(each).all()):
            found[name] = missing("people's agreement on these items is not above chance, so there is nothing to keep")
            continue
        found[name] = _mean_estimate(value, (each - each.mean()) * (n - 1) / n, level, n)
    return found


def _moments_of(labels: list[float], judged: list[float], values: Floats, *, numeric: bool) -> Floats:
    """What an item adds: 1, people's mean label and square, people's own distance, the same of both runs."""

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


def _retention(total: Floats, k: int) -> Floats:
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
