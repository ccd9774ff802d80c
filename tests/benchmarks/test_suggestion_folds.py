from benchmarks.evaluation.dataset import DatasetQuery
from benchmarks.suggestion import folds

QUERIES = [
    DatasetQuery(id=str(number), text="t", slots=(), group=str(number // 2))
    for number in range(100)
]


def test_paraphrases_are_in_the_same_fold():
    sides = folds.assign_folds(QUERIES)
    assert set(sides) == set(range(folds.FOLDS))
    assert all(sides[at] == sides[at + 1] for at in range(0, 100, 2))


def test_every_query_is_tested_once_and_never_part_of_its_own_history():
    asked = []
    for fold in range(folds.FOLDS):
        split = folds.split(QUERIES, fold=fold, runs=None)
        asked += [query.id for query in split.asked]
        assert {q.group for q in split.asked}.isdisjoint(q.group for q in split.history)
        assert len(split.asked) + len(split.history) == len(QUERIES)
    assert sorted(asked, key=int) == [query.id for query in QUERIES]


def test_smaller_histories_are_parts_of_larger_ones_and_draws_repeat():
    small = folds.split(QUERIES, fold=1, runs=10)
    assert len(small.history) == 10
    assert small.history == folds.split(QUERIES, fold=1, runs=None).history[:10]
    assert folds.single(QUERIES, draw=3, runs=20) == folds.single(QUERIES, draw=3, runs=20)


def test_a_single_history_leaves_out_paraphrases_of_its_runs():
    split = folds.single(QUERIES, draw=0, runs=40)
    assert {q.group for q in split.asked}.isdisjoint(q.group for q in split.history)


def test_a_shifted_history_begins_with_the_file_and_ends_before_the_test_queries():
    split = folds.shifted(QUERIES, runs=10)
    assert [query.id for query in split.history] == [str(number) for number in range(10)]
    assert [query.id for query in split.asked] == [str(number) for number in range(75, 100)]
    every = folds.shifted(QUERIES, runs=1_000)
    assert len(every.history) == 74  # the last past run is a paraphrase of the first that is asked
