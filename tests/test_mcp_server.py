"""The MCP server: its tools as functions, and served to the client of the official SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import assay
from assay.errors import AssayError, DataError
from assay.mcp_server import MOST_ROWS, Tools

ROOT = Path(__file__).parents[1]
READING = {
    "item": "id", "annotator": "worker", "label": "stars", "judges": ["gpt-4o", "llama"], "scale": "1-5",
}  # fmt: skip
NAMES = ["look", "alt_test", "agreement", "card", "estimate"]
QUICK = {"n_resamples": 40}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example labels, and a file whose roles are in no doubt."""
    path = tmp_path_factory.mktemp("labels")
    (path / "labels.csv").write_bytes((ROOT / "examples" / "labels.csv").read_bytes())
    clear = assay.simulate(n_items=80, scale="1-5", judges={"good": 0.1}, seed=3).to_polars()
    clear.write_csv(path / "clear.csv")
    some = clear.filter((pl.col("annotator") == "good") | pl.col("item").str.slice(-1).is_in(list("01234")))
    some.write_csv(path / "some.csv")
    (path.parent / "secret.csv").write_text("item,annotator,label\na,ann,1\n")
    (path / "link.csv").symlink_to(path.parent / "secret.csv")
    (path / "reading.yaml").write_text("source: ../secret.csv\n")
    (path / "study").mkdir()
    (path / "study" / "study.yaml").write_text("title: x\n")
    return path


@pytest.fixture
def tools(folder: Path) -> Tools:
    return Tools(folder)


@pytest.mark.slow
def test_tools_give_the_results_of_the_functions(tools: Tools, folder: Path) -> None:
    labels = assay.read(folder / "labels.csv", **READING)
    found = tools.alt_test("labels.csv", "gpt-4o", expertise="crowd", reading=READING, options=QUICK)
    test = assay.alt_test(labels, "gpt-4o", expertise="crowd", **QUICK)
    assert found["summary"] == test.summary()
    assert (found["verdict"], found["reason"], found["signature"]) == (test.verdict, test.reason, test.signature)
    assert found["table"] == test.to_dict()["table"]
    found = tools.agreement("labels.csv", reading=READING, options={"coefficients": ["exact-agreement"], **QUICK})
    assert found["summary"] == assay.agreement(labels, coefficients=["exact-agreement"], **QUICK).summary()
    found = tools.card("labels.csv", expertise="crowd", reading=READING)
    assert found["summary"] == assay.card(labels, expertise="crowd").summary()
    found = tools.estimate("some.csv", "good")
    assert found["summary"] == assay.estimate(assay.read(folder / "some.csv"), "good").summary()
    for answer in (found, tools.look("labels.csv")):
        json.dumps(answer)


@pytest.mark.slow
def test_look_asks_and_its_answer_is_a_reading(tools: Tools) -> None:
    found = tools.look("labels.csv")
    options = found["options"] | (found["readings"][0]["options"] if found["readings"] else {})
    assert options["judges"] == ["gpt-4o", "llama"]
    answered = tools.look("labels.csv", reading=options)
    assert answered["errors"] == []
    assert {name: answered["analyses"][0][name] for name in ("analysis", "supported")} == {
        "analysis": "replacement_test",
        "supported": True,
    }
    assert tools.agreement("labels.csv", reading=options, options=QUICK)["table"]


def test_clear_file_needs_no_reading(tools: Tools) -> None:
    assert tools.alt_test("clear.csv", "good", epsilon=0.2)["verdict"] == "replace"


def test_several_files_are_joined(folder: Path, tools: Tools) -> None:
    whole = pl.read_csv(folder / "clear.csv")
    for name, rows in (("people", whole.filter(kind="human")), ("model", whole.filter(kind="judge"))):
        rows.write_csv(folder / f"{name}.csv")
    found = tools.alt_test(["people.csv", "model.csv"], "good", epsilon=0.2)
    assert found["verdict"] == "replace"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("../secret.csv", "is not in the folder"),
        ("/etc/hostname", "is not in the folder"),
        ("link.csv", "is not in the folder"),
        ("nowhere.csv", "does not exist"),
        ("reading.yaml", "a study or a file of reading options"),
        ("study", "a study or a file of reading options"),
    ],
)
def test_tools_read_only_files_of_labels_in_the_folder(tools: Tools, source: str, words: str) -> None:
    for call in (tools.look, tools.agreement, tools.card):
        with pytest.raises(DataError, match=words):
            call(source)
    with pytest.raises(DataError, match=words):
        tools.look(["clear.csv", source])


