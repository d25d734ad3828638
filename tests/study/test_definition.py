"""study.yaml: what may be said in it, and the words for what may not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from assay.errors import StudyError
from assay.study import definition
from assay.study.definition import RESERVED_KEYS, contradictions, load_study
from assay.study.schema import StudyFile
from assay.study.starter import SCHEMA_FILE, init_from_sheet, init_study, study_schema

sys.path.append(str(Path(__file__).parents[1] / "sheets"))
from corpus import xlsx


@pytest.fixture
def folder(tmp_path) -> Path:
    init_study(tmp_path / "s")
    return tmp_path / "s"


def changed(folder, old, new):
    path = folder / "study.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return folder


def test_new_study_is_whole_and_can_be_read(folder):
    study = load_study(folder)
    assert study.question_names == ("stars",)
    assert [item.name for item in study.items()][:2] == ["r01", "r02"]
    assert "strict" in study.prompts
    assert json.loads((folder / SCHEMA_FILE).read_text()) == study_schema()
    assert "study.db" in (folder / ".gitignore").read_text()


def test_people_and_the_judge_of_a_new_study_nearly_agree(folder):
    labels = (folder / "labels.csv").read_text().splitlines()
    assert labels[0] == "item,annotator,label"
    of = {who: [int(line.split(",")[2]) for line in labels[1:] if f",{who}," in line] for who in ("ana", "ben", "chi")}
    assert of == {"ana": [1, 5, 3, 3, 5, 3, 1, 3], "ben": [2, 5, 4, 3, 5, 4, 1, 2], "chi": [1, 4, 3, 4, 5, 3, 1, 3]}
    replies = [json.loads(line) for line in (folder / "replies.jsonl").read_text().splitlines()]
    assert [json.loads(one["reply"])["label"] for one in replies] == [1, 5, 3, 3, 5, 4, 1, 2]
    assert [(one["item"], one["judge"]) for one in replies] == [(f"r0{k}", "example") for k in range(1, 9)]


@pytest.mark.parametrize("kind", ["rating", "preference", "ideas"])
def test_every_kind_of_new_study_runs_as_it_is(tmp_path, kind):
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiohttp")
    import assay
    from assay.judging.run import judge_study

    folder = tmp_path / kind
    init_study(folder, kind)
    study = load_study(folder)
    run = judge_study(study)
    assert run.answered > 0
    assert (run.missing, run.failed, run.left) == (0, 0, 0), run.summary()
    labels = assay.read(folder)
    assert labels.scale.kind == {"rating": "ordinal", "preference": "preference", "ideas": "odd-one-out"}[kind]
    if kind == "preference":
        assert labels.humans == ("ana", "ben", "chi")
        assert assay.position_bias(labels.where(kind="judge"), method="none").table.height
    if kind == "ideas":
        odd = {(row["item"], row["label"]) for row in labels.labels.iter_rows(named=True)}
        assert len(odd) == labels.n_items == 8, "all triplets of two lessons with four notes"


def test_unknown_kind_of_study_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(StudyError, match=r"kind 'idea' is not in the kinds of studies.*did you mean 'ideas'"):
        init_study(tmp_path / "s", "idea")


def test_new_studies_can_be_put_on_a_page(tmp_path):
    pytest.importorskip("fastapi")
    from assay.collecting.design import StudyDesign
    from assay.study.store.connection import open_store
    from assay.study.store.intake import sync_study

    for kind in ("rating", "preference", "ideas"):
        init_study(tmp_path / kind, kind)
        study = load_study(tmp_path / kind)
        with open_store(study) as store:
            sync_study(store, study)
            assert StudyDesign(study, store).questions


POSTS = [["Id", "Post text", "Author"], [7, "Thanks: a lot", "ana"], [8, "No.", "ben"]]


def made_from(path, folder, **options):
    about = {"text": ["Post text"], "ask": "How polite: very?", "scale": "1-5"} | options
    init_from_sheet(folder, path, **about)
    return load_study(folder)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"])
def test_study_from_a_sheet_has_its_items_and_no_example_files(tmp_path, suffix):
    path = tmp_path / f"posts{suffix}"
    frame = pl.DataFrame(POSTS[1:], schema=POSTS[0], orient="row")
    if suffix == ".xlsx":
        xlsx(path, {"Sheet1": POSTS})
    elif suffix in (".csv", ".tsv"):
        frame.write_csv(path, separator="," if suffix == ".csv" else "\t")
    else:
        {".jsonl": frame.write_ndjson, ".json": frame.write_json, ".parquet": frame.write_parquet}[suffix](path)
    study = made_from(path, tmp_path / "polite posts")
    assert sorted(p.name for p in study.folder.iterdir()) == sorted(
        [".gitignore", SCHEMA_FILE, "study.yaml", path.name]
    )
    assert [(i.name, i.fields["Post text"]) for i in study.items()] == [("7", "Thanks: a lot"), ("8", "No.")]
    (question,) = study.config.questions
    assert (question.text, question.scale, question.show) == ("How polite: very?", "1-5", ("Post text",))
    assert study.config.name == "polite posts"
    assert (study.folder / path.name).read_bytes() == path.read_bytes()


def test_study_from_a_sheet_without_ids_numbers_its_rows(tmp_path):
    path = tmp_path / "posts.csv"
    path.write_text('Post text\n"a, b"\n\u00e9\n', encoding="utf-8")
    study = made_from(path, tmp_path / "s")
    assert study.config.items.file == "items.csv"
    assert [(i.name, i.fields) for i in study.items()] == [("1", {"Post text": "a, b"}), ("2", {"Post text": "é"})]


def test_study_from_a_sheet_compares_the_texts_of_one_column(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("id,note,lesson\n1,a,x\n2,b,x\n3,c,x\n4,d,y\n", encoding="utf-8")
    given = {"text": ["note"], "ask": "Which is the odd one out?", "scale": "odd-one-out"}
    study = made_from(path, tmp_path / "s", **given)
    (question,) = study.config.questions
    assert (question.options, question.show, study.config.people.pairs) == (("note",), (), 3)
    with pytest.raises(StudyError, match=r"compares the texts of one column; --text has 2"):
        made_from(path, tmp_path / "t", **given | {"text": ["note", "lesson"]})


@pytest.mark.parametrize(
    ("scale", "text", "options", "shown"),
    [
        ("preference", ["one", "two"], ("one", "two"), ()),
        ("ranking:3", ["one", "two", "task"], ("one", "two", "task"), ()),
        ("spans:claim,reason", ["one"], (), ("one",)),
        ("text", ["task"], (), ("task",)),
    ],
)
def test_study_from_a_sheet_has_questions_about_columns(tmp_path, scale, text, options, shown):
    path = tmp_path / "answers.csv"
    path.write_text("id,task,one,two\n1,t,a,b\n2,t,c,d\n", encoding="utf-8")
    (question,) = made_from(path, tmp_path / "s", text=text, scale=scale).config.questions
    assert (question.scale, question.options, question.show) == (scale, options, shown)
    assert question.marked == ("one" if scale.startswith("spans") else None)


def test_study_from_a_sheet_keeps_zeros(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_text('{"Post text": "a", "likes": 0, "by": null}\n{"Post text": "b", "likes": 2}\n', encoding="utf-8")
    rows = [i.fields for i in made_from(path, tmp_path / "s").items()]
    assert [row["likes"] for row in rows] == ["0", "2"]


@pytest.mark.parametrize("name", ["Post ID", "post_id", "postId", "ID"])
def test_study_from_a_sheet_takes_the_only_column_that_ends_in_id(tmp_path, name):
    path = tmp_path / "posts.csv"
    path.write_text(f"When,Post text,{name},Valid\nmon,a,x1,yes\ntue,b,x2,no\n", encoding="utf-8")
    assert [i.name for i in made_from(path, tmp_path / "s").items()] == ["x1", "x2"]
    path.write_text("Author ID,Post text,Post ID\nu1,a,x1\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"'Author ID', 'Post ID' can be the ids of the items; name one with --id"):
        made_from(path, tmp_path / "t")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": ["Post"]}, "column 'Post' is not in .*did you mean 'Post text'"),
        ({"scale": "one to five"}, "--scale: 'one to five' is not a scale"),
        ({"scale": "preference"}, "--scale preference compares the texts of 2 columns; --text has 1"),
        ({"scale": "ranking:3"}, "--scale ranking:3 compares the texts of 3 columns; --text has 1"),
        (
            {"scale": "spans:a", "text": ["Post text", "Id"]},
            "--scale spans:a marks the text of one column; --text has 2",
        ),
        ({"ask": " "}, "--ask must be the question"),
        ({"column": "Author"}, "item 'ana' appears twice; the second is item 2.*name it with --id"),
        ({"column": "Key"}, "column 'Key' is not in"),
    ],
)
def test_study_from_a_sheet_rejects_wrong_options(tmp_path, options, message):
    path = xlsx(tmp_path / "posts.xlsx", {"Sheet1": [POSTS[0], [7, "a", "ana"], [8, "b", "ana"]]})
    with pytest.raises(StudyError, match=message):
        made_from(path, tmp_path / "s", **options)
    assert not (tmp_path / "s").exists()
    with pytest.raises(StudyError, match=r"none\.csv does not exist; --items must be the file"):
        made_from(tmp_path / "none.csv", tmp_path / "s")
    (tmp_path / "empty.csv").write_text("item,Post text\n")
    with pytest.raises(StudyError, match="has no items"):
        made_from(tmp_path / "empty.csv", tmp_path / "s")


def test_titles_of_columns_change_no_version_of_a_question():
    from assay.study.schema import Question

    about = {"name": "q", "text": "?", "scale": "1-5"}
    plain = Question(**about, show=["post_text"])
    titled = Question(**about, show={"post_text": {"ar": "النص"}})
    assert plain.wording(["post_text"]) == titled.wording(["post_text"])
    assert titled.title_of("post_text") == {"": "post text", "ar": "النص"}
    assert Question(**about, show={"post_text": "Text"}).title_of("post_text") == {"": "Text"}
    assert Question(**about, show={"post_text": {"en": "Text", "ar": "النص"}}).title_of("post_text")[""] == "Text"


def test_nothing_is_overwritten(folder):
    with pytest.raises(StudyError, match=r"already has study\.yaml"):
        init_study(folder)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "provider: recorded",
            "provdier: recorded",
            24,
            "[0].provdier: is not a key here; did you mean 'provider'",
        ),
        ("concurrency: 20", "concurrency: lots", 52, "limits.concurrency: must be a whole number"),
        ("scale: 1-5 ", "scale: 1~5 ", 14, "questions[0].scale: '1~5' is not a scale"),
        ("scale: 1-5 ", "scale: preference ", 12, "questions[0].options: requires 2 columns to choose between"),
        ("meanings: {1:", "meanings: {7:", 16, "questions[0].meanings.7: label '7' is not in the scale"),
        ("file: replies.jsonl", "prompt: strikt", 22, "judges[0].file: is missing"),
        ("name: Stars", "name: x\nname: Stars", 3, "'name' appears twice"),
        ("questions:", "questions: [", None, "study.yaml, line"),
    ],
)
def test_errors_name_file_line_and_key(folder, old, new, line, message):
    with pytest.raises(StudyError) as caught:
        load_study(changed(folder, old, new))
    words = str(caught.value)
    assert str(folder / "study.yaml") in words
    assert message in words
    if line is not None:
        assert abs(int(words.split("line ")[1].split(",")[0].split(":")[0]) - line) <= 3


def test_key_in_the_file_is_refused_and_not_repeated(folder):
    with pytest.raises(StudyError, match="NAME of an environment variable") as caught:
        load_study(changed(folder, "provider: recorded", "key: sk-secret-1\n    provider: recorded"))
    assert "sk-secret" not in str(caught.value)


def test_urls_with_secrets_are_refused(folder):
    changed(folder, "provider: recorded", "base_url: https://me:pw@host/v1\n    provider: recorded")
    with pytest.raises(StudyError, match="must not hold a name") as caught:
        load_study(folder)
    assert "pw" not in str(caught.value).split("base_url")[1]


def test_yes_and_no_are_words(folder):
    changed(folder, "meanings: {1: very bad, 5: excellent}\n", "\n")
    study = load_study(changed(folder, "scale: 1-5 ", "scale: [yes, no, on, 2024-01-01]"))
    assert study.config.questions[0].scale == ("yes", "no", "on", "2024-01-01")


def test_there_is_no_study(tmp_path):
    with pytest.raises(StudyError, match=r"create a study with: assay init"):
        load_study(tmp_path)


# -- every contradiction by its key and words ---------------------------------------------------------

STARS = {"name": "stars", "text": "How good?", "scale": "1-5"}
ESSAY = {"name": "essay", "text": "Write.", "scale": "text"}
BETTER = {"name": "better", "text": "Which?", "scale": "preference", "options": ["essay"]}
ODD = {"name": "odd", "text": "Which?", "scale": "odd-one-out", "options": ["text"]}
SYSTEMS = [{"name": "a", "model": "x"}, {"name": "b", "model": "y"}]
CROSSED = {"scale": ["1-10"]}


def on(question, **more):
    return {"questions": [{**question, **more}]}


JOBS = {"screening": {"job": {"Your job?": {"cook": False, "nurse": True}}}}
CROWD = {"places": 5}
CROWDS = [
    ({"crowd": CROWD}, {}),
    ({"crowd": {**CROWD, "minutes": 30}}, {}),
    ({"crowd": CROWD, "days_apart": 1}, {}),
    (
        {"crowd": {**CROWD, "minutes": 30}, "days_apart": 1},
        {"people.crowd.minutes": "cannot be used: people.days_apart puts days between two sessions"},
    ),
    ({"until": "3 days"}, {}),
    (
        {"until": "3 days", "crowd": CROWD},
        {"people.until": "in days is for invited annotators; for a crowd, set crowd.minutes"},
    ),
    ({"until": "2027-03-01T18:00+01:00", "keep_until": "2027-03-01"}, {}),
    (
        {"until": "2027-03-01T18:00+01:00", "keep_until": "2027-02-28"},
        {"people.keep_until": "is before people.until, the end of annotation"},
    ),
    ({"keep_until": "2027-02-28"}, {}),
    ({"checks": {"file": "c.csv", "exclude": True, "most_failed": 1}}, {}),
    ({"checks": {"file": "c.csv", "exclude": True, "most_failed": 0.5}}, {}),
    ({"checks": {"file": "c.csv"}}, {}),
    (
        {"checks": {"file": "c.csv", "exclude": True}},
        {"people.checks.exclude": "requires most_failed, the number of checks that may fail"},
    ),
    ({"crowd": {**CROWD, "platform": "prolific", "codes": {"completed": "C1"}}}, {}),
    (
        {"crowd": {**CROWD, "platform": "prolific", "codes": {"full": "C2"}}},
        {"people.crowd.codes": "requires completed, the completion code that Prolific displays"},
    ),
    ({"crowd": {**CROWD, "codes": {"full": "C2"}}}, {}),
    (
        {"crowd": {**CROWD, "parameters": [" "]}},
        {"people.crowd.parameters": "is empty; name the parameter, or admit anyone with platform: open"},
    ),
    ({"crowd": {**CROWD, "platform": "open"}}, {}),
    ({"crowd": CROWD, "ask": JOBS}, {}),
    ({"overlap": {"job": 1}, "crowd": CROWD, "ask": JOBS}, {}),
    ({"overlap": {"job": {"nurse": 2}}, "crowd": CROWD, "ask": JOBS}, {}),
    ({"overlap": {"job": 1}, "ask": {"before": {"job": {"Your job?": ["cook", "nurse"]}}}}, {}),
    (
        {"overlap": {"job": {"cook": 1}}, "ask": {"before": {"job": {"Your job?": ["cook", "nurse"]}}}},
        {"people.ask.before.job": "must have the groups of overlap as answers: cook"},
    ),
    (
        {"overlap": {"job": 1}, "ask": {"before": {"job": {"Your job?": "text"}}}},
        {"people.ask.before.job": "must have the groups of overlap as answers: a list"},
    ),
    (
        {"overlap": {"job": 1}, "ask": {"before": {"job": {"Your job?": {"cook": True, "nurse": False}}}}},
        {"people.ask.before.job": "determines the group, so it cannot have wrong answers"},
    ),
    ({"ask": JOBS}, {"people.ask.screening": "is for a crowd; ask invited annotators under before"}),
    (
        {"crowd": CROWD, "ask": {"screening": {"who": {"Who?": "text"}}}},
        {"people.ask.screening.who": "cannot be a text: its answer decides who is admitted"},
    ),
    (
        {"ask": {"after": {"who": {"Who?": {"a": True, "b": False}}}}},
        {"people.ask.after.who": "cannot have wrong answers; ask it under before"},
    ),
    (
        {"overlap": {"job": 1}, "crowd": CROWD},
        {"people.crowd": "does not determine the group (job) of a person; add a question with this name to people.ask"},
    ),
    ({"crowd": {**CROWD, "back": "https://h.org/?c={code}&o={outcome}&i={id}"}}, {}),
    (
        {"crowd": {**CROWD, "back": "https://h.org/?c={cod}"}},
        {"people.crowd.back": "parameter 'cod' is not in the parameters"},
    ),
]


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (on(STARS), {}),
        (
            {"questions": [STARS, STARS], "judges": [{"name": "j", "model": "m"}] * 2},
            {"questions.1.name": "'stars' appears twice", "judges.1.name": "'j' appears twice"},
        ),
        (on(STARS, options=["a", "b"]), {"questions.0.options": "is for preference, odd-one-out and ranking"}),
        (on(STARS, of="text"), {"questions.0.of": "is for spans"}),
        (on(STARS, of={"text": "Why?"}), {"questions.0.of": "asks for a text about each span, which is for the scale"}),
        (on(STARS, scale="spans:a"), {"questions.0.of": "is missing: the column of the text in which"}),
        (
            {**on(STARS, scale="spans:a", show=["text"]), "items": {"markdown": ["text"]}},
            {"questions.0.of": "names 'text', which is formatted as Markdown; spans need plain text"},
        ),
        (
            {**on(STARS, scale="spans:a", of="clip"), "items": {"media": ["clip"]}},
            {"questions.0.of": "names 'clip', which holds a file"},
        ),
        (
            {
                **on(STARS, scale="spans:a", of="text"),
                "judges": [{"name": "j", "model": "m"}],
                "probes": {"hint": 50},
            },
            {"probes.hint": "cannot be used with spans"},
        ),
        (on(STARS, meanings={"6": "x"}), {"questions.0.meanings.6": "label '6' is not in the scale"}),
        (on(STARS, scale="interval:0-1", meanings={"1": "x", "2": "y"}), {
            "questions.0.meanings.2": "is not on the scale"}),
        (
            on(STARS, scale=["no", "yes"], keys={"no": "n", "yes": "N", "maybe": "m"}),
            {"questions.0.keys.yes": "'N' is already the key of 'no'", "questions.0.keys.maybe": "label 'maybe'"},
        ),
        (on(STARS, scale=["no", "yes"], keys={"no": "ab", "yes": "1"}), {
            "questions.0.keys.no": "'ab' is not one letter", "questions.0.keys.yes": "'1' is not one letter"}),
        (on(STARS, scale="interval:0-1", keys={"1": "a"}), {"questions.0.keys.1": "keys are for labels from a list"}),
        ({"questions": [ESSAY, BETTER]}, {"questions.1.options": "requires two columns to choose between, or"}),
        ({"questions": [ESSAY, BETTER], "systems": SYSTEMS}, {}),
        (
            {"questions": [ESSAY, {**BETTER, "options": ["esay"]}], "systems": SYSTEMS},
            {"systems": "require one question on the scale text, which they answer, and questions about its outputs",
             "questions.1.options": "requires a question on the scale text, which the systems answer; question 'esay'"},
        ),
        (
            {"questions": [ESSAY, BETTER], "systems": SYSTEMS[:1], "labels": "l.csv",
             "judges": [{"name": "a", "model": "m"}]},
            {"systems": "must be at least two, because outputs of two are compared",
             "judges.0.name": "'a' is a system; give the judge another name",
             "labels": "cannot be used: annotators compare outputs drawn from the systems"},
        ),
        (
            {"questions": [ESSAY], "systems": SYSTEMS},
            {"systems": "require one question on the scale text, which they answer, and questions about its outputs"},
        ),
        (
            {"questions": [ESSAY, BETTER], "systems": [{**SYSTEMS[0], "strategy": "few-shot"}, SYSTEMS[1]]},
            {"systems.0.strategy": "is for judges; give a system its own prompt with prompt:"},
        ),
        ({**on(STARS), "comparisons": {"pairs": 3}}, {"comparisons": "requires systems, whose outputs are compared"}),
        (
            {"questions": [ESSAY, {**STARS, "of": "essay"}], "systems": SYSTEMS[:1], "comparisons": {"pairs": 3}},
            {"comparisons": "requires systems, whose outputs are compared by a question on the scale preference"},
        ),
        ({"questions": [ESSAY, {**STARS, "of": "essay"}, BETTER], "systems": SYSTEMS}, {}),
        ({"questions": [ESSAY, STARS, BETTER, {**ODD, "options": ["essay"]}], "systems": SYSTEMS}, {}),
        (
            {"questions": [ESSAY, BETTER, {**BETTER, "name": "x", "of": "essay"}], "systems": SYSTEMS},
            {"questions.2.of": "cannot be used with options, which name what is compared"},
        ),
        (
            {"questions": [ESSAY, {**ESSAY, "name": "poem"}, BETTER, {**STARS, "of": "poem"}], "systems": SYSTEMS},
            {"systems": "require one question on the scale text, which they answer",
             "questions.3.of": "is for spans, or names the question on the scale text that systems answer"},
        ),
        ({**on(STARS, meanings={"1": "bad"}), "conditions": CROSSED}, {
            "questions.0.meanings": "belong to the scale '1-5', and conditions.scale also has '1-10'; give that"}),
        ({**on(STARS, meanings={"1": "bad"}, by_scale={"1-10": {"meanings": {}}}), "conditions": CROSSED}, {}),
        ({**on(STARS, by_scale={"1-10": {"meanings": {"11": "good"}}, "1-7": {}}), "conditions": CROSSED}, {
            "questions.0.by_scale.1-10.meanings.11": "is not on that scale: it must be",
            "questions.0.by_scale.1-7": "'1-7' is neither the question's scale nor one of conditions.scale"}),
        ({**on(STARS, text="From 1 to 5?", guidelines="5 is best"), "conditions": CROSSED}, {
            "questions.0.text": "names 1, a label of the scale '1-5', and conditions.scale also has '1-10'",
            "questions.0.guidelines": "names 5, a label of the scale '1-5'"}),
        ({**on(STARS, text="Of 6 texts, 12%, 2.5 and x3"), "conditions": CROSSED}, {}),
        ({**on(STARS), "conditions": {"scale": ["1-5"]}}, {}),
        ({**on(STARS), "judges": [{"name": "j", "provider": "recorded"}, {"name": "k"}, {"name": "e", "of": ["z"]}]}, {
            "judges.0.file": "is missing: provider 'recorded' requires the file of responses",
            "judges.1.model": "is missing",
            "judges.2.of": "judge 'z' is not in the models among the judges"}),
        ({**on(STARS), "judges": [{"name": "j", "model": "m", "prompt": "s"}],
          "conditions": {"prompt": ["default", "x"]}}, {
            "judges.0.prompt": "prompt 's' is not in prompts/",
            "conditions.prompt.1": "prompt 'x' is not in prompts/"}),
        ({**on(STARS), "people": {"together": True}}, {
            "people.together": "requires items.document, the column with the document of an item"}),
        ({"questions": [ODD, STARS], "items": {"document": "d"}, "people": {"together": True, "warm_up": "w.csv",
                                                                            "checks": {"file": "c.csv"}}}, {}),
        (
            {"questions": [ODD, {**ODD, "name": "other", "options": ["title"]}]},
            {"questions.1.options": "names 'title', and 'odd' draws from 'text'; a study draws pairs and triplets"},
        ),
        ({"questions": [ODD], "items": {"document": "d"}, "people": {"together": True, "warm_up": "w.csv",
                                                                     "checks": {"file": "c.csv"}}}, {
            "people.together": "cannot be used: the triplets of 'odd' are drawn one at a time",
            "people.checks": "cannot be used: the triplets of 'odd' are drawn, so they have no known answer",
            "people.warm_up": "cannot be used: the triplets of 'odd' are drawn, so they have no known answer"}),
        *((on(STARS) | {"people": people}, wanted) for people, wanted in CROWDS),
    ],
)  # fmt: skip
def test_contradictions_name_their_key(tmp_path, config, wanted):
    found = {
        ".".join(map(str, where)): words for where, words in contradictions(StudyFile.model_validate(config), tmp_path)
    }
    assert found.keys() == wanted.keys()
    for key, words in wanted.items():
        assert found[key].startswith(words), found[key]


@pytest.mark.parametrize(
    ("text", "found"),
    [("from 1 to 5", True), ("1-5", True), ("1 – 5", True), ("1 through 5", True), ("von 1 bis 5", True),
     ("11 to 5", False), ("1 to 50", False), ("0.1 to 5", False), ("1 or 5", False)],
)  # fmt: skip
def test_prompt_that_names_a_crossed_scale_is_refused(tmp_path, text, found):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "mine.txt").write_text(f"Answer {text}.")
    config = {**on(STARS), "conditions": {"scale": ["1-5", "1-10"], "prompt": ["mine"]}}
    problems = list(contradictions(StudyFile.model_validate(config), tmp_path))
    words = "prompts/mine.txt names a scale itself; write {{ scale }} there"
    assert problems == ([(("conditions", "scale"), words)] if found else [])


def test_problems_are_said_with_file_line_and_key(tmp_path):
    (tmp_path / "study.yaml").write_text(
        "name: x\n\nquestions:\n  - name: a\n    text: Good?\n    scale: 1-5\n    colour: red\n"
        "  - text: Bad?\n    scale: 1-5\njudges:\n  - {name: j, model: m, repeats: 0, temperature: 9}\n"
        "limits:\n\n  concurrency: many\n"
    )
    with pytest.raises(StudyError) as caught:
        load_study(tmp_path)
    path = tmp_path / "study.yaml"
    first, *others = str(caught.value).splitlines()
    assert first.startswith(f"{path}, line 7, questions[0].colour: is not a key here; the keys are name, text, scale, ")
    assert others == [
        f"{path}, line 8, questions[1].name: is missing",
        f"{path}, line 11, judges[0].temperature: input should be less than or equal to 5",
        f"{path}, line 11, judges[0].repeats: input should be greater than or equal to 1",
        f"{path}, line 14, limits.concurrency: must be a whole number",
    ]
    (tmp_path / "study.yaml").write_text("questions:\n" + "".join(f"  - {{k{n}: 1}}\n" for n in range(40)))
    with pytest.raises(StudyError) as caught:
        load_study(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "and 155 more"
    assert lines[0] == f"{path}, line 2, questions[0].name: is missing"


# -- untrusted folders -----------------------------------------------------------------------------------


def bomb(depth: int, width: int = 9) -> str:
    """A few lines whose aliases hold each other: width to the power of depth values."""
    lines = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth + 1)]
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]", *lines, ""])


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ("until: 14", "people.until: '14' has no unit; write 'until: 14 days', or a date with a time zone"),
        ("overlap: x", "people.overlap: must be a whole number or a mapping"),
        ("overlap: {job: x}", "people.overlap.job: must be a whole number or a mapping"),
        ("warm_up: {w.csv: 2}", "people.warm_up.w.csv: input should be less than or equal to 1"),
    ],
)
def test_key_with_several_types_has_one_error(folder, people, said):
    path = folder / "study.yaml"
    text = "name: n\nitems: {file: items.jsonl}\nquestions: [{name: q, text: t, scale: 1-5}]\npeople: {%s}\n"
    path.write_text(text % people)
    with pytest.raises(StudyError) as caught:
        load_study(folder)
    assert str(caught.value) == f"{path}, line 4, {said}"


@pytest.mark.parametrize("text", [bomb(6), bomb(30), "a: &a [*a]\n", "a: &a {b: *a}\n"])
def test_aliases_of_aliases_are_refused_before_they_grow(folder, text):
    (folder / "study.yaml").write_text(text)
    with pytest.raises(StudyError, match=r"expands to more than 200,000 values by its aliases \(\*\); write them out"):
        load_study(folder)


def test_as_many_values_as_may_be_are_fine_and_one_more_is_not(folder, monkeypatch):
    # A mapping, its key and its value: three values and nothing else.
    (folder / "small.yaml").write_text("title: x\n")
    monkeypatch.setattr(definition, "MOST_NODES", 3)
    assert definition.parse_yaml(folder / "small.yaml")[0] == {"title": "x"}
    monkeypatch.setattr(definition, "MOST_NODES", 2)
    with pytest.raises(StudyError, match="expands to more than 2 values"):
        definition.parse_yaml(folder / "small.yaml")


def test_aliases_that_repeat_a_little_are_fine(folder):
    changed(folder, "meanings: {1: very bad, 5: excellent}", "meanings: &m {1: very bad, 5: excellent}")
    changed(folder, "guidelines: Judge", "by_scale: {'1-5': {meanings: *m}}\n    guidelines: Judge")
    assert load_study(folder).config.questions[0].by_scale["1-5"].meanings == {"1": "very bad", "5": "excellent"}


def test_description_of_megabytes_is_refused_unread(folder):
    (folder / "study.yaml").write_text("# " + "x" * 2_000_001)
    with pytest.raises(StudyError, match=r"has 2,000,003 bytes; a study.yaml has at most 2,000,000"):
        load_study(folder)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "    provider: recorded",
            "    colours: {a: b}\n    provider: recorded",
            "is not a key here; the keys are name, model",
        ),
        ("    provider: recorded", "    concurrency: 3\n    provider: recorded", "it belongs under limits:"),
        ("    provider: recorded", "    promt: x\n    provider: recorded", "did you mean 'prompt'?"),
        ("limits:", "pepole: {}\nlimits:", "did you mean 'people'?"),
        ("limits:", "temperature: 0\nlimits:", "it belongs under systems:"),
    ],
)
def test_unknown_key_lists_the_keys_of_its_part(folder, old, new, words):
    with pytest.raises(StudyError, match=words.replace("?", r"\?")):
        load_study(changed(folder, old, new))


def test_keys_of_the_page_are_no_keys_of_labels(tmp_path):
    assert sorted(key for key in RESERVED_KEYS if key.isdigit()) == list("0123456789")
    assert RESERVED_KEYS["9"] == "chooses answer 9"
    for key in RESERVED_KEYS:
        config = StudyFile.model_validate(on(STARS, scale=["no", "yes"], keys={"no": key, "yes": "x"}))
        assert [where for where, _ in contradictions(config, tmp_path)] == [("questions", 0, "keys", "no")], key


@pytest.mark.parametrize(("varied", "compared"), [((), None), ((0.9, 0.2), 0.9), ((0.0, 0.9), 0.0)])
def test_compared_temperature_is_the_first(folder, varied, compared):
    study = load_study(folder)
    conditions = study.config.conditions.model_copy(update={"temperature": {"systems": varied}})
    config = study.config.model_copy(update={"conditions": conditions})
    assert replace(study, config=config).compared_temperature == compared


WITHOUT_PYDANTIC = """
import sys
sys.modules["pydantic"] = None
import assay
from assay.errors import MissingExtra
labels = assay.read("labels.csv", judges=["m"])
assert len(labels) == 4
from assay.study import PLAN_FILE
try:
    assay.read("study")
except MissingExtra as error:
    print(error)
"""


@pytest.mark.slow
def test_base_install_reads_tables_and_names_the_extra_for_a_study(tmp_path):
    (tmp_path / "labels.csv").write_text("item,annotator,label\na,x,1\na,m,2\nb,x,2\nb,m,2\n")
    init_study(tmp_path / "study")
    command = [sys.executable, "-c", WITHOUT_PYDANTIC]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("opening a study needs more than the base install: python -m pip install ")
    assert "[judge]" in done.stdout
