"""Similarities by their names.

A name is one word, and for what needs a model or has options more than that::

    rouge-1
    embeddings:all-MiniLM-L6-v2
    embeddings:/path/to/a/folder,split=whole,device=cpu
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from assay.errors import DataError, DesignError, listing, unknown
from assay.plugins import Registry
from assay.similarity import bertscore
from assay.similarity.api_encoder import OPENAI, ApiEncoder
from assay.similarity.bertscore import BERTScore, LayerEncoder, Long
from assay.similarity.embeddings import DEFAULT_MODEL, Embeddings, Post, SentenceEncoder, Split
from assay.similarity.lexical import OVERLAPS, STEMMED, Stem, character_similarity, spacy_entities, word_similarity
from assay.similarity.protocol import Floats, OfFunction, OfMatrix, Similarity
from assay.similarity.topics import ClusterTopics, LDATopics, Outliers, Reducer, StopWords


def _embeddings(
    model: str = DEFAULT_MODEL, split: Split = "auto", post: Post = "none", device: str | None = None, batch: int = 64
) -> Similarity:
    return Embeddings(SentenceEncoder(model, device, batch), split, post)


def _api_embeddings(
    model: str, url: str = OPENAI, key: str = "OPENAI_API_KEY", dimensions: int | None = None, batch: int = 64,
    context: int = 8191, split: Split = "auto", post: Post = "none",
) -> Similarity:  # fmt: skip
    return Embeddings(ApiEncoder(model, url, key, dimensions, batch, context), split, post)


def _rouge(name: str) -> Callable[..., Similarity]:
    def stemmed(stem: Stem = "none") -> Similarity:
        return OVERLAPS[name] if stem == "none" else STEMMED[name]

    return stemmed


def _bertscore(
    model: str = bertscore.DEFAULT_MODEL, layer: int = 0, long: Long = "refuse", device: str | None = None
) -> Similarity:
    return BERTScore(LayerEncoder(model, layer, long, device))


def _bertscore_length(
    model: str = bertscore.DEFAULT_MODEL, layer: int = 0, long: Long = "refuse", device: str | None = None
) -> Similarity:
    return BERTScore(LayerEncoder(model, layer, long, device), by_length=True)


def _topics(
    model: str = DEFAULT_MODEL, min_size: int = 10, min_samples: int = 1, reducer: Reducer = "umap",
    dimensions: int = 5, neighbours: int = 15, stop_words: StopWords = "english", outliers: Outliers = "keep",
    seed: int = 0, device: str | None = None,
) -> Similarity:  # fmt: skip
    own = Embeddings(SentenceEncoder(model, device))
    return ClusterTopics(seed, own, min_size, min_samples, reducer, dimensions, neighbours, stop_words, outliers)


def _lda(topics: int = 50, iterations: int = 1000, stop_words: StopWords = "english", seed: int = 0) -> Similarity:
    return LDATopics(seed, topics, iterations, stop_words)


@dataclass(frozen=True)
class Named:
    """A named similarity, with the model and options that it accepts."""

    make: Callable[..., Similarity]
    what: str
    """One line for people."""


NAMED = Registry("assay.similarities", Named, {
    "words": Named(lambda: word_similarity, "cosine of word counts"),
    "characters": Named(lambda: character_similarity, "cosine of counts of three letters in a row"),
    "rouge-1": Named(_rouge("rouge-1"), "F1 of shared words"),
    "rouge-2": Named(_rouge("rouge-2"), "F1 of shared pairs of words"),
    "rouge-l": Named(_rouge("rouge-l"), "F1 of the longest common sequence of words"),
    "bleu": Named(lambda: OVERLAPS["bleu"], "BLEU, the longer text as the reference"),
    "bleu-mean": Named(lambda: OVERLAPS["bleu-mean"], "BLEU both ways round, averaged"),
    "chrf": Named(lambda: OVERLAPS["chrf"], "chrF, the longer text as the reference"),
    "bertscore": Named(_bertscore, "F1 of BERTScore: tokens matched by their vectors in context, by a model"),
    "bertscore-length": Named(_bertscore_length, "BERTScore with a penalty on texts of unequal length"),
    "embeddings": Named(_embeddings, "cosine of sentence embeddings by a model"),
    "api-embeddings": Named(_api_embeddings, "cosine of embeddings by a service that speaks as OpenAI does"),
    "entities": Named(spacy_entities, "Jaccard of the entities that a spaCy model finds"),
    "topics": Named(_topics, "shares of topics that are clusters of embeddings"),
    "lda": Named(_lda, "shares of topics by latent Dirichlet allocation"),
})  # fmt: skip
"""Similarities by name, including those of installed packages; ``similarity_named`` parses models and options."""

LEAST: Mapping[str, int] = {
    "batch": 1, "context": 16, "dimensions": 1, "min_size": 2, "min_samples": 1, "neighbours": 2, "topics": 2,
    "iterations": 1, "seed": 0,
}  # fmt: skip
"""The smallest value of a numeric option, if limited."""

FOR_HELP = "words, rouge-1, rouge-l, bleu, chrf, embeddings:MODEL and others"
"""Examples of names for the help of options."""


def similarity_named(name: str) -> Similarity:
    """The similarity of that name, such as ``rouge-1`` or ``embeddings:MODEL,split=whole``.

    Raises
    ------
    DesignError
        For a name, a model or an option that it does not know or take, with the nearest.
    """
    word, model, options = parse_name(name)
    if word not in NAMED and word not in NAMED.further:
        raise DesignError(_unknown(word))
    make = NAMED[word].make
    known = _parameters(make)
    if model is None and "model" in known and word == "api-embeddings":
        raise DesignError(f"after '{word}:' comes the model as the service calls it: {word}:text-embedding-3-small")
    if model is not None and "model" not in known:
        raise DesignError(f"the similarity '{word}' takes no model; got '{model}'")
    given: dict[str, Any] = {} if model is None else {"model": model}
    for option, text in options.items():
        if option not in known or option == "model":
            takes = [o for o in known if o != "model"]
            raise DesignError(unknown("option", option, takes, f"the similarity '{word}'"))
        given[option] = read_option(word, option, text, known[option])
    return make(**given)


def as_similarity(given: Any) -> Similarity:
    """A similarity from its name, a function of two texts, or an object with a method ``matrix`` for a list of
    texts."""
    if isinstance(given, Similarity):
        return given
    if isinstance(given, str):
        return similarity_named(given)
    if hasattr(given, "matrix"):
        return OfMatrix(given)
    if callable(given):
        return OfFunction(given)
    raise DesignError(f"a similarity is a name ({listing(NAMED.names, 99)}) or a function of two texts; got {given!r}")


def signed_similarity(given: Similarity) -> Any:
    """A similarity as settings have it: its name, if that gives the same similarity, as a model's name does not."""
    if given.about:
        return given
    try:
        return given.name if similarity_named(given.name) == given else given
    except DesignError:  # a name of the caller's function
        return given


