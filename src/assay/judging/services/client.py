"""Calls to endpoints: rate limits, retries, detection of unusable judges, and the budget."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from assay.errors import require
from assay.judging.services.http import CallFailed, Completion, Provider, Request
from assay.judging.services.providers import PROVIDERS
from assay.study.items import canonical
from assay.study.schema import Judge, RateLimits, TokenKind

log = logging.getLogger("assay.judging")

Tell = Callable[[str], None]
"""Receives notices for the user during a run."""

LONGEST_WAIT = 60.0
"""Seconds: limits of services are a minute long, so more patience than that gains nothing."""

WORTH_SAYING = 10.0
"""Seconds of a requested wait from which it is reported: about as long as a user watches without concern."""

# -- one endpoint --------------------------------------------------------------------------------------


class Gate:
    """Calls in flight: the number allowed, fewer once the service says it is busy, then slowly more."""

    def __init__(self, most: int, *, clock: Callable[[], float] = monotonic) -> None:
        self.most = most
        self.limit = float(most)
        self.busy = 0
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._slowed_at = 0.0

    async def enter(self) -> None:
        """Wait for a place."""
        if self.busy < int(self.limit) and not self._waiting:
            self.busy += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.busy -= 1
        while self._waiting and self.busy < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)

    def went_well(self) -> None:
        """One more at once, after as many good calls as there are places."""
        self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def was_busy(self, begun: float) -> None:
        """Half as many at once, unless the call began before it was last halved."""
        if begun >= self._slowed_at:
            self._slowed_at = self._clock()
            self.limit = max(1.0, self.limit / 2)


class Bucket:
    """An amount a minute, spent evenly: two seconds' worth may be spent at once."""

    def __init__(self, per_minute: float | None, *, clock: Callable[[], float] = monotonic) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._most = 0.0 if self._rate is None else max(1.0, 2 * self._rate)
        self._left = self._most
        self._clock = clock
        self._at = clock()

    def take(self, amount: float) -> float:
        """Spend an amount; the seconds to wait before it may be used."""
        if self._rate is None:
            return 0.0
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._rate) - amount
        self._at = now
        return max(0.0, -self._left / self._rate)

    def correct(self, amount: float) -> None:
        """Spend more (or, below zero, less) than was foreseen."""
        self._left -= amount


class Clock:
    """The time of a run, in seconds, and how a wait passes."""

    def now(self) -> float:
        """The time, which never goes back."""
        return monotonic()

    async def wait(self, seconds: float, stopping: asyncio.Event) -> None:
        """Wait, but no longer than until the run stops."""
        if seconds <= 0 or stopping.is_set():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), seconds)


@dataclass(frozen=True)
class Patience:
    """How often a run tries again, how long it waits for a service, and when it gives a judge up."""

    tries: int = 8
    """How often a call is made before a busy service is given up."""
    first_wait: float = 0.5
    """Seconds before the first retry of a failed call; later ones wait longer."""
    loading: float = 300.0
    """Seconds to wait for a server that does not accept calls yet, such as one that is loading its model."""
    unreadable: float = 20
    """Responses in a row without a readable label that stop their judge."""
    clock: Clock = field(default_factory=Clock)
    """What measures the waits, and lets them pass."""


PATIENCE = Patience()


