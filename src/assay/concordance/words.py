"""The sentences of agreement results, for their summaries, their pages and the command line.

Results hold numbers and codes. Each function here takes a result and returns its sentences.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from assay.errors import counted, listing
from assay.reporting.tables import decimals, estimated, interval, number, p_value, said, signed

MOST_LINES, MOST_COMPARISONS = 24, 12
"""Rows, and comparisons of judges, in a summary. The summary counts the rows that it leaves out."""

MOST_TEXT = 60
"""Characters of an item's text in a summary."""

POOLED, JUDGES_MEAN, ONE_JUDGE = "all", "judges' mean", "one judge"
"""Names in the tables of a study of grading scales: the benchmark of all items; the judge in rows for the mean of the
judges, and in rows for a single judge."""


# -- one coefficient ---------------------------------------------------------------------------------


def coefficient_lines(found: Any) -> list[str]:
    """Return the estimate and its interval, the data, and the recommended coefficient if labels have an order.

    Parameters
    ----------
    found : Coefficient
    """
    lines = [f"{found.title}: {_with_level(found)}."]
    who = f"{len(found.annotators)} annotators" if len(found.annotators) > 2 else " and ".join(found.annotators)
    lines.append(f"{counted(found.n_items, 'item')}, {who}; {found.run.interval}.")
    lines += _few_raters(found.run.interval, len(found.annotators), [(found.low, found.high)])
    if found.advice is not None and found.measure.zero and found.measure.needs in ("labels", "categories"):
        lines.append(f"Recommended coefficient for these labels: {_recommended(found.advice)}.")
    return lines


FEW_RATERS, WIDE = 6, 0.4
"""Random raters up to which an interval of this width is wide because of them: in 40 tables of 50 items and 4 raters
with an ICC of 0.5, 55% of intervals with random raters are wider, and 2.5% of those with fixed raters."""


def _few_raters(how: str, raters: int, intervals: Sequence[tuple[float, float]]) -> list[str]:
    """Why intervals are wide, and what to do, if it is because few raters represent all raters like them."""
    if "random raters" not in how or raters > FEW_RATERS:
        return []
    if not any(np.isfinite([low, high]).all() and high - low > WIDE for low, high in intervals):
        return []
    return [
        f"The intervals are wide because {raters} raters represent all raters like them; for these {raters} alone set "
        "raters='fixed', or use Φ of a G-study."
    ]


def _with_level(found: Any) -> str:
    if not np.isfinite(found.low):
        return f"{said(found.estimate, 3)}, no interval: {found.reason}"
    level = f"{100 * found.found.confidence:g}%"
    return f"{said(found.estimate, 3)}, {level} confidence interval {interval(found.low, found.high, 3)}"


def _recommended(advice: Any) -> str:
    return f"{advice.title.split(', ')[0]} ({advice.why})"


def icc_lines(found: Any) -> list[str]:
    """Return the lines of `coefficient_lines`, the F interval and the variance components.

    Parameters
    ----------
    found : ICC
    """
    lines = coefficient_lines(found)
    if found.f_test is not None:
        f = found.f_test
        lines.insert(
            2,
            f"Assuming equal rater noise and normal labels: {interval(f.low, f.high, 3)} "
            f"({f.words.split(',')[0]}); F({f.df1:g}, {f.df2:g}) = {f.f:.2f}, {p_value(f.p)}.",
        )
    parts = {"items": found.variance_items, "annotators": found.variance_annotators, "residual": found.variance_error}
    if not all(map(np.isfinite, parts.values())):
        return lines
    shares = ", ".join(f"{name} {variance:.4g}" for name, variance in parts.items())
    harmonic = not float(found.k).is_integer() and getattr(found.run.settings, "k", None) is None
    averaged = f"k = {found.k:g}{', the harmonic mean number of labels per item' if harmonic else ''}"
    return [*lines, f"Variance components: {shares} ({found.model}, {found.estimator_words}, {averaged})."]


