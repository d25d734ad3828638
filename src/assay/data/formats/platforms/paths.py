"""Exports that are lists of records, read by the paths of a record's id, its answers and their annotators.

Argilla, Prodigy, promptfoo, DeepEval, lm-evaluation-harness, MLflow and Inspect AI are each a subclass of `Export`
that uses `find` with its paths; only parts without a path have their own code. A path is keys joined by dots; of
several, the first with a value is used.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from assay.data.columns import class_names
from assay.data.formats import FormatSettings, Rows
from assay.data.formats.platforms.intake import (
    DISCARDED,
    DRAFT,
    EMPTY,
    RANKING,
    SKIPPED,
    SUPERSEDED,
    UNKNOWN_ANNOTATOR,
    UNSCORED,
    Intake,
    PlatformAnswer,
    name_table,
    own_id,
    parse_cell,
    set_of,
    stated_rater,
)
from assay.data.formats.tables import json_objects, load_json, read_delimited, read_safely
from assay.data.scales import Nominal, Ordinal, Preference, Scale, Text
from assay.errors import DataError, DesignError, counted, listing

Record = Mapping[str, Any]

BY_RULE = "rule-based, not given by a judge"
BY_CODE = "given by code, not by a judge"
EXPECTATION = "an expectation (ground truth), not an assessment"
NO_OUTPUT = "no output of the provider to judge"
FAILED = "the sample ended in an error"
SPANS = "spans in a text: not a label of the whole item"
BAD_TASK = "the annotator rejected the task itself"
REVIEW = "a consensus made in review, not an annotator's answer"
OTHER_VIEW = "a view whose answer is not a label of the whole item"


def find(record: Record, *paths: str) -> Any:
    """Return the value of the first path that has one; None if none does."""
    for path in paths:
        found: Any = record
        for key in path.split("."):
            found = found.get(key) if found else None
        if found is not None and found != "":
            return found
    return None


class Export:
    """Reader of one export."""

    unit: ClassVar[str] = "record"
    """The name of a record in messages."""
    ids: tuple[str, ...] = ()
    """Paths of the platform's own item id."""
    texts: bool = False
    """Whether the file stores numbers as text."""

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        self.path, self.item, self.settings, self.intake = path, item, settings, Intake(path)

    def records(self) -> Sequence[Record]:
        """The records of the file."""
        raise NotImplementedError

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        """The answers in a record, without item and place; or the reason why an entry is not an answer."""
        raise NotImplementedError

    def fields_of(self, record: Record) -> dict[str, Any]:
        """The fields of a record's item that the user knows."""
        return dict(record)

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """The item id: the user's own, otherwise the platform's."""
        return name or str(find(record, *self.ids) or place)

    def place_of(self, record: Record, number: int) -> str:
        """The place of a record, in words."""
        return f"{self.unit} {number}"

    def attributes(self, record: Record, name: str | None) -> Record | None:
        """The attributes of the item; None if a record without an answer has none."""
        return self.fields_of(record)

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        """Add notes and scales after all answers are read, and return the questions to read."""
        return criteria

    def judge(self) -> str | None:
        """The judge that the user specifies."""
        if isinstance(self.settings.judge, Mapping):
            raise DesignError("judge=... by scorer is only for logs of Inspect AI; name one judge", option="judge")
        return self.settings.judge

    @classmethod
    def read(cls, path: Path, item: str | None, settings: FormatSettings) -> Rows:
        """Read the answers of an export; ``item`` is the field with the user's own id."""
        return cls(path, item, settings).rows()

    def rows(self) -> Rows:
        """Read the whole export."""
        for number, record in enumerate(self.records(), 1):
            place = self.place_of(record, number)
            own = own_id(self.item, self.fields_of(record), f"{self.path}, {place}")
            name = self.name_of(own, record, place)
            if (about := self.attributes(record, own)) is not None:
                self.intake.item(name, about)
            for one in self.answers(record):
                if isinstance(one, str):
                    self.intake.exclude(one)
                else:
                    one.item, one.where = name, place
                    self.intake.add(one)
        return self.intake.rows(self.finish(self.settings.criteria), texts=self.texts)


def answer(
    annotator: str | None, label: Any, criterion: str | None, kind: str = "human", **more: Any
) -> PlatformAnswer:
    """Return one answer without its item; a name that is not text means that the file is not such an export."""
    if not isinstance(annotator, str | None):
        raise TypeError(f"a name must be a text; got {annotator!r}")
    return PlatformAnswer("", annotator or "", "", label, criterion, kind, **more)


