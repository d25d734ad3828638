"""Laws: what holds for every public question, every option and every value (`tests/laws.py` is the list).

A class of fault is a law here, not an instance: a new question joins by one row and is held to all of them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import json
import math
import os
import re
import typing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import assay
import pinned
from asking import (
    BY_NAME,
    LONG,
    VARIED_LATER,
    all_answers,
    answers,
    ask,
    base,
    each,
    each_in_parts,
    each_with_labels,
    stored,
    told,
)
from assay.data import ratings as data_ratings
from assay.data.annotations import Annotations
from assay.errors import AssayError, DataError, DesignError
from assay.estimation.options import Limits, hints_of, words_of
from assay.estimation.resampling import Units
from laws import ERRORS, OTHERS, PUBLIC, QUESTIONS, RESULTS, SCALES, TABLES, ratings, repeated

pytestmark = pytest.mark.usefixtures("few_truths")
EVERY = pytest.mark.parametrize("name", each(BY_NAME))
EVERY_PART = pytest.mark.parametrize(("name", "further"), each_in_parts(BY_NAME))
WITH_LABELS = pytest.mark.parametrize("name", each_with_labels())
"""Laws that ask a question once more, of other labels; of a long one in the slow tests."""


def numbers(stored: dict[str, Any]) -> str:
    """Return everything in a result except its settings."""
    known = {
        "signature",
        "settings",
        "data",
        "fingerprint",
        "facts",
        "interval",
        "notes",
        "cautions",
        "exclusions",
        "of",
        "title",
        "by",
    }
    said = {k: v for k, v in stored.items() if k not in known}
    return json.dumps(_rounded(said), sort_keys=True)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {
            k: _rounded(v) for k, v in value.items() if k not in ("signature", "settings", "data", "interval", "facts")
        }
    return [_rounded(v) for v in value] if isinstance(value, list) else value


# -- every option is varied, every name is listed -----------------------------------------------------


@EVERY
def test_every_option_of_a_question_is_varied(name):
    question = BY_NAME[name]
    assert set(question.values) == set(hints_of(question.settings)), (
        "an option that no law covers, or that is no option"
    )


@EVERY_PART
def test_every_variant_is_answered(name, further):
    refused = {called: str(found) for called, found in answers(name, further).items() if isinstance(found, AssayError)}
    assert not refused


def test_every_public_name_is_listed():
    questions = {q.name.split(":")[0] for q in QUESTIONS}
    listed = questions | {*RESULTS, *SCALES, *ERRORS, *TABLES, *OTHERS}
    assert set(PUBLIC) == listed


def test_answers_of_every_room_are_kept_in_it():
    tests = "".join(path.read_text() for path in Path(__file__).parent.rglob("test_*.py"))
    rooms = {q.settings.__module__.split(".")[1] for q in QUESTIONS if q.name not in pinned.NOT_KEPT}
    assert [room for room in sorted(rooms) if f'questions_of("{room}")' not in tests] == []


def declared(name: str) -> str:
    """The kind of result that the signature of a question promises."""
    function, _, method = name.partition(": ")
    kind = inspect.signature(PUBLIC[function]).return_annotation
    if method and function in METHODS:
        kind = inspect.signature(getattr(PUBLIC[kind], method)).return_annotation
    return str(kind).rpartition(".")[2]


@EVERY
def test_a_question_is_answered_by_the_kind_of_result_that_its_signature_promises(name):
    assert type(base(name)).__name__ == declared(name)


def test_every_kind_of_result_is_the_answer_to_a_question():
    assert set(RESULTS) <= set(map(declared, BY_NAME))


# -- signatures -------------------------------------------------------------------------------------


@pytest.mark.slow
@EVERY_PART
def test_numbers_differ_so_signatures_differ(name, further):
    """With the further values, all are held against one another."""
    asked = all_answers(name) if further else answers(name)
    kept = told(name) | (told(name, further) if further else {})
    seen: dict[str, tuple[str, str]] = {}
    for called, found in asked.items():
        mine = numbers(kept[called])
        other = seen.setdefault(found.signature, (called, mine))
        assert other[1] == mine, f"'{other[0]}' and '{called}' have other numbers and one signature: {found.signature}"


@WITH_LABELS
def test_other_labels_have_other_signatures(name):
    question = BY_NAME[name]
    table = question.labels()
    flipped = table.labels.with_row_index("_n").with_columns(
        label=pl.when(pl.col("_n") == 0).then(pl.col("label").shift(-1)).otherwise(pl.col("label"))
    )
    assert flipped["label"][0] != table.labels["label"][0] or flipped["label"].equals(table.labels["label"])
    changed = dataclasses.replace(
        table, labels=table.labels.with_columns(label=_other_first(table.labels["label"]))
    )  # fmt: skip
    assert ask(question, dict(question.base), changed).signature != base(name).signature


def _other_first(labels: pl.Series) -> pl.Series:
    """The labels with the first one exchanged for another that occurs."""
    other = next(v for v in labels.unique().sort().to_list() if v != labels[0])
    return pl.Series(labels.name, [other, *labels.to_list()[1:]], dtype=labels.dtype)


@EVERY
def test_a_result_holds_all_its_options(name):
    settings = stored(name)["settings"]
    known = hints_of(BY_NAME[name].settings)
    assert set(settings) == {option for option, (_, limits) in known.items() if not limits.transient}


# -- closed options ---------------------------------------------------------------------------------


def _types(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is not tuple and typing.get_args(hint) else (hint,)


def misspelled(word: str) -> str:
    return word[:-1] + word[-1] * 2 + "x"


WORDS = [
    (q.name, option, words)
    for q in QUESTIONS
    for option, (hint, _) in hints_of(q.settings).items()
    if (words := [w for w in words_of(hint) if isinstance(w, str)])
]


@pytest.mark.parametrize(("name", "option", "words"), WORDS, ids=[f"{n}-{o}" for n, o, _ in WORDS])
def test_an_unknown_word_is_refused_with_the_nearest(name, option, words):
    question = BY_NAME[name]
    members = typing.get_args(hints_of(question.settings)[option][0])
    listed = any(typing.get_origin(m) is tuple and words_of(typing.get_args(m)[0]) for m in members)
    wrong = misspelled(words[-1])
    options = {**question.base, option: (wrong,) if listed else wrong}
    if option == "annotators" and "epsilon" in options:
        options["epsilon"] = None
    refused = ask(question, options)
    assert isinstance(refused, DesignError), f"{option}={wrong!r} was taken"
    assert words[-1] in str(refused)


def outside(limits: Limits) -> list[float]:
    found = [limits.low if limits.low_open else limits.low - 1] if limits.low is not None else []
    return [*found, *([limits.high if limits.high_open else limits.high + 1] if limits.high is not None else [])]


RANGES = [
    (q.name, option, value)
    for q in QUESTIONS
    for option, (_, limits) in hints_of(q.settings).items()
    for value in outside(limits)
]


@pytest.mark.parametrize(("name", "option", "value"), RANGES, ids=[f"{n}-{o}-{v}" for n, o, v in RANGES])
def test_a_number_out_of_range_is_refused(name, option, value):
    question = BY_NAME[name]
    listed = any(
        typing.get_origin(m) in (tuple, collections.abc.Sequence)
        for m in _types(hints_of(question.settings)[option][0])
    )
    refused = ask(question, {**question.base, option: (value,) if listed else value})
    assert isinstance(refused, DesignError), f"{option}={value} was taken"
    assert option in str(refused)


@EVERY
def test_an_unknown_option_is_refused_with_the_nearest(name):
    question = BY_NAME[name]
    option = next(iter(hints_of(question.settings)))
    with pytest.raises((DesignError, TypeError)) as refused:
        question.ask(question.labels(), **question.base, **{option + "s_": 1})
    assert option in str(refused.value)


@EVERY
@pytest.mark.parametrize("value", [object(), float("nan"), {"a": 1}])
def test_a_value_of_another_kind_is_refused(name, value):
    """Numbers and words take nothing else; what takes anything (a similarity) is checked where it is used."""
    question = BY_NAME[name]
    for option, (hint, _) in hints_of(question.settings).items():
        kinds = set(typing.get_args(hint) or (hint,))
        if kinds <= {int, float, bool, type(None)}:
            assert isinstance(ask(question, {**question.base, option: value}), DesignError), (
                f"{option}={value!r} was taken"
            )


@EVERY
def test_help_lists_every_option_and_its_line(name):
    """The function's parameters, its docstring and the settings are one statement."""
    question = BY_NAME[name]
    known = {option: limits for option, (_, limits) in hints_of(question.settings).items()}
    function = public_function(name)
    parameters = inspect.signature(function).parameters
    assert {p.name for p in parameters.values() if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)} <= OPEN.get(name, set())
    assert set(known) <= set(parameters)
    for option, limits in known.items():
        assert re.search(rf"^ *{option} : .+\n", function.__doc__, flags=re.M), option
        assert limits.help[:40] in " ".join(function.__doc__.split()), option


