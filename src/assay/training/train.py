"""A judge that you train: can people's ratings be told from the text, and better than a straight line does?

Every item is rated by encoders that saw none of its document (cross-fitting), so that the predictions may enter the
table as one more judge. Beside them stand baselines that see the same embeddings in the same folds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunks import Chunks
from assay.errors import DataError, DesignError, counted, listing, require, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import IntervalSettings, question, short
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.reporting import pictures
from assay.reporting.tables import decimals, estimated, interval, number, signed
from assay.similarity.embeddings import Encoder, pick_device
from assay.training.baselines import BASELINES, MEASURES, OF_CATEGORIES, cross_fitted, measure
from assay.training.documents import (
    EXTRA,
    FAMILY,
    Folds,
    Target,
    Texts,
    TrainSettings,
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
"""Sentences a text from which the sizes for long texts are the default: reviews have 2, a lesson's segments 48."""

MOST_WINDOW = 140
"""Sentences in about 12 minutes of a lesson: Hardy (2025, appendix D.1)."""

HELD = 0.15
"""Share of the training documents that stop it: Hardy (2025) divides 75, 15 and 10 of 100."""

MOST_POINTS = 400
"""Of a rating along a document; more cannot be told apart in a picture."""


@dataclass(frozen=True)
class TrainedMember:
    """One of the family: which embeddings it reads, and the seed that it was trained with."""

    name: str
    encoder: int
    seed: int


