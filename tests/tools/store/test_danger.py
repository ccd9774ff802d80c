import pytest
from django.db import IntegrityError, transaction

from tests.factories import DangerousOperationFactory, ToolFactory
from tools import danger_seeds
from tools.danger import Danger, DangerMatcher, DangerPattern
from tools.models import DangerousOperation
from tools.store.danger import judge_tool, load_patterns

pytestmark = pytest.mark.django_db


def test_a_new_installation_knows_every_seeded_operation():
    key = lambda operation: operation.pattern  # noqa: E731 - what to sort by
    assert sorted(load_patterns(), key=key) == sorted(danger_seeds.operations(), key=key)
    assert set(DangerousOperation.objects.values_list("source", flat=True)) == {"seeded"}


def test_operations_added_by_an_admin_apply_with_class_and_reason():
    DangerousOperationFactory(pattern="detonate", danger="destructive", reason="explodes")
    assert (
        DangerPattern(
            pattern="detonate", danger=Danger.DESTRUCTIVE, reason="explodes", by_admin=True
        )
        in load_patterns()
    )


def test_disabled_operations_do_not_apply():
    DangerousOperation.objects.filter(pattern="delete").update(enabled=False)
    assert "delete" not in {operation.pattern for operation in load_patterns()}


@pytest.mark.parametrize(
    "values",
    [
        {"pattern": "DELETE"},
        {"pattern": "  "},
        {"pattern": "detonate", "danger": "explosive"},
        {"pattern": "detonate", "danger": "read"},
    ],
    ids=["twice but for case", "blank", "unknown class", "harmless class"],
)
def test_the_database_itself_refuses_an_operation_that_makes_no_sense(values):
    with pytest.raises(IntegrityError), transaction.atomic():
        DangerousOperationFactory(**values)


@pytest.mark.parametrize(("trusted", "danger"), [(True, Danger.READ), (False, Danger.DANGEROUS)])
def test_a_reader_of_a_trusted_server_is_not_dangerous_for_a_noun_in_its_name(trusted, danger):
    tool = ToolFactory(
        name="list_payments",
        server__trusted=trusted,
        annotations={"readOnlyHint": True},
    )
    assert judge_tool(tool, DangerMatcher(load_patterns())).danger is danger


def test_a_word_that_an_admin_put_there_counts_as_a_noun_too():
    DangerousOperationFactory(pattern="salary", danger="dangerous")
    assert DangerMatcher(load_patterns()).find_matches("list_salaries", only_reads=True)