OPEN = {"g_study: d_study": {"facets"}}
"""Keywords that no help can list: the names of a design's facets."""


def public_function(name: str) -> Any:
    """The function that a question of the list is asked by."""
    whole, _, method = name.partition(": ")
    return getattr(METHODS[whole], method) if method and whole in METHODS else PUBLIC[whole]


METHODS = {"g_study": assay.results.GStudy, "alt_test": assay.results.AltTest}
"""Results whose methods are questions."""


@pytest.mark.slow
def test_type_checkers_know_the_options(tmp_path):
    """A misspelt option, a word that is none and a wrong kind of result are errors before anything runs."""
    mypy = pytest.importorskip("mypy.api", reason="needs mypy")
    code = """
import assay
labels = assay.simulate(n_items=40, seed=1)
assay.alt_test(labels, "judge", epsilon=0.1, seed=3)
assay.alt_test(labels, "judge", epsilonn=0.1)
assay.alt_test(labels, "judge", expertise="exprt")
assay.measures.cohen_kappa(labels, ["a", "b"], weights="linear")
assay.measures.cohen_kappa(labels, weights="linaer")
found: int = assay.measures.krippendorff_alpha(labels)
"""
    path = tmp_path / "asked.py"
    path.write_text(code)
    cache = os.environ.get("MYPY_CACHE_DIR", str(tmp_path / "cache"))
    said, _, _ = mypy.run(["--strict", "--cache-dir", cache, str(path)])
    lines = [int(found) for found in re.findall(r"asked.py:(\d+): error", said)]
    assert lines == [5, 6, 8, 9], said


