"""The encoder: a transformer over the embeddings of a text's sentences, its training, and sentence attributions.

The embeddings are fixed. A linear layer projects them to the width of the encoder. In the long sizes, a convolution
combines each sentence with its neighbours before attention: without it, and without positions at the scale of the
input, order is not learnt. Each criterion pools the sentences by separate attention and has two heads, shares of labels
and mean, whose predictions are averaged (Hardy 2025, appendix D: joint classification and regression).

This module requires torch, so it is imported only when a rater is trained or used.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from assay.errors import DataError, DesignError
from assay.estimation.statistic import Floats, Ints
from assay.reporting.page import atomic_write
from assay.training.documents import Target, Texts

CHECKPOINT_SECONDS = 20.0
"""Seconds between two checkpoints of a training: the most that is lost if it is killed. With 0 each step is saved."""

BETAS, WEIGHT_DECAY, CLIP = (0.78, 0.9), 3e-4, 4.0
"""Parameters of Adamax, and the norm to which gradients are clipped: Hardy (2025, appendix D.3)."""

_SETTINGS = threading.RLock()

STEPS = 32
"""Steps of integrated gradients, evaluated at their midpoints."""


@dataclass(frozen=True)
class Sizes:
    """Sizes and training of an encoder.

    Attributes
    ----------
    convolution : bool
        Whether a convolution precedes attention.
    positions : float
        Scale of the positional encoding, relative to sentences with a standard deviation of 1.
    warm_up : int
        Steps in which the learning rate increases to its maximum.
    decay : float
        Factor of the learning rate in each later step.
    window, windows
        Sentences per window, and random windows of a longer text in each epoch.
    """

    width: int
    layers: int
    heads: int
    feedforward: int
    dropout: float
    convolution: bool
    positions: float
    epochs: int
    patience: int
    learning_rate: float
    batch: int
    warm_up: int
    decay: float
    window: int = 140
    windows: int = 8


SIZES: Mapping[str, Sizes] = {
    "short": Sizes(64, 1, 4, 128, 0.5, False, 0.3, 30, 6, 2e-3, 32, 40, 0.999),
    "long": Sizes(64, 2, 4, 128, 0.1, True, 1.0, 40, 15, 2e-3, 16, 40, 0.999),
    "paper": Sizes(1024, 8, 32, 2048, 0.75, False, 1.0, 4, 2, 2.5e-5, 8, 1000, 0.9995),
}
"""short: the most aggressive of four candidates on 711 reviews, all with r from .833 to .839. long: learns position and
adjacency in simulated lessons after 5 to 15 epochs without progress, hence its patience. paper: Hardy (2025)."""


class SequenceRater(nn.Module):  # type: ignore[misc]
    """The network: sentences in, heads of each criterion out.

    Parameters
    ----------
    dimensions : int
        Number of dimensions of the embeddings.
    sizes : Sizes
    heads : list of int
        By criterion, the number of labels with a predicted share; 0 for none.
    """

    def __init__(self, dimensions: int, sizes: Sizes, heads: Sequence[int]) -> None:
        super().__init__()
        width = sizes.width
        self.scale = sizes.positions
        self.enter, self.norm = nn.Linear(dimensions, width), nn.LayerNorm(width)
        self.near = nn.Conv1d(width, width, 3, padding=1) if sizes.convolution else None
        layer = nn.TransformerEncoderLayer(
            width, sizes.heads, sizes.feedforward, sizes.dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, sizes.layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.drop = nn.Dropout(sizes.dropout)
        self.queries = nn.Parameter(torch.randn(len(heads), width) / math.sqrt(width))
        self.shares = nn.ModuleList([nn.Linear(width, n) if n else nn.Identity() for n in heads])
        self.means = nn.Linear(width, len(heads))

    def forward(self, x: Any, mask: Any) -> tuple[list[Any], Any]:
        """Return the logits by criterion, and all means: (windows, sentences, d) -> (windows, labels), ...."""
        inside = mask[..., None].to(x.dtype)
        h = self.norm(self.enter(x)) * inside
        if self.near is not None:
            h = (h + functional.gelu(self.near(h.transpose(1, 2)).transpose(1, 2))) * inside
        h = self.drop(h + self.scale * positions(h.shape[1], h.shape[2], h.device))
        h = self.layers(h, src_key_padding_mask=~mask)
        attention = torch.einsum("bld,cd->bcl", h, self.queries).masked_fill(~mask[:, None, :], -torch.inf)
        pooled = self.drop(torch.einsum("bcl,bld->bcd", attention.softmax(-1), h))
        means = (pooled * self.means.weight).sum(-1) + self.means.bias
        return [head(pooled[:, c]) for c, head in enumerate(self.shares)], means


def positions(length: int, width: int, device: Any) -> Any:
    """Return the positional encoding with a standard deviation of 1: (length, width)."""
    place = torch.arange(length, device=device)[:, None]
    rate = torch.exp(torch.arange(0, width, 2, device=device) * (-math.log(10_000) / width))
    found = torch.zeros(length, width, device=device)
    found[:, 0::2] = torch.sin(place * rate)
    found[:, 1::2] = torch.cos(place * rate)[:, : width // 2]
    return found * math.sqrt(2)


# -- windows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of sentences that are encoded together.

    Attributes
    ----------
    sequence, start, end : (windows,) int
    item : (windows,) int
        The item of a window; −1 for random windows.
    """

    sequence: Ints
    start: Ints
    end: Ints
    item: Ints

    def __len__(self) -> int:
        return len(self.sequence)


