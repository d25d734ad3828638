"""The preregistered plan and its deviations, interim analyses, and items that prompts were tuned on."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import yaml

import assay
from assay.cli.app import main
from assay.errors import DesignError
from assay.replacement.panel import AltTestSettings
from assay.verdict import preregistration
from assay.verdict.preregistration import Preregistration, before_verdict, tuned_on
from assay.verdict.report import ReportSettings, report

pytestmark = pytest.mark.usefixtures("few_truths", "without_pictures")


@pytest.fixture(scope="module")
def labels() -> assay.Annotations:
    return assay.simulate(n_items=60, n_annotators=3, judges={"good": 0.2, "poor": 0.8}, seed=3)


def planned(**more: Any) -> Preregistration:
    options = {"n_items": 60, "n_annotators": 3, "epsilon": 0.1, "n_studies": 30} | more
    return Preregistration.of(assay.plan.alt_test(**options))


@cache
def plain_plan() -> Preregistration:
    return planned()


def written(folder: Path, **changed: Any) -> str:
    """A plan for these labels, with some changes."""
    path = folder / "plan.yaml"
    plain_plan().write(path)
    content = yaml.safe_load(path.read_text()) | changed
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not None}))
    return str(path)


def notices(labels: assay.Annotations, plan: str, **options: Any) -> tuple[str, ...]:
    """The notices of a report about the plan."""
    settings = ReportSettings.of({"plan": plan, **options})
    return before_verdict(labels, settings.judges or labels.judges, settings, plan)[1]


# -- the file ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_preregistration_uses_smallest_sufficient_number_of_items(tmp_path):
    found = assay.plan.alt_test(n_items=[30, 100, 300], epsilon=0.2, judge_noise=0.1, n_studies=200, alpha=0.1)
    plan = Preregistration.of(found).write(tmp_path / "plan.yaml")
    assert (plan.n_items, plan.n_annotators, plan.looks) == (found.smallest["n_items"][0], 3, 1)
    assert plan.verdict["epsilon"] == 0.2
    assert plan.verdict["alpha"] == 0.1
    assert Preregistration.read(tmp_path / "plan.yaml") == plan
    text = (tmp_path / "plan.yaml").read_text()
    assert text.startswith("# The preregistered plan.")
    assert yaml.safe_load(text)["question"] == "alt-test"


def test_options_that_are_not_the_default_are_in_the_file(tmp_path):
    plan = planned(test="exact", min_items=20, similarity="rouge-1").write(tmp_path / "plan.yaml")
    assert {"test": "exact", "min_items": 20, "similarity": "rouge-1"}.items() <= plan.verdict.items()
    read = Preregistration.read(tmp_path / "plan.yaml").options(AltTestSettings, {"min_items": 9})
    assert read["similarity"] == "rouge-1"
    assert "min_items" not in read


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"epsilon": None},
            r"a plan file has one epsilon; got 0.1, 0.15, 0.2: choose one with epsilon=",
        ),
        ({"n_annotators": [3, 4]}, r"has one n_annotators; got 3, 4"),
        ({"n_items": [5, 6], "judge_noise": 1.0}, r"none of these numbers of items has power 0.8"),
        ({"score": lambda a, b: 0.0}, r"cannot store a function; set score=... to a name"),
    ],
)
def test_preregistration_rejects_undecided_plan(options, words):
    with pytest.raises(DesignError, match=words):
        planned(**options)


def test_read_plan_with_ones(tmp_path):
    plan = Preregistration.read(written(tmp_path, items=1, annotators=1, looks=1))
    assert (plan.n_items, plan.n_annotators, plan.looks) == (1, 1, 1)


def test_plan_file_has_seconds(tmp_path):
    """With minutes, answers of the minute before the plan would count as later ones."""
    before = datetime.now(UTC)
    plan = plain_plan().write(tmp_path / "plan.yaml")
    written = datetime.strptime(plan.written, "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC)
    assert before.replace(microsecond=0) <= written <= datetime.now(UTC)


def test_write_rejects_existing_plan(tmp_path):
    plain_plan().write(tmp_path / "plan.yaml")
    with pytest.raises(DesignError, match="exists, and a plan is not overwritten"):
        plain_plan().write(tmp_path / "plan.yaml")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"question": "agreement"}, "it must contain 'question: alt-test'"),
        ({"itms": 3}, "'itms'"),
        ({"verdict": {"epsilonn": 0.1}}, "'epsilonn'"),
        ({"verdict": [0.1]}, "'verdict' must be a mapping of names to values"),
        ({"items": "many"}, "'items' must be a whole number of at least 1; got 'many'"),
        ({"looks": 0}, "'looks' must be a whole number"),
        ({"annotators": True}, "'annotators' must be a whole number of at least 1; got True"),
        ({"verdict": {"epsilon": 7}}, "epsilon"),
    ],
)
def test_read_rejects_invalid_plan(tmp_path, labels, changed, words):
    with pytest.raises(DesignError, match=words):
        report(labels, plan=written(tmp_path, **changed))


def test_read_rejects_missing_plan(tmp_path, labels):
    with pytest.raises(DesignError, match="does not exist; write one with: assay plan alt-test --write"):
        report(labels, plan=str(tmp_path / "plan.yaml"))
    (tmp_path / "broken.yaml").write_text("a: [")
    with pytest.raises(DesignError, match="cannot be read as a plan"):
        report(labels, plan=str(tmp_path / "broken.yaml"))


# -- deviations --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_report_follows_plan(tmp_path, labels):
    plan = written(tmp_path, judges=["good", "poor"])
    found = report(labels, plan=plan, n_resamples=50)
    assert len(found.page.notices) == 1
    assert found.page.notices[0].startswith(f"Preregistered plan followed ({plan}, written 20")
    assert "|eps:0.10|" in found.signature
    plain = report(labels, epsilon=0.1, n_resamples=50)
    assert plain.page.notices == ()
    assert found.table.equals(plain.table)
    assert found.summary().splitlines()[2] == found.page.notices[0]
    assert found.page.notices[0] in found.html()
    assert json.loads(json.dumps(found.to_dict()))["notices"] == list(found.page.notices)


@pytest.mark.parametrize(
    ("changed", "options", "words"),
    [
        ({}, {"epsilon": 0.2}, "Epsilon 0.2, 0.1 planned."),
        ({}, {"expertise": "expert"}, "Epsilon 0.2, 0.1 planned."),
        ({}, {"alpha": 0.1}, "Alpha 0.1, 0.05 planned."),
        ({}, {"min_items": 10}, "min_items 10, 30 planned."),
        ({}, {"min_agreement_ratio": 0.4}, "min_agreement_ratio 0.4, 0.6 planned."),
        (
            {"verdict": {"epsilon": 0.1, "clusters": "doc"}},
            {"clusters": None},
            "Clusters not set, doc planned.",
        ),
        ({"verdict": {"epsilon": 0.1, "test": "exact"}}, {"test": "t"}, "Test t, exact planned."),
        ({"items": 80}, {}, "60 items labelled, 80 planned."),
        ({"annotators": 5}, {}, "3 annotators, 5 planned."),
        ({"judges": ["good"]}, {}, "Judge 'poor' was not planned."),
        ({"judges": {"good": {}, "poor": {}, "x": None}}, {}, "Judge 'x' was planned but is not tested."),
        ({"judges": ["good", "poor"]}, {"judges": ["good"]}, "Judge 'poor' was planned but is not tested."),
        ({"criteria": ["depth", "tone"]}, {}, "Labels without criteria, depth, tone planned."),
        ({"names": "0123456789ab"}, {}, "The items differ from the planned items."),
    ],
)
def test_report_lists_each_deviation(tmp_path, labels, changed, options, words):
    lines = notices(labels, written(tmp_path, **changed), **options)
    assert lines[0].startswith("Deviations from the plan (")
    assert lines[1:] == (words,)


@pytest.mark.slow
def test_report_compares_criteria_with_plan(tmp_path, labels):
    frames = [labels.labels.with_columns(criterion=pl.lit(name)) for name in ("depth", "tone")]
    both = assay.Annotations.from_frame(pl.concat(frames), judges=["good", "poor"], scale=labels.scale_of(None))
    plan = written(tmp_path, criteria=["depth", "order"])
    lines = notices(both, plan)
    assert lines[1:] == ("Criterion 'tone' was not planned.", "Criterion 'order' was planned but has no labels.")
    assert report(both, plan=plan, n_resamples=50).page.notices == lines


def test_other_options_are_not_deviations(tmp_path, labels):
    lines = notices(labels, written(tmp_path), n_resamples=50, seed=4, confidence=0.9)
    assert len(lines) == 1


@pytest.mark.slow
def test_report_compares_analyses_with_plan(tmp_path, labels):
    plan = written(tmp_path, looks=3, items=180)
    lines = notices(labels, plan)
    assert lines[0] == "Counted as interim analysis 1 of 3; set its number with analysis=... (--analysis)."
    assert lines[1].startswith("Preregistered plan followed")
    found = report(labels, plan=plan, analysis=2, n_resamples=50)
    assert found.page.notices[1:] == ("60 items labelled, 120 planned for analysis 2 of 3.",)
    assert "|analyses:3|analysis:2|" in found.signature
    lines = notices(labels, plan, analyses=2, analysis=2)
    assert "Analyses 2, 3 planned." in lines


# -- by the command line -----------------------------------------------------------------------------


@pytest.mark.slow
def test_plan_command_writes_plan_for_report(tmp_path, labels, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels.labels.with_columns(labels.column("kind").alias("kind")).write_csv("labels.csv")

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return int(str(ended.value.code)), *capsys.readouterr()

    plan = ("plan", "alt-test", "--n-items", "60", "--n-studies", "20", "--write", "plan.yaml")
    assert run(*plan)[0] == 2
    code, _, err = run(*plan, "--expertise", "crowd", "--only", "good,poor")
    assert code == 0
    assert "preregistered: epsilon 0.1, alpha 0.05, threshold 0.5, min_agreement_ratio 0.6" in err
    assert "60 items, 3 annotators, judges good, poor; written to plan.yaml" in err
    code, out, _ = run("report", "labels.csv", "--plan", "plan.yaml", "--n-resamples", "50")
    assert code == 0
    assert out.splitlines()[2].startswith("Preregistered plan followed (plan.yaml, written ")
    code, out, _ = run("report", "labels.csv", "--plan", "plan.yaml", "--alpha", ".01", "--n-resamples", "50")
    assert out.splitlines()[3] == "Alpha 0.01, 0.05 planned."
    assert run(*plan, "--expertise", "crowd")[0] == 2  # the plan exists
    code, _, err = run("report", "labels.csv", "--plan", "plan.yml")
    assert code == 2
    assert "the plan 'plan.yml' does not exist" in err


# -- items that prompts were tuned on ------------------------------------------------------------------


@pytest.mark.slow
def test_report_mentions_development_items_first(labels):
    def split(test: int) -> assay.Annotations:
        about = labels.items.select("item").with_columns(
            part=pl.Series(["test"] * test + ["development"] * (60 - test))
        )
        return assay.Annotations.from_frame(
            labels.labels, judges=["good", "poor"], scale=labels.scale_of(None), items=about
        )

    assert tuned_on(labels, ["good"]) == []
    assert tuned_on(split(60), ["good"]) == []
    found = report(split(45), epsilon=0.1, n_resamples=50)
    assert found.page.notices == (
        "15 of 60 items belong to the development set: prompts were tuned on them. For a verdict on the test set only, "
        "use --where part=test or labels.where(part='test').",
    )
    assert report(split(45).where(part="test"), epsilon=0.1, n_resamples=50).page.notices == ()
    assert tuned_on(split(0), ["good"])[0].startswith("All 60 items belong to the development set")


# -- pooled criteria ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_report_mentions_pooled_criteria(labels):
    numbers = labels.items["item"].str.extract(r"(\d+)$").cast(pl.Int64)
    names = [f"img{n // 2}__{'Color' if n % 2 else 'Border'}" for n in numbers]
    frame = labels.labels.with_columns(pl.col("item").replace_strict(labels.items["item"].to_list(), names))
    whole = assay.read(frame, judges=["good", "poor"], split_item="no")
    assert report(whole, epsilon=0.1, n_resamples=50).page.notices == (
        "The item ids contain 2 criteria (Border, Color), which are pooled. For a separate verdict on each, read with "
        "split_item='auto' (--split-item auto).",
    )
    # The advice, followed.
    found = report(assay.read(frame, judges=["good", "poor"]), epsilon=0.1, min_items=5, n_resamples=50)
    assert found.page.notices == ()
    assert len(found.cards) == 2
    assert set(found.by["good"].tests) | set(found.by["good"].untested) == {"Border", "Color"}


# -- single functions ------------------------------------------------------------------------------------


def my_score(label: Any, others: list[Any]) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "not set"), (0.5, "0.5"), (0.1 + 0.2, "0.3"), (3, "3"), ("t", "t"), (True, "True"), (0.0, "0"),
        (SimpleNamespace(name="words"), "words"),
    ],
)  # fmt: skip
def test_value_words(value: Any, words: str) -> None:
    assert Preregistration(verdict={"score": value}).summary() == f"score {words}"


@pytest.mark.slow
def test_plan_rejects_function_and_rounds_numbers() -> None:
    with pytest.raises(DesignError, match=r"a plan file cannot store a function; set score=\.\.\. to a name"):
        planned(score=my_score)
    assert Preregistration(verdict={"score": my_score}).summary().startswith("score my_score@")
    assert planned(epsilon=0.1 + 0.2).verdict["epsilon"] == 0.3
    assert planned(epsilon=0.12345678906).verdict["epsilon"] == 0.1234567891  # ten digits


@pytest.mark.parametrize("key", ["looks", "items", "annotators"])
@pytest.mark.parametrize("value", [0, -1, True, 1.0, "2"])
def test_plan_numbers_are_whole_and_at_least_1(tmp_path, key, value) -> None:
    path = written(tmp_path, **{key: value})
    with pytest.raises(DesignError, match=rf": '{key}' must be a whole number of at least 1; got {value!r}$"):
        Preregistration.read(path)


def test_plan_values_are_read_by_kind(tmp_path) -> None:
    path = tmp_path / "plan.yaml"
    text = yaml.safe_load(Path(written(tmp_path)).read_text())
    for key, value, wanted in (("items", 1, 1), ("items", None, None), ("annotators", 3, 3), ("looks", 3, 3)):
        path.write_text(yaml.safe_dump(text | {key: value}))
        names = {"items": "n_items", "annotators": "n_annotators", "looks": "looks"}
        assert getattr(Preregistration.read(path), names[key]) == wanted
    path.write_text(yaml.safe_dump({k: v for k, v in text.items() if k not in ("looks", "verdict")}))
    assert (Preregistration.read(path).looks, Preregistration.read(path).verdict) == (1, {})
    path.write_text(yaml.safe_dump(text | {"verdict": [1]}))
    with pytest.raises(DesignError, match=r": 'verdict' must be a mapping of names to values$"):
        Preregistration.read(path)


@pytest.mark.parametrize(
    ("n_items", "look", "looks", "there", "words"),
    [
        (60, 1, 1, 60, []),
        (60, 1, 1, 61, ["61 items labelled, 60 planned"]),
        (60, 1, 3, 20, []),  # a third for the first of three analyses
        (60, 2, 3, 20, ["20 items labelled, 40 planned for analysis 2 of 3"]),
        (60, 3, 3, 60, []),
        (60, 4, 3, 60, ["analysis 4, but 3 planned: the significance level no longer holds"]),
        (60, 4, 3, 70, ["analysis 4, but 3 planned: the significance level no longer holds",
                        "70 items labelled, 60 planned"]),
        (60, 2, 1, 60, ["analysis 2, but 1 planned: the significance level no longer holds"]),
        (None, 1, 1, 17, []),
        (1500, 1, 1, 1200, ["1,200 items labelled, 1,500 planned"]),
    ],
)  # fmt: skip
def test_number_of_items_is_compared_with_plan(
    n_items: int | None, look: int, looks: int, there: int, words: list[str]
) -> None:
    table = SimpleNamespace(n_items=there, humans=("a", "b", "c"), items={"item": pl.Series(["x"])})
    plan = Preregistration(verdict={}, n_items=n_items, n_annotators=3, looks=looks)
    assert list(plan._other_sizes(table, look)) == words
    four = SimpleNamespace(n_items=there, humans=("a", "b", "c", "d"), items=table.items)
    assert list(plan._other_sizes(four, look)) == [*words, "4 annotators, 3 planned"]


def test_item_ids_are_compared_if_numbers_match() -> None:
    def said(names: str, n_items: int | None = 2) -> list[str]:
        table = SimpleNamespace(n_items=len(names), humans=(), items={"item": pl.Series(list(names))})
        plan = Preregistration(verdict={}, n_items=n_items, names=preregistration.names_of(pl.Series(["a", "b"])))
        return list(plan._other_sizes(table, 1))

    assert said("ab") == said("ba") == []
    assert said("ac") == ["the items differ from the planned items"]
    assert said("abc") == ["3 items labelled, 2 planned"]
    assert said("ac", None) == []


def test_criteria_are_compared_with_plan() -> None:
    def said(planned: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
        return list(Preregistration(verdict={}, criteria=planned)._other_questions(SimpleNamespace(criteria=there)))

    assert said((), ("tone",)) == []
    assert said(("tone",), ()) == []
    assert said(("tone", "fact"), ()) == ["labels without criteria, tone, fact planned"]
    assert said(("tone", "fact"), ("tone", "wit")) == [
        "criterion 'wit' was not planned", "criterion 'fact' was planned but has no labels",
    ]  # fmt: skip


def test_judges_and_prompts_are_compared_with_plan() -> None:
    plan = Preregistration(verdict={}, judges={"m": {"model": "x-1", "prompt": "abc"}, "k": {}})
    assert list(plan._other_judges(["m", "k"], None)) == []
    assert list(plan._other_judges(["m", "new"], None)) == [
        "judge 'new' was not planned", "judge 'k' was planned but is not tested",
    ]  # fmt: skip
    ways = {"m": {"model": "x-2", "prompt": "abc"}, "k": {"model": "y"}}
    study = SimpleNamespace(judge_names=list(ways), way_of=ways.get)
    assert list(plan._other_judges(["m", "k"], study)) == ["judge 'm': model x-2, x-1 planned"]
    assert list(Preregistration(verdict={})._other_judges(["m"], study)) == []


def test_preregistration_summary() -> None:
    plan = Preregistration(verdict={"epsilon": 0.1, "expertise": None}, n_items=1200, n_annotators=1)
    assert plan.summary() == "epsilon 0.1, expertise not set, 1,200 items, 1 annotator"
    more = Preregistration(
        verdict={}, looks=2, criteria=("a", "b", "c", "d", "e"), judges={"m": {}, "k": {}}, n_items=None
    )
    assert more.summary() == "2 analyses, criteria a, b, c, d and 1 more, judges m, k"
    assert (plan.to_dict()["looks"], more.to_dict()["looks"]) == (None, 2)


def test_plan_options_do_not_override_given_options() -> None:
    plan = Preregistration(verdict={"epsilon": 0.1, "alpha": 0.01, "gone": 1}, looks=3)

    def decided(**given: Any) -> dict[str, Any]:
        return plan.options(AltTestSettings, given)

    assert decided() == {"epsilon": 0.1, "alpha": 0.01, "analyses": 3}
    assert decided(alpha=0.05) == {"epsilon": 0.1, "analyses": 3}
    # expertise also sets epsilon.
    assert decided(expertise="crowd") == decided(epsilon=0.2) == {"alpha": 0.01, "analyses": 3}
    assert decided(expertise=None) == {"epsilon": 0.1, "alpha": 0.01, "analyses": 3}
    assert "analyses" not in Preregistration(verdict={}).options(AltTestSettings, {})


def test_count_look_counts_new_labels_of_test_items(labels, monkeypatch) -> None:
    kept: dict[str, Any] = {}
    store = SimpleNamespace(exclusive=nullcontext, now=lambda db: 7)
    monkeypatch.setattr(preregistration, "_read_store", lambda study, work: work(store))
    monkeypatch.setattr("assay.study.store.connection.setting", lambda db, key: kept.get(key))
    monkeypatch.setattr("assay.study.store.connection.put_setting", lambda db, key, value: kept.update({key: value}))

    def look(parts: list[str] | None, *, but: str = "") -> int:
        about = labels.items.select("item")
        if parts is not None:
            about = about.with_columns(part=pl.Series(parts))
        rows = labels.labels.filter(pl.col("item") != but)
        table = assay.Annotations.from_frame(rows, judges=["good", "poor"], scale=labels.scale_of(None), items=about)
        monkeypatch.setattr("assay.reading.study_labels", lambda study: table)
        return preregistration.count_look("study")

    names = labels.items["item"].to_list()
    half = ["test"] * 30 + ["development"] * 30
    assert look(half) == 1
    assert look(half, but=names[-1]) == 1  # a development item does not count
    assert look(half, but=names[0]) == 2
    assert look(half) == 1  # analysed before
    assert look(None) == 3  # without parts all items are tested
    assert look(["development"] * 60) == 3  # also if there is no test item
    assert look(None, but=names[-1]) == 4
    assert [one["items"] for one in kept["looks"]] == [30, 29, 60, 59]


@pytest.mark.parametrize(
    ("versions", "named"), [({"good": 2, "poor": 1}, ["good"]), ({"good": 1}, []), ({"poor": 3, "other": 2}, ["poor"])]
)
def test_tuned_on_counts_prompts_used_on_test_items(labels, monkeypatch, versions, named) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(preregistration, "_read_store", lambda study, work: work("store"))
    monkeypatch.setattr(
        "assay.study.store.work.prompt_versions", lambda store, items: asked.append(items) or dict(versions)
    )
    study = SimpleNamespace(parts={"a": "test", "b": "development", "c": "test"}, folder="st")
    lines = tuned_on(labels, ["good", "poor"], study)
    assert asked == [["a", "c"]]  # the items that are tested
    assert [line.split(" prompt versions of ")[1].split()[0] for line in lines] == named
    assert all(line.startswith(f"{versions[who]} prompt versions ") for line, who in zip(lines, named, strict=True))
    assert tuned_on(labels, ["good"], SimpleNamespace(parts={}, folder="st")) == []
