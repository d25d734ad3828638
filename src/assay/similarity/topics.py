"""Topic similarity of texts: one minus Hellinger's distance of their topic shares.

    H(p, q) = √(1 − Σ √(p q))

Topics come from all texts of a call, in one of two ways that Nam et al. (2025) compare. ``topics`` clusters embeddings,
as BERTopic does (Grootendorst 2022): UMAP or principal components, HDBSCAN, and the words that are more frequent in a
cluster than elsewhere, by which each text's share of each topic is counted. ``lda`` is latent Dirichlet allocation by
collapsed Gibbs sampling, with a prior of each topic that is learned on the way, as MALLET does.

Both depend on their seed and on how many topics there are, and so do the similarities: `stability` says how much.
Texts are sorted before anything is learned, so that their order changes nothing.
"""

from __future__ import annotations

import itertools
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from assay.errors import DesignError, counted, require
from assay.similarity.embeddings import Embeddings, SentenceEncoder, principal, unit_rows
from assay.similarity.protocol import Floats, Ints, Similarity, VectorRows, Vectors

EXTRA = "topics"
LEAST = 10
"""Different texts with words from which topics are learned at least: below, clusters are single texts."""
WINDOW, FAINT = 4, 0.1
"""Window of words with common topics, and similarity to a topic that counts as 0 (as in BERTopic)."""

MOST_WITHOUT = 0.5
"""The largest share of texts without a topic with which similarities are given: beyond, most pairs would be 0."""

Reducer = Literal["umap", "pca"]
StopWords = Literal["english", "none"]
Outliers = Literal["keep", "nearest"]


@dataclass(frozen=True, eq=False)
class TopicModel:
    """A model fitted to texts.

    Attributes
    ----------
    shares : (texts, topics + 1) float
        Each text's shares, which add up to 1; the last column is the share of no topic.
    words : tuple of tuple of str
        The ten words that say most of each topic.
    topic : (texts,) int
        The cluster a text is in, or its largest share; -1 for none.
    moved : int
        Texts in no cluster that were put to the nearest one.
    placed : int
        Texts that are of their cluster's topic alone, because their words are of none.
    """

    shares: Floats
    words: tuple[tuple[str, ...], ...]
    topic: Ints
    moved: int = 0
    placed: int = 0


@dataclass(frozen=True)
class Topical(Vectors):
    """One minus Hellinger's distance of shares of topics, 0 to 1."""

    seed: int = 0

    @abstractmethod
    def model(self, texts: Sequence[str]) -> TopicModel:
        """Topics of distinct texts; those without words have a share of 1 of no topic."""

    def rows(self, texts: Sequence[str]) -> Floats:
        """Roots of shares; 0 for a text without a topic, so that two such texts are not similar."""
        return self._learn(texts)[0]

    def _learn(self, texts: Sequence[str]) -> tuple[Floats, TopicModel]:
        order = sorted(range(len(texts)), key=lambda i: texts[i])
        usable = [i for i in order if words_of(texts[i])]
        if len(usable) < LEAST:
            raise DesignError(
                f"topics are learned from all texts that are given, and need {LEAST} different ones with words; there "
                f"{'is' if len(usable) == 1 else 'are'} {len(usable)}. Ask for all of them at once"
            )
        model = self.model([texts[i] for i in usable])
        found = np.zeros((len(texts), model.shares.shape[1] - 1))
        found[usable] = np.sqrt(model.shares[:, :-1])
        return found, model

    def fitted(self, texts: Sequence[str]) -> Similarity:
        """The shares of these texts; ``about`` says how many have no topic, or another's."""
        known = list(dict.fromkeys(texts))
        rows, model = self._learn(known)
        without = int((~rows.any(axis=1)).sum())
        said = (
            f"{self.about}; {counted(len(model.words), 'topic')}; {without:,} of "
            f"{counted(len(known), 'different text')} have no topic and are like none"
        )
        if model.moved or model.placed:
            said += (
                f", {model.moved:,} were in no cluster and have the nearest topic, {model.placed:,} have their "
                "cluster's topic alone, because their words are of none"
            )
        return VectorRows(self.name, {text: k for k, text in enumerate(known)}, rows, self.of_products, said)

    def of_products(self, product: Floats) -> Floats:
        """1 − √(1 − Σ √(p q))."""
        return np.asarray(1 - np.sqrt(np.clip(1 - product, 0.0, 1.0)))

    def with_seed(self, seed: int) -> Self:
        """The same with another seed."""
        return replace(self, seed=seed)