# -- null clusters ----------------------------------------------------------------------------------

CLUSTERED = [q.name for q in QUESTIONS if "clusters" in hints_of(q.settings) and q.values["clusters"]]


@pytest.mark.parametrize("name", each(CLUSTERED))
def test_items_without_a_cluster_follow_the_one_rule(name):
    question = BY_NAME[name]
    table = question.labels()
    holes = table.items.with_columns(
        document=pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise(pl.col("document"))
    )
    refused = ask(question, {**question.base, "clusters": "document"}, dataclasses.replace(table, items=holes))
    if name == "alt_test_by":
        refused = DataError(str(refused).split(": ", 1)[1])
    assert isinstance(refused, DataError)
    assert re.match(
        r"\d items? (has|have) no 'document' \(item '.*fill in the values, drop those items, or try without clusters",
        str(refused),
    )


@pytest.mark.parametrize("name", each(CLUSTERED))
def test_a_cluster_column_that_is_not_there_is_refused(name):
    question = BY_NAME[name]
    refused = ask(question, {**question.base, "clusters": "documnet"})
    assert isinstance(refused, AssayError)
    assert "did you mean 'document'" in str(refused)


# -- results ----------------------------------------------------------------------------------------


@EVERY_PART
def test_a_result_draws_says_and_stores_itself(name, further):
    for called, found in answers(name, further).items():
        words = found.summary()
        assert words.splitlines()[-1] == found.signature, called
        assert not re.search(r"\bnan\b", words.lower().split("|")[0]), called
        hyphens = re.findall(r"(?<![\w.])-\d", words.removesuffix(found.signature))
        assert not hyphens, f"{called}: a hyphen instead of a minus sign"
        stored = json.loads(json.dumps(told(name, further)[called], allow_nan=False))
        assert stored["signature"] == found.signature
        assert found.signature in found._repr_html_().replace("&#x27;", "'").replace("&amp;", "&")
    assert base(name).plot().figure is not None


@EVERY_PART
def test_results_can_be_compared_and_kept_in_a_set(name, further):
    """Each is equal to itself only, with any arrays and tables in it."""
    found = list(answers(name, further).values())
    assert len({*found, *found}) == len({id(one) for one in found})
    assert [found.index(one) for one in found] == [[id(each) for each in found].index(id(one)) for one in found]


@EVERY_PART
def test_the_table_has_its_columns(name, further):
    for called, found in answers(name, further).items():
        table = found.table
        assert table.height, called
        assert "estimate" in table.columns, called
        assert not {"low", "high"} & set(table.columns) or {"low", "high"} <= set(table.columns), called
        for column, dtype in table.schema.items():
            assert dtype != pl.Object, f"{called}: {column}"


