"""How many independent judges is a panel of judges worth, and what does a further judge add?

Errors are deviations from what the annotators say of an item on average. Only products of labels of different
annotators enter, so that the annotators' own noise, which all judges share, is not counted as an error of the judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.ratings import cluster_codes
from assay.errors import DataError, DesignError, counted, listing, unknown, unknown_judge
from assay.estimation.intervals import Estimate, adjust_p, missing
from assay.estimation.options import Settings, level_option, option, question
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.reporting import pictures
from assay.reporting.tables import clip_name
from assay.statistics.clusters import by_items
from assay.statistics.words import dependence_cautions, few_clusters
from assay.variation import words
from assay.variation.intervals import LEAST_UNITS, RatioSample, jackknife, one_sided
from assay.variation.labels import (
    Combined,
    LabelNumbers,
    ensembles_of,
    matched_annotator,
    people_of,
    present,
    require_comparable,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEARLY_ONE = 0.9999
"""The largest correlation for Fisher's z, which is infinite at 1."""

MOST_LABELS = 50
"""Most categories, each of which is an indicator."""


@dataclass(frozen=True)
class JudgePanelSettings(Settings):
    """Options of `assay.panel`."""

    judges: Sequence[str] | str | None = option(
        None, "Judges of the panel, or the name of one ensemble.",
        details="Default: every judge of the table that is not computed from others.",
    )  # fmt: skip
    _: KW_ONLY
    candidates: Sequence[str] | str | None = option(
        None, "Further judges whose contribution is estimated.",
        details="Default: each judge of the panel is compared with the panel of the others.", first=True,
    )  # fmt: skip
    annotators: Sequence[str] | None = option(None, "Annotators whose labels are used (default: all).")
    clusters: str | None = option(None, "Item column of clusters of items, such as documents.", first=True)
    repeats: Combined = option("error", "How to combine repeated labels.")
    confidence: float = level_option()