def icc_table_lines(found: Any) -> list[str]:
    """Return a line for each intraclass correlation.

    Parameters
    ----------
    found : ICCTable
    """
    return [f"{r.form:9s} {r.model:15s} {said(r.estimate, 3):>6s} {interval(r.low, r.high, 3)}" for r in found.rows]


# -- agreement of a table ----------------------------------------------------------------------------


def agreement_lines(found: Any) -> list[str]:
    """Return the headline coefficient of the panels and of each judge, and the comparisons of judges with humans.

    Parameters
    ----------
    found : Agreement
    """
    lines = [
        *agreement_answer(found),
        f"{counted(len(found.humans), 'human')} and {counted(len(found.judges), 'judge')} on "
        f"{counted(found.n_items, 'item')} ({counted(found.n_labels, 'label')}, scale {found.scale}).",
    ]
    panels = found.select("humans", "judges", "consensus")
    rows = panels if panels.height else found.select()
    for row in rows.head(MOST_LINES).iter_rows(named=True):
        who = row["first"] if row["second"] is None else f"{row['first']} and {row['second']}"
        lines.append(f"{_place(row)}{who}: {row['title']} {_number(row)}, {counted(row['n'], 'item')}.")
    if rows.height > MOST_LINES:
        more = counted(rows.height - MOST_LINES, "more row")
        lines.append(f"The table has {more} for {found.headline}{_places(rows)}.")
    wide = _few_raters(found.run.interval, len(found.humans), found.select("humans").select("low", "high").rows())
    return [*lines, *judge_comparisons(found), *family_sentences(found), interval_sentence(found), *wide]


def agreement_answer(found: Any) -> list[str]:
    """Return whether agreement is better than chance, for humans if there are any, and the recommended coefficients."""
    lines = []
    panels = {"humans": "Human agreement", "judges": "Judge agreement", "pairs": "Pairwise agreement"}
    for who, words in panels.items():
        rows = found.select(who).filter(pl.col("group").is_null())
        if rows.height:
            lines.append(_chance_sentence(rows, words, found))
            break
    for one in found.advice:
        if one.name == found.headline:
            lines.append(f"Recommended coefficient: {_recommended(one)}.")
        else:
            lines.append(f"Recommended coefficient for these labels, not computed here: {_recommended(one)}.")
    return lines


def _chance_sentence(rows: pl.DataFrame, who: str, found: Any) -> str:
    """Whether agreement is better than chance, in one row or in how many of several criteria or pairs."""
    first, several, alpha = rows.row(0, named=True), rows.height, 1 - found.confidence
    if several == 1 and first["second"] is not None:
        who = f"Agreement between {first['first']} and {first['second']}"
    known = rows["p"].null_count() < several
    if several == 1:
        text = f"{who}: {_titled(first['title'])} = {_number(first)}"
        if known:
            better = first["p_adjusted"] <= alpha and first["estimate"] > 0
            verdict = "better than chance" if better else "not significantly better than chance"
            text += f", {verdict} ({_p_words(found)}{p_value(first['p_adjusted'])})"
        return f"{text}; {counted(first['n'], 'item')}."
    low, high = (said(float(v), 3) for v in (rows["estimate"].min() or 0.0, rows["estimate"].max() or 0.0))  # type: ignore[arg-type]
    kind = "pairs" if first["second"] is not None else "criteria"
    text = f"{who}: {_titled(first['title'])} from {low} to {high} in {several} {kind}"
    if not known:
        return f"{text}."
    shown = rows.filter((pl.col("p_adjusted") <= alpha) & (pl.col("estimate") > 0)).height
    return f"{text}, significantly better than chance in {shown} of {several}."


def _p_words(found: Any) -> str:
    return "" if found.settings.to_dict()["adjust"] == "none" else "adjusted "


def _titled(title: str) -> str:
    """``Krippendorff's α (ordinal)`` from ``Krippendorff's α, ordinal``."""
    name, comma, detail = title.partition(", ")
    return f"{name} ({detail})" if comma else name


