"""Checks of the installation itself: folder, console, database, model."""

from __future__ import annotations

import http.client
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from django.db import Error, connection

from gateway_project import overview
from gateway_project.console import serve
from gateway_project.console.serve import PortUnavailable
from gateway_project.diagnosis.finding import Finding
from gateway_project.foundation.config import Config
from gateway_project.foundation.home import default_home
from gateway_project.foundation.reasons import first_line
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import embedder_for
from tools.upstream.network import parse_networks

LOW_SPACE_BYTES = 500_000_000
MAX_SKEW_S = 5.0
"""Tokens and leases are judged by two clocks; this is far less than any of them lasts."""
ANSWER_TIMEOUT_S = 2.0


def home(config: Config) -> Finding:
    """Check that the folder of everything local can be written and has room."""
    folder = config.home
    space = shutil.disk_usage(_existing(folder)).free
    if not os.access(_existing(folder), os.W_OK):
        detail = f"{folder} cannot be written; set FOREGATE_HOME to a folder that can"
        return Finding(check="home", verdict="failure", detail=detail)
    if space < LOW_SPACE_BYTES:
        detail = f"{folder} has {space / 1e6:.0f} MB left; free some room"
        return Finding(check="home", verdict="warning", detail=detail)
    return Finding(check="home", verdict="ok", detail=f"{folder}, {space / 1e9:.1f} GB free")


def other_home(config: Config) -> Iterator[Finding]:
    """Say so if the usual folder holds another installation's data."""
    usual = default_home()
    if usual != config.home and (usual / "keys").exists():
        detail = (
            f"{usual} holds another installation, which whoever starts Foregate without "
            "FOREGATE_HOME uses; set it everywhere alike, or remove one of the two"
        )
        yield Finding(check="home", verdict="warning", detail=detail)


def networks(config: Config) -> Iterator[Finding]:
    """Say so if the networks that are allowed cannot be read."""
    try:
        parse_networks(config.allow_private)
    except ValueError as error:
        detail = f"FOREGATE_ALLOW_PRIVATE: {error}; set it right or unset it"
        yield Finding(check="networks", verdict="failure", detail=detail)


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def port(config: Config) -> Finding:
    """Check that the console can listen, or does already."""
    try:
        serve.open_socket(config).close()
    except PortUnavailable as error:
        if _is_console(config):
            detail = f"{serve.address(config)} is served"
            return Finding(check="console", verdict="ok", detail=detail)
        return Finding(check="console", verdict="warning", detail=str(error))
    return Finding(check="console", verdict="ok", detail=f"{serve.address(config)} is free")


def _is_console(config: Config) -> bool:
    """Whether what listens on the console's port answers as a console does."""
    asked = http.client.HTTPConnection(
        config.console_host, config.console_port, timeout=ANSWER_TIMEOUT_S
    )
    try:
        asked.request("GET", "/health")
        return asked.getresponse().read(100) == b'{"status": "ok"}'
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()


def database() -> Finding:
    """Check that the database answers and tells the same time."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), "
                "(SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
                "extract(epoch FROM clock_timestamp())::float8"
            )
            version, vector, clock = cursor.fetchone()
    except Error as error:
        detail = first_line(error)
        return Finding(check="database", verdict="failure", detail=detail)
    skew = abs(clock - time.time())
    if skew > MAX_SKEW_S:
        detail = f"its clock is {skew:.0f} s off this machine's; synchronise both"
        return Finding(check="database", verdict="warning", detail=detail)
    detail = f"PostgreSQL {version}, pgvector {vector or 'not created yet'}"
    return Finding(check="database", verdict="ok", detail=detail)


def model(config: Config) -> Finding:
    """Check that the embedding model can be loaded and embeds."""
    try:
        embedder = embedder_for(config)
        embedder.embed(["probe"], kind="query")
    except EmbeddingUnavailable as error:
        return Finding(check="embedding model", verdict="failure", detail=str(error))
    detail = f"{embedder.model}, {embedder.dimensions} dimensions"
    return Finding(check="embedding model", verdict="ok", detail=detail)


def embedded(config: Config) -> Iterator[Finding]:
    """Say so if tools have no vector of what they say now."""
    state = overview.embedding(config.embedding_model)
    if missing := state["tools"] - state["embedded"]:
        detail = f"{missing} of {state['tools']} tools are not embedded; run `manage.py embed`"
        yield Finding(check="embeddings", verdict="warning", detail=detail)
