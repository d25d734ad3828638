"""The report: verdicts in words, sections, one offline page."""

import base64
import hashlib
import html
import importlib
import itertools
import json
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

import assay
from assay.cli.app import main
from assay.concordance.groups.disagreement import farthest_items
from assay.concordance.page import report_agreement
from assay.data.scales import Interval, Nominal
from assay.estimates import words
from assay.estimates.page import judges_with_more_items, report_estimates, saving_words
from assay.ideas.page import report_ideas
from assay.plugins import Registry
from assay.preference.page import report_votes
from assay.replacement.page import asked_words, card, card_by, methods, question_words, results
from assay.replacement.panel import AltTestSettings
from assay.replacement.words import MORE_ITEMS_HELP
from assay.reporting import pictures, references, tables
from assay.reporting.page import Card, NextStep, Part
from assay.verdict import report as plots
from assay.verdict.report import FURTHER, Report, ReportPart, ReportSettings, further_parts, report
from selection import keep_rows

pytestmark = [
    pytest.mark.xdist_group("report"),  # one process, so that the page is made once
    pytest.mark.usefixtures("few_truths"),
]


@pytest.fixture(scope="module")
def labels() -> assay.Annotations:
    judges = {"careful": 0.2, "middling": 0.42, "careless": 0.9}
    return assay.simulate(n_items=150, n_annotators=4, judges=judges, seed=7)


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture(scope="module")
def found(labels: assay.Annotations, steps: list[tuple[str, int, int]]) -> Report:
    return report(labels, expertise="skilled", progress=lambda *step: steps.append(step))


@pytest.fixture(scope="module")
def page(found: Report) -> str:
    return found.html()


class Outline(HTMLParser):
    """Collects headings, outside references and unclosed tags."""

    def __init__(self) -> None:
        super().__init__()
        self.references: list[str] = []
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.references += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    return found


def test_report_verdicts_of_simulation(found: Report) -> None:
    assert [(c.judge, c.tone) for c in found.cards] == [("careful", "good"), ("middling", "open"), ("careless", "bad")]
    for one in found.cards:
        made = card(found.comparison.tests[one.judge])
        assert (one.headline, one.evidence, one.advice) == (made.headline, made.evidence, made.advice)
    assert "may replace a skilled annotator" in found.cards[0].headline
    assert re.search(r"[Aa]bout [\d,]+ items", found.cards[1].advice)
    assert "Do not replace a skilled annotator with careless" in found.cards[2].headline


@pytest.mark.slow
def test_report_page_makes_no_external_request(page: str) -> None:
    seen = outline(page)
    assert seen.tags.count("script") == 2, "the numbers, and what sorts and filters"
    script = re.search(r"<script>(.*?)</script>", page, re.S)
    digest = re.search(r"script-src 'sha256-([^']+)'", page)
    assert script is not None
    assert digest is not None, "no other script may run"
    assert base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode() == digest[1]
    assert not re.search(r"fetch\(|XMLHttpRequest|https?://", script[1])
    assert "link" not in seen.tags
    assert all(r.startswith("#") for r in seen.references)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    # Two curves, labels, agreement twice, categories, three confusions, a panel, its correlations; intervals are drawn
    # in the tables' cells.
    assert page.count('<svg role="img"') == 11
    assert page.count('class="iv"') > 20


def test_report_picture_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', page)
    assert set(used) <= set(ids)


@pytest.mark.slow
def test_markup_in_names_is_text() -> None:
    evil = "<script>alert(1)</script>"
    frame = assay.simulate(n_items=40, seed=1).labels.with_columns(
        pl.col("annotator").replace({"judge": evil, "ann_1": "<b>bold</b>"})
    )
    labels = assay.Annotations.from_frame(frame, judges=[evil])
    page = report(labels, epsilon=0.1, n_resamples=40).html()
    assert "<script>alert" not in page
    assert "<b>bold" not in page


