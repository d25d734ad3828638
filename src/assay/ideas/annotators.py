"""Who says what others say? Open-ended answers of people and judges to the same items, compared by a similarity.

For annotator f on an item that other people P answered, with s a similarity of two texts,

    closeness   c = mean of s(f, j) over j in P
    people      b = mean of s(j, k) over pairs of P                 similarity among humans
    advantage   share of j in P whose similarity to the others is at most that of f:
                mean of s(f, k) ≥ mean of s(j, k), k in P less j

which is the leave-one-out rule of the alternative annotator test (Calderon et al. 2025, section 3.1) with similarity
as its score. A person is held against the other people just as a judge is, so that judges have a place among people.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.data.columns import natural
from assay.data.names import codes_in
from assay.data.ratings import cluster_codes
from assay.errors import DataError, DesignError, listing, unknown
from assay.estimation.intervals import Estimate, Estimates
from assay.estimation.options import question
from assay.estimation.resampling import Mean, Units, add_rows, estimate_sums
from assay.estimation.result import Exclusion, ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats, Ints
from assay.ideas import words
from assay.ideas.choices import MapSettings
from assay.reporting import pictures
from assay.similarity.protocol import Similarity
from assay.similarity.registry import as_similarity, signed_similarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST_SHARED = 2
"""Least number of shared items that ``min_items`` can be."""

MOST_MOVED = 4_000
"""Comparisons of a judge's answers with people of other items: their mean is then known to .01 or better."""

TIE = 1e-9
"""Similarities that differ by no more, such as by the order of a sum, are the same."""


