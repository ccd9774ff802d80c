import pytest

from gateway_project.foundation.embedding_models import MINILM, find_recipe


@pytest.mark.parametrize("name", [MINILM, "all-MiniLM-L6-v2"])
def test_a_model_is_found_by_its_full_and_its_short_name(name):
    assert find_recipe(name).repo == MINILM
