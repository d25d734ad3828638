"""Files as public archives, platforms and offices keep them: encodings of other systems, batches, spans, counts.

Each is read correctly or asked about, and every printed call reads the table.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from inputs import NAMED, PEOPLE, Case, Given, Rng, cells_of, check_reading, long, records, scores, wide, words

INPUTS: dict[str, Case] = {}


def given(function: Case) -> Case:
    INPUTS[function.__name__] = function
    return function


# -- text of other systems ------------------------------------------------------------------------------------------


@given
def encoding_of_macs(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("André", "Zoé", "Jean"), words(rng, ("élevé", "très bas", "moyen"), 20).values(), strict=True))
    path = wide(folder, columns, "énoncé", ";")
    path.write_bytes(path.read_text("utf-8").replace("\n", "\r").encode("mac_roman"))
    return Given(path, cells_of(columns), options={"humans": list(columns)})


@given
def encoding_of_macs_in_german(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(("Müller", "Jäger", "Vogt"), words(rng, ("schön", "häßlich", "öde"), 20).values(), strict=True))
    path = wide(folder, columns, "Satz", ";")
    path.write_bytes(path.read_text("utf-8").encode("mac_roman"))
    return Given(path, cells_of(columns), options={"humans": list(columns)})


@given
def encoding_of_macs_or_windows(folder: Path, rng: Rng) -> Given:
    """One letter that both systems write: ``schön`` of a Mac is ``schšn`` on Windows."""
    columns = words(rng, ("schön", "banal"), 20)
    path = wide(folder, columns, "Satz", ";")
    path.write_bytes(path.read_text("utf-8").encode("mac_roman"))
    return Given(path, refused="whether it is Windows or Mac text ('schšn' or 'schön'); save it as UTF-8")


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_archives(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)
