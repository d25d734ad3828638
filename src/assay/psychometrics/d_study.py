"""What would another rater or lesson buy? Decision studies, and a judge beside a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import polars as pl

from assay.errors import DesignError, listing, unknown
from assay.estimation.intervals import Estimate, missing
from assay.estimation.result import Result, Run
from assay.psychometrics import plots
from assay.psychometrics.components import CriterionStudy, DesignStudies, Weights, from_samples, weights
from assay.psychometrics.design import Coefficient, DStudySettings, LoopOptions, LoopSettings, Merged, parse
from assay.reporting.tables import estimated, said
from assay.statistics.reml import Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST = 100_000
"""Levels of a facet up to which the smallest number is looked for."""

NAMES = {"generalizability": "Eρ²", "dependability": "Φ"}


@dataclass(frozen=True, eq=False)
class DStudy(Result):
    """Coefficients for other numbers of raters and lessons.

    Attributes
    ----------
    projected : polars.DataFrame
        One row a study (or scenario), coefficient and choice of numbers.
    smallest : polars.DataFrame
        The least number of the facet ``along`` that reaches the target, for each choice of the others; null, with the
        limit that more of it tends to, where none does.
    facets : tuple of str
    along : str
    target : float
    coefficient : str
    run : Run
    """

    projected: pl.DataFrame
    smallest: pl.DataFrame
    facets: tuple[str, ...]
    along: str
    target: float
    coefficient: Coefficient
    run: Run

    @property
    def table(self) -> pl.DataFrame:
        """The projection."""
        return self.projected

    @property
    def _lines(self) -> list[str]:
        """Columns that tell the lines of a picture apart."""
        names = [c for c in ("study", "scenario", *self.facets) if c != self.along and c in self.projected.columns]
        return [c for c in names if self.projected[c].n_unique() > 1]

    def sentences(self) -> tuple[str, ...]:
        """How many reach the target, and what they cost."""
        if "scenario" in self.projected.columns:
            return self._compared()
        lines = []
        for row in self.smallest.iter_rows(named=True):
            others = [f"{row[c]} {c}" for c in self.facets if c != self.along and row.get(c) is not None]
            place = f"{row['study']}: " if "study" in row and self.smallest["study"].n_unique() > 1 else ""
            with_others = f" with {', '.join(others)}" if others else ""
            name = NAMES[self.coefficient]
            if row["smallest"] is None:
                lines.append(
                    f"{place}no number of {self.along} reaches {name} = {self.target:g}{with_others}; "
                    f"more of it tends to {said(row['limit'], 3)}."
                )
            else:
                cost = f", at a cost of {row['cost']:,.2f}" if row.get("cost") is not None else ""
                reach = f"{row['smallest']:,} {self.along}{with_others} reach"
                lines.append(f"{place}{reach} {name} = {self.target:g}{cost}.")
        return tuple(lines)

    def _compared(self) -> tuple[str, ...]:
        """Each scenario at the largest number, and whether the judge helps the person."""
        most = self.projected.filter(pl.col(self.along) == pl.col(self.along).max())
        lines = []
        for one in most.partition_by("study", maintain_order=True):
            values = dict(zip(one["scenario"].to_list(), one["estimate"].to_list(), strict=True))
            each = ", ".join(f"{name} {said(value, 3)}" for name, value in values.items())
            alone, other, *beside = values.values()
            place = f"{one['study'][0]}: " if one["study"][0] != "all" else ""
            words = "lowers" if beside[0] < alone else "adds less than" if beside[0] < other else "adds as much as"
            verdict = "lowers what one person reaches" if words == "lowers" else f"{words} another person"
            if np.isnan(alone) or np.isnan(beside[0]):
                verdict = "cannot be valued"
            lines.append(f"{place}Φ with {one[self.along][0]} {self.along}: {each}. A judge beside {verdict}.")
        return tuple(lines)

    def summary(self) -> str:
        """What reaches the target, then where the numbers come from."""
        rows = self.projected.filter(pl.col("coefficient") == self.coefficient)
        best = rows.filter(pl.col("estimate").is_not_nan()).sort("estimate", descending=True).head(1)
        lines = [*self.sentences(), *([f"{self.run.interval}."] if self.run.interval else [])]
        for row in best.iter_rows(named=True):
            sizes = ", ".join(f"{row[c]} {c}" for c in self.facets if row.get(c) is not None)
            place = row.get("scenario") or (row["study"] if rows["study"].n_unique() > 1 else "")
            value = estimated(row["estimate"], row["low"], row["high"], 3)
            lines.append(
                f"The largest {NAMES[self.coefficient]} here: {value} with {sizes}{f' ({place})' if place else ''}."
            )
        return "\n".join([*lines, *self.run.closing()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """The coefficient against the number of one facet, a line for each choice of the others."""
        rows = self.projected.filter(pl.col("coefficient") == self.coefficient)
        return plots.curves(rows, self.along, self._lines, self.coefficient, self.target, ax)


def d_study(
    study: DesignStudies,
    sizes: Mapping[str, Sequence[int] | int] | None = None,
    *,
    target: float = 0.7,
    coefficient: Coefficient = "dependability",
    along: str | None = None,
    price: float | None = None,
    prices: Mapping[str, float] | None = None,
    merged: Merged = "careful",
) -> DStudy:
    """Which Eρ² and Φ would means over other numbers of raters and lessons have?

    Called as ``study.d_study(r=[1, 2, 3], o=range(1, 11))``.

    Parameters
    ----------
    study : GStudy
    sizes : mapping of facet to whole numbers, optional
        A facet that is not named stands at one level, a fixed one at all of its levels. A nested facet
        is counted within what it is nested in: segments of a lesson.
    target, coefficient
        What is to be reached, and by which coefficient.
    along : str, optional
        The facet whose smallest number is looked for; the one with most numbers when not given.
    price : float, optional
        Of one rating: of each object there are as many as all numbers multiplied.
    prices : mapping of facet to float, optional
        Of one level of a facet, such as a visit to a lesson.
    merged : {"careful", "usual"}
        A variance of several effects that cannot be told apart shrinks with the facets that all of them share, or with
        all that any of them has.

    Returns
    -------
    DStudy
        Intervals are those of the G-study's samples where it drew some; otherwise by the delta method, on the logit
        scale.

    Raises
    ------
    DesignError
        For a facet that the design does not have, the object, or numbers below 1.
    """
    numbers = {f: (n,) if isinstance(n, int) else tuple(n) for f, n in (sizes or {}).items()}
    settings = DStudySettings.of(
        {"sizes": numbers, "target": target, "coefficient": coefficient, "along": along, "price": price,
         "prices": dict(prices) if prices is not None else None, "merged": merged}, "d_study",
    )  # fmt: skip
    random = _facets_of(study)
    for name in (*numbers, *(prices or {})):
        if name in study.fixed:
            raise DesignError(f"{name} is fixed: scores are means over all of its levels, and no others are chosen")
        if name not in random:
            raise DesignError(unknown("facet", name, random, f"the design {study.design}, object {study.object}"))
        if name in numbers:
            _whole(name, numbers[name])
    if along is not None and along not in random:
        raise DesignError(unknown("facet", along, random, f"the design {study.design}, object {study.object}"))
    along = along or max(random, key=lambda f: len(numbers.get(f, (1,))))
    grid = {f: numbers.get(f, (1,)) for f in random if f in numbers or f == along}
    rows, smallest = [], []
    for one in study.studies:
        projection = _Projection(one, study, settings)
        for chosen in product(*grid.values()):
            rows += projection.rows(dict(zip(grid, chosen, strict=True)))
        others = {f: v for f, v in grid.items() if f != along}
        smallest += [
            projection.smallest(along, dict(zip(others, chosen, strict=True))) for chosen in product(*others.values())
        ]
    return _wrap(study, rows, smallest, tuple(grid), along, settings)


def _facets_of(study: DesignStudies) -> tuple[str, ...]:
    """Facets whose number can be chosen."""
    parsed = parse(study.design)
    return tuple(f for f in parsed.facets if f not in parsed.nests[study.object] | {study.object, *study.fixed})


def _whole(name: str, values: Any) -> None:
    bad = [v for v in values if not isinstance(v, int | np.integer) or isinstance(v, bool) or v < 1]
    if bad or not len(values):
        raise DesignError(f"numbers of {name} are whole and at least 1; got {listing(bad) or 'none'}")


def _wrap(
    study: DesignStudies, rows: list[dict[str, Any]], smallest: list[dict[str, Any]], facets: tuple[str, ...],
    along: str,
    settings: DStudySettings | LoopSettings, question: str = "d-study",
) -> DStudy:  # fmt: skip
    kinds = {"study": pl.String, "scenario": pl.String, "reason": pl.String, "smallest": pl.Int64}
    numbers = dict.fromkeys(("estimate", "low", "high", "error", "limit", "cost"), pl.Float64)
    frames = []
    for found in (rows, smallest):
        frame = pl.DataFrame(found, schema_overrides={**kinds, **numbers}, infer_schema_length=None)
        frames.append(
            frame.drop([c for c in ("cost",) if c in frame.columns and frame[c].null_count() == frame.height])
        )
    cautions = list(study.run.cautions)
    if any(len(t.effects) > 1 for one in study.studies for t in one.fitted.identified.terms):
        careful = "only with the facets that all of them share; merged='usual' takes all"
        usual = "with every facet that any of them has, which promises most"
        cautions.append(
            "variance of effects that cannot be told apart shrinks "
            f"{careful if settings.merged == 'careful' else usual}."
        )
    sampled = len(study.studies[0].uncertainty.samples)
    how = study.run.interval if sampled else study.run.interval.replace(
        "profile-likelihood interval", "interval by the delta method on the logit scale")  # fmt: skip
    run = Run(question, settings, study.run.data, {"along": along, "numbers": ",".join(facets)}, how,
              study.run.exclusions, study.run.notes, tuple(cautions), of=study.run)  # fmt: skip
    coefficient = settings.coefficient if isinstance(settings, DStudySettings) else "dependability"
    return DStudy(frames[0], frames[1], facets, along, settings.target, coefficient, run)


@dataclass(frozen=True, eq=False)
class _Projection:
    """One study, at other numbers."""

    study: CriterionStudy
    of: DesignStudies
    settings: DStudySettings

    def weights(self, sizes: Mapping[str, float]) -> Weights:
        found = self.study.fitted.identified
        kept = {f: float(n) for f, n in sizes.items() if f in found.design.facets}
        kept |= {f: float(self.study.levels[f]) for f in self.of.fixed if f in found.design.facets}
        return weights(found.terms, found.design, self.of.object, self.of.fixed, kept, self.settings.merged)

    def _value(self, quantity: Ratio) -> Estimate:
        if not self.study.fitted.known:
            return missing("the object's variance cannot be told from that of its interactions")
        return self.study.uncertainty.of(quantity, quick=True)

    def rows(self, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
        by_size = self.weights(sizes)
        theta = self.study.fitted.theta
        found = []
        for name, quantity, error in (
            ("generalizability", by_size.generalizability, by_size.relative),
            ("dependability", by_size.dependability, by_size.absolute),
        ):
            value = self._value(quantity)
            found.append({
                "study": self.study.name, **sizes, "coefficient": name, **value.row(), "error": float(theta @ error),
                "cost": self.cost(sizes), "reason": value.reason,
            })  # fmt: skip
        return found

    def cost(self, sizes: Mapping[str, int]) -> float | None:
        """Of one object: its ratings, and the levels of facets that have a price."""
        s = self.settings
        if s.price is None and s.prices is None:
            return None
        nests = self.study.fitted.identified.design.nests
        total = (s.price or 0.0) * float(np.prod(list(sizes.values())))
        for facet, price in (s.prices or {}).items():
            outer = nests.get(facet, frozenset()) & set(sizes)
            total += price * sizes.get(facet, 1) * float(np.prod([sizes[f] for f in outer] or [1]))
        return total

    def value_at(self, sizes: Mapping[str, float]) -> float:
        if not self.study.fitted.known:
            return float("nan")
        by_size = self.weights(sizes)
        quantity = (
            by_size.generalizability if self.settings.coefficient == "generalizability" else by_size.dependability
        )
        return float(quantity.value(self.study.fitted.theta))

    def smallest(self, along: str, others: Mapping[str, int]) -> dict[str, Any]:
        """The least number that reaches the target, by halving: the coefficient grows with every facet."""
        target, limit = self.settings.target, self.value_at({**others, along: 1e15})
        n: int | None = None
        if limit > target and self.value_at({**others, along: MOST}) >= target:
            low, high = 0, MOST
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self.value_at({**others, along: middle}) >= target else (middle, high)
            n = high
        cost = None if n is None else self.cost({**others, along: n})
        return {"study": self.study.name, **others, "smallest": n, "limit": limit, "cost": cost}


# -- a judge beside a person ------------------------------------------------------------------------


@dataclass(frozen=True)
class _FamilyShare:
    """One family's share of a scenario: its study and how many levels of each facet it sees."""

    study: CriterionStudy
    sizes: Mapping[str, float]
    lessons_apart: bool = False


