"""Variables as editors write them, turned into ${VAR} as Foregate reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_EDITOR: Final = re.compile(r"\$\{([A-Za-z]+|/)(?::([^}]*))?\}")
_SHELL: Final = re.compile(r"\$(?!\{)([A-Za-z_]\w*)")
_NO_LETTER: Final = re.compile(r"\W+")


@dataclass
class Translator:
    """Translates the texts of one entry and collects what a person should know.

    Attributes:
        project: Folder that `${workspaceFolder}` stands for.
        inputs: VS Code's `inputs` by their id.
        unbraced: Whether `$VAR` without braces is a variable too, as Gemini CLI has it.
        notes: What a person should know; one line each.
    """

    project: Path
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unbraced: bool = False
    notes: list[str] = field(default_factory=list)

    def translate(self, text: str) -> str:
        """Return a text in which only variables of the environment are left.

        Example:
            >>> Translator(Path("/p")).translate("${workspaceFolder}/x:${env:A}:${input:my-key}")
            '/p/x:${env:A}:${MY_KEY}'
        """
        if self.unbraced:
            text = _SHELL.sub(r"${\1}", text)
        return _EDITOR.sub(self._replace, text)

    def _replace(self, found: re.Match[str]) -> str:
        name, argument = found[1], found[2]
        fixed = {
            "userHome": "${HOME}",
            "workspaceFolder": str(self.project),
            "workspaceRoot": str(self.project),
            "workspaceFolderBasename": self.project.name,
            "pathSeparator": "/",
            "/": "/",
        }
        if name in fixed:
            return fixed[name]
        if name == "input" and argument:
            return self._input(argument)
        if name in {"command", "config"} and argument:
            self._note(f"refers to ${{{name}:{argument}}}, which only the editor knows; write it")
        return found[0]

    def _input(self, name: str) -> str:
        variable = variable_of(name)
        given = self.inputs.get(name, {})
        default = given.get("default")
        if isinstance(default, str) and default and "}" not in default:
            return f"${{{variable}:-{default}}}"
        said = given.get("description")
        what = f" ({said})" if isinstance(said, str) and said.isprintable() else ""
        self._note(
            f"asks for {name!r}{what} in the editor; set {variable} in the gateway's environment"
        )
        return f"${{{variable}}}"

    def _note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)


def variable_of(name: str) -> str:
    """Return the variable that stands for an editor's input.

    Example:
        >>> variable_of("perplexity-key"), variable_of("2fa")
        ('PERPLEXITY_KEY', 'INPUT_2FA')
    """
    variable = _NO_LETTER.sub("_", name).strip("_").upper()
    return variable if variable and not variable[0].isdigit() else f"INPUT_{variable}"
