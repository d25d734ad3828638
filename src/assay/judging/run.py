"""Query every judge for every open label, once: resumes, respects limits, stops on errors."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import partial
from html import escape
from pathlib import Path
from queue import SimpleQueue
from time import monotonic, sleep
from typing import Any, Literal, NamedTuple

from assay.errors import AssayError, JudgeError, StudyError
from assay.judging import words
from assay.judging.criteria import folded
from assay.judging.dry_run import ItemPart, chosen_judges, part_asked, providers_of, refuse_what_is_not_sent
from assay.judging.functions import FunctionOfRow
from assay.judging.plan import LEFT_TO_PEOPLE, Plan, check_comparisons, plan_study
from assay.judging.records import Recording
from assay.judging.responses.replies import CUT_THINKING, Reply
from assay.judging.services.client import (
    PATIENCE,
    Budget,
    Endpoint,
    Health,
    Patience,
    Pricer,
    Reservation,
    Tell,
    cost_of,
    duration,
    pricer,
    probe_request,
)
from assay.judging.services.http import CallFailed, Completion, Provider, Request, Sent, cached_call, sharing_key
from assay.judging.services.likelihood import label_likelihood
from assay.judging.services.providers import Service
from assay.study.definition import Study
from assay.study.items import canonical
from assay.study.schema import Judge
from assay.study.store import work
from assay.study.store.answers import Answer, NewAnswer, add_answers
from assay.study.store.connection import DatabaseError, store_error, store_in_use
from assay.study.store.work import Changed, Claim

log = logging.getLogger("assay.judging")

HEARTBEAT = 1.0
"""Seconds between signs of life, each of which also makes earlier writes durable."""

BATCH = 200
"""Maximum number of claims at a time: a killed run keeps them until it is found dead."""

KEEPS_UP, SHARE_ASIDE = 20, 4
"""Calls at once with which the store keeps up; of further ones, one in so many answers may be stored while its place
goes on. At 100 calls of 50 ms, places waited for the store for a fifth of the time. A killed run asks again at most the
calls in flight and these."""

Retry = Literal["missing"]
"""The only labels to request again: those with unparseable responses."""


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    done: int
    total: int
    missing: int
    cost: float
    seconds: float

    @property
    def rate(self) -> float:
        """Questions a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """At this rate; None before the first answer."""
        return (self.total - self.done) / self.rate if self.done else None

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", {duration(self.seconds_left)} left"
        return f"{self.done}/{self.total} questions, {self.rate:.1f}/s, ${self.cost:.4f}{left}"


@dataclass(frozen=True)
class JudgeRun:
    """The result of a run.

    Attributes
    ----------
    answered, missing, failed : int
        Labels that were collected; responses without a label; calls without a response. Failed ones are requested again
        by the next run, missing ones are not.
    reasons : dict
        The reasons for missing labels, counted by judge and reason.
    reasked : int
        Responses in the wrong form, or not on the scale, that were requested again.
    left : int
        Labels that remain.
    elsewhere : int
        Labels that another run is collecting at this moment.
    cost : float
        Dollars of this run, over the judges with a known price.
    unpriced : tuple of str
        Judges with an unknown price.
    estimated : int
        Calls without token counts of the service: their cost is estimated from the length of the text.
    stopped : str or None
        Why the run ended before all labels were collected.
    """

    answered: int
    missing: int
    failed: int
    reasked: int
    late: int
    left: int
    elsewhere: int
    cost: float
    tokens_in: int
    tokens_out: int
    seconds: float
    reasons: dict[str, int] = field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    stopped: str | None = None
    notes: tuple[str, ...] = ()
    """Notices of the run, such as about the pairs that were drawn."""
    tokens_cached: int = 0
    """Of the tokens in, those that services read from their caches."""
    tokens_reasoning: int = 0
    """Of the tokens out, those that were reasoning."""
    estimated: int = 0

    @property
    def is_vain(self) -> bool:
        """Whether calls were made and none of them gave a label."""
        return not self.answered and bool(self.missing or self.failed)

    def summary(self) -> str:
        """Return a summary in a few lines."""
        return words.run_words(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.summary())}</pre>"


