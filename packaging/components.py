"""What a release is made of: a CycloneDX document and a list of licences.

Python packages are those that the lock gives to the wheel `foregate`; Node packages travel in it.
The same tree gives the same bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "demo.txt"
NODE = ROOT / ".venv" / "node"
_PIN = re.compile(r"^([\w.-]+)==(\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, order=True)
class Component:
    """A package of somebody else: `kind` is that of its purl, `hashes` those of its files."""

    kind: str
    name: str
    version: str
    licence: str
    hashes: tuple[str, ...] = ()

    @property
    def purl(self) -> str:
        """The package's address, in the form that vulnerability databases use."""
        return f"pkg:{self.kind}/{self.name.replace('@', '%40')}@{self.version}"


def list_python(requirements: Iterable[str]) -> list[Component]:
    """Return what requirements lead to, as locked.

    What is not installed here, being of another system, is listed without its licence.
    """
    locked = _read_lock(LOCK.read_text("utf-8"))
    found: dict[str, Component] = {}
    waiting = [Requirement(one) for one in requirements]
    seen = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in locked or (name, *sorted(wanted.extras)) in seen:
            continue
        seen.add((name, *sorted(wanted.extras)))
        version, hashes = locked[name]
        found[name] = Component("pypi", name, version, _find_licence(name), hashes)
        waiting += _list_needs(name, wanted.extras)
    return sorted(found.values())


def _list_needs(name: str, extras: Iterable[str]) -> list[Requirement]:
    """Return what a package needs on any system, with the extras that are asked for."""
    try:
        declared = [Requirement(one) for one in metadata.requires(name) or ()]
    except metadata.PackageNotFoundError:
        return []
    asked = ["", *extras]
    return [
        one
        for one in declared
        if one.marker is None
        or "extra" not in str(one.marker)
        or any(one.marker.evaluate({"extra": extra}) for extra in asked)
    ]


def list_node(folders: Sequence[Path]) -> list[Component]:
    """Return the packages in `node_modules` folders."""
    found = set()
    for folder in folders:
        for file in folder.glob("**/package.json"):
            package = json.loads(file.read_text("utf-8"))
            if file.parent.parent.name.startswith("@"):
                parent = file.parent.parent.parent
            else:
                parent = file.parent.parent
            if parent.name == "node_modules" and {"name", "version"} <= package.keys():
                licence = package.get("license", "")
                text = licence if isinstance(licence, str) else licence.get("type", "")
                found.add(Component("npm", package["name"], package["version"], text))
    return sorted(found)


def make_sbom(version: str, components: Sequence[Component]) -> str:
    """Return a CycloneDX document; without time and serial number, so that it is reproducible."""
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "foregate",
                "name": "foregate",
                "version": version,
                "purl": f"pkg:pypi/foregate@{version}",
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [_describe(one) for one in components],
    }
    return json.dumps(document, indent=1) + "\n"


def _describe(one: Component) -> dict[str, Any]:
    described: dict[str, Any] = {
        "type": "library",
        "bom-ref": one.purl,
        "name": one.name,
        "version": one.version,
        "purl": one.purl,
    }
    if one.licence:
        described["licenses"] = [{"license": {"name": one.licence}}]
    if one.hashes:  # one of each file; a component's own hashes would be of one file
        described["externalReferences"] = [
            {
                "type": "distribution",
                "url": one.purl,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
            for digest in one.hashes
        ]
    return described


def make_licence_list(components: Sequence[Component]) -> str:
    """Return the list of licences for people."""
    lines = [f"{one.name} {one.version}: {one.licence or 'see its package'}" for one in components]
    return (
        "What Foregate is made of besides its own code. Packages of npm lie in its wheel, each\n"
        "with its licence; those of PyPI are installed beside it.\n\n" + "\n".join(lines) + "\n"
    )


def _find_licence(name: str) -> str:
    """Return a package's licence as its metadata state it, at most a line."""
    try:
        stated = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    if "License-Expression" in stated:
        return stated["License-Expression"]
    classified = [
        one.rpartition(" :: ")[2]
        for one in stated.get_all("Classifier", ())
        if one.startswith("License :: ") and one != "License :: OSI Approved"
    ]
    if classified:
        return " OR ".join(classified)
    written = stated["License"].strip() if "License" in stated else ""
    return written if len(written) < 100 and "\n" not in written else ""  # some hold the text


def _read_lock(text: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return version and hashes of each package of a lock."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for entry in text.replace("\\\n", "").splitlines():
        if pin := _PIN.match(entry):
            name = canonicalize_name(pin[1])
            found[name] = (pin[2], tuple(_HASH.findall(entry)))
    return found
