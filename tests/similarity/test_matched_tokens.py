"""BERTScore without a model: tokens matched by hand, texts in groups and batches, what a layer reads and is called."""

from __future__ import annotations

import itertools
import json
import math
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from encoders import Words, texts_of, vector_of

import assay
from assay.similarity import bertscore
from assay.similarity.bertscore import BERTScore, LayerEncoder
from assay.similarity.embeddings import digest_of


def by_hand(first: str, second: str) -> float:
    """The definition, word by word; special tokens may be matched and are not counted."""
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
    # Four words and two: the penalty is exp(1 - 4 / 2).
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


def test_a_layer_is_named_and_kept_by_what_it_reads(tmp_path):
    model = folder_with(tmp_path / "m", num_hidden_layers=3)
    whole, cut = (LayerEncoder(model, 3, long) for long in ("refuse", "cut"))
    assert [one.name for one in (whole, cut)] == ["m,layer=3", "m,layer=3,long=cut"]
    weights = digest_of(tmp_path / "m")
    assert [one.key for one in (whole, cut)] == [f"{weights} layer 3 refuse", f"{weights} layer 3 cut"]


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
    # For (y, x) and (−x): precision (0 − 1)/2 and recall max(0, −1) = 0.
    assert found == pytest.approx([2 / 3, 2 / 3, -1, 0])


def test_texts_that_are_compared_are_encoded_together(monkeypatch):
    texts = ["aa", "bb", "cc", "unused", "dd", "ee"]
    first, second = np.array([0, 4, 1]), np.array([2, 5, 2])

    def groups():
        each = bertscore._connected_groups(texts, first, second)
        return [(members, pairs.tolist()) for members, pairs in each]

    assert groups() == [([0, 1, 2, 4, 5], [0, 1, 2])]
    monkeypatch.setattr(bertscore, "AT_ONCE", 6)  # the letters of the first group; others have none
    assert groups() == [([0, 1, 2], [0, 2]), ([4, 5], [1])]
    monkeypatch.setattr(bertscore, "AT_ONCE", 7)
    assert groups() == [([0, 1, 2, 4, 5], [0, 1, 2])]


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

        def __call__(self, text, *, truncation, add_special_tokens, max_length=None, verbose=None):
            assert text == text.strip()
            assert truncation or verbose is False  # nothing on the terminal of what is said in words here
            ids = [len(word) + 2 for word in text.split()]
            if truncation:
                ids = ids[: max_length - 2]
            return {"input_ids": [1, *ids, 2] if add_special_tokens else ids}

    def read(text, long):
        one = SimpleNamespace(model="m", long=long, name_only="m", _max_tokens=lambda: 4)
        return LayerEncoder._read(one, text)

    monkeypatch.setattr(bertscore, "folder_of", lambda model: model)
    monkeypatch.setattr(bertscore, "_tokenizer", lambda folder: Tokenizer())
    assert read(" a bb ", "refuse") == read("a bb", "cut") == [(1, 0), (3, 1), (4, 1), (2, 0)]
    assert read("a bb ccc", "cut") == [(1, 0), (3, 1), (4, 1), (2, 0)]
    with pytest.raises(assay.errors.DesignError, match="a text has 5 tokens, and the model m reads 4: 'a bb ccc'"):
        read("a bb ccc", "refuse")
    begin = "x" * 35 + " y z "  # the first forty letters are shown
    with pytest.raises(
        assay.errors.DesignError, match=f"a text has 6 tokens, and the model m reads 4: '{begin}'[.]{{3}} Use"
    ):
        read(begin + "w" * 9, "refuse")


def test_what_a_score_says_of_itself():
    encoder, unkept = Words(), Words()
    encoder.name, encoder.key, unkept.name = "m,layer=3", "abc layer 3 refuse", "m"
    plain, adjusted = BERTScore(encoder), BERTScore(encoder, by_length=True)
    assert (plain.name, adjusted.name) == ("bertscore:m,layer=3", "bertscore-length:m,layer=3")
    assert plain.about == "BERTScore F1 by m,layer=3 (weights abc)"
    penalty = " times exp(1 - longer / shorter), lengths in tokens"
    assert adjusted.about == f"BERTScore F1 by m,layer=3 (weights abc){penalty}"
    assert BERTScore(unkept).about == "BERTScore F1 by m"


