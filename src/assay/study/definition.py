"""A study's folder: items, questions, judges and people, as its ``study.yaml`` defines them.

The folder holds ``study.yaml``, the items, prompts of one's own, the labels that people gave, and the
database in which every answer is kept (`assay.study.store`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError
from yaml.composer import Composer
from yaml.resolver import Resolver

from assay.data.columns import PARTS
from assay.data.scales import Listed, Scale, SpanLabels, parse_scale, plain_number
from assay.errors import StudyError, listing, unknown
from assay.study.items import (
    SPLIT_FILE,
    Item,
    KnownItem,
    digest_of,
    read_items,
    read_known_items,
    read_names,
    read_parts,
)
from assay.study.schema import (
    KINDS,
    Checks,
    Conditions,
    Crowd,
    Demonstrations,
    Ensemble,
    ItemsPart,
    Judge,
    JudgeLimits,
    OnScale,
    OutputPairs,
    Pay,
    People,
    Price,
    Probes,
    Question,
    RateLimits,
    Screening,
    StudyFile,
    StudyPart,
    System,
    listed_labels,
    scale_of,
)

Where = tuple[str | int, ...]
"""A place in study.yaml: ``("questions", 0, "scale")``."""

Problem = tuple[Where, str]
"""Where something is wrong, and what."""

MOST_PROBLEMS = 5
"""Problems that one message names: as many as are mended before the next look."""

RESERVED_KEYS = {
    **{str(n): f"chooses answer {n}" for n in range(1, 10)},
    "0": "chooses no preference",
    "s": "skips",
    "f": "flags",
    "u": "undoes",
    "p": "goes back to the previous page",
    "i": "shows the instructions",
    "c": "goes to the comment",
    "?": "shows the keys",
}
"""What a key does on people's page whatever the question."""


# -- the file and its lines ----------------------------------------------------------------------------


def parse_yaml(path: Path) -> tuple[Any, dict[Where, int]]:
    """What a YAML file holds, and the line on which each key stands.

    Raises
    ------
    StudyError
        With the line that cannot be read.
    """
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise StudyError(f"{path} has {size:,} bytes, and a study's description has {LARGEST_FILE:,} at most")
    try:
        node = _compose(path.read_text(encoding="utf-8"))
        if node is not None and _count_values(node, {}) > MOST_NODES:
            raise StudyError(f"{path} grows beyond {MOST_NODES:,} values by its aliases (*); write them out")
        lines = _lines(node)
        return _Loader("").construct_document(node) if node is not None else {}, lines
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyError(f"{path}{where}: {error.problem or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None


LARGEST_FILE, MOST_NODES = 2_000_000, 200_000
"""Bytes of study.yaml, and its values once aliases are replaced: a hundred times what the largest study needs, and few
enough to be read in seconds. A file of 282 bytes with aliases of aliases would fill all memory."""


def _count_values(node: yaml.Node, known: dict[int, int]) -> int:
    """The values of a node, with those of its aliases; each is counted once and added as often as it is named."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_NODES + 1  # within itself it has no end
    parts = node.value if isinstance(node, yaml.SequenceNode) else []
    parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else parts
    known[id(node)] = 1 + sum(_count_values(part, known) for part in parts)
    return known[id(node)]


class _Loader(yaml.SafeLoader):
    """YAML in which yes, no, on, off and dates are the words they look like, and a key stands once."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.I), list("tTfF"))


def _compose(text: str) -> yaml.Node | None:
    """What a text says; by libyaml where it is installed, in a third of the time, but for the words of its errors."""
    if yaml.__with_libyaml__:
        from yaml.cyaml import CParser  # type: ignore[attr-defined]

        class QuickLoader(Composer, CParser, Resolver):  # libyaml's own composer crashes at 100,000 lists in each other
            yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers

            def __init__(self, stream: str) -> None:
                CParser.__init__(self, stream)
                Composer.__init__(self)
                Resolver.__init__(self)

        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=QuickLoader)  # type: ignore[arg-type]
    return yaml.compose(text, Loader=_Loader)


