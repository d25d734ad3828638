"""What a page about agreement shows: titles, words, frames and pictures, for a report to lay out.

Numbers keep all their digits here; whoever lays the page out rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from assay.concordance.agreement import Agreement
from assay.concordance.disagreement import Disagreement
from assay.concordance.grading_scale import JUDGES_MEAN, GradingScaleStudy
from assay.reporting import tables
from assay.reporting.page import Part

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ANNOTATORS = 24
"""Annotators whose heat map can still be read."""

MOST_HEAT_MAPS = 6
"""Maps of one kind on a page, one a criterion or judge."""

MOST_ITEMS = 5
"""Items that a page shows with their texts: the first of a list that the result holds whole."""

MOST_CHARACTERS = 200
"""Of a text that a page shows."""

SHORTEST_TEXT = 12
"""Mean characters of a column of items that is read as their text: names of systems and topics are shorter."""


def agreement_parts(found: Agreement) -> tuple[Part, ...]:
    """Do they agree; who with whom; is a judge closer to the people than they are to each other?"""
    title = found.shown()["title"][0]
    panels = found.rows.filter(pl.col("who").is_in(["humans", "judges"]))
    others = found.shown("consensus", "rest", "human pairs", "random human")
    pictures: list[tuple[str, Callable[[], Axes]]] = [(f"{title} of panels and of each judge with people", found.plot)]
    if found.shown("pairs").height and len(found.humans) + len(found.judges) <= MOST_ANNOTATORS:
        for criterion in (found.criteria or (None,))[:MOST_HEAT_MAPS]:
            words = f"{title} of each two annotators" + (f", {criterion}" if criterion else "")
            pictures.append((words, partial(found.heat_map, criterion=criterion)))
    closer = found.differences.filter(pl.col("coefficient") == found.headline)
    compared = tuple(found.comparisons())
    parts = [
        Part(
            "Do the annotators agree?",
            (*(_panel_words(panels, title) or compared[:1]), *(() if closer.height else compared)),
            (("People and judges as panels.", _tidy(panels, "first", "title")),) if panels.height else (),
            tuple(pictures),
            (found.interval_words(), *map(str, found.exclusions), *found.notes),
        )
    ]
    if closer.height:
        caption = f"{title} of the judge with people, less that of people with each other."
        frames = [(caption, _tidy(closer, "judge"))]
        frames += [(f"{title} of pairs.", _tidy(others, "who", "first", "second"))] if others.height else []
        parts.append(Part("Is the judge closer to people than they are to each other?", compared, tuple(frames)))
    elif others.height:
        parts.append(
            Part(
                "Who agrees with whom?",
                _pair_words(others, title),
                ((f"{title}.", _tidy(others, "who", "first", "second")),),
            )
        )
    families = found.family_words()
    if families:
        criteria = len(found.criteria) > 1
        drawn: list[tuple[str, Callable[[], Axes]]] = [
            (f"{title} with a random human" + (", by criterion" if criteria else ""), found.plot_raters),
            ("Every coefficient with a random human", found.plot_coefficients),
            ("Which labels they give", found.plot_labels),
        ]
        table = ("Criteria on which a rater is better than a random human.", found.better_than_people)
        parts.append(
            Part("Are families of judges better than a random person?", tuple(families), (table,), tuple(drawn))
        )
    return tuple(parts)


def _panel_words(panels: pl.DataFrame, title: str) -> tuple[str, ...]:
    """How far people agree, and judges, in a sentence; of several criteria from the lowest to the highest."""
    said = []
    for who, name in (("humans", "people"), ("judges", "judges")):
        rows = panels.filter(pl.col("who") == who, pl.col("estimate").is_not_null()).sort("estimate")
        if rows.height:
            ends = [
                tables.estimated(r["estimate"], r["low"], r["high"])
                for r in (rows.row(0, named=True), rows.row(-1, named=True))
            ]
            said.append(f"{name} {ends[0] if rows.height == 1 else ' to '.join(ends)}")
    return (f"{title}: {'; '.join(said)}.",) if said else ()


def _pair_words(others: pl.DataFrame, title: str) -> tuple[str, ...]:
    """How far two people agree, and each judge with a person, where there is one row of each."""
    rows = others.filter(pl.col("who") == "human pairs", pl.col("estimate").is_not_null())
    if not rows.height or rows.select("first", "second").is_duplicated().any():
        return (f"{title} of each pair of annotators.",)
    said = [
        f"{r['second'] if r['first'] == 'a human' else r['first']} {tables.number(r['estimate'])}"
        for r in rows.iter_rows(named=True)
    ]
    return (f"{title} of a person with {', with '.join(said)}.",)


def disagreement_parts(found: Disagreement) -> tuple[Part, ...]:
    """On which items and categories annotators disagree, and what judges say where people say what."""
    shown = [c for c in found.items.columns if found.items[c].null_count() < found.items.height and c != "n"]
    divided = found.items.filter(pl.col("disagreement") > 0).head(MOST_ITEMS).select(shown)
    divided = _cut(divided, [c for c in divided.columns if divided.schema[c] == pl.String and c != "item"])
    frames: list[tuple[str, pl.DataFrame]] = []
    if divided.height:
        frames.append(("Items on which labels lie farthest apart, as a share of the scale.", divided))
    if found.rows.height:
        place = [c for c in ("criterion",) if found.rows[c].null_count() < found.rows.height]
        columns = (*place, "who", "category", "coefficient", "estimate", "low", "high", "n")
        frames.append(("Agreement for each category, as it is and beyond chance.", found.rows.select(columns)))
    drawn: list[tuple[str, Callable[[], Axes]]] = []
    if found.rows.height:
        drawn.append(("How often another gives the category that one gives", found.plot))
    judges = found.confusion["judge"].unique(maintain_order=True).to_list()
    drawn += [
        (f"What {j} says where people say what", partial(found.confusion_map, j)) for j in judges[:MOST_HEAT_MAPS]
    ]
    words = (*found.summary().splitlines()[:1], *found.category_words(), *found.confusion_words())
    lines = tuple(map(str, found.exclusions))
    return (Part("Where do annotators disagree?", words, tuple(frames), tuple(drawn), lines),)


def farthest_part(found: pl.DataFrame, replies: Mapping[tuple[str, str], str], document: str | None = None) -> Part:
    """The items that each judge gets least like people, with their texts and what the judge replied, where known."""
    title = "Where is a judge farthest from people?"
    if not found.height:
        return Part(title, ("No judge is farther from people on any item than people are from each other.",))
    frame = found.with_columns(
        reply=pl.Series([replies.get((j, i)) for j, i in found.select("judge", "item").iter_rows()], dtype=pl.String)
    )
    own = ("criterion", "judge", "item", "people_say", "judge_says", "apart", "people_apart", "reply")
    texts = [c for c in frame.columns if c not in own and frame.schema[c] == pl.String and _is_text(frame[c])]
    shown = [c for c in own if frame[c].null_count() < frame.height]
    beside = [c for c in (document, *texts) if c is not None and c in frame.columns]
    place = shown.index("item") + 1
    frame = _cut(frame.select(*shown[:place], *beside, *shown[place:]), (*texts, "reply"))
    first = frame.row(0, named=True)
    words = (
        f"On {first['item']} {first['judge']} says {first['judge_says']} where people say {first['people_say']}. An "
        "item counts where the judge is farther from people than they are from each other."
    )
    caption = "The farthest items of each judge; how far labels are apart, as a share of the scale."
    return Part(title, (words,), ((caption, frame),))


def _is_text(column: pl.Series) -> bool:
    """Whether a reader would want to read it: names and codes are short."""
    return float(column.str.len_chars().mean() or 0) >= SHORTEST_TEXT  # type: ignore[arg-type]


def _cut(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Long texts end in an ellipsis."""
    cut = [
        pl.when(pl.col(c).str.len_chars() > MOST_CHARACTERS)
        .then(pl.col(c).str.slice(0, MOST_CHARACTERS) + "…")
        .otherwise(pl.col(c))
        .alias(c)
        for c in columns
        if c in frame.columns
    ]
    return frame.with_columns(cut)


