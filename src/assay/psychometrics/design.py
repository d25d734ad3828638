"""Designs as the field writes them: ``r x (s:o:i)``, and the effects that they have (Brennan 2001)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from assay.errors import DesignError, listing, unknown

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