def windows_of_items(texts: Texts, items: Ints, window: int) -> Windows:
    """Return windows of some items: centred on an item shorter than a window, else half-overlapping over the item."""
    rows = []
    for i in items.tolist():
        s, a, b = int(texts.sequence[i]), int(texts.first[i]), int(texts.end[i])
        n = int(texts.length[s])
        if b - a <= window:
            start = min(max((a + b - window) // 2, 0), max(n - window, 0))
            rows.append((s, start, min(start + window, n), i))
            continue
        starts = [*range(a, b - window, max(window // 2, 1)), b - window]
        rows += [(s, start, start + window, i) for start in starts]
    return Windows(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def random_windows(texts: Texts, items: Ints, sizes: Sizes, rng: np.random.Generator) -> Windows:
    """Return, in random order, each sequence with some of the items, or random windows of a long sequence."""
    rows = []
    for s in np.unique(texts.sequence[items]).tolist():
        n = int(texts.length[s])
        if n <= sizes.window:
            rows.append((s, 0, n, -1))
            continue
        starts = rng.integers(0, n - sizes.window + 1, sizes.windows)
        rows += [(s, a, a + sizes.window, -1) for a in starts.tolist()]
    return Windows(*np.array(rows, dtype=np.int64)[rng.permutation(len(rows))].T)


@dataclass(frozen=True, eq=False)
class Material:
    """The data of a fit: sentences, embeddings, targets, training items and items for early stopping."""

    texts: Texts
    vectors: list[Floats]
    targets: list[Target]
    train: Ints
    held: Ints

    def centre_and_spread(self) -> tuple[Floats, Floats]:
        """Return centre and spread of the annotators' means in training, by criterion; 0 and 1 without any."""
        centre, spread = np.zeros(len(self.targets)), np.ones(len(self.targets))
        for c, target in enumerate(self.targets):
            known = target.mean[self.train]
            known = known[np.isfinite(known)]
            if len(known):
                centre[c], spread[c] = known.mean(), known.std() or 1.0
        return centre, spread

    def wanted(self, windows: Windows, items: Ints) -> tuple[list[Floats], Floats]:
        """Return human shares and means of each window, averaged over its items by overlap; NaN without labels.

        Returns
        -------
        list of (windows, labels) and (windows, criteria)
        """
        inside: dict[int, list[int]] = {}
        for i in items.tolist():
            inside.setdefault(int(self.texts.sequence[i]), []).append(i)
        owner, item, weight = [], [], []
        for w, (s, a, b) in enumerate(zip(windows.sequence, windows.start, windows.end, strict=True)):
            for i in inside.get(int(s), []):
                overlap = min(b, self.texts.end[i]) - max(a, self.texts.first[i])
                if overlap > 0:
                    owner.append(w)
                    item.append(i)
                    weight.append(float(overlap))
        at, who, share = np.array(owner, dtype=np.int64), np.array(item, dtype=np.int64), np.array(weight)
        shares = [weighted_means(target.share[who], at, share, len(windows)) for target in self.targets]
        means = [weighted_means(target.mean[who][:, None], at, share, len(windows))[:, 0] for target in self.targets]
        return shares, np.stack(means, axis=1)

    def batch(self, windows: Windows, which: Ints, device: Any) -> tuple[Any, Any]:
        """Return the sentences of some windows, padded with zeros, and the mask of real sentences."""
        parts = [self.vectors[windows.sequence[w]][windows.start[w] : windows.end[w]] for w in which]
        longest = max(len(one) for one in parts)
        x = np.zeros((len(parts), longest, parts[0].shape[1]), dtype=np.float32)
        mask = np.zeros((len(parts), longest), dtype=bool)
        for k, one in enumerate(parts):
            x[k, : len(one)], mask[k, : len(one)] = one, True
        return torch.from_numpy(x).to(device), torch.from_numpy(mask).to(device)


def weighted_means(rows: Floats, at: Ints, weight: Floats, n: int) -> Floats:
    """Weighted means by group of the rows without NaN: (n, width); NaN for empty groups."""
    known = ~np.isnan(rows).any(axis=1)
    total = np.bincount(at[known], weight[known], n)
    sums = np.zeros((n, rows.shape[1]))
    np.add.at(sums, at[known], rows[known] * weight[known, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums / np.where(total > 0, total, np.nan)[:, None])


# -- fitting ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainedEncoder:
    """One trained encoder.

    Attributes
    ----------
    weights : mapping of name to array
    heads : tuple of int
        Number of labels with a predicted share, by criterion.
    centre, spread : (criteria,) float
        Centre and spread of the annotators' means in training.
    blank : (dimensions,) float
        The mean embedding of the training sentences: the neutral reference of the attribution.
    curve : (epochs, 2) float
        Loss in training and on the documents held out for early stopping, after each epoch.
    """

    weights: Mapping[str, NDArray[Any]]
    sizes: Sizes
    heads: tuple[int, ...]
    centre: Floats
    spread: Floats
    blank: Floats
    curve: Floats

    def model(self, device: Any = "cpu") -> SequenceRater:
        """Return the network with its weights, ready to predict."""
        made = SequenceRater(len(self.blank), self.sizes, self.heads)
        made.load_state_dict({k: torch.from_numpy(np.asarray(v)) for k, v in self.weights.items()})
        made.to(device).eval()
        return made


@contextmanager
def settled(threads: int) -> Iterator[None]:
    """Set the number of threads and deterministic algorithms, and restore the earlier settings afterwards.

    These settings belong to the process, so a lock lets one thread use them at a time.
    """
    with _SETTINGS:
        before, exact = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
        try:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(not torch.cuda.is_available())
            with torch.random.fork_rng():
                yield
        finally:
            torch.set_num_threads(before)
            torch.use_deterministic_algorithms(exact)


def rate_factor(taken: int, sizes: Sizes) -> float:
    """Return the factor of the learning rate after so many steps: warm-up, then decay."""
    late = taken - sizes.warm_up
    return (taken + 1) / (sizes.warm_up + 1) if late < 0 else sizes.decay**late


class EncoderFit:
    """One training, which can continue from a checkpoint."""

    def __init__(self, material: Material, sizes: Sizes, seed: Sequence[int], device: str, path: Path | None, key: str):
        self.material, self.sizes, self.seed, self.device = material, sizes, tuple(seed), device
        self.path, self.key = path, key
        self.heads = tuple(len(target.categories) for target in material.targets)
        self.centre, self.spread = material.centre_and_spread()
        self._sow(0)
        self.model = SequenceRater(material.vectors[0].shape[1], sizes, self.heads).to(device)
        self.optimizer = torch.optim.Adamax(
            self.model.parameters(), sizes.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY
        )
        self.epoch, self.step, self.taken, self.total = 0, 0, 0, 0.0
        self.curve: list[list[float]] = []
        self.best, self.best_loss, self.waited, self.done = self._weights(), math.inf, 0, False
        self.saved = time.monotonic()

    def go(self, tell: Callable[[], None]) -> TrainedEncoder:
        """Train to the end, from a checkpoint if there is one."""
        self._load()
        while not self.done:
            self._pass()
            tell()
        self._save(always=True)
        train = np.concatenate([self.material.vectors[s] for s in np.unique(self._sequences())])
        return TrainedEncoder(
            {k: v.cpu().numpy() for k, v in self.best.items()}, self.sizes, self.heads, self.centre, self.spread,
            train.mean(axis=0), np.array(self.curve),
        )  # fmt: skip

    def _sequences(self) -> Ints:
        return np.asarray(self.material.texts.sequence[self.material.train])

    def _sow(self, epoch: int) -> None:
        """Seed an epoch from the seed and its number only, so that no random state has to be saved between epochs."""
        torch.manual_seed(int(np.random.SeedSequence([*self.seed, epoch]).generate_state(1)[0]))

    def _pass(self) -> None:
        """Run one epoch, from the current step."""
        material, sizes = self.material, self.sizes
        windows = random_windows(
            material.texts, material.train, sizes, np.random.default_rng([*self.seed, 1, self.epoch])
        )
        shares, means = material.wanted(windows, material.train)
        if self.step == 0:
            self._sow(self.epoch + 1)
        self.model.train()
        for k in range(self.step * sizes.batch, len(windows), sizes.batch):
            which = np.arange(k, min(k + sizes.batch, len(windows)))
            for group in self.optimizer.param_groups:
                group["lr"] = sizes.learning_rate * rate_factor(self.taken, sizes)
            self.optimizer.zero_grad()
            loss = self._loss(windows, which, shares, means)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
            self.optimizer.step()
            self.total += float(loss.detach()) * len(which)
            self.step, self.taken = self.step + 1, self.taken + 1
            self._save()
        self._end(self.total / len(windows))
        self._save()

    def _end(self, loss: float) -> None:
        held = self._validation_loss()
        self.curve.append([loss, held])
        if held < self.best_loss:
            self.best, self.best_loss, self.waited = self._weights(), held, 0
        else:
            self.waited += 1
        self.epoch, self.step, self.total = self.epoch + 1, 0, 0.0
        self.done = self.epoch >= self.sizes.epochs or self.waited >= self.sizes.patience

    def _validation_loss(self) -> float:
        """The loss on held-out documents."""
        material, total = self.material, 0.0
        windows = windows_of_items(material.texts, material.held, self.sizes.window)
        shares = [target.share[windows.item] for target in material.targets]
        means = np.stack([target.mean[windows.item] for target in material.targets], axis=1)
        self.model.eval()
        with torch.no_grad():
            for k in range(0, len(windows), self.sizes.batch):
                which = np.arange(k, min(k + self.sizes.batch, len(windows)))
                total += float(self._loss(windows, which, shares, means)) * len(which)
        return total / len(windows)

    def _loss(self, windows: Windows, which: Ints, shares: list[Floats], means: Floats) -> Any:
        """Cross-entropy of human shares and squared error of the standardized human mean, over labelled windows."""
        x, mask = self.material.batch(windows, which, self.device)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=self.device.startswith("cuda")):
            logits, found = self.model(x, mask)
        parts = []
        for c in range(len(self.heads)):
            share, mean = shares[c][which], (means[which, c] - self.centre[c]) / self.spread[c]
            if self.heads[c] and (known := ~np.isnan(share[:, 0])).any():
                wanted = self._tensor(share[known])
                parts.append(-(wanted * logits[c].float()[self._tensor(known)].log_softmax(-1)).sum(-1).mean())
            if (known := ~np.isnan(mean)).any():
                parts.append(((found[:, c].float()[self._tensor(known)] - self._tensor(mean[known])) ** 2).mean())
        return torch.stack(parts).sum() / len(self.heads) if parts else found.sum() * 0.0

    def _tensor(self, values: NDArray[Any]) -> Any:
        kind = torch.bool if values.dtype == bool else torch.float32
        return torch.as_tensor(values, dtype=kind, device=self.device)

    def _weights(self) -> dict[str, Any]:
        return {k: v.detach().clone() for k, v in self.model.state_dict().items()}

    # -- checkpoints --

    _KEPT = ("epoch", "step", "taken", "total", "curve", "best", "best_loss", "waited", "done")

    def _save(self, *, always: bool = False) -> None:
        """Write a complete checkpoint atomically."""
        if self.path is None or not (always or time.monotonic() - self.saved >= CHECKPOINT_SECONDS):
            return
        state: dict[str, Any] = {name: getattr(self, name) for name in self._KEPT}
        state |= {"key": self.key, "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        state |= {"chance": torch.get_rng_state()}
        if self.device.startswith("cuda"):
            state["chance_cuda"] = torch.cuda.get_rng_state(self.device)
        with atomic_write(self.path) as part:
            torch.save(state, part)
        self.saved = time.monotonic()

    def _load(self) -> None:
        if self.path is None or not self.path.is_file():
            return
        try:
            state = torch.load(self.path, weights_only=True, map_location=self.device)
        except Exception as error:  # truncated or not a checkpoint: torch raises many classes
            raise DataError(f"{self.path} cannot be read ({type(error).__name__}); delete it to start again") from None
        if not isinstance(state, dict) or state.get("key") != self.key:
            raise DataError(
                f"{self.path} belongs to a training with other labels, texts or options; choose another folder with "
                "folder='...', or delete this one"
            )
        for name in self._KEPT:
            setattr(self, name, state[name])
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["chance"].cpu())
        if "chance_cuda" in state:
            torch.cuda.set_rng_state(state["chance_cuda"].cpu(), self.device)


# -- prediction -------------------------------------------------------------------------------------


def predict(
    fitted: TrainedEncoder, material: Material, windows: Windows, device: str, batch: int = 64
) -> tuple[list[Floats], Floats]:
    """Predict the labels of each window.

    Returns
    -------
    list of (windows, labels) float
        Shares of the labels, by criterion.
    (windows, criteria) float
        Means on the labels' scale.
    """
    model = fitted.model(device)
    shares: list[list[Floats]] = [[] for _ in fitted.heads]
    means = []
    with torch.no_grad():
        for k in range(0, len(windows), batch):
            x, mask = material.batch(windows, np.arange(k, min(k + batch, len(windows))), device)
            logits, found = model(x, mask)
            for c, one in enumerate(logits):
                shares[c].append(one.softmax(-1).cpu().numpy() if fitted.heads[c] else np.empty((len(x), 0)))
            means.append(found.cpu().numpy() * fitted.spread + fitted.centre)
    return [np.concatenate(one).astype(float) for one in shares], np.concatenate(means).astype(float)


def value_of(target: Target, shares: Floats, mean: Floats) -> Floats:
    """Combine both heads into one prediction: shares of nominal categories, or the mean of the two predicted means."""
    if target.nominal:
        return shares
    return mean if not len(target.number) else np.asarray((shares @ target.number + mean) / 2)


def rate_items(fitted: TrainedEncoder, material: Material, items: Ints, device: str) -> list[Floats]:
    """Return predictions by criterion, averaged over the windows of each item: (items,), or (items, labels)."""
    windows = windows_of_items(material.texts, items, fitted.sizes.window)
    shares, means = predict(fitted, material, windows, device)
    place = {int(i): k for k, i in enumerate(items)}
    at = np.array([place[int(i)] for i in windows.item])
    n = np.bincount(at, minlength=len(items))
    found = []
    for c, target in enumerate(material.targets):
        value = value_of(target, shares[c], means[:, c])
        sums = np.zeros((len(items), *value.shape[1:]))
        np.add.at(sums, at, value)
        found.append(sums / n.reshape(-1, *[1] * (value.ndim - 1)))
    return found


def attribute(
    fitted: TrainedEncoder, vectors: Floats, target: Target, criterion: int, steps: int = STEPS
) -> tuple[Floats, float, float]:
    """Return the contribution of each sentence to the rating of a window, by integrated gradients.

    Sundararajan, Taly & Yan (2017, eq. 1), by the midpoint rule, along the straight line from the neutral reference
    ``blank`` to the sentences, which all change together. The contributions add up to the difference between the two
    ratings, except for the error of the midpoint rule.

    Parameters
    ----------
    vectors : (sentences, dimensions) float
    criterion : int
        Index of the criterion. For nominal categories, the share of the most probable category is attributed.

    Returns
    -------
    (sentences,) float, the rating, and the rating of the neutral reference
    """
    model = fitted.model()
    x = torch.as_tensor(vectors, dtype=torch.float32)
    blank = torch.as_tensor(fitted.blank, dtype=torch.float32).expand_as(x)
    mask = torch.ones(1, len(x), dtype=torch.bool)
    number = torch.as_tensor(target.number, dtype=torch.float32)
    centre, spread = float(fitted.centre[criterion]), float(fitted.spread[criterion])
    chosen = 0

    def rating(one: Any) -> Any:
        logits, means = model(one[None], mask)
        mean = means[0, criterion] * spread + centre
        if target.nominal:
            return logits[criterion][0].softmax(-1)[chosen]
        return mean if not len(number) else ((logits[criterion][0].softmax(-1) * number).sum() + mean) / 2

    if target.nominal:
        with torch.no_grad():
            chosen = int(model(x[None], mask)[0][criterion][0].argmax())
    gradient = torch.zeros_like(x)
    for k in range(steps):
        at = (blank + (k + 0.5) / steps * (x - blank)).requires_grad_(True)
        gradient += torch.autograd.grad(rating(at), at)[0]
    added = ((x - blank) * gradient / steps).sum(-1)
    with torch.no_grad():
        return added.numpy().astype(float), float(rating(x)), float(rating(blank))


def sizes_for(size: str, window: int, windows: int, **given: float | int | None) -> Sizes:
    """Return the sizes of a name, with the given values replaced."""
    chosen = {name: value for name, value in given.items() if value is not None}
    found: Sizes = replace(SIZES[size], window=window, windows=windows, **chosen)  # type: ignore[arg-type]
    if found.width % found.heads:
        raise DesignError(
            f"width {found.width} is not a multiple of the {found.heads} heads; change one of them", option="width"
        )
    return found
