"""Names: spaces are removed with a note, other spellings and unspecified models are refused."""

from __future__ import annotations

import itertools
from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import assay
from assay.data import names as names_module
from assay.data.names import (
    Names,
    Utf8,
    any_twice,
    codes_in,
    factorize,
    model_names,
    mostly_runs,
    questions_in,
    sort_cells,
    stems,
    text_order,
)
from assay.errors import DataError, DesignError


def table(*rows: tuple[object, ...], **more: list[object]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["item", "annotator", "label"], orient="row").with_columns(
        **{name: pl.Series(values) for name, values in more.items()}
    )


# -- spaces -----------------------------------------------------------------------------------------


def test_trim_names_removes_spaces_with_note():
    frame = table(("q1", "Ann", 1), ("q2 ", "Ann ", 2), ("q1", "GPT ", 1), ("q2", "\u200bGPT\u00a0", 3))
    labels = assay.read(frame, judges=["GPT"])
    assert (labels.humans, labels.judges) == (("Ann",), ("GPT",))
    assert labels.items["item"].to_list() == ["q1", "q2"]
    assert labels.reading.notes[:2] == (
        "removed spaces around names of items in 1 row: 'q2 '",
        "removed spaces around names of annotators in 3 rows: 'Ann ', 'GPT ', '\\u200bGPT\\xa0'",
    )
    assert frame["annotator"][1] == "Ann "
    plain = assay.read(table(("q1", "Ann", 1), ("q2", "Ann", 2), ("q1", "GPT", 1), ("q2", "GPT", 3)), judges=["GPT "])
    assert labels.fingerprint == plain.fingerprint


def test_trimmed_names_can_reveal_repeated_answers():
    with pytest.raises(DataError, match=r"1 answer given several times .*annotator 'Ann': rows 1, 2"):
        assay.read(table(("q1", "Ann", 1), ("q1", "Ann ", 2)))


def test_trimmed_names_match_attribute_tables(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("annotator,team\nAnn ,north\nBob,south\n")
    items = pl.DataFrame({"item": ["q1", " q2"], "topic": ["a", "b"]})
    frame = table(("q1", "Ann", 1), ("q2", "Bob", 2))
    labels = assay.read(frame, annotator_table=path, items=items)
    assert labels.annotators["team"].to_list() == ["north", "south"]
    assert labels.items["topic"].to_list() == ["a", "b"]


def test_trim_names_of_criteria_and_split_items():
    frame = table(("q1", "Ann", 1), ("q2", "Ann", 2), criterion=["clear", "clear "])
    assert assay.read(frame).criteria == ("clear",)
    assert assay.read(table(("q1 __ clear", "Ann", 1)), split_item="__").items["item"].to_list() == ["q1"]


# -- spelling -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair", [("Ann", "ann"), ("Ann B", "Ann  B"), ("Jos\u00e9", "Jose\u0301"), ("ANN\u00a0b", "ann b")]
)
@pytest.mark.parametrize("role", ["item", "annotator", "criterion"])
def test_unify_spelling_refuses_by_default(pair, role):
    frame = pl.DataFrame({"item": ["q1"] * 3, "annotator": ["x"] * 3, "label": [1, 2, 3], "criterion": ["c", "d", "e"]})
    frame = frame.with_columns(item=pl.Series(["q1", "q2", "q3"]), annotator=pl.Series(["x", "y", "z"]))
    frame = frame.with_columns(pl.Series(role, [pair[0], pair[1], pair[1]]))
    with pytest.raises(DataError, match=r"differ only in case or spaces: .*spelling='merge'.*spelling='apart'"):
        assay.read(frame)
    merged, apart = (assay.read(frame, spelling=how) for how in ("merge", "apart"))
    assert merged.labels[role].unique().to_list() == [pair[1]]  # the more frequent spelling
    assert set(apart.labels[role]) == set(pair)
    for labels, words in ((merged, "are merged"), (apart, "kept separate")):
        assert any(words in note for note in labels.reading.notes)


