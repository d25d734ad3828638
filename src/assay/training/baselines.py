"""Baselines of a trained rater, and the measures of their agreement with annotators.

The baselines use the same embeddings and the same folds: the mean, ridge regression on the mean of an item's sentences,
ridge regression on the means of its first, middle and last third (which captures some order), and ordinal regression.
Their penalties are chosen on inner folds by document, because leaving out single items ignores documents.

There are three measures: r (for nominal categories, agreement with an annotator), RMSE, and the agreement ratio R of
the labels. All are functions of sums over items, so that documents can be resampled jointly for all raters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.estimation.intervals import Estimates
from assay.estimation.options import IntervalSettings
from assay.estimation.resampling import add_rows, estimate_sums
from assay.estimation.statistic import Floats, Ints
from assay.training.documents import Folds, Target, Texts

PENALTIES = np.logspace(-3, 3, 13)
"""Penalties of ridge regression for embeddings of length 1; the extremes were never chosen on reviews or lessons."""

ORDINAL_PENALTIES = (0.1, 1.0, 10.0)
COMPONENTS = 100
"""Principal components for ordinal regression: all 384 take four times as long, and r was .77 with both."""

INNER = 4
"""Number of inner folds."""

BASELINES = ("mean", "ridge", "ridge on thirds", "ordinal regression")


def cross_fitted(texts: Texts, vectors: list[Floats], target: Target, folds: Folds) -> dict[str, Floats]:
    """Return each baseline's out-of-fold predictions of the items: (items,) or (items, labels)."""
    one, three = features(texts, vectors)
    wanted = target.share if target.nominal else target.mean[:, None]
    ordinal = bool(len(target.number)) and target.scale.categories is not None
    found = {name: np.full(wanted.shape, np.nan) for name in BASELINES if ordinal or name != BASELINES[3]}
    for k in range(len(folds)):
        out = folds.fold == k
        train = np.flatnonzero(~out & target.labelled)
        inner = folds.inner(train, INNER, 7, k)
        found["mean"][out] = wanted[train].mean(axis=0)
        found["ridge"][out] = ridge(one[train], wanted[train], one[out], inner)
        found["ridge on thirds"][out] = ridge(three[train], wanted[train], three[out], inner)
        if ordinal:
            shares = ordinal_regression(one[train], target.share[train], one[out], inner)
            found["ordinal regression"][out, 0] = shares @ target.number
    return {name: rows if target.nominal else rows[:, 0] for name, rows in found.items()}


def features(texts: Texts, vectors: list[Floats]) -> tuple[Floats, Floats]:
    """Return the mean of each item's sentences, and the means of their first, middle and last third."""
    one, three = [], []
    for s, a, b in zip(texts.sequence.tolist(), texts.first.tolist(), texts.end.tolist(), strict=True):
        rows = vectors[s][a:b].astype(float)
        mean = rows.mean(axis=0)
        one.append(mean)
        three.append(np.concatenate([t.mean(axis=0) if len(t) else mean for t in np.array_split(rows, 3)]))
    return np.array(one), np.array(three)


def ridge(x: Floats, y: Floats, new: Floats, inner: Ints) -> Floats:
    """Predict by ridge regression with the penalty of least squared error on the inner folds: (new, outputs)."""
    errors = np.zeros(len(PENALTIES))
    for k in np.unique(inner):
        out = inner == k
        if out.all():
            continue
        for p, found in enumerate(ridges(x[~out], y[~out], x[out], PENALTIES)):
            errors[p] += ((found - y[out]) ** 2).sum()
    return ridges(x, y, new, PENALTIES[[errors.argmin()]])[0]


def ridges(x: Floats, y: Floats, new: Floats, penalties: Floats) -> list[Floats]:
    """Predictions for each penalty, from one decomposition."""
    centre, level = x.mean(axis=0), y.mean(axis=0)
    u, s, v = np.linalg.svd(x - centre, full_matrices=False)
    left, right = u.T @ (y - level), (new - centre) @ v.T
    return [right @ ((s / (s**2 + penalty))[:, None] * left) + level for penalty in penalties]


