"""What is decided before the labels are there, and what of it was kept: the plan file, planned looks, items not seen.

`assay plan --write plan.yaml` writes a `Preregistration`; a report that is given it says "as planned", or each
deviation in a line. `before_verdict` is all that a report asks of this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import yaml

from assay._version import __version__
from assay.data.annotations import Annotations
from assay.data.columns import PART, PARTS
from assay.data.names import questions_in
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.options import IntervalSettings, Settings, plain
from assay.replacement.panel import AltTestSettings
from assay.study import LOOKS, PLAN_FILE, items_at_look

if TYPE_CHECKING:
    from assay.planning import AltTestPlan
    from assay.study.definition import Study
    from assay.study.store.connection import Store

S = TypeVar("S", bound=AltTestSettings)

QUESTION = "alt-test"
"""The question that a plan file is about."""

_UNDECIDED = {"expertise", "look", "looks", *(f.name for f in fields(IntervalSettings))}
"""Options of the alt-test that a plan does not decide by their name: epsilon says what expertise is for, how many looks
there are stands by itself and which one it is shows later, and the others make intervals."""

ALWAYS = ("epsilon", "alpha", "threshold", "least_retention")
"""What a plan file states even where it is the default: what a referee asks for first."""

DEVELOPMENT, TEST = PARTS


# -- the plan file -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Preregistration:
    """What is decided before the labels are there.

    Attributes
    ----------
    verdict : mapping of option to value
        Options of the alt-test that decide a verdict; what is not there is at its default.
    n_items, n_annotators : int or None
        Items, and people.
    looks : int
        Times that the verdict is asked for while labels come in, the last one included.
    criteria : tuple of str
        Questions that are asked; empty where none is named.
    judges : mapping of judge to mapping
        ``model`` and ``prompt`` (a fingerprint) of each, as far as a study says them; empty where none is named.
    names : str or None
        Fingerprint of the items' names, where they are known.
    written : str
        When.
    source : str
        The file.
    """

    verdict: Mapping[str, Any]
    n_items: int | None = None
    n_annotators: int | None = None
    looks: int = 1
    criteria: tuple[str, ...] = ()
    judges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names: str | None = None
    written: str = ""
    source: str = PLAN_FILE

    @classmethod
    def of(cls, found: AltTestPlan, study: Study | None = None, judges: Sequence[str] = ()) -> Preregistration:
        """What a plan of the alt-test, and a study, decide.

        Raises
        ------
        DesignError
            Where the plan leaves open which epsilon, how many people or how many items; where an option is a function,
            which no file can hold.
        """
        settings = found.settings
        for name, values in (("epsilon", settings.epsilons), ("n_annotators", settings.panels)):
            if len(values) > 1:
                raise DesignError(
                    f"a plan file decides one {name}, and {listing(values)} are looked at; say which with {name}=...",
                    option=name,
                )
        n_items = found.smallest["n_items"][0] if len(settings.sizes) > 1 else settings.sizes[0]
        if n_items is None:
            raise DesignError(
                f"none of the sizes looked at has power {settings.power:g}, so no number of items is decided; look at "
                "larger ones, or decide on one number with n_items=...",
                option="n_items",
            )
        test = settings.alt_test
        known = {} if study is None else study_facts(study, judges)
        return cls(
            verdict={
                n: _plain_value(getattr(test, n), n) for n in _deciding_options() if n in ALWAYS or n in test.changed()
            },
            n_items=int(n_items),
            n_annotators=settings.panels[0],
            looks=test.looks,
            **({"judges": {name: {} for name in judges}} | known),
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Preregistration:
        """Read a plan file.

        Raises
        ------
        DesignError
            Where there is none, or it is not of the form.
        """
        source = os.fspath(path)
        try:
            content = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DesignError(f"there is no plan '{source}'; write one with: assay plan --write {source}") from None
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise DesignError(f"{source} cannot be read as a plan: {' '.join(str(error).split())}") from None
        if not isinstance(content, Mapping) or content.get("question") != QUESTION:
            raise DesignError(f"{source} is no plan of assay's: it must say 'question: {QUESTION}'")
        for key in content:
            if key not in _KEYS:
                raise DesignError(unknown("key", str(key), list(_KEYS), source))
        verdict = _mapping(content.get("verdict"), "verdict", source)
        known = _deciding_options()
        for name in verdict:
            if name not in known and name != "expertise":
                raise DesignError(unknown("option", str(name), [*known, "expertise"], f"{source}, verdict"))
        judges = content.get("judges") or {}
        if isinstance(judges, list):
            judges = dict.fromkeys(map(str, judges))
        return cls(
            verdict=dict(verdict),
            n_items=_whole(content.get("items"), "items", source),
            n_annotators=_whole(content.get("annotators"), "annotators", source),
            looks=_whole(content.get("looks"), "looks", source) or 1,
            criteria=tuple(map(str, content.get("criteria") or ())),
            judges={str(k): dict(v or {}) for k, v in _mapping(judges, "judges", source).items()},
            names=content.get("names"),
            written=str(content.get("written") or ""),
            source=source,
        )

    def write(self, path: str | os.PathLike[str]) -> Preregistration:
        """Write the plan, and give it with its file and time; a plan that is there is never overwritten.

        Raises
        ------
        DesignError
            Where the file is there: what was decided before is not decided again.
        """
        made = replace(self, source=os.fspath(path), written=datetime.now(UTC).strftime(_WHEN))
        values = {**made.to_dict(), "assay": __version__}
        text = _HEAD + yaml.safe_dump({k: values[k] for k in _KEYS if values[k]}, sort_keys=False, allow_unicode=True)
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise DesignError(
                f"'{made.source}' is there already, and a plan is not written twice; name another file, or take it away"
            ) from None
        return made

    def summary(self) -> str:
        """What is decided, in a line."""
        said = [f"{name} {_value_words(value)}" for name, value in self.verdict.items()]
        numbers = {"item": self.n_items, "annotator": self.n_annotators, "look": self.looks if self.looks > 1 else None}
        said += [counted(number, what) for what, number in numbers.items() if number is not None]
        said += [f"criteria {listing(self.criteria, 4)}"] if self.criteria else []
        return ", ".join(said + ([f"judges {listing(list(self.judges), 4)}"] if self.judges else []))

    def to_dict(self) -> dict[str, Any]:
        """What the file says."""
        return {
            "question": QUESTION,
            "written": self.written,
            "verdict": dict(self.verdict),
            "items": self.n_items,
            "annotators": self.n_annotators,
            "looks": self.looks if self.looks > 1 else None,
            "criteria": list(self.criteria),
            "judges": {name: dict(how) for name, how in self.judges.items()},
            "names": self.names,
        }

    def options(self, kind: type[Settings], given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that the plan decides and that somebody who asks has not given."""
        known = {f.name for f in fields(kind)}
        both = {"epsilon", "expertise"}
        taken = {*given, *(both if both & {k for k, v in given.items() if v is not None} else ())}
        decided = dict(self.verdict) | ({"looks": self.looks} if self.looks > 1 else {})
        return {name: value for name, value in decided.items() if name in known and name not in taken}

    # -- what became of it --------------------------------------------------------------------------

    def deviations(
        self, labels: Annotations, judges: Sequence[str], settings: AltTestSettings, *, study: Study | None, look: int
    ) -> list[str]:
        """What is not as it was decided, a line each."""
        return [
            *self._other_options(settings),
            *self._other_questions(labels),
            *self._other_judges(judges, study),
            *self._other_sizes(labels, look),
        ]

    def _other_options(self, settings: AltTestSettings) -> Iterator[str]:
        planned = AltTestSettings(**self.options(AltTestSettings, {}))  # with every default
        for name in _deciding_options():
            was, now = ((one.tolerance if name == "epsilon" else getattr(one, name)) for one in (planned, settings))
            if _plain_value(was, name, strict=False) != _plain_value(now, name, strict=False):
                yield f"{name} is {_value_words(now)}, and {_value_words(was)} was planned"
        if settings.looks != self.looks:
            yield f"looks is {settings.looks}, and {self.looks} was planned"

    def _other_questions(self, labels: Annotations) -> Iterator[str]:
        if not self.criteria:
            return
        there = labels.criteria
        if not there and len(self.criteria) > 1:
            yield f"the labels have no criteria, and {listing(self.criteria)} were planned"
        for name in there:
            if name not in self.criteria:
                yield f"criterion '{name}' was not planned"
        for name in self.criteria if there else ():
            if name not in there:
                yield f"criterion '{name}' was planned and has no labels"

    def _other_judges(self, judges: Sequence[str], study: Study | None) -> Iterator[str]:
        if not self.judges:
            return
        now = {} if study is None else {name: study.way_of(name) for name in study.judge_names}
        for name in judges:
            if name not in self.judges:
                yield f"judge '{name}' was not planned"
        for name, planned in self.judges.items():
            if name not in judges:
                yield f"judge '{name}' was planned and is not tested"
                continue
            for what, was in planned.items():
                if name in now and (other := now[name].get(what)) != was:
                    yield f"judge '{name}': the {what} is {other}, and {was} was planned"

    def _other_sizes(self, labels: Annotations, look: int) -> Iterator[str]:
        if look > self.looks:
            yield f"this is look {look}, and {_were(self.looks)} planned: the level no longer holds"
        wanted = None if self.n_items is None else items_at_look(self.n_items, look, self.looks)
        if wanted is not None and labels.n_items != wanted:
            at = f" at look {look} of {self.looks}" if self.looks > 1 and look <= self.looks else ""
            yield f"{labels.n_items:,} items have labels, and {wanted:,} were planned{at}"
        elif self.names is not None and labels.n_items == self.n_items and names_of(labels.items["item"]) != self.names:
            yield "the items are not those that were planned"
        if self.n_annotators is not None and len(labels.humans) != self.n_annotators:
            yield f"{len(labels.humans)} people have answered, and {self.n_annotators} were planned"


