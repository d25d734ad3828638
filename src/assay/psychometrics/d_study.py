"""Decision studies: reliability for other numbers of raters and lessons, and for adding a judge to a human."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from assay.errors import DesignError, listing
from assay.estimation.intervals import Estimate, missing
from assay.estimation.result import Result, Run
from assay.estimation.statistic import Floats
from assay.psychometrics import plots, words
from assay.psychometrics.components import CriterionStudy, DesignStudies, Weights
from assay.psychometrics.design import CoefficientName, DesignSettings, DStudySettings, LoopSettings, parse
from assay.reporting.tables import estimated

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ALONE = (1, 2, 3, 5, 10)
"""Levels of each facet that are projected if none are named."""

WITHOUT_SAMPLES = "intervals need samples: method='parametric' or 'objects'"
"""Why shares of judge and people have no interval."""

MOST = 100_000
"""Largest number of levels in the search for the smallest number that reaches the target."""

MOST_PROJECTED = 200_000
"""Labels times projections of unbalanced tables with profile intervals by default: about 20 seconds."""


@dataclass(frozen=True, eq=False)
class DStudy(Result):
    """Coefficients for other numbers of raters and lessons.

    Attributes
    ----------
    projected : polars.DataFrame
        One row per study (or scenario), coefficient and choice of numbers.
    smallest : polars.DataFrame
        The smallest number of the facet ``along`` that reaches the target, for each choice of the others, with the
        ends of its interval: the smallest numbers at which the upper and the lower limit of the coefficient reach it.
        Null, with the limit for many levels, if none does; an end is null if no number reaches the target there.
        Without levels: of each ``facet`` alone.
    facets : tuple of str
    along : str
    target : float
    coefficient : str
    run : Run
    estimates : tuple of Estimate
        Estimates of ``projected``, one per row, with methods ``.interval(level)`` and ``.p(null)``.
    """

    projected: pl.DataFrame
    smallest: pl.DataFrame
    facets: tuple[str, ...]
    along: str
    target: float
    coefficient: CoefficientName
    run: Run
    estimates: tuple[Estimate, ...] = field(repr=False, metadata={"json": False})

    @property
    def table(self) -> pl.DataFrame:
        """The projection."""
        return self.projected

    def row_estimates(self) -> Sequence[Estimate]:
        """The estimate in each row of the projection."""
        return self.estimates

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The column of each facet, if the design uses letters."""
        design = self.run.of.settings if self.run.of is not None else None
        return dict(design.facets or {}) if isinstance(design, DesignSettings) else {}

    def sentences(self) -> tuple[str, ...]:
        """The numbers that reach the target, with their cost; or the effect of adding a judge."""
        if "scenario" in self.projected.columns:
            return words.scenario_lines(self.projected, self.along, self.columns)
        return words.target_lines(
            self.smallest, self.facets, self.along, self.target, self.coefficient, self.columns
        )  # fmt: skip

    def summary(self) -> str:
        """The numbers that reach the target, the largest coefficient, and the method."""
        rows = self.projected.filter(pl.col("coefficient") == self.coefficient)
        best = rows.filter(pl.col("estimate").is_not_nan()).sort("estimate", descending=True).head(1)
        lines = [*self.sentences(), *([f"{self.run.interval}."] if self.run.interval else [])]
        for row in best.iter_rows(named=True):
            counts = (words.facet_count(row[c], c, self.columns) for c in self.facets if row.get(c) is not None)
            name = row.get("scenario") or (row["study"] if rows["study"].n_unique() > 1 else "")
            value = estimated(row["estimate"], row["low"], row["high"], 3)
            lines.append(
                f"Largest projected {words.COEFFICIENTS[self.coefficient]}: {value} with {', '.join(counts)}"
                f"{f' ({name})' if name else ''}."
            )
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The coefficient with its intervals by the number of one facet, a line for each choice of the others."""
        rows = self.projected.filter(pl.col("coefficient") == self.coefficient)
        names = [c for c in ("study", "scenario", *self.facets) if c != self.along and c in self.projected.columns]
        lines = [c for c in names if self.projected[c].n_unique() > 1]
        return plots.curves(
            rows, self.along, lines, words.COEFFICIENTS[self.coefficient], self.target, self.columns, ax
        )


def project(study: DesignStudies, settings: DStudySettings) -> DStudy:
    """Coefficients at every choice of numbers, and the smallest number of one facet that reaches the target."""
    random = _random_facets(study)
    numbers = settings.levels or {}
    for name in (*numbers, *(settings.prices or {})):
        if name in study.fixed:
            raise DesignError(
                f"{name} is fixed: scores are means over all of its levels; remove it from sizes and prices"
            )
    named = [*numbers, *(settings.prices or {}), *([] if settings.along is None else [settings.along])]
    replace(parse(study.design), text=f"{study.design}, object {study.object}").check_facets(named, among=random)
    grid = {name: _whole_numbers(name, numbers[name]) for name in numbers}
    if not numbers and settings.along is None and len(random) > 1:
        return _project_each(study, random, settings)
    along = settings.along or max(random, key=lambda f: len(grid.get(f, (1,))))
    grid = {f: grid.get(f, (1,)) for f in random if f in grid or f == along}
    rows, smallest, estimates = [], [], []
    quick = _are_many(study, int(np.prod([len(v) for v in grid.values()])))
    for one in study.studies:
        projection = _Projection(one, study, settings, quick)
        for chosen in product(*grid.values()):
            for estimate, row in projection.coefficients(dict(zip(grid, chosen, strict=True))):
                estimates.append(estimate)
                rows.append(row)
        others = {f: v for f, v in grid.items() if f != along}
        smallest += [
            projection.smallest(along, dict(zip(others, chosen, strict=True))) for chosen in product(*others.values())
        ]
    return _result(study, rows, smallest, estimates, tuple(grid), along, settings, quick)


def _project_each(study: DesignStudies, facets: Sequence[str], settings: DStudySettings) -> DStudy:
    """Coefficients at more levels of each facet alone; the facet that helps most is the one along which they rise.

    That is the facet that reaches the target in most studies, then with the fewest levels, then with the highest limit.
    """
    quick = _are_many(study, len(ALONE) * len(facets))
    projections = [_Projection(one, study, settings, quick) for one in study.studies]
    smallest = [
        {**row, "facet": f, "study": row["study"], **{other: None if other == f else 1 for other in facets}}
        for one in projections for f in facets for row in [one.smallest(f, {})]
    ]  # fmt: skip

    def helps(facet: str) -> tuple[float, ...]:
        mine = [row for row in smallest if row["facet"] == facet]
        reached = [row["smallest"] for row in mine if row["smallest"] is not None]
        return len(reached), -float(sum(reached)), float(np.nansum([row["limit"] for row in mine]))

    along = max(facets, key=helps)
    rows, estimates = [], []
    for one in projections:
        for facet in facets:
            for n in ALONE if facet == along else ALONE[1:]:
                for estimate, row in one.coefficients({f: n if f == facet else 1 for f in facets}):
                    estimates.append(estimate)
                    rows.append(row)
    return _result(study, rows, smallest, estimates, tuple(facets), along, settings, quick)


def _are_many(study: DesignStudies, n: int) -> bool:
    """Whether n projections of each study are too many for profile intervals, which were not requested by name."""
    if getattr(study.run.settings, "method", None) is not None:
        return False
    unbalanced = [one for one in study.studies if not one.fitted.is_balanced]
    return n * sum(one.n_labels for one in unbalanced) > MOST_PROJECTED


def _random_facets(study: DesignStudies) -> tuple[str, ...]:
    """Facets whose numbers of levels can be chosen."""
    parsed = parse(study.design)
    return tuple(f for f in parsed.facets if f not in parsed.nests[study.object] | {study.object, *study.fixed})


def _whole_numbers(name: str, values: Any) -> tuple[int, ...]:
    bad = [v for v in values if not isinstance(v, int | np.integer) or isinstance(v, bool) or v < 1]
    if bad or not len(values):
        raise DesignError(f"numbers of {name} must be whole and at least 1; got {listing(bad) or 'none'}")
    return tuple(values)


def _result(
    study: DesignStudies, rows: list[dict[str, Any]], smallest: list[dict[str, Any]], estimates: Sequence[Estimate],
    facets: tuple[str, ...], along: str, settings: DStudySettings | LoopSettings, quick: bool = False,
) -> DStudy:  # fmt: skip
    counts = ("smallest", "smallest_low", "smallest_high")
    kinds = {"study": pl.String, "scenario": pl.String, "reason": pl.String, **dict.fromkeys(counts, pl.Int64)}
    numbers = dict.fromkeys(("estimate", "low", "high", "error", "limit", "cost"), pl.Float64)
    frames, with_no_interval = [], study.studies[0].uncertainty.how == "none"
    for found in (rows, smallest):
        frame = pl.DataFrame(found, schema_overrides={**kinds, **numbers}, infer_schema_length=None)
        optional = ("cost", *(c for c in frame.columns if c.startswith("smallest_") and with_no_interval))
        frames.append(frame.drop([c for c in optional if frame[c].null_count() == frame.height]))
    cautions = list(study.run.cautions)
    if any(len(t.effects) > 1 for one in study.studies for t in one.fitted.confounding.terms):
        careful = "only with the facets that all of them share; merged='usual' uses all facets"
        usual = "with every facet of any of them, the most optimistic assumption"
        cautions.append(
            f"variance of confounded effects is divided {careful if settings.merged == 'careful' else usual}."
        )
    how = study.run.interval
    if quick:
        how = how.replace("profile-likelihood interval", "interval by the delta method on the logit scale")
        cautions.append(words.QUICK_INTERVALS)
    sure = study.studies[0].uncertainty
    if not len(sure.samples) and sure.how != "none" and not any(np.isfinite(one.low) for one in estimates):
        without = any(one.reason == WITHOUT_SAMPLES for one in estimates)
        how = f"No interval is shown; {WITHOUT_SAMPLES}" if without else ""
    is_d_study = isinstance(settings, DStudySettings)
    run = Run("d-study" if is_d_study else "human-in-the-loop", settings, study.run.data,
              {"along": along, "numbers": ",".join(facets)}, how, study.run.exclusions, study.run.notes,
              tuple(cautions), of=study.run)  # fmt: skip
    coefficient = settings.coefficient if isinstance(settings, DStudySettings) else "dependability"
    return DStudy(frames[0], frames[1], facets, along, settings.target, coefficient, run, tuple(estimates))


@dataclass(frozen=True, eq=False)
class _Projection:
    """Projections of one study to other numbers."""

    study: CriterionStudy
    of: DesignStudies
    settings: DStudySettings
    quick: bool

    def coefficients(self, sizes: Mapping[str, int]) -> list[tuple[Estimate, dict[str, Any]]]:
        """Eρ² and Φ at these numbers, each with its row."""
        by_size = self.study.weights(self.of.fixed, sizes, self.settings.merged)
        found = []
        names: tuple[tuple[CoefficientName, Floats], ...] = (
            ("generalizability", by_size.relative), ("dependability", by_size.absolute)
        )  # fmt: skip
        for name, error in names:
            value = self.study.uncertainty.coefficient(name, by_size, sizes, quick=self.quick)
            error_variance = np.nan if np.isnan(value.estimate) else float(self.study.fitted.theta @ error)
            found.append((value, {
                "study": self.study.name, **sizes, "coefficient": name, **value.row(),
                "error": error_variance, "cost": self.cost(sizes), "reason": value.reason,
            }))  # fmt: skip
        return found

    def cost(self, sizes: Mapping[str, int]) -> float | None:
        """Cost per object: its ratings, and the levels of facets with a price."""
        s = self.settings
        if s.price is None and s.prices is None:
            return None
        nests = self.study.fitted.confounding.design.nests
        total = (s.price or 0.0) * float(np.prod(list(sizes.values())))
        for facet, price in (s.prices or {}).items():
            outer = nests.get(facet, frozenset()) & set(sizes)
            total += price * sizes.get(facet, 1) * float(np.prod([sizes[f] for f in outer] or [1]))
        return total

    def value_at(self, sizes: Mapping[str, float]) -> float:
        """The coefficient that must reach the target."""
        if self.reason(sizes):
            return float("nan")
        by_size = self.study.weights(self.of.fixed, sizes, self.settings.merged)
        return float(getattr(by_size, self.settings.coefficient).value(self.study.fitted.theta))

    def reason(self, sizes: Mapping[str, float]) -> str | None:
        """Why the coefficient that must reach the target is not estimable."""
        return self.study.fitted.confounding.why_not(self.settings.coefficient, sizes)

    def smallest(self, along: str, others: Mapping[str, int]) -> dict[str, Any]:
        """The smallest number that reaches the target, by bisection: the coefficient increases with every facet."""
        target, limit = self.settings.target, self.value_at({**others, along: 1e15})
        n = least_number(lambda n: self.value_at({**others, along: n}) >= target) if limit > target else None
        cost = None if n is None else self.cost({**others, along: n})
        why = self.reason({**others, along: 2})
        few, many = self.ends_of_smallest(along, others, n)
        return {"study": self.study.name, **others, "smallest": n, "smallest_low": few, "smallest_high": many,
                "limit": limit, "cost": cost, "reason": why}  # fmt: skip

    def ends_of_smallest(self, along: str, others: Mapping[str, int], n: int | None) -> tuple[int | None, int | None]:
        """The smallest numbers at which the upper and the lower limit of the coefficient reach the target."""
        sure, name = self.study.uncertainty, self.settings.coefficient

        def side(many: int) -> int | None:
            sizes = {**others, along: many}
            by_size = self.study.weights(self.of.fixed, sizes, self.settings.merged)
            why = self.reason(sizes)
            return None if why else sure.side(getattr(by_size, name), self.settings.target, quick=self.quick)

        if side(n or 1) is None:
            return None, None
        return least_number(lambda many: side(many) != -1), least_number(lambda many: side(many) == 1, first=n or 1)


def least_number(reaches: Callable[[int], bool], first: int = 1) -> int | None:
    """The smallest number from ``first`` to `MOST` that reaches, by bisection; None if none does."""
    if not reaches(MOST):
        return None
    low, high = first - 1, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


# -- Adding a judge to a human -------------------------------------------------------------------------


class _Share(NamedTuple):
    """One family's share of a scenario: its study, the price of a rating, the number of levels of each facet."""

    study: CriterionStudy
    price: float
    sizes: Mapping[str, int]
    separate_lessons: bool = False