def ordinal_regression(x: Floats, share: Floats, new: Floats, inner: Ints) -> Floats:
    """Predict shares of ordered labels by proportional odds, with the penalty of highest likelihood: (new, labels)."""
    used = np.flatnonzero(share.sum(axis=0) > 0)  # a label that was never given has no threshold
    found = np.zeros((len(new), share.shape[1]))
    if len(used) < 2:
        found[:, used] = 1.0
        return found
    some = share[:, used]
    centre = x.mean(axis=0)
    v = np.linalg.svd(x - centre, full_matrices=False)[2][:COMPONENTS]
    z, fresh = (x - centre) @ v.T, (new - centre) @ v.T
    scale = z[:, 0].std() or 1.0
    z, fresh = z / scale, fresh / scale
    losses = []
    for penalty in ORDINAL_PENALTIES:
        loss = 0.0
        for k in np.unique(inner):
            out = inner == k
            if not out.all() and (some[~out].sum(axis=0) > 0).all():
                loss -= (some[out] * np.log(odds_shares(fit_odds(z[~out], some[~out], penalty), z[out]))).sum()
        losses.append(loss)
    found[:, used] = odds_shares(fit_odds(z, some, ORDINAL_PENALTIES[int(np.argmin(losses))]), fresh)
    return found


