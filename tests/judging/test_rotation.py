"""Judges rotated over items: equal shares, items of all, the same judge for all outputs, and what is refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from chat_server import ChatServer, Say

import assay
from assay.errors import StudyError
from assay.judging.dry_run import estimate_study
from assay.judging.plan import Rotation
from assay.judging.run import judge_study
from assay.study.definition import load_study
from assay.study.items import Item

NAMES = ("a", "b", "c")
NOWHERE = "http://127.0.0.1:9/v1"


def rotating(
    folder: Path, n: int = 60, share: float = 0.1, names: tuple[str, ...] = NAMES, url: str = NOWHERE, **more: Any
) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"item": f"t{k:03d}", "text": f"Text {k}."}) for k in range(n)]
    (folder / "items.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    study = {
        "name": "Rotated", "items": {"file": "items.jsonl"},
        "questions": [{"name": "good", "text": "How good?", "scale": "1-5", "show": ["text"]}],
        "judges": [
            {"name": name, "model": "m", "base_url": url, "route": {"rotate": share}}
            for name in names
        ],
    }  # fmt: skip
    (folder / "study.yaml").write_text(yaml.safe_dump(study | more, sort_keys=False), encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A model whose label is one of the number of the text, 0 to 4, plus 1."""

    def script(number: int, body: dict[str, Any], server: ChatServer) -> Say:
        number = int(re.findall(r"Text (\d+)", str(body["messages"]))[-1])
        return Say(json.dumps({"label": number % 5 + 1}))

    with ChatServer(script) as found:
        yield found


def judges_of(folder: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for item, who in assay.read(folder).labels.select("item", "annotator").iter_rows():
        found.setdefault(item, set()).add(who)
    return found


@pytest.mark.slow
def test_items_are_dealt_in_equal_shares_and_a_share_is_asked_of_all(tmp_path: Path, server: ChatServer) -> None:
    folder = rotating(tmp_path / "study", url=server.url)
    assert sum(one.calls for one in estimate_study(load_study(folder)).judges) == 54 + 6 * 3
    done = judge_study(load_study(folder))
    assert server.count == 54 + 6 * 3
    assert done.notes == ("60 items are dealt to judges (a 24, b 24, c 24); all label 6 of them",)
    found = judges_of(folder)
    assert Counter(map(len, found.values())) == {1: 54, 3: 6}
    assert Counter(min(who) for who in found.values() if len(who) == 1) == dict.fromkeys(NAMES, 18)
    line = assay.estimate(assay.read(folder), judges="random").at()
    assert line.estimate == pytest.approx(3, abs=0.3)


def test_added_items_change_nothing_of_those_before(tmp_path: Path, server: ChatServer) -> None:
    folder = rotating(tmp_path / "study", n=40, share=0.2, url=server.url)
    judge_study(load_study(folder))
    before, sent = judges_of(folder), server.count
    rotating(folder, n=55, share=0.2, url=server.url)
    judge_study(load_study(folder))
    found = judges_of(folder)
    assert {item: found[item] for item in before} == before
    assert server.count - sent == sum(map(len, found.values())) - sum(map(len, before.values()))
    assert sum(len(who) == 3 for who in found.values()) == 11


def test_other_seeds_deal_otherwise_and_judges_outside_have_every_item() -> None:
    them = [Item(f"t{k}", None, {}) for k in range(300)]
    dealt = []
    for seed in (0, 0, 1):
        rotation = Rotation(NAMES, 0.0, seed, "item")
        dealt.append([[judge for judge in NAMES if rotation.asks(judge, item)] for item in them])
        assert all(rotation.asks("other", item) for item in them)
    assert dealt[0] == dealt[1] != dealt[2]
    assert Counter(judge for one in dealt[0] for judge in one) == dict.fromkeys(NAMES, 100)
    # No pattern in the order of the file: a judge follows itself in about a ninth of the items.
    assert 10 <= sum(one == other for one, other in zip(dealt[0], dealt[0][1:], strict=False)) <= 60


def test_outputs_and_pairs_of_an_item_go_to_one_judge() -> None:
    for key in ("output_of", "pair_of"):
        rotation = Rotation(NAMES, 0.0, 0, "output")
        them = [Item(f"d{k} | {s} {g}", None, {key: f"d{k}"}) for k in range(30) for s in "xy" for g in (1, 2)]
        who = [[judge for judge in NAMES if rotation.asks(judge, item)] for item in them]
        assert all(who[k] == who[k - k % 4] for k in range(len(them)))
        assert Counter(one[0] for one in who) == dict.fromkeys(NAMES, 40)


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ([{"rotate": 0.1}], r"judges\[0\].route: rotate deals items to several judges"),
        ([{"rotate": 0.1}, {"rotate": 0.2}], r"judges\[1\].route: rotate is 0.2, and 0.1 of judge 'a'"),
        ([{"rotate": 1.5}, {"rotate": 1.5}], r"judges\[0\].route"),
        ([{}, {}], r"judges\[0\].route"),
        ([{"rotate": 0.1, "shared": 2}, {"rotate": 0.1}], r"judges\[0\].route"),
    ],
)
def test_rotations_of_one_judge_or_two_shares_are_refused(tmp_path: Path, routes: list[Any], words: str) -> None:
    judges = [{"name": name, "model": "m", "route": one} for name, one in zip(NAMES, routes, strict=False)]
    with pytest.raises(StudyError, match=words):
        load_study(rotating(tmp_path / "study", judges=judges))
