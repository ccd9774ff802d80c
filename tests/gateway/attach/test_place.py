import os
from pathlib import Path

import pytest

from gateway_project.mcp.attach import hello


def test_the_folder_of_the_sockets_is_private(tmp_path):
    path = hello.prepare_socket(tmp_path)
    assert path.name == f"{os.getpid()}.sock"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_home_with_a_long_path_has_its_sockets_elsewhere():
    long = Path("/" + "x" * 120)
    assert len(os.fsencode(hello.socket_folder(long))) < hello.MAX_PATH_BYTES
    assert hello.socket_folder(long) != hello.socket_folder(Path("/" + "y" * 120))


def test_a_folder_open_to_others_is_refused(tmp_path):
    folder = hello.socket_folder(tmp_path)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    (folder / "1.sock").touch()
    with pytest.raises(hello.UntrustedFolder, match="chmod 700"):
        hello.prepare_socket(tmp_path)
    assert hello.find_sockets(tmp_path) == ()


def test_a_symlink_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    hello.socket_folder(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(hello.UntrustedFolder):
        hello.prepare_socket(tmp_path)


def test_the_longest_serving_gateway_comes_first(tmp_path):
    folder = hello.prepare_socket(tmp_path).parent
    for name, age in (("3.sock", 30), ("1.sock", 10), ("2.sock", 20), ("notes.txt", 5)):
        (folder / name).touch()
        os.utime(folder / name, (1_000 - age, 1_000 - age))
    assert [path.name for path in hello.find_sockets(tmp_path)] == ["3.sock", "2.sock", "1.sock"]


def test_a_home_without_the_folder_has_no_gateway(tmp_path):
    assert hello.find_sockets(tmp_path) == ()
