"""Checks of the installation itself: home, console, database, embedding model."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from django.db import Error, connection

from gateway_project.console import on_demand, serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.demo import servers
from gateway_project.diagnosis.finding import Finding, name_some
from gateway_project.foundation.config import Config, ConfigurationError
from gateway_project.foundation.database import find_write_obstacle
from gateway_project.foundation.home import default_home
from gateway_project.foundation.postgres import major_upgrade
from gateway_project.foundation.postgres.address import cluster_from_config
from gateway_project.foundation.reasons import summarize_error
from gateway_project.foundation.sealing import UnsealingFailed
from gateway_project.use_cases import first_start
from learning import memory_keeper
from tools import overview
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import make_embedder
from tools.hidden_text import reveal_hidden
from tools.upstream.network import parse_networks
from tools.upstream.proxies import read_proxy
from tools.upstream.spec import CERTIFICATE_VARIABLES, PROXY_VARIABLES

LOW_SPACE_BYTES = 500_000_000
MAX_CLOCK_SKEW_S = 5.0
"""Two clocks judge tokens and leases; this is far below the lifetime of any."""


def check_home(config: Config) -> Finding:
    """Check that the home folder is writable and has space."""
    folder = config.home
    space = shutil.disk_usage(_nearest_existing_folder(folder)).free
    if not os.access(_nearest_existing_folder(folder), os.W_OK):
        detail = f"{folder} cannot be written; set FOREGATE_HOME to a folder that can"
        return Finding(check="home", verdict="failure", detail=detail)
    if space < LOW_SPACE_BYTES:
        detail = f"{folder} has {space / 1e6:.0f} MB left; free some space"
        return Finding(check="home", verdict="warning", detail=detail)
    return Finding(check="home", verdict="ok", detail=f"{folder}, {space / 1e9:.1f} GB free")


def check_other_home(config: Config) -> Iterator[Finding]:
    """Warn if the default home holds another installation's data."""
    usual = default_home()
    if usual != config.home and (usual / "keys").exists():
        detail = (
            f"{usual} holds another installation, which is used whenever Foregate starts "
            "without FOREGATE_HOME; set it to the same value everywhere, or remove one of the "
            "two"
        )
        yield Finding(check="home", verdict="warning", detail=detail)


def check_networks(config: Config) -> Iterator[Finding]:
    """Report an invalid FOREGATE_ALLOW_PRIVATE."""
    try:
        parse_networks(config.allow_private)
    except ValueError as error:
        detail = f"FOREGATE_ALLOW_PRIVATE: {error}; correct it or unset it"
        yield Finding(check="networks", verdict="failure", detail=detail)


def check_proxies(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Say which proxies and authorities of the machine are in force, without their values."""
    proxies = [name for name in PROXY_VARIABLES if environ.get(name)]
    authorities = [name for name in CERTIFICATE_VARIABLES if environ.get(name)]
    if proxies:
        detail = (
            f"{name_some(proxies)} apply to local and remote servers; a proxy resolves names "
            "itself, so private addresses are refused only as far as names resolve here, and the "
            "proxy's own rules decide the rest"
        )
        yield Finding(check="proxy", verdict="ok", detail=detail)
    if unusable := [name for name in proxies if _is_unusable_proxy(name, environ[name])]:
        detail = (
            f"{name_some(unusable)} names no HTTP proxy, so remote servers are not reached "
            "through it; name one like http://proxy.example:3128"
        )
        yield Finding(check="proxy", verdict="warning", detail=detail)
    if authorities:
        unreadable = [
            name
            for name in authorities
            if not all(os.access(each, os.R_OK) for each in environ[name].split(os.pathsep))
        ]
        if unreadable:
            detail = f"what {name_some(unreadable)} names cannot be read; correct it"
            yield Finding(check="certificates", verdict="warning", detail=detail)
        else:
            detail = f"{name_some(authorities)} apply to local and remote servers"
            yield Finding(check="certificates", verdict="ok", detail=detail)


def _is_unusable_proxy(name: str, value: str) -> bool:
    return name.lower() != "no_proxy" and read_proxy(value) is None


def check_demonstration(config: Config) -> Iterator[Finding]:
    """Warn if the last demonstration failed or was interrupted."""
    if failure := servers.load_failure(config.home):
        detail = (
            f"the last one failed: {failure}; repeat `make demo`, and if it fails again, "
            f"see {config.home}/logs"
        )
        yield Finding(check="demonstration", verdict="warning", detail=detail)


def _nearest_existing_folder(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def check_port(config: Config) -> Finding:
    """Check that the console can listen, or is already running."""
    try:
        serve.open_socket(config).close()
    except PortUnavailable as error:
        if on_demand.is_manual_console_running(config):
            detail = f"{serve.console_url(config)} is served"
            return Finding(check="console", verdict="ok", detail=detail)
        return Finding(check="console", verdict="warning", detail=str(error))
    return Finding(check="console", verdict="ok", detail=f"{serve.console_url(config)} is free")


def check_database() -> Finding:
    """Check that the database answers, takes writes, and has a clock that agrees."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), "
                "(SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
                "extract(epoch FROM clock_timestamp())::float8"
            )
            version, vector, clock = cursor.fetchone()
        obstacle = find_write_obstacle()
    except Error as error:
        detail = summarize_error(error)
        return Finding(check="database", verdict="failure", detail=detail)
    if obstacle:
        return Finding(check="database", verdict="failure", detail=obstacle)
    skew = abs(clock - time.time())
    if skew > MAX_CLOCK_SKEW_S:
        detail = f"its clock is {skew:.0f} s off this machine's; synchronise both"
        return Finding(check="database", verdict="warning", detail=detail)
    detail = f"PostgreSQL {version}, pgvector {vector or 'not created yet'}"
    return Finding(check="database", verdict="ok", detail=detail)


