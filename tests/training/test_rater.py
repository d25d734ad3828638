"""Saved raters and their ratings of other texts: in Python, with assay judge and with assay train."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from teaching import QUICK, lessons, put_in_place, quick, reviews

import assay
from assay.cli import app as cli
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, JudgeError
from assay.training.rater import SavedRater, digest_of_text, licence_of, model_card, saved_rater

OPTIONS = {"document": "document", "epochs": 12, "patience": 12, "learning_rate": 0.02, "members": 2}


@pytest.fixture(scope="module")
def trained(tmp_path_factory, counting):
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch)
        folder = tmp_path_factory.mktemp("raters") / "rater"
        return folder, quick(reviews(40), **OPTIONS, encoders=counting, folder=str(folder))


@pytest.fixture
def rater(tmp_path, kept_encoder, trained):
    """A rater in a separate folder, and the result of its training."""
    shutil.copytree(trained[0], tmp_path / "rater")
    return tmp_path / "rater", trained[1]


def test_training_text_is_rated_by_encoders_not_trained_on_it(rater):
    folder, found = rater
    rated = SavedRater.load(folder).rate(found.trained.labels.items)
    wanted = found.predictions.filter(pl.col("family") == "encoder")
    both = rated.join(wanted, left_on=["item", "annotator"], right_on=["item", "rater"], suffix="_then")
    assert both.height == 3 * 40
    assert (both["value"] - both["value_then"]).abs().max() < 1e-6  # in batches of other texts
    assert (both["label"] == both["label_then"]).all()
    assert both.select(pl.col("provenance") == pl.format("held out, fold {} of 2", "fold")).to_series().all()
    assert rated["provenance"].n_unique() == 2


def test_time_stamps_are_removed_in_training_and_rating(tmp_path, kept_encoder):
    """A lesson with a stamp before each sentence is rated as the same lesson without."""
    labels = lessons(8)
    stamped = pl.col("text").map_elements(
        lambda one: "\n".join(
            f"[{k // 60:02d}:{k % 60:02d}] {part}." for k, part in enumerate(one.rstrip(".").split(". "))
        ),
        return_dtype=pl.String,
    )
    items = labels.items.with_columns(stamped, begins=4 * (3 - pl.col("number")))
    timed = Annotations.from_frame(labels.labels, judges=[], scale="1-5", items=items)
    how = {"document": "document", "encoders": kept_encoder}
    found = quick(timed, **how, starts="begins", folder=str(tmp_path / "rater"))
    texts, plain = found.trained.texts, labels.items["text"][0].rstrip(".").split(". ")
    assert texts.sentences[0] == [f"{one}." for one in plain]
    assert [texts.text_of(i) for i in range(3)] == [texts.sentences[0][k : k + 4] for k in (0, 4, 8)]
    with_times, without = (SavedRater.load(tmp_path / "rater").rate([one["text"][0]]) for one in (items, labels.items))
    assert with_times.equals(without)
    assert with_times["provenance"][0].startswith("held out")


def test_new_text_is_rated_by_all_encoders(rater):
    folder, _ = rater
    loaded = SavedRater.load(folder)
    rated = loaded.rate(["It was good there. It was good there.", "It was bad there. It was bad there."])
    assert set(rated["provenance"]) == {"new"}
    assert rated["annotator"].unique(maintain_order=True).to_list() == ["encoder", "encoder-1", "encoder-2"]
    good, bad = rated.filter(pl.col("annotator") == "encoder")["value"]
    assert good > bad
    label, words = loaded.rate_one("It was good there.", "regardless of the question's name")
    assert int(label) in range(1, 6)
    assert words.endswith("before rounding; new")
    with pytest.raises(DataError, match="1 item without a text in 'text': 2"):
        loaded.rate(["one.", " "])


def test_model_card_has_all_sections(rater):
    folder, found = rater
    card = (folder / "MODEL_CARD.md").read_text()
    assert card == model_card(found)
    for said in (found.signature, f"fingerprint {found.data}", "licence: apache-2.0", "2 folds of 20 groups",
                 "not a gold standard", "| ridge |  | RMSE |", "curves.csv", "on held-out documents"):  # fmt: skip
        assert said in card, said
    assert {path.name for path in folder.iterdir()} == {
        "rater.json", "weights.safetensors", "MODEL_CARD.md", "curves.csv", "predictions.csv", "folds.csv"
    }  # fmt: skip
    assert pl.read_csv(folder / "curves.csv").height == found.curves.height
    assert "It was" not in (folder / "rater.json").read_text(), "texts are identified by their digests only"


def test_load_refuses_invalid_folders_and_other_embeddings(rater, tmp_path, monkeypatch):
    folder, found = rater
    with pytest.raises(DataError, match="contains no trained rater"):
        SavedRater.load(tmp_path)
    with pytest.raises(DataError, match="already contains a trained rater"):
        found.save(folder)
    about = json.loads((folder / "rater.json").read_text())
    (folder / "rater.json").write_text(json.dumps({**about, "encoders": [{**about["encoders"][0], "key": "0ld"}]}))
    with pytest.raises(DataError, match=r"has other weights .* than in the training of .* \(0ld\)"):
        SavedRater.load(folder).rate(["A text."])
    (folder / "rater.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(DataError, match="in another format"):
        SavedRater.load(folder)


def test_unknown_criterion_is_refused(tmp_path, kept_encoder):
    labels = reviews(30)
    both = pl.concat([labels.labels.with_columns(criterion=pl.lit(name)) for name in ("food", "service")])
    table = Annotations.from_frame(both, judges=[], scale="1-5", items=labels.items)
    quick(table, document="document", encoders=kept_encoder, folder=str(tmp_path / "rater"))
    loaded = SavedRater.load(tmp_path / "rater")
    assert loaded.criteria == ("food", "service")
    loaded.rate_one("It was good.", "service")
    with pytest.raises(DesignError, match=r"criterion 'servce' is not in .*did you mean 'service'"):
        loaded.rate_one("It was good.", "servce")


def test_judge_command_uses_a_trained_rater(rater, tmp_path):
    pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
    pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
    import torch

    from assay.judging.run import judge_study
    from assay.reading import study_labels
    from assay.study.definition import load_study

    study = tmp_path / "study"
    study.mkdir()
    known = rater[1].trained.labels.items["text"][0]
    (study / "items.csv").write_text(f"item,text\na,{known}\nb,It was good there. It was kind there.\nc,\n")
    content = {
        "items": {"file": "items.csv"},
        "questions": [{"name": "stars", "text": "How good was it?", "scale": "1-5"}],
        "judges": [{"name": "trained", "provider": "trained", "model": "../rater"}],
    }
    (study / "study.yaml").write_text(yaml.safe_dump(content))
    saved_rater.cache_clear()
    loaded = load_study(study)
    done = judge_study(loaded)
    assert done.stopped is None
    assert not torch.are_deterministic_algorithms_enabled(), "items are rated in several threads"
    assert "item 'c' has no text in column 'text', which the rater was trained on" in done.summary()
    labels = study_labels(load_study(study))
    wanted = SavedRater.load(rater[0]).rate([known, "It was good there. It was kind there."])
    mine = dict(labels.labels.select("item", "label").iter_rows())
    assert list(mine.values()) == [int(one) for one in wanted.filter(pl.col("annotator") == "encoder")["label"]]
    assert labels.judges == ("trained",)
    (study / "study.yaml").write_text(yaml.safe_dump(content).replace("../rater", "../nothing"))
    with pytest.raises(JudgeError, match=r"cannot be asked: .* contains no trained rater"):
        judge_study(load_study(study), changed="new-version")


@pytest.mark.slow
def test_train_command_writes_rater_table_and_page(tmp_path, kept_encoder, capsys):
    labels = reviews(40)
    frame = labels.labels.join(labels.items, on="item")
    frame.write_csv(tmp_path / "labels.csv")
    options = [f"--{k}={v}" for k, v in QUICK.items() if k not in ("encoders", "together")]
    given = ["train", str(tmp_path / "labels.csv"), "--scale", "1-5", "--document", "document", "--text", "text",
             "--encoders", kept_encoder, *options, "--folder", str(tmp_path / "rater"), "--table",
             str(tmp_path / "with.csv"), "--output", str(tmp_path / "page.html")]  # fmt: skip
    with pytest.raises(SystemExit) as stopped:
        cli.main(given)
    out, err = capsys.readouterr()
    assert not stopped.value.code, err
    assert "ordinal regression" in out
    assert "provider: trained" in err
    assert assay.read(tmp_path / "with.csv", scale="1-5").judges == ("encoder",)
    page = (tmp_path / "page.html").read_text()
    for said in ("Agreement of the trained rater with annotators", "Training", "Sentence attributions"):
        assert said in page
    assert SavedRater.load(tmp_path / "rater").criteria == (None,)
    with pytest.raises(SystemExit) as stopped:
        cli.main(given)
    out, err = capsys.readouterr()
    assert stopped.value.code == 2
    assert "--force" in err or "already contains a trained rater" in err


# -- by hand, without weights -------------------------------------------------------------------------


def saved(*criteria: str | None, members: int = 2, known: tuple[str, ...] = (), **about) -> SavedRater:
    """An untrained rater with three folds; known texts were held out in the second."""
    names = ["encoder"] if members == 1 else [f"encoder-{m + 1}" for m in range(members)]
    targets = [{"criterion": one, "scale": "1-5", "categories": [1, 2, 3, 4, 5], "number": [1, 2, 3, 4, 5],
                "whole": True} for one in criteria]  # fmt: skip
    usual = {
        "targets": targets, "members": [{"name": name, "encoder": m % 2} for m, name in enumerate(names)],
        "folds": ["x", "y", "z"], "known": {digest_of_text(one): 1 for one in known}, "settings": {}, "threads": 1,
        "text": "text",
    }  # fmt: skip
    made = SavedRater(Path("there"), usual | about)
    made.__dict__["encoders"] = ["first", "second"]
    made.__dict__["fits"] = {(m, k): (m, k) for m in range(members) for k in range(3)}
    return made


@pytest.fixture
def by_fold(monkeypatch):
    """Member m of fold k predicts m + k for the first criterion, and twice that for the second."""
    from assay.training import encoder

    asked = []

    def rate_items(fit, material, items, device):
        asked.append((fit, material.vectors))
        m, k = fit
        return [np.full(len(items), c * float(m + k)) for c in range(1, 1 + len(material.targets))]

    monkeypatch.setattr(encoder, "rate_items", rate_items)
    monkeypatch.setattr(encoder, "settled", lambda threads: contextlib.nullcontext())
    monkeypatch.setattr("assay.training.rater.embed", lambda texts, encoder: encoder)
    monkeypatch.setattr("assay.training.rater.pick_device", lambda device: "cpu")
    monkeypatch.setattr("assay.training.rater.split_sentences", lambda text: text.split(". "))
    return asked


def test_known_text_is_rated_by_its_held_out_fold_and_new_text_by_all(by_fold):
    rater = saved("tone", "fact", known=("A known  text",))
    tone, fact = rater._values([["A known text"], ["New"]], [1, None])
    # Members say 0, 1, 2 and 1, 2, 3: of the second fold 1 and 2, on average 1 and 2.
    assert {name: value.tolist() for name, value in tone.items()} == {
        "encoder": [1.5, 1.5], "encoder-1": [1, 1], "encoder-2": [2, 2],
    }  # fmt: skip
    assert fact["encoder"].tolist() == [3, 3]
    assert [fit for fit, _ in by_fold] == [(m, k) for m in range(2) for k in range(3)]
    assert {vectors for (m, _), vectors in by_fold if m == 1} == {"second"}
    (alone,) = saved(None, members=1)._values([["A"], ["B"]], [2, 0])
    assert {name: value.tolist() for name, value in alone.items()} == {"encoder": [2, 0]}


def test_ratings_have_provenance(by_fold):
    rater = saved("tone", "fact", known=("A known text",))
    found = rater.rate(pl.DataFrame({"item": [7, 8], "text": [" A known\ntext ", "New"], "more": [1, 2]}))
    assert found.columns == ["item", "annotator", "criterion", "label", "value", "provenance"]
    mine = found.filter((pl.col("annotator") == "encoder") & (pl.col("criterion") == "fact"))
    assert mine.rows() == [
        ("7", "encoder", "fact", "3", 3.0, "held out, fold y of 3"), ("8", "encoder", "fact", "3", 3.0, "new"),
    ]  # fmt: skip
    assert found.select("criterion", "annotator").unique(maintain_order=True).rows() == [
        (criterion, name) for criterion in ("tone", "fact") for name in ("encoder", "encoder-1", "encoder-2")
    ]
    assert rater.rate(["x", "y"])["item"].unique(maintain_order=True).to_list() == ["1", "2"]
    with pytest.raises(DataError, match="2 items without a text in 'text': a, c"):
        rater.rate(pl.DataFrame({"item": ["a", "b", "c"], "text": [" ", "x", None]}))
    with pytest.raises(DataError, match="column 'item' is not in the table of texts"):
        rater.rate(pl.DataFrame({"text": ["x"]}))


def test_rate_removes_time_stamps_as_in_training(by_fold):
    seen = []
    rater = saved("tone", settings={"starts": "begins"})
    object.__setattr__(rater, "_values", lambda sentences, folds: seen.append(sentences) or [{"encoder": np.ones(1)}])
    rater.rate(["[0:01] One. Two."])
    plain = saved("tone")
    object.__setattr__(plain, "_values", lambda sentences, folds: seen.append(sentences) or [{"encoder": np.ones(1)}])
    plain.rate(["[0:01] One."])
    assert " ".join(seen[0][0]).split() == ["One.", "Two."]
    assert "".join(seen[1][0]).startswith("[0:01]")


def test_targets_have_a_scale_and_no_labels():
    (target,) = saved("tone").targets
    assert (target.criterion, target.categories, target.number.tolist(), target.whole) == (
        "tone", (1, 2, 3, 4, 5), [1, 2, 3, 4, 5], True,
    )  # fmt: skip
    assert (target.share.shape, len(target.mean), len(target.item), target.nominal) == ((0, 5), 0, 0, False)
    assert target.label_of(np.array([0.2, 4.6])) == [1, 5]


@pytest.mark.parametrize(("one", "other", "same"), [("a  b\nc", " a b c ", True), ("a b", "ab", False)])
def test_text_digest_ignores_white_space(one, other, same):
    assert (digest_of_text(one) == digest_of_text(other)) is same


def test_rate_one_describes_its_rating(by_fold):
    rater = saved("tone", "fact", known=("Known",))
    assert rater.rate_one("New", "tone") == ("1", "1.50 before rounding; new")
    assert rater.rate_one("Known", "fact") == ("3", "3.00 before rounding; held out, fold y of 3")
    with pytest.raises(DesignError, match="criterion 'other' is not in 'there'"):
        rater.rate_one("New", "other")
    only = saved("tone")
    assert only.rate_one("New", "other") == only.rate_one("New", "tone") == only.rate_one("New", None)


@pytest.mark.parametrize(
    ("readme", "licence"),
    [
        (None, "not stated in its files"), ("# A model", "not stated in its files"),
        ("---\nlicense:  mit \n---", "mit"), ("---\nlicence: cc-by-4.0\n", "cc-by-4.0"),
        ("x" * 4001 + "\nlicense: mit", "not stated in its files"),
        ("the license: mit", "not stated in its files"),
    ],
)  # fmt: skip
def test_licence_is_read_from_the_readme(tmp_path, monkeypatch, readme, licence):
    monkeypatch.setattr("assay.training.rater.folder_of", lambda model: tmp_path)
    if readme is not None:
        (tmp_path / "README.md").write_text(readme)
    assert licence_of("m") == licence


def test_load_refuses_another_format(tmp_path):
    with pytest.raises(DataError, match=r"contains no trained rater \(rater.json is missing\)"):
        SavedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text('{"format": 2, "assay": "9.9"}')
    with pytest.raises(DataError, match=r"was written by assay 9\.9 in another format"):
        SavedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text('{"format": 1, "targets": [{"criterion": null}, {"criterion": "b"}]}')
    assert SavedRater.load(tmp_path).criteria == (None, "b")
