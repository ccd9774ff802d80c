import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import django.db
import pytest
from cryptography.fernet import Fernet
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db.migrations.recorder import MigrationRecorder
from prometheus_client import CollectorRegistry

from gateway_project import wiring
from gateway_project.foundation import sealing, telemetry
from gateway_project.foundation.config import ConfigurationError
from gateway_project.foundation.database import run_in_database_thread
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from gateway_project.mcp.kept_answers import FOLDER, AnswerFolder, KeptAnswer
from gateway_project.readiness import NotReady, Readiness
from gateway_project.webhooks import store as webhooks
from gateway_project.wiring import follow, snapshot
from learning.memory.context import ContextKey
from learning.models import AdaptiveThreshold
from learning.store import thresholds
from tests.factories import SEEN_AT, ServerFactory, ToolFactory, UserFactory
from tests.fakes import FakeEmbedder
from tests.gateway.webhooks.receiver import receiving
from tests.patience import PATIENCE_S
from tests.upstream_calls import call_tool
from tools import discover
from tools.embed.cache import CachedEmbedder
from tools.embed.embedder import EmbeddingUnavailable
from tools.models import Server, Tool
from tools.search import SearchRequest
from tools.server_condition import WITHHELD_ERROR
from tools.store import postings
from tools.upstream.errors import SpawnFailed, UnsetVariable, UpstreamError
from tools.upstream.oauth.sign_ins import SignInManager
from tools.upstream.pool import UpstreamPool
from tools.upstream.spec import ServerSpec

pytestmark = pytest.mark.django_db(transaction=True)

BASE = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def embedder(monkeypatch, home):
    fake = FakeEmbedder()
    monkeypatch.setattr(wiring.embedding, "make_embedder", lambda _config: CachedEmbedder(fake))
    monkeypatch.setattr(wiring.token_count, "count_tokens", len)
    return fake


@asynccontextmanager
async def running(*, user="admin", config=None):
    readiness = Readiness()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            wiring.run_gateway(readiness, config=config or django_settings.FOREGATE, user=user)
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                yield readiness
        finally:
            task.cancel()


async def served(readiness):
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await readiness.wait_for_gateway()
            except NotReady:
                await asyncio.sleep(0)


async def until(condition):
    """Wait for what another task or process brings about."""
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110 - the database sets no event
            await asyncio.sleep(0.02)


def rows():
    UserFactory(username="admin", superuser=True)
    tool = ToolFactory(server=ServerFactory(name="git", command="no-such-command"), name="git_log")
    postings.index_tools([tool.pk])
    return tool


async def test_calls_are_served_from_the_stored_catalogue():
    await run_in_database_thread(rows)
    async with running() as readiness:
        gateway = await served(readiness)
        assert list(gateway.effects.catalogue().tools) == ["git:git_log"]
        assert gateway.caller.user == "admin"
        assert gateway.effects.token_budget == django_settings.FOREGATE.token_budget
        assert gateway.effects.count_tokens("four") == 4
        answer = await gateway.effects.search(SearchRequest(query="git log"))
        assert [hit.tool for hit in answer.hits] == ["git:git_log"]


def _seal_with_another_key():
    other = Sealer([Fernet.generate_key()])
    tool = ToolFactory(
        server=ServerFactory(name="keyed", env_sealed=other.seal({"A": "1"})), name="keyed_log"
    )
    postings.index_tools([tool.pk])


async def test_a_server_whose_secrets_no_key_opens_fails_alone_and_says_why():
    await run_in_database_thread(rows)
    await run_in_database_thread(_seal_with_another_key)
    async with running() as readiness:
        gateway = await served(readiness)
        found = await gateway.effects.search(SearchRequest(query="git log"))
        assert "git:git_log" in [hit.tool for hit in found.hits]
        await until(
            lambda: run_in_database_thread(
                lambda: "restore keys/sealing.keys" in Server.objects.get(name="keyed").last_error
            )
        )
        assert "secrets of server 'keyed'" in gateway.effects.describe_trouble(
            gateway.caller, "keyed"
        )
        assert gateway.effects.describe_trouble(gateway.caller, "git") == ""
        with pytest.raises(UpstreamError, match="'keyed'") as failed:
            await call_tool(gateway.effects.upstream, "keyed", "keyed_log", {})
        assert failed.value.code == "sealed"


async def test_a_changed_resource_discards_what_was_called_ahead_at_its_server(monkeypatch):
    reports, discarded = {}, []

    class ReportingPool(UpstreamPool):
        def __init__(self, specs, **options):
            reports.update(options)
            super().__init__(specs, **options)

    monkeypatch.setattr(wiring, "UpstreamPool", ReportingPool)
    await run_in_database_thread(rows)
    async with running() as readiness:
        speculation = (await served(readiness)).effects.speculation
        monkeypatch.setattr(
            speculation, "discard_server", lambda server, **_: discarded.append(server)
        )
        reports["on_updated"]("notes", "file:///x", ["s"])
    assert "notes" in discarded


