"""Names of columns: what each is called (`roles.toml`), and names that combine an annotator and a criterion."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import polars as pl

from assay.data.names import model_names, natural, spelling_key, strip_spaces
from assay.data.scales import Scale, scale_named

BY_NAME = ("time stamp", "technical", "confidence", "computed", "gold", "comment", "item column")
"""Roles that only a name suggests, in the order in which names are compared."""

NUMBERED = re.compile(r"(|unnamed( \d+)*|index|row|row ?names?|rownames|x|x 1|nr|no|column 1|number)")
"""Names of columns that number the rows."""

_MEASURED = "(words?|chars?|characters?|tokens?|sentences?|lines?|pages?|turns?|letters?|errors?|items?)"
COUNTED = re.compile(
    rf"(n|num|nr|no|number|count|anzahl|votes?)( of| for)? (?!{_MEASURED}$).+|(?!{_MEASURED} ).+ (counts?|votes)"
)
"""Names of columns of counts: ``n_yes``, ``yes_count``."""

ID = re.compile(r"\b(id|idx|key|nr|no|number)$")
"""The last word of the name of a column of ids."""
ENDS_IN_ID = re.compile(r"\b([pqstu]?id|(gu|pm|uu)id|doc ?id|idx)$")
"""The end of the plain name of a column of ids: ``doc id``, ``pid``."""

_ID_WORDS = r"( ?(?P<id>id|ids|name|code|nr|no|number|email|index))?"
_HUMAN = re.compile(
    r"(?i)^(human|rater|annotator|anno?t?|person|people|expert|worker|coder|crowd|reviewer|grader|h|reader|observer|examiner|"
    r"radiologist|pathologist|evaluator|assessor|scorer|labell?er|dr|prof|автор|эксперт)(?![a-zа-я])"
)
SYSTEM_NAME = re.compile(
    r"(?i)(m?bart|pegasus|m?t5|bert|roberta|lead|baseline|transformer|seq2seq|pointer|lstm|rnn|nmt|electra|xlnet)"
    r"([-_ ]?\w+)?|reference|human|sys(tem)?[-_ ]?\d+"
)
"""Names of systems that write texts, next to names of models."""

MEASURE = re.compile(
    r"(.* )?(length|len|word count|n ?(words|chars|tokens)|latency|runtime|cost|price)( (ms|s|usd|eur))?"
)
"""Plain names of measures of a row, which identify it by chance."""

PREDICTED = re.compile(r"(y )?pred(ict(ed|ions?)?)? ")
"""The beginning of the plain name of a prediction of something: ``predicted intent``."""

HUMAN_FLAG = re.compile(r"is (a )?(human|person)")
MACHINE_FLAG = re.compile(r"is (an? )?(llm|judge|model|ai|machine|bot|automatic|automated)")
"""Plain names of columns with true or false that say which annotators are people, or machines."""

KIND = re.compile(r"((rater|annotator|evaluator|grader|labell?er|coder|worker|judge|reviewer) )?(kind|type)")
"""Plain names of columns with the kind of each annotator."""

TRUE, FALSE = ("true", "1", "yes", "1.0"), ("false", "0", "no", "0.0")
PEOPLE_KINDS = ("human", "humans", "person", "people", "expert", "experts", "crowd", "annotator", "rater")
MACHINE_KINDS = ("llm", "model", "ai", "judge", "machine", "bot", "auto", "automatic", "automated", "llm judge")
"""Cells, in lower case, of a column that says what kind of annotator each is."""

AVERAGE = re.compile(r"(mean|average|avg|median) .+")
"""Plain names of averages of several people's labels, which are no annotator's if they have fractions."""

GENERAL_MODELS = {"llm", "ai", "judge", "model"}
"""Words for a model that is named elsewhere."""

_LETTER = re.compile(r"(?i)[ahrpwc]\d+")
"""Names such as A1, A2, M1, in which a letter distinguishes annotators from models."""
MACHINE = re.compile(r"(?i)[mjgl]\d*")
SUMMARY_ROW = re.compile(r"(?i)(total|sum|mean|average|kappa|agreement|percent(age)?|count|summe|mittelwert)\b.*")
"""Names of rows that summarize the rows above them, if their cells are no labels."""

AVERAGE_ROW = re.compile(
    r"(?i)(the )?(column |grand |overall )?(mean|average|avg\.?|median|total|sum|totals|sums|sd|std|stdev|"
    r"standard deviation|count|min|max|mittelwert|durchschnitt|summe|moyenne)s?"
)
_SURE = r"(?:conf(?:idence)?|certainty|(?:log[ _-]?)?prob(?:abilit(?:y|ies)|s)?)"
_DATA = (
    rf"(?:{_SURE}|time|seconds|duration|"
    r"comments?|notes?|reasons?|rationale|explanation|time ?stamp|justification)"
)
_ANNOTATOR_DATA = re.compile(rf"(.+)[ _.:/-]+{_DATA}")
"""Other data of an annotator next to a label: ``Ann_confidence``."""
_NUMBERED_DATA = re.compile(rf"{_DATA}[ _.:/-]*(\d+)")
"""The same by the annotator's number: ``confidence1`` next to ``rater1``."""
_SURE_FIRST = re.compile(rf"{_SURE}[ _.:/-]+(.+)")
"""How sure an annotator is, by the name: ``certainty_gpt``."""


