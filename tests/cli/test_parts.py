"""The split of a study's items, its plan and its interim analyses, on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')

from assay.reading import study_labels
from assay.study.definition import load_study
from assay.study.store.connection import open_store
from assay.study.store.work import prompt_versions

pytestmark = pytest.mark.usefixtures("few_truths", "without_pictures")

Run = Callable[..., tuple[int, str, str]]
NAMES = [f"d{i // 4}_s{i % 4}" for i in range(48)]
REPORT = ("--epsilon", "0.2", "--n-resamples", "20")


def rewrite(folder: Path, **parts: Any) -> None:
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump((yaml.safe_load(path.read_text()) if path.exists() else {}) | parts))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """48 items of 12 documents, three annotators, and a judge with recorded responses."""
    folder = tmp_path / "study"
    (folder / "prompts").mkdir(parents=True)
    (folder / "items.csv").write_text("item,text\n" + "".join(f"{name},text {name}\n" for name in NAMES))
    labels = (
        f"{name},{who},{(i + (i % 7 == k)) % 4 + 1}\n" for i, name in enumerate(NAMES) for k, who in enumerate("abc")
    )
    (folder / "labels.csv").write_text("item,annotator,label\n" + "".join(labels))
    replies = ({"item": name, "judge": "m", "reply": json.dumps({"label": i % 4 + 1})} for i, name in enumerate(NAMES))
    (folder / "replies.jsonl").write_text("".join(json.dumps(one) + "\n" for one in replies))
    (folder / "prompts" / "mine.txt").write_text("Rate it. {{ question }} {{ scale }} {{ format }}")
    rewrite(
        folder,
        questions=[{"name": "stars", "text": "How good is it?", "scale": "1-5"}],
        judges=[{"name": "m", "provider": "recorded", "file": "replies.jsonl", "prompt": "mine"}],
        labels="labels.csv",
    )
    monkeypatch.chdir(tmp_path)
    return folder


def judged(folder: Path) -> dict[str, int]:
    """The judge's labels by part."""
    labels = study_labels(load_study(folder)).where(annotator="m")
    return dict(labels.items.group_by("part").len().iter_rows()) if "part" in labels.items.columns else {}


@pytest.mark.slow
def test_judge_labels_development_items_by_default(run: Run, study: Path) -> None:
    assert "are not split; split them with: assay study split" in run("judge", study, "--part", "test")[2]
    code, out, said = run("study", "split", study, "--seed", "2")
    assert code == 0
    assert "12 items in the development set and 36 in the test set" in out
    assert f"written to {study / 'split.csv'}" in said
    assert run("study", "split", study)[0] == 2
    assert "m: 12 calls" in run("judge", study, "--dry-run")[1]
    assert "m: 36 calls" in run("judge", study, "--dry-run", "--part", "test")[1]
    code, out, _ = run("judge", study)
    assert "12 of 12 labels collected" in out
    assert "Labelled the development set" in out
    assert "are open" not in out
    assert judged(study) == {"development": 12}
    assert "All 12 items belong to the development set" in run("report", study, *REPORT)[1]
    assert "36 of 36 labels collected" in run("judge", study, "--part", "test")[1]
    assert judged(study) == {"development": 12, "test": 36}
    assert "0 of 0 labels collected" in run("judge", study, "--part", "all")[1]
    out = run("report", study, *REPORT)[1]
    assert "12 of 48 items belong to the development set: prompts were tuned on" in out.splitlines()[2]
    # The advice, followed.
    out = run("report", study, *REPORT, "--where", "part=test")[1]
    assert "development" not in out
    assert "versions of the prompt" not in out


