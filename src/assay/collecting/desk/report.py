"""The report on the dashboard, after the blind phase: the verdict on each judge, and the card.

The report is made by the command ``assay report``, so that a study that plans several analyses counts each of them,
from the dashboard or not. Its page and its numbers lie in the study's folder. The store has when it was begun and how
it ended, so that all workers show the same.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, Response
from fastapi.responses import JSONResponse, RedirectResponse

from assay.collecting.desk.overview import Moment, plan_of
from assay.collecting.report_process import REPORT_POLICY, ReportProcess, near
from assay.collecting.serving import AppState, Refused, Shared, acting, lead
from assay.errors import listing
from assay.study import LOOKS
from assay.study.definition import Study
from assay.study.schema import scale_of
from assay.study.store.connection import Store, elsewhere, put_setting, setting
from assay.study.store.events import ended_blind_phase, record_event

router = APIRouter(prefix="/lead", dependencies=[Depends(lead)])

REPORT = "report"
"""Key of the state of the report in the store, and the name of its files."""

LONGEST = 120.0
"""Seconds without a sign of life after which a report was stopped with its server."""

BEAT = 15.0
"""Seconds between the signs of life of a report that is being made."""

_OF_VERDICT = {"headline", "evidence", "tone", "domain"}
_OF_MARK = {"kind", "judge", "criterion", "dimension", "mark"}

Expertise = Literal["expert", "skilled", "crowd"]
"""As in `assay.replacement.panel`, which is not imported here."""

log = logging.getLogger("assay.collecting")


@dataclass(frozen=True)
class ReportChoice:
    """What a report needs that the study lead chooses, because the table has several labels of an item.

    Attributes
    ----------
    name : str
        A condition of the study, or ``repeats``.
    values : tuple of str
        The values of the condition, or how repeated labels are combined.
    option : str
        The option of the command ``assay report`` with the value in braces.
    """

    name: str
    values: tuple[str, ...]
    option: str


def report_choices(study: Study) -> tuple[ReportChoice, ...]:
    """Return the choices of a study whose judges or annotators answer several times."""
    numeric = [scale_of(question.scale).numeric for question in study.config.questions]
    found = [
        ReportChoice(name, tuple(map(str, values)), f"--where={name}={{}}")
        for name, values in study.config.conditions.crossed().items()
        if len(values) > 1 and (name != "scale" or any(numeric))
    ]
    decided = plan_of(study.folder).get("verdict")
    twice = study.config.people.retest or any(getattr(judge, "repeats", 1) > 1 for judge in study.config.judges)
    if twice and not (isinstance(decided, Mapping) and "repeats" in decided):
        rules = ("first", "majority", "mean") if all(numeric) else ("first", "majority")
        found.append(ReportChoice("repeats", rules, "--repeats={}"))
    return tuple(found)


@dataclass(frozen=True)
class ReportOnDesk:
    """The report that the dashboard shows.

    Attributes
    ----------
    cards : tuple of mapping
        The verdicts of the last report, as in its JSON file.
    marks : tuple of (str, mapping of str to str)
        For each judge, and criterion if there are several, the mark of each dimension of the card.
    dimensions : tuple of str
    notices : tuple of str
    made : Moment or None
        When the last report was made.
    made_of : mapping of str to str
        The choices of the last report.
    choices : tuple of ReportChoice
        What the study lead chooses for a report, in addition to the type of annotator.
    state : str
        ``running``, ``made``, ``failed``, or empty if none was asked for.
    said : str
        Why it failed.
    done, planned : int
        Interim analyses that were done, and that are planned.
    decided : bool
        Whether a plan decides the margin.
    trouble : str
        Why the plan cannot be read; empty if it can, or if there is none.
    """

    cards: tuple[Mapping[str, Any], ...]
    marks: tuple[tuple[str, Mapping[str, str]], ...]
    dimensions: tuple[str, ...]
    notices: tuple[str, ...]
    made: Moment | None
    made_of: Mapping[str, str]
    choices: tuple[ReportChoice, ...]
    state: str
    said: str
    done: int
    planned: int
    decided: bool
    trouble: str


def report_on_desk(state: AppState) -> ReportOnDesk:
    """Return the report of the study that is served."""
    study, plan = state.design.study, plan_of(state.design.study.folder)
    with state.store.reading() as db:
        now, kept, looks = state.store.now(db), dict(setting(db, REPORT) or {}), list(setting(db, LOOKS) or [])
    if _stopped(kept, now):
        kept = {**kept, "state": "failed", "said": "The server was stopped before the report was made."}
    found = _numbers(study.folder) if kept.get("made") is not None else {}
    rows = [row for row in (found.get("card") or {}).get("table", ()) if row["kind"] == "judge"]
    one_criterion = len({row["criterion"] for row in rows}) == 1
    marks: dict[str, dict[str, str]] = {}
    for row in rows:
        name = row["judge"] if one_criterion else f"{row['judge']}, {row['criterion']}"
        marks.setdefault(name, {})[row["dimension"]] = row["mark"]
    given, here = plan.get("verdict"), f"{study.folder.resolve().parent}/"  # readers see no paths of the server
    return ReportOnDesk(
        tuple(found.get("cards", ())),
        tuple(marks.items()),
        tuple(dict.fromkeys(row["dimension"] for row in rows)),
        tuple(str(one).replace(here, "") for one in found.get("notices", ())),
        Moment(kept["made"], now - kept["made"]) if found else None,
        kept.get("made_of") or {},
        report_choices(study),
        kept.get("state", ""),
        kept.get("said", "").replace(here, ""),
        len(looks),
        (plan.get("looks") or 1) if plan else study.config.analyses or 1,
        bool(isinstance(given, Mapping) and {"epsilon", "expertise"} & given.keys()),
        str(plan.get("trouble", "")),
    )


def _numbers(folder: Path) -> Mapping[str, Any]:
    """The numbers of the report in a study's folder; empty if there is none, or if another version has made it."""
    try:
        found = json.loads((folder / f"{REPORT}.json").read_text(encoding="utf-8"))
        cards, rows = found["cards"], (found.get("card") or {}).get("table", ())
        known = all({*one} >= _OF_VERDICT for one in cards) and all({*one} >= _OF_MARK for one in rows)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return found if known and found.get("kind") == "Report" else {}


