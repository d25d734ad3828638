"""A judge that you train: an encoder over the sentences of a text, cross-fitted, beside its baselines."""
