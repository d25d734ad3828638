"""The file of replies that a run writes, for ``provider: recorded`` to answer from."""

from __future__ import annotations

import json
from pathlib import Path

from assay.errors import StudyError
from assay.judging.providers import Completion
from assay.judging.sending import Request


class Recording:
    """Writes replies as lines that `assay.judging.providers.Recorded` reads."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, request: Request, completion: Completion) -> None:
        """Write a reply down.

        Raises
        ------
        StudyError
            Where the file cannot be written; what the store holds stays.
        """
        line = dict(request.about) | {"reply": completion.text}
        line |= {k: v for k, v in vars(completion).items() if k not in ("text", "sent") and v is not None}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StudyError(
                f"{self._path} cannot be written ({error.strerror}); what was answered is in the store, "
                "and is not asked again"
            ) from None
