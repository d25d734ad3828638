"""Designs of G-studies, and the effects that their labels identify.

``r x (s:o:i)`` has the effects of Brennan (2001, chapter 3). Before the fit, effects that are confounded in the labels
are merged, or raise an error, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from assay.data.annotations import Annotations, Repeats
from assay.errors import DesignError, counted, listing, nearest_name, unknown
from assay.estimation.options import Limits, Settings, level_option, option, seed_option
from assay.estimation.statistic import Floats, Ints
from assay.statistics.components.blocks import (
    Balanced,
    Terms,
    balanced_table,
    contrasts,
    cross_codes,
    dependent_terms,
    left_over,
    nested_codes,
)
from assay.statistics.components.blocks import (
    untold as not_identified,
)

# -- Options ---------------------------------------------------------------------------------------

Estimator = Literal["reml", "ml", "anova"]
IntervalMethod = Literal["profile", "delta", "parametric", "objects", "none"]
CoefficientName = Literal["generalizability", "dependability"]
Merged = Literal["careful", "usual"]
PairWeights = Literal["pairs", "objects"]


@dataclass(frozen=True)
class DesignSettings(Settings):
    """Options of a design, the labels and the estimator."""

    design: Annotated[
        str,
        Limits(
            "Design with facets crossed (x) and nested (:), such as 'r x (o:i)'.", always=True,
            details="``r x (s:o:i)`` is raters crossed with segments in lessons in teachers.", first=True,
        ),
    ]  # fmt: skip
    object: Annotated[str, Limits("Object of measurement (a facet).", always=True, first=True)]
    _: KW_ONLY
    facets: Mapping[str, str] | None = option(
        None, "Column of each facet: r=annotator,o=lesson.", key="",
        details="A column of the labels, the items or the annotators. Default: the column with the facet's name.",
        first=True,
    )  # fmt: skip
    annotators: str | Sequence[str] | None = option(None, "Annotators to include (default: all).")
    repeats: Repeats = option(
        "error", "How to combine repeated labels.",
        details="Labels of one annotator for one item, if ``repeat`` is not a facet.",
    )  # fmt: skip
    omit: str | Sequence[str] | None = option(
        None, "Effects assumed to be zero, separated by commas: ro:i.",
        details="Their variance, if any, is part of the residual.",
    )  # fmt: skip
    reverse: str | Sequence[str] | None = option(
        None, "Negatively worded criteria, separated by commas.",
        details="Their labels are reversed on the scale.",
    )  # fmt: skip
    confounded: Literal["merge", "refuse"] = option("merge", "How to treat confounded effects.")
    least_contrasts: int = option(
        3, "Minimum number of contrasts that separate two effects.", low=1,
        details="A variance with fewer contrasts depends on one or two numbers.",
    )  # fmt: skip
    estimator: Estimator = option(
        "reml", "Estimator of the variances.",
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
        None, "Fixed facets, separated by commas.",
        details="Scores are means over their levels; the object's interactions with them belong to its universe score.",
        first=True,
    )  # fmt: skip
    by: str | None = option(
        None, "Analyse each value of this column separately: kind for humans and judges.",
        details="Pooled, they are one population of raters, or families in the design: ``(r:f) x (o:i)`` with "
        '``facets={"f": "kind"}``.',
        first=True,
    )  # fmt: skip
    method: IntervalMethod | None = option(
        None, "Interval method (default: profile; delta for large unbalanced tables; parametric for ANOVA).",
        details="Profile likelihood; the delta method; samples drawn from the fitted variances; resampled objects. "
        "Large tables have more than 20,000 labels.",
    )  # fmt: skip
    n_resamples: int = option(200, "Bootstrap resamples, for parametric and objects.", low=20, key="resamples")
    confidence: float = level_option()
    seed: int = seed_option()


@dataclass(frozen=True)
class DStudySettings(Settings):
    """Options of `GStudy.d_study`."""

    levels: Mapping[str, int | Sequence[int]] | None = option(
        None, "Numbers of levels of each facet: o=1-10,r=1,2,3.",
        details="``d_study(r=[1, 2], o=range(1, 11))`` is equivalent. A facet that is not named has one level, a fixed "
        "one all of its levels. A nested facet is counted within its outer facet: segments of a lesson.",
        first=True,
    )  # fmt: skip
    _: KW_ONLY
    target: float = option(0.7, "Target value of the coefficient.", above=0, below=1, first=True)
    coefficient: CoefficientName = option("dependability", "Coefficient that must reach the target.")
    along: str | None = option(
        None, "Facet whose smallest sufficient number is reported.", details="Default: the one with most numbers."
    )
    price: float | None = option(
        None,
        "Cost of one rating.",
        low=0,
        details="The ratings of an object are the product of all numbers.",
        first=True,
    )
    prices: Mapping[str, float] | None = option(
        None, "Cost of one level of a facet: o=20.", details="For example, a visit to a lesson."
    )
    merged: Merged = option(
        "careful", "Divide merged variance only by the numbers of facets that all of its effects share.",
        details="``usual`` divides it by the numbers of all facets of any of them, the most optimistic assumption.",
    )  # fmt: skip

    @classmethod
    def of(cls, options: Mapping[str, Any], question: str | None = None) -> Self:
        """Settings from keyword options; other keywords are facets with their numbers."""
        known = {f.name for f in fields(cls)}
        if "sizes" in options:
            raise DesignError("sizes=... is now levels=...", option="sizes")
        levels = {**(options.get("levels") or {}), **{k: v for k, v in options.items() if k not in known}}
        numbers = {f: (n,) if isinstance(n, int) else tuple(n) for f, n in levels.items()}
        return super().of({**{k: v for k, v in options.items() if k in known}, "levels": numbers}, question)


@dataclass(frozen=True, kw_only=True)
class LoopSettings(Settings):
    """Options of `GStudy.human_in_the_loop`."""

    renamed: ClassVar[Mapping[str, str]] = {"raters": "rater_facet=...", "reading": "combine=..."}

    sizes: Sequence[int] = option(
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "Numbers of levels of the shared facet, such as lessons.", first=True
    )
    along: str | None = option(
        None, "Facet that humans and judges share.", details="Default: the facet nested in the object."
    )
    rater_facet: str | None = option(
        None, "Facet of raters, which they do not share.",
        details="Default: the facet with the column ``annotator``.",
    )  # fmt: skip
    human: str | None = option(None, "Study of humans.", details="Default: the group ``human``.")
    judge: str | None = option(None, "Study of judges.", details="Default: the group ``judge``.")
    of_human: Mapping[str, int] | None = option(
        None, "Levels of further facets per human.", hidden=True, details="For example, segments of a lesson."
    )
    of_judge: Mapping[str, int] | None = option(None, "Levels of further facets per judge.", hidden=True)
    ensemble: int = option(3, "Number of judges in an ensemble.", low=2)
    combine: Literal["sum", "composite"] = option(
        "sum", "Equation 8 as printed, or the variance of the mean of both.",
        details="``sum`` adds the universe and error variances of the families: it assumes that universe scores of "
        "humans and judges are uncorrelated. ``composite`` uses their ``correlation``.",
    )  # fmt: skip
    another: Literal["other", "same"] = option(
        "other", "Whether the second human observes other lessons, or the same.",
        details='With other lessons (the text\'s "separate from the baseline observer") there are twice as many, with '
        "one human each; with the same lessons they are crossed, as in equation 12.",
    )  # fmt: skip
    correlation: float = option(
        1.0, "Universe-score correlation of humans and judges, for combine='composite'.", low=-1, high=1,
        details="`assay.disattenuated_correlation` estimates it.",
    )  # fmt: skip
    target: float = option(0.7, "Target value of Φ.", above=0, below=1)
    merged: Merged = option(
        "careful", "Divide merged variance only by the numbers of facets that all of its effects share."
    )
    price: float | None = option(None, "Cost of a human rating.", low=0)
    judge_price: float = option(0.0, "Cost of a judge rating.", low=0)

    def __post_init__(self) -> None:
        if isinstance(self.sizes, range | np.ndarray):
            object.__setattr__(self, "sizes", tuple(self.sizes))
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class DisattenuationSettings(DesignSettings):
    """Options of `assay.disattenuated_correlation`; the design is that of each family's G-study."""

    different: str | None = option(
        None, "Facet in which two scores of an object must differ.",
        details="Default: the facet nested in the object.",
    )  # fmt: skip
    by: str = option("kind", "Column of the families.")
    families: Sequence[str] | None = option(
        None, "Families to correlate in pairs (default: all values of that column)."
    )  # fmt: skip
    weights: PairWeights = option("pairs", "Weight all pairs of scores equally, or all objects.")
    n_resamples: int = option(
        200, "Resamples of the objects.", low=20, key="resamples",
        details="Both reliabilities are re-estimated in each.",
    )  # fmt: skip
    confidence: float = level_option()
    seed: int = seed_option()
    n_pairs: int = option(1500, "Pairs in each resample of the published method.", low=20)
    observed_high: float = option(0.3, "Observed correlation from which agreement seems good.", low=0, high=1)
    implied_low: float = option(
        0.5, "Universe-score correlation below which such agreement is spurious.", low=0, high=1,
    )  # fmt: skip