def test_merge_matches_every_spelling():
    frame = table(("q1", "GPT-4o", 1), ("q2", "gpt-4o", 2), ("q1", "Ann", 2))
    people = pl.DataFrame({"annotator": ["gpt-4O", "ann"], "team": ["a", "b"]})
    labels = assay.read(frame, judges=["gpt-4o"], annotator_table=people, spelling="merge")
    assert (labels.humans, labels.judges) == (("Ann",), ("GPT-4o",))
    assert labels.annotators["team"].to_list() == ["b", "a"]


def test_match_spelling_refuses_other_spelling_in_second_table():
    frame = table(("q1", "Ann", 1), ("q2", "Ann", 2))
    items = pl.DataFrame({"item": ["Q1", "q2"], "topic": ["a", "b"]})
    with pytest.raises(DataError, match=r"and the table of items: items differ only in case or spaces: 'q1', 'Q1'"):
        assay.read(frame, items=items)
    assert assay.read(frame, items=items, spelling="merge").items["topic"].to_list() == ["a", "b"]
    assert assay.read(frame, items=items, spelling="apart").items["topic"].to_list() == [None, "b"]


def test_spelling_refuses_unknown_value():
    with pytest.raises(DesignError, match="spelling must be refuse, merge or apart"):
        assay.read(table(("q1", "Ann", 1)), spelling="lower")


# -- models -----------------------------------------------------------------------------------------

MODELS = (
    "gpt-4o", "GPT4", "chatgpt", "openai/gpt-4.1-mini", "claude-3-5-sonnet-20241022", "Claude", "gemini_pro",
    "gemini-1.5-flash", "gemma2-9b-it", "llama", "Llama-3.1-70B-Instruct", "meta-llama/Llama-3-8b", "mistral-large",
    "mixtral_8x7b", "mistralai/Mixtral-8x7B", "qwen2.5-72b", "deepseek-r1", "command-r-plus", "phi-3-mini", "o1-mini",
    "o3", "text-davinci-003", "llm", "LLM_judge", "llm judge 2", "model", "model_a", "judge", "judge-model",
    "together:foo", "vicuna-13b", "prometheus-7b", "grok-2", "kimi-k2", "yi-34b-chat", "my-own-7b-instruct",
    "anthropic/claude-sonnet-4", "sonnet-4", "gpt", "nova-pro",
)  # fmt: skip
PEOPLE = (
    "ann", "Ann B", "bob_2", "annotator_1", "A2XYZQ7GPT", "judge 1", "Judge 3", "Claudette", "Claude Dupont", "Gemma",
    "Phil", "Yi", "Mistrala", "Kimi", "o2", "r1", "7b", "rater-1b", "ann@example.org", "worker:17", "AI", "Modelski",
    "models_team", "Sonnet", "Nova", "Ernie", "Dolly", "expert", "crowd", "user_42", "a1", "m1",
)  # fmt: skip


def test_model_names_recognises_models():
    assert model_names(MODELS) == list(MODELS)
    assert model_names(PEOPLE) == []
    assert model_names(["o1", "o2", "o3"], ["o1", "o2", "o3"]) == []


STUDY = table(("q1", "ann", 1), ("q1", "bob", 2), ("q1", "gpt-4o", 2), ("q1", "llama", 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"'gpt-4o', 'llama' could be judges .*judges=\['gpt-4o', 'llama'\], or specify the humans with "
             r"humans=\['ann', 'bob', 'gpt-4o', 'llama'\]"),
        ({"judges": ["gpt-4o"]}, r"'llama' could be a judge.*judges=\['gpt-4o', 'llama'\].*humans=\['llama'\]"),
        ({"judges": []}, r"could be judges"),
        ({"humans": ["ann"]}, r"humans=\.\.\. does not name bob; name all humans there, or set judges="),
        ({"judges": ["llama"], "humans": ["llama"]}, r"judges=\.\.\. and humans=\.\.\. both contain 'llama'"),
        ({"humans": ["anne"]}, r"human 'anne' is not in a table in memory; did you mean 'ann'"),
    ],
)  # fmt: skip
def test_read_requires_judges_for_model_names(options, words):
    with pytest.raises(assay.errors.AssayError, match=words):
        assay.read(STUDY, **options)


