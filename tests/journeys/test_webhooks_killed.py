"""A message that a process was sending when it was killed: it is sent again, never lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.foundation.postgres.processes import User
from tests.journeys.gateways import JOURNEY_S, Installation, RawGateway, eventually
from tests.journeys.migrated import migrated_home
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.full

REGISTER = """
from django.conf import settings
from gateway_project.access.callers import ensure_local_admin
from gateway_project.foundation import sealing
from gateway_project.webhooks import store
ensure_local_admin()
sealer = sealing.load_or_create_sealer(settings.FOREGATE.home)
values = {{"name": "ops", "url": {url!r}, "events": ["run.failed"]}}
store.save_webhook(values, secret="whs_journey", sealer=sealer)
"""
QUEUE = (
    "INSERT INTO gateway_project_webhookdelivery"
    " (webhook_id, event, data, occurred_at, status, attempts, next_attempt_at, error)"
    " SELECT id, 'test', '{}', now(), 'pending', 0, now(), '' FROM gateway_project_webhook"
)
NOTIFY = "SELECT pg_notify('foregate_deliveries', '')"
END_LEASE = "UPDATE gateway_project_webhookdelivery SET next_attempt_at = now()"
STATE = "SELECT status, attempts FROM gateway_project_webhookdelivery"


class SlowReceiver:
    """Receives requests and answers them only once it may.

    Attributes:
        ids: Ids of the deliveries, as they came.
        may_answer: Set when requests are answered.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.may_answer = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                receiver.ids.append(self.headers["Foregate-Delivery"])
                if receiver.may_answer.wait(JOURNEY_S):
                    self.send_response(204)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[SlowReceiver]:
    made = SlowReceiver()
    yield made
    made.may_answer.set()
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def installation(receiver: SlowReceiver) -> Iterator[Installation]:
    with migrated_home() as folder:
        made = Installation(home=folder)
        made.manage_all(("migrate",), ("shell", "-c", REGISTER.format(url=receiver.url)))
        yield made


@pytest.fixture
def looker(installation: Installation) -> Iterator[User]:
    made = User(installation.home, linger_s=60.0).ready()
    yield made
    made.kill()


def start(installation: Installation) -> RawGateway:
    """Start a gateway; once it answers, it sends what is due."""
    gateway = installation.start(FOREGATE_ALLOW_PRIVATE="127.0.0.0/8")
    gateway.ask(1, "tools/list")
    return gateway


def do(looker: User, sql: str) -> None:
    """Run a statement, which is one line and returns no rows."""
    assert looker.ask(sql).get("error") is None


def test_a_message_whose_sender_is_killed_arrives_again(
    installation: Installation, receiver: SlowReceiver, looker: User
) -> None:
    first = start(installation)
    do(looker, QUEUE)
    do(looker, NOTIFY)
    eventually(lambda: len(receiver.ids) == 1, within_s=JOURNEY_S)
    first.process.kill()
    first.process.communicate(timeout=PATIENCE_S)
    assert looker.ask(STATE)["rows"] == [["pending", 1]]
    do(looker, END_LEASE)  # as a minute does
    receiver.may_answer.set()
    second = start(installation)
    try:
        eventually(lambda: looker.ask(STATE)["rows"] == [["delivered", 2]], within_s=JOURNEY_S)
        assert len(receiver.ids) == 2
        assert len(set(receiver.ids)) == 1, "the id stays, so that the receiver knows it"
    finally:
        second.end()
