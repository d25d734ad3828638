"""Saved raters: weights, provenance, and ratings of other texts.

A text from training is rated by the encoders that were not trained on its document; a new text is rated by all.
Metadata are plain text, and weights are safetensors files, which contain numbers and no code.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from assay._version import __version__
from assay.data.scales import parse_scale
from assay.errors import DataError, DesignError, counted, listing, require, unknown
from assay.estimation.options import Settings
from assay.estimation.statistic import Floats
from assay.reporting.page import atomic_write
from assay.reporting.tables import number
from assay.similarity.embeddings import Encoder, SentenceEncoder, folder_of, pick_device
from assay.training import words
from assay.training.documents import (
    EXTRA,
    FAMILY,
    Target,
    Texts,
    embed,
    split_sentences,
    stamped_sentences,
    text_column,
)

if TYPE_CHECKING:
    from assay.training.encoder import TrainedEncoder

RATER_FILE, WEIGHTS_FILE, CARD_FILE = "rater.json", "weights.safetensors", "MODEL_CARD.md"
CURVES_FILE, PREDICTIONS_FILE, FOLDS_FILE = "curves.csv", "predictions.csv", "folds.csv"

FORMAT = 1
"""Format version of `RATER_FILE`; other versions are not read."""

NEW = "new"
"""Provenance of a text that was not in training."""

_ARRAYS = ("centre", "spread", "blank", "curve")


@dataclass(frozen=True, eq=False)
class SavedRater:
    """A trained rater, read from a folder.

    Attributes
    ----------
    folder : Path
    about : mapping
        Content of `RATER_FILE`: encoders, members, criteria, scales, sizes, folds, options, the data's fingerprint.
    """

    folder: Path
    about: Mapping[str, Any]

    @classmethod
    def load(cls, folder: str | Path) -> SavedRater:
        """Read a saved rater.

        Raises
        ------
        DataError
            If the folder has none, or one in the format of another version of assay.
        """
        path = Path(folder)
        if not (path / RATER_FILE).is_file():
            raise DataError(
                f"'{folder}' contains no trained rater ({RATER_FILE} is missing); make one with assay train"
            )
        about = json.loads((path / RATER_FILE).read_text(encoding="utf-8"))
        if about.get("format") != FORMAT:
            raise DataError(f"'{folder}' was written by assay {about.get('assay')} in another format; train it again")
        return cls(path, about)

    @property
    def criteria(self) -> tuple[str | None, ...]:
        """The rated criteria; only None if the labels had a single criterion."""
        return tuple(one["criterion"] for one in self.about["targets"])

    @cached_property
    def encoders(self) -> list[Encoder]:
        """The sentence-embedding models.

        Raises
        ------
        DataError
            If a model has other weights than in training.
        """
        found: list[Encoder] = []
        for one in self.about["encoders"]:
            made = SentenceEncoder(one["model"])
            if made.key != one["key"]:
                raise DataError(
                    f"'{one['model']}' has other weights ({made.key}) than in the training of '{self.folder}' "
                    f"({one['key']}); restore that model, or train again"
                )
            found.append(made)
        return found

    @cached_property
    def targets(self) -> list[Target]:
        """The rated targets, without labels."""
        none = np.empty(0)
        return [
            Target(
                one["criterion"], parse_scale(one["scale"]), tuple(one["categories"]), np.array(one["number"]),
                np.empty((0, len(one["categories"]))), none, none.astype(int), none.astype(int), none, one["whole"],
            )
            for one in self.about["targets"]
        ]  # fmt: skip

    @cached_property
    def fits(self) -> dict[tuple[int, int], TrainedEncoder]:
        """The trained encoder of each member in each fold."""
        load = require("safetensors.numpy", EXTRA, "a trained rater").load_file
        require("torch", EXTRA, "a trained rater")
        from assay.training.encoder import Sizes, TrainedEncoder

        every = load(self.folder / WEIGHTS_FILE)
        sizes, heads = Sizes(**self.about["sizes"]), tuple(self.about["heads"])
        found = {}
        for m in range(len(self.about["members"])):
            for k in range(len(self.about["folds"])):
                start = f"{m}/{k}/"
                mine = {name[len(start) :]: v for name, v in every.items() if name.startswith(start)}
                arrays = {name: mine.pop(f"_{name}") for name in _ARRAYS}
                found[m, k] = TrainedEncoder(mine, sizes, heads, **arrays)
        return found

    def rate(self, texts: pl.DataFrame | Sequence[str], *, text: str | None = None) -> pl.DataFrame:
        """Rate texts.

        Parameters
        ----------
        texts : frame with one row per item, column ``item`` and a column of texts; or a list of texts
        text : str, optional
            The column of the texts, as for `assay.train`.

        Returns
        -------
        polars.DataFrame
            One row per text, criterion and rater (the mean of the family first): ``item``, ``annotator``,
            ``criterion``, ``label`` (on its scale), ``value`` (before rounding), ``provenance`` (*new*, or the fold in
            which a text of the training was held out).
        """
        if not isinstance(texts, pl.DataFrame):
            texts = pl.DataFrame({"item": [str(k + 1) for k in range(len(texts))], "text": list(texts)})
        if "item" not in texts.columns:
            raise DataError(unknown("column", "item", texts.columns, "the table of texts"))
        column = text_column(texts, text)
        names, given = texts["item"].cast(pl.String).to_list(), texts[column].to_list()
        empty = [n for n, one in zip(names, given, strict=True) if not (one or "").strip()]
        if empty:
            raise DataError(f"{counted(len(empty), 'item')} without a text in '{column}': {listing(empty)}")
        if self.about["settings"].get("starts") is not None:  # time stamps were also removed in training
            given = ["\n".join(stamped_sentences(one)[0]) for one in given]
        folds = [self.about["known"].get(digest_of_text(one)) for one in given]
        values = self._values([split_sentences(one) for one in given], folds)
        provenance = [NEW if k is None else f"held out, fold {self.about['folds'][k]} of {len(self.about['folds'])}"
                      for k in folds]  # fmt: skip
        frames = []
        for c, target in enumerate(self.targets):
            for who, rows in values[c].items():
                shown = rows.max(axis=1) if target.nominal else rows
                frames.append(
                    pl.DataFrame(
                        {"item": names, "annotator": who, "criterion": target.criterion,
                         "label": [str(one) for one in target.label_of(rows)], "value": shown,
                         "provenance": provenance},
                        schema_overrides={"criterion": pl.String},
                    )
                )  # fmt: skip
        return pl.concat(frames)

    def _values(self, sentences: list[list[str]], folds: list[int | None]) -> list[dict[str, Floats]]:
        """By criterion, the rating of each text by the family and by each member."""
        from assay.training.encoder import Material, rate_items, settled

        at = np.arange(len(sentences))
        length = np.array([len(one) for one in sentences])
        texts = Texts(tuple(map(str, at)), sentences, at, 0 * at, length)
        vectors = [embed(texts, encoder) for encoder in self.encoders]
        found: list[dict[str, Floats]] = [{FAMILY: np.empty(0)} for _ in self.targets]
        device = pick_device(None)
        with settled(int(self.about["threads"])):
            for m, member in enumerate(self.about["members"]):
                material = Material(texts, vectors[member["encoder"]], self.targets, at, at)
                each = [
                    rate_items(self.fits[m, k], material, at, device) for k in range(len(self.about["folds"]))
                ]  # (folds, criteria, texts)
                for c in range(len(self.targets)):
                    several = np.stack([one[c] for one in each])
                    mean = several.mean(axis=0)
                    for i, fold in enumerate(folds):
                        if fold is not None:
                            mean[i] = several[fold, i]
                    found[c][member["name"]] = mean
        for one in found:
            if len(one) > 1:
                one[FAMILY] = np.mean([values for name, values in one.items() if name != FAMILY], axis=0)
        return found

    def rate_one(self, text: str, criterion: str | None) -> tuple[str, str]:
        """Return the family's label of one text, and its value before rounding and provenance in words.

        Raises
        ------
        DesignError
            If the rater was not trained on the criterion.
        """
        if criterion not in self.criteria and len(self.criteria) > 1:
            raise DesignError(unknown("criterion", criterion, [str(one) for one in self.criteria], f"'{self.folder}'"))
        c = self.criteria.index(criterion) if criterion in self.criteria else 0
        rows = self.rate([text]).filter(pl.col("annotator") == FAMILY)[c]
        return rows["label"][0], f"{number(rows['value'][0], 4)} before rounding; {rows['provenance'][0]}"


@lru_cache(maxsize=4)
def saved_rater(folder: Path) -> SavedRater:
    """Return a saved rater; each is read once."""
    return SavedRater.load(folder)


def digest_of_text(text: str) -> str:
    """Return a digest that identifies a text, regardless of white space."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=8).hexdigest()


