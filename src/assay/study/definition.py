"""A study's folder: items, questions, judges and people, as its ``study.yaml`` defines them.

The folder holds ``study.yaml``, the items, prompts of one's own, the labels that people gave, and the
database in which every answer is kept (`assay.study.store`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from assay.errors import StudyError
from assay.study.checks import Problem, contradictions, in_words, parse_yaml, problems_of
from assay.study.items import Item, KnownItem, read_items, read_known_items
from assay.study.schema import Ensemble, Judge, StudyFile, System

STUDY_FILE = "study.yaml"


@dataclass(frozen=True)
class Study:
    """A study folder whose ``study.yaml`` has been read and checked."""

    folder: Path
    config: StudyFile

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges that are asked."""
        return tuple(j for j in self.config.judges if isinstance(j, Judge))

    @property
    def systems(self) -> tuple[System, ...]:
        """The models whose outputs are compared."""
        return self.config.systems

    @property
    def models(self) -> tuple[Judge, ...]:
        """Everybody that is asked by a call: systems first, as judges are asked about what they wrote."""
        return (*self.systems, *self.judges)

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """The judges that are made of others' answers."""
        return tuple(j for j in self.config.judges if isinstance(j, Ensemble))

    @property
    def question_names(self) -> tuple[str, ...]:
        """The criteria, in the order of the file."""
        return tuple(q.name for q in self.config.questions)

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Texts of the prompt files, by name."""
        folder = self.folder / "prompts"
        files = sorted(folder.glob("*.txt")) + sorted(folder.glob("*.md"))
        return {file.stem: file.read_text(encoding="utf-8") for file in files}

    def items(self) -> Iterator[Item]:
        """The items in the order of their file, see `assay.study.items.read_items`."""
        return read_items(self.folder, self.config)

    def files(self) -> list[Path]:
        """The files beside study.yaml that it names: items, labels, checks, practice."""
        people = self.config.people
        checks = None if people.checks is None else people.checks.file
        names = (self.config.items.file, self.config.labels, people.warm_up, checks)
        return [self.folder / name for name in names if name is not None]

    def known_items(self, role: Literal["check", "warm-up"]) -> list[KnownItem]:
        """The attention checks, or the items to warm up on, see `assay.study.items.read_known_items`."""
        return read_known_items(self.folder, self.config, role)


def load_study(folder: str | Path) -> Study:
    """Read and check a study's folder.

    Parameters
    ----------
    folder : path
        The folder, or its ``study.yaml``.

    Raises
    ------
    StudyError
        With file, line and key of everything that is wrong.
    """
    path = Path(folder)
    path = path if path.suffix in (".yaml", ".yml") else path / STUDY_FILE
    if not path.is_file():
        raise StudyError(f"{path} is not there; make a study with: assay init {path.parent}")
    content, lines = parse_yaml(path)
    problems: list[Problem]
    try:
        config = StudyFile.model_validate(content)
        problems = list(contradictions(config, path.parent))
    except ValidationError as error:
        problems = problems_of(error)
    if problems:
        raise StudyError(in_words(path, lines, problems))
    return Study(path.parent, config)
