"""Where a model's files are: a folder of this machine, or a name on the Hugging Face Hub, fetched once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from assay.errors import DataError, require

EMBED = "embed"
LEFT_OUT = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "onnx/*", "openvino/*", "*.tflite", "coreml/*", "*.gguf")
"""Files of a model that are the same weights for other libraries."""
WEIGHTS = ("*.safetensors", "*.json", "*.txt", "*.model")
"""Files that decide what a model gives; ``*.bin`` where there are no safetensors."""


@lru_cache
def folder_of(model: str) -> Path:
    """The folder of a model's files.

    Raises
    ------
    DataError
        For what is no folder with a model, and no name that is here or can be fetched.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file() and not (path / "modules.json").is_file():
            raise DataError(f"the folder {model} holds no model: neither config.json nor modules.json is in it")
        return path.resolve()
    if path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise DataError(f"there is no folder {model}; give the folder of a model, or its name on the Hugging Face Hub")
    hub = require("huggingface_hub", EMBED, "a model by its name")
    names = [model] if "/" in model else [f"sentence-transformers/{model}", model]
    why = ""
    for name in names:
        try:
            return Path(hub.snapshot_download(name, local_files_only=True))
        except Exception as error:
            why = type(error).__name__
    for name in names:
        try:
            return Path(hub.snapshot_download(name, ignore_patterns=list(LEFT_OUT)))
        except Exception as error:  # no network, no such model, no leave to read it: many classes, one way out
            why = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    raise DataError(
        f"the model '{model}' is not on this machine and cannot be fetched ({why}). Give the folder of a model that is "
        "here, or fetch it once where there is a network"
    )


@lru_cache
def digest_of(folder: Path) -> str:
    """Eight hexadecimal digits of a model's weights and settings: the same on every machine, wherever the folder is."""
    mixed = hashlib.blake2b(digest_size=4)
    kinds = WEIGHTS if any(folder.rglob("*.safetensors")) else (*WEIGHTS, "*.bin")
    files = sorted({path for pattern in kinds for path in folder.rglob(pattern) if path.is_file()})
    for path in files:
        mixed.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                mixed.update(block)
    return mixed.hexdigest()


def short_name(model: str) -> str:
    """A model's name without the folder it is in."""
    return Path(model).expanduser().resolve().name if Path(model).expanduser().is_dir() else model


@lru_cache
def setting(folder: Path, file: str, key: str) -> int | None:
    """A whole number that a JSON file of the model gives, or None."""
    path = folder / file
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8")).get(key)
    return found if isinstance(found, int) else None


def pick_device(given: str | None) -> str:
    """The device asked for, or else a GPU where there is one."""
    torch = require("torch", EMBED, "an encoder")
    if given is None:
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=given)
    except (RuntimeError, AssertionError) as error:
        raise DataError(f"the device '{given}' cannot be used: {str(error).splitlines()[0]}") from error
    return given


@contextmanager
def quietly() -> Iterator[None]:
    """No bars on the terminal while a model is loaded."""
    said = require("transformers.utils.logging", EMBED, "an encoder")
    shown = said.is_progress_bar_enabled()
    said.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            said.enable_progress_bar()