def human_in_the_loop(study: DesignStudies, **options: Unpack[LoopOptions]) -> DStudy:
    """Would a judge do instead of a second person? Equations 8 and 12 of Hardy, "All that glitters".

    Called as ``study.human_in_the_loop(of_human={"s": 2}, of_judge={"s": 8})`` on a G-study with ``by="kind"``.

    Parameters
    ----------
    study : GStudy
        With a study of people and one of judges.
    sizes : list of int
        Numbers of lessons (of ``along``) that people and judges share.
    along : str, optional
        The facet that they share; what is nested in the object when not given.
    raters : str, optional
        The facet of raters, which they do not share; the one whose column is ``annotator`` when not given.
    human, judge : str, optional
        Groups; ``human`` and ``judge`` when not given.
    of_human, of_judge : mapping of facet to int, optional
        How many levels of further facets each sees, such as segments: those shared and its own.
    ensemble : int
        Judges of the ensemble.
    reading : {"sum", "composite"}
        ``sum``, equation 8 as printed: universe and error variances of the families are added up, which takes people's
        and judges' universe scores as unrelated and both scores at their own scale. ``composite``: the variance of the
        mean of both scores, whose universe scores correlate as ``correlation`` says.
    another : {"other", "same"}
        The other person sees other lessons (the text's "separate from the baseline observer"), so that there are twice
        as many lessons and each is seen by one; or the same lessons, as equation 12 crosses them.
    correlation : float
        See ``reading``; `assay.disattenuated_correlation` estimates it.
    merged, price, judge_price
        See `d_study`.

    Returns
    -------
    DStudy
        With a column ``scenario``; Φ only, as in the paper.

    Raises
    ------
    DesignError
        Where there is no study of people and one of judges.
    """
    given: dict[str, Any] = {**options}
    if "sizes" in given:
        given["sizes"] = tuple(given["sizes"])
    settings = LoopSettings.of(given, "human_in_the_loop")
    _whole("sizes", settings.sizes)
    along, raters = _shared_and_raters(study, settings)
    people, judges = (_group(study, n) for n in (settings.human or "human", settings.judge or "judge"))
    rows = []
    for criterion in dict.fromkeys(s.criterion for s in study.studies):
        pair = [next((s for s in found if s.criterion == criterion), None) for found in (people, judges)]
        if pair[0] is None or pair[1] is None:
            continue
        for n in settings.sizes:
            for scenario, parts in _scenarios(pair[0], pair[1], n, along, raters, settings).items():
                rows.append(_row(study, criterion, scenario, parts, n, along, raters, settings))
    if not rows:
        raise DesignError("no criterion has both a study of people and one of judges")
    return _wrap(study, rows, _reached(rows, along, settings.target), (along,), along, settings, "human-in-the-loop")


