from pathlib import Path

import pytest

from gateway_project.foundation.postgres import pidfile
from gateway_project.foundation.postgres.cluster import Cluster

LINES = "4711\n/data\n1700000000\n5432\n/run\n\n  123 456\nSTATUS  \n"


@pytest.fixture
def file(cluster: Cluster) -> Path:
    path = Path(pidfile.pidfile_path(cluster))
    path.parent.mkdir(parents=True)
    return path


def test_without_the_file_nothing_is_known(cluster: Cluster) -> None:
    assert pidfile.read_pid(cluster) is None
    assert not pidfile.is_starting(cluster)


@pytest.mark.parametrize(("text", "pid"), [(LINES, 4711), ("", None), ("rubbish\n", None)])
def test_reads_the_process_number(
    cluster: Cluster, file: Path, text: str, pid: int | None
) -> None:
    file.write_text(text)
    assert pidfile.read_pid(cluster) == pid


def test_a_partially_written_file_yields_nothing(cluster: Cluster, file: Path) -> None:
    file.write_text("4711\n/data\n")
    assert not pidfile.is_starting(cluster)
