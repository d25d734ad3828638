"""The advice of error messages: if followed, the command runs or reports another error."""

from __future__ import annotations

import ast
import functools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import assay
from assay.cli import app as cli
from sources import statements

Run = Callable[..., tuple[int, str, str]]
# One process, so that each command is run once.
pytestmark = [pytest.mark.xdist_group("advice"), pytest.mark.usefixtures("few_truths", "without_pictures")]

OWN = ("--item", "id", "--annotator", "worker", "--label", "stars")
TEST = ("--epsilon", ".1", "--n-resamples", "40")
AGREEMENT = ("agreement", "--coefficients", "exact-agreement", "--n-resamples", "40")
KNOWN = ("--judges", "gpt-4o,llama")
ODD = ("--scale", "odd-one-out")
PLAN = ("plan", "alt-test")
VALIDATE = ("plan", "validate", "--n-items", "20", "--n-annotators", "3", "--n-studies", "1", "--categories", "2")
VOTES = ("--scale", "preference", "--n-resamples", "40")

CASES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    # a command line that is refused, and values for the dots in the options that its error advises
    "a study with two scales": (
        ("plan", "alt-test", "--study", "scales", "--expertise", "crowd", "--n-studies", "2"), {"--categories": "1-5"}
    ),
    "verdicts without a trace": (
        ("export", "plain.csv", "scores.jsonl", "--to", "mlflow", "--verdicts", "test.json"), {"--trace": "tr-1"}
    ),
    "a trace without verdicts": (
        ("export", "plain.csv", "other.jsonl", "--to", "mlflow", "--trace", "tr-1"), {"--verdicts": "test.json"}
    ),
    "few documents in a split": (("study", "split", "tasks.csv", "--n-test", "25", "-o", "parts.csv"), {}),
    "models without judges": (("alt-test", "own.csv", *OWN, *TEST), {}),
    "one of two models in judges": (("alt-test", "own.csv", *OWN, *TEST, "--judges", "gpt-4o"), {}),
    "a model by its kind": (("alt-test", "plain.csv", *TEST, "--judges", "gpt-4o"), {}),
    "some humans": (("alt-test", "m.csv", *TEST, "--humans", "ann"), {"--judges": "m1,m2"}),
    "only without judges": (("alt-test", "m.csv", *TEST, "--only", "m1"), {}),
    "only with a human": (("alt-test", "m.csv", *TEST, "--judges", "m1", "--only", "bob"), {}),
    "no judge": (("report", "m.csv", *TEST, "-o", "page.html"), {"--judges": "m1"}),
    "lesson without object": (("card", "plain.csv", "--expertise", "crowd", "--lesson", "item"), {
        "--object": "item"}),
    "no judge to test": (("alt-test", "m.csv", *TEST), {"--judges": "m1,m2"}),
    "validate without epsilon": (VALIDATE, {"--epsilon": ".2", "--expertise": "crowd"}),
    "skew and prior": ((*VALIDATE, "--epsilon", ".2", "--skew", ".5", "--prior", ".5,.5"), {
        "--skew": "", "--prior": ""}),
    "document without pilot": ((*VALIDATE, "--epsilon", ".2", "--document", "lesson"), {
        "--document": "", "--documents": "5"}),
    "more labels per item than annotators": ((*VALIDATE, "--epsilon", ".2", "--labels-per-item", "4"), {
        "--n-annotators": "4", "--labels-per-item": "2"}),
    "a pilot of two judges": ((*PLAN, "--pilot", "plain.csv", "--n-items", "30", "--n-studies", "20"), {
        "--only": "llama"}),
    "a plan of several epsilons": ((*PLAN, "--n-items", "30", "--n-studies", "20", "--write", "plan.yaml"), {
        "--epsilon": ".1"}),
    "a plan of too few items": ((*PLAN, "--n-items", "5,6", "--n-studies", "20", "--epsilon", ".1",
        "--judge-noise", "1", "--write", "plan.yaml"), {"--n-items": "40"}),
    "spelling": ((*AGREEMENT, "spelling.csv"), {}),
    "epsilon": (("alt-test", "plain.csv", *TEST[2:]), {"--epsilon": ".1"}),
    "epsilon twice": (("alt-test", "plain.csv", *TEST, "--expertise", "crowd"), {}),
    "columns of a long table": ((*AGREEMENT, "plain.csv", "--columns", "ann_1"), {}),
    "a long table read as a wide one": ((*AGREEMENT, "own.csv", "--item", "id", "--wide", "--columns", "stars"), {}),
    "ids that match loosely": (("agreement", "m.csv", "--labels-from", "loose.csv"), {}),
    "words and numbers": ((*AGREEMENT, "words.csv", "--wide"), {}),
    "no such item": ((*AGREEMENT, "own.csv", "--item", "unit", *KNOWN), {}),
    "no such annotator": ((*AGREEMENT, "own.csv", "--annotator", "rater", *KNOWN), {}),
    "no such label": ((*AGREEMENT, "own.csv", "--label", "rating", *KNOWN), {}),
    "excluded annotators": ((*AGREEMENT, "nobody.csv"), {}),
    "columns that do not divide": ((*AGREEMENT, "crossed.csv", "--wide", "--split-columns", "annotator-criterion"), {
        "--split-columns": "annotator_criterion"}),
    "columns divided in no order": ((*AGREEMENT, "crossed.csv", "--wide", "--split-columns", "no"), {
        "--split-columns": "annotator_criterion"}),
    "a text file has no sheets": ((*AGREEMENT, "m.csv", "--sheet", "Wave 1"), {}),
    "people in rows": ((*AGREEMENT, "form.csv"), {}),
    "one column twice": ((*AGREEMENT, "plain.csv", "--item", "annotator"), {"--annotator": "item"}),
    "words among numbers": ((*AGREEMENT, "mixed.csv"), {"--scale": "nominal", "--missing": "five"}),
    "decimals or thousands": ((*AGREEMENT, "thousands.csv"), {}),
    "numbers and words in one": ((*AGREEMENT, "stars.csv"), {"--scale": "nominal"}),
    "dates": ((*AGREEMENT, "dates.csv"), {}),
    "missing mark or category": ((*AGREEMENT, "marks.csv"), {}),
    "missing mark off the scale": ((*AGREEMENT, "marks.csv", "--scale", "nominal:1 of all,2 of all,3 of all,4 of all"),
        {"--scale": "nominal:1 of all,2 of all,3 of all,4 of all,N/A"}),
    "two spellings of labels": ((*AGREEMENT, "cases.csv"), {}),
    "scale in another spelling": ((*AGREEMENT, "cases.csv", "--scale", "nominal:good,BAD"), {}),
    "off the scale": ((*AGREEMENT, "plain.csv", "--scale", "1-3"), {"--scale": "1-5"}),
    "free text": (("alt-test", "texts.csv", "--judges", "m1", "--scale", "text", *TEST), {"--similarity": "words"}),
    "agreement on free text": ((*AGREEMENT, "texts.csv", "--scale", "text"), {"--scale": "nominal"}),
    "a similarity on numbers": (("alt-test", "plain.csv", *TEST, "--similarity", "words"),
        {"--similarity": "pairs.csv"}),
    "given twice": ((*AGREEMENT, "heat.csv"), {}),
    "several conditions": ((*AGREEMENT, "heat.csv", "--conditions", "heat"), {"--where": "heat=0.5"}),
    "criteria": ((*PLAN, "--pilot", "criteria.csv", "--judges", "m1", "--n-items", "30", "--n-studies", "20"), {
        "--where": "criterion=clear"}),
    "repeats": (("alt-test", "repeats.csv", "--judges", "m1", *TEST), {}),
    "repeats written": (("export", "repeats.csv", "folder", "--to", "alt-test", "--judges", "m1"), {}),
    "conditions written": (("export", "heat.csv", "folder", "--to", "alt-test", "--conditions", "heat"), {
        "--where": "heat=0.5"}),
    "no judge to write": (("export", "m.csv", "out.json", "--to", "label-studio"), {"--judges": "m1,m2"}),
    "another format": ((*AGREEMENT, "odd.json"), {"--format": "table"}),
    "correction": (("alt-test", "plain.csv", *TEST, "--correction", "within"), {"--by": "half"}),
    "a judge without a pilot": ((*PLAN, "--only", "x", "--n-items", "30", "--n-studies", "20"),
        {"--judge-noise": ".2"}),
    "a pilot is small": ((*PLAN, "--pilot", "plain.csv", "--only", "llama", "--n-annotators", "9", "--n-items", "30",
                          "--n-studies", "20"), {"--annotator-noise": ".2"}),
    "normalised": (("alt-test", "plain.csv", *TEST, "--normalise", "rank", "--score", "accuracy"), {}),
    "clusters unknown": (("alt-test", "clusters.csv", "--judges", "m1", *TEST, "--clusters", "doc"), {}),
    "normalised without a pilot": ((*PLAN, "--normalise", "rank", "--n-items", "30", "--n-studies", "20"), {
        "--quality": "", "--pilot": "plain.csv"}),
    "scale conditions": (("scales", "ranges.csv", "--scale-column", "range", "--judges", "m1", "--conditions",
        "heat", *TEST[2:]), {
        "--condition": "heat", "--where": "heat=0.5"}),
    "scale baseline": (("scales", "ranges.csv", "--scale-column", "range", "--judges", "m1",
        "--condition", "heat", *TEST[2:]), {
        "--baseline": "0.5"}),
    "a sample and a bootstrap": ((*AGREEMENT, "plain.csv", "--raters", "random", "--method", "percentile"), {}),
    "a class too small to balance": (("alt-test", "plain.csv", *TEST, "--scale", "nominal:1,2,3,4,5", "--balance",
        "--min-class", "12"), {"--min-class": "0"}),
    "scores of systems": (("ratings", "plain.csv", *KNOWN, "--n-resamples", "40"), {
        "--scored": "half", "--sources": "item"}),
    "one system alone": (("ratings", "votes.csv", *VOTES, "--systems", "cedar"), {"--systems": "cedar,birch"}),
    "weights without a column": (("ratings", "votes.csv", *VOTES, "--alpha", "3"), {"--separability": "separability"}),
    "an option of the other rating model": (("ratings", "votes.csv", *VOTES, "--k", "16"), {"--model": "elo"}),
    "an interval of Elo": (("ratings", "votes.csv", *VOTES, "--model", "elo", "--method", "jackknife"), {
        "--method": "percentile"}),
    "a covariate that is not there": (("ratings", "votes.csv", *VOTES, "--covariates", "length"), {
        "--covariates": "separability"}),
    "shares of votes without grades": (("ratings", "votes.csv", *VOTES, "--grades", "shares"), {}),
    "covariates and ties": (("ratings", "votes.csv", *VOTES, "--covariates", "separability", "--ties", "davidson"), {}),
    "system without losses": (("ratings", "won.csv", *VOTES), {"--systems": "birch,aspen"}),
    "share without choose": (("consistency", "votes.csv", *VOTES, "--share", ".3"), {"--choose": "weighted",
        "--by": "separability"}),
    "choose without separability": (("consistency", "votes.csv", *VOTES, "--choose", "top"), {}),
    "identical outputs": (("separability", "same.csv", "--scale", "text", "--humans", "a,b"), {}),
    "groups of annotators without a table of them": (
        ("disagreement", "plain.csv", "--by", "half", "--n-resamples", "40"), {"--annotator-table": "people.csv"}),
    "two texts of three": (("ideas", "odd_ones.csv", *ODD, "--texts", "first,second"), {
        "--texts": "first_item,second_item,third_item"}),
    "two contents of three": (("ideas", "odd_ones.csv", *ODD, "--measures", "words", "--contents", "first,second"), {
        "--contents": "first,second,third"}),
    "two authors of three": (("ideas", "odd_ones.csv", *ODD, "--judges", "m1", "--authors", "first,second"), {
        "--authors": "first,second,third"}),
    "triplets without texts": (("ideas", "bare.csv", *ODD, "--measures", "words"), {
        "--contents": "first_item,second_item,third_item"}),
    "odd-one-out choices read as words": (("ideas", "odd_ones.csv", "--measures", "words"), {}),
    "experts without measures": (("ideas", "odd_ones.csv", *ODD, "--judges", "m1", "--annotators", "judges"), {}),
    "triplets of texts without names": (("plan", "triplets", "notes.csv", "--floor", "2"), {"--name": "a"}),
    "too many triplets": (("plan", "triplets", "many.csv", "--name", "a", "--floor", "75"), {"--n-triplets": "9"}),
    "expert and gold": (("alt-test", "plain.csv", *TEST, "--expert", "ann_1", "--gold", "gold"), {}),
    "a pilot and an agreement": (("plan", "triplets", "--agreement", ".6", "--pilot", "odd_ones.csv", *ODD,
        "--n-studies", "20"), {}),
}  # fmt: skip

