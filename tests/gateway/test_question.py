import fcntl
import os
import pty
import struct
import sys
import termios
import time

from gateway_project.management import question


def test_earlier_typed_input_does_not_answer_a_prompt(monkeypatch):
    terminal, side = pty.openpty()
    with open(terminal, "wb", buffering=0) as person, open(side, "r+b", buffering=0) as theirs:
        os.set_blocking(side, False)
        with open(os.dup(side)) as stdin, open(os.dup(side), "w") as stderr:
            monkeypatch.setattr(sys, "stdin", stdin)
            monkeypatch.setattr(sys, "stderr", stderr)
            assert question.is_terminal()
            person.write(b"y\n")
            until_typed(side)
            question.show_question("Really? ")
            assert theirs.read(10) is None
            person.write(b"n\n")
            until_typed(side)
            assert theirs.read(10) == b"n\n"


def until_typed(terminal: int) -> None:
    """Wait until a line has come to where a program reads it."""

    for _ in range(1_000):
        waiting = fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4)
        if struct.unpack("i", waiting)[0]:
            return
        time.sleep(0.01)
    raise AssertionError("nothing came")


def test_a_pipe_is_not_prompted():
    assert not question.is_terminal()
