"""Argilla: nested and flat records, parquet; drafts, rankings, suggestions, settings."""

from __future__ import annotations

import polars as pl
import pytest

import assay
from assay.data.formats import intake
from assay.errors import DataError

ANN, BOB = "0000-a", "0000-b"
FLAT = [
    {
        "id": "r1",
        "status": "completed",
        "_server_id": None,
        "text": "one",
        "stars.responses": [4, 2],
        "stars.responses.users": [ANN, BOB],
        "stars.responses.status": ["submitted", "draft"],
        "tags.responses": [["x", "y"]],
        "tags.responses.users": [BOB],
        "tags.responses.status": ["submitted"],
        "best.responses": [["b", "a"], ["a", "b"]],
        "best.responses.users": [BOB, ANN],
        "best.responses.status": ["submitted", "submitted"],
        "stars.suggestion": 5,
        "stars.suggestion.agent": "gpt",
        "stars.suggestion.score": 0.5,
    },
    {
        "id": "r2",
        "status": "pending",
        "_server_id": None,
        "text": "two",
        "stars.responses": [1, 3],
        "stars.responses.users": [BOB, ANN],
        "stars.responses.status": ["discarded", "submitted"],
        "tags.responses": [["y", "x"], ["x"]],
        "tags.responses.users": [ANN, BOB],
        "tags.responses.status": ["submitted", "submitted"],
        "best.responses": None,
        "best.responses.users": None,
        "best.responses.status": None,
        "stars.suggestion": None,
        "stars.suggestion.agent": None,
        "stars.suggestion.score": None,
    },
]
USERS = {ANN: "ann", BOB: "bob"}
SCALES = {"stars": "1-5", "tags": "nominal", "best": "nominal"}


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_flat_records(put, tmp_path, answers, excluded, kind):
    path = put("flat.json", FLAT)
    if kind == "parquet":
        path = tmp_path / "flat.parquet"
        pl.DataFrame(FLAT).write_parquet(path)
    labels = assay.read(path, users=USERS, scale=SCALES)
    assert answers(labels) == {
        ("r1", "ann", "stars", "4"),
        ("r2", "ann", "stars", "3"),
        ("r1", "gpt", "stars", "5"),
        ("r1", "bob", "tags", "x|y"),
        ("r2", "ann", "tags", "x|y"),
        ("r2", "bob", "tags", "x"),
        ("r1", "bob", "best", "b>a"),
        ("r1", "ann", "best", "a>b"),
    }
    assert excluded(labels) == {intake.DRAFT: 1, intake.DISCARDED: 1}
    assert labels.judges == ("gpt",)
    assert "taken as rankings: best (rankings=[...] says otherwise)" in labels.reading.notes
    stars = labels.where(criterion="stars", annotator="ann")
    assert stars.labels["suggestion_shown"].to_list() == [True, False]


def test_a_folder_with_settings_states_the_scales(put, answers):
    record = {
        "id": "r1",
        "status": "pending",
        "_server_id": None,
        "fields": {"text": "one"},
        "metadata": {"group": "g"},
        "suggestions": {},
        "responses": {"stars": [{"value": 4, "user_id": ANN}], "why": [{"value": "so", "user_id": ANN}]},
        "vectors": {},
    }
    questions = [
        {"name": "stars", "settings": {"type": "rating", "options": [{"value": v} for v in (1, 2, 3, 4)]}},
        {"name": "why", "settings": {"type": "text"}},
    ]
    path = put("set/records.json", [record])
    put("set/.argilla/settings.json", {"questions": questions})
    labels = assay.read(path.parent, users=USERS)
    assert answers(labels) == {("r1", "ann", "stars", "4"), ("r1", "ann", "why", "so")}
    assert labels.scale_of("stars").spec == "ordinal:1-4"
    assert labels.items.select("item", "group", "text").row(0) == ("r1", "g", "one")
    assert any("does not say which responses are drafts" in note for note in labels.reading.notes)


def test_a_csv_of_records_is_refused(put):
    path = put("flat.csv", "id,stars.responses,stars.responses.users\nr1,[4 2],['a' 'b']\n")
    with pytest.raises(DataError, match="export JSON or parquet"):
        assay.read(path)


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["records_flat.json", "hub_flat.parquet"])
def test_real_records(real_data, expected, answers, excluded, file):
    folder = real_data / "formats" / "argilla"
    rows = expected("formats/argilla")
    labels = assay.read(
        folder / file,
        users=folder / "users.json",
        settings=folder / "to_disk" / ".argilla" / "settings.json",
        suggestions=False,
    )

    def text(value):
        values = value.strip("[]").replace('"', "").split(", ") if value.startswith("[") else None
        return value if values is None else ">".join(values) if "answer" in value else "|".join(sorted(values))

    submitted = {
        (r["record_id"], r["user"], r["question"], text(r["value"])) for r in rows if r["status"] == "submitted"
    }
    assert answers(labels) == submitted
    assert excluded(labels) == {intake.DRAFT: 1, intake.DISCARDED: 1}