@EVERY_PART
def test_every_interval_can_be_asked_again(name, further):
    """At the level of the table the table's own ends; a lower level lies inside; a p-value is a share.

    Of a variant every third row is asked, each variant others: the rows of one table are asked by the same code.
    """
    for number, (called, found) in enumerate(answers(name, further).items()):
        rows, each = found.table, found.row_estimates()
        assert len(repr(found).splitlines()) == 1
        if not {"low", "high"} <= set(rows.columns) or not rows["low"].is_not_null().any():
            continue
        assert len(each) == rows.height, called
        for place, (row, one) in enumerate(zip(rows.iter_rows(named=True), each, strict=True)):
            if one is None:
                assert row["low"] is None or math.isnan(row["low"]), (called, row)
                continue
            if number and (place + number) % 3:
                continue
            ends = tuple(math.nan if row[end] is None else row[end] for end in ("low", "high"))
            assert one.interval(found.confidence) == pytest.approx(ends, nan_ok=True), (called, row)
            if not math.isfinite(ends[0]):
                continue
            assert one.estimate == pytest.approx(row["estimate"])
            low, high = one.interval(found.confidence / 2)
            assert ends[0] - 1e-9 <= low <= high <= ends[1] + 1e-9, (called, row)
            assert math.isnan(one.p(0.0)) or 0 <= one.p(0.0) <= 1


@EVERY
def test_another_level_is_that_of_asking_with_it(name):
    """What a result says at another level is what the question says when it is asked with that level."""
    levels = BY_NAME[name].values.get("confidence", ())
    rows, each = base(name).table, base(name).row_estimates()
    if not (levels and isinstance(levels[0], float) and each):
        return
    alone = name in (*LONG, *VARIED_LATER)  # of whose variants no other is asked for by default
    again = {**BY_NAME[name].base, "confidence": levels[0]}
    other = ask(BY_NAME[name], again) if alone else answers(name)["confidence 0"]
    assert other.table.height == rows.height
    for row, one in zip(other.table.iter_rows(named=True), each, strict=True):
        if one is not None and math.isfinite(one.low):
            assert one.interval(levels[0]) == pytest.approx((row["low"], row["high"]))


@EVERY_PART
def test_what_is_missing_has_a_reason(name, further):
    """NaN comes with a reason, and no interval has no width."""
    for called, found in answers(name, further).items():
        rows = found.table
        if not {"low", "high"} <= set(rows.columns):
            continue
        low, high = (rows[c].cast(pl.Float64).fill_null(float("nan")) for c in ("low", "high"))
        assert not ((low == high) & low.is_finite()).any(), called
        if "reason" in rows.columns:
            bare = rows.filter(low.is_nan() & pl.col("reason").is_null())
            assert not bare.height, f"{called}: {bare}"


# -- what must not matter -----------------------------------------------------------------------------

RENAMED = {"ann_1": "anz_1", "ann_2": "anz_2", "ann_3": "anz_3", "ann_4": "anz_4", "ann": "anz"}
"""Other names in the same order, which is what a table is sorted by."""
UNNAMED = [q.name for q in QUESTIONS if q.takes_labels and not {"annotators", "sets"} & set(q.base)]


@pytest.mark.parametrize("name", each(n for n in UNNAMED if n not in ("alt_test_paired", "bias")))
def test_names_of_annotators_change_no_digit(name):
    question = BY_NAME[name]
    table = question.labels()

    def renamed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(annotator=pl.col("annotator").replace(RENAMED))

    other = dataclasses.replace(table, labels=renamed(table.labels), annotators=renamed(table.annotators))
    found = numbers(ask(question, dict(question.base), other).to_dict())
    assert re.sub(r"\banz", "ann", found) == numbers(stored(name))


@WITH_LABELS
def test_the_order_of_rows_changes_neither_digit_nor_signature(name):
    question = BY_NAME[name]
    table = question.labels()
    shuffled = dataclasses.replace(
        table, labels=table.labels.sample(fraction=1.0, shuffle=True, seed=4)
    )  # fmt: skip
    found = ask(question, dict(question.base), shuffled)
    assert numbers(found.to_dict()) == numbers(stored(name))
    assert found.signature == base(name).signature


# -- thin tables ------------------------------------------------------------------------------------


