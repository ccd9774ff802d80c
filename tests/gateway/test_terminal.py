"""What servers and files chose is shown on a terminal as what it is."""

from io import StringIO

import pytest
from rich.table import Table
from rich.text import Text

from gateway_project.management.terminal import Terminal, open_terminal

HOSTILE = "git\u202e:co\u200bmmit\x1b[2J\U000e0041"
SHOWN = r"git\u202e:co\u200bmmit\x1b[2J\U000e0041"


def table():
    shown = Table("tool", box=None)
    shown.add_row(HOSTILE.replace("[", "\\["))
    return shown


@pytest.mark.parametrize("what", [Text(HOSTILE), HOSTILE.replace("[", "\\["), table()])
def test_hidden_characters_are_written_out_wherever_they_stand(what):
    console = Terminal(width=200)
    console.file = StringIO()
    console.print(what)
    assert SHOWN in console.file.getvalue()
    assert not set("\u202e\u200b\x1b\U000e0041") & set(console.file.getvalue())


def test_styling_is_preserved(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = Terminal(width=80)
    console.file = StringIO()
    console.print("[red]no[/red]")
    assert "\x1b[31mno" in console.file.getvalue()


def test_a_name_is_no_picture_and_its_width_is_that_of_the_pipe(capsys):
    console = open_terminal(piped_width=77)
    console.print("git:eyes:x")
    assert console.width == 77
    assert capsys.readouterr().out == "git:eyes:x\n"