def _group(study: DesignStudies, name: str) -> list[CriterionStudy]:
    found = [s for s in study.studies if s.group == name]
    if not found:
        groups = list(dict.fromkeys(s.group for s in study.studies if s.group is not None))
        raise DesignError(
            f"there is no study of '{name}' ({listing(groups) or 'no groups'}); make the G-study with by='kind', or "
            "name its groups with human=... and judge=..."
        )
    return found


def _shared_and_raters(study: DesignStudies, settings: LoopSettings) -> tuple[str, str]:
    design, facets = parse(study.design), _facets_of(study)
    columns = dict(study.studies[0].fitted.settings.facets or {})
    raters = settings.raters or next((f for f in facets if columns.get(f, f) == "annotator"), None)
    inside = [f for f in facets if design.nests[f] == {study.object} and f != raters]
    along = settings.along or next(iter(inside or [f for f in facets if f != raters]), None)
    for given, what in ((along, "along"), (raters, "raters")):
        if given not in facets:
            raise DesignError(f"say which facet is shared and which holds raters: {what}=..., one of {listing(facets)}")
    assert along is not None
    assert raters is not None
    return along, raters


def _scenarios(
    people: CriterionStudy, judges: CriterionStudy, n: int, along: str, raters: str, s: LoopSettings
) -> dict[str, tuple[_FamilyShare, ...]]:  # fmt: skip
    """The four of figure 4."""
    human = {along: n, raters: 1, **(s.of_human or {})}
    judge = {along: n, raters: 1, **(s.of_judge or {})}
    two = {**human, along: 2 * n if s.another == "other" else n, raters: 2}
    one = _FamilyShare(people, human)
    return {
        "one person": (one,),
        "another person": (_FamilyShare(people, two, s.another == "other"),),
        "a judge beside": (one, _FamilyShare(judges, judge)),
        f"{s.ensemble} judges beside": (one, _FamilyShare(judges, {**judge, raters: s.ensemble})),
    }


