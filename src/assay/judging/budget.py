"""Money: what is spent, what the calls in flight may cost, and whether one more fits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from assay.judging.client import Pricer, expected_tokens
from assay.judging.providers import Completion
from assay.judging.sending import Request
from assay.study.schema import Judge

_CENT = 1e-9
"""Dollars by which sums may miss each other."""


@dataclass
class _Known:
    """What a judge's calls have cost so far: tokens in for each token expected, and the longest reply."""

    ratio: float
    longest: int


@dataclass(frozen=True)
class Place:
    """Money that is kept for a call in flight."""

    amount: float
    judge: str


class Budget:
    """What may still be spent, with what is in flight taken off before it is known.

    For a call, the price of its prompt and of the longest reply that it may bring is kept: ``max_tokens`` where the
    judge has it, else twice the longest so far, and the longest so far once it flies alone. What is known of a judge
    comes from its first call, which flies alone.
    """

    def __init__(self, most: float | None, judges: Mapping[str, Judge], prices: Mapping[str, Pricer | None]) -> None:
        self.most, self.spent = most, 0.0
        self._judges, self._prices = judges, prices
        self._known: dict[str, _Known] = {}
        self._flying: list[Place] = []
        self._to_learn: set[str] = set()
        self._home = asyncio.Event()

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.most is not None and self.spent >= self.most - _CENT

    async def place(self, judge: str, request: Request, stopping: asyncio.Event) -> Place | None:
        """Keep what a call may cost; None where it does not fit, also once all others are home, or the run stops."""
        if self.most is None:
            return Place(0.0, judge)
        while not stopping.is_set():
            alone = not self._flying
            if self._may_fly(judge, alone=alone):
                amount = self.may_cost(judge, request, alone=alone)
                if self.spent + sum(one.amount for one in self._flying) + amount <= self.most + _CENT:
                    return self._fly(Place(amount, judge))
                if alone:
                    return None
            await self._home.wait()
        return None

    def _may_fly(self, judge: str, *, alone: bool) -> bool:
        """The first call of a judge flies alone, and the others wait for it."""
        if judge in self._known:
            return not self._to_learn
        if not alone and not any(one.judge == judge for one in self._flying):
            self._to_learn.add(judge)
        return alone

    def _fly(self, place: Place) -> Place:
        self._to_learn.discard(place.judge)
        self._flying.append(place)
        return place

    def may_cost(self, judge: str, request: Request, *, alone: bool) -> float:
        """The most that a call is expected to cost."""
        price = self._prices[judge]
        if price is None:
            return 0.0
        known = self._known.get(judge)
        tokens_in = expected_tokens(request) * (known.ratio if known else 1.0)
        longest = self._judges[judge].max_tokens or (known.longest * (1 if alone else 2) if known else 0)
        return price(round(tokens_in), longest)

    def learn(self, judge: str, request: Request, completion: Completion) -> None:
        """What a reply says about the cost of the next."""
        ratio = (completion.tokens_in or 0) / max(1.0, expected_tokens(request))
        known = self._known.setdefault(judge, _Known(ratio, 0))
        known.ratio, known.longest = max(known.ratio, ratio), max(known.longest, completion.tokens_out or 0)

    def home(self, place: Place) -> None:
        """A call is over, and what it cost is in ``spent``."""
        if place in self._flying:
            self._flying.remove(place)
        self.wake()

    def wake(self) -> None:
        """Let everybody who waits for money look again."""
        self._home.set()
        self._home = asyncio.Event()
