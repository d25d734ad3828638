"""Similarity of two texts as one number, independent of annotators.

Every similarity is a `protocol.Similarity`, from its name or from a user's function or model:

>>> from assay.similarity.registry import as_similarity
>>> s = as_similarity("rouge-1")  # a name, such as "embeddings:/path/to/model"; a function of two texts; a Similarity
>>> s("a cat", "a dog")
0.5
>>> s.matrix(["a cat", "a dog", "a cat"]).shape  # all pairs of a list, symmetric
(3, 3)
>>> [m.shape for m in s.matrices([["a", "b"], ["b", "c", "d"]])]  # of several lists: each text is encoded once over all
[(2, 2), (3, 3)]
>>> s.pairs(["a cat", "a"], ["a dog", "b"]).tolist()  # pair by pair
[0.5, 0.0]

Topics and post-processed embeddings learn from all the texts that one call gives: ask for everything in one call of
``matrix``, ``matrices`` or ``pairs``, or take ``s.fitted(texts)`` first, and compare any of those texts afterwards.
``s.about`` describes the model; it is empty if the name is complete.
"""
