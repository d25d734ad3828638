"""Ask every judge every open question, once: resumes, keeps to limits, stops where it must."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from assay.errors import AssayError, JudgeError, StudyError, unknown
from assay.judging.client import Endpoint, Pricer, expected_tokens, pricer
from assay.judging.plan import Plan, planned
from assay.judging.prompts import fingerprint
from assay.judging.providers import CallFailed, Completion, Provider, Recorder, provider_for
from assay.judging.replies import Reply, read_reply
from assay.judging.storing import Claims, StoreThread
from assay.study.definition import Study
from assay.study.schema import Judge
from assay.study.store import queue
from assay.study.store.answers import Answer, add_answer, typical_output
from assay.study.store.changes import Changed, in_words
from assay.study.store.connection import DatabaseError, Store
from assay.study.store.opening import open_scratch, open_store
from assay.study.store.queue import Claim

log = logging.getLogger("assay.judging")

HEARTBEAT = 1.0
"""Seconds between signs of life, each of which makes what was written safe against a loss of power."""

HOPELESS = 10
"""So many questions in a row without a reply (or as many as are asked at once) mean that it is no use."""


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

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
        left = "" if self.seconds_left is None else f", {_duration(self.seconds_left)} left"
        return f"{self.done}/{self.total} questions, {self.rate:.1f}/s, ${self.cost:.4f}{left}"


@dataclass(frozen=True)
class JudgeRun:
    """What a run has done.

    Attributes
    ----------
    answered, missing, failed : int
        Questions that got a label; that got a reply without one; that got no reply. Failed ones are
        asked again by the next run, missing ones are not.
    reasons : dict
        Why there is no label, by judge and reason, counted.
    reasked : int
        Replies in the wrong form, or off the scale, that were asked for once more.
    left : int
        Questions still open.
    elsewhere : int
        Questions that another run is asking at this moment.
    cost : float
        Dollars of this run, over the judges whose price is known.
    unpriced : tuple of str
        Judges whose price is not known.
    stopped : str or None
        Why the run ended before all was asked.
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

    def summary(self) -> str:
        """What happened, in a few lines."""
        done = self.answered + self.missing + self.failed
        lines = [
            f"{done} questions in {_duration(self.seconds)}: {self.answered} answered, {self.missing} missing, "
            f"{self.failed} without a reply. {self.reasked} replies were asked for again.",
            f"{self.tokens_in} tokens in, {self.tokens_out} out, ${self.cost:.4f}.",
        ]
        if self.unpriced:
            lines.append(f"The price of {', '.join(self.unpriced)} is not known and not counted.")
        lines += [f"  {number} × {reason}" for reason, number in sorted(self.reasons.items())]
        if self.elsewhere:
            lines.append(f"{self.elsewhere} questions are being asked by another run.")
        if self.stopped:
            lines.append(f"Stopped: {self.stopped}. {self.left} questions are open.")
        elif self.left:
            lines.append(f"{self.left} questions are open; run it again to ask them.")
        return "\n".join(lines)


@dataclass(frozen=True)
class JudgeEstimate:
    """What one judge's open questions will take."""

    judge: str
    calls: int
    tokens_in: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True)
class Estimate:
    """Calls, tokens and money before the first call is made."""

    judges: tuple[JudgeEstimate, ...]
    spent: float
    max_cost: float | None
    lost: str = ""
    """How many answers of which question would no longer count; empty where all of them would."""

    @property
    def cost(self) -> float | None:
        """Dollars for all judges; None where a price is unknown."""
        costs = [j.cost for j in self.judges if j.calls]
        return None if None in costs else float(sum(c for c in costs if c is not None))

    def summary(self) -> str:
        """One line a judge."""
        lines = [f"{self.lost}; these calls ask them again."] if self.lost else []
        for j in self.judges:
            money = "price unknown" if j.cost is None else f"about ${j.cost:.4f}"
            lines.append(f"{j.judge}: {j.calls} calls, about {j.tokens_in} tokens in and {j.tokens_out} out, {money}")
        total = "unknown (give the judge a price)" if self.cost is None else f"about ${self.cost:.4f}"
        lines.append(f"Together: {sum(j.calls for j in self.judges)} calls, cost {total}, ${self.spent:.4f} spent.")
        if self.max_cost is not None and self.cost is not None and self.spent + self.cost > self.max_cost:
            lines.append(f"This passes max_cost (${self.max_cost:g}): the run would stop there.")
        lines.append("Tokens are estimated from the length of the prompts; replies asked for again come on top.")
        return "\n".join(lines)