def _lines(node: yaml.Node | None, path: Where = ()) -> dict[Where, int]:
    """The line on which each key stands, by its path; a key that appears twice is an error."""
    if node is None:
        return {(): 1}
    lines = {path: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*path, key.value)
            if inner in lines:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' appears twice", problem_mark=key.start_mark)
            lines |= _lines(value, inner)
            lines[inner] = key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for position, value in enumerate(node.value):
            lines |= _lines(value, (*path, position))
    return lines


def _problem_words(path: Path, lines: dict[Where, int], problems: Sequence[Problem]) -> str:
    """What is wrong, a line a problem: file, line, key and words."""
    shown = []
    for where, what in problems[:MOST_PROBLEMS]:
        there = next((lines[where[:n]] for n in range(len(where), -1, -1) if where[:n] in lines), 1)
        key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in where).lstrip(".") or "the file"
        shown.append(f"{path}, line {there}, {key}: {what}")
    more = [f"and {len(problems) - MOST_PROBLEMS} more"] if len(problems) > MOST_PROBLEMS else []
    return "\n".join(shown + more)


# -- what is not as the schema has it ------------------------------------------------------------------


def problems_of(error: ValidationError) -> list[Problem]:
    """Everything that pydantic found, in words."""
    # A tuple whose parts have errors is also called too short; the parts' errors say it all.
    found = error.errors(include_url=False)
    deeper = {problem["loc"][:1] for problem in found if len(problem["loc"]) > 1}
    return [_explain(one) for one in found if len(one["loc"]) > 1 or one["loc"] not in deeper]


def _explain(problem: Any) -> Problem:
    """Path and plain words of one pydantic error; the value is not repeated, it may be a secret."""
    # What kind of judge it is stands in pydantic's path after the judge's position, not in the file.
    loc = problem["loc"]
    where = loc[:2] + loc[3:] if loc[:1] == ("judges",) else loc
    where = tuple(p for p in where if p not in ("str", "tuple[str, ...]"))
    if problem["type"] == "missing":
        return where, "is missing"
    if problem["type"] == "extra_forbidden":
        return where, _unknown_key(where)
    message = str(problem["msg"]).removeprefix("Value error, ")
    return where, message[:1].lower() + message[1:] if message.startswith("Input") else message


_PLACES: dict[str, tuple[type[StudyPart], ...]] = {
    "": (StudyFile,),
    "items": (ItemsPart,),
    "questions": (Question,),
    "by_scale": (OnScale,),
    "systems": (System,),
    "judges": (Judge, Ensemble),
    "demonstrations": (Demonstrations,),
    "price": (Price,),
    "comparisons": (OutputPairs,),
    "conditions": (Conditions,),
    "probes": (Probes,),
    "limits": (RateLimits, JudgeLimits),
    "people": (People,),
    "checks": (Checks,),
    "crowd": (Crowd,),
    "screening": (Screening,),
    "pay": (Pay,),
}
"""Which keys may stand under which."""


def _unknown_key(where: Where) -> str:
    """What to do about a key that is not known: the nearest of its place, else where it belongs."""
    name = str(where[-1])
    above = next((part for part in reversed(where[:-1]) if part in _PLACES), "")
    keys = [key for part in _PLACES[str(above)] for key in part.model_fields]
    close = difflib.get_close_matches(name, dict.fromkeys(keys), n=1)
    elsewhere = [place for place, parts in _PLACES.items() if any(name in part.model_fields for part in parts)]
    if close:
        return f"is not a key here; did you mean '{close[0]}'?"
    if elsewhere:
        return f"is not a key here; it belongs {f'under {elsewhere[0]}:' if elsewhere[0] else 'at the top'}"
    return f"is not a key here; the keys are {listing(list(dict.fromkeys(keys)), 40)}"


# -- what is well-formed and yet cannot be meant --------------------------------------------------------


