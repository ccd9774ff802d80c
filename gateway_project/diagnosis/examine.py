"""Run the checks of `manage.py doctor`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from django.conf import settings

from gateway_project.diagnosis import (
    check_catalogue,
    check_clients,
    check_entries,
    check_installation,
    check_servers,
)
from gateway_project.diagnosis.check_servers import ServerAnswer
from gateway_project.diagnosis.finding import Finding
from gateway_project.foundation import sealing
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.postgres import migrate
from gateway_project.foundation.sealing import Sealer
from tools.store import discoveries, overview, servers
from tools.store.overview import ServerSummary
from tools.upstream.spec import ServerSpec

AskServers = Callable[[Sequence[ServerSpec], Sealer], tuple[ServerAnswer, ...]]


def run_checks(
    config: Config,
    *,
    wait_s: float | None = None,
    report: check_servers.AnswerProgress = lambda _done, _total: None,
) -> Iterator[Finding]:
    """Run all checks in order; those that need the database are skipped without it.

    Args:
        config: The installation's configuration.
        wait_s: Seconds to wait for the answers of all servers together; None: a short default,
            and servers that answered recently are not started again.
        report: Receives the number of answers and of servers.
    """
    yield check_installation.check_home(config)
    yield from check_installation.check_other_home(config)
    yield from check_installation.check_demonstration(config)
    yield check_installation.check_port(config)
    yield from check_installation.check_networks(config)
    yield from check_installation.check_proxies(os.environ)
    database = check_installation.check_database()
    yield database
    yield from check_installation.check_kept(config)
    yield check_installation.check_model(config)
    specs: tuple[ServerSpec, ...] = ()
    if database.verdict != "failure":
        patience_s = check_servers.DEFAULT_WAIT_S if wait_s is None else wait_s
        ask = partial(check_servers.ask_servers, config, wait_s=patience_s, report=report)
        specs = yield from _check_stored_state(config, ask, start_all=wait_s is not None)
    yield from check_clients.check_clients(config, base=Path(settings.BASE_DIR), specs=specs)


def _check_stored_state(
    config: Config, ask: AskServers, *, start_all: bool
) -> Generator[Finding, None, tuple[ServerSpec, ...]]:
    """Check the stored state; return the enabled servers."""
    try:
        migrate.require_migrated()
    except migrate.SchemaMismatch as error:
        yield Finding(check="migrations", verdict="failure", detail=str(error))
        return ()
    yield Finding(check="migrations", verdict="ok", detail="all applied")
    yield from check_installation.check_embeddings(config)
    yield from check_installation.check_memory(config)
    yield from check_catalogue.check_tools()
    for name in sealing.KEY_NAMES:
        if problem := sealing.find_key_problem(config.home, name=name):
            yield Finding(check="keys", verdict="failure", detail=problem)
    try:
        sealer = sealing.load_or_create_sealer(config.home)
    except ConfigurationError:
        return ()
    yield from check_installation.check_configuration(config)
    specs = servers.load_specs(
        sealer=sealer,
        connect_timeout_s=config.connect_timeout_s,
        call_timeout_s=config.call_timeout_s,
    )
    yield from _check_servers(specs, sealer, ask, start_all=start_all)
    return specs


def _check_servers(
    specs: tuple[ServerSpec, ...], sealer: Sealer, ask: AskServers, *, start_all: bool
) -> Iterator[Finding]:
    """Check each entry, then start the servers with a valid entry and no current state."""
    for spec in specs:
        if detail := check_entries.find_unsealed_secrets(spec):
            yield Finding(check=f"server {spec.name}", verdict="warning", detail=detail)
    entry_problems = {
        spec.name: check_entries.find_entry_problem(spec, os.environ) for spec in specs
    }
    for name, detail in entry_problems.items():
        if detail:
            yield Finding(check=f"server {name}", verdict="failure", detail=detail)
    sign_in_problems = {
        spec.name: check_servers.find_sign_in_problem(spec, sealer) for spec in specs
    }
    summaries = {summary.name: summary for summary in overview.load_server_summaries()}
    recorded = (
        {}
        if start_all
        else _judge_recorded_servers(
            summaries.values(), entry_problems=entry_problems, sign_in_problems=sign_in_problems
        )
    )
    yield from recorded.values()
    usable = [
        spec for spec in specs if not entry_problems[spec.name] and spec.name not in recorded
    ]
    usable.sort(key=lambda spec: check_servers.start_priority(summaries.get(spec.name)))
    for answer in ask(usable, sealer):
        summary = summaries.get(answer.name)
        yield from check_servers.judge_answer(
            answer,
            sign_in=sign_in_problems[answer.name],
            answered_at=summary.last_connected_at if summary else None,
            last_error=summary.last_error if summary else "",
        )


def _judge_recorded_servers(
    summaries: Iterable[ServerSummary],
    *,
    entry_problems: Mapping[str, str],
    sign_in_problems: Mapping[str, str],
) -> dict[str, Finding]:
    """Judge by recorded state the servers that have no known problem."""
    now, states = datetime.now(UTC), discoveries.load_states()
    findings = {
        summary.name: check_servers.judge_recorded_state(
            summary, states.get(summary.name), now=now
        )
        for summary in summaries
        if not (entry_problems.get(summary.name, "not enabled") or sign_in_problems[summary.name])
    }
    return {name: finding for name, finding in findings.items() if finding}
