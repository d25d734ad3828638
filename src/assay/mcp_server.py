"""A server of the Model Context Protocol, with which an assistant looks at files of labels and tests judges.

`Tools` has the tools: each reads labels in one folder, and returns the summary of a result and its table. It changes no
file, queries no model, and reads neither studies nor files of reading options, which can refer to other places. `serve`
offers the tools over standard input and output with the official SDK (extra ``mcp``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import AssayError, DataError, require

if TYPE_CHECKING:
    from assay.data.annotations import Annotations
    from assay.estimation.result import Result

MOST_ROWS = 200
"""Rows of a table that a tool returns."""

INSTRUCTIONS = (
    "Tests whether an LLM judge can replace human annotators. Call look first: it shows how a file is read, and which "
    "analyses it supports. If it asks a question, ask the user, and pass the answer in `reading`. Report a verdict in "
    "its own words: undecided does not mean that the judge is equal to the annotators."
)

Source = str | list[str]


class Tools:
    """The tools, for the files of one folder.

    Parameters
    ----------
    folder : path
        Only files in this folder are read.

    Raises
    ------
    DataError
        If the folder does not exist.

    Examples
    --------
    >>> import assay, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> labels = assay.simulate(n_items=60, judges={"gpt": 0.2}, seed=1)
    >>> labels.to_polars().write_csv(folder / "labels.csv")
    >>> Tools(folder).alt_test("labels.csv", "gpt", epsilon=0.2)["verdict"]
    'replace'
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise DataError(f"the folder '{folder}' does not exist")

    def look(self, source: Source, reading: dict[str, Any] | None = None) -> dict[str, Any]:
        """Show how a file of labels is read, any ambiguities, and the analyses it supports. Call this first.

        source: path of a file in the folder, or a list of paths that are joined by item id.
        reading: options of assay.read, such as {"item": "id", "annotator": "worker", "label": "stars",
        "judges": ["gpt-4o"], "scale": "1-5"}.
        """
        from assay.looking import look

        found = look(self._paths(source), **self._reading(reading))
        return {"summary": self.relative(found.summary()), **_shortened(found.to_dict())}

    def alt_test(
        self,
        source: Source,
        judge: str,
        expertise: Literal["expert", "skilled", "crowd"] | None = None,
        epsilon: float | None = None,
        reading: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Test whether a judge can replace the human annotators (alternative annotator test).

        source, reading: as for look.
        judge: name of the judge in the labels.
        expertise: the annotators that would be replaced; sets the margin epsilon. Give it or epsilon (0 to 1), as the
        user decides before seeing a result.
        options: further options of assay.alt_test, such as {"min_agreement_ratio": 0.6, "clusters": "document"}.
        """
        from assay.replacement.alt_test import alt_test

        more = _given(expertise=expertise, epsilon=epsilon)
        found = alt_test(self._labels("alt_test", source, reading, [judge]), judge, **more, **(options or {}))
        about = {"verdict": found.verdict, "verdict_text": found.verdict_text, "reason": found.reason}
        return {**about, **self._answer(found)}

    def agreement(
        self, source: Source, reading: dict[str, Any] | None = None, options: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Compute agreement coefficients among the annotators, and between each judge and the annotators.

        source, reading: as for look.
        options: options of assay.agreement, such as {"coefficients": ["krippendorff-alpha-ordinal"]}.
        """
        from assay.concordance.agreement import agreement

        return self._answer(agreement(self._labels("agreement", source, reading), **(options or {})))

    def card(
        self,
        source: Source,
        expertise: Literal["expert", "skilled", "crowd"] | None = None,
        epsilon: float | None = None,
        reading: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Rate every judge on seven criteria: pass, fail, undecided or insufficient data.

        source, reading, expertise, epsilon: as for alt_test.
        options: further options of assay.card, such as {"object": "document", "group": "language"}.
        """
        from assay.verdict.card import card

        more = _given(expertise=expertise, epsilon=epsilon)
        return self._answer(card(self._labels("card", source, reading), **more, **(options or {})))

    def estimate(
        self,
        source: Source,
        judge: str,
        reading: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Estimate the human mean or shares of all items, from the judge's labels and a human-labelled sample.

        source, reading: as for look; the judge has labelled more items than the annotators.
        judge: name of the judge in the labels.
        options: options of assay.estimate, such as {"target": "shares", "by": "language"}.
        """
        from assay.estimates.corrected import estimate

        return self._answer(estimate(self._labels("estimate", source, reading, [judge]), judge, **(options or {})))

    # -- files and results ------------------------------------------------------------------------------

    def _labels(
        self, question: str, source: Source, reading: Mapping[str, Any] | None, judges: Sequence[str] = ()
    ) -> Annotations:
        from assay.reading import labels_of, read

        paths, options = self._paths(source), self._reading(reading)
        if options or isinstance(paths, list):
            return read(paths, **options)
        labels: Annotations = labels_of(question, (paths,), list(judges) or None)[0]
        return labels

    def _paths(self, source: Source) -> str | list[str]:
        if isinstance(source, str):
            return self._path(source)
        return [self._path(one) for one in source]

    def _path(self, text: str) -> str:
        path = (self.folder / text).resolve()
        if not path.is_relative_to(self.folder):
            raise DataError(f"'{text}' is not in the folder of this server; only its files are read")
        if not path.exists():
            raise DataError(f"the file '{text}' does not exist in the folder of this server")
        if path.suffix.lower() in (".yaml", ".yml") or (path / "study.yaml").exists():
            raise DataError(f"'{text}' is a study or a file of reading options; this server reads files of labels only")
        return str(path)

    def _reading(self, reading: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options of reading; those that are a file must be in the folder, too."""
        from assay.data.formats.registry import ReadSettings
        from assay.estimation.options import hints_of

        hints = hints_of(ReadSettings)
        files = {name for name, (hint, _) in hints.items() if hint is Any or "pathlib.Path" in str(hint)}
        return {
            name: self._path(value) if name in files and isinstance(value, str) else value
            for name, value in (reading or {}).items()
        }

    def _answer(self, found: Result) -> dict[str, Any]:
        from assay.estimation.result import json_safe

        table = json_safe(found.table)
        more = {} if len(table) <= MOST_ROWS else {"rows_left_out": len(table) - MOST_ROWS}
        return {
            "summary": self.relative(found.summary()), "table": table[:MOST_ROWS], **more, "signature": found.signature
        }  # fmt: skip

    def relative(self, text: str) -> str:
        """Return a text with the paths of files as the assistant writes them."""
        return text.replace(f"{self.folder}/", "")


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _shortened(found: dict[str, Any]) -> dict[str, Any]:
    """A look without what its summary already contains."""
    return {name: found[name] for name in ("options", "readings", "errors", "analyses")}


def server_of(tools: Tools) -> Any:
    """Return an ``MCPServer`` with these tools.

    Raises
    ------
    MissingExtra
        Without the extra ``mcp``.
    """
    mcpserver = require("mcp.server.mcpserver", "mcp", "the MCP server")
    tool_error = require("mcp.server.mcpserver.exceptions", "mcp", "the MCP server").ToolError
    annotations = require("mcp_types", "mcp", "the MCP server").ToolAnnotations
    from assay._version import __version__

    server = mcpserver.MCPServer("assay", instructions=INSTRUCTIONS, version=__version__, log_level="WARNING")
    for tool in (tools.look, tools.alt_test, tools.agreement, tools.card, tools.estimate):
        server.add_tool(
            _answering(tool, tools.relative, tool_error),
            annotations=annotations(read_only_hint=True, open_world_hint=False),
            description=inspect.getdoc(tool),
        )
    return server


def _answering(
    tool: Callable[..., dict[str, Any]], relative: Callable[[str], str], error: type[Exception]
) -> Callable[..., dict[str, Any]]:
    """The tool, whose refusals are answers that the assistant can act on."""

    @wraps(tool)
    def answered(*args: Any, **options: Any) -> dict[str, Any]:
        try:
            return tool(*args, **options)
        except (AssayError, TypeError) as refused:  # a TypeError names an unknown option
            advised = getattr(refused, "advised", None)
            fix = f"\nPass reading={dict(advised)!r}" if advised else ""
            raise error(relative(f"{refused}{fix}")) from None

    return answered


def serve(folder: str | Path) -> None:
    """Serve the tools over standard input and output until the client closes them."""
    server_of(Tools(folder)).run("stdio")
