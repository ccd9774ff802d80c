"""Which lines of real failures tell the reason."""

import pytest

from tools.upstream.failure_reason import (
    MAX_LINE_LENGTH,
    MAX_LINES,
    find_telling_lines,
    summarize_failure,
)

NPX = """\
npm warn Unknown user config "nodedir". This will stop working in the next major version of npm.
npm error code E404
npm error 404 Not Found - GET https://npm.example.com/@acme%2fno-such-server
npm error 404
npm error 404  The requested resource '@acme/no-such-server@*' could not be found or you do not \
have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-11-23-debug-0.log
"""
PYTHON = """\
INFO starting, 0 errors so far
Traceback (most recent call last):
  File "/srv/server.py", line 3, in <module>
    from settings import API_KEY
  File "/srv/settings.py", line 9, in <module>
    raise RuntimeError("set ACME_API_KEY to a key of your account")
    ~~~~~^^^^
RuntimeError: set ACME_API_KEY to a key of your account
"""
NODE = """\
node:internal/modules/cjs/loader:1148
  throw err;
  ^

Error: Cannot find module '/srv/dist/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.11.1
"""
ARGPARSE = """\
usage: server [-h] --root ROOT
server: error: the following arguments are required: --root
"""
UVX = """\
  \N{MULTIPLICATION SIGN} No solution found when resolving tool dependencies:
  ╰─▶ Because no-such-mcp was not found in the package registry and you require no-such-mcp, we
      can conclude that your requirements are unsatisfiable.
"""
DOCKER = """\
docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon \
running?.
See 'docker run --help'.
"""
KUBECTL = "error: no current-context\n"
LOGGED = (
    'E1123 12:00:00.0{0}0123   12345 memcache.go:265] "Unhandled Error" err="couldn\'t get '
    'current server API group list: dial tcp 127.0.0.1:8080: connect: connection refused"\n'
)
KUBECTL_LOG = "".join(LOGGED.format(number) for number in range(5))
KUBECTL_REFUSED = KUBECTL_LOG + (
    "The connection to the server localhost:8080 was refused - did you specify the right host or "
    "port?\n"
)
RUST = """\
thread 'main' panicked at src/main.rs:4:5:
called `Result::unwrap()` on an `Err` value: Os { code: 13, message: "Permission denied" }
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
USAGE_ONLY = "acme-mcp 1.2.0\nUsage: acme-mcp <command> [options]\n\nCommands:\n  serve\n"


@pytest.mark.parametrize(
    ("output", "told", "left_out"),
    [
        (NPX, ("code E404", "404 Not Found", "'@acme/no-such-server@*'"), ("_logs", "nodedir")),
        (PYTHON, ("RuntimeError: set ACME_API_KEY to a key",), ("Traceback", "File", "starting")),
        (NODE, ("Error: Cannot find module '/srv/dist/index.js'",), ("at Module", "Node.js v20")),
        (ARGPARSE, ("the following arguments are required: --root",), ()),
        (UVX, ("no-such-mcp was not found in the package registry",), ()),
        (DOCKER, ("Cannot connect to the Docker daemon",), ("--help",)),
        (KUBECTL, ("error: no current-context",), ()),
        (
            KUBECTL_REFUSED,
            ("The connection to the server localhost:8080 was refused",),
            ("E1123",),
        ),
        (KUBECTL_LOG, ("couldn't get current server API group list",), ("00.040123",)),
        (RUST, ("Permission denied",), ("RUST_BACKTRACE",)),
        (USAGE_ONLY, ("Usage: acme-mcp <command> [options]",), ("1.2.0",)),
        ("starting\nbye\n", ("bye",), ("starting",)),
        ("npm notice\nnpm notice\n", ("npm notice",), ()),
        ("", (), ()),
    ],
)
def test_the_lines_that_tell_the_reason_are_chosen_and_the_noise_is_not(output, told, left_out):
    chosen = find_telling_lines(output.splitlines())
    shown = summarize_failure(output.splitlines())
    assert len(chosen) <= MAX_LINES
    assert all(text in shown for text in told)
    assert not any(text in shown for text in left_out)


def test_a_reason_far_from_the_end_is_found_and_said_once():
    lines = ["Error: no such database", *(["retrying"] * 150), "Error: no such database", "bye"]
    assert find_telling_lines(lines) == ("Error: no such database",)


def test_of_several_failures_the_latest_counts_and_long_lines_are_cut():
    lines = [f"Error: attempt {number} failed" for number in range(9)]
    assert find_telling_lines(lines) == tuple(lines[-MAX_LINES:])
    assert find_telling_lines([f"Error: {'x' * 1_000}"]) == (
        f"Error: {'x' * 1_000}"[: MAX_LINE_LENGTH - 1] + "…",
    )
