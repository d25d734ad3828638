"""Many questions in one order at half the price: sent, looked at, taken in, and never asked twice.

A run without a process holds the claims, and a record describes the batch at the service. The record is written before
anything is sent, so a killed process leaves either nothing at the service, or a batch that the next call finds there by
its name.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import JudgeError, counted, listing
from assay.judging import words
from assay.judging.dry_run import WRITTEN, ItemPart, chosen_judges, part_asked, providers_of, refuse_what_is_not_sent
from assay.judging.plan import Plan, plan_study
from assay.judging.run import build_answer, log
from assay.judging.services.batch_formats import FORMS, BatchForm, Bodies, Order
from assay.judging.services.client import Pricer, Tell, cost_of, expected_tokens, pricer
from assay.judging.services.http import CallFailed, Completion, cached_call
from assay.judging.services.providers import ABOUT_FORM, PROVIDERS, Service
from assay.study.definition import Study
from assay.study.schema import Judge
from assay.study.store import work
from assay.study.store.answers import Answer, add_answer, typical_output
from assay.study.store.connection import store_in_use
from assay.study.store.work import Changed, Claim

BatchAction = Literal["send", "status", "cancel"]

MOST_IN_ONE, LARGEST_FILE = 50_000, 50_000_000
"""Maximum number of requests and bytes of a batch: the smallest limit of the services (OpenAI 50,000 and 200 MB, Groq
50,000 and 100 MB), and half of the bytes, which are held in memory."""

DISCOUNT = 0.5
"""The price of a batch at the services, as a share of the price of single calls."""

BATCH_LOOKS = 60.0
"""Seconds between two checks of batches while a command waits: they take minutes to hours."""

LONGEST_NOTED = 80
"""Characters of a line that a note quotes."""

SETTLED = 120.0
"""Seconds after which a service has accepted a batch or never will: the timeout of a call."""


@dataclass(frozen=True)
class BatchRun:
    """The state of a study's batches.

    Attributes
    ----------
    sent, answered, missing, failed, returned : int
        Requests that were sent; responses with a label, without a label, with an error; requests that were returned and
        will be sent again.
    going : int
        Questions in batches that the services work on.
    """

    sent: int
    answered: int
    missing: int
    failed: int
    returned: int
    going: int
    left: int
    cost: float
    reasons: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return a summary in a few lines."""
        return words.batch_words(self)


def batch_study(
    study: Study,
    action: BatchAction = "send",
    *,
    store: str | None = None,
    judges: Iterable[str] | None = None,
    wait: float | None = None,
    changed: Changed | None = None,
    part: ItemPart | None = None,
    tell: Tell = log.warning,
) -> BatchRun:
    """Send a study's open requests in batches, and store the results of finished ones.

    Parameters
    ----------
    study : Study
    action : {"send", "status", "cancel"}
        Store results and send open requests; only report the state of the batches; cancel those in progress (the next
        call that sends stores their results).
    store, judges, changed, part, tell
        As for `assay.judging.run.judge_study`. Judges whose provider has no batch API are reported and skipped.
    wait : float, optional
        Stay until no batch is under way, and look again after each such number of seconds.

    Raises
    ------
    JudgeError
        If no judge's provider has a batch API, or a service rejects a request.
    """
    asked = chosen_judges(study, judges)
    able = [judge for judge in asked if _form(judge) is not None]
    if not able:
        taking = [name for name, row in PROVIDERS.items() if row.batch]
        raise JudgeError(f"no judge of this study has a batch API; providers with one: {listing(taking)}")
    for judge in asked:
        if judge not in able and action == "send":
            tell(f"{judge.name} is skipped: {judge.provider} has no batch API; run it without --batch")
    services = providers_of(able, study)
    with asyncio.Runner() as loop:
        try:
            if action == "send":
                loop.run(refuse_what_is_not_sent(able, services, study.config))
            with store_in_use(study, store) as opened:
                plan, _ = plan_study(study, opened, changed)
                work_of = _Batches(plan, {judge.name: judge for judge in able}, services, part_asked(study, part), tell)
                return loop.run(work_of.go(action, wait))
        except CallFailed as error:
            raise JudgeError(f"a service cannot be asked about batches: {error}") from None
        finally:
            for service in services.values():
                loop.run(service.close())


def _form(judge: Judge) -> BatchForm | None:
    row = PROVIDERS.find(judge.provider)
    return FORMS[row.batch] if row is not None and row.batch is not None else None


