"""Does the page hold under load? The four figures that are promised, in one run of some three minutes.

Run as ``python benchmarks/serving.py`` on a quiet machine, or with the names of the parts to run:

- ``people``: as `collecting.py`, 50 people at once, undisturbed and with kills: no loss, no duplicate, exact
  quotas; p95 of a save under 60 ms, across kills under 120 ms. After a restart all 50 save at once: with the usual four
  kills in 20 answers that is a fifth of all saves, with ``--answers 100 --kills 10`` a tenth.
- ``connections``: 1,500 half-open connections and 100 slow bodies; a new annotator is answered within 2 s.
- ``crowd``: the test with a stub of Prolific, 200 workers, a fifth of which return: slots, codes and payment.
- ``lead``: 10,000 items that 49 of 50 annotators have answered; a reload of the dashboard in under .3 s of processor
  time. Also the cost of a page and a save there, and in an empty study.

The times depend on what else the machine does: its load is printed with them.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collecting"))

from annotating import (
    Annotator,
    Network,
    Served,
    Server,
    crowded,
    invite_people,
    simulate,
    write_study,
)

from assay.study.definition import load_study
from assay.study.store.connection import Store, open_store

T = TypeVar("T")
PARTS = ("people", "connections", "crowd", "lead")


def report(what: str, holds: bool) -> bool:
    """One line; whether what is promised holds."""
    print(f"{'holds   ' if holds else 'DOES NOT'}  {what}", flush=True)
    return holds


# -- the four ---------------------------------------------------------------------------------------------


def people(chosen: argparse.Namespace) -> bool:
    """Many at once, undisturbed and with kills."""
    held = []
    for kills, promised in ((0, 60), (chosen.kills, 120)):
        with tempfile.TemporaryDirectory() as folder:
            about = {"people": chosen.people, "answers": chosen.answers, "think": chosen.think, "kills": kills}
            found, wrong, number, seconds = simulate(Path(folder), **about)
        waits = np.array([wait for person in found for wait in person.waits]) * 1000
        p50, p95 = np.percentile(waits, (50, 95))
        for one in wrong[:10]:
            print(f"          WRONG: {one}")
        words = (
            f"{len(waits):,} saved by {chosen.people} in {seconds:.0f} s, killed {number} times, {len(wrong)} wrong; "
        )
        words += f"a save takes p50 {p50:.1f}, p95 {p95:.1f}, at most {waits.max():.0f} ms (promised: p95 < {promised})"
        held.append(report(words, not wrong and p95 < promised))
    return all(held)


def connections(chosen: argparse.Namespace) -> bool:
    """Time a new annotator during many idle connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        path = write_study(Path(folder) / "study", items=4)
        study = load_study(path)
        with open_store(study) as store:
            links = invite_people(study, store, ["ana"])
        with Server(path) as server, crowded(server.port):
            begun = time.perf_counter()
            ana = Annotator(Network(server.url), links["ana"])
            ana.join()
            saved = ana.answer(ana.work()[0]).status == 200
            took = time.perf_counter() - begun
            ana.wire.close()
    words = f"with 1,500 half-open connections and 100 slow bodies: link, page and save in {took:.2f} s (promised: 2)"
    return report(words, saved and took < 2)


def crowd(chosen: argparse.Namespace) -> bool:
    """The stub of Prolific, which is a test."""
    file = Path(__file__).resolve().parents[1] / "tests" / "collecting" / "test_crowd.py"
    test = f"{file}::test_prolific_stub[200-130]"
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-m", "slow", test], capture_output=True, text=True
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        print(done.stdout[-3000:])
    words = f"200 workers, a fifth return, a twentieth fail: places, codes and payment as logged ({seconds:.0f} s)"
    return report(words, done.returncode == 0)