# -- writing ----------------------------------------------------------------------------------------


class SavableRater(Protocol):
    """The parts of an `assay.training.train.TrainedRater` that are saved."""

    @property
    def curves(self) -> pl.DataFrame:
        """Losses by member, fold and epoch."""

    @property
    def predictions(self) -> pl.DataFrame:
        """Predictions by item and rater."""

    @property
    def folds(self) -> pl.DataFrame:
        """Fold of each item."""

    @property
    def trained(self) -> Any:
        """Weights, texts, targets and members."""

    @property
    def table(self) -> pl.DataFrame:
        """Measures by rater."""

    @property
    def signature(self) -> str:
        """Signature of the run."""

    @property
    def data(self) -> str:
        """Fingerprint of the data."""

    @property
    def settings(self) -> Settings:
        """All options."""

    @property
    def cautions(self) -> tuple[str, ...]:
        """Cautions about the result."""


def save_rater(found: SavableRater, folder: Path) -> Path:
    """Write a trained rater into a folder and remove its checkpoints.

    Raises
    ------
    DataError
        If the folder contains another trained rater.
    """
    trained = found.trained
    if not all(isinstance(one, SentenceEncoder) for one in trained.encoders):
        raise DesignError("a rater with a custom encoder cannot be saved in a folder")
    if (folder / RATER_FILE).exists():
        raise DataError(f"'{folder}' already contains a trained rater; choose another folder")
    save = require("safetensors.numpy", EXTRA, "a trained rater").save_file
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Floats] = {}
    for (m, k), fitted in trained.fits.items():
        arrays |= {f"{m}/{k}/{name}": np.ascontiguousarray(v) for name, v in fitted.weights.items()}
        arrays |= {f"{m}/{k}/_{name}": np.ascontiguousarray(getattr(fitted, name)) for name in _ARRAYS}
    with atomic_write(folder / WEIGHTS_FILE) as part:
        save(arrays, part)
    for name, frame in ((CURVES_FILE, found.curves), (PREDICTIONS_FILE, found.predictions), (FOLDS_FILE, found.folds)):
        with atomic_write(folder / name) as part:
            frame.write_csv(part)
    with atomic_write(folder / CARD_FILE) as part:
        part.write_text(model_card(found), encoding="utf-8")
    with atomic_write(folder / RATER_FILE) as part:  # last: it marks the rater as complete
        part.write_text(json.dumps(_describe(found), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shutil.rmtree(folder / "unfinished", ignore_errors=True)
    return folder


def _describe(found: SavableRater) -> dict[str, Any]:
    trained, texts = found.trained, found.trained.texts
    known = {}
    for i, fold in enumerate(trained.folds.fold.tolist()):
        whole = texts.text_of(i) if not texts.by_document else texts.sentences[texts.sequence[i]]
        known[digest_of_text(" ".join(whole))] = fold
    targets = [
        {"criterion": t.criterion, "scale": t.scale.spec, "categories": list(t.categories), "number": t.number.tolist(),
         "whole": t.whole}
        for t in trained.targets
    ]  # fmt: skip
    return {
        "format": FORMAT, "assay": __version__, "signature": found.signature, "data": found.data,
        "encoders": [{"model": one.model, "name": one.name, "key": one.key} for one in _models(found)],
        "members": [dataclasses.asdict(one) for one in trained.members], "targets": targets,
        "sizes": dataclasses.asdict(trained.sizes), "heads": list(next(iter(trained.fits.values())).heads),
        "text": text_column(trained.labels.items, trained.settings.text),
        "folds": list(trained.folds.names), "threads": trained.settings.threads,
        "settings": found.settings.to_dict(), "known": known,
    }  # fmt: skip


def _models(found: SavableRater) -> list[SentenceEncoder]:
    return [one for one in found.trained.encoders if isinstance(one, SentenceEncoder)]


def licence_of(model: str) -> str:
    """Return the licence stated at the top of the model's README."""
    readme = folder_of(model) / "README.md"
    if readme.is_file():
        head = readme.read_text(encoding="utf-8", errors="replace")[:4000]
        said = re.search(r"^licen[sc]e:\s*(\S.*)$", head, flags=re.M)
        if said:
            return said[1].strip()
    return "not stated in its files"


def model_card(found: SavableRater) -> str:
    """Return the model card: what users of the weights must know."""
    trained, sizes = found.trained, found.trained.sizes
    best = [(int(fit.curve[:, 1].argmin()) + 1, float(fit.curve[:, 1].min())) for fit in trained.fits.values()]
    epochs, losses = [one[0] for one in best], [one[1] for one in best]
    models = [f"- {one.name}, weights {one.key}, licence: {licence_of(one.model)}" for one in _models(found)]
    rated = [f"- {t.name or 'the label'}: {t.scale.describe()}" for t in trained.targets]
    table = ["| rater | criterion | measure | value | interval |", "|---|---|---|---|---|"]
    table += [
        f"| {row['rater']} | {row['criterion'] or ''} | {row['measure']} | {number(row['estimate'])} "
        f"| {number(row['low'])} to {number(row['high'])} |"
        for row in found.table.iter_rows(named=True)
    ]
    said = [f"- {line[:1].upper()}{line[1:]}" for line in words.sentences(found)]
    lines = [
        "# A trained rater", "", f"Written by assay {__version__}. `{found.signature}`", "",
        "It predicts the labels of these annotators for texts like those that they labelled. It is not a gold "
        "standard: it also learns their biases, and it is not validated for other kinds of texts.", "",
        "## Labels", "", *rated, "", "## Agreement with annotators", "", *said, "", *table, "",
        "## Training data", "",
        f"- {len(trained.texts.items):,} items, {counted(len(trained.people), 'annotator')}, fingerprint {found.data}",
        *[f"- {note}" for note in trained.notes], *[f"- excluded: {one}" for one in trained.excluded], "",
        "## Sentence embeddings", "", *models, "",
        "## Training", "",
        f"- {sizes.layers} layers, width {sizes.width}, {sizes.heads} heads, dropout {sizes.dropout:g}, windows of "
        f"{sizes.window} sentences; Adamax, highest step {sizes.learning_rate:g}",
        f"- {counted(len(trained.members), 'member')}, {len(trained.folds)} folds, seed {trained.settings.seed}, "
        f"{counted(trained.settings.threads, 'thread')} on {trained.device}",
        f"- lowest loss after {min(epochs)} to {max(epochs)} epochs: {number(min(losses))} to {number(max(losses))} "
        f"on held-out documents; all curves are in {CURVES_FILE}",
        "", *[f"Caution: {one}" for one in found.cautions],
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"