@dataclass(frozen=True, eq=False)
class AnnotatorSimilarity(ResultOfRows):
    """How close every annotator's answers are to those of people.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per annotator, judges before humans, the highest similarity first: ``annotator``, ``kind``, ``estimate``
        (mean similarity to the other humans of an item), ``low``, ``high``, ``people`` (mean similarity among those
        humans), ``difference``, ``difference_low``, ``difference_high`` (estimate minus that), ``advantage`` (share of
        humans whose similarity to the others is at most the annotator's), ``advantage_low``, ``advantage_high``,
        ``closer_than`` (share of humans with a lower difference), ``other_items`` (for a judge: similarity of its
        responses to humans on other items, the effect of its style alone), ``n`` (items), ``reason``.
    pairs : polars.DataFrame
        ``first``, ``second``, ``estimate`` (mean similarity over the items that both answered), ``adjusted`` (as
        it would be if all pairs had answered the same items), ``n``.
    positions : polars.DataFrame
        ``annotator``, ``kind``, ``x``, ``y``: the map, with similar annotators close together.
    stress : float
        Misfit of the map (Kruskal's stress-1), 0 for none; above .2 read it with care.
    run : Run
    """

    symbol: ClassVar[str] = "closeness"

    rows: pl.DataFrame = field(metadata={"json": False})
    pairs: pl.DataFrame
    positions: pl.DataFrame
    stress: float
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    def of(self, annotator: str) -> dict[str, Any]:
        """The row of one annotator."""
        found = self.rows.filter(pl.col("annotator") == annotator)
        if not found.height:
            raise DataError(unknown("annotator", annotator, self.rows["annotator"].to_list(), "the comparison"))
        return found.row(0, named=True)

    def matrix(self) -> tuple[tuple[str, ...], Floats]:
        """Names, and mean similarities (annotators, annotators); NaN for who answered no item together."""
        names = tuple(self.positions["annotator"].to_list())
        place = {name: i for i, name in enumerate(names)}
        found = np.full((len(names), len(names)), np.nan)
        for a, b, value in self.pairs.select("first", "second", "estimate").iter_rows():
            found[place[a], place[b]] = found[place[b], place[a]] = value
        return names, found

    def summary(self) -> str:
        """Each judge's similarity to humans compared with that among humans."""
        lines = words.annotator_lines(self.rows, self.stress)
        return "\n".join([*lines, *self.run.closing(intervals=True)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The map of annotators, similar ones close together; judges have names, and humans if there are few."""
        ax = pictures.axes(ax, width=5.8, height=4.8)
        few = self.positions.height <= 16
        for row in self.positions.iter_rows(named=True):
            judge = row["kind"] == "judge"
            colour = pictures.JUDGE if judge else pictures.HUMAN
            ax.plot(row["x"], row["y"], marker="D" if judge else "o", color=colour, markersize=7 if judge else 5,
                    alpha=1.0 if judge else 0.55, linestyle="none")  # fmt: skip
        shown = [r for r in self.positions.iter_rows(named=True) if r["kind"] == "judge" or few]
        _name_apart(ax, shown)
        for label, colour, marker in (("judge", pictures.JUDGE, "D"), ("human", pictures.HUMAN, "o")):
            ax.plot([], [], marker=marker, color=colour, linestyle="none", label=label)
        pictures.legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_xlabel("close together: similar responses")
        return ax

    def plot_closeness(self, ax: Axes | None = None) -> Axes:
        """Forest plot of similarity to humans minus similarity among humans, for judges and humans."""
        rows = self.rows.sort("difference", descending=True, maintain_order=True)
        if rows.height > pictures.MOST_ROWS:
            judges = rows.filter(pl.col("kind") == "judge")
            people = rows.filter(pl.col("kind") == "human")
            step = -(-people.height // max(pictures.MOST_ROWS - judges.height, 1))
            rows = pl.concat([judges, people.gather_every(step)])
            rows = rows.sort("difference", descending=True, maintain_order=True)
        ax = pictures.axes(ax, width=5.8, height=1.2 + 0.24 * max(rows.height, 2))
        colours = [pictures.JUDGE if kind == "judge" else pictures.HUMAN for kind in rows["kind"]]
        names = [name if len(name) <= 18 else name[:16] + "…" for name in rows["annotator"].to_list()]
        columns = (rows[c].to_list() for c in ("difference", "difference_low", "difference_high"))
        pictures.forest(ax, names, *columns, colour=colours)
        ax.axvline(0, color=pictures.MUTED, linewidth=1, linestyle="--")
        ax.set_xlabel("similarity to humans minus similarity among humans")
        return ax


def _name_apart(ax: Axes, rows: list[dict[str, Any]]) -> None:
    """Names next to their points, moved up if they would overlap another name."""
    x, y = (np.array([row[c] for row in rows], dtype=float) for c in ("x", "y"))
    span = max(np.ptp(x), np.ptp(y)) or 1.0 if rows else 1.0
    high, letter = 0.05 * span, 0.024 * span
    placed: list[tuple[float, float, float]] = []
    for k in np.argsort(y, kind="stable"):
        name, at = rows[k]["annotator"], y[k]
        end = x[k] + letter * len(name)
        for other, other_end, other_at in placed:
            if x[k] < other_end and other < end and abs(at - other_at) < high:
                at = other_at + high
        placed.append((x[k], end, at))
        ax.text(x[k] + 0.02 * span, at, name, fontsize=8, color=pictures.INK, va="center")


@question(MapSettings)
def annotator_similarity(labels: Annotations | Chunks, settings: MapSettings) -> AnnotatorSimilarity:
    """Compare judges' texts with humans': similarity to humans, and similarity among humans, on the same items.

    The alternative annotator test itself, with this similarity as its score, is
    ``assay.alt_test(labels, judge, similarity=...)``.

    Parameters
    ----------
    labels : Annotations
        Labels on the scale ``text``, of people and judges; an annotator's repeats of an item count together.

    Returns
    -------
    AnnotatorSimilarity

    Raises
    ------
    DesignError
        For labels that are not text, or without items with texts of three annotators, two of them human.

    Examples
    --------
    >>> import assay, polars as pl
    >>> says = {"ann": "old cat", "bob": "grey cat", "cho": "old dog", "gpt": "old cat"}
    >>> rows = [(f"i{i}", who, text) for i in range(3) for who, text in says.items()]
    >>> frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    >>> labels = assay.read(frame, scale="text", judges=["gpt"])
    >>> found = assay.annotator_similarity(labels, min_items=2, method="none")
    >>> found.of("gpt")["estimate"].__round__(2), found.of("gpt")["people"].__round__(2)
    (0.67, 0.33)

    The judge's words are like a person's by two thirds on average, people's like each other's by one.
    """
    labels = labels.in_memory("annotator_similarity")
    _refuse_other_labels(labels)
    similarity = as_similarity(settings.similarity)
    settings = replace(settings, similarity=signed_similarity(similarity))
    answers = _TextAnswers.of(labels, similarity)
    rows, estimates, how, gone = answers.rows(labels, settings)
    if not rows:
        most = answers.most_shared
        advice = "lower min_items=..., or read more labels"
        if most < LEAST_SHARED:
            advice = (
                "annotators are compared over several items, such as prompts, that each of them answers. For texts "
                "about one prompt, collect odd-one-out choices, and compare the authors of the texts with authors=..."
            )
        raise DesignError(
            f"no annotator shares {settings.min_items} items with two other humans (the most is {most}); {advice}"
        )
    pairs = answers.pairs([row["annotator"] for row in rows])
    positions, stress = _map(pairs, rows)
    frame = _add_ranks(pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None))
    columns = [c for c in ("repeat",) if c in labels.labels.columns]
    data = fingerprint_with(
        labels.fingerprint, **digest_of_columns(labels, settings.clusters, *columns), similarity=similarity.about
        or None
    )  # fmt: skip
    facts = {"items": labels.n_items, "humans": len(labels.humans), "judges": len(labels.judges)}
    about = answers.fitted.about  # also describes what was learned from these texts
    note = (f"similarity: {about}",) if about else ()
    run = Run("annotator-similarity", settings, data, facts, how, gone, note)
    in_order = tuple(estimates[name] for name in frame["annotator"])
    return AnnotatorSimilarity(frame, pairs, positions, stress, run, in_order)


_TYPES: dict[str, Any] = {"reason": pl.String, "other_items": pl.Float64}


def _refuse_other_labels(labels: Annotations) -> None:
    if len(labels.criteria) > 1:
        raise DesignError(
            f"annotator_similarity needs one criterion; the table has {listing(labels.criteria)}; choose one "
            f"with labels.where(criterion='{labels.criteria[0]}')"
        )
    if labels.scale.kind != "text":
        raise DesignError(
            f"annotator_similarity needs labels on the scale text; these are {labels.scale.describe()}. Read texts "
            "with scale='text'; for odd-one-out choices use assay.triplet_similarity"
        )


@dataclass(frozen=True, eq=False)
class _TextAnswers:
    """Mean similarities of the annotators of each item."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    n_items: int
    who: tuple[Ints, ...]
    """Annotators of each item, each once."""
    similarities: tuple[Floats, ...]
    """Their similarities: (annotators, annotators), repeats averaged."""
    item: Ints
    """Of each entry of ``who``."""
    fitted: Similarity = field(repr=False)
    texts: pl.DataFrame = field(repr=False)
    """``item``, ``who`` and ``text`` of every answer."""

    @classmethod
    def of(cls, labels: Annotations, similarity: Similarity) -> _TextAnswers:
        """Every two answers of an item are compared once."""
        names = labels.annotators["annotator"]
        repeat = ["repeat"] if "repeat" in labels.labels.columns else []
        table = labels.labels.select("item", "annotator", "label", *repeat).sort("item", "annotator", *repeat, "label")
        item = codes_in(table["item"], labels.items["item"]).astype(np.int64)
        who = codes_in(table["annotator"], names).astype(np.int64)
        order = np.argsort(item, kind="stable")
        item, who, texts = item[order], who[order], table["label"].gather(order).to_list()
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        parts = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(item)], strict=True)]
        fitted = similarity.fitted(texts)
        found = fitted.matrices([texts[part] for part in parts])
        merged = [_merge_repeats(who[part], alike) for part, alike in zip(parts, found, strict=True)]
        return cls(
            tuple(names.to_list()), tuple(labels.annotators["kind"].to_list()), labels.n_items,
            tuple(w for w, _ in merged), tuple(a for _, a in merged), item[starts], fitted,
            pl.DataFrame({"item": item, "who": who, "text": texts}),
        )  # fmt: skip

    def similarity_to_other_items(self, annotator: int, seed: int) -> float:
        """Similarity of an annotator's responses to humans on other items: the effect of its style alone."""
        rng = np.random.default_rng((seed, annotator))
        mine = self.texts.filter(pl.col("who") == annotator).unique("item", keep="first", maintain_order=True)
        humans = np.flatnonzero(self.is_human)
        people = self.texts.filter(pl.col("who").is_in(humans) & (pl.col("who") != annotator))
        if mine.height < 2 or not people.height:
            return float("nan")
        # Each item is given the answer to the next one, in a random circle.
        circle = mine[rng.permutation(mine.height)]
        moved = circle.select("item", other=pl.col("text").shift(1).fill_null(circle["text"][-1]))
        both = people.join(moved, on="item", maintain_order="left")
        if not both.height:
            return float("nan")
        both = both[np.sort(rng.permutation(both.height)[:MOST_MOVED])]
        return float(self.fitted.pairs(both["other"].to_list(), both["text"].to_list()).mean())

    @cached_property
    def is_human(self) -> Any:
        """Of each annotator."""
        return np.array([kind == "human" for kind in self.kinds])

    @cached_property
    def closeness(self) -> Floats:
        """Similarity to humans, similarity among humans, advantage: (annotators, items, 3), NaN if not defined."""
        found = np.full((len(self.names), self.n_items, 3), np.nan)
        for item, who, alike in zip(self.item.tolist(), self.who, self.similarities, strict=True):
            people = np.flatnonzero(self.is_human[who])
            for i, f in enumerate(who.tolist()):
                others = people[people != i]
                if len(others) > 1:
                    found[f, item] = _compare_with(alike[i, others], alike[np.ix_(others, others)])
        return found

    @property
    def most_shared(self) -> int:
        """The largest number of items that an annotator shares with two other humans."""
        return max((int(np.isfinite(mine[:, 0]).sum()) for mine in self.closeness), default=0)

    def rows(
        self, labels: Annotations, settings: MapSettings
    ) -> tuple[list[dict[str, Any]], dict[str, Estimate], str, tuple[Exclusion, ...]]:
        """One row per annotator with enough items; its estimate; the interval method; exclusions."""
        clusters = None if settings.clusters is None else cluster_codes(labels, settings.clusters)
        rows, estimates, how, few = [], {}, "", []
        for name in natural(self.names):
            f = self.names.index(name)
            mine = self.closeness[f]
            used = np.flatnonzero(np.isfinite(mine[:, 0]))
            if len(used) < settings.min_items:
                few.append(f"{name} with {len(used)}")
                continue
            found = _estimate(mine, used, clusters, settings)
            how, estimates[name] = found.describe_interval(), found[0]
            row: dict[str, Any] = {
                "annotator": name,
                "kind": self.kinds[f],
                **estimates[name].row(),
                "people": found[1].estimate,
            }
            for what, one in (("difference", found[2]), ("advantage", found[3])):
                row |= {what: one.estimate, f"{what}_low": one.low, f"{what}_high": one.high}
            moved = self.similarity_to_other_items(f, settings.seed) if self.kinds[f] == "judge" else None
            rows.append({**row, "other_items": moved, "n": len(used), "reason": found.reasons[0]})
        words = f"fewer than {settings.min_items} items that two other people answered too"
        gone = (Exclusion("annotator", len(few), words, tuple(few)),) if few else ()
        return rows, estimates, how, gone

    def pairs(self, names: list[str]) -> pl.DataFrame:
        """Mean similarity of every two annotators, and as it would be if all had answered the same items."""
        n = len(self.names)
        total, number, level = np.zeros((3, n, n))
        whole = []
        for who, alike in zip(self.who, self.similarities, strict=True):
            people = np.flatnonzero(self.is_human[who])
            m = len(people)
            inner = alike[np.ix_(people, people)]
            mean = (inner.sum() - np.trace(inner)) / (m * (m - 1)) if m > 1 else np.nan
            there = np.ix_(who, who)
            number[there] += 1
            total[there] += alike
            level[there] += mean if m > 1 else 0.0
            whole.append(mean)
        grand = float(np.nanmean(whole))
        place = [self.names.index(name) for name in names]
        rows = [
            (names[i], names[j], total[a, b] / number[a, b], (total[a, b] - level[a, b]) / number[a, b] + grand,
             int(number[a, b]))
            for i, a in enumerate(place) for j, b in enumerate(place) if i < j and number[a, b]
        ]  # fmt: skip
        schema = {
            "first": pl.String,
            "second": pl.String,
            "estimate": pl.Float64,
            "adjusted": pl.Float64,
            "n": pl.Int64,
        }
        return pl.DataFrame(rows, schema=schema, orient="row")