@pytest.mark.usefixtures("without_pictures")
def test_save_creates_folder(found: Report, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "one"
    page = found.save(folder / "report.html").read_text(encoding="utf-8")
    assert sorted(one.name for one in folder.iterdir()) == ["report.html", "report.json"]
    assert page == found.html()
    assert page.startswith("<!doctype html>")


@pytest.mark.usefixtures("without_pictures")
def test_report_by_criterion() -> None:
    labels = assay.simulate(n_items=60, criteria=["clear", "true"], seed=3)
    found = report(labels, expertise="skilled", n_resamples=40)
    assert found.comparison is None
    assert set(found.by) == {"judge"}
    made = card_by(found.by["judge"])
    assert (found.cards[0].headline, found.cards[0].advice) == (made.headline, made.advice)
    assert found.cards[0].evidence == made.evidence
    assert "both criteria" in made.headline
    assert found.table.columns[:3] == ["judge", "kind", "criterion"]
    assert set(found.table["kind"]) == {"judge"}
    assert "By criterion" in found.html()


@pytest.mark.slow
def test_report_has_no_duplicate_rows_for_two_scales() -> None:
    five = assay.simulate(n_items=60, criteria=["clear"], scale="1-5", seed=3).labels
    three = assay.simulate(n_items=60, criteria=["true"], scale="1-3", seed=3).labels
    scales = {"clear": assay.Ordinal(1, 5), "true": assay.Ordinal(1, 3)}
    labels = assay.Annotations.from_frame(pl.concat([five, three]), judges=["judge"], scale=scales)
    parts = {part.title: part for part in report_agreement(labels, ReportSettings(epsilon=0.1).shared(None))}
    shown = parts["Judge agreement compared with human agreement"].frames[1][1]
    assert not shown.select("criterion", "who", "first", "second").is_duplicated().any()
    # Holm over these rows, as in an agreement analysis with only this coefficient.
    alone = assay.agreement(
        labels, coefficients=["krippendorff-alpha-ordinal"], who=["humans", "judges", "human pairs", "pairs"]
    )
    expected = alone.table.filter(pl.col("who") == "human pairs")["p_adjusted"].to_list()
    assert shown.filter(pl.col("who") == "human pairs")["p_adjusted"].to_list() == expected
    shown = [
        t
        for s in report(labels, expertise="skilled", n_resamples=40).page.sections
        if s.title.startswith("Judge agreement compared")
        for t in s.tables
    ]
    assert [row[2] for row in shown[1].rows].count("another human") == 2


def test_report_json_round_trip(found: Report) -> None:
    kept = json.loads(json.dumps(found.to_dict()))
    assert kept["kind"] == "Report"
    assert [card["tone"] for card in kept["cards"]] == ["good", "open", "bad"]
    assert kept["comparison"]["best"] == "careful"


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_report_lists_exclusions() -> None:
    labels = assay.simulate(n_items=60, missing={"judge": 0.2}, seed=2)
    page = report(labels, epsilon=0.2, n_resamples=40).html()
    assert "no label of the judge" in page


def test_report_calls_progress(found: Report, steps: list[tuple[str, int, int]]) -> None:
    assert found.cards
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert all(of == len(steps) for _, _, of in steps)


def test_report_rejects_table_without_judge(labels: assay.Annotations) -> None:
    with pytest.raises(assay.errors.DesignError, match="no judge to report on; name the judges"):
        report(labels.where(kind="human"), expertise="crowd")


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_report_without_enough_items_is_undecided() -> None:
    labels = assay.simulate(n_items=20, seed=2)
    found = report(labels, epsilon=0.2, n_resamples=40)
    (test,) = found.comparison.tests.values()
    assert test.n_annotators == 0
    assert found.cards[0].evidence == card(test).evidence
    assert "30 comparable items" in found.cards[0].evidence
    assert "fewer than 30 comparable items" in found.html()


@pytest.mark.usefixtures("without_pictures")
def test_report_of_free_text_has_no_label_distribution() -> None:
    frame = pl.DataFrame(
        {
            "item": [f"i{i}" for i in range(40) for _ in range(3)],
            "annotator": ["a", "b", "m"] * 40,
            "label": [f"word{i % 7} of {a}" for i in range(40) for a in "xyz"],
        }
    )
    labels = assay.read(frame, judges=["m"], scale="text")
    assert not plots.has_shares(labels)
    from assay.similarity.lexical import word_similarity

    assert "Which labels" not in report(labels, epsilon=0.1, similarity=word_similarity).html()


def test_label_shares_fits_many_and_continuous_labels() -> None:
    many = assay.simulate(n_items=400, scale=40, seed=1)
    ax = plots.label_shares(many)
    assert len(ax.get_xticklabels()) == plots.MOST_LABELS
    assert ax.get_xticklabels()[-1].get_text() == "other"
    smooth = plots.label_shares(assay.simulate(n_items=50, scale="interval:0-1", spread=0.1, seed=1))
    assert len(smooth.get_xticklabels()) == 10


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.5, 2, "0.50"),
        (-0.125, 2, "−0.12"),
        (float("nan"), 2, "–"),
        (None, 2, "–"),
        (0.125, 3, "0.125"),
        (0.1, 3, "0.10"),
        (-0.001, 2, "0.00"),
        (-0.6, 0, "−1"),
    ],
)
def test_numbers_for_readers(value: float | None, digits: int, text: str) -> None:
    assert tables.number(value, digits) == text


def test_ratings_are_whole_and_small_numbers_are_not() -> None:
    frame = pl.DataFrame(
        {"system": ["a", "b"], "estimate": [1081.2, 918.8], "low": [1051.0, 886.4], "high": [1114.0, 949.0]}
    )
    assert [row[1] for row in tables.shown(frame).rows] == ["1081 [1051, 1114]", "919 [886, 949]"]
    one = frame.with_columns(estimate=pl.Series([1081.2, 0.5]))
    assert tables.shown(one).rows[1][1].startswith("0.50 ")


def test_text_tables_align() -> None:
    table = tables.shown(pl.DataFrame({"judge": ["a", "longer"], "n": [5, 1000]}))
    assert tables.to_text(table) == "judge   items\na           5\nlonger  1,000"


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_report_has_position_bias_if_positions_are_known() -> None:
    rows = []
    for i in range(60):
        for who in ("ann", "bob", "m"):
            choice = [-1, 1, 0][(i * 7 + len(who)) % 3] if who != "m" else (-1 if i % 5 else 1)
            rows.append((f"i{i}", who, choice, None if choice == 0 else 1 if choice == -1 else 2))
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "position"], orient="row")
    labels = assay.read(frame, judges=["m"], scale="preference")
    page = report(labels, epsilon=0.2, n_resamples=40).html()
    assert "Share of choices by the place of a text." in page
    unknown = frame.with_columns(position=pl.lit(None, dtype=pl.Int64))
    page = report(assay.read(unknown, judges=["m"], scale="preference"), epsilon=0.2, n_resamples=40).html()
    assert "Share of choices by the place" not in page


