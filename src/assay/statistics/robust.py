"""Is a mean of class means below epsilon? A score test where items have classes, or where they share clusters.

Differences d are −1, 0 or 1, counted by class; δ = Σ δ_c / K is the mean of class means, Var(δ̂) = Σ σ²_c / n_c / K².
With few items in a class the variance that is seen there says little: five ties have none. So, as in Tango's (1998)
test of one class, σ²_c are those of the likeliest probabilities *under the hypothesis* δ = ε (Miettinen & Nurminen
1985, whose n / (n − 1) stands here for each class): a class without a loss is granted as many as the hypothesis needs.

The likelihood Σ_c (w log p₋ + t log p₀ + l log p₊) is largest under the hypothesis where, in each class,

    p₊ = l / (μ − κ),   p₀ = t / μ,   p₋ = w / (μ + κ),   p₊ + p₀ + p₋ = 1,

with one multiplier κ for all classes, found so that Σ δ_c = K ε; a class without a loss has p₊ > 0 from κ = t + w / 2
on, where μ = κ. The test compares (δ̂ − ε) / se with the normal distribution; in clusters se is multiplied by √deff, the
design effect, and the distribution is t.

References
----------
Miettinen & Nurminen (1985), Statistics in Medicine 4: 213-226. Tango (1998), Statistics in Medicine 17: 891-908.
Rao & Scott (1992), Biometrics 48: 577-585 (score tests divided by a design effect).
"""

from __future__ import annotations

import numpy as np

from assay.estimation.statistic import Floats
from assay.statistics.wins import LOSS, TIE, WIN

STEPS = 60
"""Rounds in which the multiplier is looked for; a dozen do nearly always."""

CLOSE = 1e-9
"""How near to epsilon the mean under the hypothesis must come."""


def robust_p(
    counts: Floats, epsilon: float | Floats, design: float | Floats = 1.0, df: float | Floats = np.inf
) -> tuple[Floats, Floats]:
    """The two one-sided p-values of the mean of class means.

    Parameters
    ----------
    counts : (..., classes, 3) float
        Wins (d = −1), ties and losses (d = 1); shares of items are allowed. Classes without items do not count.
    epsilon : float or (...)
    design, df : float or (...)
        The design effect and the degrees of freedom: 1 and infinity where items are independent.

    Returns
    -------
    p, reverse : (...) float
        Of H0: E[d] >= epsilon, small where wins prevail; and of H0: E[d] <= epsilon. NaN where there is no item.
    """
    from scipy.special import ndtr, stdtr

    mean, variance = restricted(counts, epsilon)
    above = mean - epsilon
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(np.abs(above) < CLOSE, np.where(np.isnan(mean), np.nan, 0.0), above / np.sqrt(variance * design))
    df = np.broadcast_to(np.asarray(df, dtype=float), z.shape)
    few = np.isfinite(df)
    p, reverse = ndtr(z), ndtr(-z)
    if few.any():
        p, reverse = (np.where(few, stdtr(np.where(few, df, 1.0), s), one) for s, one in ((z, p), (-z, reverse)))
    return p, reverse


def restricted(counts: Floats, epsilon: float | Floats) -> tuple[Floats, Floats]:
    """The mean of class means, and its variance under the hypothesis that it is epsilon: (...) each."""
    n = counts.sum(axis=-1)
    there = n > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(there, (counts[..., LOSS] - counts[..., WIN]) / n, 0.0)
        classes = there.sum(axis=-1)
        mean = means.sum(axis=-1) / classes
    bound = np.broadcast_to(np.asarray(epsilon, dtype=float), mean.shape)
    # The multiplier raises the mean; where it has to fall, wins and losses change places.
    turned = mean > bound
    wins, losses = (
        np.where(turned[..., None], counts[..., other], counts[..., one]) for one, other in ((WIN, LOSS), (LOSS, WIN))
    )
    each = _likeliest(wins, counts[..., TIE], losses, np.where(turned, -bound, bound) * classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A class of one item or less has no variance to speak of, so none is too large.
        variance = np.where(there, each / np.maximum(n - 1, CLOSE), 0.0).sum(axis=-1) / classes**2
    return mean, variance


def _likeliest(wins: Floats, ties: Floats, losses: Floats, total: Floats) -> Floats:
    """Var(d) of each class where the likelihood is largest under Σ δ_c = ``total``, which is no less than it is now."""
    k = wins.shape[-1]
    counts = np.stack([one.reshape(-1, k) for one in (wins, ties, losses)])
    n, total = counts.sum(axis=0), total.reshape(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Every δ_c is at least 1 − n_c / κ.
        high = n.sum(axis=-1) / np.maximum(np.count_nonzero(n > 0, axis=-1) - total, 1e-12)
    low, kappa, mu = np.zeros(len(high)), np.minimum(high, 1e-3 * n.sum(axis=-1)), n.copy()
    variance = np.zeros(n.shape)
    left = np.arange(len(high))
    for _ in range(STEPS):
        delta, slope, variance[left], mu[left] = _tilted(counts[:, left], kappa[left, None], mu[left])
        lacking = total[left] - delta.sum(axis=-1)
        rise = slope.sum(axis=-1)
        open_ = np.abs(lacking) > CLOSE
        if not open_.any():
            break
        left, lacking, rise = left[open_], lacking[open_], rise[open_]
        at = kappa[left]
        low[left], high[left] = np.where(lacking > 0, at, low[left]), np.where(lacking > 0, high[left], at)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = at + lacking / rise
        inside = (step > low[left]) & (step < high[left])
        kappa[left] = np.where(inside, step, (low[left] + high[left]) / 2)
    return variance.reshape(wins.shape)


def _tilted(counts: Floats, kappa: Floats, near: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """δ of each class at a multiplier, its slope in the multiplier, Var(d), and μ, looked for from ``near`` on."""
    (wins, ties, losses), n = counts, counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        least = kappa + losses
        mu = np.maximum(near, least)
        for _ in range(STEPS):
            # Σ p − 1 is convex and falls in μ, so from the left Newton's steps never pass the root.
            a, b, c = losses / (mu - kappa), wins / (mu + kappa), ties / mu
            steps = (a + b + c - 1) / (a / (mu - kappa) + b / (mu + kappa) + c / mu)
            moved = np.maximum(mu + np.where(losses > 0, steps, 0.0), least)
            still = np.abs(moved - mu) <= 1e-13 * moved
            mu = moved
            if still.all():
                break
        # Without a loss the equation is quadratic; its root falls below κ where p₊ > 0.
        root = ((n - kappa) + np.sqrt((n - kappa) ** 2 + 4 * ties * kappa)) / 2
        mu = np.where(losses > 0, mu, np.maximum(root, kappa))
        granted = (losses == 0) & (root <= kappa)
        minus, zero = wins / (mu + kappa), ties / mu
        plus = np.where(granted, 1 - minus - zero, np.where(losses > 0, losses / (mu - kappa), 0.0))
        a, b, c = (np.where(k > 0, p**2 / k, 0.0) for k, p in ((losses, plus), (wins, minus), (ties, zero)))
        slope = np.where(granted, n / kappa**2, a + b - (a - b) ** 2 / np.maximum(a + b + c, 1e-300))
        delta = plus - minus
        delta, slope, variance = (np.where(n > 0, v, 0.0) for v in (delta, slope, plus + minus - delta**2))
        return delta, slope, variance, mu
