"""Every fast solver against its slow reference, on small random tables with missing cells: values and intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
import references
from assay.concordance.measures import (
    bias,
    cohen_kappa,
    correlation,
    exact_agreement,
    fleiss_kappa,
    gwet_ac,
    icc,
    krippendorff_alpha,
    mae,
    rmse,
    scott_pi,
    within_agreement,
)
from assay.data.annotations import Annotations
from assay.data.scales import Ordinal
from assay.estimation.resampling import resampling_counts
from assay.estimation.small_samples import Tailed
from assay.psychometrics.g_study import g_study
from assay.statistics.wins import exact_p

CATEGORIES = (1, 2, 3, 4)
NEAR = {"rel": 1e-7, "abs": 1e-9}


def table(n: int, m: int, seed: int, missing: float) -> list[list[int | None]]:
    """Labels 1 to 4 of annotators who agree somewhat; every item has two labels at least."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 5, n)
    rows: list[list[int | None]] = []
    for t in truth:
        row: list[int | None] = [
            int(t) if rng.random() < 0.55 else int(np.clip(t + rng.integers(-2, 3), 1, 4)) for _ in range(m)
        ]
        for j in np.flatnonzero(rng.random(m) < missing):
            if sum(v is not None for v in row) > 2:
                row[j] = None
        rows.append(row)
    return rows


def labels_of(rows: list[list[int | None]]) -> Annotations:
    """The same as the project reads it."""
    cells = [
        {"item": f"i{i:03d}", "annotator": f"r{j}", "label": v}
        for i, row in enumerate(rows)
        for j, v in enumerate(row)
        if v is not None
    ]
    return assay.read(pl.DataFrame(cells), scale=Ordinal(1, 4))


# -- agreement ----------------------------------------------------------------------------------------


def agreed(rows: Any, least: float = 0.0) -> float:
    """Mean over items of the share of its pairs that are as near."""
    shares = []
    for row in rows:
        pairs = list(itertools.combinations([v for v in row if v is not None], 2))
        shares.append(sum(abs(a - b) <= least for a, b in pairs) / len(pairs))
    return sum(shares) / len(shares)


def scott(rows: Any) -> float:
    """Fleiss's kappa of two."""
    return references.fleiss_kappa(rows, CATEGORIES)


def differences(rows: Any) -> list[float]:
    """Of the first annotator from the second."""
    return [b - a for a, b in rows]


def mean(values: Any) -> float:
    values = list(values)
    return sum(values) / len(values)


def of_columns(function: Callable[[Any, Any], float], rows: Any) -> float:
    """Of both annotators' labels."""
    return function(*zip(*rows, strict=True))


MANY: dict[str, tuple[Callable[..., Any], Callable[[Any], float], str]] = {
    **{
        f"alpha {level}": (partial(krippendorff_alpha, level=level),
                           partial(references.krippendorff_alpha, level=level), "fisher")
        for level in ("nominal", "ordinal", "interval", "ratio")
    },
    "fleiss": (fleiss_kappa, partial(references.fleiss_kappa, categories=CATEGORIES), "fisher"),
    **{
        f"gwet {weights}": (partial(gwet_ac, weights=weights),
                            partial(references.gwet_ac, categories=CATEGORIES, weights=weights), "fisher")
        for weights in ("none", "linear", "quadratic", "ordinal")
    },
    "agreement": (exact_agreement, agreed, "share"),
    "within one": (partial(within_agreement, k=1), partial(agreed, least=1), "share"),
}  # fmt: skip
PAIRS: dict[str, tuple[Callable[..., Any], Callable[[Any], float], str]] = {
    **{
        f"cohen {weights}": (partial(cohen_kappa, weights=weights),
                             partial(references.cohen_kappa, categories=CATEGORIES, weights=weights), "fisher")
        for weights in ("none", "linear", "quadratic", "ordinal")
    },
    "scott": (scott_pi, scott, "fisher"),
    "pearson": (partial(correlation, kind="pearson"), partial(of_columns, references.pearson), "fisher"),
    "spearman": (partial(correlation, kind="spearman"), partial(of_columns, references.spearman), "fisher"),
    "kendall": (partial(correlation, kind="kendall"), partial(of_columns, references.kendall), "fisher"),
    "mae": (mae, lambda rows: mean(abs(d) for d in differences(rows)), "log"),
    "rmse": (rmse, lambda rows: math.sqrt(mean(d**2 for d in differences(rows))), "log"),
    "bias": (lambda labels, **o: bias(labels, ["r0", "r1"], **o), lambda rows: mean(differences(rows)), "none"),
}  # fmt: skip