_HEAD = """\
# What is decided before the labels are there. Keep it under version control, or register it.
# assay report LABELS --plan THIS_FILE says "as planned", or each deviation in a line.
"""

_WHEN = "%Y-%m-%d %H:%M UTC"

_KEYS = (
    *("assay", "question", "written", "verdict", "items", "annotators", "looks", "criteria", "judges", "names"),
)  # fmt: skip
"""What a plan file may say, in its order."""


def _deciding_options() -> list[str]:
    """Options that decide a verdict, those first that a referee asks for first."""
    known = [f.name for f in fields(AltTestSettings) if f.name not in _UNDECIDED]
    return [*ALWAYS, *(name for name in known if name not in ALWAYS)]


def _plain_value(value: Any, name: str, *, strict: bool = True) -> Any:
    """An option as a file holds it."""
    named = getattr(value, "name", None)
    if isinstance(named, str):
        return named
    made = plain(value)
    if strict and callable(value):
        raise DesignError(f"a plan is a file, and cannot hold {name}=..., a function; name one", option=name)
    return round(made, 10) if isinstance(made, float) else made


def _value_words(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(_plain_value(value, "", strict=False))


def _were(number: int) -> str:
    return f"{number} {'was' if number == 1 else 'were'}"


def _mapping(value: Any, key: str, source: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DesignError(f"{source}: '{key}' must hold names with values, a line each")
    return value


def _whole(value: Any, key: str, source: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DesignError(f"{source}: '{key}' must be a whole number from 1 on; got {value!r}")
    return value


def names_of(items: pl.Series) -> str:
    """A fingerprint of names, whatever their order."""
    from assay.study.items import digest_of

    return digest_of(sorted(items.to_list()))[:12]


def study_facts(study: Study, judges: Sequence[str] = ()) -> dict[str, Any]:
    """What a study decides: its criteria, its judges and how each is asked, the names of the items that are tested.

    Raises
    ------
    DesignError
        For a judge that the study does not have.
    """
    for name in judges:
        if name not in study.judge_names:
            raise DesignError(unknown("judge", name, study.judge_names, f"{study.folder}/study.yaml"))
    return {
        "criteria": study.question_names,
        "judges": {name: study.way_of(name) for name in judges or study.judge_names},
        "names": names_of(pl.Series(study.tested_items(), dtype=pl.String)),
    }


# -- what has to be known before a verdict ------------------------------------------------------------


def plan_beside(labels: Annotations) -> str | None:
    """The plan in the folder of the study that the labels are of, where there is one."""
    path = Path(labels.reading.study) / PLAN_FILE
    return str(path) if labels.reading.study and path.is_file() else None


def before_verdict(
    labels: Annotations, judges: Sequence[str], settings: S, plan: str | None = None
) -> tuple[S, tuple[str, ...]]:
    """The settings with the look that this is, and what a reader has to know before any verdict.

    Items that a prompt was tuned on are said first, then which look at the data this is, then what the plan has become.
    A look at a study of which several are planned is kept in the study's store.

    Parameters
    ----------
    judges : list of str
        Who is tested.
    plan : str, optional
        The plan file; without it that of the study, where there is one.
    """
    study = study_of(labels)
    planned = None if plan is None else Preregistration.read(plan)
    lines = [*tuned_on(labels, judges, study), *_pooled_words(labels)]
    said = 1 if study is None else study.config.analyses or 1
    looks = said if planned is None else planned.looks
    look = 1
    if study is not None and looks > 1:
        look = count_look(study)
        settings = _set_look(settings, look, looks)
        lines.append(f"This is look {look} of {looks} at the study's labels.")
        if look > looks:
            lines[-1] = (
                f"This is look {look} at the study's labels, and {_were(looks)} planned: the level no longer holds."
            )
    else:
        look = settings.look
        if looks > 1 and "look" not in settings.changed():
            lines.append(f"Counted as look 1 of {looks}: say which it is with look=... (--look).")
    if planned is not None:
        found = planned.deviations(labels, judges, settings, study=study, look=look)
        found += [] if study is None else _late(planned, study)
        if said not in (1, looks):
            found.append(f"study.yaml says {counted(said, 'look')}, and {_were(looks)} planned")
        about = f"{planned.source}, written {planned.written}" if planned.written else planned.source
        lines.append(f"As planned ({about})." if not found else f"Not as planned ({about}):")
        # The name of an option, or of a file, stays as it is written.
        lines += [f"{line if set('_.') & set(line.split()[0]) else line[:1].upper() + line[1:]}." for line in found]
    return settings, tuple(lines)


def _late(planned: Preregistration, study: Study) -> list[str]:
    """Words for answers that were there before the plan, about items that it is about."""
    try:
        # The file says the minute; what came within it was not there before for sure.
        moment = datetime.strptime(planned.written, _WHEN).replace(tzinfo=UTC).timestamp()
    except ValueError:  # written by hand, or not at all
        return []
    number = _read_store(study, lambda store: _answers_before(store, moment, study))
    was = "was" if number == 1 else "were"
    return [f"{counted(number, 'answer')} {was} there before the plan was written"] if number else []


def _answers_before(store: Store, moment: float, study: Study) -> int:
    from assay.study.store.work import answers_before

    return answers_before(store, moment, study.tested_items())


def _pooled_words(labels: Annotations) -> list[str]:
    """Words for questions that are pooled, as names of items show them."""
    parts = None if labels.criteria else questions_in(labels.items["item"])
    if parts is None:
        return []
    return [
        f"{len(parts.suffix.names)} questions ({listing(parts.suffix.names.to_list(), 5)}) are pooled, as the names of "
        "the items show; read with split_item='auto' (--split-item auto), each has a verdict of its own."
    ]


def _set_look(settings: S, look: int, looks: int) -> S:
    """The settings with this look, unless somebody said which it is; a look beyond the last counts as the last."""
    return settings if "look" in settings.changed() else replace(settings, look=min(look, looks), looks=looks)


def tuned_on(labels: Annotations, judges: Sequence[str], study: Study | None = None) -> list[str]:
    """Words for items that prompts may have been tuned on; none where all of them are new to the judges."""
    lines = []
    if PART in labels.items.columns:
        of_judges = labels.labels.filter(pl.col("annotator").is_in(list(judges)))["item"].unique()
        parts = labels.items.filter(pl.col("item").is_in(of_judges.implode()))[PART]
        n, seen = len(parts), int((parts == DEVELOPMENT).sum())
        if seen and seen == n:
            lines.append(
                f"All {counted(n, 'item')} are for development: prompts were tuned on them, and a verdict on them does "
                "not carry over to new items. Ask the judges about the test items"
                + (f": assay judge {study.folder} --part test." if study is not None else ".")
            )
        elif seen:
            lines.append(
                f"{seen:,} of {n:,} items are for development: prompts were tuned on them. For a verdict on the others "
                "alone, keep those for the test (--where part=test, labels.where(part='test'))."
            )
    if study is not None and study.parts:
        versions = _read_store(study, lambda store: _versions(store, study))
        lines += [
            f"{versions[name]} versions of the prompt of {name} have been asked about test items: a verdict on them is "
            "about items that its prompt was tuned on. Items that no prompt has seen would tell more."
            for name in judges
            if versions.get(name, 0) > 1
        ]
    return lines


def _versions(store: Store, study: Study) -> dict[str, int]:
    from assay.study.store.work import prompt_versions

    return prompt_versions(store, [name for name, part in study.parts.items() if part == TEST])


def study_of(labels: Annotations) -> Study | None:
    """The study that the labels are of, as its folder says it now."""
    folder = labels.reading.study
    if not folder or not (Path(folder) / "study.yaml").is_file():
        return None
    from assay.study.definition import load_study

    return load_study(folder)


def replies_about(labels: Annotations, asked: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What judges replied, word for word, by judge and item, where the labels' study keeps it."""
    study = study_of(labels)
    if study is None:
        return {}
    from assay.study.store.answers import latest_replies

    judges, items = ({one[k] for one in asked} for k in range(2))

    def look_up(store: Store) -> dict[tuple[str, str], str]:
        rows = (row for item in items for row in latest_replies(store, judges=sorted(judges), item=item))
        return {(row["annotator"], row["item"]): row["reasoning"] or row["reply"] for row in rows}

    return _read_store(study, look_up)


R = TypeVar("R")


def _read_store(study: Study, work: Callable[[Store], R]) -> R:
    from assay.study.store.connection import open_to_read

    with open_to_read(study) as store:
        return work(store)


def count_look(study: Study) -> int:
    """Which look at a study's labels this is, from 1 on; labels that were looked at before are the same look.

    All labels of the items that are tested are looked at, whichever of them a report is about.
    """
    from assay.reading import study_labels
    from assay.study.store.connection import put_setting, setting

    labels = study_labels(study)
    if TEST in (labels.values_of(PART) if PART in labels.items.columns else ()):
        labels = labels.where(part=TEST)

    def count(store: Store) -> int:
        with store.exclusive() as db:
            seen = list(setting(db, LOOKS) or ())
            known = [one["data"] for one in seen]
            if labels.fingerprint in known:
                return known.index(labels.fingerprint) + 1
            seen.append({"data": labels.fingerprint, "items": labels.n_items, "at": store.now(db)})
            put_setting(db, LOOKS, seen)
            return len(seen)

    return _read_store(study, count)