def plain_name(name: str) -> str:
    """Return a column's name in lower case with separate words: ``itemId`` and ``item_id`` become ``item id``."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\W_]+", " ", apart.lower()).strip()


def stem(plain: str) -> str:
    """A plain name without its number or single letter: ``rater 2`` and ``rater b`` have one stem."""
    return re.sub(r" ?\d+| [a-z]$", " 0", plain)


@cache
def _lists() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("assay.data.structure").joinpath("roles.toml").read_text("utf-8"))


@cache
def _form(role: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in _lists()[role]["names"]))


@cache
def _people() -> tuple[re.Pattern[str], re.Pattern[str]]:
    lists = _lists()["people"]
    words = "|".join(lists["words"])
    return re.compile(rf"(.* )?({words}){_ID_WORDS}"), re.compile(rf"({'|'.join(lists['names'])}){_ID_WORDS}")


_ANSWERED_BY = re.compile(
    r"(annotated|rated|graded|scored|labell?ed|judged|evaluated|coded|reviewed|assessed|marked) by( (id|name))?"
)
"""Plain names of columns that say who answered."""


def called(plain: str, role: str) -> bool:
    """Return whether a name (see `plain_name`) is usual for a role of `roles.toml`."""
    return _form(role).fullmatch(plain) is not None


def called_people(plain: str) -> int:
    """Return 2 for a usual name of a column of annotators (``worker id``), 1 for a possible one (``user``), or 0."""
    first, second = _people()
    return 2 if first.fullmatch(plain) or _ANSWERED_BY.fullmatch(plain) else 1 if second.fullmatch(plain) else 0


def called_judged(plain: str) -> bool:
    """Return whether a name is usual for a column with labels or gold labels: ``human majority``, ``target``."""
    return called(plain, "judged") or not set(_lists()["judged"]["words"]).isdisjoint(plain.split())


def called_person_ids(plain: str) -> bool:
    """Return whether a name is usual for ids of annotators, which are never labels: ``rater_id``."""
    found = _people()[0].fullmatch(plain)
    return _ANSWERED_BY.fullmatch(plain) is not None or (found is not None and found["id"] is not None)


def data_of(name: str, names: Iterable[str]) -> Literal["confidence", "technical"] | None:
    """Return the role of a column with further data of an annotator with a column; None for other columns.

    ``Ann_confidence`` next to ``Ann``, ``judge_reason`` next to ``judge_pass``, ``certainty_gpt`` next to ``gpt-4o``,
    and ``confidence1`` next to ``rater1``.
    """
    ends = re.search(rf"{_SURE}[ _.:/-]*\d*$", name.lower())
    role: Literal["confidence", "technical"] = "confidence" if ends else "technical"
    numbered = _NUMBERED_DATA.fullmatch(name.lower())
    if numbered is not None:
        return role if any(is_human(n) and _NUMBER.findall(n) == [numbered[1]] for n in names) else None
    found = _ANNOTATOR_DATA.fullmatch(name.lower())
    if found is None:
        found, role = _SURE_FIRST.fullmatch(name.lower()), "confidence"
    if found is None:
        return None
    who = re.compile(rf"{re.escape(found[1].strip())}([ _.:/-]+[^ _.:/-]+)?")
    return role if any(who.fullmatch(n.lower()) for n in names if n != name) else None


def confidences(names: Iterable[str], annotators: Iterable[str]) -> list[str]:
    """Return the columns with how sure an annotator is of a label, by their names: it is not known before the label."""
    who = [*annotators]
    return [n for n in names if called(plain_name(n), "confidence") or data_of(n, who) == "confidence"]


def human_names(names: Sequence[str]) -> list[str]:
    """Return the names that say that they are a person's: ``rater_1``, ``A1``, ``R2``."""
    people = [n for n in names if is_human(n) or _LETTER.fullmatch(n)]
    if not all(is_human(n) or MACHINE.fullmatch(n) for n in names if n not in people):
        people = [n for n in people if is_human(n)]
    return people


