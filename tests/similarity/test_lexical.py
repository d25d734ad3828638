"""Shared words, n-grams and entities by hand; entities with a function and with spaCy."""

from __future__ import annotations

import math
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import assay
from assay.similarity import lexical
from assay.similarity.lexical import Entities, character_similarity, word_similarity
from assay.similarity.registry import similarity_named


def capitals(text: str) -> list[str]:
    return [word for word in text.split() if word[0].isupper()]


TEXTS = ["Anna met Bob in Rome Rome", "Bob left Rome", "nobody came", "it rained", "Carl came"]


def test_jaccard_by_hand():
    matrix = Entities(capitals).matrix(TEXTS)
    # {Anna, Bob, Rome} and {Bob, Rome}: two of three; two texts without names have 1, one without names 0.
    assert matrix.tolist() == [
        [1, pytest.approx(2 / 3), 0, 0, 0], [pytest.approx(2 / 3), 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0],
        [0, 0, 0, 0, 1],
    ]  # fmt: skip
    assert Entities(capitals).name == "entities:capitals"


def test_each_text_is_read_once():
    seen = []

    def counting(text: str) -> list[str]:
        seen.append(text)
        return capitals(text)

    Entities(counting).matrices([TEXTS, TEXTS[::-1], TEXTS[:2]])
    assert sorted(seen) == sorted(TEXTS)


class Entity(NamedTuple):
    text: str


class Document(NamedTuple):
    ents: list[Entity]


def test_a_pipeline_reads_all_texts_at_once_and_case_and_space_do_not_matter():
    calls = []

    class Pipeline:
        meta = {"lang": "en", "name": "made"}  # noqa: RUF012

        def pipe(self, texts):
            calls.append(list(texts))
            return [Document([Entity(word) for word in text.split("/")]) for text in texts]

    similarity = Entities(Pipeline())
    assert similarity("New  York/Rome", "new york") == 0.5
    assert len(calls) == 1
    assert similarity.name == "entities:en_made"


@pytest.mark.parametrize("found", ["a text", 7, [["a", "list"]]])
def test_what_is_no_list_of_entities_is_refused(found):
    with pytest.raises(assay.errors.DataError, match="must return a list of them; for 'one'"):
        Entities(lambda text: found).matrix(["one", "two"])


def test_a_missing_spacy_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(assay.errors.AssayError, match=r"finding entities needs more .*\[entities\]"):
        similarity_named("entities:nowhere")


@pytest.mark.filterwarnings("ignore")
def test_a_spacy_model(tmp_path: Path, monkeypatch):
    spacy = pytest.importorskip("spacy", reason='needs the extra "entities"')
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "blank")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "X", "pattern": name} for name in ("Anna", "Bob", "Rome", "Carl")])
    pipeline.to_disk(tmp_path / "ruled")
    similarity = similarity_named(f"entities:{tmp_path / 'ruled'}")
    matrix = similarity.matrix(TEXTS)
    assert matrix.tolist() == Entities(capitals).matrix(TEXTS).tolist()
    assert "spaCy" in similarity.about
    with pytest.raises(assay.errors.DesignError, match="finds no entities"):
        similarity_named(f"entities:{tmp_path / 'blank'}")
    with pytest.raises(assay.errors.DataError, match="python -m spacy download xx_none"):
        similarity_named("entities:xx_none")


# -- words, n-grams and letters by hand -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "cosine"),
    [
        ("a b", "b a", 1.0), ("a b", "a c", 1 / 2), ("a a b", "a", 2 / math.sqrt(5)), ("a", "b", 0.0),
        ("A-b", "a B", 1.0), ("a a", "a", 1.0), ("a a b b", "a b c", 4 / math.sqrt(8 * 3)), ("a_b", "a b", 0.0),
        ("?!", "a", 0.0),
    ],
)  # fmt: skip
def test_the_cosine_of_words_by_hand(first, second, cosine):
    assert word_similarity(first, second) == pytest.approx(cosine)
    assert word_similarity(second, first) == pytest.approx(cosine)


def test_three_letters_in_a_row_begin_and_end_with_spaces():
    assert lexical.padded_trigrams("Ab  c") == ["  a", " ab", "ab ", "b c", " c "]
    assert lexical.padded_trigrams("") == ["   "]
    # "ab" has "  a", " ab", "ab "; "ac" shares the first of them.
    assert character_similarity("ab", "ac") == pytest.approx(1 / 3)
    assert character_similarity("AB", " ab ") == 1


def test_tokens_and_n_grams():
    assert lexical.word_tokens("É_a-b 12c!") == ["é", "a", "b", "12c"]
    assert list(lexical.n_grams("abcd", 3)) == [tuple("abc"), tuple("bcd")]
    assert list(lexical.n_grams("ab", 3)) == []
    assert lexical._stems("Running students", "none") == ["running", "students"]
    assert lexical._stems("Running students", "porter") == ["run", "student"]


@pytest.mark.parametrize(
    ("name", "first", "second", "f1"),
    [
        ("rouge-1", "a b c", "a b d", 2 / 3),  # two of three each
        ("rouge-1", "a a a", "a", 2 * 1 / 4),
        ("rouge-1", "a a b", "a a", 2 * 2 / 5),
        ("rouge-2", "a b c", "a b d", 1 / 2),
        ("rouge-2", "a b c d", "b c", 2 * 1 / (3 + 1)),
        ("rouge-2", "a", "a b", 0.0),
        ("rouge-2", "a", "b", 0.0),
        ("rouge-2", "a", "A.", 1.0),
        ("rouge-1", "?", "!", 1.0),  # two texts without words
    ],
)
def test_rouge_by_hand(name, first, second, f1):
    assert similarity_named(name)(first, second) == similarity_named(name)(second, first) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("first", "second", "f1"), [("a b c d", "a c b d", 2 * 3 / 8), ("a b", "b a", 1 / 2), ("a x b", "a b", 4 / 5)]
)
def test_rouge_l_is_of_the_longest_common_sequence(first, second, f1):
    pytest.importorskip("rapidfuzz", reason='ROUGE-L needs the extra "similarity"')
    assert similarity_named("rouge-l")(first, second) == pytest.approx(f1)


