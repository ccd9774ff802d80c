"""Names of teams and categories, which people tell apart by looking."""

import pytest
from django.core.exceptions import ValidationError

from tools.models import Category, Team


@pytest.mark.parametrize("model", [Team, Category])
@pytest.mark.parametrize("name", ["ops\u202e", "o\u200bps", "ops\n", "\ufeffops", "o\tps"])
def test_a_name_that_looks_like_another_is_refused(model, name):
    with pytest.raises(ValidationError, match="invisible"):
        model(name=name).clean()


@pytest.mark.parametrize("name", ["ops", "Größe 2", "部門"])
def test_a_name_in_any_script_is_accepted(name):
    Team(name=name).clean()
