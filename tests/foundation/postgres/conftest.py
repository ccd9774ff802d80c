"""Home folders of embedded databases that end with their test."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway_project.foundation.postgres import folders, supervise
from gateway_project.foundation.postgres.cluster import Cluster, OsAccount
from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located, temporary_home
from tests.foundation.postgres.processes import User


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as folder:
        yield folder


@pytest.fixture(scope="session")
def template() -> Iterator[Cluster]:
    """A cluster that was started once and is stopped: its data can be copied."""
    with temporary_home() as folder:
        cluster = located(folder, linger_s=0.0)
        supervise.ensure_running(cluster)
        supervise.unregister_user(cluster)
        processes.until(lambda: not processes.of(cluster))
        yield cluster


@pytest.fixture
def warm(cluster: Cluster, template: Cluster) -> Cluster:
    """A cluster that is stopped and has its data, as after the first of many starts."""
    folders.prepare_folders(cluster)
    processes.copy_data(template, cluster)
    return cluster


@pytest.fixture
def cluster(home: Path) -> Cluster:
    return located(home)


@pytest.fixture
def user(home: Path) -> Iterator[Callable[..., User]]:
    """Start processes that use the database; they end with the test."""
    started: list[User] = []

    def start(place: Path | None = None, **options: object) -> User:
        process = User(place or home, **options)  # type: ignore[arg-type]
        started.append(process)
        return process

    yield start
    for process in started:
        if process.process.poll() is None:
            process.kill()


@pytest.fixture
def nobody() -> OsAccount:
    """An ordinary user, as whom root may run processes."""
    if os.geteuid() != 0:
        pytest.skip("only root may run processes as another user")
    account = processes.nobody()
    if not processes.interpreter(account):
        pytest.skip("there is no Python of this version that the user 'nobody' may run")
    return account
