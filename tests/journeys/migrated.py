"""Home folders whose database is migrated already: each a copy of one that is made once.

To make and migrate a database takes more processor time than most journeys. Only the database is
copied; keys and all other files of a home are made anew. That a first start from nothing works is
shown by the tests of `test_clients`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from gateway_project.foundation.postgres import folders
from gateway_project.foundation.postgres.cluster import Cluster
from tests.foundation.postgres import processes
from tests.foundation.postgres.homes import located, temporary_home
from tests.journeys.gateways import Installation

_template_lifetime: Final = ExitStack()


@contextmanager
def migrated_home() -> Iterator[Path]:
    """A home folder that ends with its server; nothing but its database is in it."""
    with temporary_home() as home:
        home.mkdir(mode=0o755)
        cluster = located(home)
        folders.prepare_folders(cluster)
        processes.copy_data(_make_template(), cluster)
        yield home


@cache
def _make_template() -> Cluster:
    """Migrate a new database, and stop it, so that it can be copied."""
    home = _template_lifetime.enter_context(temporary_home())
    home.mkdir(mode=0o755)
    Installation(home=home).manage("migrate")
    cluster = located(home)
    processes.end_all(cluster)
    assert not Path(cluster.data_folder, "postmaster.pid").exists(), "it did not stop cleanly"
    return cluster


def remove_template() -> None:
    """Remove what copies were made of, if there were any."""
    _template_lifetime.close()
