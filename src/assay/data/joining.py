"""Tables of labels of the same items as one: people's answers from a form, and a model's from a file.

Item ids match exactly first. Files write them differently, too: ``How helpful? [Answer 1]`` in a form and ``Answer 1``
in a table. So the other ids of each table are brought into forms (in brackets, without folder and suffix, the number
alone), and the two forms in which most of them are equal count, if that is most of the smaller table and each id has
one partner. Such matches are used only on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.data import words
from assay.data.columns import Reading
from assay.data.names import spelling_groups, strip_spaces
from assay.data.scales import Interval, Nominal, Ordinal, Preference, Scale
from assay.data.structure.role_names import loose_criteria, loose_matches, same_except_spelling
from assay.data.structure.sides import PAIR, SWAPPED, marked_as_swapped, swap_sides
from assay.data.words import criterion_of_file, left_out_notes
from assay.errors import DataError, counted

Match = Literal["exact", "loose"]
"""How item ids of several tables match."""


def match_ids(
    first: pl.Series, second: pl.Series, sources: tuple[str, str], match: Match, *, again: bool = False
) -> tuple[dict[str, str], str | None]:
    """Return the first table's id of each id of the second that is renamed, and a note on them.

    If an annotator labelled items of both (``again``), equal numbers say nothing: further items are numbered, too.

    Raises
    ------
    DataError
        If no id is in both, but most match loosely, unless that is requested.
    """
    ours, theirs = (
        strip_spaces(ids.cast(pl.String).drop_nulls().unique(maintain_order=True)) for ids in (first, second)
    )
    shared = theirs.is_in(ours.implode())
    known = ours.filter(~ours.is_in(theirs.implode()))
    numbered = match == "loose" or not again
    found = loose_matches(known, theirs.filter(~shared), numbered=numbered) if len(known) else {}
    if not found:
        return {}, None
    other, own = next(iter(found.items()))
    pair = f"'{other}' = '{own}'"
    if match == "loose":
        return found, f"{len(found):,} of {len(theirs):,} item ids match loosely ({pair})"
    if shared.any():
        return {}, f"{len(found):,} further item ids would match loosely ({pair}): set match='loose'"
    raise DataError(
        f"{sources[1]} and {sources[0]}: no item id is in both, but {len(found):,} of {len(theirs):,} match loosely "
        f"({pair}); set match='loose' if they are the same items"
        f"{', or write the ids of one table otherwise if they are further items' if again else ''}",
        advised={"match": "loose"},
    )


def rename_ids(ids: pl.Series, names: Mapping[str, str]) -> pl.Series:
    """Return item ids by their names in the first table."""
    return strip_spaces(ids.cast(pl.String)).replace(names) if names else ids


def joined(first: Any, second: Any, match: Match) -> dict[str, Any]:
    """Return what makes one `Annotations` of two: the frame and the options of `Annotations.from_frame`."""
    again = not {*first.annotators["annotator"]}.isdisjoint(second.annotators["annotator"])
    if match == "loose" and not again:
        second = _of_one_criterion(first, second)
    second, of_criteria = _of_known_criteria(first, second, match)
    sources = first.reading.source, second.reading.source
    names, matched = match_ids(first.items["item"], second.items["item"], sources, match, again=again)
    others, about = (t.with_columns(rename_ids(t["item"], names)) for t in (second.labels, second.items))
    others, turned = texts_on_first_sides(first, second, others)
    labels, criterion = _with_criteria(first, second, others)
    labels = _with_listed(labels, (first.reading, second.reading))
    kinds = pl.concat([first.annotators.select("annotator", "kind"), second.annotators.select("annotator", "kind")])
    if (twice := kinds.unique().filter(pl.col("annotator").is_duplicated())["annotator"].unique().sort()).len():
        raise DataError(
            f"'{twice[0]}' is a human in one table and a judge in the other; read both with the same judges"
        )
    mine, theirs = (set(table["item"].unique()) for table in labels)
    one, other = first.reading, second.reading
    if not (both := len(mine & theirs)):
        first_ids = f"{one.source} has '{labels[0]['item'][0]}', {other.source} has '{labels[1]['item'][0]}'"
        note = f"no item is in both tables: {first_ids}; items are joined by their ids"
        if not again:
            raise DataError(
                f"{note}, and no annotator is in both. Read both with the column that has the same ids (item=...), or "
                "write the ids of one as the other does"
            )
    else:
        alone = f"; {len(mine - theirs)} and {len(theirs - mine)} are in one alone" if mine != theirs else ""
        note = f"joined by {counted(both, 'item')} that both tables have{alone}"
    # What one table left out can be the labels that the other holds.
    who, left_out = {*kinds["annotator"]}, dict.fromkeys((*one.left_out, *other.left_out))
    still = tuple(name for name in left_out if name not in who)
    known = [t.drop(n for n in t.columns if n in left_out and n not in still) for t in (first.items, about)]
    stale = {*left_out_notes(one.left_out), *left_out_notes(other.left_out)}
    notes = [n for n in (*one.notes, *other.notes) if n not in stale] + left_out_notes(still)
    reading = Reading(
        f"{one.source} and {other.source}", one.rows + other.rows, (*one.exclusions, *other.exclusions),
        tuple(dict.fromkeys((*notes, *([matched] if matched else []), note, *of_criteria, *turned))),
        study=one.study or other.study, asked=(*one.asked, *other.asked), tried=one.tried + other.tried,
        excluded=(*one.excluded, *other.excluded),
        clusters=one.clusters or other.clusters,
        drawn=(*one.drawn, *other.drawn),
        left_out=still, places=(*one.places, *other.places), listed=tuple(dict.fromkeys((*one.listed, *other.listed))),
    )  # fmt: skip
    people = _about(first.annotators, second.annotators, "annotator").drop("kind")
    frame, scale = pl.concat(labels, how="diagonal_relaxed"), _scales(first, second, criterion)
    apart = (name for name in (scale if isinstance(scale, Mapping) else (None,)) if _scales_differ(name, first, second))
    return {
        "frame": frame, "scale": scale,
        "humans": list(dict.fromkeys((*first.humans, *second.humans))),
        "judges": list(dict.fromkeys((*first.judges, *second.judges))),
        "items": _about(known[0], known[1], "item"), "annotator_table": people if people.width > 1 else None,
        "conditions": list(dict.fromkeys((*first.conditions, *second.conditions))), "spelling": "apart", "exclude": (),
        "reading": replace(reading, apart=tuple(apart)), "unlabelled": _without_labels(first, second, names),
    }  # fmt: skip


def texts_on_first_sides(first: Any, second: Any, others: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return the second table's votes on texts, with the sides that these have in the first, and a note."""
    votes = all(isinstance(scale, Preference) for one in (first, second) for scale in one.scales.values())
    named = [{**one.items.schema, **one.labels.schema} for one in (first, second)]
    texts = [c for c, kind in named[0].items() if kind == named[1].get(c) == pl.String]
    texts = [c for c in texts if c not in ("item", "annotator", "criterion", *PAIR)] if votes else []
    ours = pl.DataFrame({"item": first.labels["item"].cast(pl.String), **{c: first.column(c) for c in texts}}).unique()
    theirs = pl.DataFrame({"item": others["item"].cast(pl.String), **{c: second.column(c) for c in texts}})
    for one, other in combinations(texts, 2):
        of = theirs.with_row_index("_row").filter(pl.col(one) != pl.col(other))
        found = of.join(ours, left_on=["item", one, other], right_on=["item", other, one], how="semi")["_row"]
        if len(found):
            rows = np.isin(np.arange(others.height), found.to_numpy())
            sides = {name: theirs[name] for name in (one, other)}
            turned = swap_sides(others.with_columns(**sides), rows, (one, other))
            before = marked_as_swapped(second.column(SWAPPED)) if SWAPPED in named[1] else False
            return turned.with_columns(pl.Series(SWAPPED, rows ^ before)), [
                words.turned_texts(len(found), one, other, SWAPPED)
            ]
    return others, []


