"""How alike two texts are, as one number; knows nothing of annotators.

Every similarity is a `protocol.Similarity`, got by its name or made from what a user has:

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
``s.about`` says in words which model was used; it is empty where a name says it all.
"""
