"""Open the database of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from assay.errors import StudyError, require
from assay.study.definition import Study

if TYPE_CHECKING:
    from assay.study.store.connection import Store

STORE_FILE = "study.db"


def open_store(study: Study, url: str | None = None) -> Store:
    """The study's database: ``url``, else the one study.yaml names, else a file in the folder.

    Raises
    ------
    StudyError
        Where it cannot be used, see `assay.study.store.connection.Store.open`.
    """
    from assay.study.store.connection import Store

    return Store.open(_where(study, url))


def open_scratch(study: Study, url: str | None = None) -> Store:
    """The study's database as it stands, of which nothing that is done is kept; see `Store.scratch`."""
    from assay.study.store.connection import Store

    return Store.scratch(_where(study, url))


def open_to_read(study: Study, url: str | None = None) -> Store:
    """The study's database, or what stands in it, where nobody may write to it: on a read-only mount."""
    from assay.study.store.connection import Store

    where = _where(study, url)
    return Store.open(where) if Store.can_be_written(where) else Store.scratch(where)


def _where(study: Study, url: str | None) -> str:
    require("sqlalchemy", "judge", "a study's database")
    require("alembic", "judge", "a study's database")
    return url or study.config.store or str(study.folder / STORE_FILE)


Opening = Callable[[Study, str | None], "Store"]
"""One of the ways to open it: `open_store`, `open_scratch`, `open_to_read`."""


@contextmanager
def store_in_use(study: Study, url: str | None = None, *, opening: Opening = open_store) -> Iterator[Store]:
    """The study's database while it is worked with: a full disk or a server that stops is said in words.

    Raises
    ------
    StudyError
        Where the database fails; what was written before stays.
    """
    with opening(study, url) as opened:
        from assay.study.store.connection import DatabaseError

        try:
            yield opened
        except DatabaseError as error:
            raise store_words(opened, error) from None


def store_words(store: Store, error: BaseException) -> StudyError:
    """What went wrong in the database, and what to do about it."""
    told = " ".join(str(getattr(error, "orig", None) or error).split())
    if store.is_scratch:
        return StudyError(
            f"a copy of the store {store.where} failed: {told}. The store is as it was; mend that (room for it in "
            "the folder for temporary files, a server that runs) and do it again"
        )
    return StudyError(
        f"the store {store.where} failed: {told}. What it took before is kept; mend that (room on the disk, a server "
        "that runs) and do it again: it goes on from there"
    )
