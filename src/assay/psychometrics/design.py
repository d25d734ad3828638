"""What is asked of a table of facets? The design as the field writes it, and the effects that its labels tell apart.

``r x (s:o:i)`` has the effects of Brennan (2001, chapter 3). Before anything is fitted, effects that are confounded in
these labels are merged, or refused, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from assay.data.annotations import Repeats
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.options import Limits, Settings, level_option, option, seed_option
from assay.estimation.statistic import Floats, Ints
from assay.statistics.blocks import (
    Balanced,
    Terms,
    balanced_table,
    contrasts,
    cross_codes,
    dependent_terms,
    left_over,
    nested_codes,
    untold,
)

# -- Options ---------------------------------------------------------------------------------------

Estimator = Literal["reml", "ml", "anova"]
IntervalMethod = Literal["profile", "delta", "parametric", "objects", "none"]
CoefficientName = Literal["generalizability", "dependability"]
Merged = Literal["careful", "usual"]
PairWeights = Literal["pairs", "objects"]


@dataclass(frozen=True)
class DesignSettings(Settings):
    """Which labels a design is fitted to, and how."""

    design: Annotated[
        str,
        Limits(
            "Facets crossed (x) and nested (:), such as 'r x (o:i)'.", always=True,
            details="``r x (s:o:i)`` is raters crossed with segments in lessons in teachers.", first=True,
        ),
    ]  # fmt: skip
    object: Annotated[str, Limits("The facet whose levels are measured.", always=True, first=True)]
    _: KW_ONLY
    facets: Mapping[str, str] | None = option(
        None, "The column of each facet: r=annotator,o=lesson.", key="",
        details="Of the answers, the items or the annotators; a facet that is not named is a column of that name.",
        first=True,
    )  # fmt: skip
    annotators: str | Sequence[str] | None = option(
        None, "Annotators whose labels count.", details="All when not given."
    )
    repeats: Repeats = option(
        "error", "How to combine repeated labels.",
        details="Of one annotator to one item, where ``repeat`` is no facet.",
    )  # fmt: skip
    omit: str | Sequence[str] | None = option(
        None, "Effects taken to be nothing, separated by commas: ro:i.",
        details="Their variance, if there is any, is in the residual.",
    )  # fmt: skip
    reverse: str | Sequence[str] | None = option(
        None, "Criteria that are worded negatively, separated by commas.",
        details="Their labels are turned round on the scale.",
    )  # fmt: skip
    confounded: Literal["merge", "refuse"] = option("merge", "What becomes of confounded effects.")
    least_contrasts: int = option(
        3, "Differences that tell two effects apart, at least.", low=1,
        details="A variance of fewer rests on one or two numbers.",
    )  # fmt: skip
    estimator: Estimator = option(
        "reml", "How variances are estimated.",
        details="Restricted or full maximum likelihood, or the analysis of variance (Henderson's method 1).",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name in {"annotators", "omit", "reverse", "fixed"} & {f.name for f in fields(self)}:
            if isinstance(one := getattr(self, name), str):
                object.__setattr__(self, name, (one,))
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class GStudySettings(DesignSettings):
    """Options of `assay.g_study`."""

    fixed: str | Sequence[str] | None = option(
        None, "Facets whose levels are all there are, separated by commas.",
        details="Scores are means over them, and what the object has with them is a part of its universe score.",
        first=True,
    )  # fmt: skip
    by: str | None = option(
        None, "A column whose values are studied one by one: kind for people and judges apart.",
        details="Together they are one population of raters, or families in the design: ``(r:f) x (o:i)`` with "
        '``facets={"f": "kind"}``.',
        first=True,
    )  # fmt: skip
    method: IntervalMethod | None = option(
        None, "How intervals are made; by profile where variances come from a likelihood, by delta for large tables.",
        details="Profile likelihood; the delta method; samples drawn from the fitted variances; resampled objects. "
        "When not given: profile, delta for unbalanced tables of more than 20,000 labels, and parametric for the "
        "analysis of variance.",
    )  # fmt: skip
    n_resamples: int = option(200, "Samples drawn, where intervals come from some.", low=20, key="resamples")
    confidence: float = level_option()
    seed: int = seed_option()


@dataclass(frozen=True)
class DStudySettings(Settings):
    """Options of `GStudy.d_study`."""

    levels: Mapping[str, int | Sequence[int]] | None = option(
        None, "How many levels of each facet: o=1-10,r=1,2,3.",
        details="``d_study(r=[1, 2], o=range(1, 11))`` says the same. A facet that is not named stands at one level, a "
        "fixed one at all of its levels. A nested facet is counted within what it is nested in: segments of a lesson.",
        first=True,
    )  # fmt: skip
    _: KW_ONLY
    target: float = option(0.7, "The coefficient that is to be reached.", above=0, below=1, first=True)
    coefficient: CoefficientName = option("dependability", "Which coefficient is to reach it.")
    along: str | None = option(
        None, "The facet whose smallest number is looked for.", details="The one with most numbers when not given."
    )
    price: float | None = option(
        None,
        "What one rating costs.",
        low=0,
        details="Each object has as many as all numbers multiplied.",
        first=True,
    )
    prices: Mapping[str, float] | None = option(
        None, "What one level of a facet costs: o=20.", details="Such as a visit to a lesson."
    )
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share.",
        details="``usual`` lets it shrink with all that any of them has, which promises most.",
    )  # fmt: skip

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Settings from keyword options; what is no option is a facet with its numbers."""
        known = {f.name for f in fields(cls)}
        if "sizes" in options:
            raise DesignError("sizes=... is now levels=...", option="sizes")
        levels = {**(options.get("levels") or {}), **{k: v for k, v in options.items() if k not in known}}
        numbers = {f: (n,) if isinstance(n, int) else tuple(n) for f, n in levels.items()}
        return super().of({**{k: v for k, v in options.items() if k in known}, "levels": numbers}, question)