def is_human(name: str) -> bool:
    """Whether a name says that it is a person's: ``rater_1``, ``Korrektor A``, ``second marker``."""
    plain = plain_name(re.sub(r"[ _.-]*(\d+|(?<=[ _.-])[A-Za-z])$", "", name.strip()))
    return bool(_HUMAN.match(name)) or (called_people(plain) == 2 and not called_person_ids(plain))


def could_be_systems(names: Sequence[str]) -> bool:
    """Whether the annotators in names of columns could be systems that are rated: ``dense, bm25, hybrid``.

    Initials, first names, numbered names, and names in capitals or with a capital, are those of people.
    """
    if human_names(names) or model_names(names) or len({stem(plain_name(n)) for n in names}) == 1:
        return False
    known = [n for n in names if called(plain_name(n), "rated")]
    unlike = [n for n in names if n in known or (len(n) > MOST_INITIALS and n == n.lower()
              and not called(plain_name(n), "first names"))]  # fmt: skip
    return bool(known) or 2 * len(unlike) > len(names)


MOST_INITIALS = 3
"""Letters of initials and of the shortest names."""

_BETWEEN = (" / ", "__", ": ", " - ", "/", ":", "_", "-", ".", " ")


@dataclass(frozen=True)
class CrossedNames:
    """Column names that each combine an annotator and a criterion, or an annotator and a repeat.

    ``unnamed`` are those that name the criterion alone, next to others with an annotator: ``clarity, gpt4_clarity``.
    """

    template: str
    annotator_of: dict[str, str]
    ambiguity: str = ""
    unnamed: tuple[str, ...] = ()

    @property
    def annotators(self) -> list[str]:
        """The annotators that the columns name, without repeats."""
        return list(dict.fromkeys(self.annotator_of.values()))

    @property
    def criterion_of(self) -> dict[str, str]:
        """The criterion or repeat that each column names."""
        first, mark = self.template.startswith("annotator"), self._mark
        return {
            name: (name.removeprefix(f"{who}{mark}") if first else name.removesuffix(f"{mark}{who}")).strip()
            for name, who in self.annotator_of.items()
        }

    @property
    def _mark(self) -> str:
        return re.sub("annotator|criterion|repeat", "", self.template)

    def exchanged(self) -> CrossedNames:
        """The same names with their criteria as annotators."""
        first = self.template.startswith("annotator")
        return CrossedNames(f"criterion{self._mark}annotator" if first else f"annotator{self._mark}criterion",
                            self.criterion_of)  # fmt: skip