# -- The design and its effects --------------------------------------------------------------------

MOST_FACETS = 6
"""Largest number of facets: six crossed ones have 63 effects, and each merge compares every pair of effects."""


@dataclass(frozen=True)
class Effect:
    """One effect of a design.

    Attributes
    ----------
    name : str
        ``i``, ``o:i``, ``ro:i``: the interacting facets, then their outer facets.
    primary, index : frozenset of str
        The interacting facets, and these with all their outer facets.
    """

    name: str
    primary: frozenset[str]
    index: frozenset[str]


@dataclass(frozen=True)
class Design:
    """Facets, their nesting, and the effects.

    Attributes
    ----------
    text : str
        The design as written.
    facets : tuple of str
        In the order of the text.
    nests : mapping of facet to facets
        All outer facets of each facet.
    """

    text: str
    facets: tuple[str, ...]
    nests: Mapping[str, frozenset[str]]

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Every effect, main effects first; the last has all facets, so that only replicates separate it from error."""
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
        """The effect with a name; ``ir`` is ``ri``.

        Raises
        ------
        DesignError
            For a name that is not an effect of this design.
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
        """Raise if a name is not a facet, or not one of some facets."""
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
        """The level of a facet for each label, numbered from 0 within each level of its outer facets."""
        nests = self.nests[facet]
        return nested_codes(codes[facet], self.codes_of(nests, codes) if nests else None)