@pytest.mark.slow
def test_report_counts_prompt_versions_with_test_items(run: Run, study: Path) -> None:
    run("study", "split", study)
    tested = load_study(study).tested_items()

    def versions() -> dict[str, int]:
        with open_store(load_study(study)) as store:
            return prompt_versions(store, tested)

    run("judge", study)
    for number in (1, 2):  # tuned on development items only
        (study / "prompts" / "mine.txt").write_text(f"Version {number}. {{{{ question }}}} {{{{ format }}}}")
        assert run("judge", study, "--new-version")[0] == 0
    assert versions() == {}
    run("judge", study, "--part", "test")
    assert versions() == {"m": 1}
    run("judge", study, "--part", "test")
    assert versions() == {"m": 1}
    assert "versions of the prompt" not in run("report", study, *REPORT, "--where", "part=test")[1]
    (study / "prompts" / "mine.txt").write_text("Better after the test. {{ question }} {{ format }}")
    run("judge", study, "--part", "test", "--new-version")
    assert versions() == {"m": 2}
    out = run("report", study, *REPORT, "--where", "part=test")[1]
    assert out.splitlines()[2].startswith(
        "2 prompt versions of m were used on test items, so its prompt can be tuned to"
    )


def test_demonstrations_are_development_items(run: Run, study: Path) -> None:
    from assay.judging.plan import plan_study

    run("study", "split", study)
    shot = {"name": "m", "provider": "recorded", "file": "replies.jsonl", "strategy": "few-shot",
            "demonstrations": {"count": 3}}  # fmt: skip
    rewrite(study, judges=[shot])
    loaded = load_study(study)
    with open_store(loaded) as store:
        plan, _ = plan_study(loaded, store, "new-version")
        shown = {name for chosen in plan._chosen.values() for fold in chosen["folds"].values() for name, _ in fold}
    assert shown
    assert {loaded.parts[name] for name in shown} == {"development"}


def test_new_items_join_test_set(run: Run, study: Path) -> None:
    run("study", "split", study)
    with (study / "items.csv").open("a") as file:
        file.write("d99_s0,new\n")
    assert load_study(study).tested_items()[-1] == "d99_s0"
    assert "m: 37 calls" in run("judge", study, "--dry-run", "--part", "test")[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [("item,part\nd0_s0,train\n", "'train'"), ("item,set\nd0_s0,test\n", "'part'"), ("item,part\n", None)],
)
def test_invalid_split_file_is_refused(run: Run, study: Path, text: str, words: str | None) -> None:
    (study / "split.csv").write_text(text)
    code, _, said = run("judge", study, "--dry-run")
    assert (code, words is None or words in said) == (2 if words else 0, True)


def test_split_refuses_existing_part_column(run: Run, study: Path) -> None:
    run("study", "split", study)
    text = (study / "items.csv").read_text().replace("item,text", "item,part")
    (study / "items.csv").write_text(text)
    code, _, said = run("judge", study, "--dry-run")
    assert code == 2
    assert "rename the items' column 'part'" in said


@pytest.mark.slow
def test_split_keeps_prompts(run: Run, study: Path) -> None:
    run("judge", study)
    before = run("judge", study, NAMES[0], "--show")[1]
    run("study", "split", study)
    assert "0 of 0 labels collected" in run("judge", study, "--part", "all")[1]
    assert run("judge", study, NAMES[0], "--show")[1] == before


# -- the plan and the interim analyses of a study -----------------------------------------------------


@pytest.mark.slow
def test_plan_of_study_includes_judges_and_items(run: Run, study: Path) -> None:
    code, _, said = run("plan", "alt-test", "--study", study, "--expertise", "crowd", "--n-studies", "20")
    assert code == 0
    assert "48 items, 3 annotators, criteria stars, judges m; written to" in said
    plan = yaml.safe_load((study / "plan.yaml").read_text())
    assert plan["judges"]["m"] == load_study(study).way_of("m")
    run("judge", study)
    out = run("report", study)[1]  # the plan gives epsilon
    assert out.splitlines()[2].startswith("Preregistered plan followed")
    assert f"Preregistered plan followed ({study / 'plan.yaml'}, written " in " ".join(out.split())
    (study / "prompts" / "mine.txt").write_text("Other words. {{ question }} {{ format }}")
    run("judge", study, "--new-version")
    out = run("report", study)[1]
    assert out.splitlines()[2].startswith("Deviations from the plan")
    assert (
        f"Judge 'm': prompt {load_study(study).way_of('m')['prompt']}, {plan['judges']['m']['prompt']} planned."
        in " ".join(out.split())
    )


