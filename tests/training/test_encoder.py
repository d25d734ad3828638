"""What an encoder reads, how its training goes on and ends, and what is kept of it: on texts counted by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch", reason='training a rater needs the extra "train"')

from assay.errors import DesignError
from assay.training import encoder
from assay.training.documents import Texts
from assay.training.encoder import (
    SIZES,
    EncoderFit,
    Material,
    Windows,
    _weighted_means,
    random_windows,
    rate_items,
    sizes_for,
    value_of,
    windows_of_items,
)


def texts_of(*parts: tuple[int, int, int], lengths: tuple[int, ...]) -> Texts:
    """Items as (sequence, first, end) of sequences with so many sentences."""
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
        ((3, 10), 20, 6, [(3, 9), (4, 10)]),  # longer: over it, and the last ends where it ends
        ((0, 15), 20, 6, [(0, 6), (3, 9), (6, 12), (9, 15)]),  # halves overlap
        ((0, 3), 3, 1, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_windows_of_an_item(part, length, window, found):
    texts = texts_of((0, 0, 1), (1, *part), lengths=(1, length))
    windows = windows_of_items(texts, np.array([1]), window)
    assert rows(windows) == [(1, *one, 1) for one in found]


def test_each_text_is_read_whole_or_in_windows_drawn_at_random():
    texts = texts_of((0, 0, 4), (1, 0, 5), (2, 0, 6), (2, 6, 9), (3, 0, 2), lengths=(4, 5, 9, 2))
    sizes = replace(SIZES["short"], window=5, windows=40)
    windows = rows(random_windows(texts, np.array([0, 1, 3]), sizes, np.random.default_rng(0)))
    assert sorted(one for one in windows if one[0] < 2) == [(0, 0, 4, -1), (1, 0, 5, -1)]
    long = [one for one in windows if one[0] == 2]
    assert len(long) == 40
    assert {one[1] for one in long} == {0, 1, 2, 3, 4}, "each place of 9 sentences where 5 have room"
    assert {one[2] - one[1] for one in long} == {5}
    assert len(windows) == 42, "nothing of a text of which no item trains"
    assert windows != sorted(windows)


def test_means_by_weight_leave_out_what_nobody_said():
    found = _weighted_means(
        np.array([[1.0], [4.0], [np.nan], [7.0]]), np.array([0, 0, 0, 2]), np.array([1, 2, 5, 3.0]), 3
    )
    np.testing.assert_array_equal(found[:, 0], [3.0, np.nan, 7.0])  # (1 + 2 × 4) / 3


def material_of(*means: list[float], train: list[int]) -> Material:
    targets = [SimpleNamespace(mean=np.array(one)) for one in means]
    return Material(None, [], targets, np.array(train), np.array([]))  # type: ignore[arg-type]


def test_centre_and_spread_are_of_what_is_trained_on():
    unknown = [math.nan] * 4
    material = material_of([1.0, 3.0, math.nan, 100.0], [2.0, 2.0, 2.0, 9.0], unknown, train=[0, 1, 2])
    centre, spread = material.centre_and_spread()
    assert centre.tolist() == [2.0, 2.0, 0.0]
    assert spread.tolist() == [1.0, 1.0, 1.0]  # √((1 + 1) / 2); of equal numbers, and of none, 1
    assert material_of([0.0, 4.0], train=[0, 1]).centre_and_spread()[1].tolist() == [2.0]


@pytest.mark.parametrize(("taken", "rate"), [(0, 0.2), (3, 0.8), (4, 1.0), (5, 0.9), (7, 0.9**3)])
def test_the_learning_rate_rises_and_falls(taken, rate):
    """Of four steps of warm-up the first has a fifth, the one after them all of it."""
    fit = SimpleNamespace(taken=taken, sizes=replace(SIZES["short"], warm_up=4, decay=0.9))
    assert EncoderFit._rate(fit) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("losses", "best", "curve"),
    [
        ([3.0, 2.0, 2.0, 2.5], 2, 4),  # as good as before is no gain: two without any end it
        ([3.0, 4.0, 2.0, 4.0, 1.0, 5.0], 5, 5),  # five epochs are the most
        ([3.0, 4.0, 5.0, 1.0], 1, 3),
    ],
)
def test_training_ends_when_it_gains_no_more(losses, best, curve):
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
def test_a_checkpoint_is_made_every_twenty_seconds_and_at_the_end(tmp_path, monkeypatch, seconds, always, is_kept):
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


def test_a_prediction_is_the_mean_of_both_heads():
    shares, mean = np.array([[0.5, 0.25, 0.25]]), np.array([3.0])
    numbers = SimpleNamespace(nominal=False, number=np.array([1.0, 2.0, 3.0]))
    assert value_of(numbers, shares, mean).tolist() == [(0.5 + 0.5 + 0.75 + 3) / 2]
    assert value_of(SimpleNamespace(nominal=False, number=np.array([])), np.empty((1, 0)), mean).tolist() == [3.0]
    assert value_of(SimpleNamespace(nominal=True, number=np.array([])), shares, mean) is shares


def test_an_item_has_the_mean_over_its_windows(monkeypatch):
    texts = texts_of((0, 0, 2), (1, 0, 5), (1, 5, 6), lengths=(2, 6))
    numbers = SimpleNamespace(nominal=False, number=np.array([]))
    kinds = SimpleNamespace(nominal=True, number=np.array([]))
    material = SimpleNamespace(texts=texts, targets=[numbers, kinds])
    fitted = SimpleNamespace(sizes=SimpleNamespace(window=3))
    asked = []

    def predict(fitted, material, windows, device):
        asked.extend(rows(windows))
        value = np.arange(1.0, len(windows) + 1)
        shares = np.stack([value / 10, 1 - value / 10], axis=1)
        return [np.empty((len(windows), 0)), shares], np.stack([value, value], axis=1)

    monkeypatch.setattr(encoder, "predict", predict)
    number, share = rate_items(fitted, material, np.array([2, 1]), "cpu")
    assert asked == [(1, 3, 6, 2), (1, 0, 3, 1), (1, 1, 4, 1), (1, 2, 5, 1)]
    assert number.tolist() == [1.0, 3.0]  # the second has windows 2, 3 and 4
    np.testing.assert_allclose(share, [[0.1, 0.9], [0.3, 0.7]])


def test_sizes_of_a_name_with_what_was_given_in_their_place():
    found = sizes_for("long", 30, 5, layers=3, width=None, heads=2, epochs=None)
    assert (found.window, found.windows, found.layers, found.heads) == (30, 5, 3, 2)
    assert replace(found, window=140, windows=8, layers=2, heads=4) == SIZES["long"]
    with pytest.raises(DesignError, match="a width of 10 cannot be divided among 4 heads"):
        sizes_for("short", 30, 5, width=10)
    assert {size.width % size.heads for size in SIZES.values()} == {0}


def test_sizes_of_the_paper_are_those_of_hardy():
    """Hardy (2025, appendix D): 8 layers of 32 heads and a width of 1,024, dropout of .75, windows of 140 sentences."""
    paper = SIZES["paper"]
    assert (paper.layers, paper.heads, paper.width, paper.feedforward, paper.dropout) == (8, 32, 1024, 2048, 0.75)
    assert (paper.window, paper.learning_rate, paper.batch) == (140, 2.5e-5, 8)


@pytest.mark.parametrize("name", SIZES)
def test_steps_shrink_and_patience_ends_before_the_epochs_do(name):
    sizes = SIZES[name]
    assert 0.99 < sizes.decay < 1
    assert 0 <= sizes.dropout < 1
    assert 0 < sizes.patience < sizes.epochs
    assert 0 <= sizes.positions <= 1, "the sentences' own numbers have a spread of 1"
    assert SIZES["long"].patience == 15, "it learns position after as many epochs without any gain"


def test_places_have_a_spread_of_one():
    found = encoder.positions(500, 8, "cpu").numpy()
    place, rate = np.arange(500)[:, None], 10_000.0 ** (-np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(found[:, 0::2], np.sqrt(2) * np.sin(place * rate), atol=1e-4)
    np.testing.assert_allclose(found[:, 1::2], np.sqrt(2) * np.cos(place * rate), atol=1e-4)
    assert encoder.positions(3, 5, "cpu").shape == (3, 5)
