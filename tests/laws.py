"""Every public question, with every option and values to try it with; a new question joins by one row.

`tests/test_laws.py` holds the laws; this file is the list they run over. An option that a question has and this list
does not vary fails a law, and so does a public name that is in no list.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import assay
from assay.concordance import coefficient as concordance
from assay.concordance.coefficient import AgreementSettings, GradingScaleSettings
from assay.concordance.groups.disagreement import DisagreementSettings
from assay.data.annotations import Annotations
from assay.estimates.corrected import EstimateSettings
from assay.estimates.drift import DriftSettings
from assay.estimates.monitor import MonitorSettings
from assay.estimates.plans.budget import BudgetSettings
from assay.estimates.plans.label_plan import LabelPlanSettings
from assay.estimates.route import RouteSettings
from assay.estimation.options import Settings
from assay.ideas.choices import (
    EmbeddingSettings,
    MapSettings,
    PlanTripletsSettings,
    ReliabilitySettings,
    SampleSettings,
    SampleSizeSettings,
    StyleSettings,
    TripletSettings,
    ValidateSettings,
)
from assay.planning import PlanSettings
from assay.preference.votes import (
    PositionSettings,
    RatingSettings,
    SeparabilitySettings,
    SetSettings,
    SweepSettings,
)
from assay.psychometrics.design import DisattenuationSettings, DStudySettings, GStudySettings, LoopSettings
from assay.psychometrics.nested_icc import NestedSettings
from assay.psychometrics.raters.table import RaschSettings, RaterSettings
from assay.replacement.panel import AltTestBySettings, AltTestSettings, CompareSettings, PairedSettings
from assay.replacement.studies import EpsilonCurveSettings, SizeCurveSettings
from assay.training.documents import TrainSettings
from assay.variation.opinions import OpinionSettings
from assay.variation.panel import JudgePanelSettings
from assay.verdict.card import CardSettings
from assay.verdict.gate import GateSettings
from assay.verdict.probes import ProbeSettings
from assay.verdict.report import ReportSettings
from assay.verdict.validate import ValidateVerdictSettings
from selection import keep_rows

JUDGES = ("gpt", "llama")
QUICK = {"n_resamples": 60}

# -- tables -----------------------------------------------------------------------------------------


@cache
def ratings() -> Annotations:
    """Four people and two judges on 64 items of 8 documents, 1 to 5 stars, some missing."""
    return with_columns(
        assay.simulate(
            64, 4, scale="1-5", judges={"gpt": 0.25, "llama": 0.6}, spread=0.6, documents=8, missing=0.05, seed=5
        )
    )


def with_columns(labels: Annotations) -> Annotations:
    """With the labels: gold, a quality and a group for each annotator, a language for each item."""
    items, people = labels.items, labels.annotators
    items = items.with_columns(
        gold=pl.Series(np.random.default_rng(1).integers(1, 6, items.height)),
        language=pl.Series(np.where(np.arange(items.height) % 2, "en", "de")),
    )
    people = people.with_columns(
        weight=pl.Series(1.0 + np.arange(people.height)),
        team=pl.Series([["north", "south"][i % 2] for i in range(people.height)]),
        maker=pl.Series(["one"] * people.height),
    )
    return Annotations.from_frame(
        labels.labels, judges=JUDGES, scale=labels.scale, items=items, annotator_table=people
    )  # fmt: skip


@cache
def repeated() -> Annotations:
    """The same, with a third of the items labelled twice by every rater, a little differently."""
    labels = ratings().labels
    again = labels.filter(pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64) % 3 == 0).with_columns(
        label=(pl.col("label") % 5) + 1, repeat=pl.lit(2)
    )
    both = pl.concat([labels.with_columns(repeat=pl.lit(1)), again.select(*labels.columns, "repeat")])
    return Annotations.from_frame(
        both, judges=JUDGES, scale=assay.Ordinal(1, 5), items=ratings().items, annotator_table=ratings().annotators
    )  # fmt: skip


@cache
def asked_on_scales() -> Annotations:
    """Three people and two judges on two scales, at two temperatures."""
    rng = np.random.default_rng(8)
    truth = rng.random(40)
    rows = []
    for scale, top in (("0-5", 5), ("0-10", 10)):
        for who, noise in (("ann", 0.1), ("bob", 0.15), ("cho", 0.2), ("gpt", 0.12), ("llama", 0.3)):
            for temperature in (0.0, 1.0) if who in JUDGES else (0.0,):
                value = np.clip(truth + rng.normal(0, noise + 0.1 * temperature, 40), 0, 1)
                rows += [
                    {"item": f"i{i:02d}", "annotator": who, "label": round(v * top), "scale": scale, "t": temperature}
                    for i, v in enumerate(value)
                ]
    items = pl.DataFrame(
        {"item": [f"i{i:02d}" for i in range(40)], "document": [f"d{i // 5}" for i in range(40)],
         "language": [["en", "de"][i % 2] for i in range(40)]}
    )  # fmt: skip
    people = pl.DataFrame({"annotator": ["ann", "bob", "cho", *JUDGES], "team": ["n", "s", "n", None, None]})
    return Annotations.from_frame(
        pl.DataFrame(rows), judges=JUDGES, conditions=["scale", "t"], scale=assay.Interval(0, 10), items=items,
        annotator_table=people,
    )  # fmt: skip


@cache
def pairs() -> Annotations:
    """Which of two texts, in both orders."""
    rng = np.random.default_rng(2)
    rows = []
    for i in range(50):
        for order in ("a>b", "b>a"):
            for who in ("gpt", "ann"):
                place = int(rng.random() < 0.4) + 1
                label = (-1 if place == 1 else 1) * (1 if order == "a>b" else -1)
                rows.append({"item": f"p{i:02d}", "annotator": who, "label": label, "order": order, "position": place})
    items = pl.DataFrame({"item": [f"p{i:02d}" for i in range(50)], "document": [f"d{i // 5}" for i in range(50)]})
    return Annotations.from_frame(
        pl.DataFrame(rows), judges=["gpt"], scale=assay.Preference(), conditions=["order"], items=items
    )  # fmt: skip


@cache
def taught() -> Annotations:
    """Three people and two judges on 3 items of each of 12 documents, none missing."""
    return with_columns(
        assay.simulate(36, 3, scale="1-5", judges={"gpt": 0.2, "llama": 0.3}, spread=0.7, documents=12, seed=9)
    )


@cache
def judged_by_eight() -> Annotations:
    """Eight people and two judges on 4 items of each of 24 documents, whose language is the document's."""
    labels = assay.simulate(96, 8, scale="1-5", judges={"gpt": 0.2, "llama": 0.4}, spread=0.7, documents=24, seed=6)
    number = labels.items["document"].rank("dense")
    items = labels.items.with_columns(language=pl.when(number % 2 == 0).then(pl.lit("en")).otherwise(pl.lit("de")))
    people = labels.annotators.with_columns(maker=pl.lit("one"))
    return Annotations.from_frame(
        labels.labels, judges=JUDGES, scale=labels.scale, items=items, annotator_table=people
    )  # fmt: skip


