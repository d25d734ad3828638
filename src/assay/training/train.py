"""Train a judge on human labels of texts, and compare it with baselines.

Every item is rated by encoders that were not trained on its document (cross-fitting), so the predictions can be added
to the table as one more judge. The baselines use the same embeddings and the same folds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.errors import DataError, DesignError, counted, listing, require, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import IntervalSettings, question, short
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.reporting import pictures
from assay.similarity.embeddings import Encoder, pick_device
from assay.training import words
from assay.training.baselines import BASELINES, MEASURES, OF_CATEGORIES, cross_fitted, measure, measures_of
from assay.training.documents import (
    EXTRA,
    FAMILY,
    Folds,
    Target,
    Texts,
    TrainSettings,
    columns_together,
    documents_of,
    embed,
    encoders_of,
    gather_texts,
    make_folds,
    targets_of,
    text_column,
)
from assay.training.rater import RATER_FILE, save_rater

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from assay.training.encoder import Material, Sizes, TrainedEncoder

LONG = 12
"""Sentences per text above which the sizes for long texts are the default: reviews have 2, segments of lessons 48."""

MOST_WINDOW = 140
"""Largest default window: the sentences in about 12 minutes of a lesson, Hardy (2025, appendix D.1)."""

HELD = 0.15
"""Share of the training documents held out for early stopping: Hardy (2025) divides 75, 15 and 10 of 100."""

MOST_POINTS = 400
"""Most points of a rating along a document: more are indistinguishable in a chart."""


@dataclass(frozen=True)
class TrainedMember:
    """One member of the family: the index of its embeddings, and its seed."""

    name: str
    encoder: int
    seed: int


@dataclass(frozen=True, eq=False)
class TrainedRater(ResultOfRows):
    """Raters trained on human labels, and their agreement with annotators on texts held out in training.

    Attributes
    ----------
    predictions : polars.DataFrame
        One row per item, criterion and rater: ``label`` on the table's scale, ``value`` before rounding (for nominal
        categories, the predicted share of the label), ``fold``.
    curves : polars.DataFrame
        The loss of each member in each fold after each epoch, in training and on documents held out for early stopping.
    folds : polars.DataFrame
        ``item``, ``group`` (items that are always in the same fold), ``fold``.
    rows : polars.DataFrame
        One row per criterion, rater and measure: ``criterion`` (null if there is one), ``rater``, ``family`` (encoder,
        baseline), ``measure`` (r, RMSE and R; for nominal categories agreement instead of r), ``estimate``, ``low``,
        ``high``, ``n``, ``baseline`` (the best by RMSE), ``ahead`` (the rater's measure minus that baseline's, with
        the sign of RMSE reversed: above 0 is better), ``ahead_low``, ``ahead_high``, ``reason``.
    """

    rows: pl.DataFrame = field(metadata={"json": False})
    predictions: pl.DataFrame
    curves: pl.DataFrame
    folds: pl.DataFrame
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    ahead: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})
    trained: Training = field(repr=False, metadata={"json": False})

    def lead(self, rater: str, of: str, criterion: str | None = None) -> Estimate:
        """Return the lead of a rater over the best baseline in a measure, with its interval over documents."""
        return self.ahead[self.row_index(rater, of, criterion)]

    def row_index(self, rater: str, of: str, criterion: str | None = None) -> int:
        """Return the row of a rater and measure in `rows`, which is also its place in the estimates."""
        known = pl.col("criterion").is_null() if criterion is None else pl.col("criterion") == criterion
        mine = self.rows.with_row_index("_n").filter(known & (pl.col("rater") == rater) & (pl.col("measure") == of))
        if mine.height != 1:
            raise DesignError(unknown("rater", rater, self.rows["rater"].unique().sort().to_list()))
        return int(mine["_n"][0])

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the members of the family."""
        return tuple(one.name for one in self.trained.members)

    def side_by_side(self) -> pl.DataFrame:
        """Return one row per criterion and rater, with one column per measure."""
        first = OF_CATEGORIES[0] if self.rows["measure"].is_in([OF_CATEGORIES[0]]).any() else MEASURES[0]
        found = []
        for (criterion, rater), part in self.rows.group_by(["criterion", "rater"], maintain_order=True):
            row = {"criterion": criterion, "rater": rater}
            for one in part.iter_rows(named=True):
                name = one["measure"] if one["measure"] not in (MEASURES[0], OF_CATEGORIES[0]) else first
                row |= {name: one["estimate"], f"{name}_low": one["low"], f"{name}_high": one["high"]}
            found.append({**row, "n": part["n"][0]})
        frame = pl.DataFrame(found, infer_schema_length=None)
        return frame.drop("criterion") if frame["criterion"].null_count() == frame.height else frame

    def lead_table(self) -> pl.DataFrame:
        """Return the leads over the best baseline: one row per criterion and encoder, with one column per measure."""
        found = []
        some = self.rows.filter(pl.col("family") == FAMILY)
        for (criterion, rater), part in some.group_by(["criterion", "rater"], maintain_order=True):
            row = {"criterion": criterion, "rater": rater, "best baseline": part["baseline"][0]}
            for one in part.iter_rows(named=True):
                name = one["measure"]
                row |= {name: one["ahead"], f"{name}_low": one["ahead_low"], f"{name}_high": one["ahead_high"]}
            found.append(row)
        frame = pl.DataFrame(found, infer_schema_length=None)
        return frame.drop("criterion") if frame["criterion"].null_count() == frame.height else frame

    def summary(self) -> str:
        """Return the agreement with annotators, the comparison with the baselines, the folds and the signature."""
        lines = [one[:1].upper() + one[1:] for one in words.sentences(self)]
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the loss by epoch, in training and on held-out documents: one line per member and fold."""
        ax = pictures.axes(ax)
        for (_, _), part in self.curves.group_by(["rater", "fold"], maintain_order=True):
            ax.plot(part["epoch"], part["training"], color=pictures.FAINT, linewidth=1)
            ax.plot(part["epoch"], part["held_out"], color=pictures.JUDGE, linewidth=1, alpha=0.7)
        ax.plot([], [], color=pictures.FAINT, label="training")
        ax.plot([], [], color=pictures.JUDGE, label="documents held out")
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        pictures.legend(ax)
        return ax

    def annotations(self, *, baselines: bool = False) -> Annotations:
        """Return the table with the trained raters as additional judges.

        Labels are on the table's scale. Further columns are ``value``, the prediction before rounding, and
        ``provenance``, the fold in which the item was held out. Annotators have a ``family``.

        Parameters
        ----------
        baselines : bool
            Whether to add the baselines as judges of the family ``baseline``.
        """
        return with_predictions(self.trained.labels, self.predictions, self.trained.folds, baselines=baselines)

    def attribution(self, item: str, criterion: str | None = None) -> Attribution:
        """Return the contribution of each sentence to the family's rating of an item, by integrated gradients.

        Contributions are averaged over the encoders that were not trained on the item's document.
        """
        return self.trained.attribution(item, criterion)

    def along(self, item: str, criterion: str | None = None) -> pl.DataFrame:
        """Return the family's rating along the text of an item, by window.

        Returns
        -------
        polars.DataFrame
            ``start``, ``end`` (sentences of the window), ``value`` (for nominal categories, the largest share).
        """
        return self.trained.along(item, criterion)

    def save(self, folder: str | Path) -> Path:
        """Write weights, model card, folds, curves and predictions into a folder, which can rate other texts."""
        return save_rater(self, Path(folder))


@dataclass(frozen=True, eq=False)
class Attribution:
    """The contributions of sentences to a rating.

    Attributes
    ----------
    table : polars.DataFrame
        One row per sentence: ``sentence``, ``added``.
    rating, blank : float
        The rating of the text, and of the reference with neutral sentences.
    gap : float
        Their difference minus the sum of all contributions: the error of the method.
    """

    item: str
    table: pl.DataFrame
    rating: float
    blank: float

    @property
    def gap(self) -> float:
        """See the class."""
        return self.rating - self.blank - float(self.table["added"].sum())

    def plot(self, ax: Axes | None = None, most: int = 14) -> Axes:
        """Plot one bar per sentence in the order of the text; for a long text, the largest contributions."""
        rows = self.table.with_row_index("_n")
        if rows.height > most:
            rows = rows.sort(pl.col("added").abs(), descending=True).head(most).sort("_n")
        ax = pictures.axes(ax, height=0.9 + 0.3 * rows.height)
        y = np.arange(rows.height)[::-1]
        colours = [pictures.HUMAN if one >= 0 else pictures.JUDGE for one in rows["added"]]
        ax.barh(y, rows["added"].to_list(), color=colours, height=0.6)
        ax.axvline(0, color=pictures.FAINT, linewidth=1)
        ax.set_yticks(y, [_clip(one) for one in rows["sentence"]])
        ax.set_xlabel("contribution to the rating")
        return ax


def _clip(text: str, most: int = 52) -> str:
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def with_predictions(labels: Annotations, predictions: pl.DataFrame, folds: Folds, *, baselines: bool) -> Annotations:
    """Return the labels with those of the trained raters as judges."""
    some = predictions if baselines else predictions.filter(pl.col("family") == FAMILY)
    names = list(dict.fromkeys(some["rater"].to_list()))
    for name in names:
        if name in labels.annotators["annotator"].to_list():
            raise DataError(f"the table already has an annotator '{name}'; rename that annotator")
    provenance = pl.format(f"held out, fold {{}} of {len(folds)}", "fold")
    rows = some.select("item", pl.col("rater").alias("annotator"), "criterion", "label", "value", provenance=provenance)
    rows = rows if "criterion" in labels.labels.columns else rows.drop("criterion")
    kind = labels.labels.schema["label"]
    own = pl.Float64 if kind.is_integer() and not _whole(rows["label"]) else kind
    rows = rows.with_columns(_cast_labels(rows["label"], own))
    before = labels.labels.drop([c for c in ("value", "provenance") if c in labels.labels.columns])
    both = pl.concat([before.with_columns(pl.col("label").cast(own)), rows], how="diagonal_relaxed")
    if "repeat" in both.columns:
        both = both.with_columns(pl.col("repeat").fill_null(1))
    family = some.select(pl.col("rater").alias("annotator"), "family").unique(maintain_order=True)
    people = pl.concat([labels.annotators, family], how="diagonal_relaxed").drop("kind")
    made: Annotations = Annotations.from_frame(
        both, judges=[*labels.judges, *names], items=labels.items, annotator_table=people, conditions=labels.conditions,
        scale=labels.scales.get(None) or {str(c): s for c, s in labels.scales.items()}, exclude=[],
    )  # fmt: skip
    return made.also_called(labels.names)


def _whole(labels: pl.Series) -> bool:
    values = labels.cast(pl.Float64, strict=False).drop_nulls()
    return bool((values == values.round()).all())


def _cast_labels(labels: pl.Series, kind: Any) -> pl.Series:
    """Labels as text, cast to the type of the table's column."""
    return labels.cast(pl.Float64).cast(kind) if kind.is_numeric() else labels.cast(kind)


