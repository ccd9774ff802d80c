import contextvars
import json
import logging
import os
import shutil
import warnings

import pytest
import structlog

from gateway_project.foundation import telemetry
from gateway_project.foundation.config import Config, ConfigurationError


@pytest.fixture(autouse=True)
def logging_as_it_was():
    """Put the process's logging back; `configure` replaces it as a whole."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    # The handlers of pytest are taken away first: configure() would close them.
    for handler in handlers:
        root.removeHandler(handler)
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def configure(home, *, quiet=False, **values):
    telemetry.configure_logging(Config(home=home, **values), process="gateway", quiet=quiet)


def lines(home):
    text = (home / "logs" / telemetry.LOG_FILE).read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_goes_to_stderr_and_as_json_to_the_file_and_never_to_stdout(tmp_path, capsys):
    configure(tmp_path)
    structlog.get_logger("tools.discover").info("discover.done", server="git", tools=12)
    out, err = capsys.readouterr()
    assert out == ""
    assert "discover.done" in err
    assert "git" in err
    (line,) = lines(tmp_path)
    assert line["event"] == "discover.done"
    assert line["server"] == "git"
    assert line["tools"] == 12
    assert line["level"] == "info"
    assert line["logger"] == "tools.discover"
    assert line["process"] == f"gateway[{os.getpid()}]"
    assert line["timestamp"].endswith("Z")


def test_standard_library_logging_and_warnings_are_included(tmp_path, capsys):
    configure(tmp_path)
    logging.getLogger("somebody.else").warning("%d of %s", 3, "them")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().out == ""
    first, second = lines(tmp_path)
    assert (first["event"], first["level"]) == ("3 of them", "warning")
    assert "DeprecationWarning: old" in second["event"]


@pytest.mark.parametrize(
    ("level", "kept"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_events_below_the_level_are_not_logged(tmp_path, level, kept):
    configure(tmp_path, log_level=level)
    log = structlog.get_logger("x")
    for name in ("debug", "info", "warning", "error"):
        getattr(log, name)(name)
    assert [line["event"] for line in lines(tmp_path)] == kept


def test_a_quiet_process_shows_errors_only_and_still_writes_everything_to_the_file(
    tmp_path, capsys
):
    configure(tmp_path, quiet=True)
    log = structlog.get_logger("x")
    log.warning("unshown")
    log.error("shown")
    err = capsys.readouterr().err
    assert "shown" in err
    assert "unshown" not in err
    assert [line["event"] for line in lines(tmp_path)] == ["unshown", "shown"]


def test_unencodable_characters_are_escaped(tmp_path):
    configure(tmp_path)
    structlog.get_logger("x").info("odd", name="a\ud800b")
    assert lines(tmp_path)[0]["event"] == "odd"


def test_lines_inside_a_request_carry_its_id(tmp_path):
    configure(tmp_path)
    log = structlog.get_logger("x")
    log.info("before")
    with telemetry.bind_request_id("abc") as bound:
        log.info("inside")
    log.info("after")
    assert bound == "abc"
    assert [line.get("request_id") for line in lines(tmp_path)] == [None, "abc", None]


def test_a_request_without_an_id_gets_a_fresh_one_and_nesting_restores_the_outer():
    assert telemetry.current_request_id() == ""
    with telemetry.bind_request_id() as outer:
        assert len(outer) == 2 * telemetry.REQUEST_ID_BYTES
        with telemetry.bind_request_id("inner"):
            assert telemetry.current_request_id() == "inner"
        assert telemetry.current_request_id() == outer
    assert telemetry.current_request_id() == ""
    assert telemetry.new_request_id() != telemetry.new_request_id()


def test_an_id_is_unbound_after_an_error_and_unknown_to_other_contexts():
    elsewhere = contextvars.copy_context()
    with telemetry.bind_request_id("abc"):
        assert elsewhere.run(telemetry.current_request_id) == ""
    with pytest.raises(KeyError), telemetry.bind_request_id("abc"):
        {}["gone"]
    assert telemetry.current_request_id() == ""


def test_the_log_file_is_private(tmp_path):
    configure(tmp_path)
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "logs" / telemetry.LOG_FILE).stat().st_mode & 0o777 == 0o600


def test_a_full_file_is_rotated_and_only_a_few_are_kept(tmp_path):
    configure(tmp_path, log_file_bytes=10_000)
    log = structlog.get_logger("x")
    for number in range(40):
        log.info("line", number=number, padding="x" * 2_000)
    names = {path.name for path in (tmp_path / "logs").glob("foregate.log*")}
    assert names - {"foregate.log.lock"} == {
        "foregate.log",
        "foregate.log.1",
        "foregate.log.2",
        "foregate.log.3",
    }
    for path in (tmp_path / "logs").glob("foregate.log*"):
        assert path.stat().st_size <= 10_000
        assert path.name.endswith(".lock") or path.stat().st_mode & 0o777 == 0o600
    assert lines(tmp_path)[-1]["number"] == 39


def handler_of(home):
    (handler,) = (h for h in logging.getLogger().handlers if hasattr(h, "baseFilename"))
    assert handler.baseFilename == str(home / "logs" / telemetry.LOG_FILE)
    return handler


def test_a_file_that_another_process_rotated_is_followed(tmp_path):
    configure(tmp_path)
    log = structlog.get_logger("x")
    log.info("old")
    path = tmp_path / "logs" / telemetry.LOG_FILE
    path.rename(path.with_name("foregate.log.1"))
    log.info("new")
    assert [line["event"] for line in lines(tmp_path)] == ["new"]


def test_a_rotation_is_left_out_where_another_process_just_did_it(tmp_path):
    configure(tmp_path)
    structlog.get_logger("x").info("old")
    path = tmp_path / "logs" / telemetry.LOG_FILE
    path.rename(path.with_name("foregate.log.1"))
    handler_of(tmp_path).doRollover()
    assert not path.with_name("foregate.log.2").exists()
    assert path.read_text() == ""


def test_a_full_disk_costs_lines_and_never_the_process(tmp_path, capsys):
    configure(tmp_path)
    handler = handler_of(tmp_path)

    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

        def __getattr__(self, name):
            return getattr(stream, name)

    stream, handler.stream = handler.stream, Full()
    structlog.get_logger("x").info("lost to the file")
    handler.stream = stream
    structlog.get_logger("x").info("kept")
    assert [line["event"] for line in lines(tmp_path)] == ["kept"]
    assert "Traceback" not in capsys.readouterr().err


def test_a_programming_error_in_logging_is_not_hidden(tmp_path, capsys):
    configure(tmp_path)
    logging.getLogger("x").info("%d", "not a number")
    assert "TypeError" in capsys.readouterr().err


def test_the_file_is_written_again_once_a_lost_folder_is_back(tmp_path, capsys):
    configure(tmp_path)
    log = structlog.get_logger("x")
    shutil.rmtree(tmp_path / "logs")
    log.info("lost to the file")
    (tmp_path / "logs").mkdir()
    log.info("kept")
    assert [line["event"] for line in lines(tmp_path)] == ["kept"]
    assert "Traceback" not in capsys.readouterr().err


def test_an_unusable_log_folder_is_one_line_and_stderr_still_works(tmp_path, capsys):
    (tmp_path / "logs").write_text("a file where the folder should be")
    with pytest.raises(ConfigurationError, match="FOREGATE_HOME") as caught:
        configure(tmp_path)
    assert "\n" not in str(caught.value)
    structlog.get_logger("x").info("still heard")
    assert "still heard" in capsys.readouterr().err


def test_configuring_twice_does_not_log_twice(tmp_path, capsys):
    configure(tmp_path)
    configure(tmp_path)
    structlog.get_logger("x").info("once")
    assert len(lines(tmp_path)) == 1
    assert capsys.readouterr().err.count("once") == 1


@pytest.mark.parametrize(
    ("terminal", "no_color", "coloured"),
    [
        (True, None, True),
        (True, "1", False),
        (False, None, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    tmp_path, monkeypatch, capsys, terminal, no_color, coloured
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    configure(tmp_path)
    structlog.get_logger("x").info("hello")
    assert ("\x1b[" in capsys.readouterr().err) is coloured