@pytest.mark.parametrize(
    ("options", "judges"),
    [
        ({"judges": ["gpt-4o", "llama"]}, ("gpt-4o", "llama")),
        ({"humans": ["ann", "bob"]}, ("gpt-4o", "llama")),
        ({"judges": ["gpt-4o"], "humans": ["llama"]}, ("gpt-4o",)),
        ({"humans": ["ann", "bob", "llama", "gpt-4o"]}, ()),
        (
            {"annotator_table": pl.DataFrame({"annotator": ["gpt-4o", "llama"], "kind": ["judge", "human"]})},
            ("gpt-4o",),
        ),
    ],
)
def test_read_accepts_every_way_to_specify_judges(options, judges):
    assert assay.read(STUDY, **options).judges == judges


def test_read_notes_assumed_kinds():
    notes = assay.read(STUDY, humans=["ann", "bob"]).reading.notes
    assert "assumed to be judges, because humans=... does not name them: gpt-4o, llama" in notes
    notes = assay.read(STUDY, judges=["gpt-4o"], humans=["llama"]).reading.notes
    assert "2 annotators in neither judges=... nor humans=..., assumed to be human: ann, bob" in notes


def test_unknown_kind_remedy_for_many_annotators_is_a_column():
    frame = table(*((f"q{i}", f"p{i}", 1) for i in range(20)), ("q1", "Claude", 2))
    with pytest.raises(DataError, match=r"or specify the humans with a column 'kind' \(human or judge\)"):
        assay.read(frame)
    assert assay.read(frame.with_columns(kind=pl.lit("human"))).judges == ()


def test_annotator_table_refuses_unknown_kinds():
    people = pl.DataFrame({"annotator": ["ann", "gpt-4o"], "kind": ["expert", "model"]})
    with pytest.raises(
        DataError, match="the table of annotators: column 'kind' must contain human or judge; 'ann' has"
    ):
        assay.read(STUDY, annotator_table=people)
    assert assay.read(STUDY, annotator_table=people, judges=["gpt-4o", "llama"]).humans == ("ann", "bob")


# -- in chunks --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([("q1", "ann", 1), ("q1", "llama", 2)], {}, "'llama' could be a judge"),
        ([("q1", "ann", 1), ("q1", "Ann", 2)], {}, "annotators differ only in case or spaces: 'Ann', 'ann'"),
        ([("q1", "ann", 1), ("q1", "bob ", 2)], {}, "spaces around the name 'bob '"),
        ([("q1", "ann", 1), (" q2", "bob", 2)], {}, "spaces around the name ' q2'"),
    ],
)
def test_scan_checks_names_as_read(tmp_path, rows, options, words):
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=words):
        assay.scan(tmp_path, scale="1-5", **options)


def test_scan_accepts_same_options_as_read(tmp_path):
    rows = [("q1", "ann", 1), ("q1", "Ann", 2), ("q1", "llama", 2)]
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_parquet(tmp_path / "a.parquet")
    chunks = assay.scan(tmp_path, scale="1-5", humans=["llama", "ann", "Ann"], spelling="apart")
    assert (chunks.humans, chunks.judges) == (("Ann", "ann", "llama"), ())
    with pytest.raises(DesignError, match="spelling='merge' requires the whole table in memory"):
        assay.scan(tmp_path, scale="1-5", judges=["llama"], spelling="merge")


# -- common parts of names --------------------------------------------------------------------------


def spread(*parts: list[str], by: str = "_") -> list[str]:
    return [by.join(cell) for cell in itertools.product(*parts)]


def numbered(word: str, n: int) -> list[str]:
    return [f"{word}{i}" for i in range(n)]