# -- training ---------------------------------------------------------------------------------------


@question(TrainSettings)
def train(labels: Annotations | Chunks, settings: TrainSettings) -> TrainedRater:
    """Train raters on human labels of texts, and measure their agreement with annotators on held-out documents.

    Each item is rated by encoders that were trained on the documents of the other folds, so the ratings can be used as
    those of a judge: `TrainedRater.annotations` is the table with them. Baselines are fitted in the same folds with the
    same embeddings.

    Parameters
    ----------
    labels : Annotations
        Human labels; the texts are a column of its items. All criteria are learnt jointly.

    Returns
    -------
    TrainedRater

    Raises
    ------
    MissingExtra
        If PyTorch is not installed; the message has the command that installs the extra ``train``.
    DataError
        If no column is the text, if there are fewer documents than folds, if given folds divide a document, or if the
        folder contains another rater.

    Notes
    -----
    The encoder is that of Hardy (2025, section 3 and appendix D), with attention pooling by criterion.

    Examples
    --------
    With the extra ``train``, `labels` with a text for each item, and an encoder from the Hugging Face Hub:

    >>> import assay
    >>> rater = assay.train(labels, text="review", folds=5)  # doctest: +SKIP
    >>> assay.agreement(rater.annotations)  # doctest: +SKIP
    """
    require("torch", EXTRA, "training a rater")
    require("safetensors", EXTRA, "training a rater")
    table = labels.in_memory("train").resolve_repeats(settings.repeats)
    trained = _prepare(table, settings)
    if settings.folder is not None and settings.encoders is not None and callable(settings.encoders):
        raise DesignError("a rater with a custom encoder cannot be saved in a folder; omit folder")
    trained.fit()
    found = _result(trained, table, settings)
    if settings.folder is not None:
        found.save(settings.folder)
    return found


