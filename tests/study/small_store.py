"""A small study in the store, with rows of assignments and answers inserted directly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from assay.data.columns import PART  # noqa: E402
from assay.study.items import Item  # noqa: E402
from assay.study.schema import Question  # noqa: E402
from assay.study.store import people, tables  # noqa: E402
from assay.study.store.answers import append  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.items import NewItem, put_items  # noqa: E402
from assay.study.store.people import ADJUDICATOR, add_people, put_annotators  # noqa: E402


@contextmanager
def small_store(folder: Path) -> Iterator[Store]:
    """Items of every role; a question in two versions and another; judges and people who count, and who do not."""
    with Store.open(str(folder / "store.db")) as opened:
        with opened.together() as db:
            parts = {"r1": {PART: "tune"}, "r2": {PART: "test"}}
            new = [
                NewItem(n, Item(f"r{n}", f"d{n % 2}", {"text": f"t{n}"}), known=parts.get(f"r{n}")) for n in range(1, 5)
            ]
            put_items(db, [*new, NewItem(9, Item("gone", None, {}))], 0.0)
            put_items(db, [NewItem(n, Item(role, None, {}), role) for n, role in enumerate(("check", "warm-up"))], 0.0)
            db.execute(sa.update(tables.items).where(tables.items.c.item == "gone").values(active=False))
            for number, name, version, current in ((1, "quality", 1, 0), (2, "quality", 2, 1), (3, "tone", 1, 1)):
                row = {"id": number, "name": name, "version": version, "made_at": 0.0, "current": bool(current)}
                asked = Question(name=name, text="?", scale="1-5", show=["text"]).model_dump(mode="json")
                db.execute(sa.insert(tables.questions), row | {"definition": asked})
            add_people(opened, {"eva": {}, "out": {}})
            add_people(opened, {"zoe": {}}, role=ADJUDICATOR)
            people.exclude(opened, "out")
            put_annotators(db, [(name, "judge", {}) for name in ("m", "n", "old")] + [("ann", "human", {})])
            n = tables.annotators
            db.execute(sa.update(n).where(n.c.annotator.in_(["old", "ann"])).values(active=False))
        yield opened


def assign(store: Store, **more: Any) -> int:
    """The number of a new assignment: of r1 to judge m unless said otherwise."""
    row = {
        "item": "r1", "question": 2, "annotator": "m", "recipe": "p", "condition": "{}", "repeat": 1, "status": "open",
        "active": True,
    }  # fmt: skip
    with store.writing() as db:
        return db.execute(sa.insert(tables.assignments).returning(tables.assignments.c.id), row | more).scalar_one()


def answer(store: Store, number: int, *statuses: str, **more: Any) -> int:
    """Answers to an assignment, one after the other, each 3 where it is a label; the assignment's number."""
    with store.writing() as db:
        for status in statuses or ("valid",):
            (before,) = db.execute(sa.select(sa.func.count()).where(tables.answers.c.assignment == number)).scalars()
            row = {"assignment": number, "request_key": f"{number}/{before}", "revision": before + 1, "status": status}
            append(db, {**row, "label": 3 if status == "valid" else None, "answered_at": 1.0} | more)
    return number


def rows(store: Store, *columns: str) -> list[Any]:
    """These columns of all assignments, in their order."""
    a = tables.assignments.c
    with store.reading() as db:
        found = db.execute(sa.select(*(a[c] for c in columns)).order_by(a.id)).all()
    return [row[0] if len(columns) == 1 else tuple(row) for row in found]
