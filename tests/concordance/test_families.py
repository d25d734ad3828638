"""Rater families compared with humans: correlations by criterion, criteria won, label distributions."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex

from assay import Annotations, agreement
from assay.concordance.families import (
    MOST_LABELS,
    PEOPLE,
    better_than_humans,
    family_colours,
    label_shares,
    plot_coefficients,
    plot_labels,
    plot_raters,
    random_human_rows,
    rater_name,
    raters_to_draw,
)
from assay.data.ratings import Ratings
from assay.errors import DesignError
from assay.reporting import pictures

MAKERS = {"enc1": "encoders", "enc2": "encoders", "gpt": "GPTs"}
ASK = {"who": ["random human"], "coefficients": ["pearson", "mae", "exact-agreement", "bias"], "draws": 300}


def study(n=120, criteria=("clear", "correct"), noise=None, scale="1-7", people=4, alone=(), seed=0):
    """People of equal noise, two encoders, one GPT, and judges of no family, on every criterion."""
    noise = {"enc1": 0.3, "enc2": 0.3, "gpt": 3.0} | (noise or {})
    rng, rows = np.random.default_rng(seed), []
    names = [f"person {k}" for k in range(people)] + list(noise) + list(alone)
    for criterion in criteria:
        truth = rng.normal(size=n)
        for name in names:
            label = np.clip(np.round(4 + truth + noise.get(name, 1.0) * rng.normal(size=n)), 1, 7)
            rows += [(f"i{i}", name, criterion, int(v)) for i, v in enumerate(label)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "criterion", "label"], orient="row")
    judges = [*noise, *alone]
    about = pl.DataFrame({"annotator": judges, "maker": [MAKERS.get(j) for j in judges]})
    return Annotations.from_frame(frame, judges=judges, scale=scale, annotator_table=about)


def test_each_rater_with_random_human_is_a_row_of_random_humans():
    labels = study()
    found = agreement(labels, family="maker", **ASK)
    rows = found.with_random_human
    assert rows["rater"].unique(maintain_order=True).to_list() == ["humans", "encoders", "enc1", "enc2", "gpt"]
    row = rows.row(by_predicate=(pl.col("rater") == "encoders") & (pl.col("coefficient") == "mae")
                     & (pl.col("criterion") == "correct"), named=True)  # fmt: skip
    one = labels.where(criterion="correct").labels.pivot("annotator", index="item", values="label")
    people = one.select(pl.selectors.starts_with("person")).to_numpy()
    slow = [np.abs(people[:, [p]] - one.select(e).to_numpy()).mean() for p in range(4) for e in ("enc1", "enc2")]
    assert row["estimate"] == pytest.approx(np.mean(slow), abs=0.02)
    assert (row["n"], row["than_humans"]) == (120, "better")
    with pytest.raises(DesignError, match=r"who=\['random human'\]"):
        _ = agreement(labels, who=["pairs"], coefficients=["pearson"]).with_random_human


def test_better_than_humans_counts_estimates_and_significant_criteria():
    labels = study(criteria=("a", "b", "c"))
    found = agreement(labels, family="maker", **ASK)
    table = found.better_than_humans
    assert "bias" not in table["coefficient"].to_list()  # no direction is better
    rows = {(r["coefficient"], r["rater"]): r for r in table.iter_rows(named=True)}
    each = {(r["criterion"], r["rater"], r["coefficient"]): r for r in found.with_random_human.iter_rows(named=True)}
    for (coefficient, rater), row in rows.items():
        sign = -1 if coefficient == "mae" else 1
        mine = [(each[c, rater, coefficient], each[c, "humans", coefficient]) for c in "abc"]
        better = sum(sign * (m["estimate"] - p["estimate"]) > 0 for m, p in mine)
        shown = [m["than_humans"] for m, _ in mine]
        counts = (3, better, better / 3, shown.count("better"), shown.count("worse"))
        assert (
            tuple(row[c] for c in ("criteria", "better", "share", "significantly_better", "significantly_worse"))
            == counts
        )
    assert (rows["mae", "encoders"]["better"], rows["mae", "encoders"]["significantly_better"]) == (3, 3)
    assert (rows["mae", "gpt"]["better"], rows["mae", "gpt"]["significantly_worse"]) == (0, 3)


def test_better_than_humans_skips_unrated_criteria():
    labels = study(criteria=("a", "b"))
    fewer = labels.labels.filter((pl.col("annotator") != "gpt") | (pl.col("criterion") == "a"))
    labels = Annotations.from_frame(fewer, judges=labels.judges, scale="1-7", annotator_table=labels.annotators)
    table = agreement(labels, family="maker", **ASK).better_than_humans.filter(coefficient="mae")
    assert dict(table.select("rater", "criteria").rows()) == {"encoders": 2, "enc1": 2, "enc2": 2, "gpt": 1}


@pytest.mark.slow
def test_one_who_is_as_good_as_people_is_seldom_significantly_better_or_worse():
    """Six exchangeable judges on 10 studies of three criteria: 180 claims of each direction could be wrong."""
    alike = {f"j{k}": 1.0 for k in range(6)} | {"enc1": 0.3, "enc2": 0.3, "gpt": 3.0}
    wrong, shown, claims, deserved = 0, 0, 0, 0
    for seed in range(10):
        found = agreement(study(120, "abc", noise=alike, seed=seed), **{**ASK, "coefficients": ["pearson"]})
        table = found.better_than_humans
        equal = table.filter(pl.col("rater").str.starts_with("j") & (pl.col("rater") != "judges"))
        wrong += equal["significantly_better"].sum() + equal["significantly_worse"].sum()
        claims += equal["criteria"].sum()
        gpt = table.filter(rater="gpt")
        shown, deserved = shown + gpt["significantly_worse"].sum(), deserved + gpt["criteria"].sum()
    assert claims == 180
    assert wrong / claims <= 0.05
    assert shown / deserved >= 0.7


def test_shares_of_labels_are_of_each_raters_own_labels():
    labels = study(40)
    shares = agreement(labels, family="maker", **ASK).label_shares
    assert shares.group_by("criterion", "rater").agg(pl.col("share").sum())["share"].to_list() == pytest.approx(
        [1] * 10
    )
    mine = shares.filter(criterion="clear", rater="encoders")
    assert mine["label"].to_list() == ["1", "2", "3", "4", "5", "6", "7"]
    given = labels.where(criterion="clear", annotator=["enc1", "enc2"]).labels["label"]
    assert mine["n"].to_list() == [int((given == v).sum()) for v in range(1, 8)]


def test_label_shares_uses_ranges_for_many_numbers():
    rng = np.random.default_rng(3)
    rows = [(f"i{i}", who, float(v)) for who in ("a", "b", "m") for i, v in enumerate(rng.uniform(0, 100, 50))]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    numbers = agreement(Annotations.from_frame(frame, judges=["m"], scale="interval:0-100"), coefficients=["mae"])
    mine = numbers.label_shares.filter(rater="humans")
    assert (mine.height, mine["n"].sum()) == (MOST_LABELS, 100)
    values = np.sort(frame["label"].to_numpy())
    edges = np.linspace(values[0], values[-1], MOST_LABELS + 1)
    people = frame.filter(pl.col("annotator") != "m")["label"].to_numpy()
    assert mine["n"].to_list() == np.histogram(people, edges)[0].tolist()
    words = frame.with_columns(label=pl.when(pl.col("label") > 50).then(pl.lit("yes")).otherwise(pl.lit("no")))
    named = agreement(Annotations.from_frame(words, judges=["m"], scale="nominal:yes,no"), coefficients=["cohen-kappa"])
    assert set(named.label_shares["label"]) == {"yes", "no"}


def test_raters_to_draw_uses_families_or_judges():
    people = ("a random human", ("p", "q"))
    assert raters_to_draw([people, ("a random judge of lab", ("m", "n"))], ["m", "n", "o"]) == ["humans", "lab", "o"]
    assert raters_to_draw([people, ("a random judge of lab", ("m",))], ["m"]) == ["humans", "m"]
    every = [people, ("a random judge", ("m", "n"))]
    assert raters_to_draw(every, ["m", "n"]) == ["humans", "m", "n"]
    assert raters_to_draw(every, [f"m{k}" for k in range(9)]) == ["humans", "judges"]


@pytest.mark.slow
def test_pictures_mark_significant_raters():
    found = agreement(study(alone=["other"]), family="maker", **ASK)
    ax = found.plot_raters(coefficient="mae")
    marks = [line.get_marker() for line in ax.get_lines() if len(line.get_xdata()) == 1]
    assert marks.count("^") == 2  # encoders on two criteria
    assert marks.count("v") == 2  # gpt, a family of one
    assert marks.count("o") == 4  # people and the judge of no family
    assert [t.get_text() for t in ax.get_xticklabels()] == ["clear", "correct"]
    cells = found.plot_coefficients()
    columns = {label.get_text(): i for i, label in enumerate(cells.get_xticklabels())}
    shades = {name: [p.get_alpha() for p in cells.patches if i < p.get_x() < i + 1] for name, i in columns.items()}
    for error in ("Mean absolute error", "Mean signed difference"):
        assert set(shades[error]) == {0.06}, "an error has no largest value, and no shade"
    assert all(min(shades[name]) > 0.06 for name in ("Pearson's r", "Exact agreement"))
    grid = [t.get_text() for t in cells.texts]
    assert sum(text.endswith("▲") for text in grid) >= 2
    assert sum(text.endswith("▼") for text in grid) >= 2
    bars = found.plot_labels()
    assert len(bars.patches) == 2 * 4 * 7  # criteria, raters, labels
    assert sorted({bar.get_y() for bar in bars.patches}) == [0, 1]
    assert sorted(bars.get_yticks()) == pytest.approx([0.3, 1.3]), "a criterion's name is next to its bars"
    with pytest.raises(DesignError, match="did you mean 'mae'"):
        found.plot_raters(coefficient="mea")
    pearson = found.plot_raters(coefficient="pearson").get_ylabel()
    assert dataclasses.replace(found, headline="pearson").plot_raters().get_ylabel() == pearson != ax.get_ylabel()
    there = found.with_random_human["coefficient"][0]  # the headline has no rows of random humans
    other = dataclasses.replace(found, headline="icc(a,k)").plot_raters().get_ylabel()
    assert other == found.plot_raters(coefficient=there).get_ylabel()


def test_summary_counts_criteria_of_families():
    words = agreement(study(), family="maker", **ASK).summary()
    assert "encoders with a random human, compared with two random humans: " in words
    assert "is better on 0 of 2 criteria; significantly better on 0, significantly worse on 2 (unadjusted)" in words
    assert "compared with two random humans" not in agreement(study(), **ASK).summary()


def random_rows(*rows):
    names = ["criterion", "rater", "coefficient", "estimate", "than_humans"]
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    return frame.with_columns(title=pl.col("coefficient").str.to_uppercase(), criterion=pl.col("criterion").cast(str))


def test_labels_without_criteria_are_one_criterion():
    rows = random_rows((None, "humans", "pearson", 0.5, None), (None, "enc", "pearson", 0.6, "better"))
    row = ("pearson", "PEARSON", "enc", 1, 1, 1.0, 1, 0)
    assert better_than_humans(rows).rows() == [row]


def test_better_than_humans_excludes_missing_and_equal_values():
    """People have 0.5 and enc 0.4, 0.5 and 0.6: of an error the lower is better, of a correlation the higher."""
    values = {"a": (0.5, 0.4), "b": (0.5, 0.5), "c": (0.5, 0.6), "d": (float("nan"), 0.9), "e": (0.5, float("nan"))}
    rows = random_rows(*(
        (criterion, rater, coefficient, value, "worse" if criterion in "ab" and rater == "enc" else "undecided")
        for coefficient in ("mae", "pearson", "bias")
        for criterion, both in values.items() for rater, value in zip(("humans", "enc"), both, strict=True)
    ))  # fmt: skip
    assert better_than_humans(rows).rows() == [
        ("mae", "MAE", "enc", 3, 1, 1 / 3, 0, 2), ("pearson", "PEARSON", "enc", 3, 1, 1 / 3, 0, 2)
    ]  # fmt: skip
    alone = rows.filter(pl.col("criterion") == "a").filter(pl.col("coefficient") != "bias")
    assert alone.pipe(better_than_humans)["better"].to_list() == [1, 0]


def test_rows_with_random_human_are_people_first_then_families_then_judges():
    names = ["gpt", "a random judge of encoders", "a random judge", "a random human", "ann"]
    rows = pl.DataFrame({"who": "random human", "second": names, "estimate": [0.1, 0.2, 0.3, 0.4, 0.5]})
    rows = rows.with_columns(
        group=pl.lit(None, pl.String), criterion=pl.lit("a"), coefficient=pl.lit("mae"), title=pl.lit("MAE"),
        low=0.0, high=1.0, n=9, than_humans=pl.lit(None, pl.String),
    )  # fmt: skip
    others = [rows.with_columns(group=pl.lit("f")), rows.with_columns(who=pl.lit("pairs"))]
    found = random_human_rows(pl.concat([*others, rows]), ["ann", "bob"])
    assert found.select("rater", "estimate").rows() == [
        ("humans", 0.4),
        ("encoders", 0.2),
        ("judges", 0.3),
        ("gpt", 0.1),
    ]
    with pytest.raises(DesignError, match=r"call agreement with who=\['random human'\]"):
        random_human_rows(pl.concat(others), ["ann"])


# -- pictures of small tables by hand ------------------------------------------------------------------


def drawn_rows(*rows):
    names = ["criterion", "rater", "coefficient", "title", "estimate", "low", "high", "than_humans"]
    kinds = dict.fromkeys(names[:4], pl.String) | dict.fromkeys(names[4:7], pl.Float64) | {names[7]: pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def points_of(ax):
    """(x, y, mark, colour, filled) of each point."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_marker(), to_hex(line.get_color()),
         line.get_markerfacecolor() != "none")
        for line in ax.lines if len(line.get_xydata()) == 1
    ]  # fmt: skip