def compare_scenarios(study: DesignStudies, settings: LoopSettings) -> DStudy:
    """Φ of one human, two humans, a human and a judge, a human and several judges, by the number of lessons."""
    sizes = _whole_numbers("sizes", settings.sizes)
    along, rater_facet = _loop_facets(study, settings)
    humans, judges = (_group(study, n) for n in (settings.human or "human", settings.judge or "judge"))
    rows, estimates = [], []
    for criterion in dict.fromkeys(s.criterion for s in study.studies):
        if criterion not in humans or criterion not in judges:
            continue
        loop = _Loop(humans[criterion], judges[criterion], study, along, rater_facet, settings)
        for n in sizes:
            for scenario, shares in loop.scenarios(n).items():
                found = loop.dependability(shares)
                estimates.append(found)
                rows.append({"study": criterion or "all", "scenario": scenario, along: n,
                             "coefficient": "dependability", **found.row(), "cost": loop.cost(shares),
                             "reason": found.reason})  # fmt: skip
    if not rows:
        raise DesignError("no criterion has both a study of humans and one of judges")
    return _result(study, rows, _first_reaching(rows, along, settings.target), estimates, (along,), along, settings)


def _group(study: DesignStudies, name: str) -> dict[str | None, CriterionStudy]:
    """The studies of a group by their criterion."""
    found = {s.criterion: s for s in reversed(study.studies) if s.group == name}
    if not found:
        groups = list(dict.fromkeys(s.group for s in study.studies if s.group is not None))
        raise DesignError(
            f"there is no study of '{name}' ({listing(groups) or 'no groups'}); run the G-study with by='kind', or "
            "name its groups with human=... and judge=..."
        )
    return found


