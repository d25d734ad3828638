"""How to spend a budget on items, judges, prompts, runs and annotators, for the mean of labels.

The variance of the mean follows from the variance components of a pilot in which every judge labels every item under
every prompt. Designs of equal cost are compared by it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl

from assay.data.annotations import Annotations, digest_of_columns
from assay.data.chunked.chunks import Chunks
from assay.errors import DesignError, unknown
from assay.estimates import words
from assay.estimates.judge_means import LEAST_CROSSED, ONE_JUDGE, JudgeRuns, RotatedRuns
from assay.estimates.plans.label_plan import LabelMoments, pilot_cautions, shared_correlation, sort_numbers
from assay.estimation.intervals import Estimate, estimate_by_ends
from assay.estimation.options import Limits, Settings, option, question, seed_option
from assay.estimation.result import ResultOfRows, Run, fingerprint_with
from assay.estimation.statistic import Floats
from assay.reporting import pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWS = 2_000
"""Draws of the variance components, for the ranges of predictions."""

LEAST_PILOT = 10
"""Least items of a pilot."""

MOST_ITEMS = 10_000_000
"""Most items of a design: more is a price of nearly 0."""

CROSSED, ROTATED, CORRECTED, HUMANS = "crossed", "rotated", "corrected", "humans only"
"""Designs: all judges label every item; each item has one judge; annotators label some items; no judge."""

EFFECTS = ("items", "judges", "prompts", "items × judges", "items × prompts", "judges × prompts", "residual", "runs")


@dataclass(frozen=True)
class BudgetSettings(Settings):
    """Options of `assay.plan.budget`."""

    budget: Annotated[float, Limits("Amount to spend.", low=0, low_open=True, first=True)]
    _: KW_ONLY
    judge_price: float = option(0.01, "Price of one judge label.", above=0, always=True, first=True)
    price: float | None = option(
        None, "Price of one human label.", above=0, first=True,
        details="Also plans labels of annotators that correct the judges'; requires humans in the pilot.",
    )  # fmt: skip
    judges: Sequence[str] | None = option(None, "Judges of the pilot (default: all).")
    prompts: str | None = option(None, "Column of the prompt under which a label was given.", first=True)
    n_items: int | None = option(
        None, "Most items that can be labelled (default: no limit).", low=2, key="most_items", first=True
    )
    n_judges: Sequence[int] | None = option(
        None, "Numbers of judges, separated by commas (default: 2 to those of the pilot).", low=1, first=True
    )
    n_prompts: Sequence[int] | None = option(
        None, "Numbers of prompts, separated by commas (default: 1 to those of the pilot).", low=1
    )
    n_runs: Sequence[int] = option((1, 2, 3), "Numbers of runs, separated by commas.", low=1)
    n_people: Sequence[int] = option((1, 2, 3), "Annotators per item, separated by commas.", low=1, key="humans")
    confidence: float = option(
        0.8, "Level of the ranges of predicted standard errors.", above=0, below=1, key="level",
        details="A pilot determines a variance among judges poorly, so that a 95% range says little.",
    )  # fmt: skip
    seed: int = seed_option("Random seed of the ranges.")

    renamed: ClassVar[Mapping[str, str]] = {"human_price": "price=...", "call_price": "judge_price=..."}

    def __post_init__(self) -> None:
        sort_numbers(self, "n_judges", "n_prompts", "n_runs", "n_people")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class BudgetPlan(ResultOfRows):
    """Designs that a budget pays for, and the standard error of the mean that each predicts.

    Attributes
    ----------
    table : polars.DataFrame
        The best design of each kind and number of judges: ``target`` (whose mean the error refers to), ``design``
        (``crossed``: all judges on every item; ``rotated``: one judge per item; ``corrected``: annotators label some of
        the judges' items; ``humans only``), ``judges``, ``prompts``, ``runs``, ``n`` (items), ``people_items``,
        ``annotators`` (per item), ``cost``, ``estimate`` (the predicted standard error), ``low``, ``high`` (its range),
        ``relative`` (to the smallest of its target).
    designs : polars.DataFrame
        Every design that was compared, with these columns.
    components : polars.DataFrame
        Each ``effect`` of the pilot: its ``variance`` with ``low`` and ``high``, and the ``share`` of the variance of
        the mean that it has in the best design for judges and prompts like these.
    at_a_tenth : float
        The standard error of that design with a tenth of its items.
    """

    rows: pl.DataFrame = field(metadata={"json": False})
    estimates: Sequence[Estimate] = field(repr=False, metadata={"json": False})
    designs: pl.DataFrame = field(metadata={"json": False})
    components: pl.DataFrame
    at_a_tenth: float
    run: Run

    @property
    def confidence(self) -> float:
        """Level of the ranges."""
        settings = self.run.settings
        assert isinstance(settings, BudgetSettings)
        return settings.confidence

    def best(self, design: str | None = None) -> dict[str, Any]:
        """Return the row of the smallest standard error: of a design, or for judges and prompts like these."""
        rows = self.table.filter(
            pl.col("design").is_in([CROSSED, ROTATED]) if design is None else pl.col("design") == design
        )
        if not rows.height:
            raise DesignError(unknown("design", design or CROSSED, self.table["design"].unique().to_list(), "the plan"))
        return rows.sort("estimate", "high", "cost").row(0, named=True)

    def summary(self) -> str:
        """Return the pilot, the best design, what contributes most, the alternatives, and the signature."""
        return "\n".join([*words.budget_lines(self), *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted standard error against the number of judges, with its range."""
        ax = pictures.axes(ax, height=3.2)
        looks = {CROSSED: (pictures.HUMAN, "o", -0.05), ROTATED: (pictures.PASS, "s", 0.05)}
        for design, (colour, marker, aside) in looks.items():
            part = self.table.filter(design=design).sort("judges")
            if not part.height:
                continue
            x, y = part["judges"].to_numpy() + aside, part["estimate"].to_numpy()
            ends = np.abs(np.stack([y - part["low"].to_numpy(), part["high"].to_numpy() - y]))
            label = "all judges on every item" if design == CROSSED else "one judge per item"
            ax.errorbar(x, y, ends, color=colour, marker=marker, markersize=5, linewidth=1, capsize=3, label=label)
        ax.set_xticks(self.table.filter(pl.col("design").is_in([*looks]))["judges"].unique().sort().to_list())
        ax.set_ylim(0)
        ax.set_xlabel("judges")
        ax.set_ylabel("standard error of the mean")
        pictures.legend(ax, loc="upper right")
        return ax


@dataclass(frozen=True, eq=False)
class CrossedComponents:
    """Variances of the effects of `EFFECTS`: (effects,) estimated, and (draws, effects) drawn."""

    value: Floats
    drawn: Floats

    def variance(self, weights: Floats) -> tuple[float, Floats]:
        """Return a weighted sum of variances, estimated and drawn."""
        return float(self.value @ weights), self.drawn @ weights


def _weights(n: float, judges: int, prompts: int, runs: int, *, rotated: bool) -> Floats:
    """What each effect contributes to the variance of the mean."""
    items = [1 / n] * 4 if rotated else [1 / (n * judges), 1 / (n * prompts), 1 / (n * judges * prompts), 1.0]
    of_items, of_prompts, rest = items[:3]
    per_run = 1 / (n * runs) if rotated else 1 / (n * judges * prompts * runs)
    return np.array(
        [1 / n, 1 / judges, 1 / prompts, of_items, of_prompts, 1 / (judges * prompts), rest, per_run], dtype=float
    )


@question(BudgetSettings)
def plan_budget(pilot: Annotations | Chunks, settings: BudgetSettings) -> BudgetPlan:
    """Plan how to spend a budget on items, judges, prompts, runs and annotators, for the mean of labels.

    Parameters
    ----------
    pilot : Annotations
        Labels of two or more judges of the same items, numeric or of two categories; if possible under several prompts
        and with repeats. With humans and ``price``, corrected estimates are planned as well.

    Returns
    -------
    BudgetPlan

    Raises
    ------
    DesignError
        For one judge, several criteria, equal labels, fewer than 10 items that every judge labelled under every prompt,
        dealt items, categories, or a budget that pays for no design.

    Notes
    -----
    Variance components are from expected mean squares of items × judges × prompts; a negative one is 0. With N items, J
    judges, P prompts and R runs, the variance of the mean is σ_i²/N + σ_j²/J + σ_p²/P + σ_jp²/(JP) + σ_ij²/(NJ) +
    σ_ip²/(NP) + (σ_ijp² + σ_e²/R)/(NJP); if each item has one judge and prompt, effects with items are divided by N. It
    applies to judges and prompts like these, and includes no error that all judges share. Ranges are from draws of
    each mean square divided by χ²/df. Corrected estimates have the variance of `assay.plan.labels`; their target is the
    mean of the annotators.

    Examples
    --------
    >>> import assay
    >>> pilot = assay.simulate(n_items=60, scale="1-5", judges={"a": 0.2, "b": 0.4, "c": 0.3}, seed=1)
    >>> plan = assay.plan.budget(pilot, 100)
    >>> plan.best()["design"], plan.best()["judges"]
    ('rotated', 3)
    """
    labels = pilot.in_memory("a plan from a pilot")
    judges = tuple(labels.judges if settings.judges is None else settings.judges)
    if missing := [name for name in judges if name not in labels.judges]:
        raise DesignError(unknown("judge", missing[0], labels.judges, "the pilot"), option="judges")
    if len(judges) < 2:
        raise DesignError(f"{ONE_JUDGE}; a plan requires a pilot of two judges or more", option="judges")
    runs = _balanced(labels, judges, settings)
    within, df, repeats = _variance_of_runs(labels, judges, settings, runs)
    if df * within + float(np.ptp(runs.table[..., 0])) == 0:
        raise DesignError(
            "all labels of the pilot are equal, so that no variance can be planned for; label other items"
        )
    components = crossed_components(runs.table[..., 0], within, df, repeats, settings.seed)
    found = list(_judged(components, runs, settings, replicated=df > 0))
    notes = [
        f"the pilot has one {what}, so that its variance is unknown and not in the predictions"
        for what, known in (("prompt", len(runs.prompts) > 1), ("run", df > 0)) if not known
    ]  # fmt: skip
    if not found:
        raise DesignError(
            f"a budget of {settings.budget:g} pays for fewer than {LEAST_CROSSED} items with labels at "
            f"{settings.judge_price:g}",
            option="budget",
        )
    if settings.price is not None:
        found += _with_people(labels, runs, settings)
    rows = [{**row, **one.row()} for row, one in found]
    frame = pl.DataFrame(rows, schema={k: v for k, v in SCHEMA.items() if k != "relative"})
    frame = frame.with_columns(relative=pl.col("estimate") / pl.col("estimate").min().over("target"))
    table = _best_of_kind(frame.with_row_index("_row"))
    best = frame.filter(pl.col("design").is_in([CROSSED, ROTATED])).sort("estimate", "high", "cost").row(0, named=True)
    facts = {"items": len(runs.items), "judges": len(judges), "prompts": len(runs.prompts)}
    data = labels.fingerprint
    if settings.prompts is not None:
        data = fingerprint_with(data, **digest_of_columns(labels, settings.prompts))
    effects = _component_rows(components, best, settings, df > 0, runs)
    if components.value[1] == 0:
        upper = effects["high"][1]
        notes.append(f"the pilot shows no variance among judges, which can be up to {upper:.2g} (end of its range)")
    fewer = _weights(best["n"] / 10, best["judges"], best["prompts"], best["runs"], rotated=best["design"] == ROTATED)
    return BudgetPlan(
        rows=table.drop("_row"), estimates=tuple(found[i][1] for i in table["_row"]), designs=frame,
        components=effects,
        at_a_tenth=math.sqrt(components.variance(fewer)[0]),
        run=Run("plan-budget", settings, data, facts, exclusions=runs.exclusions, notes=tuple(notes),
                cautions=_dependent_items(labels, runs)),
    )  # fmt: skip


SCHEMA: Mapping[str, Any] = {
    "target": pl.String, "design": pl.String, "judges": pl.Int64, "prompts": pl.Int64, "runs": pl.Int64, "n": pl.Int64,
    "people_items": pl.Int64, "annotators": pl.Int64, "cost": pl.Float64, "estimate": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "relative": pl.Float64,
}  # fmt: skip

LIKE_THESE, ANNOTATORS = "judges and prompts like these", "these annotators"
"""Whose mean an error refers to."""


Row = tuple[dict[str, Any], Estimate]
"""A design, and its standard error."""


# -- the pilot ---------------------------------------------------------------------------------------


def _balanced(labels: Annotations, judges: Sequence[str], settings: BudgetSettings) -> JudgeRuns:
    """The items that every judge labelled under every prompt."""
    scale = labels.where(annotator=list(judges)).scale
    two = not scale.numeric and scale.categories is not None and len(scale.categories) == 2
    if not scale.numeric and not two:
        raise DesignError(
            "a budget is planned for a mean or for one share; read the labels as numbers, or as two categories with "
            "scale='nominal:yes,no'"
        )
    runs = JudgeRuns.of(labels, judges, settings.prompts, None, shares=two)
    if isinstance(runs, RotatedRuns):
        raise DesignError(
            "a plan requires a pilot in which every judge labels the same items; here items are dealt to judges"
        )
    if len(runs.items) < LEAST_PILOT:
        raise DesignError(
            f"{len(runs.items)} items have a label of every judge under every prompt; a plan requires {LEAST_PILOT}"
        )
    return runs


def _dependent_items(labels: Annotations, runs: JudgeRuns) -> tuple[str, ...]:
    """A caution if items of one document are dependent."""
    mean = runs.table[..., 0].mean(axis=(1, 2))
    known = dict(zip(runs.items, (mean - mean.mean()).tolist(), strict=True))
    return pilot_cautions(np.array([known.get(item, math.nan) for item in labels.items["item"]]), labels)


def _variance_of_runs(
    labels: Annotations, judges: Sequence[str], settings: BudgetSettings, runs: JudgeRuns
) -> tuple[float, int, float]:
    """The variance of repeated labels within items, judges and prompts, its degrees of freedom, and the mean runs."""
    mine = labels.where(annotator=list(judges), item=list(runs.items))
    prompt = pl.lit("") if settings.prompts is None else mine.column(settings.prompts).cast(pl.String).fill_null("none")
    label = mine.labels["label"]
    given = np.asarray(mine.scale.values(label), dtype=float) if mine.scale.numeric else _is(label, label.min())
    value = pl.col("value")
    squares = ((value - value.mean()) ** 2).sum()
    frame = mine.labels.select("item", "annotator").with_columns(prompt=prompt, value=pl.Series(given))
    cells = frame.group_by("item", "annotator", "prompt").agg(pl.len().alias("n"), squares.alias("squares"))
    df = int((cells["n"] - 1).sum())
    return (
        (float(cells["squares"].sum()) / df if df else 0.0),
        df,
        len(cells) / float(np.sum(1 / cells["n"].to_numpy())),
    )


def _is(label: pl.Series, category: object) -> Floats:
    return np.array([one == category for one in label.to_list()], dtype=float)


def crossed_components(cells: Floats, within: float, df_within: int, runs: float, seed: int) -> CrossedComponents:
    """Variance components of items × judges × prompts from expected mean squares, estimated and drawn."""
    n, j, p = cells.shape
    squares, df = _mean_squares(cells)
    rng = np.random.default_rng(seed)
    drawn = squares * df / np.maximum(rng.chisquare(np.maximum(df, 1), (DRAWS, len(df))), 1e-9)
    e = np.full(DRAWS, within) * (df_within / rng.chisquare(df_within, DRAWS) if df_within else 0.0)
    return CrossedComponents(
        components_of_squares(squares[None], np.array([within]), (n, j, p), runs)[0],
        components_of_squares(np.where(df > 0, drawn, 0.0), e, (n, j, p), runs),
    )


def _mean_squares(cells: Floats) -> tuple[Floats, Floats]:
    """Mean squares of items, judges, prompts, their products of two, and the residual, with degrees of freedom."""
    deviations: dict[tuple[int, ...], Floats] = {}
    squares, df = [], []
    for axes in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        others = tuple(a for a in range(3) if a not in axes)
        effect = cells.mean(axis=others, keepdims=True) - cells.mean()
        for known, one in deviations.items():
            if set(known) < set(axes):
                effect = effect - one
        deviations[axes] = effect
        free = math.prod(cells.shape[a] - 1 for a in axes)
        total = float((effect**2).sum()) * math.prod(cells.shape[a] for a in others)
        squares.append(total / free if free else 0.0)
        df.append(free)
    return np.array(squares), np.array(df, dtype=float)


def components_of_squares(squares: Floats, within: Floats, shape: tuple[int, int, int], runs: float) -> Floats:
    """CrossedComponents (draws, `EFFECTS`) of mean squares (draws, 7): a negative one is 0."""
    n, j, p = shape
    i_, j_, p_, ij, ip, jp, rest = squares.T
    if p == 1:  # prompts, and products with them, are not estimable; the residual is the product of items and judges
        rest, zero = ij, np.zeros_like(ij)
        found = [(i_ - rest) / j, (j_ - rest) / n, zero, zero, zero, zero, rest - within / runs, within]
    else:
        found = [
            (i_ - ij - ip + rest) / (j * p), (j_ - ij - jp + rest) / (n * p), (p_ - ip - jp + rest) / (n * j),
            (ij - rest) / p, (ip - rest) / j, (jp - rest) / n, rest - within / runs, within,
        ]  # fmt: skip
    return np.asarray(np.maximum(np.stack(found, axis=1), 0.0))


# -- designs -----------------------------------------------------------------------------------------


def _judged(
    components: CrossedComponents, runs: JudgeRuns, settings: BudgetSettings, *, replicated: bool
) -> Iterator[Row]:
    """The designs of judges alone."""
    judges = settings.n_judges or tuple(range(2, len(runs.judges) + 1))
    prompts = settings.n_prompts or tuple(range(1, len(runs.prompts) + 1))
    if len(runs.prompts) == 1 and max(prompts) > 1:
        raise DesignError("n_prompts=... above 1 requires a pilot with several prompts", option="n_prompts")
    labels = settings.budget / settings.judge_price
    most = settings.n_items or MOST_ITEMS
    for j, p, r in itertools.product(judges, prompts, settings.n_runs if replicated else (1,)):
        for rotated in (False, True) if j * p > 1 else (False,):
            each = r if rotated else j * p * r
            n = int(min(labels // each, most))
            if n < (LEAST_CROSSED * j * p if rotated else LEAST_CROSSED):
                continue
            value, drawn = components.variance(_weights(n, j, p, r, rotated=rotated))
            yield {
                "target": LIKE_THESE, "design": ROTATED if rotated else CROSSED, "judges": j, "prompts": p, "runs": r,
                "n": n, "cost": n * each * settings.judge_price,
            }, _error(value, drawn, settings.confidence)  # fmt: skip


def _error(variance: float, drawn: Floats, level: float) -> Estimate:
    """A standard error with the range of those of the drawn components."""

    def ends(at: float) -> tuple[float, float]:
        low, high = np.sqrt(np.quantile(drawn, [(1 - at) / 2, (1 + at) / 2]))
        return float(low), float(high)

    return estimate_by_ends(math.sqrt(variance), math.nan, ends, level)


def _with_people(labels: Annotations, runs: JudgeRuns, settings: BudgetSettings) -> Iterator[Row]:
    """Designs in which annotators label some of the items: with one judge, with the mean of all, and without."""
    cells, judged = _human_cells(labels, runs)
    seen, rng = ~np.isnan(cells), np.random.default_rng(settings.seed)
    row = np.nonzero(seen)[0]
    y = cells[seen]
    if len(np.unique(row)) < LEAST_PILOT or len(np.unique(y)) < 2:
        raise DesignError(
            f"price=... plans labels of annotators, which requires {LEAST_PILOT} items with different human labels in "
            "the pilot. Omit price=..., or label more items",
            option="price",
        )
    n, sd = len(np.unique(row)), float(y.std(ddof=1))
    shared, pairs = shared_correlation(cells)
    each = [_correlation(y, judged[row, k]) for k in range(judged.shape[1])]
    rho = {1: float(np.mean(each)), judged.shape[1]: _correlation(y, judged.mean(axis=1)[row])}
    z = rng.standard_normal((2, DRAWS)) / math.sqrt(max(n - 3, 1))
    spread = sd * np.sqrt((n - 1) / rng.chisquare(n - 1, DRAWS))
    shared_drawn = np.clip(np.tanh(np.arctanh(min(shared, 0.999)) + z[1]), 0, 1)
    people = settings.n_people if pairs else (1,)  # unknown without two annotators of the same items
    for m, (j, r) in itertools.product(people, [(0, 0.0), *rho.items()]):
        known = LabelMoments(0.0, sd, r, shared, 0.0, is_share=False)
        found = _divide(known, m, j, settings)
        if found is None:
            continue
        few, many = found
        drawn_r = np.tanh(np.arctanh(np.clip(r, -0.999, 0.999)) + z[0]) if j else np.zeros(DRAWS)
        total = spread**2 * (1 + (m - 1) * shared_drawn) / m
        common = np.minimum((drawn_r * spread) ** 2, total)
        drawn = (total - common) / few + (common / many if j else 0.0)
        value = known.variance(few, many, m, judge=j > 0)
        price = settings.price or 0.0
        yield {
            "target": ANNOTATORS, "design": CORRECTED if j else HUMANS, "judges": j or None,
            "prompts": 1 if j else None, "runs": 1 if j else None, "n": many, "people_items": few, "annotators": m,
            "cost": few * m * price + (many * j * settings.judge_price if j else 0.0),
        }, _error(value, drawn, settings.confidence)  # fmt: skip


def _divide(known: LabelMoments, people: int, judges: int, settings: BudgetSettings) -> tuple[int, int] | None:
    """The numbers of items with human labels and with judges' labels that make the variance smallest."""
    assert settings.price is not None
    most = settings.n_items or MOST_ITEMS
    human, judge = people * settings.price, judges * settings.judge_price
    if not judges:
        n = int(min(settings.budget // human, most))
        return (n, n) if n >= LEAST_CROSSED else None
    common = (known.judged * known.sd) ** 2
    rest = max(known.variance(1, math.inf, people, judge=True), 1e-12)
    few = settings.budget * math.sqrt(rest / human) / (math.sqrt(rest * human) + math.sqrt(common * judge))
    many = min((settings.budget - few * human) / judge, most)
    if many < few:
        few = many = min(settings.budget / (human + judge), most)
    elif many == most:
        few = min((settings.budget - many * judge) / human, most)
    return (int(few), int(many)) if few >= LEAST_CROSSED else None


def _human_cells(labels: Annotations, runs: JudgeRuns) -> tuple[Floats, Floats]:
    """Human labels (items, people), NaN without one, and the judges' mean labels (items, judges) of the same items."""
    people = labels.where(kind="human").where(item=list(runs.items)) if labels.humans else None
    if people is None or not len(people):
        raise DesignError(
            "price=... plans labels of annotators; the pilot has no humans. Omit price=...", option="price"
        )
    frame, scale = people.resolve_repeats("first").labels, people.scale
    value = (
        np.asarray(scale.values(frame["label"]), dtype=float)
        if scale.numeric
        else _is(frame["label"], (runs.categories or ("",))[0])
    )
    cells = np.full((len(runs.items), len(labels.humans)), np.nan)
    row = frame["item"].replace_strict(
        dict(zip(runs.items, range(len(runs.items)), strict=True)), return_dtype=pl.Int64
    )
    column = frame["annotator"].replace_strict({name: k for k, name in enumerate(labels.humans)}, return_dtype=pl.Int64)
    cells[row.to_numpy(), column.to_numpy()] = value
    return cells, runs.table[..., 0].mean(axis=2)


def _correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else 0.0


# -- the tables --------------------------------------------------------------------------------------


def _best_of_kind(frame: pl.DataFrame) -> pl.DataFrame:
    """The design with the smallest error of each target, kind and number of judges, the best first."""
    order = frame.sort("estimate", "high", "cost", "prompts", "runs", nulls_last=True, maintain_order=True)
    best = order.unique(["target", "design", "judges"], keep="first", maintain_order=True)
    return best.sort(pl.col("target") == ANNOTATORS, "estimate", maintain_order=True)


def _component_rows(
    components: CrossedComponents, best: Mapping[str, Any], settings: BudgetSettings, replicated: bool, runs: JudgeRuns
) -> pl.DataFrame:
    """The variance of each effect that the pilot shows, and its share in the best design."""
    weights = _weights(best["n"], best["judges"], best["prompts"], best["runs"], rotated=best["design"] == ROTATED)
    part = components.value * weights
    tails = [(1 - settings.confidence) / 2, (1 + settings.confidence) / 2]
    low, high = np.quantile(components.drawn, tails, axis=0)
    absent = {name for name in EFFECTS if "prompts" in name} if len(runs.prompts) == 1 else set()
    absent |= set() if replicated else {"runs"}
    names = list(EFFECTS)
    if len(runs.prompts) == 1:
        absent.add("items × judges")
        names[names.index("residual")] = "items × judges, residual"
    known = pl.Series([name not in absent for name in EFFECTS])
    values = {"effect": names, "variance": components.value, "low": low, "high": high}
    return pl.DataFrame({**values, "share": part / max(part.sum(), np.finfo(float).tiny)}).filter(known)