def stability(similarity: Topical, texts: Sequence[str], seeds: Sequence[int] = (0, 1, 2)) -> float:
    """Stability over seeds: the mean correlation of similarities with two seeds, over pairs of texts.

    Near 1 they do not; topics of short or few texts are often below .5.
    """
    if len(set(seeds)) < 2:
        raise DesignError("stability compares the similarities of two seeds at least")
    distinct = list(dict.fromkeys(texts))
    above = np.triu_indices(len(distinct), 1)
    found = [similarity.with_seed(seed).matrix(distinct)[above] for seed in dict.fromkeys(seeds)]
    return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in itertools.combinations(found, 2)]))


@dataclass(frozen=True)
class ClusterTopics(Topical):
    """Topics that are clusters of embeddings.

    Attributes
    ----------
    embeddings : Embeddings
    min_size : int
        Texts that a topic has at least: HDBSCAN's ``min_cluster_size``, which decides how many topics there are.
    min_samples : int
        HDBSCAN's, 1 as in the paper, 0 for the value of ``min_size``; more leave more texts without a topic.
    reducer : {"umap", "pca"}
        What brings embeddings down to a few dimensions.
    dimensions, neighbours : int
        How many dimensions; of UMAP, how many neighbours.
    stop_words : {"english", "none"}
        Words by which no share of a topic is counted: those of English, or none, as in BERTopic.
    outliers : {"keep", "nearest"}
        Texts outside clusters have no topic, as in BERTopic and the paper, and no similarity to others. Or they join
        the topic whose mean embedding is nearest before words are counted, which is BERTopic's
        ``reduce_outliers(strategy="embeddings")``, and a text whose words are of no topic has its cluster's: for short
        texts, most of which HDBSCAN may leave out.
    """

    embeddings: Embeddings = field(default_factory=lambda: Embeddings(SentenceEncoder()))
    min_size: int = 10
    min_samples: int = 1
    reducer: Reducer = "umap"
    dimensions: int = 5
    neighbours: int = 15
    stop_words: StopWords = "english"
    outliers: Outliers = "keep"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``topics``, with the model and what decides the clusters."""
        how = f"reducer={self.reducer},min_size={self.min_size},stop_words={self.stop_words},seed={self.seed}"
        how += ",outliers=nearest" if self.outliers == "nearest" else ""
        return f"topics:{self.embeddings.encoder.name},{how}"

    @property
    def about(self) -> str:
        """How topics were found."""
        return (
            f"topics by clusters of at least {self.min_size} texts (HDBSCAN after {self.reducer} to {self.dimensions} "
            f"dimensions, seed {self.seed}) of {self.embeddings.about.removesuffix(', cosine')}; one minus Hellinger's "
            "distance of shares"
        )

    def model(self, texts: Sequence[str]) -> TopicModel:
        """Clusters, their words, and how much of each text is near those words."""
        if len(texts) < 2 * self.min_size:
            raise DesignError(
                f"topics of at least {self.min_size} texts cannot be two among {counted(len(texts), 'text')}: take a "
                "smaller min_size"
            )
        rows = unit_rows(self.embeddings.embeddings(texts))
        label = self._clusters(self._reduce(rows))
        n = int(label.max()) + 1
        if n < 2:
            raise DesignError(
                f"{'one topic was' if n else 'no topics were'} found among {counted(len(texts), 'text')}, so that all "
                f"similarities would be equal: use a smaller min_size than {self.min_size}, or another reducer"
            )
        words = content_words(texts, self.stop_words)
        if self.outliers == "nearest":
            return _place(topics_by_words(words, nearest_clusters(rows, label, n), n), int((label < 0).sum()))
        found = topics_by_words(words, label, n)
        without = float(np.mean(found.shares[:, -1] == 1))
        if without > MOST_WITHOUT:
            raise DesignError(
                f"{without:.0%} of {counted(len(texts), 'text')} have no topic, so that most similarities would say "
                "nothing: take outliers=nearest, a smaller min_size or min_samples, another reducer, or lda"
            )
        return found

    def _reduce(self, rows: Floats) -> Floats:
        most = min(self.dimensions, len(rows) - 2, rows.shape[1])
        if self.reducer == "pca":
            centred, components = principal(rows)
            return np.asarray(centred @ components[:most].T)
        umap = require("umap", EXTRA, "topics after UMAP")
        made = umap.UMAP(
            n_neighbors=min(self.neighbours, len(rows) - 1), n_components=most, min_dist=0.0, metric="cosine",
            random_state=self.seed, n_jobs=1, init="spectral" if most < len(rows) // 2 else "random",
        )  # fmt: skip
        return np.asarray(made.fit_transform(rows), dtype=float)

    def _clusters(self, rows: Floats) -> Ints:
        cluster = require("sklearn.cluster", EXTRA, "topics")
        made = cluster.HDBSCAN(min_cluster_size=self.min_size, min_samples=self.min_samples or None, copy=True)
        return np.asarray(made.fit_predict(rows), dtype=np.int64)


@dataclass(frozen=True)
class LDATopics(Topical):
    """Topics by latent Dirichlet allocation.

    Attributes
    ----------
    topics : int
        How many.
    iterations : int
        Rounds of Gibbs sampling.
    stop_words : {"english", "none"}
        Words that are left out: those of English, or none.
    """

    topics: int = 50
    iterations: int = 1000
    stop_words: StopWords = "english"

    @property
    def name(self) -> str:  # type: ignore[override]
        """``lda``, with what decides the topics."""
        return f"lda,topics={self.topics},iterations={self.iterations},stop_words={self.stop_words},seed={self.seed}"

    @property
    def about(self) -> str:
        """How topics were found, and by which release, on which digits depend."""
        version = require("tomotopy", EXTRA, "LDA").__version__
        return (
            f"{self.topics} topics by LDA (tomotopy {version}, {self.iterations:,} iterations, seed {self.seed}); one "
            "minus Hellinger's distance of shares"
        )

    def model(self, texts: Sequence[str]) -> TopicModel:
        """Priors as MALLET's: 5 shared out among the topics, .01 for words, the former learned every 10 rounds."""
        tomotopy = require("tomotopy", EXTRA, "LDA")
        words = content_words(texts, self.stop_words)
        made = tomotopy.LDAModel(k=self.topics, alpha=5 / self.topics, eta=0.01, seed=self.seed)
        for one in words:
            if one:
                made.add_doc(one)
        if len(made.docs) < 2:
            raise DesignError("no two texts share words except the most common ones: set stop_words=none")
        made.burn_in, made.optim_interval = min(200, self.iterations // 5), 10
        made.train(self.iterations, workers=1, show_progress=False)
        shares = np.zeros((len(texts), self.topics + 1))
        shares[:, -1] = 1.0
        filled = [i for i, one in enumerate(words) if one]
        shares[filled, :-1], shares[filled, -1] = [doc.get_topic_dist() for doc in made.docs], 0.0
        shares /= shares.sum(axis=1, keepdims=True)
        said = tuple(tuple(word for word, *_ in made.get_topic_words(k, top_n=10)) for k in range(self.topics))
        topic = np.where(shares[:, -1] == 1, -1, shares[:, :-1].argmax(axis=1))
        return TopicModel(shares, said, topic.astype(np.int64))


def nearest_clusters(rows: Floats, label: Ints, n: int) -> Ints:
    """Clusters of texts; texts outside clusters join the one with the nearest mean row."""
    centres = unit_rows(np.stack([rows[label == k].mean(axis=0) for k in range(n)]))
    return np.where(label < 0, (rows @ centres.T).argmax(axis=1), label)


def _place(model: TopicModel, moved: int) -> TopicModel:
    """Texts whose words are of no topic have that of their cluster."""
    left = np.flatnonzero(model.shares[:, -1] == 1)
    shares = model.shares.copy()
    shares[left, -1], shares[left, model.topic[left]] = 0.0, 1.0
    return replace(model, shares=shares, moved=moved, placed=len(left))


def words_of(text: str) -> list[str]:
    """Runs of at least two letters of any script, in lower case."""
    return re.findall(r"[^\W\d_]{2,}", text.lower())


def content_words(texts: Sequence[str], stop_words: StopWords) -> list[list[str]]:
    """The words of each text without stop words."""
    if stop_words == "none":
        return [words_of(text) for text in texts]
    gone = frozenset(require("sklearn.feature_extraction.text", EXTRA, "stop words").ENGLISH_STOP_WORDS)
    return [[word for word in words_of(text) if word not in gone] for text in texts]


def topics_by_words(words: list[list[str]], label: Ints, n: int) -> TopicModel:
    """Shares of topics by the words of each text: class TF-IDF, in windows of a few words.

    With f(w, c) the share of word w among the words of topic c, F(w) how often it is used in all topics and A the mean
    number of words of a topic, w weighs f(w, c) · log(1 + A / F(w)) (Grootendorst 2022, equation 2).
    """
    place: dict[str, int] = {}
    for word in sorted({word for one in words for word in one}):
        place[word] = len(place)
    counts = np.zeros((n, len(place)))
    for one, k in zip(words, label.tolist(), strict=True):
        if k >= 0:
            np.add.at(counts[k], [place[word] for word in one], 1)
    used = counts.sum(axis=0)
    weight = np.where(used > 0, np.log1p(counts.sum() / n / np.maximum(used, 1)), 0.0)
    topics = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1) * weight
    near = _windows(words, place, weight) if place else np.zeros((0, 0))
    likeness = np.asarray(near @ unit_rows(topics).T)
    likeness[likeness < FAINT] = 0.0
    owner = np.repeat(np.arange(len(words)), [max(len(one) - WINDOW + 1, 1) for one in words])
    shares = np.zeros((len(words), n + 1))
    np.add.at(shares[:, :n], owner, likeness)
    shares[shares.sum(axis=1) == 0, n] = 1.0
    names = list(place)
    said = tuple(tuple(names[w] for w in np.argsort(-row, kind="stable")[:10] if row[w] > 0) for row in topics)
    return TopicModel(shares / shares.sum(axis=1, keepdims=True), said, label)


def _windows(words: list[list[str]], place: dict[str, int], weight: Floats) -> Any:
    """Class TF-IDF of every few words in a row, of length 1: (windows, words), sparse."""
    sparse = require("scipy.sparse", EXTRA, "topics")
    cut = [one[k : k + WINDOW] for one in words for k in range(max(len(one) - WINDOW + 1, 1))]
    counted_words = [Counter(one) for one in cut]
    at = [place[word] for one in counted_words for word in one]
    value = np.array([many for one in counted_words for many in one.values()], dtype=float) * weight[at]
    start = np.cumsum([0, *map(len, counted_words)])
    found = sparse.csr_matrix((value, at, start), shape=(len(cut), len(place)))
    size = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
    return sparse.diags(1 / np.where(size > 0, size, 1.0)) @ found
