"""How long does it take to save an answer, and is anything lost? Many people at once, on a server that is killed.

Run as ``python benchmarks/collecting.py [--people 50 --answers 100 --think 2 --kills 10 --store URL]``.
``assay serve`` runs in a separate process. Each person is a thread of this one with a connection of their
own: opens the link, asks for pages, thinks, saves. Twice: undisturbed, for the times; then the server is
killed (``kill -9``) and started again, for the counts. Afterwards every answer that was acknowledged must be
in the store exactly once, every item must have exactly its overlap, and no annotator may have had an item twice.
The times are those that a browser on this machine would see; the load comes from this machine too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "collecting"))

from annotating import simulate


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
                Path(folder),
                people=chosen.people,
                answers=chosen.answers,
                think=chosen.think,
                kills=kills,
                store=emptied(chosen.store),
                workers=chosen.workers,
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
            print("  every acknowledged answer is stored once, every overlap is exact, no annotator had an item twice")
        failed = failed or bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
