from graph.suggestion.workflow.evidence import count_evidence
from tests.graph.suggestion.workflow.builders import neighbour, ranked, ranking


def test_similar_runs_of_the_same_tools_are_counted():
    near = [
        neighbour(0.9, 1, 2, successes=5, failures=1),
        neighbour(0.7, 2, 1, successes=2),
        neighbour(0.65, 3),
        neighbour(0.4, 1, 2, successes=9),
    ]
    said = count_evidence(ranking(ranked(1, 2), neighbours=near, history=40), [2, 1, 1])
    assert (said.past_intent_count, said.similar_count, said.same_tools_count) == (40, 3, 2)
    assert (said.successes, said.failures, said.nearest_similarity) == (7, 1, 0.9)


def test_without_history_there_is_none():
    said = count_evidence(ranking(ranked(1)), [1])
    assert (said.past_intent_count, said.similar_count, said.nearest_similarity) == (0, 0, None)
