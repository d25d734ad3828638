"""Tables with a column that names who answered, next to models that are rated; scores of votes; empty columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inputs import Case, Given, Rng, check_reading, long, records, scores, text, wide, written

import assay
from assay.errors import DataError

INPUTS: dict[str, Case] = {}
JUDGES = ("deepseek/deepseek-v3.2", "qwen/qwen3-max", "x-ai/grok-4.3")


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


def pick(rng: Rng, labels: tuple[str, ...], n: int) -> list[str]:
    return [labels[k] for k in rng.integers(0, len(labels), n)]


@given
def judges_of_models_with_odd_names(folder: Path, rng: Rng) -> Given:
    """Of ``model`` and ``judge`` the judge answered, also where not every model has the name of one."""
    cells = [(m, f"PL-{i:02}", j) for m in ("opus47", "gpt55", "gemma") for i in range(8) for j in JUDGES]
    own = scores(rng, len(cells), 1)[:, 0].tolist()
    path = long(folder, ("model", "id", "judge", "score"), [(*one, v) for one, v in zip(cells, own, strict=True)])
    return Given(path, [(f"{i}/{m}", j, "", v) for (m, i, j), v in zip(cells, own, strict=True)], asked=True)


@given
def one_judge_of_several_models(folder: Path, rng: Rng) -> Given:
    cells = [(f"{i:02}", method, m) for i in range(6) for method in ("A", "B") for m in ("gemini-3.5-flash", "gpt-5")]
    own = scores(rng, len(cells), 2).tolist()
    rows = [(*one, "claude-opus-4-8", *v) for one, v in zip(cells, own, strict=True)]
    path = long(folder, ("Article_ID", "Method", "Model", "Judge_Model", "Intrinsic", "Extrinsic"), rows)
    right = [("/".join(one), "claude-opus-4-8", kind, v[k]) for one, v in zip(cells, own, strict=True)
             for k, kind in enumerate(("Intrinsic", "Extrinsic"))]  # fmt: skip
    return Given(path, right, asked=True)


@given
def criterion_of_the_judge_that_is_named(folder: Path, rng: Rng) -> Given:
    """``llm_detectable`` is what the judge says, and no second judge."""
    columns: dict[str, Any] = {
        "instance_id": [f"a{k:02}" for k in range(30)], "judge_model": ["claude-opus-4-8"] * 30,
        "llm_detectable": pick(rng, ("true", "false"), 30), "basis": pick(rng, ("quote", "chart", "both"), 30),
    }  # fmt: skip
    rows = [(item, "claude-opus-4-8", kind, v) for kind in ("llm_detectable", "basis")
            for item, v in zip(columns["instance_id"], columns[kind], strict=True)]  # fmt: skip
    return Given(written(folder, columns), rows, asked=True)


@given
def competencies_are_criteria(folder: Path, rng: Rng) -> Given:
    cells = [(80 + i, c) for i in range(20) for c in ("Communication", "Technical Depth", "Ownership")]
    own = scores(rng, len(cells), 1)[:, 0].tolist()
    rows = [(*one, v, "gemini-flash-lite-latest") for one, v in zip(cells, own, strict=True)]
    path = long(folder, ("interview_id", "competency", "llm_score", "model"), rows)
    return Given(
        path, [(i, "gemini-flash-lite-latest", c, v) for (i, c), v in zip(cells, own, strict=True)], asked=True
    )


@given
def one_person_named_in_each_row(folder: Path, rng: Rng) -> Given:
    """An export of one user: what was asked is not a label."""
    emotions = ("Joy", "Fear", "Anger", "Pride", "Awe")
    columns: dict[str, Any] = {
        "annotation_id": [f"x{k}" for k in range(40)], "username": ["user_0"] * 40,
        "source_emotion": pick(rng, emotions, 40), "queried_emotion": pick(rng, emotions, 40),
        "file_name": [f"EN_{k}.mp3" for k in range(40)],
        "rating": pick(rng, ("strongly_present", "weakly_present", "not_present"), 40),
        "reaction_time_ms": rng.integers(2000, 9000, 40).tolist(),
    }  # fmt: skip
    rows = [(i, "user_0", "", v) for i, v in zip(columns["file_name"], columns["rating"], strict=True)]
    return Given(written(folder, columns), rows, asked=True)


@given
def one_rater_named_in_each_row(folder: Path, rng: Rng) -> Given:
    own = scores(rng, 30, 1)[:, 0].tolist()
    rows = [(f"i{k:02}", "rater2", "", v) for k, v in enumerate(own)]
    return Given(wide(folder, {"rater_id": ["rater2"] * 30, "score": own}), rows)


@given
def criteria_of_one_rater_some_of_whole_numbers(folder: Path, rng: Rng) -> Given:
    rows = [(f"s{k}", kind, "rater2", v) for k, (a, b) in enumerate(scores(rng, 12, 2).tolist())
            for kind, v in (("depth", a), ("tone", b + 0.5 * (k % 2)), ("all", 3), ("half", 2.5))]  # fmt: skip
    path = long(folder, ("essay_id", "criterion_name", "rater_id", "score"), rows)
    return Given(path, [(item, who, kind, v) for item, kind, who, v in rows])


@given
def coders_by_initials_next_to_what_they_agreed_on(folder: Path, rng: Rng) -> Given:
    names = [f"{kind}{who}" for kind in ("has_claim", "introduces_dataset") for who in ("", "_e", "_w")]
    columns = {name: pick(rng, ("0", "1"), 30) for name in names}
    rows = [(f"i{k:02}", name[-1], name[:-2], v) for name in names if name[-2] == "_" and name[-1] in "ew"
            for k, v in enumerate(columns[name])]  # fmt: skip
    return Given(wide(folder, columns), rows, asked=True)


@given
def scores_next_to_votes(folder: Path, rng: Rng) -> Given:
    """A score is not the item of a vote."""
    columns: dict[str, Any] = {
        "A_name": ["base"] * 30, "B_name": ["plan"] * 30, "better": pick(rng, ("A", "B"), 30),
        **dict(zip(("logic", "diversity", "step"), scores(rng, 30, 3).T.tolist(), strict=True)),
    }  # fmt: skip
    rows = [(f"battle {k + 2}", "voters", "", {"A": -1, "B": 1}[v]) for k, v in enumerate(columns["better"])]
    return Given(written(folder, columns), rows)


@pytest.mark.parametrize("case", INPUTS.values(), ids=INPUTS)
def test_read_who_is_named(case: Case, tmp_path: Path) -> None:
    check_reading(case, tmp_path)


def test_what_coders_agreed_on_has_its_reason(tmp_path: Path) -> None:
    case = coders_by_initials_next_to_what_they_agreed_on(tmp_path, np.random.default_rng(1))
    why = {one.name: one.why for one in assay.look(case.source).columns}
    assert why["has_claim"] == "its name is not combined as those of the other columns are"


def test_scores_next_to_votes_are_noted(tmp_path: Path) -> None:
    case = scores_next_to_votes(tmp_path, np.random.default_rng(1))
    assert "not read as labels, next to votes: logic, diversity, step" in assay.read(case.source).reading.notes


HIT = "HITId,RequesterAnnotation,WorkerId,AssignmentStatus,Answer.workerId,Answer.hitId,Answer.rank1,Answer.rank2\n"


def test_numbered_answers_of_one_hit_are_items_or_criteria(tmp_path: Path) -> None:
    """Answers that repeat the worker and the HIT, as forms send along, are no labels."""
    rows = "".join(f"H,H_1,W{k},Approved,W{k},H_1,{'AB'[k % 2]},{'AB'[k % 3 == 0]}\n" for k in range(4))
    path = text(tmp_path, HIT + rows)
    with pytest.raises(DataError, match=re.escape("rank1, rank2, ... (2) are numbered answers")) as error:
        assay.read(path)
    items, criteria = (assay.read(path, workers="ids", **options) for _, options in error.value.choices)
    assert (items.n_items, items.criteria, len(items), items.humans) == (2, ("rank",), 8, ("W0", "W1", "W2", "W3"))
    assert (criteria.n_items, criteria.criteria) == (1, ("rank1", "rank2"))


def test_numbered_questions_on_the_input_of_a_hit_are_criteria(tmp_path: Path) -> None:
    rows = "".join(f"H,H_1,W{k},Approved,{'AB'[k % 2]},{'AB'[k % 3 == 0]},text {k % 2}\n" for k in range(4))
    path = text(tmp_path, "HITId,RequesterAnnotation,WorkerId,AssignmentStatus,Answer.q1,Answer.q2,Input.text\n" + rows)
    assert assay.read(path).criteria == ("q1", "q2")


def test_empty_columns_of_labels_are_named(tmp_path: Path) -> None:
    path = text(
        tmp_path, "component,reader1_code,reader2_code\n" + "".join(f"c{k},{'ab'[k % 2]},\n" for k in range(12))
    )
    with pytest.raises(DataError, match="'reader2_code' has no values; only 'reader1_code' could hold labels"):
        assay.read(path)


def test_objects_of_named_judges_are_theirs_next_to_the_rated_model(tmp_path: Path) -> None:
    """``{"gpt": {"verdict": {...}}}`` and ``{"judges": {"gpt-5.5": 4}}`` say who answered, and not ``model``."""
    own, models = scores(np.random.default_rng(3), 24, 2).tolist(), ("claude-opus-4-7", "claude-3-opus-20240229")
    about = [{"model": models[k % 2], "prompt_id": f"q{k // 2}"} for k in range(24)]
    verdicts = [{who: {"verdict": {"tone": one[k], "depth": one[1 - k]}, "error": None}
                 for k, who in enumerate(("gpt", "gemini"))} for one in own]  # fmt: skip
    paths = [records(tmp_path, [a | v for a, v in zip(about, verdicts, strict=True)])]
    (tmp_path / "other").mkdir()
    named = [{"judges": dict(zip(("gpt-5.5", "opus-4.8"), one, strict=True))} for one in own]
    paths.append(records(tmp_path / "other", [a | v for a, v in zip(about, named, strict=True)]))
    right = [("gemini", "gpt"), ("gpt-5.5", "opus-4.8")]
    for path, judges, criteria in zip(paths, right, (("depth", "tone"), ()), strict=True):
        with pytest.raises(DataError) as error:
            assay.read(path)
        read = [assay.read(path, **one) for _, one in error.value.choices or [("", error.value.advised)] if one]
        assert (judges, 24, criteria) in [(one.judges, one.n_items, one.criteria) for one in read]
