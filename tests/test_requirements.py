"""Set-up: which Pythons and systems it takes, and that every locked package has a wheel there."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from packaging import tags
from packaging.markers import Marker

FOLDER = Path(__file__).parent.parent / "requirements"
SPEC = importlib.util.spec_from_file_location("install", FOLDER / "install.py")
install = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(install)

MANYLINUX = [f"manylinux_2_{minor}" for minor in range(install.MIN_GLIBC[1], 4, -1)]
PLATFORMS = {
    "linux x64": ("linux", [f"{one}_x86_64" for one in (*MANYLINUX, "manylinux2014")]),
    "linux arm64": ("linux", [f"{one}_aarch64" for one in (*MANYLINUX, "manylinux2014")]),
    "macos arm64": ("darwin", list(tags.mac_platforms(install.MIN_MACOS, "arm64"))),
}


@pytest.mark.parametrize("python", install.PYTHONS)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_package_of_a_set_up_has_a_wheel(python, platform):
    system, platforms = PLATFORMS[platform]
    version = tuple(map(int, python.split(".")))
    known = {
        *tags.cpython_tags(version, platforms=platforms),
        *tags.compatible_tags(version, interpreter=f"cp3{version[1]}", platforms=platforms),
    }
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": system,
        "platform_system": system.title(),
        "platform_machine": "arm64" if system == "darwin" else platforms[0].split("_", 3)[-1],
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    locked = json.loads((FOLDER / "wheels.json").read_text())
    needed = [one for one in locked if not one[2] or Marker(one[2]).evaluate(environment)]
    assert len(needed) > 50
    assert [
        name
        for name, _, _, wheels in needed
        if not any(known & tags.parse_tag(wheel) for wheel in wheels)
    ] == []


def test_the_recorded_wheels_are_those_of_the_lock():
    lock = (FOLDER / "demo.txt").read_text().splitlines()
    pins = {line.split(" ")[0] for line in lock if "==" in line and not line.startswith(" ")}
    recorded = json.loads((FOLDER / "wheels.json").read_text())
    assert {f"{name}=={version}" for name, version, *_ in recorded} == pins


@pytest.mark.parametrize(
    ("system", "machine", "library", "macos", "said"),
    [
        ("linux", "x86_64", ("glibc", "2.28"), "", ""),
        ("linux", "aarch64", ("glibc", "2.41"), "", ""),
        ("linux", "x86_64", ("glibc", "2.17"), "", "this Linux has glibc 2.17"),
        ("linux", "x86_64", ("", ""), "", "another C library instead of glibc"),
        ("linux", "armv7l", ("glibc", "2.41"), "", "on armv7l"),
        ("darwin", "arm64", ("", ""), "14.0", ""),
        ("darwin", "arm64", ("", ""), "26.1.2", ""),
        ("darwin", "arm64", ("", ""), "13.7", "this is macOS 13.7 on arm64"),
        ("darwin", "x86_64", ("", ""), "15.1", "this is macOS 15.1 on x86_64"),
    ],
)
def test_a_system_without_wheels_is_refused_with_the_reason(
    monkeypatch, system, machine, library, macos, said
):
    monkeypatch.setattr(install.sys, "platform", system)
    monkeypatch.setattr(install.platform, "machine", lambda: machine)
    monkeypatch.setattr(install.platform, "libc_ver", lambda: library)
    monkeypatch.setattr(install.platform, "mac_ver", lambda: (macos, ("", "", ""), machine))
    refusal = install.describe_unsupported()
    assert said in refusal
    assert bool(refusal) is bool(said)


@pytest.fixture
def run_setup(tmp_path):
    """Run a copy of setup.sh with nothing but fake Pythons on its path."""
    (tmp_path / "bin").mkdir()
    shutil.copy(FOLDER / "setup.sh", tmp_path / "setup.sh")
    (tmp_path / "install.py").touch()

    def run(pythons, chosen=""):
        for name, version in pythons.items():
            fits = 0 if (3, 11) <= tuple(map(int, version.split(".")[:2])) < (3, 15) else 1
            fake = tmp_path / "bin" / name
            fake.parent.mkdir(exist_ok=True)
            fake.write_text(
                f'#!/bin/sh\ncase "$2" in *print*) echo {version};; *exit*) exit {fits};; '
                f'*venv*) ;; *) echo took "{name}" "$2";; esac\n'
            )
            fake.chmod(0o755)
        return subprocess.run(
            ["/bin/sh", "setup.sh", "dev"],
            cwd=tmp_path,
            env={"PATH": f"{tmp_path}/bin:/usr/bin/nothing", "PYTHON": chosen},
            capture_output=True,
            text=True,
            check=False,
        )

    for tool in ("dirname",):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool))
    return run


@pytest.mark.parametrize(
    ("pythons", "taken"),
    [
        ({"python3": "3.14.0", "python3.13": "3.13.1"}, "python3"),
        ({"python3": "3.10.1", "python3.14": "3.14.0", "python3.13": "3.13.1"}, "python3.13"),
        ({"python3": "3.15.0", "python3.14": "3.14.0"}, "python3.14"),
    ],
)
def test_the_users_own_python_comes_first_then_what_was_tested_longest(run_setup, pythons, taken):
    assert run_setup(pythons).stdout.startswith(f"took {taken}")


def test_the_chosen_python_may_have_a_space_in_its_path(run_setup, tmp_path):
    chosen = tmp_path / "bin" / "my pythons" / "python"
    done = run_setup({"my pythons/python": "3.12.1"}, str(chosen))
    assert (done.returncode, done.stdout.startswith("took my pythons/python")) == (0, True)


@pytest.mark.parametrize(
    ("pythons", "chosen", "said"),
    [
        ({"python3": "3.9.2"}, "", "(found: python3 3.9.2)"),
        ({"python3": "3.10.1", "python3.12": "3.12.1"}, "python3", "(found: python3 3.10.1)"),
        ({"python3": "3.12.1"}, "/no/python", "(found: /no/python, which does not run)"),
        ({}, "", "(found: none)"),
    ],
)
def test_a_refusal_names_what_was_found_in_one_line(run_setup, pythons, chosen, said):
    done = run_setup(pythons, chosen)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