@dataclass(frozen=True, eq=False)
class TrainedRater(ResultOfRows):
    """Raters that were trained on people's labels, and how near they come to people who rate texts unseen in training.

    Attributes
    ----------
    predictions : polars.DataFrame
        One row an item, criterion and rater: ``label`` as it enters the table, ``value`` before it was rounded (of
        categories the share of the label), ``fold``.
    curves : polars.DataFrame
        The loss of each member in each fold after each epoch, in training and on documents held out to stop it.
    folds : polars.DataFrame
        ``item``, ``group`` (what is never divided), ``fold``.
    rows : polars.DataFrame
        One row a criterion, rater and measure: ``criterion`` (null where there is one), ``rater``, ``family`` (encoder,
        baseline), ``measure`` (r, RMSE and R; of categories agreement in place of r), ``estimate``, ``low``, ``high``,
        ``n``, ``baseline`` (the best by RMSE), ``ahead`` (the rater's less that baseline's, RMSE the other way round:
        above 0 is better), ``ahead_low``, ``ahead_high``, ``reason``.
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
        """How far a rater is ahead of the best baseline by a measure, with its interval over documents."""
        return self.ahead[self._row(rater, of, criterion)]

    def _row(self, rater: str, of: str, criterion: str | None = None) -> int:
        known = pl.col("criterion").is_null() if criterion is None else pl.col("criterion") == criterion
        mine = self.rows.with_row_index("_n").filter(known & (pl.col("rater") == rater) & (pl.col("measure") == of))
        if mine.height != 1:
            raise DesignError(unknown("rater", rater, self.rows["rater"].unique().sort().to_list()))
        return int(mine["_n"][0])

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the family's members."""
        return tuple(one.name for one in self.trained.members)

    def side_by_side(self) -> pl.DataFrame:
        """One row a criterion and rater, a column a measure."""
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
        """One row a criterion and encoder, a column a measure: how far it is ahead of the best baseline."""
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

    def sentences(self) -> list[str]:
        """How near the family comes to people, and whether it is worth more than its baselines."""
        folds, lines = self.trained.folds, []
        for target in self.trained.targets:
            where = f"{target.name}: " if target.name else ""
            first, rmse, kept = (self._row(FAMILY, m, target.criterion) for m in _measures(target))
            who = f"the mean of {len(self.members)} encoders" if len(self.members) > 1 else "the encoder"
            lines.append(
                f"{where}{who} has {_measures(target)[0]} "
                f"{_format_estimate(self.estimates[first])}, RMSE {_format_estimate(self.estimates[rmse])} and R "
                f"{_format_estimate(self.estimates[kept])} with people on {self.rows['n'][rmse]:,} items, each rated "
                "by encoders that saw none of its document."
            )
            lines += [where + line for line in self._comparison_lines(target)]
        groups = len(set(folds.group.tolist()))
        lines.append(f"Intervals are over {groups:,} documents, resampled under all raters alike.")
        return lines

    def _comparison_lines(self, target: Target) -> Iterator[str]:
        """Beside the mean, the best baseline, and each member alone."""
        best = self.rows["baseline"][self._row(FAMILY, "RMSE", target.criterion)]
        if best != BASELINES[0]:
            found = self.trained.against_mean[target.criterion]
            yield "against the mean of all ratings: " + _difference_words(found, _measures(target)[1:], BASELINES[0])
        found = {m: self.lead(FAMILY, m, target.criterion) for m in _measures(target)}
        yield f"against {best}, the best baseline: " + _difference_words(found, _measures(target)[:2], best)
        if len(self.members) > 1:
            each = [self.lead(one, "RMSE", target.criterion) for one in self.members]
            ahead = sum(one.low > 0 for one in each)
            yield (
                f"each encoder alone: RMSE "
                f"{' to '.join(_ends([self.estimates[self._row(m, 'RMSE', target.criterion)] for m in self.members]))}"
                f"; {ahead or 'none'} of {len(each)} shown to be below {best}."
            )

    def summary(self) -> str:
        """The comparison with people and with the baselines, how folds were made, the signature."""
        lines = [one[:1].upper() + one[1:] for one in self.sentences()]
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Loss on the documents held out to stop training, by epoch: a line for each member and fold."""
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
        """The table with the trained raters among its judges.

        Labels are on the table's scale. Beside them stand ``value``, before it was rounded, and ``provenance``: the
        fold in which the item was held out. Annotators have a ``family``.

        Parameters
        ----------
        baselines : bool
            Whether the baselines are judges, too, of the family ``baseline``.
        """
        return with_predictions(self.trained.labels, self.predictions, self.trained.folds, baselines=baselines)

    def attribution(self, item: str, criterion: str | None = None) -> Attribution:
        """What each sentence adds to the family's rating of an item, by integrated gradients.

        Each encoder that did not see the item's document is asked; what they say is averaged.
        """
        return self.trained.attribution(item, criterion)

    def along(self, item: str, criterion: str | None = None) -> pl.DataFrame:
        """The family's rating along the text that an item is in, window by window.

        Returns
        -------
        polars.DataFrame
            ``start``, ``end`` (sentences of the window), ``value`` (of categories the share of the commonest label).
        """
        return self.trained.along(item, criterion)

    def save(self, folder: str | Path) -> Path:
        """Write weights, model card, folds, curves and predictions into a folder, from which it rates other items."""
        return save_rater(self, Path(folder))


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each sentence adds to a rating.

    Attributes
    ----------
    table : polars.DataFrame
        One row a sentence: ``sentence``, ``added``.
    rating, blank : float
        Of the text, and of one whose sentences say nothing.
    gap : float
        What is left of their difference when all that sentences add is taken from it: the error of the method.
    """

    item: str
    table: pl.DataFrame
    rating: float
    blank: float

    @property
    def gap(self) -> float:
        """See the class."""
        return self.rating - self.blank - float(self.table["added"].sum())

    def caption(self) -> str:
        """The rating, where it starts, and how much is not accounted for."""
        return (
            f"{self.item}: rated {number(self.rating)}; sentences that say nothing {number(self.blank)}; not accounted "
            f"for {signed(self.gap)}."
        )

    def plot(self, ax: Axes | None = None, most: int = 14) -> Axes:
        """A bar for each sentence in the order of the text; of a long one those that add most."""
        rows = self.table.with_row_index("_n")
        if rows.height > most:
            rows = rows.sort(pl.col("added").abs(), descending=True).head(most).sort("_n")
        ax = pictures.axes(ax, height=0.9 + 0.3 * rows.height)
        y = np.arange(rows.height)[::-1]
        colours = [pictures.HUMAN if one >= 0 else pictures.JUDGE for one in rows["added"]]
        ax.barh(y, rows["added"].to_list(), color=colours, height=0.6)
        ax.axvline(0, color=pictures.FAINT, linewidth=1)
        ax.set_yticks(y, [_clip(one) for one in rows["sentence"]])
        ax.set_xlabel("added to the rating")
        return ax


def _clip(text: str, most: int = 52) -> str:
    text = " ".join(text.split()).replace("$", r"\$")
    return text if len(text) <= most else text[: most - 1] + "…"


def _measures(target: Target) -> tuple[str, str, str]:
    return OF_CATEGORIES if target.nominal else MEASURES


def _format_estimate(one: Estimate) -> str:
    return estimated(one.estimate, one.low, one.high)


def _ends(each: Sequence[Estimate]) -> tuple[str, str]:
    values = sorted(one.estimate for one in each)
    return decimals(values[0], 3), decimals(values[-1], 3)


