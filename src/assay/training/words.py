"""The sentences about a trained rater: agreement with annotators and comparison with baselines.

``found`` is an `assay.training.train.TrainedRater`, which this module cannot import because it imports this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from assay.estimation.intervals import Estimate
from assay.reporting.tables import decimals, estimated, interval, number, signed
from assay.training.baselines import BASELINES, measures_of
from assay.training.documents import FAMILY, Target


def sentences(found: Any) -> list[str]:
    """Return the agreement of the trained rater with annotators, and its comparison with the baselines."""
    lines = []
    for target in found.trained.targets:
        prefix = f"{target.name}: " if target.name else ""
        lines.append(prefix + _agreement(found, target))
        lines += [prefix + line for line in _comparisons(found, target)]
    groups = labelled_groups(found.trained)
    what = "documents" if found.trained.folds.documents else "items"
    lines.append(f"Intervals: bootstrap of {groups:,} {what}, with the same resamples for all raters.")
    return lines


def labelled_groups(trained: Any) -> int:
    """The number of groups of items with human labels, which are resampled."""
    labelled = np.any([target.labelled for target in trained.targets], axis=0)
    return len(set(trained.folds.group[labelled].tolist()))


def _agreement(found: Any, target: Target) -> str:
    names = measures_of(target)
    first, rmse, ratio = (found.row_index(FAMILY, name, target.criterion) for name in names)
    known = found.trained.folds.documents
    who = f"the mean of {len(found.members)} encoders" if len(found.members) > 1 else "the encoder"
    return (
        f"{who} has {names[0]} = {_format(found.estimates[first])}, RMSE = {_format(found.estimates[rmse])} and "
        f"agreement ratio R = {_format(found.estimates[ratio])} with annotators on {found.rows['n'][rmse]:,} items, "
        f"each rated by encoders that were not trained on {'its document' if known else 'this item'}."
    )


def _comparisons(found: Any, target: Target) -> Iterator[str]:
    """The family compared with the mean and with the best baseline, and each member with the best baseline."""
    names = measures_of(target)
    best = found.rows["baseline"][found.row_index(FAMILY, "RMSE", target.criterion)]
    if best != BASELINES[0]:
        leads = found.trained.against_mean[target.criterion]
        yield "compared with the mean of all ratings: " + differences(leads, names[1:], BASELINES[0])
    leads = {name: found.lead(FAMILY, name, target.criterion) for name in names}
    yield f"compared with {best}, the best baseline: " + differences(leads, names[:2], best)
    if len(found.members) > 1:
        each = [found.lead(one, "RMSE", target.criterion) for one in found.members]
        ahead = sum(one.low > 0 for one in each)
        rows = [found.row_index(one, "RMSE", target.criterion) for one in found.members]
        low, high = extremes([found.estimates[row] for row in rows])
        yield f"single encoders: RMSE {low} to {high}; {ahead or 'none'} of {len(each)} significantly below {best}."


def extremes(each: Sequence[Estimate]) -> tuple[str, str]:
    """Return the smallest and the largest of several estimates."""
    values = sorted(one.estimate for one in each)
    return decimals(values[0], 3), decimals(values[-1], 3)


def _format(one: Estimate) -> str:
    return estimated(one.estimate, one.low, one.high)


def differences(leads: Mapping[str, Estimate], measures: Sequence[str], other: str) -> str:
    """Return differences from another rater with their intervals; significant if an interval excludes 0."""
    ahead = [name for name in measures if leads[name].low > 0]
    behind = [name for name in measures if leads[name].high < 0]
    rest = [name for name in measures if name not in ahead and name not in behind]
    found = [f"significantly better in {' and '.join(ahead)}"] if ahead else []
    found += [f"significantly worse in {' and '.join(behind)}"] if behind else []
    if found:
        found += [f"no significant difference in {' and '.join(rest)}"] if rest else []
    else:
        found = [f"not significantly better than {other}"]
    return f"{'; '.join(_difference(name, leads[name]) for name in measures)}: {', '.join(found)}."


def _difference(measure: str, lead: Estimate) -> str:
    """A difference such as *r higher by 0.02 [0.01, 0.03]*; a lead in an error means that the error is *lower*."""
    up = (lead.estimate >= 0) == (measure != "RMSE")
    ends = (lead.low, lead.high) if lead.estimate >= 0 else (-lead.high, -lead.low)
    return f"{measure} {'higher' if up else 'lower'} by {decimals(abs(lead.estimate), 3)} {interval(*ends, 3)}"


def caption(found: Any) -> str:
    """Return the rating of an `Attribution`, that of its reference, and the part of the difference not attributed."""
    return (
        f"{found.item}: rating {number(found.rating)}; reference (neutral sentences) {number(found.blank)}; not "
        f"attributed {signed(found.gap)}."
    )
