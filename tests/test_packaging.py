"""What is shipped beside the wheels: it names only settings and commands that exist."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from gateway_project.foundation.config import PREFIX, SECRETS, Config
from gateway_project.settings.production import HttpsConfig

ROOT = Path(__file__).parents[1]
PACKAGING = ROOT / "packaging"
IMAGE = PACKAGING / "image"
CHART = PACKAGING / "chart"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


cli = load(PACKAGING / "launcher" / "cli.py")


def list_settings():
    names = {PREFIX + name.upper() for name in (*Config.model_fields, *HttpsConfig.model_fields)}
    files = {f"{PREFIX}{name.upper()}_FILE" for name in SECRETS}
    return names | files | {"DATABASE_URL_FILE", f"{PREFIX}FIRST_ADMIN_FILE"}


def is_command(word):
    return cli.COMMANDS.get(word, word) in get_commands()


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((IMAGE / "compose.yaml").read_text())


def test_compose_declares_all_that_its_services_use(compose):
    services = compose["services"].values()
    secrets = {one for service in services for one in service.get("secrets", ())}
    named = {one.split(":")[0] for service in services for one in service.get("volumes", ())}
    assert secrets == set(compose["secrets"])
    assert {one for one in named if not one.startswith(".")} == set(compose["volumes"])
    for service in services:
        files = [v for v in service["environment"].values() if v.startswith("/run/secrets/")]
        assert {Path(one).name for one in files} <= set(service.get("secrets", ()))


def test_compose_starts_commands_with_settings_that_exist(compose):
    ours = [one for one in compose["services"].values() if "FOREGATE" in one["image"]]
    assert len(ours) == 3
    for service in ours:
        assert is_command(service["command"][0])
        named = {name for name in service["environment"] if name.startswith(PREFIX)}
        assert named <= list_settings()


def test_the_image_is_not_run_as_root_and_starts_a_command():
    text = (IMAGE / "Dockerfile").read_text()
    final = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d+:", final, re.MULTILINE)
    assert is_command(re.search(r'^CMD \["(\w+)"\]$', final, re.MULTILINE)[1])
    assert set(re.findall(r"(FOREGATE_\w+)=", final)) <= list_settings()


def list_paths(values, prefix=""):
    for name, value in values.items():
        yield f"{prefix}{name}"
        if isinstance(value, dict):
            yield from list_paths(value, f"{prefix}{name}.")


def test_templates_of_the_chart_use_each_value_and_no_other():
    templates = "".join(file.read_text() for file in (CHART / "templates").iterdir())
    used = set(re.findall(r"(?:\.Values|\$values)\.([\w.]+)", templates))
    known = set(list_paths(yaml.safe_load((CHART / "values.yaml").read_text())))
    assert used <= known
    whole = {"resources", "workerResources", "ingress.annotations"}
    sections = {one for one in known if any(other.startswith(f"{one}.") for other in known)}
    inside = {one for one in known if any(one.startswith(f"{other}.") for other in whole)}
    assert used == (known - sections - inside) | whole
    assert set(re.findall(r'"(FOREGATE_\w+)" ', templates)) <= list_settings()
    for words in re.findall(r'"command" \(list "(\w+)"', templates):
        assert is_command(words)


RELEASE = load(PACKAGING / "release.py")
COMPONENTS = load(PACKAGING / "components.py")
BUILD = load(PACKAGING / "build.py")


@pytest.fixture
def tree(tmp_path):
    """A tree with the files that a release changes."""
    for name in (*RELEASE.PLACES, "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_release_has_one_version_and_what_was_unreleased(tree):
    assert len(RELEASE.list_versions(ROOT)) == 1
    RELEASE.cut(tree, "1.2.0", day="2027-01-02")
    changelog = (tree / "CHANGELOG.md").read_text()
    assert RELEASE.list_versions(tree) == {"1.2.0"}
    assert "## Unreleased\n\n## 1.2.0 - 2027-01-02\n\n### Added" in changelog
    assert RELEASE.read_notes(changelog).startswith("### Added")
    with pytest.raises(SystemExit, match="nothing under Unreleased"):
        RELEASE.cut(tree, "1.2.1", day="2027-01-03")


def test_no_release_of_something_that_is_no_version(tree):
    with pytest.raises(SystemExit, match="is not a version"):
        RELEASE.cut(tree, "v1.2", day="2027-01-02")


def test_components_are_what_the_lock_gives(tmp_path):
    package = tmp_path / "node_modules" / "@a" / "b" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text('{"name": "@a/b", "version": "1.0.0", "license": "MIT"}')
    python = COMPONENTS.list_python(["uvicorn>=0.1"])
    found = {one.name: one for one in python}
    assert {"uvicorn", "click", "h11"} <= found.keys()
    assert "pytest" not in found
    lock = (ROOT / "requirements" / "demo.txt").read_text()
    assert all(f"{one.name}=={one.version}" in lock and one.hashes for one in python)
    assert found["uvicorn"].licence == "BSD-3-Clause"
    (node,) = COMPONENTS.list_node([tmp_path / "node_modules"])
    assert (node.purl, node.licence) == ("pkg:npm/%40a/b@1.0.0", "MIT")
    assert COMPONENTS.make_sbom("1", [node]) == COMPONENTS.make_sbom("1", [node])
    assert "@a/b 1.0.0: MIT" in COMPONENTS.make_licence_list([node])


@pytest.mark.parametrize(
    ("text", "shipped"),
    [
        ('"run `manage.py doctor`"', '"run `foregate doctor`"'),
        ('f"manage.py approvals show {one}"', 'f"foregate approvals show {one}"'),
        ('"/srv/manage.py run_gateway"', '"/srv/manage.py run_gateway"'),
    ],
)
def test_texts_of_the_wheel_name_the_command_that_it_installs(tmp_path, text, shipped):
    source = tmp_path / "source.py"
    source.write_text(text)
    BUILD.copy_product_file(source, tmp_path / "shipped.py")
    assert (tmp_path / "shipped.py").read_text() == shipped