@pytest.mark.slow
def test_votes_of_judges_are_separate_from_human_votes() -> None:
    strong = {"a": 3.0, "b": 1.5, "c": 0.0}
    chance = np.random.default_rng(0)
    rows = []
    for i in range(180):
        first, second = [("a", "b"), ("b", "c"), ("c", "a")][i % 3]
        for who in ("ann", "bob", "similar", "turned", "coin", "always"):
            lean = {"turned": -1, "coin": 0, "always": 50}.get(who, 1) * (strong[first] - strong[second])
            label = -1 if lean + chance.logistic() > 0 else 1
            rows.append((f"i{i}", who, label, first, second, i / 180))
    names = ["item", "annotator", "label", "first", "second", "separability"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    labels = assay.read(frame, judges=["similar", "turned", "coin", "always"], scale="preference")
    found = report(labels, epsilon=0.2, n_resamples=200)
    board, consistent = report_votes(labels, ReportSettings(epsilon=0.2, n_resamples=200).shared(None))
    sections = {section.title: section for section in found.page.sections}
    assert sections[board.title].words == board.words
    votes = sections[board.title].tables[0].frame
    assert votes.filter(who="humans")["votes"].to_list() == [240] * 3  # 180 pairs, two annotators, two of three systems
    for judge in ("similar", "turned", "coin"):
        assert votes.filter(who=judge)["votes"].to_list() == [120] * 3
    order = {who: votes.filter(who=who)["system"].to_list() for who in ("humans", "similar", "turned")}
    assert order == {"humans": ["a", "b", "c"], "similar": ["a", "b", "c"], "turned": ["c", "b", "a"]}
    # Each annotator compared a pair once, so that no rating set can be inconsistent.
    assert sections[consistent.title].words == consistent.words
    assert not any("separability 0" in line for line in consistent.words)
    assert any("not estimable: every rating set has one vote" in line for line in consistent.words)
    columns = plots.label_shares(labels).get_xticklabels()
    assert [one.get_text() for one in columns] == ["first", "tie", "second"]


@pytest.mark.usefixtures("without_pictures")
def test_report_page_starts_with_question_and_scope(found: Report, page: str) -> None:
    tests = list(found.comparison.tests.values())
    assert found.title == question_words(tests)
    assert "skilled annotator" in found.title
    assert found.page.scope == asked_words(tests)
    for who in ("3 judges (careful, middling, careless)", "4 annotators (ann_1, ann_2, ann_3, ann_4)"):
        assert who in found.page.scope
    assert page.index(f"<h1>{found.title}") < page.index(found.page.scope) < page.index('<table class="card')
    titled = replace(found.page, title="Mine")
    assert "<h1>Mine</h1>" in titled.html()


def test_results_methods_and_references(found: Report, page: str) -> None:
    assert len(found.results) == 3
    rho = found.comparison.tests["careful"].advantage_probability
    assert f"ρ = {rho.estimate:.2f}, 95% CI [{rho.low:.2f}, {rho.high:.2f}]" in found.results[0]
    tests = list(found.comparison.tests.values())
    assert found.results == tuple(results(tests))
    assert found.methods == tuple(methods(tests))
    for judge, line in zip(("careful", "middling", "careless"), found.results, strict=True):
        assert line.startswith(f"On 150 items, {judge} ")
    said = " ".join((*found.results, *found.methods))
    for key, entry in references.REFERENCES.items():
        named = re.search(r"author\s*= {(\w+)", entry)
        in_words = named is not None and named[1] in said
        assert not in_words or key in page, f"{key} is named and not given"
    # Two judges have a next command; then the references, and the call of the page.
    assert page.count("<pre>") == 4


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_report_page_call_reproduces_it(labels: assay.Annotations, found: Report) -> None:
    assert found.page.command == "assay.report(labels, expertise='skilled')"
    repeated = eval(found.page.command, {"assay": assay, "labels": labels})
    assert repeated.html() == found.html()


@pytest.mark.slow
def test_report_page_command_reproduces_it(labels: assay.Annotations, tmp_path: Path) -> None:
    file = tmp_path / "la bels.csv"
    labels.labels.write_csv(file)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(file), "--judges", "careful,middling,careless", "--expertise", "skilled",
              "--n-resamples", "40", "-o", str(tmp_path / "one.html")])  # fmt: skip
    assert ended.value.code == 0
    page = (tmp_path / "one.html").read_text()
    (command,) = commands_of(page, "report")
    with pytest.raises(SystemExit):
        main(shlex.split(command)[1:])
    assert (tmp_path / "one.html").read_text() == page


def commands_of(page: str, name: str) -> list[str]:
    """The commands of a page that begin so, as they are copied."""
    found = re.findall(r"<pre>(.*?)</pre>", page)
    commands = [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in found]
    return [one for one in commands if re.match(rf"assay (?:{name}) ", one)]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_next_commands_run_on_same_labels(
    labels: assay.Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"item": "unit", "annotator": "who"}
    labels.labels.rename(names).write_csv("la bels.csv")
    read = ["--item", "unit", "--annotator=who", "--judges", "careful,middling,careless"]
    with pytest.raises(SystemExit) as ended:
        main(["report", "la bels.csv", *read, "--expertise", "skilled", "--n-resamples", "40", "-o", "one.html"])
    assert ended.value.code == 0
    commands = commands_of(Path("one.html").read_text(encoding="utf-8"), "estimate|disagreement")
    assert commands == [
        f"assay estimate 'la bels.csv' {shlex.join(read)} --only careful",
        f"assay disagreement 'la bels.csv' {shlex.join(read)} --first judges",
    ]
    for command, signature in zip(commands, ("estimate|", "disagreement|"), strict=True):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0
        assert signature in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    ("repeats", "later"), [("majority", "majority"), ("last", "last"), ("each", "first")]
)  # fmt: skip
def test_next_commands_keep_repeats_and_clusters(
    repeats: str, later: str, labels: assay.Annotations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = labels.labels.with_columns(repeat=pl.lit(1))
    twice = whole.filter(pl.col("annotator") == "careful").with_columns(repeat=pl.lit(2))
    both = pl.concat([whole, twice]).with_columns(group="g" + pl.col("item").str.slice(-2, 2))
    both.write_csv("twice.csv")
    kept = ["--judges", "careful,middling,careless", f"--repeats={repeats}", "--clusters", "group"]
    with pytest.raises(SystemExit) as ended:
        main(["report", "twice.csv", *kept, "--expertise", "skilled", "--n-resamples", "40", "-o", "one.html"])
    assert ended.value.code == 0
    commands = commands_of(Path("one.html").read_text(encoding="utf-8"), "estimate|disagreement")
    estimate = shlex.join(kept).replace(repeats, later)  # an estimate is not of each repeat of a judge
    assert f"assay estimate twice.csv {estimate} --only careful" in commands
    assert f"assay disagreement twice.csv {shlex.join(kept)} --first judges" in commands
    for command in commands:
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(command)[1:])
        assert ended.value.code == 0, command


