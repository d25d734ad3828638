"""The probes that a study asks its judges: the same question again, with one change that should not affect the label.

A judge that is not deterministic changes some labels without any cause. Changed labels are therefore compared with
those of a repeated call, on the same items. Shifts, hints and positions do not need this: without a fault they are 0 on
average, however noisy the judge is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from assay.data.annotations import Annotations
from assay.data.ratings import cluster_codes
from assay.data.scales import Scale
from assay.errors import StudyError
from assay.estimation.intervals import Estimate, missing, same_everywhere, wilson, wilson_estimate
from assay.estimation.resampling import Mean, Units, add_rows
from assay.estimation.statistic import Floats, Ints
from assay.preference.position import PLACES
from assay.verdict.preregistration import study_of
from assay.verdict.probe_measures import (
    LEAST_EFFECT,
    CalledProbe,
    ProbeMeasure,
    estimate_moments,
    never_varies,
    sign_p,
)

CALLED: tuple[CalledProbe, ...] = get_args(CalledProbe)

LEAST_ANSWERS = 20
"""Items with both answers from which a probe is estimated: with fewer, six labels that change in the same direction are
not significant."""

LEAST_CHANGED = 0.05
"""Share of changed labels, beyond a repeated call, below which a change is not reported."""

Change = Literal["same", "change", "shift", "hint", "place"]


@dataclass(frozen=True)
class CalledMeasure(ProbeMeasure):
    """One measure of a probe that a study asked.

    Attributes
    ----------
    change : Change
        ``same``: unchanged labels; ``change``: size or share of changes beyond a repeated call; ``shift``: their
        direction; ``hint``: toward a hint; ``place``: toward a position.
    alone, again : float
        The change, and the change in a repeated call.
    in_points : bool
        Whether labels are numbers.
    """

    change: Change = "same"
    alone: float = math.nan
    again: float = math.nan
    in_points: bool = False


def probe_answers(labels: Annotations) -> Annotations | None:
    """Return the labels with the answers to probes; None if there are no such answers.

    They are in the table, or in the store of the study that the labels come from.
    """
    if "probe" in labels.conditions:
        return labels if labels.labels["probe"].is_not_null().any() else None
    study = study_of(labels)
    if study is None or not study.config.probes:
        return None
    from assay.reading import study_labels

    try:
        full = study_labels(study, probes=True)
    except StudyError:
        return None
    if "probe" not in full.conditions:
        return None
    here = (pl.col(name).is_in(labels.labels[name].unique().implode()) for name in ("item", "annotator"))
    return replace(full, labels=full.labels.filter(*here))


def drop_probes(labels: Annotations) -> Annotations:
    """Return the labels without the answers to probes."""
    if "probe" not in labels.conditions:
        return labels
    kept = labels.labels.filter(pl.col("probe").is_null()).drop("probe")
    return replace(labels, labels=kept, conditions=tuple(c for c in labels.conditions if c != "probe"))


class AnswersToProbes:
    """Answers to probes, each with the label that it should equal, judge by judge.

    Parameters
    ----------
    labels : Annotations
        With a condition ``probe``, empty for a label.
    clusters : str, optional
        Item column with the clusters.
    """

    def __init__(self, labels: Annotations, clusters: str | None, confidence: float) -> None:
        self.labels, self.confidence = labels, confidence
        self.criteria = labels.criteria or (None,)
        items = labels.items["item"].to_list()
        self.place = {item: i for i, item in enumerate(items)}
        codes = None if clusters is None else cluster_codes(labels, clusters)
        self.units = Units.of(len(items), codes, width=64)
        known = {*labels.labels.columns, *labels.items.columns, *labels.annotators.columns}
        columns = {name: labels.column(name) for name in ("hint", "position") if name in known}
        self.frame = labels.labels.with_columns(**columns)
        varied = [c for c in labels.conditions if c not in ("probe", "order") and c in self.frame.columns]
        self.key = ["item", *varied]

    def measures(self, judge: str) -> Iterator[tuple[str | None, CalledMeasure]]:
        """Yield every measure of a judge, with its criterion."""
        for criterion in self.criteria:
            mine = self.frame.filter(annotator=judge)
            mine = mine if criterion is None else mine.filter(criterion=criterion)
            mine = self._code_labels(mine, self.labels.scale_of(criterion))
            scale = self.labels.scale_of(criterion)
            plain = mine.filter(pl.col("probe").is_null())
            plain = plain.sort("repeat") if "repeat" in plain.columns else plain
            first = plain.unique(self.key, keep="first", maintain_order=True)
            more = plain.join(first, on=["item", "row"], how="anti").unique(self.key, keep="first", maintain_order=True)
            repeated = mine.filter(probe="repeat")
            again = self._join_before(first, repeated if repeated.height else more)
            for probe in CALLED:
                answers = again if probe == "repeat" else self._join_before(first, mine.filter(probe=probe))
                if answers.height:
                    yield from ((criterion, one) for one in self._measures_of(probe, answers, again, scale))

    def _code_labels(self, mine: pl.DataFrame, scale: Scale) -> pl.DataFrame:
        """Labels as numbers: for words, their position on the scale or in the alphabet."""
        mine = mine.with_row_index("row")
        if scale.numeric or scale.kind == "preference":
            return mine.with_columns(code=pl.col("label").cast(pl.Float64), hinted=_hints(mine, pl.Float64))
        listed = [str(one) for one in scale.categories or mine["label"].cast(pl.String).unique().sort()]
        places = {name: float(place) for place, name in enumerate(listed)}
        hinted = _hints(mine, pl.String).replace_strict(places, default=None, return_dtype=pl.Float64)
        code = pl.col("label").cast(pl.String).replace_strict(places, default=None, return_dtype=pl.Float64)
        return mine.with_columns(code=code, hinted=hinted)

    def _join_before(self, first: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
        """Answers with the label that each should equal (``before``) and the position of that choice (``was_at``)."""
        where = ["position"] if "position" in first.columns else []
        before = first.select(*self.key, pl.col("code").alias("before"), *(pl.col(c).alias("was_at") for c in where))
        return answers.join(before, on=self.key, how="inner", nulls_equal=True).unique("item", keep="first")

    def _measures_of(
        self, probe: CalledProbe, answers: pl.DataFrame, again: pl.DataFrame, scale: Scale
    ) -> Iterator[CalledMeasure]:
        points = scale.kind in ("ordinal", "interval")
        n = answers.height
        if n < LEAST_ANSWERS:
            yield CalledMeasure(probe, "", missing(f"requires {LEAST_ANSWERS} items with both answers; {n} have both"))
            return
        label, before = (answers[name].to_numpy() for name in ("code", "before"))
        if probe == "repeat":
            same = float((label == before).mean())
            low, high = wilson(np.array(same), n, self.confidence)
            found = wilson_estimate(same, float(low), float(high), n)
            yield CalledMeasure(probe, "share of unchanged labels", found, n=n)
            return
        if probe == "hint":
            yield self._hint(answers, label, before, points=points)
            return
        yield self._change(probe, answers, again, points=points)
        if points:
            spread = float(np.std(before))
            yield self._test_mean(
                probe, "label minus the first label", "shift", answers, label - before, least=LEAST_EFFECT * spread,
                in_points=True,
            )  # fmt: skip
        if probe == "swapped" and scale.kind in PLACES and "was_at" in answers.columns:
            places = PLACES[scale.kind]
            side = (_side(answers["was_at"], places) + _side(answers["position"], places)) / 2
            yield self._test_mean(probe, "share of the first position minus the last", "place", answers, side)

    def _change(self, probe: CalledProbe, answers: pl.DataFrame, again: pl.DataFrame, *, points: bool) -> CalledMeasure:
        """The size (or share) of changes of labels beyond a repeated call."""
        both = answers.join(again.select("item", pl.col("code").alias("repeated")), on="item")
        measure = "change of the label" if points else "share of changed labels"
        if both.height < LEAST_ANSWERS:
            moved = _label_changes(answers["code"].to_numpy(), answers["before"].to_numpy(), points=points)
            found = self._estimate(answers, moved)[0]
            return CalledMeasure(probe, measure, found, n=answers.height, change="change", in_points=points)
        label, before, repeated = (both[name].to_numpy() for name in ("code", "before", "repeated"))
        moved, alone = _label_changes(label, before, points=points), _label_changes(repeated, before, points=points)
        least = LEAST_EFFECT * float(np.std(before)) if points else LEAST_CHANGED
        return self._test_mean(
            probe, f"{measure} beyond a repeated call", "change", both, moved - alone, least=least, side=1,
            alone=float(moved.mean()), again=float(alone.mean()), in_points=points,
        )  # fmt: skip

    def _hint(self, answers: pl.DataFrame, label: Floats, before: Floats, *, points: bool) -> CalledMeasure:
        """The effect of a hint on labels; hints are drawn at random, independently of the item."""
        hint, n = answers["hinted"].to_numpy().astype(float), answers.height
        if not points:
            took = (label == hint).astype(float) - (before == hint)
            return self._test_mean("hint", "share of hinted labels, with minus without the hint", "hint", answers, took,
                                least=LEAST_CHANGED, side=1)  # fmt: skip
        if not np.ptp(hint) > 0:
            return CalledMeasure("hint", "", missing("requires hints that differ"))
        moved = label - before
        moments = np.stack([hint * moved, hint, moved, hint * hint, np.ones(n)], axis=1)
        found = estimate_moments(Slope(), self.units, self.confidence, self._spread(answers, moments))[0]
        return CalledMeasure.of("hint", "points per point of the hint", found, 0.0, found.p(0.0), n=n, side=1,
                                exact=p_of_order(hint) if never_varies(found) else math.nan,
                                least=LEAST_EFFECT, change="hint", in_points=True)  # fmt: skip

    def _test_mean(
        self, probe: CalledProbe, measure: str, change: Change, answers: pl.DataFrame, values: Floats, **more: float
    ) -> CalledMeasure:
        """A mean that is 0 without the fault; detected if the mean and the signs of the values are both significant."""
        found, signs = self._estimate(answers, values)
        if np.ptp(values) == 0 and values[0] != 0:
            found = same_everywhere(float(values[0]), len(values), signs, self.confidence)
        p = max(found.p(0.0), signs)
        return CalledMeasure.of(probe, measure, found, 0.0, p, exact=signs, n=answers.height, change=change, **more)

    def _estimate(self, answers: pl.DataFrame, values: Floats) -> tuple[Estimate, float]:
        moments = self._spread(answers, np.stack([values, np.ones(len(values))], axis=1))
        found = estimate_moments(Mean(), self.units, self.confidence, moments)[0]
        return found, sign_p(add_rows(moments[:, :1], self.units.of_item, self.units.n))

    def _spread(self, answers: pl.DataFrame, moments: Floats) -> Floats:
        """The contributions of some items as a table over all items."""
        rows: Ints = np.array([self.place[item] for item in answers["item"]])
        found = np.zeros((len(self.place), moments.shape[1]))
        found[rows] = moments
        return found


@dataclass(frozen=True)
class Slope:
    """cov(h, y) / var(h), from sums of hy, h, y, h² and of items."""

    def value(self, sums: Floats) -> Floats:
        """NaN if hints do not differ."""
        hy, h, y, hh = np.moveaxis(sums[..., :4] / sums[..., 4:5], -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((hy - h * y) / (hh - h * h))[..., None]


def p_of_order(hint: Floats) -> float:
    """The share of all orders of the hints that are the observed order: the p-value of a result without any error."""
    counts = np.unique(hint, return_counts=True)[1]
    return math.exp(sum(math.lgamma(k + 1) for k in counts.tolist()) - math.lgamma(len(hint) + 1))


def _label_changes(label: Floats, before: Floats, *, points: bool) -> Floats:
    return np.abs(label - before) if points else (label != before).astype(float)


def _side(position: pl.Series, places: int) -> Floats:
    """1 for a choice of the first position, −1 for the last, else 0."""
    chosen = position.fill_null(0).to_numpy()
    return np.asarray((chosen == 1).astype(float) - (chosen == places))


def _hints(mine: pl.DataFrame, kind: type[pl.DataType]) -> pl.Series:
    if "hint" not in mine.columns:
        return pl.Series("hinted", [None] * mine.height, dtype=kind)
    return mine["hint"].cast(kind, strict=False)
