import pytest
from django.db import connection, transaction

from execution.store import transactions
from execution.store.fencing import MAX_IDLE_TIME

pytestmark = pytest.mark.django_db(transaction=True)


def longest_still() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        (limit,) = cursor.fetchone()
    return limit


def test_only_a_short_transaction_ends_if_its_process_stalls():
    before = longest_still()
    with transactions.short_transaction():
        assert longest_still() == MAX_IDLE_TIME
    assert longest_still() == before != MAX_IDLE_TIME
    with transaction.atomic():
        assert longest_still() == before