def split_alone(names: Sequence[str], mark: str, *, who_first: bool = True) -> dict[str, tuple[str, str]] | None:
    """Split names into an annotator and a criterion where some are a criterion alone: ``clarity, gpt4_clarity``.

    The annotator of a criterion alone is ``human`` next to judges, and ``judge`` next to people. Without ``who_first``,
    annotators come last: ``clarity, clarity_gpt4``. None for other names.
    """
    cuts = [(n[: at.start()], n[at.end() :]) for n in names for at in re.finditer(re.escape(mark), n) if mark]
    pairs = {(left, right) if who_first else (right, left) for left, right in cuts}
    whole = {*names}
    known = {(who, criterion) for who, criterion in pairs if who and criterion in whole}
    each, alone = (sorted({pair[k] for pair in known}) for k in (0, 1))
    people, machines = [who for who in each if is_human(who)], model_names(each)
    # What several people have a part of is their mean or consensus; and a person next to both is not a judge.
    if len(people) > 1 or bool(people) == bool(machines) or human_names(alone) or model_names(alone):
        return None
    made = {}
    for name in names:
        parts = [(who, f"{who}{mark}" if who_first else f"{mark}{who}") for who in (*people, *machines)]
        fits = [(who, part) for who, part in parts if (name.startswith if who_first else name.endswith)(part)]
        who, part = fits[0] if fits else ("human" if machines else "judge", "")
        criterion = name.removeprefix(part) if who_first else name.removesuffix(part)
        made[name] = (who.strip(), criterion.strip())
    return made


def _crossed_with_unnamed(names: Sequence[str]) -> CrossedNames | None:
    """The names that combine an annotator and a criterion where some are a criterion alone; None if none are."""
    for mark in _BETWEEN:
        for first in (True, False):
            found = split_alone(names, mark, who_first=first)
            criteria = {criterion for _, criterion in (found or {}).values()}
            if found is not None and len(criteria) > 1:
                template = f"annotator{mark}criterion" if first else f"criterion{mark}annotator"
                unnamed = tuple(n for n, (_, criterion) in found.items() if criterion == n)
                return CrossedNames(template, {n: who for n, (who, _) in found.items()}, "", unnamed)
    return None


def criteria_of_one(names: Sequence[str]) -> CrossedNames | None:
    """How column names combine one annotator and criteria, ``judge_tone, judge_depth``; None if they do not.

    Other columns may be among the names, if they are neither called as annotators are nor the same criteria.
    """
    for mark in _BETWEEN:
        for first in (True, False):
            pairs = {n: (n.partition(mark)[::2] if first else n.rpartition(mark)[::-2]) for n in names if mark in n}
            of = {n: (who.strip(), what.strip()) for n, (who, what) in pairs.items()
                  if (_HUMAN.fullmatch(who.strip()) or model_names([who])) and what.strip()
                  and not PREDICTED.match(plain_name(n))}  # fmt: skip
            found, criteria = {who for who, _ in of.values()}, [what for _, what in of.values()]
            rest = [n for n in names if n not in of]
            if all(what.startswith(f"judge{mark}") for what in criteria):
                criteria = [what.removeprefix(f"judge{mark}") for what in criteria]  # llm_judge_score
            if len(found) != 1 or len(of) < 2 or len(set(criteria)) < len(criteria):
                continue
            people = human_names(rest) + model_names(rest) + human_names(criteria) + model_names(criteria)
            # `Bob / tone` next to `Ann / tone` is another annotator's; letters and numbers are names.
            again = {part.strip() for n in rest for part in (n, *n.partition(mark), *n.rpartition(mark))} & {*criteria}
            people += [one for one in criteria if called(plain_name(one), "first names")]
            if people or again or any(re.search(r"^\d|\d$", one) or len(one) < 2 for one in criteria):
                continue
            template = f"annotator{mark}criterion" if first else f"criterion{mark}annotator"
            return CrossedNames(template, {n: who for n, (who, _) in of.items()})
    return None


_NUMBER = re.compile(r"\d+")
_ENDS_IN_NUMBER = re.compile(r"(.*[^\W\d_])([ _.-]?)(\d+)")


def numbered_people(names: Sequence[str]) -> CrossedNames | None:
    """How columns number the annotators whose criteria they are, ``rater_1, error_1, rater_2, error_2``; None if not.

    One of the parts before the number is a word for people. Its columns hold labels, or in another table names, next to
    columns called as labels are.
    """
    found = {n: one.groups() for n in names if (one := _ENDS_IN_NUMBER.fullmatch(n)) is not None}
    numbers: dict[str, set[str]] = {}
    for part, _, number in found.values():
        numbers.setdefault(part, set()).add(number)
    people = [part for part in numbers if is_human(part)]
    others = [*(part for part in numbers if part not in people), *(n for n in names if n not in found)]
    whole = len({frozenset(own) for own in numbers.values()}) == len({mark for _, mark, _ in found.values()}) == 1
    if len(people) != 1 or len(numbers) < 2 or not whole or len(numbers[people[0]]) < 2:
        return None
    if (
        model_names(names)
        or human_names(others)
        or any(called(plain_name(one), role) for one in others for role in ("label", "system", "item", "gold", "judge"))
    ):
        return None
    mark = next(mark for _, mark, _ in found.values())
    return CrossedNames(f"criterion{mark}annotator", {n: number for n, (_, _, number) in found.items()})


