"""Translates editors' placeholders into the ${VAR} form that Foregate reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_EDITOR_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z]+|/)(?::([^}]*))?\}")
_UNBRACED_VARIABLE: Final = re.compile(r"\$(?!\{)([A-Za-z_]\w*)")
_NON_WORD: Final = re.compile(r"\W+")


@dataclass
class PlaceholderTranslator:
    """Translates the texts of one entry and collects notes for the user.

    Attributes:
        project: Folder that `${workspaceFolder}` stands for.
        inputs: VS Code's `inputs` by their id.
        allows_unbraced: Whether `$VAR` without braces is a variable too, as in Gemini CLI.
        notes: Remarks for the user, one line each.
    """

    project: Path
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    allows_unbraced: bool = False
    notes: list[str] = field(default_factory=list)

    def translate(self, text: str) -> str:
        """Return a text whose only placeholders are environment variables.

        Example:
            >>> text = "${workspaceFolder}/x:${env:A}:${input:my-key}"
            >>> PlaceholderTranslator(Path("/p")).translate(text)
            '/p/x:${env:A}:${MY_KEY}'
        """
        if self.allows_unbraced:
            text = _UNBRACED_VARIABLE.sub(r"${\1}", text)
        return _EDITOR_PLACEHOLDER.sub(self._replace_placeholder, text)

    def _replace_placeholder(self, match: re.Match[str]) -> str:
        name, argument = match[1], match[2]
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
            return self._translate_input(argument)
        if name in {"command", "config"} and argument:
            self._add_note(
                f"refers to ${{{name}:{argument}}}, which only the editor knows; write it out"
            )
        return match[0]

    def _translate_input(self, name: str) -> str:
        variable = name_input_variable(name)
        definition = self.inputs.get(name, {})
        default = definition.get("default")
        if isinstance(default, str) and default and "}" not in default:
            return f"${{{variable}:-{default}}}"
        text = definition.get("description")
        description = f" ({text})" if isinstance(text, str) and text.isprintable() else ""
        self._add_note(
            f"asks for {name!r}{description} in the editor; set {variable} in the gateway's "
            "environment"
        )
        return f"${{{variable}}}"

    def _add_note(self, line: str) -> None:
        if line not in self.notes:
            self.notes.append(line)


def name_input_variable(name: str) -> str:
    """Return the environment variable for an editor's input.

    Example:
        >>> name_input_variable("perplexity-key"), name_input_variable("2fa")
        ('PERPLEXITY_KEY', 'INPUT_2FA')
    """
    variable = _NON_WORD.sub("_", name).strip("_").upper()
    return variable if variable and not variable[0].isdigit() else f"INPUT_{variable}"