def _prepare(labels: Annotations, settings: TrainSettings) -> Training:
    """Texts, targets and folds."""
    people = list(settings.annotators) if settings.annotators is not None else list(labels.humans)
    for name in people:
        if name not in (*labels.humans, *labels.judges):
            raise DesignError(unknown("annotator", name, labels.humans), option="annotators", value=name)
    if not people:
        raise DesignError("there are no human annotators to learn from; name some with annotators=[...]")
    documents = documents_of(labels, settings)
    texts, excluded, notes = gather_texts(labels.items, settings, documents[0])
    targets = targets_of(labels, people, texts.items)
    folds = make_folds(labels, texts, documents, settings)
    return Training(labels, texts, targets, folds, settings, tuple(people), excluded, notes)


class Training:
    """The raters with their training data."""

    def __init__(
        self, labels: Annotations, texts: Texts, targets: list[Target], folds: Folds, settings: TrainSettings,
        people: tuple[str, ...], excluded: list[Exclusion], notes: list[str],
    ) -> None:  # fmt: skip
        from assay.training.encoder import sizes_for

        self.labels, self.texts, self.targets, self.folds, self.settings = labels, texts, targets, folds, settings
        self.people, self.excluded, self.notes = people, excluded, [*folds.words, *notes]
        self.encoders: list[Encoder] = encoders_of(settings)
        self.device = pick_device(settings.device)
        lengths = texts.end - texts.first
        long = "long" if np.median(lengths) >= LONG else "short"
        self.size = long if settings.size == "auto" else settings.size
        reads = int(np.ceil(lengths.mean())) if texts.by_document else int(lengths.max())
        s = settings
        self.sizes: Sizes = sizes_for(
            self.size, s.window or min(reads, MOST_WINDOW), s.windows, layers=s.layers, width=s.width, heads=s.heads,
            feedforward=s.feedforward, dropout=s.dropout, epochs=s.epochs, patience=s.patience,
            learning_rate=s.learning_rate, batch=s.batch,
        )  # fmt: skip
        if settings.size == "auto":
            self.notes.append(f"sizes for {self.size} texts (median {np.median(lengths):.0f} sentences)")
        alone = len(self.encoders) * s.members == 1
        self.members = tuple(
            TrainedMember(FAMILY if alone else f"{FAMILY}-{e * s.members + k + 1}", e, s.seed + k)
            for e in range(len(self.encoders))
            for k in range(s.members)
        )
        self.fits: dict[tuple[int, int], TrainedEncoder] = {}
        self.vectors: list[list[Floats]] = []
        self.against_mean: dict[str | None, dict[str, Estimate]] = {}

    @property
    def data(self) -> str:
        """The fingerprint of all inputs that determine the results, except the options."""
        s = self.settings
        together = columns_together(self.labels, documents_of(self.labels, s), s)
        columns = [s.document, s.fold, s.order, s.starts, *together]
        used = digest_of_columns(self.labels, text_column(self.labels.items, s.text), *columns)
        keys = [one.key or short(one) for one in self.encoders]
        return fingerprint_with(self.labels.fingerprint, columns=used, encoders=keys, people=self.people)

    def fit(self) -> None:
        """Train every member in every fold."""
        from assay.training.encoder import EncoderFit, settled

        report = self.settings.progress or (lambda what, done, steps: None)
        report("Embedding sentences", 0, 1)
        self.vectors = [embed(self.texts, encoder) for encoder in self.encoders]
        steps = len(self.members) * len(self.folds)
        with settled(self.settings.threads), self._checkpoints() as folder:
            for m, member in enumerate(self.members):
                for k in range(len(self.folds)):
                    done = m * len(self.folds) + k
                    what = f"{member.name}, fold {k + 1} of {len(self.folds)}"
                    report(what, done, steps)
                    path = None if folder is None else folder / f"{member.name}-{k + 1}.pt"
                    material = self.material(member, k)
                    fit = EncoderFit(material, self.sizes, (member.seed, k), self.device, path, self._key(member, k))
                    self.fits[m, k] = fit.go(lambda what=what, done=done: report(what, done, steps))  # type: ignore[misc]

    def material(self, member: TrainedMember, fold: int) -> Material:
        """Return the data of a member in a fold: its training items, and those for early stopping."""
        from assay.training.encoder import Material

        labelled = np.zeros(len(self.texts.items), dtype=bool)
        for target in self.targets:
            labelled |= target.labelled
        rest = np.flatnonzero((self.folds.fold != fold) & labelled)
        parts = max(round(1 / HELD), 2)
        stop = self.folds.inner(rest, parts, self.settings.seed, 3, fold) == 0
        if stop.all() or not stop.any():
            raise DataError(
                f"fold {fold + 1} leaves {counted(len(set(self.folds.group[rest].tolist())), 'document')} for "
                "training, one of which is required for early stopping; use more documents"
            )
        return Material(self.texts, self.vectors[member.encoder], self.targets, rest[~stop], rest[stop])

    @contextmanager
    def _checkpoints(self) -> Iterator[Path | None]:
        """The folder of the checkpoints; files of another training are not changed."""
        if self.settings.folder is None:
            yield None
            return
        folder = Path(self.settings.folder)
        if folder.is_file():
            raise DataError(f"'{folder}' is a file; choose a folder with folder='...'")
        if (folder / RATER_FILE).exists():
            raise DataError(f"'{folder}' already contains a trained rater; choose another folder with folder='...'")
        inside = folder / "unfinished"
        inside.mkdir(parents=True, exist_ok=True)
        yield inside

    def _key(self, member: TrainedMember, fold: int) -> str:
        """The key of a checkpoint, which must match to continue from it."""
        import torch

        s = {k: v for k, v in self.settings.to_dict().items() if k not in ("n_resamples", "confidence", "members")}
        made = [self.data, s, member.encoder, member.seed, fold, self.device.partition(":")[0], torch.__version__]
        return hashlib.blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=8).hexdigest()

    def ratings(self) -> dict[str, list[Floats]]:
        """Return predictions by rater, criterion and item, from encoders not trained on the item's document."""
        from assay.training.encoder import rate_items, settled

        found: dict[str, list[Floats]] = {}
        with settled(self.settings.threads):
            for m, member in enumerate(self.members):
                values = [np.full(t.share.shape if t.nominal else t.mean.shape, np.nan) for t in self.targets]
                for k in range(len(self.folds)):
                    items = np.flatnonzero(self.folds.fold == k)
                    material = self.material(member, k)
                    for c, one in enumerate(rate_items(self.fits[m, k], material, items, self.device)):
                        values[c][items] = one
                found[member.name] = values
        if len(self.members) == 1:
            return found
        mean = [np.mean([found[one.name][c] for one in self.members], axis=0) for c in range(len(self.targets))]
        return {FAMILY: mean, **found}

    # -- explanations --

    def _place(self, item: str, criterion: str | None) -> tuple[int, int]:
        if item not in self.texts.items:
            raise DataError(unknown("item", item, self.texts.items, "the texts"))
        names = [target.criterion for target in self.targets]
        if criterion is None and len(names) == 1:
            return self.texts.items.index(item), 0
        if criterion not in names:
            raise DesignError(unknown("criterion", criterion, [str(n) for n in names], "the table"))
        return self.texts.items.index(item), names.index(criterion)

    def attribution(self, item: str, criterion: str | None = None) -> Attribution:
        """Return the contribution of each sentence in an item's windows."""
        from assay.training.encoder import attribute, settled, windows_of_items

        i, c = self._place(item, criterion)
        windows = windows_of_items(self.texts, np.array([i]), self.sizes.window)
        s, fold = int(self.texts.sequence[i]), int(self.folds.fold[i])
        added, rating, blank = np.zeros(int(self.texts.length[s])), [], []
        share = 1 / (len(windows) * len(self.members))
        with settled(self.settings.threads):
            for m, member in enumerate(self.members):
                for start, end in zip(windows.start.tolist(), windows.end.tolist(), strict=True):
                    rows = self.vectors[member.encoder][s][start:end]
                    one, of_text, of_blank = attribute(self.fits[m, fold], rows, self.targets[c], c)
                    added[start:end] += share * one
                    rating.append(of_text)
                    blank.append(of_blank)
        first, last = int(windows.start.min()), int(windows.end.max())
        table = pl.DataFrame({"sentence": self.texts.sentences[s][first:last], "added": added[first:last]})
        return Attribution(item, table, float(np.mean(rating)), float(np.mean(blank)))

    def along(self, item: str, criterion: str | None = None) -> pl.DataFrame:
        """Return the rating of each window of an item's text."""
        from assay.training.encoder import Windows, predict, settled, value_of

        i, c = self._place(item, criterion)
        s, fold = int(self.texts.sequence[i]), int(self.folds.fold[i])
        n = int(self.texts.length[s])
        last = max(n - self.sizes.window, 0)
        starts = np.unique(np.linspace(0, last, min(last + 1, MOST_POINTS)).round().astype(np.int64))
        ends = np.minimum(starts + self.sizes.window, n)
        windows = Windows(np.full(len(starts), s), starts, ends, np.full(len(starts), i))
        values = []
        with settled(self.settings.threads):
            for m, member in enumerate(self.members):
                shares, means = predict(self.fits[m, fold], self.material(member, fold), windows, self.device)
                values.append(value_of(self.targets[c], shares[c], means[:, c]))
        value = np.mean(values, axis=0)
        return pl.DataFrame({"start": starts, "end": ends, "value": value.max(axis=1) if value.ndim > 1 else value})


