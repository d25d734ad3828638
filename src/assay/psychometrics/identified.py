"""Before any fit, what these labels can tell: which effects lie apart, which are merged, which have no solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import DesignError, counted, listing
from assay.estimation.statistic import Floats, Ints
from assay.psychometrics.design import Design, Effect
from assay.psychometrics.settings import DesignSettings
from assay.statistics.balanced import Balanced, balanced, within
from assay.statistics.terms import Terms, contrasts, grouped, left_over

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