def _loop_facets(study: DesignStudies, settings: LoopSettings) -> tuple[str, str]:
    design, facets = parse(study.design), _random_facets(study)
    columns = study.studies[0].fitted.settings.facets or {}
    raters = settings.rater_facet or next((f for f in facets if columns.get(f, f) == "annotator"), "")
    inside = [f for f in facets if design.nests[f] == {study.object} and f != raters]
    along = settings.along or next(iter(inside or [f for f in facets if f != raters]), "")
    for given, what in ((along, "along"), (raters, "rater_facet")):
        if given not in facets:
            raise DesignError(f"name the shared facet and the rater facet: {what}=..., one of {listing(facets)}")
    return along, raters


@dataclass(frozen=True, eq=False)
class _Loop:
    """Humans and judges of one criterion."""

    humans: CriterionStudy
    judges: CriterionStudy
    of: DesignStudies
    along: str
    rater_facet: str
    settings: LoopSettings

    def scenarios(self, n: int) -> dict[str, tuple[_Share, ...]]:
        """The four scenarios of figure 4, with n lessons."""
        s, along, raters = self.settings, self.along, self.rater_facet
        price = s.price or 0.0
        human = {along: n, raters: 1, **(s.of_human or {})}
        judge = {along: n, raters: 1, **(s.of_judge or {})}
        two = {**human, along: 2 * n if s.another == "other" else n, raters: 2}
        one = _Share(self.humans, price, human)
        return {
            "one human": (one,),
            "second human": (_Share(self.humans, price, two, s.another == "other"),),
            "human and judge": (one, _Share(self.judges, s.judge_price, judge)),
            f"human and {s.ensemble} judges": (one, _Share(self.judges, s.judge_price, {**judge, raters: s.ensemble})),
        }

    def dependability(self, shares: Sequence[_Share]) -> Estimate:
        """Φ of the shares together, with an interval if the G-study drew samples."""
        each = [self._weights(share) for share in shares]
        for share in shares:
            if why := share.study.fitted.confounding.why_not("dependability", share.sizes):
                return missing(f"{share.study.name}: {why}")
        value = float(self._composite(each, [share.study.fitted.theta for share in shares]))
        samples = [share.study.uncertainty.samples for share in shares]
        if all(map(len, samples)):
            return shares[0].study.uncertainty.sample_estimate(value, self._composite(each, samples))
        return Estimate(value, np.nan, np.nan, np.nan, WITHOUT_SAMPLES)

    def _weights(self, share: _Share) -> Weights:
        merged, both = self.settings.merged, {self.along, self.rater_facet}
        made = share.study.weights(self.of.fixed, share.sizes, merged)
        if not share.separate_lessons:
            return made
        # One human per lesson: effects of lessons and raters are averaged over lessons only.
        both_facets = np.array([both <= t.facets(merged) for t in share.study.fitted.confounding.terms])
        many = np.where(both_facets, share.sizes[self.rater_facet], 1.0)
        return replace(made, relative=made.relative * many, absolute=made.absolute * many)

    def _composite(self, each: Sequence[Weights], thetas: Sequence[Any]) -> Any:
        """Φ of all families together: (...) from variances (..., terms) of each."""
        s = self.settings
        universe = [t @ w.universe for t, w in zip(thetas, each, strict=True)]
        error = [t @ w.absolute for t, w in zip(thetas, each, strict=True)]
        if s.combine == "sum" or len(each) == 1:
            top, bottom = sum(universe), sum(universe) + sum(error)
        else:
            shared = 2 * s.correlation * np.sqrt(universe[0] * universe[1])
            top = (universe[0] + universe[1] + shared) / 4
            bottom = top + (error[0] + error[1]) / 4
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)

    def cost(self, shares: Sequence[_Share]) -> float | None:
        """Cost per object, if human ratings have a price; separate lessons have one human each."""
        if self.settings.price is None:
            return None
        total = 0.0
        for share in shares:
            often = share.sizes[self.rater_facet] if share.separate_lessons else 1
            total += share.price * float(np.prod(list(share.sizes.values()))) / often
        return total


def _first_reaching(rows: Sequence[dict[str, Any]], along: str, target: float) -> list[dict[str, Any]]:
    """The smallest requested number at which each scenario reaches the target."""
    found = []
    for study, scenario in dict.fromkeys((r["study"], r["scenario"]) for r in rows):
        mine = sorted((r for r in rows if (r["study"], r["scenario"]) == (study, scenario)), key=lambda r: r[along])
        first = next((r for r in mine if r["estimate"] >= target), {})
        found.append({
            "study": study, "scenario": scenario, "smallest": first.get(along),
            "limit": max(r["estimate"] for r in mine), "cost": first.get("cost"), "reason": mine[-1]["reason"],
        })  # fmt: skip
    return found