def contradictions(config: StudyFile, folder: Path) -> Iterator[Problem]:
    """What is well-formed and yet cannot be meant."""
    for part, named in (("questions", config.questions), ("judges", config.judges), ("systems", config.systems)):
        names = [one.name for one in named]
        for position, name in enumerate(names):
            if name in names[:position]:
                yield (part, position, "name"), f"'{name}' appears twice"
    yield from _system_problems(config)
    for position, question in enumerate(config.questions):
        for where, what in _question_problems(question):
            yield ("questions", position, *where), what
        if config.labels is not None and isinstance(scale_of(question.scale), Listed):
            yield (
                ("labels",),
                f"cannot hold answers to '{question.name}', which are lists: have people answer on the page, or ask "
                "of each label or pair in a question of its own (scale: [no, yes], or preference)",
            )
    yield from _file_column_problems(config)
    yield from _span_problems(config)
    yield from _people_problems(config)
    yield from _crossing_problems(config, folder)
    yield from _probe_problems(config)
    prompts = {file.stem for file in (folder / "prompts").glob("*.*")} | {"default"}
    for part, models in (("systems", config.systems), ("judges", config.judges)):
        for position, judge in enumerate(models):
            for where, what in _judge_problems(judge, prompts, config):
                yield (part, position, *where), what
    for position, prompt in enumerate(config.conditions.prompt):
        if prompt not in prompts:
            yield ("conditions", "prompt", position), unknown("prompt", prompt, sorted(prompts), "prompts/")


def _file_column_problems(config: StudyFile) -> Iterator[Problem]:
    """Columns that hold files and are said to hold something else, too."""
    part = config.items
    for position, column in enumerate(part.media):
        if column in part.images:
            yield ("items", "media", position), f"'{column}' is named in images, too; it holds one or the other"
    for column in part.captions:
        if column not in part.media:
            yield ("items", "captions", column), unknown("column", column, list(part.media), "media")
    if part.formulas and not part.markdown:
        yield ("items", "formulas"), "needs items.markdown, the columns in which they are laid out"
    for position, column in enumerate(part.markdown):
        if column in part.file_columns:
            yield ("items", "markdown", position), f"'{column}' holds a file, and no text"
    for position, question in enumerate(config.questions):
        for column in {*(question.show or ()), *question.options} & {*part.captions.values()}:
            yield (
                ("questions", position),
                f"shows '{column}', which holds captions: they are shown with their recording; leave it out",
            )


def _span_problems(config: StudyFile) -> Iterator[Problem]:
    """Texts in which no spans can be marked."""
    for position, question in enumerate(config.questions):
        where, column = ("questions", position, "of"), question.marked
        if not isinstance(scale_of(question.scale), SpanLabels):
            if question.of is not None:
                yield where, "is for spans"
            continue
        if column is None:
            yield where, "is missing: name the column of the text in which spans are marked"
        elif column in (*config.items.markdown, *config.items.file_columns):
            what = "is laid out as Markdown" if column in config.items.markdown else "holds a file"
            yield where, f"names '{column}', which {what}; spans are marked in plain text"


def _question_problems(question: Question) -> Iterator[Problem]:
    scale = scale_of(question.scale)
    wanted = len(question.kind.places)
    if len(question.options) != wanted and question.drawn_from is None and question.outputs_of is None:
        comparing = ", ".join(name for name, kind in KINDS.items() if kind.places) + " and ranking"
        yield ("options",), f"needs {wanted} columns to choose between" if wanted else f"is for {comparing}"
    for label in question.meanings:
        known = [str(c) for c in listed_labels(scale)]
        if known and label not in known:
            yield ("meanings", label), unknown("label", label, known, "the scale")
        elif scale.numeric and scale.read(label) is None:
            yield ("meanings", label), f"is not on the scale: a label must be {scale.describe()}"
    for label, why in _unusable_keys(question, scale).items():
        yield ("keys", label), why