@cache
def probed() -> Annotations:
    """The same people and judges on items with a length and a maker: a judge, its family, or another model."""
    labels = ratings()
    rng, n = np.random.default_rng(3), labels.items.height
    items = labels.items.with_columns(
        length=pl.Series(rng.normal(size=n)), origin=pl.Series(rng.choice(["gpt", "one", "south", "other"], n))
    )
    return Annotations.from_frame(
        labels.labels, judges=JUDGES, scale=labels.scale, items=items, annotator_table=labels.annotators
    )  # fmt: skip


@cache
def votes() -> Annotations:
    """Three systems, four outputs each of 30 items, two people and a judge."""
    rng = np.random.default_rng(3)
    strength = {"anna": 0.0, "bert": 0.5, "carl": 1.2}
    rows = []
    for i in range(30):
        one, other = rng.permutation(list(strength))[:2]
        for who in ("ann", "bob", "gpt"):
            for repeat in (1, 2, 3, 4):
                first, second = (one, other) if rng.random() < 0.5 else (other, one)
                lean = strength[second] - strength[first] + rng.logistic()
                label = 0 if abs(lean) < 0.3 else int(np.sign(lean)) * (1 + (abs(lean) > 1))
                rows.append(
                    {
                        "item": f"q{i:02d}",
                        "annotator": who,
                        "repeat": repeat,
                        "first": first,
                        "second": second,
                        "label": label,
                        "time": float(rng.random()),
                        "first_size": float(rng.integers(1, 9)),
                        "second_size": float(rng.integers(1, 9)),
                    }
                )
    items = pl.DataFrame(
        {
            "item": [f"q{i:02d}" for i in range(30)],
            "document": [f"d{i // 3}" for i in range(30)],
            "separability": rng.random(30),
            "language": [["en", "de"][i % 2] for i in range(30)],
        }
    )
    return Annotations.from_frame(
        pl.DataFrame(rows), judges=["gpt"], scale=assay.Preference(("slightly", "much")), items=items, repeat="repeat"
    )


@cache
def outputs() -> Annotations:
    """Three outputs each of three systems for 12 items: words drawn from lists that overlap."""
    rng = np.random.default_rng(5)
    words = {"anna": "red green blue old new", "bert": "red green grey old thin", "carl": "one two three old new"}
    rows = [
        {"item": f"q{i:02d}", "annotator": who, "repeat": k, "label": " ".join(rng.choice(kept.split(), 4))}
        for i in range(12)
        for who, kept in words.items()
        for k in (1, 2, 3)
    ]
    items = pl.DataFrame(
        {
            "item": [f"q{i:02d}" for i in range(12)],
            "document": [f"d{i // 3}" for i in range(12)],
            "language": [["en", "de"][i % 2] for i in range(12)],
        }
    )
    return Annotations.from_frame(
        pl.DataFrame(rows), humans=["anna", "bert", "carl"], scale=assay.Text(), items=items, repeat="repeat"
    )


@cache
def heated() -> Annotations:
    """The same outputs under two conditions: all of them, or those of the other half of the items."""
    labels = outputs()
    moved = labels.labels.with_columns(
        label=pl.col("label").sort_by(pl.col("item"), pl.col("repeat"), descending=True).over("annotator")
    )
    both = pl.concat([labels.labels.with_columns(heat=pl.lit(heat)) for heat in ("cold",)]
                     + [moved.with_columns(heat=pl.lit("hot"))])  # fmt: skip
    return Annotations.from_frame(
        both, humans=["anna", "bert", "carl"], scale=assay.Text(), items=labels.items, repeat="repeat",
        conditions=["heat"],
    )  # fmt: skip


@cache
def odd_ones() -> Annotations:
    """Eight texts in each of two documents, by three people and two judges who choose the odd one of three."""
    rng = np.random.default_rng(7)
    place = {f"t{i}": rng.normal(size=2) for i in range(16)}
    rows = []
    for document, names in (("d0", list(place)[:8]), ("d1", list(place)[8:])):
        for n, three in enumerate(itertools.combinations(names, 3)):
            if n % 3:
                continue
            far = [sum(np.hypot(*(place[a] - place[b])) for b in three) for a in three]
            for who, noise in (("ann", 0.5), ("bob", 1.0), ("cho", 1.5), ("gpt", 0.5), ("llama", 3.0)):
                odd = int(np.argmax(far + rng.normal(0, noise, 3)))
                rows.append((f"{document} {n:03d}", document, *three, who, "ABC"[odd], "ABC"[(odd + 1) % 3]))
    names = ["item", "document", "first_item", "second_item", "third_item", "annotator", "label", "other"]
    frame = pl.DataFrame(rows, schema=names, orient="row").drop("other")
    frame = frame.with_columns(
        first=pl.col("first_item") + " one", second=pl.col("second_item") + " one", third=pl.col("third_item") + " one",
        essay=pl.lit("e"), one="second_item", two="first_item",
    )  # fmt: skip
    return assay.read(frame, judges=list(JUDGES), scale="odd-one-out")


@cache
def written() -> Annotations:
    """Texts of three words by four people and two judges on 24 items of 6 documents."""
    rng = np.random.default_rng(6)
    words = ["red", "green", "blue", "old", "new", "small", "large", "thin"]
    rows = []
    for i in range(24):
        liked = rng.permutation(words)
        for who in ("ann", "bob", "cho", "dan", "gpt", "llama"):
            text = " ".join(liked[np.sort(rng.choice(5 if who != "llama" else 8, 3, replace=False))])
            rows.append({"item": f"i{i:02d}", "annotator": who, "label": text, "document": f"d{i // 4}"})
    return assay.read(pl.DataFrame(rows), judges=list(JUDGES), scale="text")


@cache
def rewritten() -> pl.DataFrame:
    """Ten pairs of texts before and after a rewrite."""
    rng, words = np.random.default_rng(2), ["red", "green", "blue", "old", "new", "small", "large", "thin"]
    columns = ("first", "second", "first_after", "second_after")
    more = ("", "", " it is", " it is")
    return pl.DataFrame(
        [{c: " ".join(rng.choice(words, 3)) + m for c, m in zip(columns, more, strict=True)} for _ in range(10)]
    )


@cache
def named_texts() -> pl.DataFrame:
    """Eight texts in two chapters."""
    return pl.DataFrame({"item": [*"abcdefgh"], "title": [*"ABCDEFGH"], "chapter": [*"11112222"]})


