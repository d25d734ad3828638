"""Embeddings by made encoders: sentences and pieces, and what is done to all texts of a call afterwards."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from encoders import Bags, texts_of, vector_of

import assay
from assay.similarity import embeddings
from assay.similarity.embeddings import (
    Embeddings,
    OwnEncoder,
    SentenceEncoder,
    all_but_the_top,
    sentences,
    top_components,
)

TEXTS = texts_of(20, seed=1)


def test_cosine_of_what_an_encoder_of_ones_own_gives_each_text_encoded_once():
    encoder = Bags()
    similarity = Embeddings(OwnEncoder(encoder))
    groups = [TEXTS[:8], TEXTS[4:], TEXTS[:2]]
    for group, found in zip(groups, similarity.matrices(groups), strict=True):
        for i, a in enumerate(group):
            for j, b in enumerate(group):
                x, y = (sum(vector_of(w) for w in text.split()) for text in (a, b))
                assert found[i, j] == pytest.approx(x @ y / math.sqrt((x @ x) * (y @ y)), abs=1e-12)
    assert set(encoder.asked.values()) == {1}
    assert np.allclose(similarity.matrix(TEXTS), np.block([[similarity.matrix(TEXTS)]]), atol=0)
    assert np.allclose(similarity.matrix(TEXTS)[0, 1:], similarity.pairs(TEXTS[:1] * 19, TEXTS[1:]), atol=1e-12)


def test_blank_texts_are_alike_and_unlike_others_and_are_not_encoded():
    encoder = Bags()
    similarity = Embeddings(OwnEncoder(encoder))
    assert similarity.matrix(["", "cat", " \n"]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert similarity.pairs(["", "", "cat"], [" ", "cat", ""]).tolist() == [1, 0, 0]
    assert similarity.matrix(["", " "]).tolist() == [[1, 1], [1, 1]]
    assert list(encoder.asked) == ["cat"] * len(encoder.asked)


def test_fitted_texts_are_compared_without_the_encoder():
    encoder = Bags()
    similarity = Embeddings(OwnEncoder(encoder))
    fitted = similarity.fitted([*TEXTS, TEXTS[0]])
    asked = encoder.asked.total()
    assert np.allclose(fitted.matrix(TEXTS), similarity.matrix(TEXTS), atol=1e-12)
    assert asked == len(TEXTS)
    assert fitted.fitted(TEXTS[:3]) is fitted
    assert (fitted.name, fitted.about) == (similarity.name, similarity.about)
    with pytest.raises(assay.DataError, match="was not fitted to 'else'"):
        fitted("else", TEXTS[0])


@pytest.mark.parametrize(
    ("encode", "words"),
    [
        (lambda texts: np.ones(len(texts)), r"gave numbers of shape \(2,\) for 2 texts"),
        (lambda texts: np.ones((1, 3)), r"gave numbers of shape \(1, 3\) for 2 texts"),
        (lambda texts: np.full((len(texts), 3), np.nan), "gave numbers that are none"),
    ],
)
def test_an_encoder_that_gives_something_else_is_refused(encode, words):
    with pytest.raises(assay.DataError, match=words):
        Embeddings(OwnEncoder(encode)).matrix(["a", "b"])


class Reads:
    """An encoder that reads so many tokens; a token is a word."""

    key = ""

    def __init__(self, context: int | None) -> None:
        self.context, self.name, self.seen = context, "reads", []

    def encode(self, texts):
        self.seen += list(texts)
        return Bags()(list(texts))

    def pieces(self, text):
        words, most = text.split(), self.context or 10**6
        return [" ".join(words[k : k + most]) for k in range(0, len(words), most)]


@pytest.mark.parametrize(
    ("context", "split", "by_sentence"),
    [(256, "auto", True), (1023, "auto", True), (1024, "auto", False), (None, "auto", False),
     (256, "whole", False), (4096, "sentences", True)],
)  # fmt: skip
def test_what_is_encoded_depends_on_what_the_encoder_reads(context, split, by_sentence):
    pytest.importorskip("sentencex", reason='needs the extra "embed"')
    encoder = Reads(context)
    similarity = Embeddings(encoder, split)
    text = "A cat sat. It purred."
    row = similarity.embeddings([text, "One."])[0]
    assert encoder.seen == (["A cat sat.", "It purred.", "One."] if by_sentence else [text, "One."])
    assert ("sentences" in similarity.about) == by_sentence
    parts = ["A cat sat.", "It purred."] if by_sentence else [text]
    assert np.allclose(row, np.mean([sum(vector_of(w) for w in one.split()) for one in parts], axis=0))


def test_nothing_of_a_long_text_is_cut_off():
    encoder = Reads(3)
    Embeddings(encoder, "whole").matrix(["a b c d e f g", "a"])
    assert encoder.seen == ["a b c", "d e f", "g", "a"]


def by_words(text, **options):
    """A tokenizer to which each word is a token; numbers of two more stand around a text."""
    return {"offset_mapping": [word.span() for word in re.finditer(r"\S+", text)]}


@pytest.mark.parametrize(
    ("most", "text", "pieces"),
    [
        (None, "one two three four", ["one two three four"]),
        (5, "one two three four", ["one two three ", "four"]),  # 2 tokens stand around: 3 of the text are read
        (6, "one two three four", ["one two three four"]),
        (3, "a b c", ["a ", "b ", "c"]),
        (20, "one two three four", ["one two three four"]),
    ],
)
def test_a_text_is_cut_between_tokens(monkeypatch, most, text, pieces):
    by_words.num_special_tokens_to_add = lambda: 2
    monkeypatch.setattr(embeddings, "_load", lambda folder, device: SimpleNamespace(tokenizer=by_words))
    monkeypatch.setattr(embeddings, "folder_of", lambda model: model)
    monkeypatch.setattr(embeddings, "pick_device", lambda device: "cpu")
    encoder = SimpleNamespace(context=most, model="m", device=None)
    assert SentenceEncoder.pieces(encoder, text) == pieces


@pytest.mark.parametrize(("n_bytes", "looked"), [(10, False), (11, True)])
def test_a_text_with_fewer_bytes_than_tokens_are_read_needs_no_tokenizer(monkeypatch, n_bytes, looked):
    def load(folder, device):
        raise LookupError

    monkeypatch.setattr(embeddings, "_load", load)
    monkeypatch.setattr(embeddings, "folder_of", lambda model: model)
    monkeypatch.setattr(embeddings, "pick_device", lambda device: "cpu")
    encoder = SimpleNamespace(context=12, model="m", device=None)
    for text in ("x" * n_bytes, "é" * (n_bytes // 2) + "x" * (n_bytes % 2)):
        if looked:
            with pytest.raises(LookupError):
                SentenceEncoder.pieces(encoder, text)
        else:
            assert SentenceEncoder.pieces(encoder, text) == [text]


def test_sentences_of_several_languages():
    pytest.importorskip("sentencex", reason='needs the extra "embed"')
    assert sentences("See Fig. 2 there. Dr. Smith agrees! Why?") == ["See Fig. 2 there.", "Dr. Smith agrees!", "Why?"]
    assert sentences("Erster Satz. Zweiter Satz.") == ["Erster Satz.", "Zweiter Satz."]
    assert sentences("  ") == []


def test_all_but_the_top_takes_the_mean_and_the_first_components_away():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 150)) + 5
    rows[:, :2] += rng.normal(size=(60, 2)) * 30  # two wide components: ceil(150 / 100)
    found = all_but_the_top(rows)
    assert np.allclose(found.mean(axis=0), 0, atol=1e-9)
    left = np.linalg.eigvalsh(np.cov(found.T))[::-1]
    whole = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    assert left[: 59 - 2] == pytest.approx(whole[2:59])
    assert left[57:].max() < 1e-9


@pytest.mark.parametrize(("n", "d", "share", "kept_of"), [(12, 40, 1 / 3, 4), (12, 40, 2 / 3, 8), (50, 9, 1 / 3, 3)])
def test_top_components_are_a_share_of_as_many_as_there_are(n, d, share, kept_of):
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = np.random.default_rng(1).normal(size=(n, d))
    found = top_components(rows, share)
    assert np.linalg.matrix_rank(found) == kept_of
    scores = decomposition.PCA(kept_of).fit_transform(rows)
    assert np.allclose(found @ found.T, scores @ scores.T, atol=1e-9)


@pytest.mark.parametrize("post", ["all-but-the-top", "top-third", "top-two-thirds"])
def test_components_are_learned_from_all_texts_of_a_call(post):
    similarity = Embeddings(OwnEncoder(Bags()), post=post)
    plain = Embeddings(OwnEncoder(Bags()))
    whole = similarity.matrix(TEXTS)
    groups = similarity.matrices([TEXTS[:10], TEXTS[10:]])
    assert np.allclose(groups[0], whole[:10, :10], atol=1e-9)
    assert np.allclose(similarity.fitted(TEXTS)(TEXTS[0], TEXTS[1]), whole[0, 1], atol=1e-9)
    assert not np.allclose(similarity.matrix(TEXTS[:10]), whole[:10, :10], atol=1e-3)
    assert not np.allclose(plain.matrix(TEXTS), whole, atol=1e-3)
    assert similarity.matrix([*TEXTS, ""])[-1].tolist() == [0] * 20 + [1]
    assert f"after {post}" in similarity.about
    assert similarity.name == f"embeddings:Bags,post={post}" or similarity.name.endswith(f",post={post}")
    with pytest.raises(assay.DesignError, match=f"{post} learns from all texts .* it was given 2 texts"):
        similarity(TEXTS[0], TEXTS[1])
