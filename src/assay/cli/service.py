"""The commands for running a study: links, progress, backups, record of the answers."""

from __future__ import annotations

import shutil
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from assay.cli.output import AS_TEXT, Force, Output, note, print_json, say
from assay.cli.output import target as check_target
from assay.cli.studies import Secret, StoreName, StudyFolder
from assay.errors import AssayError, StudyError, counted, require, require_installed

if TYPE_CHECKING:
    from assay.collecting.desk.overview import Overview
    from assay.study.definition import Study
    from assay.study.store.connection import Store

_SIDE_FILES = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's files next to a database; a copy of the database includes their contents."""


def mcp(*, folder: Path = Path()) -> None:
    """Run ``assay mcp``.

    Parameters
    ----------
    folder
        Folder whose files the assistant can read.
    """
    from assay.mcp_server import serve

    serve(folder)


def links(
    study: StudyFolder,
    *names: str,
    base_url: str = "http://127.0.0.1:8321",
    store: StoreName = None,
    secret: Secret = None,
) -> None:
    """Run ``assay people links``.

    Parameters
    ----------
    names
        Annotators whose links are printed; all annotators and the study lead if none is named.
    base_url
        Public address of the page.
    secret
        Key that signs the links; the same as for assay serve.
    """
    from assay.study.definition import load_study

    require_installed(("sqlalchemy", "alembic", "itsdangerous"), "serve", "a list of personal links")
    from assay.collecting.hosting.server import links as links_of
    from assay.collecting.invitations import checked_address, one_line

    wanted = [one_line(name) for name in names]
    lead, people = links_of(load_study(study), checked_address(base_url), secret, store)
    for name in wanted:
        if name not in people:
            raise AssayError(
                f"no annotator '{name}' has a link; invite them with: assay people invite {study} '{name}'"
            )
    if not wanted:
        say(f"(study lead)\t{lead}")
    for name in wanted or people:
        say(f"{name}\t{people[name]}")


def status(study: StudyFolder, *, store: StoreName = None, output: Output = AS_TEXT) -> None:
    """Run ``assay study status``."""
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    require("fastapi", "serve", "the status of a study")
    if output.csv:
        raise AssayError("study status has no --csv; give --json, or neither for text")
    loaded = load_study(study)
    with store_in_use(loaded, store) as opened:
        seen, about = _study_status(loaded, opened)
    about["judges"] = _judges_of(loaded, study, store)
    if output.json:
        print_json(about)
        return
    numbers = seen.numbers
    what = "answers"
    drawn = [q.drawn_from is not None for q in loaded.config.questions if q.name != loaded.config.written]
    if any(drawn):
        pairs = f"pairs of items displayed {counted(loaded.config.people.pairs, 'time')}"
        what = pairs if all(drawn) else f"answers, and {pairs}"
    progress = f"Progress: {numbers.filled:,} of {numbers.wanted:,} {what} ({numbers.percent}%)"
    say(progress if about["people"] else "No annotators invited.")
    # One answer for each item and annotator.
    say(f"{counted(numbers.items, 'item')}, {counted(numbers.answered, 'answer')}, {numbers.skipped:,} skipped")
    for one in about["notes"]:
        say(one)
    for row in about["people"]:
        of = "" if row["of"] is None else f" of {row['of']:,}"
        last = f", last {row['last']}" if row["last"] else ""
        say(f"{row['name']}: {row['state']}, {row['done']:,}{of}{last}")
    for row in about["judges"]:
        rest = [f"{row[name]:,} {name}" for name in ("unparseable", "failed", "remaining") if row[name]]
        say(", ".join([f"{row['name']}: judge, {counted(row['labels'], 'label')}", *rest]))


def _judges_of(loaded: Study, folder: Path, store: str | None) -> list[dict[str, Any]]:
    """The labels of each judge of a study, and those that it still has to give."""
    if not loaded.models:
        return []
    from assay.judging.open_study import OpenStudy

    table = OpenStudy(folder, store).status().table.filter(kind="judge").rename({"missing": "unparseable"})
    table = table.select("labels", "unparseable", "failed", "remaining", name="annotator")
    return [{"name": row.pop("name"), **row} for row in table.iter_rows(named=True)]


def _study_status(study: Study, store: Store) -> tuple[Overview, dict[str, Any]]:
    """The overview of the study in the store, and the values that are printed."""
    from assay.collecting.assignment import PAUSED, additions_words
    from assay.collecting.design import StudyDesign
    from assay.collecting.desk.overview import Watch
    from assay.study.definition import stored_study
    from assay.study.store.intake import CONFIG

    config = store.setting(CONFIG)
    if config is None:
        raise StudyError(f"no annotator or judge has started yet; begin with: assay people invite {study.folder} NAME")
    design = StudyDesign(stored_study(study.folder, config), store)
    seen = Watch(design).look()
    with store.reading() as db:
        added = additions_words(design, db)
    notes = ["The study is paused."] if store.setting(PAUSED) else []
    people = [
        {
            **{"name": one.name, "state": "excluded" if one.excluded else one.state, "done": one.done},
            **{"skipped": one.skipped, "of": one.of, "last": one.last.iso if one.last else None},
            **{"checks_failed": one.checks_failed, "stopped": one.stopped},
        }
        for one in seen.people
    ]
    numbers = {name: getattr(seen.numbers, name) for name in ("items", "answered", "skipped", "filled", "wanted")}
    notes += [one for one in (added, design.expiry_notice(datetime.now(UTC).date())) if one]
    return seen, numbers | {"notes": notes, "people": people}