def test_plot_raters_places_raters_around_criterion():
    """Three raters a quarter apart, the middle one over the tick; points that are neither are hollow except humans."""
    rows = drawn_rows(
        ("a", PEOPLE, "mae", "MAE", 0.5, 0.4, 0.6, None), ("a", "enc", "mae", "MAE", 0.3, 0.2, 0.4, "better"),
        ("a", "gpt", "mae", "MAE", 0.9, None, None, "worse"), ("b", PEOPLE, "mae", "MAE", 0.4, 0.3, 0.5, None),
        ("b", "enc", "mae", "MAE", 0.35, 0.2, 0.5, "undecided"), ("b", PEOPLE, "bias", "Bias", 7.0, 6.0, 8.0, None),
    )  # fmt: skip
    ax = plot_raters(rows, "mae")
    others = [c for c in pictures.PALETTE if c != pictures.HUMAN]
    assert points_of(ax) == [
        (-0.25, 0.5, "o", pictures.HUMAN, True), (0.0, 0.3, "^", others[0], True), (0.25, 0.9, "v", others[1], True),
        (0.75, 0.4, "o", pictures.HUMAN, True), (1.0, 0.35, "o", others[0], False),
    ]  # fmt: skip
    ends = [line.get_xydata().tolist() for line in ax.lines[1:] if len(line.get_xydata()) == 2]
    assert ends == [
        [[-0.25, 0.4], [-0.25, 0.6]], [[0, 0.2], [0, 0.4]], [[0.75, 0.3], [0.75, 0.5]], [[1, 0.2], [1, 0.5]]
    ]  # fmt: skip
    assert list(ax.lines[0].get_ydata()) == [0, 0]
    assert [(t.get_text(), x) for t, x in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)] == [
        ("a", 0), ("b", 1)
    ]  # fmt: skip
    assert ax.get_xlim() == (-0.6, 1.6)
    assert ax.get_ylabel() == "MAE with a random human"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [PEOPLE, "enc", "gpt", "significantly better", "significantly worse"]
    one = plot_raters(rows.filter(criterion="a").with_columns(criterion=pl.lit(None, pl.String)), "mae")
    assert [t.get_text() for t in one.get_xticklabels()] == ["all items"]
    assert one.get_xlim() == (-0.6, 0.6)


