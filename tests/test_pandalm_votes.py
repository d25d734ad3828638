"""The real votes of examples/pandalm have the published figures of their source."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

import assay

FOLDER = Path(__file__).parents[1] / "examples" / "pandalm"
HUMANS = ["annotator1", "annotator2", "annotator3"]
JUDGES = ["gpt-3.5-turbo", "PandaLM-7B"]

if not FOLDER.exists():
    pytest.skip("the examples are not next to these tests", allow_module_level=True)


def votes() -> assay.Annotations:
    return assay.read(FOLDER / "votes.csv", judges=JUDGES)


@pytest.mark.slow
def test_read_the_votes_of_three_annotators_and_two_judges():
    labels = votes()
    assert (labels.humans, sorted(labels.judges)) == (tuple(HUMANS), sorted(JUDGES))
    # 25 replies of gpt-3.5-turbo have no vote.
    assert (labels.items.height, labels.labels.height) == (999, 999 * 5 - 25)
    assert labels.scale.spec == "preference"
    tasks = labels.items.group_by("task").agg(pl.col("app").n_unique(), pl.len())
    assert tasks["app"].max() == 1
    assert tasks["len"].max() == 10


@pytest.mark.slow
@pytest.mark.parametrize(("pair", "kappa"), [((0, 1), 0.85), ((0, 2), 0.88), ((1, 2), 0.86)])
def test_cohen_kappa_of_two_annotators_is_the_published_one(pair, kappa):
    found = assay.measures.cohen_kappa(votes(), [HUMANS[k] for k in pair])
    assert round(float(found), 2) == kappa


def with_majority() -> pl.DataFrame:
    """The votes with the majority of the three annotators; replies without a vote are ties, as in the source."""
    table = pl.read_csv(FOLDER / "votes.csv").with_columns(pl.col(JUDGES).fill_null("tie"))
    most = [Counter(row).most_common(1)[0][0] for row in table.select(HUMANS).iter_rows()]
    return table.with_columns(pl.Series("reference", most))


def test_majority_votes_have_the_published_distribution():
    assert Counter(with_majority()["reference"]) == {"tie": 105, "first": 422, "second": 472}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "published"),
    [("gpt-3.5-turbo", (0.7107, 0.5879, 0.5736, 0.5755)), ("PandaLM-7B", (0.6677, 0.5738, 0.5750, 0.5743))],
)
def test_accuracy_of_the_judges_is_the_published_one(judge, published):
    table = with_majority()
    labels = assay.read(table, columns=["reference", *JUDGES], judges=JUDGES, scale="preference")
    accuracy = float(assay.measures.exact_agreement(labels, ["reference", judge]))
    # Macro precision and recall: the mean over the three votes of hits by the judge's and by the majority's counts.
    hits = {v: ((table[judge] == v) & (table["reference"] == v)).sum() for v in ("tie", "first", "second")}
    precision = [n / (table[judge] == v).sum() for v, n in hits.items()]
    recall = [n / (table["reference"] == v).sum() for v, n in hits.items()]
    f1 = [2 * p * r / (p + r) for p, r in zip(precision, recall, strict=True)]
    macro = (sum(each) / 3 for each in (precision, recall, f1))
    assert tuple(round(x, 4) for x in (accuracy, *macro)) == published


@pytest.mark.slow
def test_the_judges_do_not_replace_an_annotator():
    both = assay.compare_judges(votes(), expertise="crowd", clusters="task")
    assert {one.verdict for one in both.tests.values()} == {"do_not_replace"}