def _system_problems(config: StudyFile) -> Iterator[Problem]:
    """What compares the outputs of systems, and what cannot stand beside it."""
    texts = [q.name for q in config.questions if q.kind.free_text]
    compared = dict.fromkeys(q.outputs_of for q in config.questions if q.outputs_of)
    for position, question in enumerate(config.questions):
        named, options = question.outputs_of, ("questions", position, "options")
        if named is not None and not config.systems:
            yield (
                options,
                "needs two columns to choose between; one question, whose outputs are compared, needs systems",
            )
        elif named is not None and named not in texts:
            words = "needs a question on the scale text, which the systems answer; "
            yield options, words + unknown("question", named, texts, "those")
        elif config.systems and named is None and question.name not in compared:
            yield (
                options[:2],
                f"'{question.name}' is about items, and in a study of systems people and judges are shown pairs of "
                "outputs; ask it in a study of its own",
            )
    if not config.systems:
        if "comparisons" in config.model_fields_set:
            yield ("comparisons",), "needs systems, whose outputs are compared"
        return
    if len(compared) != 1:
        yield (
            ("systems",),
            "need one question on the scale text, which they answer, and one on the scale preference whose options "
            f"name it; this study compares the outputs of {len(compared)}",
        )
    if len(config.systems) < 2:
        yield ("systems",), "needs two at least, as outputs of two are compared"
    names = [one.name for one in config.systems]
    for position, judge in enumerate(config.judges):
        if judge.name in names:
            yield ("judges", position, "name"), f"'{judge.name}' is a system; give the judge a name of its own"
    for position, system in enumerate(config.systems):
        if system.strategy != "zero-shot":
            yield ("systems", position, "strategy"), "is for judges; give a system a prompt of its own with prompt:"
    if config.labels is not None:
        yield ("labels",), "cannot be: what people compare is drawn from the systems' outputs"


def _crossing_problems(config: StudyFile, folder: Path) -> Iterator[Problem]:
    """What would contradict the scale in a prompt, where conditions.scale replaces the question's own."""
    crossed = {spec: parse_scale(spec) for spec in config.conditions.scale}
    for position, question in enumerate(config.questions):
        own = scale_of(question.scale)
        others = {spec: scale for spec, scale in crossed.items() if own.numeric and scale != own}
        found = (*_scale_part_problems(question, [own, *others.values()]), *_own_scale_problems(question, own, others))
        for where, what in found:
            yield ("questions", position, *where), what
    asked = [judge.prompt for judge in config.judges if isinstance(judge, Judge)]
    for prompt in dict.fromkeys([*config.conditions.prompt, *asked]) if crossed else ():
        for file in sorted((folder / "prompts").glob(f"{prompt}.*")):
            if any(_names_ends(file.read_text(encoding="utf-8"), scale) for scale in crossed.values()):
                yield ("conditions", "scale"), f"prompts/{file.name} names a scale itself; write {{{{ scale }}}} there"


def _scale_part_problems(question: Question, asked: Sequence[Scale]) -> Iterator[Problem]:
    for spec, part in question.by_scale.items():
        scale = parse_scale(spec)
        if scale not in asked:
            yield ("by_scale", spec), f"'{spec}' is neither the question's scale nor one of conditions.scale"
        for label in part.meanings or {}:
            if scale.read(label) is None:
                yield ("by_scale", spec, "meanings", label), f"is not a label there: it must be {scale.describe()}"


def _own_scale_problems(question: Question, own: Scale, others: Mapping[str, Scale]) -> Iterator[Problem]:
    """What a question says of its own scale, where others are asked too."""
    for spec, scale in others.items():
        there = question.part_on(scale)
        if question.meanings and (there is None or there.meanings is None):
            yield (
                ("meanings",),
                f"belong to the scale '{question.scale}', and conditions.scale asks '{spec}' too; give that scale "
                f"its own under by_scale ({{'{spec}': {{meanings: {{…}}}}}}; {{}} for none)",
            )
    for part in ("text", "guidelines") if others else ():
        number = _label_in(getattr(question, part), own)
        if number is not None:
            yield (
                (part,),
                f"names {number}, a label of the scale '{question.scale}', and conditions.scale asks "
                f"'{next(iter(others))}' too; put guidelines that belong to a scale under by_scale, and write other "
                "numbers as words (the prompt says what a label may be)",
            )


