"""Every timing of docs/benchmarks.md in one run, with the machine and the date.

    python benchmarks/timings.py                 # on a machine that does nothing else
    python benchmarks/timings.py --large         # also folders of 100 million labels, which take time and disk
    python benchmarks/timings.py alt_test chunks # some of them

Each script runs in a separate process, one after the other, and what it prints follows its command. Alternatives that
are not installed are left out, with a remark: ``python -m pip install krippendorff pingouin evalica dask
distributed bert-score``, and Debian's ``r-cran-lme4`` and ``jags``.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import assay

TIMINGS = (
    "alt_test", "agreement", "preference", "trace", "chunks 10_000_000 --dask", "estimates speed",
    "ideas 10000000 5000", "ideas_texts size", "g_study", "raters", "similarity", "training short paper",
    "watch_and_route delays --studies 50", "judging 4000 --rounds 5", "judging 4000 --rounds 5 --at-once 500",
    "serving people",
)  # fmt: skip
LARGE = ("agreement --folder 100_000_000", "chunks 100_000_000", "estimates large")


def machine() -> str:
    """Processor, cores, memory, system and Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    model = next(named, platform.machine())
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return (
        f"{model}, {os.cpu_count()} cores, {pages / 1e9:.0f} GB, {platform.system()} {platform.release()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def run(command: str) -> int:
    """Print the command, what it prints and how long it took; the exit status."""
    name, *options = command.split()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"\n== {command} ({datetime.datetime.now():%H:%M}{load})", flush=True)
    start = time.perf_counter()
    done = subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py")), *options], check=False)
    print(f"-- {time.perf_counter() - start:.0f} s, exit status {done.returncode}", flush=True)
    return done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", help="names of scripts; all of them when none is given")
    parser.add_argument("--large", action="store_true", help="also folders of 100 million labels")
    options = parser.parse_args()
    all_of_them = (*TIMINGS, *(LARGE if options.large else ()))
    wanted = [one for one in all_of_them if not options.scripts or one.split()[0] in options.scripts]
    print(f"assay {assay.__version__}, {datetime.date.today():%d %B %Y}: {machine()}")
    failed = [one for one in wanted if run(one)]
    print("\nall ran" if not failed else f"\nnot through: {', '.join(failed)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