def asked(name: str, seed: int) -> tuple[Callable[..., Any], Callable[[Any], float], str, list[Any], Annotations]:
    """The fast method, the slow one, the scale of its jackknife, and a table; 20 items or more split its annotators."""
    fast, slow, scale = (MANY | PAIRS)[name]
    rows = table(48, 4, seed, 0.25) if name in MANY else table(72, 2, seed, 0.0)
    return fast, slow, scale, rows, labels_of(rows)


EVERY = pytest.mark.parametrize("name", [*MANY, *PAIRS])


@EVERY
@pytest.mark.parametrize("seed", [1, 2])
def test_a_coefficient_and_its_jackknife_by_leaving_out_each_item(name, seed):
    fast, slow, scale, rows, labels = asked(name, seed)
    found = fast(labels, confidence=0.9)
    assert found.estimate == pytest.approx(slow(rows), **NEAR)
    error, _ = references.jackknife(slow, rows)
    assert found.standard_error == pytest.approx(error, **NEAR)
    if isinstance(found.found.score, Tailed):  # the limit of a root mean square has separate tests
        return
    assert found.found.score is None, "enough items decide"
    if scale == "share":
        p = found.estimate
        ratio = stats.norm.ppf(0.95) / stats.t.ppf(0.95, len(rows) - 1)
        n = p * (1 - p) / error**2 * ratio**2
        ends = references.wilson(p * n, n, 0.9)
    else:
        ends = references.jackknife_interval(slow, rows, 0.9, scale)
    assert (found.low, found.high) == pytest.approx(ends, **NEAR)


@EVERY
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_coefficient_and_its_bootstrap_by_drawing_items(name, method):
    fast, slow, _, rows, labels = asked(name, 3)
    found = fast(labels, method=method, n_resamples=64, confidence=0.8, seed=5)
    replicates = references.resampled(slow, rows, resampling_counts(len(rows), 64, seed=5))
    np.testing.assert_allclose(found.found.replicates[:, 0], replicates, rtol=1e-7, atol=1e-9)
    if method == "percentile":
        ends = references.percentile_interval(replicates, 0.8)
    else:
        ends = references.bca_interval(slow(rows), replicates, references.jackknife(slow, rows)[1], 0.8)
    assert (found.low, found.high) == pytest.approx(ends, **NEAR)


@pytest.mark.parametrize("form", ["ICC(1)", "ICC(k)", "ICC(C,1)", "ICC(C,k)", "ICC(A,1)", "ICC(A,k)"])
def test_intraclass_correlations_and_their_intervals(form):
    rows = table(36, 3, 4, 0.0)
    labels, slow = labels_of(rows), partial(references.icc, form=form)
    found = icc(labels, form=form, raters="fixed", confidence=0.9)
    assert found.estimate == pytest.approx(slow(rows), **NEAR)
    assert (found.low, found.high) == pytest.approx(references.jackknife_interval(slow, rows, 0.9, "fisher"), **NEAR)
    drawn = icc(labels, form=form, raters="fixed", method="percentile", n_resamples=64, seed=2)
    replicates = references.resampled(slow, rows, resampling_counts(len(rows), 64, seed=2))
    assert (drawn.low, drawn.high) == pytest.approx(references.percentile_interval(replicates), **NEAR)
    # Annotators as a sample: without each of them, the mean of three labels is still meant.
    both = icc(labels, form=form, raters="random")
    if form not in ("ICC(1)", "ICC(k)"):

        def stepped(cells: np.ndarray) -> float:
            single = references.icc(cells.tolist(), form.replace("k", "1"))
            return 3 * single / (1 + 2 * single) if form.endswith("k)") else single

        error, *ends = references.random_raters_interval(stepped, np.array(rows, dtype=float), range(3), scale="z")
        assert both.standard_error == pytest.approx(error, **NEAR)
        assert (both.low, both.high) == pytest.approx(tuple(ends), **NEAR)


