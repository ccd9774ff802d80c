import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gateway_project.foundation.embedding_models import MINILM, find_recipe
from tests.patience import PATIENCE_S
from tools.embed import locate
from tools.embed.bert_graph import UnusableWeights, build_graph
from tools.embed.embedder import EmbeddingUnavailable
from tools.embed.locate import ModelFiles
from tools.embed.onnx import OnnxEmbedder
from tools.embed.torch import TorchEmbedder

RECIPE = find_recipe(MINILM)
BGE_LARGE = "BAAI/bge-large-en-v1.5"
ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    files = locate.find_model_files(RECIPE, home=home, download=False)
    return OnnxEmbedder(RECIPE, files, threads=1)


def test_vectors_have_norm_1_and_the_order_of_the_texts(embedder):
    texts = ["a cat", "a very long sentence about the weather in the north of Norway", "a cat"]
    vectors = embedder.embed(texts, kind="document")
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert vectors[0] == pytest.approx(vectors[2], abs=1e-5)


@pytest.mark.parametrize(
    ("wish", "meant", "other"),
    [
        ("raise a ticket about the login page", "create Issue: Creates an issue", "list Pages"),
        ("give the customer her money back", "create Refund: Creates a refund", "get Customer"),
        ("kick off the nightly build", "run Workflow: Triggers a workflow run", "list Builds"),
    ],
)
def test_queries_are_nearer_to_the_tool_they_mean_than_the_same_words_of_a_document(
    embedder, wish, meant, other
):
    tools = embedder.embed([meant, other], kind="document")
    query, document = (embedder.embed([wish], kind=kind)[0] for kind in ("query", "document"))
    assert query @ (tools[0] - tools[1]) > document @ (tools[0] - tools[1]) + 0.05


def test_a_text_has_one_vector_whatever_is_embedded_with_it(embedder):
    texts = ["what time is it", "x " * 200, "current time of day"]
    alone = np.concatenate([embedder.embed([text], kind="query") for text in texts])
    assert (embedder.embed(texts, kind="query") * alone).sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_a_text_beyond_the_models_length_is_cut_not_refused(embedder):
    assert embedder.embed(["word " * 5_000], kind="query").shape == (1, 384)


@pytest.mark.parametrize("text", ["", "\x00", "必应搜索", "\U0001f600"])
def test_any_text_is_embedded(embedder, text):
    assert np.isfinite(embedder.embed([text], kind="query")).all()


def test_no_texts_give_no_vectors(embedder):
    assert embedder.embed([], kind="query").shape == (0, 384)
    assert (embedder.model, embedder.dimensions) == (MINILM, 384)


def test_8_bit_weights_are_kept_in_the_home(tmp_path):
    files = locate.find_model_files(RECIPE, home=tmp_path, download=False)
    (kept,) = (tmp_path / "cache" / "embed").iterdir()
    packaged = locate.find_packaged_folder(RECIPE) / "model.safetensors"
    assert kept.stat().st_size < packaged.stat().st_size / 3
    assert locate.find_model_files(RECIPE, home=tmp_path, download=False) == files


def test_a_model_put_into_the_home_by_hand_is_taken(tmp_path):
    recipe = find_recipe(BGE_LARGE)
    folder = tmp_path / "models" / BGE_LARGE
    (folder / "onnx").mkdir(parents=True)
    for name in ("onnx/model.onnx", "tokenizer.json"):
        (folder / name).touch()
    files = locate.find_model_files(recipe, home=tmp_path, download=False)
    assert files == ModelFiles(
        graphs=(folder / "onnx" / "model.onnx",), tokenizer=folder / "tokenizer.json"
    )


def test_a_damaged_model_is_one_line(tmp_path):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("rubbish")
    files = ModelFiles(graphs=(tmp_path / "model.onnx",), tokenizer=tmp_path / "tokenizer.json")
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded") as raised:
        OnnxEmbedder(RECIPE, files, threads=1)
    assert "\n" not in str(raised.value)


def test_weights_of_another_architecture_are_refused(tmp_path):
    folder = locate.find_packaged_folder(RECIPE)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(UnusableWeights, match="no BERT encoder"):
        build_graph(weights=folder / "model.safetensors", config=tmp_path / "config.json")


def test_weights_that_lack_a_tensor_are_refused(tmp_path):
    folder = locate.find_packaged_folder(RECIPE)
    shutil.copy(folder / "config.json", tmp_path)
    header = b'{"x":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}'
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(UnusableWeights, match="no tensor"):
        build_graph(weights=weights, config=tmp_path / "config.json")


@pytest.mark.models
def test_both_engines_agree_on_the_packaged_model(embedder):
    other = TorchEmbedder(
        MINILM, RECIPE, folder=locate.find_packaged_folder(RECIPE), threads=2, download=False
    )
    texts = ["what time is it", "Get Time: current time. time zone: IANA name.", "x " * 400, "猫"]
    for kind in ("query", "document"):
        cosines = (embedder.embed(texts, kind=kind) * other.embed(texts, kind=kind)).sum(axis=1)
        assert cosines.min() >= 0.998
    assert other.dimensions == embedder.dimensions


def test_the_runtime_keeps_no_telemetry(tmp_path):
    code = (
        "from gateway_project.foundation.config import Config\n"
        "from tools.embed.load import make_embedder\n"
        "make_embedder(Config()).embed(['x'], kind='query')\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FOREGATE_HOME": str(tmp_path / "f")}
    subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, check=True, timeout=PATIENCE_S)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's own count")
def test_the_memory_of_a_large_batch_is_freed_after_it(tmp_path):
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from gateway_project.foundation.config import Config\n"
        "from tools.embed.load import make_embedder\n"
        "def measure_mb():\n"
        "    pages = Path('/proc/self/statm').read_text().split()[1]\n"
        "    return int(pages) * os.sysconf('SC_PAGE_SIZE') / 1e6\n"
        "embedder = make_embedder(Config())\n"
        "embedder.embed(['x'], kind='document')\n"
        "before = measure_mb()\n"
        "embedder.embed([f'{n} find a file ' * 100 for n in range(16)], kind='document')\n"
        "grown = measure_mb() - before\n"
        "assert grown < 100, grown\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FOREGATE_HOME": str(tmp_path / "f")}
    subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, check=True, timeout=PATIENCE_S)


def test_known_numbers_come_out(embedder):
    vector = embedder.embed(["what time is it in Tokyo right now please"], kind="document")[0]
    exact = [0.008099, -0.044595, 0.021714, -0.003044]  # with weights of 32 bits
    assert vector[:4] == pytest.approx(exact, abs=5e-3)
