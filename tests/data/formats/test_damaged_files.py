"""Files that are truncated or contain other bytes: an error that names the file, for every library that reads it."""

from __future__ import annotations

import gzip
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import assay
from assay.errors import AssayError

sys.path.append(str(Path(__file__).parents[2] / "sheets"))
from corpus import xlsx

FRAME = pl.DataFrame(
    {
        "item": [f"q{i // 3}" for i in range(300)],
        "annotator": ["ann", "bob", "cho"] * 100,
        "label": [1, 2, 3, 4, 5] * 60,
    }
)


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def write_eval(path: Path) -> None:
    start = b'{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}'
    write_zip(path, {"header.json": start, "samples/1_epoch_1.json": b'{"id": "1", "epoch": 1}'})


def write_sav(path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason='files of SPSS need the extra "spss"')
    pyreadstat.write_sav(FRAME.to_pandas(), str(path), compress=path.suffix == ".zsav")


WRITERS = {
    "log.eval": write_eval,
    "labels.parquet": FRAME.write_parquet,
    "labels.arrow": FRAME.write_ipc,
    "stream.arrow": FRAME.write_ipc_stream,
    "labels.xlsx": lambda path: xlsx(path, {"Sheet1": [FRAME.columns, *FRAME.rows()]}),
    "labels.csv.gz": lambda path: path.write_bytes(gzip.compress(FRAME.write_csv().encode())),
    "labels.zip": lambda path: write_zip(path, {"labels.csv": FRAME.write_csv().encode()}),
    "labels.sav": write_sav,
    "labels.zsav": write_sav,
}


def damaged(whole: bytes) -> Iterator[bytes]:
    """Truncated, replaced, and with some bytes changed, mostly at the end, where archives have their list."""
    yield from (b"", whole[:10], whole[: len(whole) // 2], whole[:-20])
    for seed in range(20):
        draw = random.Random(seed)
        yield draw.randbytes(2000)
        yield whole[:8] + draw.randbytes(2000)
        changed = bytearray(whole)
        for _ in range(1 + seed % 5):
            changed[draw.randrange(max(0, len(whole) - 200) if seed % 2 else 0, len(whole))] = draw.randrange(256)
        yield bytes(changed)


@pytest.mark.parametrize("ask", [assay.read, assay.look])
@pytest.mark.parametrize("name", WRITERS)
def test_read_damaged_file_is_read_or_refused_by_name(tmp_path, name, ask):
    path = tmp_path / name
    WRITERS[name](path)
    whole, refused = path.read_bytes(), 0
    for content in damaged(whole):
        path.write_bytes(content)
        try:
            ask(path)
        except AssayError as error:
            assert str(path) in str(error) or "annotator" in str(error) or "label" in str(error)  # noqa: PT017
            refused += 1
    assert refused >= 40


def test_read_refuses_damaged_list_of_inspect_log(tmp_path):
    path = tmp_path / "log.eval"
    write_eval(path)
    content = bytearray(path.read_bytes())
    # The central directory begins with PK 1 2; 6 bytes later is the version that is required to extract a member.
    content[content.index(b"PK\x01\x02") + 6] = 89
    path.write_bytes(bytes(content))
    with pytest.raises(AssayError, match=r"log.eval cannot be read \(NotImplementedError: zip file version 8.9\)"):
        assay.read(path)


def test_read_refuses_damaged_list_length_of_inspect_log(tmp_path):
    path = tmp_path / "log.eval"
    write_eval(path)
    content = bytearray(path.read_bytes())
    # The end record contains the length of the central directory at byte 12: if too large, it begins before the file.
    content[content.index(b"PK\x05\x06") + 14] = 1
    path.write_bytes(bytes(content))
    with pytest.raises(AssayError, match=r"log\.eval"):
        assay.read(path)


def test_read_refuses_damaged_item_table(tmp_path):
    path = tmp_path / "items.parquet"
    path.write_bytes(b"PAR1" + random.Random(1).randbytes(500))
    with pytest.raises(AssayError, match=r"items.parquet cannot be read"):
        assay.read(FRAME, items=path)


def test_read_error_in_packed_file_names_archive(tmp_path):
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(AssayError, match=r"labels.csv.gz \(labels.csv\) is empty"):
        assay.read(path)


@pytest.mark.parametrize("ask", [assay.read, assay.look])
def test_read_refuses_deeply_nested_json(tmp_path, ask):
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a":' * 100_000)
    with pytest.raises(AssayError, match=r"deep\.jsonl cannot be read \(RecursionError"):
        ask(path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_read_accepts_utf16(tmp_path, encoding):
    path, plain = tmp_path / "wide.csv", tmp_path / "plain.csv"
    FRAME.write_csv(plain)
    path.write_text(plain.read_text(encoding="utf-8"), encoding=encoding)
    labels = assay.read(path)
    assert labels.fingerprint == assay.read(plain).fingerprint
    assert f"read as {encoding.upper()} text" in labels.reading.notes