def _result(trained: Training, labels: Annotations, settings: TrainSettings) -> TrainedRater:
    how = IntervalSettings(
        method="percentile", n_resamples=settings.n_resamples, confidence=settings.confidence, seed=settings.seed
    )
    ratings = trained.ratings()
    frames, predictions, estimates, leads = [], [], [], []
    for c, target in enumerate(trained.targets):
        straight = cross_fitted(trained.texts, trained.vectors[0], target, trained.folds)
        each = {name: values[c] for name, values in ratings.items()} | straight
        measured = measure(target, each, trained.folds, len(trained.people), how)
        names = list(each)
        best = min(straight, key=lambda name: measured.value[3 * names.index(name) + 1])
        ahead = _leads(measured, names, best)
        trained.against_mean[target.criterion] = {
            m: _leads(measured, names, BASELINES[0])[k] for k, m in enumerate(measures_of(target))
        }
        frames.append(_rows(target, measured, ahead, names, best, int(target.labelled.sum())))
        estimates += list(measured)
        leads += list(ahead)
        predictions += [_prediction_rows(trained, target, name, value) for name, value in each.items()]
    run = _run(trained, labels, settings)
    return TrainedRater(
        pl.concat(frames), pl.concat(predictions), _curves(trained), _fold_table(trained), run, tuple(estimates),
        tuple(leads), trained,
    )  # fmt: skip