_COMPARED = {
    "yes": "it agrees more with humans than they do with each other",
    "depends on one": "it agrees more with humans than they do with each other, but not significantly without {}, the "
    "closest annotator",
    "no": "it agrees less with humans than they do with each other",
    "undecided": "no significant difference",
}


def judge_comparisons(found: Any) -> list[str]:
    """Return a sentence for each judge: agreement with humans compared with agreement among humans."""
    rows = found.differences.filter(coefficient=found.headline)
    # No annotator was left out if there are two humans, or if labels come in chunks.
    whose = "either human's" if len(found.humans) == 2 else "one human's"
    lines = []
    for row in rows.head(MOST_COMPARISONS).iter_rows(named=True):
        p = row["p_adjusted"]
        answer = "not tested" if p is None else _COMPARED[row["closer"]].format(row["without"])
        tested = "" if p is None else f" ({row['test']} test, adjusted {p_value(p)}; the interval"
        if p is not None and row["closer"] == "undecided" and (row["low"] > 0 or row["high"] < 0):
            answer += f"{tested} is not adjusted)"
        if row["closer"] != "undecided" and row["low"] <= 0 <= row["high"]:
            answer += f"{tested} is not that of the test)"
        if row["closer"] == "yes" and row["without"] is None:
            answer += f". A copy of {whose} labels would get the same result"
        change = f"{_titled(row['title'])} with humans minus that among humans"
        if row["n"] < _n_among_humans(found, row):
            change += f" on the {counted(row['n'], 'item')} that it labelled"
        change += f" = {_signed_number(row)}"
        lines.append(f"{_place(row)}{row['judge']}: {change}; {answer}.")
    if rows.height > MOST_COMPARISONS:
        more = counted(rows.height - MOST_COMPARISONS, "more comparison")
        lines.append(f"The table of differences has {more}{_places(rows, MOST_COMPARISONS)}.")
    return lines


def _n_among_humans(found: Any, row: Mapping[str, Any]) -> int:
    """The items with labels of two humans, of the criterion and group of a difference."""
    same = [pl.col(name).eq_missing(pl.lit(row[name])) for name in ("criterion", "group", "coefficient")]
    among = found.table.filter(pl.col("who") == "human pairs", pl.col("first") == "another human", *same)
    return int(among["n"].max() or 0)


def family_sentences(found: Any) -> list[str]:
    """Return on how many criteria each rater agrees better than a random human, if families were named."""
    if found.settings.to_dict()["family"] is None or not found.select("random human").height:
        return []
    lines = []
    for row in found.drawn(found.better_than_humans).filter(coefficient=found.headline).iter_rows(named=True):
        better = f"{row['better']} of {row['criteria']} {'criterion' if row['criteria'] == 1 else 'criteria'}"
        lines.append(
            f"{row['rater']} with a random human, compared with two random humans: {row['title']} is better on "
            f"{better}; significantly better on {row['significantly_better']}, significantly worse on "
            f"{row['significantly_worse']} (unadjusted)."
        )
    return lines


def joint_interval(intervals: Sequence[str]) -> str:
    """Return one description of the intervals of several rows, with the range of their numbers of units.

    Examples
    --------
    >>> joint_interval(["95% jackknife interval over 36 items", "95% jackknife interval over 46 items"])
    '95% jackknife interval over 36 to 46 items'
    """
    split = [re.split(r"(?<= )([\d,]+)(?= )", one) for one in dict.fromkeys(intervals)]
    alike = [parts for parts in split if parts[::2] == split[0][::2]]
    columns = zip(*(parts[1::2] for parts in alike), strict=True)
    numbers = [sorted({*column}, key=lambda n: int(n.replace(",", ""))) for column in columns]
    ranges = [n[0] if len(n) == 1 else f"{n[0]} to {n[-1]}" for n in numbers]
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(split[0][::2], ranges, fillvalue="")))