@cache
def opinionated() -> Annotations:
    """Four people on 48 items of 16 documents, 1 to 3; a judge with five repeats, and one with probabilities."""
    rng = np.random.default_rng(4)
    share = rng.dirichlet((0.9, 1.1, 0.8), 48)
    sharp = share**2 / (share**2).sum(axis=1, keepdims=True)
    rows = []
    for i, (p, q) in enumerate(zip(share, sharp, strict=True)):
        item = {"item": f"i{i:02d}", "p_1": None, "p_2": None, "p_3": None}
        rows += [
            {**item, "annotator": f"ann_{a}", "repeat": 1, "label": int(rng.choice(3, p=p)) + 1} for a in range(1, 5)
        ]
        rows += [{**item, "annotator": "llama", "repeat": r, "label": int(rng.choice(3, p=p)) + 1} for r in range(1, 6)]
        rows += [{**item, "annotator": "gpt", "repeat": 1, "label": int(np.argmax(q)) + 1,
                  **{f"p_{k + 1}": float(q[k]) for k in range(3)}}]  # fmt: skip
    items = pl.DataFrame({"item": [f"i{i:02d}" for i in range(48)], "document": [f"d{i // 3:02d}" for i in range(48)]})
    schema = {f"p_{k}": pl.Float64 for k in (1, 2, 3)}
    return Annotations.from_frame(
        pl.DataFrame(rows, schema_overrides=schema), judges=JUDGES, scale=assay.Ordinal(1, 3), items=items,
        repeat="repeat",
    )  # fmt: skip


@cache
def judged_by_four() -> Annotations:
    """Four people and four judges, two of which make the same errors, on 60 items of 20 documents."""
    rng = np.random.default_rng(15)
    truth, shared = rng.normal(size=(2, 60))
    means = {"gpt": truth + shared, "llama": truth + shared, "claude": truth, "mistral": truth}
    means |= {f"ann_{a}": truth for a in range(1, 5)}
    rows = [
        {"item": f"i{i:02d}", "annotator": name, "label": int(np.clip(round(3 + 1.2 * x), 1, 5))}
        for name, mean in means.items() for i, x in enumerate(mean + 0.6 * rng.normal(size=60))
    ]  # fmt: skip
    items = pl.DataFrame({"item": [f"i{i:02d}" for i in range(60)], "document": [f"d{i // 3:02d}" for i in range(60)]})
    return Annotations.from_frame(
        pl.DataFrame(rows), judges=(*JUDGES, "claude", "mistral"), scale=assay.Ordinal(1, 5), items=items
    )


@cache
def spot_checked() -> Annotations:
    """Two judges on 160 items, 0 to 20, and four people on 60 of them; documents, systems, sources, lengths, gold."""
    rng = np.random.default_rng(12)
    z = rng.normal(size=160)
    names = [f"item_{i:03d}" for i in range(160)]
    some = np.sort(rng.permutation(160)[:60])

    def given(error: float) -> Any:
        return np.clip(np.round(10 + 4 * (z + error * rng.normal(size=160))), 0, 20).astype(int)

    parts = [pl.DataFrame({"item": names, "annotator": who, "label": given(0.5)}) for who in JUDGES]
    parts += [
        pl.DataFrame({"item": [names[i] for i in some], "annotator": f"ann_{p}", "label": given(0.7)[some]})
        for p in range(1, 5)
    ]
    items = pl.DataFrame(
        {
            "item": names,
            "document": [f"d{i // 4:02d}" for i in range(160)],
            "language": [["en", "de"][i % 2] for i in range(160)],
            "length": 50 + 10 * z + rng.normal(size=160),
            "chance": np.where(np.arange(160) % 2, 0.3, 0.4),
            "system": [["anna", "bert"][i % 2] for i in range(160)],
            "source": [f"s{i // 2:02d}" for i in range(160)],
            "gold": given(0.2),
        }
    )
    return Annotations.from_frame(pl.concat(parts), judges=JUDGES, scale=assay.Ordinal(0, 20), items=items)


@cache
def second_run() -> Annotations:
    """The ratings again, by a judge that changed a little."""
    labels = ratings()
    changed = (pl.col("annotator") == "gpt") & pl.col("item").str.ends_with("3") & (pl.col("label") < 5)
    rows = labels.labels.with_columns(label=pl.when(changed).then(pl.col("label") + 1).otherwise(pl.col("label")))
    return Annotations.from_frame(
        rows, judges=JUDGES, scale=labels.scale, items=labels.items, annotator_table=labels.annotators
    )


@cache
def signalled() -> Annotations:
    """The spot checks, with a signal that differs from item to item."""
    labels = spot_checked()
    chance = pl.Series(np.random.default_rng(4).random(labels.items.height))
    return Annotations.from_frame(
        labels.labels, judges=JUDGES, scale=labels.scale, items=labels.items.with_columns(chance=chance)
    )


