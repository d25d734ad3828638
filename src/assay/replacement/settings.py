"""The options of the alternative annotator test, stated once for one judge, several, domains, plans and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from assay.data.annotations import Repeats
from assay.errors import DesignError
from assay.estimation.options import LEAST_RESAMPLES, Intervals, Method, Settings, option, short
from assay.similarity.registry import FOR_HELP, similarity_named

Expertise = Literal["expert", "skilled", "crowd"]
Normalise = Literal["zscore", "minmax", "rank"]
Ties = Literal["share", "random", "lowest", "highest"]
Test = Literal["published", "t", "wilcoxon", "exact"]
Correction = Literal["across", "within"]
ScoreName = Literal["accuracy", "neg_rmse", "similarity"]

EPSILON: Mapping[str, float] = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}
"""The paper's rule of thumb for epsilon by who the annotators are (appendix B.1)."""


class PlanOptions(TypedDict, total=False):
    """Options of the alt-test that a plan takes besides its own; see `assay.plan_alt_test`."""

    score: ScoreName | Callable[..., float] | None
    similarity: Any
    fdr: float
    alpha: float
    threshold: float
    min_items: int
    min_humans: int
    test: Test
    normalise: Normalise | None
    balance: bool
    ties: Ties
    min_class: int
    quality: str | Mapping[str, float] | None
    repeats: Repeats


class AltTestOptions(PlanOptions, Intervals, total=False):
    """Options of every form of the alternative annotator test; see `assay.alt_test`."""

    epsilon: float | None
    annotators: Expertise | None
    expert: str | None
    gold: str | Mapping[str, Any] | None
    clusters: str | None


@dataclass(frozen=True)
class AltTestSettings(Settings):
    """Everything that decides the outcome of an alt-test besides the labels; see `assay.alt_test`."""

    epsilon: float | None = option(
        None, "What the judge's low cost is worth, 0 to 1.", low=0, high=1, key="eps", always=True
    )
    annotators: Expertise | None = option(None, "Who the annotators are: sets epsilon to .2, .15 or .1.")
    score: ScoreName | Callable[..., float] | None = option(None, "How close two labels are.", key="")
    similarity: Any = option(None, f"For text: {FOR_HELP}; or a table of label pairs with a number each.")
    fdr: float = option(0.05, "q of the Benjamini-Yekutieli correction.", above=0, below=1, always=True)
    alpha: float = option(0.05, "Level of the verdict.", above=0, below=1)
    threshold: float = option(0.5, "Share of annotators that the judge must be as good as.", above=0, high=1)
    min_items: int = option(30, "Annotators with fewer comparable items are left out.", low=0)
    min_humans: int = option(2, "Items with fewer human labels are left out.", low=1)
    test: Test = option("published", "What omega is made of; published: t, Wilcoxon below 30 items.")
    normalise: Normalise | None = option(None, "Put each annotator on a scale of its own.")
    balance: bool = option(False, "Weigh items so that every label counts the same.")
    ties: Ties = option("share", "Class of a tied majority under --balance; share: each in equal parts.")
    min_class: int = option(5, "Classes with fewer items are refused under --balance.", low=0)
    expert: str | None = option(None, "One trusted annotator that all others are compared with.")
    gold: str | Mapping[str, Any] | None = option(
        None, "Item column with gold labels: does the judge outperform people?"
    )
    quality: str | Mapping[str, float] | None = option(None, "Annotator column with a weight for each annotator.")
    clusters: str | None = option(None, "Item column whose items are resampled together.")
    repeats: Repeats = option("error", "What repeated answers stand for.")
    method: Method = option("jackknife", "How the intervals of rho are made: jackknife is Wilson's.")
    n_resamples: int = option(2000, "Bootstrap resamples.", low=LEAST_RESAMPLES, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0, always=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.similarity, str):
            object.__setattr__(self, "similarity", similarity_named(self.similarity))
        if self.expert is not None and self.gold is not None:
            raise DesignError("expert=... and gold=... both name what everybody is compared with; give one")
        if self.epsilon is not None and self.annotators is not None:
            raise DesignError("epsilon=... and annotators=... both set epsilon; give one")
        if self.epsilon is None and self.annotators is None and self.gold is None:
            raise DesignError(
                "the alt-test has no default for epsilon, what the judge's low cost is worth: say who the annotators "
                "are with annotators='expert' (.2), 'skilled' (.15) or 'crowd' (.1), or give epsilon=..."
            )
        if self.test == "exact" and (self.balance or self.clusters is not None):
            raise DesignError(
                "the exact test takes items as independent and of equal weight; balanced and clustered tests are "
                "t-tests that allow for both: leave the option test out"
            )
        if self.min_humans < 2 and not self.fixed_reference:
            raise DesignError(
                "min_humans must be at least 2: leaving one annotator out, somebody must be left to compare with"
            )

    @property
    def fixed_reference(self) -> bool:
        """Whether everybody is compared with one label an item (C.2, C.3)."""
        return self.expert is not None or self.gold is not None

    @property
    def tolerance(self) -> float:
        """The value of epsilon that is used: 0 against gold labels unless told otherwise (C.3)."""
        if self.epsilon is not None:
            return self.epsilon
        return EPSILON[self.annotators] if self.annotators is not None else 0.0

    def signed(self) -> dict[str, str]:
        """As for all options, but epsilon is the number that is used, whichever option set it."""
        said = {"eps": short(float(self.tolerance)), **super().signed()}
        said["eps"] = short(float(self.tolerance))
        said.pop("annotators", None)
        if callable(self.score):
            said["score-function"] = short(self.score)
        return said


@dataclass(frozen=True)
class AltTestBySettings(AltTestSettings):
    """Options of the alt-test in several domains."""

    by: str = option("criterion", "Column that tells domains apart.", always=True)
    correction: Correction = option("across", "Correct across all domains, or within each.", always=True)


@dataclass(frozen=True)
class PairedSettings(AltTestSettings):
    """Options of the alt-test with annotators of two sets paired."""

    sets: Any = option(None, "The two sets of annotators.")
    n_pairings: int = option(100, "Pairings that are drawn.", low=1)