def _row(
    study: DesignStudies, criterion: str | None, scenario: str, parts: Sequence[_FamilyShare], n: int,
    along: str, raters: str,
    s: LoopSettings,
) -> dict[str, Any]:  # fmt: skip
    each = [_parts_of_variance(study, p, along, raters, s) for p in parts]
    value = float(_combined(each, [p.study.fitted.theta for p in parts], s))
    samples = [p.study.uncertainty.samples for p in parts]
    known = all(p.study.fitted.known for p in parts)
    found = Estimate(value, np.nan, np.nan, np.nan, "intervals need samples: method='parametric' or 'objects'")
    if not known:
        found = missing("the object's variance cannot be told from that of its interactions")
    elif all(len(x) for x in samples):
        found = from_samples(value, _combined(each, samples, s), parts[0].study.uncertainty.confidence)
    cost = None
    if s.price is not None:
        labels = [float(np.prod(list(p.sizes.values()))) / (p.sizes[raters] if p.lessons_apart else 1) for p in parts]
        cost = sum(m * (s.price if p.study.group == (s.human or "human") else s.judge_price)
                   for m, p in zip(labels, parts, strict=True))  # fmt: skip
    return {"study": criterion or "all", "scenario": scenario, along: n, "coefficient": "dependability", **found.row(),
            "cost": cost, "reason": found.reason}  # fmt: skip