def judge_study(
    study: Study,
    *,
    store: str | None = None,
    judges: Iterable[str] | None = None,
    retry: Retry | None = None,
    record: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    tell: Tell = log.warning,
    providers: dict[str, Provider] | None = None,
    patience: Patience = PATIENCE,
    changed: Changed | None = None,
    part: ItemPart | None = None,
    allow_code: bool = False,
    stop: Callable[[], bool] | None = None,
) -> JudgeRun:
    """Ask every judge every question that has no answer yet.

    Parameters
    ----------
    study : Study
        See `assay.study.definition.load_study`.
    store : str, optional
        A database instead of the one in the folder: a path or ``postgresql://…``.
    judges : list of str, optional
        Only these.
    retry : {"missing"}, optional
        Request only the labels with unparseable responses, from the start.
    record : path, optional
        Write every reply to this JSONL file, for ``provider: recorded``.
    progress : callable, optional
        Called with every answer.
    tell : callable, optional
        Called with notices during the run, such as that a service asks to wait for an hour; logged as a warning by
        default.
    providers : dict, optional
        Providers by judge, instead of those in study.yaml.
    patience : Patience
        How often a failed call is made again, how long the run waits for a service, and when it gives a judge up.
    changed : {"new-version", "same-question"}, optional
        How to treat a change of the study after which answers would no longer count: request them again (the old
        answers count again if the change is undone), or keep them.
    part : {"development", "test", "all"}, optional
        The items to label after `assay study split`: by default the development set, so that a prompt is not tuned on
        the test set.
    allow_code : bool
        Whether judges may run that are functions or commands named in the study's folder.
    stop : callable, optional
        Asked before each call: with True no further call begins, as after Ctrl-C.

    Returns
    -------
    JudgeRun
        Counts, cost and reasons. The labels are what `assay.reading.study_labels` gives.

    Raises
    ------
    ChangedStudyError
        If answers would no longer count, and ``changed`` is not given; nothing was changed.
    JudgeError
        If no judge can be called at all (invalid key, unknown model), if a parameter would not be sent, or if there is
        a ``max_cost`` and no price. Earlier answers are kept.
    StudyError
        If the store or the file of responses can no longer be written. Earlier answers are kept.
    """
    check_comparisons(study)
    asked = chosen_judges(study, judges)
    prices = {judge.name: pricer(judge) for judge in asked}
    unpriced = [name for name, price in prices.items() if price is None]
    if unpriced and study.config.limits.max_cost is not None:
        raise JudgeError(
            f"max_cost cannot be kept: the price of {', '.join(unpriced)} is not known. Give the judge "
            "'price: {input: …, output: …}' (dollars a million tokens), or remove max_cost"
        )
    given = providers or {}
    answering = providers_of([judge for judge in asked if judge.name not in given], study, code=allow_code) | given
    answering = {judge.name: answering[judge.name] for judge in asked}
    recording = None if record is None else Recording(Path(record))
    asked_part = part_asked(study, part)
    ways = _Ways(prices, retry, recording, progress, tell, patience, asked_part, stop)
    with asyncio.Runner() as loop:
        try:
            loop.run(refuse_what_is_not_sent(asked, answering, study.config))
            with store_in_use(study, store) as opened:
                plan, _ = plan_study(study, opened, changed)
                ask = partial(_ask, loop, ways)
                done = _ask_in_two_parts(plan, answering, ask) if study.systems else ask(plan, answering)
                return replace(
                    done,
                    notes=(*done.notes, *plan.rotation_words(), *plan.route_words(), *_part_words(study, asked_part)),
                )
        finally:
            loop.run(_close(answering.values()))


def _ask(loop: asyncio.Runner, ways: _Ways, plan: Plan, providers: dict[str, Provider]) -> JudgeRun:
    return loop.run(_Run(plan, providers, ways).go())


