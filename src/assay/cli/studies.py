"""The commands of studies and files: create a study, collect labels, import and export. No SQL here."""

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
    AS_TEXT,
    FIRST,
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
from assay.errors import AssayError, ChangedStudyError, counted, listing, require_installed, unknown

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from polars import DataFrame

    from assay.judging.run import JudgeRun
    from assay.study.definition import Study
    from assay.study.store.connection import Store
    from assay.study.store.people import Person
    from assay.study.store.work import Changed


# -- changes of a study ----------------------------------------------------------------------------------

T = TypeVar("T")

_GROUP = Group("Changes of the study", sort_key=2)

_CHOICE = """
  n  new version: these answers no longer count and are collected again (undo the change to include them)
"""
_KEEP = """  s  same question: keep existing answers
"""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True)
class ChangeOptions:
    """Whether existing answers count after a change; a question at a terminal, required elsewhere."""

    new_version: Annotated[
        bool, Parameter(help="After a change: existing answers no longer count; query again.", show_default=False)
    ] = False
    same_question: Annotated[bool, Parameter(help="After a change: keep existing answers.", show_default=False)] = False

    def __post_init__(self) -> None:
        if self.new_version and self.same_question:
            raise AssayError("--new-version and --same-question exclude each other; give one")

    @property
    def given(self) -> Changed | None:
        """The option that is given."""
        return "new-version" if self.new_version else "same-question" if self.same_question else None

    def decided(self, work: Callable[[Changed | None], T]) -> T:
        """The result of the work, after a decision about existing answers if the study has changed.

        Raises
        ------
        AssayError
            Without a decision; nothing is changed.
        """
        try:
            return work(None)
        except ChangedStudyError as error:
            if self.same_question and not error.can_keep:
                raise AssayError(_refusal(error)) from None
            changed = self.given or _ask_change(error)
            kept = "they are kept" if changed == "same-question" else "they stay in the store"
            note(f"{error.what}; {kept} (--{changed})")
        try:
            return work(changed)
        except ChangedStudyError as error:
            raise AssayError(_refusal(error)) from None


NO_CHANGE = ChangeOptions()
"""No decision about a change."""


