"""Votes on pairs of systems: the side of each system, and the sides as shown.

A label is *first* or *second*, and the system on that side can differ from vote to vote. Reading swaps the sides of
such votes, so that labels of one item can be compared, and stores which votes were swapped. Analyses of the shown side
swap them back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.names import Coded, factorize, model_names, natural
from assay.data.structure.cells import ColumnView
from assay.data.structure.role_names import called, called_people, is_human, numbered_alike, plain_name

PAIR = ("first", "second")
"""Columns that name the two systems of a vote: −1 is a vote for the first."""

PAIR_OF = "pair_of"
"""The column with the question that both outputs answer, if an item is one pair of outputs, as in a study of systems.
Votes with one of its values are votes on one item."""

SWAPPED = "sides_swapped"
"""The column that marks the votes whose sides were swapped on reading."""


_SIDE_NAMES = (("first_{}", "second_{}"), ("{}_first", "{}_second"), ("{}_a", "{}_b"))


def side_names(quantity: str) -> list[tuple[str, str]]:
    """Return the possible names of the columns with a quantity of the first and second output: ``first_length``."""
    return [(one.format(quantity), other.format(quantity)) for one, other in _SIDE_NAMES]


def side_columns(columns: Collection[str]) -> list[tuple[str, str]]:
    """Return the columns of the two systems, and the pairs of columns with a quantity of each output."""
    found = [PAIR] if set(PAIR) <= set(columns) else []
    for one, other in _SIDE_NAMES:
        head, tail = one.split("{}")
        names = (c[len(head) : len(c) - len(tail)] for c in columns if c.startswith(head) and c.endswith(tail))
        found += [(one.format(n), other.format(n)) for n in names if n and other.format(n) in columns]
    return found


def pair_names(first: pl.Expr, second: pl.Expr) -> pl.Expr:
    """Return a name for two systems, independent of their order: ``gpt / llama``."""
    one, other = (side.cast(pl.String) for side in (first, second))
    return pl.format("{} / {}", pl.min_horizontal(one, other), pl.max_horizontal(one, other))


# -- tables of battles ---------------------------------------------------------------------------------------


class Battle(NamedTuple):
    """The columns of a battle: its two sides, and which of them won.

    Attributes
    ----------
    first, second, winner : str
    systems : bool
        Whether the sides are systems, that come again; otherwise they are texts.
    """

    first: str
    second: str
    winner: str
    systems: bool = True


_SIDE_WORDS = (("a", "b"), ("1", "2"), ("x", "y"), ("left", "right"), ("first", "second"), ("one", "two"))
_TIES = (
    "tie", "ties", "tied", "draw", "equal", "same", "both", "neither", "tie (bothbad)", "bothbad", "both_bad",
    "tie (both bad)", "both bad", "both good", "no preference",
)  # fmt: skip
"""Words for no winner; both bad is no preference."""
_GRADED = r"^\[*\s*([ab])\s*(>>?|<<?|=)\s*([ab])\s*\]*$"
"""A graded comparison: ``A>>B``, ``[[B>A]]``."""
GRADES = ("slightly", "much")
"""The grades of `_GRADED`."""

LEAST_READ = 0.9
"""Share of filled cells that name a side or a tie, from which a column says who won."""

LEAST_UNEQUAL = 5
"""Expected number of rows with equal cells in two columns by chance, from which none shows that they are two sides."""


def winner_words(battle: Battle) -> dict[str, int]:
    """Return the words for each side and for a tie, in lower case: −1 the first, 1 the second, 0 a tie."""
    found = dict.fromkeys(_TIES, 0)
    for one, other in (*_SIDE_WORDS, (battle.first.lower(), battle.second.lower())):
        for word, side in ((one, -1), (other, 1)):
            found |= {word: side, f"model_{word}": side, f"response_{word}": side, f"[[{word}]]": side}
    return found | {"[[c]]": 0}


def votes_in(table: pl.DataFrame, battle: Battle) -> pl.Series:
    """Return the votes of battles, from −2 (much for the first) to 2; null where the winner is no side and no tie."""
    said = _coded_words(table[battle.winner])
    vote = _votes_by_word(said.names, battle).gather(said.codes)
    sides = [table[side] for side in battle[:2]]
    if battle.systems:
        coded = [_coded_words(side) for side in sides]
        if not any(one.names.drop_nulls().is_in(said.names.drop_nulls().to_list()).any() for one in coded):
            return vote.alias("label")
        plain = [one.column() for one in coded]
    else:
        plain = [_plain_words(side.cast(pl.String)) for side in sides]
    frame = pl.DataFrame({"said": said.column(), "vote": vote, "one": plain[0], "other": plain[1]})
    name, word = _named_side(""), pl.col("vote")
    # A word for a side that is the name of a system too, such as A, has one meaning in all rows.
    either = pl.col("said").is_in(pl.concat(plain).unique().to_list()) & (word != 0).fill_null(value=False)
    if (frame.select(name.filter(either).is_not_null().mean()).item() or 0) < LEAST_READ:
        name = pl.when(~either).then(name)
    else:
        word = pl.when(~either).then(word)
    return frame.select(pl.coalesce(name, word, _named_side(_PUNCTUATION)).cast(pl.Int64).alias("label")).to_series()


_PUNCTUATION = r"[\s_.()\[\]\"'*-]+"
"""Signs in which spellings of one name differ: ``model_b``, ``Model B`` and ``modelB``."""


def _named_side(without: str) -> pl.Expr:
    """The side whose name is the winner's, without some signs; null if that is none, or both."""
    names = [pl.col(name) for name in ("said", "one", "other")]
    said, one, other = (name.str.replace_all(without, "") if without else name for name in names)
    return pl.when((said == one) & (said != other)).then(-1).when((said == other) & (said != one)).then(1)


