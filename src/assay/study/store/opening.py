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
    require("sqlalchemy", "judge", "a study's database")
    require("alembic", "judge", "a study's database")
    from assay.study.store.connection import Store

    return Store.open(url or study.config.store or str(study.folder / STORE_FILE))
