import os
import sys

import pytest

from gateway_project.mcp import kept_answers
from gateway_project.mcp.kept_answers import AnswerFolder, KeptAnswer, digest_setup

ANSWER = KeptAnswer(digest="d" * 64, body=b'{"tools":[]}')


@pytest.fixture
def place(tmp_path):
    return tmp_path / "first-answers"


@pytest.fixture
def folder(place):
    folder = AnswerFolder(place)
    folder.save("key", ANSWER)
    return folder


def test_an_answer_is_kept_where_only_its_owner_can_read_it(folder, place):
    assert folder.load("key") == ANSWER
    assert [place.stat().st_mode & 0o777, (place / "key").stat().st_mode & 0o777] == [0o700, 0o600]
    assert [path.name for path in place.iterdir()] == ["key"]


def test_nothing_is_kept_without_a_home(tmp_path):
    folder = AnswerFolder(tmp_path / "missing" / "first-answers")
    folder.save("key", ANSWER)
    assert folder.load("key") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"x y z\n", b"d 00000000\n{}", b"\xff" * 100])
def test_a_broken_answer_is_none(folder, place, content):
    (place / "key").write_bytes(content)
    assert folder.load("key") is None


@pytest.mark.parametrize("cut", range(0, 80, 11))
def test_half_an_answer_is_none(folder, place, cut):
    whole = (place / "key").read_bytes()
    (place / "key").write_bytes(whole[:cut])
    assert folder.load("key") is None


def test_an_answer_that_others_can_write_is_none(folder, place):
    (place / "key").chmod(0o620)
    assert folder.load("key") is None


def test_an_answer_in_a_folder_that_others_can_write_is_none_and_none_is_kept(folder, place):
    place.chmod(0o770)
    folder.save("other", ANSWER)
    assert folder.load("key") is None
    place.chmod(0o700)
    assert folder.load("other") is None


def test_a_link_is_no_answer(folder, place):
    (place / "other").symlink_to(place / "key")
    assert folder.load("other") is None


def test_an_answer_that_no_gateway_confirmed_lately_is_none(folder, place):
    long_ago = os.stat(place / "key").st_mtime - kept_answers.MAX_AGE_S - 1
    os.utime(place / "key", (long_ago, long_ago))
    assert folder.load("key") is None
    folder.confirm("key")
    assert folder.load("key") == ANSWER


def test_what_is_old_or_too_much_is_deleted(folder, place, monkeypatch):
    monkeypatch.setattr(kept_answers, "MAX_FILES", 2)
    (place / ".key-1-2").write_bytes(b"of a process that was killed as it wrote")
    for path, at in ((place / ".key-1-2", 1), (place / "key", 2)):
        os.utime(path, (at, at))
    folder.save("second", ANSWER)
    folder.save("third", ANSWER)
    assert sorted(path.name for path in place.iterdir()) == ["second", "third"]


def test_without_space_the_old_answer_stays(folder, place, monkeypatch):
    def fail(*_):
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "replace", fail)
    folder.save("key", KeptAnswer(digest="e" * 64, body=b"{}"))
    assert folder.load("key") == ANSWER
    assert [path.name for path in place.iterdir()] == ["key"]


def test_a_deleted_answer_is_none(folder):
    folder.delete("key")
    folder.delete("key")
    assert folder.load("key") is None


@pytest.mark.parametrize(
    "other",
    [
        (["--user", "ann"], {}),
        ([], {"FOREGATE_EXPOSURE": "full"}),
        ([], {"foregate_exposure": "full"}),
        ([], {"DATABASE_URL": "postgresql://x"}),
    ],
)
def test_options_and_settings_decide_the_answers(other):
    assert digest_setup(*other) != digest_setup([], {})


def test_the_rest_of_the_environment_does_not():
    assert digest_setup([], {"PWD": "/"}) == digest_setup([], {})


def test_the_libraries_decide_the_answers(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    before = digest_setup([], {})
    os.utime(folder, (1, 1))
    assert digest_setup([], {}) != before