def fit_odds(z: Floats, share: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Slopes and thresholds of proportional odds: P(label ≤ k) = 1 / (1 + exp(slope · z − threshold_k))."""
    from scipy.optimize import minimize

    n, d = z.shape
    below = np.clip(np.cumsum(share.mean(axis=0))[:-1], 1e-3, 1 - 1e-3)
    start = np.log(below / (1 - below))
    steps = np.log(np.maximum(np.diff(start), 1e-3))

    def loss(at: Floats) -> tuple[float, Floats]:
        slope, threshold = at[:d], increasing_thresholds(at[d:])
        up = 1 / (1 + np.exp(np.clip(z @ slope[:, None] - threshold, -30, 30)))  # (n, labels − 1)
        edges = np.concatenate([np.zeros((n, 1)), up, np.ones((n, 1))], axis=1)
        p = np.maximum(np.diff(edges, axis=1), 1e-12)
        ratio = share / p
        by_up = (ratio[:, :-1] - ratio[:, 1:]) * up * (1 - up)  # derivative of the log-likelihood by each threshold
        gradient = np.concatenate(
            [by_up.sum(axis=1) @ z + penalty * slope, -step_derivatives(at[d:], by_up.sum(axis=0))]
        )
        return float(-(share * np.log(p)).sum() + penalty * (slope**2).sum() / 2), gradient

    found = minimize(loss, np.concatenate([np.zeros(d), start[:1], steps]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 200})  # fmt: skip
    return found.x[:d], increasing_thresholds(found.x[d:])


def increasing_thresholds(at: Floats) -> Floats:
    """Thresholds from the first one and the logarithms of the steps between them."""
    return np.cumsum(np.concatenate([at[:1], np.exp(at[1:])]))


def step_derivatives(at: Floats, by_threshold: Floats) -> Floats:
    """Derivatives with respect to the first threshold and the logarithms of the steps."""
    later = np.cumsum(by_threshold[::-1])[::-1]
    return np.concatenate([later[:1], later[1:] * np.exp(at[1:])])


def odds_shares(fit: tuple[Floats, Floats], z: Floats) -> Floats:
    """Shares of labels by proportional odds, at least 1e-12: (items, labels), from slopes and increasing thresholds."""
    slope, threshold = fit
    up = 1 / (1 + np.exp(np.clip(z @ slope[:, None] - threshold, -30, 30)))
    edges = np.concatenate([np.zeros((len(z), 1)), up, np.ones((len(z), 1))], axis=1)
    return np.maximum(np.diff(edges, axis=1), 1e-12)


# -- measures ---------------------------------------------------------------------------------------

MEASURES = ("r", "RMSE", "R")
OF_CATEGORIES = ("agreement", "RMSE", "R")
"""For nominal categories: agreement with an annotator instead of r, and RMSE of the shares of labels."""


def measures_of(target: Target) -> tuple[str, str, str]:
    """Return the names of the three measures of a target."""
    return OF_CATEGORIES if target.nominal else MEASURES


@dataclass(frozen=True)
class RaterMeasures:
    """The three measures of several raters as functions of sums over items.

    Attributes
    ----------
    n_raters, n_people : int
    width : int
        Number of coordinates of a label: 1 for numbers.
    nominal : bool
    """

    n_raters: int
    n_people: int
    width: int
    nominal: bool

    def moments(self, target: Target, values: Sequence[Floats], labels: Sequence[Floats]) -> Floats:
        """Return the summands of each item: (items, k).

        Parameters
        ----------
        values : for each rater (items,) or (items, labels) float
            Predictions before rounding.
        labels : for each rater (items, width) float
            The rounded labels, as coordinates.
        """
        n = len(target.mean)
        point = target.coordinates(target.value)
        m = np.bincount(target.item, minlength=n).astype(float)
        weight = 1 / m[target.item]
        mean, square = np.zeros((n, self.width)), np.bincount(target.item, weight * (point**2).sum(1), n)
        np.add.at(mean, target.item, weight[:, None] * point)
        several = (m >= 2).astype(float)  # an item of one annotator is not informative about agreement
        within = 2 * (square - (mean**2).sum(axis=1))
        observed = within * np.divide(m, m - 1, out=np.zeros(n), where=m >= 2)
        known = (m >= 1).astype(float)
        y = np.where(known > 0, np.nan_to_num(target.mean), 0.0)
        alone = np.divide(1, m, out=np.zeros(n), where=m > 0)
        columns = [known, y, y * y, several, several * square, several * observed, several * within, several * alone]
        columns += list((several[:, None] * mean).T)
        counted = several[target.item] * weight
        for p in range(self.n_people):
            mine = target.who == p
            for column in (np.ones(len(point)), (point**2).sum(1), *point.T):
                columns.append(np.bincount(target.item[mine], (counted * column)[mine], n))
        for value, label in zip(values, labels, strict=True):
            if self.nominal:
                columns += [
                    known * (2 * mean * label).sum(1),
                    known * ((value - np.nan_to_num(target.share)) ** 2).sum(1),
                ]
                columns += [0 * known, 0 * known]
            else:
                columns += [known * value, known * value**2, known * value * y, known * (value - y) ** 2]
            columns += [several * (label**2).sum(1), several * (label * mean).sum(1), *(several[:, None] * label).T]
        return np.stack(columns, axis=1)

    def value(self, sums: Floats) -> Floats:
        """Return r (or agreement), RMSE and R of each rater: (..., k) -> (..., 3 × raters)."""
        s, v = np.asarray(sums, dtype=float), self.width
        n, y, yy, n2, square, observed, within, alone = (s[..., k] for k in range(8))
        mean, at = s[..., 8 : 8 + v], 8 + v
        people = s[..., at : at + self.n_people * (2 + v)].reshape(*s.shape[:-1], self.n_people, 2 + v)
        at += self.n_people * (2 + v)
        raters = s[..., at:].reshape(*s.shape[:-1], self.n_raters, 6 + v)
        with np.errstate(invalid="ignore", divide="ignore"):
            same = people[..., 0] * people[..., 1] - (people[..., 2:] ** 2).sum(-1)
            apart = 2 * (n2 * square - (mean**2).sum(-1)) - within - 2 * same.sum(-1)
            pairs = n2**2 - n2 - (people[..., 0] ** 2).sum(-1) + alone
            humans = 1 - (observed / n2) / (apart / pairs)
            found = []
            for k in range(self.n_raters):
                x = raters[..., k, :]
                own, cross, point = x[..., 4], x[..., 5], x[..., 6:]
                gap = own + square - 2 * cross
                total = n2 * (own + square) - 2 * (point * mean).sum(-1) - gap
                kept = (1 - (gap / n2) / (total / (n2**2 - n2))) / np.where(humans > 0, humans, np.nan)
                if self.nominal:
                    first, error = x[..., 0] / n, x[..., 1] / n
                else:
                    spread = (x[..., 1] - x[..., 0] ** 2 / n) * (yy - y**2 / n)
                    first = (x[..., 2] - x[..., 0] * y / n) / np.sqrt(np.where(spread > 1e-12, spread, np.nan))
                    error = x[..., 3] / n
                found += [first, np.sqrt(np.maximum(error, 0)), kept]
        return np.stack(found, axis=-1)


def measure(
    target: Target, predictions: Mapping[str, Floats], folds: Folds, n_people: int, how: IntervalSettings
) -> Estimates:
    """Return the measures of each rater with intervals over documents, from the same resamples for all raters."""
    values = list(predictions.values())
    labels = []
    for value in values:
        given = target.label_of(value)
        places = [target.categories.index(one) for one in given] if target.nominal else _numbers(target, given)
        labels.append(target.coordinates(places))
    statistic = RaterMeasures(len(values), n_people, labels[0].shape[1], target.nominal)
    moments = statistic.moments(target, values, labels)
    moments[~target.labelled] = 0.0
    unit = np.unique(folds.group[target.labelled], return_inverse=True)[1]
    sums = add_rows(moments[target.labelled], unit, int(unit.max()) + 1)
    return estimate_sums(statistic, sums, how, n_items=int(target.labelled.sum()), unit="clusters")


def _numbers(target: Target, labels: Sequence[object]) -> Floats:
    import polars as pl

    return target.scale.values(pl.Series(labels))