def _leads(measured: Estimates, names: Sequence[str], other: str) -> Estimates:
    """Each rater's measures minus those of another, with the sign of errors reversed."""
    q = 3 * len(names)
    weights, base = np.zeros((q, q)), 3 * names.index(other)
    for k in range(q):
        sign = -1.0 if k % 3 == 1 else 1.0
        weights[k, k] += sign
        weights[k, base + k % 3] -= sign
    return measured.contrast(weights)


def _rows(
    target: Target, measured: Estimates, ahead: Estimates, names: Sequence[str], best: str, n: int
) -> pl.DataFrame:
    rows = []
    for k, name in enumerate(names):
        for j, of in enumerate(measures_of(target)):
            one, lead = measured[3 * k + j], ahead[3 * k + j]
            none = name == best  # no lead over itself
            rows.append(
                {
                    "criterion": target.criterion, "rater": name,
                    "family": "baseline" if name in BASELINES else FAMILY, "measure": of, **one.row(), "n": n,
                    "baseline": best, "ahead": None if none else lead.estimate,
                    "ahead_low": None if none else lead.low, "ahead_high": None if none else lead.high,
                    "reason": one.reason or (None if np.isfinite(one.low) else "undefined for these labels"),
                }
            )  # fmt: skip
    kinds = {
        "criterion": pl.String,
        "reason": pl.String,
        **dict.fromkeys(("ahead", "ahead_low", "ahead_high"), pl.Float64),
    }
    return pl.DataFrame(rows, schema_overrides=kinds)


