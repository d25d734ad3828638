"""The public functions of the package give their pinned answers."""

import pytest

from asking import differences_from_kept, each_kept, questions_of

pytestmark = pytest.mark.usefixtures("few_truths")


@pytest.mark.parametrize(("name", "further"), each_kept(questions_of("variation")))
def test_answers_are_those_of_before(name: str, further: bool) -> None:
    assert not differences_from_kept(name, further)
