"""Messages of errors, and the helpers that build them."""

from __future__ import annotations

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

import assay
from assay import errors
from assay.errors import AssayError, ChangedStudyError, DataError, DesignError, JudgeError, MissingExtra, StudyError


def test_assay_error_is_base_of_all_errors():
    for kind in (DataError, DesignError, StudyError, JudgeError, MissingExtra):
        assert issubclass(kind, AssayError)


def test_changed_study_error_lists_options():
    words = (
        "3 answers. Nothing was changed. changed='new-version' excludes them (they stay in the database, and count "
        "again when the change is undone)"
    )
    kept, lost = ChangedStudyError("3 answers"), ChangedStudyError("3 answers", can_keep=False)
    assert str(kept) == f"{words}; changed='same-question' keeps them"
    assert str(lost) == words
    assert (kept.what, kept.can_keep, lost.can_keep) == ("3 answers", True, False)


def test_missing_extra_is_an_import_error():
    assert issubclass(MissingExtra, ImportError)


def test_require_names_install_command():
    with pytest.raises(MissingExtra) as caught:
        errors.require("a_missing_library", "raters", "the rater model")
    assert str(caught.value) == f"the rater model needs more than the base install: {errors.install_command('raters')}"


IN_A_CHECKOUT = 'python -m pip install ".[judge]" (run it in a checkout of assay\'s repository)'


@pytest.mark.parametrize(
    ("recorded", "command"),
    [
        (None, 'python -m pip install "assay[judge]"'),
        ('{"url": "file:///gone/away", "dir_info": {}}', IN_A_CHECKOUT),
        ('{"url": "FOLDER", "dir_info": {}}', 'python -m pip install "PATH[judge]"'),
        (
            '{"url": "https://example.org/assay.git", "vcs_info": {"vcs": "git", "commit_id": "9f3c"}}',
            'python -m pip install "assay[judge] @ git+https://example.org/assay.git"',
        ),
    ],
)
def test_install_command_uses_origin(recorded, command, tmp_path, monkeypatch):
    folder = tmp_path / "my checkout"
    folder.mkdir()

    class Installed:
        def read_text(self, name):
            return recorded and recorded.replace("FOLDER", folder.as_uri())

    monkeypatch.setattr(errors, "__file__", str(tmp_path / "a" / "b" / "c" / "errors.py"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    assert errors.install_command("judge") == command.replace("PATH", str(folder))
    monkeypatch.chdir(folder)
    assert errors.install_command("judge") == command.replace("PATH", ".")


@pytest.mark.parametrize("recorded", ["no JSON", None])
def test_install_command_names_no_index_for_an_assay_of_unknown_origin(recorded, tmp_path, monkeypatch):
    """An index could have another package of this name."""

    def installed(name):
        if recorded is None:
            raise metadata.PackageNotFoundError(name)
        return SimpleNamespace(read_text=lambda file: recorded)

    monkeypatch.setattr(errors, "__file__", str(tmp_path / "a" / "b" / "c" / "errors.py"))
    monkeypatch.setattr(metadata, "distribution", installed)
    assert errors.install_command("judge") == IN_A_CHECKOUT


def test_install_command_of_checkout_is_editable(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "src" / "assay" / "errors.py"))
    assert errors.install_command("serve") == f'python -m pip install -e "{tmp_path}[serve]"'
    monkeypatch.chdir(tmp_path)
    assert errors.install_command("serve") == 'python -m pip install -e ".[serve]"'


def test_require_returns_installed_library():
    assert errors.require("json", "raters", "the rater model").dumps([1]) == "[1]"
    errors.require_installed(("json", "this"), "raters", "the rater model")
    assert "this" not in sys.modules, "found, but not imported"
    with pytest.raises(errors.MissingExtra, match="the rater model needs more than the base install"):
        errors.require_installed(("json", "a_missing_library"), "raters", "the rater model")


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (["gpt-4o", "llama"], "judge 'gtp-4o' is not in the table; did you mean 'gpt-4o'?"),
        (["ann", "bob"], "judge 'gtp-4o' is not in the table; it has ann, bob"),
        ([], "judge 'gtp-4o' is not in the table; it has none"),
        # The internal row numbers are not a column of the user.
        (["_row", "ann"], "judge 'gtp-4o' is not in the table; it has ann"),
    ],
)
def test_unknown_suggests_nearest_name(known, words):
    assert errors.unknown("judge", "gtp-4o", known) == words


def test_listing_is_shortened():
    assert errors.listing(["a", "b"]) == "a, b"
    assert errors.listing(range(8)) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert errors.listing(range(9)) == "0, 1, 2, 3, 4, 5, 6, 7 and 1 more"
    assert errors.listing(range(1000), 3) == "0, 1, 2 and 997 more"
    assert errors.listing([]) == ""


def test_counted_by_hand():
    assert errors.counted(1, "label") == "1 label"
    assert errors.counted(2, "label") == "2 labels"
    assert errors.counted(0, "label") == "0 labels"
    assert errors.counted(12345, "label") == "12,345 labels"
    assert [errors.counted(n, "person") for n in (1, 2)] == ["1 person", "2 people"]
    assert errors.counted(9, "more criterion") == "9 more criteria"


def test_plural_of_names_of_columns():
    nouns = ("essay", "city", "class", "branch", "votes", "stratum", "box", "rater_id")
    several = ["essays", "cities", "classes", "branches", "votes", "strata", "boxes", "rater_ids"]
    assert [*map(errors.plural, nouns)] == several


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_to_pandas_names_the_packages_that_it_requires(monkeypatch, missing):
    labels = assay.simulate(n_items=10, seed=1)
    result = assay.agreement(labels, method="none")
    monkeypatch.setitem(sys.modules, missing, None)
    for made in (labels, result):
        with pytest.raises(MissingExtra) as caught:
            made.to_pandas()
        assert str(caught.value) == "to_pandas() requires pandas and pyarrow: python -m pip install pandas pyarrow"


def test_no_judge_names_the_steps_for_a_study():
    assert errors.no_judge("", "to report on").startswith(
        "the table has no judge to report on; name the judges with judges=[...]"
    )
    assert errors.no_judge("mood", "to test").endswith(
        "name its judges in study.yaml, and collect their labels with: assay judge mood"
    )