def parse(text: str) -> Design:
    """A design from its text: ``x`` (or ``×``) crosses, ``:`` nests, brackets group.

    ``r x (s:o:i)`` is raters crossed with segments in lessons in teachers; ``:`` binds first, and ``s:(o x i)`` is
    segments within each combination of o and i.

    Raises
    ------
    DesignError
        For a text that is not a design, with the error in it.

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
        raise DesignError(f"the design '{text}' has {len(nests)} facets; at most {MOST_FACETS} are supported")
    if len(nests) < 2:
        raise DesignError(
            f"the design '{text}' has one facet; add a facet that is crossed with it or that it is nested in: r x "
            f"{text}"
        )
    order = tuple(t for t in tokens if t in nests)
    return Design(text, order, {f: frozenset(nests[f]) for f in order})


def design_of(settings: DesignSettings) -> tuple[Design, dict[str, str]]:
    """The design, and the column of each facet.

    Raises
    ------
    DesignError
        For a design that cannot be parsed, an object that is not a facet, or columns of facets that it does not have.
    """
    design, columns = parse(settings.design), settings.facets or {}
    design.check_facets([settings.object], "object")
    design.check_facets(columns)
    return design, {f: columns.get(f, f) for f in design.facets}


def require_columns(labels: Annotations, columns: Mapping[str, str]) -> set[str]:
    """Return the columns of the facets; refuse facets that have none.

    Raises
    ------
    DesignError
        With the option that names the column of each facet.
    DataError
        For a column that is not in the table.
    """
    known = [*labels.labels.columns, *labels.items.columns, *labels.annotators.columns, *labels.names]
    known = list(dict.fromkeys(known))
    absent = [f for f, c in columns.items() if f == c and f not in known and nearest_name(f, known) is None]
    if absent:
        given = {f: columns[f] if f not in absent else "..." for f in columns}
        raise DesignError(
            f"no column is called {listing([repr(f) for f in absent])}, as the design calls "
            f"{'it' if len(absent) == 1 else 'them'}: name the column of each facet with facets={given}; the table has "
            f"{listing(known)}", option="facets",
        )  # fmt: skip
    return {labels.column_name(c) for c in columns.values()}


class _Reader:
    """Parse tokens from the left."""

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
        """A facet, or a group in brackets."""
        if not self.tokens:
            raise self.wrong("a facet is missing at the end")
        token = self.tokens.pop(0)
        if token == "(":
            found = self.read_crossed()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise self.wrong("a bracket is not closed")
            return found
        if not re.fullmatch(r"[^\W\d]\w*", token) or token in ("x", "X"):
            raise self.wrong(f"'{token}' is not a facet")
        return {token: set()}

    def _refuse_twice(self, found: Mapping[str, object], other: Mapping[str, object]) -> None:
        if twice := [f for f in other if f in found]:
            raise self.wrong(f"{listing(twice)} appears twice")


# -- Confounding: the effects that these labels identify -----------------------------------------------

UNKNOWN_OBJECT = "the object's variance is confounded with that of its interactions"
"""Reason for a missing coefficient."""

NOTHING = 1e-12
"""Sums of squares below this share of the total are rounding errors."""


@dataclass(frozen=True, eq=False)
class Term:
    """A variance component: an effect, or several that are confounded.

    Attributes
    ----------
    effects : tuple of Effect
        For the residual, the highest interaction and the effects merged with it.
    code : (labels,) int or None
        Its levels; None for the residual.
    levels : int
    contrasts : int or None
        Contrasts that separate it from the next coarser effect.
    omitted : tuple of Effect
        Effects that the user assumes to be zero; they are part of the residual.
    cell : frozenset of str
        For the residual, the facets of a cell: all.
    """

    effects: tuple[Effect, ...]
    code: Ints | None
    levels: int
    contrasts: int | None = None
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
        """The level of each label, for a term other than the residual."""
        assert self.code is not None
        return self.code


@dataclass(frozen=True, eq=False)
class Confounding:
    """The fitted terms, the residual last, and the decisions about confounding.

    Attributes
    ----------
    design : Design
        Without facets of one level.
    terms : tuple of Term
    notes, cautions : tuple of str
    complete : Balanced or None
        The mean squares, if no cell is missing and no effects were merged.
    single : tuple of str
        Random facets with one level, which were removed: their variance is not estimable.
    replicated : bool
        Whether cells have several labels, so that the highest interaction and the residual are separable.
    not_estimable : str or None
        Why no coefficient of the object is estimable.
    """

    design: Design
    terms: tuple[Term, ...]
    notes: tuple[str, ...]
    cautions: tuple[str, ...]
    complete: Balanced | None
    single: tuple[str, ...] = ()
    replicated: bool = False
    not_estimable: str | None = None

    def why_not(self, coefficient: CoefficientName, sizes: Mapping[str, float]) -> str | None:
        """Why a coefficient of a mean over these numbers of levels is not estimable; None if it is."""
        if self.not_estimable is not None or not self.single:
            return self.not_estimable
        name = listing(self.single)
        if coefficient == "generalizability" and all(sizes.get(f, 1) == 1 for f in self.single):
            return None
        return (
            f"{name} has one level, so that its variance is unknown; collect more levels, or set "
            f"fixed={self.single[0]} if there are no others"
        )

    def random(self, value: Floats) -> Terms:
        """The terms in the form of a fit."""
        return Terms(value, tuple(t.code for t in self.terms if t.code is not None))


def complete_table(
    design: Design, separate: Sequence[Effect], value: Floats, codes: Mapping[str, Ints], restricted: bool
) -> Balanced | None:
    """The mean squares of a table without missing cells, for a variance of each effect ``separate``; None for any
    other."""
    axes = [design.nested_levels(f, codes) for f in design.facets]
    return balanced_table(value, axes, *axes_of_effects(design, separate), restricted)


def axes_of_effects(design: Design, separate: Sequence[Effect]) -> tuple[list[frozenset[int]], list[frozenset[int]]]:
    """The facets, by their places, that index each effect, and each of those with a separate variance."""
    place = {f: k for k, f in enumerate(design.facets)}
    strata = [frozenset(place[f] for f in e.index) for e in design.effects]
    return strata, [s for s, e in zip(strata, design.effects, strict=True) if e in separate]


def resolve_confounding(
    design: Design, value: Floats, codes: Mapping[str, Ints], settings: DesignSettings
) -> Confounding:  # fmt: skip
    """Find the variances that these labels identify.

    Raises
    ------
    DesignError
        If the object is not identified, labels do not vary, or effects are confounded with ``confounded="refuse"``.
    """
    if not len(value) or np.ptp(value) == 0:
        raise DesignError("all labels are equal; a G-study needs labels that vary")
    return _Resolver(design, value, codes, settings).resolve()


class _Resolver:
    """Merge confounded effects step by step, and record the reasons."""

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
        separate = [e for e in (effects if self.replicated else effects[:-1]) if e not in omitted]
        self.terms = []
        for effect in separate:
            code = self.design.codes_of(effect.index, codes)
            self.terms.append(Term((effect,), code, int(code.max()) + 1))
        self.complete = complete_table(self.design, separate, value, codes, settings.estimator != "ml")
        rest = () if self.replicated else (effects[-1],)
        self.rest = Term(rest, None, len(value), spare, omitted, frozenset(self.design.facets))
        if 0 < spare < settings.least_contrasts:
            self.notes.append(
                f"cells of {design.text} have several labels, {counted(spare, 'contrast')} in total, too few to "
                "separate "
                f"{effects[-1].name} from error"
            )

    def _drop_single_levels(self, design: Design) -> Design:
        """Remove facets with one level."""
        self.single: tuple[str, ...] = ()
        # Lesson 1 of each teacher is a different lesson: levels are counted within the outer facets.
        single = [f for f in design.facets if not design.codes_of({f, *design.nests[f]}, self.codes).any()]
        if self.settings.object in single:
            raise DesignError(f"the object {self.settings.object} has one level; a G-study needs several")
        if not single:
            return design
        fixed = getattr(self.settings, "fixed", None) or ()
        self.single = tuple(f for f in single if f not in fixed)
        if self.single:
            name = listing(self.single)
            self._refuse(f"{name} has one level, so that its effects are confounded with others")
            self.cautions.append(
                f"{name} has one level and is removed from the design: results apply to that level only."
            )
        return design.drop(single)

    def _refuse(self, why: str) -> None:
        if self.settings.confounded == "refuse":
            raise DesignError(f"{why}. confounded='merge' merges them, with a caution")

    def resolve(self) -> Confounding:
        """All steps, in order."""
        self._merge_effects()
        self._merge_with_rest()
        if self.settings.estimator != "anova":
            self._merge_unbounded()
        if self.complete is None:
            self._refuse_dependent()
        measured = self.settings.object
        why = not_identified(self.value, self.codes[measured], least=self.settings.least_contrasts, name=measured)
        terms = (*(replace(t, contrasts=self._nearest_differences(t)) for t in self.terms), self.rest)
        for term in terms:
            others = [e.name for e in term.effects if e != self.object]
            if self.object in term.effects and others:
                self.cautions.append(
                    f"the object's variance is confounded with that of {listing(others)}: coefficients are not "
                    "estimable."
                )
        if why is None and not any(t.effects == (self.object,) and t.code is not None for t in terms):
            why = UNKNOWN_OBJECT
        complete = None if self.merged else self.complete
        return Confounding(
            self.design, terms, tuple(self.notes), tuple(self.cautions), complete, self.single, self.replicated, why
        )

    def _differences(self, fine: Term, coarse: Term) -> int | None:
        """Contrasts of levels of one term within levels of another; None if it is not nested in it."""
        if fine.facets("usual") > coarse.facets("usual"):
            return fine.levels - coarse.levels
        if fine.levels < coarse.levels or self.complete is not None:
            return None
        return contrasts(fine.level, coarse.level)

    def _nearest_differences(self, term: Term) -> int | None:
        """Contrasts within the nearest coarser term, or between its own levels."""
        each = [self._differences(term, other) for other in self.terms if other is not term]
        return min((n for n in each if n is not None), default=term.levels - 1)

    def _merge_effects(self) -> None:
        """Merge effects whose levels are almost the same."""
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
                f"{coarse.name} contain {counted(fine.levels, 'level')} of {fine.name}, {counted(n, 'contrast')} in "
                "total"
            )
            self._note_merge(why, f"they are fitted as one term, {coarse.name},{fine.name}")
            both = replace(coarse, effects=coarse.effects + fine.effects)
            self.terms = [both if t is coarse else t for t in self.terms if t is not fine]

    def _merge_with_rest(self) -> None:
        """Merge terms with one label in almost every level; in a complete table the residual has separate squares."""
        if self.complete is not None and not self.merged:
            return
        for term in list(self.terms):
            n = len(self.value) - term.levels
            if n < self.settings.least_contrasts:
                self._merge_into_rest(
                    term,
                    f"{term.name} is confounded with the residual: its {counted(term.levels, 'level')} have "
                    f"{counted(len(self.value), 'label')}, {counted(n, 'contrast')} in total",
                )

    def _merge_unbounded(self) -> None:
        """Merge while the terms explain every label: the criterion is then unbounded as the residual goes to 0."""
        whole = float(((self.value - self.value.mean()) ** 2).sum())
        while self.terms:
            n, squares = self._residual()
            if n == 0 or squares > NOTHING * whole:
                return
            finest = max(self.terms, key=lambda t: t.levels)
            if finest.effects[0] == self.object:
                alone = left_over(Terms(self.value, (finest.level,)))[1]
                why = "the labels of each object are all equal"
                if alone > NOTHING * whole:
                    why = f"{listing([t.name for t in self.terms])} explain the labels exactly"
                raise DesignError(f"{why}, so that no error can be estimated")
            several = int((np.bincount(finest.level) > 1).sum())
            self._merge_into_rest(
                finest,
                f"{finest.name} and the residual have no solution: {several:,} of {counted(finest.levels, 'level')} of "
                f"{finest.name} have more than one label, and their residuals ({counted(n, 'contrast')}) are exactly "
                "0, "
                "so that the likelihood is unbounded as the residual variance goes to 0",
            )

    def _residual(self) -> tuple[int, float]:
        """Residual contrasts, and their squares."""
        if self.complete is not None and not self.merged:
            # The strata of omitted effects are part of the residual.
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
        """Raise if a combination of variances leaves every covariance unchanged."""
        dependent = dependent_terms([t.level for t in self.terms], len(self.value))
        if dependent:
            names = [(*self.terms, self.rest)[k].name for k in dependent]
            raise DesignError(
                f"the variances of {listing(names)} are not identified: different values imply the same covariances. "
                "Omit one of them with omit=(...), or collect labels that cross them"
            )
