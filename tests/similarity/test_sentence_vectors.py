"""Embeddings by made encoders: sentences and pieces, and what is done to all texts of a call afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import re
import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from encoders import Bags, texts_of, vector_of

import assay
from assay.similarity import embeddings
from assay.similarity.api_encoder import ApiEncoder
from assay.similarity.embeddings import (
    Embeddings,
    OwnEncoder,
    SentenceEncoder,
    all_but_the_top,
    postprocess,
    sentences,
    top_components,
    unit_rows,
)

TEXTS = texts_of(20, seed=1)


@pytest.mark.slow
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
    with pytest.raises(assay.errors.DataError, match="was not fitted to 'else'"):
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
    with pytest.raises(assay.errors.DataError, match=words):
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
    """A tokenizer to which each word is a token; two special tokens surround a text."""
    return {"offset_mapping": [word.span() for word in re.finditer(r"\S+", text)]}


@pytest.mark.parametrize(
    ("most", "text", "pieces"),
    [
        (None, "one two three four", ["one two three four"]),
        (5, "one two three four", ["one two three ", "four"]),  # 2 special tokens: 3 of the text are read
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


@pytest.mark.slow
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
    with pytest.raises(assay.errors.DesignError, match=f"{post} learns from all texts .* it was given 2 texts"):
        similarity(TEXTS[0], TEXTS[1])


def test_embeddings_of_a_service_say_where_they_are_from():
    plain = Embeddings(ApiEncoder("m", "https://a.example/v1"))
    assert plain.name == "api-embeddings:m"
    assert plain.about == "embeddings by m (asked at a.example) of whole texts, cosine"
    fewer = Embeddings(ApiEncoder("m", "https://a.example/v1", dimensions=256))
    assert fewer.about == "embeddings by m (asked at a.example, 256 dimensions) of whole texts, cosine"
    encoder = Reads(None)
    encoder.name, encoder.key = "n", "abcd"
    weighed = Embeddings(encoder)
    assert weighed.about == "embeddings by n (weights abcd) of whole texts, cosine"


def test_texts_are_means_of_their_parts_and_without_words_zeros():
    similarity = Embeddings(Reads(2), "whole")
    mean = (vector_of("a") + vector_of("b") + vector_of("c")) / 2  # of the pieces "a b" and "c"
    found = similarity.embeddings(["a b c", " ", "c"])
    assert found == pytest.approx(np.stack([mean, np.zeros(6), vector_of("c")]))
    assert similarity.embeddings(["", " "]).tolist() == [[0], [0]]
    assert similarity.embeddings([]).shape == (0, 1)


@pytest.mark.parametrize(("key", "times"), [("", 2), ("reads", 1)])
def test_rows_are_kept_by_the_key_of_an_encoder_where_it_has_one(key, times):
    encoder = Reads(None)
    encoder.key = key
    found = [Embeddings(encoder).embeddings(["a", "b"]).tolist() for _ in range(2)]
    assert found[0] == found[1]
    assert encoder.seen == ["a", "b"] * times


def test_rows_of_length_one_and_rows_of_zeros():
    rows = np.array([[3.0, 4], [0, 0], [0, -2], [1e-13, 0], [0, 1e-11]])
    assert unit_rows(rows) == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0, -1], [0, 0], [0, 1]]))


def test_a_functions_name_is_its_own():
    def mine(texts):
        return np.ones((len(texts), 2))

    assert OwnEncoder(mine).name == "mine"
    assert OwnEncoder(Bags()).name == "bags"
    assert OwnEncoder(partial(mine)).name == "own"
    assert (OwnEncoder(mine).key, OwnEncoder(mine).context) == ("", None)
    assert OwnEncoder(mine).pieces("a b") == ["a b"]


# -- how many components are taken away, or kept --------------------------------------------------------


def rank_after(post, n, d):
    return np.linalg.matrix_rank(postprocess(np.random.default_rng(n).normal(size=(n, d)) + 3, post), tol=1e-9)


@pytest.mark.parametrize(
    ("post", "n", "d", "rank"),
    [
        ("none", 7, 4, 4),
        ("all-but-the-top", 12, 100, 10),  # 11 of centred rows, less one for each 100 dimensions begun
        ("all-but-the-top", 12, 101, 9),
        ("all-but-the-top", 12, 201, 8),
        ("all-but-the-top", 12, 4, 3),
        ("top-third", 12, 40, 4), ("top-third", 13, 40, 5), ("top-third", 40, 9, 3),
        ("top-two-thirds", 12, 40, 8), ("top-two-thirds", 10, 40, 7), ("top-two-thirds", 40, 9, 6),
    ],
)  # fmt: skip
def test_components_that_are_left(post, n, d, rank):
    assert rank_after(post, n, d) == rank


@pytest.mark.parametrize(
    ("post", "d", "least"),
    [("top-third", 9, 6), ("top-two-thirds", 9, 6), ("all-but-the-top", 100, 4), ("all-but-the-top", 101, 5)],
)
def test_so_many_texts_are_needed_to_learn_components(post, d, least):
    rows = np.random.default_rng(0).normal(size=(least, d))
    assert np.isfinite(postprocess(rows, post)).all()
    words = (
        f"^{post} learns from all texts that it is given, and needs {least} different ones; it was given {least - 1} "
        r"texts\. Ask for all of them at once, or leave post=\.\.\. out$"
    )
    with pytest.raises(assay.errors.DesignError, match=words):
        postprocess(np.vstack([rows[1:], np.zeros((3, d))]), post)  # texts without words teach nothing
    nothing = np.zeros((2, d))
    assert postprocess(nothing, post) is nothing


def test_rows_without_words_are_not_learned_from():
    rows = np.random.default_rng(2).normal(size=(8, 5)) + 1
    alone = postprocess(rows, "top-third")
    beside = postprocess(np.vstack([np.zeros(5), rows, np.zeros(5)]), "top-third")
    assert beside[1:-1] == pytest.approx(alone)
    assert not beside[[0, -1]].any()


# -- files and devices ----------------------------------------------------------------------------------


class Hub:
    """Keeps some models here and some elsewhere."""

    def __init__(self, here=(), there=(), error=None):
        self.here, self.there, self.error, self.asked = here, there, error, []

    def snapshot_download(self, name, local_files_only=False, ignore_patterns=None):
        self.asked.append((name, local_files_only))
        assert local_files_only or {"*.h5", "*.onnx", "*.gguf"} <= set(ignore_patterns)
        if name in (self.here if local_files_only else self.there):
            return f"/models/{name}"
        raise FileNotFoundError("not here") if local_files_only else self.error


def found_at(hub, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    embeddings.folder_of.cache_clear()
    try:
        return str(embeddings.folder_of(model))
    finally:
        embeddings.folder_of.cache_clear()


def test_a_model_is_looked_for_here_before_it_is_fetched(monkeypatch):
    ours = "sentence-transformers/m"
    for hub, place, asked in (
        (Hub(here=["m", ours]), ours, [(ours, True)]),
        (Hub(here=["m"], there=[ours]), "m", [(ours, True), ("m", True)]),
        (Hub(there=["m", ours]), ours, [(ours, True), ("m", True), (ours, False)]),
        (Hub(there=["m"]), "m", [(ours, True), ("m", True), (ours, False), ("m", False)]),
    ):
        assert found_at(hub, "m", monkeypatch) == f"/models/{place}"
        assert hub.asked == asked
    one = Hub(here=["who/m"])
    assert found_at(one, "who/m", monkeypatch) == "/models/who/m"
    assert one.asked == [("who/m", True)]
    long = "x" * 119 + "yz"
    for error, said in (
        (OSError("no route\nto host"), "OSError: no route"),
        (ValueError(long), f"ValueError: {long[:120]}"),
    ):
        with pytest.raises(assay.errors.DataError) as refused:
            found_at(Hub(error=error), "who/m", monkeypatch)
        assert str(refused.value) == (
            f"the model 'who/m' is not on this machine and cannot be downloaded ({said}). Name the folder of a local "
            "model, or download it once with a network connection"
        )


def test_a_folder_of_a_model_has_one_of_two_files(tmp_path, monkeypatch):
    for name in ("config.json", "modules.json", "other.json"):
        (tmp_path / name.split(".")[0]).mkdir()
        (tmp_path / name.split(".")[0] / name).write_text("{}")
    for name in ("config", "modules"):
        assert found_at(None, str(tmp_path / "modules" / ".." / name), monkeypatch) == str(tmp_path / name)
    with pytest.raises(assay.errors.DataError, match="holds no model: neither config"):
        found_at(None, str(tmp_path / "other"), monkeypatch)


def test_a_folder_of_a_part_of_a_model_is_refused_with_the_whole(tmp_path, monkeypatch):
    for part, config in (("1_Pooling", {"word_embedding_dimension": 384}), ("0_Transformer", {"model_type": "bert"})):
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_text(json.dumps(config))
    (tmp_path / "modules.json").write_text("[]")
    assert found_at(None, str(tmp_path / "0_Transformer"), monkeypatch) == str(tmp_path / "0_Transformer")
    with pytest.raises(
        assay.errors.DataError, match=rf"holds a part of a model; name the folder of the whole, {tmp_path}$"
    ):
        found_at(None, str(tmp_path / "1_Pooling"), monkeypatch)


@pytest.mark.parametrize("model", ["/no/where", "./nowhere", "~nobody-of-that-name", "one/two/three"])
def test_what_is_written_as_a_folder_is_not_looked_for_elsewhere(model, monkeypatch):
    hub = Hub(here=[model])
    with pytest.raises(assay.errors.DataError, match=re.escape(f"there is no folder {model}; give the folder of a")):
        found_at(hub, model, monkeypatch)
    assert hub.asked == []


def test_a_digest_is_of_names_and_contents_of_what_decides_the_numbers(tmp_path):
    def digest(**files):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, content in files.items():
            path = folder / name.replace("__", ".").replace("_in_", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return embeddings.digest_of(folder)

    base = {"config__json": b"{}", "m__safetensors": b"weights"}
    mixed = hashlib.blake2b(b"config.json{}m.safetensorsweights", digest_size=4).hexdigest()
    assert digest(**base) == mixed == digest(**base, pytorch__bin=b"same", README__md=b"read me", m__h5=b"same")
    assert len(mixed) == 8
    others = (
        {"vocab__txt": b""}, {"spiece__model": b""}, {"1_in_config__json": b"{}"}, {"m__safetensors": b"weightr"},
    )  # fmt: skip
    assert len({digest(**base | one) for one in others} | {mixed}) == 5
    by_torch = digest(config__json=b"{}", pytorch__bin=b"old weights")
    assert by_torch == hashlib.blake2b(b"config.json{}pytorch.binold weights", digest_size=4).hexdigest()
    large = b"0123456789" * 200_000  # more than is read at once
    assert digest(m__safetensors=large) == hashlib.blake2b(b"m.safetensors" + large, digest_size=4).hexdigest()


def test_a_model_is_called_by_its_folder_without_what_is_above(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    names = (str(tmp_path / "mine"), str(tmp_path / "mine" / ".." / "mine"), "~/mine", "who/theirs")
    assert [embeddings.short_name(name) for name in names] == ["mine", "mine", "mine", "who/theirs"]


def test_settings_are_whole_numbers_of_a_file_that_is_there(tmp_path):
    (tmp_path / "a.json").write_text('{"whole": 7, "half": 0.5, "word": "8", "none": null}')
    read = [embeddings.setting(tmp_path, "a.json", name) for name in ("whole", "half", "word", "none", "else")]
    assert read == [7, None, None, None, None]
    assert embeddings.setting(tmp_path, "b.json", "whole") is None


def test_the_device_is_a_gpu_where_there_is_one_and_none_is_asked_for(monkeypatch):
    def empty(n, device):
        if device not in ("cpu", "cuda"):
            raise {"a": RuntimeError, "b": AssertionError}[device]("no such\nthing")

    def library(cuda, mps):
        made = ModuleType("torch")
        made.cuda, made.backends, made.backends.mps = ModuleType("cuda"), ModuleType("backends"), ModuleType("mps")
        made.cuda.is_available, made.backends.mps.is_available = lambda: cuda, lambda: mps
        made.empty = empty
        return made

    for cuda, mps, device in (
        (True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu"),
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, "torch", library(cuda, mps))
        assert embeddings.pick_device(None) == device
        assert embeddings.pick_device("cpu") == "cpu"
        assert embeddings.pick_device("cuda") == "cuda"
        for unknown in ("a", "b"):
            with pytest.raises(assay.errors.DataError, match=f"^the device '{unknown}' cannot be used: no such$"):
                embeddings.pick_device(unknown)


@pytest.mark.parametrize("shown", [True, False])
def test_bars_are_hidden_for_a_while_and_shown_again_if_they_were(shown, monkeypatch):
    now = [shown]
    said = ModuleType("logging")
    said.is_progress_bar_enabled = lambda: now[-1]
    said.disable_progress_bar, said.enable_progress_bar = lambda: now.append(False), lambda: now.append(True)
    monkeypatch.setitem(sys.modules, "transformers.utils.logging", said)
    with contextlib.suppress(LookupError), embeddings.hide_progress_bars():
        assert now[-1] is False
        raise LookupError
    assert now[-1] is shown


def test_a_model_is_asked_for_so_many_texts_at_once_without_bars(tmp_path, monkeypatch):
    asked, reads = [], [0]

    class Model:
        def encode(self, texts, **how):
            asked.append((texts, how))
            return [[1.0] * 2 for _ in texts]

        def get_max_seq_length(self):
            return reads[0]

    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(embeddings, "_load", lambda folder, device: asked.append((folder, device)) or Model())
    monkeypatch.setattr(embeddings, "pick_device", lambda given: given or "picked")
    encoder = SentenceEncoder(str(tmp_path))
    rows = encoder.encode(("a", "b"))
    assert (rows.dtype, rows.tolist()) == (np.float32, [[1, 1], [1, 1]])
    how = {"batch_size": 64, "show_progress_bar": False, "convert_to_numpy": True}
    assert asked == [(tmp_path, "picked"), (["a", "b"], how)]
    SentenceEncoder(str(tmp_path), "cpu", 7).encode(["a"])
    assert asked[2:] == [(tmp_path, "cpu"), (["a"], how | {"batch_size": 7})]
    reads[:] = [None]
    assert encoder.context is None  # a model that does not say
    reads[:] = [512]
    assert encoder.context == 512
    embeddings.setting.cache_clear()
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    assert encoder.context == 256
    assert SentenceEncoder(str(tmp_path), "cpu", 7) == encoder


def test_pieces_without_words_are_left_out_and_the_tokenizer_says_nothing(monkeypatch):
    class Tokenizer:
        def num_special_tokens_to_add(self):
            return 2

        def __call__(self, text, *, add_special_tokens, return_offsets_mapping, verbose):
            assert (add_special_tokens, return_offsets_mapping, verbose) == (False, True, False)
            return {"offset_mapping": [(k, k + 1) for k in range(len(text))]}

    monkeypatch.setattr(embeddings, "_load", lambda folder, device: SimpleNamespace(tokenizer=Tokenizer()))
    monkeypatch.setattr(embeddings, "folder_of", lambda model: model)
    monkeypatch.setattr(embeddings, "pick_device", lambda device: "cpu")
    encoder = SimpleNamespace(context=4, model="m", device=None)
    assert SentenceEncoder.pieces(encoder, "ab  cd") == ["ab", "cd"]
