"""Labels as codes: what raters share, who runs against the others, how wide a difference is, by hand and loops."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import assay
import references
from assay.errors import DataError, DesignError
from assay.estimation.result import Exclusion
from assay.psychometrics.raters.table import (
    RaschSettings,
    RaterSettings,
    RaterTable,
    disjoint_subsets,
    distinct_contents,
    drop_constant_criteria,
    link_cautions,
    put_baseline_first,
    rater_table,
    raters_alone,
    raters_upside_down,
)

NAMES = tuple("abcdefgh")


def table_of(rows, groups=("",), subjects=None, judges=()) -> RaterTable:
    """From (item, criterion, rater, value), with the subject of each item, and its group."""
    item, criterion, rater, value = map(np.array, zip(*rows, strict=True))
    n = int(item.max()) + 1
    subject_of, group_of = subjects or (list(range(n)), [0] * n)
    raters = NAMES[: int(rater.max()) + 1]
    names = (None,) if criterion.max() == 0 else tuple(f"c{j}" for j in range(int(criterion.max()) + 1))
    categories = tuple(tuple(range(1, int(value[criterion == j].max()) + 2)) for j in range(len(names)))
    return RaterTable(
        raters, np.array([r in judges for r in raters]), names, categories, groups, item, criterion, rater, value,
        np.array(group_of)[item], np.array(subject_of)[item], tuple(f"i{k}" for k in range(n)),
        tuple(range(max(subject_of) + 1)), "",
    )  # fmt: skip


TWO_GROUPS = table_of(
    [(0, 0, 0, 1), (0, 1, 0, 0), (0, 0, 1, 2), (1, 0, 0, 1), (1, 1, 1, 1), (2, 0, 1, 0), (3, 0, 1, 0), (3, 1, 2, 2)],
    ("n", "s"), ([0, 0, 1, 2], [0, 0, 1, 1]), judges=("c",),
)  # fmt: skip


def test_codes_of_a_table():
    table = TWO_GROUPS
    assert len(table) == 8
    assert table.sizes.tolist() == [3, 3]
    assert (table.n_categories, table.n_blocks) == (3, 4)
    assert table.block.tolist() == [0, 1, 0, 0, 1, 2, 2, 3]
    assert table.cell.tolist() == [0, 1, 0, 2, 3, 4, 5, 6]
    assert table.kinds == ("human", "human", "judge")
    # (block · 3 raters + rater) · 3 categories + value.
    assert table.column.tolist() == [1, 9, 5, 1, 13, 21, 21, 35]
    assert table.counts.tolist() == [[3, 2, 0], [0, 2, 1]]
    assert table.group_sizes.tolist() == [1, 2]


def test_equal_cells_are_merged():
    cells = TWO_GROUPS.cells
    assert len(cells) == 6  # items 2 and 3 hold the same label of the same rater
    assert sorted(cells.count.tolist()) == [1, 1, 1, 1, 1, 2]
    assert (np.diff(cells.block) >= 0).all()
    assert cells.kind[4] == cells.kind[5]
    for cell in range(7):
        kind = cells.kind[cell]
        mine = sorted(cells.column[cells.start[kind] : cells.start[kind + 1]].tolist())
        assert mine == sorted(TWO_GROUPS.column[TWO_GROUPS.cell == cell].tolist())
    assert cells.item.tolist() == [0, 0, 1, 1, 2, 3, 3]
    assert cells.criterion.tolist() == [0, 1, 0, 1, 0, 0, 1]
    assert cells.subject.tolist() == [0, 0, 0, 0, 1, 2, 2]


def test_holders_of_the_same_contents_are_one_kind():
    holder, content = np.array([0, 0, 1, 2, 2, 3, 3, 3]), np.array([4, 1, 4, 1, 4, 4, 4, 1])
    kind, contents, count = distinct_contents(holder, content, 4)
    assert kind[0] == kind[2]
    assert len({*kind.tolist()}) == 3  # 4 twice and 1 is another content
    assert [contents[kind[h]].tolist() for h in range(4)] == [[1, 4], [4], [1, 4], [1, 4, 4]]
    assert [int(count[kind[h]]) for h in range(4)] == [2, 1, 2, 1]


def test_units_that_share_a_trait():
    of, patterns, count = TWO_GROUPS.cells.units(np.array([0]))
    assert of.tolist()[1] == of.tolist()[2] != of.tolist()[0]
    assert sorted(count.tolist()) == [1, 2]
    assert [len(patterns[of[s]]) for s in range(3)] == [2, 1, 1]
    second, _, count = TWO_GROUPS.cells.units(np.array([1]))
    assert second[1] == -1  # no label of that criterion
    assert count.tolist() == [1, 1]


def test_one_subject_in_so_many():
    table = table_of([(i, 0, r, i % 3) for i in range(7) for r in (0, 1)])
    assert table.every_nth_subject(3).subject.tolist() == [0, 0, 3, 3, 6, 6]
    assert table.every_nth_subject(3).value.tolist() == [0, 0, 0, 0, 0, 0]
    some = table.every_nth_subject(2)
    assert (some.item.tolist(), some.rater.tolist()) == ([0, 0, 2, 2, 4, 4, 6, 6], [0, 1] * 4)
    assert some.raters == table.raters


def slow_widening(table: RaterTable) -> np.ndarray:
    """Errors of the difference of two means, by subjects over by labels; t over normal."""
    cell = {}
    for k, c in enumerate(table.cell.tolist()):
        cell.setdefault(c, []).append(table.value[k])
    away = [v - np.mean(cell[c]) for v, c in zip(table.value.tolist(), table.cell.tolist(), strict=True)]
    by_label, by_subject = np.zeros((2, len(table.groups), len(table.raters)))
    for g in range(len(table.groups)):
        for r in range(len(table.raters)):
            mine = [k for k in range(len(table)) if table.group[k] == g and table.rater[k] == r]
            n, mean = len(mine), np.mean([away[k] for k in mine])
            by_label[g, r] = sum((away[k] - mean) ** 2 for k in mine) / (n * (n - 1))
            subjects = {}
            for k in mine:
                subjects.setdefault(int(table.subject[k]), []).append(away[k] - mean)
            m = len(subjects)
            by_subject[g, r] = sum(sum(one) ** 2 for one in subjects.values()) / n**2 * m / (m - 1)
    ratio = np.sqrt((by_subject[1:] + by_subject[0]) / (by_label[1:] + by_label[0]))
    df = [min(table.group_sizes[0], size) - 1 for size in table.group_sizes[1:]]
    return np.maximum(ratio, 1) * (stats.t.ppf(0.975, df) / stats.norm.ppf(0.975))[:, None]


def test_differences_between_groups_are_as_wide_as_subjects_make_them():
    rng = np.random.default_rng(2)
    subject = np.repeat(np.arange(12), 3)
    group = np.array([0, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])[subject]  # of 5, 4 and 3 subjects
    whim = rng.normal(size=(12, 5))  # what a rater thinks of a subject is in all of its labels
    rows = [(i, 0, r, int(np.clip(round(2 + 1.5 * whim[subject[i], r] + 0.3 * rng.normal()), 0, 4)))
            for i in range(36) for r in range(5)]  # fmt: skip
    table = table_of(rows, ("n", "s", "t"), (subject.tolist(), group.tolist()))
    found = table.widening_of_gaps
    np.testing.assert_allclose(found, slow_widening(table))
    assert (found > stats.t.ppf(0.975, 3) / stats.norm.ppf(0.975)).sum() > 4
    # Where each item is a subject, its labels are as many as its means.
    alone = table_of(rows, ("n", "s", "t"), (list(range(36)), group.tolist()))
    assert alone.widening_of_gaps.tolist() == [[1] * 5] * 2
    assert alone.widening.tolist() == [1] * 5
    assert (table.widening > 1.3).all()


# -- who shares what ----------------------------------------------------------------------------------

APART = table_of(
    [(0, 0, 0, 1), (0, 0, 1, 1), (1, 0, 1, 0), (2, 0, 2, 1), (2, 0, 3, 1), (3, 1, 3, 1), (4, 1, 4, 1)],
    subjects=([0, 1, 0, 2, 2], [0] * 5),
)


def test_raters_who_share_cells_are_one_subset():
    assert disjoint_subsets(APART) == (("a", "b"), ("c", "d"), ("e",))
    # In one trait items 0 and 2 share a subject, by the first criterion; 3 and 4 by the second.
    assert disjoint_subsets(APART, [np.array([0])]) == (("a", "b", "c", "d"), ("e",))
    assert disjoint_subsets(APART, [np.array([1])]) == (("a", "b"), ("c", "d", "e"))
    assert disjoint_subsets(APART, [np.array([0]), np.array([1])]) == (tuple("abcde"),)
    # Subjects with two traits count as two.
    two = table_of([(0, 0, 0, 1), (1, 1, 1, 1)], subjects=([0, 0], [0, 0]))
    assert disjoint_subsets(two, [np.array([0]), np.array([1])]) == (("a",), ("b",))
    assert disjoint_subsets(two, [np.array([0, 1])]) == (("a", "b"),)


def test_what_links_disjoint_raters_is_said():
    none = [np.array([0])]
    assert list(link_cautions(APART, none, None, "φ")) == [
        "raters form 2 disjoint subsets that share no items (a, b, c, d; e); between subsets, differences in φ "
        "include differences of their items, unless items were assigned at random."
    ]
    assert "share no 'teacher' (" in next(iter(link_cautions(APART, none, "teacher", "λ")))
    both = [np.array([0]), np.array([1])]
    assert list(link_cautions(APART, both, "teacher", "φ")) == [
        "raters form 3 disjoint subsets that share no items (a, b; c, d; e); between subsets, comparisons use "
        "shared 'teacher' and assume that the items of each subset differ only by chance."
    ]
    assert "comparisons use shared criteria and assume" in next(iter(link_cautions(APART, both, None, "φ")))
    whole = table_of([(0, 0, 0, 1), (0, 0, 1, 1), (1, 0, 1, 0)])
    assert list(link_cautions(whole, none, None, "φ")) == []


@pytest.mark.parametrize(("n", "names"), [(3, "a; b; c"), (4, "a; b; c …")])
def test_of_many_subsets_three_are_named(n, names):
    """Raters who share no item."""
    table = table_of([(10 * r + i, 0, r, i % 3) for r in range(n) for i in range(10)])
    found = list(link_cautions(table, (), None, "φ"))
    words = f"raters form {n} disjoint subsets that share no items ({names}); between subsets"
    assert any(words in one for one in found), found


@pytest.mark.parametrize(("beside", "alone"), [(0, True), (1, True), (2, False)])
def test_rater_sharing_5_percent_of_labels_is_not_isolated(beside, alone):
    # Of 40 labels of the first rater 2 are a twentieth.
    rows = [(i, 0, 0, i % 3) for i in range(40)] + [(i, 0, 1, 0) for i in range(beside)]
    rows += [(40 + i, 0, r, 1) for i in range(3) for r in (1, 2)]
    assert raters_alone(table_of(rows)) == (("a",) if alone else ())


def test_raters_whose_labels_run_against_the_others_are_named():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 40)
    noisy = [np.clip(truth + rng.integers(-1, 2, 40), 0, 3) for _ in range(3)]
    labels = [*noisy, 3 - noisy[0], rng.integers(0, 4, 40)]
    shift = np.arange(40) % 2  # the second criterion's labels are 1 higher, which tells nothing
    rows = [(i, int(shift[i]), r, int(labels[r][i] + shift[i])) for i in range(40) for r in range(5)]
    table = table_of(rows)
    wanted, p = [], []
    for r in range(5):
        others = np.mean([labels[k] for k in range(5) if k != r], axis=0)
        own, theirs = (v - np.array([v[shift == s].mean() for s in (0, 1)])[shift] for v in (labels[r], others))
        wanted.append(references.pearson(own.tolist(), theirs.tolist()))
        p.append(stats.norm.cdf(math.atanh(wanted[-1]) * math.sqrt(40 - 3)))
    adjusted = references.holm(p)
    assert adjusted[3] < 1e-4
    assert min(adjusted[:3]) > 0.5
    assert raters_upside_down(table, 0.05) == (("d", pytest.approx(wanted[3])),)
    assert raters_upside_down(table, adjusted[3] * 1.001) == (("d", pytest.approx(wanted[3])),)
    assert raters_upside_down(table, adjusted[3] * 0.999) == ()


def test_only_shared_labels_count_for_a_rater():
    """Of the first five items each is labelled by both, the other way round; of three more by the first alone."""
    both = [(i, 0, r, v if r == 0 else 4 - v) for i, v in enumerate([0, 3, 1, 2, 2]) for r in (0, 1)]
    alone = [(5, 0, 0, 4), (6, 0, 0, 0), (7, 0, 0, 4)]
    p = stats.norm.cdf(math.atanh(-0.9999) * math.sqrt(5 - 3))
    for rows in (both, both + alone):
        table = table_of(rows)
        assert raters_upside_down(table, 2 * p * 1.001) == (("a", -0.9999), ("b", -0.9999))
        assert raters_upside_down(table, 2 * p * 0.999) == ()
    # Against the mean of two others, who differ.
    values = [(0, 1, 3), (3, 0, 1), (1, 2, 2), (4, 1, 0), (2, 3, 0)]
    three = [(i, 0, r, v[r]) for i, v in enumerate(values) for r in range(3)]
    found = dict(raters_upside_down(table_of(three), 1.0))
    assert found["a"] == pytest.approx(references.pearson([0, 3, 1, 4, 2], [2, 0.5, 2, 0.5, 1.5]))
    # The third rater skips two items: there the mean of the others is that of one.
    some = dict(raters_upside_down(table_of([row for row in three if row[:3] not in ((0, 0, 2), (4, 0, 2))]), 1.0))
    assert some["a"] == pytest.approx(references.pearson([0, 3, 1, 4, 2], [1, 0.5, 2, 0.5, 3]))


@pytest.mark.parametrize(("repeats", "kept"), [("each", 13), ("first", 12), ("error", None)])
def test_repeated_answers_are_refused_kept_or_decided(repeats, kept):
    rows = [(f"i{i}", r, 1 + (i + k * (i % 3)) % 2, 1) for i in range(6) for k, r in enumerate("ab")]
    rows.append(("i0", "a", 2, 2))
    labels = assay.Annotations.from_frame(
        pl.DataFrame(rows, schema=["item", "annotator", "label", "repeat"], orient="row"),
        scale=assay.Ordinal(1, 2),
    )  # fmt: skip
    if kept is None:
        with pytest.raises(DesignError, match="use all with repeats='each'"):
            rater_table(labels, RaterSettings(repeats=repeats))
    else:
        assert len(rater_table(labels, RaterSettings(repeats=repeats))) == kept


@pytest.mark.parametrize(("items", "told"), [(4, False), (5, True)])
def test_a_correlation_needs_five_subjects(items, told):
    values = [0, 3, 1, 2, 4][:items]
    rows = [(i, 0, r, v if r == 0 else 4 - v) for i, v in enumerate(values) for r in (0, 1)]
    found = raters_upside_down(table_of(rows), 1.0)
    # −1 is kept at −.9999; with one other rater both run against each other.
    assert found == ((("a", -0.9999), ("b", -0.9999)) if told else ())


def test_constant_labels_have_no_reversed_rater():
    rows = [(i, 0, r, 1 if r == 0 else i % 3) for i in range(8) for r in (0, 1)]
    assert raters_upside_down(table_of(rows), 1.0) == ()
    assert raters_upside_down(table_of([(i, 0, i % 2, i % 3) for i in range(8)]), 1.0) == ()


# -- what is left out, refused and put first ------------------------------------------------------------


def test_criteria_without_a_difference_are_dropped_with_raters_who_gave_no_other():
    rows = [(0, 0, 0, 0), (0, 1, 1, 1), (1, 1, 3, 0), (1, 0, 2, 0), (2, 2, 1, 2)]
    table = table_of(rows, judges=("d",))
    found = drop_constant_criteria(table)
    assert found.criteria == ("c1", "c2")
    assert found.categories == table.categories[1:]
    assert found.raters == ("b", "d")
    assert found.is_judge.tolist() == [False, True]
    assert found.criterion.tolist() == [0, 0, 1]
    assert found.rater.tolist() == [0, 1, 0]
    assert (found.item.tolist(), found.value.tolist()) == ([0, 1, 2], [1, 0, 2])
    whole = table_of([(0, 0, 0, 0), (1, 0, 1, 1)])
    assert drop_constant_criteria(whole) is whole
    with pytest.raises(DesignError, match="every label is the same, which tells nothing of raters"):
        drop_constant_criteria(table_of([(0, 0, 0, 0), (1, 0, 1, 0)]))


@pytest.mark.parametrize(
    ("baseline", "order"), [(None, ("s", "n", "t")), ("t", ("t", "n", "s")), ("n", ("n", "s", "t"))]
)
def test_the_group_that_others_are_compared_with_comes_first(baseline, order):
    group = [0, 1, 1, 2, 1, 0]
    table = table_of([(i, 0, i % 2, i % 3) for i in range(6)], ("n", "s", "t"), (list(range(6)), group))
    found = put_baseline_first(table, baseline)
    assert found.groups == order
    assert [found.groups[g] for g in found.group] == ["nst"[g] for g in group]


def test_an_unknown_baseline_is_refused():
    table = table_of([(i, 0, i % 2, i % 3) for i in range(4)], ("n", "s"), (list(range(4)), [0, 1, 0, 1]))
    with pytest.raises(DataError, match="there is no group 'east' to compare with; there are n, s"):
        put_baseline_first(table, "east")


def test_labels_are_whole_numbers_of_few_categories():
    from assay.psychometrics.raters.table import MOST_CATEGORIES

    def table(values, criterion=None, scale="interval"):
        rows = [{"item": f"i{i}", "annotator": a, "label": value} for i, value in enumerate(values) for a in "ab"]
        frame = pl.DataFrame(rows)
        if criterion is not None:
            other = frame.with_columns(criterion=pl.lit("other"), label=pl.lit(1.0) + pl.int_range(pl.len()) % 3)
            frame = pl.concat([frame.with_columns(criterion=pl.lit(criterion)), other])
        return rater_table(assay.read(frame, scale=scale), RaterSettings(distribution="categories"))

    assert table([3.0, 1.0, 2.0, 1.0]).categories == ((1, 2, 3),)
    with pytest.raises(DesignError, match=r"labels have fractions \(2\.5\); round"):
        table([1.0, 2.5, 3.25, 1.0])
    with pytest.raises(DesignError, match="labels of 'tone' have fractions"):
        table([1.5, 1.0, 2.0, 1.0], "tone")
    assert len(table([1.0, 2.0, 1.0, float(MOST_CATEGORIES)]).categories[0]) == MOST_CATEGORIES
    with pytest.raises(DesignError, match=f"at most {MOST_CATEGORIES} categories; labels of 'tone' go from 0 to"):
        table([0.0, 1.0, 1.0, float(MOST_CATEGORIES)], "tone")


def test_columns_of_items_are_codes_in_natural_order_and_complete():
    frame = pl.DataFrame({
        "item": list("xxyyzvvww"), "annotator": list("ababaabab"), "label": [1, 2, 3, 1, 2, 1, 3, 2, 2]
    })  # fmt: skip
    items = pl.DataFrame({
        "item": list("xyzvw"), "class": ["t10", "t2", "t10", "t1", "t3"], "gap": ["u", None, None, "u", "v"]
    })  # fmt: skip
    labels = assay.read(frame, scale="1-3", items=items)
    found = rater_table(labels, RaterSettings(object="class"))
    assert found.subjects == ("t1", "t2", "t3", "t10")
    with pytest.raises(DataError, match=r"3 labels have no 'gap', the group \(item 'y' and others\); fill it, or drop"):
        rater_table(labels, RaterSettings(group="gap"))
    one = assay.read(frame, scale="1-3", items=items.with_columns(pl.Series("gap", ["u", "v", None, "u", "v"])))
    with pytest.raises(DataError, match=r"1 label has no 'gap', the object \(item 'z'\); fill it"):
        rater_table(one, RaterSettings(object="gap"))


def test_a_criterion_without_differences_is_excluded_and_a_narrow_one_noted():
    label = {"c1": [3, 3, 3, 3, 3], "c2": [2, 3, 4, 3, 2], "c3": [1, 5, 2, 3, 4]}
    rows = [{"item": f"i{i}", "annotator": a, "criterion": c, "label": label[c][(i + (a == "b")) % 5]}
            for c in label for i in range(5) for a in "ab"]  # fmt: skip
    table = rater_table(assay.read(pl.DataFrame(rows), scale="1-5"), RaterSettings())
    assert table.exclusions == (Exclusion("criterion", 1, "every label is 3, which tells nothing of raters", ("c1",)),)
    assert table.criteria == ("c2", "c3")
    assert table.categories == ((2, 3, 4), (1, 2, 3, 4, 5))
    assert table.notes == ("no label is the lowest or highest of the scale of 'c2'; ideal ratings range from 2 to 4",)
    alone = pl.DataFrame(
        [{k: v for k, v in row.items() if k != "criterion"} for row in rows if row["criterion"] == "c2"]
    )
    table = rater_table(assay.read(alone, scale="1-5"), RaterSettings())
    assert table.notes == ("no label is the lowest or highest of the scale; ideal ratings range from 2 to 4",)
    assert table.exclusions == ()


# -- options ------------------------------------------------------------------------------------------


def test_what_raters_are_asked_by_default():
    found = RaterSettings()
    asked = (found.repeats, found.reference, found.rope, found.quick, found.starts, found.nodes, found.chains,
             found.warmup, found.draws, found.confidence, found.seed)  # fmt: skip
    assert asked == ("error", "all", 0.1, False, 10, 21, 4, 500, 1000, 0.95, 0)
    assert RaschSettings().nodes == 31
    one = RaterSettings(annotators="ann", reverse="tone")
    assert (one.annotators, one.reverse) == (("ann",), ("tone",))
    assert RaterSettings("region").group == "region"


@pytest.mark.parametrize(
    ("made", "name", "least", "less"),
    [
        (RaterSettings, "rope", 0.0, -0.01),
        (RaterSettings, "starts", 1, 0),
        (RaterSettings, "nodes", 3, 2),
        (RaterSettings, "chains", 2, 1),
        (RaterSettings, "warmup", 50, 49),
        (RaterSettings, "draws", 100, 99),
        (RaterSettings, "seed", 0, -1),
        (RaschSettings, "nodes", 5, 4),
    ],
)
def test_numbers_of_a_fit_have_a_least(made, name, least, less):
    assert getattr(made(**{name: least}), name) == least
    with pytest.raises(DesignError, match=name):
        made(**{name: less})