def _difference_words(found: Mapping[str, Estimate], measures: Sequence[str], other: str) -> str:
    """Differences with their intervals, and what they show: ahead where an interval lies above 0."""
    said = [_higher(m, found[m]) for m in measures]
    ahead = [m for m in measures if found[m].low > 0]
    behind = [m for m in measures if found[m].high < 0]
    verdict = f"not shown to be better than {other}" if not behind else f"worse than {other} in {' and '.join(behind)}"
    if ahead:
        rest = [m for m in measures if m not in ahead and m not in behind]
        verdict = f"better in {' and '.join(ahead)}" + (f", not shown in {' and '.join(rest)}" if rest else "")
        verdict += f", worse in {' and '.join(behind)}" if behind else ""
    return f"{'; '.join(said)}: {verdict}."


def _higher(of: str, ahead: Estimate) -> str:
    """*r higher by 0.02 [0.01, 0.03]*; of errors, where less is ahead, *lower*."""
    up = (ahead.estimate >= 0) == (of != "RMSE")
    ends = (ahead.low, ahead.high) if ahead.estimate >= 0 else (-ahead.high, -ahead.low)
    return f"{of} {'higher' if up else 'lower'} by {decimals(abs(ahead.estimate), 3)} {interval(*ends, 3)}"


def with_predictions(labels: Annotations, predictions: pl.DataFrame, folds: Folds, *, baselines: bool) -> Annotations:
    """The labels with those of the trained raters, which are judges."""
    some = predictions if baselines else predictions.filter(pl.col("family") == FAMILY)
    names = list(dict.fromkeys(some["rater"].to_list()))
    for name in names:
        if name in labels.annotators["annotator"].to_list():
            raise DataError(f"the table has an annotator '{name}' already; rename them, so that both can be told apart")
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
        both, judges=[*labels.judges, *names], items=labels.items, annotators=people, conditions=labels.conditions,
        scale=labels.scales.get(None) or {str(c): s for c, s in labels.scales.items()}, exclude=[],
    )  # fmt: skip
    return made.also_called(labels.names)


def _whole(labels: pl.Series) -> bool:
    values = labels.cast(pl.Float64, strict=False).drop_nulls()
    return bool((values == values.round()).all())


def _cast_labels(labels: pl.Series, kind: Any) -> pl.Series:
    """Texts of labels in the type of the table's column."""
    return labels.cast(pl.Float64).cast(kind) if kind.is_numeric() else labels.cast(kind)


# -- training ---------------------------------------------------------------------------------------


@question(TrainSettings)
def train(labels: Annotations | Chunks, settings: TrainSettings) -> TrainedRater:
    """Train raters on people's labels of texts: what do they say of texts that they did not see?

    Each item is rated by encoders that were trained on the documents of the other folds, so that their ratings may
    stand beside people's as those of a judge: `TrainedRater.annotations` is the table with them. Baselines are rated in
    the same folds from the same embeddings.

    Parameters
    ----------
    labels : Annotations
        People's labels; the texts are a column of its items. Criteria are learnt together.

    Returns
    -------
    TrainedRater

    Raises
    ------
    MissingExtra
        Without PyTorch; the message has the command that installs the extra ``train``.
    DataError
        Where no column is the text, where there are fewer documents than folds, where folds made by hand divide a
        document, and where a folder holds something else.

    Notes
    -----
    The encoder is that of Hardy (2025, section 3 and appendix D), with attention pooling by criterion.
    """
    require("torch", EXTRA, "training a rater")
    require("safetensors", EXTRA, "training a rater")
    table = labels.in_memory("train").resolve_repeats(settings.repeats)
    trained = _prepare(table, settings)
    if settings.folder is not None and settings.encoders is not None and callable(settings.encoders):
        raise DesignError("a rater with an encoder of your own cannot be kept in a folder; leave folder out")
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
        raise DesignError("there are no people to learn from; name some with annotators=[...]")
    documents = documents_of(labels, settings)
    texts, excluded, notes = gather_texts(labels.items, settings, documents[0])
    targets = targets_of(labels, people, texts.items)
    folds = make_folds(labels, texts, documents, settings)
    return Training(labels, texts, targets, folds, settings, tuple(people), excluded, notes)