def _ask_change(error: ChangedStudyError) -> Changed:
    """The answer at the terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AssayError(_refusal(error))
    note(f"{error.what}.{_CHOICE}{_KEEP if error.can_keep else ''}  other keys: cancel")
    print("Your choice: ", end="", file=sys.stderr, flush=True)
    said = sys.stdin.readline().strip().lower()
    if said == "n":
        return "new-version"
    if said == "s" and error.can_keep:
        return "same-question"
    raise AssayError("nothing was changed")


def _refusal(error: ChangedStudyError) -> str:
    keep = "; --same-question keeps them" if error.can_keep else ""
    return (
        f"{error.what}. Nothing was changed. With --new-version they no longer count (they stay in the store, and "
        f"count again if the change is undone){keep}"
    )


# -- the commands of studies and files -------------------------------------------------------------

StudyFolder = Annotated[Path, Parameter(help="The study folder.")]
StoreName = Annotated[str | None, Parameter(help="The study's database: a path or postgresql://...")]
Secret = Annotated[str | None, Parameter(env_var="ASSAY_SECRET", show_default=False)]


def init(
    folder: Path,
    *,
    kind: Literal["rating", "preference", "ideas"] = "rating",
    items: Path | None = None,
    text: Names = None,
    ask: str | None = None,
    scale: str | None = None,
    id: str | None = None,  # noqa: A002 - the name of the option
) -> None:
    """Run ``assay init``.

    Parameters
    ----------
    folder
        The study folder; existing files are never overwritten.
    kind
        Kind of question: the quality of each text (rating), the better of two texts (preference), or the odd one out
        of three texts (ideas).
    items
        File with one item per row: csv, tsv, json, jsonl, parquet or a spreadsheet. It is copied.
    text
        Column to display, such as "Post text"; several are separated by commas.
    ask
        The question about each item.
    scale
        Its scale, such as 1-5, interval:0-100, nominal:yes,no, ordinal:low<mid<high, text, preference (two columns) or
        spans:claim,evidence (parts of the text).
    id
        Column with the item ids; by default item, id, or the only one whose name ends in id. Without one, rows are
        numbered.
    """
    from assay.study.definition import load_study
    from assay.study.starter import init_from_sheet, init_study

    if items is None:
        for option, given in {"text": text, "ask": ask, "scale": scale, "id": id}.items():
            if given:
                raise AssayError(f"--{option} describes the items of a file; add --items FILE")
        made = init_study(folder, kind)
    else:
        missing = [f"--{name}" for name, given in {"text": text, "ask": ask, "scale": scale}.items() if not given]
        if missing:
            raise AssayError(
                f"--items also requires {listing(missing)}; for example: assay init my-study --items posts.xlsx "
                '--text "Post text" --ask "How polite is this post?" --scale 1-5'
            )
        made = init_from_sheet(folder, items, text or (), ask or "", scale or "", id)
        part = load_study(folder).config.items
        numbered = (folder / str(part.file)).read_bytes() != items.read_bytes()
        added, other = ("row numbers, added as ", "; --id ... names another column") if numbered else ("", "")
        note(f"item ids: {added}column '{part.id}' of {part.file}{other}")
    for path in made:
        say(path)


def split(
    source: Path,
    *,
    test: float | None = None,
    n_test: int | None = None,
    item: str = "item",
    document: str | None = None,
    strata: Names = None,
    seed: int = 0,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False,
) -> None:
    """Run ``assay study split``.

    Parameters
    ----------
    source
        A study folder, to write split.csv; or a table of items or labels, to add a column 'part'.
    test
        Share of items in the test set; default: 0.75.
    n_test
        Number of items in the test set instead, in each stratum of --strata.
    item
        Column of a table with the item id.
    document
        Column of the document; items of a document stay together. Default: that of the study, or the common prefix of
        item ids (doc3 of doc3_s12).
    strata
        Columns of the items to balance between the sets, separated by commas.
    seed
        Random seed.
    out
        Output file of a table; default: NAME-split.csv in the folder of the source.
    """
    from assay.data.formats.exports import TABLES
    from assay.study.definition import STUDY_FILE, load_study
    from assay.study.split import split_study, split_table

    if test is not None and n_test is not None:
        raise AssayError("--test is a share and --n-test a number of items; give one")
    how: dict[str, Any] = {"document": document, "strata": strata or (), "n_test": n_test, "seed": seed}
    how |= {} if test is None else {"test": test}
    if (source / STUDY_FILE).is_file():
        if out is not None:
            raise AssayError("study split writes split.csv in the study folder; leave out --output")
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
    """Run ``assay judge``.

    Parameters
    ----------
    study
        The study folder.
    item
        With --show: the item; default: the first of the study.
    dry_run
        Estimate calls, tokens and cost only.
    show
        Print the prompts for an item only.
    retry
        missing: query again for unparseable responses only.
    only
        Judges to query, separated by commas.
    part
        After assay study split: the items to label, development (default), test or all.
    record
        Write every response to this JSONL file, for provider: recorded.
    batch
        Use the provider's batch API, at half the price: collect finished batches, send the rest.
    status
        With --batch: print the status of the batches only.
    cancel
        With --batch: cancel running batches; their answers are kept.
    wait
        With --batch: wait until all batches have finished.
    allow_code
        Allow judges that are functions or commands in the study folder.
    verbose
        Log every call to standard error.
    """
    from assay.study.definition import load_study

    require_installed(("sqlalchemy", "alembic", "aiohttp"), "judge", "querying models")
    from assay.judging.dry_run import estimate_study, requests_of
    from assay.judging.run import judge_study
    from assay.study.store.connection import store_name

    check_target(record, suffixes=(".jsonl", ".ndjson"), force=True)
    if not has_responses(record):
        raise AssayError(f"'{record}' is not a file of responses; name another file with --record")
    if item is not None and not show:
        raise AssayError(f"an item requires --show: assay judge {study} {item} --show")
    if verbose:
        _log()
    if (status or cancel or wait) and not batch:
        raise AssayError("--status, --cancel and --wait require --batch")
    loaded = load_study(study)
    if batch and not (dry_run or show):
        from assay.judging.batch import BATCH_LOOKS, batch_study

        if retry is not None or record is not None or (status and cancel):
            raise AssayError("--batch excludes --retry and --record, and takes one of --status and --cancel")
        action: Any = "status" if status else "cancel" if cancel else "send"
        about: dict[str, Any] = {"store": store, "judges": only, "part": part, "tell": note}
        about["wait"] = BATCH_LOOKS if wait else None
        say(change.decided(lambda changed: batch_study(loaded, action, changed=changed, **about)).summary())
        return 0
    if dry_run:
        meant = change.given or "new-version"
        say(estimate_study(loaded, store=store, judges=only, changed=meant, part=part).summary())
        if batch:
            say("Prices are for single calls; batches cost half.")
        return 0
    if show:
        say("\n".join(str(one) for one in requests_of(loaded, item, store=store, judges=only)), end="")
        return 0

    def ask(changed: Changed | None) -> JudgeRun:
        with progress_bar("Querying") as bar:
            on = None if bar is None else (lambda p: bar(str(p), p.done, p.total))
            ways: dict[str, Any] = {"retry": retry, "record": record, "progress": on, "tell": note, "part": part}
            ways["allow_code"] = allow_code
            return judge_study(loaded, store=store, judges=only, changed=changed, **ways)

    done = change.decided(ask)
    say(done.summary())
    if record is not None and record.exists():
        note(f"responses written to {record}")
    if store is not None and store != loaded.config.store:
        note(
            f"the labels are in {store_name(store)}, which study.yaml does not name: give --store to other commands "
            "also, or add store: to study.yaml"
        )
    return int(done.stopped is not None or done.is_vain)


def has_responses(path: Path | None) -> bool:
    """Whether responses can be added to a file: it has some, or is empty."""
    if path is None or not path.is_file():
        return True
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline()
    return not first.strip() or all(f'"{key}":' in first for key in ("item", "judge", "reply"))


def train(
    source: str,
    *,
    folder: Annotated[Path | None, Parameter(group="The trained judge"), FIRST] = None,
    table: Annotated[Path | None, Parameter(group="The trained judge"), FIRST] = None,
    baselines: Annotated[bool, Parameter(group="The trained judge", show_default=False)] = False,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """Run ``assay train``.

    Parameters
    ----------
    source
        Labels; the texts are a column of them, or of --items.
    folder
        Write weights, model card, learning curves and folds to this folder; an interrupted training resumes from it.
    table
        Write the labels, with the trained models as judges, to this table (.csv, .jsonl, .parquet).
    baselines
        Also write the baselines as judges to --table.
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
        note(f"written to {folder}; to rate other texts, run assay judge with provider: trained, model: {folder}")
    if table is not None:
        write(found.annotations(baselines=baselines), table)
        note(f"labels, including those of the trained model, written to {table}")