@pytest.mark.slow
def test_plot_coefficients_has_row_per_rater_and_column_per_coefficient():
    rows = drawn_rows(
        ("b", PEOPLE, "pearson", "Pearson's r", 0.5, None, None, None),
        ("b", "enc", "pearson", "Pearson's r", 1.0, None, None, "better"),
        ("a", PEOPLE, "pearson", "Pearson's r", 0.0, None, None, None),
        ("a", PEOPLE, "mae", "MAE", 0.9, None, None, None), ("b", PEOPLE, "bias", "Bias", -0.5, None, None, None),
        ("b", "enc", "mae", "MAE", 1.25, None, None, "worse"), ("a", "enc", "pearson", "Pearson's r", *[None] * 4),
    )  # fmt: skip
    ax = plot_coefficients(rows)
    names, columns = ["a: humans", "a: enc", "b: humans", "b: enc"], ["Pearson's r", "MAE", "Bias"]
    assert {t.get_text(): y for t, y in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)} == {
        name: 3.5 - i for i, name in enumerate(names)
    }
    assert {t.get_text(): x for t, x in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True)} == {
        name: j + 0.5 for j, name in enumerate(columns)
    }
    place = {(y, x): (r, c) for r, y in zip(names, (3.5, 2.5, 1.5, 0.5), strict=True)
             for c, x in zip(columns, (0.5, 1.5, 2.5), strict=True)}  # fmt: skip
    cells = {place[t.get_position()[1], t.get_position()[0]]: t.get_text() for t in ax.texts}
    assert cells == {
        ("b: humans", "Pearson's r"): "0.50", ("b: enc", "Pearson's r"): "1.00▲", ("a: humans", "Pearson's r"): "0.00",
        ("a: humans", "MAE"): "0.90", ("b: humans", "Bias"): "−0.50", ("b: enc", "MAE"): "1.25▼",
    }  # fmt: skip
    faces = {
        place[round(p.get_y() + p.get_height() / 2, 9), round(p.get_x() + p.get_width() / 2, 9)]: p for p in ax.patches
    }
    assert {key: to_hex(p.get_facecolor()) for key, p in faces.items()} == {
        key: pictures.HUMAN if "humans" in key[0] else pictures.JUDGE for key in cells
    }
    strength = {key: round(p.get_alpha(), 9) for key, p in faces.items()}
    none, half, full = (strength[key, "Pearson's r"] for key in ("a: humans", "b: humans", "b: enc"))
    assert none < half < full
    assert half == pytest.approx((none + full) / 2)
    assert {strength[key] for key in cells if key[1] != "Pearson's r"} == {none}  # errors and signs have no shade
    one = plot_coefficients(rows.filter(criterion="b"))
    assert [t.get_text() for t in one.get_yticklabels()] == ["humans", "enc"]
    many = [("a", f"m{k:02d}", "mae", "MAE", 0.1, None, None, None) for k in range(pictures.MOST_ROWS + 1)]
    for n in (pictures.MOST_ROWS, pictures.MOST_ROWS + 1):
        names = [t.get_text() for t in plot_coefficients(drawn_rows(*many[:n])).get_yticklabels()]
        assert names == [row[1] for row in many[: pictures.MOST_ROWS]]