@pytest.mark.parametrize(
    ("names", "separator", "n_stems", "n_suffixes"),
    [
        (spread(numbered("img_", 20), ["Color", "Border"], by="__"), "__", 20, 2),
        (spread(numbered("doc", 4), numbered("s", 7)), "_", 4, 7),
        (spread(numbered("siteA_", 6), numbered("", 3), by="-"), "-", 6, 3),  # not the single stem siteA
        (spread(["north", "south"], numbered("", 9), numbered("q", 2), by="-"), "-", 18, 2),
        (spread(numbered("lesson ", 5), numbered("", 4), by=":"), ":", 5, 4),
        (spread(["a/b", "a/c", "d/b"], numbered("", 4), by="/"), "/", 3, 4),
        (spread(numbered("q", 5), ["1", "2"], by="#"), "#", 5, 2),
        (spread(numbered("", 5), numbered("", 3), by="."), ".", 5, 3),
        # Two underscores split it, although a hyphen would give more stems.
        (spread(numbered("d", 3), spread(numbered("s", 3), numbered("w", 4), by="-"), by="__"), "__", 3, 12),
        (spread(numbered("d", 3), spread(numbered("s", 3), numbered("w", 4), by="-"), by="_"), "-", 9, 4),
        # Split at the first occurrence, because names share nothing before the last.
        ([f"{cue}__{i}__because {i}" for i, cue in enumerate(["sun", "sea", "rain"] * 4)], "__", 3, 12),
    ],
)
def test_stems_are_common_parts(names, separator, n_stems, n_suffixes):
    found = stems(names)
    assert (found.separator, len(found.stem.names), len(found.suffix.names)) == (separator, n_stems, n_suffixes)
    assert [a + separator + b for a, b in zip(found.stem.column(), found.suffix.column(), strict=True)] == names
    assert found.items_per_stem == len(names) / n_stems
    assert found.crossed == len(names) / (n_stems * n_suffixes)


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["a_1", "a_2"],
        numbered("item_", 50),  # the same stem in all names
        numbered("q", 50),  # no separator
        [f"{i}__stars" for i in range(50)],  # the same suffix in all names: every stem once
        [f"{i:08x}-{i * 7919 % 65536:04x}-4a{i % 10}" for i in range(60)],  # identifiers
        [*numbered("doc_", 30), "other"],  # one name without
        [f"{i}.0" for i in range(30)],  # whole numbers written as fractions
        [f"w{i}_x" for i in range(40)] + [f"w{i}_y" for i in range(10)],  # 1.25 items a stem
        [f"file{i}.png" for i in range(20)],
        ["ends with it_"] * 1 + ["_begins", "a_"],
    ],
)
def test_stems_is_none_without_common_parts(names):
    assert stems(names) is None
    assert stems(pl.Series(names, dtype=pl.String)) is None


def test_stems_checks_separator_in_every_name():
    names = spread(numbered("doc", 400), numbered("s", 5))
    assert stems(names) is not None
    assert stems([*names, "loose"]) is None


def test_stems_do_not_depend_on_order():
    names = spread(numbered("doc", 12), numbered("s", 3))
    found, turned = stems(names), stems(names[::-1])
    assert found.stem.names.equals(turned.stem.names)
    assert found.stem.codes.tolist() == turned.stem.codes[::-1].tolist()


# -- codes: compared with slow references -----------------------------------------------------------------

TEXTS = st.lists(st.one_of(st.text(max_size=12), st.sampled_from(["a", "a\0", "a\0\0", "prefix-12345678", "é"])))


def utf8(text: str) -> bytes:
    return text.encode()


def of_few_and_many(rows):
    """Codes for few rows, and for many."""
    yield factorize(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names_module, "FEW_ROWS", -1)
        yield factorize(rows)


@given(TEXTS)
def test_factorize_sorts_texts_by_bytes(texts):
    for distinct, codes in of_few_and_many(pl.Series("who", texts, dtype=pl.String)):
        assert (distinct.name, codes.dtype) == ("who", np.int32)
        assert distinct.to_list() == sorted(set(texts), key=utf8)
        assert [distinct[int(c)] for c in codes] == texts


@given(TEXTS, st.sampled_from([1, 3, 10]))
def test_factorize_sorts_texts_in_runs(texts, times):
    rows = [t for t in texts for _ in range(times)]
    for distinct, codes in of_few_and_many(pl.Series(rows, dtype=pl.String)):
        assert [distinct[int(c)] for c in codes] == rows


@pytest.mark.parametrize("often", [1, 2, 50])
def test_factorize_sorts_many_rows_of_few_texts(often):
    texts = [f"{letter}{i % (9_000 // often)}" for i in range(9_000) for letter in ("é", "z", "a\0")]
    distinct, codes = factorize(pl.Series("who", texts))
    assert distinct.to_list() == sorted(set(texts), key=utf8)
    assert (distinct.name, codes.dtype) == ("who", np.int32)
    assert distinct.gather(codes).to_list() == texts


