"""The commands for planning: numbers of items, annotators, judgments or raters."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from assay.cli.commands import BY_NAME
from assay.cli.labels import ALL_JUDGES, ASK, NAMES, PLAIN, TERMINAL, Ask, Tested, hidden_columns
from assay.cli.output import FIRST, Force, Page, note, progress_bar, say
from assay.errors import AssayError


def plan(
    *,
    pilot: Annotated[str | None, Parameter(group="The plan")] = None,
    write: Annotated[Path | None, Parameter(group="The plan")] = None,
    study: Annotated[Path | None, Parameter(group="The plan")] = None,
    tested: Tested = ALL_JUDGES,
    ask: Ask = ASK,
) -> None:
    """Run ``assay plan alt-test``.

    Parameters
    ----------
    pilot
        Existing labels to draw from, instead of a simulation.
    write
        Write a preregistered plan to this file, for assay report --plan; with --study, plan.yaml in its folder.
    study
        Study folder: its scale, and the numbers of its items, judges and questions are the defaults. With one margin
        (--expertise or --epsilon), the plan is written with its questions, judges, prompts and items.
    """
    from assay.planning import plan_alt_test
    from assay.study import PLAN_FILE
    from assay.verdict.preregistration import Preregistration, plan_options

    given = ask.options.options()
    names = tested.names()
    decided = None
    if study is not None:
        from assay.study.definition import load_study

        decided = load_study(study)
        write = write or (study / PLAN_FILE if {"epsilon", "expertise"} & set(given) else None)
    ask.to(write, pilot, force=True, suffixes=(".yaml", ".yml"))  # a plan refuses to be overwritten
    _refuse_unread(ask, pilot)
    if pilot is not None:
        given["pilot"] = ask.labels.read(pilot)
        names = names and tested.among(given["pilot"])
    if decided is not None:
        given = plan_options(decided, given, names or ())
    if names and (write is None or pilot is not None):
        if len(names) > 1:
            raise AssayError(f"plan alt-test requires one judge of the pilot; --only names {len(names)}")
        given["judge"] = names[0]
    with progress_bar("Planning"):
        found = plan_alt_test(**given)
    made = None if write is None else Preregistration.of(found, decided, names or ()).write(write)
    ask.output.show(found)
    if made is not None:
        note(f"preregistered: {made.summary()}; written to {made.source}")
        power = float(found.table.filter(n_items=made.n_items)["estimate"][0])
        if power < found.power:
            note(
                f"{made.n_items:,} items give power {power:.2f}, and {found.power:.2f} is required; compare larger "
                "numbers, such as --n-items 100,200,400, before you collect labels"
            )
    elif study is not None:
        note("no plan is written: choose one margin, with --expertise or --epsilon")


def validate(*, pilot: Annotated[str | None, Parameter(group="The plan")] = None, ask: Ask = ASK) -> None:
    """Run ``assay plan validate``.

    Parameters
    ----------
    pilot
        Existing labels; the simulated studies have their shape, except as other options specify.
    """
    from assay.verdict.validate import validate as simulate_verdicts

    given = ask.options.options()
    _refuse_unread(ask, pilot)
    if pilot is not None:
        given["pilot"] = ask.labels.read(pilot)
    with progress_bar("Simulating") as progress:
        found = simulate_verdicts(**given, progress=progress)
    ask.output.words(found)


def _refuse_unread(ask: Ask, pilot: str | None) -> None:
    """Refuse options of reading without a pilot."""
    unread = next((f.name for f in fields(PLAIN) if getattr(ask.labels, f.name) != getattr(PLAIN, f.name)), None)
    if pilot is None and unread is not None:
        instead = {"items": "for the number of items use --n-items", "scale": "for a simulation use --categories"}
        advice = instead.get(unread, "leave it out, or give --pilot")
        raise AssayError(f"{NAMES[unread]} is an option for reading labels, and there is no --pilot to read: {advice}")


def triplets(
    source: Annotated[str | None, Parameter(group="The plan"), FIRST] = None,
    *,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"], group="The plan"), FIRST] = None,
    force: Force = False,
    pilot: Annotated[str | None, Parameter(group="The plan"), FIRST] = None,
    document: Annotated[str | None, Parameter(group="The plan"), FIRST] = None,
    name: Annotated[str | None, Parameter(group="The plan"), FIRST] = None,
    text: Annotated[str | None, Parameter(group="The plan"), FIRST] = None,
    ask: Ask = ASK,
) -> None:
    """Run ``assay plan triplets``.

    Parameters
    ----------
    source
        A table with one row per text, to draw triplets from (--floor, --n-triplets) and write them with -o. Without
        it, plan the number of comparisons of each pair.
    out
        Output file of the triplets: .csv, .tsv, .jsonl or .parquet.
    pilot
        Existing odd-one-out choices; the agreement of the experts is taken from them.
    document
        Column with the document; the texts of a triplet are from one document.
    name
        Column with the names of the texts.
    text
        Column with the texts.
    """
    given = ask.options.options()
    own = {k: given.pop(k) for k in ("floor", "n_triplets") if k in given}
    if source is None:
        typed = {"floor": own.get("floor"), "n-triplets": own.get("n_triplets"), "output": out, "document": document}
        for option in (k for k, v in {**typed, "name": name, "text": text}.items() if v is not None):
            raise AssayError(f"--{option} is for drawing triplets; name the file of texts, or plan with --floors")
        _planned_triplets(pilot, given, ask)
        return
    if set(given) - {"seed"} or pilot is not None:
        strange = "pilot" if pilot is not None else next(k for k in given if k != "seed")
        raise AssayError(
            f"--{strange.replace('_', '-')} is for a plan, and '{source}' is a file of texts to draw; leave one out"
        )
    from assay.data.formats.exports import TABLES, write_frame
    from assay.data.formats.tables import read_table
    from assay.ideas.sampling import sample_triplets

    ask.to(out, source, force=force, suffixes=TABLES)
    if not Path(source).is_file():
        raise AssayError(f"the file '{source}' does not exist")
    texts = read_table(Path(source)).labels.drop("_row", strict=False)
    with progress_bar("Drawing"):
        found = sample_triplets(texts, document=document, name=name, text=text, **own, **given)
    ask.output.words(found)
    if out is not None:
        write_frame(found.triplets, out)
        note(f"written to {out}")


def _planned_triplets(pilot: str | None, given: dict[str, Any], ask: Ask) -> None:
    from assay.ideas.sample_size import judgments_needed, plan_triplets

    if pilot is None:
        with progress_bar("Planning"):
            ask.output.show(plan_triplets(**given))
        return
    table = (
        ask.labels.changed(scale=ask.labels.scale or ["odd-one-out"]).read(pilot)
        if Path(pilot).is_file()
        else ask.labels.read(pilot)
    )
    with progress_bar("Planning"):
        found = plan_triplets(pilot=table, **given)
        needed = judgments_needed(table, **{k: given[k] for k in ("target", "seed") if k in given})
    ask.output.show(found)
    if ask.output.as_text:
        say(needed.summary())


def plan_labels(
    *,
    pilot: Annotated[str | None, Parameter(group="The plan")] = None,
    choose: Annotated[int | None, Parameter(group="The plan")] = None,
    out: Annotated[Path | None, Parameter(name=["--output", "-o"], group="The plan")] = None,
    force: Force = False,
    tested: Tested = ALL_JUDGES,
    ask: Ask = ASK,
) -> None:
    """Run ``assay plan labels``.

    Parameters
    ----------
    pilot
        Existing labels: the judge's for all items, human labels for some.
    choose
        With --pilot and -o: expected number of items to label next, drawn with known probabilities.
    out
        With --choose: output file of the items, such as next.csv.
    """
    from assay.data.formats.exports import TABLES, write_frame
    from assay.estimates.plans.label_plan import plan_labels as plan_them

    ask.to(out, pilot, force=force, suffixes=TABLES)
    if (choose is None) != (out is None) or (choose is not None and pilot is None):
        raise AssayError(
            "--choose selects items of a pilot and writes them to a file: give --pilot, --choose and --output together"
        )
    given = ask.options.options()
    if pilot is not None:
        given["pilot"] = ask.labels.read(pilot)
        if (names := tested.names()) is not None:
            given["judge"] = tested.among(given["pilot"])[0] if len(names) == 1 else None
    found = plan_them(**given)
    ask.output.show(found, drop=hidden_columns(found.table), width=TERMINAL, symbol="half-width")
    if out is not None and choose is not None:
        chosen = found.choose(choose)
        write_frame(chosen, out)
        note(f"{chosen['ask'].sum():,} items to label, and the probability of every item, written to {out}")


def budget(source: str, *, tested: Tested = ALL_JUDGES, ask: Ask = ASK) -> None:
    """Run ``assay plan budget``.

    Parameters
    ----------
    source
        A pilot: labels of two or more judges of the same items, and perhaps of annotators.
    """
    from assay.estimates.plans.budget import plan_budget

    table, given = ask.read(source, None)
    if tested.names() is not None:
        given["judges"] = tested.among(table)
    found = plan_budget(table, **given)
    ask.output.show(found, drop=hidden_columns(found.table), width=TERMINAL, symbol="standard error")


def d_study(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay plan d-study``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    from assay.psychometrics.design import DStudySettings
    from assay.psychometrics.g_study import g_study

    table, given = ask.read(source, out, force=force)
    own = {f.name: given.pop(f.name) for f in fields(DStudySettings) if f.name in given}
    with progress_bar("Fitting"):
        found = g_study(table, **given).d_study(**own)
    ask.show(BY_NAME["plan d-study"], found, out)


def panel(
    source: str, *, tested: Tested = ALL_JUDGES, out: Page = None, force: Force = False, ask: Ask = ASK
) -> None:  # fmt: skip
    """Run ``assay plan panel``.

    Parameters
    ----------
    source
        Labels of several judges and two or more annotators. --only names the judges of the panel, or an ensemble.
    """
    from assay.variation.panel import panel as measure

    table, given = ask.read(source, out, force=force)
    if tested.names() is not None:
        given["judges"] = tested.among(table)
    with progress_bar("Comparing"):
        found = measure(table, **given)
    drop = ("judges", "judges_at_most", *hidden_columns(found.rows))
    ask.show(BY_NAME["plan panel"], found, out, drop=drop, width=TERMINAL)


def loop(source: str, *, out: Page = None, force: Force = False, ask: Ask = ASK) -> None:
    """Run ``assay plan loop``.

    Parameters
    ----------
    source
        A file, folder or study of labels.
    """
    from assay.psychometrics.design import LoopSettings
    from assay.psychometrics.g_study import g_study

    table, given = ask.read(source, out, force=force)
    own = {f.name: given.pop(f.name) for f in fields(LoopSettings) if f.name in given}
    with progress_bar("Fitting"):
        found = g_study(table, **given, by="kind").human_in_the_loop(**own)
    ask.show(BY_NAME["plan loop"], found, out)
