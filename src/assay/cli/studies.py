"""The commands of studies and files: make a study, ask models, ask people, bring labels in and out. No SQL here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from cyclopts import Parameter
from cyclopts.group import Group

from assay.cli.commands import BY_NAME
from assay.cli.labels import ASK, NAMES, PLAIN, Ask, LabelOptions
from assay.cli.output import (
    FIRST,
    FOR_PEOPLE,
    Force,
    Names,
    Output,
    Page,
    as_printed,
    as_typed,
    note,
    progress_bar,
    say,
)
from assay.cli.output import target as check_target
from assay.errors import AssayError, ChangedStudyError, counted, require_installed, unknown

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from polars import DataFrame

    from assay.judging.run import JudgeRun
    from assay.study.store.connection import Store
    from assay.study.store.people import Person
    from assay.study.store.work import Changed


# -- What a command does where answers no longer count after a change of the study ------------------

T = TypeVar("T")

_GROUP = Group("Where the study has changed", sort_key=2)

_CHOICE = """
  n  it is a new version: they no longer count, and are asked again (they count once more when the change is taken back)
"""
_KEEP = """  s  it is the same question: they go on counting
"""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class ChangeOptions:
    """What a change means after which answers no longer count; asked on a terminal, required elsewhere."""

    new_version: Annotated[
        bool, Parameter(help="Answers to what was changed no longer count; judges are asked again.", show_default=False)
    ] = False
    same_question: Annotated[
        bool, Parameter(help="Answers to what was changed go on counting.", show_default=False)
    ] = False

    def __post_init__(self) -> None:
        if self.new_version and self.same_question:
            raise AssayError("--new-version and --same-question exclude each other; give one")

    @property
    def given(self) -> Changed | None:
        """What was typed."""
        return "new-version" if self.new_version else "same-question" if self.same_question else None

    def decided(self, work: Callable[[Changed | None], T]) -> T:
        """The result of the work; where answers would no longer count, once somebody has said what the change means.

        Raises
        ------
        AssayError
            Where nobody says it; nothing was changed.
        """
        try:
            return work(None)
        except ChangedStudyError as error:
            if self.same_question and not error.can_keep:
                raise AssayError(_refusal(error)) from None
            changed = self.given or _ask_change(error)
            kept = "they go on counting" if changed == "same-question" else "they stay in the store"
            note(f"{error.what}; {kept} (--{changed})")
        try:
            return work(changed)
        except ChangedStudyError as error:
            raise AssayError(_refusal(error)) from None


NO_CHANGE = ChangeOptions()
"""Nothing was said of a change."""


def _ask_change(error: ChangedStudyError) -> Changed:
    """The answer of whoever sits at the terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AssayError(_refusal(error))
    note(f"{error.what}.{_CHOICE}{_KEEP if error.can_keep else ''}  anything else changes nothing")
    print("What is it? ", end="", file=sys.stderr, flush=True)
    said = sys.stdin.readline().strip().lower()
    if said == "n":
        return "new-version"
    if said == "s" and error.can_keep:
        return "same-question"
    raise AssayError("nothing was changed")


def _refusal(error: ChangedStudyError) -> str:
    keep = ", --same-question goes on counting them" if error.can_keep else ""
    return (
        f"{error.what}. Nothing was changed. --new-version takes them out of count (they stay in the store, and count "
        f"again when the change is taken back){keep}"
    )


# -- The commands of studies and files -------------------------------------------------------------

StudyFolder = Annotated[Path, Parameter(help="The study folder.")]
StoreName = Annotated[str | None, Parameter(help="A database in place of the study's own: a path or postgresql://...")]
Secret = Annotated[str | None, Parameter(env_var="ASSAY_SECRET", show_default=False)]


def init(folder: Path, *, kind: Literal["rating", "preference", "ideas"] = "rating") -> None:
    """Make a study folder: study.yaml with comments, items.csv, replies; it runs as it is, offline.

    Parameters
    ----------
    folder
        Made if it is not there; nothing in it is overwritten.
    kind
        What is asked: how good each text is (rating), which of two is better (preference), which of three carries
        other ideas (ideas).
    """
    from assay.study.starter import init_study

    for path in init_study(folder, kind):
        say(path)


