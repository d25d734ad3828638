"""Shared entities: Jaccard by its definition, with a function and with spaCy."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import assay
from assay.similarity.lexical import Entities
from assay.similarity.registry import similarity_named


def capitals(text: str) -> list[str]:
    return [word for word in text.split() if word[0].isupper()]


TEXTS = ["Anna met Bob in Rome Rome", "Bob left Rome", "nobody came", "it rained", "Carl came"]


def test_jaccard_by_hand():
    matrix = Entities(capitals).matrix(TEXTS)
    # {Anna, Bob, Rome} and {Bob, Rome}: two of three; nothing named beside nothing named is 1, beside something 0.
    assert matrix.tolist() == [
        [1, pytest.approx(2 / 3), 0, 0, 0], [pytest.approx(2 / 3), 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0],
        [0, 0, 0, 0, 1],
    ]  # fmt: skip
    assert Entities(capitals).name == "entities:capitals"


def test_each_text_is_read_once():
    seen = []

    def counting(text: str) -> list[str]:
        seen.append(text)
        return capitals(text)

    Entities(counting).matrices([TEXTS, TEXTS[::-1], TEXTS[:2]])
    assert sorted(seen) == sorted(TEXTS)


def test_a_pipeline_reads_all_texts_at_once_and_case_and_space_do_not_matter():
    calls = []

    class Pipeline:
        meta = {"lang": "en", "name": "made"}  # noqa: RUF012

        def pipe(self, texts):
            calls.append(list(texts))
            return [SimpleNamespace(ents=[SimpleNamespace(text=w) for w in text.split("/")]) for text in texts]

    similarity = Entities(Pipeline())
    assert similarity("New  York/Rome", "new york") == 0.5
    assert len(calls) == 1
    assert similarity.name == "entities:en_made"


@pytest.mark.parametrize("found", ["a text", 7, [["a", "list"]]])
def test_what_is_no_list_of_entities_is_refused(found):
    with pytest.raises(assay.DataError, match="must return a list of them; for 'one'"):
        Entities(lambda text: found).matrix(["one", "two"])


def test_a_missing_spacy_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(assay.AssayError, match=r"finding entities needs more .*\[entities\]"):
        similarity_named("entities:nowhere")


@pytest.mark.filterwarnings("ignore")
def test_a_spacy_model(tmp_path: Path, monkeypatch):
    spacy = pytest.importorskip("spacy", reason='needs the extra "entities"')
    pipeline = spacy.blank("en")
    pipeline.to_disk(tmp_path / "blank")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "X", "pattern": name} for name in ("Anna", "Bob", "Rome", "Carl")])
    pipeline.to_disk(tmp_path / "ruled")
    similarity = similarity_named(f"entities:{tmp_path / 'ruled'}")
    matrix = similarity.matrix(TEXTS)
    assert matrix.tolist() == Entities(capitals).matrix(TEXTS).tolist()
    assert "spaCy" in similarity.about
    with pytest.raises(assay.DesignError, match="finds no entities"):
        similarity_named(f"entities:{tmp_path / 'blank'}")
    with pytest.raises(assay.DataError, match="python -m spacy download xx_none"):
        similarity_named("entities:xx_none")