def _parts_of_variance(study: DesignStudies, part: _FamilyShare, along: str, raters: str, s: LoopSettings) -> Weights:
    found = part.study.fitted.identified
    sizes = {f: float(n) for f, n in part.sizes.items() if f in found.design.facets}
    made = weights(found.terms, found.design, study.object, study.fixed, sizes, s.merged)
    if not part.lessons_apart:
        return made
    # Each lesson is seen by one person: what holds lessons and raters is averaged over lessons alone.
    both = np.array([{along, raters} <= (t.shared if s.merged == "careful" else t.index) for t in found.terms])
    many = np.where(both, part.sizes[raters], 1.0)
    return replace(made, relative=made.relative * many, absolute=made.absolute * many)


def _combined(each: Sequence[Weights], thetas: Sequence[Any], s: LoopSettings) -> Any:
    """Φ of all families together: (...) from variances (..., terms) of each."""
    universe = [t @ w.universe for t, w in zip(thetas, each, strict=True)]
    error = [t @ w.absolute for t, w in zip(thetas, each, strict=True)]
    if s.reading == "sum" or len(each) == 1:
        top, bottom = sum(universe), sum(universe) + sum(error)
    else:
        shared = 2 * s.correlation * np.sqrt(universe[0] * universe[1])
        top = (universe[0] + universe[1] + shared) / 4
        bottom = top + (error[0] + error[1]) / 4
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)


def _reached(rows: Sequence[dict[str, Any]], along: str, target: float) -> list[dict[str, Any]]:
    """Of the numbers that were asked for, the least at which each scenario reaches the target."""
    found = []
    for study, scenario in dict.fromkeys((r["study"], r["scenario"]) for r in rows):
        mine = sorted((r for r in rows if (r["study"], r["scenario"]) == (study, scenario)), key=lambda r: r[along])
        first = next((r for r in mine if r["estimate"] >= target), None)
        found.append({
            "study": study, "scenario": scenario, "smallest": None if first is None else first[along],
            "limit": max(r["estimate"] for r in mine), "cost": None if first is None else first["cost"],
        })  # fmt: skip
    return found
