import subprocess
import sys
import threading

import pytest

from gateway_project.foundation.config import Config
from gateway_project.foundation.embedding_models import MINILM, UnknownModel
from tests.fakes import FakeEmbedder
from tests.patience import PATIENCE_S
from tools.embed import locate
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.load import RETRY_AFTER_S, LazyEmbedder, LazyReader, make_embedder
from tools.embed.locate import ModelFiles
from tools.embed.reader import Question

BGE_LARGE = "BAAI/bge-large-en-v1.5"


def config(home, **values):
    return Config(home=home, **values)


def test_nothing_is_loaded_before_the_first_use():
    lazy = LazyEmbedder("m", FakeEmbedder, dimensions=16)
    assert (lazy.model, lazy.dimensions, lazy.is_loaded) == ("m", 16, False)
    lazy.embed(["a"], kind="query")
    assert lazy.is_loaded


def test_threads_that_come_at_once_load_it_once():
    built = []
    entered = threading.Barrier(6)

    def build():
        built.append(1)
        return FakeEmbedder()

    lazy = LazyEmbedder("m", build)

    def one():
        entered.wait(timeout=PATIENCE_S)
        lazy.embed(["a"], kind="query")

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PATIENCE_S)
    assert built == [1]


def test_a_failed_load_is_tried_again_only_after_a_while():
    now = [0.0]
    tries = []

    def build():
        tries.append(now[0])
        raise EmbeddingUnavailable("gone")

    lazy = LazyEmbedder("m", build, clock=lambda: now[0])
    for at in (0.0, 1.0, RETRY_AFTER_S + 1):
        now[0] = at
        with pytest.raises(EmbeddingUnavailable, match="gone"):
            lazy.embed(["a"], kind="query")
    assert tries == [0.0, RETRY_AFTER_S + 1]


def test_an_unknown_model_is_refused_at_once(tmp_path):
    with pytest.raises(UnknownModel):
        make_embedder(config(tmp_path), model="no/such")


@pytest.mark.parametrize("name", [MINILM, "all-MiniLM-L6-v2"])
def test_embeddings_are_keyed_by_the_full_name(tmp_path, name):
    for engine in ("onnx", "sentence-transformers"):
        chosen = config(tmp_path, embedding_model=name, embedding_engine=engine)
        assert make_embedder(chosen).model == MINILM


def test_the_other_engine_takes_models_without_a_recipe(tmp_path):
    chosen = config(tmp_path, embedding_engine="sentence-transformers")
    assert make_embedder(chosen, model="some/other").model == "some/other"


def test_a_model_that_is_not_there_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = make_embedder(config(tmp_path), model=BGE_LARGE)
    with pytest.raises(EmbeddingUnavailable) as raised:
        embedder.embed(["a"], kind="query")
    assert f"run `manage.py embed --model {BGE_LARGE}`" in str(raised.value)
    assert str(tmp_path / "models" / BGE_LARGE) in str(raised.value)


def test_naming_the_embedder_imports_nothing_heavy():
    program = (
        "import sys; from pathlib import Path\n"
        "from gateway_project.foundation.config import Config\n"
        "from tools.embed.load import make_embedder\n"
        "make_embedder(Config(home=Path('/nowhere')))\n"
        "heavy = {'onnx', 'onnxruntime', 'tokenizers', 'torch', 'huggingface_hub'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def damaged(tmp_path):
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text("{")
    return ModelFiles(graphs=(b"x", b"y"), tokenizer=tokenizer, weights=memoryview(b"z"))


@pytest.mark.parametrize("find", [damaged, lambda _path: None], ids=["damaged", "missing"])
def test_without_a_usable_reader_nothing_is_read_and_it_is_tried_once(monkeypatch, tmp_path, find):
    looked = []

    def find_files(_recipe, *, home):
        looked.append(home)
        return find(tmp_path)

    monkeypatch.setattr(locate, "find_reader_files", find_files)
    read = LazyReader(config(tmp_path))
    for _ in range(2):
        [answer] = read("in celsius", [Question("unit (string: celsius)", ((14, 21),))])
        assert (answer.probability, answer.members) == (0.0, (0.0,))
    assert looked == [tmp_path]
