"""Results of this package equal the stored results, to the word and the digit."""

import pytest

from asking import differences_from_kept, each_kept, questions_of

pytestmark = pytest.mark.usefixtures("few_truths")


@pytest.mark.parametrize(("name", "further"), each_kept(questions_of("verdict")))
def test_stored_answers_are_unchanged(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