def estimate_study(
    study: Study,
    *,
    store: str | None = None,
    judges: Iterable[str] | None = None,
    changed: Changed | None = "new-version",
) -> Estimate:
    """How many calls, tokens and how much money will the open questions take?

    Asks nothing and writes nothing: the study is planned in a copy of its store. ``changed`` is what a change of the
    study would be said to mean; where it takes answers out of count, the estimate says how many. Tokens come from up
    to 100 rendered prompts a judge, those of replies from the judge's replies so far, where there are 20.
    """
    names = _chosen(study, judges)
    with open_scratch(study, store) as opened:
        plan, change = planned(study, opened, changed)
        estimates = [_estimate(plan, study_judge) for study_judge in study.judges if study_judge.name in names]
        lost = in_words(change.lost) if change.lost else ""
        return Estimate(tuple(estimates), queue.spent(opened), study.config.limits.max_cost, lost)


def _estimate(plan: Plan, judge: Judge) -> JudgeEstimate:
    counts = queue.counts(plan.store, [judge.name])
    calls = counts.get("open", 0) + counts.get("failed", 0)
    sample = [plan.request(claim) for claim in queue.sample(plan.store, judge.name, 100)]
    each_in = sum(map(expected_tokens, sample)) / len(sample) if sample else 0.0
    each_out = typical_output(plan.store, judge.name)
    if each_out is None:
        guess = 300.0 if judge.strategy == "chain-of-thought" else 12.0
        free_text = sum(request.schema is None and judge.structured == "auto" for request in sample)
        each_out = float(judge.max_tokens or 250) if free_text else guess
    tokens_in, tokens_out = round(each_in * calls), round(each_out * calls)
    price = pricer(judge)
    return JudgeEstimate(judge.name, calls, tokens_in, tokens_out, price and price(tokens_in, tokens_out))


def judge_study(
    study: Study,
    *,
    store: str | None = None,
    judges: Iterable[str] | None = None,
    record: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    providers: dict[str, Provider] | None = None,
    first_wait: float = 0.5,
    changed: Changed | None = None,
) -> JudgeRun:
    """Ask every judge every question that has no answer yet.

    Parameters
    ----------
    study : Study
        See `assay.study.definition.load_study`.
    store : str, optional
        A database in place of the one in the folder: a path or ``postgresql://…``.
    judges : list of str, optional
        Only these.
    record : path, optional
        Write every reply to this JSONL file, for ``provider: recorded``.
    progress : callable, optional
        Told about every answer.
    providers : dict, optional
        Providers by judge, in place of those that study.yaml names.
    first_wait : float
        Seconds before a failed call is made for the second time.
    changed : {"new-version", "same-question"}, optional
        What a change of the study means that takes answers out of count: they are asked again (and count once more
        when the change is taken back), or go on counting.

    Returns
    -------
    JudgeRun
        Counts, cost and reasons. The labels are what `assay.reading.study_labels` gives.

    Raises
    ------
    ChangedStudyError
        Where answers would no longer count, and ``changed`` says nothing; nothing was changed.
    JudgeError
        Where a judge cannot be asked at all: dead key, unknown model, no price though there is a
        ``max_cost``. What was answered before stays.
    """
    names = _chosen(study, judges)
    asked = [judge for judge in study.judges if judge.name in names]
    prices = {judge.name: pricer(judge) for judge in asked}
    unpriced = [name for name, price in prices.items() if price is None]
    if unpriced and study.config.limits.max_cost is not None:
        raise JudgeError(
            f"max_cost cannot be kept: the price of {', '.join(unpriced)} is not known. Give the judge "
            "'price: {input: …, output: …}' (dollars a million tokens), or remove max_cost"
        )
    with open_store(study, store) as opened:
        plan, _ = planned(study, opened, changed)
        answering = {judge.name: (providers or {}).get(judge.name) or _provider(judge, study) for judge in asked}
        if record is not None:
            answering = {name: Recorder(provider, Path(record)) for name, provider in answering.items()}
        return asyncio.run(_Run(plan, answering, prices, progress, first_wait).go())


def _provider(judge: Judge, study: Study) -> Provider:
    limits = study.config.limits
    return provider_for(judge, folder=study.folder, timeout=limits.timeout, connections=limits.concurrency)