def _votes_by_word(said: pl.Series, battle: Battle) -> pl.Series:
    """The vote that each word means without the names of its sides."""
    words = winner_words(battle)
    bare = {re.sub(_PUNCTUATION, "", word): side for word, side in words.items() if word != "[[c]]"}
    bare = {word: side for word, side in bare.items() if not word.isdecimal()}
    how: dict[str, Any] = {"default": None, "return_dtype": pl.Int64}
    label = said.replace_strict(list(words), list(words.values()), **how)
    spelled = said.str.replace_all(_PUNCTUATION, "").replace_strict(list(bare), list(bare.values()), **how)
    left, sign, right = (said.str.extract(_GRADED, k) for k in (1, 2, 3))
    frame = pl.DataFrame({"label": label, "spelled": spelled, "left": left, "sign": sign, "right": right})
    first = (pl.col("left") == "a") == pl.col("sign").str.starts_with(">")
    grade = pl.when(first).then(-1).otherwise(1) * pl.col("sign").str.len_chars()
    graded = pl.when(pl.col("left") != pl.col("right")).then(pl.when(pl.col("sign") == "=").then(0).otherwise(grade))
    return frame.select(pl.coalesce("label", graded, "spelled").cast(pl.Int64)).to_series()


def _coded_words(column: pl.Series) -> Coded:
    """Convert a column with `_plain_words`, each different cell once."""
    names, codes = factorize(column.cast(pl.String))
    return Coded(_plain_words(names), codes)


def _plain_words(cells: pl.Series) -> pl.Series:
    return cells.str.strip_chars().str.to_lowercase()


MOST_QUESTIONS = 4
"""Columns that are called as questions of a form, of which two can be the sides of a battle."""

_QUESTION = re.compile(r"(?i)(?:^|[^a-z])(?:s?q|questions?|frage|item)[ _-]?\d+\]?$")
"""Names of numbered questions: ``Q12``, ``Rating[SQ012]``."""


