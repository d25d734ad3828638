"""The commands for use after a positive verdict: labels, judge, output files and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from assay.cli import estimates
from assay.cli.labels import ASK
from assay.cli.labels import Tested as Of
from assay.data.formats.exports import TABLES
from assay.errors import AssayError
from assay.estimates import corrected, monitor, route
from assay.estimates import drift as compared
from assay.verdict import gate


class Typed:
    """The typed options, and the printed output."""

    def __init__(self, **options: Any) -> None:
        self.options = SimpleNamespace(options=lambda: dict(options))
        self.labels = SimpleNamespace(
            read=lambda source: f"labels of {source}",
            read_all=lambda *sources: [f"labels of {source}" for source in sources],
        )
        self.output = SimpleNamespace(words=lambda found: self.printed.append(found))
        self.refused: list[Any] = []
        self.printed: list[Any] = []

    def to(self, out: Any, *sources: Any, force: bool, suffixes: Any = None) -> None:
        self.refused.append((out, sources, force, suffixes))

    def read(self, source: str, out: Any, *, force: bool) -> tuple[Any, dict[str, Any]]:
        self.to(out, source, force=force)
        return SimpleNamespace(name=source, judges=("m", "n")), self.options.options()

    def show(self, row: Any, found: Any, out: Any, **how: Any) -> None:
        self.printed.append((row.name, found, out, how))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of each question; all return the same result."""
    found: list[Any] = []
    answer = SimpleNamespace(
        alarm=None, exit_code=0, table=pl.DataFrame({"n": [1]}), markdown=lambda: "# yes", junit=lambda: "<yes/>",
        decide=lambda: pl.DataFrame({"item": ["a", "b", "c"], "queue": ["human", "judge", "human"]}),
        write=lambda path: path,
    )  # fmt: skip

    def ask(*args: Any, **options: Any) -> Any:
        found.append((*(getattr(one, "name", one) for one in args), options))
        return answer

    for place, name in ((corrected, "estimate"), (compared, "drift"), (monitor, "monitor"), (route, "route"),
                        (gate, "gate")):  # fmt: skip
        monkeypatch.setattr(place, name, ask)
    found.append(answer)
    return found


def test_drift_compares_runs_in_order(asked: list[Any]) -> None:
    typed = Typed(epsilon=0.1)
    estimates.drift("old.csv", "new.csv", ask=typed)
    estimates.drift("old.csv", "new.csv", anchors="again.csv", tested=Of(only=["m"]), out=Path("d.html"), ask=typed)
    assert asked[1:] == [
        ("labels of old.csv", "labels of new.csv", {"epsilon": 0.1}),
        ("labels of old.csv", "labels of new.csv", {"epsilon": 0.1, "anchors": "labels of again.csv", "judge": "m"}),
    ]
    assert typed.refused[1] == (Path("d.html"), ("old.csv", "new.csv", "again.csv"), False, None)
    assert [(name, out) for name, _, out, _ in typed.printed] == [("drift", None), ("drift", Path("d.html"))]
    with pytest.raises(AssayError, match="drift tests one judge; --only names 2"):
        estimates.drift("old.csv", "new.csv", tested=Of(only=["m", "n"]), ask=typed)


def test_estimate_passes_named_judges(asked: list[Any]) -> None:
    typed = Typed(confidence=0.9)
    for of in (Of(), Of(only=["n"]), Of(judge=["m", "n"])):
        estimates.estimate("all.csv", tested=of, ask=typed)
    plain = {"confidence": 0.9}
    assert asked[1:] == [("all.csv", plain), ("all.csv", plain | {"judge": ["n"]}),
                         ("all.csv", plain | {"judge": ["m", "n"]})]  # fmt: skip
    assert typed.printed[0][3]["drop"] == ("weight",)
    assert typed.refused == [(None, ("all.csv",), False, None)] * 3


@pytest.mark.parametrize(("alarm", "code"), [(None, 0), (0, 1), (17, 1)])
def test_monitor_alarm_sets_exit_status(asked: list[Any], alarm: int | None, code: int) -> None:
    asked[0].alarm = alarm
    assert estimates.monitor("grows.csv", tested=Of(only=["m"]), ask=Typed()) == code
    assert asked[1:] == [("grows.csv", {"judge": "m"})]
    with pytest.raises(AssayError, match="monitor tests one judge; --only names 2"):
        estimates.monitor("grows.csv", tested=Of(only=["m", "n"]), ask=Typed())