def _ask_in_two_parts(
    plan: Plan, providers: dict[str, Provider], ask: Callable[[Plan, dict[str, Provider]], JudgeRun]
) -> JudgeRun:
    """Run systems first, and judges after the pairs of outputs are drawn."""
    study = plan.study
    writing = {one.name: providers[one.name] for one in study.systems if one.name in providers}
    judging = {name: one for name, one in providers.items() if name not in writing}
    done = [ask(plan, writing)] if writing else []
    if done and done[0].stopped:
        return done[0]
    if done:
        plan, _ = plan_study(study, plan.store)
    if plan.has_outputs:
        done += [ask(plan, judging)] if judging else []
    elif not done:
        raise JudgeError(f"{'; '.join(plan.notes)}. Ask the systems first: assay judge {study.folder}")
    return replace(_merge_runs(done), notes=plan.notes)


def _part_words(study: Study, part: str | None) -> list[str]:
    """Which items were asked about, where others are set apart."""
    if part is None:
        return []
    tested = len(study.tested_items())
    if part == "test":
        return [f"asked about the {tested:,} test items: a prompt that is changed now has been tuned on them"]
    return [f"labelled the development set; for the {tested:,} test items, run: assay judge {study.folder} --part test"]


def _merge_runs(runs: Sequence[JudgeRun]) -> JudgeRun:
    """Several runs as one."""
    summed = [one.name for one in fields(JudgeRun) if one.type in ("int", "float")]
    numbers: dict[str, Any] = {name: sum(getattr(run, name) for run in runs) for name in summed}
    reasons = {reason: number for run in runs for reason, number in run.reasons.items()}
    return replace(runs[-1], **numbers, reasons=reasons)


async def _close(providers: Iterable[Provider]) -> None:
    for provider in providers:
        await provider.close()


# -- one run --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ways:
    """How a run goes about it."""

    prices: dict[str, Pricer | None]
    retry: Retry | None
    recording: Recording | None
    progress: Callable[[Progress], None] | None
    tell: Tell
    patience: Patience
    part: str | None
    """The items to label; None for all of them."""
    stop: Callable[[], bool] | None = None
    """Whether the run is to end."""


MOST_SHARED = 20_000
"""Calls that are kept for further questions with the same request: some 20 MB."""


class _SharedCall(NamedTuple):
    """A call that answers several questions: its reply, and the questions that have it."""

    reply: asyncio.Future[tuple[Completion, float]]
    questions: set[int]