@given(st.lists(st.text(max_size=20), unique=True))
def test_text_order_sorts_by_bytes(texts):
    texts = [f"the same beginning {t}" for t in texts]
    assert [texts[i] for i in text_order(pl.Series(texts, dtype=pl.String))] == sorted(texts, key=utf8)


@given(
    st.sampled_from(["", "q", "battle ", "é-", "1a", " x ", "7-"]),
    st.sampled_from(["{}", "{:04d}", "{:02d}"]),
    st.lists(st.integers(0, 1_200), min_size=1, max_size=60),
    st.lists(
        st.sampled_from(["q+5", "q-5", "q 5", "q05", "q", "q5.0", "q٣", "q" + "1" * 20, "battle 007", "12", "012"])
    ),
)
def test_factorize_sorts_numbered_texts_by_bytes(head, form, numbers, others):
    texts = [head + form.format(number) for number in numbers]
    for rows in (texts, [*texts, *others]):
        distinct, codes = names_module.factorize_texts(pl.Series("item", rows))
        assert distinct.to_list() == sorted(set(rows), key=str.encode)
        assert distinct.gather(codes).to_list() == rows


@pytest.mark.parametrize("name", ["\u2028a", "a\u00a0", "\u200ba", "a\t", "\x0ba", "a \ufeff", "\x85a"])
def test_spaces_around_many_names_are_those_around_few(monkeypatch, name):
    monkeypatch.setattr(names_module, "FEW_ROWS", 0)
    assert names_module.strip_spaces(pl.Series([name, "b ", "c"])).to_list() == ["a", "b", "c"]


def test_factorize_distinguishes_texts_with_similar_hashes(monkeypatch):
    rows = pl.Series([f"{'ab'[i % 2]}{i % 100}" for i in range(200)])
    monkeypatch.setattr(names_module, "FEW_ROWS", 100)
    monkeypatch.setattr(pl.Series, "hash", lambda self: self.str.tail(1).cast(pl.UInt64) * 2**60 + 1)
    distinct, codes = factorize(rows)
    assert distinct.to_list() == sorted(set(rows))
    assert distinct.gather(codes).to_list() == rows.to_list()


@pytest.mark.parametrize(
    ("values", "distinct"),
    [
        ([2, 1, 2], [1, 2]),
        ([0.5, None, -1.0], [None, -1.0, 0.5]),
        ([True, False], [0, 1]),
        ([date(2024, 1, 2), date(2024, 1, 1)], [date(2024, 1, 1), date(2024, 1, 2)]),
        (["b", None, "a"], [None, "a", "b"]),
        ([None, None], [None]),
    ],
)
def test_factorize_accepts_any_type(values, distinct):
    for found, codes in of_few_and_many(pl.Series(values)):
        assert found.to_list() == distinct
        assert [found[int(c)] for c in codes] == values


def test_codes_in_uses_given_order():
    assert codes_in(pl.Series(["b", "a", "b"]), pl.Series(["b", "c", "a"])).tolist() == [0, 2, 0]
    assert codes_in(pl.Series([3, 1]), pl.Series([1, 2, 3])).tolist() == [2, 0]


@given(st.lists(st.integers(0, 30)), st.sampled_from([31, 2**61]))
def test_sort_cells_is_stable(cells, n_cells):
    numbers = np.array(cells, dtype=np.int64)
    order, found = sort_cells(numbers, n_cells)
    assert found.tolist() == sorted(cells)
    wanted = sorted(range(len(cells)), key=cells.__getitem__)
    assert (list(range(len(cells))) if order is None else order.tolist()) == wanted
    assert any_twice(numbers) == (len(set(cells)) < len(cells))


