"""How much does keeping every answer cost? A judging run against a bare loop over the same provider call.

Run as ``python benchmarks/judging.py [questions]``. A server on loopback, in a separate process, answers every call
after 50 ms, with each label of the scale in turn; ``--at-once`` calls are in flight. aiohttp alone posts the same
bodies, made before; the bare loop makes the same calls through the same provider, from requests made before, and keeps
nothing. Each way runs in a separate process, from the first call to the last answer: libraries are imported before. The
ways take turns for ``--rounds``. Each figure is the median of the rounds, and each ratio the median of the ratios
within a round. With ``--images`` each item is an image of 2 MB. Where Inspect AI is installed in an environment of its
own (``--inspect /path/to/python``), it is asked the same.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.judging.services.http import Request
    from assay.judging.services.providers import Service
    from assay.study.definition import Study

DELAY = 0.05
IMAGE = 2_000_000

INSPECT = """
import asyncio, sys, time
from inspect_ai.model import get_model, GenerateConfig
async def main(url, n, at_once):
    model = get_model("openai/tiny", base_url=url, api_key="none", responses_api=False,
                      config=GenerateConfig(max_connections=at_once))
    places = asyncio.Semaphore(at_once)
    async def one(i):
        async with places:
            await model.generate(f"text {i}")
    await one(0)
    begun = time.perf_counter()
    await asyncio.gather(*(one(i) for i in range(n)))
    print(n / (time.perf_counter() - begun))
asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


def serve(port: multiprocessing.Queue[int]) -> None:
    from aiohttp import web

    def reply(label: int) -> str:
        message = {"role": "assistant", "content": json.dumps({"label": label})}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        about = {"id": "x", "object": "chat.completion", "created": 1, "model": "tiny"}
        return json.dumps(about | {"choices": choices, "usage": usage})

    texts = itertools.cycle([reply(label) for label in range(1, 6)])

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(DELAY)
        return web.Response(text=next(texts), content_type="application/json")

    async def main() -> None:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.put(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def make_study(folder: Path, url: str, questions: int, at_once: int = 100, *, images: bool = False) -> None:
    words = "This is text number {}; it is neither good nor bad."
    rows = "".join(f"q{i},{f'{i}.png' if images else words.format(i)}\n" for i in range(questions))
    (folder / "items.csv").write_text("item,text\n" + rows)
    for i in range(questions if images else 0):
        (folder / f"{i}.png").write_bytes(random.Random(i).randbytes(IMAGE))
    (folder / "study.yaml").write_text(
        f"""
items: {{images: {["text"] if images else []}}}
questions: [{{name: quality, text: "How good is it?", scale: 1-5}}]
judges: [{{name: m1, model: tiny, base_url: "{url}", price: {{input: 1, output: 1}}}}]
limits: {{concurrency: {at_once}}}
"""
    )


def requests_of(folder: Path, questions: int) -> tuple[list[Request], Service]:
    """The requests that the run will make, and who makes them."""
    from assay.judging.dry_run import providers_of
    from assay.judging.plan import Plan
    from assay.study.definition import load_study
    from assay.study.store import work
    from assay.study.store.connection import open_store
    from assay.study.store.intake import sync_study

    study: Study = load_study(folder)
    with open_store(study, str(folder / "bare.db")) as store:
        sync_study(store, study)
        plan = Plan(study, store)
        plan.save()
        requests = [plan.request(claim) for claim in work.sample(store, "m1", questions)]
    return requests, providers_of(study.judges, study)["m1"]  # type: ignore[return-value]


def processor() -> float:
    """Seconds that this process has had of a processor."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def gathered(
    call: Callable[[Request], Awaitable[object]], requests: list[Request], at_once: int
) -> tuple[float, float]:
    """Calls a second, so many at once, and the processor seconds of all."""
    places = asyncio.Semaphore(at_once)

    async def one(request: Request) -> None:
        async with places:
            await call(request)

    begun, used = time.perf_counter(), processor()
    await asyncio.gather(*(one(request) for request in requests))
    return len(requests) / (time.perf_counter() - begun), processor() - used


async def _bare(folder: Path, questions: int, at_once: int) -> tuple[float, float]:
    """A loop over the provider's calls: no store, no reading, no counting."""
    requests, provider = requests_of(folder, questions)
    found = await gathered(provider.complete, requests, at_once)
    await provider.close()
    return found


async def _raw(folder: Path, questions: int, at_once: int) -> tuple[float, float]:
    """The same bodies through aiohttp alone."""
    import aiohttp

    requests, provider = requests_of(folder, questions)
    sent = {id(request): await provider.sent(request) for request in requests}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

        async def call(request: Request) -> None:
            one = sent[id(request)]
            async with session.post(str(one.url), json=one.body) as response:
                json.loads(await response.read())

        return await gathered(call, requests, at_once)


def bare(folder: Path, questions: int, at_once: int) -> tuple[float, float]:
    return asyncio.run(_bare(folder, questions, at_once))


def raw(folder: Path, questions: int, at_once: int) -> tuple[float, float]:
    return asyncio.run(_raw(folder, questions, at_once))


def judged(folder: Path, questions: int, _at_once: int) -> tuple[float, float]:
    """A judging run, from its first claim to its last answer, after its plan."""
    import aiohttp  # noqa: F401 - as in the others, before the first call

    from assay.judging import run
    from assay.study.definition import load_study

    (folder / "study.db").unlink(missing_ok=True)
    planned, begun = run.plan_study, []

    def plan_study(*arguments: Any) -> Any:
        found = planned(*arguments)
        begun.append(processor())
        return found

    run.plan_study = plan_study
    done = run.judge_study(load_study(folder))
    assert done.answered == questions, done.summary()
    return done.answered / done.seconds, processor() - begun[0]


WAYS = {"raw": raw, "bare": bare, "judged": judged}


def in_own_process(way: str, folder: Path, questions: int, at_once: int) -> dict[str, float]:
    """What one way reaches, calls a second, its memory in MB, and its processor seconds."""
    command = [sys.executable, __file__, str(questions), "--way", way, "--folder", str(folder)]
    command += ["--at-once", str(at_once)]
    found: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return found


def inspected(python: str, url: str, questions: int, at_once: int) -> float:
    """What Inspect AI's own model call reaches."""
    command = [python, "-c", INSPECT, url, str(questions), str(at_once)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1])