def test_plan_of_study_compares_margins_on_its_scale(run: Run, study: Path) -> None:
    code, out, said = run("plan", "alt-test", "--study", study, "--n-studies", "20", "--json")
    assert code == 0
    assert "no plan is written: choose one margin, with --expertise or --epsilon" in said
    assert not (study / "plan.yaml").exists()
    found = json.loads(out)
    assert found["score"] == "neg_rmse"
    assert found["assumptions"][0].startswith("Simulated studies, labels a whole number from 1 to 5;")
    assert {row["epsilon"] for row in found["table"]} == {0.1, 0.15, 0.2}
    assert sorted({row["n_items"] for row in found["table"]}) == [48, 50, 75, 100, 150, 200, 300, 500]
    code, _, said = run("plan", "alt-test", "--study", study, "--write", study / "mine.yaml", "--n-studies", "20")
    assert code == 2
    assert "a plan file has one epsilon" in said


def test_plan_of_study_adjusts_for_its_verdicts(run: Run, study: Path) -> None:
    other = {"name": "depth", "text": "How deep?", "scale": "1-5", "show": ["text"]}
    asked = yaml.safe_load((study / "study.yaml").read_text())["questions"]
    rewrite(study, questions=[*asked, other])
    found = [
        json.loads(
            run("plan", "alt-test", *one, "--epsilon", ".2", "--n-items", "100", "--n-studies", "200", "--json")[1]
        )
        for one in (("--study", study), ("--categories", "1-5"), ("--categories", "1-5", "--alpha", "0.025"))
    ]
    assert found[0]["settings"]["n_verdicts"] == 2  # one judge, two questions
    assert found[0]["settings"]["alpha"] == 0.05
    power = [one["table"][0]["estimate"] for one in found]
    assert power[0] == power[2] < power[1]


def test_plan_of_study_warns_of_low_power_and_larger_plan_names_no_items(run: Run, study: Path) -> None:
    plan = ("plan", "alt-test", "--study", study, "--expertise", "crowd", "--n-studies", "20")
    said = run(*plan, "--judge-noise", "0.9")[2]
    assert "48 items give power 0.00, and 0.80 is required; compare larger numbers, such as --n-items" in said
    assert "names" in yaml.safe_load((study / "plan.yaml").read_text())
    (study / "plan.yaml").unlink()
    assert "is required" not in run(*plan, "--judge-noise", "0.1", "--n-items", "500")[2]
    content = yaml.safe_load((study / "plan.yaml").read_text())
    assert content["items"] == 500
    assert "names" not in content


def test_plan_of_study_with_two_scales_asks_for_one(run: Run, study: Path) -> None:
    other = {"name": "toxic", "text": "Toxic?", "scale": ["yes", "no"], "show": ["text"]}
    asked = yaml.safe_load((study / "study.yaml").read_text())["questions"]
    rewrite(study, questions=[*asked, other, {"name": "why", "text": "Why?", "scale": "text", "show": ["text"]}])
    plan = ("plan", "alt-test", "--study", study, "--n-studies", "20")
    code, _, said = run(*plan)
    assert code == 2
    assert "are on ordinal:1-5 (stars), nominal:yes,no (toxic): choose it with --categories" in " ".join(said.split())
    assert run(*plan, "--categories", "1-5")[0] == 0
    rewrite(study, questions=[{"name": "why", "text": "Why?", "scale": "text", "show": ["text"]}])
    code, _, said = run(*plan)
    assert code == 2
    assert "are on text (why)" in " ".join(said.split())


@pytest.mark.slow
def test_plan_of_split_study_uses_test_items(run: Run, study: Path) -> None:
    run("study", "split", study)
    run("plan", "alt-test", "--study", study, "--expertise", "crowd", "--n-studies", "20")
    assert yaml.safe_load((study / "plan.yaml").read_text())["items"] == 36
    run("judge", study, "--part", "test")
    out = run("report", study, "--where", "part=test")[1]
    assert out.splitlines()[2].startswith("Preregistered plan followed")


