import os
from pathlib import Path

import pytest

from gateway_project.mcp.attach import place


def test_the_folder_of_the_sockets_is_private(tmp_path):
    path = place.prepare(tmp_path)
    assert path.name == f"{os.getpid()}.sock"
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_home_with_a_long_path_has_its_sockets_elsewhere():
    long = Path("/" + "x" * 120)
    assert len(os.fsencode(place.folder(long))) < place.MAX_PATH_BYTES
    assert place.folder(long) != place.folder(Path("/" + "y" * 120))


def test_a_folder_open_to_others_is_refused(tmp_path):
    folder = place.folder(tmp_path)
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    (folder / "1.sock").touch()
    with pytest.raises(place.Untrusted, match="chmod 700"):
        place.prepare(tmp_path)
    assert place.candidates(tmp_path) == ()


def test_a_link_in_the_folder_s_place_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.folder(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(place.Untrusted):
        place.prepare(tmp_path)


def test_the_longest_serving_gateway_comes_first(tmp_path):
    folder = place.prepare(tmp_path).parent
    for name, age in (("3.sock", 30), ("1.sock", 10), ("2.sock", 20), ("notes.txt", 5)):
        (folder / name).touch()
        os.utime(folder / name, (1_000 - age, 1_000 - age))
    assert [path.name for path in place.candidates(tmp_path)] == ["3.sock", "2.sock", "1.sock"]


def test_a_home_without_the_folder_has_no_gateway(tmp_path):
    assert place.candidates(tmp_path) == ()