async def test_a_tool_is_visible_only_once_its_server_is_callable(monkeypatch):
    await run_in_database_thread(rows)
    reading, may_end = asyncio.Event(), asyncio.Event()

    async def reload(_):
        reading.set()
        await may_end.wait()

    monkeypatch.setattr(SignInManager, "reload", reload)
    async with running() as readiness:
        effects = (await served(readiness)).effects

        async def known():
            return "time:now" in effects.catalogue().tools

        await run_in_database_thread(ToolFactory, server__name="time", name="now")
        await reading.wait()
        assert not await known()
        may_end.set()
        await until(known)
        effects.requests.get_status("time")  # would raise if it could not be called yet


async def test_lists_of_a_replaced_server_are_forgotten(monkeypatch):
    tool = await run_in_database_thread(rows)
    await run_in_database_thread(ServerFactory, name="other", command="no-such-command")
    async with running() as readiness:
        lists, forgotten = (await served(readiness)).effects.item_lists, []
        monkeypatch.setattr(lists, "forget_server", forgotten.append)
        server = Server.objects.filter(pk=tool.server_id)
        await run_in_database_thread(server.update, command="another-command")

        async def done():
            return bool(forgotten)

        await until(done)
        assert forgotten == ["git"]


async def test_a_disabled_server_is_stopped():
    tool = await run_in_database_thread(rows)
    async with running() as readiness:
        gateway = await served(readiness)
        await run_in_database_thread(
            Server.objects.filter(pk=tool.server_id).update, enabled=False
        )

        async def gone():
            return not gateway.effects.catalogue().servers["git"].enabled

        await until(gone)
        with pytest.raises(UpstreamError, match="not registered or not enabled"):
            await call_tool(gateway.effects.upstream, "git", "git_log", {})


async def test_an_unknown_user_is_refused_until_there_is_one():
    async with running(user="ann") as readiness:
        with pytest.raises(NotReady, match="no active user 'ann'") as error:
            await readiness.wait_for_gateway()
        assert error.value.code == "unknown_user"
        await run_in_database_thread(UserFactory, username="ann")
        assert (await served(readiness)).caller.user == "ann"


async def test_a_user_who_is_removed_is_refused():
    await run_in_database_thread(rows)
    async with running() as readiness:
        await served(readiness)
        await run_in_database_thread(_deactivate)

        async def refused():
            return readiness.trouble is not None

        await until(refused)
        assert readiness.trouble.code == "unknown_user"


def _deactivate():
    get_user_model().objects.update(is_active=False)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            django.db.ProgrammingError('relation "x" does not exist'),
            "database_unavailable",
            'does not fit this version although it is migrated: relation "x"',
        ),
        (
            django.db.OperationalError("cannot reach it\nmore"),
            "database_unavailable",
            "cannot reach it",
        ),
        (ConfigurationError("cannot use /home/x: full"), "configuration", "cannot use"),
    ],
)
async def test_a_missing_prerequisite_is_reported_and_retried(monkeypatch, error, code, words):
    await run_in_database_thread(rows)
    real = snapshot.catalogue_store.load_catalogue
    broken = [True]

    def load():
        if broken[0]:
            raise error
        return real()

    monkeypatch.setattr(snapshot.catalogue_store, "load_catalogue", load)
    async with running() as readiness:
        with pytest.raises(NotReady, match=words) as refused:
            await readiness.wait_for_gateway()
        assert refused.value.code == code
        assert "\n" not in str(refused.value)
        broken[0] = False
        assert await served(readiness)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (migrate.MigrationsPending("run `manage.py migrate`"), "database_unmigrated", "migrate`"),
        (migrate.DatabaseNewer("upgrade this one"), "database_newer", "upgrade"),
        (django.db.OperationalError("gone"), "database_unavailable", "gone"),
    ],
)
async def test_missing_tables_are_distinguished_from_a_missing_database(
    monkeypatch, error, code, words
):
    answers = iter([None, error])

    def require():
        if answer := next(answers, error):
            raise answer

    def load():
        raise django.db.ProgrammingError("no such table")

    monkeypatch.setattr(snapshot.catalogue_store, "load_catalogue", load)
    monkeypatch.setattr(snapshot.migrate, "require_migrated", require)
    async with running() as readiness:
        with pytest.raises(NotReady, match=words) as refused:
            await readiness.wait_for_gateway()
        assert refused.value.code == code