@pytest.mark.parametrize(
    ("texts", "runs"),
    [
        ("", False), ("a", False), ("aa", True), ("ab", False),
        ("aaabbbccc", True),  # 6 of 8 neighbours are equal
        ("abcabcabc", False),
        ("aabcde", False), ("aabbcde", False),  # 1 of 5, 2 of 6
        ("aabbcd", False), ("aaabcd", False), ("aabbccd", True),  # 2 of 5 is not more than .4; 3 of 6
    ],
)  # fmt: skip
def test_mostly_runs_detects_runs(texts, runs):
    assert mostly_runs(pl.Series(list(texts), dtype=pl.String)) is runs


def test_factorize_codes_runs(monkeypatch):
    asked = []
    texts = names_module.factorize_texts
    monkeypatch.setattr(names_module, "FEW_ROWS", 5)
    monkeypatch.setattr(names_module, "factorize_texts", lambda column: asked.append(len(column)) or texts(column))
    for rows, n_asked in ((list("bbbaaacccb"), 4), (list("abcabcabca"), 10)):
        found = factorize(pl.Series(rows))
        assert (found.names.to_list(), found.column().to_list(), asked.pop()) == (["a", "b", "c"], rows, n_asked)


def test_utf8_words_by_position():
    found = Utf8.of(pl.Series(["abcdefghij", "é", ""]))
    every = np.arange(3)
    assert found.words(every, 0, ">").tolist() == [
        int.from_bytes(b"abcdefgh", "big"), int.from_bytes("é".encode() + bytes(6), "big"), 0
    ]  # fmt: skip
    assert found.words(every, 8, "<").tolist() == [int.from_bytes(b"ij", "little"), 0, 0]


def test_names_behave_as_sequence():
    names = Names(pl.Series(["a", "b", "c"]))
    assert names == ("a", "b", "c")
    assert names == Names(pl.Series(["a", "b", "c"]))
    assert names != ("a", "b")
    assert names != "abc"
    assert (names[0], names[-1], names[1:]) == ("a", "c", ("b", "c"))
    assert (list(names), len(names), "b" in names, "x" in names, 3 in names) == (["a", "b", "c"], 3, True, False, False)
    assert repr(names) == "('a', 'b', 'c')"
    assert pl.DataFrame({"item": names})["item"].to_list() == ["a", "b", "c"]
    with pytest.raises(IndexError):
        names[3]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "separator", "n_stems", "n_suffixes"),
    [
        ("lesion", "__", 100, 5),  # an image, five questions
        ("mtbench", "__", 60, 2),  # a pair of models on a prompt, two turns
        ("wax", "__", 159, 246),  # a cue, by the first separator
        ("kilogram", "-", 9, 256),  # a page of pictures
        ("cebab_stars", None, 0, 0),  # one question of each review
    ],
)
def test_stems_of_the_published_data(real_data, name, separator, n_stems, n_suffixes):
    labels = assay.read(real_data / "alt_test" / name, split_item="no")
    found = stems(labels.items["item"])
    if separator is None:
        assert found is None
    else:
        assert (found.separator, len(found.stem.names), len(found.suffix.names)) == (separator, n_stems, n_suffixes)


# -- items and questions in one name ----------------------------------------------------------------


def test_questions_in_splits_items_and_questions():
    names = spread(numbered("img_", 10), ["Color", "Border", "Blue veil"], by="__")
    found = questions_in(pl.Series(names))
    assert (found.stem.names.len(), found.suffix.names.to_list(), found.crossed) == (
        10,
        ["Blue veil", "Border", "Color"],
        1,
    )
    assert (
        questions_in(pl.Series(names[:-4])).crossed == 26 / 27
    )  # without one image, and without one question of another


@pytest.mark.parametrize(
    "names",
    [
        [],
        numbered("img_", 20),
        spread(numbered("img", 10), ["Color", "Border"]),  # a single underscore can be inside a word
        spread(numbered("img", 4), ["Color", "Border"], by="__"),  # too few items
        spread(numbered("doc", 10), numbered("", 3), by="__"),  # turns
        spread(numbered("doc", 10), numbered("s", 3), by="__"),  # sentences
        spread(numbered("q", 10), ["gpt-4o", "llama-31"], by="__"),  # outputs of models
        spread(numbered("q", 10), numbered("w", 25), by="__"),
        [f"{i}__stars" for i in range(30)],  # one question
        [f"{i}__{'yes' if i % 2 else 'no'}" for i in range(30)],  # one question per item
        [*spread(numbered("img", 10), ["Color", "Border"], by="__"), "img0__Shape"],  # for one item only
        [*spread(numbered("img", 10), ["Color", "Border"], by="__"), "img11"],
        [f"{cue}__{word}__{cue}s {word}" for cue in ("sun", "sea", "air", "ice", "oil", "elm") for word in "abcd"],
    ],
)
def test_questions_in_keeps_other_names_whole(names):
    assert questions_in(pl.Series(names, dtype=pl.String)) is None