def _stopped(kept: Mapping[str, Any], now: float) -> bool:
    """Whether a report was being made by a server that was stopped."""
    return kept.get("state") == "running" and now - kept.get("alive", kept["started"]) > LONGEST


def _refuse(state: AppState) -> None:
    """Refuse a report of a study without judges, or before the end of the blind phase."""
    with state.store.reading() as db:
        blind = ended_blind_phase(db) is None
    if not state.design.study.judge_names:
        raise Refused(404, "This study has no judge", "Add judges to study.yaml; then query them with assay judge.")
    if blind:
        raise Refused(409, "The blind phase has not ended", "A report shows the labels of judges.")


def _begin(store: Store, chosen: Mapping[str, str]) -> bool:
    """Store that a report with these choices is being made; False if one is already."""
    with store.exclusive() as db:
        now, kept = store.now(db), dict(setting(db, REPORT) or {})
        if kept.get("state") == "running" and not _stopped(kept, now):
            return False
        last = {name: kept.get(name) for name in ("made", "made_of")}
        put_setting(db, REPORT, {**last, "state": "running", "started": now, "chosen": dict(chosen)})
    return True


def _end(store: Store, made: ReportProcess) -> None:
    """Wait for the report, and store every few seconds that it is being made, and how it ended."""
    while made.wait(BEAT):
        with store.exclusive() as db:
            put_setting(db, REPORT, {**dict(setting(db, REPORT) or {}), "alive": store.now(db)})
    if not made.made:
        log.warning("The report of the dashboard could not be made: %s", made.said)
    with store.exclusive() as db:
        now, kept = store.now(db), dict(setting(db, REPORT) or {})
        last = {name: kept.get(name) for name in ("made", "made_of")}
        done = {"state": "made", "made": now, "made_of": kept.get("chosen")}
        put_setting(db, REPORT, {**last, **(done if made.made else {"state": "failed", "said": made.said[-2000:]})})


def _command(state: AppState, expertise: Expertise | None, chosen: Mapping[str, str]) -> ReportProcess:
    """Begin the command; a password is not part of its words."""
    study = state.design.study
    folder, place = study.folder.resolve(), Path.cwd()
    words = ["report", near(folder, place)]
    words += ["--expertise", expertise] if expertise is not None else []
    words += [one.option.format(chosen[one.name]) for one in report_choices(study)]
    address, password = elsewhere(study, state.store) or ("", None)
    words += ["--store", address] if address else []
    return ReportProcess(words, folder / f"{REPORT}.html", place, {} if password is None else {"PGPASSWORD": password})


@router.get("/report")
def report_page(state: Shared) -> Response:
    """The verdicts and the card of the last report, and a form that makes one."""
    _refuse(state)
    return state.page("lead_report.html", report=report_on_desk(state))


@router.post("/report")
def make_report(
    state: Shared,
    expertise: Annotated[Expertise | None, Form()] = None,
    choice: Annotated[list[str] | None, Form()] = None,
) -> Response:
    """Make a report; each choice is the name and the value, as in ``scale=1-5``."""
    _refuse(state)
    found = report_on_desk(state)
    if found.trouble:
        raise Refused(409, "Nothing was changed", f"{found.trouble}.")
    if expertise is None and not found.decided:
        raise Refused(422, "Nothing was changed", "Choose the type of annotator.")
    given = dict(one.partition("=")[::2] for one in choice or ())
    for wanted in found.choices:
        if given.get(wanted.name) not in wanted.values:
            raise Refused(422, "Nothing was changed", f"Choose {wanted.name}: {listing(wanted.values)}.")
    chosen = {one.name: given[one.name] for one in found.choices}
    if _begin(state.store, chosen):
        try:
            made = _command(state, None if found.decided else expertise, chosen)
        except OSError as error:
            state.store.set(REPORT, {"made": None, "made_of": None, "state": "failed", "said": str(error)})
            raise Refused(503, "The report could not be made", str(error)) from None
        words = ", ".join([expertise or "", *(f"{name} = {value}" for name, value in chosen.items())])
        record_event(state.store, "report", words=words.removeprefix(", "), by=acting.get().name)
        threading.Thread(target=_end, args=(state.store, made), daemon=True).start()
    return RedirectResponse("/lead/report", 303)


@router.get("/report/state")
def report_state(state: Shared) -> Response:
    """Whether a report is being made."""
    return JSONResponse({"running": report_on_desk(state).state == "running"})


@router.get("/report/{name}")
def report_file(name: Literal["report.html", "report.json", "open"], state: Shared) -> Response:
    """The last report: to read it, or as a download."""
    _refuse(state)
    folder = state.design.study.folder
    path = folder / (f"{REPORT}.html" if name == "open" else name)
    if not _numbers(folder) or not path.exists():
        raise Refused(404, "No report has been made", "Make the first one on this page: /lead/report")
    headers = {"Content-Security-Policy": REPORT_POLICY}
    if name != "open":
        headers["Content-Disposition"] = f"attachment; filename={name}"
    kind = "application/json" if name.endswith(".json") else "text/html; charset=utf-8"
    return Response(path.read_bytes(), media_type=kind, headers=headers)