def _merge_repeats(who: Ints, alike: Floats) -> tuple[Ints, Floats]:
    """Similarities of annotators, averaged over an annotator's repeats."""
    once, place = np.unique(who, return_inverse=True)
    if len(once) == len(who):
        return who, alike
    share = np.zeros((len(once), len(who)))
    share[place, np.arange(len(who))] = 1
    share /= share.sum(axis=1, keepdims=True)
    return once, share @ alike @ share.T


def _compare_with(mine: Floats, theirs: Floats) -> tuple[float, float, float]:
    """Closeness to some people, their own to each other, the share of them to whose company it is at least as close."""
    m = len(mine)
    rows = theirs.sum(axis=1) - np.diagonal(theirs)
    ahead = mine.sum() - mine >= rows - TIE
    return float(mine.mean()), float(rows.sum() / (m * (m - 1))), float(ahead.mean())


def _estimate(mine: Floats, used: Ints, clusters: Ints | None, settings: MapSettings) -> Estimates:
    """Means over items: similarity to humans, among humans, their difference, advantage."""
    values = mine[used]
    data = np.stack([values[:, 0], values[:, 1], values[:, 0] - values[:, 1], values[:, 2]], axis=1)
    units = Units.of(len(mine), clusters, width=8, used=used)
    sums = add_rows(Mean().moments(data), units.of_item[used], units.n)
    scale = ("none", "none", "none", "share")
    return estimate_sums(Mean(), sums, settings, n_items=len(used), unit=units.name, transform=scale)  # type: ignore[arg-type]