class _Run:
    """One run over the open questions, from the first claim to the last answer."""

    def __init__(self, plan: Plan, providers: dict[str, Provider], ways: _Ways) -> None:
        self.plan, self.providers, self.ways, self.store = plan, providers, ways, plan.store
        self.prices, self.clock = ways.prices, ways.patience.clock
        self.limits = plan.study.config.limits
        self.stopping = asyncio.Event()
        self.lanes: dict[Any, tuple[Endpoint, list[str]]] = {}
        """The endpoint and its judges, by address and limits."""
        self.health: dict[str, Health] = {}
        for name in providers:
            judge = plan.judges[name]
            limits = self.limits.for_judge(judge)
            lane = (judge.provider, judge.base_url, limits)
            if lane not in self.lanes:
                about: dict[str, Any] = {"where": _service_of(judge), "tell": ways.tell, "patience": ways.patience}
                self.lanes[lane] = (Endpoint(limits, stopping=self.stopping, **about), [])
            self.lanes[lane][1].append(name)
            self.health[name] = Health(limits.concurrency, ways.patience.unreadable)
        self.budget = Budget(self.limits.max_cost, plan.judges, self.prices)
        self.shared: OrderedDict[tuple[Any, ...], _SharedCall] = OrderedDict()
        self.most_aside = sum(max(0, one.gate.most - KEEPS_UP) // SHARE_ASIDE for one, _ in self.lanes.values())
        self.aside = 0
        """Answers that are being stored while their places go on."""
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.cost = 0.0
        self.stopped: str | None = None
        self.fatal: AssayError | None = None

    async def go(self) -> JudgeRun:
        """Run until no claim is left, or the run stops."""
        self.begun = self.clock.now()
        self.writer = StoreThread(self._write)
        try:
            await self._begin()
            left = await self._ask_all()
        finally:
            self.writer.close()
        if self.fatal is not None:
            raise self.fatal
        if self.health and all(health.dead for health in self.health.values()):
            raise JudgeError("; ".join(self._why_stopped()))
        return self._result(left)

    async def _begin(self) -> None:
        judges = list(self.providers)
        self.run = await self.writer.do(work.start_run, self.store)
        self.budget.spent = await self.writer.do(work.dollars_spent, self.store)
        if self.ways.retry is None:
            self.total = (await self.writer.do(work.counts, self.store, judges, self.ways.part)).get("open", 0)
        else:
            self.total = await self.writer.do(work.count_unread, self.store, self.run, judges, self.ways.part)

    async def _ask_all(self) -> dict[str, int]:
        """Ask everything; how many questions there are of each status in the end."""
        heartbeat = asyncio.create_task(self._heartbeat())
        try:
            with _interruptible(self._stop), _rare_collections():
                async with asyncio.TaskGroup() as self.tasks:
                    for endpoint, names in self.lanes.values():
                        self._open(endpoint, names)
        except* DatabaseError as group:
            self.fatal = store_error(self.store, _first(group))
        finally:
            heartbeat.cancel()
        try:
            await self.writer.do(work.end_run, self.store, self.run)
            left: dict[str, int] = await self.writer.do(work.counts, self.store, list(self.providers), self.ways.part)
        except DatabaseError as error:
            self.fatal = self.fatal or store_error(self.store, error)
            return {}
        return left

    def _open(self, endpoint: Endpoint, judges: list[str]) -> None:
        """As many places as the limits allow, each with one question after the other."""
        batch = min(BATCH, 2 * endpoint.gate.most)
        unread = self.ways.retry == "missing"

        def claim() -> asyncio.Future[list[Claim]]:
            going = [name for name in judges if self.health[name].stopped is None]
            claim_some = partial(work.claim, unread=unread, part=self.ways.part)
            return self.writer.do(claim_some, self.store, self.run, going, batch)

        claims = Claims(claim, batch=batch)
        for _ in range(min(endpoint.gate.most, self.total)):
            self.tasks.create_task(self._place(endpoint, claims))

    async def _place(self, endpoint: Endpoint, claims: Claims) -> None:
        while not self._is_over() and (claim := await claims.next()) is not None and not self._is_over():
            health = self.health[claim.annotator]
            again = await self._call_once(endpoint, claim) if await health.can_be_asked() else None
            if again is not None:
                async with health.asking_again():
                    if not self._is_over() and await health.can_be_asked():
                        await self._call_once(endpoint, again)

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            try:
                await self.writer.do(work.heartbeat, self.store, self.run)
            except DatabaseError as error:
                log.warning("no sign of life could be given: %s", error.orig)

    # -- stopping -------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Whether no further call may begin."""
        if self.stopped is None and self.ways.stop is not None and self.ways.stop():
            self._stop("interrupted")
        if self.stopped is None and self.budget.is_spent:
            self._stop(f"max_cost is reached (${self.budget.spent:.4f} of ${self.limits.max_cost:g})")
        return self.stopped is not None

    def _stop(self, why: str) -> None:
        self.stopped = self.stopped or why
        self.stopping.set()
        self.budget.wake()

    def _fail(self, error: AssayError, why: str) -> None:
        self.fatal = self.fatal or error
        self._stop(why)

    def _why_stopped(self) -> list[str]:
        """Return a message for each judge that stopped."""
        found = []
        for name, health in self.health.items():
            judge = self.plan.judges[name]
            if health.stopped is None:
                continue
            found.append(f"judge '{name}' ({judge.model} at {_service_of(judge)}) {health.stopped}")
            if not health.dead:
                found[-1] += f"; read them with: assay study responses {self.plan.study.folder} --missing"
        return found

    # -- one call -------------------------------------------------------------------------------

    async def _call_once(self, endpoint: Endpoint, claim: Claim) -> Claim | None:
        """Make one call and store its answer; return the claim to request again if the response was unparseable."""
        try:
            request = self.plan.request(claim)
        except StudyError as error:
            self._fail(error, "the study cannot be asked")
            return None
        place = await self.budget.place(claim.annotator, request, self.stopping)
        if place is None:
            may_cost = self.budget.may_cost(claim.annotator, request, alone=True)
            spent = f"${self.budget.spent:.4f} of ${self.limits.max_cost or 0:g}"
            self._stop(f"max_cost would be passed ({spent} is spent, and the next call may cost ${may_cost:.4f})")
            return None
        answer = None
        try:
            if await self.health[claim.annotator].can_be_asked():  # it may have been stopped while this one waited
                answer = await self._answer(endpoint, claim, request)
        finally:
            if answer is None:
                self.budget.home(place)
        if answer is None:
            return None
        new = NewAnswer(claim, self.run, answer, claim.revision + 1)
        stored = self._stored(new, self.writer.write(new), place)
        if answer.status != "unreadable" and self.aside < self.most_aside:
            self.aside += 1
            self.tasks.create_task(stored).add_done_callback(self._is_stored)
            return None
        if not await stored or answer.status != "unreadable":
            return None
        return replace(claim, revision=new.revision, unread=(answer.reply or "", answer.reason or ""))

    async def _stored(self, new: NewAnswer, written: asyncio.Future[bool], place: Reservation) -> bool:
        """Whether an answer was new, once it is in the store; its place in the budget is free then."""
        try:
            is_new = await written
        finally:
            self.budget.home(place)
        self._count(new.claim, new.answer, is_new)
        return is_new

    def _is_stored(self, _: asyncio.Task[bool]) -> None:
        self.aside -= 1

    def _write(self, answers: Sequence[NewAnswer]) -> list[bool | Exception]:
        """Store answers, and update the total cost of all runs; in the writer's thread."""
        written = add_answers(self.store, answers)
        if self.limits.max_cost is not None:
            self.budget.spent = work.dollars_spent(self.store)
        return written

    async def _answer(self, endpoint: Endpoint, claim: Claim, request: Request) -> Answer | None:
        """Make one call and parse it; None if the judge or the run stops before a response."""
        provider, health = self.providers[claim.annotator], self.health[claim.annotator]
        about: dict[str, Any] = {"shown": claim.shown, "model": request.model}
        try:
            completion, latency = await self._complete(endpoint, claim, request)
        except CallFailed as error:
            if self.stopped is not None or not await health.blames_item(error, partial(self._probe, claim, request)):
                return None
            about |= _prompt(await provider.sent(request))
            if error.kind == "filtered":
                return Answer("missing", reason=str(error), **about)
            return Answer("failed", reason=f"no reply: {error}", **about)
        except Exception as error:  # the one place where anything may go wrong with one call
            log.warning("%s: %r", claim.item.name, error)
            return Answer("failed", reason=f"the call broke: {type(error).__name__}", **about)
        health.note_reply()
        self.budget.learn(claim.annotator, request, completion)
        if not completion.is_counted and isinstance(provider, Service):
            self.counts["estimated"] += 1
        self.counts["cached"] += completion.cached_in or 0
        self.counts["reasoning"] += completion.reasoning_out or 0
        about |= _prompt(completion.sent or await provider.sent(request))
        answer = self._build_answer(claim, request, completion, about | {"latency": round(latency, 4)})
        if answer.label is not None or answer.reason == ABSTAINED or (answer.reason or "").startswith(LEFT_TO_PEOPLE):
            health.note_readable()
        else:
            health.note_unreadable(answer.reason or "", again=claim.unread is not None)
        try:
            if self.ways.recording is not None:
                self.ways.recording.add(request, completion)
        except StudyError as error:  # the store still gets this one
            self._fail(error, "replies cannot be written down")
        return answer

    async def _complete(self, endpoint: Endpoint, claim: Claim, request: Request) -> tuple[Completion, float]:
        """Make one call; questions with the same request about an item share one, and the first of them pays it."""
        provider = self.providers[claim.annotator]
        if not isinstance(provider, Service | FunctionOfRow) or len(self.plan.questions) == 1:
            return await endpoint.call(provider, request)
        key = sharing_key(request) if isinstance(provider, Service) else (canonical(dict(request.columns)),)
        call = (claim.annotator, claim.item.name, claim.repeat, canonical(claim.condition), *key)
        shared = self.shared.get(call)
        if shared is not None and claim.question not in shared.questions:
            shared.questions.add(claim.question)
            completion, _ = await asyncio.shield(shared.reply)
            return replace(completion, tokens_in=0, tokens_out=0, cached_in=0, written_in=0, reasoning_out=0), 0.0
        shared = self.shared[call] = _SharedCall(asyncio.get_running_loop().create_future(), {claim.question})
        while len(self.shared) > MOST_SHARED:
            self.shared.popitem(last=False)
        try:
            found = await endpoint.call(provider, request)
        except BaseException as error:
            self.shared.pop(call, None)
            failed = error if isinstance(error, Exception) else CallFailed("retry", "the call was stopped")
            shared.reply.set_exception(failed)
            shared.reply.exception()  # known, even if no other question waits for it
            raise
        shared.reply.set_result(found)
        return found

    async def _probe(self, claim: Claim, request: Request) -> None:
        """Ask a judge about nothing, once, and pay for it."""
        try:
            request = probe_request(request)
            completion = await self.providers[claim.annotator].complete(request)
        except CallFailed:
            raise
        except Exception as error:  # as in a call about an item
            raise CallFailed("retry", f"the call broke: {type(error).__name__}") from None
        cost = cost_of(self.prices[claim.annotator], request, completion)
        if cost:
            self.cost += cost
            await self.writer.do(work.charge, self.store, self.run, cost)

    def _build_answer(self, claim: Claim, request: Request, completion: Completion, about: dict[str, Any]) -> Answer:
        """Return the answer of a response, with its details."""
        cost = cost_of(self.prices[claim.annotator], request, completion)
        return build_answer(self.plan, claim, completion, about, cost)

    # -- the result -----------------------------------------------------------------------------

    def _count(self, claim: Claim, answer: Answer, written: bool) -> None:
        self.counts["tokens_in"] += answer.tokens_in or 0
        self.counts["tokens_out"] += answer.tokens_out or 0
        self.cost += answer.cost or 0.0
        self.counts[answer.status if written else "late"] += 1
        if answer.reason is not None:
            again = ", asked again" if answer.status == "unreadable" else ""
            self.reasons[f"{claim.annotator}: {answer.reason}{again}"] += 1
            log.info("%s, %s: %s", claim.annotator, claim.item.name, answer.reason)
        if self.ways.progress is not None and answer.status != "unreadable":
            self.ways.progress(self._progress())

    def _progress(self) -> Progress:
        done = sum(self.counts[status] for status in ("valid", "missing", "failed"))
        return Progress(done, self.total, self.counts["missing"], self.cost, self.clock.now() - self.begun)

    def _result(self, left: dict[str, int]) -> JudgeRun:
        return JudgeRun(
            answered=self.counts["valid"],
            missing=self.counts["missing"],
            failed=self.counts["failed"],
            reasked=self.counts["unreadable"],
            late=self.counts["late"],
            left=left.get("open", 0) + left.get("failed", 0),
            elsewhere=left.get("claimed", 0),
            cost=self.cost,
            tokens_in=self.counts["tokens_in"],
            tokens_out=self.counts["tokens_out"],
            seconds=self.clock.now() - self.begun,
            reasons=dict(self.reasons),
            unpriced=tuple(name for name, price in self.prices.items() if price is None),
            tokens_cached=self.counts["cached"],
            tokens_reasoning=self.counts["reasoning"],
            estimated=self.counts["estimated"],
            stopped=self.stopped or "; ".join(self._why_stopped()) or None,
        )


ABSTAINED = "the judge gives no label"
"""Reason for a missing label of a program that returns None."""

_FINAL = (CUT_THINKING, ABSTAINED)
"""Reasons after which a further call ends in the same way."""


def build_answer(plan: Plan, claim: Claim, completion: Completion, about: dict[str, Any], cost: float | None) -> Answer:
    """Return the answer of a response, with its details."""
    way = plan.way(claim)
    asked = plan.questions[claim.question].definition
    abstained = completion.abstained is None or folded(asked.name) in map(folded, completion.abstained)
    source = asked.marked_text(claim.item.fields)
    reply = Reply(None, ABSTAINED) if abstained else way.read(completion.text, completion.finish, source)
    kept = about | {
        "reply": completion.text,
        "reasoning": completion.reasoning or reply.reasoning,
        "tokens_in": completion.tokens_in,
        "tokens_out": completion.tokens_out,
        "cost": cost,
        "model": completion.model or about["model"],
    }
    label, reason = reply.label, reply.reason
    extra: dict[str, Any] = {}
    order = plan.order(claim)
    if label is not None and way.has_likelihood:
        found = label_likelihood(completion.tokens, label, way.scale, asked.judge_words(way.scale), asked.name)
        if found.reason is None:
            shares = {asked.unshuffle(one, order)[0]: share for one, share in found.shares.items()}
            extra = {"probability": round(found.shares.get(label, 0.0), 6), "on_labels": round(found.on_labels, 6)}
            extra |= {f"p_{one}": round(share, 6) for one, share in shares.items()}
        if way.is_expected:
            extra |= {} if found.reason else {"said": label}
            mean = sum(float(one) * share for one, share in found.shares.items())
            label, reason = (None, found.reason) if found.reason else (round(mean, 6), None)
    if label is None:
        # A second reply that cannot be read is the last: better no label than a wrong one. Nothing is sent again that
        # ends in the same way: a refusal of the service, a filter, reasoning that uses up max_tokens.
        again = claim.unread is None and completion.finish not in ("refusal", "filtered") and reason not in _FINAL
        reason = f"{reason} ({completion.why})" if completion.why and completion.finish != "length" else reason
        return Answer("unreadable" if again else "missing", reason=reason, **kept)
    rule = plan.routes.get(claim.annotator)
    if rule is not None and rule.of_answer and not rule.keeps(extra.get(rule.signal)):
        return Answer("missing", reason=rule.reason(extra.get(rule.signal)), **kept)
    label, position = asked.unshuffle(label, order)
    shown = dict(claim.shown or {})
    if order:
        shown["position"] = position
    if extra:
        shown["about"] = shown.get("about", {}) | extra
    return Answer("valid", label, **kept | ({"shown": shown} if shown else {}))


def _service_of(judge: Judge) -> str:
    return judge.address or judge.provider


def _prompt(sent: Sent) -> dict[str, str]:
    """Return the prompt's fingerprint and text for an answer."""
    name, text = cached_call(sent)
    return {"fingerprint": name, "prompt": text}


_ENDING = {"SIGINT": "interrupted", "SIGTERM": "ended by SIGTERM", "SIGBREAK": "interrupted"}
"""Signals that ask a run to end, as far as a system has them: Ctrl-C, a scheduler or container, Ctrl-Break."""


@contextmanager
def _interruptible(stop: Callable[[str], None]) -> Iterator[None]:
    """The first signal to end lets the calls in flight come home; a second one does not wait for them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    undo: list[Callable[[], None]] = []

    def first(why: str) -> None:
        while undo:
            undo.pop()()
        stop(why)

    for name, why in _ENDING.items():
        if hasattr(signal, name):
            undo.append(_on_signal(getattr(signal, name), partial(first, why)))
    try:
        yield
    finally:
        while undo:
            undo.pop()()


def _on_signal(number: int, act: Callable[[], None]) -> Callable[[], None]:
    """Handle a signal in the loop; the returned function removes the handler."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(number)
    try:
        loop.add_signal_handler(number, act)
    except NotImplementedError:  # on Windows, whose loop wakes up for signals without that
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))

    def undo() -> None:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL if before is None else before)

    return undo