def similarity_matrix(texts: Sequence[str], similarity: Any = "rouge-1") -> Floats:
    """Compute the similarity of every two texts; each text is tokenized or encoded once.

    Parameters
    ----------
    texts : sequence of str
        Texts; some may be the same.
    similarity : str, Similarity or callable
        A name, such as ``rouge-1`` (the default) or ``embeddings:MODEL``; a function of two texts; or what
        `assay.similarity` gives.

    Returns
    -------
    (texts, texts) array of float
        Symmetric; 1 on the diagonal, except for a function, which is called.

    Raises
    ------
    DesignError
        For an unknown name, or a function that gives no number or another one when its texts are swapped.
    DataError
        For values that are not texts, or a model that is not cached and cannot be downloaded.

    Examples
    --------
    >>> import assay
    >>> assay.similarity_matrix(["a red car", "a red bus", "no"]).round(2).tolist()
    [[1.0, 0.67, 0.0], [0.67, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Two of three words are shared by the first two; the third shares none.
    """
    if isinstance(texts, str):
        raise DataError("similarity_matrix needs a list of texts; got one text")
    return as_similarity(similarity).matrix(list(texts))


# -- private ----------------------------------------------------------------------------------------


def parse_name(name: str) -> tuple[str, str | None, dict[str, str]]:
    """Return the word, the model and the options of a name: ``word:model,option=value,…``."""
    head, *rest = re.split(r",(?=[a-z_]+=)", name.strip())
    word, colon, model = head.partition(":")
    options = dict(one.split("=", 1) for one in rest)
    if colon and not model.strip():
        raise DesignError(f"after '{word}:' comes a model: a folder, or a name on the Hugging Face Hub")
    return word.strip(), model.strip() if colon else None, options


def _unknown(word: str) -> str:
    """Words for a name that is not there: the nearest, or all of them."""
    message = f"similarity '{word}' is not in assay"
    near = difflib.get_close_matches(word.lower(), NAMED.names, n=1)
    if near:
        return f"{message}; did you mean '{near[0]}'?"
    return f"{message}; it has {', '.join(NAMED.names)}; or give a function of two texts"


def _parameters(make: Callable[..., Similarity]) -> dict[str, Any]:
    """The options of a similarity, with their types."""
    hints = get_type_hints(make)
    return {name: hints.get(name, str) for name in inspect.signature(make).parameters}


def read_option(word: str, option: str, text: str, hint: Any) -> Any:
    """Return an option's value from its text, by its type.

    Raises
    ------
    DesignError
        If the text is no such value, or the number is less than `LEAST` says.
    """
    words = get_args(hint) if get_origin(hint) is Literal else ()
    kinds = [k for k in get_args(hint) or (hint,) if k is not type(None)]
    if words and text not in words:
        raise DesignError(f"{word}: {option} must be {' or '.join(words)}; got '{text}'")
    if not words and kinds[0] in (int, float):
        try:
            number = kinds[0](text)
        except ValueError:
            kind = "a whole number" if kinds[0] is int else "a number"
            raise DesignError(f"{word}: {option} must be {kind}; got '{text}'") from None
        least = LEAST.get(option)
        if least is not None and number < least:
            raise DesignError(f"{word}: {option} must be {least} or more; got '{text}'")
        return number
    return text
