"""The packaged reader of stated arguments, loaded once by each process of tests."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gateway_project.foundation.embedding_models import MINILM, find_recipe
from tools.embed.locate import find_reader_files
from tools.embed.onnx_reader import OnnxReader
from tools.embed.reader import Answer, Question


@lru_cache(maxsize=1)
def _load() -> OnnxReader:
    with tempfile.TemporaryDirectory() as home:
        files = find_reader_files(find_recipe(MINILM), home=Path(home))
        return OnnxReader(files, threads=1)


def read_stated(text: str, questions: Sequence[Question]) -> Sequence[Answer]:
    """Answer questions about a text as a gateway does; see `tools.embed.reader`."""
    return _load().read(text, questions)
