"""The Chromium of this machine."""

from __future__ import annotations

import os
import shutil
from typing import Any


def launch_chromium(playwright: Any) -> Any:
    """Start the browser without a window; its headless shell, if it is there, needs a third of the processor time."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
