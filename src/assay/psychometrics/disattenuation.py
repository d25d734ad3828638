"""Do people and judges measure the same thing? Correlations across lessons, corrected for unreliability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Unpack

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.chunks import Chunks, in_memory
from assay.data.ratings import Faceted, faceted
from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, ends_of, missing
from assay.estimation.result import Result, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.components import Fitted, Weights, again, fit_components, weights
from assay.psychometrics.design import Design, DesignOptions, DisattenuationSettings, parse
from assay.psychometrics.design import Weights as PairWeights
from assay.reporting import pictures
from assay.reporting.tables import estimated, interval, said
from assay.statistics.blocks import grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Finding = Literal["spurious", "shared", "unclear", "cannot be told"]

MOST_ZERO = 0.05
"""A correction is given while at most this share of the resamples leaves a family without variance of objects."""

NAMES = ("observed, same", "observed, different", "eq. 3 (Eρ²)", "by Φ", "structural")


@dataclass(frozen=True, eq=False)
class Disattenuation(Result):
    """The correlation of two families' scores, as observed and as implied without error.

    Attributes
    ----------
    families : (str, str)
    observed : Estimate
        Of scores of the same object at the same lesson.
    across : Estimate
        Of scores of the same object at different lessons: all cross pairs.
    published : Estimate
        Equation 3: ``across`` over √(Eρ² Eρ²). Its numerator holds variance of raters and lessons that Eρ² leaves out,
        so that it corrects too little.
    dependable : Estimate
        ``across`` over √(Φ Φ), whose denominator is the whole variance of a score.
    structural : Estimate
        Covariance of scores at different lessons over the families' standard deviations between objects: what both
        families' universe scores share. The answer to read.
    resampled : (float, float, float)
        The paper's way: mean and interval of equation 3 over resamples of pairs. It takes pairs as independent, and is
        too narrow.
    reliabilities : polars.DataFrame
        Eρ², Φ and the variance of objects of each family.
    finding : {"spurious", "shared", "unclear", "cannot be told"}
    n_objects, n_pairs : int
    run : Run
    """

    counted: ClassVar[str] = "objects"

    families: tuple[str, str]
    observed: Estimate
    across: Estimate
    published: Estimate
    dependable: Estimate
    structural: Estimate
    resampled: tuple[float, float, float]
    reliabilities: pl.DataFrame
    finding: Finding
    n_objects: int
    n_pairs: int
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """One row a correlation."""
        found = (self.observed, self.across, self.published, self.dependable, self.structural)
        rows = [
            {"correlation": name, **one.row(), "n": self.n_objects, "reason": one.reason}
            for name, one in zip(NAMES, found, strict=True)
        ]
        return pl.DataFrame(rows, schema_overrides={"reason": pl.String})

    def sentences(self) -> tuple[str, ...]:
        """The finding, then what it rests on."""
        first, second = self.families
        words: Mapping[Finding, str] = {
            "spurious": "agreement on the same lesson is not about the object: the implied correlation is low",
            "shared": "both measure something in common",
            "unclear": "the implied correlation is not known well enough to say what both share",
            "cannot be told": "what both share cannot be told: scores hardly tell objects apart",
        }
        implied = self.structural
        lines = [f"{first} and {second}: {words[self.finding]}."]
        same, other = (estimated(e.estimate, e.low, e.high) for e in (self.observed, self.across))
        lines.append(f"Observed correlation {same} on the same, {other} on different ones.")
        if implied.reason is not None and not np.isfinite(implied.estimate):
            return (*lines, f"Implied correlation: {implied.reason}.")
        lines.append(
            f"Implied correlation {estimated(implied.estimate, implied.low, implied.high)} (structural); "
            f"equation 3 as published gives {said(self.published.estimate)}, over Φ {said(self.dependable.estimate)}."
        )
        if implied.estimate > 1:
            lines.append("An implied correlation above 1 is one of about 1 with its error.")
        return tuple(lines)

    def summary(self) -> str:
        """The finding in sentences fit to paste."""
        low, high = self.resampled[1:]
        more = []
        if np.isfinite(low):
            why = "too narrow, for pairs of one object are not independent"
            more = [f"Resamples of pairs, as published: {interval(low, high)}; {why}."]
        return "\n".join([*self.sentences(), *more, f"{self.run.interval}.", *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """All correlations as a forest plot."""
        ax = pictures.axes(ax, height=2.4)
        pictures.forest(ax, list(NAMES), *(self.table[c].to_list() for c in ("estimate", "low", "high")))
        ax.axvline(0, color=pictures.FAINT, linewidth=1, zorder=0)
        ax.axvline(1, color=pictures.FAINT, linewidth=1, zorder=0)
        ax.set_xlabel(f"correlation of {self.families[0]} and {self.families[1]}")
        return ax


def disattenuated_correlation(
    labels: Annotations | Chunks,
    design: str,
    object: str,  # noqa: A002 - Brennan's word
    *,
    different: str | None = None,
    by: str = "kind",
    families: Sequence[str] | None = None,
    weights: PairWeights = "pairs",
    n_resamples: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    n_pairs: int = 1500,
    observed_high: float = 0.3,
    implied_low: float = 0.5,
    **options: Unpack[DesignOptions],
) -> Disattenuation:
    """Would people and judges rank objects alike, were there no error in either?

    Hardy, "All that glitters", section 4.3, equation 3: scores of the same object at *different* lessons, so that what
    both see in one lesson does not count, corrected by the reliabilities of both families.

    Parameters
    ----------
    labels : Annotations
        One criterion, labels that are numbers, of two families.
    design, object
        Of the G-study of each family, see `assay.g_study`.
    different : str, optional
        The facet in which two scores of an object must differ; the one nested in the object when not given.
    by : str
        The column that tells families apart.
    families : (str, str), optional
        Its two values; where there are two, all.
    weights : {"pairs", "objects"}
        Whether every pair of scores counts alike, or every object.
    n_resamples, confidence, seed
        Of the objects: both families' reliabilities are estimated anew in each.
    n_pairs : int
        Pairs that are drawn for each of the published resamples.
    observed_high, implied_low : float
        An observed correlation from the first on, with an implied one that is below the second, is called spurious.
    **options
        See `assay.psychometrics.design.DesignOptions`.

    Returns
    -------
    Disattenuation

    Raises
    ------
    DesignError
        Where there are not two families, or no object with scores of both at different lessons.
    """
    named = None if families is None else tuple(families)
    given = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    settings = DisattenuationSettings.of(
        {**given, "design": design, "object": object, "different": different, "by": by, "families": named,
         "weights": weights, "n_resamples": n_resamples, "confidence": confidence, "seed": seed, "n_pairs": n_pairs,
         "observed_high": observed_high, "implied_low": implied_low}, "disattenuated_correlation",
    )  # fmt: skip
    labels = in_memory(labels, "a disattenuated correlation")
    parsed = parse(settings.design)
    if settings.object not in parsed.facets:
        raise DesignError(unknown("object", settings.object, parsed.facets, f"the design {settings.design}"))
    pair = _families(labels, settings)
    table, family = _coded(labels, parsed, settings, pair)
    return _Maker(table, family, parsed, _different(parsed, settings), settings, pair).result(labels)


def _families(labels: Annotations, settings: DisattenuationSettings) -> tuple[str, str]:
    """The two values of the column."""
    table = labels if settings.annotators is None else labels.where(annotator=list(settings.annotators))
    there = [str(v) for v in table.values_of(settings.by) if v is not None]
    chosen = settings.families or tuple(there)
    for name in chosen:
        if name not in there:
            raise DesignError(unknown("family", name, there, f"the column '{settings.by}'"))
    if len(chosen) != 2:
        raise DesignError(
            f"two families are correlated; '{settings.by}' has {listing(there)}. Name two with families=(..., ...)"
        )
    return chosen[0], chosen[1]


def _different(design: Design, settings: DisattenuationSettings) -> str:
    """The facet in which scores must differ."""
    if settings.different is not None:
        if settings.different not in design.facets or settings.different == settings.object:
            facets = [f for f in design.facets if f != settings.object]
            raise DesignError(unknown("facet", settings.different, facets, f"the design {settings.design}"))
        return settings.different
    inside = [f for f in design.facets if design.nests[f] == design.nests[settings.object] | {settings.object}]
    if len(inside) != 1:
        facets = [f for f in design.facets if f != settings.object]
        raise DesignError(f"say in which facet two scores must differ: different=..., one of {listing(facets)}")
    return inside[0]


def _coded(
    labels: Annotations, design: Design, settings: DisattenuationSettings, pair: tuple[str, str]
) -> tuple[Faceted, Ints]:
    """Labels of both families with their facets, and which family each is of."""
    columns = {f: (settings.facets or {}).get(f, f) for f in design.facets}
    wanted = {str(v): v for v in labels.values_of(settings.by)}
    labels = labels.where(**{settings.by: [wanted[name] for name in pair]})
    table = faceted(
        labels, {**columns, "\0family": settings.by}, annotators=settings.annotators, repeats=settings.repeats,
        reverse=settings.reverse or (),
    )  # fmt: skip
    # Codes follow the order of names, families the order in which they were named.
    code = table.codes["\0family"]
    family = code if sorted(pair) == list(pair) else 1 - code
    return replace(table, codes={f: table.codes[f] for f in design.facets}), family


class _Maker:
    """Sums of pairs by object, reliabilities, and both again for resampled objects."""

    def __init__(
        self, table: Faceted, family: Ints, design: Design, different: str, settings: DisattenuationSettings,
        pair: tuple[str, str],
    ) -> None:  # fmt: skip
        self.table, self.family, self.design, self.settings, self.pair = table, family, design, settings, pair
        self.object = table.codes[settings.object]
        self.n = int(self.object.max()) + 1
        nest = [table.codes[f] for f in design.facets if f in design.nests[different]]
        self.lesson = grouped(*nest, self.object, table.codes[different])[0]
        self.fits = [self._fit(k) for k in (0, 1)]
        self.weights = [self._weights(f) for f in self.fits]
        value = table.value - table.value.mean()
        whole = _pair_sums(value, family, self.object, self.n)
        same = _pair_sums(value, family, self.lesson, int(self.lesson.max()) + 1)
        of_lesson = np.zeros(int(self.lesson.max()) + 1, dtype=np.int64)
        of_lesson[self.lesson] = self.object
        self.same = np.zeros((self.n, 6))
        np.add.at(self.same, of_lesson, same)
        self.cross = whole - self.same
        if settings.weights == "objects":
            for sums in (self.same, self.cross):
                sums /= np.maximum(sums[:, :1], 1.0)
        self.pairs = whole[:, 0].sum() - same[:, 0].sum()
        if (self.cross[:, 0] > 0).sum() < 3:
            raise DesignError(
                f"{int((self.cross[:, 0] > 0).sum())} objects have scores of both families at different {different}; "
                "three are needed at least"
            )

    def _fit(self, k: int) -> Fitted:
        mine = np.flatnonzero(self.family == k)
        # Objects keep their codes, so that both families are resampled alike.
        codes = {f: c[mine] for f, c in self.table.codes.items()}
        try:
            return fit_components(self.design, self.table.value[mine], codes, self.settings)
        except DesignError as reason:
            raise DesignError(f"{self.pair[k]}: {reason}") from reason

    def _weights(self, fitted: Fitted) -> Weights:
        found = fitted.identified
        return weights(found.terms, found.design, self.settings.object, (), {})

    def values(self, cross: Floats, same: Floats, thetas: Sequence[Floats]) -> Floats:
        """The five correlations from sums of pairs and the variances of both families."""
        on_same, _ = _correlation(same)
        across, covariance = _correlation(cross)
        corrected = []
        for name in ("generalizability", "dependability"):
            each = [float(getattr(w, name).value(t)) for w, t in zip(self.weights, thetas, strict=True)]
            corrected.append(across / np.sqrt(each[0] * each[1]) if min(each) > 1e-9 else np.nan)
        universe = [float(t @ w.universe) for w, t in zip(self.weights, thetas, strict=True)]
        total = [float(t.sum()) for t in thetas]
        known = all(u > 1e-6 * v for u, v in zip(universe, total, strict=True))
        structural = covariance / np.sqrt(universe[0] * universe[1]) if known else np.nan
        if not known:
            corrected = [np.nan, np.nan]
        return np.array([on_same, across, *corrected, structural])

    def replicates(self) -> Floats:
        """All five where objects are drawn with replacement."""
        s = self.settings
        found = np.empty((s.n_resamples, 5))
        for i in range(s.n_resamples):
            rng = np.random.default_rng(np.random.SeedSequence(s.seed, spawn_key=(i,)))
            counts = np.bincount(rng.integers(0, self.n, self.n), minlength=self.n)
            thetas = [again(f, counts) for f in self.fits]
            if not all(np.isfinite(t).all() for t in thetas):
                thetas = [np.zeros(len(f.theta)) for f in self.fits]
            found[i] = self.values(counts @ self.cross, counts @ self.same, thetas)
        return found

    def estimates(self) -> list[Estimate]:
        """Values with intervals; none where a family's scores do not tell objects apart."""
        value = self.values(self.cross.sum(axis=0), self.same.sum(axis=0), [f.theta for f in self.fits])
        drawn = self.replicates()
        lost = float(np.isnan(drawn[:, 4]).mean())
        known = all(f.known for f in self.fits)
        error, low, high, reasons = ends_of(
            "percentile", value, drawn, np.empty((0, 5)), self.settings.confidence, ("none",) * 5
        )
        found = [
            Estimate(float(value[k]), float(low[k]), float(high[k]), float(error[k]), reasons[k]) for k in range(5)
        ]
        if np.isnan(value[4]) or lost > MOST_ZERO or not known:
            found[2:] = [missing(f"cannot be told: {self._why_not(lost)}")] * 3
        return found

    def _why_not(self, lost: float) -> str:
        if not all(f.known for f in self.fits):
            return "the objects' own variance cannot be told from that of their interactions"
        each = zip(self.pair, self.fits, self.weights, strict=True)
        zero = [name for name, f, w in each if not f.theta @ w.universe > 0]
        if zero:
            return f"scores of {listing(zero)} hold no variance of objects"
        return f"in {100 * lost:.0f}% of the resamples a family's scores hold no variance of objects"

    def published(self) -> tuple[float, float, float]:
        """Equation 3 over resamples of pairs, as in the paper: its mean and interval."""
        s = self.settings
        each = [float(w.generalizability.value(f.theta)) for w, f in zip(self.weights, self.fits, strict=True)]
        if not min(each) > 1e-9:
            return np.nan, np.nan, np.nan
        rng = np.random.default_rng(np.random.SeedSequence(s.seed, spawn_key=(2**20,)))
        sorted_rows = [_by_object(np.flatnonzero(self.family == k), self.object, self.n) for k in (0, 1)]
        chance = self.cross[:, 0] / self.cross[:, 0].sum()
        found = [
            _drawn_correlation(rng.choice(self.n, s.n_pairs, p=chance), sorted_rows, self.lesson, self.table.value, rng)
            for _ in range(s.n_resamples)
        ]
        values = np.array(found) / np.sqrt(each[0] * each[1])
        tails = np.nanquantile(values, [(1 - s.confidence) / 2, (1 + s.confidence) / 2])
        return float(np.nanmean(values)), float(tails[0]), float(tails[1])

    def result(self, labels: Annotations) -> Disattenuation:
        """All of it."""
        s = self.settings
        found = self.estimates()
        rows = [
            {"family": p, "generalizability": float(w.generalizability.value(f.theta)),
             "dependability": float(w.dependability.value(f.theta)), "object_variance": float(f.theta @ w.universe)}
            for p, f, w in zip(self.pair, self.fits, self.weights, strict=True)
        ]  # fmt: skip
        cautions = [f"{p}: {c}" for p, f in zip(self.pair, self.fits, strict=True) for c in f.identified.cautions]
        objects = int((self.cross[:, 0] > 0).sum())
        interval = (
            f"{100 * s.confidence:g}% percentile bootstrap interval, {s.n_resamples:,} resamples of {self.n:,} objects "
            f"({s.object}), variances estimated anew in each, seed {s.seed}"
        )
        data = fingerprint_with(self.table.fingerprint, families=self.pair)
        columns = {f: (s.facets or {}).get(f, f) for f in self.design.facets}
        facts = {
            "objects": objects,
            "pairs": int(self.pairs),
            "facets": ",".join(f"{f}={c}" for f, c in columns.items()),
        }
        run = Run(
            "disattenuated-correlation", s, data, facts, interval, notes=self.table.notes, cautions=tuple(cautions)
        )
        resampled = self.published() if found[2].reason is None else (np.nan, np.nan, np.nan)
        observed, across, published, dependable, structural = found
        return Disattenuation(
            self.pair, observed, across, published, dependable, structural, resampled, pl.DataFrame(rows),
            finding_of(observed, structural, s), objects, int(self.pairs), run,
        )  # fmt: skip


