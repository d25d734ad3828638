"""Topics: planted ones found, Hellinger's distance by hand, what depends on seeds and on how many texts there are."""

from __future__ import annotations

import inspect
import math
import sys
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

import assay
from assay.similarity import topics as module
from assay.similarity.embeddings import Embeddings, OwnEncoder
from assay.similarity.registry import NAMED, similarity_named
from assay.similarity.topics import ClusterTopics, LDATopics, Topical, TopicModel, stability

THEMES = [
    ["cat", "dog", "horse", "cow", "sheep", "graze", "bark"],
    ["stock", "bond", "market", "bank", "price", "trade", "yield"],
    ["river", "lake", "ocean", "rain", "flood", "freeze", "wave"],
]


def planted(n: int = 60, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of three themes in turn, half of whose words are of their theme, the others the same everywhere."""
    rng = np.random.default_rng(seed)
    texts = [" ".join(f"the {word} and" for word in rng.choice(THEMES[i % 3], 5)) + f" {i % 10}" for i in range(n)]
    return list(dict.fromkeys(texts)), np.array([i % 3 for i, text in enumerate(texts) if text not in texts[:i]])


def by_theme(texts: list[str]) -> np.ndarray:
    """An embedding that is made: how many words of each theme, and a little of each text's own."""
    rows = [[sum(word in theme for word in text.split()) for theme in THEMES] for text in texts]
    own = [np.random.default_rng(len(text) * 7 + ord(text[4])).normal(size=3) * 0.05 for text in texts]
    return np.array(rows) + np.array(own)


def clusters(**options: object) -> ClusterTopics:
    pytest.importorskip("sklearn", reason='needs the extra "topics"')
    given = {"min_size": 5, "min_samples": 5, "reducer": "pca", "dimensions": 2, **options}
    return ClusterTopics(embeddings=Embeddings(OwnEncoder(by_theme)), **given)


def lda(**options: object) -> LDATopics:
    pytest.importorskip("tomotopy", reason='needs the extra "topics"')
    pytest.importorskip("sklearn", reason='needs the extra "topics"')
    return LDATopics(**{"topics": 3, "iterations": 300, **options})


class Given(Topical):
    """Shares that are given by name."""

    name = "given"

    def model(self, texts):
        shares = {"a": [1, 0, 0], "b": [0, 1, 0], "c": [0.5, 0.5, 0], "d": [0.25, 0.25, 0.5]}
        rows = np.array([shares.get(text[0], [0, 0, 1]) for text in texts], dtype=float)
        return TopicModel(rows, (), rows.argmax(axis=1))


def test_hellinger_by_hand():
    texts = [f"{first}{letter}" for first in "abcd" for letter in "xyz"]
    matrix = Given().matrix(texts)
    at = {first: texts.index(f"{first}x") for first in "abcd"}
    assert matrix[at["a"], at["a"] + 1] == pytest.approx(1, abs=1e-7)
    assert matrix[at["a"], at["b"]] == 0
    # Σ √(p q) = √.5 between a and c, and 2 √(.5 · .25) between c and d.
    assert matrix[at["a"], at["c"]] == pytest.approx(1 - np.sqrt(1 - np.sqrt(0.5)))
    assert matrix[at["c"], at["d"]] == pytest.approx(1 - np.sqrt(1 - 2 * np.sqrt(0.125)))


@pytest.mark.parametrize("make", [clusters, lda])
def test_planted_topics_are_found(make):
    similarity = make()
    texts, theme = planted()
    matrix = similarity.matrix(texts)
    same = theme[:, None] == theme[None]
    assert matrix[same].mean() > 0.8 > 0.3 > matrix[~same].mean()
    model = similarity.model(texts)
    assert model.shares.shape == (len(texts), 4)
    assert np.allclose(model.shares.sum(axis=1), 1)
    assert len(model.words) == 3
    assert sorted(next(k for k, theme in enumerate(THEMES) if words[0] in theme) for words in model.words) == [0, 1, 2]
    assert len({(int(t), int(k)) for t, k in zip(theme, model.topic, strict=True) if k >= 0}) == 3
    assert "one minus Hellinger's distance" in similarity.about


@pytest.mark.parametrize("make", [clusters, lda])
def test_the_order_of_texts_changes_nothing_and_a_seed_gives_the_same_again(make):
    texts, _ = planted(45)
    first = make().matrix(texts)
    assert np.allclose(make().matrix(texts[::-1])[::-1, ::-1], first, atol=1e-12)
    assert np.allclose(make().fitted(texts).matrix(texts[:4]), first[:4, :4], atol=1e-12)
    groups = make().matrices([texts[:20], texts[20:]])
    assert np.allclose(groups[0], first[:20, :20], atol=1e-12)


@pytest.mark.parametrize("make", [clusters, lda])
def test_texts_without_words_are_no_topic(make):
    texts, _ = planted(45)
    matrix = make().matrix([*texts, "", "123 ?"])
    assert matrix[-2:, -2:].tolist() == [[1, 0], [0, 1]]
    assert (matrix[-2:, :-2] == 0).all()
    assert make().matrix([*texts, "", " "])[-2, -1] == 1
    assert "; 2 of 47 different texts have no topic" in make().fitted([*texts, "", "123 ?"]).about


def test_lda_learns_from_two_texts_with_words_and_not_from_one():
    alone = [f"{number} and the" for number in range(10)]
    found = lda(iterations=20).model([*alone, "rivers and fish", "rivers and boats"])
    assert found.topic[:10].tolist() == [-1] * 10
    assert (found.topic[10:] >= 0).all()
    assert {"rivers", "fish", "boats"} <= {word for topic in found.words for word in topic}
    with pytest.raises(assay.errors.DesignError, match="no two texts share words except the most common ones"):
        lda().model([*alone, "rivers and fish"])


def test_texts_are_not_alike_for_having_no_topic():
    """Else a clustering that leaves most texts out would call them all the same."""
    texts = [
        "axe one",
        "bob two",
        *(f"none {word}" for word in ("red", "old", "new")),
        *(f"a {word}" for word in ("big", "low", "far", "dry", "odd")),
    ]
    matrix = Given().matrix(texts)
    assert (matrix[2:5, :] == np.eye(10)[2:5]).all()


def test_clusters_that_leave_most_texts_out_are_refused():
    texts, _ = planted(45)
    odd = [f"zz{chr(97 + k % 26)}{chr(97 + k // 26)} qq" for k in range(80)]

    class Few(ClusterTopics):
        def _clusters(self, rows):
            label = np.full(len(rows), -1)
            label[:12] = [0, 1] * 6
            return label

    similarity = Few(embeddings=Embeddings(OwnEncoder(by_theme)), min_size=6, reducer="pca", dimensions=2)
    assert (similarity.model(texts).shares[:, -1] == 1).mean() < 0.5
    with pytest.raises(assay.errors.DesignError, match=r"have no topic, so that most similarities would say nothing"):
        similarity.matrix(sorted([*texts, *odd]))


@pytest.mark.parametrize(("without", "refused"), [(5, False), (6, True)])
def test_up_to_half_of_the_texts_may_have_no_topic(without, refused, monkeypatch):
    shares = np.zeros((10, 3))
    shares[:without, 2] = 1.0
    shares[without:, 0] = 1.0
    model = TopicModel(shares, (("a",), ("b",)), np.zeros(10, dtype=np.int64))
    monkeypatch.setattr(module, "topics_by_words", lambda words, label, n: model)
    monkeypatch.setattr(ClusterTopics, "_clusters", lambda self, rows: np.arange(10) % 2)
    similarity = clusters(min_size=5)
    if refused:
        with pytest.raises(assay.errors.DesignError, match="60% of 10 texts have no topic"):
            similarity.model(planted(10)[0])
    else:
        assert similarity.model(planted(10)[0]) is model


def test_outliers_join_the_nearest_topic_where_that_is_asked_for():
    texts = sorted(planted(45)[0])
    theme = np.array([by_theme([text])[0].argmax() for text in texts])

    class Few(ClusterTopics):
        """A clustering that knows the first four texts of each theme alone."""

        def _clusters(self, rows):
            label = np.full(len(rows), -1)
            for k in range(3):
                label[np.flatnonzero(theme == k)[:4]] = k
            return label

    kept = Few(embeddings=Embeddings(OwnEncoder(by_theme)), min_size=4, reducer="pca", dimensions=2)
    moved = Few(embeddings=kept.embeddings, min_size=4, reducer="pca", dimensions=2, outliers="nearest")
    assert (kept.model(texts).topic == -1).sum() == len(texts) - 12
    model = moved.model(texts)
    assert model.topic.tolist() == theme.tolist()
    assert model.moved == len(texts) - 12
    # Words of the texts that joined are words of their topic.
    assert {word for words in kept.model(texts).words for word in words} < {w for ws in model.words for w in ws}
    assert f"{len(texts) - 12} were in no cluster and have the nearest topic" in moved.fitted(texts).about
    assert "nearest" not in kept.fitted(texts).about
    # A word of one text only is too faint in its topic: the text has its cluster's all the same.
    rare = sorted([*texts, "zebra xylophone quux"])
    place = rare.index("zebra xylophone quux")
    theme = np.array([by_theme([text])[0].argmax() for text in rare])
    assert set(moved.model(rare).shares[place]) == {0, 1}
    assert moved.model(rare).shares[:, -1].sum() == 0
    assert "outliers=nearest" in moved.name != kept.name


def test_words_of_no_topic_have_a_share_of_none():
    texts, _ = planted(45)
    model = clusters().model(sorted([*texts, "zebra xylophone quux"]))
    place = sorted([*texts, "zebra xylophone quux"]).index("zebra xylophone quux")
    assert model.shares[place, -1] in (0, 1)
    only_common = lda(stop_words="english").model(sorted([*texts, "the and of"]))
    place = sorted([*texts, "the and of"]).index("the and of")
    assert only_common.shares[place].tolist() == [0, 0, 0, 1]
    assert only_common.topic[place] == -1


def test_stability_of_random_topics_is_low():
    texts, _ = planted()
    rng = np.random.default_rng(5)
    noise = [" ".join(rng.choice([w for theme in THEMES for w in theme], 4)) for _ in range(60)]
    assert stability(lda(), texts) > 0.95
    assert stability(lda(topics=20), noise) < 0.8
    with pytest.raises(assay.errors.DesignError, match="two seeds at least"):
        stability(lda(), texts, seeds=(1, 1))


def test_stability_is_the_mean_correlation_over_pairs_of_seeds():
    class Seeded(Topical):
        name = "seeded"

        def model(self, texts):
            rows = np.random.default_rng(self.seed).random((len(texts), 3))
            return TopicModel(rows / rows.sum(axis=1, keepdims=True), (), rows.argmax(axis=1))

    texts = [chr(97 + k) * 3 for k in range(12)]
    above = np.triu_indices(12, 1)
    each = [Seeded(seed=seed).matrix(texts)[above] for seed in (0, 1, 2)]
    wanted = [np.corrcoef(each[a], each[b])[0, 1] for a, b in ((0, 1), (0, 2), (1, 2))]
    assert stability(Seeded(), [*texts, texts[0]]) == pytest.approx(np.mean(wanted))
    assert stability(Seeded(), texts, seeds=[1, 2, 1]) == pytest.approx(wanted[2])


def test_shares_are_those_of_class_tf_idf_by_loops():
    """Grootendorst (2022), equation 2, in windows of four words; similarities below FAINT are 0."""
    pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(6)
    words = [[str(w) for w in rng.choice(list("abcdefgh") + THEMES[k % 3] * 2, rng.integers(1, 9))] for k in range(14)]
    words[3] = []
    label = np.array([0, 1, 2, -1, 1, 2, 0, -1, 2, 0, 1, 2, 0, -1])
    of = [Counter(w for one, k in zip(words, label, strict=True) if k == c for w in one) for c in range(3)]
    used = of[0] + of[1] + of[2]
    mean = used.total() / 3
    weight = {w: math.log(1 + mean / f) for w, f in used.items()}
    topics = [{w: f / one.total() * weight[w] for w, f in one.items()} for one in of]
    found = module.topics_by_words(words, label, 3)
    assert (module.WINDOW, module.FAINT) == (4, 0.1)
    for one, shares in zip(words, found.shares, strict=True):
        sums = [0.0] * 3
        for k in range(max(len(one) - 3, 1)):
            near = {w: many * weight.get(w, 0.0) for w, many in Counter(one[k : k + 4]).items()}
            length = math.sqrt(sum(v * v for v in near.values())) or 1.0
            for c, topic in enumerate(topics):
                size = math.sqrt(sum(v * v for v in topic.values()))
                cosine = sum(v * topic.get(w, 0.0) for w, v in near.items()) / length / size
                sums[c] += cosine if cosine >= 0.1 else 0.0
        wanted = [s / sum(sums) for s in sums] + [0.0] if sum(sums) else [0.0, 0.0, 0.0, 1.0]
        np.testing.assert_allclose(shares, wanted, atol=1e-12)
    for topic, said in zip(topics, found.words, strict=True):
        assert list(said) == sorted(topic, key=lambda w: (-topic[w], w))[:10]


def test_lda_has_the_priors_of_mallet():
    similarity, (texts, _) = lda(topics=4, iterations=50, seed=3), planted(30)
    tomotopy = pytest.importorskip("tomotopy")
    made = tomotopy.LDAModel(k=4, alpha=1.25, eta=0.01, seed=3)
    for text in texts:
        made.add_doc([word for word in module.words_of(text) if word not in ("the", "and")])
    made.burn_in, made.optim_interval = 10, 10
    made.train(50, workers=1)
    shares = np.array([doc.get_topic_dist() for doc in made.docs])
    found = similarity.model(texts)
    np.testing.assert_allclose(
        found.shares, np.column_stack([shares / shares.sum(axis=1, keepdims=True), np.zeros(30)])
    )
    assert found.topic.tolist() == shares.argmax(axis=1).tolist()
    assert [len(one) for one in found.words] == [10] * 4
    assert similarity.name == "lda,topics=4,iterations=50,stop_words=english,seed=3"
    assert similarity.about == (
        f"4 topics by LDA (tomotopy {tomotopy.__version__}, 50 iterations, seed 3); one minus Hellinger's distance of "
        "shares"
    )


@pytest.mark.simulation
@pytest.mark.filterwarnings("ignore")
def test_planted_topics_are_found_after_umap():
    pytest.importorskip("umap", reason='needs the extra "topics"')
    texts, theme = planted()
    matrix = clusters(reducer="umap").matrix(texts)
    same = theme[:, None] == theme[None]
    assert matrix[same].mean() > 0.8 > 0.3 > matrix[~same].mean()


@pytest.mark.parametrize(
    ("make", "n", "words"),
    [
        (lambda: clusters(), 6, "topics are learned from all texts that are given, and need 10 .* there are 6"),
        (lambda: clusters(min_size=25), 30, "topics of at least 25 texts cannot be two among 30 texts"),
        (lambda: clusters(min_size=10), 20, "were found among 20 texts, .* use a smaller min_size than 10"),
        (lambda: lda(), 6, "need 10 different ones"),
    ],
)
def test_words_of_each_error(make, n, words):
    texts, _ = planted()
    with pytest.raises(assay.errors.DesignError, match=words):
        make().matrix(texts[:n])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lda,topic=5", "option 'topic' is not in the similarity 'lda'; did you mean 'topics'"),
        ("lda,topics=many", "lda: topics must be a whole number; got 'many'"),
        ("lda:model", "the similarity 'lda' takes no model"),
        ("topics:nowhere/at/all", "there is no folder nowhere/at/all"),
        ("lda,stop_words=german", "stop_words must be english or none; got 'german'"),
    ],
)
def test_words_of_each_bad_name(name, words):
    with pytest.raises(assay.errors.AssayError, match=words):
        similarity_named(name)