class Endpoint:
    """One service with its limits, shared by the judges that ask it."""

    def __init__(
        self, limits: RateLimits, *, stopping: asyncio.Event, where: str, tell: Tell, patience: Patience
    ) -> None:
        self._clock = patience.clock
        self.gate, self.stopping = Gate(limits.concurrency, clock=self._clock.now), stopping
        self._requests = Bucket(limits.requests_per_minute, clock=self._clock.now)
        self._tokens = Bucket(limits.tokens_per_minute, clock=self._clock.now)
        self._counts_tokens = limits.tokens_per_minute is not None
        self._patience, self._quiet_until = patience, 0.0
        self._where, self._tell = where, tell
        self._loads_until = None if patience.loading else 0.0
        self._answers = False
        """Whether it has taken a call by now."""

    async def call(self, provider: Provider, request: Request) -> tuple[Completion, float]:
        """The reply and the seconds it took, after as many tries as the limits allow.

        Raises
        ------
        CallFailed
            Where trying again is no use, or was none.
        """
        number = 1
        while True:
            await self._wait(self._quiet_until - self._clock.now())
            expected = expected_tokens(request) if self._counts_tokens else 0.0
            await self._wait(max(self._requests.take(1), self._tokens.take(expected)))
            await self.gate.enter()
            begun = self._clock.now()
            try:
                if self.stopping.is_set():
                    raise CallFailed("retry", "the run is stopping")
                completion = await provider.complete(request)
            except CallFailed as error:
                if self._is_loading(error):
                    wait = 4 * self._patience.first_wait  # two seconds: soon enough, and no load for who loads
                elif error.kind != "retry" or number == self._patience.tries or self.stopping.is_set():
                    raise
                else:
                    wait, number = self._wait_seconds(error, number, begun), number + 1
                log.info("%s (%s); trying again in %.1f s", error, request.about.get("item"), wait)
            else:
                self.gate.went_well()
                self._answers = True
                used = (completion.tokens_in or 0) + (completion.tokens_out or 0)
                if used and self._counts_tokens:
                    self._tokens.correct(used - expected)
                return completion, self._clock.now() - begun
            finally:
                self.gate.leave()
            await self._wait(wait)

    async def _wait(self, seconds: float) -> None:
        await self._clock.wait(seconds, self.stopping)

    def _is_loading(self, error: CallFailed) -> bool:
        """Whether to wait for a service that has taken no call yet, as one that loads its model; said once."""
        self._answers |= error.status > 0 and not error.starting
        if not error.starting or self._answers or self.stopping.is_set():
            return False
        if self._loads_until is None:
            self._loads_until = self._clock.now() + self._patience.loading
            self._tell(
                f"{self._where} does not accept calls yet ({error}). If it is loading its model, the run continues "
                f"afterwards; it waits at most {duration(self._patience.loading)}. Press Ctrl-C to stop"
            )
        return self._clock.now() < self._loads_until

    def _wait_seconds(self, error: CallFailed, number: int, begun: float) -> float:
        """Return the seconds to wait after a failed try: as the service asks, otherwise increasing, with random
        jitter."""
        if error.status in (429, 503, 529):
            self.gate.was_busy(begun)
        if error.wait is not None:
            until = self._clock.now() + error.wait
            if error.wait >= WORTH_SAYING and until >= self._quiet_until + WORTH_SAYING:
                self._tell(
                    f"{self._where} asks to wait {duration(error.wait)} ({error}); the run waits. Press Ctrl-C to "
                    "stop: answers are kept, and the next run continues"
                )
            self._quiet_until = max(self._quiet_until, until)
            return error.wait + random.uniform(0, 0.1 * self._patience.first_wait)
        return float(min(LONGEST_WAIT, self._patience.first_wait * 2 ** (number - 1)) * random.uniform(0.5, 1))