def _label_in(text: str, scale: Scale) -> str | None:
    """A number in a text that is a label of a whole-number scale, or an end of one with fractions."""
    labels = scale.categories or scale.bounds or ()
    numbers = re.findall(r"(?<![\w.,])-?\d+(?:\.\d+)?(?![\w%])", text)
    return next((number for number in numbers if float(number) in labels), None)


def _names_ends(text: str, scale: Scale) -> bool:
    """Whether a text says from where to where a scale goes."""
    if scale.bounds is None:
        return False
    low, high = (re.escape(plain_number(end)) for end in scale.bounds)
    return bool(re.search(rf"(?<![\w.]){low}\s*(?:-|–|to|and|through|bis)\s*{high}(?![\w])", text))


def _judge_problems(judge: Judge | Ensemble, prompts: set[str], config: StudyFile) -> Iterator[Problem]:
    if isinstance(judge, Ensemble):
        asked = [one.name for one in config.judges if isinstance(one, Judge)]
        for member in judge.of:
            if member not in asked:
                yield ("of",), unknown("judge", member, asked, "the judges that are asked")
        return
    if judge.provider == "recorded" and judge.file is None:
        yield ("file",), "is missing: provider 'recorded' needs the file of replies"
    for provider, name in (("python", "function"), ("command", "command")):
        if judge.provider == provider and not getattr(judge, name):
            yield (name,), f"is missing: provider '{provider}' needs it"
        if judge.provider != provider and getattr(judge, name):
            yield (name,), f"is for provider: {provider}"
    if judge.provider not in ("recorded", "python", "command") and not judge.model:
        yield ("model",), "is missing"
    if judge.prompt is not None and judge.prompt not in prompts:
        yield ("prompt",), unknown("prompt", judge.prompt, sorted(prompts), "prompts/")
    for question in config.questions if judge.demonstrations.reasons else ():
        if judge.demonstrations.reasons in (question.show or ()):
            yield (
                ("demonstrations", "reasons"),
                f"is shown of the items that are judged, too: take it out of the show of '{question.name}'",
            )
    if judge.score == "expected" and not any(scale_of(q.scale).numeric for q in config.questions):
        yield ("score",), "expected is a mean, and no question is on numbers; use probabilities"


def _probe_problems(config: StudyFile) -> Iterator[Problem]:
    """Probes that would ask nothing."""
    probes = () if config.probes is None else config.probes.of
    judges = [one for one in config.judges if isinstance(one, Judge)]
    swaps = [q for q in config.questions if (q.options and q.kind.places) or q.draws_pairs]
    if "swapped" in probes and not any(q.orders != "all" for q in swaps):
        why = "both orders are asked already" if swaps else "no question has options"
        yield ("probes", "of"), f"swapped changes nothing here: {why}; leave it out"
    if "hint" in probes and any(q.marked for q in config.questions):
        yield ("probes", "of"), "hint cannot be asked with spans: no label can be named by itself; leave it out"
    if "sibling" in probes and not any(judge.sibling for judge in judges):
        yield ("probes", "of"), "sibling needs a judge with sibling: the name of another model of its provider"


def _unusable_keys(question: Question, scale: Scale) -> dict[str, str]:
    """What is wrong with the keys that a question gives its labels, by label."""
    known = [str(c) for c in listed_labels(scale)]
    wrong: dict[str, str] = {}
    taken: dict[str, str] = {}
    for label, key in question.keys.items():
        low = key.lower()
        if question.kind.places or not known:
            wrong[label] = "keys are for labels from a list; this scale has its own"
        elif label not in known:
            wrong[label] = unknown("label", label, known, "the scale")
        elif not re.fullmatch(r"[^\W\d_]", key):
            wrong[label] = f"'{key}' is not one letter"
        elif low in RESERVED_KEYS:
            wrong[label] = f"'{key}' {RESERVED_KEYS[low]} on every page; take another letter"
        elif low in taken:
            wrong[label] = f"'{key}' is the key of '{taken[low]}' already"
        taken.setdefault(low, label)
    return wrong


