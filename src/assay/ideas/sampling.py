"""Draw triplets: least compared pairs first, with balanced places of texts."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from assay.data.columns import natural, to_polars
from assay.errors import DataError, DesignError, counted, listing, unknown
from assay.estimation.options import question
from assay.estimation.result import Exclusion, Result, Run
from assay.ideas import words
from assay.ideas.choices import SampleSettings
from assay.reporting import pictures
from assay.statistics.comparisons.triplets import Sampler, Triplet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 1_000_000
"""More triplets are not drawn at once: one at a time, they take minutes."""


@dataclass(frozen=True, eq=False)
class TripletSample(Result):
    """Triplets to ask about, in the order in which they are to be asked.

    Attributes
    ----------
    triplets : polars.DataFrame
        ``item`` (1, 2, …), ``document`` (if any), ``first_item``, ``second_item``, ``third_item``
        (names), and ``first``, ``second``, ``third`` (the texts, if given).
    pairs : polars.DataFrame
        ``document``, ``first``, ``second``, ``estimate`` (in how many triplets both are).
    run : Run
    """

    symbol: ClassVar[str] = "triplets"

    triplets: pl.DataFrame = field(metadata={"json": False})
    pairs: pl.DataFrame = field(metadata={"json": False})
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """How often each pair is seen."""
        return self.pairs

    def summary(self) -> str:
        """The numbers of triplets, and of comparisons of pairs."""
        facts = self.run.facts
        documents = int(str(facts["documents"]))
        lines = words.sample_lines(self.triplets.height, facts["texts"], documents, self.pairs["estimate"])
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """How many pairs are seen how often."""
        ax = pictures.axes(ax)
        seen = self.pairs["estimate"].value_counts().sort("estimate")
        ax.bar(seen["estimate"].to_list(), seen["count"].to_list(), color=pictures.HUMAN, width=0.7)
        ax.set_xlabel("triplets that hold a pair")
        ax.set_ylabel("pairs")
        return ax


@question(SampleSettings)
def sample_triplets(texts: Any, settings: SampleSettings) -> TripletSample:
    """Which three texts are to be compared, so that every pair of a document is seen often enough?

    The rule of Nam et al. (2025, section 4.1), which ``assay serve`` and ``assay judge`` follow too: the pair that was
    seen least, of texts that appeared least, with the third that was seen with both of them least. No triplet is drawn
    twice. Each text is first, second and third equally often, up to one or two.

    Parameters
    ----------
    texts : sequence of str, mapping or frame
        Names of the texts; names by document; or a frame with one row a text.

    Returns
    -------
    TripletSample

    Raises
    ------
    DesignError
        If no document has three texts, or a document has too few different triplets for the floor.
    DataError
        For a text that is named twice, or has no name.

    Examples
    --------
    >>> import assay
    >>> found = assay.sample_triplets(["a", "b", "c", "d", "e"], floor=1, seed=1)
    >>> found.triplets.height, found.pairs["estimate"].to_list()
    (4, [1, 1, 1, 1, 1, 1, 3, 1, 1, 1])

    Four triplets show each of the ten pairs of five texts; one pair is in three of them.
    """
    table = texts_of(texts, settings.document, settings.name, settings.text)
    pools, small = _pools(table)
    _refuse_too_few(pools, settings)
    drawn = _draw(pools, settings)
    placed = _place_texts(drawn, random.Random(f"{settings.seed} places"))
    of = dict(zip(table["_key"].to_list(), table.select("document", "name", "text").iter_rows(), strict=True))
    rows = [
        {"item": str(i), "document": of[keys[0]][0]}
        | {f"{place}_item": of[key][1] for place, key in zip(_PLACES, keys, strict=True)}
        | {place: of[key][2] for place, key in zip(_PLACES, keys, strict=True)}
        for i, keys in enumerate(placed, start=1)
    ]  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"document": pl.String})
    frame = frame.drop([c for c in ("document", *_PLACES) if frame[c].null_count() == frame.height])
    facts = {"texts": table.height, "documents": len(pools), "triplets": len(drawn)}
    gone = (Exclusion("document", len(small), "fewer than three texts", tuple(small)),) if small else ()
    run = Run("sample-triplets", settings, _digest(table), facts, exclusions=gone)
    return TripletSample(frame, _pair_counts(pools, drawn, of), run)


_PLACES = ("first", "second", "third")


def texts_of(texts: Any, document: str | None, name: str | None, text: str | None) -> pl.DataFrame:
    """``document``, ``name``, ``text``, and ``_key``, which tells texts of one name in two documents apart."""
    rows: list[tuple[Any, ...]]
    if isinstance(texts, Mapping):
        rows = [(str(d), str(t), None) for d, names in texts.items() for t in names]
    elif isinstance(texts, Iterable) and not hasattr(texts, "columns"):
        rows = [(None, str(t), None) for t in texts]
    else:
        rows = _frame_rows(to_polars(texts), document, name, text)
    schema = dict.fromkeys(("document", "name", "text"), pl.String)
    table = pl.DataFrame(rows, schema=schema, orient="row")
    key = pl.concat_str([pl.col("document").fill_null(""), pl.col("name")], separator="\0")
    table = table.with_columns(_key=key)
    twice = table.filter(pl.col("_key").is_duplicated())
    if twice.height:
        where = "" if twice["document"][0] is None else f" in document '{twice['document'][0]}'"
        raise DataError(f"text '{twice['name'][0]}' occurs twice{where}; names of texts must be unique")
    return table


def _frame_rows(frame: pl.DataFrame, document: str | None, name: str | None, text: str | None) -> list[tuple[Any, ...]]:
    for column in (document, name, text):
        if column is not None and column not in frame.columns:
            raise DataError(unknown("column", column, frame.columns, "the texts"))
    text = text or ("text" if "text" in frame.columns else None)
    name = name or next((c for c in ("item", "name", text) if c in frame.columns), None)
    if name is None:
        raise DataError(f"which column names the texts? Give name=... (there are {listing(frame.columns)})")
    columns = [pl.lit(None) if c is None else pl.col(c).cast(pl.String) for c in (document, name, text)]
    table = frame.select(document=columns[0], name=columns[1], text=columns[2])
    for column, given in (("name", name), *((("document", document),) if document else ())):
        empty = table.with_row_index("_row", 1).filter(pl.col(column).is_null())
        if empty.height:
            raise DataError(f"row {empty['_row'][0]} of the texts has nothing in '{given}'; fill it or drop the row")
    return table.rows()


def _pools(table: pl.DataFrame) -> tuple[dict[str, list[str]], list[str]]:
    """Texts by document; documents with fewer than three texts apart."""
    pools: dict[str, list[str]] = {}
    for document, key in table.select(pl.col("document").fill_null(""), "_key").iter_rows():
        pools.setdefault(document, []).append(key)
    ordered = {d: pools[d] for d in natural(pools)}
    small = [d for d, keys in ordered.items() if len(keys) < 3]
    return {d: list(natural(keys)) for d, keys in ordered.items() if len(keys) > 2}, small


def _refuse_too_few(pools: Mapping[str, Sequence[str]], settings: SampleSettings) -> None:
    if not pools:
        raise DesignError("no document has three texts to compare; leave document out to draw from all texts together")
    number = settings.n_triplets
    for document, keys in pools.items():
        most = len(keys) - 2
        if number is None and settings.floor > most:
            where = f"document '{document}' has" if document else "there are"
            raise DesignError(
                f"{where} {len(keys)} texts, so that a pair is in {counted(most, 'different triplet')} at most and "
                f"floor={settings.floor} cannot be reached; take floor={most} and ask each triplet of several "
                "annotators"
            )
    if number is None:
        number = sum(len(k) * (len(k) - 1) // 2 for k in pools.values()) * settings.floor // 3
    if number > MOST:
        raise DesignError(f"about {number:,} triplets would be drawn, and {MOST:,} are the most; give n_triplets=...")


def _draw(pools: Mapping[str, Sequence[str]], settings: SampleSettings) -> list[Triplet]:
    """Triplets one after the other, by the rule."""
    wanted = settings.floor if settings.n_triplets is None else max(len(keys) for keys in pools.values())
    sampler, chance = Sampler(pools, wanted), random.Random(settings.seed)
    drawn: list[Triplet] = []
    while settings.n_triplets is None or len(drawn) < settings.n_triplets:
        triplet = sampler.next(chance)
        if triplet is None:
            break
        sampler.add([triplet])
        drawn.append(triplet)
    if settings.n_triplets is not None and len(drawn) < settings.n_triplets:
        raise DesignError(
            f"there are {counted(len(drawn), 'different triplet')}; n_triplets={settings.n_triplets} is more"
        )
    return drawn


def _place_texts(drawn: Sequence[Triplet], chance: random.Random) -> list[Triplet]:
    """Each triplet in the order with the most even places of its texts; ties are broken at random."""
    places: Counter[tuple[str, int]] = Counter()
    found = []
    for triplet in drawn:
        a, b, c = triplet
        orders = [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
        chance.shuffle(orders)
        best = min(orders, key=lambda order: sum((2 * places[key, place] + 1) for place, key in enumerate(order)))
        places.update((key, place) for place, key in enumerate(best))
        found.append(best)
    return found


def _pair_counts(pools: Mapping[str, Sequence[str]], drawn: Sequence[Triplet], of: Mapping[str, Any]) -> pl.DataFrame:
    """How many triplets hold each pair."""
    counts = Counter(frozenset(pair) for triplet in drawn for pair in itertools.combinations(triplet, 2))
    rows = [
        (of[a][0], of[a][1], of[b][1], counts[frozenset((a, b))])
        for keys in pools.values()
        for a, b in itertools.combinations(keys, 2)
    ]
    schema = {"document": pl.String, "first": pl.String, "second": pl.String, "estimate": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _digest(table: pl.DataFrame) -> str:
    return hashlib.blake2b("\x1e".join(sorted(table["_key"].to_list())).encode(), digest_size=6).hexdigest()
