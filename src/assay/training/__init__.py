"""Train a judge on human labels: a cross-fitted encoder over the sentences of a text, compared with baselines."""
