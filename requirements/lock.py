"""Compile all locks in this folder, or check offline that they are up to date.

    python requirements/lock.py            compile (needs the package indexes)
    python requirements/lock.py --check    compare the recorded digest of the inputs

The locks contain only versions and hashes: no index, no address, no path of the machine that
compiled them. `make lock` and `make check` call this.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import install

FOLDER = Path(__file__).resolve().parent
PROJECT = FOLDER.parent
NODE_SETS = ("console", "demo", "test")
OLDEST_PYTHON = install.PYTHONS[0]
WHEEL_TAG = re.compile(  # of the systems that set-up supports; not of free-threaded Pythons
    r"((py2\.)?py3|cp3\d+)\S*-(none|abi3|cp3\d+)-"
    r"(any|macosx\S+_(arm64|universal2)|manylinux\S+_(x86_64|aarch64))"
)
MARK = "# inputs: sha256:"

# Each later set is constrained by `dev`, so that every set holds the same version of a package.
PYTHON_SETS: Mapping[str, tuple[str, ...]] = {
    "dev": ("pyproject.toml", "--extra", "demo", "--group", "dev"),
    "demo": ("pyproject.toml", "--extra", "demo"),
    "redis": ("pyproject.toml", "--extra", "redis"),
    "runtime": ("pyproject.toml",),
    # without torch, whose build pip selects (docs/adr/0002-locks-and-setup.md)
    "sentence-transformers": (
        *("pyproject.toml", "--extra", "sentence-transformers"),
        *("--no-emit-package", "torch"),
    ),
    "uv": ("requirements/uv.in",),
}


def digest() -> str:
    """Return a digest of the inputs of all locks."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    inputs = {
        "python": project["project"]["requires-python"],
        "dependencies": project["project"]["dependencies"],
        "extras": project["project"]["optional-dependencies"],
        "groups": project["dependency-groups"],
        "uv": project.get("tool", {}).get("uv", {}),
        "installer": (FOLDER / "uv.in").read_text("utf-8").split(),
        "node": [json.loads(_node_file(name, "package.json").read_text()) for name in NODE_SETS],
        "compiler": [OLDEST_PYTHON, *PYTHON_SETS.items()],
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def find_stale_locks() -> list[str]:
    """Return a line for each lock that was compiled from other inputs than the current ones."""
    expected = MARK + digest()
    found = []
    for name in (*PYTHON_SETS, "torch"):
        lock = _python_lock(name)
        if not lock.exists() or lock.read_text("utf-8").partition("\n")[0] != expected:
            found.append(f"{lock.relative_to(PROJECT)} is not up to date: run `make lock`")
    for name in NODE_SETS:
        wanted = json.loads(_node_file(name, "package.json").read_text("utf-8"))["dependencies"]
        lock = _node_file(name, "package-lock.json")
        locked = json.loads(lock.read_text("utf-8"))["packages"][""] if lock.exists() else {}
        if locked.get("dependencies") != wanted:
            found.append(f"{lock.relative_to(PROJECT)} is not up to date: run `make lock`")
    return found


def compile_python(name: str) -> None:
    """Compile one Python lock, for every platform and every supported Python."""
    constraints = ("--constraints", str(_python_lock("dev"))) if name not in ("dev", "uv") else ()
    command = _compile_command(name, *constraints, "--generate-hashes", "--no-header")
    command += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    compiled = _output(command)
    _python_lock(name).write_text(f"{MARK}{digest()}\n{compiled}", "utf-8")


def _compile_command(name: str, *options: str) -> list[str]:
    command = [str(PROJECT / ".venv/bin/uv"), "pip", "compile", "--quiet", *PYTHON_SETS[name]]
    return [*command, *options, "--universal", "--python-version", OLDEST_PYTHON]


def record_wheels() -> None:
    """Record for which Pythons and systems the locked packages of `demo` have wheels.

    One package a line: name, version, marker, and the tags of its wheels (PEP 425). A test
    compares them with what set-up supports.
    """
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "pylock.toml")  # PEP 751 knows file names; a requirements file, none
        constraints = ("--constraints", str(_python_lock("demo")))
        _output(_compile_command("demo", *constraints, "--format", "pylock.toml", "-o", str(file)))
        packages = tomllib.loads(file.read_text("utf-8"))["packages"]
    lines = [
        [package["name"], package["version"], package.get("marker", ""), _list_tags(package)]
        for package in packages
    ]
    text = ",\n".join(json.dumps(line) for line in lines)
    (FOLDER / "wheels.json").write_text(f"[\n{text}\n]\n", "utf-8")


def _list_tags(package: Mapping[str, Any]) -> list[str]:
    names = [wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())]
    tags = {"-".join(name.removesuffix(".whl").split("-")[-3:]) for name in names}
    return sorted(tag for tag in tags if WHEEL_TAG.fullmatch(tag))


def write_torch() -> None:
    """Write the requirement whose build pip selects."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["sentence-transformers"]
    pinned = [line for line in extra if line.startswith("torch==")]
    _python_lock("torch").write_text("\n".join((MARK + digest(), *pinned, "")), "utf-8")


def compile_node(name: str) -> None:
    """Compile one npm lock with integrity hashes and without the addresses they came from."""
    package = _node_file(name, "package.json")
    options = ("--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund")
    exact = ("--omit-lockfile-registry-resolved=true", "--lockfile-version=3")
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "package.json")
        copy.write_bytes(package.read_bytes())
        _output([*install.npm(), "install", "--prefix", scratch, *options, *exact])
        _node_file(name, "package-lock.json").write_bytes(
            copy.with_name("package-lock.json").read_bytes()
        )


def main(arguments: list[str]) -> int:
    """Run as a command."""
    if arguments == ["--check"]:
        problems = find_stale_locks()
        print("\n".join(problems) or "locks are up to date")
        return 1 if problems else 0
    for name in PYTHON_SETS:
        print(f"compiling requirements/{name}.txt", flush=True)
        compile_python(name)
    write_torch()
    record_wheels()
    for name in NODE_SETS:
        print(f"compiling requirements/node/{name}/package-lock.json", flush=True)
        compile_node(name)
    return 0


def _python_lock(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def _node_file(name: str, file: str) -> Path:
    return FOLDER / "node" / name / file


def _output(command: list[str]) -> str:
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=install.environment(),
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed: {' '.join(map(str, error.cmd))}")
