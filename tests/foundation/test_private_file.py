import os
import threading

import pytest

from gateway_project.foundation import private_file
from gateway_project.foundation.config import ConfigurationError
from tests.patience import PATIENCE_S

AS_ROOT = os.geteuid() == 0


def test_a_missing_file_is_made_private_with_its_folder(tmp_path):
    path = tmp_path / "keys" / "a.key"
    assert private_file.load_or_create_file(path, lambda: b"made") == b"made"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_existing_file_is_read_and_nothing_is_made(tmp_path):
    path = tmp_path / "a.key"
    path.write_bytes(b"kept")
    path.chmod(0o600)
    assert private_file.load_or_create_file(path, lambda: pytest.fail("made again")) == b"kept"


def test_nothing_but_the_file_is_left_behind(tmp_path):
    private_file.load_or_create_file(tmp_path / "a.key", lambda: b"made")
    assert [path.name for path in tmp_path.iterdir()] == ["a.key"]


def test_concurrent_creators_agree_on_the_first_file(tmp_path):
    path, together = tmp_path / "a.key", threading.Barrier(8, timeout=PATIENCE_S)
    seen = []

    def load(name):
        def make():
            together.wait()
            return name

        seen.append(private_file.load_or_create_file(path, make))

    threads = [threading.Thread(target=load, args=(bytes([65 + n]) * 40,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE_S)
    assert len(seen) == 8
    assert set(seen) == {path.read_bytes()}
    assert [left.name for left in tmp_path.iterdir()] == ["a.key"]


def test_a_file_created_concurrently_is_kept(tmp_path):
    path = tmp_path / "a.key"

    def make():
        path.write_bytes(b"theirs")
        path.chmod(0o600)
        return b"ours"

    assert private_file.load_or_create_file(path, make) == b"theirs"


@pytest.mark.parametrize("blocked", ["parent", "target"])
def test_an_unusable_path_is_one_line_with_instructions(tmp_path, blocked):
    folder = tmp_path / "home"
    if blocked == "parent":
        folder.write_text("a file where the folder should be")
    else:
        (folder / "a.key").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="FOREGATE_HOME") as caught:
        private_file.load_or_create_file(folder / "a.key", lambda: b"made")
    assert str(folder / "a.key") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere")
def test_a_read_only_folder_is_one_line_with_instructions(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ConfigurationError, match="make the folder writable"):
        private_file.load_or_create_file(tmp_path / "a.key", lambda: b"made")


def test_a_full_disk_leaves_no_half_written_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"No space left on device; .*free some space"):
        private_file.load_or_create_file(tmp_path / "a.key", lambda: b"made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_readable_by_others_is_refused_with_instructions(tmp_path, mode):
    path = tmp_path / "a.key"
    path.write_bytes(b"seen")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        private_file.load_or_create_file(path, lambda: b"made")
    assert path.read_bytes() == b"seen"