@dataclass(frozen=True, kw_only=True)
class LoopSettings(Settings):
    """Options of `GStudy.human_in_the_loop`."""

    renamed: ClassVar[Mapping[str, str]] = {"raters": "rater_facet=..."}

    sizes: Sequence[int] = option(
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "Numbers of lessons, or whatever people and judges share."
    )
    along: str | None = option(
        None, "The facet that people and judges share.", details="What is nested in the object when not given."
    )
    rater_facet: str | None = option(
        None, "The facet of raters, which they do not share.",
        details="The one whose column is ``annotator`` when not given.",
    )  # fmt: skip
    human: str | None = option(None, "The study of people.", details="The group ``human`` when not given.")
    judge: str | None = option(None, "The study of judges.", details="The group ``judge`` when not given.")
    of_human: Mapping[str, int] | None = option(
        None, "Levels of further facets that a person sees.", hidden=True, details="Such as segments of a lesson."
    )
    of_judge: Mapping[str, int] | None = option(None, "Levels of further facets that a judge sees.", hidden=True)
    ensemble: int = option(3, "Judges of an ensemble.", low=2)
    reading: Literal["sum", "composite"] = option(
        "sum", "Equation 8 as printed, or the variance of the mean of both.",
        details="``sum`` adds up the universe and error variances of the families, which takes people's and judges' "
        "universe scores as unrelated and both scores at their own scale; ``composite`` lets universe scores correlate "
        "as ``correlation`` says.",
    )  # fmt: skip
    another: Literal["other", "same"] = option(
        "other", "Whether the other person sees other lessons, or the same.",
        details='Other ones (the text\'s "separate from the baseline observer") are twice as many, each seen by one; '
        "the same, as equation 12 crosses them.",
    )  # fmt: skip
    correlation: float = option(
        1.0, "Of people's and judges' universe scores, for the mean of both.", low=-1, high=1,
        details="`assay.disattenuated_correlation` estimates it.",
    )  # fmt: skip
    target: float = option(0.7, "The Φ that is to be reached.", above=0, below=1)
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share."
    )
    price: float | None = option(None, "What a person's rating costs.", low=0)
    judge_price: float = option(0.0, "What a judge's rating costs.", low=0)

    def __post_init__(self) -> None:
        if isinstance(self.sizes, range | np.ndarray):
            object.__setattr__(self, "sizes", tuple(self.sizes))
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class DisattenuationSettings(DesignSettings):
    """Options of `assay.disattenuated_correlation`; the design is that of each family's G-study."""

    different: str | None = option(
        None, "The facet in which two scores of an object must differ.",
        details="The one nested in the object when not given.",
    )  # fmt: skip
    by: str = option("kind", "The column that tells families apart.")
    families: Sequence[str] | None = option(
        None, "Values of that column; each two are correlated.", details="All when not given."
    )  # fmt: skip
    weights: PairWeights = option("pairs", "Whether every pair of scores counts alike, or every object.")
    n_resamples: int = option(
        200, "Resamples of the objects.", low=20, key="resamples",
        details="Both families' reliabilities are estimated anew in each.",
    )  # fmt: skip
    confidence: float = level_option()
    seed: int = seed_option()
    n_pairs: int = option(1500, "Pairs of each published resample.", low=20)
    observed_high: float = option(0.3, "An observed correlation of this size looks good.", low=0, high=1)
    implied_low: float = option(
        0.5, "An implied correlation below this is spurious agreement.", low=0, high=1,
        details="Where the observed one looks good.",
    )  # fmt: skip