class _Batches:
    """The batches of one study, for one call."""

    def __init__(
        self, plan: Plan, judges: Mapping[str, Judge], services: Mapping[str, Any], part: str | None, tell: Tell
    ) -> None:
        self.plan, self.store, self.judges, self.services = plan, plan.store, judges, services
        self.part, self.tell = part, tell
        self.prices: dict[str, Pricer | None] = {name: pricer(judge) for name, judge in judges.items()}
        self.counts: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.notes: dict[str, str] = {}
        self.cost = 0.0
        self.going = 0
        self.refused: set[str] = set()
        """Judges that are sent nothing more: the service has refused a batch, or there is no money for another."""

    async def go(self, action: BatchAction, wait: float | None) -> BatchRun:
        """Run the action, as often as requested."""
        if action == "send":
            work.open_failed(self.store)
        await self._look(action)
        if action == "send":
            for name, judge in self.judges.items():
                if name not in self.refused:
                    await self._send(judge)
        while wait is not None and self.going:
            self.tell("; ".join(self.notes.values()))
            await asyncio.sleep(wait)
            await self._look(action)
        open_now = work.counts(self.store, list(self.judges), self.part)
        return BatchRun(
            sent=self.counts["sent"],
            answered=self.counts["valid"],
            missing=self.counts["missing"],
            failed=self.counts["failed"],
            returned=self.counts["returned"],
            going=self.going,
            left=open_now.get("open", 0) + open_now.get("failed", 0),
            cost=self.cost,
            reasons=dict(self.reasons),
            notes=tuple(self.notes.values()),
        )

    # -- batches in progress --------------------------------------------------------------------

    async def _look(self, action: BatchAction) -> None:
        """Find, look at, end or take in each batch that is not done."""
        self.going = 0
        records = work.batches_kept(self.store)
        known = {record["id"] for record in records if record.get("id")}
        for record in records:
            if record["state"] == "done" or record["judge"] not in self.judges:
                continue
            service, form = self.services[record["judge"]], _form(self.judges[record["judge"]])
            assert form is not None
            try:
                if record["state"] == "making" and not await self._is_found(form, service, record, known):
                    continue
                order = await form.look(service, record["id"])
            except CallFailed as error:
                self._note(record, str(error))
                self.going += record.get("number", 0)
                continue
            self._note(record, order.words)
            if action == "cancel" and order.state == "going":
                await form.cancel(service, record["id"])
                self._note(record, "is being cancelled; run --batch --cancel again to store its results")
            if order.state == "going" or action == "status":
                self.going += record.get("number", 0)
            else:
                await self._take_in(form, service, record, order)

    def _note(self, record: Mapping[str, Any], words: str) -> None:
        self.notes[record["name"]] = f"batch {record.get('id') or record['name']} of {record['judge']}: {words}"

    async def _is_found(self, form: BatchForm, service: Service, record: dict[str, Any], known: set[str]) -> bool:
        """Return whether a batch was sent although its record does not mention it; if it was not, its claims are free
        again."""
        age = work.seconds_since(self.store, record["made_at"])
        if work.is_alive(record["host"], record["process"]):
            self._note(record, "is being sent by another process")
            return False
        number = await form.find(service, record, known) if record.get("number") else None
        if number is None and record.get("number") and age < SETTLED:
            self._note(record, f"was being sent when a run was ended; that is looked for again in {SETTLED:.0f} s")
            self.going += record["number"]
            return False
        if number is None:
            self._end(record)
            return False
        known.add(number)
        record |= {"id": number, "state": "sent"}
        work.note_batch(self.store, record)
        return True

    def _end(self, record: dict[str, Any]) -> None:
        """Release the claims that a batch still holds."""
        work.end_run(self.store, record["run"])
        work.note_batch(self.store, record | {"state": "done"})

    async def _take_in(self, form: BatchForm, service: Service, record: dict[str, Any], order: Order) -> None:
        """Write down every result of a batch that is not there yet."""
        if order.state == "failed":
            self.refused.add(record["judge"])
        held, changed = work.claims_held(self.store, record["run"])
        strange: list[str] = []
        for address in order.where:
            async for line in service.lines(address):
                try:
                    name, result = form.result(service, json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError):
                    name, result = "", None
                asked = re.fullmatch(rf"{record['name']}-(\d{{1,18}})-\d+", name)
                if asked is None:
                    strange.append(line)
                    continue
                claim = held.pop(int(asked[1]), None)
                if claim is not None and result is not None:
                    await self._write(service, record["run"], claim, result)
                elif claim is not None:
                    held[claim.id] = claim
        if changed:
            self._note(
                record,
                f"{counted(changed, 'answer')} to questions that have changed; undo the change of the study within "
                f"{work.BATCH_DAYS} days, and --batch stores them",
            )
            return
        if strange:
            self.refused.add(record["judge"])
            self._note(
                record,
                f"{order.words}; {counted(len(strange), 'line')} of the results name no request of this batch, such as "
                f"{strange[0].strip()[:LONGEST_NOTED]!r}; --batch sends {counted(len(held), 'question')} again",
            )
        self.counts["returned"] += len(held)
        self._end(record)

    async def _write(self, service: Service, run: int, claim: Claim, result: Completion | CallFailed) -> None:
        request = self.plan.request(claim)
        name, text = cached_call(await service.sent(request))
        about: dict[str, Any] = {"shown": claim.shown, "model": request.model, "fingerprint": name, "prompt": text}
        if isinstance(result, CallFailed):
            form = request.schema is not None and ABOUT_FORM.search(str(result))
            hint = (
                " (single calls omit the JSON schema automatically; for batches set structured: never)" if form else ""
            )
            filtered = result.kind == "filtered"
            reason = str(result) if filtered else f"no reply: {result}{hint}"
            answer = Answer("missing" if filtered else "failed", reason=reason, **about)
        else:
            full = cost_of(self.prices[claim.annotator], request, result)
            cost = None if full is None else DISCOUNT * full
            answer = build_answer(self.plan, claim, result, about, cost)
            self.cost += cost or 0.0
        if add_answer(self.store, claim, run, answer, claim.revision + 1):
            self.counts["missing" if answer.status == "unreadable" else answer.status] += 1
            if answer.reason is not None:
                self.reasons[f"{claim.annotator}: {answer.reason}"] += 1

    # -- sending ----------------------------------------------------------------------------------

    async def _send(self, judge: Judge) -> None:
        """Send all open requests of a judge, in as many batches as necessary."""
        form, service = _form(judge), self.services[judge.name]
        assert form is not None
        while True:
            about = {"name": secrets.token_hex(6), "judge": judge.name, "state": "making"} | work.this_process()
            if not work.counts(self.store, [judge.name], self.part).get("open"):
                return
            promised = self._committed_dollars()
            record = work.start_batch(self.store, about)
            claims = work.claim(self.store, record["run"], [judge.name], MOST_IN_ONE, part=self.part)
            model, bodies = await self._bodies(form, judge, service, record["name"], claims, promised)
            if not bodies:
                self._end(record)
                return
            record["number"] = len(bodies)
            work.note_batch(self.store, record)
            try:
                record["id"] = await form.send(service, record["name"], model, bodies)
            except CallFailed as error:
                if error.kind != "retry":  # the service has said no: there is no order
                    self._end(record)
                raise
            work.note_batch(self.store, record | {"state": "sent"})
            self.counts["sent"] += len(bodies)
            self.going += len(bodies)
            self._note(record, f"{counted(len(bodies), 'question')} sent")
            if judge.name in self.refused:
                return

    async def _bodies(
        self, form: BatchForm, judge: Judge, service: Service, name: str, claims: list[Claim], may_cost: float
    ) -> tuple[str, Bodies]:
        """The model and the bodies of a batch that money, its size and its form allow; the rest is given back."""
        most, price = self.plan.study.config.limits.max_cost, self.prices[judge.name]
        if most is not None and price is None:
            raise JudgeError(f"max_cost cannot be kept: the price of {judge.name} is not known; give it a price")
        found: dict[str, Mapping[str, Any]] = {}
        back: list[Claim] = []
        model, size = "", 0
        typical = typical_output(self.store, judge.name) or WRITTEN
        for place, claim in enumerate(claims):
            request = self.plan.request(claim)
            model = model or request.model
            if form.one_model and request.model != model:
                back.append(claim)
                continue
            if price is not None:
                out = judge.max_tokens or typical
                may_cost += DISCOUNT * price(round(expected_tokens(request)), round(out))
            sent = await service.sent(request)
            size += len(json.dumps(sent.body)) + 200  # and what names the question
            if (most is not None and may_cost > most) or size > LARGEST_FILE:
                back += claims[place:]
                break
            found[f"{name}-{claim.id}-{claim.revision}"] = sent.body
        if back:
            work.give_back(self.store, back)
            if most is not None and may_cost > most:
                self.refused.add(judge.name)
                self.tell(f"max_cost (${most:g}) lets {counted(len(found), 'question')} of {judge.name} be sent now")
        return model, found

    def _committed_dollars(self) -> float:
        """Dollars spent, and those that batches under way may cost."""
        promised = 0.0
        for record in work.batches_kept(self.store):
            price = self.prices.get(record["judge"])
            if record["state"] == "done" or price is None:
                continue
            held, _ = work.claims_held(self.store, record["run"])
            out = self.judges[record["judge"]].max_tokens or typical_output(self.store, record["judge"]) or WRITTEN
            each = (price(round(expected_tokens(self.plan.request(one))), round(out)) for one in held.values())
            promised += DISCOUNT * sum(each)
        return work.dollars_spent(self.store) + promised