def by_criterion(names: Iterable[str], criteria: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The names that combine an annotator with one of some criteria, and both: ``GPT_Content`` next to ``Content``."""
    found = {}
    for name in names:
        for mark in _BETWEEN:
            first, last = name.partition(mark)[::2], name.rpartition(mark)[::2]
            cuts = [(who, what) for who, what in (first, last) if what in criteria]
            cuts += [(who, what) for what, who in (first, last) if what in criteria]
            if cuts and cuts[0][0].strip():
                found[name] = (cuts[0][0].strip(), cuts[0][1])
                break
    return found


def is_crossed(part: str, names: Sequence[str]) -> bool:
    """Whether a part of names is combined with what others have, too: ``consensus`` in ``ann_tone, consensus_tone``."""
    for mark in _BETWEEN:
        after = {n.removeprefix(part + mark) for n in names if n.startswith(part + mark)}
        before = {n.removesuffix(mark + part) for n in names if n.endswith(mark + part)}
        if any(n.partition(mark)[2] in after and n.partition(mark)[0] != part for n in names if mark in n):
            return True
        if any(n.rpartition(mark)[0] in before and n.rpartition(mark)[2] != part for n in names if mark in n):
            return True
    return False


_IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^][]*\]")
_MASK = {ord(mark): 0xE000 + ord(mark) for mark in "/_:-. "}


def _masked(name: str) -> str:
    """A name with other characters for the marks in brackets, which separate no parts: ``conflict(0/1)_coder1``."""
    return _IN_BRACKETS.sub(lambda found: found[0].translate(_MASK), name)


def crossed_names(names: Sequence[str]) -> CrossedNames | None:
    """How column names combine an annotator and a criterion, ``ann_clarity``; None if they do not."""
    found = _crossed([*map(_masked, names)])
    if found is None:
        return None
    back = {code: chr(mark) for mark, code in _MASK.items()}
    own = {name: found.annotator_of[_masked(name)].translate(back) for name in names}
    unnamed = tuple(name for name in names if _masked(name) in found.unnamed)
    return CrossedNames(found.template, own, found.ambiguity.translate(back), unnamed)


def _crossed(names: Sequence[str]) -> CrossedNames | None:
    """How names without marks in brackets combine an annotator and a criterion; None if they do not."""
    if (found := _crossed_with_unnamed(names)) is not None:
        return found
    for mark in _BETWEEN:
        if len(names) < 4 or not all(mark in name for name in names):
            continue
        for split in (str.partition, str.rpartition):
            pairs = [(left.strip(), right.strip()) for left, _, right in (split(name, mark) for name in names)]
            lefts, rights = (list(dict.fromkeys(part)) for part in zip(*pairs, strict=True))
            sides = len(lefts) >= 2 and len(rights) >= 2 and all(lefts) and all(rights)
            if not sides or len(set(pairs)) < len(pairs) or len(pairs) < 0.75 * len(lefts) * len(rights):
                continue
            if any(all(part.isdigit() for part in side) for side in (lefts, rights)):
                continue
            scores = [_names_people(side) - _names_criteria(side) for side in (lefts, rights)]
            numbered = [_are_repeats(side) for side in (lefts, rights)]
            first = numbered[1] or (scores[0] >= scores[1] and not numbered[0])
            role = "repeat" if any(numbered) else "criterion"
            template = f"annotator{mark}{role}" if first else f"{role}{mark}annotator"
            sure = scores[0] != scores[1] or any(numbered)
            unsure = "" if sure else f"as in '{names[0]}', but the order of the two is uncertain"
            annotators = (left if first else right for left, right in pairs)
            return CrossedNames(template, dict(zip(names, annotators, strict=True)), unsure)
    return None


_GLUED = re.compile(r"([^\W\d_]+\d+)([^\W\d_]+\d+)")
"""A name of two numbered parts without a mark between them: ``P1R2``."""


LEAST_ALIKE = 3
"""Columns from which numbers in their names number one thing: annotators, not the two sides of a comparison."""


def numbered_alike(names: Sequence[str]) -> list[str]:
    """Return the largest set of names that differ in their last number alone: ``label_1`` to ``label_10``; or none."""
    stems: dict[str, list[str]] = {}
    for name in names:
        if (found := re.fullmatch(r"(.*?[^\d\s_.-])[\s_.-]*\d+", name.strip())) is not None:
            stems.setdefault(found[1].lower(), []).append(name)
    best = max(stems.values(), key=len, default=[])
    return best if len(best) >= LEAST_ALIKE else []


def numbered_names(names: Sequence[str]) -> tuple[str, list[tuple[str, str]]] | None:
    """Return the mark between the two parts of each name, one of them a number, and the parts; None for other names.

    ``A_1, A_2, B_1, B_2``: the names alone do not show whether a number is a repeat, a criterion or an annotator.
    ``P1R1, P1R2, P2R1, P2R2`` have no mark.
    """
    for mark in (*_BETWEEN, ""):
        found = [_GLUED.fullmatch(name) for name in names] if not mark else []
        if not (all(found) if not mark else all(mark in name for name in names)):
            continue
        pairs = [(one[1], one[2]) for one in found if one] or [
            (left.strip(), right.strip()) for left, _, right in (name.rpartition(mark) for name in names)
        ]
        sides = [{pair[k] for pair in pairs} for k in (0, 1)]
        crossed = len(set(pairs)) == len(names) == len(sides[0]) * len(sides[1]) and min(map(len, sides)) > 1
        if any(map(_is_kind_of_annotator, sides[0] | sides[1])):
            return None
        if crossed and all(map(all, pairs)) and (not mark or any(all(p.isdigit() for p in side) for side in sides)):
            return mark, pairs
    return None


def _is_kind_of_annotator(part: str) -> bool:
    """Whether a part of a name is a kind of annotator, whose number is part of the name: ``human`` in ``human_1``."""
    alone = not re.search(r"\d$|[ _.-][A-Za-z]$", part)
    return alone and (is_human(part) or called(plain_name(part), "system") or bool(model_names([part])))


def crossed_part(names: Sequence[str]) -> list[str]:
    """Return the names that each combine an annotator and a criterion; a few other names are allowed.

    In ``rater1_a, rater2_a, rater1_b, rater2_b, a_score, b_score``, the first four share annotators and criteria. In
    ``claim, claim_e, claim_w, data, data_e, data_w`` those with initials do: the others are what the two agreed on.
    """
    best: list[str] = []
    for mark in _BETWEEN:
        for split in (str.partition, str.rpartition):
            groups: list[dict[str, tuple[str, ...]]] = []
            for name in (n for n in names if mark in _masked(n)):
                pair = tuple(part.strip() for part in split(_masked(name), mark)[::2])
                near = [g for g in groups if any(pair[0] == p[0] or pair[1] == p[1] for p in g.values())]
                joined = {k: p for g in near for k, p in g.items()} | {name: pair}
                groups = [joined, *(g for g in groups if g not in near)]
            for group in groups:
                sides = [list({p[i] for p in group.values()}) for i in (0, 1)]
                initials = any(one in names for one in sides[0]) and max(map(len, sides[1])) <= MOST_INITIALS
                whole = len(group) == len(sides[0]) * len(sides[1]) and len(sides[0]) > 1
                numbered = whole and all(_LETTER.fullmatch(one) for one in sides[0])
                people = any(map(_names_people, sides)) or initials or numbered
                if len(group) > len(best) and people and crossed_names(list(group)):
                    best = [n for n in names if n in group]
    return best


def _names_people(side: Sequence[str]) -> float:
    """How surely the parts of names are annotators: ``coder1`` more than ``human_role``, which goes on."""
    alone = all(re.fullmatch(r"(?i)[ _.-]?(\d+|[a-z])?", n[at.end() :]) for n in side if (at := _HUMAN.match(n)))
    models = model_names(side)
    # The use of LLMs is a criterion as well: `track, llm, agentic`.
    general = all(plain_name(n) in GENERAL_MODELS for n in models)
    if models and general and len(side) > 2 and not any(map(is_human, side)):
        models = []
    return 2 * bool(models) + all(_HUMAN.match(n) for n in side) * (1 + 0.5 * alone)


def _are_repeats(side: Sequence[str]) -> bool:
    """Whether names number repeats: ``round1``, ``run 2``."""
    stems = {re.sub(r" ?\d+$", "", plain_name(name)) for name in side}
    return len(stems) == 1 and all(name[-1:].isdigit() for name in side) and called(stems.pop(), "repeat")


def _names_criteria(side: Sequence[str]) -> int:
    plain = [plain_name(name) for name in side]
    numbered = all(called(re.sub(r" ?\d+$", "", name), "item") and name[-1:].isdigit() for name in plain)
    return int(numbered or any(called(name, "questions") for name in plain))


def same_except_spelling(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in case, spaces or the encoding of letters."""
    known = list(dict.fromkeys(names))
    keys = spelling_key(strip_spaces(pl.Series(known, dtype=pl.String)))
    groups: dict[str, list[str]] = {}
    for name, key in zip(known, keys.str.replace_all(r"[\s_.-]+", " ").to_list(), strict=True):
        groups.setdefault(key, []).append(name)
    return [tuple(natural(group)) for group in groups.values() if len(group) > 1]


# -- who voted -----------------------------------------------------------------------------------------

MOST_VOTERS = 100
"""Values of a column from which names of models among them do not show that it names who voted."""

MIN_VOTES = 1.5
"""Votes per question from which a column without a usual name identifies the questions."""


def voter_of(
    frame: pl.DataFrame, columns: Sequence[str], others: Sequence[str], question: str | Sequence[str]
) -> tuple[str | None, str | None]:
    """The question, and the column that names models and others who voted on the same questions; None without one."""
    for name in columns:
        if name != question and _has_people_and_models(frame[name]):
            found = question or question_of(frame, [c for c in others if c != name], name)
            if (
                found
                and 2 * frame.group_by(found).agg(pl.col(name).n_unique())[name].gt(1).sum()
                > frame.select(found).n_unique()
            ):
                return (found if isinstance(found, str) else None), name
    return (question if isinstance(question, str) else None), None


def _has_people_and_models(column: pl.Series) -> bool:
    """Whether a column names who answered, some of them models, as a column of systems or of categories does not."""
    if column.dtype != pl.String or column.null_count():
        return False
    names = column.unique().to_list()
    models = model_names(names, names) if 2 <= len(names) <= MOST_VOTERS else []
    return 0 < len(models) < len(names)


def question_of(frame: pl.DataFrame, columns: Sequence[str], voter: str) -> str | None:
    """The column whose values come again, once for each of several voters; None if no votes share one."""
    for name in columns:
        again = frame[name].n_unique() < frame.height / MIN_VOTES and not frame[name].null_count()
        if again and frame.select(name, voter).is_unique().all():
            return name
    return None


# -- ids that files write differently -----------------------------------------------------------------

LEAST_MATCHED, LEAST_SHARE = 3, 0.8
"""Ids, and the share of the ids of the smaller file, that match loosely at least."""


def _plain(ids: pl.Series) -> pl.Series:
    """Without case, punctuation and zeros before numbers: ``Answer-01`` is ``answer 1``."""
    text = ids.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ").str.strip_chars()
    return text.str.replace_all(r"\b0+(\d)", "$1")


def _without_shared(ids: pl.Series) -> pl.Series:
    """Without the parts before the first and after the last mark that all ids share: ``run-q01_v2`` is ``q01``."""
    texts = ids.drop_nulls().to_list()
    start = re.sub(r"[^\W_]*$", "", _shared_start(texts))
    end = re.sub(r"^[^\W_]*", "", _shared_start([text[::-1] for text in texts])[::-1])
    return _plain(ids.str.strip_prefix(start).str.strip_suffix(end))


def _shared_start(texts: Sequence[str]) -> str:
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


FORMS: Mapping[str, Callable[[pl.Series], pl.Series]] = {
    "spelling": _plain,
    "in brackets": lambda ids: _plain(ids.str.extract(r"[\[(]([^\[\]()]+)[\])]\s*$")),
    "without folder and suffix": lambda ids: _plain(ids.str.extract(r"([^/\\]+?)(?:\.[A-Za-z]\w{0,4})?$")),
    "without what all share": _without_shared,
    "the number": lambda ids: ids.str.extract(r"(\d+)\D*$").str.replace(r"^0+(\d)", "$1"),
}
"""How an id is compared, by its name in words."""

SPLIT = re.compile(r"(?<![^\W\d_])(train|test|dev|val|holdout|pilot)(?:ing|elopment|id|idation)?(?![^\W\d_])")
"""The part of a data set that an id names: the first text of one part is not the first text of another."""


def loose_matches(first: pl.Series, second: pl.Series, *, numbered: bool = True) -> dict[str, str]:
    """Return the id in ``first`` of each id in ``second`` that only matches loosely; empty if most do not match.

    Both are distinct ids that are in one file only. Without ``numbered``, equal numbers are no match, also not as the
    rest of ids that begin or end alike: FS-001 and DS-001 are the first item of two sets.
    """
    least = max(LEAST_MATCHED, LEAST_SHARE * min(len(first), len(second)))
    best: dict[str, str] = {}
    keys = [{name: form(ids) for name, form in FORMS.items()} for ids in (first, second)]
    for one, other in itertools.product(FORMS, FORMS):
        if "the number" in (one, other) and (one != other or not numbered):
            continue
        mine, theirs = (_partners(ids, of[name]) for ids, of, name in ((first, keys[0], one), (second, keys[1], other)))
        found = {theirs[key]: mine[key] for key in mine.keys() & theirs.keys()}
        if not numbered:
            found = {their: our for their, our in found.items() if not _of_different_sets(their, our)}
        found = {their: our for their, our in found.items() if not _of_different_parts(their, our)}
        if len(found) >= max(least, len(best) + 1):
            best = found
    return dict(sorted(best.items()))


def _of_different_sets(one: str, other: str) -> bool:
    """Whether two ids have words, and none in common: only their numbers are equal."""
    words = [{*re.findall(r"[^\W\d_]+", text.lower())} for text in (one, other)]
    return bool(words[0] or words[1]) and words[0].isdisjoint(words[1])


def _of_different_parts(one: str, other: str) -> bool:
    """Whether two ids name different parts of a data set: ``train_0`` and ``test_0``."""
    named = [SPLIT.search(each.lower()) for each in (one, other)]
    return len({found[1] for found in named if found}) == 2


_SCALE_IN_BRACKETS = re.compile(r"\s*[\[(]([^\[\]()]*)[\])]\s*$")


def split_scale(name: str) -> tuple[str, Scale | None]:
    """Return a name without the scale in brackets at its end, and the scale: ``Tone (1-5)``; None without one."""
    found = _SCALE_IN_BRACKETS.search(name)
    stated = scale_named(found[1].strip()) if found else None
    return (name, None) if found is None or stated is None else (name[: found.start()].strip(), stated)


def loose_criteria(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """Return the criterion in ``first`` of each in ``second`` that differs in spelling, or in a scale in brackets."""
    keys = [{name: plain_name(split_scale(name)[0]) for name in names} for names in (first, second)]
    once = [{key: name for name, key in of.items() if [*of.values()].count(key) == 1} for of in keys]
    return {
        name: once[0][key]
        for key, name in sorted(once[1].items())
        if name not in first and once[0].get(key, name) != name and once[0][key] not in second
    }


def _partners(ids: pl.Series, keys: pl.Series) -> dict[str, str]:
    """The id of each key that a single id has."""
    table = pl.DataFrame({"id": ids, "key": keys}).filter(pl.col("key").is_not_null() & (pl.col("key") != ""))
    return dict(table.filter(~pl.col("key").is_duplicated()).select("key", "id").rows())