def _prediction_rows(trained: Training, target: Target, name: str, value: Floats) -> pl.DataFrame:
    labels = [str(one) for one in target.label_of(value)]
    return pl.DataFrame(
        {
            "item": trained.texts.items, "criterion": target.criterion, "rater": name,
            "family": "baseline" if name in BASELINES else FAMILY, "label": labels,
            "value": value.max(axis=1) if target.nominal else value,
            "fold": [trained.folds.names[k] for k in trained.folds.fold],
        },
        schema_overrides={"criterion": pl.String},
    )  # fmt: skip


def _curves(trained: Training) -> pl.DataFrame:
    rows = [
        {"rater": trained.members[m].name, "fold": trained.folds.names[k], "epoch": e + 1, "training": float(one[0]),
         "held_out": float(one[1])}
        for (m, k), fitted in trained.fits.items()
        for e, one in enumerate(fitted.curve)
    ]  # fmt: skip
    return pl.DataFrame(rows)


def _fold_table(trained: Training) -> pl.DataFrame:
    folds = trained.folds
    return pl.DataFrame(
        {"item": trained.texts.items, "group": folds.group, "fold": [folds.names[k] for k in folds.fold]}
    )


def cautions_of(curves: Sequence[Floats], epochs: int, documents: int) -> list[str]:
    """Return what to be careful about: most trainings end before their loss does, or intervals rest on few documents.

    Parameters
    ----------
    curves : sequence of (epochs, 2) float
        Losses of each training, as in `TrainedEncoder.curve`.
    epochs : int
        The most epochs of a training.
    documents : int
        Number of groups that are resampled.
    """
    found = []
    unfinished = sum(int(one[:, 1].argmin()) + 1 == len(one) == epochs for one in curves)
    if 2 * unfinished > len(curves):
        found.append(
            f"{unfinished} of {len(curves)} trainings were still improving after {epochs} epochs; use more epochs"
        )
    if documents < 30:
        found.append(f"intervals from only {documents} documents are too narrow; interpret them with caution")
    return found


def _run(trained: Training, labels: Annotations, settings: TrainSettings) -> Run:
    groups = len(set(trained.folds.group.tolist()))
    resampled = words.labelled_groups(trained)
    cautions = cautions_of([fit.curve for fit in trained.fits.values()], trained.sizes.epochs, resampled)
    facts: dict[str, Any] = {
        "items": len(trained.texts.items), "humans": len(trained.people), "documents": groups,
        "encoders": ",".join(f"{one.name}@{one.key}" if one.key else short(one) for one in trained.encoders),
        "trained": trained.size, "on": trained.device.partition(":")[0],
    }  # fmt: skip
    kept = set(trained.texts.items)
    out = [name for name in labels.items["item"].to_list() if name not in kept]
    known = {name for one in trained.excluded for name in one.names}
    assert not set(out) - known, listing(out)
    level = f"{100 * settings.confidence:g}%"
    method = f"{level}, bootstrap of documents, {settings.n_resamples} resamples, seed {settings.seed}"
    return Run(
        "train", settings, trained.data, facts, method, tuple(trained.excluded), tuple(trained.notes), tuple(cautions)
    )
