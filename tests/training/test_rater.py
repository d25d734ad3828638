"""Saved raters and their ratings of other texts: in Python, with assay judge and with assay train."""

from __future__ import annotations

import dataclasses
import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from teaching import QUICK, lessons, quick, reviews

import assay
from assay.cli import app as cli
from assay.data.annotations import Annotations
from assay.errors import DataError, DesignError, JudgeError
from assay.similarity.embeddings import SentenceEncoder
from assay.training.rater import SavedRater, digest_of_text, licence_of, model_card, saved_rater

OPTIONS = {"document": "document", "epochs": 12, "patience": 12, "learning_rate": 0.02, "members": 2}


@pytest.fixture(scope="module")
def trained(tmp_path_factory, counting):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE", counting[1])
        folder = tmp_path_factory.mktemp("raters") / "rater"
        return folder, quick(reviews(40), **OPTIONS, encoders=counting[0], folder=str(folder))


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


@pytest.fixture
def planted(tmp_path, kept_encoder):
    """Raters whose member m of fold k predicts m + k for the first criterion, and twice that for the second.

    There are three folds; known texts were held out in the second. Every other member has a narrower encoder.
    """
    from safetensors.numpy import save_file

    from assay.training import encoder

    models = [kept_encoder, str(Path(kept_encoder).parent / "narrow")]
    encoders = [{"model": one, "key": SentenceEncoder(one).key} for one in models]

    def save(*criteria: str | None, members: int = 2, known: Sequence[str] = (), fold: int = 1, **about) -> SavedRater:
        names = ["encoder"] if members == 1 else [f"encoder-{m + 1}" for m in range(members)]
        target = {"scale": "1-5", "categories": [], "number": [], "whole": True}
        sizes = encoder.Sizes(4, 1, 1, 4, 0.0, False, 0.3, 1, 1, 0.1, 1, 1, 1.0)
        arrays = {}
        for m, k in itertools.product(range(members), range(3)):
            width = (8, 3)[m % 2]
            empty = encoder.SequenceRater(width, sizes, [0] * len(criteria)).state_dict()
            arrays |= {f"{m}/{k}/{name}": 0 * value.numpy() for name, value in empty.items()}
            centre = np.array([c * float(m + k) for c in range(1, 1 + len(criteria))])
            parts = {
                "centre": centre,
                "spread": np.ones(len(criteria)),
                "blank": np.zeros(width),
                "curve": np.ones((1, 2)),
            }
            arrays |= {f"{m}/{k}/_{name}": value for name, value in parts.items()}
        save_file(arrays, tmp_path / "weights.safetensors")
        usual = {
            "format": 1, "targets": [{"criterion": one, **target} for one in criteria], "encoders": encoders,
            "members": [{"name": name, "encoder": m % 2} for m, name in enumerate(names)],
            "sizes": dataclasses.asdict(sizes), "heads": [0] * len(criteria), "folds": ["x", "y", "z"],
            "known": {digest_of_text(one): fold for one in known}, "settings": {}, "threads": 1,
        }  # fmt: skip
        (tmp_path / "rater.json").write_text(json.dumps(usual | about))
        return SavedRater.load(tmp_path)

    return save


GOOD, BAD = "It was good. It was plain.", "It was bad."


def test_known_text_is_rated_by_its_held_out_fold_and_new_text_by_all(planted):
    def values(rated: pl.DataFrame, criterion: str | None) -> dict[str, list[float]]:
        mine = rated.filter(pl.col("criterion").eq_missing(criterion))
        return {str(name): part["value"].to_list() for (name,), part in mine.group_by(["annotator"])}

    rated = planted("tone", "fact", known=("It was  good. It was plain.",)).rate([GOOD, BAD])
    # Members say 0, 1, 2 and 1, 2, 3: of the second fold 1 and 2, on average 1 and 2.
    assert values(rated, "tone") == {"encoder": [1.5, 1.5], "encoder-1": [1, 1], "encoder-2": [2, 2]}
    assert values(rated, "fact")["encoder"] == [3, 3]
    # Of three members the third says 2, 3, 4; of one alone, the second fold says 1 and all of them 1.
    three = values(planted("tone", members=3, known=(GOOD,)).rate([GOOD, BAD]), "tone")
    assert three["encoder"] == [2, 2]
    assert three["encoder-3"] == [3, 3]
    assert values(planted(None, members=1, known=(GOOD,)).rate([BAD, GOOD]), None) == {"encoder": [1, 1]}


@pytest.mark.parametrize("fold", [0, 1, 2])
def test_a_known_text_has_the_rating_of_its_fold(planted, fold):
    """Fold k predicts k, and the mean of the three is 1."""
    rated = planted(None, members=1, known=(GOOD,), fold=fold).rate([GOOD, BAD])
    assert rated["value"].to_list() == [fold, 1]