def _without_labels(first: Any, second: Any, names: Mapping[str, str]) -> pl.DataFrame | None:
    """The items that one of the tables has without a label."""
    found = [] if first.unlabelled is None else [first.unlabelled]
    if second.unlabelled is not None:
        found.append(second.unlabelled.with_columns(rename_ids(second.unlabelled["item"], names)))
    return pl.concat(found, how="diagonal_relaxed") if found else None


def _with_criteria(first: Any, second: Any, others: pl.DataFrame) -> tuple[list[pl.DataFrame], str | None]:
    """The labels of both with the same columns: a table without criteria has that of the other, if it is one."""
    tables = [first.labels, others]
    names = [first.criteria, second.criteria]
    if bool(names[0]) == bool(names[1]):
        return tables, None
    known = names[0] or names[1]
    if len(known) != 1:
        raise DataError(
            f"one table has the criteria {', '.join(known)} and the other none; choose one with "
            f"labels.where(criterion='{known[0]}')"
        )
    return [t if "criterion" in t.columns else t.with_columns(criterion=pl.lit(known[0])) for t in tables], known[0]


def _of_one_criterion(first: Any, second: Any) -> Any:
    """The second table with the criterion of the first, if both have one and name it differently."""
    names = [first.criteria, second.criteria]
    if not len(names[0]) == len(names[1]) == 1 or names[0] == names[1]:
        return second
    (known,), (own,) = names
    labels = second.labels.with_columns(pl.lit(known).cast(second.labels.schema["criterion"]).alias("criterion"))
    reading = second.reading.add_notes(criterion_of_file([own], known))
    return replace(second, labels=labels, scales={known: second.scale_of(own)}, reading=reading)


