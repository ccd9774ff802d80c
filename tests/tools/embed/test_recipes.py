import pytest

from gateway_project.foundation.config import BGE_LARGE, MINILM
from tools.embed.recipes import UnknownModel, find_recipe


@pytest.mark.parametrize("name", [MINILM, "all-MiniLM-L6-v2"])
def test_a_model_is_found_by_its_full_and_its_short_name(name):
    assert find_recipe(name).repo == MINILM


def test_models_differ_in_what_they_want():
    minilm, bge = find_recipe(MINILM), find_recipe(BGE_LARGE)
    assert (minilm.dimensions, minilm.pooling, minilm.query_prefix) == (384, "mean", "")
    assert (bge.dimensions, bge.pooling, bge.max_tokens) == (1024, "cls", 512)
    assert bge.query_prefix.startswith("Represent this sentence")


def test_an_unknown_model_is_refused_with_those_that_are_known():
    with pytest.raises(UnknownModel, match=r"no recipe for the model 'x'; known are: .*MiniLM"):
        find_recipe("x")