def thin_tables(table: Annotations) -> dict[str, Annotations]:
    """Parts of a table in which little is estimable, each of which somebody has."""
    labels, names = table.labels, [*table.humans, *table.judges]
    place = pl.col("annotator").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    turn = pl.col("item").rank("dense") % len(names)
    rare = np.random.default_rng(1).random(len(labels)) < 0.1
    one = pl.when(pl.col("annotator").is_in(table.humans)).then(pl.col("label").first()).otherwise(pl.col("label"))
    kept = {
        "one item": labels.select(pl.col("item") == pl.col("item").first()),
        "no item of two annotators": labels.select(turn == place),
        "a tenth of the labels": labels.select(pl.Series(rare)),
    }
    found = {called: _with_rows(table, labels.filter(rows.to_series())) for called, rows in kept.items()}
    return found | {"one label of all humans": _with_rows(table, labels.with_columns(label=one))}


def _with_rows(table: Annotations, labels: pl.DataFrame) -> Annotations:
    there = {name: pl.col(name).is_in(labels[name].implode()) for name in ("item", "annotator")}
    return dataclasses.replace(
        table, labels=labels, items=table.items.filter(there["item"]),
        annotators=table.annotators.filter(there["annotator"]),
    )  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@WITH_LABELS
def test_a_thin_table_is_answered_or_refused_in_words(name):
    question = BY_NAME[name]
    for called, table in thin_tables(question.labels()).items():
        found = ask(question, dict(question.base), table)
        said = str(found) if isinstance(found, AssayError) else found.summary()
        assert not re.search(r"\b(nan|NaN|inf|None)\b", said), f"{called}: {said}"


# -- chunks -----------------------------------------------------------------------------------------


@functools.cache
def plain() -> Annotations:
    """The ratings alone, as a folder of Parquet holds them."""
    rows = ratings().labels.select("item", "annotator", "label")
    return Annotations.from_frame(rows, judges=["gpt", "llama"], scale=assay.Ordinal(1, 5))


