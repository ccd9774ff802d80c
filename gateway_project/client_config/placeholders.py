"""Translates editors' placeholders into the ${VAR} form that Foregate reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tools.upstream.interpolate import escape_text, find_variables

_VARIABLES: Final = ("env", "plain", "unbraced", "curly")
_NAME: Final = r"[A-Za-z_]\w*"
_WORD: Final = (
    r"(?P<word>userHome|workspaceFolder|workspaceFolderBasename|workspaceRoot|pathSeparator|/)"
    r"(?::[^}]*)?"
)
_ASKED: Final = r"(?P<kind>input|command|config|file):(?P<argument>[^}]+)"
_SPACE: Final = re.compile(r"\s")
_NON_WORD: Final = re.compile(r"\W+")
Unset = Literal["error", "empty", "kept"]


@dataclass(frozen=True, kw_only=True)
class PlaceholderSyntax:
    """What a client replaces in the texts of its file; it passes everything else on.

    Attributes:
        plain: Whether `${VAR}` is a variable.
        env: Whether `${env:VAR}` is.
        unbraced: Whether `$VAR` is.
        curly: Whether `{env:VAR}` is.
        editor: Whether it knows the placeholders of editors, such as `${workspaceFolder}`.
        remote_only: Whether it replaces them in entries of remote servers alone.
        unset: What it makes of a variable that is not set: an error, nothing, or the placeholder.
    """

    plain: bool = False
    env: bool = False
    unbraced: bool = False
    curly: bool = False
    editor: bool = False
    remote_only: bool = False
    unset: Unset = "error"

    def find_references(self) -> re.Pattern[str]:
        """Return what matches a placeholder that the client replaces."""
        forms = (
            # An editor's own words come before variables of the same form.
            (self.editor, rf"\$\{{(?:{_WORD}|{_ASKED})\}}"),
            (self.env, rf"\$\{{env:(?P<env>{_NAME})(?P<fallback>:-[^}}]*)?\}}"),
            (self.plain, rf"\$\{{(?P<plain>{_NAME})(?P<default>:-[^}}]*)?\}}"),
            (self.unbraced, rf"\$(?P<unbraced>{_NAME})"),
            (self.curly, rf"\{{env:(?P<curly>{_NAME})\}}"),
        )
        known = "|".join(form for is_known, form in forms if is_known)
        return re.compile(rf"(?<!\$)(?:{known})" if known else r"(?!)")


NO_PLACEHOLDERS: Final = PlaceholderSyntax()
OWN_SYNTAX: Final = PlaceholderSyntax(plain=True, env=True, editor=True)
"""Of files that no known client has: that of Foregate itself, and of editors."""


@dataclass
class PlaceholderTranslator:
    """Translates the texts of one entry and collects notes for the user.

    Attributes:
        project: Folder that `${workspaceFolder}` stands for.
        inputs: VS Code's `inputs` by their id.
        syntax: Placeholders of the client whose file it is.
        environ: Variables that are set.
        notes: Remarks for the user, one line each.
    """

    project: Path
    inputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    syntax: PlaceholderSyntax = OWN_SYNTAX
    environ: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def translate(self, text: str, *, is_script: bool = False) -> str:
        """Return a text in Foregate's form: what the client passes on is escaped.

        Args:
            text: As written for the client.
            is_script: Whether it may hold placeholders for others, such as a shell: then those of
                unset variables are kept where the client keeps them. A name in capitals outside
                of running text is one of the environment all the same.

        Example:
            >>> text = "${workspaceFolder}/x:${env:A}:${input:my-key}"
            >>> PlaceholderTranslator(Path("/p")).translate(text)
            '/p/x:${env:A}:${MY_KEY}'
        """
        pieces, end = [""], 0
        for match in self.syntax.find_references().finditer(text):
            pieces[-1] += text[end : match.start()]
            end = match.end()
            reference = self._make_reference(match, is_script=is_script)
            if reference is None:
                pieces[-1] += match[0]
            else:
                pieces += [reference, ""]
        pieces[-1] += text[end:]
        if self.syntax != OWN_SYNTAX:
            pieces[::2] = map(self._escape, pieces[::2])
        return "".join(pieces)

    def _escape(self, text: str) -> str:
        for name in sorted(find_variables(text)):
            self._add_note(f"passes a placeholder for {name} on as it is, as its client does")
        return escape_text(text)

    def _make_reference(self, match: re.Match[str], *, is_script: bool) -> str | None:
        """Return what stands for a placeholder; None if it is passed on."""
        groups = {name: text for name, text in match.groupdict().items() if text}
        if "word" in groups or "kind" in groups:
            return self._replace_placeholder(match)
        name = next(groups[form] for form in _VARIABLES if form in groups)
        is_written = "plain" in groups or "env" in groups
        if name not in self.environ and not {"default", "fallback"} & groups.keys():
            if self.syntax.unset == "empty":
                self._add_note(f"refers to {name}, which is not set and therefore empty")
                return f"${{{name}:-}}"
            is_running_text = _SPACE.search(match.string) is not None
            if (
                self.syntax.unset == "kept"
                and is_script
                and (is_running_text or not name.isupper())
            ):
                return None
        return match[0] if is_written else f"${{{name}}}"

    def _replace_placeholder(self, match: re.Match[str]) -> str | None:
        fixed = {
            "userHome": "${HOME}",
            "workspaceFolder": str(self.project),
            "workspaceRoot": str(self.project),
            "workspaceFolderBasename": self.project.name,
            "pathSeparator": "/",
            "/": "/",
        }
        if match["word"]:
            return fixed[match["word"]]
        if match["kind"] == "input":
            return self._translate_input(match["argument"])
        self._add_note(f"refers to {match[0]}, which only the editor knows; write it out")
        return None

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