def _people_problems(config: StudyFile) -> Iterator[Problem]:
    people, drawing = config.people, next((q for q in config.questions if q.drawn_from), None)
    drawn = [q.name for q in config.questions if q.drawn_from and not q.draws_pairs]
    if isinstance(people.overlap, dict) and people.group is None:
        yield ("people", "group"), "is missing: overlap is given by group, so name the attribute that tells the group"
    if people.pass_warm_up is not None and people.warm_up is None:
        yield ("people", "pass_warm_up"), "needs people.warm_up, the table of what is practised"
    if drawing and any(q.drawn_from != drawing.drawn_from for q in config.questions):
        what = "pairs" if drawing.draws_pairs else "triplets"
        yield (
            ("questions",),
            f"'{drawing.name}' is about {what} of '{drawing.drawn_from}', so every question of its study must be "
            "about pairs or triplets of it",
        )
    yield from _crowd_problems(people)
    yield from _condition_problems(config)
    if people.together and config.items.document is None and not config.systems:
        yield ("people", "together"), "needs items.document, the column that names the document of an item"
    if drawn:
        why = f"cannot be: the triplets of '{drawn[0]}' are drawn"
        if people.together:
            yield ("people", "together"), f"{why} one at a time"
        for key in ("checks", "warm_up"):
            if getattr(people, key) is not None:
                yield ("people", key), f"{why}, so no answer is known"


def _crowd_problems(people: People) -> Iterator[Problem]:
    """What a crowd cannot be asked as, or cannot be told at the end."""
    if people.checks is not None and people.checks.exclude and not people.checks.stops:
        yield ("people", "checks", "exclude"), "needs most_failed or most_failed_share, how many checks may be failed"
    crowd = people.crowd
    if people.until is not None and people.keep_until is not None and people.keep_until < people.until.date():
        yield ("people", "keep_until"), "is before people.until, the day on which answering ends"
    if crowd is None:
        return
    if people.days is not None:
        yield ("people", "days"), "is for people who are invited by name; a crowd has crowd.minutes"
    if crowd.platform == "prolific" and "completed" not in crowd.codes:
        yield ("people", "crowd", "codes"), "needs completed, the completion code that Prolific shows for the study"
    if crowd.platform != "open" and not crowd.named.strip():
        yield ("people", "crowd", "id"), "is empty; name the parameter, or let anybody in with platform: open"
    if crowd.minutes is not None and people.days_apart:
        yield ("people", "crowd", "minutes"), "cannot be: people.days_apart lets days pass between two sessions"
    screening = crowd.screening
    if screening is not None:
        for label in sorted(set(screening.let_in) - set(screening.options)):
            yield (
                ("people", "crowd", "screening", "let_in"),
                unknown("option", label, list(screening.options), "the options"),
            )
    if people.group is not None and (screening is None or screening.attribute != people.group):
        yield (
            ("people", "crowd"),
            f"cannot tell to which group ({people.group}) a person belongs; give it a screening question with "
            f"attribute: {people.group}",
        )
    known = ("code", "outcome", *filter(None, (crowd.named,)), *crowd.kept)
    for name in re.findall(r"\{([^{}]*)\}", crowd.way_back):
        if name not in known:
            yield ("people", "crowd", "back"), unknown("parameter", name, list(known), "what may be in it")