def duration(seconds: float) -> str:
    """``12.0 s``, ``5 min 3 s``, ``1 h 0 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


LETTERS_A_TOKEN, TOKENS_AN_IMAGE = 4, 800
"""What services say of English and of an image of a megapixel; only estimates and limits hang on it."""


def expected_tokens(request: Request) -> float:
    """A guess at the tokens of a request."""
    letters, tokens = len(canonical(request.schema or "")), 4 * len(request.messages)
    for message in request.messages:
        content = message["content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            letters += len(part.get("text", ""))
            tokens += 0 if "text" in part else TOKENS_AN_IMAGE
    return tokens + letters / LETTERS_A_TOKEN


class Pricer(Protocol):
    """Dollars for tokens in and out, some of which were read from a cache, written to it, or used for reasoning."""

    def __call__(
        self, tokens_in: float, tokens_out: float, *, cached: int = 0, written: int = 0, reasoning: int = 0
    ) -> float:
        """Of one call."""


def used_tokens(request: Request, completion: Completion) -> tuple[int, int]:
    """Tokens in and out of a call: as its reply counts them; of a service that counts none, a guess by the letters."""
    letters = len(completion.text) + len(completion.reasoning or "")
    tokens_in = round(expected_tokens(request)) if completion.tokens_in is None else completion.tokens_in
    return tokens_in, -(-letters // LETTERS_A_TOKEN) if completion.tokens_out is None else completion.tokens_out


def cost_of(price: Pricer | None, request: Request, completion: Completion) -> float | None:
    """Return the dollars for a call, by its tokens; None if the price is unknown."""
    if price is None:
        return None
    tokens_in, tokens_out = used_tokens(request, completion)
    cached = min(tokens_in, completion.cached_in or 0)
    written = min(tokens_in - cached, completion.written_in or 0)
    reasoning = min(tokens_out, completion.reasoning_out or 0)
    return price(tokens_in, tokens_out, cached=cached, written=written, reasoning=reasoning)


def own_pricer(price: Mapping[TokenKind, float]) -> Pricer:
    """Return the pricer of a price in study.yaml."""
    rates = {
        "cached": price.get("cached_input", price["input"]),
        "written": price.get("cache_write", price["input"]),
        "reasoning": price.get("reasoning", price["output"]),
    }

    def cost(tokens_in: float, tokens_out: float, *, cached: int = 0, written: int = 0, reasoning: int = 0) -> float:
        plain = (tokens_in - cached - written) * price["input"] + (tokens_out - reasoning) * price["output"]
        return (plain + cached * rates["cached"] + written * rates["written"] + reasoning * rates["reasoning"]) / 1e6

    return cost


def pricer(judge: Judge) -> Pricer | None:
    """Return a judge's pricer: by its own ``price``, or by the installed price table; None if the price is unknown."""
    price, row = judge.price, PROVIDERS.find(judge.provider)
    if price is not None:
        return own_pricer(price)
    if row is not None and row.is_free:
        return lambda tokens_in, tokens_out, **_: 0.0
    genai_prices = require("genai_prices", "judge", "looking up the price of a model")
    # At another address the same model can have another price, or none.
    named = judge.provider.removesuffix("-compatible").removesuffix("-responses")
    where = {"provider_id": named} if judge.address is None else {"provider_api_url": judge.address}

    def cost(tokens_in: float, tokens_out: float, *, cached: int = 0, written: int = 0, reasoning: int = 0) -> float:
        used = genai_prices.Usage(
            **{"input_tokens": round(tokens_in), "cache_read_tokens": cached, "cache_write_tokens": written},
            output_tokens=round(tokens_out),  # reasoning tokens among them have the same price
        )
        return float(genai_prices.calc_price(used, judge.model, **where).total_price)

    try:
        cost(1000, 1000)
    except LookupError:
        return None
    return cost


# -- detection of unusable judges ----------------------------------------------------------------------
# A failed call is a failure of its item until a test call without an item fails too: then the key, the model or the
# service has failed. Only that judge stops; the others continue.

HOPELESS = 10
"""Failed calls in a row (at least as many as are concurrent) after which the judge is tested."""

UNREADABLE_TWICE = 3
"""Of the unreadable replies in a row that stop a judge, this number came after the complaint: once may be chance."""

Probe = Callable[[], Awaitable[None]]
"""Make one test call without an item; raise `CallFailed` if it fails."""


class Health:
    """The state of one judge during a run."""

    def __init__(self, at_once: int, unreadable: float) -> None:
        self.stopped: str | None = None
        """The reason why the judge stopped."""
        self.dead = False
        """Whether it is proved that it cannot be asked."""
        self._hopeless = max(HOPELESS, at_once)
        self._replies = 0
        self._silent = 0
        self._most_unread, self._unread, self._unread_twice = unreadable, 0, 0
        self._suspicions = 0
        self._on_trial, self._again = asyncio.Lock(), asyncio.Lock()
        self._going = asyncio.Event()
        self._going.set()

    async def can_be_asked(self) -> bool:
        """Wait while it is being seen whether it can be asked; whether it can."""
        await self._going.wait()
        return self.stopped is None

    # -- failures -------------------------------------------------------------------------------

    def note_reply(self) -> None:
        """A call brought a reply."""
        self._replies += 1
        self._silent = 0

    async def blames_item(self, error: CallFailed, probe: Probe) -> bool:
        """Return whether a failure belongs to the item; if it may belong to the judge, a test call decides."""
        # A reply that was never recorded says nothing about the next; a service that fails does.
        self._silent += error.kind == "retry" or error.status > 0
        many = self._silent >= self._hopeless
        if error.kind != "fatal" and not many:
            return True
        before = self._replies
        self._suspicions += 1
        self._going.clear()
        try:
            async with self._on_trial:
                if self.stopped is None and self._replies == before:
                    await self._try(error, probe, many=many)
        finally:
            self._suspicions -= 1
            if not self._suspicions:
                self._going.set()
        return self.stopped is None

    async def _try(self, error: CallFailed, probe: Probe, *, many: bool) -> None:
        try:
            await probe()
        except CallFailed as proof:
            if proof.kind == "fatal" or many:
                self.dead, self.stopped = True, f"cannot be asked: {error if proof.kind == 'retry' else proof}"
            return
        self.note_reply()

    # -- replies that cannot be read ------------------------------------------------------------

    def note_readable(self) -> None:
        """A reply could be read."""
        self._unread = self._unread_twice = 0

    def note_unreadable(self, reason: str, *, again: bool) -> None:
        """Count an unparseable response; ``again`` if it followed the complaint."""
        self._unread += 1
        self._unread_twice += again
        many = self._unread >= self._most_unread
        if many and self._unread_twice >= UNREADABLE_TWICE and self.stopped is None:
            self.stopped = f"gave {self._unread} replies in a row that could not be read (the last: {reason})"

    @asynccontextmanager
    async def asking_again(self) -> AsyncIterator[None]:
        """Serialize calls with the complaint once responses appear to be unparseable."""
        if self._unread < HOPELESS:
            yield
            return
        async with self._again:
            yield