# -- copies ----------------------------------------------------------------------------------------------


def backup(
    study: StudyFolder,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("backup.zip"),
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Run ``assay study backup``.

    Parameters
    ----------
    out
        Output file (.zip). It includes all answers and the key of the links: protect it like the study.
    """
    from assay.reporting.page import atomic_write
    from assay.study.definition import load_study
    from assay.study.store.connection import STORE_FILE, store_in_use

    check_target(out, study, suffixes=(".zip",), force=force)
    loaded = load_study(study)
    with TemporaryDirectory(prefix="assay-") as folder, store_in_use(loaded, store) as opened:
        copy = Path(folder) / STORE_FILE
        opened.copy_to(copy)
        number = _n_answers(copy)
        with atomic_write(out) as part:
            part.touch(mode=0o600)
            with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as file:
                file.write(copy, STORE_FILE)
                for path in _own_files(loaded.folder, {out.resolve(), part.resolve()}):
                    file.write(path, path.relative_to(loaded.folder).as_posix())
    say(f"{out}: {counted(number, 'answer')}")


def _own_files(folder: Path, without: set[Path]) -> list[Path]:
    """The files in a study's folder, except its database and backups."""
    from assay.study.store.connection import STORE_FILE

    database = {STORE_FILE, *(STORE_FILE + ending for ending in _SIDE_FILES)}
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return [
        path
        for path in found
        if path.relative_to(folder).as_posix() not in database and path.resolve() not in without and not _is_copy(path)
    ]


def _is_copy(path: Path) -> bool:
    from assay.study.store.connection import STORE_FILE

    if path.suffix != ".zip" or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return STORE_FILE in file.namelist()


def restore(source: Path, folder: Path) -> None:
    """Run ``assay study restore``.

    Parameters
    ----------
    source
        The backup.
    folder
        The new study folder; it must be empty or not exist yet.
    """
    from assay.study.definition import STUDY_FILE, load_study
    from assay.study.store.connection import STORE_FILE

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AssayError(f"the folder {folder} exists and is not empty; name another folder")
    if not zipfile.is_zipfile(source):
        raise AssayError(f"{source} is not a backup of a study; name a file written by assay study backup")
    with zipfile.ZipFile(source) as file:
        names = file.namelist()
        outside = [name for name in names if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts]
        if outside or not {STUDY_FILE, STORE_FILE} <= set(names):
            raise AssayError(f"{source} is not a backup of a study; name a file written by assay study backup")
        if not _is_whole(file):
            raise AssayError(f"{source} is damaged; use another backup")
        with TemporaryDirectory(prefix=".assay-", dir=folder.absolute().parent) as part:
            file.extractall(part)
            number = _n_answers(Path(part) / STORE_FILE)
            folder.mkdir(exist_ok=True)
            for path in Path(part).iterdir():
                shutil.move(path, folder / path.name)
    (folder / STORE_FILE).chmod(0o600)
    say(f"{folder}: {counted(number, 'answer')}")
    if (elsewhere := load_study(folder).config.store) is not None:
        note(f"study.yaml names another database (store: {elsewhere}); remove that line to use this copy")


def _is_whole(file: zipfile.ZipFile) -> bool:
    try:
        return file.testzip() is None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return False


def _n_answers(database: Path) -> int:
    """The number of answers in a database, after a check of its integrity."""
    from assay.study.store.connection import Store

    with Store.open(database) as opened:
        return opened.checked_answers()


# -- record of answers -----------------------------------------------------------------------------------


def record(
    study: StudyFolder,
    *,
    person: str | None = None,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("answers.zip"),
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Run ``assay study record``.

    Parameters
    ----------
    person
        Export only the record of this annotator.
    out
        Output file.
    """
    from assay.reporting.page import atomic_write
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use
    from assay.study.store.people import invited_person

    require("fastapi", "serve", "the record of a study")
    from assay.collecting.desk.lead import archive

    check_target(out, study, suffixes=(".zip",), force=force)
    with store_in_use(load_study(study), store) as opened:
        name = None if person is None else invited_person(opened, " ".join(person.split())).name
        with atomic_write(out) as part:
            part.write_bytes(archive(opened, name))
    say(out)


def adjudicated(
    study: StudyFolder,
    *,
    out: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("adjudicated.csv"),
    store: StoreName = None,
    force: Force = False,
) -> None:
    """Run ``assay study adjudicated``.

    Parameters
    ----------
    out
        Output file.
    """
    from assay.reporting.page import atomic_write
    from assay.study.definition import load_study
    from assay.study.store.connection import store_in_use

    require("fastapi", "serve", "the adjudicated labels of a study")
    from assay.collecting.desk.lead import adjudicated_csv

    check_target(out, study, suffixes=(".csv",), force=force)
    with store_in_use(load_study(study), store) as opened:
        table = adjudicated_csv(opened)
    with atomic_write(out) as part:
        part.write_bytes(table)
    say(out)
