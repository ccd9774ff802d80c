"""Cut a release: `python packaging/release.py 1.2.0`, then commit and tag `v1.2.0`.

Writes the version wherever the tree names it, and gives what CHANGELOG.md holds under
"Unreleased" that version and today's date. `--check v1.2.0` ends with 1 unless the tree is that
of the tag; `--notes` prints the newest section of the changelog.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
PLACES: Mapping[str, str] = {
    "pyproject.toml": r'(name = "foregate"\nversion = ")([^"]+)',
    "gateway_project/__init__.py": r'(?m)^(VERSION = ")([^"]+)',
    "packaging/chart/Chart.yaml": r"(?m)^((?:appV|v)ersion: )(\S+)",
}
"""Files that name the version, and where: what precedes it, and itself."""
UNRELEASED = "## Unreleased\n"


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?")
    parser.add_argument("--check", metavar="TAG")
    parser.add_argument("--notes", action="store_true")
    options = parser.parse_args()
    if options.check:
        found = {f"v{one}" for one in list_versions(ROOT)}
        if found != {options.check}:
            sys.exit(f"{options.check} is not the version of the tree: {', '.join(sorted(found))}")
    if options.notes:
        print(read_notes((ROOT / "CHANGELOG.md").read_text("utf-8")))
    if options.version:
        cut(ROOT, options.version, day=f"{datetime.now(UTC):%Y-%m-%d}")


def cut(root: Path, version: str, *, day: str) -> None:
    """Write a version and its section of the changelog.

    Raises:
        SystemExit: If it is no version, or nothing is unreleased.
    """
    if not VERSION.fullmatch(version):
        sys.exit(f"{version} is not a version such as 1.2.0 or 1.2.0rc1")
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text("utf-8")
    before, found, after = text.partition(UNRELEASED)
    if not found or not after.partition("\n## ")[0].strip():
        sys.exit("CHANGELOG.md has nothing under Unreleased")
    changelog.write_text(f"{before}{found}\n## {version} - {day}\n{after}", "utf-8")
    for name, pattern in PLACES.items():
        file = root / name
        written = re.sub(pattern, rf"\g<1>{version}", file.read_text("utf-8"))
        file.write_text(written, "utf-8")


def list_versions(root: Path) -> set[str]:
    """Return the versions that the tree names; it should be one."""
    return {
        match[1]
        for name, pattern in PLACES.items()
        for match in re.findall(pattern, (root / name).read_text("utf-8"))
    }


def read_notes(changelog: str) -> str:
    """Return the text of the newest section that is not empty."""
    sections = re.split(r"(?m)^## .*\n", changelog)[1:]
    return next((one.strip() for one in sections if one.strip()), "")


if __name__ == "__main__":
    main()
