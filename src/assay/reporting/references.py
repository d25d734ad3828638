"""The works that reports cite, as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable

from assay._version import __version__

REFERENCES: dict[str, str] = {
    "calderon2025alternative": """@inproceedings{calderon2025alternative,
  author    = {Calderon, Nitay and Reichart, Roi and Dror, Rotem},
  title     = {The Alternative Annotator Test for {LLM}-as-a-Judge: How to Statistically Justify Replacing Human
               Annotators with {LLMs}},
  booktitle = {Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics},
  year      = {2025},
}""",
    "benjamini2001control": """@article{benjamini2001control,
  author  = {Benjamini, Yoav and Yekutieli, Daniel},
  title   = {The Control of the False Discovery Rate in Multiple Testing under Dependency},
  journal = {The Annals of Statistics},
  volume  = {29},
  number  = {4},
  pages   = {1165--1188},
  year    = {2001},
}""",
    "benjamini2008screening": """@article{benjamini2008screening,
  author  = {Benjamini, Yoav and Heller, Ruth},
  title   = {Screening for Partial Conjunction Hypotheses},
  journal = {Biometrics},
  volume  = {64},
  number  = {4},
  pages   = {1215--1222},
  year    = {2008},
}""",
    "tango1998equivalence": """@article{tango1998equivalence,
  author  = {Tango, Toshiro},
  title   = {Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample Design},
  journal = {Statistics in Medicine},
  volume  = {17},
  number  = {8},
  pages   = {891--908},
  year    = {1998},
}""",
    "miettinen1985comparative": """@article{miettinen1985comparative,
  author  = {Miettinen, Olli and Nurminen, Markku},
  title   = {Comparative Analysis of Two Rates},
  journal = {Statistics in Medicine},
  volume  = {4},
  number  = {2},
  pages   = {213--226},
  year    = {1985},
}""",
    "hall1992removal": """@article{hall1992removal,
  author  = {Hall, Peter},
  title   = {On the Removal of Skewness by Transformation},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume  = {54},
  number  = {1},
  pages   = {221--228},
  year    = {1992},
}""",
    "krippendorff2004content": """@book{krippendorff2004content,
  author    = {Krippendorff, Klaus},
  title     = {Content Analysis: An Introduction to Its Methodology},
  edition   = {2},
  publisher = {Sage},
  year      = {2004},
}""",
    "assay": f"""@software{{assay,
  title   = {{assay: testing whether an {{LLM}} judge can replace human annotators}},
  version = {{{__version__}}},
}}""",
}
"""By key, in the order in which they are shown."""


def bibtex(keys: Iterable[str]) -> str:
    """Return the entries, each once, in the order of `REFERENCES`."""
    wanted = set(keys)
    return "\n\n".join(REFERENCES[key] for key in REFERENCES if key in wanted)
