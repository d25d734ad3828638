"""From outputs to pairs: what systems wrote, chosen by separability, for people and judges to compare."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import AssayError, DesignError, StudyError, counted, listing
from assay.preference.pairs import chosen_items, pairs_of
from assay.preference.separability import check_similarity, separability
from assay.reading import outputs_of
from assay.study.definition import Study
from assay.study.store.connection import Store
from assay.study.store.pairs import Output, Written, are_drawn, put_pairs, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def check_comparisons(study: Study) -> None:
    """Refuse a similarity that is not known, or whose library is not there, before anything is paid for."""
    if study.systems:
        try:
            check_similarity(study.config.comparisons.similarity)
        except AssayError as error:
            raise StudyError(f"{study.folder}/study.yaml: comparisons.similarity: {error}") from None


def draw_pairs(study: Study, store: Store) -> tuple[tuple[str, ...], bool]:
    """Put pairs of outputs into the store, once every output is there; nothing where they stand there already.

    Returns
    -------
    tuple of str, bool
        What to tell whoever leads the study; whether the pairs are there.
    """
    comparisons = study.config.comparisons
    with store.reading() as db:
        found = written(db)
        made_of = found.made_of(comparisons)
        if are_drawn(db, made_of):
            return (), True
    if found.lacking:
        return (
            f"{counted(found.lacking, 'output')} of the systems {'is' if found.lacking == 1 else 'are'} not there yet; "
            "pairs are drawn once all of them are",
        ), False
    usable, left_out = _usable(found)
    table = outputs_of(usable)
    alike = separability(table, similarity=comparisons.similarity, method="none")
    chosen = chosen_items(alike.items, comparisons.items, comparisons.choose, comparisons.seed)
    pairs = pairs_of(table.labels, chosen, comparisons.pairs, comparisons.seed)
    with store.exclusive() as db:
        put_pairs(db, pairs.iter_rows(named=True), made_of, store.now(db))
    return (*left_out, *_in_words(study, alike.items, chosen, pairs)), True


def _usable(found: Written) -> tuple[tuple[Output, ...], list[str]]:
    """Outputs of items on which a system has two at least; words for those that are left out."""
    number = Counter((one.item, one.system) for one in found.outputs)
    kept = tuple(one for one in found.outputs if number[one.item, one.system] > 1)
    systems = {one.system for one in found.outputs}
    both = Counter(item for item, _ in {(one.item, one.system) for one in kept})
    items = dict.fromkeys(one.item for one in found.outputs)
    short = [item for item in items if both[item] < len(systems)]
    words = []
    if found.unreadable:
        words.append(f"{counted(found.unreadable, 'output')} could not be used: empty or cut off")
    if short:
        words.append(
            f"{counted(len(short), 'item')} ({listing(short, 4)}) without two outputs of a system, which is not "
            "compared there"
        )
    if not kept:
        raise DesignError("no item has two outputs of a system, so nothing can be compared")
    return kept, words


def _in_words(study: Study, items: pl.DataFrame, chosen: pl.DataFrame, pairs: pl.DataFrame) -> Sequence[str]:
    comparisons, words = study.config.comparisons, []
    mean, rest = (float(np.mean(one["separability"].to_numpy())) for one in (chosen, items))
    of = "items" if len(study.systems) == 2 else "items of two systems"
    if chosen.height < items.height:
        words.append(
            f"{pairs.height} pairs of outputs drawn, of {chosen.height} of {items.height} {of}, chosen by separability "
            f"({comparisons.choose}): {mean:.2f} on average, {rest:.2f} of all"
        )
    else:
        words.append(
            f"{pairs.height} pairs of outputs drawn, of all {items.height} {of}, with a mean separability of {mean:.2f}"
        )
    if comparisons.items is not None and comparisons.items > items["item"].n_unique():
        words.append(f"comparisons.items asks for {comparisons.items} items, and there are {items['item'].n_unique()}")
    same = int((pairs["first_text"] == pairs["second_text"]).sum())
    if same:
        words.append(f"{same} of the pairs are of two outputs that are the same, word for word")
    return words