@pytest.fixture
def newer():
    """Migrations of a newer version, recorded as it would record them."""

    def record(name):
        MigrationRecorder(django.db.connection).record_applied("tools", name)

    yield record
    MigrationRecorder.Migration.objects.filter(name__startswith="9999_").delete()


async def test_a_newer_database_is_refused_until_it_fits_again(newer):
    await run_in_database_thread(newer, "9999_later")
    await run_in_database_thread(rows)
    async with running() as readiness:
        with pytest.raises(NotReady, match=r"tools\.9999_later") as refused:
            await readiness.wait_for_gateway()
        assert refused.value.code == "database_newer"
        await run_in_database_thread(
            MigrationRecorder(django.db.connection).record_unapplied, "tools", "9999_later"
        )
        assert await served(readiness)


async def test_a_gateway_ends_its_work_once_a_newer_version_migrates_its_database(newer):
    await run_in_database_thread(rows)
    readiness = Readiness()
    async with asyncio.timeout(PATIENCE_S):
        work = asyncio.ensure_future(
            wiring.run_gateway(readiness, config=django_settings.FOREGATE, user="admin")
        )
        await served(readiness)
        await run_in_database_thread(newer, "9999_later")
        with pytest.raises(NotReady) as ended:
            await work
    assert ended.value.code == "database_newer"
    assert readiness.trouble is not None  # refused before its servers were stopped
    assert readiness.trouble.code == "database_newer"


async def test_a_gateway_fits_what_a_newer_version_only_adds(newer):
    await run_in_database_thread(rows)
    async with running() as readiness:
        await served(readiness)
        await run_in_database_thread(newer, "9999_more_additive")
        tool = await run_in_database_thread(Tool.objects.get)
        await run_in_database_thread(Tool.objects.filter(pk=tool.pk).update, enabled=False)

        async def followed():
            return not readiness.current.effects.catalogue().tools["git:git_log"].enabled

        await until(followed)


async def test_calls_continue_without_the_database(monkeypatch):
    tool = await run_in_database_thread(rows)
    async with running() as readiness:
        gateway = await served(readiness)
        tried = asyncio.Event()
        loop = asyncio.get_running_loop()

        def load():
            loop.call_soon_threadsafe(tried.set)
            raise django.db.OperationalError("gone")

        monkeypatch.setattr(snapshot.catalogue_store, "load_catalogue", load)
        await run_in_database_thread(Tool.objects.filter(pk=tool.pk).update, enabled=False)
        await tried.wait()
        assert readiness.trouble is None
        assert gateway.effects.catalogue().tools["git:git_log"].enabled


async def test_server_errors_are_recorded_and_announced():
    await run_in_database_thread(rows)
    async with running() as readiness:
        gateway = await served(readiness)
        assert gateway.effects.describe_trouble(gateway.caller, "git") == ""
        with pytest.raises((SpawnFailed, UnsetVariable)):
            await call_tool(gateway.effects.upstream, "git", "git_log", {})
        operator = replace(gateway.caller, scopes=frozenset({"search", "call"}))
        assert "no-such-command" in gateway.effects.describe_trouble(gateway.caller, "git")
        assert gateway.effects.describe_trouble(operator, "git") == WITHHELD_ERROR
        assert gateway.effects.describe_trouble(gateway.caller, "absent") == ""

        async def recorded():
            return bool(
                await run_in_database_thread(lambda: Server.objects.get(name="git").last_error)
            )

        await until(recorded)


async def test_a_server_whose_tools_change_is_listed_again():
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    script = str(BASE / "tests" / "servers" / "stateless.py")
    await run_in_database_thread(
        ServerFactory, name="stateless", command=sys.executable, args=[script]
    )
    spec = ServerSpec(name="stateless", command=sys.executable, args=(script,))
    async with UpstreamPool([spec]) as pool:
        await discover.discover_servers(pool, ["stateless"], approve_new=True)
    async with running() as readiness:
        gateway = await served(readiness)
        await call_tool(gateway.effects.upstream, "stateless", "grow", {})

        async def grown():
            return "stateless:grown" in gateway.effects.catalogue().tools

        await until(grown)
        connected = await run_in_database_thread(lambda: Server.objects.get().last_connected_at)
        assert connected is not None


async def test_a_tool_can_be_called_as_soon_as_its_server_has_announced_it(monkeypatch):
    monkeypatch.setattr(follow, "ANNOUNCED_TIMEOUT_S", PATIENCE_S)
    await run_in_database_thread(UserFactory, username="admin", superuser=True)
    script = str(BASE / "tests" / "servers" / "stateless.py")
    await run_in_database_thread(
        ServerFactory, name="stateless", command=sys.executable, args=[script]
    )
    async with running() as readiness:
        gateway = await served(readiness)

        async def discovered():
            return "stateless:grow" in gateway.effects.catalogue().tools

        await until(discovered)
        await call_tool(gateway.effects.upstream, "stateless", "grow", {})
        assert "stateless:grown" not in gateway.effects.catalogue().tools
        await gateway.effects.await_listing("stateless:grown")
        assert "stateless:grown" in gateway.effects.catalogue().tools
        await call_tool(gateway.effects.upstream, "stateless", "grown", {})