def ratio(one: list[dict[str, float]], other: list[dict[str, float]], key: str) -> float:
    """The median over rounds of the ratio of two ways in the same round."""
    return median(a[key] / b[key] for a, b in zip(one, other, strict=True))


def compare(url: str, folder: Path, chosen: argparse.Namespace) -> None:
    make_study(folder, url, chosen.questions, chosen.at_once, images=chosen.images)
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    others: list[float] = []
    for _ in range(chosen.rounds):
        for way in WAYS:
            found[way].append(in_own_process(way, folder, chosen.questions, chosen.at_once))
        if chosen.inspect:
            others.append(inspected(chosen.inspect, url, chosen.questions, chosen.at_once))
    memory = found["judged"][-1]["memory"]
    print(
        f"{chosen.questions} questions, {DELAY * 1000:g} ms each, {chosen.at_once} at once, median of {chosen.rounds}"
    )
    for way, what in (("raw", "aiohttp alone"), ("bare", "bare loop"), ("judged", "assay judge")):
        rate, used = (median(one[key] for one in found[way]) for key in ("rate", "processor"))
        print(
            f"{what:14} {rate:7.0f}/s  {ratio(found[way], found['raw'], 'rate'):.2f} of aiohttp's rate, "
            f"{1000 * used / chosen.questions:.2f} ms of processor each, "
            f"{ratio(found[way], found['raw'], 'processor'):.2f} times aiohttp's"
        )
    print(
        f"assay judge has {ratio(found['judged'], found['bare'], 'rate'):.2f} of the bare loop's rate, {memory:.0f} MB"
    )
    if others:
        times = median(one["rate"] / other for one, other in zip(found["judged"], others, strict=True))
        print(f"Inspect AI     {median(others):7.0f}/s  assay is {times:.1f} times as fast")
    if chosen.large:
        larger = folder / "large"
        larger.mkdir()
        make_study(larger, url, chosen.large, chosen.at_once)
        more = in_own_process("judged", larger, chosen.large, chosen.at_once)["memory"]
        print(f"{chosen.large} questions: {more:.0f} MB, {more / memory:.2f} times as much")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("questions", nargs="?", type=int, default=5000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--inspect", help="the Python of an environment with inspect-ai and openai")
    arguments.add_argument("--large", type=int, default=0, help="measure memory over so many questions too")
    arguments.add_argument("--at-once", type=int, default=100, help="calls in flight")
    arguments.add_argument("--images", action="store_true", help="ask about images of 2 MB")
    for name in ("way", "folder"):
        arguments.add_argument(f"--{name}", help=argparse.SUPPRESS)
    chosen = arguments.parse_args()
    if chosen.way:
        rate, used = WAYS[chosen.way](Path(chosen.folder), chosen.questions, chosen.at_once)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"rate": rate, "memory": memory, "processor": used}))
        return
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as name:
            compare(f"http://127.0.0.1:{port.get()}/v1", Path(name), chosen)
    finally:
        server.terminate()


if __name__ == "__main__":
    main()