def _chosen(study: Study, judges: Iterable[str] | None) -> list[str]:
    known = [judge.name for judge in study.judges]
    names = known if judges is None else list(judges)
    for name in names:
        if name not in known:
            raise JudgeError(unknown("judge", name, known, "study.yaml"))
    if not names:
        raise JudgeError("study.yaml names no judge that could be asked")
    return names


class _Run:
    """One run over the open questions, from the first claim to the last answer."""

    def __init__(
        self,
        plan: Plan,
        providers: dict[str, Provider],
        prices: dict[str, Pricer | None],
        progress: Callable[[Progress], None] | None,
        first_wait: float,
    ) -> None:
        self.plan, self.providers, self.prices, self.progress = plan, providers, prices, progress
        self.store: Store = plan.store
        self.limits = plan.study.config.limits
        self.lanes: dict[tuple[str, str | None], tuple[Endpoint, list[str]]] = {}
        for name in providers:
            judge = plan.judges[name]
            where = (judge.provider, judge.base_url)
            if where not in self.lanes:
                self.lanes[where] = (Endpoint(self.limits, first_wait=first_wait), [])
            self.lanes[where][1].append(name)
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.cost = 0.0
        self.spent = 0.0
        self.stopped: str | None = None
        self.fatal: AssayError | None = None
        self.silent = 0

    async def go(self) -> JudgeRun:
        """Ask until nothing is open, or something stops it."""
        self.begun = monotonic()
        self.writer = StoreThread()
        judges = list(self.providers)
        try:
            self.run = await self.writer.do(queue.start_run, self.store)
            self.spent = await self.writer.do(queue.spent, self.store)
            self.total = (await self.writer.do(queue.counts, self.store, judges)).get("open", 0)
            heartbeat = asyncio.create_task(self._heartbeat())
            try:
                with _interruptible(lambda: self._stop("interrupted")):
                    async with asyncio.TaskGroup() as tasks:
                        for endpoint, names in self.lanes.values():
                            self._open(endpoint, names, tasks)
            except* DatabaseError as group:
                self.fatal = StudyError(f"the store {self.store.where} failed: {_first(group)}")
            finally:
                heartbeat.cancel()
                await self.writer.do(queue.end_run, self.store, self.run)
                for provider in self.providers.values():
                    await provider.close()
            left = await self.writer.do(queue.counts, self.store, judges)
        finally:
            self.writer.close()
        if self.fatal is not None:
            raise self.fatal
        return self._result(left)

    def _open(self, endpoint: Endpoint, judges: list[str], tasks: asyncio.TaskGroup) -> None:
        """As many places as the limits allow, each with one question after the other."""
        batch = min(200, 2 * self.limits.concurrency)
        claims = Claims(lambda: self.writer.do(queue.claim, self.store, self.run, judges, batch), batch=batch)
        for _ in range(min(self.limits.concurrency, self.total)):
            tasks.create_task(self._place(endpoint, claims))

    async def _place(self, endpoint: Endpoint, claims: Claims) -> None:
        while not self._over() and (claim := await claims.next()) is not None and not self._over():
            await self._question(endpoint, claim)

    def _over(self) -> bool:
        """Whether no further call may begin."""
        if self.stopped is None and self.limits.max_cost is not None and self.spent >= self.limits.max_cost:
            self._stop(f"max_cost is reached (${self.spent:.4f} of ${self.limits.max_cost:g})")
        return self.stopped is not None

    def _stop(self, why: str) -> None:
        self.stopped = self.stopped or why
        for endpoint, _ in self.lanes.values():
            endpoint.stopping.set()

    async def _question(self, endpoint: Endpoint, claim: Claim) -> None:
        """One question to its end: a label, or the reason why there is none."""
        while True:
            answer = await self._ask(endpoint, claim)
            if answer is None:
                return
            revision = claim.revision + 1
            written = await self.writer.do(self._write, claim, answer, revision)
            self._count(claim, answer, written)
            if answer.status != "unreadable" or not written:
                return
            claim = replace(claim, revision=revision, unread=(answer.reply or "", answer.reason or ""))
            if self._over():
                return

    def _write(self, claim: Claim, answer: Answer, revision: int) -> bool:
        """Store an answer, and see what all runs together have spent; in the writer's thread."""
        written = add_answer(self.store, claim, self.run, answer, revision)
        if self.limits.max_cost is not None:
            self.spent = queue.spent(self.store)
        return written

    async def _ask(self, endpoint: Endpoint, claim: Claim) -> Answer | None:
        """One call and what it amounts to; None where the run stops before it brings anything."""
        try:
            request = self.plan.request(claim)
        except StudyError as error:
            self.fatal = self.fatal or error
            self._stop("the study cannot be asked")
            return None
        body = [request.model, request.messages, request.temperature, request.max_tokens, request.params]
        about: dict[str, Any] = {"shown": claim.shown, "model": request.model}
        about["fingerprint"] = fingerprint({"body": body, "schema": request.schema})
        try:
            completion, latency = await endpoint.call(self.providers[claim.annotator], request)
        except CallFailed as error:
            return self._failed(claim, error, about)
        except Exception as error:  # the one place where anything may go wrong with one call
            log.warning("%s: %r", claim.item.name, error)
            return Answer("failed", reason=f"the call broke: {type(error).__name__}", **about)
        self.silent = 0
        reply = read_reply(completion.text, self.plan.scale(claim), finish=completion.finish)
        return self._answer(claim, reply, completion, latency, about)

    def _answer(
        self, claim: Claim, reply: Reply, completion: Completion, latency: float, about: dict[str, Any]
    ) -> Answer:
        price = self.prices[claim.annotator]
        tokens = (completion.tokens_in, completion.tokens_out)
        kept = about | {
            "reply": completion.text,
            "reasoning": completion.reasoning or reply.reasoning,
            "tokens_in": tokens[0],
            "tokens_out": tokens[1],
            "cost": None if price is None else price(tokens[0] or 0, tokens[1] or 0),
            "latency": round(latency, 4),
        }
        kept["model"] = completion.model or about["model"]
        if reply.label is None:
            # A second reply that cannot be read is the last: better no label than a wrong one.
            return Answer("unreadable" if claim.unread is None else "missing", reason=reply.reason, **kept)
        order = self.plan.order(claim)
        label, position = self.plan.questions[claim.question].definition.unshuffled(reply.label, order)
        if order:
            kept["shown"] = {**(claim.shown or {}), "position": position}
        return Answer("valid", label, **kept)

    def _failed(self, claim: Claim, error: CallFailed, about: dict[str, Any]) -> Answer | None:
        if self.stopped is not None:
            return None
        # A reply that was never recorded says nothing about the next; a service that fails does.
        self.silent += error.kind == "retry" or error.status > 0
        if error.kind == "fatal" or self.silent >= max(HOPELESS, self.limits.concurrency):
            self._give_up(claim, error)
            return None
        return Answer("failed", reason=f"no reply: {error}", **about)

    def _give_up(self, claim: Claim, error: CallFailed) -> None:
        judge = self.plan.judges[claim.annotator]
        where = judge.base_url or judge.provider
        self.fatal = JudgeError(f"judge '{judge.name}' ({judge.model} at {where}) cannot be asked: {error}")
        self._stop("a judge cannot be asked")

    def _count(self, claim: Claim, answer: Answer, written: bool) -> None:
        self.counts["tokens_in"] += answer.tokens_in or 0
        self.counts["tokens_out"] += answer.tokens_out or 0
        self.cost += answer.cost or 0.0
        self.counts[answer.status if written else "late"] += 1
        if answer.reason is not None:
            again = ", asked again" if answer.status == "unreadable" else ""
            self.reasons[f"{claim.annotator}: {answer.reason}{again}"] += 1
            log.info("%s, %s: %s", claim.annotator, claim.item.name, answer.reason)
        if self.progress is not None and answer.status != "unreadable":
            self.progress(self._progress())

    def _progress(self) -> Progress:
        done = sum(self.counts[status] for status in ("valid", "missing", "failed"))
        return Progress(done, self.total, self.counts["missing"], self.cost, monotonic() - self.begun)

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
            seconds=monotonic() - self.begun,
            reasons=dict(self.reasons),
            unpriced=tuple(name for name, price in self.prices.items() if price is None),
            stopped=self.stopped,
        )

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT)
            try:
                await self.writer.do(queue.heartbeat, self.store, self.run)
            except DatabaseError as error:
                log.warning("no sign of life could be given: %s", error.orig)


@contextmanager
def _interruptible(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C lets the calls in flight come home; a second one does not wait for them."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
        stop()

    loop.add_signal_handler(signal.SIGINT, first)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    inner = group.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
