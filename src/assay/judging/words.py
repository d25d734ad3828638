"""The sentences of the results of judging: a `JudgeRun`, its `CostEstimate`, and a `BatchRun`.

The results import this module, so it does not import their classes.
"""

from __future__ import annotations

from typing import Any

from assay.errors import counted
from assay.judging.services.client import duration


def run_words(run: Any) -> str:
    """Return the summary of a run: labels, tokens, cost, and the reasons for missing labels."""
    due = run.answered + run.missing + max(run.failed, run.left)  # failed ones remain
    cached = f" ({run.tokens_cached} of them from a cache)" if run.tokens_cached else ""
    reasoning = f" ({run.tokens_reasoning} of them reasoning)" if run.tokens_reasoning else ""
    lines = [
        f"{run.answered} of {counted(due, 'label')} collected in {duration(run.seconds)} ({run.missing} unparseable, "
        f"{run.failed} failed, {run.reasked} retried).",
        f"{run.tokens_in} tokens in{cached}, {run.tokens_out} out{reasoning}, ${run.cost:.4f}.",
    ]
    if run.estimated:
        lines.append(
            f"The service reported no token counts for {counted(run.estimated, 'call')}; their tokens and cost are "
            "estimated from the length of the text."
        )
    if run.unpriced:
        lines.append(f"The price of {', '.join(run.unpriced)} is unknown and not included.")
    lines += [f"  {number} × {reason}" for reason, number in sorted(run.reasons.items())]
    lines += [f"{note[:1].upper()}{note[1:]}." for note in run.notes]
    if run.elsewhere:
        lines.append(f"{counted(run.elsewhere, 'label')} in progress in another run.")
    remaining = f"{counted(run.left, 'label')} remaining; run it again to continue."
    if run.stopped:
        lines.append(f"Stopped: {run.stopped}. {remaining}")
    elif run.left:
        lines.append(remaining)
    return "\n".join(lines)


def estimate_words(estimate: Any) -> str:
    """Return the summary of an estimate: calls, tokens and dollars, one line per judge."""
    lines = [f"{estimate.lost}; these calls request them again."] if estimate.lost else []
    for one in estimate.judges:
        money = "price unknown" if one.cost is None else f"about ${one.cost:.4f}"
        probes = f" ({one.probes} of them probes)" if one.probes else ""
        lines.append(
            f"{one.judge}: {one.calls} calls{probes}, about {one.tokens_in} tokens in and {one.tokens_out} out, {money}"
        )
    calls = sum(one.calls for one in estimate.judges)
    total = "cost unknown (set price for the judge)" if estimate.cost is None else f"estimated ${estimate.cost:.4f}"
    lines.append(f"Total: {calls} calls, {total} (${estimate.spent:.4f} spent so far).")
    if estimate.later:
        lines.append(estimate.later)
    most, cost = estimate.max_cost, estimate.cost
    if most is not None and cost is not None and estimate.spent + cost > most:
        lines.append(f"This exceeds max_cost (${most:g}): the run would stop there.")
    lines.append("Token counts are estimates; retries are extra.")
    return "\n".join(lines)


def status_words(status: Any) -> str:
    """Return the status of a study: one line per annotator or judge, and the numbers of all."""
    lines = []
    for row in status.table.iter_rows(named=True):
        missing = f", {row['missing']} unparseable" if row["missing"] else ""
        left = f", {row['remaining']} remaining" if row["remaining"] else ""
        failed = f" ({row['failed']} failed)" if row["failed"] else ""
        lines.append(f"{row['annotator']}: {counted(row['labels'], 'label')}{missing}{left}{failed}.")
    left = f"{counted(status.remaining, 'label')} remaining" if status.remaining else "All labels collected"
    lines.append(f"{left}; ${status.spent:.4f} spent so far.")
    return "\n".join([*([f"{status.lost}."] if status.lost else []), *lines])


def batch_words(run: Any) -> str:
    """Return the summary of batches: requests sent, results stored, requests in progress."""
    lines = [f"{counted(run.sent, 'request')} sent." if run.sent else "No requests sent."]
    if run.answered or run.missing or run.failed or run.returned:
        lines.append(
            f"Results: {counted(run.answered, 'label')}, {run.missing} unparseable, {run.failed} failed, "
            f"{run.returned} not processed; ${run.cost:.4f}."
        )
    lines += [f"  {number} × {reason}" for reason, number in sorted(run.reasons.items())]
    lines += list(run.notes)
    lines.append(
        f"{counted(run.going, 'request')} in progress; run the same command again to store the results."
        if run.going
        else f"No batch in progress; {counted(run.left, 'label')} remaining."
    )
    return "\n".join(lines)