def test_a_paired_difference_of_two_judges_by_leaving_out_each_item():
    """Both use the same items: the difference is recomputed without each item, not each judge's error separately."""
    rows = table(40, 2, 6, 0.0)
    pairs = [(a, b) for a, b in rows]

    def lead(some: Any) -> float:
        return mean(a == 2 for a, _ in some) - mean(b == 2 for _, b in some)

    from assay.estimation.resampling import Mean, estimate

    data = np.array([[a == 2, b == 2] for a, b in pairs], dtype=float)
    found = estimate(Mean(), data, method="jackknife").contrast([[1, -1]])[0]
    assert (found.low, found.high) == pytest.approx(references.jackknife_interval(lead, pairs), **NEAR)
    drawn = estimate(Mean(), data, n_resamples=64, seed=8).contrast([[1, -1]])[0]
    replicates = references.resampled(lead, pairs, resampling_counts(40, 64, seed=8))
    assert (drawn.low, drawn.high) == pytest.approx(references.percentile_interval(replicates), **NEAR)


# -- pairwise comparisons -----------------------------------------------------------------------------


def votes(n: int, seed: int) -> pl.DataFrame:
    """Votes of three between four systems, two an item; ties and skipped items."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        a, b = rng.choice(4, 2, replace=False)
        for w in rng.choice(3, 2, replace=False):
            lean = 0.5 * (b - a) + rng.logistic()
            rows.append((f"i{i:03d}", f"w{w}", f"s{a}", f"s{b}", 0 if abs(lean) < 0.4 else int(np.sign(lean))))
    return pl.DataFrame(rows, schema=["item", "annotator", "first", "second", "label"], orient="row")


def scored(frame: pl.DataFrame) -> list[tuple[str, str, float]]:
    """A win of the first is −1 on the scale of preferences."""
    return [(r["first"], r["second"], (1 - r["label"]) / 2) for r in frame.iter_rows(named=True)]


@pytest.mark.slow
def test_bradley_terry_by_iterations_and_its_intervals_by_drawing_items():
    frame = votes(60, 1)
    by_item = [scored(part) for part in frame.partition_by("item", maintain_order=True)]
    names = ["s0", "s1", "s2", "s3"]

    def ratings(some: list[Any]) -> list[float]:
        found = references.bradley_terry([vote for item in some for vote in item])
        return [1000 + 400 / math.log(10) * found[name] for name in names]

    labels = assay.read(frame, scale="preference")
    wanted = dict(zip(names, ratings(by_item), strict=True))
    plain = assay.ratings(labels, method="jackknife")
    found = {r["system"]: r for r in plain.rows.iter_rows(named=True)}
    assert {name: row["estimate"] for name, row in found.items()} == pytest.approx(wanted, abs=1e-5)
    without = [ratings([item for j, item in enumerate(by_item) if j != i]) for i in range(60)]
    drawn = assay.ratings(labels, method="percentile", n_resamples=20, seed=3)
    counts = resampling_counts(60, 20, seed=3)
    replicates = [
        ratings([item for item, k in zip(by_item, row, strict=True) for _ in range(int(k))]) for row in counts
    ]
    rows = {r["system"]: r for r in drawn.rows.iter_rows(named=True)}
    for j, name in enumerate(names):
        error = math.sqrt(59 / 60 * sum((w[j] - mean(o[j] for o in without)) ** 2 for w in without))
        half = stats.t.ppf(0.975, 59) * error
        assert (found[name]["low"], found[name]["high"]) == pytest.approx(
            (wanted[name] - half, wanted[name] + half), abs=1e-3
        )
        ends = references.percentile_interval([one[j] for one in replicates])
        assert (rows[name]["low"], rows[name]["high"]) == pytest.approx(ends, abs=1e-3)
    # Ranks by the same method: a difference is significant if its interval excludes 0.
    apart = plain.difference("s0", "s3")
    gap = [w[0] - w[3] for w in without]
    error = math.sqrt(59 / 60 * sum((g - mean(gap)) ** 2 for g in gap))
    assert apart.estimate == pytest.approx(wanted["s0"] - wanted["s3"], abs=1e-4)
    assert apart.standard_error == pytest.approx(error, rel=1e-4)


# -- variances ----------------------------------------------------------------------------------------


def test_a_crossed_d_study_by_the_formulas():
    """Persons, items and occasions crossed: Brennan (2001), chapter 4, at every number that is asked for."""
    rng = np.random.default_rng(9)
    cells = rng.normal(size=(9, 1, 1)) + 0.5 * rng.normal(size=(1, 4, 1)) + 0.4 * rng.normal(size=(1, 1, 3))
    cells = cells + 0.5 * rng.normal(size=(9, 4, 1)) + 0.3 * rng.normal(size=(9, 1, 3)) + rng.normal(size=(9, 4, 3))
    rows = [
        {"item": f"{p}-{i}-{o}", "annotator": "a", "label": float(cells[p, i, o]), "p": p, "i": i, "o": o}
        for p, i, o in itertools.product(range(9), range(4), range(3))
    ]
    labels = assay.read(pl.DataFrame(rows), scale="interval:-100-100")
    study = g_study(labels, "p x i x o", "p", method="none")
    variances = dict(study.components.select("effect", "estimate").iter_rows())
    found = study.d_study({"i": [1, 3, 10], "o": [1, 4]}, target=0.6, coefficient="generalizability")
    for row in found.projected.iter_rows(named=True):
        both = references.d_study(variances, "p", {"i": row["i"], "o": row["o"]})
        assert row["estimate"] == pytest.approx(both[row["coefficient"] == "dependability"], rel=1e-9)
    for row in found.smallest.iter_rows(named=True):
        others = {f: row[f] for f in ("i", "o") if f != found.along}
        reach = [n for n in range(1, 400) if references.d_study(variances, "p", {**others, found.along: n})[0] >= 0.6]
        assert row["smallest"] == (reach[0] if reach else None)
        assert row["limit"] == pytest.approx(references.d_study(variances, "p", {**others, found.along: 10**12})[0])


# -- odd ones out -------------------------------------------------------------------------------------


def test_similarities_of_texts_by_counting():
    rng = np.random.default_rng(12)
    texts = [f"t{k}" for k in range(6)]
    rows, choices = [], []
    for i, three in enumerate(itertools.combinations(texts, 3)):
        for who in ("ann", "bob", "cho"):
            if rng.random() < 0.7:
                order = list(rng.permutation(three))
                # Mostly the text that is farthest along is odd.
                odd = order.index(max(three)) if rng.random() < 0.6 else int(rng.integers(3))
                rows.append((f"{i}{who}", who, "ABC"[odd], *order))
                choices.append((order, odd))
    schema = ["item", "annotator", "label", "first_item", "second_item", "third_item"]
    labels = assay.read(pl.DataFrame(rows, schema=schema, orient="row"), scale="odd-one-out")
    found = assay.triplet_similarity(labels, floor=1, confidence=0.9)
    wanted = references.triplet_similarity(choices)
    assert found.table.height == len(wanted)
    for row in found.table.iter_rows(named=True):
        kept, number = wanted[tuple(sorted((row["first"], row["second"])))]
        assert (row["estimate"], row["n"]) == (pytest.approx(kept / number), number)
        assert found.of(row["second"], row["first"])["estimate"] == row["estimate"]


# -- probabilities ------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_the_exact_test_keeps_its_level_over_every_outcome(epsilon):
    """At the boundary of the hypothesis, for any share of ties, and not so conservative that it never rejects."""
    n = 13
    p = {one: float(exact_p(np.array([one], dtype=float), epsilon)[0][0]) for one in references.outcomes(n)}
    levels = []
    for discordant in np.linspace(max(epsilon, 0.02), 1, 15):
        chances = ((discordant - epsilon) / 2, 1 - discordant, (discordant + epsilon) / 2)
        levels.append(references.level(lambda one: p[one] <= 0.05, n, chances))
    assert max(levels) <= 0.05
    assert max(levels) > 0.025
    # More wins instead of losses never make it less likely.
    for wins, ties, losses in references.outcomes(n):
        if losses:
            assert p[wins + 1, ties, losses - 1] <= p[wins, ties, losses] + 1e-12
