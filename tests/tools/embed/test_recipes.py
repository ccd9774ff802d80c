import pytest

from gateway_project.foundation.config import MINILM
from tools.embed.recipes import UnknownModel, find_recipe


@pytest.mark.parametrize("name", [MINILM, "all-MiniLM-L6-v2"])
def test_a_model_is_found_by_its_full_and_its_short_name(name):
    assert find_recipe(name).repo == MINILM


def test_an_unknown_model_is_refused_with_those_that_are_known():
    with pytest.raises(UnknownModel, match=r"no recipe for the model 'x'; known are: .*MiniLM"):
        find_recipe("x")
