"""All pairs of texts at once: what every similarity does, by name or by function, and what is refused."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from encoders import Bags

import assay
from assay.errors import DataError, DesignError
from assay.similarity import protocol, registry
from assay.similarity.bertscore import LAYERS
from assay.similarity.embeddings import Embeddings, OwnEncoder
from assay.similarity.lexical import OVERLAPS, word_tokens
from assay.similarity.protocol import OfFunction, OfMatrix, Similarity, Vectors, kept, key_of
from assay.similarity.registry import NAMED, as_similarity, similarity_matrix, similarity_named

TEXTS = [
    "The cat sat on the mat, purring.", "A cat sat on a mat", "no", "The dog ran away from the cat, and the cat sat.",
    "Stocks fell 3.5% today", "the the the cat", "é à la carte!", "ab", "A cat sat on a mat",
]  # fmt: skip
BY_WORDS = ["words", "characters", "rouge-1", "rouge-2", "rouge-l", "bleu", "bleu-mean", "chrf"]


def named(name: str) -> Similarity:
    if name in ("rouge-l", "bleu", "bleu-mean"):
        pytest.importorskip("rapidfuzz")
        pytest.importorskip("sacrebleu")
    return similarity_named(name)


@pytest.mark.parametrize("name", BY_WORDS)
def test_a_matrix_is_every_pair_asked_alone(name):
    similarity = named(name)
    matrix = similarity.matrix(TEXTS)
    for i, j in itertools.product(range(len(TEXTS)), repeat=2):
        assert matrix[i, j] == similarity(TEXTS[i], TEXTS[j])
    assert (matrix == matrix.T).all()
    assert (matrix.diagonal() == 1).all()
    assert matrix[1, 8] == 1
    assert 0 <= matrix.min() < 0.2
    groups = [TEXTS[:3], [], TEXTS[2:], ["no"]]
    for group, found in zip(groups, similarity.matrices(groups), strict=True):
        assert found.tolist() == similarity.matrix(group).tolist()
    assert similarity.pairs(TEXTS, TEXTS[::-1]).tolist() == np.fliplr(matrix).diagonal().tolist()


def test_bleu_and_chrf_are_those_of_sacrebleu():
    metrics = pytest.importorskip("sacrebleu").metrics
    bleu, chrf = metrics.BLEU(effective_order=True), metrics.CHRF()
    found = {name: named(name).matrix(TEXTS) for name in ("bleu", "bleu-mean", "chrf")}
    for i, j in itertools.combinations(range(len(TEXTS) - 1), 2):
        by_length = sorted((i, j), key=lambda k: (len(word_tokens(TEXTS[k])), TEXTS[k]))
        shorter, longer = (TEXTS[k] for k in by_length)
        there, back = (bleu.sentence_score(a, [b]).score / 100 for a, b in ((shorter, longer), (longer, shorter)))
        assert found["bleu"][i, j] == pytest.approx(there, abs=1e-12)
        assert found["bleu-mean"][i, j] == pytest.approx((there + back) / 2, abs=1e-12)
        assert found["chrf"][i, j] == pytest.approx(chrf.sentence_score(shorter, [longer]).score / 100, abs=1e-12)


def test_rouge_is_that_of_rouge_score():
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    wanted = scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    texts = [text for text in TEXTS if text.isascii()]
    for name in ("rouge-1", "rouge-2", "rouge-l"):
        matrix = named(name).matrix(texts)
        for i, j in itertools.combinations(range(len(texts)), 2):
            if texts[i] != texts[j]:
                score = wanted.score(texts[i], texts[j])[name.replace("-", "").replace("l", "L")].fmeasure
                assert matrix[i, j] == pytest.approx(score, abs=1e-12)


def test_texts_too_short_for_pairs_of_words_are_not_alike_for_that():
    assert named("rouge-2")("yes", "no") == 0
    assert named("rouge-2")("Yes!", "yes") == 1
    assert named("chrf")("a b", "ab") == 1


@pytest.mark.parametrize("name", BY_WORDS)
def test_empty_texts_are_alike_and_unlike_others(name):
    similarity = named(name)
    assert similarity("", "") == 1
    assert similarity("", "two words") == similarity("two words", "") == 0


def test_each_text_is_taken_apart_once_and_each_pair_asked_once():
    seen: Counter[str] = Counter()
    asked = []

    class Counting(Similarity):
        name = "counting"

        def compare(self, texts, first, second):
            seen.update(texts)
            asked.extend(zip(first.tolist(), second.tolist(), strict=True))
            return np.full(len(first), 0.5)

    groups = [["a", "b", "a"], ["b", "c"], ["c", "b", "a"]]
    found = Counting().matrices(groups)
    assert seen == {"a": 1, "b": 1, "c": 1}
    assert sorted(asked) == [(0, 1), (0, 2), (1, 2)]
    assert found[0].tolist() == [[1, 0.5, 1], [0.5, 1, 0.5], [1, 0.5, 1]]


def test_a_function_is_asked_both_ways_and_about_equal_texts():
    asked = []

    def common(a: str, b: str) -> float:
        asked.append((a, b))
        return len({*a} & {*b}) / 10

    matrix = similarity_matrix(["ab", "bc", "ab"], common)
    assert sorted(set(asked)) == [("ab", "ab"), ("ab", "bc"), ("bc", "ab"), ("bc", "bc")]
    assert matrix.tolist() == [[0.2, 0.1, 0.2], [0.1, 0.2, 0.1], [0.2, 0.1, 0.2]]
    assert as_similarity(common).name == "common"


def test_what_has_a_matrix_is_asked_once_for_each_list():
    class Own:
        name = "own"
        calls = 0

        def matrix(self, texts):
            Own.calls += 1
            return np.array([[float(a[0] == b[0]) for b in texts] for a in texts])

    groups = [["ab", "ac"], ["bx", "cx", "bx"]]
    assert [m.tolist() for m in as_similarity(Own()).matrices(groups)] == [
        [[1, 1], [1, 1]], [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    ]  # fmt: skip
    assert Own.calls == 2


class Wrong:
    def __init__(self, found: object) -> None:
        self.found = found

    def matrix(self, texts: list[str]) -> np.ndarray:
        return np.array(self.found, dtype=float)


@pytest.mark.parametrize(
    ("similarity", "words"),
    [
        ("rogue-1", "similarity 'rogue-1' is not in assay; did you mean 'rouge-1'"),
        ("Bleu", "did you mean 'bleu'"),
        ("zzz", "it has words, characters, rouge-1.*or give a function of two texts"),
        ("rouge-1:roberta", "'rouge-1' takes no model; got 'roberta'"),
        ("embeddings:", "after 'embeddings:' comes a model"),
        ("embeddings,splt=whole", "option 'splt' is not in the similarity 'embeddings'; did you mean 'split'"),
        ("embeddings,split=half", "split must be auto or sentences or whole; got 'half'"),
        ("embeddings,batch=ten", "batch must be a whole number; got 'ten'"),
        (7, "a similarity is a name .words.* or a function of two texts; got 7"),
        (lambda a, b: float("nan"), "of 'a' and 'a' is not a number"),
        (lambda a, b: float(a < b), "'a' and 'b' is 1, and another one when they are swapped .0.; .* symmetric"),
        (Wrong([[1, 0], [1, 1]]), "another one when they are swapped"),
        (Wrong([[1, 0]]), "gave .1, 2. numbers for pairs of 2 texts"),
    ],
)  # fmt: skip
def test_words_of_each_error(similarity, words):
    with pytest.raises(assay.errors.AssayError, match=words):
        similarity_matrix(["a", "b"], similarity)


def test_what_are_no_texts_is_refused():
    with pytest.raises(assay.errors.DataError, match="compares texts; got 3, which is int"):
        similarity_matrix(["a", 3])
    with pytest.raises(assay.errors.DataError, match="a list of texts; got one text"):
        similarity_matrix("a b")
    with pytest.raises(assay.errors.DataError, match="they have 1 and 2"):
        named("words").pairs(["a"], ["a", "b"])


def test_every_name_says_what_it_is():
    assert all(one.what and not one.what.endswith(".") for one in NAMED.values())
    assert OfFunction(len).name == "len"
    assert set(OVERLAPS) <= set(NAMED)


OPTIONS = {
    "bertscore": {"model": "roberta-large", "layer": 0, "long": "refuse", "device": None},
    "embeddings": {
        "model": "sentence-transformers/all-MiniLM-L6-v2", "split": "auto", "post": "none", "device": None, "batch": 64,
    },
    "api-embeddings": {
        "model": inspect.Parameter.empty, "url": "https://api.openai.com/v1", "key": "OPENAI_API_KEY",
        "dimensions": None, "batch": 64, "context": 8191, "split": "auto", "post": "none",
    },
    **{name: {"stem": "none"} for name in ("rouge-1", "rouge-2", "rouge-l")},
    "entities": {"model": "en_core_web_sm"},
    "topics": {
        "model": "sentence-transformers/all-MiniLM-L6-v2", "min_size": 10, "min_samples": 1, "reducer": "umap",
        "dimensions": 5, "neighbours": 15, "stop_words": "english", "outliers": "keep", "seed": 0, "device": None,
    },
    "lda": {"topics": 50, "iterations": 1000, "stop_words": "english", "seed": 0},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_options_that_are_not_named_are_these(name):
    """A name without options is what a signature shows; its meaning must not change."""
    found = {option: one.default for option, one in inspect.signature(NAMED[name].make).parameters.items()}
    assert found == OPTIONS.get(name.removesuffix("-length"), {})


@pytest.mark.parametrize(
    ("option", "least"),
    [("batch", 1), ("context", 16), ("dimensions", 1), ("min_size", 2), ("min_samples", 1), ("neighbours", 2),
     ("topics", 2), ("iterations", 1), ("seed", 0)],
)  # fmt: skip
def test_the_least_value_of_each_option(option, least):
    assert registry.read_option("x", option, str(least), int) == least
    assert registry.read_option("x", option, "1000", int | None) == 1000
    with pytest.raises(DesignError, match=f"x: {option} must be {least} or more; got '{least - 1}'"):
        registry.read_option("x", option, str(least - 1), int)


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("umap", Literal["umap", "pca"], "umap"), ("-3", int, -3), ("2.5", float, 2.5), ("cpu", str | None, "cpu"),
        ("tsne", Literal["umap", "pca"], "x: o must be umap or pca; got 'tsne'"),
        ("2.5", int, "x: o must be a whole number; got '2.5'"), ("much", float, "x: o must be a number; got 'much'"),
    ],
)  # fmt: skip
def test_an_option_is_read_as_its_kind(text, hint, value):
    if str(value).startswith("x: "):
        with pytest.raises(DesignError, match=value):
            registry.read_option("x", "o", text, hint)
    else:
        assert registry.read_option("x", "o", text, hint) == value


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("rouge-1", ("rouge-1", None, {})),
        (" lda,topics=5,seed=2", ("lda", None, {"topics": "5", "seed": "2"})),
        ("embeddings:a/b,c,split=whole", ("embeddings", "a/b,c", {"split": "whole"})),  # a comma in a folder's name
        ("api-embeddings: m ,url=http://x?a=b", ("api-embeddings", "m", {"url": "http://x?a=b"})),
    ],
)
def test_a_name_is_a_word_a_model_and_options(name, parts):
    assert registry.parse_name(name) == parts


def test_layers_are_those_of_the_package_bert_score():
    package = importlib.util.find_spec("bert_score")
    if package is None:
        pytest.skip("needs the package bert-score")
    tree = ast.parse(Path(package.origin).with_name("utils.py").read_text())  # to import it takes ten seconds
    theirs = next(
        ast.literal_eval(node.value) for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "model2layers"
    )  # fmt: skip
    assert {name.partition("/")[2] or name: layer for name, layer in theirs.items()}.items() >= LAYERS.items()


def test_embeddings_say_what_of_a_text_was_encoded():
    encoder = OwnEncoder(Bags())
    plain, after = Embeddings(encoder), Embeddings(encoder, "sentences", "top-third")
    assert (plain.name, plain.about) == ("embeddings:bags", "embeddings by bags of whole texts, cosine")
    assert after.name == "embeddings:bags,split=sentences,post=top-third"
    assert after.about == "embeddings by bags of the mean of a text's sentences after top-third, cosine"


@pytest.mark.parametrize("name", BY_WORDS)
def test_many_pairs_are_counted_as_few_are(name):
    similarity, n = named(name), len(TEXTS)
    more = [*TEXTS, *(f"{text} {k}" for k in range(4) for text in TEXTS)]
    assert n * (n - 1) // 2 < protocol.FEW <= 5 * n * (5 * n - 1) // 2
    assert np.allclose(similarity.matrix(more)[:n, :n], similarity.matrix(TEXTS), atol=1e-12)


class Halved(Vectors):
    """Rows of two numbers by name; orthogonal ones are half alike, so that texts without rows are recognizable."""

    name = "halved"

    def rows(self, texts):
        given = {"a": [1, 0], "b": [0, 1], "c": [0.6, 0.8]}
        return np.array([given.get(text, [0, 0]) for text in texts], dtype=float)

    def of_products(self, product):
        return (1 + product) / 2


def test_what_has_no_row_is_like_nothing_and_blank_texts_are_like_each_other():
    texts = ["a", "b", "c", "none", " ", "", "a"]
    wanted = np.array([
        [1, 0.5, 0.8, 0, 0, 0, 1], [0.5, 1, 0.9, 0, 0, 0, 0.5], [0.8, 0.9, 1, 0, 0, 0, 0.8], [0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1, 0], [1, 0.5, 0.8, 0, 0, 0, 1],
    ])  # fmt: skip
    np.testing.assert_allclose(Halved().matrix(texts), wanted)
    np.testing.assert_allclose(Halved().matrices([texts, ["c", "a"]])[0], wanted)
    np.testing.assert_allclose(Halved().matrices([["b"], ["c", "a"]])[1], [[1, 0.8], [0.8, 1]])
    np.testing.assert_allclose([[Halved()(one, other) for other in texts] for one in texts], wanted)
    fitted = Halved().fitted(texts[:4])
    assert fitted("a", "c") == 0.8
    assert fitted.fitted(["x"]) is fitted
    with pytest.raises(DataError, match="the similarity 'halved' was not fitted to 'x'; fit it to all texts"):
        fitted("a", "x")


@pytest.mark.parametrize("block", [1, 2, 4, 100])
def test_pairs_are_compared_some_at_a_time(monkeypatch, block):
    monkeypatch.setattr(protocol, "BLOCK", block)
    np.testing.assert_allclose(Halved().pairs(list("abcab"), list("bcabc")), [0.5, 0.9, 0.8, 0.5, 0.9])


@pytest.mark.parametrize(("n", "shown"), [(40, "x" * 40), (41, "x" * 37 + "...")])
def test_a_text_in_a_message_has_forty_characters(n, shown):
    class Unknown(Halved):
        def rows(self, texts):
            return np.ones((len(texts), 2))

        def of_products(self, product):
            return np.full_like(product, np.nan)

    with pytest.raises(DesignError, match=re.escape(f"of {shown!r} and 'a' is not a number")):
        Unknown().pairs(["x" * n], ["a"])


def rows_of(numbers: list[int]) -> np.ndarray:
    return np.array([[n, n + 0.5] for n in numbers])


@pytest.mark.parametrize(
    ("at_once", "steps"),
    [(0, [[0], [1], [3], [4]]), (1, [[0], [1], [3], [4]]), (2, [[0, 1], [3, 4]]), (3, [[0, 1, 3], [4]])],
)
def test_rows_that_are_not_there_are_made_so_many_at_once(at_once, steps):
    keys = [key_of(str(n)) for n in range(5)]
    kept("numbers", keys[2:3], lambda some: rows_of([2]))
    made: list[list[int]] = []
    make = lambda some: made.append(list(some)) or rows_of(some)  # noqa: E731
    assert kept("numbers", keys, make, at_once).tolist() == rows_of(list(range(5))).tolist()
    assert made == steps
    assert kept("numbers", [], make, at_once).shape == (0, 2)
    assert kept("nothing", [], make, at_once).shape == (0, 0)


def test_rows_are_kept_on_disk_once_and_read_by_others(kept_here: Path):
    """By their keys, in any order; what is cut off or of another size is made again."""
    keys = [key_of(str(n)) for n in range(4)]
    assert kept("numbers", keys[:2], rows_of).tolist() == rows_of([0, 1]).tolist()
    assert kept("numbers", keys[2:], lambda some: rows_of([n + 2 for n in some])).tolist() == rows_of([2, 3]).tolist()
    (folder,) = kept_here.iterdir()
    assert (folder / "what.txt").read_text() == "numbers\n"
    files = sorted(folder.glob("*.npz"))
    assert len(files) == 2
    protocol.forget_rows()  # another process
    never = lambda some: pytest.fail("made twice")  # noqa: E731
    assert kept("numbers", keys[::-1], never).tolist() == rows_of([3, 2, 1, 0]).tolist()
    np.savez(files[0], keys=np.frombuffer(keys[0], dtype=np.uint8), rows=rows_of([7, 8]))  # a key, and two rows
    protocol.forget_rows()
    made: list[int] = []
    kept("numbers", keys, lambda some: made.extend(some) or rows_of(some))
    assert len(made) == 2
    files[1].write_bytes(b"PK")
    protocol.forget_rows()
    assert kept("numbers", keys, lambda some: rows_of(some)).tolist() == rows_of([0, 1, 2, 3]).tolist()


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {}, "HOME/.cache/assay"), ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/assay"),
        ("linux", {"LOCALAPPDATA": "/local"}, "HOME/.cache/assay"),
        ("darwin", {"XDG_CACHE_HOME": "/x", "LOCALAPPDATA": "/local"}, "HOME/Library/Caches/assay"),
        ("win32", {"XDG_CACHE_HOME": "/x"}, "HOME/AppData/Local/assay"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/assay"),
        ("linux", {"ASSAY_CACHE": "/own"}, "/own"), ("win32", {"ASSAY_CACHE": "~/own"}, "HOME/own"),
        ("linux", {"ASSAY_CACHE": "off"}, None), ("darwin", {"ASSAY_CACHE": "NO"}, None),
        ("linux", {"ASSAY_CACHE": "0"}, None), ("linux", {"ASSAY_CACHE": ""}, "HOME/.cache/assay"),
    ],
)  # fmt: skip
def test_where_encodings_are_kept(platform, environment, folder, tmp_path, monkeypatch):
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    wanted = None if folder is None else Path(folder.replace("HOME", str(tmp_path)))
    assert protocol.cache_folder(platform) == wanted


def test_cache_key_ignores_order_and_includes_boundaries():
    assert key_of("a", "b") == key_of("b", "a")
    assert len(key_of("a")) == 16
    assert len({key_of("ab"), key_of("a", "b"), key_of("a"), key_of(), key_of("a", "a"), key_of("", "ab")}) == 6
    assert key_of("\ud800") != key_of("\ud801")
    data = b"".join(len(one).to_bytes(8, "little") + one for one in (b"a", b"bc"))
    assert key_of("bc", "a") == hashlib.blake2b(data, digest_size=16).digest()


def test_many_files_of_a_model_are_joined_into_one(kept_here: Path):
    """The 33rd is one too many; what they held is read again by another process."""
    assert protocol.MANY == 32
    for n in range(32):
        kept("numbers", [key_of(str(n))], lambda some, n=n: rows_of([n]))
    (folder,) = kept_here.iterdir()
    assert len(list(folder.glob("*.npz"))) == 32
    kept("numbers", [key_of("32")], lambda some: rows_of([32]))
    assert len(list(folder.glob("*.npz"))) == 1
    protocol.forget_rows()
    never = lambda some: pytest.fail("made twice")  # noqa: E731
    assert kept("numbers", [key_of(str(n)) for n in range(33)], never).tolist() == rows_of(list(range(33))).tolist()
    assert not list(folder.glob("*.part"))


def test_a_folder_that_cannot_be_written_or_is_off_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for place in (str(tmp_path / "file"), "off"):
        monkeypatch.setenv("ASSAY_CACHE", place)
        assert kept(f"numbers {place}", [key_of("1")], rows_of).tolist() == rows_of([0]).tolist()
        never = lambda some: pytest.fail("made twice")  # noqa: E731
        assert kept(f"numbers {place}", [key_of("1")], never).tolist() == rows_of([0]).tolist()
    assert [one.name for one in tmp_path.iterdir() if one.name != "kept"] == ["file"]


def test_cached_scores_ignore_pair_order(kept_here: Path):
    asked = []

    def score(first, second):
        asked.append((first.tolist(), second.tolist()))
        return first * 10.0 + second

    texts = ["a", "b", "c"]
    pairs = np.array([0, 0]), np.array([1, 2])
    assert protocol.cached_scores("s", texts, *pairs, score).tolist() == [1, 2]
    assert protocol.cached_scores("s", texts, np.array([1, 1]), np.array([0, 2]), score).tolist() == [1, 12]
    assert asked == [([0, 0], [1, 2]), ([1], [2])]


@pytest.mark.parametrize("n", [protocol.FEW - 1, protocol.FEW, protocol.FEW + 1])
def test_what_texts_share_is_the_smaller_count_however_many_pairs(n):
    counted = [Counter("aab"), Counter("abbc"), Counter()]
    rng = np.random.default_rng(n)
    first, second = rng.integers(0, 3, (2, n))
    table = [[3, 2, 0], [2, 4, 0], [0, 0, 0]]  # min(2, 1) of a and min(1, 2) of b are 2
    wanted = [table[i][j] for i, j in zip(first, second, strict=True)]
    assert protocol.shared_counts(counted, first, second).tolist() == wanted
    assert protocol.shared_counts(counted, first, second, block=7).tolist() == wanted
    assert protocol.shared_counts([Counter(), Counter()], np.zeros(n, dtype=int), np.ones(n, dtype=int)).sum() == 0


@pytest.mark.parametrize(
    ("there", "back", "refused"),
    [(1.0, 1.0 + 1.9e-6, False), (1.0, 1.0 + 2.1e-6, True), (0.0, 0.9e-6, False), (0.0, 1.1e-6, True),
     (float("nan"), 1.0, False), (1.0, float("inf"), False), (-1.0, 1.0, True)],
)  # fmt: skip
def test_a_millionth_is_no_other_number_when_texts_are_swapped(there, back, refused):
    class Own:
        name = "own"

        def matrix(self, texts):
            return np.array([[1, 0.5, there], [0.5, 1, 0.5], [back, 0.5, 1]])

    asked = ["a", "b", "c"], np.array([0, 0]), np.array([1, 2])
    if not refused:
        assert OfMatrix(Own()).compare(*asked)[0] == 0.5
        return
    words = f"the similarity 'own' of 'a' and 'c' is {there:.6g}, and another one when they are swapped ({back:.6g})"
    with pytest.raises(DesignError, match=re.escape(words)):
        OfMatrix(Own()).compare(*asked)


def test_non_finite_vector_error_names_its_texts():
    class Broken(Halved):
        def of_products(self, product):
            return np.where(product == 0.8, np.nan, product)

    for ask in (Broken().matrix, lambda texts: Broken().pairs(["b"], ["c"])):
        with pytest.raises(DesignError, match="the similarity 'halved' of 'b' and 'c' is not a number"):
            ask(["a", "b", "c"])


def test_names_of_what_is_given():
    def m(one, other):
        return 1.0

    class Nameless:
        name = ""

    assert OfFunction(m).name == "m"
    m.name = "n"
    assert OfFunction(m).name == "n"
    assert OfFunction(Nameless()).name == "similarity"
    assert OfMatrix(m).name == "n"
    assert OfMatrix(Wrong([])).name == "Wrong"


def test_the_wrong_number_of_answers_is_refused():
    class Short(Similarity):
        name = "short"

        def compare(self, texts, first, second):
            return np.zeros(len(first) - 1)

    with pytest.raises(DataError, match=r"the similarity 'short' gave \(2,\) numbers for 3 pairs"):
        Short().matrix(["a", "b", "c"])
    assert Short().matrix(["a", "a"]).tolist() == [[1, 1], [1, 1]]
    assert Short().matrices([]) == []
    assert Short().about == ""