def grading_scale_parts(study: GradingScaleStudy) -> tuple[Part, ...]:
    """On which scale to ask; how reliable the panels are; how each judge fares; which items stand apart."""
    if study.best is None:
        itself = ("ICC(A,1) of each judge with itself across scales.", study.consistency)
        words = tuple(study.summary().splitlines()[:-1])
        panel = ("ICC(A,k) of the panel.", study.reliability)
        return (Part("How reliable judges are", words, (panel, itself, *_repeat_frames(study))),)
    icc = study.alignment.filter(measure="icc")
    together, single = icc.filter(judge=JUDGES_MEAN), icc.filter(pl.col("judge") != JUDGES_MEAN)
    nmae = study.alignment.filter(measure="nmae", judge=JUDGES_MEAN)
    columns = ("scale", "benchmark", "estimate", "low", "high", "n")
    differences = study.differences.filter(judge=JUDGES_MEAN)
    panels = study.reliability.filter(form="ICC(A,k)")
    parts = [
        Part(
            "On which scale to ask",
            tuple(study.summary().splitlines()[:-1]),
            (
                ("ICC(A,1) of the people's mean with the judges' mean.", together.select(columns)),
                ("Mean distance of the two means, as a share of the range.", nmae.select(columns)),
                ("Each scale less each other.", differences.drop("judge", "p")),
            ),
            (
                ("Agreement by scale.", study.plot),
                ("Agreement against distance: a small error can hide a judge who tells items apart badly.",
                 study.plot_icc_nmae),
                (f"One point an item, on {study.best}.", study.plot_consensus),
            ),
            tuple(map(str, study.exclusions)),
        ),
        Part(
            "How reliable people and judges are",
            (),
            (
                ("ICC(A,k) of each panel.", panels.drop("form")),
                ("ICC(A,1) of each judge with itself across scales.", study.consistency),
                *_repeat_frames(study),
            ),
        ),
        Part("Judge by judge", (), (("ICC(A,1) with the people's mean.", single.select("judge", *columns)),)),
    ]  # fmt: skip
    for frame, title in ((study.groups, "By group of annotators"), (study.conditions, "By condition")):
        if frame is not None:
            parts.append(Part(title, (), (("ICC(A,1) and nMAE with the people.", frame),)))
    items = study.items.filter(scale=study.best)
    caption = f"Items on {study.best} on which people and judges are furthest apart, on 0-1."
    worst = items.filter(~pl.col("aligned")).head(MOST_ITEMS)
    best = items.filter(pl.col("aligned")).reverse().head(MOST_ITEMS)
    frames = [(caption, worst.drop("scale", "aligned"))] if worst.height else []
    if best.height:
        frames.append((f"Items on {study.best} on which they are closest.", best.drop("scale", "aligned")))
    return (*parts, Part("Item by item", (), tuple(frames)))


def _repeat_frames(study: GradingScaleStudy) -> tuple[tuple[str, pl.DataFrame], ...]:
    if study.repeats is None or not study.repeats.height:
        return ()
    return (("ICC(1) of repeated answers of the same annotator.", study.repeats),)


def _tidy(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
    """Columns that say something, in the order of a reader."""
    place = [c for c in ("criterion", "group") if rows[c].null_count() < rows.height]
    known = ("estimate", "low", "high", "n", "p_adjusted", "closer", "than_humans")
    rest = [c for c in known if c in rows.columns and (c != "than_humans" or rows[c].null_count() < rows.height)]
    return rows.select(*place, *names, *rest)
