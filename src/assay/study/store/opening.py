"""Open the database of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import require
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