def lead(chosen: argparse.Namespace) -> bool:
    """A large study: what a look costs, and what people cost."""
    with tempfile.TemporaryDirectory() as folder:
        empty = served_people(Path(folder) / "empty", chosen.items, 0)
        with empty as page:
            costs_of_people("in an empty study", page)
        with served_people(Path(folder) / "full", chosen.items, 49) as page:
            answers = page.store.checked_answers()
            one = page.lead()
            looks = []
            for _ in range(5):
                # An annotator answers between two reloads, so that no earlier result is still right.
                other = page.annotator("p49")
                other.answer(other.work()[0])
                looks.append(timed(partial(one.send, "GET", "/lead/live"))[1])
            costs_of_people(f"among {answers:,} answers", page)
    words = (
        f"{chosen.items:,} items, 49 of 50 people done: a look takes {max(looks[1:]):.2f} s of processor, the first "
    )
    return report(words + f"{looks[0]:.2f} (promised: .3)", max(looks[1:]) < 0.3)


# -- a large study ----------------------------------------------------------------------------------------


def served_people(folder: Path, items: int, done: int) -> Served:
    """Return a study of 50 annotators; this many have answered every item, and the last has only begun."""
    rows = [{"item": f"i{n:05d}", "text": f"Text {n}. " + "It is neither good nor bad. " * 20} for n in range(items)]
    write_study(folder, items=rows, people={"overlap": 50, "quota": items})
    page = Served(folder, [f"p{n:02d}" for n in range(50)])
    one = page.annotator("p49")
    one.answer(one.work()[0])
    if done:
        fill(page.store, done)
    return page


def fill(store: Store, done: int) -> None:
    """The rows that one answer made, once more for each item and each of the first people."""
    where = f"from items i join people p on p.annotator < 'p{done:02d}'"
    with store.writing() as db:
        for table, own in _COPIED.items():
            names = [row.name for row in db.execute(sa.text(f"pragma table_info({table})")) if row.name != "id"]
            values = ", ".join(own.get(name, f"first.{name}") for name in names)
            joined = f"{where} join (select * from {table} order by id limit 1) first"
            if table == "answers":
                joined += " join assignments a on a.item = i.item and a.annotator = p.annotator"
            db.execute(sa.text(f"insert into {table} ({', '.join(names)}) select {values} {joined}"))
        last = "(select s.id from answers s where s.assignment = assignments.id)"
        db.execute(sa.text(f"update assignments set answer = {last}"))
        db.execute(sa.text("analyze"))


_WHO = {"item": "i.item", "annotator": "p.annotator"}
_COPIED: dict[str, dict[str, str]] = {
    "tasks": {**_WHO, "page": "i.position + 1", "place": "i.position + 1", "state": "'answered'",
              "closed_at": "first.given_at"},
    "assignments": {**_WHO, "status": "'answered'"},
    "answers": {"assignment": "a.id", "request_key": "i.item || '/' || p.annotator", "label": "1 + i.position % 5"},
}  # fmt: skip


def timed(what: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and seconds of processor, of all threads."""
    begun = time.process_time()
    found = what()
    return found, time.process_time() - begun


def costs_of_people(where: str, page: Served) -> None:
    """What the next pages and a save cost, in the middle of many."""
    one = page.annotator("p49")
    pages, saves, last = [], [], 0
    for _ in range(5):
        (found, _rest), took = timed(partial(one.pages, last))
        pages.append(took)
        for task in found:
            saves.append(timed(partial(one.answer, task))[1])
            last = task.page
    middle = [1000 * statistics.median(costs) for costs in (pages, saves)]
    print(f"          {where}: four pages {middle[0]:.1f} ms of processor, a save {middle[1]:.1f} ms, client included")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all where none is named")
    arguments.add_argument("--people", type=int, default=50)
    arguments.add_argument("--answers", type=int, default=20, help="of each person")
    arguments.add_argument("--think", type=float, default=2.0, help="seconds before an answer, ±50%%")
    arguments.add_argument("--kills", type=int, default=4)
    arguments.add_argument("--items", type=int, default=10_000, help="of the lead's study")
    chosen = arguments.parse_args()
    print(f"{os.cpu_count()} cores, load of the last minute {os.getloadavg()[0]:.1f}")
    held = [globals()[name](chosen) for name in PARTS if not chosen.parts or name in chosen.parts]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
