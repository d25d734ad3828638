"""How much does keeping every answer cost? A judging run against a bare loop over the same provider.

Run as ``python benchmarks/judging.py [questions]``. A server on loopback, in a process of its own, answers
every call after 50 ms; 100 calls are in flight. Where Inspect AI is installed in an environment of its own
(``--inspect /path/to/python``), it is asked the same.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DELAY = 0.05
AT_ONCE = 100

INSPECT = """
import asyncio, sys, time
from inspect_ai.model import get_model, GenerateConfig
async def main(url, n, at_once):
    model = get_model("openai/tiny", base_url=url, api_key="none", config=GenerateConfig(max_connections=at_once))
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

    reply = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"label": 4}'}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }
    text = json.dumps(reply)

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(DELAY)
        return web.Response(text=text, content_type="application/json")

    async def main() -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.put(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def make_study(folder: Path, url: str, questions: int) -> None:
    rows = "".join(f"q{i},This is text number {i}; it is neither good nor bad.\n" for i in range(questions))
    (folder / "items.csv").write_text("item,text\n" + rows)
    (folder / "study.yaml").write_text(
        f"""
questions: [{{name: quality, text: "How good is it?", scale: 1-5}}]
judges: [{{name: m1, model: tiny, base_url: "{url}", price: {{input: 1, output: 1}}}}]
limits: {{concurrency: {AT_ONCE}}}
"""
    )


async def bare(url: str, folder: Path, questions: int) -> float:
    """Calls a second of a loop that only calls: no store, no reading, no counting."""
    from assay.data.study import load_study
    from assay.judging.plan import Plan
    from assay.judging.providers import OpenAIChat

    study = load_study(folder)
    with study.open_store(str(folder / "bare.db")) as store:
        store.take_in(study)
        plan = Plan(study, store)
        plan.save()
        request = plan.request(store.sample("m1", 1)[0])
    provider = OpenAIChat(url, None, timeout=60, connections=AT_ONCE)
    places = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with places:
            await provider.complete(request)

    await one()
    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(questions)))
    taken = time.perf_counter() - begun
    await provider.close()
    return questions / taken


def judged(folder: Path) -> None:
    """Calls a second of a judging run, from its first claim to its last answer; and its memory."""
    from assay.data.study import load_study
    from assay.judging.run import judge_study

    done = judge_study(load_study(folder))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rate": done.answered / done.seconds, "memory": memory}))


def in_own_process(folder: Path) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, __file__, "--judged", str(folder)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(out.stdout)
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("questions", nargs="?", type=int, default=5000)
    arguments.add_argument("--judged", type=Path)
    arguments.add_argument("--inspect", help="the Python of an environment with inspect-ai and openai")
    arguments.add_argument("--large", type=int, default=0, help="measure memory over so many questions too")
    chosen = arguments.parse_args()
    if chosen.judged:
        judged(chosen.judged)
        return
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{port.get()}/v1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_study(folder, url, chosen.questions)
        loop = asyncio.run(bare(url, folder, chosen.questions))
        run = in_own_process(folder)
        print(f"{chosen.questions} questions, {DELAY * 1000:g} ms each, {AT_ONCE} at once")
        print(f"bare loop    {loop:7.0f}/s")
        print(f"assay judge  {run['rate']:7.0f}/s  {run['rate'] / loop:.0%} of the loop, {run['memory']:.0f} MB")
        if chosen.inspect:
            command = [chosen.inspect, "-c", INSPECT, url, str(chosen.questions), str(AT_ONCE)]
            rate = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])
            print(f"Inspect AI   {rate:7.0f}/s  assay is {run['rate'] / rate:.1f} times as fast")
        if chosen.large:
            larger = folder / "large"
            larger.mkdir()
            make_study(larger, url, chosen.large)
            memory = in_own_process(larger)["memory"]
            print(f"{chosen.large} questions: {memory:.0f} MB, {memory / run['memory']:.2f} times as much")
    server.terminate()


if __name__ == "__main__":
    main()
