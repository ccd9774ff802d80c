"""Spool files: appended, locked, rotated, limited, and left alone by forked children."""

import errno
import os
import stat
import threading
from uuid import UUID

import pytest

from learning.memory import spool
from learning.memory.spool import Spool, SpoolUnavailable

RECORD = b"x" * 100


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def make_spool(folder):
    opened = []

    def make(**limits):
        opened.append(Spool(folder, **({"max_bytes": 10_000} | limits)))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def clock(monkeypatch):
    seconds = [100.0]
    monkeypatch.setattr(spool.time, "monotonic", lambda: seconds[0])
    return seconds


def contents(folder):
    return [spool.file_path(folder, one).read_bytes() for one in spool.list_files(folder)]


def test_nothing_is_created_before_the_first_record(make_spool, folder):
    make_spool()
    assert not folder.exists()
    assert (spool.list_files(folder), spool.measure_folder(folder)) == ([], 0)


def test_folder_and_file_are_private(make_spool, folder):
    make_spool().append(RECORD)
    [file] = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_records_of_several_threads_are_all_written_whole(make_spool, folder):
    writer = make_spool()

    def write(letter):
        for _ in range(20):
            writer.append(letter * 10)

    threads = [threading.Thread(target=write, args=(bytes([65 + n]),)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    [content] = contents(folder)
    assert sorted(content[at : at + 10] for at in range(0, len(content), 10)) == sorted(
        bytes([65 + n]) * 10 for n in range(4) for _ in range(20)
    )


def test_a_new_file_is_begun_at_the_size_limit_and_the_old_one_released(make_spool, folder):
    writer = make_spool(rotate_bytes=250)
    for _ in range(3):
        writer.append(RECORD)
    current, size = writer.current_file
    assert size == 100
    [old] = set(spool.list_files(folder)) - {current}
    fd = spool.open_abandoned(folder, old)
    assert fd is not None
    assert os.fstat(fd).st_size == 200
    os.close(fd)
    assert spool.open_abandoned(folder, current) is None


def test_records_are_refused_when_all_files_together_reach_the_limit(make_spool, folder, clock):
    writer = make_spool(max_bytes=400)
    for _ in range(4):
        writer.append(RECORD)
    with pytest.raises(SpoolUnavailable):
        writer.append(RECORD)
    assert spool.measure_folder(folder) == 400
    for one in spool.list_files(folder):
        spool.delete_file(folder, one)
    with pytest.raises(SpoolUnavailable):  # not looked at for each record
        writer.append(RECORD)
    clock[0] += spool.RETRY_S
    writer.append(RECORD)
    assert contents(folder) == [RECORD]


def test_half_a_record_is_removed_when_the_disk_is_full(make_spool, folder, monkeypatch, clock):
    writer = make_spool()
    writer.append(RECORD)
    write = os.write
    monkeypatch.setattr(spool.os, "write", lambda fd, data: write(fd, data[:30]))
    with pytest.raises(OSError, match="No space") as caught:
        writer.append(RECORD)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert contents(folder) == [RECORD]


def test_a_folder_that_cannot_be_created_refuses_records(tmp_path):
    (tmp_path / "file").touch()
    writer = Spool(tmp_path / "file" / "spool", max_bytes=10_000)
    with pytest.raises(NotADirectoryError):
        writer.append(RECORD)
    with pytest.raises(SpoolUnavailable):
        writer.append(RECORD)


def test_a_file_that_cannot_be_locked_is_not_begun(make_spool, folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(spool.fcntl, "flock", refuse)
    with pytest.raises(OSError, match="no locks"):
        make_spool().append(RECORD)
    assert spool.list_files(folder) == []


def test_a_file_that_was_deleted_while_it_was_opened_is_not_loaded(
    make_spool, folder, monkeypatch
):
    writer = make_spool()
    writer.append(RECORD)
    spool_id, _ = writer.current_file
    writer.close()
    lock = spool.fcntl.flock

    def delete_first(fd, how):
        spool.delete_file(folder, spool_id)
        lock(fd, how)

    monkeypatch.setattr(spool.fcntl, "flock", delete_first)
    assert spool.open_abandoned(folder, spool_id) is None
    assert spool.open_abandoned(folder, spool_id) is None


@pytest.mark.timeout(10)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_file_is_neither_followed_nor_waited_for(folder, tmp_path, kind):
    folder.mkdir()
    path = spool.file_path(folder, UUID(int=7))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(RECORD)
    make = {"link": lambda: path.symlink_to(elsewhere), "pipe": lambda: os.mkfifo(path)}
    make.get(kind, path.mkdir)()
    assert spool.open_abandoned(folder, UUID(int=7)) is None


def test_a_file_of_another_user_is_not_loaded(make_spool, folder, monkeypatch):
    writer = make_spool()
    writer.append(RECORD)
    spool_id, _ = writer.current_file
    writer.close()
    monkeypatch.setattr(spool.os, "geteuid", lambda: os.getuid() + 1)
    assert spool.open_abandoned(folder, spool_id) is None


def test_a_forked_child_writes_a_file_of_its_own_and_leaves_the_lock_to_its_parent(
    make_spool, folder
):
    writer = make_spool()
    writer.append(RECORD)
    mine, _ = writer.current_file
    read_end, write_end = os.pipe()
    if not (child := os.fork()):
        try:
            os.write(write_end, b"1" if writer.current_file == (None, 0) else b"0")
            writer.append(b"child")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write_end)
    assert os.read(read_end, 1) == b"1"
    os.close(read_end)
    assert sorted(contents(folder)) == [b"child", RECORD]
    assert spool.open_abandoned(folder, mine) is None
    writer.close()
    fd = spool.open_abandoned(folder, mine)
    assert fd is not None
    os.close(fd)


def test_other_files_of_the_folder_are_no_spool_files(make_spool, folder):
    make_spool().append(RECORD)
    (folder / "notes.txt").touch()
    (folder / "nothing.spool").touch()
    assert len(spool.list_files(folder)) == 1


def test_files_whose_creation_was_interrupted_are_deleted_once_they_are_old(folder):
    folder.mkdir()
    unfinished = folder / "1.new"
    unfinished.touch()
    created = unfinished.stat().st_mtime
    spool.delete_unfinished(folder, now=created + spool.ABANDONED_S - 1)
    assert unfinished.exists()
    spool.delete_unfinished(folder, now=created + spool.ABANDONED_S + 1)
    assert not unfinished.exists()