def chrf_slowly(hypothesis: str, reference: str) -> float:
    """F2 of mean precision and mean recall over the orders of which both texts have n-grams."""
    a, b = ("".join(text.split()) for text in (hypothesis, reference))
    precision, recall = [], []
    for n in range(1, 7):
        made, wanted = (Counter(text[i : i + n] for i in range(len(text) - n + 1)) for text in (a, b))
        if made and wanted:
            shared = sum((made & wanted).values())
            precision.append(shared / sum(made.values()))
            recall.append(shared / sum(wanted.values()))
    p, r = (sum(each) / len(each) if each else 0.0 for each in (precision, recall))
    return 5 * p * r / (4 * p + r) if p + r else 0.0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "b a"),  # one order: precision 1, recall 1/2
        ("ab", "a b c"), ("abcdef", "abcdefg"), ("abcdefgh", "abc defgx"), ("xyz", "abcd"), ("a b", "b"),
        ("the cat sat", "the cat sat on the mat"), ("aaaa", "aa aaa"), ("ab", "ac"), ("abc", "abd"),
    ],
)  # fmt: skip
def test_chrf_agrees_with_direct_computation(first, second):
    hypothesis, reference = sorted((first, second), key=lambda text: (len(text.split()), text))
    found = similarity_named("chrf")
    assert found(first, second) == found(second, first) == pytest.approx(chrf_slowly(hypothesis, reference))


def test_chrf_by_hand():
    """Of one letter in two: precision 1, recall 1/2, so 5 · 1 · 1/2 / (4 · 1 + 1/2)."""
    assert similarity_named("chrf")("a", "b a") == pytest.approx(2.5 / 4.5)


@pytest.mark.parametrize(
    ("texts", "hypothesis"),
    [
        (["a b", "c"], 1), (["c", "a b"], 0), (["b", "a"], 1), (["a", "b"], 0), (["zz yy", "aa bb cc"], 0),
        (["a!", "a"], 1),
    ],
)  # fmt: skip
def test_the_longer_text_is_the_reference_and_of_two_as_long_the_later_in_the_alphabet(texts, hypothesis):
    made, wanted = lexical.longer_as_reference(texts, np.array([0]), np.array([1]))
    assert (made.tolist(), wanted.tolist()) == ([hypothesis], [1 - hypothesis])
    made, wanted = lexical.longer_as_reference(texts, np.array([1]), np.array([0]))
    assert (made.tolist(), wanted.tolist()) == ([hypothesis], [1 - hypothesis])


def test_bleu_by_hand():
    """Of "a b c d" and "a b c d e": every n-gram is there, so BLEU is the penalty for brevity, e^(1 − 5/4)."""
    pytest.importorskip("sacrebleu", reason='BLEU needs the extra "similarity"')
    bleu, mean = similarity_named("bleu"), similarity_named("bleu-mean")
    assert bleu("a b c d", "a b c d e") == pytest.approx(math.exp(-1 / 4))
    # The other way round 4/5, 3/4, 2/3 and 1/2 are there, and there is no penalty.
    back = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert mean("a b c d", "a b c d e") == pytest.approx((math.exp(-1 / 4) + back) / 2)
    assert bleu("a b", "c d") < 0.5
    assert bleu("a b", "a  b ") == 1


def test_names_of_what_finds_entities():
    assert Entities(capitals).about == ""
    assert Entities(capitals, "en_made 1.0 (spaCy 3)").about == "Jaccard of entities by en_made 1.0 (spaCy 3)"
    assert Entities(partial(capitals)).name == "entities:own"

    class Pipeline:
        meta: ClassVar[dict[str, str]] = {"name": "made"}

    class Unnamed:
        meta: ClassVar[dict[str, str]] = {}

    assert Entities(Pipeline()).name == "entities:_made"
    assert Entities(Unnamed()).name == "entities:own"


def test_scores_of_entities_are_kept_by_their_model(kept_here):
    asked = []

    def finding(text):
        asked.append(text)
        return capitals(text)

    kept = Entities(finding, "a model")
    first = kept.matrix(TEXTS)
    n = len(asked)
    assert kept.matrix(TEXTS[::-1]).tolist() == first[::-1, ::-1].tolist()
    assert len(asked) == n
    assert Entities(finding, "another").matrix(TEXTS).tolist() == first.tolist()
    assert len(asked) == 2 * n
    free = Entities(finding)
    for _ in range(2):
        free.matrix(TEXTS)
    assert len(asked) == 4 * n


def test_the_text_in_a_message_has_forty_letters():
    with pytest.raises(assay.errors.DataError, match=f"for '{'x' * 40}' it returned the text 'A'"):
        lexical._entity_set("A", "x" * 41)
    assert lexical._entity_set(["A", "A", "B"], "x") == {"A", "B"}
    with pytest.raises(assay.errors.DataError, match=f"for '{'x' * 40}': unhashable type"):
        lexical._entity_set([[]], "x" * 41)
