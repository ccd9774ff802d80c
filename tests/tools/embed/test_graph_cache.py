import threading

from tests.patience import PATIENCE_S
from tools.embed.graph_cache import load_or_build


def test_a_graph_is_built_once(tmp_path):
    path = tmp_path / "deep" / "a.graph"
    assert load_or_build(path, lambda: b"graph") == b"graph"
    assert load_or_build(path, lambda: b"other") == b"graph"


def test_a_damaged_file_is_built_again(tmp_path):
    path = tmp_path / "a.graph"
    load_or_build(path, lambda: b"graph").release()
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert load_or_build(path, lambda: b"new") == b"new"
    assert load_or_build(path, lambda: b"other") == b"new"


def test_a_folder_that_cannot_be_made_costs_only_the_file(tmp_path):
    (tmp_path / "file").touch()
    assert load_or_build(tmp_path / "file" / "a.graph", lambda: b"graph") == b"graph"


def test_a_place_that_cannot_be_replaced_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.graph"
    path.mkdir()
    assert load_or_build(path, lambda: b"graph") == b"graph"
    assert list(tmp_path.iterdir()) == [path]


def test_many_may_build_at_once_and_all_get_a_whole_graph(tmp_path):
    path = tmp_path / "a.graph"
    graph = bytes(range(256)) * 100
    barrier = threading.Barrier(8)
    got = []

    def one():
        barrier.wait(timeout=PATIENCE_S)
        got.append(load_or_build(path, lambda: graph))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE_S)
    assert got == [graph] * 8
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.graph"]
