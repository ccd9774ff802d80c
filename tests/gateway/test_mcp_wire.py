import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

BASE = Path(__file__).resolve().parent.parent.parent


def run(code, **values):
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=BASE,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **values,
    )


CLAIM = "import os, subprocess, sys\nfrom gateway_project.mcp import wire\nw = wire.claim_wire()\n"


def test_output_printed_after_the_claim_goes_to_stderr():
    code = CLAIM + (
        "print('by python', flush=True)\n"
        "os.write(1, b'by a library\\n')\n"
        "subprocess.run([sys.executable, '-c', 'print(\"by a child\")'])\n"
        "os.write(w.write_fd, b'protocol')\n"
    )
    done = run(code, input="")
    assert done.stdout == "protocol"
    assert [line for line in done.stderr.splitlines() if line.startswith("by")] == [
        "by python",
        "by a library",
        "by a child",
    ]


def test_stdin_is_the_gateway_s_alone():
    code = CLAIM + (
        "subprocess.run(['cat'])\n"
        "assert sys.stdin.read() == ''\n"
        "os.write(w.write_fd, os.read(w.read_fd, 100))\n"
    )
    assert run(code, input="for the gateway").stdout == "for the gateway"


def test_no_child_inherits_the_wire():
    code = CLAIM + (
        "assert not os.get_inheritable(w.read_fd)\n"
        "assert not os.get_inheritable(w.write_fd)\n"
        "assert min(w.read_fd, w.write_fd) > 2\n"
        "assert wire.claim_wire() is w\n"
        "os.write(w.write_fd, b'ok')\n"
    )
    assert run(code).stdout == "ok"


def test_a_signal_before_the_server_runs_ends_quietly():
    for name in ("SIGTERM", "SIGINT"):
        done = run(CLAIM + f"import signal\nsignal.raise_signal(signal.{name})\n")
        assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stdout_is_one_clear_line():
    code = (
        "import os, subprocess, sys\n"
        f"done = subprocess.run([sys.executable, '-c', {CLAIM!r}], stderr=subprocess.PIPE, "
        "text=True, preexec_fn=lambda: os.close(1))\n"
        "sys.stderr.write(done.stderr); sys.exit(done.returncode)\n"
    )
    done = run(code)
    assert done.returncode == 69
    assert done.stderr.count("\n") == 1
    assert "speaks MCP over stdin and stdout, and one of them is closed" in done.stderr


def test_a_closed_stderr_does_not_stop_the_protocol():
    code = (
        "import os\nos.close(2)\n"
        + CLAIM
        + "print('x', flush=True)\nos.write(w.write_fd, b'ok')\n"
    )
    assert run(code).stdout == "ok"


def test_the_claim_imports_next_to_nothing():
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom gateway_project.mcp import wire\n"
        "heavy = {'django', 'mcp', 'pydantic', 'asyncio'} & (set(sys.modules) - before)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    assert run(code).returncode == 0
