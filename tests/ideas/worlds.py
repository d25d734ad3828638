"""Texts whose similarities are known, and people who choose the odd one out of three by them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

import assay
from assay.data.annotations import Annotations
from assay.statistics.comparisons.odd_one_out import KEPT, PLACES, choice_probabilities


@dataclass(frozen=True, eq=False)
class World:
    """Documents of some texts each; ``alike`` is (texts, texts), the strength of every pair."""

    names: tuple[str, ...]
    document: tuple[str, ...]
    alike: np.ndarray

    @classmethod
    def of(cls, n_texts: int = 15, n_documents: int = 1, sharpness: float = 0.5, seed: int = 1) -> World:
        """Texts at random places in three dimensions; the sharper, the more do people agree."""
        rng = np.random.default_rng(seed)
        place = rng.normal(size=(n_texts * n_documents, 3))
        far = ((place[:, None] - place[None]) ** 2).sum(axis=2)
        names = tuple(f"t{i % n_texts:02d}" for i in range(n_texts * n_documents))
        document = tuple(f"d{i // n_texts}" for i in range(n_texts * n_documents))
        return cls(names, document, -sharpness * far)

    def truth(self) -> dict[tuple[str, str, str], float]:
        """Equation 1 of every pair with every third text of its document, in the long run."""
        found = {}
        for d in sorted(set(self.document)):
            mine = [i for i, x in enumerate(self.document) if x == d]
            for a, b in itertools.combinations(mine, 2):
                thirds = [c for c in mine if c not in (a, b)]
                strengths = np.array([[self.alike[a, b], self.alike[a, c], self.alike[b, c]] for c in thirds])
                found[d, self.names[a], self.names[b]] = float(choice_probabilities(strengths)[:, 0].mean())
        return found

    def choose(self, triplets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The place of the odd one of each triplet, (triplets, 3) -> (triplets,)."""
        strengths = np.stack([self.alike[triplets[:, i], triplets[:, j]] for i, j in PLACES], axis=1)
        edges = np.cumsum(choice_probabilities(strengths), axis=1)[:, :2]
        return KEPT[(rng.random(len(triplets))[:, None] > edges).sum(axis=1)]

    def pools(self) -> dict[str, list[str]]:
        """Names by document."""
        return {
            d: [n for n, x in zip(self.names, self.document, strict=True) if x == d] for d in sorted(set(self.document))
        }

    def study(
        self, floor: int = 8, people: int = 3, judges: Mapping[str, World] | None = None, overlap: int = 1,
        repeats: int = 1, seed: int = 0,
    ) -> Annotations:  # fmt: skip
        """Triplets drawn by the rule, each answered by ``overlap`` people and by every judge, ``repeats`` times."""
        rng = np.random.default_rng(seed)
        drawn = assay.sample_triplets(self.pools(), floor=floor, seed=seed).triplets
        place = {key: i for i, key in enumerate(zip(self.document, self.names, strict=True))}
        columns = ("first_item", "second_item", "third_item")
        members = np.array([[place[row["document"], row[c]] for c in columns] for row in drawn.iter_rows(named=True)])
        parts = []
        for k in range(overlap):
            who = [f"p{(i + k) % people}" for i in range(len(members))]
            parts.append(
                drawn.with_columns(annotator=pl.Series(who), label=_letters(self.choose(members, rng)), repeat=1)
            )
        for name, world in (judges or {}).items():
            for r in range(repeats):
                label = _letters(world.choose(members, rng))
                parts.append(drawn.with_columns(annotator=pl.lit(name), label=label, repeat=pl.lit(r + 1, pl.Int32)))
        frame = pl.concat([p.with_columns(pl.col("repeat").cast(pl.Int64)) for p in parts])
        return assay.read(
            frame, scale="odd-one-out", judges=list(judges or {}), humans=[f"p{i}" for i in range(people)]
        )


def _letters(odd: np.ndarray) -> pl.Series:
    return pl.Series([*"ABC"]).gather(odd)


def noisy(world: World, amount: float, seed: int = 5) -> World:
    """The same texts, seen wrongly: noise of so many standard deviations of the strengths."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=world.alike.shape) * world.alike.std() * amount
    return World(world.names, world.document, world.alike + (noise + noise.T) / np.sqrt(2))


def pair_values(world: World) -> pl.DataFrame:
    """The strengths as a user's measure."""
    rows = [
        (world.document[a], world.names[b], world.names[a], world.alike[a, b])
        for a, b in itertools.combinations(range(len(world.names)), 2)
        if world.document[a] == world.document[b]
    ]
    return pl.DataFrame(rows, schema=["document", "first", "second", "value"], orient="row")
