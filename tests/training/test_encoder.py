"""Windows, training, early stopping and checkpoints of an encoder, on texts counted by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason='training a rater needs the extra "train"')

import torch
from teaching import guessing, target

from assay.errors import DesignError
from assay.training import encoder
from assay.training.documents import Texts
from assay.training.encoder import (
    SIZES,
    EncoderFit,
    Material,
    TrainedEncoder,
    Windows,
    attribute,
    predict,
    random_windows,
    rate_factor,
    rate_items,
    sizes_for,
    value_of,
    weighted_means,
    windows_of_items,
)


def texts_of(*parts: tuple[int, int, int], lengths: tuple[int, ...]) -> Texts:
    """Items as (sequence, first, end) of sequences with given numbers of sentences."""
    sequence, first, end = (np.array(column) for column in zip(*parts, strict=True))
    names = tuple(f"i{k}" for k in range(len(parts)))
    return Texts(names, [["x"] * n for n in lengths], sequence, first, end)


def rows(windows: Windows) -> list[tuple[int, ...]]:
    columns = (windows.sequence, windows.start, windows.end, windows.item)
    return [tuple(int(one) for one in row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("part", "length", "window", "found"),
    [
        ((4, 6), 20, 6, [(2, 8)]),  # its middle is 5: three sentences before and three after
        ((4, 7), 20, 6, [(2, 8)]),
        ((0, 2), 20, 6, [(0, 6)]),  # not before the beginning
        ((18, 20), 20, 6, [(14, 20)]),  # nor beyond the end
        ((1, 3), 4, 6, [(0, 4)]),  # a text that is shorter than a window
        ((3, 9), 20, 6, [(3, 9)]),
        ((3, 10), 20, 6, [(3, 9), (4, 10)]),  # longer: over it, and the last has the same end
        ((0, 15), 20, 6, [(0, 6), (3, 9), (6, 12), (9, 15)]),  # halves overlap
        ((0, 3), 3, 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_windows_of_an_item(part, length, window, found):
    texts = texts_of((0, 0, 1), (1, *part), lengths=(1, length))
    windows = windows_of_items(texts, np.array([1]), window)
    assert rows(windows) == [(1, *one, 1) for one in found]


def test_random_windows_cover_short_texts_and_sample_long_ones():
    texts = texts_of((0, 0, 4), (1, 0, 5), (2, 0, 6), (2, 6, 9), (3, 0, 2), lengths=(4, 5, 9, 2))
    sizes = replace(SIZES["short"], window=5, windows=40)
    windows = rows(random_windows(texts, np.array([0, 1, 3]), sizes, np.random.default_rng(0)))
    assert sorted(one for one in windows if one[0] < 2) == [(0, 0, 4, -1), (1, 0, 5, -1)]
    long = [one for one in windows if one[0] == 2]
    assert len(long) == 40
    assert {one[1] for one in long} == {0, 1, 2, 3, 4}, "each place of 9 sentences where 5 have room"
    assert {one[2] - one[1] for one in long} == {5}
    assert len(windows) == 42, "no windows of texts without training items"
    assert windows != sorted(windows)


def test_weighted_means_ignore_missing_rows():
    found = weighted_means(
        np.array([[1.0], [4.0], [np.nan], [7.0]]), np.array([0, 0, 0, 2]), np.array([1, 2, 5, 3.0]), 3
    )
    np.testing.assert_array_equal(found[:, 0], [3.0, np.nan, 7.0])  # (1 + 2 × 4) / 3


def material_of(*means: list[float], train: list[int]) -> Material:
    targets = [target(None, len(one), mean=np.array(one)) for one in means]
    return Material(None, [], targets, np.array(train), np.array([]))  # type: ignore[arg-type]


def test_centre_and_spread_use_training_items():
    unknown = [math.nan] * 4
    material = material_of([1.0, 3.0, math.nan, 100.0], [2.0, 2.0, 2.0, 9.0], unknown, train=[0, 1, 2])
    centre, spread = material.centre_and_spread()
    assert centre.tolist() == [2.0, 2.0, 0.0]
    assert spread.tolist() == [1.0, 1.0, 1.0]  # √((1 + 1) / 2); of equal numbers, and of none, 1
    assert material_of([0.0, 4.0], train=[0, 1]).centre_and_spread()[1].tolist() == [2.0]


@pytest.mark.parametrize(("taken", "rate"), [(0, 0.2), (3, 0.8), (4, 1.0), (5, 0.9), (7, 0.9**3)])
def test_learning_rate_rises_and_falls(taken, rate):
    """With four steps of warm-up, the first has a fifth of the rate, and the fifth has all of it."""
    assert rate_factor(taken, replace(SIZES["short"], warm_up=4, decay=0.9)) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("losses", "best", "curve"),
    [
        ([3.0, 2.0, 2.0, 2.5], 2, 4),  # an equal loss is no improvement: two epochs without improvement end it
        ([3.0, 4.0, 2.0, 4.0, 1.0, 5.0], 5, 5),  # five epochs are the most
        ([3.0, 4.0, 5.0, 1.0], 1, 3),
    ],
)
def test_training_stops_without_improvement(losses, best, curve):
    given = iter(losses)
    fit = SimpleNamespace(
        sizes=replace(SIZES["short"], epochs=5, patience=2), curve=[], best_loss=math.inf, best=None, waited=0,
        epoch=0, step=7, total=9.0, done=False, _validation_loss=lambda: next(given),
    )  # fmt: skip
    fit._weights = lambda: fit.epoch + 1
    while not fit.done:
        EncoderFit._end(fit, 0.5)
        assert (fit.step, fit.total) == (0, 0.0)
    assert fit.curve == [[0.5, one] for one in losses[:curve]]
    assert (fit.best, fit.best_loss, fit.epoch) == (best, losses[best - 1], curve)


@pytest.mark.parametrize(
    ("seconds", "always", "is_kept"), [(0.0, True, True), (19.9, False, False), (20.0, False, True), (25.0, True, True)]
)
def test_checkpoint_is_written_every_twenty_seconds_and_at_the_end(tmp_path, monkeypatch, seconds, always, is_kept):
    monkeypatch.setattr(encoder.time, "monotonic", lambda: 100.0 + seconds)
    state = SimpleNamespace(state_dict=dict)
    parts = dict.fromkeys(EncoderFit._KEPT, 0)
    fit = SimpleNamespace(
        path=tmp_path / "fit.pt",
        saved=100.0,
        key="k",
        model=state,
        optimizer=state,
        device="cpu",
        _KEPT=EncoderFit._KEPT,
        **parts,
    )
    EncoderFit._save(fit, always=always)
    assert fit.path.is_file() == is_kept
    assert fit.saved == (100.0 + seconds if is_kept else 100.0)
    fit.path = None
    EncoderFit._save(fit, always=True)


def test_prediction_is_the_mean_of_both_heads():
    shares, mean = np.array([[0.5, 0.25, 0.25]]), np.array([3.0])
    assert value_of(target(None, 1, number=[1, 2, 3]), shares, mean).tolist() == [(0.5 + 0.5 + 0.75 + 3) / 2]
    assert value_of(target(None, 1), np.empty((1, 0)), mean).tolist() == [3.0]
    assert value_of(target(None, 1, nominal=True), shares, mean) is shares


def test_item_rating_is_the_mean_over_its_windows():
    """Of the first item there is one window, and of the second, which is longer than one, there are three."""
    made = guessing(2, 5, 1, targets=[target("a", 3), target("b", 3, nominal=True)], members=1, segments=True, window=3)
    material = Material(made.texts, made.vectors[0], made.targets, np.array([]), np.array([]))
    shares, means = predict(made.fits[0, 0], material, windows((0, 5, 8), (0, 2, 5), (0, 3, 6), (0, 4, 7)), "cpu")
    number, share = rate_items(made.fits[0, 0], material, np.array([2, 1]), "cpu")
    np.testing.assert_allclose(number, [means[0, 0], means[1:, 0].mean()], rtol=1e-6)
    np.testing.assert_allclose(share, [shares[1][0], shares[1][1:].mean(axis=0)], rtol=1e-6)
    assert np.ptp(means[:, 0]) > 1e-3


def test_sizes_for_replaces_given_values():
    found = sizes_for("long", 30, 5, layers=3, width=None, heads=2, epochs=None)
    assert (found.window, found.windows, found.layers, found.heads) == (30, 5, 3, 2)
    assert replace(found, window=140, windows=8, layers=2, heads=4) == SIZES["long"]
    with pytest.raises(DesignError, match="width 10 is not a multiple of the 4 heads"):
        sizes_for("short", 30, 5, width=10)
    assert {size.width % size.heads for size in SIZES.values()} == {0}


def test_paper_sizes_are_those_of_hardy():
    """Hardy (2025, appendix D): 8 layers of 32 heads and a width of 1,024, dropout of .75, windows of 140 sentences.

    "a 1,000 step linear ramp, followed by exponential decay with gamma = 0.9995".
    """
    paper = SIZES["paper"]
    assert (paper.layers, paper.heads, paper.width, paper.feedforward, paper.dropout) == (8, 32, 1024, 2048, 0.75)
    assert (paper.window, paper.learning_rate, paper.batch) == (140, 2.5e-5, 8)
    assert (paper.warm_up, paper.decay) == (1000, 0.9995)


@pytest.mark.parametrize("name", SIZES)
def test_sizes_have_decay_and_patience_below_epochs(name):
    sizes = SIZES[name]
    assert 0.99 < sizes.decay < 1
    assert 0 <= sizes.dropout < 1
    assert 0 < sizes.patience < sizes.epochs
    assert 0 <= sizes.positions <= 1, "the sentence embeddings have a standard deviation of 1"
    assert SIZES["long"].patience == 15, "it learns position after that many epochs without improvement"


def test_positions_have_a_standard_deviation_of_one():
    found = encoder.positions(500, 8, "cpu").numpy()
    place, rate = np.arange(500)[:, None], 10_000.0 ** (-np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(found[:, 0::2], np.sqrt(2) * np.sin(place * rate), atol=1e-4)
    np.testing.assert_allclose(found[:, 1::2], np.sqrt(2) * np.cos(place * rate), atol=1e-4)
    assert encoder.positions(3, 5, "cpu").shape == (3, 5)


# -- learning, by hand ------------------------------------------------------------------------------------


class Line(torch.nn.Module):
    """A model whose logits and means are sums over the sentences of a window."""

    def __init__(self, slope: list[float]) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(slope))

    def forward(self, x, mask):
        total = ((x @ self.slope) * mask).sum(1)
        return [torch.stack([total, 0 * total], 1), torch.empty(len(x), 0)], torch.stack([total, 2 * total], 1)


class Known(TrainedEncoder):
    """An encoder whose network is known."""

    network: torch.nn.Module

    def model(self, device: str = "cpu") -> torch.nn.Module:
        return self.network


def trained(network: torch.nn.Module, heads: tuple[int, ...], *, centre, spread, blank=()) -> TrainedEncoder:
    found = Known({}, SIZES["short"], heads, np.array(centre), np.array(spread), np.array(blank), np.ones((1, 2)))
    object.__setattr__(found, "network", network)
    return found


ONE, TWO = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([[3.0, 0.0]])


def windows(*rows: tuple[int, int, int]) -> Windows:
    return Windows(*np.array([(*row, -1) for row in rows]).T)


def test_batch_is_padded():
    material = Material(None, [ONE, TWO], [], np.array([]), np.array([]))  # type: ignore[arg-type]
    x, mask = material.batch(windows((0, 1, 3), (1, 0, 1), (0, 0, 1)), np.array([1, 0]), "cpu")
    assert x.tolist() == [[[3, 0], [0, 0]], [[0, 2], [1, 1]]]
    assert mask.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("batch", [1, 2, 64])
def test_predictions_are_on_the_label_scale_for_any_batch_size(batch):
    fitted = trained(Line([1.0, 0.5]), (2, 0), centre=[3.0, 10.0], spread=[2.0, 1.0])
    material = Material(None, [ONE, TWO], [], np.array([]), np.array([]))  # type: ignore[arg-type]
    shares, means = predict(fitted, material, windows((0, 0, 3), (1, 0, 1), (0, 1, 2)), "cpu", batch)
    total = np.array([3.5, 3.0, 1.0])
    np.testing.assert_allclose(shares[0][:, 0], 1 / (1 + np.exp(-total)))
    np.testing.assert_allclose(shares[0].sum(1), 1)
    assert shares[1].shape == (3, 0)
    np.testing.assert_allclose(means, np.stack([3 + 2 * total, 10 + 2 * total], axis=1))


def fit_of(**given) -> EncoderFit:
    """A fit before its first step: two criteria, the first with two labels, the second numeric."""
    fit = EncoderFit.__new__(EncoderFit)
    fit.material = Material(None, [ONE, TWO], [], np.array([]), np.array([]))  # type: ignore[arg-type]
    fit.sizes = replace(SIZES["short"], batch=2, learning_rate=0.5, warm_up=1)
    fit.device, fit.heads, fit.path = "cpu", (2, 0), None
    fit.centre, fit.spread, fit.model = np.array([1.0, 0.0]), np.array([2.0, 4.0]), Line([1.0, 0.5])
    for name, value in given.items():
        setattr(fit, name, value)
    return fit


def test_loss_combines_shares_and_standardised_means():
    fit = fit_of()
    drawn = windows((0, 0, 3), (1, 0, 1), (0, 1, 2))  # sums of 3.5, 3 and 1
    shares = [np.array([[0.25, 0.75], [np.nan] * 2, [1, 0]]), np.empty((3, 0))]
    means = np.array([[5.0, np.nan], [np.nan, 8.0], [3.0, 4.0]])
    near = [math.log1p(math.exp(-one)) for one in (3.5, 1.0)]  # minus the log of the first label's share
    entropy = [0.25 * near[0] + 0.75 * (near[0] + 3.5), near[1]]
    first = [(3.5 - (5 - 1) / 2) ** 2, (1 - (3 - 1) / 2) ** 2]
    second = [(6 - 8 / 4) ** 2, (2 - 4 / 4) ** 2]
    found = float(fit._loss(drawn, np.arange(3), shares, means).detach())
    assert found == pytest.approx((sum(entropy) + sum(first) + sum(second)) / 2 / 2)  # of two each, of two criteria
    alone = float(fit._loss(drawn, np.array([1]), shares, means).detach())
    assert alone == pytest.approx(16 / 2)
    nothing = fit._loss(drawn, np.array([0]), [np.full((3, 2), np.nan), shares[1]], np.full((3, 2), np.nan))
    assert float(nothing.detach()) == 0
    nothing.backward()  # without labels, nothing is learnt
    assert fit.model.slope.grad.tolist() == [0, 0]


def test_validation_loss_is_the_mean_over_windows():
    texts = texts_of((0, 0, 3), (1, 0, 1), (0, 1, 2), lengths=(3, 1))
    targets = [
        SimpleNamespace(share=np.array([[1.0, 0], [0, 1], [0.5, 0.5]]), mean=np.array([1.0, 2.0, 4.0])),
        SimpleNamespace(share=np.empty((3, 0)), mean=np.array([1.0, 9.0, 8.0])),
    ]
    fit = fit_of(sizes=replace(SIZES["short"], batch=2, window=2))
    fit.material = Material(texts, [ONE, TWO], targets, np.array([]), np.array([2, 0, 1]))  # type: ignore[arg-type]
    drawn = windows_of_items(texts, np.array([2, 0, 1]), 2)
    assert len(drawn) == 4  # the first item is longer than a window
    shares, means = [t.share[drawn.item] for t in targets], np.stack([t.mean[drawn.item] for t in targets], axis=1)
    each = [float(fit._loss(drawn, np.array([k]), shares, means).detach()) for k in range(4)]
    fit.model.train()
    assert fit._validation_loss() == pytest.approx(np.mean(each))
    assert not fit.model.training


def test_epoch_takes_one_step_per_batch_and_averages_the_loss():
    material = SimpleNamespace(texts=texts_of(*[(k, 0, 1) for k in range(5)], lengths=(1,) * 5), train=np.arange(5))
    material.wanted = lambda drawn, train: ("shares", "means")
    asked, rates, ended, sown = [], [], [], []
    fit = fit_of(step=0, taken=0, total=0.0, epoch=3, seed=(1, 2), material=material, saves=0)
    steps = []
    fit.optimizer = SimpleNamespace(param_groups=[{"lr": 9.0}], zero_grad=lambda: None, step=lambda: steps.append(1))
    fit._sow = sown.append

    def loss(drawn, which, shares, means):
        asked.append(which.tolist())
        rates.append(fit.optimizer.param_groups[0]["lr"])
        return 3.0 * len(asked) + 0.0 * fit.model.slope.sum()

    def save(*, always=False):
        fit.saves += 1

    fit._loss, fit._save, fit._end = loss, save, ended.append
    fit._pass()
    assert asked == [[0, 1], [2, 3], [4]]
    assert rates == [0.25, 0.5, 0.5 * fit.sizes.decay]  # one step of warm-up, then the highest, then it falls
    assert ended == [pytest.approx((2 * 3 + 2 * 6 + 1 * 9) / 5)]
    assert (fit.step, fit.taken, fit.saves, len(steps), sown) == (3, 3, 4, 3, [4])
    asked.clear()
    fit.step, fit.total = 1, 6.0  # continues within an epoch: the random state is in the checkpoint
    fit._pass()
    assert (asked, sown) == ([[2, 3], [4]], [4])
    assert ended[1] == pytest.approx((6 + 2 * 3 + 6) / 5)


def test_epoch_randomness_depends_on_seed_and_number_only():
    drawn = {}
    for seed, epoch in ((1, 0), (1, 1), (2, 0), (1, 0)):
        fit_of(seed=(seed,))._sow(epoch)
        drawn.setdefault((seed, epoch), []).append(float(torch.rand(1)))
    assert drawn[1, 0][0] == drawn[1, 0][1]
    assert len({one[0] for one in drawn.values()}) == 3


def test_settled_restores_process_settings(monkeypatch):
    asked, threads, before = [], torch.get_num_threads(), torch.get_rng_state()
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: "as before")
    monkeypatch.setattr(torch, "use_deterministic_algorithms", asked.append)
    with encoder.settled(threads + 1):
        assert torch.get_num_threads() == threads + 1
        assert asked == [not torch.cuda.is_available()]
        torch.rand(3)
    assert (torch.get_num_threads(), asked[1:]) == (threads, ["as before"])
    assert torch.equal(torch.get_rng_state(), before)


class Square(torch.nn.Module):
    """Means that are squares, and two labels whose log odds are sums: contributions are known."""

    def forward(self, x, mask):
        total = x.sum()
        return [torch.stack([-total, total])[None], torch.empty(1, 0)], torch.stack([total**2, 2 * total])[None]


def test_attribute_by_hand():
    """For a sum t of sentences the mean is t²: from t = 1 to 5 it gains 24, divided in proportion to the changes."""
    fitted = trained(Square(), (2, 0), centre=[10.0, 0.0], spread=[2.0, 3.0], blank=[0.5])
    vectors = np.array([[1.5], [3.5]])
    numbers = target(None, 1)
    added, rating, blank = attribute(fitted, vectors, numbers, 0, steps=4)
    # 2 (t² + 5): the first goes a step of 1 and the second of 3, with a slope of 2 · 2t, on average 12.
    np.testing.assert_allclose(added, [12, 36], rtol=1e-5)
    assert (rating, blank) == (60.0, 12.0)
    other = attribute(fitted, vectors, numbers, 1, steps=4)
    np.testing.assert_allclose(other[0], [6, 18], rtol=1e-5)
    assert other[1:] == (30.0, 6.0)
    both = target(None, 1, number=[0, 4])
    rated = lambda t: (4 / (1 + math.exp(-2 * t)) + 10 + 2 * t**2) / 2  # noqa: E731 - labels 0 and 4, and the mean
    added, rating, blank = attribute(fitted, vectors, both, 0)
    assert (rating, blank) == pytest.approx((rated(5), rated(1)))
    assert added.sum() == pytest.approx(rating - blank, abs=1e-2)
    assert added[1] == pytest.approx(3 * added[0])
    kinds = target(None, 1, nominal=True)
    added, rating, blank = attribute(fitted, vectors, kinds, 0)
    assert (rating, blank) == pytest.approx((1 / (1 + math.exp(-10)), 1 / (1 + math.exp(-2))))
    assert added.sum() == pytest.approx(rating - blank, abs=1e-3)
    less = attribute(fitted, -vectors, kinds, 0)  # the most probable is now the first
    assert less[1] == pytest.approx(1 / (1 + math.exp(-10)))