# -- a layer of a model, with parts made here -----------------------------------------------------------


def folder_with(path, **config):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    return str(path)


@pytest.mark.parametrize(
    ("name", "config", "asked", "layer"),
    [
        ("m", {"num_hidden_layers": 6}, 0, 6),  # the last
        ("m", {"num_hidden_layers": 6}, 1, 1),
        ("m", {"num_hidden_layers": 6}, 6, 6),
        ("m", {"num_hidden_layers": 6}, 7, None),
        ("m", {"num_hidden_layers": 6}, -1, None),
        ("m", {"n_layers": 4}, 0, 4),  # as DistilBERT says it
        ("m", {"n_layers": 4}, 5, None),
        ("m", {"num_hidden_layers": 6, "n_layers": 4}, 0, 6),
        ("m", {}, 3, 3),  # nobody knows
        ("m", {}, 0, None),
        ("roberta-base", {"num_hidden_layers": 12}, 0, 10),  # that of bert-score
        ("roberta-base", {"num_hidden_layers": 12}, 12, 12),
        ("roberta-base", {"num_hidden_layers": 9}, 0, None),
    ],
)
def test_which_layer_is_taken(name, config, asked, layer, tmp_path):
    model = folder_with(tmp_path / name, **config)
    if layer is None:
        own = config.get("num_hidden_layers") or config.get("n_layers") or 0
        with pytest.raises(
            assay.errors.DesignError, match=f"^the model {name} has layers 1 to {own}; got layer {asked}$"
        ):
            LayerEncoder(model, asked)
    else:
        assert LayerEncoder(model, asked).layer == layer
        assert LayerEncoder(model, asked).name == f"{name},layer={layer}"


def test_an_encoder_is_its_weights_its_layer_and_what_it_does_with_long_texts(tmp_path):
    here, there = (folder_with(tmp_path / name, num_hidden_layers=3) for name in ("here", "there"))
    assert LayerEncoder(here) == LayerEncoder(there, 3, "refuse", "cpu")
    assert LayerEncoder(here) != LayerEncoder(here, 2)
    assert LayerEncoder(here) != LayerEncoder(here, long="cut")
    other = folder_with(tmp_path / "other", num_hidden_layers=3, seed=1)
    assert LayerEncoder(here) != LayerEncoder(other, 3)


READ = {"a": [(1, 0.0), (5, 1.0), (2, 0.0)], "b c": [(1, 0.0), (6, 1.0), (7, 1.0), (2, 0.0)], "-": [(1, 0.0), (2, 0.0)]}


def test_a_text_is_as_long_as_it_has_tokens_without_special_ones():
    encoder = SimpleNamespace(weights="w", long="refuse", _read=READ.get)
    assert LayerEncoder.lengths(encoder, ["b c", "-", "a"]).tolist() == [2, 0, 1]


def test_token_vectors_are_grouped_by_text_before_zeros():
    torch = pytest.importorskip("torch", reason='needs the extra "embed"')
    batches = []

    def vectors(tokens):
        batches.append(tokens)
        return [torch.tensor([[float(number), 1.0] for number in one]) for one in tokens]

    encoder = SimpleNamespace(device="cpu", _read=READ.get, _vectors=vectors)
    found = LayerEncoder.tokens(encoder, ["b c", "-", "a"])
    assert batches == [[[1, 2], [1, 5, 2], [1, 6, 7, 2]]]  # the shortest first
    assert found.start.tolist() == [0, 4, 6, 9]
    assert found.weight.tolist() == [0, 1, 1, 0, 0, 0, 0, 1, 0, 0]
    assert found.rows[:, 0].tolist() == [1, 6, 7, 2, 1, 2, 1, 5, 2, 0]
    assert found.rows[:, 1].tolist() == [1] * 9 + [0]


