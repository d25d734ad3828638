"""A study that is changed while its page is open: the page follows the store, so that both are of one study."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from assay.collecting.design import Design
from assay.collecting.routes.common import AppState
from assay.errors import AssayError, StudyError, listing
from assay.study.definition import STUDY_FILE, Study, load_study
from assay.study.schema import StudyFile
from assay.study.store.connection import Store
from assay.study.store.intake import CONFIG, SYNCED, digest_of_study
from assay.study.store.pairs import PAIRS

NOT_TAKEN_IN = (
    "The study's folder was edited and is not taken in yet: this page goes on with the study as it was. Starting "
    "assay serve again takes the change in, and says first how many answers it takes out of count."
)


class Serving:
    """What an application serves: the study that its store holds, whoever brought it there.

    Parameters
    ----------
    store : Store
        Into which the study has been taken.
    folder : path
        Of the study.
    secret, base_url : str
        As in `AppState`.

    Attributes
    ----------
    held : AppState
        What was served last.
    """

    def __init__(self, store: Store, folder: Path, secret: str, base_url: str | None = None) -> None:
        self.store, self.folder = store, folder
        self._lock = threading.Lock()
        self._secret, self._base_url = secret, base_url
        self._draws = bool((store.setting(CONFIG) or {}).get("systems"))
        self._of = self._in_store()
        """Names the study that is served, or that could not be."""
        self.held = self._made()
        self._seen: Any = None
        self._edited = ""

    def _in_store(self) -> tuple[str | None, str | None]:
        """Names the study that the store holds: what its folder said, and the pairs that were drawn since."""
        return self.store.setting(SYNCED), self.store.setting(PAIRS) if self._draws else None

    def _made(self) -> AppState:
        study = Study(self.folder, StudyFile.model_validate(self.store.setting(CONFIG)))
        return AppState(Design(study, self.store), self._secret, self._base_url)

    def now(self) -> AppState:
        """What is served, of the study as the store holds it now."""
        if self._in_store() != self._of:
            with self._lock:
                self._follow()
        return self.held

    def _follow(self) -> None:
        digest = self._in_store()
        if digest == self._of:
            return
        try:
            made = self._made()
        except StudyError as error:
            self.held.trouble = f"The study was changed and cannot be shown as it is now: {error}"
        else:
            made.notice = _notice(self.held.design, made.design) or self.held.notice
            self.held = made
        self._of = digest

    def edited(self) -> str:
        """Words for a folder that says something else than the store; empty where both say the same."""
        try:
            files = (self.folder / STUDY_FILE, *self.held.design.study.files())
            seen = (self._of, *(_stamp(path) for path in files))
            if seen != self._seen:
                self._edited = "" if digest_of_study(load_study(self.folder)) == self._of[0] else NOT_TAKEN_IN
                self._seen = seen
            return self._edited
        except (AssayError, OSError):  # in the midst of being edited
            return NOT_TAKEN_IN


def _stamp(path: Path) -> tuple[int, int] | None:
    return (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None


def _notice(before: Design, after: Design) -> str:
    """Words for what people see otherwise than before; empty where they see the same."""
    if (before.asked_now, before.form) == (after.asked_now, after.form):
        return ""
    asked = listing([f"'{q.definition.name}' (version {q.version})" for q in after.questions])
    when = time.strftime("%H:%M UTC", time.gmtime())
    return (
        f"The study was changed at {when}, while this page was open. Since then people are asked {asked} as the study "
        "reads now, and this page and what you download are of that study."
    )