def check_kept(config: Config) -> Iterator[Finding]:
    """Say that data of before a move to another PostgreSQL is kept."""
    if config.database_url is None and (
        kept := major_upgrade.list_kept(cluster_from_config(config))
    ):
        detail = (
            f"{name_some(kept)} is kept of before an upgrade; `manage.py upgrade --remove-old`"
        )
        yield Finding(check="database", verdict="ok", detail=detail)


def check_configuration(config: Config) -> Iterator[Finding]:
    """Say whether what is stored is what FOREGATE_CONFIG_FILE says."""
    if config.config_file is None:
        return
    check = "configuration file"
    try:
        changes = first_start.find_drift(config, config.config_file)
    except (ConfigurationError, UnsealingFailed) as error:
        yield Finding(check=check, verdict="failure", detail=str(error))
        return
    differing = [reveal_hidden(one.describe()) for one in changes if one.kind != "removed"]
    unlisted = len(changes) - len(differing)
    more = f"; {unlisted:,} stored entries are not in it" if unlisted else ""
    if differing:
        detail = (
            f"{config.config_file} differs from what is stored ({name_some(differing)}){more}; "
            f"the next start applies it, `manage.py import_config {config.config_file}` does now, "
            "and `manage.py export_config` writes what is stored"
        )
        yield Finding(check=check, verdict="warning", detail=detail)
    else:
        yield Finding(check=check, verdict="ok", detail=f"{config.config_file} is applied{more}")


def check_model(config: Config) -> Finding:
    """Check that the embedding model loads and works."""
    try:
        embedder = make_embedder(config)
        embedder.embed(["probe"], kind="query")
    except EmbeddingUnavailable as error:
        return Finding(check="embedding model", verdict="failure", detail=str(error))
    detail = f"{embedder.model}, {embedder.dimensions} dimensions"
    return Finding(check="embedding model", verdict="ok", detail=detail)


def check_embeddings(config: Config) -> Iterator[Finding]:
    """Warn if tools lack an up-to-date embedding."""
    state = overview.load_embedding_coverage(config.embedding_model)
    if missing := state["tools"] - state["embedded"]:
        detail = f"{missing} of {state['tools']} tools are not embedded; run `manage.py embed`"
        yield Finding(check="embeddings", verdict="warning", detail=detail)


def check_memory(config: Config) -> Iterator[Finding]:
    """Warn if the memory's events, or those that wait to be stored, take too much space."""
    state = memory_keeper.load_state(config)
    for problem in state.problems:
        yield Finding(check="memory", verdict="warning", detail=problem)
    if not state.problems:
        detail = f"{state.events:,} events, {state.bytes / 1e6:.1f} MB"
        yield Finding(check="memory", verdict="ok", detail=detail)
