"""May this LLM judge stand in for human annotators, when no human label is gold?

>>> import assay
>>> labels = assay.simulate(n_items=100, n_annotators=3, seed=7)
>>> assay.alt_test(labels, "judge", annotators="skilled").passed
True

Names are imported when they are first used, so that ``import assay`` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assay._version import __version__

if TYPE_CHECKING:
    from assay.agreement.categorical import cohen_kappa as cohen_kappa
    from assay.agreement.categorical import exact_agreement as exact_agreement
    from assay.agreement.categorical import fleiss_kappa as fleiss_kappa
    from assay.agreement.categorical import gwet_ac as gwet_ac
    from assay.agreement.categorical import krippendorff_alpha as krippendorff_alpha
    from assay.agreement.categorical import scott_pi as scott_pi
    from assay.agreement.categorical import within_agreement as within_agreement
    from assay.agreement.coefficient import Coefficient as Coefficient
    from assay.agreement.grading_scale import GradingScaleStudy as GradingScaleStudy
    from assay.agreement.grading_scale import grading_scale_study as grading_scale_study
    from assay.agreement.icc import ICC as ICC
    from assay.agreement.icc import ICCTable as ICCTable
    from assay.agreement.icc import NestedICC as NestedICC
    from assay.agreement.icc import icc as icc
    from assay.agreement.icc import icc_table as icc_table
    from assay.agreement.icc import nested_icc as nested_icc
    from assay.agreement.numerical import bias as bias
    from assay.agreement.numerical import correlation as correlation
    from assay.agreement.numerical import mae as mae
    from assay.agreement.numerical import nmae as nmae
    from assay.agreement.numerical import rmse as rmse
    from assay.agreement.summary import Agreement as Agreement
    from assay.agreement.summary import agreement as agreement
    from assay.data.annotations import Annotations as Annotations
    from assay.data.chunks import scan as scan
    from assay.data.reading import read as read
    from assay.data.scales import Interval as Interval
    from assay.data.scales import Nominal as Nominal
    from assay.data.scales import OddOneOut as OddOneOut
    from assay.data.scales import Ordinal as Ordinal
    from assay.data.scales import Preference as Preference
    from assay.data.scales import Text as Text
    from assay.errors import AssayError as AssayError
    from assay.errors import DataError as DataError
    from assay.errors import DesignError as DesignError
    from assay.errors import JudgeError as JudgeError
    from assay.errors import StudyError as StudyError
    from assay.planning import AltTestPlan as AltTestPlan
    from assay.planning import plan_alt_test as plan_alt_test
    from assay.preference.position import PositionBias as PositionBias
    from assay.preference.position import position_bias as position_bias
    from assay.replacement.alt_test import AltTest as AltTest
    from assay.replacement.alt_test import alt_test as alt_test
    from assay.replacement.compare import JudgeComparison as JudgeComparison
    from assay.replacement.compare import compare_judges as compare_judges
    from assay.replacement.domains import AltTestBy as AltTestBy
    from assay.replacement.domains import PairedAltTest as PairedAltTest
    from assay.replacement.domains import alt_test_by as alt_test_by
    from assay.replacement.domains import alt_test_paired as alt_test_paired
    from assay.reporting.report import Report as Report
    from assay.reporting.report import report as report
    from assay.simulation import simulate as simulate

_HOME = {
    "Agreement": "agreement.summary",
    "agreement": "agreement.summary",
    "cohen_kappa": "agreement.categorical",
    "exact_agreement": "agreement.categorical",
    "fleiss_kappa": "agreement.categorical",
    "gwet_ac": "agreement.categorical",
    "krippendorff_alpha": "agreement.categorical",
    "scott_pi": "agreement.categorical",
    "within_agreement": "agreement.categorical",
    "bias": "agreement.numerical",
    "correlation": "agreement.numerical",
    "mae": "agreement.numerical",
    "nmae": "agreement.numerical",
    "rmse": "agreement.numerical",
    "ICC": "agreement.icc",
    "ICCTable": "agreement.icc",
    "NestedICC": "agreement.icc",
    "icc": "agreement.icc",
    "icc_table": "agreement.icc",
    "nested_icc": "agreement.icc",
    "Coefficient": "agreement.coefficient",
    "GradingScaleStudy": "agreement.grading_scale",
    "grading_scale_study": "agreement.grading_scale",
    "scan": "data.chunks",
    "AltTestPlan": "planning",
    "Annotations": "data.annotations",
    "read": "data.reading",
    "Interval": "data.scales",
    "Nominal": "data.scales",
    "OddOneOut": "data.scales",
    "Ordinal": "data.scales",
    "Preference": "data.scales",
    "Text": "data.scales",
    "AssayError": "errors",
    "DataError": "errors",
    "DesignError": "errors",
    "JudgeError": "errors",
    "StudyError": "errors",
    "PositionBias": "preference.position",
    "position_bias": "preference.position",
    "plan_alt_test": "planning",
    "AltTest": "replacement.alt_test",
    "alt_test": "replacement.alt_test",
    "JudgeComparison": "replacement.compare",
    "compare_judges": "replacement.compare",
    "AltTestBy": "replacement.domains",
    "PairedAltTest": "replacement.domains",
    "alt_test_by": "replacement.domains",
    "alt_test_paired": "replacement.domains",
    "Report": "reporting.report",
    "report": "reporting.report",
    "simulate": "simulation",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"assay.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