@cache
def reviewed() -> Annotations:
    """Three people on 24 texts of 12 documents, rated by how often a word appears in them."""
    rng = np.random.default_rng(3)
    words = rng.choice(["red", "green", "blue"], size=(24, 3))
    names = [f"i{i:02d}" for i in range(24)]
    texts = [" ".join(f"It is {word}." for word in three) + f" Text {i} ends." for i, three in enumerate(words)]
    truth = 2 + (words == "red").sum(axis=1)
    rows = pl.concat(
        pl.DataFrame({"item": names, "annotator": f"ann_{p}", "label": np.clip(truth + rng.integers(-1, 2, 24), 1, 5)})
        for p in (1, 2, 3)
    )
    items = pl.DataFrame(
        {"item": names, "text": texts, "other": [f"{one} It is old." for one in texts],
         "document": [f"d{i // 2:02d}" for i in range(24)], "teacher": [f"t{i // 4}" for i in range(24)],
         "half": ["ab"[i // 2 % 2] for i in range(24)]}
    )  # fmt: skip
    return Annotations.from_frame(rows, judges=[], scale=assay.Ordinal(1, 5), items=items)


def colours(texts: Sequence[str]) -> Any:
    """Which colours are in a text: an encoder."""
    return np.array([[word in text for word in ("red", "green", "blue", "old")] for text in texts], dtype=float)


def colours_alone(texts: Sequence[str]) -> Any:
    """Another one."""
    return colours(texts)[:, :2]


def first_anchors() -> Annotations:
    """Half of the first run."""
    labels = ratings()
    return keep_rows(labels, labels.labels["item"].str.contains("[02468]$"))


# -- questions --------------------------------------------------------------------------------------

DOORS = (assay, assay.measures, assay.plan, assay.results, assay.errors)
"""The modules with public names."""

CLOSED = set() if find_spec("pydantic") else {"ask", "open_study"}
"""Public names that cannot be reached without an extra."""

PUBLIC: dict[str, Any] = {
    value.__name__: value
    for door in DOORS
    for value in (getattr(door, name) for name in door.__all__ if name not in CLOSED)
    if callable(value)
}
"""Every public function and class, by the name in its definition."""


@dataclass(frozen=True)
class Question:
    """One public question.

    Attributes
    ----------
    name : str
        As in its definition, with what tells two rows apart after a colon.
    ask : function of (labels, **options)
    settings : type of Settings
        Its options.
    values : mapping of option to values
        What each option is varied to, from `base`; a mapping among the values sets several options.
    base : mapping
        Options that are given always, kept quick.
    labels : function
        The table it is asked of.
    chunks : bool
        Whether a folder in chunks gives the same digits; otherwise it is refused in one sentence.
    takes_labels : bool
        Whether it is asked of labels at all.
    """

    name: str
    ask: Callable[..., Any]
    settings: type[Settings]
    values: Mapping[str, Sequence[Any]]
    base: Mapping[str, Any] = field(default_factory=lambda: dict(QUICK))
    labels: Callable[[], Annotations] = ratings
    chunks: bool = False
    takes_labels: bool = True


class Given(dict[str, Any]):
    """Several options that are set together."""


def similar(a: Any, b: Any) -> float:
    """A similarity of two numbers."""
    return -abs(a - b)


def sharing(a: str, b: str) -> float:
    """Words that two texts share."""
    return len({*a.split()} & {*b.split()}) / 5


def steps(a: float, b: float) -> float:
    """A distance of two labels."""
    return abs(a - b) ** 1.5


def credit(a: float, b: float) -> float:
    """A weight of two labels."""
    return 1 - abs(a - b) / 9


def closeness(label: Any, others: list[Any]) -> float:
    """A user-defined score."""
    return -abs(label - max(others))


INTERVALS: dict[str, Sequence[Any]] = {
    "method": ["percentile", "bca", "jackknife", "none"],
    "n_resamples": [{"method": "percentile", "n_resamples": 80}],
    "confidence": [0.8],
    "seed": [{"method": "percentile", "seed": 3}],
}
SHARED: dict[str, Sequence[Any]] = {
    **INTERVALS,
    "repeats": ["first", "last", "mean", "majority"],
    "clusters": ["document"],
}
CATEGORIES = {"repeats": ["first", "last", "majority", "each"]}  # a mean of two categories is no category
PANEL: dict[str, Sequence[Any]] = {
    **SHARED, "annotators": [("ann_1", "ann_2"), ("ann_2", "ann_1", "gpt")], "raters": ["fixed", "random"]
}  # fmt: skip
DECISION: dict[str, Sequence[Any]] = {
    "epsilon": [0.2, 0.05],
    "expertise": [{"expertise": "expert", "epsilon": None}, {"expertise": "skilled", "epsilon": None}],
    "score": ["accuracy", closeness, {"score": "similarity", "similarity": similar}],
    "similarity": [similar, Given(similarity={(a, b): float(a == b) for a in range(6) for b in range(6)})],
    "fdr": [0.4],
    "alpha": [0.2],
    "min_agreement_ratio": [0.8],
    "analyses": [3],
    "analysis": [{"analysis": 2, "analyses": 3}],
    "strata": ["none", ["document"]],
    "copies": ["leave out"],
    "threshold": [0.9],
    "min_items": [2, 60],
    "min_humans": [3],
    "test": ["t", {"test": "wilcoxon", "min_items": 2}, "exact"],
    "normalise": ["zscore", "minmax", "rank"],
    "balance": [Given(balance=True, min_class=0)],
    "ties": [Given(balance=True, min_class=0, ties=ties) for ties in ("lowest", "highest", "random")],
    "min_class": [{"balance": True, "min_class": 0}],
    "expert": ["ann_1"],
    "gold": ["gold", {"gold": {f"item_{i:02d}": 1 + i % 5 for i in range(1, 65)}}],
    "quality": ["weight", {"quality": {"ann_1": 1.0, "ann_2": 2.0, "ann_3": 3.0, "ann_4": 9.0}}],
    **SHARED,
}
SAME_TEST = {name: values[:1] for name, values in DECISION.items()}
"""For what asks the alternative annotator test of several: its options are read by the same code, and `alt_test` is
asked with every value."""
EPSILON = {"epsilon": 0.1, **QUICK}
RATED: dict[str, Sequence[Any]] = {
    "clusters": ["document"], "systems": [("anna", "carl")], "rating_scale": [173.0], "base": [2.0], "start": [0.0],
    "grades": ["shares"], "separability": ["separability"],
    **{name: [{"separability": "separability", name: value}]
       for name, value in (("alpha", 1.0), ("beta", 2.0), ("separability_threshold", 0.1))},
    "who": ["together", ("judges",), ("annotators",), ("gpt", "ann")], "by": ["language"],
}  # fmt: skip


def judged(**values: Any) -> Callable[..., Any]:
    """An alt-test of one judge."""

    def ask(labels: Annotations, **options: Any) -> Any:
        return assay.alt_test(labels, "gpt", **options)

    return ask


def _paired(labels: Annotations, sets: Any = (("ann_1", "ann_2"), ("ann_3", "ann_4")), **options: Any) -> Any:
    return assay.alt_test_paired(labels, "gpt", sets, **options)


def _named(function: Callable[..., Any]) -> Callable[..., Any]:
    """A coefficient of the annotators named."""
    return lambda labels, annotators=None, **options: function(labels, annotators, **options)


def _bias(labels: Annotations, annotators: Any = ("ann_1", "gpt"), **options: Any) -> Any:
    return assay.measures.bias(labels, annotators, **options)


def _coefficient(name: str, settings: type[Settings], chunks: bool = True, **values: Sequence[Any]) -> Question:
    return Question(name, _named(PUBLIC[name]), settings, {**PANEL, **values}, chunks=chunks)


def _curve(what: str) -> Callable[..., Any]:
    def ask(labels: Annotations, **options: Any) -> Any:
        test = assay.alt_test(labels, "gpt", epsilon=0.1, **QUICK)
        return getattr(test, what)(**options)

    return ask


FACETS = {"r": "annotator", "o": "item", "i": "document"}
CARRIED = {"design": "r x (o:i)", "object": "i", "facets": FACETS}
DESIGN: dict[str, Sequence[Any]] = {
    "design": ["r x o x i"], "object": ["r"],
    "facets": [Given(design="r x o", object="o", facets={"r": "annotator", "o": "document"})],
    "annotators": [("ann_1", "ann_2"), ("ann_2", "ann_3", "gpt")], "repeats": ["first", "last", "mean", "majority"],
    "omit": [("ri",)],
    "reverse": [], "confounded": [Given(design="r x (o:i)", confounded="refuse")], "least_contrasts": [2],
    "estimator": ["ml", "anova"],
}  # fmt: skip
"""What a design is fitted to; ``reverse`` needs criteria, and is tried in the tests of G-studies."""


def _of_study(what: str, **options: Any) -> Callable[..., Any]:
    def ask(labels: Annotations, **given: Any) -> Any:
        return getattr(assay.g_study(labels, **CARRIED, **options), what)(**given)

    return ask


CHOICES: dict[str, Sequence[Any]] = {
    "texts": [("one", "two", "third_item")], "document": ["essay"],
    "annotators": ["judges", ("ann", "gpt")],
}  # fmt: skip

SYSTEMS = {"contrast": "system", "sources": "source"}

QUESTIONS = (
    Question("alt_test", judged(), AltTestSettings, DECISION, EPSILON, chunks=True),
    Question(
        "alt_test_by", lambda labels, **options: assay.alt_test_by(labels, "gpt", **options), AltTestBySettings,
        {**SAME_TEST, "by": ["language", "document"], "correction": ["within"], "min_items": [2],
         "clusters": [{"by": "language", "clusters": "document"}]},
        {**EPSILON, "by": "language", "min_items": 10},
    ),
    Question(
        "alt_test_paired", _paired, PairedSettings,
        {**{k: v for k, v in SAME_TEST.items() if k not in ("clusters", "expert", "repeats")}, "n_pairings": [1],
         "sets": [(("ann_1", "ann_3"), ("ann_2", "ann_4"))], "expert": [], "clusters": [],
         "repeats": ["first", "last", "mean", "majority"],
         "quality": ["weight"]},
        {**EPSILON, "min_items": 10},
    ),
    Question(
        "compare_judges", lambda labels, **options: assay.compare_judges(labels, **options), CompareSettings,
        {**SAME_TEST, "judges": [("gpt",)], "together": ["each"]},
        EPSILON, chunks=True,
    ),
    Question(
        "alt_test: epsilon_curve", _curve("epsilon_curve"), EpsilonCurveSettings, {"epsilons": [(0.1, 0.3)]}, {},
        chunks=True,
    ),
    Question(
        "alt_test: size_curve", _curve("size_curve"), SizeCurveSettings,
        {"sizes": [(30, 50)], "n_annotators": [2], "n_draws": [5], "seed": [1]}, {"n_draws": 8},
    ),
    _coefficient("exact_agreement", concordance.CoefficientSettings),
    _coefficient("within_agreement", concordance.WithinSettings, k=[2]),
    _coefficient("cohen_kappa", concordance.WeightedSettings, **CATEGORIES, weights=["linear", "quadratic", credit]),
    _coefficient("scott_pi", concordance.CoefficientSettings, **CATEGORIES),
    _coefficient("fleiss_kappa", concordance.CoefficientSettings, **CATEGORIES),
    _coefficient("gwet_ac", concordance.WeightedSettings, **CATEGORIES, weights=["linear", "quadratic", credit]),
    _coefficient(
        "brennan_prediger", concordance.WeightedSettings, **CATEGORIES, weights=["linear", "quadratic", credit]
    ),
    _coefficient("conger_kappa", concordance.WeightedSettings, **CATEGORIES, weights=["linear", "quadratic", credit]),
    _coefficient("concordance_correlation", concordance.CoefficientSettings),
    _coefficient("krippendorff_alpha", concordance.AlphaSettings, level=["nominal", "interval", "ratio", steps]),
    _coefficient("correlation", concordance.CorrelationSettings, kind=["pearson", "kendall"]),
    _coefficient("mae", concordance.CoefficientSettings),
    _coefficient("nmae", concordance.CoefficientSettings),
    _coefficient("rmse", concordance.CoefficientSettings),
    Question(
        "bias", _bias, concordance.BiasSettings,
        {**SHARED, "annotators": [("gpt", "ann_1"), ("ann_1", "llama")],
         "raters": ["fixed", "random"], "repeats": ["first", "last", "mean", "majority"]},
        {**QUICK, "annotators": ("ann_1", "gpt")}, chunks=True,
    ),
    _coefficient(
        "icc", concordance.ICCSettings, form=["ICC(1)", "ICC(C,1)", "ICC(A,k)"], model=["mixed"],
        estimator=["anova"], k=[{"form": "ICC(A,k)", "k": 2}],
    ),
    _coefficient("icc_table", concordance.ICCTableSettings, estimator=["anova"]),
    Question(
        "nested_icc", lambda labels, within="document", **options: assay.measures.nested_icc(labels, within, **options),
        NestedSettings,
        {**INTERVALS, "within": ["topic"], "n": [3], "estimator": ["anova"],
         "unit": [{"within": "topic", "unit": "part_of_topic"}],
         "annotators": [("ann_1", "ann_2")], "repeats": ["first", "last", "mean", "majority"]},
        {**QUICK, "within": "document"},
        lambda: _with_units(ratings()),
    ),
    Question(
        "estimate", lambda labels, judge="gpt", **options: assay.estimate(labels, judge, **options), EstimateSettings,
        {"judge": ["llama", ("gpt", "llama")], "target": ["shares", "quantiles"],
         "quantiles": [{"target": "quantiles", "quantiles": (0.5,)}], "by": ["language"],
         "contrast": [SYSTEMS], "sources": [], "baseline": [{**SYSTEMS, "baseline": "anna"}],
         "length": [{**SYSTEMS, "length": "length"}], "adjust": [{**SYSTEMS, "adjust": "by"}], "raters": ["random"],
         "annotators": [("ann_1", "ann_3")], "clusters": ["document"], "probabilities": ["chance"],
         "strata": ["language"], "population": ["finite"], "covariates": [("length", "language")],
         "folds": [{"covariates": ("length",), "folds": 4}], "gold": ["gold"],
         "estimator": ["difference", "ppi++"], "sampling": ["trust"], "repeats": ["first", "last", "mean"],
         "confidence": [0.8], "seed": [{"covariates": ("length",), "seed": 3}],
         "judges": [{"judge": ("gpt", "llama"), "judges": "random"}], "prompts": [],
         "regress": [{"target": "coefficients", "regress": ("length", "language")}],
         "severity": [{"judge": None, **SYSTEMS, "severity": "adjusted"}]},
        {}, spot_checked, chunks=True,
    ),
    Question(
        "agreement", lambda labels, **options: assay.agreement(labels, **options), AgreementSettings,
        {**SHARED, "coefficients": [("qwk", "mae")], "who": [("humans", "pairs")], "by": ["language", "team"],
         "draws": [{"who": ("random human",), "draws": 30}], "adjust": ["by", "bh", "none"],
         "raters": ["fixed", "random"], "family": [{"who": ("random human",), "family": "maker"}]},
        {**QUICK, "coefficients": ("krippendorff-alpha-ordinal", "cohen-kappa"), "draws": 20}, chunks=True,
    ),
    Question(
        "disagreement", lambda labels, **options: assay.disagreement(labels, **options), DisagreementSettings,
        {**SHARED, "first": ["people", "judges"], "show": [1], "by": ["team"]}, QUICK,
    ),
    Question(
        "opinions", lambda labels, **options: assay.opinions(labels, **options), OpinionSettings,
        {"judge": ["gpt", ("llama", "gpt")], "distance": ["nominal", "ordered"], "raters": ["random"],
         "annotators": [("ann_1", "ann_3", "ann_4")], "clusters": ["document"],
         "repeats": ["first", "last", "mean", "majority"], "confidence": [0.8]},
        {}, opinionated,
    ),
    Question(
        "panel", lambda labels, **options: assay.panel(labels, **options), JudgePanelSettings,
        {"judges": [("gpt", "llama", "claude")], "candidates": [("claude",)],
         "annotators": [("ann_1", "ann_3", "ann_4")], "clusters": ["document"],
         "repeats": ["first", "last", "mean", "majority"], "confidence": [0.8]},
        {}, judged_by_four,
    ),
    Question(
        "grading_scale_study", lambda labels, **options: assay.grading_scale_study(labels, **options),
        GradingScaleSettings,
        {**INTERVALS, "repeats": [], "clusters": ["document"], "scale_column": [], "by": ["language"],
         "group": ["team"], "ranges": [{"ranges": {"0-5": (0, 6), "0-10": (0, 10)}}], "condition": [],
         "baseline": [1.0], "well_aligned": [0.3], "raters": ["fixed", "random"]},
        {**QUICK, "condition": "t", "baseline": 0.0}, asked_on_scales,
    ),
    Question(
        "position_bias", lambda labels, **options: assay.position_bias(labels, **options), PositionSettings,
        {**INTERVALS, "clusters": ["document"]}, QUICK, pairs,
    ),
    *(
        Question(
            name, lambda labels, **options: assay.consistency(labels, **options), SetSettings,
            {**INTERVALS, "clusters": ["document"], "systems": [("anna", "carl")], "by": ["separability", "language"],
             "bins": [{"by": "separability", "bins": 2}], "binning": [{"by": "separability", "binning": "count"}],
             "who": [("annotators",), ("judges",)], "choose": [{"by": "separability", "choose": "top"}],
             "share": [{"by": "separability", "choose": "weighted", "share": 0.3}], "measure": []},
            {**QUICK, **measure}, votes,
        )
        for name, measure in (("consistency", {}), ("consistency: strength", {"measure": "strength"}))
    ),
    Question(
        "ratings", lambda labels, **options: assay.ratings(labels, **options), RatingSettings,
        {**INTERVALS, **RATED, "ties": ["davidson", "drop"], "prior": [1.0], "covariates": ["size", ("size", "time")],
         **dict.fromkeys(("model", "k", "order", "n_orders", "scored", "sources"), ())},
        QUICK, votes,
    ),
    Question(
        "ratings: scores", lambda labels, **options: assay.ratings(labels, **options), RatingSettings,
        {**INTERVALS, "clusters": ["document"], "systems": [("bert", "anna")], "ties": ["davidson", "drop"],
         "prior": [1.0], "who": [("judges",), ("together",)], "by": [], "rating_scale": [100.0],
         "base": [2.0], "start": [0.0], "covariates": [], "scored": [], "sources": [],
         **dict.fromkeys(("model", "k", "order", "n_orders", "grades", "separability", "alpha", "beta",
                          "separability_threshold"), ())},
        {**QUICK, "scored": "system", "sources": "source"}, spot_checked,
    ),
    Question(
        "ratings: elo", lambda labels, **options: assay.ratings(labels, **options), RatingSettings,
        {**INTERVALS, **RATED, "method": ["none"], "k": [16.0], "order": ["time"], "n_orders": [20],
         **dict.fromkeys(("model", "ties", "prior", "covariates", "scored", "sources"), ())},
        {**QUICK, "model": "elo"}, votes,
    ),
    Question(
        "separability", lambda labels, **options: assay.separability(labels, **options), SeparabilitySettings,
        {**INTERVALS, "clusters": ["document"], "systems": [("anna", "carl")], "by": ["language"],
         "similarity": ["rouge-2", "words", "characters", sharing], "span": ["none"]},
        QUICK, outputs,
    ),
    Question(
        "separability_sweep", lambda labels, **options: assay.separability_sweep(labels, **options), SweepSettings,
        {**INTERVALS, "clusters": ["document"], "systems": [("anna", "carl")],
         "similarity": ["rouge-2", sharing], "span": ["none"], "k": [(2, 3), ()], "c": [(2, 5), ()], "n_draws": [4],
         "condition": [], "baseline": ["hot"]},
        {**QUICK, "n_draws": 3, "condition": "heat"}, heated,
    ),
    Question(
        "triplet_similarity", lambda labels, **options: assay.triplet_similarity(labels, **options), TripletSettings,
        {**CHOICES, "floor": [6], "confidence": [0.8]}, {}, odd_ones,
    ),
    Question(
        "odd_one_out_agreement", lambda labels, **options: assay.odd_one_out_agreement(labels, **options),
        ReliabilitySettings, {**INTERVALS, "who": [("pairs",)], "by": ["document"], "clusters": ["document"]},
        QUICK, odd_ones,
    ),
    Question(
        "validate_similarity", lambda labels, **options: assay.validate_similarity(labels, **options), ValidateSettings,
        {**CHOICES, "measures": ["words", {"measures": {"mine": {1: sharing, 2: "characters"}}}],
         "contents": [("first_item", "second_item", "third_item")], "with_judges": [False], "floor": [5],
         "authors": [("first_item", "second_item", "third_item")], "n_resamples": [40],
         "confidence": [0.8], "seed": [3]},
        {"n_resamples": 30, "measures": "characters"}, odd_ones,
    ),
    Question(
        "annotator_similarity", lambda labels, **options: assay.annotator_similarity(labels, **options), MapSettings,
        {**INTERVALS, "similarity": ["rouge-2", "characters", sharing], "min_items": [20], "clusters": ["document"]},
        QUICK, written,
    ),
    Question(
        "triplet_embedding", lambda labels, **options: assay.triplet_embedding(labels, **options), EmbeddingSettings,
        {**CHOICES, "dimensions": [1], "folds": [{"dimensions": None, "folds": 3}], "n_resamples": [6],
         "confidence": [0.5], "seed": [3]},
        {"n_resamples": 5, "dimensions": 2}, odd_ones,
    ),
    Question(
        "judgments_needed", lambda labels, **options: assay.plan.judgments(labels, **options), SampleSizeSettings,
        {**CHOICES, "sizes": [(20, 40)], "target": [0.5], "n_splits": [25], "confidence": [0.8], "seed": [3]},
        {"n_splits": 20, "sizes": (30,)}, odd_ones,
    ),
    Question(
        "plan_triplets", lambda labels, **options: assay.plan.triplets(**options), PlanTripletsSettings,
        {"n_texts": [6], "n_documents": [2], "agreement": [0.5], "floors": [(1, 2)], "target": [0.5], "power": [0.5],
         "dimensions": [2], "n_studies": [25], "pilot": [{"pilot": odd_ones, "agreement": None}], "seed": [3]},
        {"n_texts": 7, "floors": (2, 9), "n_studies": 20, "agreement": 0.7}, takes_labels=False,
    ),
    Question(
        "style_effect", lambda labels, measures="words", **given: assay.style_effect(rewritten(), measures, **given),
        StyleSettings,
        {**INTERVALS, "measures": ["characters", (sharing,)]}, {"n_resamples": 40}, takes_labels=False,
    ),
    Question(
        "sample_triplets", lambda labels, **options: assay.sample_triplets(named_texts(), **options), SampleSettings,
        {"document": [{"document": "chapter", "floor": 2}], "name": ["title"], "text": ["title"], "floor": [4],
         "n_triplets": [7], "seed": [2]}, {},
        takes_labels=False,
    ),
    Question(
        "g_study", lambda labels, **options: assay.g_study(labels, **options), GStudySettings,
        {**DESIGN, "fixed": [("r",)], "by": ["kind"], "method": ["profile", "delta", "parametric", "objects"],
         "n_resamples": [{"method": "parametric", "n_resamples": 30}],
         "confidence": [{"method": "profile", "confidence": 0.8}],
         "seed": [{"method": "parametric", "seed": 3}]},
        {**CARRIED, "method": "none", "n_resamples": 25}, taught,
    ),
    Question(
        "g_study: d_study", _of_study("d_study", method="none"), DStudySettings,
        {"levels": [{"r": (1, 2), "o": (1, 4)}], "target": [0.5], "coefficient": ["generalizability"], "along": ["r"],
         "price": [2.0], "prices": [{"o": 3.0}], "merged": ["usual"]},
        {"levels": {"o": (1, 2, 3)}}, taught,
    ),
    Question(
        "g_study: human_in_the_loop", _of_study("human_in_the_loop", by="kind", method="none"), LoopSettings,
        {"sizes": [(2, 5)], "along": ["o"], "rater_facet": ["r"], "human": ["human"], "judge": ["judge"],
         "of_human": [{"r": 2}], "of_judge": [{"r": 2}], "ensemble": [2], "combine": ["composite"], "another": ["same"],
         "correlation": [{"combine": "composite", "correlation": 0.5}], "target": [0.4], "merged": ["usual"],
         "price": [5.0], "judge_price": [{"price": 5.0, "judge_price": 1.0}]},
        {"sizes": (1, 3)}, taught,
    ),
    Question(
        "disattenuated_correlation", lambda labels, **options: assay.disattenuated_correlation(labels, **options),
        DisattenuationSettings,
        {**DESIGN, "design": ["r x o x i"], "object": [], "facets": [],
         "annotators": [("ann_1", "ann_2", "gpt", "llama")], "confounded": ["refuse"], "estimator": ["ml"],
         "different": ["o"], "by": [{"by": "team", "families": ("north", "south")}], "families": [("judge", "human")],
         "weights": ["objects"], "n_resamples": [25], "confidence": [0.8], "seed": [3], "n_pairs": [60],
         "observed_high": [0.9], "implied_low": [0.9]},
        {**CARRIED, "n_resamples": 20, "n_pairs": 30, "different": "o"}, taught,
    ),
    Question(
        "rater_model", lambda labels, **options: assay.rater_model(labels, **options), RaterSettings,
        {"annotators": [("ann_1", "ann_2", "gpt")], "repeats": ["first", "last", "majority", "each"], "reverse": [],
         "object": ["document"], "confidence": [0.8], "seed": [3], "group": ["language"], "by": ["team"],
         "baseline": [{"group": "language", "baseline": "en"}],
         "reference": [{"group": "language", "reference": "humans"}, {"group": "language", "reference": "judges"}],
         "rope": [{"group": "language", "rope": 0.3}], "distribution": ["normal"], "traits": [], "quick": [],
         "starts": [2], "nodes": [{"object": "document", "nodes": 9}], "chains": [2], "warmup": [60], "draws": [200],
         "progress": []},
        {"quick": True, "starts": 1, "draws": 100},
    ),
    Question(
        "many_facet_rasch", lambda labels, **options: assay.many_facet_rasch(labels, **options), RaschSettings,
        {"annotators": [("ann_1", "ann_2", "gpt")], "repeats": ["first", "last", "majority", "each"], "reverse": [],
         "object": ["document"], "confidence": [0.8], "seed": [3], "nodes": [7]},
        {},
    ),
    Question(
        "plan_alt_test", lambda labels, **options: assay.plan.alt_test(**options), PlanSettings,
        {"n_items": [(30, 50)], "n_annotators": [(4,)], "epsilon": [0.2], "annotator_noise": [0.1, (0.1, 0.5)],
         "judge_noise": [0.5], "judge_bias": [1.0], "categories": ["1-3"], "prior": [(0.1, 0.1, 0.1, 0.1, 0.6)],
         "spread": [0.7], "labels_per_item": [2], "pilot": [{"pilot": ratings, "judge": "gpt", "categories": None}],
         "judge": [],
         "expertise": [{"epsilon": None, "expertise": "expert"}], "fdr": [0.3], "threshold": [0.9],
         "test": [{"test": "wilcoxon", "min_items": 2}, "exact"], "balance": [{"balance": True, "min_class": 0}],
         **{name: [] for name in ("min_agreement_ratio", "analysis", "analyses")},
         **{name: [] for name in ("score", "similarity", "alpha", "min_items", "min_humans", "normalise", "ties",
                                  "min_class", "quality", "repeats")},
         "n_verdicts": [3], "power": [0.5], "n_studies": [40], "seed": [1]},
        {"n_items": (40,), "epsilon": 0.1, "n_studies": 60, "categories": "1-5"}, takes_labels=False,
    ),
    Question(
        "card", lambda labels, **options: assay.card(labels, **options), CardSettings,
        {"judges": [("gpt",)], "object": ["language"], "lesson": [Given(object="document", lesson="item")],
         "family": ["maker"], "group": ["language"], "human_baseline": [True], "expertise": ["crowd"], "epsilon": [0.2],
         "alpha": [0.1], "adjust": [False], "concordance": [0.9], "confidence_share": [0.7], "validity": [0.8],
         "bias": [1.0], "fairness": [0.1], "repeats": []},
        {"object": "document", "family": "maker", "group": "language"}, judged_by_eight,
    ),
    Question(
        "probes", lambda labels, **options: assay.probes(labels, **options), ProbeSettings,
        {"judges": [("gpt",)], "length": ["gold"], "system": [{"family": "maker", "system": "origin"}],
         "family": [{"family": "team"}], "clusters": ["document"], "adjust": [False], "confidence": [0.8],
         "repeats": []},
        {"length": "length", "system": "origin"}, probed,
    ),
    Question(
        "validate", lambda labels, **options: assay.plan.validate(**options), ValidateVerdictSettings,
        {"n_items": [40], "n_annotators": [4], "labels_per_item": [2], "categories": [3], "skew": [0.8],
         "prior": [(0.7, 0.1, 0.1, 0.05, 0.05)], "annotator_noise": [0.1], "documents": [10],
         "pilot": [{"pilot": ratings, "n_items": 30}],
         "document": [{"pilot": ratings, "n_items": 30, "document": "document"}],
         "expertise": [{"epsilon": None, "expertise": "expert"}], "epsilon": [0.4], "alpha": [0.2], "n_studies": [2],
         "seconds": [0.001], "confidence": [0.8], "seed": [3], "progress": []},
        {"n_items": 30, "n_annotators": 3, "categories": "1-5", "epsilon": 0.2, "n_studies": 1}, takes_labels=False,
    ),
    Question(
        "drift", lambda labels, **options: assay.drift(labels, second_run(), **options), DriftSettings,
        {"judge": ["llama"], "judge_after": [{"judge_after": "llama"}], "anchors": [{"anchors": first_anchors()}],
         "text": ["language"], "clusters": ["document"], "repeats": [], "confidence": [0.8]},
        {"judge": "gpt"},
    ),
    Question(
        "monitor", lambda labels, judge="gpt", **options: assay.monitor(labels, judge, **options), MonitorSettings,
        {"judge": ["llama"], "watch": ["gap"], "share_of": [4], "order": ["length"],
         "clusters": ["document"],
         "baseline": [35], "baseline_mean": [9.5], "horizon": [40], "alpha": [0.2],
         "repeats": ["first", "last", "mean"]},
        {"baseline": 30}, spot_checked,
    ),
    Question(
        "route", lambda labels, judge="gpt", **options: assay.route(labels, judge, **options), RouteSettings,
        {"judge": ["llama"], "signal": ["judges"], "epsilon": [0.02], "alpha": [0.2], "clusters": ["document"],
         "annotators": [("ann_1", "ann_2", "ann_3")], "price": [2.0], "judge_price": [0.5],
         "min_agreement_ratio": [0.3],
         "repeats": [{"signal": "judges", "repeats": how} for how in ("first", "last", "mean")], "confidence": [0.8]},
        {"signal": "chance", "epsilon": 0.1}, signalled,
    ),
    Question(
        "gate", lambda labels, **options: assay.gate(**options), GateSettings,
        {"policy": [], "labels": [], "before": [], "read": []},
        {"policy": str(Path(__file__).parents[1] / "examples" / "assay.toml")}, takes_labels=False,
    ),
    Question(
        "plan_labels", lambda labels, **options: assay.plan.labels(**options), LabelPlanSettings,
        {"half_width": [0.05], "difference": [{"half_width": None, "difference": 0.1}],
         "power": [{"half_width": None, "difference": 0.1, "power": 0.9}], "n_items": [2000], "sizes": [(50, 100)],
         "n_people": [(1, 3)], "share": [0.2], "sd": [1.3], "correlation": [0.3], "people_correlation":
         [{"n_people": (2,), "people_correlation": 0.2}], "price": [2.0], "judge_price": [0.01],
         "pilot": [{"pilot": spot_checked, "judge": "gpt", "half_width": 2.0}], "judge": [], "confidence": [0.8],
         "seed": [2]},
        {"half_width": 0.1}, takes_labels=False,
    ),
    Question(
        "plan_budget", lambda labels, **options: assay.plan.budget(labels, **options), BudgetSettings,
        {"budget": [60.0], "judge_price": [0.02], "price": [0.5], "judges": [("gpt", "llama")],
         "prompts": [], "n_items": [40], "n_judges": [(2, 5)], "n_prompts": [],
         "n_runs": [], "n_people": [{"price": 0.5, "n_people": 2}], "confidence": [0.9], "seed": [3]},
        {"budget": 30.0}, judged_by_four,
    ),
    Question(
        "train", lambda labels, **options: assay.train(labels, **options), TrainSettings,
        {"text": ["other"], "text_holds": ["item"], "order": ["document"], "starts": [], "document": ["teacher"],
         "document_pattern": [{"document": None, "document_pattern": r"^i\d(\d)"}], "together": [("teacher",)],
         "near": [1.0], "folds": [3], "fold": ["half"], "annotators": [("ann_1", "ann_2")], "repeats": [],
         "encoders": [colours_alone], "members": [2], "size": ["long"], "layers": [2], "width": [4], "heads": [1],
         "feedforward": [4], "dropout": [0.3], "epochs": [3], "patience": [1], "learning_rate": [0.01], "batch": [4],
         "window": [2], "windows": [{"window": 2, "windows": 3}], "threads": [2], "device": [], "folder": [],
         "n_resamples": [60], "confidence": [0.8], "seed": [3], "progress": []},
        {"encoders": colours, "document": "document", "near": 0.0, "folds": 2, "members": 1, "size": "short",
         "epochs": 2, "width": 8, "heads": 2, "feedforward": 8, "n_resamples": 40, "device": "cpu"}, reviewed,
    ),
    Question(
        "report", lambda labels, **options: assay.report(labels, **options), ReportSettings,
        # What decides the test is varied above; here, what the whole page must follow.
        {**dict.fromkeys(DECISION, ()), "epsilon": [0.2], "score": ["accuracy"], "clusters": ["document"],
         "repeats": ["first"], "confidence": [0.8], "method": ["bca"], "judges": [("gpt",)], "by": ["language"],
         "title": [], "plan": [], "progress": [], "min_items": [2], "object": ["document"], "lesson": [],
         "family": ["maker"], "group": ["language"]},
        {**EPSILON, "min_items": 10},
    ),
)  # fmt: skip


NEEDS = {"train": ("torch", "sentencex", "safetensors")}
"""Questions that need a large library. If it is missing they are in `OTHERS` with their results, no law covers them,
and `tests/training` is skipped with a reason."""
ABSENT = {name for name, modules in NEEDS.items() if not all(map(find_spec, modules))}
QUESTIONS = tuple(q for q in QUESTIONS if q.name not in ABSENT)


def _with_units(labels: Annotations) -> Annotations:
    number = labels.items["item"].str.extract(r"(\d+)$").cast(pl.Int64)
    topic = "t" + (number % 5).cast(pl.String)
    unit = topic + "-" + (number // 16).cast(pl.String)
    return Annotations.from_frame(
        labels.labels, judges=JUDGES, scale=assay.Ordinal(1, 5),
        items=labels.items.with_columns(topic=topic, part_of_topic=unit), annotator_table=labels.annotators,
    )  # fmt: skip


# -- the other public names -------------------------------------------------------------------------

RESULTS = (
    "AltTest", "AltTestBy", "PairedAltTest", "JudgeComparison", "Agreement", "Coefficient", "ICC", "ICCTable",
    "NestedICC", "Disagreement", "Opinions", "JudgePanel", "GradingScaleStudy", "PositionBias", "RatingSets",
    "Leaderboard", "Separability", "SeparabilitySweep",
    "GStudy", "DStudy", "Disattenuation", "RaterModel", "FacetRasch", "AltTestPlan", "TripletSimilarity",
    "OddOneOutAgreement",
    "SimilarityValidation", "AnnotatorSimilarity", "TripletSample", "Judgments", "TripletPlan", "StyleEffect",
    "TripletEmbedding", "CorrectedEstimate", "LabelPlan", "BudgetPlan", "Drift", "GateResult", "Monitor", "Route",
    "JudgeCard", "JudgeProbes", "VerdictValidation", "Report", "TrainedRater",
)  # fmt: skip
SCALES = ("Interval", "Nominal", "OddOneOut", "Ordinal", "Preference", "Text")
ERRORS = tuple(assay.errors.__all__)
TABLES = ("Annotations", "read", "scan", "simulate")
OTHERS = ("Look", "look", "similarity_matrix", *({"ask", "open_study"} - CLOSED), *ABSENT)
if "train" in ABSENT:
    RESULTS, OTHERS = RESULTS[:-1], (*OTHERS, RESULTS[-1])