@dataclass(frozen=True, eq=False)
class JudgePanel(ResultOfRows):
    """The effective number of judges in a panel, and what further judges add.

    Attributes
    ----------
    table : polars.DataFrame
        One row per quantity: ``criterion``, ``judge``, ``quantity``, ``estimate``, ``low``, ``high``, ``n`` (items),
        ``judges``, ``judges_at_least``, ``judges_at_most`` (no upper end if it is not estimable), ``p``,
        ``p_adjusted``, ``reason``. The quantities:

        - ``error of the panel``: variance of the error of the panel's mean, as a share of a judge's; 1 divided by it
          is the effective number of judges;
        - ``error correlation``: the shared part ρ̄ of two judges' errors; 1 / ρ̄ is the effective number of any number
          of judges like these;
        - ``added``: decrease of the squared distance of the panel's mean to the annotators' mean if ``judge`` is added.
    covariances : polars.DataFrame
        ``criterion``, ``judge``, ``other``, ``covariance`` of their errors, ``correlation``; for ``judge`` = ``other``
        the variance.
    families : polars.DataFrame
        ``criterion``, ``family``, ``judge``: judges whose errors are significantly more correlated than those of the
        other pairs (Holm-adjusted over pairs); judges without such a partner are not listed.
    judges : tuple of str
        The panel.
    next_reduction : mapping of criterion to float
        Share by which one more judge like these would decrease the error variance of the panel's mean.
    """

    rows: pl.DataFrame = field(metadata={"json": False})
    covariances: pl.DataFrame
    families: pl.DataFrame
    judges: tuple[str, ...]
    next_reduction: Mapping[str | None, float]
    run: Run
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})

    leads: ClassVar[bool] = True

    def summary(self) -> str:
        """Return the effective number of judges, families, and what each judge adds."""
        return "\n".join([*words.panel_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the effective number of judges by the number of judges like these, with its limits.

        The dotted line is a panel of independent judges.
        """
        ax = pictures.axes(ax, height=3.4)
        size = len(self.judges)
        numbers = np.arange(1, max(2 * size, 10) + 1)
        rows = self.rows.filter(pl.col("estimate").is_not_null(), quantity="error correlation")
        for row, colour in zip(rows.iter_rows(named=True), pictures.PALETTE, strict=False):
            ends = [effective_number(numbers, row[end]) for end in ("estimate", "low", "high") if row[end] is not None]
            ax.plot(numbers, ends[0], color=colour, linewidth=1.4, label=row["criterion"] or "these judges")
            if len(ends) == 3:
                ax.fill_between(numbers, ends[2], ends[1], color=colour, alpha=0.15, linewidth=0)
            ax.plot([size], effective_number(np.array([size]), row["estimate"]), "o", color=colour, markersize=5)
        ax.plot(numbers, numbers, color=pictures.MUTED, linestyle=":", linewidth=1, label="independent judges")
        ax.set_ylim(0, numbers[-1])
        ax.set_xlim(1, numbers[-1])
        ax.set_xlabel("judges")
        ax.set_ylabel("effective number of judges")
        pictures.legend(ax, loc="upper left")
        return ax

    def heat_map(self, ax: Axes | None = None, *, criterion: str | None = None) -> Axes:
        """Draw the correlations of the judges' errors."""
        named = self.covariances["criterion"].unique(maintain_order=True).to_list()
        if criterion is not None and criterion not in named:
            raise DesignError(unknown("criterion", criterion, [str(n) for n in named]))
        chosen = pl.lit(named[0] if criterion is None else criterion, pl.String)
        rows = self.covariances.filter(pl.col("criterion").eq_missing(chosen))
        known = {(a, b): c for a, b, c in rows.select("judge", "other", "correlation").iter_rows()}
        each = [[known.get((a, b), known.get((b, a))) for b in self.judges] for a in self.judges]
        values = np.array([[math.nan if v is None else v for v in row] for row in each], dtype=float)
        text = [["–" if v is None else f"{v:.2f}".replace("-", "−") for v in row] for row in each]
        size = 1.6 + 0.5 * len(each)
        ax = pictures.axes(ax, width=size + 1.2, height=size)
        pictures.shaded(ax, values, text, colour=pictures.JUDGE, below=pictures.HUMAN)
        names = [clip_name(name, 16) for name in self.judges]
        ax.set_xticks(np.arange(len(names)) + 0.5, names, rotation=45, ha="right")
        ax.set_yticks(np.arange(len(names))[::-1] + 0.5, names)
        return ax


def effective_number(numbers: Any, correlation: float) -> Floats:
    """Return J / (1 + (J − 1) ρ̄), at most 100 J for a negative correlation."""
    return np.asarray(numbers / np.maximum(1 + (numbers - 1) * correlation, 0.01), dtype=float)


@question(JudgePanelSettings)
def panel(labels: Annotations | Chunks, settings: JudgePanelSettings) -> JudgePanel:
    """Estimate how many independent judges a panel of judges is worth.

    Parameters
    ----------
    labels : Annotations
        Labels of two or more judges and two or more annotators on the same items; no gold labels. Each criterion is
        analysed separately.

    Returns
    -------
    JudgePanel
        ``table``, ``covariances``, ``families``; ``summary()``, ``plot()``, ``heat_map()``.

    Raises
    ------
    DataError
        For an unknown judge, annotator or column.
    DesignError
        For fewer than two judges or annotators, without items that all judges labelled, for free text, and for chunks.

    Notes
    -----
    The error of judge j is its label f_j minus what the annotators say of the item on average; severity is taken out.
    C_jk = cov(f_j, f_k) − c_j − c_k + v over items, with c_j = mean_r cov(f_j, y_r) and v = mean cov(y_r, y_s) over
    pairs of different annotators, is unbiased for the covariance of two errors for any number of annotators from two.
    With A = 1'C1 / J², the error variance of the panel's mean, and B = tr C / J, that of a judge, the effective number
    of judges is B / A (Kish 1965), and ρ̄ = (J A / B − 1) / (J − 1). Intervals: jackknife of items of A / B with
    Student's t. Of categories the covariances of indicators are summed.

    Correlations of errors against the *mean* or *majority* of a few annotators count the annotators' noise as an error
    that all judges share: nine independent judges look like three (three annotators).

    A further judge is added to the panel's mean, which is put on the annotators' scale by a line that is fitted without
    the item (leave-one-out residuals): without the line a coin would help, because noise shrinks the mean. ``p`` is of
    a paired t-test, two-sided, adjusted for the number of candidates (Holm).

    Examples
    --------
    >>> import assay, polars as pl
    >>> rng = __import__("numpy").random.default_rng(2)
    >>> truth, shared = rng.normal(size=(2, 200))
    >>> people = {f"ann_{i}": truth + rng.normal(size=200) for i in range(3)}
    >>> judges = {f"j{i}": truth + shared + 0.5 * rng.normal(size=200) for i in range(4)}
    >>> rows = [(f"i{i}", name, x[i]) for name, x in (people | judges).items() for i in range(200)]
    >>> frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    >>> found = assay.panel(assay.read(frame, judges=list(judges), scale="interval"))
    >>> found.table["judges_at_most"][0] < 1.5
    True
    """
    labels = labels.in_memory("a panel item by item")
    judges, candidates = _members(labels, settings)
    people = people_of(labels, settings.annotators, "a panel")
    rows, estimates = list[dict[str, Any]](), list[Estimate]()
    pairs, families, reductions = list[dict[str, Any]](), list[dict[str, Any]](), dict[str | None, float]()
    exclusions, cautions, parts, least = list[Exclusion](), list[str](), list[Floats](), list[int]()
    for name in labels.criteria or (None,):
        one = labels if name is None else labels.where(criterion=name)
        errors = PanelErrors.of(one, judges, people, settings)
        exclusions += [e for e in errors.exclusions if e not in exclusions]
        further, gains = _added(one, judges, candidates, people, settings)
        found = [*_panel_rows(errors, settings), *further]
        least.append(len(errors.products))
        if settings.clusters is None:
            parts += [by_items(labels, *pair) for pair in ((errors.names, errors.contributions), *gains)]
        rows += [{"criterion": name, **row} for row, _ in found]
        estimates += [estimate for _, estimate in found]
        pairs += [{"criterion": name, **row} for row in errors.pairs()]
        families += [
            {"criterion": name, "family": k, "judge": judge}
            for k, members in enumerate(errors.families(settings.confidence), start=1) for judge in members
        ]  # fmt: skip
        reductions[name] = errors.next_reduction
        for judge in (*judges, *candidates):
            if (copied := matched_annotator([one], judge, people, settings)) is not None:
                start = "" if name is None else f"{name}: "
                cautions.append(
                    f"{start}{judge}'s labels match {copied}'s more often than agreement with the others explains. "
                    "Errors of a judge that was shown an annotator's labels are underestimated."
                )
    cautions += dependence_cautions(parts, labels) if settings.clusters is None else few_clusters(min(least))
    data = fingerprint_with(labels.fingerprint, **digest_of_columns(labels, settings.clusters))
    facts = {"items": labels.n_items, "humans": len(people), "judges": len(judges)}
    unit = "items" if settings.clusters is None else f"clusters ({settings.clusters})"
    run = Run(
        "panel", settings, data, facts, f"jackknife over {unit}, t; for these judges and annotators", tuple(exclusions),
        (f"repeated labels: {settings.repeats}",) if labels.has_repeats else (), tuple(dict.fromkeys(cautions)),
    )  # fmt: skip
    return JudgePanel(
        _frame(rows), _pairs_frame(pairs),
        pl.DataFrame(families, schema={"criterion": pl.String, "family": pl.Int64, "judge": pl.String}),
        judges, reductions, run, tuple(estimates),
    )  # fmt: skip


def _members(labels: Annotations, settings: JudgePanelSettings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The judges of the panel, and the candidates."""
    ensembles = ensembles_of(labels)
    given = settings.judges
    named: tuple[str, ...] = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given or ()))
    if len(named) == 1 and named[0] in ensembles:
        named = ensembles[named[0]]
    further = settings.candidates
    candidates = (further,) if isinstance(further, str) else tuple(dict.fromkeys(further or ()))
    judges = named or tuple(j for j in labels.judges if j not in ensembles and j not in candidates)
    for one in (*judges, *candidates):
        if one not in labels.judges:
            raise DataError(unknown_judge(one, labels.judges, labels.humans))
    if both := [one for one in candidates if one in judges]:
        raise DesignError(f"{listing(both)} cannot be a judge of the panel and a candidate", option="candidates")
    if len(judges) < 2:
        raise DesignError(f"a panel requires two judges or more; there {'is' if judges else 'are'} {len(judges)}")
    return judges, candidates


# -- errors of the judges -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PanelErrors:
    """What each item contributes to the covariances of the judges' errors.

    Attributes
    ----------
    products : (units, judges, judges) float
        Their sums over units, divided by items − 1, are C.
    names : tuple of str
        The items.
    """

    judges: tuple[str, ...]
    products: Floats
    names: tuple[str, ...]
    exclusions: tuple[Exclusion, ...] = ()

    @classmethod
    def of(
        cls, table: Annotations, judges: Sequence[str], people: Sequence[str], settings: JudgePanelSettings
    ) -> PanelErrors:
        """Read the items that all judges and two annotators labelled."""
        f, y, names, lost = panel_labels(table, judges, people, settings)
        products = sum(error_products(one, other) for one, other in zip(f, y, strict=True))
        assert isinstance(products, np.ndarray)
        unit = unit_codes(table, names, settings.clusters)
        whole = np.zeros((int(unit.max()) + 1, *products.shape[1:]))
        np.add.at(whole, unit, products)
        excluded = [Exclusion("item", lost, "without two annotators or without labels of all judges")] if lost else []
        return cls(tuple(judges), whole, names, tuple(excluded))

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.names)

    @property
    def contributions(self) -> Floats:
        """The contribution of each unit to the error of A / B: (units,)."""
        share, trace = panel_share(self.products.sum(axis=0)), np.trace(self.products, axis1=1, axis2=2)
        return np.asarray(self.products.sum(axis=(1, 2)) / len(self.judges) - share * trace)

    @property
    def covariances(self) -> Floats:
        """C: (judges, judges)."""
        return np.asarray(self.products.sum(axis=0) / (self.n_items - 1))

    @property
    def left_out(self) -> Floats:
        """C without each unit, up to a factor: (units, judges, judges)."""
        n = len(self.products)
        return np.asarray(self.products.sum(axis=0) - n / (n - 1) * self.products)

    @property
    def next_reduction(self) -> float:
        """The share by which one more judge like these decreases the error variance of the panel's mean."""
        size, g = len(self.judges), float(panel_share(self.covariances))
        rho = (size * g - 1) / (size - 1)
        return 1 - (1 + size * rho) / (size + 1) / g if g > 0 else math.nan

    def pairs(self) -> Iterator[dict[str, Any]]:
        """The covariance and the correlation of each pair of judges."""
        c = self.covariances
        for j, one in enumerate(self.judges):
            for k in range(j, len(self.judges)):
                square = float(c[j, j] * c[k, k])
                r = float(c[j, k]) / math.sqrt(square) if min(c[j, j], c[k, k]) > 0 else None
                yield {"judge": one, "other": self.judges[k], "covariance": float(c[j, k]), "correlation": r}

    def families(self, level: float) -> list[tuple[str, ...]]:
        """Judges whose errors are significantly more correlated than those of the other pairs."""
        size = len(self.judges)
        if size < 4 or (np.diagonal(self.covariances) <= 0).any():
            return []
        pairs = list(combinations(range(size), 2))
        whole, without = excess_correlations(self.covariances, pairs), excess_correlations(self.left_out, pairs)
        p = []
        for i in range(len(pairs)):
            found = jackknife(float(whole[i]), without[:, i], level)
            p.append(1 - one_sided(found) if math.isfinite(found.low) else 1.0)
        close = [pair for pair, q in zip(pairs, adjust_p(np.array(p), "holm"), strict=True) if q <= 1 - level]
        return [tuple(self.judges[j] for j in group) for group in _connected(close)]


def _connected(pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The groups that pairs connect, each sorted."""
    groups: list[set[int]] = []
    for pair in pairs:
        joined = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in joined] + [set(pair).union(*joined)]
    return sorted(sorted(group) for group in groups)


def panel_share(c: Floats) -> Floats:
    """Return A / B of error covariances: (..., judges, judges) -> (...)."""
    size = c.shape[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(c.sum(axis=(-2, -1)) / size / np.trace(c, axis1=-2, axis2=-1))


def excess_correlations(c: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Return Fisher's z of each pair's correlation minus the mean of the pairs of other judges: (..., pairs).

    Of a few items, the jackknife of a correlation itself is skewed: pairs are significant too often.
    """
    sd = np.sqrt(np.maximum(np.diagonal(c, axis1=-2, axis2=-1), 1e-300))
    r = np.arctanh(np.clip(c / (sd[..., :, None] * sd[..., None, :]), -NEARLY_ONE, NEARLY_ONE))
    found = []
    for j, k in pairs:
        others = [r[..., a, b] for a, b in pairs if not {a, b} & {j, k}]
        found.append(r[..., j, k] - np.mean(others, axis=0))
    return np.stack(found, axis=-1)


def panel_labels(
    table: Annotations, judges: Sequence[str], people: Sequence[str], settings: JudgePanelSettings
) -> tuple[list[Floats], list[Floats], tuple[str, ...], int]:
    """Return the labels of judges, (items, judges), and of annotators, (items, annotators), NaN if missing.

    Of categories one array per category, of its indicators; then the names of the items, and how many were lost.
    """
    scale = table.scale
    require_comparable(scale, "a panel")
    there = present(judges, table)
    gone = [name for name in judges if name not in there]
    if gone:
        raise DesignError(f"{listing(gone)} labelled no item" + (f" of {table.criteria[0]}" if table.criteria else ""))
    here = present(people, table)
    numbers = LabelNumbers.of(table)
    answers = table.where(annotator=[*judges, *here]).resolve_repeats(settings.repeats).answers()
    grid = np.full((answers.n_items, len(answers.annotators)), np.nan)
    grid[answers.item, answers.annotator] = numbers.of_answers(answers)
    place = {name: i for i, name in enumerate(answers.annotators)}
    f, y = grid[:, [place[name] for name in judges]], grid[:, [place[name] for name in here]]
    keep = ~np.isnan(f).any(axis=1) & ((~np.isnan(y)).sum(axis=1) > 1)
    if keep.sum() < 3:
        raise DesignError(
            f"{counted(int(keep.sum()), 'item')} with labels of all judges and of two annotators; 3 are required"
        )
    names = tuple(answers.items[i] for i in np.flatnonzero(keep).tolist())
    f, y = f[keep], y[keep]
    lost = int(len(keep) - keep.sum())
    if scale.ordered or scale.kind == "preference":
        return [f], [y], names, lost
    values = np.unique(np.concatenate([f.ravel(), y[~np.isnan(y)]]))
    if len(values) > MOST_LABELS:
        raise DesignError(f"{len(values)} different categories are too many for a panel; {MOST_LABELS} are allowed")
    chosen = [np.where(np.isnan(y), np.nan, (y == v).astype(float)) for v in values]
    return [(f == v).astype(float) for v in values], chosen, names, lost


def error_products(f: Floats, y: Floats) -> Floats:
    """Return the contribution of each item to the error covariances: (items, judges, judges).

    Parameters
    ----------
    f : (items, judges) float
    y : (items, annotators) float
        NaN if missing; two or more per item.
    """
    f = f - f.mean(axis=0)
    known = ~np.isnan(y)
    y = y - (y.mean(axis=0) if known.all() else np.nanmean(y))
    m = known.sum(axis=1)
    total, square = np.nansum(y, axis=1), np.nansum(y**2, axis=1)
    shared = (total**2 - square) / (m * (m - 1.0))
    toward = f * (total / m)[:, None]
    return np.asarray(f[:, :, None] * f[:, None, :] - toward[:, :, None] - toward[:, None, :] + shared[:, None, None])


def unit_codes(table: Annotations, names: Sequence[str], clusters: str | None) -> Ints:
    """Return the cluster of each item, or the item."""
    if clusters is None:
        return np.arange(len(names))
    at = dict(zip(table.items["item"].to_list(), cluster_codes(table, clusters).tolist(), strict=True))
    return np.unique(np.array([at[name] for name in names]), return_inverse=True)[1].reshape(-1).astype(np.int64)


# -- estimates ------------------------------------------------------------------------------------------


def _panel_rows(errors: PanelErrors, settings: JudgePanelSettings) -> Iterator[tuple[dict[str, Any], Estimate]]:
    """The rows of the panel as a whole."""
    size, n, without = len(errors.judges), errors.n_items, panel_share(errors.left_out)
    judge = np.trace(errors.left_out, axis1=1, axis2=2)
    if np.trace(errors.covariances) <= 0 or (judge <= 0).any():
        share = correlation = missing("the variance of the judges' errors is not above 0")
    elif len(errors.products) < LEAST_UNITS:
        units = "items" if settings.clusters is None else "clusters"
        share = correlation = missing(f"{len(errors.products)} {units}; at least {LEAST_UNITS} are required")
    else:
        value = float(panel_share(errors.covariances))
        share = jackknife(value, without, settings.confidence)
        correlation = jackknife((size * value - 1) / (size - 1), (size * without - 1) / (size - 1), settings.confidence)
    for quantity, found in (("error of the panel", share), ("error correlation", correlation)):
        ends = [1 / x if x > 0 else None for x in (found.estimate, found.high, found.low)]
        row = {"judge": None, "quantity": quantity, **found.row(), "n": n, "reason": found.reason}
        yield row | dict(zip(("judges", "judges_at_least", "judges_at_most"), ends, strict=True)), found


def _added(
    table: Annotations, judges: Sequence[str], candidates: Sequence[str], people: Sequence[str],
    settings: JudgePanelSettings,
) -> tuple[list[tuple[dict[str, Any], Estimate]], list[tuple[tuple[str, ...], Floats]]]:  # fmt: skip
    """What each candidate adds to the panel, or each judge to the others; and the items with their contributions."""
    asked = [(one, [*judges]) for one in candidates] or [(one, [j for j in judges if j != one]) for one in judges]
    found, gains = [], []
    for one, others in asked:
        f, y, names, _ = panel_labels(table, [*others, one], people, settings)
        gain = np.sum(
            [
                squared_errors(x[:, :-1].mean(axis=1), mean) - squared_errors(x.mean(axis=1), mean)
                for x, mean in ((x, np.nanmean(v, axis=1)) for x, v in zip(f, y, strict=True))
            ],
            axis=0,
        )
        unit = unit_codes(table, names, settings.clusters)
        sums = RatioSample.of(gain, np.ones(len(gain)), unit)
        gains.append((names, gain - gain.mean()))
        found.append((one, len(names), sums.mean(settings.confidence)))
    raw = [each[2].p(0.0) for each in found]
    adjusted = adjust_p(np.array([1.0 if math.isnan(p) else p for p in raw]), "holm")
    rows = []
    for (one, n, estimate), p, q in zip(found, raw, adjusted, strict=True):
        row = {"judge": one, "quantity": "added", **estimate.row(), "n": n, "reason": estimate.reason}
        unknown_p = math.isnan(p)
        rows.append((row | {"p": None if unknown_p else p, "p_adjusted": None if unknown_p else float(q)}, estimate))
    return rows, gains


def squared_errors(x: Floats, y: Floats) -> Floats:
    """Return the squared residuals of y on x by a line that is fitted without the item: (items,)."""
    n, away = len(x), x - x.mean()
    square = float(away @ away)
    slope = float(away @ y) / square if square > 0 else 0.0
    lever = 1 / n + (away**2 / square if square > 0 else 0.0)
    return np.asarray(((y - y.mean() - slope * away) / np.maximum(1 - lever, 1e-9)) ** 2)


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    numbers = ("estimate", "low", "high")
    schema: dict[str, Any] = dict.fromkeys(("criterion", "judge", "quantity"), pl.String)
    schema |= {**dict.fromkeys(numbers, pl.Float64), "n": pl.Int64}
    schema |= dict.fromkeys(("judges", "judges_at_least", "judges_at_most", "p", "p_adjusted"), pl.Float64)
    return pl.DataFrame(rows, schema={**schema, "reason": pl.String}).with_columns(pl.col(pl.Float64).fill_nan(None))


def _pairs_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    names = dict.fromkeys(("criterion", "judge", "other"), pl.String)
    return pl.DataFrame(rows, schema={**names, "covariance": pl.Float64, "correlation": pl.Float64})