def table_records(path: Path) -> Any:
    """Load the rows of a Parquet file, the objects of JSON Lines, or the content of a JSON file."""
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        return read_safely(path, lambda: pl.read_parquet(path)).to_dicts()
    return json_objects(path) if suffix in (".jsonl", ".ndjson") else load_json(path)


# -- Argilla 2 --------------------------------------------------------------------------------------
# ``records.json`` does not store whether a response was submitted; flat records (JSON, JSON Lines, Parquet of
# ``dataset.to_hub()``) do. Suggestions are judge labels.

ARGILLA_SETTINGS = Path(".argilla") / "settings.json"


class Argilla(Export):
    """Responses and suggestions of a dataset: ``records.json``, flat records, or a folder that contains one of them."""

    ids = ("id",)

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        super().__init__(_argilla_records(path) if path.is_dir() else path, item, settings)
        in_folder = (path if path.is_dir() else path.parent) / ARGILLA_SETTINGS
        stated = settings.settings or (in_folder if in_folder.is_file() else None)
        questions = [] if stated is None else load_json(Path(stated)).get("questions", [])
        self.questions = {q["name"]: q for q in questions}
        self.users = name_table(settings.users)
        self.rankings: set[str] = set()

    def records(self) -> Sequence[Record]:
        """The records, with the names of label classes, which the Hub stores as numbers."""
        suffix = self.path.suffix.lower()
        if suffix in (".csv", ".tsv"):
            raise DataError(
                f"{self.path}: in a CSV of Argilla records, lists have become text that cannot be parsed; "
                "export JSON or parquet"
            )
        found = table_records(self.path)
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise DataError(f"{self.path} must contain a list of records, as Argilla exports them")
        if suffix in (".parquet", ".pq"):
            for column, names in class_names(pl.read_parquet_metadata(self.path)).items():
                for record in found:
                    if isinstance(record.get(column), int):
                        record[column] = names[record[column]]
        ranked = {name for name, question in self.questions.items() if _argilla_type(question) == "ranking"}
        self.rankings = {*self.settings.rankings, *ranked} or _find_rankings(found)
        if any("responses" in record for record in found):
            self.intake.note("records.json does not mark drafts or discarded responses; flat records do")
        return found

    def place_of(self, record: Record, number: int) -> str:
        return f"record {number} ({record.get('id')})"

    def fields_of(self, record: Record) -> dict[str, Any]:
        if isinstance(record.get("fields"), dict):
            return {**(record.get("metadata") or {}), **record["fields"]}
        own = {"id", "status", "_server_id"}
        parts = (".responses", ".users", ".status", ".suggestion", ".score", ".agent")
        return {k: v for k, v in record.items() if k not in own and not k.endswith(parts)}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        """Responses of humans, and suggestions of judges; lists become one label, in their order for a ranking."""
        suggested = dict(_suggestions(record))
        for question, user, status, value in _responses(record):
            if user is None:
                yield UNKNOWN_ANNOTATOR
            elif status in ("draft", "discarded"):
                yield DRAFT if status == "draft" else DISCARDED
            else:
                shown = {"suggestion_shown": question in suggested}
                yield self._answer(self.users.get(user, user), question, value, "human", shown)
        for question, (value, agent) in suggested.items() if self.settings.suggestions else ():
            yield self._answer(agent or "suggestion", question, value, "judge", {})

    def _answer(self, who: str, question: str, value: Any, kind: str, about: dict[str, Any]) -> PlatformAnswer | str:
        if isinstance(value, list) and any(isinstance(v, dict) for v in value):
            return SPANS
        if isinstance(value, list):
            value = RANKING.join(map(str, value)) if question in self.rankings else set_of(value)
        return answer(who, value, question, kind, about=about)

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        if self.rankings and not self.settings.rankings and not self.questions:
            self.intake.note(f"assumed to be rankings: {listing(sorted(self.rankings))} (if wrong, set rankings=[...])")
        if not self.settings.users:
            self.intake.note("annotators are user ids; name them with users=...")
        scales = {name: _argilla_scale(question) for name, question in self.questions.items()}
        self.intake.scales = {name: scale for name, scale in scales.items() if scale is not None}
        return criteria


def _argilla_records(folder: Path) -> Path:
    for name in ("records.json", "records.jsonl"):
        if (folder / name).is_file():
            return folder / name
    found = sorted([*folder.glob("*.parquet"), *folder.glob("data/*.parquet")])  # the second as on the Hub
    if len(found) == 1:
        return found[0]
    raise DataError(
        f"{folder} contains no records.json, but {counted(len(found), 'parquet file')}; name the file of records in it"
    )


