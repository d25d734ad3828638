"""The page about agreement: titles, sentences, tables and pictures, for a report to lay out.

Numbers keep all their digits here; the layout rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from assay.concordance import words
from assay.concordance.agreement import Agreement, agreement
from assay.concordance.grading_scale import GradingScaleStudy
from assay.concordance.groups.disagreement import Disagreement, disagreement
from assay.concordance.measures import level_of
from assay.concordance.words import JUDGES_MEAN
from assay.data.annotations import Annotations
from assay.reporting.page import Part, PartOptions, parts_or_reason

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_ANNOTATORS = 24
"""Most annotators of a readable heat map."""

MOST_HEAT_MAPS = 6
"""Most maps of one kind on a page, one per criterion or judge."""

MOST_ITEMS = 5
"""Items that a page shows with their texts. The result has all items."""

MOST_CHARACTERS = 200
"""Most characters of a text on a page."""

SHORTEST_TEXT = 12
"""Least mean number of characters of a column of item texts: names of systems and topics are shorter."""


def agreement_parts(found: Agreement) -> tuple[Part, ...]:
    """Return agreement of panels and pairs, and the comparisons of judges with humans."""
    title = found.select()["title"][0]
    panels = found.rows.filter(pl.col("who").is_in(["humans", "judges"]))
    others = found.select("consensus", "rest", "human pairs", "random human")
    pictures: list[tuple[str, Callable[[], Axes]]] = [(f"{title} of panels and of each judge with humans", found.plot)]
    if found.select("pairs").height and len(found.humans) + len(found.judges) <= MOST_ANNOTATORS:
        for criterion in (found.criteria or (None,))[:MOST_HEAT_MAPS]:
            caption = f"{title} of each pair of annotators" + (f", {criterion}" if criterion else "")
            pictures.append((caption, partial(found.heat_map, criterion=criterion)))
    closer = found.differences.filter(pl.col("coefficient") == found.headline)
    compared = tuple(words.judge_comparisons(found))
    parts = [
        Part(
            "Agreement among annotators",
            (*(words.panel_sentence(panels, title) or compared[:1]), *(() if closer.height else compared)),
            (("Panels of humans and judges.", _tidy(panels, "first", "title")),) if panels.height else (),
            tuple(pictures),
            (words.interval_sentence(found), *map(str, found.exclusions), *found.notes),
        )
    ]
    if closer.height:
        caption = f"{title} of the judge with humans, minus that among humans."
        frames = [(caption, _tidy(closer, "judge"))]
        frames += [(f"{title} of pairs.", _tidy(others, "who", "first", "second"))] if others.height else []
        parts.append(Part("Judge agreement compared with human agreement", compared, tuple(frames)))
    elif others.height:
        parts.append(
            Part(
                "Agreement by comparison",
                words.pair_sentence(others, title),
                ((f"{title}.", _tidy(others, "who", "first", "second")),),
            )
        )
    families = words.family_sentences(found)
    if families:
        criteria = len(found.criteria) > 1
        drawn: list[tuple[str, Callable[[], Axes]]] = [
            (f"{title} with a random human" + (", by criterion" if criteria else ""), found.plot_raters),
            ("Every coefficient with a random human", found.plot_coefficients),
            ("Label distributions", found.plot_labels),
        ]
        table = ("Criteria on which a rater is better than a random human.", found.better_than_humans)
        parts.append(Part("Families of judges compared with a random human", tuple(families), (table,), tuple(drawn)))
    return tuple(parts)


def disagreement_parts(found: Disagreement) -> tuple[Part, ...]:
    """Return the items and categories with the largest disagreement, and the confusions of judges with humans."""
    known = [c for c in found.items.columns if found.items[c].null_count() < found.items.height and c != "n"]
    divided = found.items.filter(pl.col("disagreement") > 0).head(MOST_ITEMS).select(known)
    divided = _cut(divided, [c for c in divided.columns if divided.schema[c] == pl.String and c != "item"])
    frames: list[tuple[str, pl.DataFrame]] = []
    if divided.height:
        frames.append(("Items with the largest disagreement, as a share of the scale.", divided))
    if found.rows.height:
        place = [c for c in ("criterion",) if found.rows[c].null_count() < found.rows.height]
        columns = (*place, "who", "category", "coefficient", "estimate", "low", "high", "n")
        frames.append(("Agreement by category: specific agreement and κ.", found.rows.select(columns)))
    if found.groups is not None:
        place = [c for c in ("criterion",) if found.groups[c].null_count() < found.groups.height]
        caption = "Disagreement between and within groups of annotators."
        frames.append((caption, found.groups.select(*place, pl.exclude("criterion", "significant"))))
    drawn: list[tuple[str, Callable[[], Axes]]] = []
    if found.rows.height:
        drawn.append(("Specific agreement by category", found.plot))
    judges = found.confusion["judge"].unique(maintain_order=True).to_list()
    drawn += [(f"Labels of {j} by human label", partial(found.confusion_map, j)) for j in judges[:MOST_HEAT_MAPS]]
    sentences = (
        words.agreed_sentence(found), *words.group_sentences(found), *words.category_sentences(found),
        *words.confusion_sentences(found),
    )  # fmt: skip
    lines = tuple(map(str, found.exclusions))
    return (Part("Disagreements among annotators", sentences, tuple(frames), tuple(drawn), lines),)


def farthest_part(
    found: pl.DataFrame, responses: Mapping[tuple[str, str, str | None], str], document: str | None = None
) -> Part:
    """Return the items on which each judge differs most from humans, with their texts and the judge's responses.

    ``responses`` are by judge, item and criterion.
    """
    title = "Largest disagreements with annotators"
    if not found.height:
        return Part(title, ("On no item does a judge differ more from the humans than they differ from each other.",))
    rows = found.select("judge", "item", "criterion").iter_rows()
    frame = found.with_columns(response=pl.Series([responses.get(row) for row in rows], dtype=pl.String))
    own = ("criterion", "judge", "item", "human_labels", "judge_label", "distance", "human_distance", "response")
    further = [c for c in frame.columns if c not in own]
    texts = [c for c in further if c != document and frame.schema[c] == pl.String and _is_text(frame[c])]
    known = [c for c in own if frame[c].null_count() < frame.height]
    metadata = [document, *texts] if document is not None and document in further else texts
    place = known.index("item") + 1
    frame = _cut(frame.select(*known[:place], *metadata, *known[place:]), (*texts, "response"))
    caption = "Items with the largest disagreement for each judge; distances are shares of the scale."
    return Part(title, (words.largest_difference(frame.row(0, named=True)),), ((caption, frame),))


def _is_text(column: pl.Series) -> bool:
    """Whether a column has texts to read: names and codes are shorter."""
    return float(column.str.len_chars().mean() or 0) >= SHORTEST_TEXT  # type: ignore[arg-type]


def _cut(frame: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """Shorten long texts, with an ellipsis."""
    cut = [
        pl.when(pl.col(c).str.len_chars() > MOST_CHARACTERS)
        .then(pl.col(c).str.slice(0, MOST_CHARACTERS) + "…")
        .otherwise(pl.col(c))
        .alias(c)
        for c in columns
        if c in frame.columns
    ]
    return frame.with_columns(cut)


PANEL = "ICC of each panel: (A,k) of its mean label, (A,1) of one rater."
"""The caption of a table of panels."""


def grading_scale_parts(study: GradingScaleStudy) -> tuple[Part, ...]:
    """Return the best scale, the reliability of the panels, the agreement by judge, and the items."""
    sentences = (*words.grading_scale_lines(study), f"{study.run.interval}.", *study.run.closing()[:-1])
    if study.best is None:
        itself = ("Consistency of each judge across scales, ICC(A,1).", study.consistency)
        panel = (PANEL, study.reliability)
        return (Part("Reliability of judges", sentences, (panel, itself, *_repeat_frames(study))),)
    icc, nmae = (study.alignment.filter(measure=name) for name in ("icc", "nmae"))
    (together, single), (apart, apart_single) = (
        (rows.filter(judge=JUDGES_MEAN), rows.filter(pl.col("judge") != JUDGES_MEAN)) for rows in (icc, nmae)
    )
    columns = ("scale", "benchmark", "estimate", "low", "high", "n")
    differences = study.differences.filter(judge=JUDGES_MEAN)
    parts = [
        Part(
            "Choice of rating scale",
            sentences,
            (
                ("ICC(A,1) of the mean human label with the mean judge label.", together.select(columns)),
                ("Mean distance of the two means, as a share of the range.", apart.select(columns)),
                ("Differences between scales.", differences.drop("judge", "p")),
            ),
            (
                ("Agreement by scale.", study.plot),
                ("ICC and distance: a small distance does not imply that a judge distinguishes the items.",
                 study.plot_icc_nmae),
                (f"Mean labels of each item on {study.best}.", study.plot_consensus),
            ),
            tuple(map(str, study.exclusions)),
        ),
        Part(
            "Reliability of humans and judges",
            (),
            (
                (PANEL, study.reliability),
                ("Consistency of each judge across scales, ICC(A,1).", study.consistency),
                *_repeat_frames(study),
            ),
        ),
        Part(
            "Agreement by judge",
            (),
            (
                ("ICC(A,1) with the mean human label.", single.select("judge", *columns)),
                ("Distance from the mean human label (nMAE).", apart_single.select("judge", *columns)),
            ),
        ),
    ]  # fmt: skip
    for frame, title in ((study.groups, "By group of annotators"), (study.conditions, "By condition")):
        if frame is not None:
            parts.append(Part(title, (), (("ICC(A,1) and nMAE with humans.", frame),)))
    items = study.items.filter(scale=study.best)
    caption = f"Items on {study.best} with the largest distance between humans and judges, on 0-1."
    worst = items.filter(~pl.col("aligned")).head(MOST_ITEMS)
    best = items.filter(pl.col("aligned")).reverse().head(MOST_ITEMS)
    frames = [(caption, worst.drop("scale", "aligned"))] if worst.height else []
    if best.height:
        frames.append((f"Items on {study.best} with the smallest distance.", best.drop("scale", "aligned")))
    return (*parts, Part("Agreement by item", (), tuple(frames)))


def _repeat_frames(study: GradingScaleStudy) -> tuple[tuple[str, pl.DataFrame], ...]:
    if study.repeats is None or not study.repeats.height:
        return ()
    return (("Reliability of repeated labels of the same annotator, ICC(1).", study.repeats),)


def _tidy(rows: pl.DataFrame, *names: str) -> pl.DataFrame:
    """The columns that have values, in reading order."""
    place = [c for c in ("criterion", "group") if rows[c].null_count() < rows.height]
    known = ("estimate", "low", "high", "n", "p_adjusted", "closer", "than_humans")
    rest = [c for c in known if c in rows.columns and (c != "than_humans" or rows[c].null_count() < rows.height)]
    return rows.select(*place, *names, *rest)


# -- parts of the report -----------------------------------------------------------------------------


def _comparable(labels: Annotations) -> bool:
    """Whether labels can be compared as numbers or categories."""
    return not any(scale.kind in ("text", "odd-one-out") for scale in labels.scales.values())


def report_agreement(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the agreement among annotators, and of each judge with them."""
    if not _comparable(labels):
        return ()
    few = len(labels.humans) + len(labels.judges) <= MOST_ANNOTATORS
    found = agreement(
        labels,
        coefficients=list(dict.fromkeys(f"krippendorff-alpha-{level_of(s)}" for s in labels.scales.values())),
        who=("humans", "judges", "human pairs", *(("pairs",) if few else ())),
        by=options.by,
        repeats=options.repeats,
        clusters=options.clusters,
        **options.intervals,
    )
    return agreement_parts(found)


def report_disagreement(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the items and categories on which annotators disagree."""
    if not _comparable(labels):
        return ()
    asked = {"repeats": options.repeats, "clusters": options.clusters, **options.intervals}
    return parts_or_reason("Disagreements among annotators", lambda: disagreement_parts(disagreement(labels, **asked)))