def _of_known_criteria(first: Any, second: Any, match: Match) -> tuple[Any, list[str]]:
    """The second table with the first's names of criteria that match loosely, if that is requested, and notes."""
    if not (first.criteria and second.criteria):
        return second, []
    found = loose_criteria(first.criteria, second.criteria)
    notes = [words.loose_criteria(found, matched=match == "loose")] if found else []
    if found and match == "loose":
        labels = second.labels.with_columns(pl.col("criterion").cast(pl.String).replace(found))
        scales = {found.get(name, name): scale for name, scale in second.scales.items()}
        return replace(second, labels=labels, scales=scales), notes
    if {*first.criteria}.isdisjoint(second.criteria) and not found:
        notes.append(words.no_common_criteria(first.criteria, second.criteria))
    return second, notes


def _with_listed(labels: Sequence[pl.DataFrame], readings: tuple[Reading, Reading]) -> list[pl.DataFrame]:
    """The labels of both; a label that only the lists of one table contain is answered no in the other.

    Raises
    ------
    DataError
        If such labels differ from one of the other table only in spelling.
    """
    found = []
    for table, own, other in zip(labels, readings, readings[::-1], strict=True):
        parts = {name.rpartition(": ")[0] for name in own.listed}
        absent = [n for n in other.listed if n not in own.listed and n.rpartition(": ")[0] in parts]
        if absent:
            if alike := same_except_spelling([*own.listed, *absent]):
                raise DataError(
                    f"{own.source} and {other.source}: labels in lists differ only in spelling: "
                    f"{spelling_groups(alike)}; spell each in one way in both"
                )
            kind = table.schema["criterion"]
            given = table.drop("criterion").with_columns(label=pl.lit("no").cast(table.schema["label"]))
            given = given.unique(maintain_order=True).join(pl.DataFrame({"criterion": absent}), how="cross")
            table = pl.concat([table, given.with_columns(pl.col("criterion").cast(kind))], how="diagonal_relaxed")
        found.append(table)
    return found


def differ(stated: Sequence[Scale | None]) -> bool:
    """Whether several sources state different scales, or only that they have categories, which can be different."""
    return len({*stated}) > 1 or stated[0] == Nominal()


def _scales_differ(criterion: str | None, first: Any, second: Any) -> bool:
    """Whether two tables with labels of a criterion have different scales of it."""
    stated = [t.scales.get(criterion, t.scales.get(None)) for t in (first, second)]
    return None not in stated and differ(stated)


def _about(one: pl.DataFrame, other: pl.DataFrame, key: str) -> pl.DataFrame:
    """What both tables say of items or annotators; where both do, the first counts."""
    whole = pl.concat([one, other], how="diagonal_relaxed")
    return whole.group_by(key, maintain_order=True).agg(pl.all().drop_nulls().first())


def _scales(first: Any, second: Any, criterion: str | None) -> Scale | dict[str, Scale]:
    """The scale of each criterion: that of both, or the one that holds the labels of both."""
    if not (first.criteria or second.criteria):
        return _one_scale(first.scale, second.scale)
    found: dict[str, Scale] = {}
    for name in dict.fromkeys((*first.criteria, *second.criteria, *([criterion] if criterion else []))):
        known = [t.scale_of(name) for t in (first, second) if name in t.criteria or None in t.scales]
        found[name] = known[0] if len(known) == 1 else _one_scale(known[0], known[1])
    return found


def _one_scale(one: Scale, other: Scale) -> Scale:
    if one == other:
        return one
    bounds = [scale.bounds for scale in (one, other) if scale.numeric and scale.bounds is not None]
    if len(bounds) == 2:
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        whole = isinstance(one, Ordinal) and isinstance(other, Ordinal) and one.names is None and other.names is None
        return Ordinal(int(low), int(high)) if whole else Interval(low, high)
    if isinstance(one, Nominal) and isinstance(other, Nominal):
        return Nominal(tuple(dict.fromkeys((*(one.categories or ()), *(other.categories or ())))))
    raise DataError(
        f"the tables are on different scales ({one.describe()}; {other.describe()}); read both with the same scale=..."
    )