def find_battles(table: pl.DataFrame, views: Mapping[str, ColumnView]) -> list[Battle]:
    """Find the columns of battles: two sides of one vocabulary that never meet themselves, and a winner.

    Several battles have the same sides, and as many columns that name the winner equally well: one for each rater.

    Parameters
    ----------
    table : polars.DataFrame
        One row per battle and voter, or one row per battle.
    views : mapping
        Views of its columns.
    """
    found: list[tuple[int, Battle]] = []
    names = [n for n, v in views.items() if v.filled and not v.dates and not v.lists]
    by_name = _Winners(views, names[:MOST_COLUMNS])
    questions = {n for n in names if _QUESTION.search(n)}
    alike = numbered_alike(names)
    labels = any(called(re.sub(r"\s*\d+$", "", plain_name(n)), "label") for n in alike[:1])
    numbered = {*alike} if labels else set()
    for first, second in combinations(names[:MOST_COLUMNS], 2):
        people = any(is_human(n) or called_people(plain_name(n)) == 2 for n in (first, second))
        if people or {first, second} <= numbered:
            continue
        named, sides = _named_sides(first, second), _are_sides(views[first], views[second])
        voters = by_name.of(first, second)
        if not sides and not named and not voters:
            continue
        worded = named and _are_compared(views[first], views[second])
        systems = all(views[n].n_values < views[n].filled and not views[n].free for n in (first, second))
        if systems and _share_equal(views[first], views[second]) > MOST_EQUAL:
            continue  # two annotators' labels: no system meets itself
        # Two of many questions of a form have the answers to a third one in most rows by chance.
        form = questions if len(questions) > MOST_QUESTIONS and {first, second} <= questions else ()
        for winner in (n for n in names if n not in (first, second, *form) and not views[n].free):
            battle, sided = Battle(first, second, winner, systems), sides or winner in voters
            if not named and (not sided or _RESOLVED.search(plain_name(winner))):
                continue
            numbers = views[first].numeric and views[second].numeric and not _has_side_words(views[winner])
            rank = 4 * named + 2 * sided + systems + 2 * bool(_WINNER.search(plain_name(winner)))
            is_voter = sided or _WINNER.search(plain_name(winner)) or (worded and _has_side_words(views[winner]))
            if is_voter and not numbers and _says_who_won(table, views[winner], battle, one_side=len(voters) > 1):
                cells = {cell.lower() for cell in views[winner].distinct.head(9).to_list()}
                found.append((rank + 4 * bool({first.lower(), second.lower()} & cells), battle))
    top, best_of = max(found, key=lambda one: one[0], default=(0, Battle("", "", "")))
    also = {b.winner for rank, b in found if rank == top - 2 and (is_human(b.winner) or model_names([b.winner]))}
    best = [one for rank, one in found if one[:2] == best_of[:2] and (rank == top or one.winner in also)]
    return [battle for battle in best if not any(_is_copy(views, battle.winner, other.winner) for other in best)]


