"""Make the example reports: python docs/gallery.py FOLDER [NAME ...] [--photograph], from the project's folder.

They use the published data in ../shared/data, or simulated data of the same shape if these are missing. --photograph
saves the first screens as docs/pictures/report-*.png; it requires Playwright and Chromium.
"""

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import assay

ROOT = Path(__file__).resolve().parents[1]
DATA = Path("../shared/data/alt_test")
Simulated = Callable[[], assay.Annotations]


def published(name: str, simulated: Simulated, **options: Any) -> assay.Annotations:
    """Return a published data set, or simulated data if it is missing."""
    return assay.read(DATA / name, **options) if (DATA / name).is_dir() else simulated()


def relations() -> assay.Annotations:
    """Word relations: many categories."""
    judges = {"near": 0.2, "far": 0.8}
    return published("wax", lambda: assay.simulate(200, 8, scale=11, judges=judges, seed=1))


def stars() -> assay.Annotations:
    """Restaurant ratings, one to five stars."""
    judges = {"near": 0.1, "far": 0.7}
    return published("cebab_stars", lambda: assay.simulate(300, 10, scale="1-5", judges=judges, seed=2))


def lesions() -> assay.Annotations:
    """Skin lesions: five criteria, six annotators."""
    criteria, judges = ["Asymmetry", "Border", "Color"], {"near": 0.2, "far": 0.8}
    return published("lesion", lambda: assay.simulate(100, 6, criteria=criteria, judges=judges, seed=3))


def lessons() -> assay.Annotations:
    """Lessons of teachers, simulated: several items per object."""
    judges = {"careful": 0.15, "middling": 0.45, "careless": 0.9}
    return assay.simulate(300, 8, scale="1-5", judges=judges, documents=60, seed=7)


REPORTS: Mapping[str, tuple[Simulated, dict[str, Any]]] = {
    "relations": (relations, {"expertise": "crowd"}),
    "stars": (stars, {"expertise": "crowd"}),
    "lesions": (lesions, {"expertise": "skilled"}),
    "lessons": (lessons, {"expertise": "skilled", "clusters": "document"}),
}


def photograph(pages: Mapping[str, Path]) -> None:
    """Save the first screen of each page, in 256 colours to reduce the file size."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, path in pages.items():
            page = browser.new_page(viewport={"width": 1200, "height": 640})
            page.goto(path.resolve().as_uri())
            place = ROOT / "docs" / "pictures" / f"report-{name}.png"
            page.screenshot(path=place)
            Image.open(place).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(place, optimize=True)
        browser.close()


if __name__ == "__main__":
    folder, *names = (word for word in sys.argv[1:] if not word.startswith("--"))
    made = {}
    for name in names or REPORTS:
        labels, options = REPORTS[name]
        made[name] = assay.report(labels(), **options).save(Path(folder) / f"{name}.html")
        print(made[name])
    if "--photograph" in sys.argv:
        photograph(made)