def test_largest_disagreements_are_errors_of_the_judge() -> None:
    rows = [(f"i{i}", who, 3) for i in range(40) for who in ("ann", "bob", "cho")]
    rows += [(f"i{i}", "gpt", 5 if i == 7 else 4 if i == 11 else 3) for i in range(40)]
    rows[3 * 20] = ("i20", "ann", 1)  # annotators disagree, and the judge is not further away than they are
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    found = farthest_items(assay.read(frame, judges=["gpt"], scale="1-5"), "gpt", 5)
    assert found.select("item", "human_labels", "judge_label", "distance", "human_distance").rows() == [
        ("i7", "3 (3 of 3)", "5", 0.5, 0.0), ("i11", "3 (3 of 3)", "4", 0.25, 0.0),
    ]  # fmt: skip
    copy = assay.read(frame.filter(annotator="ann").with_columns(annotator=pl.lit("gpt")).vstack(
        frame.filter(pl.col("annotator") != "gpt")), judges=["gpt"], scale="1-5")  # fmt: skip
    assert farthest_items(copy.where(annotator=["ann", "gpt"]), "gpt", 5).height == 0


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
def test_report_explains_missing_card(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = assay.simulate(n_items=40, seed=2)

    def refused(*_: object) -> None:
        raise assay.errors.DesignError("no annotators to compare with")

    monkeypatch.setattr("assay.verdict.report.judge_card", refused)
    found = report(labels, epsilon=0.2, n_resamples=40)
    assert found.card is None
    assert "No card: no annotators to compare with. The verdict “Replace” requires three tests" in found.html()
    with pytest.raises(assay.errors.DesignError, match="no annotators to compare with"):
        report(labels, epsilon=0.2, n_resamples=40, group="truth")


@pytest.mark.slow
def test_card_objects_default_to_clusters() -> None:
    labels = assay.simulate(90, 4, scale="1-5", documents=30, judges={"gpt": 0.1}, seed=4)
    named = {None: 90, "document": 30}
    for clusters, n in named.items():
        found = report(labels, expertise="skilled", n_resamples=40, clusters=clusters)
        assert found.card is not None
        assert found.card.objects == n
        (cell,) = found.card.table.filter(dimension="replacement").rows(named=True)
        assert {"replace": "✓", "do_not_replace": "✗"}.get(found.comparison.tests["gpt"].verdict, "?") == cell["mark"]


def test_largest_disagreements_of_study_have_text_and_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy", reason="a study needs the extra judge")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for command in ("init st", "judge st"):
        replies = Path("st/replies.jsonl")
        if command == "judge st":
            first, *others = replies.read_text(encoding="utf-8").splitlines()
            wrong = json.loads(first) | {"reply": 'All guests would come back. {"label": 5}'}
            replies.write_text("\n".join([json.dumps(wrong), *others]) + "\n", encoding="utf-8")
        with pytest.raises(SystemExit) as ended:
            main(command.split())
        assert ended.value.code in (0, None)
    found = report("st", epsilon=0.2, min_items=2, n_resamples=40)
    section = next(one for one in found.page.sections if one.title == "Largest disagreements with annotators")
    assert section.tables[0].frame is not None
    row = section.tables[0].frame.row(0, named=True)
    assert row["response"] == 'All guests would come back. {"label": 5}'
    assert row["judge_label"] == "5"
    assert len(row["review"]) > 12


def test_documents_with_long_names_and_columns_with_names_of_the_page_are_shown_once():
    labels = assay.simulate(n_items=60, n_annotators=3, judges={"careless": 0.9}, documents=12, seed=1)
    place = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64) % 12
    named = {name: pl.lit("a text that is long enough to be read") for name in ("distance", "response", "count", "n")}
    items = labels.items.with_columns(pl.format("document of ward {}", place).alias("document"), **named)
    found = report(replace(labels, items=items), expertise="skilled", n_resamples=40, clusters="document")
    section = next(one for one in found.page.sections if one.title == "Largest disagreements with annotators")
    assert section.tables[0].frame is not None
    assert section.tables[0].frame["document"].str.starts_with("document of ward").all()


