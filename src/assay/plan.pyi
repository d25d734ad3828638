# How large a study must be; `plan.py` imports each function from here when it is first used.

from assay.estimates.plans.budget import plan_budget as budget
from assay.estimates.plans.label_plan import plan_labels as labels
from assay.ideas.sample_size import judgments_needed as judgments
from assay.ideas.sample_size import plan_triplets as triplets
from assay.planning import plan_alt_test as alt_test
from assay.verdict.validate import validate as validate

__all__ = ["alt_test", "budget", "judgments", "labels", "triplets", "validate"]