# -- The design and its effects --------------------------------------------------------------------

MOST_FACETS = 6
"""Facets of a design: six crossed ones have 63 effects, and each merge of two looks at every pair of effects."""


@dataclass(frozen=True)
class Effect:
    """One effect of a design.

    Attributes
    ----------
    name : str
        ``i``, ``o:i``, ``ro:i``: what interacts, then what that is nested in.
    primary, index : frozenset of str
        The facets that interact, and these with all that they are nested in.
    """

    name: str
    primary: frozenset[str]
    index: frozenset[str]


@dataclass(frozen=True)
class Design:
    """Facets, what each is nested in, and the effects.

    Attributes
    ----------
    text : str
        As it was written.
    facets : tuple of str
        In the order of the text.
    nests : mapping of facet to facets
        All that each facet is nested in.
    """

    text: str
    facets: tuple[str, ...]
    nests: Mapping[str, frozenset[str]]

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Every effect, main effects first; the last has all facets, so that only replicates tell it from error."""
        found = []
        for size in range(1, len(self.facets) + 1):
            for chosen in combinations(self.facets, size):
                if not any(a in self.nests[b] for a in chosen for b in chosen):
                    index = frozenset(chosen).union(*(self.nests[f] for f in chosen))
                    found.append(Effect(self.name_of(chosen), frozenset(chosen), index))
        return tuple(sorted(found, key=lambda e: (len(e.index) == len(self.facets), len(e.primary), len(e.index))))

    def name_of(self, chosen: Iterable[str]) -> str:
        """``ro:i`` for r and o, where o is nested in i; longer names are joined with ``x``."""
        mine = [f for f in self.facets if f in set(chosen)]
        joined = ("" if all(len(f) == 1 for f in self.facets) else "x").join(mine)
        outer = frozenset[str]().union(*(self.nests[f] for f in mine)) - set(mine)
        nearest = [f for f in outer if not any(f in self.nests[g] for g in outer)]
        return f"{joined}:{self.name_of(nearest)}" if nearest else joined

    def effect(self, name: str) -> Effect:
        """The effect that a name means; ``ir`` is ``ri``.

        Raises
        ------
        DesignError
            For a name that is no effect of this design.
        """
        for one in self.effects:
            if one.name == name or self._letters(one.name) == self._letters(name):
                return one
        raise DesignError(unknown("effect", name, [e.name for e in self.effects], f"the design {self.text}"))

    def _letters(self, name: str) -> tuple[str, ...]:
        """The facets of each nesting of an effect's name, in alphabetical order."""
        parts = name.replace("×", "x").split(":")
        single = all(len(f) == 1 for f in self.facets)
        return tuple("".join(sorted(p)) if single else "x".join(sorted(p.split("x"))) for p in parts)

    def check_facets(self, named: Iterable[str], what: str = "facet", among: Sequence[str] | None = None) -> None:
        """Refuse a name that is no facet, or none of some."""
        for name in named:
            if name not in (among or self.facets):
                raise DesignError(unknown(what, name, among or self.facets, f"the design {self.text}"))

    def drop(self, facets: Iterable[str]) -> Design:
        """The design of the other facets."""
        gone = set(facets)
        kept = tuple(f for f in self.facets if f not in gone)
        return Design(self.text, kept, {f: self.nests[f] - gone for f in kept})

    def codes_of(self, index: Iterable[str], codes: Mapping[str, Ints]) -> Ints:
        """The level of an effect for each label, from the levels of its facets."""
        return cross_codes(*(codes[f] for f in self.facets if f in index))[0]

    def nested_levels(self, facet: str, codes: Mapping[str, Ints]) -> Ints:
        """The level of a facet for each label, numbered from 0 within each level of what it is nested in."""
        nests = self.nests[facet]
        return nested_codes(codes[facet], self.codes_of(nests, codes) if nests else None)