def _add_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """The closest first; and how many people each is closer than."""
    people = rows.filter(pl.col("kind") == "human").select("annotator", "difference").rows()
    share = [
        float(np.mean([d < row["difference"] for name, d in people if name != row["annotator"]]))
        if any(name != row["annotator"] for name, _ in people) else None
        for row in rows.iter_rows(named=True)
    ]  # fmt: skip
    columns = [c for c in rows.columns if c not in ("other_items", "n", "reason")]
    rows = rows.with_columns(closer_than=pl.Series(share, dtype=pl.Float64))
    # Judges first, so that they are easy to find.
    return rows.select(*columns, "closer_than", "other_items", "n", "reason").sort(
        pl.col("kind") == "judge", "difference", descending=True, maintain_order=True
    )


def _map(pairs: pl.DataFrame, rows: list[dict[str, Any]]) -> tuple[pl.DataFrame, float]:
    """Places of annotators, from one minus their similarity, weighted by the items that two share."""
    names = [row["annotator"] for row in rows]
    place = {name: i for i, name in enumerate(names)}
    distance, weight = np.full((len(names), len(names)), np.nan), np.zeros((len(names), len(names)))
    for a, b, value, n in pairs.select("first", "second", "adjusted", "n").iter_rows():
        i, j = place[a], place[b]
        distance[i, j] = distance[j, i] = max(1 - value, 0.0)
        weight[i, j] = weight[j, i] = n
    found, stress = positions_in_plane(distance, weight)
    frame = pl.DataFrame(
        {"annotator": names, "kind": [row["kind"] for row in rows], "x": found[:, 0], "y": found[:, 1]}
    )  # fmt: skip
    return frame, stress