@pytest.fixture(
    scope="module", params=[40, *(pytest.param(n, marks=pytest.mark.slow) for n in (10_000, None))], ids=str
)
def chunks(request, tmp_path_factory) -> Any:
    """The same in a folder, so many labels at a time, as one too large to be held; as it is, where no number says."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param is not None:
            patch.setattr("assay.data.ratings.LABELS", 100)
            patch.setattr("assay.data.ratings.HELD_ITEMS", 0)
        yield _scanned(tmp_path_factory, request.param or 10_000)


def _scanned(tmp_path_factory, labels_per_chunk: int) -> Any:
    folder = tmp_path_factory.mktemp("labels")
    rows = plain().labels.sample(fraction=1.0, shuffle=True, seed=1)
    for i, part in enumerate(rows.iter_slices(150)):
        part.write_parquet(folder / f"{i}.parquet")
    return assay.scan(folder, scale=assay.Ordinal(1, 5), judges=["gpt", "llama"], labels_per_chunk=labels_per_chunk)


@functools.cache
def of_plain(name: str) -> Any:
    """The answer from memory to what is asked of chunks."""
    return ask(BY_NAME[name], dict(BY_NAME[name].base), plain())


@pytest.mark.slow
@WITH_LABELS
def test_chunks_give_the_same_digits_or_one_sentence(name, chunks):
    question = BY_NAME[name]
    found = ask(question, dict(question.base), chunks)  # type: ignore[arg-type]
    held = data_ratings.LABELS > 100
    if not question.chunks and not (held and not isinstance(found, AssayError)):
        assert isinstance(found, DesignError)
        assert "memory" in str(found)
        assert "\n" not in str(found)
        return
    assert not isinstance(found, AssayError), str(found)
    wanted = of_plain(name)
    close = [found.table.select(pl.col(pl.Float64)).to_numpy(), wanted.table.select(pl.col(pl.Float64)).to_numpy()]
    if name == "compare_judges" and not held:  # the ceiling needs the whole table, and the result says so
        assert any("optimal judge" in note for note in found.notes)
        close[1] = close[1][: len(close[0])]
    if name == "agreement" and not held:  # so does drawing a person for each item
        assert any("random human" in str(one) for one in found.exclusions)
        drawn = (wanted.table["who"] == "random human").to_numpy()
        close[1] = close[1][~drawn]
    np.testing.assert_allclose(close[0].astype(float), close[1].astype(float), rtol=1e-12, atol=1e-14)
    assert found.signature == wanted.signature


def spread_out(n: int) -> Annotations:
    """Two persons and three judges on few values whose means are many: no rare label, one item in ten not answered."""
    rng = np.random.default_rng(5)
    cells = np.clip(np.round(3 + rng.normal(size=(n, 1)) + rng.normal(size=(n, 5))), 1, 5)
    names = np.array(["ann", "bea", "gpt", "llama", "phi"])
    items = np.repeat([f"item {i:05d}" for i in range(n)], 5)
    rows = pl.DataFrame({"item": items, "annotator": np.tile(names, n), "label": cells.ravel()})
    rows = rows.filter(pl.Series(rng.random(5 * n) > 0.1))
    return Annotations.from_frame(rows, judges=["gpt", "llama", "phi"], scale=assay.Interval(1, 5))


@pytest.mark.parametrize(
    "annotators", [pytest.param(None, marks=pytest.mark.slow), ("ann", "gpt"), ("phi", "ann", "llama")], ids=str
)
def test_every_row_of_chunks_is_that_of_memory(annotators, tmp_path, monkeypatch):
    """All comparisons and coefficients, of all raters and of some with fewer items."""
    monkeypatch.setattr(data_ratings, "LABELS", 500)
    monkeypatch.setattr(data_ratings, "HELD_ITEMS", 0)
    monkeypatch.setitem(Units.of.__func__.__kwdefaults__, "most", 150)
    monkeypatch.setattr("assay.concordance.comparisons.MOST_ITEMS", 0)  # a t-test, as on as many items as chunks have
    memory = spread_out(300)
    memory.labels.write_parquet(tmp_path / "labels.parquet")
    folder = assay.scan(tmp_path, scale=assay.Interval(1, 5), judges=["gpt", "llama", "phi"], labels_per_chunk=200)
    if annotators is not None:
        memory, folder = memory.where(annotator=list(annotators)), folder.only(annotators)
    one, two = (assay.agreement(labels, draws=5) for labels in (memory, folder))
    key = ["who", "first", "second", "coefficient"]
    numbers_of = [*key, "estimate", "low", "high", "n", "p"]
    wanted, found = ({row[:4]: row[4:] for row in r.table.select(numbers_of).rows()} for r in (one, two))
    apart = {row for row in wanted if row not in found}
    assert {row[0] for row in apart} <= {"random human"}
    assert any("random human" in str(reason) for reason in two.exclusions) == bool(apart)
    for row, numbers_found in found.items():
        for a, b in zip(numbers_found, wanted[row], strict=True):
            assert a == b or a == pytest.approx(b, rel=1e-12, abs=1e-14, nan_ok=True), row
    assert one.signature == two.signature


# -- the table's own options --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: assay.read(ratings().labels, layout="wde"), "did you mean 'wide'"),
        (lambda: assay.read(ratings().labels, formt="csv"), "did you mean 'format'"),
        (lambda: assay.simulate(seed=-1), "seed must be 0 or a larger whole number"),
        (lambda: assay.simulate(annotator_noise=2), "between 0 and 1"),
        (lambda: ratings().resolve_repeats("median"), "repeats"),
        (lambda: repeated().resolve_repeats("median"), "did you mean 'mean'"),
    ],
)
def test_what_makes_a_table_is_closed_too(ask, words):
    with pytest.raises((AssayError, TypeError)) as refused:
        ask()
    assert words in str(refused.value)


def test_a_person_s_own_column_names_work_after_they_were_mapped():
    frame = ratings().labels.rename({"item": "id", "annotator": "worker", "label": "stars"})
    labels = assay.read(frame, item="id", annotator="worker", label="stars", judges=["gpt", "llama"], scale="1-5")
    assert set(labels.where(worker="ann_1").labels["annotator"]) == {"ann_1"}
    assert assay.agreement(labels, by="stars", coefficients=["exact-agreement"], who=["humans"]).table.height > 1


@EVERY
def test_a_default_is_stated_twice_and_is_the_same(name):
    """The signature of a function has the defaults of its settings; one number equals a list of one."""
    settings = {f.name: f.default for f in dataclasses.fields(BY_NAME[name].settings)}
    for option, parameter in inspect.signature(PUBLIC[name.split(":")[0]]).parameters.items():
        if option not in settings or parameter.default in (inspect.Parameter.empty, None):
            continue
        assert settings[option] in (parameter.default, (parameter.default,)), option
