"""The reviewed answers of every question, with text, numbers and pictures, kept in `tests/answers`.

`test_PACKAGE_answers.py` of each package compares them. After an intended change write an answer again, and review the
difference line by line:

    python tests/pinned.py [QUESTION ...]      then: git diff tests/answers
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import AssayError

ANSWERS = Path(__file__).parent / "answers"
PICTURES = ("plot", "heat_map", "confusion_map")
"""How names of methods that draw begin."""

LONGEST = 40_000
"""Characters of a ``to_dict`` that is kept whole; of a longer one the table is kept."""

NOT_KEPT = {"train", "report", "validate"}
"""Questions whose numbers are another machine's, and reports of others' answers."""

PAGES = {
    "Agreement": "concordance.page:agreement_parts",
    "AnnotatorSimilarity": "ideas.page:annotator_parts",
    "CorrectedEstimate": "estimates.page:estimate_parts",
    "DStudy": "psychometrics.page:d_study_parts",
    "Disagreement": "concordance.page:disagreement_parts",
    "Disattenuation": "psychometrics.page:disattenuation_parts",
    "Drift": "estimates.page:drift_parts",
    "FacetRasch": "psychometrics.page:rasch_parts",
    "GStudy": "psychometrics.page:g_study_parts",
    "GradingScaleStudy": "concordance.page:grading_scale_parts",
    "Leaderboard": "preference.page:leaderboard_parts",
    "Monitor": "estimates.page:monitor_parts",
    "Opinions": "variation.page:opinion_parts",
    "JudgePanel": "variation.page:panel_parts",
    "OddOneOutAgreement": "ideas.page:reliability_parts",
    "PositionBias": "preference.page:position_parts",
    "RaterModel": "psychometrics.page:rater_parts",
    "RatingSets": "preference.page:consistency_parts",
    "Route": "estimates.page:route_parts",
    "Separability": "preference.page:separability_parts",
    "SeparabilitySweep": "preference.page:sweep_parts",
    "SimilarityValidation": "ideas.page:validation_parts",
    "TrainedRater": "training.page:train_parts",
    "TripletSimilarity": "ideas.page:triplet_parts",
}
"""What makes the page of a result."""

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def path_of(name: str) -> Path:
    return ANSWERS / f"{re.sub(r'[^a-z_]+', '-', name)}.json"


# -- what is kept ------------------------------------------------------------------------------------


def of_answers(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Of the first answer everything, of every other its lines that the first has not and the sums of its columns."""
    called, *others = answers
    first = answers[called]
    words = words_of(first)
    sums = sums_of(first.table)
    kept: dict[str, Any] = {called: whole(first)}
    for one in others:
        lines = [line for line in words_of(answers[one]) if line not in words]
        kept[one] = {"lines": lines, "sums": {k: v for k, v in sums_of(answers[one].table).items() if sums.get(k) != v}}
    return kept


def whole(found: Any) -> dict[str, Any]:
    """Everything that a result says, stores and draws."""
    return {
        "summary": words_of(found),
        "numbers": numbers_of(found),
        "sums": sums_of(found.table),
        "pictures": pictures_of(found),
        "page": page_of(found),
    }


def words_of(found: Any) -> list[str]:
    """Return the lines of a summary without the signature, which contains the version."""
    lines: list[str] = found.summary().splitlines()[:-1]
    return lines


def of_rater(found: Any) -> dict[str, Any]:
    """A trained rater: every number of its table, and the attribution of its first item."""
    from assay.training.words import caption

    item, criterion = found.predictions["item"][0], found.predictions["criterion"][0]
    attribution = found.attribution(item, criterion)
    frames = {
        "rows": found.table, "predictions": found.predictions.head(40), "curves": found.curves,
        "folds": found.folds.head(20), "side by side": found.side_by_side(), "leads": found.lead_table(),
        "attribution": attribution.table, "along": found.along(item, criterion),
    }  # fmt: skip
    rows = {name: [list(frame.columns), *simple(frame.rows())] for name, frame in frames.items()}
    drawn = {"plot": picture(found.plot()), "attribution": picture(attribution.plot())}
    words = [*words_of(found), caption(attribution)]
    return {"summary": words, "frames": rows, "pictures": drawn, "page": page_of(found)}


def numbers_of(found: Any) -> Any:
    stored = {k: v for k, v in found.to_dict().items() if k not in ("assay", "signature", "settings", "data", "facts")}
    text = json.dumps(stored)
    return simple(json.loads(text) if len(text) < LONGEST else found.table.head(40).to_dicts())


def sums_of(table: pl.DataFrame) -> dict[str, Any]:
    """The sum of each column of numbers and how many it has; of each other column how many differ."""
    sums: dict[str, Any] = {}
    for column in table.columns:
        values = table[column]
        if values.dtype.is_numeric():
            finite = values.cast(pl.Float64).fill_nan(None).drop_nulls()
            finite = finite.filter(finite.is_finite())
            total = float(finite.sum())
            # Values that add up to 0 leave the last digit of a processor's own order of adding.
            nothing = abs(total) <= 1e-12 * (1 + float(finite.abs().sum()))
            sums[column] = [finite.len(), 0.0 if nothing else simple(total)]
        elif values.dtype in (pl.String, pl.Boolean):
            sums[column] = values.n_unique()
    return sums


def pictures_of(found: Any) -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    for name in dir(type(found)):
        if name.startswith(PICTURES):
            try:
                drawn[name] = picture(getattr(found, name)())
            except AssayError as refusal:
                drawn[name] = str(refusal)
    return drawn


