"""Check a policy file in CI: the verdict, drift and estimates.

``assay.toml`` states the checks; the exit status is 0 pass, 1 fail, 2 undecided, 3 error. As for every verdict,
`before_verdict` counts the interim analysis and compares the labels with the preregistered plan.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, ClassVar, Literal
from xml.sax.saxutils import escape, quoteattr

import polars as pl

from assay.data.annotations import Annotations
from assay.errors import AssayError, DesignError, listing, nearest_name, unknown
from assay.estimates.corrected import CorrectedEstimate, EstimateSettings, estimate
from assay.estimates.drift import JUDGE, DriftSettings, drift
from assay.estimation.intervals import Estimate
from assay.estimation.options import Settings, option, question_alone
from assay.estimation.result import Result, Run, fingerprint_with
from assay.reading import columns_of_judges, read_where
from assay.replacement.alt_test import AltTest, alt_test
from assay.replacement.page import card
from assay.replacement.panel import AltTestSettings
from assay.reporting.page import GATE_MARK
from assay.verdict import words
from assay.verdict.preregistration import before_verdict, study_plan

Status = Literal["pass", "fail", "undecided", "error"]

EXIT: Mapping[Status, int] = {"pass": 0, "fail": 1, "undecided": 2, "error": 3}
"""The exit status of each result."""

POWER = 0.8
"""Probability with which a check of the advised size is conclusive, if the estimate is the true value."""

LIKELY = 1 + NormalDist().inv_cdf(POWER) / NormalDist().inv_cdf(0.975)
"""Half-widths of a 95% interval between the true value and a bound at which a check is conclusive with `POWER`."""

NO_VERDICT = (
    "The policy has no [verdict], so the judge is not tested against the annotators; a judge that ignores the items "
    "can pass these checks."
)

POLICY = "assay.toml"
"""The default policy file."""

_TOP = ("labels", "judge", "read", "verdict", "drift", "estimate")
"""Keys of a policy file, in their order."""

_DRIFT = ("before", "anchors", "most", "text", "clusters", "judge")
_BOUNDS = ("at_least", "at_most", "most_half_width")
_ESTIMATE = ("name", "of", "by", "contrast", "sources", *_BOUNDS, "slices", *(f"difference_{one}" for one in _BOUNDS))


@dataclass(frozen=True)
class GateSettings(Settings):
    """Options of `assay.gate`."""

    policy: str = option(POLICY, "The policy file.", key="")
    labels: str | None = option(None, "Labels to check instead of those in the policy.", key="", first=True)
    before: str | None = option(None, "Earlier run to use instead of the one in the policy.", key="", first=True)
    read: Mapping[str, Any] | None = option(
        None, "Options of reading that override those of [read] in the policy; ``where`` keeps rows, as there.", key="",
        hidden=True,
    )  # fmt: skip


@dataclass(frozen=True)
class GateCheck:
    """One check of the policy.

    Attributes
    ----------
    name : str
        ``verdict``, ``verdict of CRITERION``, ``drift``, ``estimate NAME``; with ``by`` or ``contrast``
        ``estimate NAME: SLICE``, and of a difference ``estimate NAME: A − B``.
    status : str
        ``pass``, ``fail``, ``undecided`` or ``error``.
    words : str
        The result.
    advice : str
        How to make an undecided check conclusive.
    found : Estimate or None
        The estimate that is compared with the bounds of the policy.
    n : int or None
        Items of the estimate.
    quantity : str
        What is estimated: ``agreement_ratio`` (R, of a verdict), ``judge drift`` (the judge's change), or the quantity
        of an estimate.
    test : AltTest or None
        The test behind a verdict: its code, p-values, rho, omega and epsilon.
    """

    name: str
    status: Status
    words: str
    advice: str = ""
    found: Estimate | None = field(default=None, repr=False, metadata={"json": False})
    n: int | None = None
    quantity: str = ""
    test: AltTest | None = field(default=None, repr=False, compare=False)

    def numbers(self) -> dict[str, Any]:
        """The verdict and its numbers, null for other checks: code, p-values, rho, omega, epsilon."""
        if self.test is None:
            return dict.fromkeys(_NUMBERS)
        test, tests = self.test, self.test.verdict_tests
        values = (
            *(test.verdict, tests.p_noninferior, tests.p_item_level, tests.p_ratio_above),
            *(test.advantage_probability.estimate, test.winning_rate, test.epsilon),
        )
        return dict(zip(_NUMBERS, values, strict=True))


_NUMBERS = (
    *("verdict", "p_noninferior", "p_item_level", "p_ratio_above"),
    *("advantage_probability", "winning_rate", "epsilon"),
)  # fmt: skip
"""Columns of `GateResult.table` about a verdict."""


@dataclass(frozen=True, eq=False)
class GateResult(Result):
    """The checks of a policy together.

    Attributes
    ----------
    status : {"pass", "fail", "undecided", "error"}
        The worst of the checks: ``error``, then ``fail``, then ``undecided``. Whether the judge can replace annotators
        is the verdict of a policy with [verdict]; other checks do not test it.
    checks : tuple of GateCheck
    exit_code : int
        0, 1, 2 or 3.
    """

    symbol: ClassVar[str] = "found"

    status: Status
    checks: tuple[GateCheck, ...]
    run: Run

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 undecided, 3 error."""
        return EXIT[self.status]

    @property
    def table(self) -> pl.DataFrame:
        """One row per check: ``check``, ``status``, ``estimate``, ``low``, ``high``, ``n``, ``reason``, ``quantity``.

        ``estimate`` is the ``quantity`` that is checked; of a verdict R, the agreement ratio. A verdict also has its
        code ``verdict``, the p-values of its three tests, ``advantage_probability`` (rho), ``winning_rate`` (omega)
        and ``epsilon``; they are null for other checks.
        """
        rows = [
            {
                "check": one.name, "status": one.status,
                **(dict.fromkeys(("estimate", "low", "high")) if one.found is None else one.found.row()), "n": one.n,
                "reason": None if one.found is not None and math.isfinite(one.found.low) else one.words,
                "quantity": one.quantity or None, **one.numbers(),
            }
            for one in self.checks
        ]  # fmt: skip
        numbers = dict.fromkeys(("estimate", "low", "high", *_NUMBERS), pl.Float64)
        texts = dict.fromkeys(("reason", "quantity", "verdict"), pl.String)
        return pl.DataFrame(rows, schema_overrides={**numbers, "n": pl.Int64, **texts})

    def row_estimates(self) -> Sequence[Estimate | None]:
        """The estimate of each check."""
        return tuple(one.found for one in self.checks)

    @property
    def confidence(self) -> float:
        """Level of the intervals of tests and estimates, .95."""
        return 0.95

    def summary(self) -> str:
        """The status, and the result of each check."""
        lines = [words.gate_headline(self.status, self.exit_code)]
        for one in self.checks:
            lines.append(f"{one.name}: {one.status} – {one.words}")
            if one.advice:
                lines.append(f"  {one.advice}")
        return "\n".join([*lines, *self.run.closing()])

    def markdown(self) -> str:
        """A comment for a pull request."""
        marks = {"pass": "✅", "fail": "❌", "undecided": "❔", "error": "⚠️"}
        head = f"### {marks[self.status]} {GATE_MARK}: {self.status}"
        lines = [head, "", "| check | status | result |", "|---|---|---|"]
        for one in self.checks:
            found = " ".join(f"{one.words} {one.advice}".split()).replace("|", "\\|")
            lines.append(f"| {one.name} | {marks[one.status]} {one.status} | {found} |")
        notes = [f"- {one}" for one in self.cautions]
        return "\n".join([*lines, "", *notes, f"`{self.signature}`", ""])

    def junit(self) -> str:
        """The checks as JUnit XML: ``fail`` and ``undecided`` are failures of these types, ``error`` an error.

        No check is skipped: as for the exit status and in pytest, only ``pass`` is a success.
        """
        kinds = [_JUNIT.get(one.status) for one in self.checks]
        counts = f'failures="{kinds.count("failure")}" errors="{kinds.count("error")}" skipped="0"'
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuite name="{GATE_MARK}" tests="{len(self.checks)}" {counts}>',
        ]
        for one in self.checks:
            found = f"{one.words} {one.advice}".strip()
            kind = _JUNIT.get(one.status)
            body = (
                f"<system-out>{escape(found)}</system-out>"
                if kind is None
                else f'<{kind} type="{one.status}" message={quoteattr(found)}/>'
            )
            lines.append(f'  <testcase classname="assay.gate" name={quoteattr(one.name)}>{body}</testcase>')
        return "\n".join([*lines, "</testsuite>", ""])


