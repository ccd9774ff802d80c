"""Reads which arguments a text states, with the packaged encoder in onnxruntime.

Lower layers read the text and each question alone; what they find in a question is kept, since
tools are asked about again and again. Upper layers, trained for this, read a question beside the
text: its first token says whether a value is stated, and each token of the text whether it begins
or continues the value.

References:
    Cao et al., DeFormer, ACL 2020 (lower layers apart); docs/binding.md (training, figures).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding

from gateway_project.foundation.reasons import summarize_error
from tools.embed.embedder import EmbeddingUnavailable, Vectors
from tools.embed.locate import ModelFiles
from tools.embed.onnx import load_tokenizer, open_session
from tools.embed.reader import Answer, Question
from tools.embed.stated_words import mark_words, split_words

MAX_TEXT_TOKENS = 128
MAX_QUESTION_TOKENS = 64
BATCH = 4
"""Questions read at once; of similar length, since the shorter ones are padded."""
MAX_KEPT = 512
"""Questions whose states are kept: at 40 tokens some 30 kB each."""
Half = NDArray[np.float16]


class OnnxReader:
    """A reader in onnxruntime; thread-safe.

    Raises:
        EmbeddingUnavailable: If its files are damaged.
    """

    def __init__(self, files: ModelFiles, *, threads: int) -> None:
        try:
            self._tokenizer = load_tokenizer(files.tokenizer, MAX_TEXT_TOKENS)
            self._lower, self._upper = (
                open_session(graph, files.weights, threads=threads, keeps_memory=False)
                for graph in files.graphs
            )
        except Exception as error:  # both libraries raise bare Exception
            raise EmbeddingUnavailable(
                f"the reader cannot be loaded: {summarize_error(error)}"
            ) from error
        self._kept: OrderedDict[Question, tuple[Half, Vectors]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, text: str, questions: Sequence[Question]) -> Sequence[Answer]:
        """Answer questions about a text; see `reader.ReadStatements`."""
        if not questions:
            return ()
        encoding = self._tokenizer.encode(text)
        words = split_words(text, encoding.offsets)
        [of_text] = self._read_alone([encoding])
        asked = self._load_questions(questions)
        answers: list[Answer] = [Answer(0.0)] * len(questions)
        order = sorted(range(len(questions)), key=lambda place: len(asked[place][0]))
        for begin in range(0, len(order), BATCH):
            places = order[begin : begin + BATCH]
            stated, tags, members = self._compare(of_text, [asked[place] for place in places])
            for row, place in enumerate(places):
                question, first = questions[place], len(asked[place][0])
                of_words = tags[row, first : first + len(of_text)]
                answers[place] = Answer(
                    probability=float(stated[row, 0]),
                    words=mark_words(words, of_words, is_number=question.is_number),
                    members=tuple(map(float, members[row, : len(question.members), 0])),
                )
        return answers

    def _read_alone(self, encodings: Sequence[Encoding]) -> list[Half]:
        longest = max(len(one.ids) for one in encodings)
        ids = np.zeros((len(encodings), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(encodings):
            ids[row, : len(one.ids)] = one.ids
            mask[row, : len(one.ids)] = 1
        [states] = self._lower.run(None, {"input_ids": ids, "attention_mask": mask})
        return [
            states[row, : len(one.ids)].astype(np.float16) for row, one in enumerate(encodings)
        ]

    def _load_questions(self, questions: Sequence[Question]) -> list[tuple[Half, Vectors]]:
        """Return of each question the states of its tokens, and the weights of its members."""
        with self._lock:
            found = {one: self._kept.get(one) for one in questions}
        missing = [one for one in dict.fromkeys(questions) if found[one] is None]
        missing.sort(key=lambda one: len(one.text))
        for begin in range(0, len(missing), BATCH):
            group = missing[begin : begin + BATCH]
            encodings = self._tokenizer.encode_batch([one.text for one in group])
            for encoding in encodings:
                encoding.truncate(MAX_QUESTION_TOKENS)
            for one, encoding, states in zip(
                group, encodings, self._read_alone(encodings), strict=True
            ):
                found[one] = states, _weigh_members(one, encoding)
        with self._lock:
            for one, kept in found.items():
                if kept is not None:
                    self._kept[one] = kept
                    self._kept.move_to_end(one)
            while len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        return [kept for one in questions if (kept := found[one]) is not None]

    def _compare(
        self, of_text: Half, asked: Sequence[tuple[Half, Vectors]]
    ) -> tuple[Vectors, Vectors, Vectors]:
        longest = max(len(states) for states, _ in asked) + len(of_text)
        count = max(1, *(len(weights) for _, weights in asked))
        states = np.zeros((len(asked), longest, of_text.shape[1]), dtype=np.float32)
        segments = np.zeros((len(asked), longest), dtype=np.int64)
        mask = np.zeros_like(segments)
        members = np.zeros((len(asked), count, longest), dtype=np.float32)
        for row, (question, weights) in enumerate(asked):
            middle, end = len(question), len(question) + len(of_text)
            states[row, :middle], states[row, middle:end] = question, of_text
            segments[row, middle:end] = 1
            mask[row, :end] = 1
            members[row, : len(weights), :middle] = weights
        stated, tags, chosen = self._upper.run(
            ["stated", "tags", "members"],
            {
                "states": states,
                "segments": segments,
                "attention_mask": mask,
                "member_weights": members,
            },
        )
        return stated, tags, chosen


def _weigh_members(question: Question, encoding: Encoding) -> Vectors:
    """Return `(members, tokens)`: weights by which the tokens of each member are averaged."""
    weights = np.zeros((len(question.members), len(encoding.ids)), dtype=np.float32)
    for row, (start, end) in enumerate(question.members):
        places = [n for n, (a, z) in enumerate(encoding.offsets) if a < end and z > start]
        if places:
            weights[row, places] = 1 / len(places)
    return weights