class Training:
    """Raters and what they were trained on."""

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
            self.notes.append(
                f"sizes of {self.size} texts, which have {np.median(lengths):.0f} sentences at the median"
            )
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
        """The fingerprint of everything that numbers follow from besides the options."""
        s = self.settings
        columns = [s.document, s.fold, s.order, s.starts, *s.together]
        used = digest_of_columns(self.labels, text_column(self.labels.items, s.text), *columns)
        keys = [one.key or short(one) for one in self.encoders]
        return fingerprint_with(self.labels.fingerprint, columns=used, encoders=keys, people=self.people)

    def fit(self) -> None:
        """Every member in every fold."""
        from assay.training.encoder import EncoderFit, settled

        tell = self.settings.progress or (lambda what, done, steps: None)
        tell("Embedding sentences", 0, 1)
        self.vectors = [embed(self.texts, encoder) for encoder in self.encoders]
        steps = len(self.members) * len(self.folds)
        with settled(self.settings.threads), self._checkpoints() as folder:
            for m, member in enumerate(self.members):
                for k in range(len(self.folds)):
                    done = m * len(self.folds) + k
                    what = f"{member.name}, fold {k + 1} of {len(self.folds)}"
                    tell(what, done, steps)
                    path = None if folder is None else folder / f"{member.name}-{k + 1}.pt"
                    material = self.material(member, k)
                    fit = EncoderFit(material, self.sizes, (member.seed, k), self.device, path, self._key(member, k))
                    self.fits[m, k] = fit.go(lambda what=what, done=done: tell(what, done, steps))  # type: ignore[misc]

    def material(self, member: TrainedMember, fold: int) -> Material:
        """What a member reads in a fold: its training items, and those that stop it."""
        from assay.training.encoder import Material

        said = np.zeros(len(self.texts.items), dtype=bool)
        for target in self.targets:
            said |= target.labelled
        rest = np.flatnonzero((self.folds.fold != fold) & said)
        parts = max(round(1 / HELD), 2)
        stop = self.folds.inner(rest, parts, self.settings.seed, 3, fold) == 0
        if stop.all() or not stop.any():
            raise DataError(
                f"fold {fold + 1} leaves {counted(len(set(self.folds.group[rest].tolist())), 'document')} to train on, "
                "and one of them is needed to stop it; take more documents"
            )
        return Material(self.texts, self.vectors[member.encoder], self.targets, rest[~stop], rest[stop])

    @contextmanager
    def _checkpoints(self) -> Iterator[Path | None]:
        """Where fits are kept until all are done; nothing of another training is touched."""
        if self.settings.folder is None:
            yield None
            return
        folder = Path(self.settings.folder)
        if folder.is_file():
            raise DataError(f"'{folder}' is a file; name a folder with folder='...'")
        if (folder / RATER_FILE).exists():
            raise DataError(f"'{folder}' holds a trained rater already; name another folder with folder='...'")
        inside = folder / "unfinished"
        inside.mkdir(parents=True, exist_ok=True)
        yield inside

    def _key(self, member: TrainedMember, fold: int) -> str:
        """What a checkpoint must be of."""
        import torch

        s = {k: v for k, v in self.settings.to_dict().items() if k not in ("n_resamples", "confidence", "members")}
        made = [self.data, s, member.encoder, member.seed, fold, self.device.partition(":")[0], torch.__version__]
        return hashlib.blake2b(json.dumps(made, sort_keys=True).encode(), digest_size=8).hexdigest()

    def ratings(self) -> dict[str, list[Floats]]:
        """Each rater's prediction for each item by each criterion, from those that did not see its document."""
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

    # -- looking inside --

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
        """What each sentence of an item's windows adds."""
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
        """The rating of each window of the text that an item is in."""
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
            m: _leads(measured, names, BASELINES[0])[k] for k, m in enumerate(_measures(target))
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
    """Each rater's measures less those of another, errors the other way round."""
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
        for j, of in enumerate(_measures(target)):
            one, lead = measured[3 * k + j], ahead[3 * k + j]
            none = name == best  # ahead of itself
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


def _run(trained: Training, labels: Annotations, settings: TrainSettings) -> Run:
    ends = [(fit.curve[:, 1].argmin() + 1, len(fit.curve)) for fit in trained.fits.values()]
    unfinished = sum(best == n == trained.sizes.epochs for best, n in ends)
    cautions = []
    if 2 * unfinished > len(ends):
        cautions.append(
            f"{unfinished} of {len(ends)} trainings were still getting better after {trained.sizes.epochs} epochs; "
            "allow more epochs"
        )
    groups = len(set(trained.folds.group.tolist()))
    if groups < 30:
        cautions.append(f"intervals over {groups} documents are too narrow; take them as a rough guide")
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
    words = f"{level}, bootstrap of documents, {settings.n_resamples} resamples, seed {settings.seed}"
    return Run(
        "train", settings, trained.data, facts, words, tuple(trained.excluded), tuple(trained.notes), tuple(cautions)
    )