_JUNIT: Mapping[Status, str] = {"fail": "failure", "undecided": "failure", "error": "error"}
"""The element of each status in JUnit XML."""


@question_alone(GateSettings)
def gate(settings: GateSettings) -> GateResult:
    r"""Check a policy in CI: the verdict, drift and estimates, each pass, fail, undecided or error.

    Errors in the policy or the labels are not raised: the status is ``error``, with the reason.

    Examples
    --------
    >>> import assay, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> labels = assay.simulate(n_items=60, judges={"gpt": 0.2}, seed=1)
    >>> labels.to_polars().write_csv(folder / "labels.csv")
    >>> rules = ["labels = 'labels.csv'", "judge = 'gpt'", "[verdict]", "epsilon = 0.2"]
    >>> size = (folder / "assay.toml").write_text("\n".join(rules))
    >>> found = assay.gate(str(folder / "assay.toml"))
    >>> found.status, found.exit_code
    ('pass', 0)
    """
    policy: dict[str, Any] = {}
    data = ""
    cautions: tuple[str, ...] = ()
    try:
        policy = _policy(Path(settings.policy))
        policy |= {"read": {**policy.get("read", {}), **settings.read}} if settings.read else {}
        folder = Path(settings.policy).parent
        source = settings.labels or [str(folder / one) for one in _files(policy)]
        labels = _read(source, policy)
        data = labels.fingerprint
        checks, cautions = _checks(policy, labels, folder, settings)
    except AssayError as error:
        checks = [GateCheck("policy", "error", _in_policy(_sentence(str(error))))]
    order: tuple[Status, ...] = ("error", "fail", "undecided", "pass")
    status = next(one for one in order if any(check.status == one for check in checks))
    run = Run("gate", settings, fingerprint_with(data, policy=repr(sorted(policy.items(), key=repr))),
              {"checks": len(checks)}, cautions=tuple(cautions))  # fmt: skip
    return GateResult(status, tuple(checks), run)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


