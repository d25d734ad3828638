"""The options of the questions about ideas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from assay.errors import DesignError
from assay.estimation.options import LEAST_RESAMPLES, Settings, option

Chosen = Literal["humans", "judges"]
Pairs = Literal["humans", "annotator", "pairs", "itself"]


@dataclass(frozen=True)
class ChoiceSettings(Settings):
    """Where triplets name their texts, and whose choices count."""

    texts: tuple[str, ...] | None = option(
        None,
        "The three columns that name the texts of a triplet, separated by commas; found by usual names.",
    )
    document: str | None = option(
        None, "Item column that names the document whose texts are compared; 'document' where the items have it."
    )
    annotators: Chosen | tuple[str, ...] = option(
        "humans", "Whose choices count: humans, judges, or names separated by commas."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.texts is not None and len(set(self.texts)) != 3:
            raise DesignError("texts=... takes three columns: those that name the three texts of a triplet")


@dataclass(frozen=True)
class TripletSettings(ChoiceSettings):
    """Options of `assay.triplet_similarity`."""

    floor: int = option(3, "Pairs that were compared less often are marked.", low=1)
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")


@dataclass(frozen=True)
class EmbeddingSettings(ChoiceSettings):
    """Options of `assay.triplet_embedding`."""

    dimensions: int | None = option(None, "Of the space; chosen by cross-validation when not given.", low=1, high=50)
    folds: int = option(5, "Folds of the cross-validation.", low=2)
    n_resamples: int = option(
        100, "Resamples of the triplets, each fitted anew; 0 for no intervals.", low=0, key="resamples"
    )
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class ReliabilitySettings(Settings):
    """Options of `assay.odd_one_out_agreement`."""

    who: tuple[Pairs, ...] = option(
        ("humans", "annotator", "itself"),
        "Which rows: people together, each annotator with the people, each pair, an annotator's own repeats.",
    )
    by: str | None = option(None, "Item column, such as the document, for each of whose values rows are given.")
    clusters: str | None = option(None, "Item column whose triplets are resampled together.")
    method: Literal["percentile", "bca", "jackknife", "none"] = option("jackknife", "How intervals are made.")
    n_resamples: int = option(2000, "Bootstrap resamples.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class ValidateSettings(ChoiceSettings):
    """Options of `assay.validate_similarity`."""

    measures: Any = option(None, "The measures, separated by commas; the judges of the table are added.")
    contents: tuple[str, ...] | None = option(
        None, "The three columns that hold the texts; those that name them when not given.", hidden=False
    )
    with_judges: bool = option(True, "Judges of the table who chose odd ones out are measures too.")
    floor: int = option(1, "Pairs that were compared less often are left out.", low=1)
    n_resamples: int = option(1000, "Draws of the experts' judgments.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class EnoughSettings(ChoiceSettings):
    """Options of `assay.judgments_needed`."""

    sizes: tuple[int, ...] | None = option(None, "Numbers of judgments to look at, separated by commas.", low=10)
    target: float = option(0.8, "The rank correlation that is wanted.", above=0, below=1)
    n_splits: int = option(100, "Random halves, and bootstrap runs of each size.", low=LEAST_RESAMPLES, key="splits")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class SampleSettings(Settings):
    """Options of `assay.sample_triplets`."""

    floor: int = option(3, "How often each pair of texts of a document is seen together.", low=1, always=True)
    n: int | None = option(None, "So many triplets instead, what was seen least first.", low=1)
    seed: int = option(0, "Same seed, same numbers.", low=0, always=True)


@dataclass(frozen=True)
class PlanTripletsSettings(Settings):
    """Options of `assay.plan_triplets`."""

    n_texts: int = option(15, "Texts of a document.", low=3, high=200, key="texts", always=True)
    n_documents: int = option(1, "Documents.", low=1, key="documents", always=True)
    agreement: float = option(
        0.6, "How often two experts name the same odd one; a third is chance.", above=1 / 3, below=1, always=True
    )
    floors: tuple[int, ...] = option(
        (1, 2, 3, 5, 8, 10, 15, 20, 30, 50), "Comparisons of each pair to look at, separated by commas.", low=1
    )
    target: float = option(0.9, "Rank correlation with the true similarities that is wanted.", above=0, below=1)
    power: float = option(0.8, "Share of studies that are to reach it.", above=0, below=1)
    dimensions: int = option(3, "Ways in which the simulated texts differ.", low=1, high=50)
    n_studies: int = option(200, "Simulated studies.", low=20, key="studies")
    pilot: str | None = option(None, "Fingerprint of the labels at hand.", hidden=True)
    seed: int = option(0, "Same seed, same numbers.", low=0, always=True)


@dataclass(frozen=True)
class StyleSettings(Settings):
    """Options of `assay.style_effect`."""

    measures: Any = option(None, "The measures, separated by commas.")
    n_resamples: int = option(2000, "Bootstrap resamples of the pairs.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class MapSettings(Settings):
    """Options of `assay.annotator_similarity`."""

    similarity: Any = option("words", "A measure by its name.")
    min_items: int = option(10, "Annotators who share fewer items with the people are not compared.", low=2)
    clusters: str | None = option(None, "Item column whose items are resampled together.")
    method: Literal["percentile", "bca", "jackknife", "none"] = option("jackknife", "How intervals are made.")
    n_resamples: int = option(2000, "Bootstrap resamples.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)