def probe_request(request: Request) -> Request:
    """Return a test call in a judge's own form: any usable judge gets a response to it."""
    words = [{"role": "user", "content": "Reply with the word: ok"}]
    return Request(
        request.model, words, request.temperature, request.max_tokens, None, request.params, {"item": "(none)"},
        effort=request.effort,
    )  # fmt: skip


# -- money -----------------------------------------------------------------------------------------------

_ROUNDING = 1e-9
"""Dollars by which sums of floating-point numbers may miss each other."""


@dataclass
class _Known:
    """The costs of a judge's calls so far: tokens in per expected token, and the longest response."""

    ratio: float
    longest: int


@dataclass(frozen=True)
class Reservation:
    """Money that is kept for a call in flight."""

    amount: float
    judge: str


class Budget:
    """The remaining budget, with a reserve for calls in flight.

    The reserve of a call is the price of its prompt and of the longest possible response: ``max_tokens`` if the judge
    has it, otherwise twice the longest so far, and the longest so far if the call is alone. A judge's first call is
    alone, to measure its costs.
    """

    def __init__(self, most: float | None, judges: Mapping[str, Judge], prices: Mapping[str, Pricer | None]) -> None:
        self.most, self.spent = most, 0.0
        self._judges, self._prices = judges, prices
        self._known: dict[str, _Known] = {}
        self._flying: list[Reservation] = []
        self._to_learn: set[str] = set()
        self._home = asyncio.Event()

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.most is not None and self.spent >= self.most - _ROUNDING

    async def place(self, judge: str, request: Request, stopping: asyncio.Event) -> Reservation | None:
        """Reserve the maximum cost of a call; return None if it does not fit after all other calls have ended, or the
        run stops."""
        if self.most is None:
            return Reservation(0.0, judge)
        while not stopping.is_set():
            alone = not self._flying
            if self._may_fly(judge, alone=alone):
                amount = self.may_cost(judge, request, alone=alone)
                if self.spent + sum(one.amount for one in self._flying) + amount <= self.most + _ROUNDING:
                    return self._fly(Reservation(amount, judge))
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

    def _fly(self, place: Reservation) -> Reservation:
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
        # The price of cache writes or of reasoning counts in full if it is higher.
        most = {"written": round(tokens_in), "reasoning": longest}
        return max(price(round(tokens_in), longest), price(round(tokens_in), longest, **most))

    def learn(self, judge: str, request: Request, completion: Completion) -> None:
        """Update the estimate of the next call from a response."""
        if self.most is None:
            return
        tokens_in, tokens_out = used_tokens(request, completion)
        ratio = tokens_in / max(1.0, expected_tokens(request))
        known = self._known.setdefault(judge, _Known(ratio, 0))
        known.ratio, known.longest = max(known.ratio, ratio), max(known.longest, tokens_out)

    def home(self, place: Reservation) -> None:
        """Release the reserve of a finished call, whose cost is in ``spent``."""
        if self.most is None:
            return
        self._flying.remove(place)
        self.wake()

    def wake(self) -> None:
        """Wake all calls that wait for the budget."""
        self._home.set()
        self._home = asyncio.Event()