_KEYWORD = re.compile(r"(?<![\w'\"(.-])([a-z_]+)=(?=['\"\[{\d]|True|False)")
"""An option with a value, as in Python; `True` is ``true`` in TOML."""


def _in_policy(text: str, labels: Annotations | None = None) -> str:
    """A message with its options as the policy file has them: ``judges = ['gpt']``, ``where = 'scale=1-5'``."""

    def rows(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'")
        if value == "..." and labels is not None:
            value = next((str(one) for one in labels.values_of(name) if one is not None), value)
        return f"where = '{name}={value}' in [read]"

    text = re.sub(r"labels\.where\((\w+)=('[^']*'|[^()]*)\)", rows, text)
    text = _KEYWORD.sub(r"\1 = ", text.replace("=...", ""))
    return re.sub(r"(?<= = )(True|False)", lambda match: match[0].lower(), text)


def _error_words(error: AssayError, section: str, labels: Annotations | None = None) -> str:
    """The error of a check, with the section of the policy that has its options."""
    text = _in_policy(_sentence(str(error)), labels)
    return text if f"[{section}]" in text else f"[{section}] of the policy: {text}"


def _policy(path: Path) -> dict[str, Any]:
    """Read a policy file.

    Raises
    ------
    DesignError
        If there is no such file, or it is not a policy.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DesignError(f"the policy file '{path}' does not exist; write one, as in examples/assay.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise DesignError(f"'{path}' cannot be read as TOML: {' '.join(str(error).split())}") from None
    for key in found:
        if key not in _TOP:
            raise DesignError(unknown("key", key, _TOP, str(path)))
    if not all(isinstance(file, str) for file in _files(found) or [None]):
        raise DesignError(f'{path} must set labels = "...", a file or the folder of a study, or a list of them')
    if not isinstance(found.get("judge"), str):
        raise DesignError(f'{path} must set judge = "...", the judge to check')
    if not any(key in found for key in ("verdict", "drift", "estimate")):
        raise DesignError(f"{path} has no check; add [verdict], [drift] or [[estimate]]")
    return found


def _files(policy: Mapping[str, Any]) -> list[Any]:
    """The files of labels as a list; the policy stays as written, since its signature is of what is written."""
    files = policy.get("labels")
    return files if isinstance(files, list) else [files]


def _read(source: str | os.PathLike[str] | Sequence[str], policy: Mapping[str, Any]) -> Annotations:
    """Read the labels of a file or study, or of several files of the same items, with the options of the policy."""
    options = dict(policy.get("read", {}))
    files = [source] if isinstance(source, str | os.PathLike) else [*source]
    for file in files:
        if not Path(file).exists():
            raise DesignError(f"the file or folder '{file}' does not exist")
    if not any((Path(file) / "study.yaml").is_file() for file in files):
        options.setdefault("judges", [policy["judge"]])
    if len(files) == 1 and (columns := columns_of_judges(files[0], options.get("columns"), options.get("judges"))):
        # A run without people can be checked for drift; a verdict on it is an error.
        options["columns"] = columns
    try:
        labels = read_where(files[0] if len(files) == 1 else files, options)
    except TypeError as error:
        raise DesignError(f"[read] of the policy: {error}") from None
    except AssayError as error:
        raise DesignError(_error_words(error, "read")) from error
    return labels


def _checks(
    policy: Mapping[str, Any], labels: Annotations, folder: Path, settings: GateSettings
) -> tuple[list[GateCheck], tuple[str, ...]]:
    """Run every check separately, so that an error in one does not hide the others."""
    checks: list[GateCheck] = []
    cautions: tuple[str, ...] = () if "verdict" in policy else (NO_VERDICT,)
    if "verdict" in policy:
        try:
            found, cautions = _verdicts(policy, labels)
            checks += found
        except AssayError as error:
            checks.append(GateCheck("verdict", "error", _error_words(error, "verdict", labels)))
    if "drift" in policy:
        moved = _try_check("drift", partial(_drift_check, policy, labels, folder, settings), labels)
        checks.append(replace(moved, quantity=JUDGE if moved.found is not None else ""))
    for i, wanted in enumerate(policy.get("estimate", [])):
        name = f"estimate {wanted.get('name', i + 1)}"
        try:
            checks += _estimate_checks(wanted, name, policy, labels)
        except AssayError as error:
            checks.append(GateCheck(name, "error", _error_words(error, "estimate", labels)))
    return checks, cautions


def _try_check(name: str, make: Callable[[], GateCheck], labels: Annotations) -> GateCheck:
    try:
        return make()
    except AssayError as error:
        return GateCheck(name, "error", _error_words(error, name.partition(" ")[0], labels))


def _refuse_unknown(given: Mapping[str, Any], names: Sequence[str], where: str) -> None:
    for key in given:
        if key not in names:
            raise DesignError(_unknown_key(key, names, where))


def _unknown_key(key: str, names: Sequence[str], where: str) -> str:
    """Return the message for an unknown key, with all that there are: a policy has no help but its documentation."""
    if nearest_name(key, names) is None:
        return f"key '{key}' is not in [{where}] of the policy; it has {', '.join(names)} (docs: Keys of a policy)"
    return unknown("key", key, names, f"[{where}] of the policy")


# -- the checks --------------------------------------------------------------------------------------------


def _verdicts(policy: Mapping[str, Any], labels: Annotations) -> tuple[list[GateCheck], tuple[str, ...]]:
    """The verdict on the judge, on each criterion in the policy or in the table."""
    given = dict(policy["verdict"])
    criteria = given.pop("criteria", list(labels.criteria))
    _refuse_unknown(given, [f.name for f in fields(AltTestSettings)], "verdict")
    made = AltTestSettings.of(given, "alt_test")
    made, first = before_verdict(labels, [policy["judge"]], made, study_plan(labels))
    options = made.changed()
    checks = []
    for criterion in criteria or [None]:
        part = labels if criterion is None else labels.where(criterion=criterion)
        test = alt_test(part, policy["judge"], **options)
        shown = card(test)
        status: Status = (
            "pass" if test.verdict == "replace"
            else "fail" if test.verdict in ("do_not_replace", "mixed")
            else "undecided"
        )  # fmt: skip
        name = "verdict" if criterion is None else f"verdict of {criterion}"
        advice = "" if status == "pass" else " ".join(shown.advice.split())
        said, ratio = words.verdict_check(test), test.agreement_ratio
        checks.append(GateCheck(name, status, said, advice, ratio, test.n_items, "agreement_ratio", test))
    return checks, first


def _drift_check(policy: Mapping[str, Any], labels: Annotations, folder: Path, settings: GateSettings) -> GateCheck:
    """The judge drift against the largest allowed change."""
    given = dict(policy["drift"])
    _refuse_unknown(given, _DRIFT, "drift")
    most = _number(given, "most", "drift")
    source = settings.before or (str(folder / given["before"]) if "before" in given else None)
    if most is None or source is None:
        raise DesignError("[drift] of the policy must set before = \"...\", the earlier run, and most = 0.05, the "
                          "largest allowed change")  # fmt: skip
    if most >= 1 and not all(scale.numeric for scale in labels.scales.values()):
        raise DesignError(f"[drift] of the policy: most = {most:g} is of a share; give it as a share, such as 0.05")
    options: dict[str, Any] = {"judge": given.get("judge", policy["judge"]), "judge_after": policy["judge"]}
    options |= {key: given[key] for key in ("text", "clusters") if key in given}
    if "anchors" in given:
        options["anchors"] = _read(folder / given["anchors"], {**policy, "judge": options["judge"]})
    found = drift(_read(source, {**policy, "judge": options["judge"]}), labels, **DriftSettings.of(options).changed())
    one = found.lines[JUDGE]
    if one.reason is not None:
        return GateCheck("drift", "undecided", _sentence(one.reason), "", one, found.n[JUDGE])
    status: Status = (
        "pass" if -most <= one.low and one.high <= most
        else "fail" if one.low > most or one.high < -most
        else "undecided"
    )  # fmt: skip
    advice = ""
    if status == "undecided":
        needed = _Bounds("", -most, most, None).needed(one, found.n[JUDGE])
        advice = words.more_anchors(max(needed, found.n[JUDGE] + 1))
    said = " ".join([words.drift_check(one, most), *(f"Caution: {caution}" for caution in found.cautions)])
    return GateCheck("drift", status, said, advice, one, found.n[JUDGE])


def _estimate_checks(
    wanted: Mapping[str, Any], name: str, policy: Mapping[str, Any], labels: Annotations
) -> list[GateCheck]:
    """Corrected estimates against their bounds: one, one for each slice or system, one for each pair of systems."""
    known = [f.name for f in fields(EstimateSettings) if f.name != "judge"]
    _refuse_unknown(wanted, [*_ESTIMATE, *(one for one in known if one not in _ESTIMATE)], "estimate")
    each, pairs = (_Bounds.of(wanted, prefix) for prefix in ("", "difference_"))
    if not (each.any or pairs.any):
        raise DesignError("[[estimate]] of the policy must set at_least, at_most or most_half_width")
    if pairs.any and "contrast" not in wanted:
        raise DesignError("[[estimate]] of the policy: difference_... are bounds of differences of systems; name the "
                          "column of systems with contrast = \"...\"")  # fmt: skip
    found = estimate(labels, policy["judge"], **{k: v for k, v in wanted.items() if k in known})
    shares = found.target == "shares"
    for bounds in (each, pairs):
        bounds.refuse_percent(shares=shares)
    of = _quantity(found, wanted)
    slices = _slices(found, wanted)
    lines = [one for one in found.lines if one.quantity == of and one.slice in slices] if each.any else []
    checks = []
    for line in lines:
        about = name if line.slice is None else f"{name}: {line.slice}"
        checks.append(_bound_check(about, of, line.found, (line.n, line.n_all), each, shares=shares))
    for one in found.contrasts if pairs.any else ():
        if one.label in (None, of) and {one.first, one.second} & slices:
            about = f"{name}: {one.first} − {one.second}"
            checks.append(_bound_check(about, of, one.found, (one.n, one.n_all), pairs, shares=shares))
    # The cautions are of the whole estimate: its first check states them.
    said = " ".join(f"Caution: {caution}" for caution in found.cautions)
    return [replace(one, words=f"{one.words} {said}".strip()) if k == 0 else one for k, one in enumerate(checks)]


def _quantity(found: CorrectedEstimate, wanted: Mapping[str, Any]) -> str:
    """Return the quantity that is checked: the only one, or ``of``."""
    known = list(dict.fromkeys(one.quantity for one in found.lines)) or ["mean"]
    if "of" in wanted:
        if str(wanted["of"]) not in known:
            raise DesignError(unknown("number", wanted["of"], known, "the estimate"))
        return str(wanted["of"])
    if len(known) > 1:
        what = "the shares of the labels" if found.target == "shares" else "several numbers:"
        raise DesignError(
            f"[[estimate]] of the policy estimates {what} {listing(known)}; choose the one that is checked with "
            f'of = "...", such as of = "{known[-1]}"'
        )
    return known[0]


def _slices(found: CorrectedEstimate, wanted: Mapping[str, Any]) -> set[str | None]:
    """Return the slices or systems that are checked: those that the policy names, or all."""
    every = {one.slice for one in found.lines} | {s for one in found.contrasts for s in (one.first, one.second)}
    if "slices" not in wanted:
        return every
    given = wanted["slices"]
    names = [str(one) for one in given] if isinstance(given, list) else [str(given)]
    known = sorted(one for one in every if one is not None)
    for one in names:
        if one not in known:
            raise DesignError(unknown("slice", one, known, "the estimate"))
    return {*names}


@dataclass(frozen=True)
class _Bounds:
    """The bounds of an estimate in a policy, or of a difference of systems, whose keys begin with ``prefix``."""

    prefix: str
    low: float | None
    high: float | None
    most: float | None

    @classmethod
    def of(cls, wanted: Mapping[str, Any], prefix: str) -> _Bounds:
        """The bounds in a table of a policy."""
        return cls(prefix, *(_number(wanted, prefix + key, "estimate") for key in _BOUNDS))

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return (self.low, self.high, self.most) != (None, None, None)

    def refuse_percent(self, *, shares: bool) -> None:
        """Refuse bounds that no share has, or that every share has."""
        least = -1 if self.prefix else 0
        for key, value, lowest, highest in (
            ("at_least", self.low, least, 1.0),
            ("at_most", self.high, least, 1.0),
            ("most_half_width", self.most, 0.0, math.nextafter(1, 0)),
        ):
            if shares and value is not None and not lowest <= value <= highest:
                such = "0.05" if key == "most_half_width" or self.prefix else "0.8"
                raise DesignError(
                    f"[[estimate]] of the policy: {self.prefix}{key} = {value:g} is of a share; give it as a share, "
                    f"such as {such}"
                )

    def status(self, one: Estimate) -> Status:
        """Whether the interval of an estimate is within them."""
        low, high, most = self.low, self.high, self.most
        fails = (low is not None and one.high < low) or (high is not None and one.low > high)
        holds = (low is None or one.low >= low) and (high is None or one.high <= high)
        return "fail" if fails else "pass" if holds and (most is None or _half(one) <= most) else "undecided"

    def words(self) -> list[tuple[str, float]]:
        """Those that are set, with their names."""
        known = (("at least", self.low), ("at most", self.high), ("a half-width of at most", self.most))
        return [(what, bound) for what, bound in known if bound is not None]

    def open(self, one: Estimate) -> list[float]:
        """The distances of an estimate from the bounds within its interval."""
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        return [abs(one.estimate - bound) for bound in bounds if one.low <= bound <= one.high]

    def needed(self, one: Estimate, n: int) -> int:
        """Items for which a check that is undecided with n is conclusive with `POWER`, if the estimate is true.

        The width is inversely proportional to the root of the number of items.
        """
        half = _half(one)
        rooms = [off / LIKELY for off in self.open(one)] + ([] if self.most is None else [self.most])
        return math.ceil(n * (half / max(min(rooms), half / 10)) ** 2)


def _half(one: Estimate) -> float:
    return (one.high - one.low) / 2


def _bound_check(
    name: str, quantity: str, one: Estimate, sizes: tuple[int, int], bounds: _Bounds, *, shares: bool
) -> GateCheck:
    """An estimate of n of all items against its bounds."""
    n, n_all = sizes
    if math.isnan(one.low):
        return GateCheck(name, "undecided", _sentence(one.reason or "no interval"), "", one, n, quantity)
    status = bounds.status(one)
    advice = ""
    if status == "undecided":
        needed = bounds.needed(one, n)
        advice = words.more_labels(max(needed - n, 1) if needed <= n_all else None, likely=bool(bounds.open(one)))
    about = f"share of “{quantity}”" if shares else quantity
    what = f"difference in {about}" if bounds.prefix else about
    return GateCheck(name, status, words.estimate_check(what, one, bounds.words()), advice, one, n, quantity)


def _number(given: Mapping[str, Any], key: str, where: str) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DesignError(f"[{where}] of the policy: {key} must be a number; got {value!r}")
    return float(value)
