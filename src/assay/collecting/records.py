"""What was collected, to take away: the one table, and everything that was given, shown and answered."""

from __future__ import annotations

import io
import zipfile

from assay.data.store import Store


def labels_csv(store: Store) -> bytes:
    """Every answer that counts, as CSV.

    Raises
    ------
    StudyError
        While there is none.
    """
    return store.annotations().labels.write_csv().encode()


def archive(store: Store) -> bytes:
    """Everything that was given, shown and answered, as a zip."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("answers.jsonl", store.history().write_ndjson())
    return held.getvalue()