@pytest.mark.parametrize(("device", "most"), [("cpu", 2048), ("cuda", 32768)])
def test_a_batch_has_so_many_tokens_by_the_device(device, most, monkeypatch):
    torch = pytest.importorskip("torch", reason='needs the extra "embed"')
    monkeypatch.setattr(bertscore, "pick_device", lambda given: device)
    batches = []
    for n, tokens in ((2, most // 2), (3, (most + 1) // 3)):
        encoder = SimpleNamespace(
            device=None, _read=lambda text, n=tokens: [(3, 1.0)] * n,
            _vectors=lambda some: batches.append(len(some)) or [torch.ones((len(one), 1)) for one in some],
        )  # fmt: skip
        LayerEncoder.tokens(encoder, ["x", "y", "z"][:n])
    assert batches == [2, 2, 1]


@pytest.mark.parametrize(("pad", "filled"), [(9, 9), (None, 0)])
def test_a_batch_is_padded_and_masked_and_its_vectors_have_length_one(pad, filled, monkeypatch):
    torch = pytest.importorskip("torch", reason='needs the extra "embed"')
    asked = []

    class Model:
        device = "cpu"

        def __call__(self, ids, attention_mask):
            asked.append((ids.tolist(), attention_mask.tolist()))
            return (torch.stack([3.0 * ids, 4.0 * ids], dim=-1),)

    monkeypatch.setattr(bertscore, "folder_of", lambda model: model)
    monkeypatch.setattr(bertscore, "pick_device", lambda given: given)
    monkeypatch.setattr(bertscore, "_tokenizer", lambda folder: SimpleNamespace(pad_token_id=pad))
    monkeypatch.setattr(bertscore, "_model", lambda *given: asked.append(given) or Model())
    found = LayerEncoder._vectors(SimpleNamespace(model="m", layer=2, device="cpu"), [[5], [1, 2, 3]])
    assert asked == [("m", 2, "cpu"), ([[5, filled, filled], [1, 2, 3]], [[1, 0, 0], [1, 1, 1]])]
    assert [one.shape for one in found] == [(1, 2), (3, 2)]
    for one in found:
        assert np.asarray(one) == pytest.approx(np.tile([0.6, 0.8], (len(one), 1)))


@pytest.mark.parametrize("kind", ["RobertaTokenizer", "RobertaTokenizerFast", "GPT2TokenizerFast", "BertTokenizerFast"])
def test_a_first_word_is_read_like_any_other(kind, monkeypatch):
    asked = []
    made = type(kind, (), {})

    def from_pretrained(folder, **how):
        asked.append((folder, how))
        return made()

    library = SimpleNamespace(AutoTokenizer=SimpleNamespace(from_pretrained=from_pretrained))
    monkeypatch.setattr(bertscore, "require", lambda *what: library)
    assert isinstance(bertscore._tokenizer.__wrapped__(Path("f")), made)
    assert asked == [("f", {})] + [("f", {"add_prefix_space": True})] * (kind != "BertTokenizerFast")


class Part(SimpleNamespace):
    """Of a model: what it has, and where it was put."""

    def eval(self):
        return self

    def to(self, device):
        self.at = device
        return self


def loaded(model, monkeypatch, layer=2):
    model.config = SimpleNamespace(is_encoder_decoder=hasattr(model, "get_encoder"))
    library = SimpleNamespace(AutoModel=SimpleNamespace(from_pretrained=lambda folder: model))
    monkeypatch.setattr(bertscore, "require", lambda *what: library)
    monkeypatch.setattr(bertscore, "hide_progress_bars", nullcontext)
    found = bertscore._model.__wrapped__(Path("f"), layer, "cpu")
    assert found.at == "cpu"
    return found


def test_a_model_ends_with_the_layer_that_is_asked_for(monkeypatch):
    layers = ["first", "second", "third"]
    assert loaded(Part(encoder=Part(layer=layers)), monkeypatch).encoder.layer == layers[:2]
    assert loaded(Part(transformer=Part(layer=layers)), monkeypatch, 1).transformer.layer == layers[:1]
    assert loaded(Part(encoder=Part(block=layers)), monkeypatch).encoder.block == layers[:2]
    for name in ("block", "layers", "layer"):
        assert getattr(loaded(Part(**{name: layers}), monkeypatch), name) == layers[:2]
    half = Part(block=layers)
    assert loaded(Part(get_encoder=lambda: half), monkeypatch) is half
    assert half.block == layers[:2]
    shared = Part(encoder=Part(albert_layer_groups=["one"], config=SimpleNamespace(num_hidden_layers=12), layer=layers))
    assert loaded(shared, monkeypatch).encoder.config.num_hidden_layers == 2  # the same layer again and again
    assert shared.encoder.layer == layers
    with pytest.raises(
        assay.errors.DataError, match="does not know the layers of Part; take a model like BERT or RoBERTa"
    ):
        loaded(Part(), monkeypatch)


# -- pairs of texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "at_once"), [(1, [1, 1, 1]), (89, [1, 1, 1]), (90, [2, 1]), (134, [2, 1]), (135, [3])]
)
def test_pairs_of_like_lengths_are_matched_so_many_at_once(block, at_once, monkeypatch):
    """The longest of three tokens and vectors of six numbers: 3 · (2 · 6 + 3) = 45 numbers a pair."""
    monkeypatch.setattr(bertscore, "BLOCK", block)
    asked = []
    monkeypatch.setattr(bertscore, "_f", lambda tokens, a, b: asked.append([*zip(a, b, strict=True)]) or a + 10.0 * b)
    tokens = bertscore.Tokens(np.zeros((8, 6)), np.array([0, 3, 4, 6]), np.zeros(8))  # of 3, 1 and 2 tokens
    found = bertscore.score_pairs(tokens, np.array([0, 2, 1]), np.array([2, 1, 0]))
    assert list(map(len, asked)) == at_once
    assert [pair for some in asked for pair in some] == [(2, 1), (1, 0), (0, 2)]  # 2 and 1, 3 and 1, 3 and 2 tokens
    assert found.tolist() == [20, 12, 1]


def test_a_text_of_special_tokens_alone_is_like_nothing():
    rows = np.array([[1.0, 0], [1, 0], [0, 0]])
    tokens = bertscore.Tokens(rows, np.array([0, 1, 2]), np.array([0.0, 1, 0]))
    assert bertscore.score_pairs(tokens, np.array([0, 0, 1]), np.array([1, 0, 1])).tolist() == [0, 0, 1]

    class Empty(Words):
        def lengths(self, texts):
            return np.array([0 if text == "cat" else 2 for text in texts])

    score = BERTScore(Empty(), by_length=True)
    assert score("cat", "dogs ran") == 0  # infinitely longer
    assert score("mat dogs", "dogs ran") == pytest.approx(by_hand("mat dogs", "dogs ran"))


def test_tensors_are_matched_as_arrays_are():
    torch = pytest.importorskip("torch", reason='needs the extra "embed"')
    rows = np.random.default_rng(3).normal(size=(9, 3))
    start, weight = np.array([0, 2, 5, 8]), np.array([1.0, 0, 1, 1, 1, 0, 1, 1, 0])
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    by_arrays = bertscore.score_pairs(bertscore.Tokens(rows, start, weight), first, second)
    by_tensors = bertscore.score_pairs(bertscore.Tokens(torch.as_tensor(rows), start, weight), first, second)
    assert by_tensors == pytest.approx(by_arrays, abs=1e-6)  # tensors are of 32 bits


def test_scores_are_kept_where_an_encoder_has_a_key():
    class Kept(Words):
        key = "words"

    encoder = Kept()
    score = BERTScore(encoder)
    found = [score("cat mat", "dogs ran") for _ in range(2)]
    assert found[0] == found[1] == pytest.approx(by_hand("cat mat", "dogs ran"))
    assert set(encoder.asked.values()) == {1}

    class Never(Kept):
        def tokens(self, texts):
            pytest.fail("encoded again")

    assert BERTScore(Never())("dogs ran", "cat mat") == found[0]
