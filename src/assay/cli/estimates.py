"""The commands for use after a positive verdict: estimate, drift, monitor, route, gate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from assay.cli.commands import BY_NAME
from assay.cli.labels import ALL_JUDGES, ASK, NAMES, TERMINAL, Ask, Tested, hidden_columns
from assay.cli.output import FIRST, Force, Page, as_typed, note, progress_bar, target
from assay.errors import AssayError


def estimate(
    source: str, *, tested: Tested = ALL_JUDGES, out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:  # fmt: skip
    """Run ``assay estimate``.

    Parameters
    ----------
    source
        Labels: the judge's for all items, human labels for a random sample.
    """
    from assay.estimates.corrected import estimate as correct

    table, given = ask.read(source, out, force=force)
    if (names := tested.among(table) if tested.names() else None) is not None:
        given["judge"] = names
    with progress_bar("Estimating"):
        found = correct(table, **given)
    ask.show(BY_NAME["estimate"], found, out, drop=("weight", *hidden_columns(found.table)), width=TERMINAL)


def drift(
    before: str,
    after: str,
    *,
    anchors: Annotated[str | None, Parameter(group="The estimate"), FIRST] = None,
    tested: Tested = ALL_JUDGES,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """Run ``assay drift``.

    Parameters
    ----------
    before
        Labels of the earlier run, a file or folder.
    after
        Labels of the later run.
    anchors
        Labels by the earlier judge for a random sample of the later run's texts (anchor items).
    """
    from assay.estimates.drift import drift as compare

    ask.to(out, before, after, anchors, force=force)
    given = ask.options.options()
    runs = ask.labels.read_all(before, after, *([] if anchors is None else [anchors]))
    if anchors is not None:
        given["anchors"] = runs[2]
    given |= tested.one("drift tests one judge")
    with progress_bar("Comparing"):
        found = compare(runs[0], runs[1], **given)
    ask.show(BY_NAME["drift"], found, out, width=TERMINAL)


def monitor(
    source: str, *, tested: Tested = ALL_JUDGES, out: Page = None, force: Force = False, ask: Ask = ASK
) -> int:  # fmt: skip
    """Run ``assay monitor``.

    Parameters
    ----------
    source
        A growing file, a folder or a study. Exit status 1 is an alarm.
    """
    from assay.estimates.monitor import monitor as watch

    table, given = ask.read(source, out, force=force)
    given |= tested.one("monitor tests one judge")
    with progress_bar("Watching"):
        found = watch(table, **given)
    ask.show(BY_NAME["monitor"], found, out, width=TERMINAL)
    return int(found.alarm is not None)


def route(
    source: str,
    *,
    rule: Annotated[Path | None, Parameter(group="The estimate"), FIRST] = None,
    queue: Annotated[Path | None, Parameter(group="The estimate")] = None,
    tested: Tested = ALL_JUDGES,
    out: Page = None,
    force: Force = False,
    ask: Ask = ASK,
) -> None:
    """Run ``assay route``.

    Parameters
    ----------
    source
        Labels: the judge's for all items, and those of at least two annotators for some items.
    rule
        Write the rule to this file: judge, signal, threshold.
    queue
        Write the human queue to this table (.csv, .jsonl, .parquet).
    """
    from assay.data.formats.exports import TABLES, write_frame
    from assay.estimates.route import route as choose

    ask.to(out, source, force=force)
    ask.to(queue, source, force=force, suffixes=TABLES)
    ask.to(rule, source, force=force, suffixes=(".json",))
    given = ask.options.options()
    table = ask.labels.read(source)
    given |= tested.one("route requires one judge")
    with progress_bar("Choosing"):
        found = choose(table, **given)
    ask.show(BY_NAME["route"], found, out, width=TERMINAL)
    if rule is not None:
        note(f"the rule is written to {found.write(rule)}")
    if queue is not None:
        decided = found.decide()
        people = decided.filter(decided["queue"] == "human")
        write_frame(people, queue)
        note(f"human queue of {people.height:,} items written to {queue}")


def gate(
    policy: str = "assay.toml",
    *,
    comment: Annotated[Path | None, Parameter(group="The policy"), FIRST] = None,
    junit: Annotated[Path | None, Parameter(group="The policy"), FIRST] = None,
    force: Force = False,
    ask: Ask = ASK,
) -> int:
    """Run ``assay gate``.

    Parameters
    ----------
    policy
        The policy file: labels, judge, [verdict], [drift], [[estimate]]; docs/estimates.md has all keys.
    comment
        Write the result in Markdown to this file, for a pull request.
    junit
        Write the checks as JUnit XML to this file.
    """
    from assay.reporting.page import atomic_write
    from assay.verdict.gate import gate as hold

    try:
        target(comment, policy, force=force, suffixes=(".md",))
        target(junit, policy, force=force, suffixes=(".xml",))
        read = _typed_reading(ask)
    except AssayError as error:
        note(f"assay: {as_typed(str(error), NAMES)}")
        return 3  # 2 is "undecided" here
    with progress_bar("Checking"):
        found = hold(policy, **read, **ask.options.options())
    for path, text in ((comment, found.markdown), (junit, found.junit)):
        if path is not None:
            with atomic_write(path) as part:
                part.write_text(text(), encoding="utf-8")
            note(f"written to {path}")
    ask.output.words(found)
    return found.exit_code


def _typed_reading(ask: Ask) -> dict[str, Any]:
    """The options of reading that are typed, which override those of the policy.

    Raises
    ------
    AssayError
        For an option that only the policy or the study can state.
    """
    instead = {
        "store": "set store in the study's study.yaml",
        "labels_from": "name all files in labels of the policy, as a list",
        "option": "set NAME = 'VALUE' in [read] of the policy",
    }
    for name, remedy in instead.items():
        if getattr(ask.labels, name) is not None:
            raise AssayError(f"{NAMES[name]} is not for assay gate; {remedy}")
    typed = ask.labels.read_options("")
    typed |= {"where": ask.labels.where} if ask.labels.where else {}
    return {"read": typed} if typed else {}