def _condition_problems(config: StudyFile) -> Iterator[Problem]:
    """What is varied of systems where there are none, and ties of what is no preference."""
    varied, wanted = config.conditions.system_temperature, config.comparisons.temperature
    if varied and not config.systems:
        yield ("conditions", "system_temperature"), "needs systems; what judges are asked at is conditions.temperature"
    if wanted is not None and wanted not in varied:
        listed = ", ".join(f"{one:g}" for one in varied) or "nothing"
        yield ("comparisons", "temperature"), f"{wanted:g} is none of conditions.system_temperature, which has {listed}"
    for position, question in enumerate(config.questions):
        if question.ties is not True and not question.kind.words:
            yield ("questions", position, "ties"), "is for the scale preference"


# -- a study's folder ----------------------------------------------------------------------------------

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
    def judge_names(self) -> tuple[str, ...]:
        """Every judge, those that are made of others too."""
        return tuple(j.name for j in self.config.judges)

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

    @cached_property
    def parts(self) -> dict[str, str]:
        """Which items are for development and which for the test, see `assay.study.items.read_parts`.

        Raises
        ------
        StudyError
            For a study of systems' outputs, or of triplets, which are drawn from its items.
        """
        found = read_parts(self.folder)
        if found and (self.systems or any(q.drawn_from for q in self.config.questions)):
            raise StudyError(
                f"{self.folder / SPLIT_FILE}: what is judged is drawn from the items of this study, so they cannot be "
                "split; take the file away"
            )
        return found

    @property
    def compared_temperature(self) -> float | None:
        """The temperature whose outputs of systems are compared; None where it is not varied."""
        varied, wanted = self.config.conditions.system_temperature, self.config.comparisons.temperature
        return wanted if wanted is not None else varied[0] if varied else None

    def tested_items(self) -> list[str]:
        """The names of the items for the test: all of them where they are not split."""
        return [item.name for item in self.items() if self.parts.get(item.name) != PARTS[0]]

    def way_of(self, name: str) -> dict[str, str]:
        """How a judge is asked: its ``model``, and a fingerprint of its ``prompt``.

        The prompt is everything that is decided about what is sent and does not hang on the item: the instructions, the
        words of the questions and their scales, the strategy, demonstrations, parameters and what is crossed.
        """
        judge = next(one for one in self.config.judges if one.name == name)
        if isinstance(judge, Ensemble):
            members = {member: self.way_of(member) for member in judge.of}
            return {"prompt": digest_of([judge.rule, members])[:12]}
        crossed = self.config.conditions
        prompts = [text for one in (judge.prompt, *crossed.prompt) if (text := self.prompts.get(one or "")) is not None]
        asked = judge.model_dump(mode="json", include={"strategy", "temperature", "params", "structured", "repeats"})
        asked |= judge.model_dump(
            mode="json", include={"effort", "score", "function", "command"}, exclude_defaults=True
        )
        few_shot = "few-shot" in (judge.strategy, *crossed.strategy)
        shown = judge.demonstrations.named if few_shot else None
        words = [q.model_dump(mode="json", exclude={"keys", "optional", "rubric"}) for q in self.config.questions]
        prompt = digest_of([asked, shown, prompts, words, crossed.model_dump(mode="json")])[:12]
        return {"model": judge.model or judge.provider, "prompt": prompt}

    def items(self) -> Iterator[Item]:
        """The items in the order of their file, see `assay.study.items.read_items`."""
        return read_items(self.folder, self.config)

    def files(self) -> list[Path]:
        """The files beside study.yaml that it names: items, labels, checks, practice."""
        people = self.config.people
        checks = None if people.checks is None else people.checks.file
        names = (self.config.items.file, self.config.labels, people.warm_up, checks, people.first)
        split = [SPLIT_FILE] if (self.folder / SPLIT_FILE).is_file() else []
        return [self.folder / name for name in (*names, *split) if name is not None]

    def first_items(self) -> list[str]:
        """The names of the items that people are given before all others."""
        return [] if self.config.people.first is None else read_names(self.folder / self.config.people.first)

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
        raise StudyError(_problem_words(path, lines, problems))
    return Study(path.parent, config)