def parse(text: str) -> Design:
    """A design from its text: ``x`` (or ``×``) crosses, ``:`` nests, brackets group.

    ``r x (s:o:i)`` is raters crossed with segments in lessons in teachers; ``:`` binds first, and ``s:(o x i)`` is
    segments within each combination of o and i.

    Raises
    ------
    DesignError
        For a text that is no design, with what is wrong in it.

    Examples
    --------
    >>> [effect.name for effect in parse("r x (o:i)").effects]
    ['r', 'i', 'o:i', 'ri', 'ro:i']
    """
    tokens = re.findall(r"[^\W\d]\w*|[×:()*]|\S", text)
    reader = _Reader(text, tokens)
    nests = reader.read_crossed()
    if reader.tokens:
        raise reader.wrong(f"'{reader.tokens[0]}' is not expected")
    if len(nests) > MOST_FACETS:
        raise DesignError(f"the design '{text}' has {len(nests)} facets; {MOST_FACETS} are the most that are fitted")
    if len(nests) < 2:
        raise DesignError(f"the design '{text}' has one facet; write what it is crossed with or nested in: r x {text}")
    order = tuple(t for t in tokens if t in nests)
    return Design(text, order, {f: frozenset(nests[f]) for f in order})


def design_of(settings: DesignSettings) -> tuple[Design, dict[str, str]]:
    """The design, and the column of each facet.

    Raises
    ------
    DesignError
        For a design that cannot be read, an object that is no facet, or columns of facets that it does not have.
    """
    design, columns = parse(settings.design), settings.facets or {}
    design.check_facets([settings.object], "object")
    design.check_facets(columns)
    return design, {f: columns.get(f, f) for f in design.facets}