def interval_sentence(found: Any) -> str:
    """Return how intervals and p-values were computed."""
    adjust = found.settings.to_dict()["adjust"]
    within = f"adjusted within each coefficient and kind of comparison ({adjust})"
    text = f"{found.run.interval}; p-values {'not adjusted' if adjust == 'none' else within}."
    rows = found.differences.filter(coefficient=found.headline)
    if not rows.height:
        return text
    comparisons = counted(rows["p"].drop_nulls().len(), "comparison")
    test = " and ".join(rows["test"].unique(maintain_order=True).to_list())
    adjusted = "not adjusted" if adjust == "none" else f"adjusted for {comparisons} ({adjust})"
    return f"{text} Judge minus human differences: {test} test, {adjusted}; intervals are not adjusted."


def panel_sentence(panels: pl.DataFrame, title: str) -> tuple[str, ...]:
    """Return agreement among humans and among judges; for several criteria the lowest and the highest."""
    parts = []
    for who in ("humans", "judges"):
        rows = panels.filter(pl.col("who") == who, pl.col("estimate").is_not_null()).sort("estimate")
        if rows.height:
            ends = [
                estimated(r["estimate"], r["low"], r["high"])
                for r in (rows.row(0, named=True), rows.row(-1, named=True))
            ]
            parts.append(f"{who} {ends[0] if rows.height == 1 else ' to '.join(ends)}")
    return (f"{title}: {'; '.join(parts)}.",) if parts else ()


def pair_sentence(others: pl.DataFrame, title: str) -> tuple[str, ...]:
    """Return agreement of two humans, and of each judge with a human, if there is one row for each."""
    rows = others.filter(pl.col("who") == "human pairs", pl.col("estimate").is_not_null())
    if not rows.height or rows.select("first", "second").is_duplicated().any():
        return (f"{title} of each pair of annotators.",)
    parts = [
        f"{r['second'] if r['first'] == 'a human' else r['first']} {number(r['estimate'])}"
        for r in rows.iter_rows(named=True)
    ]
    return (f"{title} of a human with {', with '.join(parts)}.",)


def _place(row: Mapping[str, Any]) -> str:
    """The criterion and the group of a row, as the start of a sentence."""
    names = ", ".join(v for v in (row["criterion"], row["group"]) if v)
    return f"{names}: " if names else ""


def _places(rows: pl.DataFrame, listed: int = MOST_LINES) -> str:
    """The criteria and groups that a summary leaves out completely."""
    names = [_place(row)[:-2] for row in rows.iter_rows(named=True)]
    missing = [name for name in dict.fromkeys(names[listed:]) if name and name not in names[:listed]]
    return f", including all of {listing(missing)}" if missing else ""


def _number(row: Mapping[str, Any], digits: int = 3) -> str:
    if not np.isfinite(row["estimate"]):
        return f"{said(row['estimate'])} ({row['reason']})"
    if row["low"] is None or not np.isfinite(row["low"]):
        return f"{said(row['estimate'], digits)} (no interval: {row['reason']})"
    return estimated(row["estimate"], row["low"], row["high"], digits)


def _signed_number(row: Mapping[str, Any]) -> str:
    if not np.isfinite(row["estimate"]):
        return _number(row)
    if row["low"] is None or not np.isfinite(row["low"]):
        return f"{signed(row['estimate'], 3)} (no interval: {row['reason']})"
    return f"{signed(row['estimate'], 3)} {interval(row['low'], row['high'], 3)}"


# -- disagreement ------------------------------------------------------------------------------------

_RANKED = {
    "all": ("Largest disagreement", "disagreement"),
    "people": ("Largest disagreement among humans", "people"),
    "judges": ("Largest disagreement between judges and humans, beyond that among humans", "excess"),
}


def disagreement_lines(found: Any) -> list[str]:
    """Return the items, categories and confusions with the largest disagreement.

    Parameters
    ----------
    found : Disagreement
    """
    first, show = found.run.settings.first, found.run.settings.show
    heading, column = _RANKED[first]
    divided = found.items.filter(pl.col(column) > 0).head(show)
    lines = [agreed_sentence(found), *([f"{heading}:"] if divided.height else [])]
    lines += [f"  {_item_words(row, column)}" for row in divided.iter_rows(named=True)]
    return [*lines, *group_sentences(found), *category_sentences(found), *confusion_sentences(found)]


