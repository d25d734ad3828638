"""The store, on SQLite and, if its programs are installed, on a local PostgreSQL."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

sa = pytest.importorskip("sqlalchemy", reason='a study needs the extra "judge"')
pytest.importorskip("alembic", reason='a study needs the extra "judge"')

from assay.errors import ChangedStudyError, StudyError  # noqa: E402
from assay.estimation.result import Exclusion  # noqa: E402
from assay.reading import study_labels  # noqa: E402
from assay.study.definition import load_study  # noqa: E402
from assay.study.starter import init_study  # noqa: E402
from assay.study.store import connection, work  # noqa: E402
from assay.study.store import items as stored  # noqa: E402
from assay.study.store.answers import Answer, NewAnswer, add_answer, add_answers, history, newest_answer  # noqa: E402
from assay.study.store.connection import Store  # noqa: E402
from assay.study.store.events import ended_blind_phase, events, record_event  # noqa: E402
from assay.study.store.intake import sync_study  # noqa: E402
from assay.study.store.items import questions  # noqa: E402
from assay.study.store.messages import add_message, messages  # noqa: E402
from assay.study.store.people import active_annotators, add_people, erase, give, retire_judges  # noqa: E402
from assay.study.store.table import stored_annotations, study_record  # noqa: E402
from assay.study.store.tables import TABLES, forms  # noqa: E402
from assay.study.store.work import Assignment  # noqa: E402
from assay.study.store.work_log import WorkLog, label_frame  # noqa: E402


@pytest.fixture
def study(tmp_path):
    init_study(tmp_path / "study")
    return load_study(tmp_path / "study")


@pytest.fixture
def store(url, study) -> Iterator[Store]:
    with Store.open(url) as opened:
        sync_study(opened, study)
        yield opened


def plan(store, n=8, digest="one", recipe="r", changed=None):
    question = questions(store)[0].id
    wanted = [Assignment(f"r{i:02}", question, "example", recipe, "{}", 1) for i in range(1, n + 1)]
    work.plan(store, wanted, digest, changed)


def test_items_are_read_a_few_at_a_time_and_each_once(store, study, monkeypatch):
    whole = [item.name for item, _ in stored.items(store)]
    assert whole == [item.name for item in study.items()]
    for few in (1, 2, len(whole), len(whole) + 1):
        monkeypatch.setattr(stored, "CHUNK", few)
        monkeypatch.setattr(stored, "_ITEMS", stored._ITEMS.limit(few))
        assert [item.name for item, _ in stored.items(store)] == whole


def test_batch_record_replaces_the_earlier_one(store):
    first, second = (work.start_batch(store, {"name": name, "state": "made"}) for name in ("one", "two"))
    assert (second["run"] - first["run"], second["made_at"] >= first["made_at"]) == (1, True)
    assert work.batches_kept(store) == [first, second]
    work.note_batch(store, first | {"state": "sent"})
    assert work.batches_kept(store) == [first | {"state": "sent"}, second]
    work.note_batch(store, {"name": "three"})  # no such batch was created
    assert [one["name"] for one in work.batches_kept(store)] == ["one", "two"]


def test_record_has_each_person_once_with_what_is_said_of_them(store):
    add_people(store, {"eva": {"age": 30}, "fay": {}, "gil": {"age": 50}})
    with study_record(store) as found:
        people = [(row["annotator"], row["attributes"], row["state"]) for row in found["people"]]
    assert people == [("eva", {"age": 30}, "active"), ("fay", {}, "active"), ("gil", {"age": 50}, "active")]


@pytest.fixture
def migrations(monkeypatch):
    """New stores are made by the migrations themselves."""
    monkeypatch.setattr(connection, "_migrate", connection._migrate.__wrapped__)


def test_new_stores_of_tests_are_as_the_migrations_leave_them(tmp_path, request):
    found = []
    for name in ("quick", "migrated"):
        Store.open(tmp_path / name).close()
        with closing(sqlite3.connect(tmp_path / name)) as db:
            found.append([line for line in db.iterdump() if "sqlite_stat" not in line])
        request.getfixturevalue("migrations")
    assert found[0] == found[1]
    assert found[0]


def test_store_that_has_seen_every_step_is_known_by_the_last_of_them(url, migrations):
    with Store.open(url) as store, store.reading() as db:
        assert connection.is_current(db)


@pytest.mark.usefixtures("migrations")
def test_statements_and_migrations_know_the_same_columns(url):
    with Store.open(url) as store:
        there = sa.inspect(store.engine)
        assert {t.name for t in TABLES} == set(there.get_table_names()) - {"alembic_version"}
        for table in TABLES:
            assert {c.name for c in table.c} == {c["name"] for c in there.get_columns(table.name)}


@pytest.mark.usefixtures("migrations")
def test_many_may_open_a_new_store_at_once(url):
    failed = []

    def opening():
        try:
            Store.open(url).close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=opening) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_database_of_a_newer_assay_is_refused_in_words_and_left_alone(url):
    with Store.open(url) as store, store.writing() as db:
        db.execute(sa.text("update alembic_version set version_num = '9999'"))
    with pytest.raises(StudyError, match=r"belongs to a newer assay \(.*9999.*\); upgrade assay"):
        Store.open(url)
    address = url.replace("postgresql:", "postgresql+psycopg:") if "://" in url else f"sqlite:///{url}"
    engine = sa.create_engine(address)
    with engine.connect() as db:
        assert db.execute(sa.text("select version_num from alembic_version")).scalars().all() == ["9999"]
    engine.dispose()


FIRST_0_2 = {
    "study.yaml": "name: Stars\nitems: {file: items.csv}\nlabels: labels.csv\n"
    "questions: [{name: stars, text: How many stars, scale: 1-5}]\npeople: {overlap: 2}\n",
    "items.csv": "item,review\nr1,cold soup\nr2,lovely evening\nr3,slow service\n",
    "labels.csv": "item,annotator,label\nr1,zoe,2\nr2,zoe,5\n",
}
"""The study of `store_first_0_2.sql`."""


@pytest.fixture
def first_store(tmp_path) -> Iterator[Path]:
    """A folder with a store that the first assay 0.2 made, whose steps were made one after it."""
    for name, text in FIRST_0_2.items():
        (tmp_path / name).write_text(text)
    with closing(sqlite3.connect(tmp_path / "study.db")) as db:
        db.executescript(Path(__file__).with_name("store_first_0_2.sql").read_text())
    return tmp_path


@pytest.mark.usefixtures("migrations")
def test_open_store_brings_a_store_of_the_first_0_2_up_to_date(first_store):
    study = load_study(first_store)
    with connection.open_store(study) as store:
        sync_study(store, study)
        found = stored_annotations(store).labels.sort("annotator", "item")
        # As `assay export` of that commit wrote them.
        labels = [("r1", "Ana Ruiz", 5), ("r3", "Ana Ruiz", 2), ("r1", "zoe", 2), ("r2", "zoe", 5)]
        assert sorted(found.select("item", "annotator", "label").rows()) == sorted(labels)
        add_people(store, {"Cem": {}})  # what the store refused to take while its tables had other columns
        there = sa.inspect(store.engine)
        for table in TABLES:
            assert {c.name for c in table.c} == {c["name"] for c in there.get_columns(table.name)}


@pytest.mark.usefixtures("migrations")
def test_open_joins_the_first_step_on_both_databases(url):
    with Store.open(url) as store, store.writing() as db:
        for step in (
            *(f"drop table {name}" for name in ("visits", "replies", "messages", "events")),
            "alter table people drop column role",
            "alter table people add column seen_at float",
            "alter table questions add column digest text", "alter table assignments add column expires_at float",
            "update alembic_version set version_num = '0005_closed_and_excluded'",
        ):  # fmt: skip
            db.execute(sa.text(step))
    with Store.open(url) as store, store.reading() as db:
        assert connection.is_current(db)
        there = sa.inspect(store.engine)
        for table in TABLES:
            assert {c.name for c in table.c} == {c["name"] for c in there.get_columns(table.name)}


@pytest.mark.parametrize("step", ["0001", "0002", "0003_identity", "0004_prompts"])
def test_open_refuses_a_database_older_than_0_2_in_true_words(url, step):
    with Store.open(url) as store, store.writing() as db:
        db.execute(sa.text(f"update alembic_version set version_num = '{step}'"))
    words = rf"belongs to an assay older than 0\.2 \(its last step is '{step}'\).*open it once with the first"
    with pytest.raises(StudyError, match=words):
        Store.open(url)


@pytest.mark.slow
def test_claim_is_taken_once_however_many_ask(store):
    plan(store)
    runs = [work.start_run(store) for _ in range(4)]
    got = []

    def claiming(run):
        while claims := work.claim(store, run, ["example"], 1):
            got.extend(claim.id for claim in claims)

    threads = [threading.Thread(target=claiming, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 8


@pytest.mark.slow
def test_answer_is_written_once_and_counts(store):
    plan(store)
    run = work.start_run(store)
    claim = work.claim(store, run, ["example"], 1)[0]
    assert add_answer(store, claim, run, Answer("unreadable", reason="?", reply="hm", cost=0.5), 1)
    assert add_answer(store, claim, run, Answer("valid", 4, reply="4", cost=0.25), 2)
    assert not add_answer(store, claim, run, Answer("valid", 5, reply="5", cost=0.25), 2), "the same request again"
    assert work.dollars_spent(store) == 0.75
    assert work.counts(store, ["example"]) == {"answered": 1, "open": 7}
    assert history(store)["counts"].to_list()[-2:] == [False, True]
    table = stored_annotations(store).where(annotator="example")
    assert table.labels.select("item", "label").rows() == [("r01", 4)]


def test_next_claim_has_the_unparseable_response(store):
    plan(store, n=1)
    run = work.start_run(store)

    def answered(*given: Answer) -> tuple[int, tuple[str, str] | None]:
        (claim,) = work.claim(store, run, ["example"], 1)
        for one in given:
            assert add_answer(store, claim, run, one, claim.revision + 1)
        with store.reading() as db:
            (again,) = work._claims(db, [claim.id])
        return again.revision, again.unread

    assert answered(Answer("unreadable", reason="no label", reply="hm")) == (1, ("hm", "no label"))


def test_labels_of_people_alone_are_their_frame(store):
    plan(store, n=2)
    run = work.start_run(store)
    for claim in work.claim(store, run, ["example"], 2):
        add_answer(store, claim, run, Answer("valid", 4), 1)
    with store.reading() as db:
        found = label_frame(db)
        assert newest_answer(db) == 26
    assert found.height == 24
    assert set(found["annotator"].to_list()) == {"ana", "ben", "chi"}
    assert found.columns == ["assignment", "question", "condition", "item", "annotator", "repeat", "label", "position"]


def test_there_is_no_newest_answer_before_the_first(url):
    with Store.open(url) as store, store.reading() as db:
        assert newest_answer(db) == 0


def test_answers_are_written_together_and_one_that_cannot_be_stops_no_other(store):
    plan(store)
    run = work.start_run(store)
    claims = work.claim(store, run, ["example"], 4)
    prompt = {"fingerprint": "f", "prompt": "{}"}
    half = "3 \ud83d and \0"
    answers = [
        Answer("valid", 3, reply=half, cost=0.5, **prompt),
        Answer("valid", 4, cost=0.25, fingerprint="e", prompt="[]"),
        Answer("valid", 5, reply=object(), **prompt),
        Answer("missing", reason="refused", **prompt),
    ]
    new = [NewAnswer(claim, run, answer, 1) for claim, answer in zip(claims, answers, strict=True)]
    *written, broken, last = add_answers(store, new)
    assert (written, last) == ([True, True], True)
    assert isinstance(broken, Exception)
    with pytest.raises(type(broken)):
        add_answer(store, claims[2], run, answers[2], 1)
    assert add_answers(store, [new[0], new[1]._replace(revision=2)]) == [False, True]
    assert add_answers(store, []) == []
    assert work.counts(store, ["example"]) == {"answered": 2, "missing": 1, "claimed": 1, "open": 4}
    assert work.dollars_spent(store) == 1.0
    assert history(store)["reply"][-4] == "3 \\ud83d and \\x00"
    with store.reading() as db:
        assert sorted(db.execute(sa.text("select fingerprint, body from prompts")).all()) == [("e", "[]"), ("f", "{}")]


def test_claims_of_a_dead_run_are_released(store, monkeypatch):
    plan(store)
    dead = work.start_run(store)
    work.claim(store, dead, ["example"], 5)
    assert len(work.claim(store, work.start_run(store), ["example"], 8)) == 3, "its process is alive"
    monkeypatch.setattr(work, "_alive", lambda process: False)
    assert len(work.claim(store, work.start_run(store), ["example"], 8)) == 8


@pytest.mark.slow
def test_run_on_another_machine_is_dead_when_its_lease_is_over(store, monkeypatch):
    plan(store)
    monkeypatch.setattr(work, "_host", lambda: "elsewhere")
    work.claim(store, work.start_run(store), ["example"], 5)
    monkeypatch.undo()
    assert len(work.claim(store, work.start_run(store), ["example"], 8)) == 3
    monkeypatch.setattr(work, "LEASE", -1.0)
    assert len(work.claim(store, work.start_run(store), ["example"], 8)) == 8


@pytest.mark.slow
def test_next_run_retries_failed_and_not_missing(store):
    plan(store)
    run = work.start_run(store)
    first, second = work.claim(store, run, ["example"], 2)
    add_answer(store, first, run, Answer("failed", reason="HTTP 500"), 1)
    add_answer(store, second, run, Answer("missing", reason="refused", reply="no"), 1)
    work.heartbeat(store, run)
    work.end_run(store, run)
    assert work.counts(store, ["example"]) == {"failed": 1, "missing": 1, "open": 6}
    again = work.claim(store, work.start_run(store), ["example"], 8)
    assert len(again) == 7
    assert again[0].revision == 1
    assert Exclusion("row", 1, "example: refused") in stored_annotations(store).reading.exclusions


@pytest.mark.slow
def test_new_plan_retires_what_it_does_not_hold_and_finds_old_answers_again(store):
    plan(store)
    run = work.start_run(store)
    claim = work.claim(store, run, ["example"], 1)[0]
    add_answer(store, claim, run, Answer("valid", 4), 1)
    with pytest.raises(ChangedStudyError, match=r"1 answer to 'stars' \(1 by judges\)"):
        plan(store, digest="two", recipe="other")
    plan(store, digest="two", recipe="other", changed="new-version")
    assert work.counts(store, ["example"]) == {"open": 8}
    assert stored_annotations(store).judges == ()
    plan(store, digest="three")
    assert stored_annotations(store).judges == ("example",)


@pytest.mark.slow
def test_labels_of_people_follow_their_file_and_history_keeps_all(store, study):
    before = stored_annotations(store)
    assert (before.humans, len(before)) == (("ana", "ben", "chi"), 24)
    file = study.folder / "labels.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:1], "r01,ana,5", *lines[2:-1], "r99,ana,3"]) + "\n")
    sync_study(store, study)
    after = stored_annotations(store)
    assert len(after) == 23
    assert after.where(item="r01", annotator="ana").labels["label"].to_list() == [5]
    assert Exclusion("row", 1, "the label is of an item that the study does not have") in after.reading.exclusions
    assert history(store).height == 26, "24, a correction, a withdrawal"
    file.write_text("\n".join(lines) + "\n")
    sync_study(store, study)
    assert stored_annotations(store).labels.equals(before.labels)


@pytest.mark.slow
def test_other_columns_of_the_labels_are_kept_or_noted(store, study):
    file = study.folder / "labels.csv"
    head = "item,annotator,label,seconds,mood,gender,review\n"
    file.write_text(head + "r01,ana,1,3.5,calm,f,x\nr02,ana,5,2,,f,y\nr01,ben,2,9,wild,m,x\nr02,ben,4,1,calm,m,y\n")
    sync_study(store, study)
    labels = stored_annotations(store)
    found = labels.labels.sort("annotator", "item")
    assert found["seconds"].to_list() == [3.5, 2, 9, 1]
    assert found["mood"].to_list() == ["calm", None, "wild", "calm"]
    assert dict(labels.annotators.select("annotator", "gender").drop_nulls().iter_rows()) == {"ana": "f", "ben": "m"}
    assert "the file of labels has review too; those of the items count" in labels.reading.lines()
    assert labels.items["review"][0] == "The soup was cold and no one cared."
    file.write_text(file.read_text().replace("3.5", "4.5"))
    sync_study(store, load_study(study.folder))
    assert stored_annotations(store).labels.sort("annotator", "item")["seconds"][0] == 4.5


def test_order_that_hangs_on_the_item_is_a_condition_still(store, study):
    rows = "r01,ana,1,a>b\nr01,ben,2,a>b\nr02,ana,5,b>a\nr02,ben,5,b>a\n"
    (study.folder / "labels.csv").write_text("item,annotator,label,order\n" + rows)
    sync_study(store, study)
    labels = stored_annotations(store)
    assert labels.conditions == ("order",)
    assert labels.labels.sort("item", "annotator")["order"].to_list() == ["a>b", "a>b", "b>a", "b>a"]


def test_labels_of_people_off_the_scale_name_the_file(store, study):
    (study.folder / "labels.csv").write_text("item,annotator,label\nr01,ana,9\n")
    with pytest.raises(StudyError, match=r"labels\.csv.*off the scale"):
        sync_study(store, study)


@pytest.mark.slow
def test_model_among_the_people_s_labels_is_said_to_be_one(store, study):
    file = study.folder / "labels.csv"
    file.write_text("item,annotator,label\nr01,ana,3\nr01,gpt-4o,3\n")
    with pytest.raises(StudyError, match=r"labels\.csv: gpt-4o may be a model; add a column 'kind'"):
        sync_study(store, study)
    file.write_text("item,annotator,label,kind\nr01,ana,3,human\nr01,Ana,3,human\nr01,gpt-4o,3,judge\n")
    with pytest.raises(StudyError, match="differ only in case or spaces: 'Ana', 'ana'"):
        sync_study(store, study)


def test_name_cannot_be_person_and_judge(store, study):
    (study.folder / "labels.csv").write_text("item,annotator,label\nr01,example,3\n")
    with pytest.raises(StudyError, match="'example' is the name of a judge already"):
        sync_study(store, study)


def test_store_open_errors(tmp_path):
    with pytest.raises(StudyError, match="a file"):
        Store.open("mysql://x")
    with pytest.raises(StudyError, match="cannot be used"):
        Store.open(tmp_path)


@pytest.mark.slow
def test_estimate_writes_nothing_to_either_database(url, study):
    pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
    from assay.judging.dry_run import estimate_study

    def everything():
        with Store.open(url) as store, store.reading() as db:
            return {table.name: [tuple(row) for row in db.execute(sa.select(table))] for table in TABLES}

    before = everything()
    assert estimate_study(study, store=url).judges[0].calls == 8
    assert everything() == before
    assert before["questions"] == []


@pytest.mark.slow
def test_whole_run_of_judging_on_either_database(url, study):
    pytest.importorskip("aiohttp", reason='asking models needs the extra "judge"')
    from assay.judging.run import judge_study

    done = judge_study(study, store=url)
    assert (done.answered, done.left) == (8, 0)
    assert judge_study(study, store=url).answered == 0
    table = study_labels(study, store=url)
    assert table.judges == ("example",)
    assert len(table) == 32


def test_judges_count_until_they_are_retired_and_people_go_on(store):
    with store.writing() as db:
        before = {one["annotator"]: one["kind"] for one in active_annotators(db)}
        retire_judges(db)
        after = {one["annotator"]: one["kind"] for one in active_annotators(db)}
    assert set(before.values()) == {"human", "judge"}
    assert after == {name: kind for name, kind in before.items() if kind == "human"}


def test_single_writer_flushes_once(store, monkeypatch):
    waited = []
    monkeypatch.setattr(store, "_flushes", SimpleNamespace(wait=lambda: waited.append(1)))
    with store.exclusive() as db:
        with store.exclusive() as inner:
            assert inner is db
        assert waited == []
    assert waited == [1]
    with store.together(), store.exclusive():
        pass
    assert waited == [1], "it is on disk when the transaction around it has ended"
    monkeypatch.setattr(store, "_flushes", None)
    with store.exclusive():
        pass
    assert waited == [1]


@pytest.mark.slow
def test_log_of_what_people_did_takes_in_the_first_task(store):
    given = {
        "annotator": "zoe", "questions": "1", "condition": "{}", "repeat": 1, "role": "item", "party": "", "session": 1,
        "page": 0, "state": "given", "form": 1, "given_at": 0.0, "expires_at": 9e9, "shown": {},
        "extra": False,
    }  # fmt: skip
    add_people(store, {"zoe": {}})
    with store.writing() as db:
        db.execute(sa.insert(forms).values(id=1, digest="d", made_at=0.0, definition={}))
    log = WorkLog()
    for number in range(3):
        with store.reading() as db:
            log.update(db)
        assert sorted(log.tasks["item"].to_list()) == [f"r{n + 1:02}" for n in range(number)]
        assert sorted(log.tasks["id"].to_list()) == list(range(1, number + 1))
        with store.writing() as db:
            give(db, [given | {"item": f"r{number + 1:02}", "place": number}])


def test_messages_and_events_are_kept_on_both_databases(store):
    add_people(store, {"Zoe": {}, "Yan": {}})
    with store.exclusive() as db:
        now = store.now(db)
        add_message(db, "To all.", now - 60)
        add_message(db, "Yes.", now, person="Zoe", item="r01", about="Is it ironic?")
        assert [one.words for one in messages(db, "Zoe", now - 90)] == ["To all.", "Yes."]
        assert [one.words for one in messages(db, "Zoe", now - 30)] == ["Yes."]
        assert messages(db, "Yan", now - 30) == []
        assert [one.words for one in messages(db, to_all=True)] == ["To all."]
        assert ended_blind_phase(db) is None
    record_event(store, "excluded", person="Zoe", reason="", by="mia")
    record_event(store, "blind phase ended")
    with store.reading() as db:
        last, first = events(db)
        assert (first.what, first.about, last.what, last.about) == (
            "excluded", {"person": "Zoe", "by": "mia"}, "blind phase ended", {},
        )  # fmt: skip
        assert ended_blind_phase(db) == last.at >= first.at
        assert events(db, 1) == [last]
    erase(store, "Zoe")
    with store.reading() as db:
        assert [one.about for one in events(db)] == [{}, {}]
        assert [one.words for one in messages(db)] == ["To all."]


def test_judges_seen_before_the_blind_phase_was_recorded_leave_no_decision_blind(url):
    with Store.open(url) as opened:
        opened.set("judges shown to the lead", False)  # shown, and hidden again
        with opened.writing() as db:
            for step in ("drop table events", "update alembic_version set version_num = '0004_messages'"):
                db.execute(sa.text(step))
    with Store.open(url) as opened, opened.reading() as db:
        assert ended_blind_phase(db) == 0.0