def finding_of(observed: Estimate, implied: Estimate, settings: DisattenuationSettings) -> Finding:
    """Whether a good correlation on the same lesson is about the object at all."""
    if not np.isfinite(implied.estimate):
        return "cannot be told"
    if observed.estimate >= settings.observed_high and implied.high < settings.implied_low:
        return "spurious"
    return "shared" if implied.low > 0 else "unclear"


def _pair_sums(value: Floats, family: Ints, group: Ints, n: int) -> Floats:
    """Of all pairs of a label of one family with one of the other in a group: number, Σx, Σy, Σx², Σy², Σxy."""
    sums = []
    for k in (0, 1):
        mine = family == k
        sums.append([
            np.bincount(group[mine], weights=value[mine] ** power, minlength=n) for power in (0, 1, 2)
        ])  # fmt: skip
    (n_x, x, xx), (n_y, y, yy) = sums
    return np.stack([n_x * n_y, x * n_y, y * n_x, xx * n_y, yy * n_x, x * y], axis=1)


def _correlation(sums: Floats) -> tuple[float, float]:
    """Pearson's correlation and the covariance over all pairs."""
    number, x, y, xx, yy, xy = (float(v) for v in (sums.sum(axis=0) if sums.ndim > 1 else sums))
    if not number > 0:
        return np.nan, np.nan
    covariance = xy / number - x * y / number**2
    spread = (xx / number - (x / number) ** 2) * (yy / number - (y / number) ** 2)
    return (covariance / np.sqrt(spread) if spread > 1e-12 else np.nan), covariance


def _by_object(rows: Ints, of: Ints, n: int) -> tuple[Ints, Ints, Ints]:
    """Rows in the order of their objects, where each object's begin, and how many there are."""
    size = np.bincount(of[rows], minlength=n)
    return rows[np.argsort(of[rows], kind="stable")], np.cumsum(size) - size, size


def _drawn_correlation(
    objects: Ints, families: Sequence[tuple[Ints, Ints, Ints]], lesson: Ints, value: Floats, rng: np.random.Generator
) -> float:
    """Of one pair of scores for each object drawn, at different lessons; pairs at one lesson are drawn again."""
    pair = np.empty((2, len(objects)), dtype=np.int64)
    left = np.arange(len(objects))
    while len(left):
        at = objects[left]
        for k, (rows, start, size) in enumerate(families):
            pair[k, left] = rows[start[at] + rng.integers(0, size[at])]
        left = left[lesson[pair[0, left]] == lesson[pair[1, left]]]
    return float(np.corrcoef(value[pair[0]], value[pair[1]])[0, 1])