def agreed_sentence(found: Any) -> str:
    """Return the share of items whose labels are all equal; with several criteria, of pairs of item and criterion."""
    if found.items["criterion"].n_unique() > 1:
        pairs = f"{found.n_items:,} pairs of item and criterion"
        return f"All labels agree on {found.n_agreed:,} of {pairs} with two or more labels."
    return f"All labels agree on {found.n_agreed:,} of {counted(found.n_items, 'item')} with two or more labels."


FINER_JUDGE = "numbers between those that humans give, so that categories are compared without it"
"""Why a judge with fractions has no agreement by category and no confusions."""


def category_sentences(found: Any) -> list[str]:
    """Return which categories have significantly lower agreement, for each panel and each judge."""
    lines = []
    tested = found.rows.filter(pl.col("than_all").is_not_null())
    for (criterion, who), part in tested.group_by("criterion", "who", maintain_order=True):
        lower = part.filter(than_all="less").sort("estimate")
        mine = found.rows.filter(
            pl.col("criterion").eq_missing(pl.lit(criterion, pl.String)), pl.col("who") == who,
            coefficient="specific-agreement",
        )  # fmt: skip
        named = []
        for row in lower.iter_rows(named=True):
            share = _number(mine.filter(category=row["category"]).row(0, named=True), 2)
            # A frequent category has a high specific agreement by chance alone, so the tested number comes first.
            named.append(f"'{row['category']}' ({_number(row, 2)}; specific agreement {share})")
        text = f"significantly lower chance-corrected agreement on {listing(named)} than on all categories"
        if not named:
            text = "no category has significantly lower agreement than the others"
        start = f"{criterion}: " if criterion else ""
        whose = {"humans": "Humans", "judges": "Judges"}.get(str(who), f"{who} and humans")
        lines.append(f"{start}{whose}: {text}.")
    return lines


def group_sentences(found: Any) -> list[str]:
    """Return for each two groups of annotators whether they disagree more with each other than among themselves."""
    lines, by = [], found.run.settings.by
    for row in () if found.groups is None else found.groups.iter_rows(named=True):
        start = f"{row['criterion']}: " if row["criterion"] else ""
        one, other = row["group"], row["other"]
        pair = f"{by} {one} and {other}"
        places = {"between": "between them", "within": f"within {one}", "within_other": f"within {other}"}
        shown = [f"{number(row[name])} {where}" for name, where in places.items() if row[name] is not None]
        distances = f"distance of two labels {', '.join(shown)}" if shown else "no distances"
        if row["p"] is None:
            lines.append(f"{start}{pair}: not tested, {row['reason']} ({distances}).")
        elif row["significant"]:
            more = "disagree with each other significantly more than among themselves, beyond differences in care"
            lines.append(f"{start}{pair} {more}: {distances} ({_adjusted_p(found.groups, row)}).")
        else:
            less = "no significant difference between disagreement with each other and among themselves"
            lines.append(f"{start}{pair}: {less} ({distances}; {_adjusted_p(found.groups, row)}).")
    return lines


def _adjusted_p(rows: pl.DataFrame, row: Mapping[str, Any]) -> str:
    several = rows["p"].drop_nulls().len() > 1
    return f"adjusted {p_value(row['p_adjusted'])}" if several else p_value(row["p"])


def confusion_sentences(found: Any) -> list[str]:
    """Return the most frequent confusion of each judge with humans."""
    lines = []
    unequal = found.confusion.filter(pl.col("human_label") != pl.col("judge_label"), pl.col("pairs") > 0)
    for (criterion, judge), part in unequal.group_by("criterion", "judge", maintain_order=True):
        first = part.sort("pairs", descending=True).row(0, named=True)
        start = f"{criterion}: " if criterion else ""
        lines.append(
            f"{start}Most frequent confusion: human {first['human_label']}, {judge} {first['judge_label']} "
            f"({first['pairs']} of {counted(part['pairs'].sum(), 'disagreement')})."
        )
    return lines