def page_of(found: Any) -> list[dict[str, Any]]:
    """Words, tables and pictures of each part of a result's page."""
    if type(found).__name__ not in PAGES:
        return []
    module, _, function = PAGES[type(found).__name__].partition(":")
    parts = getattr(importlib.import_module(f"assay.{module}"), function)(found)
    return [
        {"title": part.title, "words": [*part.words, *part.cautions], "lines": list(part.lines),
         "frames": [[caption, list(frame.shape), sums_of(frame)] for caption, frame in part.frames],
         "pictures": [[caption, drawn_once(found, draw)] for caption, draw in part.pictures]}
        for part in parts
    ]  # fmt: skip


def drawn_once(found: Any, draw: Any) -> Any:
    """Return the pictures of a page without those of the result itself, which are kept already."""
    name = getattr(draw, "__name__", "")
    return name if name.startswith(PICTURES) and hasattr(found, name) else picture(draw())


def picture(ax: Any) -> dict[str, Any]:
    """The size, axes, points, lines, bars and words of a picture."""
    from matplotlib.colors import to_hex

    ticks = {
        f"{letter} ticks": [simple(axis.get_majorticklocs().tolist()), [t.get_text() for t in axis.get_ticklabels()]]
        for letter, axis in (("x", ax.xaxis), ("y", ax.yaxis))
    }
    lines = [
        [to_hex(line.get_color()), line.get_linestyle(), line.get_linewidth(), str(line.get_marker()),
         line.get_markersize(), *(simple([float(v) for v in side]) for side in line.get_data())]
        for line in ax.lines
    ]  # fmt: skip
    words = [[text.get_text(), simple(list(map(float, text.get_position()))), text.get_fontsize()] for text in ax.texts]
    shapes = [
        [to_hex(shape.get_facecolor(), keep_alpha=True), simple(shape.get_bbox().bounds)]
        for shape in ax.patches if hasattr(shape, "get_bbox")
    ]  # fmt: skip
    legend = ax.get_legend()
    return {
        "size": simple(ax.figure.get_size_inches().tolist()),
        "title": [ax.get_title(loc="left"), ax.get_title(), ax.get_xlabel(), ax.get_ylabel()],
        "limits": [simple(ax.get_xlim()), simple(ax.get_ylim()), ax.get_xscale(), ax.get_yscale()],
        **ticks,
        "lines": lines,
        "words": words,
        "shapes": shapes,
        "legend": None if legend is None else [text.get_text() for text in legend.get_texts()],
    }


def simple(value: Any) -> Any:
    """A value as JSON has it, numbers to six digits."""
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {k: simple(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [simple(v) for v in value]
    return None if isinstance(value, float) else value


# -- how two are compared ----------------------------------------------------------------------------


def differences(found: Any, wanted: Any, at: str = "", near: float = 1e-4) -> Iterator[str]:
    """Where two differ; other libraries may move a number by a ten thousandth, or its last digit in a sentence."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in {**found, **wanted}:
            yield from differences(found.get(key, "nothing"), wanted.get(key, "nothing"), f"{at} {key}", near)
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{at} {i}", near)
    elif is_number(found) and is_number(wanted):
        if not math.isclose(found, wanted, rel_tol=near, abs_tol=near / 100):
            yield f"{at}: {found} was {wanted}"
    elif isinstance(found, str) and isinstance(wanted, str):
        ours, theirs = NUMBER.findall(found), NUMBER.findall(wanted)
        alike = NUMBER.sub("0", found) == NUMBER.sub("0", wanted)
        if not alike or not all(map(same_digits, ours, theirs)):
            yield f"{at}: {found!r} was {wanted!r}"
    elif found != wanted:
        yield f"{at}: {found} was {wanted}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same_digits(one: str, other: str) -> bool:
    digits = len(other.partition(".")[2])
    near = 1.01 * 10**-digits if digits else 0
    apart = abs(float(one.replace(",", "")) - float(other.replace(",", "")))
    return len(one.partition(".")[2]) == digits and apart <= near


def in_lines(value: Any, depth: int = 0) -> str:
    """JSON, one line for what fits into one, so that a change is a line that changed."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) < 200 or not isinstance(value, dict | list):
        return text
    inner, outer = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, dict):
        parts = [f"{json.dumps(k, ensure_ascii=False)}: {in_lines(v, depth + 1)}" for k, v in value.items()]
        return "{" + inner + f",{inner}".join(parts) + outer + "}"
    return "[" + inner + f",{inner}".join(in_lines(v, depth + 1) for v in value) + outer + "]"


def write(names: list[str]) -> None:
    sys.path += [str(Path(__file__).parent / "training")]
    import teaching

    import asking
    from assay.replacement import studies

    studies.TRUTHS = 10  # as the fixture few_truths has it
    ANSWERS.mkdir(exist_ok=True)
    for name in () if names and not {*names} - {*teaching.SMALL} else asking.BY_NAME:
        if name not in NOT_KEPT and (not names or name in names):
            path_of(name).write_text(in_lines(of_answers(asking.all_answers(name))) + "\n", "utf-8")
    for name in teaching.SMALL:
        if not names or name in names:
            path_of(name).write_text(in_lines(of_rater(teaching.SMALL[name]())) + "\n", "utf-8")


if __name__ == "__main__":
    write(sys.argv[1:])