def test_ratings_have_provenance(planted):
    rater = planted("tone", "fact", known=(GOOD,))
    found = rater.rate(pl.DataFrame({"item": [7, 8], "text": [" It was good.\nIt was plain. ", BAD], "more": [1, 2]}))
    assert found.columns == ["item", "annotator", "criterion", "label", "value", "provenance"]
    mine = found.filter((pl.col("annotator") == "encoder") & (pl.col("criterion") == "fact"))
    assert mine.rows() == [
        ("7", "encoder", "fact", "3", 3.0, "held out, fold y of 3"), ("8", "encoder", "fact", "3", 3.0, "new"),
    ]  # fmt: skip
    assert found.select("criterion", "annotator").unique(maintain_order=True).rows() == [
        (criterion, name) for criterion in ("tone", "fact") for name in ("encoder", "encoder-1", "encoder-2")
    ]
    assert rater.rate([GOOD, BAD])["item"].unique(maintain_order=True).to_list() == ["1", "2"]
    with pytest.raises(DataError, match="2 items without a text in 'text': a, c"):
        rater.rate(pl.DataFrame({"item": ["a", "b", "c"], "text": [" ", "x", None]}))
    with pytest.raises(DataError, match="column 'item' is not in the table of texts"):
        rater.rate(pl.DataFrame({"text": ["x"]}))


@pytest.mark.parametrize(
    ("settings", "provenance"),
    [({"starts": "begins"}, "held out, fold y of 3"), ({}, "new"), ({"starts": None}, "new")],
)
def test_rate_removes_time_stamps_as_in_training(planted, settings, provenance):
    """With its stamp, the text is none of the training."""
    rater = planted("tone", known=(GOOD,), settings=settings)
    assert set(rater.rate(["[0:01] It was good. It was plain."])["provenance"]) == {provenance}


def test_targets_have_a_scale_and_no_labels(planted):
    steps = [1, 2, 3, 4, 5]
    one = {"criterion": "tone", "scale": "1-5", "categories": steps, "number": steps, "whole": True}
    (target,) = planted("tone", targets=[one]).targets
    assert (target.criterion, target.categories, target.number.tolist(), target.whole) == (
        "tone", tuple(steps), steps, True,
    )  # fmt: skip
    assert (target.share.shape, len(target.mean), len(target.item), target.nominal) == ((0, 5), 0, 0, False)
    assert target.label_of(np.array([0.2, 4.6])) == [1, 5]


@pytest.mark.parametrize(("one", "other", "same"), [("a  b\nc", " a b c ", True), ("a b", "ab", False)])
def test_text_digest_ignores_white_space(one, other, same):
    assert (digest_of_text(one) == digest_of_text(other)) is same


def test_rate_one_describes_its_rating(planted):
    rater = planted("tone", "fact", known=(GOOD,))
    assert rater.rate_one(BAD, "tone") == ("1", "1.50 before rounding; new")
    assert rater.rate_one(GOOD, "fact") == ("3", "3.00 before rounding; held out, fold y of 3")
    with pytest.raises(DesignError, match=f"criterion 'other' is not in '{rater.folder}'"):
        rater.rate_one(BAD, "other")
    only = planted("tone")
    assert only.rate_one(BAD, "other") == only.rate_one(BAD, "tone") == only.rate_one(BAD, None)


@pytest.mark.parametrize(
    ("readme", "licence"),
    [
        (None, "not stated in its files"), ("# A model", "not stated in its files"),
        ("---\nlicense:  mit \n---", "mit"), ("---\nlicence: cc-by-4.0\n", "cc-by-4.0"),
        ("x" * 4001 + "\nlicense: mit", "not stated in its files"),
        ("the license: mit", "not stated in its files"),
    ],
)  # fmt: skip
def test_licence_is_read_from_the_readme(tmp_path, readme, licence):
    (tmp_path / "config.json").write_text("{}")
    if readme is not None:
        (tmp_path / "README.md").write_text(readme)
    assert licence_of(str(tmp_path)) == licence


def test_load_refuses_another_format(tmp_path):
    with pytest.raises(DataError, match=r"contains no trained rater \(rater.json is missing\)"):
        SavedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text('{"format": 2, "assay": "9.9"}')
    with pytest.raises(DataError, match=r"was written by assay 9\.9 in another format"):
        SavedRater.load(tmp_path)
    (tmp_path / "rater.json").write_text('{"format": 1, "targets": [{"criterion": null}, {"criterion": "b"}]}')
    assert SavedRater.load(tmp_path).criteria == (None, "b")
