"""The packaged model's reader, as it is installed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gateway_project.foundation.embedding_models import MINILM, find_recipe
from tools.embed import locate
from tools.embed.onnx_reader import OnnxReader
from tools.embed.reader import Question
from tools.embed.stated_words import weigh_values

CITY = Question("city (string, required): Name of the city | get weather: Get the weather")
DAYS = Question("days (integer): How many days | get weather: Get the weather", is_number=True)
UNIT = Question(
    "unit (string: celsius, kelvin) | get weather: Get the weather", ((14, 21), (23, 29))
)
WISH = "weather in San Francisco for the next 5 days please"


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    files = locate.find_reader_files(find_recipe(MINILM), home=tmp_path_factory.mktemp("home"))
    return OnnxReader(files, threads=1)


def words_of(text, answer):
    runs = weigh_values(answer.words)
    first, last = np.unravel_index(runs.argmax(), runs.shape)
    return text[answer.words[first].start : answer.words[last].end]


def test_each_question_gets_the_words_that_answer_it(reader):
    city, days, unit = reader.read(WISH, [CITY, DAYS, UNIT])
    assert city.probability > 0.8
    assert days.probability > 0.8
    assert max(unit.members) < 0.7
    assert words_of(WISH, city) == "San Francisco"
    assert words_of(WISH, days) == "5"
    assert len(unit.members) == 2
    assert not city.members


@pytest.mark.parametrize("text", ["", " \n", "…", "\u0000", "weather " * 2_000, "🌧" * 500])
def test_any_text_can_be_read(reader, text):
    [answer] = reader.read(text, [CITY])
    assert 0 <= answer.probability <= 1
    assert all(0 <= word.start < word.end <= len(text) for word in answer.words)


def test_any_question_can_be_asked(reader):
    long = Question("word " * 500 + "last", ((2_500, 2_504),))
    answers = reader.read(WISH, [Question(""), long, long])
    assert [len(answer.members) for answer in answers] == [0, 1, 1]
    assert reader.read(WISH, []) == ()


def test_many_threads_may_read_at_once(reader):
    expected = [answer.probability for answer in reader.read(WISH, [CITY, DAYS])]
    with ThreadPoolExecutor(4) as pool:
        read = [pool.submit(reader.read, WISH, [CITY, DAYS]) for _ in range(12)]
        for one in read:
            found = [answer.probability for answer in one.result()]
            assert found == pytest.approx(expected, abs=1e-3)


def test_a_model_without_a_reader_has_no_files(tmp_path):
    assert locate.find_reader_files(find_recipe("bge-large-en-v1.5"), home=tmp_path) is None


def test_questions_of_the_same_words_with_other_members_are_told_apart(reader):
    words = "sign (string: +, -) | set sign: Set the sign"
    [one] = reader.read("set it to +", [Question(words, ((14, 18),))])
    [two] = reader.read("set it to +", [Question(words, ((14, 15), (17, 18)))])
    assert (len(one.members), len(two.members)) == (1, 2)
