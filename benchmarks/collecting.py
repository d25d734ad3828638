"""How long does it take to save an answer, and is anything lost? Many people at once, on a server that is killed.

Run as ``python benchmarks/collecting.py [--people 50 --answers 100 --think 2 --kills 10 --store URL]``.
``assay serve`` runs in a process of its own. Each person is a thread of this one with a connection of their
own: opens the link, asks for pages, thinks, saves. Twice: undisturbed, for the times; then the server is
killed (``kill -9``) and started again, for the counts. Afterwards every answer that was acknowledged must be
in the store exactly once, every item must have exactly its overlap, and nobody may have had an item twice.
The times are those that a browser on this machine would see; the load comes from this machine too.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collecting"))

from annotating import Annotator, Network, Server, invite_people, write_study

from assay.data import schema
from assay.data.store import Store
from assay.data.study import load_study

OVERLAP = 5


def prepared(folder: Path, people: int, answers: int, store: str | None) -> dict[str, str]:
    """A study in which so many people have so many items each, every item five times; their links."""
    items = people * answers // OVERLAP
    rows = [
        {"item": f"i{n:05d}", "text": f"Text number {n}. " + "It is neither good nor bad. " * 20} for n in range(items)
    ]
    write_study(folder, items=rows, people={"overlap": OVERLAP, "quota": answers, "instructions": "Read all of it."})
    study = load_study(folder)
    with study.open_store(store) as opened:
        return invite_people(study, opened, [f"person {n:03d}" for n in range(people)])


def run_people(server: Server, links: dict[str, str], answers: int, think: float) -> tuple[list[Annotator], list[str]]:
    """All of them at work at once, until each has finished; what went wrong."""
    people = [Annotator(Network(server.url), link, seed=n) for n, link in enumerate(links.values())]
    wrong: list[str] = []

    def work(person: Annotator) -> None:
        chance = random.Random(person.link)
        pause: Callable[[], None] = lambda: time.sleep(think * (0.5 + chance.random()))  # noqa: E731
        try:
            time.sleep(think * chance.random())
            end = person.work_through(answers, pause)
            if end != "enough":
                wrong.append(f"{person.link}: {end} after {len(person.saved)}")
        except Exception as error:
            wrong.append(f"{person.link}: {error!r}")
        finally:
            person.wire.close()

    threads = [threading.Thread(target=partial(work, person), daemon=True) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return people, wrong


def killed(server: Server, kills: int, every: float, stop: threading.Event) -> int:
    """Kill the server and start it again, so often; how often it was done."""
    for number in range(kills):
        if stop.wait(every):
            return number
        server.kill()
        server.start()
    return kills


def verify(people: list[Annotator], where: Store, answers: int) -> list[str]:
    """What does not hold, in words; nothing where all does."""
    wrong = []
    with where.reading() as db:
        rows = db.execute(sa.select(schema.answers)).all()
        tasks = {row.id: row for row in db.execute(sa.select(schema.tasks)).all()}
    kept: dict[tuple[int, str], list[object]] = {}
    for row in rows:
        kept.setdefault((row.shown["task"], row.request_key.rpartition("/")[2]), []).append(row)
    acknowledged = [body for person in people for body in person.saved]
    for body in acknowledged:
        found = kept.get((body["task"], body["key"]), [])
        labels = [row.label for row in found]
        if len(found) != len(body["labels"]) or sorted(map(str, labels)) != sorted(map(str, body["labels"].values())):
            wrong.append(f"task {body['task']}: acknowledged {body['labels']}, stored {labels}")
    if len(rows) != len(acknowledged):
        wrong.append(f"{len(rows)} rows for {len(acknowledged)} acknowledged answers")
    done = [task for task in tasks.values() if task.state == "answered"]
    overlap = Counter(Counter(task.item for task in done).values())
    if set(overlap) != {OVERLAP}:
        wrong.append(f"overlap, items by number of answers: {dict(overlap)}")
    twice = [pair for pair, number in Counter((t.annotator, t.item) for t in tasks.values()).items() if number > 1]
    if twice:
        wrong.append(f"an item twice to one person: {twice[:3]}")
    if set(Counter(task.annotator for task in done).values()) != {answers}:
        wrong.append("not everybody has answered their quota")
    if any(task.extra for task in done):
        wrong.append(f"{sum(bool(task.extra) for task in done)} answers are extra")
    return wrong


def simulate(
    folder: Path, people: int, answers: int, think: float, kills: int, store: str | None, workers: int = 1
) -> tuple[list[Annotator], list[str], int, float]:
    """One run: the people with what they saw, what does not hold, how often it was killed, seconds."""
    links = prepared(folder, people, answers, store)
    stop = threading.Event()
    done: list[int] = []
    begun = time.perf_counter()
    with Server(folder, store, workers) as server:
        every = max(1.0, answers * think * 0.6 / kills) if kills else 1.0
        killer = threading.Thread(target=lambda: done.append(killed(server, kills, every, stop)))
        killer.start()
        found, wrong = run_people(server, links, answers, think)
        stop.set()
        killer.join()
    seconds = time.perf_counter() - begun
    with load_study(folder).open_store(store) as opened:
        wrong += verify(found, opened, answers)
    return found, wrong, done[0], seconds


def emptied(store: str | None) -> str | None:
    """The database without what an earlier run left there."""
    if store is not None and store.startswith("postgres"):
        engine = sa.create_engine(sa.make_url(store).set(drivername="postgresql+psycopg"))
        with engine.begin() as db:
            db.execute(sa.text("drop schema public cascade"))
            db.execute(sa.text("create schema public"))
        engine.dispose()
    return store


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=50)
    arguments.add_argument("--answers", type=int, default=100, help="of each person")
    arguments.add_argument("--think", type=float, default=2.0, help="seconds before an answer, ±50%%")
    arguments.add_argument("--kills", type=int, default=10)
    arguments.add_argument("--store", help="postgresql://…, EMPTIED before each run; SQLite where it is missing")
    arguments.add_argument("--workers", type=int, default=1)
    chosen = arguments.parse_args()
    print(f"{chosen.people} people at once, {chosen.answers} answers each, {chosen.think:g} s between two of them")
    failed = False
    for name, kills in (("undisturbed", 0), ("killed", chosen.kills)):
        if name == "killed" and not kills:
            continue
        with tempfile.TemporaryDirectory() as folder:
            people, wrong, number, seconds = simulate(
                *(Path(folder), chosen.people, chosen.answers, chosen.think, kills),
                *(emptied(chosen.store), chosen.workers),
            )
        waits = np.array([wait for person in people for wait in person.waits]) * 1000
        p50, p95, p99 = np.percentile(waits, (50, 95, 99))
        print(
            f"{name:12s} {len(waits):6d} saved in {seconds:5.0f} s, killed {number:2d} times; a save takes "
            f"p50 {p50:5.1f}  p95 {p95:5.1f}  p99 {p99:6.1f}  max {waits.max():7.1f} ms"
        )
        for one in wrong[:10]:
            print(f"  WRONG: {one}")
        if not wrong:
            print("  every acknowledged answer is stored once, every overlap is exact, nobody had an item twice")
        failed = failed or bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