# -- Places in a plane whose distances are as given, as far as they can be -------------------------

STEPS = 500
"""Steps of majorization at most."""

NEAR = 1e-9
"""Relative decrease of the stress per step at convergence: far below the resolution of a picture."""


def positions_in_plane(distance: Floats, weight: Floats, dimensions: int = 2) -> tuple[Floats, float]:
    """Places that keep weighted distances, by majorization (SMACOF, de Leeuw 1977), from classical scaling.

    Parameters
    ----------
    distance : (n, n) float
        Symmetric; can be NaN without weight.
    weight : (n, n) float
        Weight of each distance; 0 if it is unknown.

    Returns
    -------
    (n, dimensions) float
        Centred; the first axis has the largest spread.
    stress : float
        Kruskal's stress-1: root of the squared misfit over that of the distances, 0 for a perfect map.
    """
    known = (weight > 0) & np.isfinite(distance)
    weight = np.where(known, weight, 0.0)
    np.fill_diagonal(weight, 0.0)
    mean = float(np.average(distance[known], weights=weight[known])) if weight.sum() else 1.0
    wanted = np.where(known, distance, mean)
    np.fill_diagonal(wanted, 0.0)
    found = _classical_scaling(wanted, dimensions)
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    last = np.inf
    for _ in range(STEPS):
        apart = _distances(found)
        stress = float((weight * (wanted - apart) ** 2).sum())
        if last - stress <= NEAR * max(stress, NEAR):
            break
        last = stress
        ratio = np.where(apart > 0, weight * wanted / np.where(apart > 0, apart, 1.0), 0.0)
        found = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ found)
    whole = float((weight * wanted**2).sum())
    found = _rotate(found)
    # One or two annotators have no second axis.
    found = np.pad(found, ((0, 0), (0, dimensions - found.shape[1])))
    return found, float(np.sqrt(stress / whole)) if whole > 0 else 0.0


def _distances(found: Floats) -> Floats:
    return np.asarray(np.sqrt(((found[:, None] - found[None]) ** 2).sum(axis=2)))


def _classical_scaling(distance: Floats, dimensions: int) -> Floats:
    """Torgerson's scaling."""
    n = len(distance)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distance**2 @ centre / 2)
    top = np.argsort(values)[::-1][:dimensions]
    return np.asarray(vectors[:, top] * np.sqrt(np.maximum(values[top], 1e-12)))


def _rotate(found: Floats) -> Floats:
    """Centred, the first axis the longest, each axis with its largest value on the positive side."""
    found = found - found.mean(axis=0)
    _, _, axes = np.linalg.svd(found, full_matrices=False)
    turned = found @ axes.T
    sign = np.sign(turned[np.abs(turned).argmax(axis=0), np.arange(turned.shape[1])])
    return np.asarray(turned * np.where(sign == 0, 1.0, sign))