def largest_difference(row: Mapping[str, Any]) -> str:
    """Return the first item of a list of the largest differences between a judge and humans."""
    return (
        f"{row['item']}: {row['judge']} {row['judge_label']}, humans {row['human_labels']}. Items are listed if the "
        "judge differs more from the humans than they differ from each other."
    )


def _item_words(row: Mapping[str, Any], column: str) -> str:
    start = f"{row['criterion']}: " if row["criterion"] else ""
    text = row.get("text")
    quoted = "" if not isinstance(text, str) else f" “{text[:MOST_TEXT]}{'…' if len(text) > MOST_TEXT else ''}”"
    return f"{start}{row['item']}{quoted}: {said(row[column])} of the scale ({row['labels']})"


# -- grading scales ----------------------------------------------------------------------------------


def grading_scale_lines(found: Any) -> list[str]:
    """Return the best scale, its differences from the others, and whether pooling inflates the agreement.

    Parameters
    ----------
    found : GradingScaleStudy
    """
    if found.best is None:
        return _judges_only_lines(found)
    rows = _pooled(found.alignment, JUDGES_MEAN).filter(measure="icc").iter_rows(named=True)
    icc = {row["scale"]: scale_number(row) for row in rows}
    differences = _pooled(found.differences, JUDGES_MEAN).filter(scale=found.best)
    start = f"Use scale {found.best}. ICC(A,1) of humans and judges:"
    if not differences["significant"].any():
        start = f"No significant difference between scales. Highest ICC(A,1) of humans and judges: {found.best},"
    best = f"{start} {icc[found.best]}{minus_others(differences)}."
    if not found.alignment["low"].count():
        best = (
            f"Highest ICC(A,1) of humans and judges: {found.best}, {icc[found.best]}. Differences between scales are "
            "not tested without intervals."
        )
    others = "; ".join(f"{s} {icc[s]}" for s in found.scales if s != found.best)
    items = found.items.filter(scale=found.best)
    poor = f"{items.filter(aligned=False).height} of {counted(items.height, 'item')}"
    return [
        best,
        *one_judge_sentence(found),
        f"Other scales: {others}.",
        *pooling_sentences(found),
        *repeats_sentences(found),
        f"On {found.best}, the means of humans and judges differ by more than {found.well_aligned:g} of the range on "
        f"{poor}.",
    ]


def _judges_only_lines(found: Any) -> list[str]:
    """The consistency of each judge across scales."""
    joint = ", ".join(found.scales) if len(found.scales) > 2 else " vs ".join(found.scales)
    rows = _pooled(found.consistency).filter(scales=joint)
    lines = [
        f"{r['judge']}, consistency across {joint}: ICC(A,1) {scale_number(r)}." for r in rows.iter_rows(named=True)
    ]
    lines += repeats_sentences(found)
    return [*lines, "Scales cannot be compared by human–judge agreement: the table has no human labels."]


def repeats_sentences(found: Any) -> list[str]:
    """The reliability of repeated labels, on the best scale or, without humans, on each scale."""
    if found.repeats is None:
        return []
    lines = []
    for scale in found.scales if found.best is None else (found.best,):
        rows = _pooled(found.repeats).filter(scale=scale)
        each = "; ".join(f"{r['annotator']} {scale_number(r)}" for r in rows.iter_rows(named=True))
        lines += [f"Reliability of repeated labels on {scale}, ICC(1): {each}."] if each else []
    return lines


MOST_JUDGES = 6
"""Largest number of judges whose agreement is in the sentence on a single judge."""


