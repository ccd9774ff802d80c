import pytest
from django.db import connection, transaction

from execution.store import transactions
from execution.store.fencing import LONGEST_STILL

pytestmark = pytest.mark.django_db(transaction=True)


def longest_still() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        (limit,) = cursor.fetchone()
    return limit


def test_a_short_transaction_is_ended_if_its_process_stands_still_and_others_are_as_before():
    before = longest_still()
    with transactions.short():
        assert longest_still() == LONGEST_STILL
    assert longest_still() == before != LONGEST_STILL
    with transaction.atomic():
        assert longest_still() == before
