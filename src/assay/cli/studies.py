"""The commands of studies and files: make a study, ask models, ask people, bring labels in and out. No SQL here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from assay.cli.changing import NO_CHANGE, ChangeOptions
from assay.cli.labels import NAMES, PLAIN, LabelOptions
from assay.cli.options import Names, as_typed
from assay.cli.output import FOR_PEOPLE, Output, note, progress_bar, target
from assay.errors import AssayError, require

if TYPE_CHECKING:
    from assay.judging.run import JudgeRun
    from assay.study.store.changes import Changed

_STORE = Annotated[str | None, Parameter(help="A database in place of the study's own: a path or postgresql://...")]
_SECRET = Annotated[str | None, Parameter(env_var="ASSAY_SECRET", show_default=False)]


def init(folder: Path) -> None:
    """Make a study folder: study.yaml with comments, items.csv, prompts; it runs as it is, offline.

    Parameters
    ----------
    folder
        Made if it is not there; nothing in it is overwritten.
    """
    from assay.study.starter import init_study

    for path in init_study(folder):
        print(path)


def judge(
    study: Path,
    *,
    dry_run: bool = False,
    only: Names = None,
    store: _STORE = None,
    record: Path | None = None,
    verbose: bool = False,
    change: ChangeOptions = NO_CHANGE,
) -> int:
    """Ask every judge of a study every question that has no answer yet.

    Parameters
    ----------
    study
        The study folder, made by assay init.
    dry_run
        Say how many calls, tokens and how much money; ask nothing and write nothing.
    only
        Ask these judges only, separated by commas.
    record
        Write every reply to this JSONL file, for provider: recorded.
    verbose
        Log every call to standard error.
    """
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "aiohttp"):
        require(library, "judge", "asking models")
    from assay.judging.run import estimate_study, judge_study

    target(record)
    if verbose:
        _log()
    loaded = load_study(study)
    if dry_run:
        meant = change.given or "new-version"
        print(estimate_study(loaded, store=store, judges=only, changed=meant).summary())
        return 0

    def ask(changed: Changed | None) -> JudgeRun:
        with progress_bar("Asking") as bar:
            tell = None if bar is None else (lambda p: bar(str(p), p.done, p.total))
            return judge_study(loaded, store=store, judges=only, record=record, progress=tell, changed=changed)

    done = change.decided(ask)
    print(done.summary())
    return int(done.stopped is not None)


def invite(
    study: Path,
    *names: str,
    attribute: list[str] | None = None,
    base_url: str = "http://127.0.0.1:8321",
    store: _STORE = None,
    secret: _SECRET = None,
    change: ChangeOptions = NO_CHANGE,
) -> None:
    """Add people who may answer on the page of a study, and print each one's personal link.

    Parameters
    ----------
    study
        The study folder.
    names
        Who is invited; each is an annotator of the table. With none, the links of all who are invited.
    attribute
        NAME=VALUE, a column of the table of annotators, for all that are named; may repeat.
    base_url
        Where they reach the page.
    secret
        Signs the links; the same as for assay serve.
    """
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "itsdangerous"):
        require(library, "serve", "inviting people")
    from assay.collecting import invitations
    from assay.collecting.server import links, take_in
    from assay.study.store.opening import open_store

    loaded = load_study(study)
    if names:
        attributes = invitations.read_attributes(", ".join(attribute or ()))
        change.decided(lambda changed: take_in(loaded, store, changed))
        with open_store(loaded, store) as opened:
            invitations.invite_all(loaded, opened, names, attributes)
    everybody = links(loaded, base_url, secret, store)[1]
    for name, link in everybody.items():
        if not names or name in [" ".join(one.split()) for one in names]:
            print(f"{name}\t{link}")


def serve(
    study: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    workers: int = 1,
    base_url: str | None = None,
    store: _STORE = None,
    secret: _SECRET = None,
    change: ChangeOptions = NO_CHANGE,
) -> None:
    """Open the page on which people answer a study's questions, and the page of whoever leads it.

    Parameters
    ----------
    study
        The study folder, made by assay init.
    host
        Where to listen; 0.0.0.0 lets other machines in, and needs a secret.
    port
        The port.
    workers
        Processes that answer; more than one is for a store in PostgreSQL.
    base_url
        Where people reach the page, such as https://label.example.org behind a proxy.
    secret
        Signs the links: at least 16 characters, known to nobody else.
    """
    from assay.estimation.options import number_in
    from assay.study.definition import load_study

    for library in ("sqlalchemy", "alembic", "fastapi", "uvicorn", "itsdangerous", "python_multipart"):
        require(library, "serve", "the annotation page")
    from assay.collecting import server

    number_in("port", port, low=1, high=65535, whole=True)
    number_in("workers", workers, low=1, whole=True)
    loaded = load_study(study)
    server.check_reach(host, port, secret)
    change.decided(lambda changed: server.take_in(loaded, store, changed))
    here = f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{port}"
    lead, people = server.links(loaded, base_url or here, secret, store)
    print(f"You lead the study at {lead}")
    for name, link in people.items():
        print(f"{name} answers at {link}")
    if not people:
        print(f"Nobody is invited yet: add people on the lead's page, or with: assay invite {study} NAME")
    sys.stdout.flush()
    server.serve(loaded, host=host, port=port, workers=workers, secret=secret, store=store, base_url=base_url)


def import_(
    source: str,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("labels.csv"),
    labels: LabelOptions = PLAIN,
    output: Output = FOR_PEOPLE,
) -> None:
    """Read a platform's export and write it as a plain table, with a count of everything that was in it.

    Parameters
    ----------
    source
        The export: a file or a folder.
    out
        Where the table is written: .csv, .tsv, .jsonl or .parquet.
    """
    from assay.data.formats.exports import import_counts, write

    target(out)
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
    from assay.data.formats.exports import write

    if to != "alt-test" and target.is_dir():
        raise AssayError(f"'{target}' is a folder; name a file in it")
    for line in write(labels.read(source), target, to).lines():
        note(line)


def _log() -> None:
    """Every call, on standard error."""
    import logging

    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("assay").setLevel(logging.DEBUG)