ADVISED = re.compile(r"(--[a-z][a-z-]+)((?: (?!--)(?:'[^']*'|[^\s;()]*[^\s;,.:()]|\.\.\.))?)")
WITHOUT = re.compile(r"(?:without|leave|leaves) (--[a-z][a-z-]+)")


@pytest.fixture(scope="session")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tables, each with a particular feature."""
    folder = tmp_path_factory.mktemp("sheets")
    labels = assay.simulate(n_items=40, scale="1-5", judges={"gpt-4o": 0.15, "llama": 0.9}, seed=5)
    table = labels.labels.join(labels.annotators.select("annotator", "kind"), on="annotator", maintain_order="left")
    half = pl.col("item").str.slice(-1).is_in(list("02468")).cast(pl.Int8)
    table.with_columns(half=half, gold=pl.lit(3)).write_csv(folder / "plain.csv")
    labels.labels.rename({"item": "id", "annotator": "worker", "label": "stars"}).write_csv(folder / "own.csv")
    people = labels.annotators.select("annotator", half=pl.Series(["a", "b"] * 8).head(labels.annotators.height))
    people.write_csv(folder / "people.csv")
    m = table.drop("kind").with_columns(annotator=pl.col("annotator").replace(
        {"ann_1": "ann", "ann_2": "bob", "ann_3": "cho", "gpt-4o": "m1", "llama": "m2"}))  # fmt: skip
    m.write_csv(folder / "m.csv")
    loose = m.filter(annotator="ann").with_columns(item=pl.format("Text [{}]", "item"), annotator=pl.lit("dan"))
    loose.write_csv(folder / "loose.csv")
    m.with_columns(annotator=pl.when(half == 1).then(pl.col("annotator").replace({"ann": "Ann"})).otherwise(
        "annotator")).write_csv(folder / "spelling.csv")  # fmt: skip
    m.with_columns(label=pl.when(pl.col("label") == 5).then(pl.lit("five")).otherwise(pl.col("label").cast(
        pl.String))).write_csv(folder / "mixed.csv")  # fmt: skip
    one, two = pl.col("label") > 2, half == 1
    cases = pl.when(one & two).then(pl.lit("Good")).when(one).then(pl.lit("good")).otherwise(pl.lit("bad"))
    marks = pl.when(pl.col("label") == 5).then(pl.lit("N/A")).otherwise(pl.format("{} of all", "label"))
    for name, label in {
        "thousands": pl.format("{},250", "label"), "stars": pl.format("{} of the stars", "label"),
        "dates": pl.format("2024-05-0{}", "label"), "marks": marks, "cases": cases,
    }.items():  # fmt: skip
        m.with_columns(label=label).write_csv(folder / f"{name}.csv")
    m.with_columns(doc=pl.when(half == 1).then(pl.lit("d1"))).write_csv(folder / "clusters.csv")
    heat = [m.with_columns(heat=pl.lit(h)) for h in (0.5, 1.0)]
    pl.concat(heat).write_csv(folder / "heat.csv")
    pl.concat([h.with_columns(range=pl.lit(r)) for h in heat for r in ("0-5", "0-10")]).write_csv(folder / "ranges.csv")
    pl.concat([m.with_columns(repeat=pl.lit(r)) for r in (1, 2)]).write_csv(folder / "repeats.csv")
    pl.concat([m.with_columns(criterion=pl.lit(c)) for c in ("clear", "true")]).write_csv(folder / "criteria.csv")
    (folder / "scales").mkdir()
    (folder / "scales" / "items.csv").write_text("item,text\n" + "".join(f"t{k},a text {k}\n" for k in range(40)))
    (folder / "scales" / "study.yaml").write_text(
        "name: scales\nitems: {file: items.csv}\n"
        "questions:\n- {name: good, text: Good?, scale: 1-5}\n- {name: kind, text: Which?, scale: [a, b, c]}\n"
    )
    items = m.select("item").unique(maintain_order=True)
    items.with_columns(gold=pl.lit(3)).write_csv(folder / "items.csv")
    wide = m.pivot("annotator", index="item", values="label")
    wide.with_columns(one=pl.lit("so"), two=pl.lit("so"), three=pl.lit("no"), four=pl.lit("so"), five=pl.lit(
        "no")).write_csv(folder / "words.csv")  # fmt: skip
    m.with_columns(annotator=pl.col("annotator").replace("cho", "Majority")).write_csv(folder / "nobody.csv")
    crossed = {f"{who}_{c}": wide[who] for who in ("ann", "bob") for c in ("clarity", "depth")}
    pl.DataFrame({"item": wide["item"], **crossed}).write_csv(folder / "crossed.csv")
    form = wide.head(20).drop("item").transpose(include_header=True, header_name="Your name",
                                                column_names=[f"Q{i}" for i in range(1, 21)])  # fmt: skip
    form.write_csv(folder / "form.csv")
    m.with_columns(label=pl.format("{} {}", "annotator", "item")).write_csv(folder / "texts.csv")
    pairs = [(a, b, -abs(a - b)) for a in range(1, 6) for b in range(a, 6)]
    pl.DataFrame(pairs, schema=["a", "b", "s"], orient="row").write_csv(folder / "pairs.csv")
    for name in ("votes", "odd_ones"):
        example = (Path(__file__).parents[2] / "examples" / f"{name}.csv").read_text(encoding="utf-8")
        (folder / f"{name}.csv").write_text(example.replace("gpt-4o", "m1"), encoding="utf-8")
    votes = pl.read_csv(folder / "votes.csv").filter(pl.col("repeat") == 1)
    votes.write_csv(folder / "votes.csv")
    won = pl.when(pl.col("first") == "cedar").then(-1).when(pl.col("second") == "cedar").then(1).otherwise("label")
    votes.with_columns(label=won).write_csv(folder / "won.csv")
    pl.read_csv(folder / "odd_ones.csv").drop("first", "second", "third").write_csv(folder / "bare.csv")
    same = [(f"i{i}", who, k, "one") for i in range(3) for who in "ab" for k in (1, 2)]
    pl.DataFrame(same, schema=["item", "annotator", "repeat", "label"], orient="row").write_csv(folder / "same.csv")
    pl.DataFrame({"a": list("uvwxyz"), "b": ["s"] * 6}).write_csv(folder / "notes.csv")
    pl.DataFrame({"a": [f"t{i}" for i in range(300)]}).write_csv(folder / "many.csv")
    tasks = [f"{name}-{i}" for name in ("mtb", "stsb", "toxigen") for i in range(60)]
    pl.DataFrame({"item": tasks}).write_csv(folder / "tasks.csv")
    (folder / "test.json").write_text(json.dumps(assay.alt_test(labels, "gpt-4o", epsilon=0.1).to_dict()))
    (folder / "odd.json").write_text('[{"_server_id": 1, "fields": {}, "responses": {"s": [3]}, "suggestions": {}}]')
    return folder


def advice(words: tuple[str, ...], message: str, filled: dict[str, str]) -> list[tuple[str, ...]]:
    """The options that a message advises, with their values; an option to leave out has an empty value."""
    found = [(option, "") for option in WITHOUT.findall(message)]
    for option, value in ADVISED.findall(WITHOUT.sub("", message)):
        value = value.strip().strip("'")
        if option in words and value == "..." and option not in filled:
            value = ""  # named because it was given
        if value in ("", "...") or value.endswith("=...") or option in filled:
            value = filled.get(option, value)
        found.append((option, value))
    return found


@functools.cache
def flags(command: str) -> dict[str, bool]:
    """The options of a command, and whether each is a flag."""
    return {a.name: a.hint is bool for a in cli.app_of(command).assemble_argument_collection()}


def followed(words: tuple[str, ...], option: str, value: str) -> tuple[str, ...]:
    """A command line with an option added, replaced, or removed if it has no value."""
    command = " ".join(words[:2]) if words[0] in cli.FAMILIES else words[0]
    flag = flags(command).get(option)
    assert flag is not None, f"{command} has no option {option}"
    given = list(words)
    if option in given:
        at = given.index(option)
        del given[at : at + (1 if flag else 2)]
        if not value:
            return tuple(given)
    return (*given, option, *([] if flag else [value]))


REFUSED: dict[str, str] = {}
"""The messages so far, by case."""


def refused(run: Run, case: str) -> str:
    """The message of a command that is refused; each is run once."""
    if case not in REFUSED:
        code, _, err = run(*CASES[case][0])
        assert code == 2, err
        REFUSED[case] = err.splitlines()[-1]
    return REFUSED[case]


# Every other one by default: a quarter of a second each.
@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.slow] * (i % 2)) for i, one in enumerate(CASES)], ids=list(CASES)
)
def test_error_advice_resolves_the_error(run: Run, sheets: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.chdir(sheets)
    words, filled = CASES[case]
    message = refused(run, case)
    found = advice(words, message, filled)
    assert found, f"no advice: {message}"
    so_far = words
    for option, value in found:
        if not value and option not in words:
            continue  # the message mentions it, and it was not given
        again = followed(words, option, value)
        so_far = followed(so_far, option, value)
        code, _, err = run(*again)
        if err.splitlines()[-1:] == [message]:  # it can depend on earlier advice
            code, _, err = run(*so_far)
        assert code != 2 or err.splitlines()[-1] != message, f"{shlex.join(again)} meets the same: {message}"
        assert "internal error" not in err
    assert not re.search(r"\b(?!users|config)[a-z_]+=(\.\.\.|\[|'|\{)", re.sub(r"--(where|option) \S+", "", message)), (
        message
    )


def test_advised_commands_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("aiohttp")
    monkeypatch.chdir(tmp_path)
    _, _, err = run("judge", "study")
    command = re.search(r"with: assay (.+)$", err.strip())
    assert command is not None
    assert run(*shlex.split(command[1]))[0] == 0
    text = Path("study/study.yaml").read_text("utf-8")
    Path("study/study.yaml").write_text(re.sub(r"(?m)^labels:.*$", "", text), "utf-8")
    code, _, err = run("agreement", "study")
    assert code == 2
    command = re.search(r"with: assay (.+)$", err.strip())
    assert command is not None
    assert run(*shlex.split(command[1]))[0] == 0
    assert "has no labels" not in run("agreement", "study")[2]


ROOMS = (
    "cli", "concordance", "data", "ideas", "planning", "preference", "reading", "replacement", "similarity", "verdict",
)  # fmt: skip
ONLY_PYTHON = {
    "bias", "cache", "family", "who", "annotators", "document", "n", "prior", "ranges", "sets", "judge", "min_items",
    "n_items", "estimator",
}  # fmt: skip
"""Options that only messages in Python advise, or that have another name on the command line."""


def keywords() -> dict[str, str]:
    """Every option of `assay.read` or of a command that an error advises as ``name=value``."""
    house = Path(assay.__file__).parent
    options = {name for command in cli.all_commands() for name in cli.typed_options(command)}
    found = {}
    for path in house.rglob("*.py"):
        if path.relative_to(house).parts[0].removesuffix(".py") in ROOMS:
            for node in statements(path):
                if isinstance(node, ast.Raise):
                    texts = [
                        c.value for c in ast.walk(node) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                    ]
                    text = re.sub(r"labels\.where\([^)]*\)", "where=...", "".join(texts))
                    for name in re.findall(r"(?<![\w.])([a-z][a-z_]*)=(?:\.\.\.|['\[{])", text):
                        found.setdefault(name, f"{path.name}:{node.lineno}")
    return {name: place for name, place in found.items() if name in options}


def test_error_advice_covers_every_option(run: Run, sheets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sheets)
    tried = set()
    for case, (words, filled) in CASES.items():
        message = refused(run, case)
        tried |= {option.removeprefix("--").replace("-", "_") for option, _ in advice(words, message, filled)}
    assert {name: place for name, place in keywords().items() if name not in ONLY_PYTHON | tried} == {}


def test_no_choice_is_announced_where_there_is_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "judges.csv"
    path.write_text("id,gpt-4o,llama-3\n" + "".join(f"t{k},a,b\n" for k in (0, 0, 1, 2, 3, 4)))
    code, _, err = run("agreement", str(path))
    assert (code, "item 't0' has more than one row" in err, "Choose one" in err) == (2, True, False)


def test_a_later_run_without_people_is_compared_as_advised(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    made = {
        name: np.array(["no", "yes"])[np.where(rng.random(60) < 0.2, 1 - truth, truth)]
        for name in ("mia", "tom", "judge")
    }
    june = pl.DataFrame({"answer_id": [f"a{k:02}" for k in range(60)], **made})
    june.write_csv("june.csv")
    june.drop("mia", "tom").write_csv("july.csv")
    reading = ("--wide", "--item", "answer_id", "--columns", "mia,tom,judge", "--judges", "judge")
    status, _, error = run("drift", "june.csv", "july.csv", *reading)
    assert status == 0, error
    assert "july.csv: the columns of people are not in it; only judge is read" in error
    # A column of a person that is misspelt is still an error.
    june.rename({"mia": "maria"}).write_csv("july.csv")
    status, _, error = run("drift", "june.csv", "july.csv", *reading)
    assert status != 0
    assert "column 'mia' is not in july.csv" in error