def _responses(record: Record) -> Iterator[tuple[str, str | None, str, Any]]:
    """(question, user, status, value) of every response; questions are not aligned with one another."""
    if isinstance(record.get("responses"), dict):
        for question, given in record["responses"].items():
            for one in given or ():
                yield question, one.get("user_id"), one.get("status") or "submitted", one.get("value")
        return
    for column in record:
        if column.endswith(".responses") and record[column] is not None:
            users = record.get(f"{column}.users") or [None] * len(record[column])
            statuses = record.get(f"{column}.status") or ["submitted"] * len(record[column])
            for value, user, status in zip(record[column], users, statuses, strict=True):
                yield column.removesuffix(".responses"), user, status, value


def _suggestions(record: Record) -> Iterator[tuple[str, tuple[Any, str | None]]]:
    """(question, (value, agent)) of every suggestion."""
    if isinstance(record.get("suggestions"), dict):
        for question, one in record["suggestions"].items():
            if one and one.get("value") is not None:
                yield question, (one["value"], one.get("agent"))
        return
    for column in record:
        if column.endswith(".suggestion") and record[column] is not None:
            yield column.removesuffix(".suggestion"), (record[column], record.get(f"{column}.agent"))


def _find_rankings(records: Sequence[Record]) -> set[str]:
    """Questions whose responses all contain the same values, in more than one order: rankings."""
    orders: dict[str, set[tuple[str, ...]]] = {}
    for record in records:
        for question, _, _, value in _responses(record):
            orders.setdefault(question, set()).add(tuple(map(str, value)) if isinstance(value, list) else ())
    return {q for q, seen in orders.items() if len(seen) > 1 and len({tuple(sorted(o)) for o in seen}) == 1}


def _argilla_type(question: Record) -> str:
    return str(find(question, "type", "settings.type"))


def _argilla_scale(question: Record) -> Scale | None:
    """The scale that a question's settings define."""
    values = [one["value"] for one in find(question, "settings.options") or ()]
    kind = _argilla_type(question)
    if kind == "rating" and values:
        return Ordinal(min(values), max(values))
    if kind == "label_selection" and values:
        return Nominal(values)
    return Text() if kind == "text" else Nominal() if kind in ("multi_label_selection", "ranking") else None


# -- Prodigy: JSON Lines of ``prodigy db-out`` ----------------------------------------------------------

START_TIME = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")
"""The name that Prodigy gives to a session without a name."""


class Prodigy(Export):
    """Answers of one dataset, in choice and binary views."""

    unit = "line"
    ids = ("_input_hash",)

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        super().__init__(path, item, settings)
        if settings.pair is not None and len(settings.pair) != 2:
            raise DataError(f"pair=... requires the two options that are compared; got {len(settings.pair)}")
        self.options: dict[Any, None] = {}

    def records(self) -> Sequence[Record]:
        return json_objects(self.path)

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """The item id: the user's own, otherwise the platform's."""
        if name is None:
            self.intake.note("items are named by the hash of their input; name your own field with item=...")
        return str(record.get("_input_hash")) if name is None else name

    def attributes(self, record: Record, name: str | None) -> Record | None:
        """The user's own fields, if the task has an answer."""
        if isinstance(self._answer(record), str) or not find(record, "_annotator_id", "_session_id"):
            return None
        own = ("answer", "accept", "options", "config", "label")
        return {k: v for k, v in record.items() if not k.startswith("_") and k not in own}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        found = self._answer(record)
        if isinstance(found, str):
            yield found
            return
        criterion, label, about = found
        who = str(find(record, "_annotator_id", "_session_id") or "")
        if who and "options" in record:
            self.options.update(dict.fromkeys(one["id"] for one in record["options"]))
            if (pair := self.settings.pair) is not None:
                label = {pair[0]: -1, pair[1]: 1}.get(label, 0)
        if self.settings.dataset:
            who = who.removeprefix(f"{self.settings.dataset}-")
        yield answer(who, label, criterion, time=record.get("_timestamp"), about=about)

    def rows(self) -> Rows:
        # Sessions name people and models alike, so that names of models are asked about as in a plain table.
        found = super().rows()
        return replace(found, labels=found.labels.drop("kind"))

    def _answer(self, task: Record) -> tuple[str | None, Any, dict[str, Any]] | str:
        """(criterion, label, about) of one task, or the reason why it has none."""
        given, options = task.get("answer"), task.get("options")
        if task.get("_view_id") == "review":
            return REVIEW
        if given == "ignore":
            return SKIPPED
        if options is None:
            # In a binary task, the verdict is the label; in other tasks, it marks whether the answer is valid.
            binary = isinstance(task.get("label"), str) and "spans" not in task
            return (task["label"], given, {}) if binary else OTHER_VIEW
        if given == "reject":
            return BAD_TASK
        chosen = task.get("accept") or []
        if len(chosen) != 1:
            return (self.settings.question, set_of(chosen), {}) if chosen else EMPTY
        ids = [one["id"] for one in options]
        return (
            self.settings.question,
            chosen[0],
            {"position": ids.index(chosen[0]) + 1 if chosen[0] in ids else None},
        )

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        options, pair, question, answers = list(self.options), self.settings.pair, self.settings.question, self.intake
        for option in pair or ():
            if option not in options:
                raise DataError(f"{self.path}: option {option!r} of pair=... does not exist; the options are {options}")
        chosen = {a.label for a in answers.answers if a.criterion == question}
        if pair is not None:
            self.intake.scales[question] = Preference()
        elif options and chosen <= {o for o in options if o == str(o)}:
            self.intake.scales[question] = Nominal(options)
        for criterion in {a.criterion for a in answers.answers} - {question}:
            self.intake.scales[criterion] = Nominal(["accept", "reject"])
        if any(START_TIME.fullmatch(a.annotator) for a in answers.answers):
            self.intake.note(
                "some sessions have no name: their annotators are starting times, perhaps of several people"
            )
        return criteria