def test_plot_labels_places_bars_over_label():
    """Two raters, four tenths wide each; the highest share reaches .72 of a row's height."""
    rows = [("x", PEOPLE, "no", 1, 0.2), ("x", PEOPLE, "yes", 4, 0.8), ("x", "gpt", "no", 2, 0.4),
            ("x", "gpt", "yes", 3, 0.6), ("y", PEOPLE, "1", 5, 0.5), ("y", PEOPLE, "2", 5, 0.5)]  # fmt: skip
    ax = plot_labels(pl.DataFrame(rows, schema=["criterion", "rater", "label", "n", "share"], orient="row"))
    found = [(b.get_x() + b.get_width() / 2, b.get_y(), b.get_height(), to_hex(b.get_facecolor())) for b in ax.patches]
    human, other = pictures.HUMAN, pictures.PALETTE[0]
    wanted = [
        (-0.2, 1, 0.18, human), (0.8, 1, 0.72, human), (0.2, 1, 0.36, other), (1.2, 1, 0.54, other),
        (-0.2, 0, 0.45, human), (0.8, 0, 0.45, human),
    ]  # fmt: skip
    assert [bar[:3] for bar in found] == [pytest.approx(bar[:3]) for bar in wanted]
    assert [bar[3] for bar in found] == [bar[3] for bar in wanted]
    assert all(0.3 < bar.get_width() < 0.4 for bar in ax.patches)  # a little air between neighbours
    under = [(text.get_text(), text.get_position()[0], round(text.get_position()[1] + 0.3)) for text in ax.texts]
    assert under == [("no", 0, 1), ("yes", 1, 1), ("1", 0, 0), ("2", 1, 0)]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["x", "y"]
    assert ax.get_yticks().tolist() == pytest.approx([1.3, 0.3])
    assert ax.get_ylim() == (-0.25, 1.9)
    assert ax.get_xlabel() == "share of a rater's labels; the highest bar is 80%"
    assert [list(line.get_ydata()) for line in ax.lines[:2]] == [[1, 1], [0, 0]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [PEOPLE, "gpt"]
    alone = pl.DataFrame(
        [(None, "gpt", "1", 2, 1.0)], schema=["criterion", "rater", "label", "n", "share"], orient="row"
    )
    one = plot_labels(alone.with_columns(pl.col("criterion").cast(pl.String)))
    assert [t.get_text() for t in one.get_yticklabels()] == ["all items"]
    assert (len(one.patches), one.patches[0].get_height()) == (1, pytest.approx(0.72))


def test_people_have_their_colour_and_every_other_rater_the_next():
    others = [c for c in pictures.PALETTE if c != pictures.HUMAN]
    assert family_colours(["x", PEOPLE, "y"]) == [others[0], pictures.HUMAN, others[1]]
    many = [f"m{k}" for k in range(len(others) + 1)]
    assert family_colours(many) == [*others, others[0]]


def test_rater_name_of_rows():
    words = ("a random human", "a random judge", "a random judge of lab", "gpt")
    assert [rater_name(one) for one in words] == [PEOPLE, "judges", "lab", "gpt"]


def test_eight_judges_are_shown_one_by_one_and_nine_as_one():
    families = [("a random human", ("p", "q")), ("a random judge", tuple("abcdefghi"))]
    assert raters_to_draw(families, list("abcdefgh")) == [PEOPLE, *"abcdefgh"]
    assert raters_to_draw(families, list("abcdefghi")) == [PEOPLE, "judges"]
    one = [("a random human", ("p",)), ("a random judge of lab", ("m", "n")), ("a random judge of one", ("k",))]
    assert raters_to_draw(one, ["k", "m", "n"]) == [PEOPLE, "lab", "k"]


def shares_by_hand(values, scale, families=(), judge=()):
    """Labels by two people, in turn, and perhaps by a judge."""
    rows = [(f"i{i}", "pq"[i % 2], value) for i, value in enumerate(values)]
    rows += [(f"i{i}", "m", value) for i, value in enumerate(judge)]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    labels = Annotations.from_frame(frame, judges=["m"] if judge else [], humans=["p", "q"], scale=scale)
    people = ("a random human", ("p", "q"))
    return label_shares([("tone", Ratings.of(labels), (people, *families))])


def test_twelve_numbers_are_counted_one_by_one_and_thirteen_in_twelve_ranges():
    twelve, thirteen = (shares_by_hand(list(range(n)), "interval:0-100") for n in (12, 13))
    assert twelve["label"].to_list() == [str(k) for k in range(12)]
    assert twelve["n"].to_list() == [1] * 12
    assert thirteen["label"].to_list() == [f"{k} to {k + 1}" for k in range(12)]
    assert thirteen["n"].to_list() == [1] * 11 + [2]  # the last range has both of its ends
    assert thirteen["share"].to_list() == pytest.approx([1 / 13] * 11 + [2 / 13])
    words = [chr(ord("a") + k) for k in range(13)]
    assert shares_by_hand(words, "nominal")["label"].to_list() == words


def test_family_of_one_is_its_judge():
    lone, pair = ("a random judge of lab", ("m",)), ("a random judge of both", ("m", "other"))
    rows = [
        ("tone", PEOPLE, "no", 1, 0.25), ("tone", PEOPLE, "yes", 3, 0.75), ("tone", "m", "no", 2, 1.0),
        ("tone", "m", "yes", 0, 0.0),
    ]  # fmt: skip
    assert shares_by_hand(["yes", "no", "yes", "yes"], "nominal:no,yes", [lone], ["no", "no"]).rows() == rows
    both = shares_by_hand(["yes", "no", "yes", "yes"], "nominal:no,yes", [pair], ["no", "no"])
    assert both["rater"].unique(maintain_order=True).to_list() == [PEOPLE, "both", "m"]
    silent = shares_by_hand(["yes", "no"], "nominal:no,yes", [("a random judge of none", ("x", "y"))])
    assert silent["rater"].unique().to_list() == [PEOPLE]