@pytest.mark.parametrize("option", ["items", "annotator_table", "codes", "users", "config", "settings"])
def test_options_that_are_files_stay_in_the_folder(tools: Tools, option: str) -> None:
    with pytest.raises(DataError, match="is not in the folder"):
        tools.look("clear.csv", reading={option: "../secret.csv"})


@pytest.mark.slow
def test_long_tables_are_shortened(tmp_path: Path) -> None:
    labels = assay.simulate(n_items=30, n_annotators=25, scale="1-5", seed=1)
    labels.to_polars().write_csv(tmp_path / "many.csv")
    options = {"who": ["pairs"], "coefficients": ["exact-agreement"], "method": "none"}
    found = Tools(tmp_path).agreement("many.csv", options=options)
    whole = assay.agreement(labels, **options).to_dict()["table"]
    assert len(whole) > MOST_ROWS
    assert found["table"] == whole[:MOST_ROWS]
    assert found["rows_left_out"] == len(whole) - MOST_ROWS


def test_refusals_name_no_path_of_the_machine(tools: Tools, folder: Path) -> None:
    assert str(folder) not in tools.look("labels.csv")["summary"]
    with pytest.raises(DataError, match="does not exist"):
        Tools(folder / "nowhere")
    with pytest.raises(AssayError) as refused:
        tools.alt_test("labels.csv", "gpt-4o", expertise="crowd")
    assert str(folder) not in tools.relative(str(refused.value))


@pytest.mark.slow
def test_command_names_the_extra_without_the_sdk(folder: Path) -> None:
    block = (
        f"import sys; sys.modules['mcp'] = None; from assay.cli.app import main; main(['mcp', '--folder', '{folder}'])"
    )
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, env=environment(), check=False)
    assert run.returncode != 0
    assert "[mcp]" in run.stderr
    assert "Traceback" not in run.stderr


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def served(folder: Path, steps: Callable[[Any], Any]) -> Any:
    """Run steps with a client of the SDK that has started the server."""
    mcp = pytest.importorskip("mcp", reason="the official SDK of the Model Context Protocol: pip install assay[mcp]")
    import anyio

    async def session() -> Any:
        command = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "assay", "mcp", "--folder", str(folder)], env=environment()
        )
        async with mcp.Client(command) as client:
            return await steps(client)

    return anyio.run(session)


@pytest.fixture(scope="module")
def said(folder: Path) -> Any:
    """The tools that a server offers, and its answers: to begin takes it a second and a half."""

    async def steps(client: Any) -> Any:
        test = {"source": "labels.csv", "judge": "gpt-4o", "expertise": "crowd"}
        offered = (await client.list_tools()).tools
        unclear = await client.call_tool("alt_test", test)
        answered = await client.call_tool("alt_test", {**test, "reading": READING, "options": QUICK})
        option = await client.call_tool("agreement", {"source": "clear.csv", "options": {"coeficients": ["x"]}})
        outside = await client.call_tool("look", {"source": "../secret.csv"})
        looked = await client.call_tool("look", {"source": "clear.csv"})
        return offered, (unclear, answered, option, outside, looked)

    return served(folder, steps)


@pytest.mark.slow
def test_server_offers_the_tools(said: Any) -> None:
    tools = {tool.name: tool for tool in said[0]}
    assert list(tools) == NAMES
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert "source" in tool.input_schema["required"]
        assert len(tool.description) > 80
    assert tools["alt_test"].input_schema["required"] == ["source", "judge"]


def test_server_answers_and_refuses(folder: Path, said: Any) -> None:
    unclear, answered, option, outside, looked = said[1]
    assert unclear.is_error
    assert "judges=['gpt-4o', 'llama']" in unclear.content[0].text
    assert str(folder) not in unclear.content[0].text
    assert not answered.is_error
    assert answered.structured_content == json.loads(answered.content[0].text)
    assert answered.structured_content["verdict"] == "replace"
    assert answered.structured_content == Tools(folder).alt_test(
        "labels.csv", "gpt-4o", expertise="crowd", reading=READING, options=QUICK
    )
    assert option.is_error
    assert "coefficients" in option.content[0].text
    assert outside.is_error
    assert "is not in the folder" in outside.content[0].text
    assert looked.structured_content["errors"] == []