class _Reader:
    """Reads tokens from the left."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text, self.tokens = text, list(tokens)

    def wrong(self, what: str) -> DesignError:
        return DesignError(
            f"the design '{self.text}' cannot be read: {what}. x crosses, : nests, brackets group: r x (s:o:i)"
        )

    def read_crossed(self) -> dict[str, set[str]]:
        """Parts joined by x."""
        found = self.read_nested()
        while self.tokens and self.tokens[0] in ("x", "×", "*", "X"):
            self.tokens.pop(0)
            other = self.read_nested()
            self._refuse_twice(found, other)
            found |= other
        return found

    def read_nested(self) -> dict[str, set[str]]:
        """Parts joined by colons: each is nested in all that follow."""
        parts = [self.read_part()]
        while self.tokens and self.tokens[0] == ":":
            self.tokens.pop(0)
            parts.append(self.read_part())
        found: dict[str, set[str]] = {}
        for part in reversed(parts):
            self._refuse_twice(found, part)
            outer = set(found)
            found |= {f: nest | outer for f, nest in part.items()}
        return found

    def read_part(self) -> dict[str, set[str]]:
        """A facet, or what is in brackets."""
        if not self.tokens:
            raise self.wrong("it ends where a facet should stand")
        token = self.tokens.pop(0)
        if token == "(":
            found = self.read_crossed()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise self.wrong("a bracket is not closed")
            return found
        if not re.fullmatch(r"[^\W\d]\w*", token) or token in ("x", "X"):
            raise self.wrong(f"'{token}' stands where a facet should")
        return {token: set()}

    def _refuse_twice(self, found: Mapping[str, object], other: Mapping[str, object]) -> None:
        if twice := [f for f in other if f in found]:
            raise self.wrong(f"{listing(twice)} appears twice")


# -- Confounding: which effects these labels tell apart -----------------------------------------------

UNKNOWN_OBJECT = "the object's variance is confounded with that of its interactions"
"""Why there is no coefficient."""

NOTHING = 1e-12
"""Squares below this share of all are rounding: a double has 16 digits, and a sum of many squares loses a few."""


@dataclass(frozen=True, eq=False)
class Term:
    """What has one variance: an effect, or several that are confounded.

    Attributes
    ----------
    effects : tuple of Effect
        Of the residual, all that replicates do not tell from it: the highest interaction and what was merged with it.
    code : (labels,) int or None
        Its levels; None for the residual.
    levels : int
    apart_by : int or None
        Differences by which it is told from the next coarser effect.
    omitted : tuple of Effect
        Effects that the user takes to be nothing; they are in the residual.
    cell : frozenset of str
        Of the residual, the facets of a cell: all.
    """

    effects: tuple[Effect, ...]
    code: Ints | None
    levels: int
    apart_by: int | None = None
    omitted: tuple[Effect, ...] = ()
    cell: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """``o:i``, ``s:o:i,rs:o:i,e``."""
        return ",".join([*(e.name for e in self.effects), *(["e"] if self.code is None else [])])

    def facets(self, merged: Merged) -> frozenset[str]:
        """Facets that index every one of its effects (``careful``), or any of them (``usual``)."""
        each = [e.index for e in self.effects] or [self.cell]
        return frozenset.intersection(*each) if merged == "careful" else frozenset[str]().union(*each)

    @property
    def level(self) -> Ints:
        """The level of each label, of a term that is not the residual."""
        assert self.code is not None
        return self.code


@dataclass(frozen=True, eq=False)
class Confounding:
    """The terms that are fitted, the residual last, and what was decided on the way.

    Attributes
    ----------
    design : Design
        Without facets of one level.
    terms : tuple of Term
    notes, cautions : tuple of str
    complete : Balanced or None
        The mean squares, where no cell is missing and nothing was merged.
    single : tuple of str
        Random facets of one level, which were taken out: how others of them would differ is not known.
    replicated : bool
        Whether cells hold several labels, so that the highest interaction and the residual are apart.
    untold : str or None
        Why nothing can be told of the object.
    """

    design: Design
    terms: tuple[Term, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    complete: Balanced | None
    single: tuple[str, ...] = ()
    replicated: bool = False
    untold: str | None = None

    def why_not(self, coefficient: CoefficientName, sizes: Mapping[str, float]) -> str | None:
        """Why a coefficient of a mean over these numbers of levels cannot be told; None where it can."""
        if self.untold is not None or not self.single:
            return self.untold
        name = listing(self.single)
        if coefficient == "generalizability" and all(sizes.get(f, 1) == 1 for f in self.single):
            return None
        return (
            f"{name} has one level, so that nothing shows how others would differ; take more of them, or "
            f"fixed={self.single[0]} where there are no others"
        )

    def random(self, value: Floats) -> Terms:
        """The terms as a fit takes them."""
        return Terms(value, tuple(t.code for t in self.terms if t.code is not None))


def complete_table(
    design: Design, apart: Sequence[Effect], value: Floats, codes: Mapping[str, Ints], restricted: bool
) -> Balanced | None:
    """The mean squares of a table without missing cells, for a variance of each effect ``apart``; None of any other."""
    place = {f: k for k, f in enumerate(design.facets)}
    strata = [frozenset(place[f] for f in e.index) for e in design.effects]
    terms = [s for s, e in zip(strata, design.effects, strict=True) if e in apart]
    return balanced_table(value, [design.nested_levels(f, codes) for f in design.facets], strata, terms, restricted)


def resolve_confounding(
    design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings
) -> Confounding:  # fmt: skip
    """Which variances do these labels tell apart?

    Raises
    ------
    DesignError
        Where nothing is told of the object, labels do not vary, or effects are confounded and the user wants to know.
    """
    if not len(value) or np.ptp(value) == 0:
        raise DesignError("the labels do not vary, so that there is no variance to take apart")
    return _Resolver(design, value, codes, settings).resolve()


class _Resolver:
    """Merges step by step, and keeps the reasons."""

    def __init__(self, design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings) -> None:
        self.value, self.codes, self.settings = value, codes, settings
        self.notes: list[str] = []
        self.cautions: list[str] = []
        self.merged = False
        self.design = self._drop_single_levels(design)
        effects = self.design.effects
        nests = self.design.nests[settings.object]
        self.object = next(e for e in effects if e.index == nests | {settings.object})
        omitted = tuple(self.design.effect(name) for name in settings.omit or ())
        spare = len(value) - cross_codes(*(codes[f] for f in self.design.facets))[1]
        self.replicated = spare >= settings.least_contrasts
        if self.object in omitted or (effects[-1] in omitted and not self.replicated):
            raise DesignError(
                f"neither the object's effect nor the residual can be omitted; got {listing(settings.omit or ())}"
            )
        apart = [e for e in (effects if self.replicated else effects[:-1]) if e not in omitted]
        self.terms = []
        for effect in apart:
            code = self.design.codes_of(effect.index, codes)
            self.terms.append(Term((effect,), code, int(code.max()) + 1))
        self.complete = complete_table(self.design, apart, value, codes, settings.estimator != "ml")
        rest = () if self.replicated else (effects[-1],)
        self.rest = Term(rest, None, len(value), spare, omitted, frozenset(self.design.facets))
        if 0 < spare < settings.least_contrasts:
            self.notes.append(
                f"cells of {design.text} hold several labels, {counted(spare, 'difference')} in all, too few to tell "
                f"{effects[-1].name} from error"
            )

    def _drop_single_levels(self, design: Design) -> Design:
        """Without facets of one level, which vary with nothing."""
        self.single: tuple[str, ...] = ()
        # Lesson 1 of each teacher is another lesson: levels are counted with what a facet is nested in.
        single = [f for f in design.facets if not design.codes_of({f, *design.nests[f]}, self.codes).any()]
        if self.settings.object in single:
            raise DesignError(f"the object {self.settings.object} has one level; there is nothing to tell apart")
        if not single:
            return design
        fixed = getattr(self.settings, "fixed", None) or ()
        self.single = tuple(f for f in single if f not in fixed)
        if self.single:
            name = listing(self.single)
            self._refuse(f"{name} has one level, so that its effects are confounded with others")
            self.cautions.append(
                f"{name} has one level and is taken out of the design: what is found holds for that level alone."
            )
        return design.drop(single)

    def _refuse(self, why: str) -> None:
        if self.settings.confounded == "refuse":
            raise DesignError(f"{why}. confounded='merge' goes on with them as one, and says so")

    def resolve(self) -> Confounding:
        """All steps, in order."""
        self._merge_effects()
        self._merge_with_rest()
        if self.settings.estimator != "anova":
            self._merge_unbounded()
        if self.complete is None:
            self._refuse_dependent()
        measured = self.settings.object
        why = untold(self.value, self.codes[measured], least=self.settings.least_contrasts, name=measured)
        terms = (*(replace(t, apart_by=self._nearest_differences(t)) for t in self.terms), self.rest)
        for term in terms:
            others = [e.name for e in term.effects if e != self.object]
            if self.object in term.effects and others:
                self.cautions.append(
                    f"the object's own variance is confounded with that of {listing(others)}: no coefficient is given."
                )
        if why is None and not any(t.effects == (self.object,) and t.code is not None for t in terms):
            why = UNKNOWN_OBJECT
        complete = None if self.merged else self.complete
        return Confounding(
            self.design, terms, tuple(self.notes), tuple(self.cautions), complete, self.single, self.replicated, why
        )

    def _differences(self, fine: Term, coarse: Term) -> int | None:
        """Differences of levels of one term within levels of another; None where it does not lie within."""
        if fine.facets("usual") > coarse.facets("usual"):
            return fine.levels - coarse.levels
        if fine.levels < coarse.levels or self.complete is not None:
            return None
        return contrasts(fine.level, coarse.level)

    def _nearest_differences(self, term: Term) -> int | None:
        """Differences within the nearest coarser term, or between its own levels."""
        each = [self._differences(term, other) for other in self.terms if other is not term]
        return min((n for n in each if n is not None), default=term.levels - 1)

    def _merge_effects(self) -> None:
        """Effects whose levels are, but for a few, the same."""
        least = self.settings.least_contrasts
        while True:
            pairs = [
                (n, coarse, fine)
                for coarse in self.terms for fine in self.terms if coarse is not fine
                for n in [self._differences(fine, coarse)] if n is not None and n < least
            ]  # fmt: skip
            if not pairs:
                return
            n, coarse, fine = min(pairs, key=lambda p: (p[0], p[1].levels, len(p[1].facets("usual"))))
            why = (
                f"{fine.name} and {coarse.name} are confounded: {counted(coarse.levels, 'level')} of "
                f"{coarse.name} hold {counted(fine.levels, 'level')} of {fine.name}, {counted(n, 'difference')} in all"
            )
            self._note_merge(why, f"they are one term, {coarse.name},{fine.name}")
            both = replace(coarse, effects=coarse.effects + fine.effects)
            self.terms = [both if t is coarse else t for t in self.terms if t is not fine]

    def _merge_with_rest(self) -> None:
        """Terms of which nearly every level has one label; in a complete table the residual has squares of its own."""
        if self.complete is not None and not self.merged:
            return
        for term in list(self.terms):
            n = len(self.value) - term.levels
            if n < self.settings.least_contrasts:
                self._merge_into_rest(
                    term,
                    f"{term.name} is confounded with the residual: its {counted(term.levels, 'level')} hold "
                    f"{counted(len(self.value), 'label')}, {counted(n, 'difference')} in all",
                )

    def _merge_unbounded(self) -> None:
        """Where the terms explain every label, the criterion falls without bound as the residual goes to 0."""
        whole = float(((self.value - self.value.mean()) ** 2).sum())
        while self.terms:
            n, squares = self._residual()
            if n == 0 or squares > NOTHING * whole:
                return
            finest = max(self.terms, key=lambda t: t.levels)
            if finest.effects[0] == self.object:
                alone = left_over(Terms(self.value, (finest.level,)))[1]
                why = "the labels of each object are all the same"
                if alone > NOTHING * whole:
                    why = f"what {listing([t.name for t in self.terms])} do not explain of the labels is exactly 0"
                raise DesignError(f"{why}, so that no error can be estimated")
            several = int((np.bincount(finest.level) > 1).sum())
            self._merge_into_rest(
                finest,
                f"{finest.name} and the residual have no solution: {several:,} of {counted(finest.levels, 'level')} of "
                f"{finest.name} have more than one label, and what no effect explains there "
                f"({counted(n, 'contrast')}) is exactly 0, "
                "so that the likelihood grows without bound as the residual goes to 0",
            )

    def _residual(self) -> tuple[int, float]:
        """What no term explains: contrasts, and their squares."""
        if self.complete is not None and not self.merged:
            # Effects that were omitted have strata of their own, which the residual holds.
            own = self.complete.weights[:-1, :-1].sum(axis=1) == 0
            return int(self.complete.df[own].sum()), float(self.complete.squares[own].sum())
        return left_over(Terms(self.value, tuple(t.level for t in self.terms)))

    def _merge_into_rest(self, term: Term, why: str) -> None:
        self.rest = replace(self.rest, effects=term.effects + self.rest.effects)
        self._note_merge(why, f"it is fitted as part of the residual, {self.rest.name}")
        self.terms = [t for t in self.terms if t is not term]

    def _note_merge(self, why: str, what: str) -> None:
        self._refuse(why)
        self.merged = True
        self.cautions.append(f"{why}; {what}.")

    def _refuse_dependent(self) -> None:
        """Variances of which a combination leaves every covariance as it is."""
        dependent = dependent_terms([t.level for t in self.terms], len(self.value))
        if dependent:
            names = [(*self.terms, self.rest)[k].name for k in dependent]
            raise DesignError(
                f"the variances of {listing(names)} are not identified: more of one and less of the others gives the "
                "same labels. Leave one of them out with omit=(...), or collect labels that cross them"
            )
