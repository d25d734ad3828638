"""Every option's default, range and name in a signature: one that changes is a number that changes for some user."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence

import pytest

from assay.concordance.coefficient import (
    AgreementSettings,
    AlphaSettings,
    BiasSettings,
    CoefficientSettings,
    CorrelationSettings,
    GradingScaleSettings,
    ICCSettings,
    ICCTableSettings,
    PanelSettings,
    WeightedSettings,
    WithinSettings,
)
from assay.concordance.groups.disagreement import DisagreementSettings
from assay.data.chunked.chunks import ScanSettings
from assay.data.columns import FrameSettings
from assay.data.formats import FormatSettings
from assay.data.formats.registry import ReadSettings
from assay.data.values import LabelSettings
from assay.errors import DesignError
from assay.estimates.corrected import EstimateSettings
from assay.estimates.drift import DriftSettings
from assay.estimates.monitor import MonitorSettings
from assay.estimates.plans.budget import BudgetSettings
from assay.estimates.plans.label_plan import LabelPlanSettings
from assay.estimates.route import RouteSettings
from assay.estimation.options import IntervalSettings, Limits, Settings, _inside, _number_words, _range, hints_of
from assay.ideas.choices import (
    ChoiceSettings,
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
    NextPairsSettings,
    OutputSettings,
    PairsSettings,
    PositionSettings,
    RatingSettings,
    SeparabilitySettings,
    SetSettings,
    StabilitySettings,
    SweepSettings,
    VotesSettings,
)
from assay.psychometrics.design import (
    DesignSettings,
    DisattenuationSettings,
    DStudySettings,
    GStudySettings,
    LoopSettings,
)
from assay.psychometrics.nested_icc import NestedSettings
from assay.psychometrics.raters.table import FacetSettings, RaschSettings, RaterSettings
from assay.replacement.panel import AltTestBySettings, AltTestSettings, CompareSettings, PairedSettings, RuleSettings
from assay.replacement.studies import EpsilonCurveSettings, SizeCurveSettings
from assay.simulation import SimulationSettings
from assay.training.documents import TrainSettings
from assay.variation.opinions import OpinionSettings
from assay.variation.panel import JudgePanelSettings
from assay.verdict.card import CardSettings
from assay.verdict.gate import GateSettings
from assay.verdict.probes import ProbeSettings
from assay.verdict.report import ReportSettings
from assay.verdict.validate import ValidateVerdictSettings
from laws import PUBLIC

FLAGS = ("always", "hidden", "transient", "first")
OPTIONS = {
    AgreementSettings: {
        "draws": "1000 >= 1",
        "adjust": "'holm' always",
        "coefficients": "None first",
        "who": "None first",
        "by": "None first",
    },
    AlphaSettings: {
        "level": "None as 'distance'",
    },
    CorrelationSettings: {
        "kind": "'spearman'",
    },
    GradingScaleSettings: {
        "scale_column": "'scale' first",
        "ranges": "None hidden",
        "well_aligned": "0.1 >= 0 <= 1",
        "by": "None first",
    },
    ICCSettings: {
        "form": "'ICC(A,1)'",
        "model": "'random'",
        "k": "None >= 1",
    },
    PanelSettings: {
        "repeats": "'error' first",
    },
    WeightedSettings: {
        "weights": "'none'",
    },
    WithinSettings: {
        "k": "1.0 >= 0 always",
    },
    ScanSettings: {
        "item": "'item'",
        "annotator": "'annotator'",
        "label": "'label'",
        "judges": "()",
        "spelling": "'refuse'",
        "labels_per_chunk": "4000000 >= 1",
    },
    FrameSettings: {
        "item": "'item'",
        "annotator": "'annotator' first",
        "label": "'label'",
        "judges": "None first",
        "scale": "None first",
        "spelling": "'refuse'",
        "conditions": "()",
        "reading": "None hidden transient",
    },
    FormatSettings: {
        "predictions": "True",
        "keep_unknown": "False",
        "unchosen_is_tie": "False",
        "rankings": "()",
        "suggestions": "True",
        "numbered": "()",
        "rejected": "False",
        "workers": "'codes'",
        "salt": "''",
        "with_model": "False",
        "value": "'score'",
    },
    ReadSettings: {
        "item": "'item' first",
        "label": "'label' first",
        "layout": "'auto'",
        "format": "'auto'",
        "match": "'exact'",
        "what": "'labels'",
        "split_item": "'auto'",
    },
    LabelSettings: {
        "label_spelling": "'refuse'",
    },
    IntervalSettings: {
        "method": "'jackknife'",
        "n_resamples": "2000 >= 20 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
    },
    ChoiceSettings: {
        "annotators": "'humans'",
        "document": "None first",
    },
    EmbeddingSettings: {
        "dimensions": "None >= 1 <= 50",
        "folds": "5 >= 2",
        "n_resamples": "100 >= 0 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
    },
    MapSettings: {
        "similarity": "'words' first",
        "min_items": "10 >= 2",
    },
    PlanTripletsSettings: {
        "n_texts": "15 >= 3 <= 200 always first as 'texts'",
        "n_documents": "1 >= 1 always first as 'documents'",
        "agreement": "None > 0.3333 < 1 always first",
        "floors": "(1, 2, 3, 5, 8, 10, 15, 20, 30, 50) >= 1",
        "target": "0.9 > 0 < 1",
        "power": "0.8 > 0 < 1",
        "dimensions": "3 >= 1 <= 50",
        "n_studies": "200 >= 20 as 'studies'",
        "pilot": "None hidden first",
        "seed": "0 >= 0 always",
    },
    ReliabilitySettings: {
        "who": "('humans', 'annotator', 'itself')",
    },
    SampleSettings: {
        "document": "None hidden as ''",
        "name": "None hidden as ''",
        "text": "None hidden as ''",
        "floor": "3 >= 1 always first",
        "n_triplets": "None >= 1",
        "seed": "0 >= 0 always",
    },
    SampleSizeSettings: {
        "sizes": "None >= 10",
        "target": "0.8 > 0 < 1",
        "n_splits": "100 >= 20 as 'splits'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
    },
    StyleSettings: {},
    TripletSettings: {
        "floor": "3 >= 1",
        "confidence": "0.95 > 0 < 1 as 'level'",
    },
    ValidateSettings: {
        "with_judges": "True",
        "floor": "1 >= 1",
        "n_resamples": "1000 >= 20 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "measures": "None first",
    },
    PlanSettings: {
        "n_items": "(30, 50, 75, 100, 150, 200, 300, 500) >= 2 first as 'items'",
        "n_annotators": "(3,) >= 2 always first as 'humans'",
        "epsilon": "None >= 0 <= 1 always first as 'eps'",
        "expertise": "None first as ''",
        "annotator_noise": "None >= 0 <= 1 first",
        "judge_noise": "None >= 0 <= 1 first",
        "judge_bias": "0.0",
        "prior": "None >= 0 <= 1",
        "spread": "0.0 >= 0",
        "labels_per_item": "None >= 2",
        "n_verdicts": "1 >= 1 as 'verdicts'",
        "pilot": "None hidden first",
        "power": "0.8 > 0 < 1 first",
        "n_studies": "1000 >= 1 always as 'studies'",
        "seed": "0 >= 0 always",
        "categories": "None first",
    },
    PairsSettings: {
        "n": "5 >= 1",
        "n_items": "None >= 1",
        "choose": "'weighted'",
        "seed": "0 >= 0",
    },
    PositionSettings: {
        "method": "'percentile'",
    },
    RatingSettings: {
        "model": "'bradley-terry' always first",
        "ties": "'half' first",
        "prior": "0.0 >= 0",
        "covariates": "None first",
        "scored": "None",
        "sources": "None",
        "k": "32.0 > 0",
        "n_orders": "100 >= 1",
        "order": "None",
        "method": "'percentile'",
        "rating_scale": "400.0 > 0 as 'scale'",
        "base": "10.0 > 1",
        "start": "1000.0",
        "grades": "'alike' first",
        "alpha": "2.0 > 0",
        "beta": "6.0 > 0",
        "separability_threshold": "0.4 as 'threshold'",
        "who": "None first",
        "by": "None first",
        "separability": "None first",
    },
    OutputSettings: {
        "similarity": "'rouge-1' first",
        "span": "'study'",
    },
    SetSettings: {
        "measure": "'consistency' always first",
        "bins": "4 >= 1",
        "binning": "'width'",
        "who": "('humans', 'judges') first",
        "share": "0.5 > 0 < 1",
        "by": "None first",
        "choose": "None first",
    },
    NextPairsSettings: {
        "n": "10 >= 1",
        "aim": "'information'",
    },
    SweepSettings: {
        "n_draws": "20 >= 1",
        "k": "None first",
        "c": "None first",
        "condition": "None first",
    },
    StabilitySettings: {
        "k": "()",
        "n_draws": "20 >= 1",
        "seed": "0 >= 0",
        "c": "()",
    },
    DStudySettings: {
        "target": "0.7 > 0 < 1 first",
        "coefficient": "'dependability'",
        "price": "None >= 0 first",
        "merged": "'careful'",
        "levels": "None first",
    },
    DesignSettings: {
        "facets": "None first as ''",
        "repeats": "'error'",
        "confounded": "'merge'",
        "least_contrasts": "3 >= 1",
        "estimator": "'reml'",
    },
    DisattenuationSettings: {
        "by": "'kind'",
        "weights": "'pairs'",
        "n_resamples": "200 >= 20 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "n_pairs": "1500 >= 20",
        "observed_high": "0.3 >= 0 <= 1",
        "implied_low": "0.5 >= 0 <= 1",
    },
    GStudySettings: {
        "n_resamples": "200 >= 20 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "fixed": "None first",
        "by": "None first",
    },
    LoopSettings: {
        "sizes": "(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) first",
        "of_human": "None hidden",
        "of_judge": "None hidden",
        "ensemble": "3 >= 2",
        "combine": "'sum'",
        "another": "'other'",
        "correlation": "1.0 >= -1 <= 1",
        "target": "0.7 > 0 < 1",
        "merged": "'careful'",
        "price": "None >= 0",
        "judge_price": "0.0 >= 0",
    },
    NestedSettings: {
        "n": "6.0 >= 1 always",
        "estimator": "'reml'",
        "repeats": "'error'",
    },
    FacetSettings: {
        "repeats": "'error'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "reverse": "None first",
        "object": "None first",
    },
    RaschSettings: {
        "nodes": "31 >= 5",
    },
    TrainSettings: {
        "text_holds": "'auto'",
        "near": "0.6 >= 0 <= 1",
        "folds": "5 >= 2 first",
        "repeats": "'error'",
        "members": "3 >= 1 first",
        "size": "'auto' first",
        "layers": "None >= 1",
        "dropout": "None >= 0 < 1",
        "learning_rate": "None > 0 as 'rate'",
        "windows": "8 >= 1",
        "threads": "1 >= 1",
        "folder": "None hidden transient",
        "n_resamples": "2000 >= 20 as 'resamples'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "text": "None first",
        "document": "None first",
        "encoders": "None first as ''",
        "width": "None >= 1",
        "heads": "None >= 1",
        "feedforward": "None >= 1",
        "epochs": "None >= 1",
        "patience": "None >= 1",
        "batch": "None >= 1",
        "window": "None >= 1",
        "progress": "None hidden transient",
    },
    RaterSettings: {
        "reference": "'all'",
        "distribution": "'auto' first",
        "rope": "0.1 >= 0",
        "quick": "False first",
        "starts": "10 >= 1",
        "nodes": "21 >= 3",
        "chains": "4 >= 2",
        "warmup": "500 >= 50",
        "draws": "1000 >= 100",
        "progress": "None hidden transient",
        "group": "None first",
        "by": "None first",
        "traits": "None first",
    },
    DriftSettings: {
        "anchors": "None hidden first",
        "repeats": "'error'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "text": "None first",
        "clusters": "None first",
    },
    EstimateSettings: {
        "quantiles": "(0.25, 0.5, 0.75) > 0 < 1",
        "adjust": "'holm'",
        "raters": "'fixed' first",
        "judges": "'fixed'",
        "severity": "'ignored'",
        "regress": "()",
        "population": "'infinite'",
        "covariates": "()",
        "folds": "10 >= 2",
        "estimator": "'auto'",
        "sampling": "'test'",
        "repeats": "'error'",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "target": "None first",
        "by": "None first",
        "contrast": "None first",
        "sources": "None first",
        "clusters": "None first",
        "probabilities": "None first",
    },
    OpinionSettings: {
        "distance": "'auto' first",
        "raters": "'fixed' first",
        "clusters": "None first",
        "repeats": "'error'",
        "confidence": "0.95 > 0 < 1 as 'level'",
    },
    JudgePanelSettings: {
        "candidates": "None first",
        "clusters": "None first",
        "repeats": "'error'",
        "confidence": "0.95 > 0 < 1 as 'level'",
    },
    BudgetSettings: {
        "judge_price": "0.01 > 0 always first",
        "price": "None > 0 first",
        "prompts": "None first",
        "n_items": "None >= 2 first as 'most_items'",
        "n_judges": "None >= 1 first",
        "n_prompts": "None >= 1",
        "n_runs": "(1, 2, 3) >= 1",
        "n_people": "(1, 2, 3) >= 1 as 'humans'",
        "confidence": "0.8 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
    },
    LabelPlanSettings: {
        "half_width": "None > 0 first",
        "difference": "None > 0",
        "power": "0.8 > 0 < 1",
        "n_items": "10000 >= 2 always first as 'items'",
        "sizes": "(30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000) >= 4",
        "n_people": "(1,) >= 1 as 'humans'",
        "share": "0.5 > 0 < 1 always first",
        "sd": "None > 0",
        "correlation": "0.7 >= -1 <= 1 always first",
        "people_correlation": "0.5 >= 0 <= 1",
        "price": "1.0 >= 0",
        "judge_price": "0.0 >= 0",
        "pilot": "None hidden first",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
    },
    MonitorSettings: {
        "watch": "'judge' first",
        "baseline": "2000 >= 30 always first",
        "horizon": "5000 >= 1 always",
        "alpha": "0.05 > 0 < 1 always",
        "repeats": "'error'",
        "share_of": "None first",
        "order": "None first",
    },
    RouteSettings: {
        "alpha": "0.05 > 0 < 1 always",
        "price": "1.0 >= 0",
        "judge_price": "0.0 >= 0",
        "repeats": "'error'",
        "min_agreement_ratio": "0.6 >= 0 <= 1",
        "confidence": "0.95 > 0 < 1 as 'level'",
    },
    GateSettings: {
        "policy": "'assay.toml' as ''",
        "labels": "None first as ''",
        "before": "None first as ''",
        "read": "None hidden as ''",
    },
    SimulationSettings: {
        "n_items": "100 >= 1",
        "n_annotators": "3 >= 1",
        "scale": "4",
        "annotator_noise": "0.3",
        "judges": "0.2",
        "spread": "0.0 >= 0",
        "alike": "0.5 >= 0 <= 1",
        "missing": "0.0",
        "seed": "0 >= 0",
    },
    BiasSettings: {},
    CoefficientSettings: {
        "annotators": "None",
    },
    ICCTableSettings: {
        "estimator": "None",
    },
    DisagreementSettings: {
        "first": "'all' first",
        "show": "5 >= 0 first",
        "by": "None first",
        "repeats": "'error'",
        "clusters": "None",
    },
    SeparabilitySettings: {
        "by": "None first",
    },
    VotesSettings: {
        "systems": "None",
        "clusters": "None",
    },
    AltTestBySettings: {
        "by": "'criterion' always first",
        "correction": "'across' always",
    },
    AltTestSettings: {
        "method": "'jackknife'",
        "seed": "0 >= 0 always",
        "epsilon": "None >= 0 <= 1 always first as 'eps'",
        "expertise": "None first as ''",
        "expert": "None",
        "gold": "None",
        "clusters": "None first",
        "strata": "'auto'",
        "copies": "'refuse'",
    },
    CompareSettings: {
        "judges": "None as ''",
        "together": "'holm'",
    },
    PairedSettings: {
        "n_pairings": "100 >= 1",
    },
    RuleSettings: {
        "score": "None as ''",
        "similarity": "None first",
        "fdr": "0.05 > 0 < 1 always",
        "alpha": "0.05 > 0 < 1",
        "min_agreement_ratio": "0.6 >= 0 <= 1",
        "analyses": "1 >= 1",
        "analysis": "1 >= 1",
        "threshold": "0.5 > 0 <= 1",
        "min_items": "30 >= 0",
        "min_humans": "2 >= 1",
        "test": "'published'",
        "normalise": "None",
        "balance": "False",
        "ties": "'share'",
        "min_class": "5 >= 0",
        "quality": "None",
        "repeats": "'error'",
    },
    EpsilonCurveSettings: {
        "epsilons": "None >= 0 <= 1",
    },
    SizeCurveSettings: {
        "sizes": "(30, 40, 50, 75, 100, 150, 200, 300) >= 2",
        "n_annotators": "None >= 2 always as 'panel'",
        "n_draws": "100 >= 1 always as 'draws'",
        "seed": "0 >= 0 always",
    },
    CardSettings: {
        "judges": "None as ''",
        "object": "None first",
        "lesson": "None first",
        "family": "None first",
        "group": "None first",
        "human_baseline": "False",
        "expertise": "None first",
        "epsilon": "None >= 0 <= 1 first",
        "alpha": "0.05 > 0 < 0.5",
        "adjust": "True",
        "concordance": "0.75 >= 0 <= 1",
        "confidence_share": "0.5 >= 0 <= 1 as 'confidence'",
        "validity": "0.5 >= 0 <= 1",
        "bias": "1.5 >= 0",
        "fairness": "0.25 >= 0",
        "repeats": "'error'",
    },
    ProbeSettings: {
        "judges": "None as ''",
        "length": "None first",
        "system": "None first",
        "family": "None first",
        "clusters": "None first",
        "adjust": "True",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "repeats": "'first'",
    },
    ReportSettings: {
        "judges": "None",
        "by": "None first",
        "plan": "None first as ''",
        "object": "None",
        "lesson": "None",
        "family": "None",
        "group": "None",
        "title": "None as ''",
        "progress": "None hidden transient",
    },
    ValidateVerdictSettings: {
        "n_items": "100 >= 10 always first as 'items'",
        "n_annotators": "5 >= 2 always first as 'humans'",
        "labels_per_item": "None >= 2 first",
        "categories": "None first",
        "skew": "None > 0 < 1 first",
        "prior": "None >= 0 <= 1",
        "annotator_noise": "0.3 >= 0 < 1",
        "documents": "None >= 5 first",
        "pilot": "None hidden first",
        "document": "None",
        "expertise": "None first",
        "epsilon": "None >= 0 <= 1 first",
        "alpha": "0.05 > 0 < 0.5",
        "n_studies": "200 >= 1 first as 'studies'",
        "seconds": "None > 0 first",
        "confidence": "0.95 > 0 < 1 as 'level'",
        "seed": "0 >= 0",
        "progress": "None hidden transient",
    },
}
"""The options of each class, except those that default to None without limits: default, limits (``>=`` inclusive, ``>``
exclusive), the name in a signature, flags. ``first`` is what the short help of a command shows."""


def described(field: dataclasses.Field) -> str:
    limits = field.metadata["option"]
    low = [] if limits.low is None else [">" if limits.low_open else ">=", f"{limits.low:.4g}"]
    high = [] if limits.high is None else ["<" if limits.high_open else "<=", f"{limits.high:.4g}"]
    flags = [flag for flag in FLAGS if getattr(limits, flag)]
    key = [] if limits.key is None else [f"as {limits.key!r}"]
    return " ".join([repr(field.default), *low, *high, *flags, *key])


@pytest.mark.parametrize("settings", OPTIONS, ids=lambda settings: settings.__name__)
def test_defaults_and_ranges(settings):
    own = inspect.get_annotations(settings)
    fields = [f for f in dataclasses.fields(settings) if "option" in f.metadata]
    found = {f.name: described(f) for f in fields if f.name in own or f.name in OPTIONS[settings]}
    assert found == dict.fromkeys(found, "None") | OPTIONS[settings]


def test_every_question_s_options_are_listed_here():
    questions = list(PUBLIC.values())
    used = {
        kind for one in questions if isinstance(getattr(one, "settings", None), type) for kind in one.settings.__mro__
    }
    assert {kind.__name__ for kind in used if issubclass(kind, Settings) and kind is not Settings} <= {
        kind.__name__ for kind in OPTIONS
    }


def test_options_without_a_default_have_their_limits():
    """A required option is stated in the type (``Annotated``), and has limits and a name."""
    limits = {name: limits for name, (_, limits) in hints_of(RouteSettings).items()}
    epsilon, signal = limits["epsilon"], limits["signal"]
    assert (epsilon.low, epsilon.high, epsilon.key, epsilon.always, signal.always) == (0, 1, "eps", True, True)
    with pytest.raises(DesignError, match="epsilon"):
        RouteSettings(signal="sure", epsilon=1.5)


@pytest.mark.parametrize(
    ("hint", "limits", "words"),
    [
        (int, Limits(low=0), "0 or a larger whole number"),
        (float, Limits(low=0), "0 or a larger number"),
        (float, Limits(low=0, low_open=True), "a number above 0"),
        (float, Limits(low=0, high=0.5), "a number from 0 to 0.5"),
        (int, Limits(low=3), "a whole number of at least 3"),
        (float, Limits(high=1), "a number of at most 1"),
        (float, Limits(high=1, high_open=True), "a number below 1"),
        (Sequence[int], Limits(low=0), "whole numbers of at least 0"),
        (Sequence[float], Limits(), "numbers"),
    ],
)
def test_a_number_that_is_asked_for_in_words(hint, limits, words):
    assert _number_words(hint, limits) == words


def test_ends_that_may_not_be_reached_are_said():
    share = Limits(low=0, high=1, low_open=True, high_open=True)
    assert [_inside(value, share) for value in (0, 0.1, 0.9, 1)] == [False, True, True, False]
    assert [_inside(value, Limits(low=0, high=1)) for value in (-0.1, 0, 1, 1.1)] == [False, True, True, False]
    assert _range(float, share, 1.0) == "lie between 0 and 1 but not be 1"
    assert _range(float, share, 2.0) == "lie between 0 and 1"
    assert _range(int, Limits(low=2), 1) == "be a whole number of at least 2"
