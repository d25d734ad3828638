"""What commands of studies print: payment, replies; and what is asked where a study has changed."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest

pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')

from assay.cli.studies import _invited_already, _pay_words, _refusal, _replies_frame, _reply_words
from assay.errors import ChangedStudyError


def test_payment_is_a_table_of_minutes_and_amounts():
    paid = pl.DataFrame([
        {"person": "p1", "outcome": "completed", "code": "C1", "minutes": 12.34, "at_work": 10.0, "answered": 7,
         "checks": 3, "checks_failed": 1, "pay": 1.5, "an_hour": 9.123},
        {"person": "person-two", "outcome": "at work", "code": None, "minutes": None, "at_work": 0.0, "answered": 12,
         "checks": 0, "checks_failed": 0, "pay": 0.0, "an_hour": None},
    ])  # fmt: skip
    # Numbers stand at the right of their column, words at the left.
    assert _pay_words(paid) == (
        "person      outcome    code  minutes  at_work  answered  checks failed   pay  an_hour\n"
        "p1          completed  C1       12.3     10.0         7         1 of 3  1.50     9.12\n"
        "person-two  at work    -           -      0.0        12              -  0.00        -\n"
    )


REPLY = {
    "annotator": "gpt", "item": "a", "criterion": "stars", "condition": {}, "repeat": 1, "status": "valid", "label": 4,
    "reason": None, "reply": "Four.\nSure.", "reasoning": None, "prompt": None,
}  # fmt: skip


def test_a_reply_under_what_was_read_of_it():
    assert _reply_words(REPLY, prompts=True) == "gpt, a, stars: label 4\n    Four.\n    Sure."
    other = REPLY | {"condition": {"temperature": 0.5}, "repeat": 2, "label": None, "reason": "refused", "reply": ""}
    assert _reply_words(other, prompts=False) == "gpt, a, stars, temperature 0.5, repeat 2: refused\n    (nothing)"
    asked = REPLY | {"prompt": '[{"role": "user", "content": "How good?"}]'}
    shown = _reply_words(asked, prompts=True).splitlines()
    assert "How good?" in "".join(shown[1:-2])
    assert shown[-2:] == ["    Four.", "    Sure."]
    assert _reply_words(asked, prompts=False) == _reply_words(REPLY, prompts=True)


def test_replies_have_a_column_for_each_condition():
    found = _replies_frame([REPLY, REPLY | {"condition": {"temperature": 0.5}, "label": None}], prompts=False)
    assert found.columns == [
        "annotator", "item", "criterion", "temperature", "repeat", "status", "label", "reason", "reply", "reasoning",
    ]  # fmt: skip
    assert found.select("temperature", "label").rows() == [(None, "4"), (0.5, None)]
    assert _replies_frame([REPLY], prompts=True).columns[-1] == "prompt"


@pytest.mark.parametrize(
    ("person", "attributes", "words"),
    [
        ({}, {"job": "nurse"}, "ana is invited already; their link stays as it is"),
        ({}, {"job": "cook"}, "ana is invited already; their link stays as it is; not changed: job=cook"),
        ({"excluded_at": 1.0}, {}, "ana is invited already, and excluded: there is no link for them"),
        (
            {"state": "revoked"}, {},
            "ana is invited already, and their link was ended; make a new one on the lead's page",
        ),
    ],
)  # fmt: skip
def test_what_stays_as_it_is_of_who_is_invited_again(person, attributes, words):
    one = SimpleNamespace(
        **({"name": "ana", "excluded_at": None, "state": "open", "attributes": {"job": "nurse"}} | person)
    )
    assert _invited_already(one, attributes) == words


@pytest.mark.parametrize("can_keep", [True, False])
def test_a_refused_change_names_what_may_be_said(can_keep):
    said = _refusal(ChangedStudyError("3 answers to 'stars' would no longer count", can_keep=can_keep))
    assert said.startswith("3 answers to 'stars' would no longer count. Nothing was changed. --new-version takes them")
    assert said.endswith(", --same-question goes on counting them") is can_keep