_ALLOCATIONS = 20_000
"""Objects after which garbage is collected, instead of 700: this took a fifth of a run's processor time, and each full
collection delayed every call by a tenth of a second."""


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Collect garbage more rarely; never, if the caller has disabled it."""
    before = gc.get_threshold()
    gc.set_threshold(before[0] and max(before[0], _ALLOCATIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


# -- the store's thread ----------------------------------------------------------------------------------

PAUSE = 0.005
"""Seconds between transactions with answers: each takes as long as writing two further answers. An answer that comes
alone is written at once."""


class StoreThread:
    """A thread in which the store is used, one thing after the other, while the calls go on.

    An executor wakes the loop for every result; this thread wakes it once for all that are there. Answers that arrive
    while it writes others, and up to `PAUSE` later, are written together, by ``write``.
    """

    def __init__(self, write: Callable[[Sequence[NewAnswer]], list[bool | Exception]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._write_all = write
        self._work: SimpleQueue[tuple[asyncio.Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self._arrived: deque[tuple[asyncio.Future[bool], NewAnswer]] = deque()
        self._to_write = False
        self._written_at = 0.0
        self._done: deque[tuple[asyncio.Future[Any], Any, Exception | None]] = deque()
        self._woken = False
        self._thread = threading.Thread(target=self._go, name="assay-store", daemon=True)
        self._thread.start()

    def do(self, work: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """What ``work(*arguments)`` gives, once it was its turn."""
        result: asyncio.Future[Any] = self._loop.create_future()
        self._work.put((result, work, arguments))
        return result

    def write(self, answer: NewAnswer) -> asyncio.Future[bool]:
        """Whether an answer was new, once it is in the store."""
        result: asyncio.Future[bool] = self._loop.create_future()
        self._arrived.append((result, answer))
        if not self._to_write:
            self._to_write = True
            self.do(self._write_arrived)
        return result

    def _write_arrived(self) -> None:
        sleep(max(0.0, self._written_at + PAUSE - monotonic()))
        self._to_write = False  # before looking: what comes from now on is written by the next
        arrived = [self._arrived.popleft() for _ in range(len(self._arrived))]
        if not arrived:
            return
        try:
            found = self._write_all([answer for _, answer in arrived])
        except Exception as error:  # passed to the caller that waits for one of them
            found = [error] * len(arrived)
        self._written_at = monotonic()
        for (result, _), one in zip(arrived, found, strict=True):
            self._done.append((result, None, one) if isinstance(one, Exception) else (result, one, None))

    def close(self) -> None:
        """End the thread once everything is done."""
        self._work.put(None)
        self._thread.join()

    def _go(self) -> None:
        while (job := self._work.get()) is not None:
            future, work, arguments = job
            try:
                self._done.append((future, work(*arguments), None))
            except Exception as error:  # passed to the caller that waits for it
                self._done.append((future, None, error))
            if not self._woken:
                self._woken = True
                self._loop.call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        self._woken = False  # before looking: what comes from now on wakes the loop again
        while self._done:
            future, result, error = self._done.popleft()
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


class Claims:
    """Open claims, fetched in groups; the next group is fetched during the calls of this one."""

    def __init__(self, claim: Callable[[], asyncio.Future[list[Claim]]], *, batch: int) -> None:
        self._claim, self._low = claim, batch // 2
        self._ready: deque[Claim] = deque()
        self._coming: asyncio.Future[list[Claim]] | None = None
        self._ended = False
        self._broken: asyncio.Future[list[Claim]] | None = None

    async def next(self) -> Claim | None:
        """Return a claim that no other call holds; None if there is none left."""
        while True:
            if self._coming is None and not self._ended and len(self._ready) <= self._low:
                self._coming = self._claim()
                self._coming.add_done_callback(self._arrived)
            if self._ready:
                return self._ready.popleft()
            if self._broken is not None:
                self._broken.result()
            if self._coming is None:
                return None
            if self._coming.done():  # before the loop has noticed: awaiting it would not release the loop
                self._arrived(self._coming)
            else:
                await asyncio.shield(self._coming)

    def _arrived(self, coming: asyncio.Future[list[Claim]]) -> None:
        if coming is not self._coming:
            return
        self._coming = None
        if coming.cancelled() or coming.exception() is not None:
            self._ended, self._broken = True, coming
            return
        self._ready.extend(coming.result())
        self._ended = not coming.result()