def split(
    source: Path,
    *,
    test: float = 0.75,
    item: str = "item",
    document: str | None = None,
    strata: Names = None,
    seed: int = 0,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False,
) -> None:
    """Set items apart for development, which prompts may see, and for the test, which decides.

    Parameters
    ----------
    source
        A study's folder, which gets split.csv, or a table of items or labels, which gets a column 'part'.
    test
        Share of items for the test.
    item
        Column of a table that names the item.
    document
        Column of the document, which stays in one part; without it that of the study, else what item names share (doc3
        of doc3_s12).
    strata
        Columns of the items that both parts are to have alike, separated by commas.
    seed
        Same seed, same parts.
    out
        Where a table is written; without it NAME-split.csv beside the source.
    """
    from assay.data.formats.exports import TABLES
    from assay.study.definition import STUDY_FILE, load_study
    from assay.study.split import split_study, split_table

    how: dict[str, Any] = {"document": document, "strata": strata or (), "test": test, "seed": seed}
    if (source / STUDY_FILE).is_file():
        if out is not None:
            raise AssayError("the parts of a study's items are kept in its folder, as split.csv; leave --output out")
        found, path = split_study(load_study(source), **how)
    else:
        path = out or source.with_name(f"{source.stem}-split{source.suffix}")
        check_target(path, source, suffixes=TABLES, force=force)
        found = split_table(source, path, item=item, **how)
    say(found.summary())
    note(f"written to {path}")


def judge(
    study: Path,
    item: str | None = None,
    *,
    dry_run: bool = False,
    show: bool = False,
    retry: Literal["missing"] | None = None,
    only: Names = None,
    part: Literal["development", "test", "all"] | None = None,
    store: StoreName = None,
    record: Path | None = None,
    batch: bool = False,
    status: bool = False,
    cancel: bool = False,
    wait: bool = False,
    allow_code: bool = False,
    verbose: bool = False,
    change: ChangeOptions = NO_CHANGE,
) -> int:
    """Ask every judge of a study every question that has no answer yet.

    Parameters
    ----------
    study
        The study folder.
    item
        With --show: the item, the study's first where none is named.
    dry_run
        Say how many calls, tokens and how much money; nothing is asked or written.
    show
        Print what would be sent about an item; nothing is asked or written.
    retry
        Ask only, from the start, where a reply could not be read.
    only
        Ask these judges only, separated by commas.
    part
        Of items that assay split set apart: those for development (without this option), for the test, or all.
    record
        Write every reply to this JSONL file, for provider: recorded.
    batch
        Ask in batches, at half the price: take in what has come, send what is open.
    status
        With --batch: only say how the batches stand.
    cancel
        With --batch: end those under way; their answers are kept.
    wait
        With --batch: stay until no batch is under way.
    allow_code
        Let judges run that are functions or commands of the study's folder.
    verbose
        Log every call to standard error.
    """
    from assay.study.definition import load_study

    require_installed(("sqlalchemy", "alembic", "aiohttp"), "judge", "asking models")
    from assay.judging.dry_run import estimate_study, requests_of
    from assay.judging.run import judge_study
    from assay.study.store.connection import store_name

    check_target(record, suffixes=(".jsonl", ".ndjson"), force=True)
    if not _holds_replies(record):
        raise AssayError(f"'{record}' holds something else than replies; name another file with --record")
    if item is not None and not show:
        raise AssayError(f"an item is named to see what is sent about it: assay judge {study} {item} --show")
    if verbose:
        _log()
    if (status or cancel or wait) and not batch:
        raise AssayError("--status, --cancel and --wait are about batches; give --batch, too")
    loaded = load_study(study)
    if batch and not (dry_run or show):
        from assay.judging.batch import BATCH_LOOKS, batch_study

        if retry is not None or record is not None or (status and cancel):
            raise AssayError("--batch goes without --retry and --record, and with one of --status and --cancel")
        action: Any = "status" if status else "cancel" if cancel else "send"
        about: dict[str, Any] = {"store": store, "judges": only, "part": part, "tell": note}
        about["wait"] = BATCH_LOOKS if wait else None
        say(change.decided(lambda changed: batch_study(loaded, action, changed=changed, **about)).summary())
        return 0
    if dry_run:
        meant = change.given or "new-version"
        say(estimate_study(loaded, store=store, judges=only, changed=meant, part=part).summary())
        if batch:
            say("These are the prices of single calls: in batches, services ask half.")
        return 0
    if show:
        say("\n".join(str(one) for one in requests_of(loaded, item, store=store, judges=only)), end="")
        return 0

    def ask(changed: Changed | None) -> JudgeRun:
        with progress_bar("Asking") as bar:
            on = None if bar is None else (lambda p: bar(str(p), p.done, p.total))
            ways: dict[str, Any] = {"retry": retry, "record": record, "progress": on, "tell": note, "part": part}
            ways["allow_code"] = allow_code
            return judge_study(loaded, store=store, judges=only, changed=changed, **ways)

    done = change.decided(ask)
    say(done.summary())
    if store is not None and store != loaded.config.store:
        note(
            f"the answers are in {store_name(store)}, which study.yaml does not name: give --store to other commands, "
            "too, or write it there (store:)"
        )
    return int(done.stopped is not None or done.is_vain)