def responses(
    study: StudyFolder,
    item: str | None = None,
    *,
    missing: bool = False,
    prompts: bool = False,
    only: Names = None,
    store: StoreName = None,
    output: Output = AS_TEXT,
) -> None:
    """Run ``assay study responses``.

    Parameters
    ----------
    item
        Only responses about this item.
    missing
        Only unparseable responses; assay judge --retry missing queries again.
    prompts
        Also print the prompts.
    only
        Judges whose responses are printed, separated by commas.
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
    if not output.as_text:
        output.rows(_responses_frame(found, prompts=prompts))
        return
    for reply in found:
        say(_response_words(reply, prompts=prompts))
    note(counted(len(found), "unparseable response" if missing else "response"))


def _responses_frame(found: Sequence[Mapping[str, Any]], *, prompts: bool) -> DataFrame:
    import polars as pl

    conditions = dict.fromkeys(name for row in found for name in row["condition"])
    columns = [c for c in ("annotator", "item", "criterion", *conditions, "repeat") if c]
    columns += ["status", "label", "reason", "reply", "reasoning", *(["prompt"] if prompts else [])]
    rows = [{**row, **row["condition"], "label": None if row["label"] is None else str(row["label"])} for row in found]
    return pl.DataFrame([{c: row.get(c) for c in columns} for row in rows], schema=columns, infer_schema_length=None)


def _response_words(reply: Mapping[str, Any], *, prompts: bool) -> str:
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
    """Run ``assay people invite``.

    Parameters
    ----------
    names
        Annotators to invite; without names, print the links of all annotators.
    sheet
        A table of further annotators: column name, and attributes.
    attribute
        NAME=VALUE, an attribute of the annotators to invite; repeatable.
    out
        Output file of the links, with the attributes: .csv, .tsv, .jsonl or .parquet.
    base_url
        Public address of the page.
    secret
        Key that signs the links; the same as for assay serve.
    """
    from assay.study.definition import load_study

    require_installed(("sqlalchemy", "alembic", "itsdangerous"), "serve", "inviting annotators")
    from assay.collecting import invitations
    from assay.collecting.hosting.server import links, take_in
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
                note(invited_already(person, wanted[person.name]))
    all_links = links(loaded, address, secret, store)[1]
    rows = [{"name": name, "link": link} for name, link in all_links.items() if not wanted or name in wanted]
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
    note(f"{counted(len(rows), 'link')} written to {out}; anyone with a link can answer as that annotator")


def invited_already(person: Person, attributes: dict[str, str]) -> str:
    """The note about an annotator who is invited again."""
    said = f"{person.name} is already invited"
    if person.excluded_at is not None:
        return f"{said} and excluded; they have no link"
    if person.state == "revoked":
        return f"{said}, and their link was revoked; create a new one on the dashboard"
    changed = {name: value for name, value in attributes.items() if person.attributes.get(name) != value}
    kept = f"; not changed: {', '.join(f'{k}={v}' for k, v in changed.items())}" if changed else ""
    return f"{said}; their link is unchanged{kept}"


def exclude(
    study: StudyFolder,
    *names: str,
    reason: str = "",
    undo: bool = False,
    store: StoreName = None,
) -> None:
    """Run ``assay people exclude``.

    Parameters
    ----------
    names
        Annotators to exclude. Their links are revoked and their slots become free.
    reason
        Reason, shown in the record and with the count of exclusions.
    undo
        Include their labels again. Their links stay revoked.
    """
    from assay.study.store import people

    if not names:
        raise AssayError("people exclude requires a name: assay people exclude STUDY NAME")
    with _open_store(study, store) as opened:
        for name in names:
            one = " ".join(name.split())
            if undo:
                say(f"{one}: {people.readmit(opened, one)} labels are included again")
            else:
                say(f"{one}: {people.exclude(opened, one, reason)} labels are excluded; the record is kept")


def erase(study: StudyFolder, name: str, *, yes: bool = False, store: StoreName = None) -> None:
    """Run ``assay people erase``.

    Parameters
    ----------
    name
        Annotator to delete. To keep the record, use assay people exclude.
    yes
        Do not ask for confirmation.
    """
    from assay.study.store import people

    one = " ".join(name.split())
    with _open_store(study, store) as opened:
        people.invited_person(opened, one)
        if not yes and not is_sure(f"Permanently delete {one} and all their answers? Type the name: ", one):
            raise AssayError("nothing was deleted; type the name at the terminal, or give --yes")
        number = people.erase(opened, one)
    say(f"{one} and {number} answers are deleted")
    note("earlier copies are unchanged: exports, downloads, backups, and data in their browser")


def pay(
    study: StudyFolder,
    *,
    form: Literal["prolific", "mturk"] | None = None,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False,
    store: StoreName = None,
    output: Output = AS_TEXT,
) -> None:
    """Run ``assay people pay``.

    Parameters
    ----------
    form
        With --output: the platform's own file, of bulk bonuses (Prolific) or approvals (Mechanical Turk).
    out
        Output file of the table: .csv, .tsv, .jsonl or .parquet.
    """
    require_installed(
        ("sqlalchemy", "alembic", "fastapi", "itsdangerous", "python_multipart"), "serve", "the payment table"
    )
    from assay.collecting.crowd import pay_table, platform_file
    from assay.collecting.design import StudyDesign
    from assay.data.formats.exports import TABLES, write_frame
    from assay.reporting.page import atomic_write
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    check_target(out, suffixes=TABLES if form is None else (".csv",), force=force)
    if form is not None and out is None:
        raise AssayError("--form writes a file for the platform; name it with --output")
    loaded = load_study(study)
    with store_in_use(loaded, store) as opened:
        design = StudyDesign(loaded, opened)
        table = pay_table(design)
        content = "" if form is None else platform_file(design, form)
    if form is not None and out is not None:
        with atomic_write(out) as part:
            part.write_text(content, encoding="utf-8")
    elif out is not None:
        write_frame(table, out)
    elif output.as_text:
        say(_pay_words(table), end="")
    else:
        output.rows(table)
    ends = table.group_by("outcome", maintain_order=True).len().iter_rows()
    said = ", ".join(f"{number} {outcome}" for outcome, number in ends)
    note(f"{counted(len(table), 'annotator')}: {said}; {table['pay'].sum():.2f} {table['currency'][0]} in total")
    if out is not None:
        note(f"written to {out}")


def _pay_words(table: DataFrame) -> str:
    """The payment table as text: without time stamps, times in minutes, amounts with two decimals."""
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


def is_sure(question: str, word: str) -> bool:
    """Whether the user types this word at a terminal."""
    return sys.stdin.isatty() and input(as_printed(question)).strip() == word


def _open_store(study: Path, store: str | None) -> AbstractContextManager[Store]:
    """The store of a study, for commands that only use the store."""
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
    check: bool = False,
    quiet: bool = False,
    change: ChangeOptions = NO_CHANGE,
) -> int:
    """Run ``assay serve``.

    Parameters
    ----------
    study
        The study folder.
    host
        Address to listen on; 0.0.0.0 accepts other machines and requires a secret.
    port
        Port to listen on.
    workers
        Server processes; more than one requires a PostgreSQL store.
    base_url
        Public address of the page, such as https://label.example.org behind a proxy.
    secret
        Key that signs the links: at least 16 characters, kept secret.
    check
        Check whether the server would come up, print what was found, and stop. Exit status: 0, or 1 after a problem.
    quiet
        Print only errors.
    """
    from assay.estimation.options import number_in

    number_in("port", port, low=1, high=65535, whole=True)
    if study is None:
        raise AssayError("serve requires a study: assay serve STUDY; a page for files: assay look --browser")
    require_installed(
        ("pydantic", "sqlalchemy", "alembic", "fastapi", "uvicorn", "itsdangerous", "python_multipart"),
        "serve",
        "the annotation page",
    )
    from assay.collecting.hosting import server
    from assay.collecting.invitations import checked_address
    from assay.study.definition import load_study

    number_in("workers", workers, low=1, whole=True)
    address = None if base_url is None else checked_address(base_url)
    loaded = load_study(study)
    crowd = loaded.config.people.crowd
    if crowd is not None and crowd.signed:
        require_installed(("jwt", "cryptography"), "prolific", "checking the signature of Prolific's addresses")
        if address is None:
            raise AssayError("platform: prolific-signed requires --base-url, the address in Prolific's form")
    if check:
        settings: dict[str, Any] = {"host": host, "port": port, "store": store, "base_url": address}
        return _check_server(loaded, quiet, workers=workers, secret=secret, changed=change.given, **settings)
    server.check_reach(host, port, secret)
    change.decided(lambda changed: server.take_in(loaded, store, changed))
    here = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    if not quiet:
        people = server.links(loaded, address or here, secret, store)[1]
        invited = f"{len(people)} invited" if people else "no annotators invited"
        say(f"The page of {study} is at {address or here} ({invited})")
        where = "" if (address or here) == server.USUAL_ADDRESS else f" --base-url {address or here}"
        say(f"Links of the study lead and all annotators: assay people links {study}{where}")
        sys.stdout.flush()
    server.serve(loaded, host=host, port=port, workers=workers, secret=secret, store=store, base_url=address)
    return 0


def _check_server(study: Study, quiet: bool, **settings: Any) -> int:
    """Print each check when it is done; return 1 after a problem, otherwise 0."""
    from assay.collecting.hosting.readiness import check_server

    status = 0
    for one in check_server(study, **settings):
        status |= one.state == "problem"
        if one.state == "problem" or not quiet:
            say(f"{one.state:<8} {one.name:<8} {one.found}", flush=True)
    return int(status)


def import_(
    source: str,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("labels.csv"),
    force: Force = False,
    labels: LabelOptions = PLAIN,
    output: Output = AS_TEXT,
) -> None:
    """Run ``assay import``.

    Parameters
    ----------
    source
        The export: a file or a folder.
    out
        Output file of the table: .csv, .tsv, .jsonl or .parquet.
    """
    from assay.data.formats.exports import TABLES, import_counts, write

    check_target(out, source, *labels.other_inputs, suffixes=TABLES, force=force)
    table = labels.read(source)
    written = write(table, out)
    output.rows(import_counts(table.reading, len(table)))
    for line in written.lines():
        note(as_typed(line, NAMES))


def export(
    source: str,
    target: Path,
    *,
    to: Literal[
        "table", "hugging-face", "label-studio", "alt-test", "langfuse", "phoenix", "mlflow", "inspect-ai"
    ] = "table",
    verdicts: Path | None = None,
    trace: str | None = None,
    force: Force = False,
    labels: LabelOptions = PLAIN,
) -> None:
    """Run ``assay export``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    target
        File or folder to write.
    to
        Format: a plain table by its suffix, JSON Lines with lists, Label Studio predictions, alt-test folder; scores
        for Langfuse, Phoenix and MLflow, a log for Inspect AI.
    verdicts
        Report (.json) on the same labels; its verdicts are written for Langfuse, Phoenix, MLflow or Inspect AI.
    trace
        Id of the trace that receives the verdicts in Langfuse, Phoenix or MLflow.
    """
    from assay.data.formats.exports import SUFFIXES, write
    from assay.data.formats.tables import HUMANS, ITEMS, JUDGES

    read = (source, *labels.other_inputs, *([] if verdicts is None else [verdicts]))
    check_target(target, *read, suffixes=SUFFIXES[to], force=True, folder=to == "alt-test")
    for path in [target / name for name in (HUMANS, JUDGES, ITEMS)] if to == "alt-test" else [target]:
        inside = [Path(source) / path.name] if to == "alt-test" else []
        check_target(path, *read, *inside, suffixes=(), force=force)
    for line in write(labels.read(source), target, to, verdicts=verdicts, trace=trace).lines():
        note(as_typed(line, NAMES))


def _log() -> None:
    """Log every call to standard error."""
    import logging

    class Printable(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return as_printed(super().format(record))

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Printable("%(asctime)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("assay").setLevel(logging.DEBUG)
