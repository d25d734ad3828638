"""Every coefficient that can be a row of `assay.agreement`: adding one is adding a row here."""

from __future__ import annotations

from assay.concordance.categorical import alpha, exact, fleiss, gwet, kappa, scott, within
from assay.concordance.coefficient import Measure
from assay.concordance.icc import FORMS, intraclass
from assay.concordance.numerical import correlating, distance


def all_measures() -> dict[str, Measure]:
    """Every coefficient that can be a row of `agreement`, by name."""
    measures = [
        exact(),
        within(1),
        kappa("none"),
        kappa("linear"),
        kappa("quadratic"),
        scott(),
        fleiss(),
        gwet("none"),
        gwet("quadratic"),
        *(alpha(level) for level in ("nominal", "ordinal", "interval", "ratio")),
        *(correlating(kind) for kind in ("pearson", "spearman", "kendall")),
        *(intraclass(form) for form in FORMS),
        *(distance(kind) for kind in ("mae", "nmae", "rmse", "bias")),
    ]
    return {measure.name: measure for measure in measures}
