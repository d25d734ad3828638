"""The preregistered plan and its deviations, planned interim analyses, and items that prompts were tuned on.

`assay plan alt-test --write plan.yaml` writes a `Preregistration`; a report with this plan lists the deviations. Every
verdict of a report or gate starts with `before_verdict`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import yaml

from assay._version import __version__
from assay.data.annotations import Annotations, Repeats
from assay.data.columns import PART, PARTS
from assay.data.names import questions_in
from assay.errors import DesignError, counted, listing, unknown
from assay.estimation.options import IntervalSettings, Settings, plain
from assay.replacement.alt_test import tuned_items
from assay.replacement.panel import AltTestSettings
from assay.study import LOOKS, PLAN_FILE, PLAN_QUESTION, items_at_look

if TYPE_CHECKING:
    from assay.planning import AltTestPlan
    from assay.study.definition import Study
    from assay.study.store.connection import Store

S = TypeVar("S", bound=AltTestSettings)

_UNDECIDED = {"expertise", "analysis", "analyses", *(f.name for f in fields(IntervalSettings))}
"""Options of the alt-test that are not part of a plan's verdict: epsilon includes expertise, the number of interim
analyses is a separate key, the number of this analysis is known later, and the others concern intervals."""

ALWAYS = ("epsilon", "alpha", "threshold", "min_agreement_ratio")
"""Options that a plan file always states, also at their default: a referee asks for them first."""

TEST = PARTS[1]


# -- the plan file -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Preregistration:
    """The decisions made before the labels are collected.

    Attributes
    ----------
    verdict : mapping of option to value
        Options of the alt-test that decide a verdict; other options are at their default.
    n_items, n_annotators : int or None
        Planned numbers.
    looks : int
        Planned analyses of the verdict while labels are collected, including the last one.
    criteria : tuple of str
        Planned criteria; empty if the plan names none.
    judges : mapping of judge to mapping
        ``model`` and ``prompt`` (a fingerprint) of each, if a study defines them; empty if the plan names none.
    names : str or None
        Fingerprint of the item ids, if they are known.
    written : str
        Time of writing.
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
        """Return the decisions of a sample-size plan and a study.

        Raises
        ------
        DesignError
            If the plan has several epsilons, numbers of annotators or numbers of items; if an option is a function,
            which a file cannot store.
        """
        settings = found.settings
        for name, values in (("epsilon", settings.epsilons), ("n_annotators", settings.panels)):
            if len(values) > 1:
                raise DesignError(
                    f"a plan file has one {name}; got {listing(values)}: choose one with {name}=...",
                    option=name,
                )
        n_items = found.smallest["n_items"][0] if len(settings.sizes) > 1 else settings.sizes[0]
        if n_items is None:
            raise DesignError(
                f"none of these numbers of items has power {settings.power:g}; try larger ones, or choose one with "
                "n_items=...",
                option="n_items",
            )
        test = settings.alt_test
        known = {} if study is None else study_facts(study, judges)
        if study is not None and n_items != len(study.tested_items()):
            del known["names"]  # items are added or omitted
        return cls(
            verdict={
                n: _plain_value(getattr(test, n), n) for n in _deciding_options() if n in ALWAYS or n in test.changed()
            },
            n_items=int(n_items),
            n_annotators=settings.panels[0],
            looks=test.analyses,
            **({"judges": {name: {} for name in judges}} | known),
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Preregistration:
        """Read a plan file.

        Raises
        ------
        DesignError
            If there is no such file, or it is not a plan.
        """
        source = os.fspath(path)
        try:
            content = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise DesignError(
                f"the plan '{source}' does not exist; write one with: assay plan alt-test --write {source}"
            ) from None
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise DesignError(f"{source} cannot be read as a plan: {' '.join(str(error).split())}") from None
        if not isinstance(content, Mapping) or content.get("question") != PLAN_QUESTION:
            raise DesignError(f"{source} is not a plan file of assay: it must contain 'question: {PLAN_QUESTION}'")
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
        """Write the plan and return it with its file and time; an existing plan is never overwritten.

        Raises
        ------
        DesignError
            If the file exists: a preregistered plan is not written again.
        """
        made = replace(self, source=os.fspath(path), written=datetime.now(UTC).strftime(_WHEN))
        values = {**made.to_dict(), "assay": __version__}
        text = _HEAD + yaml.safe_dump({k: values[k] for k in _KEYS if values[k]}, sort_keys=False, allow_unicode=True)
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise DesignError(
                f"'{made.source}' exists, and a plan is not overwritten; name another file, or remove this one"
            ) from None
        return made

    def summary(self) -> str:
        """The decisions in one line."""
        parts = [f"{name} {_value_words(value)}" for name, value in self.verdict.items()]
        numbers = {"item": self.n_items, "annotator": self.n_annotators}
        parts += [counted(number, what) for what, number in numbers.items() if number is not None]
        parts += [f"{self.looks} analyses"] if self.looks > 1 else []
        parts += [f"criteria {listing(self.criteria, 4)}"] if self.criteria else []
        return ", ".join(parts + ([f"judges {listing(list(self.judges), 4)}"] if self.judges else []))

    def to_dict(self) -> dict[str, Any]:
        """The contents of the file."""
        return {
            "question": PLAN_QUESTION,
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
        """The options that the plan decides, without those that are given."""
        known = {f.name for f in fields(kind)}
        both = {"epsilon", "expertise"}
        taken = {*given, *(both if both & {k for k, v in given.items() if v is not None} else ())}
        decided = dict(self.verdict) | ({"analyses": self.looks} if self.looks > 1 else {})
        return {name: value for name, value in decided.items() if name in known and name not in taken}

    # -- deviations -----------------------------------------------------------------------------------

    def deviations(
        self, labels: Annotations, judges: Sequence[str], settings: AltTestSettings, *, study: Study | None, look: int
    ) -> list[str]:
        """The deviations from the plan, a line each."""
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
                yield f"{name} {_value_words(now)}, {_value_words(was)} planned"
        if settings.analyses != self.looks:
            yield f"analyses {settings.analyses}, {self.looks} planned"

    def _other_questions(self, labels: Annotations) -> Iterator[str]:
        if not self.criteria:
            return
        there = labels.criteria
        if not there and len(self.criteria) > 1:
            yield f"labels without criteria, {listing(self.criteria)} planned"
        for name in there:
            if name not in self.criteria:
                yield f"criterion '{name}' was not planned"
        for name in self.criteria if there else ():
            if name not in there:
                yield f"criterion '{name}' was planned but has no labels"

    def _other_judges(self, judges: Sequence[str], study: Study | None) -> Iterator[str]:
        if not self.judges:
            return
        now = {} if study is None else {name: study.way_of(name) for name in study.judge_names}
        for name in judges:
            if name not in self.judges:
                yield f"judge '{name}' was not planned"
        for name, planned in self.judges.items():
            if name not in judges:
                yield f"judge '{name}' was planned but is not tested"
                continue
            for what, was in planned.items():
                if name in now and (other := now[name].get(what)) != was:
                    yield f"judge '{name}': {what} {other}, {was} planned"

    def _other_sizes(self, labels: Annotations, look: int) -> Iterator[str]:
        if look > self.looks:
            yield _beyond(look, self.looks)
        wanted = None if self.n_items is None else items_at_look(self.n_items, look, self.looks)
        if wanted is not None and labels.n_items != wanted:
            at = f" for analysis {look} of {self.looks}" if self.looks > 1 and look <= self.looks else ""
            yield f"{labels.n_items:,} items labelled, {wanted:,} planned{at}"
        elif self.names is not None and labels.n_items == self.n_items and names_of(labels.items["item"]) != self.names:
            yield "the items differ from the planned items"
        if self.n_annotators is not None and len(labels.humans) != self.n_annotators:
            yield f"{counted(len(labels.humans), 'annotator')}, {self.n_annotators} planned"


_HEAD = """\
# The preregistered plan. Keep it under version control, or register it.
# assay report LABELS --plan THIS_FILE lists the deviations.
"""

_WHEN = "%Y-%m-%d %H:%M:%S UTC"

_TIMES = (_WHEN, "%Y-%m-%d %H:%M UTC")
"""Formats of the time of writing; plans of earlier versions have minutes only."""

_KEYS = (
    *("assay", "question", "written", "verdict", "items", "annotators", "looks", "criteria", "judges", "names"),
)  # fmt: skip
"""Keys of a plan file, in their order."""


def _deciding_options() -> list[str]:
    """Options that decide a verdict; first those that a referee asks for first."""
    known = [f.name for f in fields(AltTestSettings) if f.name not in _UNDECIDED]
    return [*ALWAYS, *(name for name in known if name not in ALWAYS)]


def _plain_value(value: Any, name: str, *, strict: bool = True) -> Any:
    """An option as a file stores it."""
    named = getattr(value, "name", None)
    if isinstance(named, str):
        return named
    made = plain(value)
    if strict and callable(value):
        raise DesignError(f"a plan file cannot store a function; set {name}=... to a name", option=name)
    return round(made, 10) if isinstance(made, float) else made


def _value_words(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:g}" if isinstance(value, float) else str(_plain_value(value, "", strict=False))


def _beyond(look: int, planned: int) -> str:
    """An analysis after the last planned one."""
    return f"analysis {look}, but {planned} planned: the significance level no longer holds"


def _mapping(value: Any, key: str, source: str) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DesignError(f"{source}: '{key}' must be a mapping of names to values")
    return value


def _whole(value: Any, key: str, source: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise DesignError(f"{source}: '{key}' must be a whole number of at least 1; got {value!r}")
    return value


def names_of(items: pl.Series) -> str:
    """A fingerprint of names that does not depend on their order."""
    from assay.study.items import digest_of

    return digest_of(sorted(items.to_list()))[:12]


def study_facts(study: Study, judges: Sequence[str] = ()) -> dict[str, Any]:
    """Return the decisions of a study: its criteria, its judges with model and prompt, and the ids of its test items.

    Raises
    ------
    DesignError
        If the study does not have a judge.
    """
    for name in judges:
        if name not in study.judge_names:
            raise DesignError(unknown("judge", name, study.judge_names, f"{study.folder}/study.yaml"))
    return {
        "criteria": study.question_names,
        "judges": {name: study.way_of(name) for name in judges or study.judge_names},
        "names": names_of(pl.Series(study.tested_items(), dtype=pl.String)),
    }


def plan_options(study: Study, given: Mapping[str, Any], judges: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of a sample-size plan, with those that a study decides: items, verdicts, analyses and scale.

    Without a margin, a plan is a comparison of margins and sizes: the items of the study and larger numbers.

    Raises
    ------
    DesignError
        If the questions have several scales, or none that can be simulated, and ``given`` has no ``categories``.
    """
    from assay.planning import SIZES
    from assay.study.schema import scale_of

    asked = {question.name: scale_of(question.scale) for question in study.config.questions}
    simulated = {name: scale for name, scale in asked.items() if scale.categories or scale.bounds}
    n_items = len(study.tested_items())
    larger = [] if {"epsilon", "expertise"} & set(given) else [size for size in SIZES if size > n_items]
    decided: dict[str, Any] = {
        "n_items": [n_items, *larger] if larger else n_items,
        "n_verdicts": max(1, len(judges or study.judge_names) * len(simulated)),
        "analyses": study.config.analyses or 1,
    }
    if "categories" not in given and given.get("pilot") is None:
        scales = {scale.spec for scale in simulated.values()}
        if len(scales) != 1:
            shown = listing([f"{scale.spec} ({name})" for name, scale in (simulated or asked).items()], 4)
            raise DesignError(
                f"a plan simulates labels on one scale, and the questions of '{study.folder}' are on {shown}: choose "
                "it with categories=...",
                option="categories",
            )
        decided["categories"] = scales.pop()
    return {**decided, **given}


# -- notices before a verdict --------------------------------------------------------------------------


def study_plan(labels: Annotations) -> str | None:
    """Return the plan file in the folder of the labels' study; None if there is none."""
    path = Path(labels.reading.study) / PLAN_FILE
    return str(path) if labels.reading.study and path.is_file() else None


def before_verdict(
    labels: Annotations, judges: Sequence[str], settings: S, plan: str | None = None
) -> tuple[S, tuple[str, ...]]:
    """Return the settings with the number of this analysis, and the notices that precede a verdict.

    The notices are the items that a prompt was tuned on, the number of the interim analysis, and the deviations from
    the plan. If a study plans several analyses, each is recorded in its store.

    Parameters
    ----------
    judges : list of str
        The tested judges.
    plan : str, optional
        The plan file.
    """
    study = study_of(labels)
    planned = None if plan is None else Preregistration.read(plan)
    lines = [*tuned_on(labels, judges, study), *_pooled_words(labels), *_order_words(labels)]
    stated = 1 if study is None else study.config.analyses or 1
    looks = stated if planned is None else planned.looks
    look = 1
    if study is not None and looks > 1:
        look = count_look(study)
        settings = _set_look(settings, look, looks)
        beyond = _beyond(look, looks)
        lines.append(f"{beyond[:1].upper()}{beyond[1:]}." if look > looks else f"Interim analysis {look} of {looks}.")
    else:
        look = settings.analysis
        if looks > 1 and "analysis" not in settings.changed():
            lines.append(f"Counted as interim analysis 1 of {looks}; set its number with analysis=... (--analysis).")
    if planned is not None:
        found = planned.deviations(labels, judges, settings, study=study, look=look)
        found += [] if study is None else _late(planned, study)
        if stated not in (1, looks):
            found.append(f"{stated} analyses in study.yaml, {looks} planned")
        about = f"{planned.source}, written {planned.written}" if planned.written else planned.source
        lines.append(f"Preregistered plan followed ({about})." if not found else f"Deviations from the plan ({about}):")
        # The name of an option or of a file keeps its case.
        lines += [f"{line if set('_.') & set(line.split()[0]) else line[:1].upper() + line[1:]}." for line in found]
    return settings, tuple(lines)


def _late(planned: Preregistration, study: Study) -> list[str]:
    """A notice of answers to the planned items that were saved before the plan was written."""
    moment = _moment(planned.written)
    if moment is None:
        return []
    number = _read_store(study, lambda store: _answers_before(store, moment, study))
    return [f"{counted(number, 'answer')} saved before the plan was written"] if number else []


def _moment(written: str) -> float | None:
    """The time of writing in seconds since 1970; None if it was written by hand, or not at all."""
    for form in _TIMES:
        with suppress(ValueError):
            return datetime.strptime(written, form).replace(tzinfo=UTC).timestamp()
    return None


def _answers_before(store: Store, moment: float, study: Study) -> int:
    from assay.study.store.work import answers_before

    return answers_before(store, moment, study.tested_items())


def _pooled_words(labels: Annotations) -> list[str]:
    """A notice of several criteria that are pooled, by the item ids."""
    parts = None if labels.criteria else questions_in(labels.items["item"])
    if parts is None:
        return []
    return [
        f"The item ids contain {len(parts.suffix.names)} criteria ({listing(parts.suffix.names.to_list(), 5)}), which "
        "are pooled. For a separate verdict on each, read with split_item='auto' (--split-item auto)."
    ]


def _order_words(labels: Annotations) -> list[str]:
    """A notice of votes in both orders, which count as one."""
    if (votes := labels.with_one_vote).labels is labels.labels:
        return []
    note = votes.reading.lines()[-1]
    return [f"{note[:1].upper()}{note[1:]}."]


def _set_look(settings: S, look: int, looks: int) -> S:
    """The settings with the number of this analysis, unless it is set; one beyond the last counts as the last."""
    return (
        settings if "analysis" in settings.changed() else replace(settings, analysis=min(look, looks), analyses=looks)
    )


def tuned_on(labels: Annotations, judges: Sequence[str], study: Study | None = None) -> list[str]:
    """Return notices of items that prompts were or can have been tuned on."""
    lines = tuned_items(labels, judges)
    if study is not None and study.parts:
        versions = _read_store(study, lambda store: _versions(store, study))
        lines += [
            f"{versions[name]} prompt versions of {name} were used on test items, so its prompt can be tuned to them. "
            "A verdict on new items is more reliable."
            for name in judges
            if versions.get(name, 0) > 1
        ]
    return lines


def _versions(store: Store, study: Study) -> dict[str, int]:
    from assay.study.store.work import prompt_versions

    return prompt_versions(store, [name for name, part in study.parts.items() if part == TEST])


def study_of(labels: Annotations) -> Study | None:
    """Return the study of the labels, from its folder; None if there is none."""
    folder = labels.reading.study
    if not folder or not (Path(folder) / "study.yaml").is_file():
        return None
    from assay.study.definition import load_study

    return load_study(folder)


def responses_about(
    labels: Annotations, asked: Iterable[tuple[str, str, str | None]], repeats: Repeats
) -> dict[tuple[str, str, str | None], str]:
    """Return the judges' responses to which these labels belong, by (judge, item, criterion).

    A response belongs to a label if it was given in the same repeat and under the same conditions. Of several repeats
    it is the one that gave the label; if none did, as for a mean, it is all of them.
    """
    study = study_of(labels)
    if study is None:
        return {}
    from assay.study.store.answers import latest_replies

    wanted = list(asked)
    found = labels.where(annotator=sorted({judge for judge, _, _ in wanted}), item=sorted({i for _, i, _ in wanted}))
    single = {_key(row): row["label"] for row in found.resolve_repeats(repeats).labels.iter_rows(named=True)}
    given: dict[tuple[str, str, str | None], list[dict[str, Any]]] = {}
    for row in found.labels.iter_rows(named=True):
        given.setdefault(_key(row), []).append(row)

    def look_up(store: Store) -> dict[tuple[str, str, str | None], str]:
        chosen = {}
        for key in wanted:
            replies = latest_replies(store, judges=labels.reading.asked, item=key[1])
            pairs = [(row, one) for row in given[key] for one in replies if _belongs(one, row)]
            pairs = pairs[::-1] if repeats == "last" else pairs
            same = [one for row, one in pairs if row["label"] == single[key]][:1]
            texts = [one["reasoning"] or one["reply"] for one in same or [one for _, one in pairs]]
            if texts:
                chosen[key] = "\n".join(dict.fromkeys(texts))
        return chosen

    return _read_store(study, look_up)


def _key(row: Mapping[str, Any]) -> tuple[str, str, str | None]:
    return row["annotator"], row["item"], row.get("criterion")


def _belongs(reply: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a response has given this label: of this judge, to this question, in this repeat and condition."""
    name, number, question = reply["annotator"], reply["repeat"], reply["criterion"]
    if row["annotator"] != f"{name} (repeat {number})" and (row["annotator"], row.get("repeat", 1)) != (name, number):
        return False
    criterion = row.get("criterion") or question
    asked = criterion == question or criterion.startswith(f"{question}: ")
    return asked and all(row.get(name) in (value, str(value)) for name, value in reply["condition"].items())


R = TypeVar("R")


def _read_store(study: Study, work: Callable[[Store], R]) -> R:
    from assay.study.store.connection import open_to_read

    with open_to_read(study) as store:
        return work(store)


def count_look(study: Study) -> int:
    """Return the number of this analysis of a study's labels, from 1; the same labels are the same analysis.

    All labels of the test items are counted, even if a report uses only some of them.
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
