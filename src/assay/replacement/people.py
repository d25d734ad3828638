"""Do people agree with each other at all? Where they do not, no judge can be tested on their labels."""

from __future__ import annotations

import numpy as np

from assay.errors import DesignError
from assay.estimation.intervals import Estimate, missing
from assay.estimation.options import IntervalSettings
from assay.replacement.panel import AltTestTable
from assay.statistics.categories import Alpha
from assay.statistics.together import Together

MOST = 100
"""Different labels that are counted one by one; more are taken as numbers, where they are numbers."""


def human_agreement(table: AltTestTable) -> Estimate:
    """Krippendorff's α of the people who are left out in turn, with the interval that `assay.agreement` has.

    Nominal for categories, ordinal for ordered words, interval for numbers and for labels that were put on each
    annotator's own scale. Text has none.
    """
    ratings = table.ratings
    people = ratings.only(table.humans)
    own_scale = table.settings.normalise is not None
    if ratings.scale.kind == "text":
        return missing("free text has no chance-corrected agreement")
    if ratings.scale.numeric or own_scale:
        statistic = Alpha("interval", np.empty(0), 0.0 if own_scale else ratings.centre)
    elif len(ratings.values) > MOST:
        return missing(f"there are more than {MOST} different labels")
    else:
        statistic = Alpha("ordinal" if ratings.scale.ordered else "nominal", ratings.values)
    how = IntervalSettings("jackknife", confidence=table.settings.confidence)
    try:
        return people.sums(Together((statistic,))).estimate(how, "fisher")[0]
    except DesignError as problem:
        return missing(str(problem))