@pytest.mark.parametrize(
    ("lose", "keeps"),
    [
        (lambda: Tool.objects.update(enabled=False), False),
        (lambda: Server.objects.update(enabled=False), False),
        (lambda: get_user_model().objects.update(is_active=False), False),
        (lambda: ToolFactory(server=Server.objects.get(), name="git_show"), True),
    ],
)
async def test_first_answers_are_forgotten_where_somebody_sees_less(lose, keeps):
    await run_in_database_thread(rows)
    folder = AnswerFolder(django_settings.FOREGATE.home / FOLDER)
    async with running() as readiness:
        await served(readiness)
        folder.save("key", KeptAnswer(digest="d", body=b"{}"))
        change = readiness.next_change
        await run_in_database_thread(lose)
        await change.wait()

        async def settled():
            return keeps or folder.load("key") is None

        await until(settled)
        assert (folder.load("key") is not None) == keeps


async def test_the_model_is_loaded_once_there_is_a_client(embedder):
    await run_in_database_thread(rows)
    async with running() as readiness:
        await served(readiness)
        assert embedder.embedded == []
        readiness.in_use.set()

        async def warm():
            return bool(embedder.embedded)

        await until(warm)


async def test_a_model_that_cannot_be_loaded_costs_the_gateway_nothing(monkeypatch, embedder):
    def fail(*_args, **_values):
        raise EmbeddingUnavailable("the model is not there; run `manage.py embed`")

    await run_in_database_thread(rows)
    monkeypatch.setattr(embedder, "embed", fail)
    async with running() as readiness:
        gateway = await served(readiness)
        readiness.in_use.set()
        answer = await gateway.effects.search(SearchRequest(query="git log"))
        assert answer.warnings[0].startswith("matched by words only")


async def test_callable_tools_and_servers_are_counted():
    await run_in_database_thread(rows)
    async with running() as readiness:
        await served(readiness)
        assert telemetry.registry.get_sample_value("foregate_tools") == 1
        states = {"state": "idle"}
        assert telemetry.registry.get_sample_value("foregate_servers", states) == 1
    assert isinstance(telemetry.registry, CollectorRegistry)


async def test_private_networks_that_are_none_are_a_wrong_configuration():
    config = django_settings.FOREGATE.model_copy(update={"allow_private": "intranet"})
    with pytest.raises(NotReady, match="FOREGATE_ALLOW_PRIVATE: ") as error:
        await wiring.run_gateway(Readiness(), config=config, user="admin")
    assert error.value.code == "configuration"


async def test_per_request_users_need_no_process_user():
    await run_in_database_thread(rows)
    async with running(user=None) as readiness:
        caller = (await served(readiness)).caller
        assert (caller.user, caller.scopes) == ("", frozenset())


async def test_an_override_of_a_threshold_reaches_a_serving_gateway():
    await run_in_database_thread(rows)
    key = ContextKey(context=11, domain=1)

    def store():
        return AdaptiveThreshold.objects.create(
            policy="adaptive", threshold=0.88, level="team", updated_at=SEEN_AT
        ).pk

    threshold = await run_in_database_thread(store)
    async with running() as readiness:
        effects = (await served(readiness)).effects

        async def is_in_force(value):
            return effects.find_threshold(None, key).value == value

        await until(partial(is_in_force, 0.88))
        await run_in_database_thread(
            partial(thresholds.set_override, threshold, 0.75, user="root", at=SEEN_AT)
        )
        await until(partial(is_in_force, 0.75))


async def test_a_running_gateway_tells_webhooks_of_events_off_the_path_of_requests():
    tool = await run_in_database_thread(rows)
    config = django_settings.FOREGATE.model_copy(update={"allow_private": "127.0.0.0/8"})
    sealer = sealing.load_or_create_sealer(config.home)

    def change(url):
        values = {"name": "ops", "url": url, "events": ["definition.changed"]}
        webhooks.save_webhook(values, secret="whs_s", sealer=sealer)
        Tool.objects.filter(pk=tool.pk).update(state="quarantined")

    async with receiving() as receiver, running(config=config) as readiness:
        await served(readiness)
        await run_in_database_thread(change, receiver.url)
        await receiver.arrived.wait()
    assert b'"tool":"git:git_log"' in receiver.received[0][1]