class _Winners:
    """Columns whose cells name one of two others in the same row, more often than chance would.

    Parameters
    ----------
    views : mapping
        Views of the columns of a table.
    names : sequence of str
        The columns that are tried; only those of short words can be sides or winners.
    """

    def __init__(self, views: Mapping[str, ColumnView], names: Sequence[str]) -> None:
        texts = {n: _plain_words(views[n].texts) for n in names if views[n].is_text and not views[n].free}
        self.names = list(texts)
        if not texts:
            return
        cells = pl.concat([one.alias("cell") for one in texts.values()])
        codes = (cells.rank("dense").fill_null(0).cast(pl.Int64).to_numpy() - 1).reshape(len(texts), -1)
        ties = cells.is_in(_TIES).fill_null(value=False).to_numpy().reshape(codes.shape)
        self.cells = dict(zip(self.names, codes, strict=True))
        self.votes = dict(zip(self.names, (codes >= 0) & ~ties, strict=True))

    def of(self, first: str, second: str) -> set[str]:
        """Return the columns that name the winner of two; none if these are equal in a row."""
        if first not in self.names or second not in self.names:
            return set()
        one, other = self.cells[first], self.cells[second]
        if bool(((one == other) & (one >= 0)).any()):
            return set()
        misses = {n: self._misses_by_chance(n, one, other) for n in self.names if n not in (first, second)}
        # If one column surely has votes, so have others that name only the two, also with many ties or one winner.
        both = [n for n in misses if all(bool((self.cells[n] == side).any()) for side in (one, other))]
        surely = sum(misses[n] for n in both) >= LEAST_UNEQUAL
        return {n for n, by_chance in misses.items() if surely and by_chance > 0}

    def _misses_by_chance(self, name: str, one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
        """The expected number of cells that name neither by chance; 0 if the column does not name the two."""
        votes = self.votes[name]
        said, one, other = self.cells[name][votes], one[votes], other[votes]
        hits = [int((said == side).sum()) for side in (one, other)]
        if not any(hits) or sum(hits) < LEAST_READ * len(said):
            return 0.0
        shares = np.bincount(said, minlength=int(max(one.max(), other.max())) + 1) / len(said)
        by_chance = sum(float(np.where(side >= 0, shares[side], 0).sum()) for side in (one, other))
        return len(said) - by_chance


def _is_copy(views: Mapping[str, ColumnView], one: str, other: str) -> bool:
    """Whether a column repeats another one under a longer name: ``raw_preference`` and ``preference``."""
    return plain_name(one).endswith(f" {plain_name(other)}") and bool((views[one].codes == views[other].codes).all())


MOST_COLUMNS = 40
"""Columns among which the sides of battles are searched."""

_WINNER = re.compile(
    r"\b(winner|preferred|preference|prefers?|verdict|chosen|choice|better|vote|won|judg(e)?ment|label)\b"
)

_RESOLVED = re.compile(r"\b(adjudicat\w+|final|gold|consensus|resolved|agreed|majority|tie ?break\w*)\b")
"""Names of a third label where two annotators differ: their columns are never equal either, and are no systems."""


def _named_sides(first: str, second: str) -> bool:
    """Whether names of columns differ only in a word for a side: ``response_a``, ``response_b``."""
    one, other = plain_name(first).split(), plain_name(second).split()
    differ = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return len(one) == len(other) and len(differ) == 1 and differ[0] in _SIDE_WORDS


def _are_compared(one: ColumnView, other: ColumnView) -> bool:
    """Whether two columns of named sides can be what is compared: no numbers, no votes, and never equal in a row."""
    numbers = any(_plain_words(v.distinct.cast(pl.String)).str.contains(r"^[-+.\d]").any() for v in (one, other))
    return not (numbers or _has_side_words(one) or _has_side_words(other) or (one.texts == other.texts).any())


def _has_side_words(view: ColumnView) -> bool:
    """Whether a column prefers one of two sides in words: ``A``, ``model_b``, ``tie``; ``1`` can be a label as well."""
    words = [one for one in winner_words(Battle("a", "b", "")) if not one.isdigit()]
    return bool(_plain_words(view.distinct.cast(pl.String)).is_in(words).all())


MOST_EQUAL = 0.05
"""Share of rows in which two systems can have one name, by mistake."""


def _share_equal(one: ColumnView, other: ColumnView) -> float:
    return float((one.texts == other.texts).mean() or 0)  # type: ignore[arg-type]


def _are_sides(one: ColumnView, other: ColumnView) -> bool:
    """Whether two columns have one vocabulary and are equal in no row, although chance would make some equal."""
    mine, theirs = set(one.distinct.to_list()), set(other.distinct.to_list())
    few = len(mine & theirs) < 2 or 2 * len(mine & theirs) < min(len(mine), len(theirs))
    if few or (one.texts == other.texts).any():
        return False
    both = pl.DataFrame({"one": one.texts, "other": other.texts}).drop_nulls()
    shares = both["one"].value_counts(normalize=True).join(
        both["other"].value_counts(normalize=True).rename({"other": "one", "proportion": "share"}), on="one"
    )  # fmt: skip
    chance = both.height * float((shares["proportion"] * shares["share"]).sum())
    return chance >= LEAST_UNEQUAL


def _says_who_won(table: pl.DataFrame, view: ColumnView, battle: Battle, *, one_side: bool) -> bool:
    """Whether a column contains winners and ties; with ``one_side``, also if the same side always won."""
    votes = votes_in(table.head(view.rows), battle)
    there = votes.filter(view.texts.is_not_null())
    read = there.drop_nulls()
    won = [bool((read < 0).any()), bool((read > 0).any())]
    return len(read) >= LEAST_READ * len(there) > 0 and (any(won) if one_side else all(won))


def name_sides(table: pl.DataFrame, battles: Sequence[Battle]) -> pl.DataFrame:
    """Return a table with a column of votes for each rater, with its sides called `PAIR` and the votes in those words.

    Votes with grades, and cells that name no winner, stay as they are.
    """
    first, second = battles[0][:2]
    votes = {battle.winner: votes_in(table, battle) for battle in battles}
    taken = ({*PAIR} & {*table.columns}) - {first, second}
    if taken or any((vote.abs() > 1).any() for vote in votes.values()):
        return table
    words = {-1: PAIR[0], 0: "tie", 1: PAIR[1]}
    named = table.with_columns(
        pl.coalesce(
            vote.replace_strict(words, default=None, return_dtype=pl.String), pl.col(name).cast(pl.String)
        ).alias(name)
        for name, vote in votes.items()
    )
    return named.rename({first: PAIR[0], second: PAIR[1]}) if battles[0].systems else named


class Sides:
    """The systems of votes as numbers.

    Parameters
    ----------
    table : polars.DataFrame
        One row a label, with `PAIR` and numbers as labels.
    votes : (rows,) bool
        Which rows are votes.
    """

    def __init__(self, table: pl.DataFrame, votes: NDArray[np.bool_]) -> None:
        named = [table[side].cast(pl.String) for side in PAIR]
        both = factorize(pl.concat([side.alias("system") for side in named]))
        self.systems, codes = both.names, both.codes.astype(np.int64).reshape(2, -1)
        named_both = np.logical_and.reduce([side.is_not_null().to_numpy() for side in named])
        self.rows = votes & named_both & (codes[0] != codes[1])
        self.first, self.second = codes

    @cached_property
    def pairs(self) -> Coded:
        """The pair of systems of each vote, independent of their order."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return factorize(pl.Series("pair", low * len(self.systems) + high))

    @property
    def orders(self) -> pl.Series:
        """The two systems of each vote in their order: ``gpt>llama``."""
        different, codes = factorize(pl.Series("order", self.first * len(self.systems) + self.second))
        first, second = (self.systems.gather(at) for at in divmod(different.to_numpy(), len(self.systems)))
        return Coded(first + ">" + second, codes).column()

    def named_pairs(self, question: Coded) -> Coded:
        """The question and the pair of systems of each vote, ``q7: gpt / llama``; for other rows, only the question."""
        systems, size = len(self.systems), len(self.pairs.names) + 1
        pair = np.where(self.rows, self.pairs.codes, size - 1)
        # A name is written once for all votes that have it.
        different, codes = factorize(pl.Series("item", question.codes.astype(np.int64) * size + pair))
        first, second = (self.systems.gather(at) for at in divmod(self.pairs.names.to_numpy(), systems))
        pairs = pl.select(pair_names(pl.lit(first), pl.lit(second))).to_series().extend_constant(None, 1)
        at, of = divmod(different.to_numpy(), size)
        alone = question.names.gather(at)
        named = pl.select(pl.coalesce(pl.format("{}: {}", alone, pairs.gather(of)), alone)).to_series()
        return Coded(different, codes).rename_all(named.alias("item"))

    def several(self, item: Coded) -> bool:
        """Whether votes on one item are about several pairs."""
        return self._differ(self.pairs.codes, item)

    def swapped(self, item: Coded, label: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the votes to swap so that each system has one side: (rows,); none if each item shows one order.

        The system with more wins minus losses in all votes becomes the first, so that names have no influence; of those
        with equally many, the first by name.
        """
        if not self._differ(self.first * len(self.systems) + self.second, item):
            return np.zeros(len(self.rows), dtype=bool)
        n, won = len(self.systems), np.where(self.rows, np.sign(label), 0)
        wins = np.bincount(self.second, won, n) - np.bincount(self.first, won, n)
        by_name = {name: place for place, name in enumerate(natural(self.systems.drop_nulls().to_list()))}
        names = np.array([by_name.get(name, n) for name in self.systems.to_list()])
        rank = np.empty(n, dtype=np.int64)
        rank[np.lexsort((names, -wins))] = np.arange(n)
        return np.asarray(self.rows & (rank[self.first] > rank[self.second]))

    def _differ(self, value: NDArray[Any], item: Coded) -> bool:
        """Whether votes on one item have several values."""
        codes, value = item.codes[self.rows], value[self.rows]
        one = np.zeros(len(item.names), dtype=value.dtype)
        one[codes] = value
        return bool((one[codes] != value).any())


def swap_sides(table: pl.DataFrame, rows: NDArray[np.bool_], texts: tuple[str, str] = PAIR) -> pl.DataFrame:
    """Swap the two systems or texts in some rows, with their labels and all other columns about a side."""
    swap, label = pl.Series(rows), pl.col("label")
    # Labels of votes are whole numbers, stored as text if other criteria have words as labels.
    other = (-label.cast(pl.Int64, strict=False)).cast(table.schema["label"])
    changed = [pl.when(swap).then(other).otherwise(label).alias("label")]
    further = [texts] if {*texts} <= {*table.columns} else []
    for first, second in dict.fromkeys((*further, *side_columns(table.columns))):
        types = table.schema[first], table.schema[second]
        # Numbers of two types, as a missing value makes them, or a column without any value, are still one quantity.
        if types[0] == types[1] or not any(one.is_nested() for one in types):
            changed += [pl.when(swap).then(pl.col(b)).otherwise(pl.col(a)).alias(a)
                        for a, b in ((first, second), (second, first))]  # fmt: skip
    return table.with_columns(changed)


def keep_shown(table: pl.DataFrame, sides: Sides) -> pl.DataFrame:
    """Add the shown order of the two systems, and the chosen position, of each vote."""
    place = pl.when(pl.col("label") < 0).then(1).when(pl.col("label") > 0).then(2)
    shown: dict[str, pl.Series | pl.Expr] = {"order": sides.orders, "position": place.cast(pl.Int64)}
    votes = pl.Series(sides.rows)
    return table.with_columns(pl.when(votes).then(of).alias(name) for name, of in shown.items() if name not in table)


def marked_as_swapped(column: pl.Series) -> NDArray[np.bool_]:
    """Return which votes were swapped on reading, from the column `SWAPPED` as booleans or text."""
    return (column.cast(pl.String).str.to_lowercase() == "true").fill_null(False).to_numpy()