@pytest.mark.parametrize(
    ("repeats", "wanted"),
    [
        ("first", {"t9": "call 1"}), ("majority", {"t3": "call 1"}), ("mean", {"t9": "call 1, call 2, call 3"}),
        pytest.param("last", {"t1": "call 3"}, marks=pytest.mark.slow),
        pytest.param("each", {"t3": "call 2"}, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_largest_disagreements_have_response_of_same_condition_and_repeat(
    repeats: str, wanted: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("sqlalchemy", reason="a study needs the extra judge")
    items = [f"t{k}" for k in range(12)]
    (tmp_path / "items.csv").write_text("\n".join(["item,text", *(f"{i},text {i}" for i in items)]))
    human = [f"{one},{who},{1 + k % 5}" for k, one in enumerate(items) for who in ("ann", "bob", "cem")]
    (tmp_path / "labels.csv").write_text("\n".join(["item,annotator,label", *human]))
    lines = []
    for k, item in enumerate(items):
        for temperature, repeat in itertools.product((0, 0.7), (1, 2, 3)):
            off = (repeat if k % 3 == 0 else 0) + (temperature > 0) + 2 * (repeat == 3)
            reply = f'temperature {temperature}, call {repeat}: {{"label": {1 + (k + off) % 5}}}'
            about = {"item": item, "judge": "gpt", "temperature": temperature, "repeat": repeat}
            lines.append(json.dumps({**about, "reply": reply}))
    (tmp_path / "replies.jsonl").write_text("\n".join(lines))
    (tmp_path / "study.yaml").write_text(
        "name: s\nitems: {file: items.csv, id: item}\n"
        "questions: [{name: stars, text: Stars?, scale: 1-5, show: [text]}]"
        "\nlabels: labels.csv\nconditions: {temperature: [0, 0.7]}\n"
        "judges: [{name: gpt, provider: recorded, file: replies.jsonl, repeats: 3}]\n"
    )
    with pytest.raises(SystemExit):
        main(["judge", str(tmp_path)])
    found = report(assay.read(tmp_path).where(temperature=0), epsilon=0.2, min_items=2, n_resamples=40, repeats=repeats)
    section = next(one for one in found.page.sections if one.title == "Largest disagreements with annotators")
    assert section.tables[0].frame is not None
    rows = section.tables[0].frame.select("judge", "item", "judge_label", "response").rows()
    for _, _, label, response in rows:
        assert "temperature 0," in response
        assert "temperature 0.7" not in response
        assert repeats == "mean" or f'{{"label": {label}}}' in response
    calls = {item: ", ".join(re.findall("call .", response)) for _, item, _, response in rows}
    assert calls.items() >= wanted.items()


def test_card_details_agree_with_marks(found: Report) -> None:
    section = next(one for one in found.page.sections if one.title == "Card details")
    frame = section.tables[0].frame
    assert frame is not None
    assert "replacement" not in frame["dimension"], "its number is no contrast"
    for row in frame.iter_rows(named=True):
        assert row["mark"] != "✓" or row["low"] > 0
        assert row["mark"] != "✗" or frame.filter(judge=row["judge"], dimension=row["dimension"])["high"].min() < 0


def test_sections_start_with_their_result(found: Report) -> None:
    for section in found.page.sections:
        assert section.words or section.folded or section.pictures, section.title
    by_title = {section.title: section for section in found.page.sections}
    people = found.page.sections[0]
    assert people.title == "Comparison of judges"
    frame = by_title["Agreement among annotators"].tables[0].frame
    assert frame is not None
    row = frame.row(by_predicate=pl.col("first") == "humans", named=True)
    assert (
        f"humans {row['estimate']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        in by_title["Agreement among annotators"].words[0]
    )


def test_annotators_section_has_rows_of_each_judge(found: Report) -> None:
    section = next(s for s in found.page.sections if s.title == "By annotator")
    assert [row[0] for row in section.tables[0].rows] == ["careful"] * 4 + ["middling"] * 4 + ["careless"] * 4
    assert section.words[0].startswith(
        "Published rule: careful wins against 4 of 4 annotators; middling wins against 1 of 4 annotators; "
    )


@pytest.mark.slow
def test_card_over_criteria_has_a_line_per_criterion() -> None:
    labels = assay.simulate(n_items=60, criteria=["clear", "true"], judges={"good": 0.05, "fair": 0.42}, seed=3)
    found = report(labels, expertise="skilled")
    for one in found.cards:
        for line, (name, test) in zip(one.details, found.by[one.judge].tests.items(), strict=True):
            rho = test.advantage_probability
            assert line.startswith(f"{name}: ")
            assert f"ρ = {rho.estimate:.2f} [{rho.low:.2f}, {rho.high:.2f}]" in line
            assert "60 items" in line
            assert (test.reason in MORE_ITEMS_HELP) == ("conclusive verdict" in line)


def test_verdict_colours_are_consistent(found: Report, page: str) -> None:
    for title in ("Winning rate by margin ε", "Probability of a conclusive verdict by number of items"):
        svg = page[page.index(f'aria-label="{title}"') :].partition("</svg>")[0]
        assert set(re.findall(r"var\(--(good|bad|open|split|judge)\)", svg)) == {"good", "bad", "open"}, title
    assert "#000000" not in page, "ink that is black on a dark page"
    for tone, sign in (("good", "✓"), ("open", "?"), ("bad", "✗")):
        assert page.count(f'<span class="sign {tone}" aria-hidden="true">{sign}</span>') >= 2, "card and table"


@pytest.mark.slow
def test_report_explains_missing_picture(labels: assay.Annotations, monkeypatch: pytest.MonkeyPatch) -> None:
    size = "Probability of a conclusive verdict by number of items"
    asked = {"judges": ["careful"], "epsilon": 0.2, "n_resamples": 40}

    def sketch(draw: Callable[[], object], title: str, prefix: str = "") -> str:
        if title == size:
            draw()
        return f'<svg aria-label="{title}"></svg>'

    monkeypatch.setattr("assay.reporting.pictures.svg", sketch)
    assert f'aria-label="{size}"' in report(labels, expert="ann_1", **asked).html()

    def refused(tests: object) -> None:
        raise assay.errors.DesignError("there is no panel to draw")

    monkeypatch.setattr("assay.verdict.report.size_curves", refused)
    page = report(labels, **asked).html()
    assert f"{size}: not drawn; there is no panel to draw" in page


EXAMPLE = Path(__file__).parents[2] / "examples" / "odd_ones.csv"


@pytest.mark.slow
@pytest.mark.usefixtures("without_pictures")
@pytest.mark.skipif(not EXAMPLE.exists(), reason="the folder of examples is missing")
def test_report_validates_measures_for_triplets() -> None:
    labels = assay.read(EXAMPLE, scale="odd-one-out", judges=["gpt-4o"])
    page = report(labels, epsilon=0.2, min_items=5, n_resamples=40).html()
    parts = report_ideas(labels, ReportSettings(epsilon=0.2, n_resamples=40).shared(None))
    assert len(parts) == 3
    for part in parts:
        assert f">{part.title}</h2>" in page
        assert html.escape(part.words[0], quote=False) in html.unescape(page)


EXAMPLES = Path(__file__).parents[2] / "examples"


def test_report_estimates_items_without_human_labels():
    """If annotators labelled some of the judge's items, the page has corrected estimates for all of them."""
    labels = assay.read(EXAMPLES / "checked.csv", judges=["gpt-4o"], scale="nominal:no,yes")
    found = assay.report(labels, expertise="crowd", n_resamples=60)
    (part,) = report_estimates(labels, ReportSettings(epsilon=0.1, n_resamples=60).shared(None))
    assert part.words == tuple(words.estimate_lines(assay.estimate(labels, "gpt-4o")))[: len(part.words)]
    assert next(one for one in found.page.sections if one.title == part.title).words == part.words
    complete = assay.simulate(60, 3, seed=1)
    titles = [one.title for one in assay.report(complete, expertise="crowd", n_resamples=60).page.sections]
    assert not any(title.replace("judge", "gpt-4o") == part.title for title in titles)


@pytest.mark.slow
def test_replace_verdict_mentions_precision_of_other_labels():
    """With the precision of the estimate, or the reason why there is none; for other judges without it."""
    full = assay.simulate(600, 3, judges={"careful": 0.2, "careless": 0.9}, scale="1-5", seed=7)
    rng = np.random.default_rng(3)

    def checked(items: np.ndarray) -> assay.Annotations:
        some = full.items["item"].gather(items).implode()
        return keep_rows(full, (full.column("kind") == "judge") | full.labels["item"].is_in(some))

    labels = checked(np.sort(rng.permutation(600)[:200]))
    good, bad = assay.report(labels, expertise="skilled", n_resamples=40).cards
    saved = assay.estimate(labels, "careful").table["equivalent_labels"][0]
    assert saved > 50
    wanted = f"report corrected estimates for {saving_words(assay.estimate(labels, 'careful'))}"
    assert f"{saved} more" in wanted
    assert f"Next: {wanted}." in good.evidence
    assert good.step.words == f"{wanted}:"
    assert good.step.command == "assay.estimate(labels, 'careful')"
    assert "more human-labelled item" not in bad.evidence
    early = assay.report(checked(np.arange(200)), expertise="skilled", n_resamples=40).cards[0]
    assert "Corrected estimates: not estimable: the 200 labelled items" in early.evidence
    assert early.step.words.startswith("let the judge label the remaining items")
    whole = full.where(item=full.items["item"].head(60).to_list())
    assert "more human-labelled" not in assay.report(whole, expertise="skilled", n_resamples=40).cards[0].evidence


# -- single parts of the page --------------------------------------------------------------------------


def table_of(*rows: tuple[str, str, object], judges: tuple[str, ...] = ("m",), **options: object) -> assay.Annotations:
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    return assay.Annotations.from_frame(frame, judges=list(judges), **options)


def test_reference_sections_are_folded(found: Report) -> None:
    folded = {section.title: section.folded for section in found.page.sections}
    assert folded["Card details"]
    assert folded["Exclusions and assumptions"]
    assert not folded["Comparison of judges"]


@pytest.mark.parametrize(
    ("judged", "checked", "ahead"),
    [(10, 8, True), (10, 9, False), (10, 10, False), (10, 0, True), (1, 0, True), (1, 1, False)],
)
def test_judges_with_more_items_up_to_four_fifths_checked(judged: int, checked: int, ahead: bool) -> None:
    rows = [(f"i{k}", "m", k % 2) for k in range(judged)] + [(f"i{k}", "ann", 1) for k in range(checked)]
    labels = table_of(*rows, scale="nominal:0,1")
    assert judges_with_more_items(labels) == (["m"] if ahead else [])


@pytest.mark.parametrize(
    ("kind", "criteria"), [("text", ()), ("odd-one-out", ()), ("preference", ()), ("nominal", ("a", "b"))]
)
def test_judges_with_more_items_is_empty_without_estimates(kind: str, criteria: tuple[str, ...]) -> None:
    assert judges_with_more_items(SimpleNamespace(criteria=criteria, scale=SimpleNamespace(kind=kind))) == []


def test_label_distributions_are_drawn_per_domain() -> None:
    def picture_titles(by: str | None, *parts: SimpleNamespace) -> list[str]:
        sections = plots.ReportBuilder._labels_sections(SimpleNamespace(by=by), parts)
        return [picture.title for section in sections for picture in section.pictures]

    def criterion_part(name: str, kind: str = "nominal") -> SimpleNamespace:
        return SimpleNamespace(scale=SimpleNamespace(kind=kind), values_of=lambda column: [f"{column} {name}"])

    assert (
        picture_titles(None, criterion_part("x"))
        == picture_titles("topic", criterion_part("x"))
        == ["Label distributions"]
    )
    assert picture_titles("topic", criterion_part("x"), criterion_part("y")) == [
        "Label distributions (topic x)", "Label distributions (topic y)",
    ]  # fmt: skip
    assert picture_titles("topic", criterion_part("x"), criterion_part("y", "text")) == [
        "Label distributions (topic x)"
    ]
    assert picture_titles(None, criterion_part("x", "text")) == []


def test_find_test_returns_criterion_test_or_reason() -> None:
    found = {"m": SimpleNamespace(tests={"law": "the test"}, untested={"art": "no annotator labelled it"})}

    def criterion_test(criterion: str) -> object:
        return plots.ReportBuilder._find_test(SimpleNamespace(by="criterion"), found, "m", criterion)

    assert [criterion_test(c) for c in ("law", "art", "tax")] == [
        "the test", "no test: no annotator labelled it", "no test: it has no labels of it",
    ]  # fmt: skip


def test_exclusions_section_names_the_tests() -> None:
    def tested(judge: str, *exclusions: str, domain: str | None = None) -> SimpleNamespace:
        return SimpleNamespace(judge=judge, domain=domain, exclusions=exclusions)

    def lines(*tests: SimpleNamespace, read: tuple[str, ...] = (), by: dict | None = None) -> tuple[str, ...]:
        builder = SimpleNamespace(labels=SimpleNamespace(reading=SimpleNamespace(lines=lambda: list(read))))
        return plots.ReportBuilder._exclusions_section(builder, tests, by or {}).lines

    assert lines(tested("m")) == ("No exclusions.",)
    assert lines(tested("m", "2 items: few"), tested("k", "2 items: few"), read=("1 row: empty",)) == (
        "1 row: empty", "2 items: few [every test]",
    )  # fmt: skip
    assert lines(tested("m", "2 items: few", domain="topic=law"), tested("k")) == ("2 items: few [m (law)]",)
    untested = {"m": SimpleNamespace(untested={"art": "no annotator labelled it"})}
    assert lines(tested("m"), by=untested) == ("m, art: not tested; no annotator labelled it",)


@pytest.mark.parametrize(
    ("judges", "criteria", "each"), [(1, 0, 10), (2, 0, 5), (3, 1, 3), (2, 2, 2), (9, 0, 2)]
)  # ten items in all, and at least two a judge
def test_number_of_items_per_judge(judges: int, criteria: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    scales = {None: SimpleNamespace(kind="nominal")}
    builder = SimpleNamespace(
        labels=SimpleNamespace(scales=scales, criteria=tuple("ab"[:criteria])),
        settings=SimpleNamespace(repeats="error", clusters=None),
    )
    monkeypatch.setattr(
        plots, "farthest_items", lambda labels, judge, n, repeats: asked.append((judge, n)) or pl.DataFrame()
    )
    monkeypatch.setattr(plots, "farthest_part", lambda found, responses, clusters: Part("Farthest"))
    names = [f"m{k}" for k in range(judges)]
    assert len(plots.ReportBuilder._disagreement_sections(builder, names)) == 1
    assert asked == [(name, each) for name in names]
    scales[None] = SimpleNamespace(kind="text")
    assert plots.ReportBuilder._disagreement_sections(builder, names) == []


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (NextStep("", "estimate", "m"), "assay.estimate(labels, 'm')"),
        (NextStep("", "disagreement", "m"), "assay.disagreement(labels, first='judges')"),
        (NextStep("", "estimate", "m", where="topic=law"), "assay.estimate(labels.where(topic='law'), 'm')"),
    ],
)
def test_next_step_call(step: NextStep, command: str) -> None:
    assert plots._call(step, "labels") == command
    card = Card("m", None, "good", "", "", "", step=step)
    assert plots._add_command(card, lambda one: plots._call(one, "labels")).step.command == command
    none = replace(card, step=NextStep("only words"))
    assert plots._add_command(none, lambda one: "x") is none
    assert plots._add_command(replace(card, step=None), lambda one: "x").step is None


def test_columns_bin_continuous_labels() -> None:
    labels = table_of(("a", "m", 0.0), ("b", "m", 0.1), ("c", "m", 0.95), ("d", "m", 1.0), scale=Interval(0, 1))
    names, codes = plots._columns(labels, [0.0, 0.0999, 0.1, 0.95, 1.0])
    assert (names[0], names[-1], len(names)) == ("0–0.1", "0.9–1", 10)
    assert codes.tolist() == [0, 0, 1, 9, 9]


def test_columns_pool_rare_labels() -> None:
    most = plots.MOST_LABELS
    for n in (most, most + 1):
        words = [f"w{k:02}" for k in range(n)]
        given = [w for k, w in enumerate(words) for _ in range(n - k)]  # the first is the most common
        labels = table_of(*((f"i{k}", "m", w) for k, w in enumerate(given)), scale=Nominal(tuple(words)))
        names, codes = plots._columns(labels, given)
        if n == most:
            assert names == words
        else:
            assert names == [*words[: most - 1], "other"]
            assert (codes == most - 1).sum() == 1 + 2  # of the two rarest
        assert np.bincount(codes)[:3].tolist() == [n, n - 1, n - 2]
    assert plots._share(np.array([0, 2, 2, 2]), 4).tolist() == [0.25, 0, 0.75, 0]
    assert plots._share(np.array([], dtype=int), 2).tolist() == [0, 0]


def test_comparison_section_has_summary_without_signature(found: Report) -> None:
    section = next(one for one in found.page.sections if one.title == "Comparison of judges")
    assert found.comparison is not None
    *words, signature = found.comparison.summary().splitlines()
    assert section.words == tuple(words)
    assert signature == found.comparison.signature


def test_label_shares_are_printed_from_half_a_percent() -> None:
    """For 1 label in 150 (.67%) the number is printed; for 1 in 250 (.4%) only the cell is drawn."""
    rows = [(f"i{k}", "ann", "no" if k else "yes") for k in range(150)]
    rows += [(f"i{k}", "m", "no" if k else "yes") for k in range(250)]
    ax = plots.label_shares(table_of(*rows, scale=Nominal(("no", "yes"))))
    assert [one.get_text() for one in ax.get_yticklabels()] == ["annotators", "m"]
    assert ax.get_yticks().tolist() == [1.5, 0.5]
    assert [(one.get_text(), one.get_rotation()) for one in ax.get_xticklabels()] == [("no", 0.0), ("yes", 0.0)]
    assert ax.get_xticks().tolist() == [0.5, 1.5]
    assert {one.get_position(): one.get_text() for one in ax.texts} == {
        (0.5, 1.5): "99", (1.5, 1.5): "1", (0.5, 0.5): "100"
    }  # fmt: skip
    faces = [to_hex(one.get_facecolor()) for one in ax.patches]
    assert faces == [to_hex(pictures.HUMAN)] * 2 + [to_hex(pictures.JUDGE)] * 2
    long = plots.label_shares(table_of(("i", "ann", "maybe"), ("i", "m", "no"), scale=Nominal(("maybe", "no"))))
    assert [one.get_rotation() for one in long.get_xticklabels()] == [45.0, 45.0]
    four = plots.label_shares(table_of(("i", "ann", "mayb"), ("i", "m", "no"), scale=Nominal(("mayb", "no"))))
    assert [one.get_rotation() for one in four.get_xticklabels()] == [0.0, 0.0]


def test_report_settings():
    assert ReportSettings(judges="gpt", epsilon=0.0).judges == ("gpt",)
    files = {"plan": "plan.yaml", "title": "T", "progress": lambda *step: None}
    assert ReportSettings(**files, epsilon=0.0).signed() == ReportSettings(epsilon=0.0).signed()
    shared = ReportSettings(epsilon=0.0, n_resamples=99, confidence=0.9, seed=7, clusters="doc").shared("topic")
    assert (shared.by, shared.clusters, shared.repeats, shared.similarity) == ("topic", "doc", "error", None)
    assert shared.intervals == {"n_resamples": 99, "confidence": 0.9, "seed": 7}
    # By default each analysis has its own interval method.
    assert ReportSettings(epsilon=0.0, method="bca").shared(None).intervals["method"] == "bca"


def test_find_test_pools_domains_that_are_not_criteria(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(
        plots, "alt_test", lambda labels, judge, **options: given.append((labels, judge, options)) or "tested"
    )
    labels = SimpleNamespace(where=lambda criterion: f"labels of {criterion}")
    builder = SimpleNamespace(
        by="topic", labels=labels, _test_settings=lambda kind: AltTestSettings(epsilon=0.3, alpha=0.1)
    )
    assert plots.ReportBuilder._find_test(builder, {}, "m", None) == "tested"
    assert plots.ReportBuilder._find_test(builder, {}, "m", "law") == "tested"
    assert [(table, judge) for table, judge, _ in given] == [(labels, "m"), ("labels of law", "m")]
    options = given[0][2]
    assert (options["epsilon"], options["alpha"]) == (0.3, 0.1)
    assert None not in options.values()

    def refused(*_: object, **__: object) -> None:
        raise assay.errors.DesignError("too few")

    monkeypatch.setattr(plots, "alt_test", refused)
    assert plots.ReportBuilder._find_test(builder, {}, "m", None) == "no test: too few"


@pytest.mark.parametrize(
    ("options", "asked_for"),
    [
        ({}, [{}]),
        ({"clusters": "book"}, [{"object": "book"}, {}]),  # the clusters are objects, if possible
        ({"clusters": "book", "object": "poet"}, [{"object": "poet"}]),
        ({"family": "maker", "clusters": "book"}, [{"object": "book", "family": "maker"}, {"family": "maker"}]),
    ],
)
def test_card_objects_are_named_or_clusters(
    options: dict[str, str], asked_for: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, object]] = []

    def refused(labels: object, settings: object, tested: object) -> None:
        given.append({k: v for k in ("object", "lesson", "family", "group") if (v := getattr(settings, k)) is not None})
        assert (settings.judges, settings.epsilon, settings.alpha, settings.repeats) == (("m",), 0.3, 0.1, "mean")
        raise assay.errors.DesignError("no annotators")

    monkeypatch.setattr(plots, "judge_card", refused)
    settings = ReportSettings(epsilon=0.3, alpha=0.1, repeats="mean", **options)
    builder = SimpleNamespace(settings=settings, labels=None, no_card="")
    if {"object", "family"} & set(options):
        with pytest.raises(assay.errors.DesignError, match="no annotators"):
            plots.ReportBuilder._card(builder, ["m"], None)
    else:
        assert plots.ReportBuilder._card(builder, ["m"], None) is None
        assert builder.no_card == "No card: no annotators. "
    assert given[: len(asked_for)] == asked_for
    monkeypatch.setattr(plots, "judge_card", lambda labels, settings, tested: settings.object)
    assert plots.ReportBuilder._card(builder, ["m"], None) == asked_for[0].get("object")


def test_call_names_changed_options() -> None:
    s = ReportSettings(epsilon=0.1, score=len, by="topic", progress=print)
    assert plots.call(s, "labels") == "assay.report(labels, score=len, epsilon=0.1, by='topic')"


# -- further parts -------------------------------------------------------------------------------------------


def test_further_parts_exist_and_are_callable() -> None:
    for one in FURTHER.values():
        module, _, name = one.path.partition(":")
        assert callable(getattr(importlib.import_module(module), name)), one.name
    assert list(FURTHER) == [
        "estimates", "agreement", "disagreement", "opinions", "panel", "position", "raters", "raters of numbers",
        "votes", "separability", "ideas", "generalizability",
    ]  # fmt: skip


def test_further_parts_depend_on_kind_of_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of the table is all that a new part needs; of another kind of scale its module is not imported."""
    given = []
    module = SimpleNamespace(parts=lambda labels, options: given.append((labels, options)) or (Part("New"),))
    monkeypatch.setitem(sys.modules, "a_plugin", module)
    rows = {"new": ReportPart("new", "a_plugin:parts"), "text": ReportPart("text", "not_a_module:parts", ("text",))}
    monkeypatch.setattr(plots, "FURTHER", Registry("assay.report_parts", ReportPart, rows))
    labels = table_of(("i", "ann", 1), ("i", "m", 1), scale="1-5")
    options = ReportSettings(epsilon=0.1).shared("topic")
    assert [part.title for part in further_parts(labels, options)] == ["New"]
    assert given == [(labels, options)]
    assert options.by == "topic"


@pytest.mark.slow
def test_report_estimates_raters_of_numbers_apart_from_categories() -> None:
    stars = assay.simulate(n_items=60, n_annotators=3, judges={"m": 0.4}, scale="1-5", seed=2).labels
    numbers = stars.with_columns(
        label=pl.col("label").cast(pl.Float64) * 18.4 + pl.int_range(pl.len()) % 7, criterion=pl.lit("share")
    )
    both = pl.concat([stars.with_columns(pl.col("label").cast(pl.Float64), criterion=pl.lit("stars")), numbers],
                     how="diagonal")  # fmt: skip
    table = assay.read(both, judges=["m"], scale={"stars": "1-5", "share": "interval:0-100"})
    titles = [one["title"] for one in report(table, expertise="crowd").to_dict()["sections"]]
    raters = [one for one in titles if one.startswith("Severity and variability")]
    assert raters == ["Severity and variability of raters", "Severity and variability of raters, in points"]


@pytest.mark.usefixtures("without_pictures")
def test_report_states_the_same_provenance_once() -> None:
    labels = assay.simulate(n_items=60, judges={"a": 0.2, "b": 0.4}, seed=3)
    found = report(labels, expertise="skilled", n_resamples=40)
    said = [line for card in found.cards for line in card.details if line.startswith("Provenance: ")]
    assert said[0].startswith("Provenance: labels from a file;")
    assert said[1] == f"Provenance: as for {found.cards[0].judge}."


@pytest.mark.usefixtures("without_pictures")
def test_fairness_that_a_judge_fails_is_a_limit_of_its_verdict() -> None:
    """A judge that is lenient in one of two wards is as close to annotators as they are, apart from this."""
    rng = np.random.default_rng(2)
    ward, true = np.arange(240) % 2, 1.8 + 1.2 * rng.normal(size=240)
    given = {who: np.clip(np.round(true + 0.6 * rng.normal(size=240)), 0, 4) for who in ("ann", "bob", "cho")}
    given["m"] = np.clip(np.round(true + 0.5 * (2 * ward - 1) + 0.5 * rng.normal(size=240)), 0, 4)
    frame = pl.DataFrame({"id": [f"r{k}" for k in range(240)], "ward": ["NS"[w] for w in ward], **given})
    labels = assay.read(frame, layout="wide", item="id", columns=[*given], judges=["m"], scale="0-4")
    found = report(labels, expertise="expert", group="ward", n_resamples=40)
    limit = re.search(r"Limits of the verdict: (It fails fairness by “ward”: .*)", found.summary())
    assert limit is not None
    size = re.fullmatch(r"It fails fairness by “ward”: judge minus annotators, (. minus .): ([+−]\d\.\d\d)\.", limit[1])
    assert size is not None
    assert {"S minus N": "+", "N minus S": "−"}[size[1]] == size[2][0]
    assert 0.7 < float(size[2][1:]) < 1.2
    card = assay.card(labels, expertise="expert", group="ward").summary()
    assert f"fails Fairness; fairness: judge minus annotators, {size[1]}: {size[2]}" in " ".join(card.split())
    assert "fails fairness" not in report(labels, expertise="expert", n_resamples=40).summary()


def wards(bias: float, n: int = 240, seed: int = 2) -> assay.Annotations:
    """Three annotators and a judge that is more severe in ward S, of which 30% of the items are."""
    rng = np.random.default_rng(seed)
    ward, true = rng.random(n) < 0.3, 4.5 + 2 * rng.normal(size=n)
    given = {who: np.clip(np.round(true + 1.1 * rng.normal(size=n)), 0, 10) for who in ("ann", "bob", "cho")}
    given["m"] = np.clip(np.round(true - bias * ward + 0.8 * rng.normal(size=n)), 0, 10)
    frame = pl.DataFrame({"id": [f"r{k}" for k in range(n)], "ward": ["NS"[int(w)] for w in ward], **given})
    return assay.read(frame, layout="wide", item="id", columns=[*given], judges=["m"], scale="0-10")


@pytest.mark.usefixtures("without_pictures")
def test_significant_group_difference_is_a_limit_although_fairness_is_undecided() -> None:
    """A bias of .8 points is above 0, and neither within nor beyond the margin of .25 standard deviations."""
    found = report(wards(0.8), expertise="skilled", group="ward", n_resamples=40)
    assert found.card is not None
    assert found.card.cells["fairness"].to_list() == ["?"]
    (limit,) = [one for one in found.cards[0].limits if "ward" in one]
    said = re.fullmatch(
        r"Its severity differs significantly by “ward”: judge minus annotators, S minus N: −(0\.\d\d) "
        r"\[−(\d\.\d\d), −(0\.\d\d)\] \(p < 0\.001\); fairness is undecided: the difference is not demonstrated to be "
        r"within the margin of (0\.\d\d) or beyond it\.", limit,
    )  # fmt: skip
    assert said is not None, limit
    size, far, near, margin = map(float, said.groups())
    assert near < min(size, margin) <= max(size, margin) < far
    assert found.page.marks is not None
    assert found.page.marks.faults[0].startswith("m: its severity differs")
    titles = [section.title for section in found.page.sections]
    assert "Differential severity by ward" in titles
    assert "S than with N" in found.page.markdown()
    without = report(wards(0.8), expertise="skilled", n_resamples=40)
    assert "Differential severity by ward" not in [section.title for section in without.page.sections]


@pytest.mark.usefixtures("without_pictures")
def test_groups_without_differences_have_no_limit() -> None:
    found = report(wards(0.0), expertise="skilled", group="ward", n_resamples=40)
    assert not [one for one in found.cards[0].limits if "ward" in one]
    small = report(wards(0.0, n=25), expertise="skilled", group="ward", n_resamples=40)
    (section,) = [one for one in small.page.sections if one.title == "Differential severity by ward"]
    assert "each needs at least 10 subjects" in " ".join(section.lines)


@pytest.mark.simulation
def test_group_difference_of_a_fair_judge_is_seldom_significant() -> None:
    said = [
        "differs significantly" in assay.card(wards(0.0, seed=k), expertise="skilled", group="ward").summary()
        for k in range(200)
    ]
    assert np.mean(said) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
