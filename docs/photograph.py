"""Take screenshots of the annotation page and the dashboard, with simulated answers: python docs/photograph.py.

Run it in the repository root. It requires Playwright and Chromium.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from assay.collecting import answers, invitations
from assay.collecting.assignment import Assigner
from assay.collecting.design import StudyDesign
from assay.collecting.hosting.server import lead_link
from assay.collecting.people import pages_of
from assay.study.definition import load_study
from assay.study.store.connection import open_store
from assay.study.store.intake import sync_study
from assay.study.store.people import invited_person

FOLDER = Path(__file__).parent / "pictures"
PORT = 8499
STUDY = """\
name: Summaries of local news
items: {file: items.jsonl}
questions:
  - name: better
    text: Which summary would you rather read instead of the article?
    guidelines: Judge the content, not the length.
    scale: preference
    options: [model_a, model_b]
    show: [article]
  - name: clear
    text: How clear is the article itself?
    scale: interval:0-10
    show: [article]
people:
  instructions: Read the article first, then both summaries.
  overlap: 3
"""
ARTICLE = (
    "The town council voted on Tuesday to close the old bridge for two years. Repairs will cost 4.2 million, "
    "a third of it from the county. A footbridge opens in spring, and buses take the northern bridge.\n\n"
    "Shopkeepers on the east bank fear for their trade. The mayor promised help, but named no sum."
)
FIRST = "The old bridge closes for two years of repairs that cost 4.2 million. A footbridge opens in spring."
SECOND = (
    "Shopkeepers fear for their trade as the council closes the old bridge; the mayor promises help, without a sum."
)


def main() -> None:
    """Make a study, answer it, serve it, and take three screenshots."""
    folder = Path(tempfile.mkdtemp())
    row = '{{"item": "n{}", "article": {!r}, "model_a": {!r}, "model_b": {!r}}}'
    lines = [row.format(n, ARTICLE, FIRST, SECOND).replace("'", '"') for n in range(40)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    (folder / "study.yaml").write_text(STUDY)
    answer(folder)
    with open_store(load_study(folder)) as store:
        signer = invitations.signer_of(load_study(folder), store)
        address = f"http://127.0.0.1:{PORT}"
        lead = lead_link(signer, address)
        person = invitations.personal_link(signer, invited_person(store, "Ana Ruiz"), address)
    server = subprocess.Popen([sys.executable, "-m", "assay", "serve", str(folder), "--port", str(PORT)])
    try:
        wait()
        path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            photograph(browser, person, "page", 1100, 760)
            photograph(browser, person, "phone", 390, 760, scheme="dark")
            photograph(browser, lead, "lead", 1100, 900)
    finally:
        server.kill()
        shutil.rmtree(folder)


def answer(folder: Path) -> None:
    """Simulate the answers of four annotators."""
    study, chance = load_study(folder), random.Random(7)
    with open_store(study) as store:
        sync_study(store, study)
        design = StudyDesign(study, store)
        assigner = Assigner(design)
        for name, done in {"Ana Ruiz": 22, "Ben Okoro": 25, "Chi Tanaka": 19, "Dan Weiss": 8}.items():
            person = invitations.invite(design, name, {"language": "English"})
            for number in range(done):
                (page,) = pages_of(design, person, assigner.hold(person, 0, 1).pages)
                (task,) = page.tasks
                better, clear = (str(question.id) for question in task.questions)
                # Most prefer the first model's summary, on either side.
                left = FIRST in str(task.questions[0].choices[0].field)
                likes = chance.random() < 0.8
                labels = {better: "first" if left == likes else "second", clear: round(chance.gauss(7, 1) * 2) / 2}
                flag = "The text breaks off" if (name, number) == ("Ben Okoro", 11) else ""
                comment = "Both have the same content." if (name, number) == ("Chi Tanaka", 15) else ""
                seconds = max(8, chance.gauss(31, 9))
                sent = answers.Submission(task.id, f"photograph{task.id}", 0, labels, None, comment, flag, seconds)
                answers.save(assigner, person, sent)


def wait() -> None:
    """Wait until the server answers."""
    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health").close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server does not answer")


def photograph(browser: Browser, address: str, name: str, width: int, height: int, scheme: str = "light") -> None:
    """Take a screenshot of one page after its script has run."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.wait_for_timeout(800)
    page.evaluate("document.querySelectorAll('dialog[open]').forEach((one) => one.close())")
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    context.close()
    print(path)


if __name__ == "__main__":
    main()
