# The coefficients; `measures.py` imports each from here when it is first used.

from assay.concordance.measures import bias as bias
from assay.concordance.measures import brennan_prediger as brennan_prediger
from assay.concordance.measures import cohen_kappa as cohen_kappa
from assay.concordance.measures import concordance_correlation as concordance_correlation
from assay.concordance.measures import conger_kappa as conger_kappa
from assay.concordance.measures import correlation as correlation
from assay.concordance.measures import exact_agreement as exact_agreement
from assay.concordance.measures import fleiss_kappa as fleiss_kappa
from assay.concordance.measures import gwet_ac as gwet_ac
from assay.concordance.measures import icc as icc
from assay.concordance.measures import icc_table as icc_table
from assay.concordance.measures import krippendorff_alpha as krippendorff_alpha
from assay.concordance.measures import mae as mae
from assay.concordance.measures import nmae as nmae
from assay.concordance.measures import rmse as rmse
from assay.concordance.measures import scott_pi as scott_pi
from assay.concordance.measures import within_agreement as within_agreement
from assay.psychometrics.nested_icc import nested_icc as nested_icc
