import pytest
from django.db import IntegrityError, transaction

from tests.factories import DangerousOperationFactory
from tools import danger_seeds
from tools.danger import Danger, Operation
from tools.models import DangerousOperation
from tools.store.danger import load_operations

pytestmark = pytest.mark.django_db


def test_a_new_installation_knows_every_seeded_operation():
    key = lambda operation: operation.pattern  # noqa: E731 - what to sort by
    assert sorted(load_operations(), key=key) == sorted(danger_seeds.operations(), key=key)
    assert set(DangerousOperation.objects.values_list("source", flat=True)) == {"seeded"}


def test_what_an_admin_adds_counts_with_its_class_and_reason():
    DangerousOperationFactory(pattern="detonate", danger="destructive", reason="explodes")
    assert (
        Operation(pattern="detonate", danger=Danger.DESTRUCTIVE, reason="explodes", by_admin=True)
        in load_operations()
    )


def test_what_an_admin_switched_off_does_not_count():
    DangerousOperation.objects.filter(pattern="delete").update(enabled=False)
    assert "delete" not in {operation.pattern for operation in load_operations()}


def test_operations_come_in_a_stable_order():
    patterns = [operation.pattern for operation in load_operations()]
    DangerousOperation.objects.filter(pattern="delete").update(reason="moved to the end")
    assert [operation.pattern for operation in load_operations()] == patterns


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