def _holds_replies(path: Path | None) -> bool:
    """Whether replies may be added to a file: it holds some, or nothing yet."""
    if path is None or not path.is_file():
        return True
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    return not first.strip() or all(f'"{key}":' in first for key in ("item", "judge", "reply"))


def train(
    source: str,
    *,
    folder: Annotated[Path | None, Parameter(group="The rater"), FIRST] = None,
    table: Annotated[Path | None, Parameter(group="The rater"), FIRST] = None,
    baselines: Annotated[bool, Parameter(group="The rater", show_default=False)] = False,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """Train a rater on people's labels of texts, and compare it with simpler ones on unseen documents.

    Each item is rated by encoders that were trained on the documents of other folds, so that --table may be put before
    any question as a table with one more judge: assay report with-rater.csv. A first run with the defaults takes
    minutes. Read the curves on the page: where they still fall at the end, allow more --epochs; where the loss on
    documents held out rises early, more --dropout. Only then try other --encoders and sizes, with another --seed.

    Parameters
    ----------
    source
        Labels; the texts are a column of them, or of --items.
    folder
        Write weights, model card, curves and folds here; a training that was stopped goes on from it.
    table
        Write labels, with the trained raters as judges, to this table (.csv, .jsonl, .parquet).
    baselines
        In --table, the baselines are judges, too.
    """
    from assay.data.formats.exports import TABLES, write
    from assay.training.train import train as fit

    ask.to(out, source, force=force)
    ask.to(table, source, force=force, suffixes=TABLES)
    given = ask.options.options()
    labels = ask.labels.read(source)
    with progress_bar("Training") as progress:
        found = fit(labels, folder=None if folder is None else str(folder), progress=progress, **given)
    ask.show(BY_NAME["train"], found, out, rows=found.side_by_side())
    if folder is not None:
        note(f"written to {folder}; assay judge rates other texts with provider: trained, model: {folder}")
    if table is not None:
        write(found.annotations(baselines=baselines), table)
        note(f"labels with those of the rater written to {table}")


def replies(
    study: StudyFolder,
    item: str | None = None,
    *,
    missing: bool = False,
    prompts: bool = False,
    only: Names = None,
    store: StoreName = None,
    output: Output = FOR_PEOPLE,
) -> None:
    """Print what judges replied, word for word, and what was read from it.

    Parameters
    ----------
    item
        Only replies about this item.
    missing
        Only replies from which no label could be read; assay judge --retry missing asks them again.
    prompts
        Also print what was sent.
    only
        Of these judges only, separated by commas.
    """
    from assay.study.definition import load_study
    from assay.study.store.answers import latest_replies
    from assay.study.store.connection import open_to_read, store_in_use
    from assay.study.store.items import items_named

    loaded = load_study(study)
    judges = [one.name for one in loaded.models]
    for name in (one for one in only or () if one not in judges):
        raise AssayError(unknown("judge", name, judges, "study.yaml"))
    with store_in_use(loaded, store, opening=open_to_read) as opened:
        if item is not None and not items_named(opened, [item]):
            raise AssayError(f"item '{item}' is not in the study")
        found = latest_replies(opened, judges=only, item=item, unreadable=missing)
    if not output.for_people:
        output.rows(_replies_frame(found, prompts=prompts))
        return
    for reply in found:
        say(_reply_words(reply, prompts=prompts))
    what = "replies without a label" if missing else "replies"
    note(f"{len(found)} {what}")


def _replies_frame(found: Sequence[Mapping[str, Any]], *, prompts: bool) -> DataFrame:
    import polars as pl

    conditions = dict.fromkeys(name for row in found for name in row["condition"])
    columns = [c for c in ("annotator", "item", "criterion", *conditions, "repeat") if c]
    columns += ["status", "label", "reason", "reply", "reasoning", *(["prompt"] if prompts else [])]
    rows = [{**row, **row["condition"], "label": None if row["label"] is None else str(row["label"])} for row in found]
    return pl.DataFrame([{c: row.get(c) for c in columns} for row in rows], schema=columns, infer_schema_length=None)


def _reply_words(reply: Mapping[str, Any], *, prompts: bool) -> str:
    from assay.judging.dry_run import as_yaml

    about = [reply["annotator"], reply["item"], reply["criterion"]]
    about += [f"{name} {value}" for name, value in reply["condition"].items()]
    about += [f"repeat {reply['repeat']}"] if reply["repeat"] > 1 else []
    read = reply["reason"] if reply["label"] is None else f"label {reply['label']}"
    sent = json.loads(reply["prompt"]) if prompts and reply["prompt"] else None
    texts = [reply["reply"] or "(nothing)"] if sent is None else [as_yaml(sent), reply["reply"] or "(nothing)"]
    lines = [line for text in texts for line in as_printed(text).splitlines()]
    return "\n".join([f"{', '.join(about)}: {read}", *(f"    {line}" for line in lines)])


def invite(
    study: StudyFolder,
    *names: str,
    sheet: Path | None = None,
    attribute: list[str] | None = None,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False,
    base_url: str = "http://127.0.0.1:8321",
    store: StoreName = None,
    secret: Secret = None,
    change: ChangeOptions = NO_CHANGE,
) -> None:
    """Invite people to the page of a study, and print each one's personal link.

    Parameters
    ----------
    names
        Who is invited. With none, the links of all who are invited.
    sheet
        A table of further people: column name, and attributes.
    attribute
        NAME=VALUE, an attribute of all that are named; may repeat.
    out
        Where the links are written, with the attributes: .csv, .tsv, .jsonl or .parquet.
    base_url
        Where people reach the page.
    secret
        Signs the links; the same as for assay serve.
    """
    from assay.study.definition import load_study

    require_installed(("sqlalchemy", "alembic", "itsdangerous"), "serve", "inviting people")
    from assay.collecting import invitations
    from assay.collecting.server import links, take_in
    from assay.study.store.connection import open_store

    address = invitations.checked_address(base_url)
    loaded = load_study(study)
    if out is not None:
        from assay.data.formats.exports import TABLES

        check_target(out, sheet, suffixes=TABLES, force=force)
    given = invitations.read_attributes(", ".join(attribute or ()))
    wanted: dict[str, dict[str, str]] = {invitations.one_line(name): {} for name in names}
    wanted |= {} if sheet is None else invitations.read_people(sheet)
    wanted = {name: about | given for name, about in wanted.items()}
    if wanted:
        change.decided(lambda changed: take_in(loaded, store, changed))
        with open_store(loaded, store) as opened:
            for person in invitations.invite_all(loaded, opened, wanted):
                note(_invited_already(person, wanted[person.name]))
    everybody = links(loaded, address, secret, store)[1]
    rows = [{"name": name, "link": link} for name, link in everybody.items() if not wanted or name in wanted]
    if out is None:
        for row in rows:
            say(f"{row['name']}\t{row['link']}")
    else:
        _write_links(rows, wanted, out)


def _write_links(rows: Sequence[dict[str, str]], about: Mapping[str, dict[str, str]], out: Path) -> None:
    """The links as a table, a row a person, for a mail merge."""
    import polars as pl

    from assay.data.formats.exports import write_frame

    columns = dict.fromkeys(["name", *(key for one in about.values() for key in one), "link"], pl.String)
    table = pl.DataFrame([about.get(row["name"], {}) | row for row in rows], schema=columns)
    write_frame(table, out)
    note(f"{counted(len(rows), 'link')} written to {out}; whoever has a link can answer as that person")


def _invited_already(person: Person, attributes: dict[str, str]) -> str:
    """What stays as it is, of somebody who is invited again."""
    said = f"{person.name} is invited already"
    if person.excluded_at is not None:
        return f"{said}, and excluded: there is no link for them"
    if person.state == "revoked":
        return f"{said}, and their link was ended; make a new one on the lead's page"
    changed = {name: value for name, value in attributes.items() if person.attributes.get(name) != value}
    kept = f"; not changed: {', '.join(f'{k}={v}' for k, v in changed.items())}" if changed else ""
    return f"{said}; their link stays as it is{kept}"


def exclude(
    study: StudyFolder,
    *names: str,
    reason: str = "",
    undo: bool = False,
    store: StoreName = None,
) -> None:
    """Let what people answered count no more: the record stays, their places become free.

    Parameters
    ----------
    names
        Whose answers must not count. Their links are ended.
    reason
        Why; stands in the record and beside the count of exclusions.
    undo
        Let their answers count again. Their links stay ended.
    """
    from assay.study.store import people

    if not names:
        raise AssayError("say whose answers must not count: assay exclude STUDY NAME")
    with _open_store(study, store) as opened:
        for name in names:
            one = " ".join(name.split())
            if undo:
                say(f"{one}: {people.readmit(opened, one)} labels count again")
            else:
                say(f"{one}: {people.exclude(opened, one, reason)} labels are kept on record and do not count")


def erase(study: StudyFolder, name: str, *, yes: bool = False, store: StoreName = None) -> None:
    """Remove a person and all that they answered on the page for good.

    Parameters
    ----------
    name
        Who is removed. To keep the record: assay exclude.
    yes
        Do not ask.
    """
    from assay.study.store import people

    one = " ".join(name.split())
    with _open_store(study, store) as opened:
        people.invited_person(opened, one)
        if not yes and not _sure(f"Remove {one} and all that they answered for good? Type the name: ", one):
            raise AssayError("nothing was erased; on the terminal type the name, elsewhere give --yes")
        number = people.erase(opened, one)
    say(f"{one} and {number} answers are erased")
    note("copies made before stay as they are: exports, downloads, backups, and what their browser keeps")


def pay(
    study: StudyFolder,
    *,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False,
    store: StoreName = None,
    output: Output = FOR_PEOPLE,
) -> None:
    """Who did how much, how it ended, and what people.pay says is due to them.

    Parameters
    ----------
    out
        Where the table is written: .csv, .tsv, .jsonl or .parquet.
    """
    require_installed(
        ("sqlalchemy", "alembic", "fastapi", "itsdangerous", "python_multipart"), "serve", "the table of payment"
    )
    from assay.collecting.crowd import pay_table
    from assay.collecting.design import StudyDesign
    from assay.data.formats.exports import TABLES, write_frame
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    check_target(out, suffixes=TABLES, force=force)
    loaded = load_study(study)
    with store_in_use(loaded, store) as opened:
        table = pay_table(StudyDesign(loaded, opened))
    if out is not None:
        write_frame(table, out)
    elif output.for_people:
        say(_pay_words(table), end="")
    else:
        output.rows(table)
    ends = table.group_by("outcome", maintain_order=True).len().iter_rows()
    said = ", ".join(f"{number} {outcome}" for outcome, number in ends)
    people = f"{len(table):,} {'person' if len(table) == 1 else 'people'}"
    note(f"{people}: {said}; {table['pay'].sum():.2f} {table['currency'][0]} in all")
    if out is not None:
        note(f"written to {out}")


def _pay_words(table: DataFrame) -> str:
    """The table of payment as it is read: without moments, times in minutes, amounts to the cent."""
    from assay.reporting.tables import Table, to_text

    shown = {"minutes": ".1f", "at_work": ".1f", "answered": "d", "pay": ".2f", "an_hour": ".2f"}
    columns = ("person", "outcome", "code", "minutes", "at_work", "answered", "checks failed", "pay", "an_hour")
    rows = []
    for row in table.iter_rows(named=True):
        checks = f"{row['checks_failed']} of {row['checks']}" if row["checks"] else None
        cells = {**row, "checks failed": checks}
        rows.append(
            tuple("-" if cells[c] is None else format(cells[c], shown[c]) if c in shown else cells[c] for c in columns)
        )
    numeric = tuple(c in shown or c == "checks failed" for c in columns)
    return to_text(Table(columns, tuple(rows), numeric)) + "\n"


def _sure(question: str, word: str) -> bool:
    """Whether somebody at a terminal types this word."""
    return sys.stdin.isatty() and input(as_printed(question)).strip() == word


def _open_store(study: Path, store: str | None) -> AbstractContextManager[Store]:
    """The store of a study, for the commands that need nothing else of it."""
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    return store_in_use(load_study(study), store)


def serve(
    study: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    base_url: str | None = None,
    store: StoreName = None,
    secret: Secret = None,
    quiet: bool = False,
    change: ChangeOptions = NO_CHANGE,
) -> None:
    """Open the page on which people answer a study's questions, and the lead's.

    Parameters
    ----------
    study
        The study folder. Without one: a page that says what a file is.
    host
        Where to listen; 0.0.0.0 lets other machines in, and needs a secret.
    port
        The port.
    workers
        Processes that answer; more than one needs a store in PostgreSQL.
    base_url
        Where people reach the page, such as https://label.example.org behind a proxy.
    secret
        Signs the links: at least 16 characters, known to nobody else.
    quiet
        Print nothing but what goes wrong.
    """
    from assay.estimation.options import number_in
    from assay.study.definition import load_study

    number_in("port", port, low=1, high=65535, whole=True)
    if study is None:
        if (host, workers, base_url, store) != ("127.0.0.1", 1, None, None):
            raise AssayError("without a study, assay serve is a page for this machine alone and takes --port only; "
                             "name the study's folder: assay serve STUDY")  # fmt: skip
        from assay.cli.drop import serve_drop

        serve_drop(port)
        return

    require_installed(
        ("sqlalchemy", "alembic", "fastapi", "uvicorn", "itsdangerous", "python_multipart"),
        "serve",
        "the annotation page",
    )
    from assay.collecting import server
    from assay.collecting.invitations import checked_address

    number_in("workers", workers, low=1, whole=True)
    address = None if base_url is None else checked_address(base_url)
    loaded = load_study(study)
    server.check_reach(host, port, secret)
    change.decided(lambda changed: server.take_in(loaded, store, changed))
    here = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    if not quiet:
        people = server.links(loaded, address or here, secret, store)[1]
        invited = f"{len(people)} invited" if people else "nobody is invited yet"
        say(f"The page of {study} is at {address or here} ({invited})")
        where = "" if (address or here) == server.USUAL_ADDRESS else f" --base-url {address or here}"
        say(f"The lead's link and everybody's own: assay links {study}{where}")
        sys.stdout.flush()
    server.serve(loaded, host=host, port=port, workers=workers, secret=secret, store=store, base_url=address)


def import_(
    source: str,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("labels.csv"),
    force: Force = False,
    labels: LabelOptions = PLAIN,
    output: Output = FOR_PEOPLE,
) -> None:
    """Read a platform's export and write it as a plain table, with a count of all that was in it.

    Parameters
    ----------
    source
        The export: a file or a folder.
    out
        Where the table is written: .csv, .tsv, .jsonl or .parquet.
    """
    from assay.data.formats.exports import TABLES, import_counts, write

    check_target(out, source, *labels.beside, suffixes=TABLES, force=force)
    table = labels.read(source)
    written = write(table, out)
    output.rows(import_counts(table.reading, len(table)))
    for line in written.lines():
        note(as_typed(line, NAMES))


def export(
    source: str,
    target: Path,
    *,
    to: Literal["table", "hugging-face", "label-studio", "alt-test"] = "table",
    force: Force = False,
    labels: LabelOptions = PLAIN,
) -> None:
    """Write labels in another form.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    target
        File or folder to write.
    to
        The form: a plain table by the suffix, JSON Lines with lists, Label Studio predictions, alt-test folder.
    """
    from assay.data.formats.exports import SUFFIXES, write
    from assay.data.formats.tables import HUMANS, ITEMS, JUDGES

    read = (source, *labels.beside)
    check_target(target, *read, suffixes=SUFFIXES[to], force=True, folder=to == "alt-test")
    for path in [target / name for name in (HUMANS, JUDGES, ITEMS)] if to == "alt-test" else [target]:
        inside = [Path(source) / path.name] if to == "alt-test" else []
        check_target(path, *read, *inside, suffixes=(), force=force)
    for line in write(labels.read(source), target, to).lines():
        note(line)


def _log() -> None:
    """Every call, on standard error."""
    import logging

    class Printable(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return as_printed(super().format(record))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Printable("%(asctime)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("assay").setLevel(logging.DEBUG)
