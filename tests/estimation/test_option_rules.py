"""Allowed values and names of options, and their errors, signatures and JSON."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
import pytest

import assay
from assay.errors import DesignError
from assay.estimation.options import (
    LEAST_RESAMPLES,
    IntervalSettings,
    Limits,
    Settings,
    _bounds,
    check,
    digest,
    hints_of,
    level_option,
    members_of,
    number_in,
    one_of,
    option,
    plain,
    question,
    question_alone,
    question_of_two,
    seed_option,
    short,
    type_words,
    words_of,
)


def refusal(*given, **limits) -> str | None:
    try:
        check("x", *given, Limits(**limits))
    except DesignError as refused:
        return str(refused)
    return None


# -- numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "within", "outside"),
    [
        ({"low": 0, "high": 1}, (0, 0.5, 1), (-0.1, 1.1)),
        ({"low": 0, "high": 1, "low_open": True}, (0.1, 1), (0, -1)),
        ({"low": 0, "high": 1, "high_open": True}, (0, 0.9), (1, 2)),
        ({"low": 2}, (2, 99), (1.9,)),
        ({"low": 2, "low_open": True}, (2.1,), (2, 1)),
        ({"high": 2}, (2, -99), (2.1,)),
        ({"high": 2, "high_open": True}, (1.9,), (2, 3)),
        ({}, (-1e9, 0, 1e9), ()),
    ],
)
def test_range_ends_are_included_unless_open(limits, within, outside):
    assert [refusal(x, float, **limits) for x in within] == [None] * len(within)
    assert all(refusal(x, float, **limits) for x in outside)
    assert all(refusal((within[0], x), Sequence[float], **limits) for x in outside), "each of several, too"


@pytest.mark.parametrize(
    ("value", "hint", "limits", "words"),
    [
        (2, float, {"low": 0, "high": 1}, "x must lie between 0 and 1; got 2"),
        (0, float, {"low": 0, "high": 1, "low_open": True}, "x must lie between 0 and 1 but not be 0; got 0"),
        (1, float, {"low": 0, "high": 1, "high_open": True}, "x must lie between 0 and 1 but not be 1; got 1"),
        (1, float, {"low": 2}, "x must be a number of at least 2; got 1"),
        (1, float, {"low": 2, "low_open": True}, "x must be a number above 2; got 1"),
        (3, float, {"high": 2}, "x must be a number of at most 2; got 3"),
        (3, float, {"high": 2, "high_open": True}, "x must be a number below 2; got 3"),
        (-1, float, {"low": 0}, "x must be 0 or a larger number; got -1"),
        (-1, int, {"low": 0}, "x must be 0 or a larger whole number; got -1"),
        (0, int, {"low": 0, "low_open": True}, "x must be a whole number above 0; got 0"),
        (0, int, {"low": 1}, "x must be a whole number of at least 1; got 0"),
        ((3, 0), Sequence[int], {"low": 1}, "x must be whole numbers of at least 1; got (3, 0)"),
        ((3.0, -1.0), Sequence[float], {"low": 0}, "x must be numbers of at least 0; got (3.0, -1.0)"),
        (0.5, int, {"low": 1, "high": 9}, "x must be a whole number from 1 to 9; got 0.5"),
        ("a", float | None, {"low": 1}, "x must be a number of at least 1; got 'a'"),
        (1, bool, {}, "x must be True or False; got 1"),
        (1, str | None, {}, "x must be a text; got 1"),
        (1, Sequence[str] | str, {}, "x must be a list or a text; got 1"),
    ],
)  # fmt: skip
def test_refusal_names_accepted_values(value, hint, limits, words):
    assert refusal(value, hint, **limits) == words


def test_truth_values_are_no_numbers_and_numbers_are_finite():
    for value in (True, np.True_, math.nan, math.inf, "1", None):
        assert refusal(value, float) is not None
    for value in (True, 1.0, "1"):
        assert refusal(value, int) is not None
    for value, hint in (
        (np.float64(0.5), float), (np.int64(3), float), (np.int64(3), int), (np.True_, bool), (None, float | None),
        (None, None), ([1, 2], Sequence[int]), ((), Sequence[int]), (print, Callable), ({"a": 1}, Mapping[str, int]),
        (object(), Any), (3, object), ("ab", str),
    ):  # fmt: skip
        assert refusal(value, hint) is None
    assert refusal([1, "a"], Sequence[int]) is not None
    assert refusal(3, Callable) is not None
    assert refusal([1], Mapping[str, int]) is not None


def test_one_of_some_words():
    kinds = Literal["mean", "median", 3] | None
    for value in ("mean", "median", 3, None):
        assert refusal(value, kinds) is None
    assert refusal("medan", kinds) == "x must be mean, median or 3; got 'medan'; did you mean 'median'?"
    assert refusal(4, kinds) == "x must be mean, median or 3; got 4"
    assert refusal(3.0, kinds) is not None
    assert refusal(3, Literal[True]) is not None
    assert refusal(("mean", "zzz"), Sequence[Literal["mean", "max"]]) == "x must be mean or max; got 'zzz'"
    assert one_of("x", "b", iter("ab")) == "b"
    with pytest.raises(DesignError, match=r"^x must be a; got 'q'$"):
        one_of("x", "q", ["a"])


def test_number_in_refuses_invalid_number():
    number_in("x", 0.5, above=0, below=1)
    number_in("x", 3, low=3, high=3, whole=True)
    number_in("x", 0.5)
    for value, limits, words in (
        (0, {"above": 0, "below": 1}, "x must lie between 0 and 1 but not be 0; got 0"),
        (1, {"above": 0, "below": 1}, "x must lie between 0 and 1 but not be 1; got 1"),
        (2.5, {"low": 1, "whole": True}, "x must be a whole number of at least 1; got 2.5"),
        (2, {"low": 3}, "x must be a number of at least 3; got 2"),
        (2, {"high": 1}, "x must be a number of at most 1; got 2"),
    ):  # fmt: skip
        with pytest.raises(DesignError) as refused:
            number_in("x", value, **limits)
        assert str(refused.value) == words
        assert refused.value.option == "x"


def test_ranges_in_words():
    for limits, words in (
        ((1, 2), " from 1 to 2"), ((1, None), " of at least 1"), ((None, 2), " of at most 2"), ((None, None), ""),
        ((0, None), " of at least 0"), ((None, 0), " of at most 0"), ((0, 0), " from 0 to 0"),
    ):  # fmt: skip
        assert _bounds(Limits("", *limits)) == words


# -- types in words -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "default", "words"),
    [
        (Literal["a", "b", "c"], "b", '{"b", "a", "c"}'), (Literal["a", "b"], None, '"a" or "b"'),
        (float, 0.5, "float"),
        (float | None, None, "float, optional"), (Literal["a"] | float, "a", '{"a"} or float'),
        (Sequence[str] | None, None, "list of str, optional"), (tuple[int, ...], (), "list of int"),
        (Any, None, "object"), (object, None, "object"), (Callable, None, "callable"),
        (Callable[[int], int] | None, None, "callable, optional"), (Literal[1, 2], 2, "{2, 1}"),
        (Mapping[str, int], None, "mapping"), (int | float, 1, "int or float"), (pl.DataFrame, None, "dataframe"),
    ],
)  # fmt: skip
def test_type_words_for_help(hint, default, words):
    assert type_words(hint, default) == words


def test_members_and_words_of_types():
    assert members_of(int | None | str) == (int, type(None), str)
    assert members_of(float) == (float,)
    assert words_of(Literal["a", "b"] | Sequence[Literal["b", "c"]] | None) == ("a", "b", "c")
    assert words_of(Sequence[int]) == words_of(str) == ()


# -- settings -----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Wished(Settings):
    epsilon: Annotated[float, Limits("How much less.", low=0, high=1, key="eps", always=True)]
    _: dataclasses.KW_ONLY
    names: Sequence[str] = option((), "Whose.", details="All.")
    level: float = level_option()
    seed: int = seed_option()
    bar: bool = option(False, "A bar.", transient=True)
    quiet: int = option(1, key="")
    by: str | None = option(None)


def test_signature_has_changed_and_always_named_options():
    one = Wished(0.25)
    assert one.signed() == {"eps": "0.25"}
    assert one.changed() == {"epsilon": 0.25}
    other = Wished(0.0, names=["a", "b"], level=0.9, bar=True, quiet=2, by="x", seed=7)
    assert other.signed() == {"eps": "0.00", "names": "a,b", "level": "0.90", "seed": "7", "by": "x"}
    assert other.names == ("a", "b")
    assert other.to_dict() == {
        "epsilon": 0.0, "names": ["a", "b"], "level": 0.9, "seed": 7, "quiet": 2, "by": "x",
    }  # fmt: skip
    assert list(other.changed()) == ["epsilon", "names", "level", "seed", "bar", "quiet", "by"]


def test_limits_of_options():
    assert option(1, "h", low=0, high=2, key="k").metadata["option"] == Limits("h", 0, 2, key="k")
    assert option(1, above=0, below=2).metadata["option"] == Limits("", 0, 2, low_open=True, high_open=True)
    assert option(1, transient=True).metadata["option"] == Limits(hidden=True, transient=True)
    assert option(1, hidden=True, first=True, always=True).metadata["option"] == Limits(
        hidden=True, first=True, always=True
    )
    level = level_option()
    assert (level.default, level.metadata["option"].key) == (0.95, "level")
    assert (seed_option().default, seed_option().metadata["option"]) == (0, Limits("Random seed.", low=0))
    assert seed_option(always=True).metadata["option"].always


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"n_resamples": LEAST_RESAMPLES}, False), ({"n_resamples": LEAST_RESAMPLES - 1}, True),
        ({"confidence": 0.0}, True), ({"confidence": 1.0}, True), ({"confidence": 0.5}, False), ({"seed": -1}, True),
        ({"seed": 0}, False), ({"method": "bca"}, False), ({"method": "boot"}, True),
    ],
)  # fmt: skip
def test_interval_options_accept_and_refuse(options, refused):
    for _ in range(2):  # a second time from those that were checked before
        if refused:
            with pytest.raises(DesignError):
                IntervalSettings.of(options)
        else:
            assert IntervalSettings.of(options) == IntervalSettings(**options)
    plainly = IntervalSettings()
    assert (plainly.method, plainly.n_resamples, plainly.confidence, plainly.seed) == ("jackknife", 2000, 0.95, 0)
    assert LEAST_RESAMPLES == 20


def test_similar_settings_have_different_signatures():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Loose(Settings):
        x: object = option(None)

    assert [type(Loose.of({"x": x}).x) for x in (1, 1.0, True, "1")] == [int, float, bool, str]
    kept = [Loose.of({"x": i}) for i in range(600)]
    assert [one.x for one in kept] == list(range(600))
    assert Loose.of({"x": [1]}).x == (1,)


def test_words_of_before_and_unknown_ones_are_refused():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Renamed(Settings):
        renamed = {"old": "new"}  # noqa: RUF012
        new: float = option(1.0)

    with pytest.raises(DesignError, match=r"^old=\.\.\. is now new$") as refused:
        Renamed.of({"old": 1})
    assert refused.value.option == "old"
    with pytest.raises(DesignError, match="option 'nw' is not in the options; did you mean 'new'"):
        Renamed.of({"nw": 1})
    with pytest.raises(DesignError, match="is not in the options of share"):
        Renamed.of({"nw": 1}, "share")


# -- questions ----------------------------------------------------------------------------------------


@question(Wished)
def shares(numbers, settings):
    """Which share?

    Returns
    -------
    tuple
    """
    return numbers, settings


@question_of_two(Wished)
def two_of(numbers, others, settings):
    """Which of both?"""
    return numbers, others, settings


@question_alone(Wished)
def alone(settings):
    """What is wished?"""
    return settings


def test_options_by_position_or_name():
    assert shares([1], 0.1) == ([1], Wished(0.1))
    assert shares([1], epsilon=0.1, by="x") == ([1], Wished(0.1, by="x"))
    assert shares(numbers=[1], epsilon=0.1) == ([1], Wished(0.1))
    assert two_of([1], [2], 0.1) == two_of([1], others=[2], epsilon=0.1) == ([1], [2], Wished(0.1))
    assert alone(0.1) == Wished(0.1)
    assert alone(epsilon=0.1, seed=3) == Wished(0.1, seed=3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shares([1], 0.1, 2), "shares() takes at most 2 arguments by position; got 3. Give options by name"),
        (
            lambda: two_of([1], [2], 0.1, 2),
            "two_of() takes at most 3 arguments by position; got 4. Give options by name",
        ),
        (lambda: alone(0.1, 2), "alone() takes 1 argument by position; got 2. Give options by name"),
        (lambda: shares([1], 0.1, epsilon=0.1), "shares() got several values for epsilon"),
        (lambda: shares([1]), "shares() is missing epsilon; help(assay.shares) has an example"),
        (lambda: alone(), "alone() is missing epsilon; help(assay.alone) has an example"),
    ],
)
def test_wrong_call_is_refused_like_python(call, words):
    with pytest.raises(TypeError) as refused:
        call()
    assert str(refused.value) == words


def test_signature_parameters_for_help():
    parameters = inspect.signature(shares).parameters
    assert list(parameters) == ["numbers", "epsilon", "names", "level", "seed", "bar", "quiet", "by"]
    assert parameters["epsilon"].default is inspect.Parameter.empty
    assert parameters["epsilon"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {p.kind for name, p in parameters.items() if name not in ("numbers", "epsilon")} == {
        inspect.Parameter.KEYWORD_ONLY
    }
    assert parameters["level"].default == 0.95
    assert list(inspect.signature(two_of).parameters)[:3] == ["numbers", "others", "epsilon"]
    assert next(iter(inspect.signature(alone).parameters)) == "epsilon"
    assert shares.settings is Wished


def test_docstring_lists_options_last():
    options = (
        "epsilon : float\n    How much less.\nnames : list of str, default ()\n    Whose. All.\n"
        "level : float, default 0.95\n    Confidence level of the intervals.\nseed : int, default 0\n    Random "
        "seed.\nbar : bool\n    A bar.\nquiet : int, default 1\nby : str, optional"
    )
    assert shares.__doc__ == f"Which share?\n\nParameters\n----------\n{options}\n\nReturns\n-------\ntuple"
    assert two_of.__doc__ == f"Which of both?\n\nParameters\n----------\n{options}"

    @question(Wished)
    def documented(numbers, settings):
        """Which share?

        Parameters
        ----------
        numbers : list
            Some.

        Raises
        ------
        DesignError
        """

    assert documented.__doc__ == (
        f"Which share?\n\nParameters\n----------\nnumbers : list\n    Some.\n{options}\n\nRaises\n------\nDesignError"
    )
    assert hints_of(Wished)["epsilon"][0] is float


@dataclasses.dataclass(frozen=True)
class Table:
    """As a table of labels, of which a question needs to know the judges."""

    judges: tuple[str, ...]


Table.__module__ = "assay.of_a_test"


@question_of_two(Wished)
def checked(labels, judge, settings):
    """Is the judge good?"""
    return labels, judge, settings.epsilon


@question(Wished)
def opened(labels, settings):
    """What labels?"""
    return labels


def test_only_judge_is_default():
    one, two, none = Table(("m",)), Table(("m", "n")), Table(())
    assert checked(one, epsilon=0.1) == checked(labels=one, epsilon=0.1) == (one, "m", 0.1)
    assert checked(two, "n", 0.2) == checked(two, judge="n", epsilon=0.2) == (two, "n", 0.2)
    with pytest.raises(DesignError, match=r"^checked needs the name of a judge, one of m, n$") as refused:
        checked(two, epsilon=0.1)
    assert refused.value.option == "judge"
    with pytest.raises(DesignError, match=r"judge, and the table has none: read it with judges=\[\.\.\.\]$"):
        checked(none, epsilon=0.1)
    assert opened(two, 0.1) is opened(labels=two, epsilon=0.1) is two
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'labels'"):
        opened(epsilon=0.1)


def test_path_is_read_as_table_and_judge_is_named(monkeypatch):
    read = []

    def labels_of(name, given, judge):
        read.append((name, given, judge))
        return (Table(("m", "n")), *given[1:])

    monkeypatch.setattr("assay.reading.labels_of", labels_of)
    assert checked("a.csv", "n", 0.1)[1:] == ("n", 0.1)
    assert checked("a.csv", judge="n", epsilon=0.1)[1:] == ("n", 0.1)
    assert opened(labels="a.csv", epsilon=0.1) == Table(("m", "n"))
    assert opened("a.csv", 0.1) == Table(("m", "n"))
    assert read == [
        ("checked", ("a.csv", "n", 0.1), "n"), ("checked", ("a.csv",), "n"), ("opened", ("a.csv",), None),
        ("opened", ("a.csv", 0.1), None),
    ]  # fmt: skip


# -- saying -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "yes"), (False, "no"), (np.True_, "yes"), (0.1, "0.10"), (0.125, "0.125"), (2.0, "2.00"), (3, "3"),
        (np.float64(0.25), "0.25"), ("a|b", "a/b"), ((1, 0.5, "x"), "1,0.50,x"), ([], ""), (tuple(range(12)), None),
    ],
)  # fmt: skip
def test_short_value_in_signature(value, words):
    assert short(value) == (",".join(map(str, value)) if words is None else words)


def test_long_values_are_named_with_their_digest():
    many = tuple(range(13))
    assert short(many) == f"tuple@{digest(many)}"
    assert short((1, None)) == f"tuple@{digest((1, None))}"
    named = {"a": 0.5}
    assert short({"r": range(1, 4), "o": 2}) == "r=1,2,3;o=2"
    assert short({"r": range(1, 40)}) == f"dict@{digest({'r': range(1, 40)})}"
    assert short({"r": []}) != short({}) == "none"
    assert short(named) == f"dict@{digest(named)}"
    assert short(math.sqrt) == f"sqrt@{digest(math.sqrt)}"
    assert len(digest(named)) == 6
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({1, 2, 3}) == digest({3, 2, 1})
    assert digest(np.arange(6).reshape(2, 3)) != digest(np.arange(6).reshape(3, 2))
    one, other = (pl.DataFrame({"a": values}) for values in ([1, 2], [2, 1]))
    assert digest(one) == digest(one.clone()) != digest(other)
    assert digest(Wished(0.1)) != digest(Wished(0.2))
    assert digest({np.str_("a"): (np.float64(0.5), np.int64(2))}) == digest({"a": (0.5, 2)}), "one number, one digest"

    def adder(k):
        return lambda x: x + k

    assert digest(adder(1)) == digest(adder(1)) != digest(adder(2))


def test_recursive_value_has_digest_and_six_levels_differ():
    class Thing:
        pass

    @dataclasses.dataclass
    class Holder:
        held: object = None

    one, two, three, four = [], {}, Thing(), Holder()
    one.append(one)
    two["x"] = two
    three.x = three
    four.held = four
    for value in (one, two, three, four):
        assert digest(value) == digest(value)

    def nested(value, levels: int, hold):
        for _ in range(levels):
            value = hold(value)
        return value

    for hold in (lambda x: [x], lambda x: {"a": x}, lambda x: (x,)):
        assert digest(nested(1, 6, hold)) != digest(nested(2, 6, hold))


def test_plain_option_as_json():
    for value, wanted in (
        (np.int64(3), 3), (Wished(0.5), Wished(0.5).to_dict()), ((1, (2, None)), [1, [2, None]]),
        ({1: (2,)}, {"1": [2]}), ("a", "a"), (True, True), (None, None), (0.5, 0.5),
    ):  # fmt: skip
        assert plain(value) == wanted
    few, many = ({i: i for i in range(n)} for n in (100, 101))
    assert plain(few) == {str(i): i for i in range(100)}
    assert plain(many) == short(many)
    assert plain(math.sqrt) == short(math.sqrt)


def blas_threads() -> set[int]:
    from threadpoolctl import threadpool_info

    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_a_question_uses_one_thread_of_blas_and_leaves_the_callers_number():
    import scipy.linalg  # noqa: F401 - it has another BLAS
    from threadpoolctl import threadpool_limits

    seen: list[set[int]] = []

    def score(label: Any, others: list[Any]) -> float:
        seen.extend([blas_threads()] if not seen else [])
        return float(label == others[0])

    labels = assay.simulate(n_items=30, judges={"gpt": 0.3}, seed=1)
    with threadpool_limits(2, user_api="blas"):
        assay.alt_test(labels, "gpt", score=score, epsilon=0.2, min_items=2)
        assert (seen, blas_threads()) == ([{1}], {2})
