from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

from assay.study.definition import Study, load_study


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker has the libraries of providers, which take several seconds to import."""
    for item in items:
        if item.path.name in ("test_client.py", "test_plan.py"):
            item.add_marker(pytest.mark.xdist_group("providers"))


@pytest.fixture
def make_study(tmp_path: Path) -> Callable[..., Study]:
    """A study folder with n items, one 1-5 question and one judge at a URL; keys replace parts of it."""

    def make(n: int = 20, url: str = "http://127.0.0.1:9/v1", *, judge: dict[str, Any] | None = None, **parts: Any):
        folder = tmp_path / "study"
        folder.mkdir(exist_ok=True)
        rows = "".join(f"q{i:05},text @q{i:05}@,d{i // 4}\n" for i in range(n))
        (folder / "items.csv").write_text("item,text,doc\n" + rows)
        content = {
            "items": {"file": "items.csv", "document": "doc"},
            "questions": [{"name": "quality", "text": "How good is it?", "scale": "1-5"}],
            "judges": [{"name": "m1", "model": "tiny", "base_url": url} | (judge or {})],
            "limits": {"concurrency": 10, "timeout": 5},
        }
        (folder / "study.yaml").write_text(yaml.safe_dump(content | parts, sort_keys=False))
        return load_study(folder)

    return make