PUBLISHED = [
    (f"img{i}__{question}", who, (i + len(question) + shift) % 3)
    for i in range(6) for question in ("Color", "Border") for shift, who in enumerate(("Ann", "Bob", "Cas", "gpt-4o"))
]  # fmt: skip


def test_read_splits_published_layout_with_note():
    labels = assay.read(table(*PUBLISHED), judges=["gpt-4o"])
    assert (labels.n_items, labels.criteria) == (6, ("Border", "Color"))
    note = (
        "12 item ids = 6 items × 2 questions (Border, Color): each question is a criterion; split_item='no' pools them"
    )
    assert labels.reading.notes[0] == note
    told = assay.read(table(*PUBLISHED), judges=["gpt-4o"], split_item="__")
    assert labels.fingerprint == told.fingerprint
    assert note not in told.reading.notes
    for split_item in ("no", None):
        whole = assay.read(table(*PUBLISHED), judges=["gpt-4o"], split_item=split_item)
        assert (whole.n_items, whole.criteria) == (12, ())
        assert whole.reading.notes[0] == (
            "12 item ids = 6 items × 2 questions (Border, Color): they are pooled (split_item)"
        )
    part = assay.read(table(*PUBLISHED[:-8], *PUBLISHED[-4:]), judges=["gpt-4o"])
    assert part.reading.notes[0].startswith("11 item ids are 6 items × 2 questions (Border, Color), of which 1 is")


def test_read_keeps_names_whole_with_criterion_column():
    frame = table(*PUBLISHED)
    labels = assay.read(frame.with_columns(criterion=pl.lit("depth")), judges=["gpt-4o"])
    assert (labels.n_items, labels.criteria) == (12, ("depth",))
    assert assay.read(frame.with_columns(asked=pl.lit("a")), judges=["gpt-4o"], criterion="asked").n_items == 12


def test_split_item_removes_users_name_of_item():
    frame = table(*PUBLISHED).rename({"item": "id"})
    assert "id" not in assay.read(frame, item="id", judges=["gpt-4o"]).names
    assert assay.read(frame, item="id", judges=["gpt-4o"], split_item="no").names == {"id": "item"}


def test_split_item_notes_differing_attributes():
    about = pl.DataFrame([(name, name[:4], name) for name, who, _ in PUBLISHED if who == "Ann"],
                         schema=["item", "image", "shown"], orient="row")  # fmt: skip
    labels = assay.read(table(*PUBLISHED), judges=["gpt-4o"], items=about)
    assert labels.items["image"].to_list() == [f"img{i}" for i in range(6)]
    assert "shown of the item table: kept the value of the first part of each item" in labels.reading.notes


def test_errors_on_several_criteria_mention_pooling():
    labels = assay.read(table(*PUBLISHED), judges=["gpt-4o"])
    advice = r"labels\.where\(criterion=\.\.\.\), or set split_item='no' to pool them$"
    with pytest.raises(DesignError, match=advice):
        assay.alt_test(labels, "gpt-4o", expertise="crowd")
    with pytest.raises(DesignError, match=advice):
        assay.measures.krippendorff_alpha(labels)
    with pytest.raises(DesignError, match=r"labels\.where\(criterion=\.\.\.\)$"):
        assay.measures.krippendorff_alpha(assay.read(table(*PUBLISHED), judges=["gpt-4o"], split_item="__"))
    pooled = assay.read(table(*PUBLISHED), judges=["gpt-4o"], split_item="no")
    assert pooled.n_items == 12
    assert -1 <= assay.measures.krippendorff_alpha(pooled).estimate <= 1