def test_route_writes_rule_and_human_queue(
    asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed, rule, queue = Typed(), tmp_path / "rule.json", tmp_path / "people.jsonl"
    estimates.route("all.csv", tested=Of(only=["m"]), ask=typed)
    assert capsys.readouterr().err == ""
    assert list(tmp_path.iterdir()) == []
    estimates.route("all.csv", rule=rule, queue=queue, force=True, ask=typed)
    assert asked[1:] == [("labels of all.csv", {"judge": "m"}), ("labels of all.csv", {})]
    assert [json.loads(line) for line in queue.read_text().splitlines()] == [
        {"item": "a", "queue": "human"}, {"item": "c", "queue": "human"},
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert f"the rule is written to {rule}" in said
    assert f"human queue of 2 items written to {queue}" in said
    assert typed.refused[3:] == [
        (None, ("all.csv",), True, None), (queue, ("all.csv",), True, TABLES),
        (rule, ("all.csv",), True, (".json",)),
    ]  # fmt: skip
    with pytest.raises(AssayError, match="route requires one judge; --only names 2"):
        estimates.route("all.csv", tested=Of(only=["m", "n"]), ask=typed)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_gate_writes_markdown_and_junit(asked: list[Any], tmp_path: Path, code: int) -> None:
    asked[0].exit_code = code
    typed, policy = Typed(store="s.db"), tmp_path / "assay.toml"
    policy.write_text("")
    comment, junit = tmp_path / "gate.md", tmp_path / "gate.xml"
    assert estimates.gate(str(policy), ask=typed) == code
    assert [path.name for path in tmp_path.iterdir()] == ["assay.toml"]
    assert estimates.gate(str(policy), comment=comment, junit=junit, ask=typed) == code
    assert (comment.read_text(), junit.read_text()) == ("# yes", "<yes/>")
    assert asked[1:] == [(str(policy), {"store": "s.db"})] * 2
    assert typed.printed == [asked[0]] * 2


def test_gate_error_has_exit_status_3(asked: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text("my own notes")
    assert estimates.gate(comment=mine, ask=ASK) == 3
    assert "mine.md' exists and is not overwritten" in capsys.readouterr().err
    assert estimates.gate(junit=tmp_path / "gate.json", ask=ASK) == 3
    assert mine.read_text() == "my own notes"
    assert len(asked) == 1


def test_drift_prints_common_notes_once(run, tmp_path):
    rows = [{"item": f"i{k}", "annotator": who, "label": 1 + (k + shift) % 3} for k in range(12)
            for who, shift in (("ann", 0), ("bob", k // 8), ("gpt-4o", k // 6))]  # fmt: skip
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    pl.DataFrame(rows).write_csv(old)
    pl.DataFrame([*rows[:-1], {**rows[-1], "label": None}]).write_csv(new)
    code, _, err = run("drift", old, new, "--judges", "gpt-4o", "--anchors", old)
    assert code == 0
    notes = err.splitlines()
    assert notes[0].startswith("note: Assumed scale 1-3. If wrong, set --scale")
    assert notes[1].startswith(f"note: {new}: ")
    assert len(notes) == 2


def test_summary_names_options_of_the_command(run, tmp_path):
    rows = [{"item": f"i{k}", "annotator": who, "label": 1 + k % 3} for k in range(12) for who in ("ann", "gpt-4o")]
    old, new = str(tmp_path / "old.csv"), str(tmp_path / "new.csv")
    pl.DataFrame(rows).write_csv(old)
    pl.DataFrame([{**row, "item": f"x{row['item']}"} for row in rows]).write_csv(new)
    _, out, _ = run("drift", old, new, "--judges", "gpt-4o", "--scale", "1-3")
    said = " ".join(out.split())
    assert "--text ... names a column of texts" in said
    assert "(--anchors ...)" in said
    assert "=..." not in said
    run("drift", old, new, "--judges", "gpt-4o", "--scale", "1-3", "-o", str(tmp_path / "page.html"))
    assert "text=..." in (tmp_path / "page.html").read_text(encoding="utf-8"), "a page is read by people of Python, too"
