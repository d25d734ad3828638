"""A study folder: items, questions, judges and annotators, as its ``study.yaml`` defines them.

The folder holds ``study.yaml``, the items, your own prompts, the human labels, and the database of all answers
(`assay.study.store`).
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
from assay.study.old_keys import Where, converted, old_key_problems
from assay.study.schema import (
    KINDS,
    Checks,
    Conditions,
    Crowd,
    Demonstrations,
    Ensemble,
    ItemsPart,
    Judge,
    OnScale,
    OutputPairs,
    People,
    Question,
    RateLimits,
    StudyFile,
    StudyPart,
    System,
    ValidationError,
    listed_labels,
    scale_of,
)

Problem = tuple[Where, str]
"""A place in study.yaml, ``("questions", 0, "scale")``, and the error there."""

MOST_PROBLEMS = 5
"""Maximum number of problems in one message: about as many as one edit fixes."""

RESERVED_KEYS = {
    **{str(n): f"chooses answer {n}" for n in range(1, 10)},
    "0": "chooses a tie",
    "s": "skips",
    "f": "flags",
    "u": "undoes",
    "p": "goes back to the previous page",
    "i": "shows the instructions",
    "c": "goes to the comment",
    "?": "shows the keys",
}
"""The keys with a function on every annotation page."""


# -- the file and its lines ----------------------------------------------------------------------------


def parse_yaml(path: Path, text: str | None = None) -> tuple[Any, dict[Where, int]]:
    """Return the content of a YAML file, and the line of each key.

    Parameters
    ----------
    path : path
    text : str, optional
        A text that is read instead of the file's.

    Raises
    ------
    StudyError
        With the line that cannot be parsed.
    """
    size = path.stat().st_size if text is None else len(text.encode())
    if size > LARGEST_FILE:
        raise StudyError(f"{path} has {size:,} bytes; a study.yaml has at most {LARGEST_FILE:,}")
    try:
        node = _compose(path.read_text(encoding="utf-8") if text is None else text)
        if node is not None and _count_values(node, {}) > MOST_NODES:
            raise StudyError(f"{path} expands to more than {MOST_NODES:,} values by its aliases (*); write them out")
        lines = _lines(node)
        return _Loader("").construct_document(node) if node is not None else {}, lines
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise StudyError(f"{path}{where}: {error.problem or error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {error}") from None


LARGEST_FILE, MOST_NODES = 2_000_000, 200_000
"""Maximum bytes of study.yaml, and values after replacing aliases: 100 times the largest study, read in seconds. A file
of 282 bytes with nested aliases would otherwise fill all memory."""


def _count_values(node: yaml.Node, known: dict[int, int]) -> int:
    """Count the values of a node with those of its aliases; each node is visited once."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_NODES + 1  # an alias within itself would be infinite
    parts = node.value if isinstance(node, yaml.SequenceNode) else []
    parts = [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else parts
    known[id(node)] = 1 + sum(_count_values(part, known) for part in parts)
    return known[id(node)]


class _Loader(yaml.SafeLoader):
    """YAML in which yes, no, on, off and dates are text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith((":bool", ":timestamp"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$", re.I), list("tTfF"))


def _compose(text: str) -> yaml.Node | None:
    """Parse a text; with libyaml, if installed, in a third of the time, except for error messages."""
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
    """Return the line of each key, by its path; a duplicate key is an error."""
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
    """Word the problems in the order of their lines, one per line: file, line, key and error."""
    shown = []
    place = {
        where: next((lines[where[:n]] for n in range(len(where), -1, -1) if where[:n] in lines), 1)
        for where, _ in problems
    }
    for where, what in sorted(problems, key=lambda one: place[one[0]])[:MOST_PROBLEMS]:
        key = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in where).lstrip(".") or "the file"
        shown.append(f"{path}, line {place[where]}, {key}: {what}")
    more = [f"and {len(problems) - MOST_PROBLEMS} more"] if len(problems) > MOST_PROBLEMS else []
    return "\n".join(shown + more)


# -- errors of the schema --------------------------------------------------------------------------------


def problems_of(error: ValidationError) -> list[Problem]:
    """Word all errors that pydantic found."""
    # A tuple whose parts have errors is also reported as too short; the errors of its parts are enough.
    found = error.errors(include_url=False)
    deeper = {problem["loc"][:1] for problem in found if len(problem["loc"]) > 1}
    found = [one for one in found if len(one["loc"]) > 1 or one["loc"] not in deeper]
    explained = [(_explain(one), _KINDS.get(re.sub("_(type|parsing)$", "", one["type"]))) for one in found]
    # A key that can have several types has an error for each; those for types that the value does not have are noise.
    inside = {where[:n] for (where, _), _ in explained for n in range(len(where))}
    kinds: dict[Where, list[str]] = {}
    for (where, _), kind in explained:
        if kind is not None:
            kinds.setdefault(where, []).append(kind)
    problems = []
    for (where, what), kind in explained:
        possible = list(dict.fromkeys(kinds.get(where, ())))
        if kind is None:
            problems.append((where, what))
        elif where not in inside:
            problems.append((where, f"must be {' or '.join(possible)}"))
    return list(dict.fromkeys(problems))


def _explain(problem: Any) -> Problem:
    """Path and plain words of one pydantic error, without the value, which may be a secret."""
    # pydantic's path has the kind of judge after the judge's position; the file does not.
    loc = problem["loc"]
    where = loc[:2] + loc[3:] if loc[:1] == ("judges",) else loc
    where = tuple(p for p in where if isinstance(p, int) or not _OF_UNION.match(p))
    if problem["type"] == "missing":
        return where, "is missing"
    if problem["type"] == "extra_forbidden":
        return where, _unknown_key(where)
    message = str(problem["msg"]).removeprefix("Value error, ")
    return where, message[:1].lower() + message[1:] if message.startswith("Input") else message


_OF_UNION = re.compile(r"str$|int$|tuple\[|constrained-|function-|dict\[|datetime$")
"""Steps of pydantic's path into the types of a key that has several."""

_KINDS = {
    "int": "a whole number", "float": "a number", "string": "text", "bool": "true or false", "dict": "a mapping",
    "list": "a list", "tuple": "a list",
}  # fmt: skip
"""The kinds of value that pydantic's errors of type name, in words."""

_PLACES: dict[str, tuple[type[StudyPart], ...]] = {
    "": (StudyFile,),
    "items": (ItemsPart,),
    "questions": (Question,),
    "by_scale": (OnScale,),
    "systems": (System,),
    "judges": (Judge, Ensemble),
    "demonstrations": (Demonstrations,),
    "comparisons": (OutputPairs,),
    "conditions": (Conditions,),
    "limits": (RateLimits,),
    "people": (People,),
    "checks": (Checks,),
    "crowd": (Crowd,),
}
"""The keys of each part."""


def _unknown_key(where: Where) -> str:
    """Word an unknown key: the nearest key of its part, otherwise the part it belongs to."""
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


# -- contradictions ---------------------------------------------------------------------------------------


def contradictions(config: StudyFile, folder: Path) -> Iterator[Problem]:
    """Find well-formed settings that contradict each other."""
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
                f"cannot hold answers to '{question.name}', which are lists: collect them on the annotation page, or "
                "ask about each label or pair in a separate question (scale: [no, yes], or preference)",
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
    yield from _rotation_problems(config)
    for position, prompt in enumerate(config.conditions.prompt):
        if prompt not in prompts:
            yield ("conditions", "prompt", position), unknown("prompt", prompt, sorted(prompts), "prompts/")


def _rotation_problems(config: StudyFile) -> Iterator[Problem]:
    """Find judges that are dealt items alone, or by another rule than the others."""
    dealt = [(n, one) for n, one in enumerate(config.judges) if isinstance(one, Judge) and one.rotates is not None]
    for position, judge in dealt:
        where = ("judges", position, "route")
        if len(dealt) < 2:
            yield where, "rotate deals items to several judges; give another judge route: {rotate: …} too"
        elif judge.rotates != dealt[0][1].rotates:
            yield where, f"rotate is {judge.rotates:g}, and {dealt[0][1].rotates:g} of judge '{dealt[0][1].name}'"
    for position, one in enumerate(config.systems):
        if one.rotates is not None:
            yield ("systems", position, "route"), "rotate deals items to judges; a system writes about every item"


def _file_column_problems(config: StudyFile) -> Iterator[Problem]:
    """Find columns of files that are also listed with another content."""
    part = config.items
    for position, column in enumerate(part.media):
        if column in part.images:
            yield ("items", "media", position), f"'{column}' is also listed in images; remove one of the two"
    for position, column in enumerate(part.markdown):
        if column in part.file_columns:
            yield ("items", "markdown", position), f"'{column}' holds a file, not text"
    for position, question in enumerate(config.questions):
        for column in {*(question.show or ()), *question.options} & {*part.captions.values()}:
            yield (
                ("questions", position),
                f"shows '{column}', which holds captions: they are displayed with their recording; remove it",
            )


def _span_problems(config: StudyFile) -> Iterator[Problem]:
    """Find texts in which spans cannot be marked."""
    for position, question in enumerate(config.questions):
        where, column = ("questions", position, "of"), question.marked
        of_outputs = question.of is not None and question.subject == config.written
        if of_outputs and question.options:
            yield where, "cannot be used with options, which name what is compared"
        if not isinstance(scale_of(question.scale), SpanLabels):
            if question.span_text:
                yield where, "asks for a text about each span, which is for the scale spans"
            elif question.of is not None and not of_outputs:
                yield where, "is for spans, or names the question on the scale text that systems answer"
            continue
        if of_outputs:
            continue
        if column is None:
            yield where, "is missing: the column of the text in which spans are marked"
        elif column in (*config.items.markdown, *config.items.file_columns):
            what = "is formatted as Markdown" if column in config.items.markdown else "holds a file"
            yield where, f"names '{column}', which {what}; spans need plain text"


def _question_problems(question: Question) -> Iterator[Problem]:
    scale = scale_of(question.scale)
    wanted = len(question.kind.places)
    if len(question.options) != wanted and question.drawn_from is None and question.outputs_of is None:
        comparing = ", ".join(name for name, kind in KINDS.items() if kind.places) + " and ranking"
        yield ("options",), f"requires {wanted} columns to choose between" if wanted else f"is for {comparing}"
    for label in question.meanings:
        known = [str(c) for c in listed_labels(scale)]
        if known and label not in known:
            yield ("meanings", label), unknown("label", label, known, "the scale")
        elif scale.numeric and scale.read(label) is None:
            yield ("meanings", label), f"is not on the scale: a label must be {scale.describe()}"
    for label, why in _unusable_keys(question, scale).items():
        yield ("keys", label), why


def _system_problems(config: StudyFile) -> Iterator[Problem]:
    """Find what is missing to compare outputs of systems, and what cannot be combined with it."""
    texts = [q.name for q in config.questions if q.kind.free_text]
    written = dict.fromkeys(q.named_outputs for q in config.questions if q.named_outputs in texts)
    for position, question in enumerate(config.questions):
        named, options = question.outputs_of, ("questions", position, "options")
        if named is not None and not config.systems:
            yield (
                options,
                "requires two columns to choose between, or one question and systems that answer it",
            )
        elif named is not None and named not in texts:
            words = "requires a question on the scale text, which the systems answer; "
            yield options, words + unknown("question", named, texts, "those")
    if "comparisons" in config.model_fields_set and not (config.systems and config.compares_outputs):
        more = "" if not config.systems else " by a question on the scale preference whose options name theirs"
        yield ("comparisons",), f"requires systems, whose outputs are compared{more}"
    if not config.systems:
        return
    if len(written) != 1:
        yield (
            ("systems",),
            "require one question on the scale text, which they answer, and questions about its outputs: a preference "
            "or odd-one-out whose options name it, or any other with of: its name; this study is about the outputs of "
            f"{len(written)}",
        )
    if len(config.systems) < 2 and config.compares_outputs:
        yield ("systems",), "must be at least two, because outputs of two are compared"
    names = [one.name for one in config.systems]
    for position, judge in enumerate(config.judges):
        if judge.name in names:
            yield ("judges", position, "name"), f"'{judge.name}' is a system; give the judge another name"
    for position, system in enumerate(config.systems):
        if system.strategy != "zero-shot":
            yield ("systems", position, "strategy"), "is for judges; give a system its own prompt with prompt:"
    if config.labels is not None:
        yield ("labels",), "cannot be used: annotators compare outputs drawn from the systems"


def _crossing_problems(config: StudyFile, folder: Path) -> Iterator[Problem]:
    """Find text in a prompt that contradicts the scales of conditions.scale."""
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
            text = _COMMENT.sub("", file.read_text(encoding="utf-8"))
            if any(_names_ends(text, scale) for scale in crossed.values()):
                yield ("conditions", "scale"), f"prompts/{file.name} names a scale itself; write {{{{ scale }}}} there"


def _scale_part_problems(question: Question, asked: Sequence[Scale]) -> Iterator[Problem]:
    for spec, part in question.by_scale.items():
        scale = parse_scale(spec)
        if scale not in asked:
            yield ("by_scale", spec), f"'{spec}' is neither the question's scale nor one of conditions.scale"
        for label in part.meanings or {}:
            if scale.read(label) is None:
                yield (
                    ("by_scale", spec, "meanings", label),
                    f"is not on that scale: it must be {scale.describe()}",
                )


def _own_scale_problems(question: Question, own: Scale, others: Mapping[str, Scale]) -> Iterator[Problem]:
    """Find text of a question that fits its own scale only, if other scales are used as well."""
    for spec, scale in others.items():
        there = question.scale_part(scale)
        if question.meanings and (there is None or there.meanings is None):
            yield (
                ("meanings",),
                f"belong to the scale '{question.scale}', and conditions.scale also has '{spec}'; give that scale its "
                f"own under by_scale ({{'{spec}': {{meanings: {{…}}}}}}; {{}} for none)",
            )
    for part in ("text", "guidelines") if others else ():
        number = _label_in(getattr(question, part), own)
        if number is not None:
            yield (
                (part,),
                f"names {number}, a label of the scale '{question.scale}', and conditions.scale also has "
                f"'{next(iter(others))}'; put guidelines that belong to a scale under by_scale, and write other "
                "numbers as words (the prompt describes the scale itself)",
            )


def _label_in(text: str, scale: Scale) -> str | None:
    """Return a number in a text that is a label of a whole-number scale, or an end of one with fractions."""
    labels = scale.categories or scale.bounds or ()
    numbers = re.findall(r"(?<![\w.,])-?\d+(?:\.\d+)?(?![\w%])", text)
    return next((number for number in numbers if float(number) in labels), None)


_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
"""A comment of a template, which is not sent."""


def _names_ends(text: str, scale: Scale) -> bool:
    """Return whether a text names both ends of a scale."""
    if scale.bounds is None:
        return False
    low, high = (re.escape(plain_number(end)) for end in scale.bounds)
    return bool(re.search(rf"(?<![\w.]){low}\s*(?:-|–|to|and|through|bis)\s*{high}(?![\w])", text))


def _judge_problems(judge: Judge | Ensemble, prompts: set[str], config: StudyFile) -> Iterator[Problem]:
    if isinstance(judge, Ensemble):
        asked = [one.name for one in config.judges if isinstance(one, Judge)]
        for member in judge.of:
            if member not in asked:
                yield ("of",), unknown("judge", member, asked, "the models among the judges")
        return
    if judge.provider == "recorded" and judge.file is None:
        yield ("file",), "is missing: provider 'recorded' requires the file of responses"
    if judge.provider != "recorded" and not judge.model.strip():
        yield ("model",), "is missing"
    elif judge.function is not None and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", judge.function):
        yield ("model",), "must be module:function, as in rules:stars"
    elif judge.provider == "command" and (wrong := _command_error(judge)):
        yield ("model",), wrong
    if judge.verbatim and judge.prompt is None and not config.conditions.prompt:
        yield ("verbatim",), "requires prompt: the name of the file in prompts/ to send"
    if judge.prompt is not None and judge.prompt not in prompts:
        yield ("prompt",), unknown("prompt", judge.prompt, sorted(prompts), "prompts/")
    for question in config.questions if judge.demonstrations.reasons else ():
        if judge.demonstrations.reasons in (question.show or ()):
            yield (
                ("demonstrations", "reasons"),
                f"is also displayed for the items to label: remove it from the show of '{question.name}'",
            )
    if judge.score == "expected" and not any(scale_of(q.scale).numeric for q in config.questions):
        yield ("score",), "expected is a mean, and no question has a numeric scale; use probabilities"


def _command_error(judge: Judge) -> str | None:
    """Word the error in a command line that cannot be split."""
    try:
        return None if judge.command else "is missing"
    except ValueError as error:
        return f"is not a command line: {error}"


def _probe_problems(config: StudyFile) -> Iterator[Problem]:
    """Find probes that would change nothing."""
    probes = config.probes
    judges = [one for one in config.judges if isinstance(one, Judge)]
    swaps = [q for q in config.questions if (q.options and q.kind.places) or q.draws_pairs]
    if "swapped" in probes and not any(q.orders != "all" for q in swaps):
        why = "both orders are used already" if swaps else "no question has options"
        yield ("probes", "swapped"), f"changes nothing here: {why}; remove it"
    if "hint" in probes and any(q.marked for q in config.questions):
        yield ("probes", "hint"), "cannot be used with spans: a hint names a single label; remove it"
    if "sibling" in probes and not any(judge.sibling for judge in judges):
        yield ("probes", "sibling"), "requires a judge with sibling: the name of another model of its provider"


def _unusable_keys(question: Question, scale: Scale) -> dict[str, str]:
    """Word the errors in the keys of a question's labels, by label."""
    known = [str(c) for c in listed_labels(scale)]
    wrong: dict[str, str] = {}
    taken: dict[str, str] = {}
    for label, key in question.keys.items():
        low = key.lower()
        if question.kind.places or not known:
            wrong[label] = "keys are for labels from a list; this scale has fixed keys"
        elif label not in known:
            wrong[label] = unknown("label", label, known, "the scale")
        elif not re.fullmatch(r"[^\W\d_]", key):
            wrong[label] = f"'{key}' is not one letter"
        elif low in RESERVED_KEYS:
            wrong[label] = f"'{key}' {RESERVED_KEYS[low]} on every page; choose another letter"
        elif low in taken:
            wrong[label] = f"'{key}' is already the key of '{taken[low]}'"
        taken.setdefault(low, label)
    return wrong


def _people_problems(config: StudyFile) -> Iterator[Problem]:
    people, drawing = config.people, next((q for q in config.questions if q.drawn_from), None)
    drawn = [q.name for q in config.questions if q.drawn_from and not q.draws_pairs]
    other = next((q for q in config.questions if q.drawn_from and drawing and q.drawn_from != drawing.drawn_from), None)
    if drawing is not None and other is not None:
        yield (
            ("questions", config.questions.index(other), "options"),
            f"names '{other.drawn_from}', and '{drawing.name}' draws from '{drawing.drawn_from}'; a study draws pairs "
            "and triplets from one column",
        )
    if any(q.drawn_from is None and q.name != config.written for q in config.questions):
        drawn = []  # the others are asked about whole items
    yield from _crowd_problems(people)
    yield from _condition_problems(config)
    if people.together and config.items.document is None and not config.systems:
        yield ("people", "together"), "requires items.document, the column with the document of an item"
    if drawn:
        why = f"cannot be used: the triplets of '{drawn[0]}' are drawn"
        if people.together:
            yield ("people", "together"), f"{why} one at a time"
        for key in ("checks", "warm_up"):
            if getattr(people, key) is not None:
                yield ("people", key), f"{why}, so they have no known answer"


def _crowd_problems(people: People) -> Iterator[Problem]:
    """Find settings of a crowd that contradict each other."""
    if people.checks is not None and people.checks.exclude and not people.checks.has_limit:
        yield ("people", "checks", "exclude"), "requires most_failed, the number of checks that may fail"
    yield from _ask_problems(people)
    crowd = people.crowd
    if people.end is not None and people.keep_until is not None and people.keep_until < people.end.date():
        yield ("people", "keep_until"), "is before people.until, the end of annotation"
    if crowd is None:
        return
    if people.days is not None:
        yield ("people", "until"), "in days is for invited annotators; for a crowd, set crowd.minutes"
    if crowd.platform in ("prolific", "prolific-signed") and "completed" not in crowd.codes:
        yield (
            ("people", "crowd", "codes"),
            "requires completed, the completion code that Prolific displays",
        )
    if crowd.platform != "open" and not crowd.id_parameter.strip():
        yield ("people", "crowd", "parameters"), "is empty; name the parameter, or admit anyone with platform: open"
    if crowd.minutes is not None and people.days_apart:
        yield ("people", "crowd", "minutes"), "cannot be used: people.days_apart puts days between two sessions"
    if people.group is not None and people.group not in (
        q.name for q in (*people.asked("screening"), *people.asked("before"))
    ):
        yield (
            ("people", "crowd"),
            f"does not determine the group ({people.group}) of a person; add a question with this name to people.ask, "
            f"whose answers are the groups: {{screening: {{{people.group}: {{Your {people.group}?: [a, b]}}}}}}",
        )
    known = ("code", "outcome", *filter(None, (crowd.id_parameter,)), *crowd.stored_parameters)
    for name in re.findall(r"\{([^{}]*)\}", crowd.return_address):
        if name not in known:
            yield ("people", "crowd", "back"), unknown("parameter", name, list(known), "the parameters")


def _ask_problems(people: People) -> Iterator[Problem]:
    """Find questions to the person that cannot be asked, or that determine no group."""
    screening = people.asked("screening")
    if screening and people.crowd is None:
        yield ("people", "ask", "screening"), "is for a crowd; ask invited annotators under before"
    for question in screening:
        if question.optional:
            yield ("people", "ask", "screening", question.name), "cannot be a text: its answer decides who is admitted"
    for question in people.asked("after"):
        if question.wrong:
            yield ("people", "ask", "after", question.name), "cannot have wrong answers; ask it under before"
    wanted = people.per_item
    for stage in ("screening", "before"):
        for question in people.asked(stage):
            if question.name != people.group:
                continue
            if stage == "before" and question.wrong:
                yield ("people", "ask", stage, question.name), "determines the group, so it cannot have wrong answers"
            rest = [
                one for one in question.choices if isinstance(wanted, dict) and one not in {*wanted, *question.wrong}
            ]
            if rest or not question.choices:
                groups = listing(list(wanted)) if isinstance(wanted, dict) else "a list"
                yield ("people", "ask", stage, question.name), f"must have the groups of overlap as answers: {groups}"


def _condition_problems(config: StudyFile) -> Iterator[Problem]:
    """Find conditions of systems without systems, and ties of questions that are not preferences."""
    if config.conditions.temperatures["systems"] and not config.systems:
        yield ("conditions", "temperature", "systems"), "requires systems; for judges, write the list alone"
    for position, question in enumerate(config.questions):
        if question.ties is not True and not question.kind.words:
            yield ("questions", position, "ties"), "is for the scale preference"


# -- a study folder --------------------------------------------------------------------------------------

STUDY_FILE = "study.yaml"


@dataclass(frozen=True)
class Study:
    """A study folder whose ``study.yaml`` has been read and checked."""

    folder: Path
    config: StudyFile

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges that are models or programs."""
        return tuple(j for j in self.config.judges if isinstance(j, Judge))

    @property
    def systems(self) -> tuple[System, ...]:
        """The models whose outputs are compared."""
        return self.config.systems

    @property
    def models(self) -> tuple[Judge, ...]:
        """All that are called: systems first, because judges compare their outputs."""
        return (*self.systems, *self.judges)

    @property
    def judge_names(self) -> tuple[str, ...]:
        """Every judge, with the ensembles."""
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
        """The items of the development set and of the test set, see `assay.study.items.read_parts`.

        Raises
        ------
        StudyError
            For a study of systems' outputs or of triplets, which are drawn from its items.
        """
        found = read_parts(self.folder)
        if found and (self.systems or any(q.drawn_from for q in self.config.questions)):
            raise StudyError(
                f"{self.folder / SPLIT_FILE}: this study draws pairs or triplets from its items, so they cannot be "
                "split; remove the file"
            )
        return found

    @property
    def compared_temperature(self) -> float | None:
        """The temperature whose outputs of systems are compared; None if it is not a condition."""
        return next(iter(self.config.conditions.temperatures["systems"]), None)

    def tested_items(self) -> list[str]:
        """Return the names of the items of the test set: all of them without a split."""
        return [item.name for item in self.items() if self.parts.get(item.name) != PARTS[0]]

    def way_of(self, name: str) -> dict[str, str]:
        """Return a judge's ``model`` and a fingerprint of its ``prompt``.

        The prompt is everything in a request that does not depend on the item: the instructions, the questions and
        their scales, the strategy, few-shot examples, parameters and experimental conditions.
        """
        judge = next(one for one in self.config.judges if one.name == name)
        if isinstance(judge, Ensemble):
            members = {member: self.way_of(member) for member in judge.of}
            return {"prompt": digest_of([judge.rule, members])[:12]}
        crossed = self.config.conditions
        prompts = [text for one in (judge.prompt, *crossed.prompt) if (text := self.prompts.get(one or "")) is not None]
        asked = judge.model_dump(mode="json", include={"strategy", "temperature", "params", "structured", "repeats"})
        asked |= judge.model_dump(mode="json", include={"effort", "score", "verbatim"}, exclude_defaults=True)
        asked |= {"function": judge.function} if judge.function else {}
        asked |= {"command": list(judge.command)} if judge.command else {}
        few_shot = "few-shot" in (judge.strategy, *crossed.strategy)
        shown = judge.demonstrations.key_parts if few_shot else None
        words = [
            q.model_dump(mode="json", exclude={"keys", "optional", "rubric"} | (set() if q.says else {"says"}))
            | {"show": None if q.show is None else list(q.show)}  # titles are for the annotation page only
            for q in self.config.questions
        ]
        prompt = digest_of([asked, shown, prompts, words, crossed.stored()])[:12]
        return {"model": judge.provider if judge.is_program else judge.model or judge.provider, "prompt": prompt}

    def items(self) -> Iterator[Item]:
        """Read the items in the order of their file, see `assay.study.items.read_items`."""
        return read_items(self.folder, self.config)

    def files(self) -> list[Path]:
        """Return the files that study.yaml names: items, labels, checks, practice."""
        people = self.config.people
        checks = None if people.checks is None else people.checks.file
        names = (self.config.items.file, self.config.labels, people.practice_file, checks, people.first)
        split = [SPLIT_FILE] if (self.folder / SPLIT_FILE).is_file() else []
        return [self.folder / name for name in (*names, *split) if name is not None]

    def first_items(self) -> list[str]:
        """Return the names of the items that come before all others."""
        return [] if self.config.people.first is None else read_names(self.folder / self.config.people.first)

    def known_items(self, role: Literal["check", "warm-up"]) -> list[KnownItem]:
        """Read the attention checks, or the practice items, see `assay.study.items.read_known_items`."""
        return read_known_items(self.folder, self.config, role)


def stored_study(folder: Path, config: Mapping[str, Any]) -> Study:
    """Return a study as its store keeps it, also of an earlier version (`assay.study.store.intake.CONFIG`)."""
    return Study(folder, StudyFile.model_validate(converted(dict(config))))


def load_study(folder: str | Path, text: str | None = None) -> Study:
    """Read and check a study's folder.

    Parameters
    ----------
    folder : path
        The folder, or its ``study.yaml``.
    text : str, optional
        A text that is read instead of the one in ``study.yaml``.

    Raises
    ------
    StudyError
        With file, line and key of every error.
    """
    path = Path(folder)
    path = path if path.suffix in (".yaml", ".yml") else path / STUDY_FILE
    if not path.is_file():
        raise StudyError(f"{path} does not exist; create a study with: assay init {path.parent}")
    content, lines = parse_yaml(path, text)
    if problems := list(old_key_problems(content)):
        raise StudyError(_problem_words(path, lines, problems))
    try:
        config = StudyFile.model_validate(content)
        problems = list(contradictions(config, path.parent))
    except ValidationError as error:
        problems = problems_of(error)
    if problems:
        raise StudyError(_problem_words(path, lines, problems))
    return Study(path.parent, config)
