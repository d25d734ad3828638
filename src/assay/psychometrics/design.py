"""Designs as the field writes them: ``r x (s:o:i)``, and the effects that they have (Brennan 2001)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal, TypedDict

import numpy as np

from assay.data.annotations import Repeats
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.options import Settings, option
from assay.estimation.statistic import Floats, Ints
from assay.statistics.blocks import Balanced, Terms, balanced, contrasts, grouped, left_over, within

# -- The options of generalizability ---------------------------------------------------------------

Estimator = Literal["reml", "ml", "anova"]
How = Literal["profile", "delta", "parametric", "objects", "none"]
Confounded = Literal["merge", "refuse"]
Merged = Literal["careful", "usual"]
Coefficient = Literal["generalizability", "dependability"]
Reading = Literal["sum", "composite"]
Another = Literal["other", "same"]
Weights = Literal["pairs", "objects"]


class DesignOptions(TypedDict, total=False):
    """Which labels a design is fitted to, and how.

    Attributes
    ----------
    facets : mapping of facet to column
        Columns of the answers, the items or the annotators; a facet that is not named is a column of that name.
    annotators : tuple of str
        Whose labels count; all when not given.
    repeats : {"error", "first", "last", "mean", "majority", "each"}
        What several answers of one annotator to one item stand for, where ``repeat`` is no facet.
    omit : tuple of str
        Effects that are taken to be nothing: their variance, if there is any, is in the residual.
    reverse : tuple of str
        Criteria that are worded negatively: their labels are turned round on the scale.
    confounded : {"merge", "refuse"}
        What becomes of effects that these labels cannot tell apart.
    least_contrasts : int
        Effects are told apart by at least so many differences; 3 by default.
    estimator : {"reml", "ml", "anova"}
        Restricted or full maximum likelihood, or the analysis of variance (Henderson's method 1).
    """

    facets: Mapping[str, str] | None
    annotators: tuple[str, ...] | None
    repeats: Repeats
    omit: tuple[str, ...] | None
    reverse: tuple[str, ...] | None
    confounded: Confounded
    least_contrasts: int
    estimator: Estimator


@dataclass(frozen=True)
class DesignSettings(Settings):
    """Which labels a design is fitted to, and how; see `DesignOptions`."""

    design: str = option("", "Facets crossed (x) and nested (:), such as 'r x (o:i)'.", always=True)
    object: str = option("", "The facet whose levels are measured.", always=True)
    facets: Mapping[str, str] | None = option(None, "The column of each facet.", key="", hidden=True)
    annotators: tuple[str, ...] | None = option(None, "Annotators whose labels count.")
    repeats: Repeats = option("error", "What repeated answers stand for.")
    omit: tuple[str, ...] | None = option(None, "Effects taken to be nothing, separated by commas: ro:i.")
    reverse: tuple[str, ...] | None = option(None, "Criteria that are worded negatively, separated by commas.")
    confounded: Confounded = option("merge", "What becomes of effects that cannot be told apart.")
    least_contrasts: int = option(3, "Differences that tell two effects apart, at least.", low=1)
    estimator: Estimator = option("reml", "How variances are estimated.")


@dataclass(frozen=True)
class GStudySettings(DesignSettings):
    """Options of `assay.g_study`."""

    fixed: tuple[str, ...] | None = option(None, "Facets whose levels are all there are, separated by commas.")
    by: str | None = option(None, "A column whose values are studied one by one: kind for people and judges apart.")
    method: How | None = option(
        None, "How intervals are made; by profile where variances come from a likelihood, by delta for large tables."
    )
    n_resamples: int = option(200, "Samples drawn, where intervals come from some.", low=20, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)


@dataclass(frozen=True)
class DStudySettings(Settings):
    """Options of `GStudy.d_study`."""

    sizes: Mapping[str, tuple[int, ...]] | None = option(None, "How many levels of each facet.", hidden=True)
    target: float = option(0.7, "The coefficient that is to be reached.", above=0, below=1)
    coefficient: Coefficient = option("dependability", "Which coefficient is to reach it.")
    along: str | None = option(None, "The facet whose smallest number is looked for.")
    price: float | None = option(None, "What one rating costs.", low=0)
    prices: Mapping[str, float] | None = option(None, "What one level of a facet costs.", hidden=True)
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share."
    )


class LoopOptions(TypedDict, total=False):
    """Options of `GStudy.human_in_the_loop`; see `assay.psychometrics.d_study.human_in_the_loop`."""

    sizes: Sequence[int]
    along: str | None
    raters: str | None
    human: str | None
    judge: str | None
    of_human: Mapping[str, int] | None
    of_judge: Mapping[str, int] | None
    ensemble: int
    reading: Reading
    another: Another
    correlation: float
    target: float
    merged: Merged
    price: float | None
    judge_price: float


@dataclass(frozen=True)
class LoopSettings(Settings):
    """Options of `GStudy.human_in_the_loop`."""

    sizes: tuple[int, ...] = option((1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "Numbers of lessons, or whatever is shared.")
    along: str | None = option(None, "The facet that people and judges share.")
    raters: str | None = option(None, "The facet of raters, which they do not share.")
    human: str | None = option(None, "The study of people.")
    judge: str | None = option(None, "The study of judges.")
    of_human: Mapping[str, int] | None = option(None, "Levels of further facets that a person sees.", hidden=True)
    of_judge: Mapping[str, int] | None = option(None, "Levels of further facets that a judge sees.", hidden=True)
    ensemble: int = option(3, "Judges of an ensemble.", low=2)
    reading: Reading = option("sum", "Equation 8 as printed, or the variance of the mean of both.")
    another: Another = option("other", "Whether the other person sees other lessons, or the same.")
    correlation: float = option(1.0, "Of people's and judges' universe scores, for the mean of both.", low=-1, high=1)
    target: float = option(0.7, "The Φ that is to be reached.", above=0, below=1)
    merged: Merged = option(
        "careful", "Whether merged variance shrinks only with facets that all of its effects share."
    )
    price: float | None = option(None, "What a person's rating costs.", low=0)
    judge_price: float = option(0.0, "What a judge's rating costs.", low=0)


@dataclass(frozen=True)
class DisattenuationSettings(DesignSettings):
    """Options of `assay.disattenuated_correlation`."""

    different: str | None = option(None, "The facet in which two scores of an object must differ.")
    by: str = option("kind", "The column that tells the two families apart.")
    families: tuple[str, ...] | None = option(None, "The two values of that column.")
    weights: Weights = option("pairs", "Whether every pair of scores counts alike, or every object.")
    n_resamples: int = option(200, "Resamples of the objects.", low=20, key="resamples")
    confidence: float = option(0.95, "Level of the intervals.", above=0, below=1, key="level")
    seed: int = option(0, "Same seed, same numbers.", low=0)
    n_pairs: int = option(1500, "Pairs of each published resample.", low=20)
    observed_high: float = option(0.3, "An observed correlation of this size looks good.", low=0, high=1)
    implied_low: float = option(0.5, "An implied correlation below this is spurious agreement.", low=0, high=1)


# -- Designs as the field writes them --------------------------------------------------------------

MOST_FACETS = 6


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
        """Every effect, main effects first; the last has all facets and is never apart from error."""
        found = []
        for size in range(1, len(self.facets) + 1):
            for chosen in combinations(self.facets, size):
                if not any(a in self.nests[b] for a in chosen for b in chosen):
                    index = frozenset(chosen).union(*(self.nests[f] for f in chosen))
                    found.append(Effect(self.name_of(chosen), frozenset(chosen), index))
        return tuple(sorted(found, key=lambda e: (len(e.primary), len(e.index))))

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
            if one.name == name or _letters(one.name, self.facets) == _letters(name, self.facets):
                return one
        raise DesignError(unknown("effect", name, [e.name for e in self.effects], f"the design {self.text}"))

    def without(self, facets: Iterable[str]) -> Design:
        """The design of the other facets."""
        gone = set(facets)
        kept = tuple(f for f in self.facets if f not in gone)
        return Design(self.text, kept, {f: self.nests[f] - gone for f in kept})


def _letters(name: str, facets: Sequence[str]) -> tuple[str, ...]:
    """The facets of each nesting of an effect's name, in any order."""
    parts = name.replace("×", "x").split(":")
    single = all(len(f) == 1 for f in facets)
    return tuple("".join(sorted(p)) if single else "x".join(sorted(p.split("x"))) for p in parts)


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
    nests = reader.crossed()
    if reader.tokens:
        raise reader.wrong(f"'{reader.tokens[0]}' is not expected")
    if len(nests) > MOST_FACETS:
        raise DesignError(f"the design '{text}' has {len(nests)} facets; {MOST_FACETS} are the most that are fitted")
    if len(nests) < 2:
        raise DesignError(f"the design '{text}' has one facet; write what it is crossed with or nested in: r x {text}")
    order = tuple(t for t in tokens if t in nests)
    return Design(text, order, {f: frozenset(nests[f]) for f in order})


class _Reader:
    """Reads tokens from the left."""

    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text, self.tokens = text, list(tokens)

    def wrong(self, what: str) -> DesignError:
        return DesignError(
            f"the design '{self.text}' cannot be read: {what}. x crosses, : nests, brackets group: r x (s:o:i)"
        )

    def crossed(self) -> dict[str, set[str]]:
        """Parts joined by x."""
        found = self.nested()
        while self.tokens and self.tokens[0] in ("x", "×", "*", "X"):
            self.tokens.pop(0)
            other = self.nested()
            self._apart(found, other)
            found |= other
        return found

    def nested(self) -> dict[str, set[str]]:
        """Parts joined by colons: each is nested in all that follow."""
        parts = [self.one()]
        while self.tokens and self.tokens[0] == ":":
            self.tokens.pop(0)
            parts.append(self.one())
        found: dict[str, set[str]] = {}
        for part in reversed(parts):
            self._apart(found, part)
            outer = set(found)
            found |= {f: nest | outer for f, nest in part.items()}
        return found

    def one(self) -> dict[str, set[str]]:
        """A facet, or what is in brackets."""
        if not self.tokens:
            raise self.wrong("it ends where a facet should stand")
        token = self.tokens.pop(0)
        if token == "(":
            found = self.crossed()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise self.wrong("a bracket is not closed")
            return found
        if not re.fullmatch(r"[^\W\d]\w*", token) or token in ("x", "X"):
            raise self.wrong(f"'{token}' stands where a facet should")
        return {token: set()}

    def _apart(self, found: Mapping[str, object], other: Mapping[str, object]) -> None:
        twice = [f for f in other if f in found]
        if twice:
            raise self.wrong(f"{listing(twice)} appears twice")


# -- Before any fit, what these labels can tell ----------------------------------------------------

NOTHING = 1e-12
"""Squares below this share of all are rounding."""


@dataclass(frozen=True, eq=False)
class Term:
    """What has one variance: an effect, or several that cannot be told apart.

    Attributes
    ----------
    effects : tuple of Effect
        Of the residual, the highest interaction and all that was merged with it.
    code : (labels,) int or None
        Its levels; None for the residual.
    levels : int
    apart_by : int or None
        Differences by which it is told from the next coarser effect.
    omitted : tuple of Effect
        Effects that the user takes to be nothing; they are in the residual.
    """

    effects: tuple[Effect, ...]
    code: Ints | None
    levels: int
    apart_by: int | None = None
    omitted: tuple[Effect, ...] = ()

    @property
    def name(self) -> str:
        """``o:i``, ``s:o:i,rs:o:i,e``."""
        return ",".join([*(e.name for e in self.effects), *(["e"] if self.code is None else [])])

    @property
    def shared(self) -> frozenset[str]:
        """Facets that index every one of its effects."""
        return frozenset.intersection(*(e.index for e in self.effects))

    @property
    def index(self) -> frozenset[str]:
        """Facets that index any of them."""
        return frozenset[str]().union(*(e.index for e in self.effects))


@dataclass(frozen=True, eq=False)
class Identified:
    """The terms that are fitted, the residual last, and what was decided on the way."""

    design: Design
    terms: tuple[Term, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    merged: bool
    dropped: tuple[str, ...]
    complete: Balanced | None
    """The mean squares, where no cell is missing and nothing was merged."""

    def random(self, value: Floats) -> Terms:
        """As a fit takes them."""
        return Terms(value, tuple(t.code for t in self.terms if t.code is not None))


def identify(
    design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings
) -> Identified:  # fmt: skip
    """Which variances these labels tell apart.

    Raises
    ------
    DesignError
        Where nothing is told of the object, labels do not vary, or effects are confounded and the user wants to know.
    """
    if not len(value) or np.ptp(value) == 0:
        raise DesignError("the labels do not vary, so that there is no variance to take apart")
    maker = _Identifier(design, value, codes, settings)
    return maker.found()


def complete_table(
    design: Design, omitted: Sequence[Effect], value: Floats, codes: Mapping[str, Ints], restricted: bool
) -> Balanced | None:
    """The mean squares of a table without missing cells; None of any other."""
    axes, place = [], {f: k for k, f in enumerate(design.facets)}
    for f in design.facets:
        nest = [codes[g] for g in design.facets if g in design.nests[f]]
        axes.append(within(codes[f], grouped(*nest)[0] if nest else None))
    strata = [frozenset(place[f] for f in e.index) for e in design.effects]
    terms = [s for s, e in zip(strata, design.effects, strict=True) if e not in omitted][:-1]
    return balanced(value, axes, strata, terms, restricted)


class _Identifier:
    """Merges step by step, and keeps the reasons."""

    def __init__(self, design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings) -> None:
        self.value, self.codes, self.settings = value, codes, settings
        self.notes: list[str] = []
        self.cautions: list[str] = []
        self.merged = False
        self.design, self.dropped = self._with_levels(design)
        self.omitted = tuple(self.design.effect(name) for name in settings.omit or ())
        top = self.design.effects[-1]
        if top in self.omitted or any(
            settings.object in e.index and e.index == self._object.index for e in self.omitted
        ):
            raise DesignError(
                f"neither the object's effect nor the residual can be omitted; got {listing(settings.omit or ())}"
            )
        each = [e for e in self.design.effects if e not in self.omitted and e is not top]
        self.terms = [self._term(e) for e in each]
        self.complete = complete_table(self.design, self.omitted, value, codes, settings.estimator != "ml")
        cells = grouped(*(codes[f] for f in self.design.facets))[1]
        self.rest = Term((top,), None, len(value), len(value) - cells, self.omitted)
        if cells < len(value):
            self.notes.append(
                f"cells of {design.text} hold several labels; their differences within a cell are in the residual"
            )

    @property
    def _object(self) -> Effect:
        nests = self.design.nests[self.settings.object]
        return next(e for e in self.design.effects if e.index == nests | {self.settings.object})

    def _with_levels(self, design: Design) -> tuple[Design, tuple[str, ...]]:
        """Without facets of one level, which vary with nothing."""
        single = tuple(f for f in design.facets if int(self.codes[f].max()) == 0)
        if self.settings.object in single:
            raise DesignError(f"the object {self.settings.object} has one level; there is nothing to tell apart")
        if not single:
            return design, ()
        self._refuse(f"{listing(single)} has one level, so that its effects cannot be told from others")
        self.cautions.append(
            f"{listing(single)} has one level and is taken out of the design: what is found holds for that level alone."
        )
        kept = design.without(single)
        return kept, single

    def _term(self, effect: Effect) -> Term:
        code, n = grouped(*(self.codes[f] for f in self.design.facets if f in effect.index))
        return Term((effect,), code, n)

    def _refuse(self, why: str) -> None:
        if self.settings.confounded == "refuse":
            raise DesignError(f"{why}. confounded='merge' goes on with them as one, and says so")

    def found(self) -> Identified:
        """All steps, in order."""
        self._merge_effects()
        self._merge_with_rest()
        if self.settings.estimator != "anova":
            self._merge_unbounded()
        if self.complete is None:
            self._refuse_dependent()
        found = tuple(replace(t, apart_by=self._apart(t)) for t in self.terms)
        self._say_of_object()
        complete = None if self.merged else self.complete
        return Identified(
            self.design,
            (*found, self.rest),
            tuple(self.notes),
            tuple(self.cautions),
            self.merged,
            self.dropped,
            complete,
        )

    def _say_of_object(self) -> None:
        for term in (*self.terms, self.rest):
            others = [e.name for e in term.effects if e != self._object]
            if self._object in term.effects and others:
                self.cautions.append(
                    f"the object's own variance cannot be told from that of {listing(others)}: no coefficient is given."
                )

    def _differences(self, fine: Term, coarse: Term) -> int | None:
        """Differences of levels of one term within levels of another; None where it does not lie within."""
        if fine.index > coarse.index:
            return fine.levels - coarse.levels
        if fine.levels < coarse.levels or self.complete is not None:
            return None
        return contrasts(_code(fine), _code(coarse))

    def _apart(self, term: Term) -> int | None:
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
            n, coarse, fine = min(pairs, key=lambda p: (p[0], p[1].levels, len(p[1].index)))
            why = (
                f"{fine.name} and {coarse.name} cannot be told apart: {counted(coarse.levels, 'level')} of "
                f"{coarse.name} hold {counted(fine.levels, 'level')} of {fine.name}, {counted(n, 'difference')} in all"
            )
            self._refuse(why)
            self._say(why + f"; they are one term, {coarse.name},{fine.name}")
            both = replace(coarse, effects=coarse.effects + fine.effects)
            self.terms = [both if t is coarse else t for t in self.terms if t is not fine]

    def _merge_with_rest(self) -> None:
        """Terms of which nearly every level has one label."""
        for term in list(self.terms):
            n = len(self.value) - term.levels
            if n < self.settings.least_contrasts:
                why = (
                    f"{term.name} cannot be told from the residual: its {counted(term.levels, 'level')} hold "
                    f"{counted(len(self.value), 'label')}, {counted(n, 'difference')} in all"
                )
                self._into_rest(term, why)

    def _merge_unbounded(self) -> None:
        """Where the terms explain every label, the criterion falls without bound as the residual goes to 0."""
        whole = float(((self.value - self.value.mean()) ** 2).sum())
        while self.terms:
            n, squares = self._left_over()
            if n == 0 or squares > NOTHING * whole:
                return
            finest = max(self.terms, key=lambda t: t.levels)
            if finest.effects[0] == self._object:
                raise DesignError("the labels of each object are all the same, so that no error can be estimated")
            several = int((np.bincount(_code(finest)) > 1).sum())
            self._into_rest(
                finest,
                f"{finest.name} and the residual have no solution: {several:,} of {counted(finest.levels, 'level')} of "
                f"{finest.name} have more than one label, and what no effect explains there "
                f"({counted(n, 'contrast')}) is exactly 0, "
                "so that the likelihood grows without bound as the residual goes to 0",
            )

    def _left_over(self) -> tuple[int, float]:
        """What no term explains: contrasts, and their squares."""
        if self.complete is not None and not self.merged:
            # Effects that were omitted have strata of their own, which the residual holds.
            own = self.complete.weights[:-1, :-1].sum(axis=1) == 0
            return int(self.complete.df[own].sum()), float(self.complete.squares[own].sum())
        return left_over(Terms(self.value, tuple(_code(t) for t in self.terms)))

    def _into_rest(self, term: Term, why: str) -> None:
        self._refuse(why)
        self.rest = replace(self.rest, effects=term.effects + self.rest.effects)
        self.terms = [t for t in self.terms if t is not term]
        self._say(f"{why}; it is fitted as part of the residual, {self.rest.name}")

    def _say(self, what: str) -> None:
        self.merged = True
        self.cautions.append(f"{what}.")

    def _refuse_dependent(self) -> None:
        """Variances of which a combination leaves every covariance as it is."""
        dependent = _dependent([_code(t) for t in self.terms], len(self.value))
        if dependent:
            names = [(*self.terms, self.rest)[k].name for k in dependent]
            raise DesignError(
                f"the variances of {listing(names)} are not identified: more of one and less of the others gives the "
                "same labels. Leave one of them out with omit=(...), or collect labels that cross them"
            )


def _code(term: Term) -> Ints:
    assert term.code is not None
    return term.code


def _dependent(codes: Sequence[Ints], n: int) -> list[int]:
    """Terms whose covariance matrices, the mean taken out, add to nothing; the residual is the last."""
    each = [*codes, None]
    size = [np.ones(n) if c is None else np.bincount(c)[c].astype(float) for c in each]
    gram = np.empty((len(each), len(each)))
    for a, one in enumerate(each):
        for b, other in enumerate(each):
            both = _shared(one, other, n)
            cross = float((size[a] * size[b]).sum())
            gram[a, b] = both - 2 * cross / n + size[a].sum() * size[b].sum() / n**2
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    if values[0] > 1e-9:
        return []
    return [int(k) for k in np.flatnonzero(np.abs(vectors[:, 0]) > 0.05)]


def _shared(a: Ints | None, b: Ints | None, n: int) -> float:
    """Sum of squared numbers of labels in each combination of levels."""
    if a is None or b is None:
        return float(n)
    both, m = grouped(a, b)
    return float((np.bincount(both, minlength=m).astype(float) ** 2).sum())