@pytest.mark.slow
def test_interim_analyses_are_counted_by_data(run: Run, study: Path) -> None:
    rewrite(study, analyses=2)
    items = (study / "items.csv").read_text().splitlines(keepends=True)
    (study / "items.csv").write_text("".join(items[:25]))
    run("judge", study)
    for _ in range(2):
        assert "Interim analysis 1 of 2." in run("report", study, *REPORT)[1]
    (study / "items.csv").write_text("".join(items[:41]))
    run("judge", study)
    out = run("report", study, *REPORT)[1]
    assert "Interim analysis 2 of 2." in out
    assert "|analyses:2|analysis:2|" in out
    # One part of the labels is no further look.
    assert "Interim analysis 2 of 2." in run("report", study, *REPORT, "--where", "annotator=a,b,m")[1]
    (study / "items.csv").write_text("".join(items))
    run("judge", study)
    out = run("report", study, *REPORT)[1]
    assert "Analysis 3, but 2 planned: the significance level no longer holds." in " ".join(out.split())


@pytest.mark.slow
def test_study_without_interim_analyses_counts_none(run: Run, study: Path) -> None:
    run("judge", study)
    assert "look" not in run("report", study, *REPORT)[1].splitlines()[2]
    with open_store(load_study(study)) as store:
        assert store.setting("looks") is None


@pytest.mark.slow
def test_study_item_ids_are_not_split(run: Run, study: Path) -> None:
    whole = {name: f"img{i // 2}__{'Color' if i % 2 else 'Border'}" for i, name in enumerate(NAMES)}
    for file in ("items.csv", "labels.csv", "replies.jsonl"):
        text = (study / file).read_text()
        for name in reversed(NAMES):  # in this order d1_s1 does not match within d11_s1
            text = text.replace(f"{name},", f"{whole[name]},").replace(f'"{name}"', f'"{whole[name]}"')
        (study / file).write_text(text)
    run("judge", study)
    labels = study_labels(load_study(study))
    assert labels.criteria == ("stars",)
    assert (labels.n_items, len(labels)) == (48, 4 * 48)


@pytest.mark.slow
def test_report_names_answers_before_plan(run: Run, study: Path) -> None:
    run("study", "split", study)
    run("judge", study)
    run("plan", "alt-test", "--study", study, "--expertise", "crowd", "--n-studies", "20")
    text = (study / "plan.yaml").read_text()

    def written(when: str) -> str:
        (study / "plan.yaml").write_text(re.sub("written: .*", f"written: '{when}'", text))
        return run("report", study, "--where", "part=test")[1]

    run("judge", study, "--part", "test")
    assert "before the plan" not in written("2001-01-01 10:00 UTC")
    assert "before the plan" not in written("in spring")
    # Of test items: three people's and the judge's; what prompts were tuned on was there before for good.
    for moment in ("2999-01-01 10:00 UTC", "2999-01-01 10:00:30 UTC"):  # plans of earlier versions have minutes
        assert "144 answers saved before the plan was written." in written(moment)


def test_parts_versions_and_analyses_on_both_databases(run: Run, study: Path, url: str) -> None:
    rewrite(study, store=url, analyses=2)
    run("study", "split", study)
    assert "12 of 12 labels collected" in run("judge", study)[1]
    assert "36 of 36 labels collected" in run("judge", study, "--part", "test")[1]
    loaded = load_study(study)
    assert set(study_labels(loaded).items["part"]) == {"development", "test"}
    with open_store(loaded) as store:
        assert prompt_versions(store, loaded.tested_items()) == {"m": 1}
    run("plan", "alt-test", "--study", study, "--expertise", "crowd", "--n-studies", "20")
    out = run("report", study, "--where", "part=test")[1]
    assert "Interim analysis 1 of 2." in out
    assert "36 items labelled, 18 planned for analysis 1 of 2." in out
    rewrite(study, analyses=3)
    assert "3 analyses in study.yaml, 2 planned." in run("report", study, "--where", "part=test")[1]
