"""Files as public archives, platforms and offices keep them: encodings of other systems, batches, spans, counts.

Each is read correctly or asked about, and every printed call reads the table.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from inputs import NAMED, PEOPLE, Case, Given, Rng, cells_of, check_reading, long, records, scores, wide, words

import assay

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


# -- lists, counts and instances -------------------------------------------------------------------------------------


def _two_criteria(rng: Rng, names: tuple[str, str]) -> tuple[list[dict[str, object]], list[tuple[str, str, str, int]]]:
    labels = scores(rng, 30, 6)
    found = [{"uid": f"r{k:02}", names[0]: labels[k, :3].tolist(), names[1]: labels[k, 3:].tolist()} for k in range(30)]
    return found, [(f"r{k:02}", str(1 + j % 3), names[j // 3], labels[k, j]) for k in range(30) for j in range(6)]


@given
def lists_of_two_criteria(folder: Path, rng: Rng) -> Given:
    """One record for each response, and three annotators without names."""
    found, right = _two_criteria(rng, ("Natural", "Overall"))
    return Given(records(folder, found), right, asked=True)


@given
def lists_of_unnamed_criteria(folder: Path, rng: Rng) -> Given:
    """Their places can be turns."""
    return Given(
        records(folder, _two_criteria(rng, ("x2", "x3"))[0]), refused="their places can be annotators or parts"
    )


@given
def lists_inside_outputs(folder: Path, rng: Rng) -> Given:
    found, right = _two_criteria(rng, ("Natural", "Overall"))
    rows = [{"context": f"dialogue {k}", "responses": found[3 * k : 3 * k + 3]} for k in range(10)]
    return Given(records(folder, rows), right, asked=True)


def _counted(rng: Rng) -> list[dict[str, object]]:
    counts = rng.multinomial(100, (0.5, 0.3, 0.2), 30)
    return [{"uid": f"n{k}", "label_counter": dict(zip("enc", c, strict=True))} for k, c in enumerate(counts.tolist())]


@given
def counts_of_labels(folder: Path, rng: Rng) -> Given:
    return Given(records(folder, _counted(rng)), refused="'label_counter' hold counts, not labels")


@given
def visits_of_records(folder: Path, rng: Rng) -> Given:
    """Three instances of each record can be three annotators, or one at three visits."""
    labels = scores(rng, 12, 3)
    rows = [(k + 1, j + 1, int(labels[k, j]), 2) for k in range(12) for j in range(3)]
    path = long(folder, ("record_id", "redcap_repeat_instance", "clarity", "form_1_complete"), rows)
    return Given(
        path, [(str(k), str(j), "", x) for k, j, x, _ in rows], refused="or 'redcap_repeat_instance' (3 values)"
    )


@given
def state_of_a_form(folder: Path, rng: Rng) -> Given:
    columns = dict(zip(PEOPLE, scores(rng, 30, 3).T.tolist(), strict=True))
    path = wide(folder, {**columns, "form_1_complete": [2] * 30}, "record_id")
    return Given(path, cells_of(columns), options=NAMED, asked=True)


@pytest.mark.parametrize("name", INPUTS)
def test_read_inputs_of_archives(name: str, tmp_path: Path) -> None:
    check_reading(INPUTS[name], tmp_path)


def test_read_labels_beside_their_counts(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [{**one, "old_labels": rng.choice(list("enc"), 5).tolist()} for one in _counted(rng)]
    labels = assay.read(records(tmp_path, rows), item="uid")
    assert len(labels) == 150
    assert "'label_counter': counts of labels, not read as labels" in labels.reading.notes