@pytest.mark.parametrize(("module", "make"), [("tomotopy", lda), ("sklearn.cluster", clusters)])
def test_a_missing_extra_is_named_with_its_command(module, make, monkeypatch):
    similarity = make()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(assay.errors.AssayError, match=r"needs more than the base install: .*\[topics\]"):
        similarity.matrix(planted()[0])


@pytest.mark.parametrize(("name", "made"), [("topics", ClusterTopics), ("lda", LDATopics)])
def test_a_name_without_options_is_the_class_without_options(name, made):
    by_name = {one.name: one.default for one in inspect.signature(NAMED[name].make).parameters.values()}
    by_class = {one.name: one.default for one in fields(made) if one.name != "embeddings"}
    assert by_class.items() <= by_name.items()
    assert by_name.keys() - by_class.keys() <= {"model", "device"}


def test_the_least_that_topics_can_be():
    for option, least in (("topics", 2), ("iterations", 1), ("seed", 0)):
        made = similarity_named(f"lda,{option}={least}")
        assert getattr(made, option) == least
        with pytest.raises(assay.errors.DesignError, match=f"lda: {option} must be {least} or more; got '{least - 1}'"):
            similarity_named(f"lda,{option}={least - 1}")


def test_a_text_in_no_cluster_joins_the_one_whose_mean_is_nearest():
    rows = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8], [0.9, 0.1], [0.1, 0.9]])
    label = np.array([0, 0, 1, -1, -1, 1])
    assert module.nearest_clusters(rows, label, 2)[[0, 1, 2, 5]].tolist() == [0, 0, 1, 1]
    assert module.nearest_clusters(rows, label, 2)[4] == 0
    near = [(rows[3] @ mean) / np.linalg.norm(mean) for mean in (rows[:2].mean(axis=0), rows[[2, 5]].mean(axis=0))]
    assert module.nearest_clusters(rows, label, 2)[3] == int(np.argmax(near))


def test_texts_whose_words_are_of_no_topic_have_that_of_their_cluster():
    shares = np.array([[0.5, 0.5, 0], [0, 0, 1.0], [0, 0, 1.0]])
    found = module._place(TopicModel(shares, (), np.array([0, 1, 0])), 2)
    assert found.shares.tolist() == [[0.5, 0.5, 0], [0, 1, 0], [1, 0, 0]]
    assert (found.moved, found.placed) == (2, 2)
    assert shares[1].tolist() == [0, 0, 1]


def test_words_are_two_letters_or_more_in_lower_case():
    assert module.words_of("A Red-hot é à l’été, x2y 12 Über_all") == ["red", "hot", "été", "über", "all"]
    assert module.content_words(["the cat and I"], "none") == [["the", "cat", "and"]]