# -- promptfoo: ``promptfoo eval --output results.json`` or ``.jsonl`` ------------------------------------

MODEL_GRADED = {
    "agent-rubric", "answer-relevance", "context-faithfulness", "context-recall", "context-relevance",
    "conversation-relevance", "conversational-relevance", "factuality", "g-eval", "llm-rubric",
    "model-graded-closedqa", "model-graded-factuality", "pi", "search-rubric", "select-best",
    "trajectory:goal-success",
}  # fmt: skip
"""Assertions that a model judges; ``human`` is a rating given in promptfoo's own pages."""


class Promptfoo(Export):
    """The scores that model graders (and humans, in promptfoo's pages) gave to each output.

    An item is one output: the test, and, if there are several, the provider and the prompt, as
    ``test @ provider / prompt 1``. A criterion is the assertion's metric, or its type. The same test run again
    is a repeat.
    """

    unit = "result"

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        super().__init__(path, item, settings)
        self.several: dict[str, bool] = {}
        self.grader, self.named = "promptfoo grader", False

    def records(self) -> Sequence[Record]:
        if self.path.suffix.lower() in (".csv", ".tsv"):
            raise DataError(
                f"{self.path}: a CSV of promptfoo does not contain which assertions gave a score, nor which model; "
                "write the results with 'promptfoo export eval ID --output results.json'"
            )
        found = table_records(self.path)
        lines = self.path.suffix.lower() in (".jsonl", ".ndjson")
        results = found if lines else found.get("results") if isinstance(found, dict) else None
        if isinstance(results, dict):
            results = results.get("results")
        if not isinstance(results, list):
            raise DataError(
                f"{self.path} contains no results of promptfoo; write them with 'promptfoo eval --output results.json'"
            )
        grader = self.judge() or (None if lines else _provider_name(find(found, "config.defaultTest.options.provider")))
        self.grader = str(grader or self.grader)
        self.named = grader is not None
        self.several = {
            " @ ": len({_system(r) for r in results}) > 1,
            " / prompt ": len({r.get("promptIdx") for r in results}) > 1,
        }
        return results

    def fields_of(self, record: Record) -> dict[str, Any]:
        return dict(find(record, "vars") or find(record, "testCase.vars") or {})

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """The test, and the provider and prompt if there are several."""
        said = {" @ ": _system(record), " / prompt ": record.get("promptIdx")}
        return _test(name, record) + "".join(f"{k}{v}" for k, v in said.items() if self.several[k])

    def attributes(self, record: Record, name: str | None) -> Record | None:
        prompt = record.get("prompt")
        if isinstance(prompt, dict):
            prompt = prompt.get("label") or prompt.get("raw")
        own = {"document": _test(name, record), "system": _system(record), "prompt": prompt}
        found = {**self.fields_of(record), **own, "output": find(record, "response.output")}
        return {k: v for k, v in found.items() if v is not None}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        """One answer per assertion; equal names are numbered in the order of the assertions."""
        grading = record.get("gradingResult")
        if not grading:
            yield NO_OUTPUT if record.get("error") else EMPTY
            return
        seen: Counter[str] = Counter()
        for one in grading.get("componentResults") or [grading]:
            name = str(find(one, "assertion.metric", "assertion.type") or "score")
            seen[name] += 1
            kind = str(find(one, "assertion.type") or "").removeprefix("not-")
            if kind != "human" and kind not in MODEL_GRADED:
                yield BY_RULE
            elif find(one, "metadata.graderError"):
                yield UNSCORED
            else:
                judge = _provider_name(find(one, "assertion.provider")) or self.grader
                if judge is self.grader and kind != "human" and not self.named:
                    self.intake.note("the results do not name the default grader; name it with judge=...")
                    self.named = True
                who, by = ("promptfoo user", "human") if kind == "human" else (judge, "judge")
                criterion = name if seen[name] == 1 else f"{name} {seen[name]}"
                yield answer(who, one.get(self.settings.value), criterion, by)

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        """Answers to a test that was run again are numbered; human ratings are compared with the only assertion."""
        criteria = self._with_one_criterion(criteria)
        asked: Counter[tuple[str, str, str | None]] = Counter()
        for one in self.intake.answers:
            key = one.item, one.annotator, one.criterion
            asked[key] += 1
            one.repeat = asked[key]
        if max(asked.values(), default=1) == 1:
            for one in self.intake.answers:
                one.repeat = None
        return criteria

    def _with_one_criterion(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        """Name the criterion of human ratings after the model-graded assertion, if one is read and scales agree.

        In promptfoo's pages people rate a whole output, 1 or 0 as a rule, not one of its assertions.
        """
        people = [one for one in self.intake.answers if one.kind == "human"]
        graded = {str(one.criterion): None for one in self.intake.answers if one.kind == "judge"}
        read = [name for name in graded if criteria is None or name in criteria]
        if not people or not read or (criteria is not None and HUMAN not in criteria):
            return criteria
        if len(read) > 1:
            self.intake.note(
                f"human ratings are of whole outputs: a separate criterion, because {listing(read, 4)} are "
                f"model-graded; to compare them with one of these, set criteria=['{read[0]}', '{HUMAN}']"
            )
            return criteria
        both = [one for one in self.intake.answers if one.kind == "human" or one.criterion == read[0]]
        if not all(isinstance(one.label, str) or 0 <= one.label <= 1 for one in both):
            return criteria
        for one in people:
            one.criterion = read[0]
        self.intake.note(f"human ratings are of whole outputs, and are compared with the assertion '{read[0]}'")
        return criteria if criteria is None else [name for name in criteria if name != HUMAN]


HUMAN = "human"
"""The criterion of ratings given in promptfoo's pages, next to several assertions."""


def _test(name: str | None, result: Record) -> str:
    return name or f"test {result.get('testIdx')}"


def _provider_name(provider: Any) -> str | None:
    found = (provider.get("label") or provider.get("id")) if isinstance(provider, dict) else provider
    return str(found) if found else None


def _system(result: Record) -> str:
    return _provider_name(result.get("provider")) or "provider"


# -- DeepEval: the JSON of a test run -----------------------------------------------------------------------


class DeepEval(Export):
    """The scores of the models in DeepEval's metrics for each test case; metrics without a model are rule-based."""

    unit = "test case"
    ids = ("name",)

    def records(self) -> Sequence[Record]:
        found = load_json(self.path)
        found = found.get("testRunData", found) if isinstance(found, dict) else {}
        cases = [*(found.get("testCases") or ()), *(found.get("conversationalTestCases") or ())]
        if not cases:
            raise DataError(
                f"{self.path} contains no test cases of DeepEval; set DEEPEVAL_RESULTS_FOLDER and run them again"
            )
        return cases

    def fields_of(self, record: Record) -> dict[str, Any]:
        about = find(record, "metadata", "additionalMetadata")
        own = {"name": record.get("name"), "input": record.get("input"), "output": record.get("actualOutput")}
        own |= {"expected": record.get("expectedOutput"), **(about if isinstance(about, dict) else {})}
        return {name: value for name, value in own.items() if isinstance(value, str | int | float)}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        wanted = self.settings.criteria or ()
        for one in record.get("metricsData") or ():
            label = one.get("success" if self.settings.value == "pass" else "score")
            model, name = find(one, "evaluationModel"), re.sub(r" \[\w+\]$", "", str(one["name"]))
            if model is None and name not in wanted:
                yield BY_RULE
            elif one.get("error") or label is None:
                yield UNSCORED
            else:
                yield answer(self.judge() or model or "DeepEval", label, name, "judge")


# -- lm-evaluation-harness: ``samples_TASK_TIME.jsonl`` of ``--log_samples`` ------------------------------------

TASK = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT.*")
"""The name of a file of samples."""


class LmEval(Export):
    """Metrics of single samples. Nearly all are rule-based, so the user names the metrics of a judge."""

    unit = "sample"
    ids = ("doc_id",)

    def records(self) -> Sequence[Record]:
        found = json_objects(self.path)
        metrics = list(dict.fromkeys(str(name) for record in found for name in record["metrics"]))
        if not self.settings.criteria:
            raise DataError(
                f"{self.path} does not state which metrics a judge gave, and most of lm-evaluation-harness are "
                f"rule-based; name the judge's with criteria=[...] (there are {listing(metrics)})"
            )
        if self.judge() is None:
            self.intake.note("the samples do not name the judge; set judge=...")
        return found

    def fields_of(self, record: Record) -> dict[str, Any]:
        document = record.get("doc")
        return {"doc_id": record.get("doc_id"), **(document if isinstance(document, dict) else {})}

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """Item 0 of each task in a table of several tasks is a different item."""
        task = TASK.fullmatch(self.path.stem)
        return name or (f"{task[1]}/" if task else "") + str(record["doc_id"])

    def attributes(self, record: Record, name: str | None) -> Record | None:
        output = next(iter(record.get("filtered_resps") or ()), None)
        own = {**self.fields_of(record), "target": record.get("target"), "output": output}
        return {key: value for key, value in own.items() if isinstance(value, str | int | float)}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        wanted = self.settings.criteria or ()
        for metric in record["metrics"]:
            value = record.get(metric)
            if metric not in wanted:
                yield BY_RULE
            elif not isinstance(value, str | int | float):
                yield UNSCORED
            else:
                yield answer(self.judge() or "lm-eval judge", value, str(metric), "judge")


# -- MLflow: tables of ``mlflow.evaluate``, traces with their assessments ---------------------------------
# Traces come from ``mlflow.search_traces``, ``mlflow.genai.evaluate`` (its ``result_df``) or the command line.

METRIC = re.compile(r"(?P<metric>.+?)/v\d+/score|(?P<value>.+)/value")
"""Columns of scores in a table."""


class MLflow(Export):
    """Scores of judges, and feedback of humans, on outputs or traces."""

    unit = "row"
    ids: tuple[str, ...] = ("trace_id", "request_id")

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        super().__init__(path, item, settings)
        self.columns: list[str] = []
        self.judged: dict[str, str] | None = None
        """In a table, the column of each metric whose scores a judge gave."""

    def records(self) -> Sequence[Record]:
        csv = self.path.suffix.lower() in (".csv", ".tsv")
        found = read_delimited(self.path).to_dicts() if csv else table_records(self.path)
        if isinstance(found, dict) and isinstance(found.get("columns"), list) and isinstance(found.get("data"), list):
            found = [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
        if isinstance(found, dict):
            found = found.get("traces", [found] if "info" in found else None)
        if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
            raise DataError(f"{self.path} contains neither a table (columns and data) nor traces of MLflow")
        rows = [{**row["info"], **row} if isinstance(row.get("info"), dict) else row for row in found]
        self.columns = list(dict.fromkeys(key for row in rows for key in row))
        if not any(isinstance(parse_cell(row.get("assessments")), list) for row in rows):
            self.ids = ("trace_id",)
            self.judged = self._judged_metrics()
            if self.judge() is None:
                self.intake.note("the table does not name the judge; set judge=...")
        if self.item is None and "item" not in self.columns and not any(row.get("trace_id") for row in rows):
            self.intake.note("items are named by their row; name your own id with item=...")
        return rows

    def _judged_metrics(self) -> dict[str, str]:
        """Metrics with a justification, and those that the user names."""
        scores = {found["metric"] or found["value"]: c for c in self.columns if (found := METRIC.fullmatch(c))}
        stems = {metric: column.rpartition("/")[0] for metric, column in scores.items()}
        reasons = {c.rpartition("/")[0] for c in self.columns if c.endswith(("/justification", "/rationale"))}
        wanted = self.settings.criteria or ()
        judged = {m: column for m, column in scores.items() if stems[m] in reasons or m in wanted}
        others = [metric for metric in scores if metric not in judged]
        if not judged:
            raise DataError(
                f"{self.path} contains no score with a justification, so no metric is recognised as a judge's; name "
                f"the judge's metrics with criteria=[...] (there are {listing(others)})"
                if others
                else f"{self.path} has no column 'metric/v1/score' or 'name/value' of MLflow"
            )
        if others:
            self.intake.note(f"skipped metrics without a justification: {listing(others)}")
        return judged

    def place_of(self, record: Record, number: int) -> str:
        trace = None if self.judged is not None else find(record, *self.ids)
        return f"row {number}" + (f" ({trace})" if trace else "")

    def attributes(self, record: Record, name: str | None) -> Record | None:
        kept: Sequence[str] = ("request", "response", "request_preview", "response_preview", "inputs", "outputs")
        if self.judged is not None:
            ends = ("/justification", "/rationale")
            kept = [c for c in self.columns if not (METRIC.fullmatch(c) or c.endswith(ends))]
        return {k: record[k] for k in kept if record.get(k) is not None}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        if self.judged is None:
            yield from map(self._assessment, parse_cell(record.get("assessments")) or ())
            return
        for metric, column in self.judged.items():
            value = record.get(column)
            judge = self.judge() or "mlflow judge"
            yield UNSCORED if value is None or value == "" else answer(judge, value, metric, "judge")

    def _assessment(self, one: Record) -> PlatformAnswer | str:
        by = str(find(one, "source.source_type") or "").upper()
        feedback = one.get("feedback") if isinstance(one.get("feedback"), dict) else None
        if one.get("valid") is False:
            return SUPERSEDED
        if one.get("expectation") is not None:
            return EXPECTATION
        if by not in ("HUMAN", "LLM_JUDGE", "AI_JUDGE"):
            return BY_CODE
        if one.get("error") or (feedback or {}).get("error"):
            return UNSCORED
        who, kind = find(one, "source.source_id"), "human" if by == "HUMAN" else "judge"
        if kind == "judge":
            who = who or self.judge()
        elif who == "default":
            who = None
        time = find(one, "last_update_time", "create_time", "create_time_ms")
        label = one.get("value") if feedback is None else feedback.get("value")
        criterion = str(find(one, "assessment_name", "name"))
        name = None if who is None else str(who)
        return answer(name, label, criterion, kind, time=None if time is None else str(time))


# -- Inspect AI: logs, ``.eval`` (a zip) and ``.json`` ----------------------------------------------------

JUDGE_KEYS = ("metadata.judge_model", "metadata.grader_model", "metadata.model")
"""Keys under which scorers store the name of the judge."""

RULES = frozenset(("match", "includes", "pattern", "answer", "exact", "f1", "choice", "math", "equals"))
"""Inspect's own scorers that compare an output with a target and use no model."""


class Inspect(Export):
    """The scores that model graders gave to the samples of a log.

    A scorer that gives several values is several criteria (``scorer.aspect``); epochs are repeated labels of
    one judge. If a human edited a score, the judge's own score is used.
    """

    def __init__(self, path: Path, item: str | None, settings: FormatSettings) -> None:
        super().__init__(path, item, settings)
        self.header, self.samples = _eval_log(path) if path.suffix.lower() == ".eval" else _json_log(path)
        self.graders = _graders(self.header)
        self.epochs = int(find(self.header, "eval.config.epochs") or 1)
        self.by_scorer = settings.judge if isinstance(settings.judge, Mapping) else {}
        self.rules: dict[str, None] = {}
        self.edited = 0

    def records(self) -> Any:
        """The records, sample by sample, because logs are large."""
        return self.samples

    def fields_of(self, record: Record) -> dict[str, Any]:
        return dict(record.get("metadata") or {})

    def place_of(self, record: Record, number: int) -> str:
        return f"sample {record.get('id')}, epoch {record.get('epoch')}"

    def name_of(self, name: str | None, record: Record, place: str) -> str:
        """The item id, with the evaluated model if with_model is set."""
        own = name or str(record["id"])
        return f"{own}@{find(self.header, 'eval.model')}" if self.settings.with_model else own

    def attributes(self, record: Record, name: str | None) -> Record | None:
        plain = {k: v for k, v in self.fields_of(record).items() if isinstance(v, str | int | float | bool)}
        about = {"input": record.get("input"), "target": record.get("target")}
        about |= {"output": find(record, "output.completion"), **plain, "system": find(self.header, "eval.model")}
        return {k: v for k, v in about.items() if v is not None}

    def answers(self, record: Record) -> Iterator[PlatformAnswer | str]:
        if record.get("error"):
            yield FAILED
        epoch = int(record.get("epoch") or 1)
        for scorer, score in (record.get("scores") or {}).items():
            history = score.get("history") or []
            changed = any((change or {}).get("provenance") for change in history)
            self.edited += changed
            own = history[0] if changed else score
            if self._follows_rule(scorer, own):
                self.rules.setdefault(scorer)
                yield BY_RULE
                continue
            if (stated := stated_rater(own.get("metadata") or {})) is not None:
                annotator, kind, criterion = stated
                yield answer(annotator, own.get("value"), criterion, kind)
                continue
            said = self.settings.judge
            who = said if isinstance(said, str) else self.by_scorer.get(scorer) or self._judge(scorer, own)
            value = own.get("value")
            for aspect, label in (value if isinstance(value, dict) else {None: value}).items():
                yield answer(
                    who, label, scorer if aspect is None else f"{scorer}.{aspect}", "judge",
                    repeat=epoch if self.epochs > 1 or epoch > 1 else None, about={"edited": len(history) > 1},
                )  # fmt: skip

    def _follows_rule(self, scorer: str, score: Record) -> bool:
        """Whether its scorer uses no model, the log names none, and the user did not select it."""
        name = scorer.rpartition("/")[2]
        named = {*(self.settings.criteria or ()), *self.by_scorer}
        asked_for = any(one in (scorer, name) or one.startswith(f"{scorer}.") for one in named)
        return name in RULES and not asked_for and self._judge(scorer, score) == scorer

    def _judge(self, scorer: str, score: Record) -> str:
        """The judge according to the log; the scorer's name if the log does not state the model."""
        said = next((name for path in JUDGE_KEYS if isinstance(name := find(score, path), str)), None)
        role = self.graders.get(None) if "grading" in (score.get("metadata") or {}) else None
        return self.graders.get(scorer) or said or role or scorer

    def finish(self, criteria: Sequence[str] | None) -> Sequence[str] | None:
        """A scorer in criteria includes all its aspects."""
        if self.rules:
            shown = listing(list(self.rules))
            self.intake.note(f"skipped rule-based scorers: {shown} (to read them, set criteria=[...])")
        if self.edited:
            self.intake.note(
                f"{counted(self.edited, 'score')} edited by a human: the judge's own earlier score is used"
            )
        if self.header.get("status") != "success":
            status = self.header.get("status")
            self.intake.note(f"the log's status is '{status}': it might contain only part of the samples")
        seen = {a.criterion: None for a in self.intake.answers if a.criterion is not None}
        if criteria is None:
            return None
        return [c for name in criteria for c in [s for s in seen if s.startswith(f"{name}.")] or [name]]


def _graders(header: Record) -> dict[str | None, str]:
    """The model behind each scorer according to the log's header; under None the role of the grader."""
    graders: dict[str | None, str] = {}
    if role := find(header, "eval.model_roles.grader"):
        graders[None] = _model_name(role) or "grader"
    places = (("eval.scorers", "name", "options.model"), ("results.scores", "scorer", "params.model"))
    for listed, name, model in places:
        for one in find(header, listed) or ():
            if found := _model_name(find(one, model)):
                graders[one.get(name)] = found
    return graders


def _model_name(model: Any) -> str | None:
    if isinstance(model, list):
        return " + ".join(filter(None, map(_model_name, model))) or None
    found = model.get("model") if isinstance(model, dict) else model
    return None if found is None else str(found)


def _json_log(path: Path) -> tuple[dict[str, Any], Iterator[Record]]:
    log = load_json(path)
    if not isinstance(log, dict) or "eval" not in log:
        raise DataError(f"{path} is not a log of Inspect AI")
    return log, iter(log.get("samples") or ())


def _eval_log(path: Path) -> tuple[dict[str, Any], Iterator[Record]]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise DataError(f"{path} is not a log of Inspect AI: an .eval file is a zip archive") from None
    names = archive.namelist()
    start = next((n for n in ("header.json", "_journal/start.json") if n in names), None)
    if start is None:
        raise DataError(f"{path} is not a log of Inspect AI: the archive contains no header.json")
    header = {"status": "started", **_member(path, archive, start)}

    def samples() -> Iterator[Record]:
        with archive:
            for name in names:
                if name.startswith("samples/") and name.endswith(".json"):
                    yield _member(path, archive, name)

    return header, samples()


ZSTANDARD = 93
"""The number of that compression in a zip archive."""


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    """One JSON file of the archive."""
    info = archive.getinfo(name)
    try:
        text = archive.read(info)
    except NotImplementedError:
        if info.compress_type != ZSTANDARD:
            raise DataError(f"{path}: '{name}' is compressed in a way that is not supported") from None
        text = _unpack(path, info)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise DataError(f"{path}: '{name}' is damaged ({error})") from None
    try:
        found: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: '{name}' is not JSON ({error.msg}); the log may be damaged") from None
    return found


def _unpack(path: Path, info: zipfile.ZipInfo) -> bytes:
    """Read a member packed with Zstandard, which zipfile supports from Python 3.14 on: Polars unpacks it.

    JSON contains no raw control characters, so one column of lines split at U+0001 is the text itself.
    """
    with path.open("rb") as file:
        file.seek(info.header_offset)
        head = file.read(30)
        file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        packed = file.read(info.compress_size)
    try:
        lines = pl.read_csv(io.BytesIO(packed), separator="\x01", quote_char=None, has_header=False, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: '{info.filename}' is damaged ({str(error).splitlines()[0]})") from None
    return "\n".join(lines.to_series().fill_null("")).encode()