def one_judge_sentence(found: Any) -> list[str]:
    """The agreement of humans with a single judge, if there are several judges: their mean hides single errors."""
    rows = _pooled(found.alignment, ONE_JUDGE).filter(scale=found.best)
    if not rows.height:
        return []
    each = _pooled(found.alignment).filter(pl.col("judge").is_in(found.judges), scale=found.best, measure="icc")
    values = [
        f"{row['judge']} {'not estimable' if row['estimate'] is None else said(row['estimate'])}"
        for row in each.iter_rows(named=True)
    ]
    names = f" ({', '.join(values)})" if 0 < each.height <= MOST_JUDGES else ""
    start = f"A single judge on {found.best}{names}: ICC(A,1) {scale_number(rows.row(0, named=True))}"
    if len(found.judges) < 3 and found.raters == "random":
        return [f"{start}; two judges are too few to estimate the variation among judges."]
    return [f"{start}{minus_others(_pooled(found.differences, ONE_JUDGE).filter(scale=found.best))}."]


def pooling_sentences(found: Any) -> list[str]:
    """Whether pooling the items inflates the ICC, by the comparison with its parts."""
    if found.by is None:
        return ["This ICC is pooled over all items. To test whether pooling inflates it, name a column with by=..."]
    if not found.pooling["p"].count():
        return [f"Whether pooling inflates the ICC is not testable: no value of '{found.by}' has an interval."]
    below, lines = found.illusion().filter("significant"), []
    for what, words in {"humans and judges": "humans and judges", "judges' panel": "the panel of judges"}.items():
        rows = below.filter(what=what)
        if rows.height:
            worst = "; ".join(f"{r['benchmark']} {scale_number(r)}" for r in rows.iter_rows(named=True))
            every = found.pooling.filter(what=what)
            lines.append(
                f"Reliability illusion: the pooled ICC of {words}, {said(every['pooled'][0], 3)}, is significantly "
                f"higher than the ICC within {rows.height} of {every.height} values of '{found.by}' ({worst})."
            )
    return lines or [
        f"Inflation of the ICC by pooling is not significant: no value of '{found.by}' has an ICC significantly below "
        "the pooled one."
    ]


def _pooled(frame: pl.DataFrame, judge: str | None = None) -> pl.DataFrame:
    """The rows over all items, and of one value of the column ``judge`` if it is given."""
    rows = frame.filter(benchmark=POOLED)
    return rows if judge is None else rows.filter(judge=judge)


def minus_others(differences: pl.DataFrame) -> str:
    """The differences from the other scales; those of a single judge can differ from those of the judges' mean."""
    parts = [f"; minus {r['other']}: {scale_number(r)}{_tested(r)}" for r in differences.iter_rows(named=True)]
    return "".join(parts)


def _tested(row: Mapping[str, Any]) -> str:
    """The adjusted p-value of a difference: `` (significant, adjusted p = 0.012)``."""
    if row["p_adjusted"] is None or not np.isfinite(row["p_adjusted"]):
        return ""
    found = f"{'significant, ' if row['significant'] else ''}adjusted {p_value(row['p_adjusted'])}"
    # A test and an interval that seem to contradict each other.
    apart = not row["significant"] and row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
    return f" ({found}{'; the interval is not adjusted' if apart else ''})"


def scale_number(row: Mapping[str, Any]) -> str:
    """An estimate with its interval, or the statement that it has none."""
    if row["estimate"] is None:
        return "not estimable"
    if row["low"] is None or not np.isfinite(row["low"]):
        return f"{said(row['estimate'], 3)} (no interval)"
    return f"{said(row['estimate'], 3)} [{_end(row['low'])}, {_end(row['high'])}]"


def _end(value: float | None) -> str:
    return "?" if value is None or not np.isfinite(value) else decimals(value, 3)


ICC_NOTE = "ICC: "
"""The beginning of a note on intraclass correlations alone."""


def agreement_summary(found: Any) -> str:
    """Return the summary of `agreement`, without notes on coefficients that it does not print."""
    about_icc = found.headline.startswith("icc")
    notes = tuple(note for note in found.run.notes if about_icc or not note.startswith(ICC_NOTE))
    return "\n".join([*agreement_lines(found), *replace(found.run, notes=notes).closing()])


def lines_of(found: Any, lines: Sequence[str]) -> str:
    """Return a summary: its lines and the closing lines of the run."""
    return "\n".join([*lines, *found.run.closing()])
