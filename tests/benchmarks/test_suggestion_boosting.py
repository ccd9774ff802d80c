import numpy as np

from benchmarks.suggestion import boosting, copying
from benchmarks.suggestion.boosting import Boosting, Catalogue, Evidence
from graph.suggestion.intent.encoded import EncodedIntent

RANDOM = np.random.default_rng(0)
TOOLS = RANDOM.standard_normal((12, 8)).astype(np.float32)
TOOLS /= np.linalg.norm(TOOLS, axis=1, keepdims=True)


def intent(*tools):
    vector = TOOLS[list(tools)].sum(axis=0) + 0.1 * RANDOM.standard_normal(8)
    vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return EncodedIntent(
        whole=vector,
        masked=vector,
        sentences=vector[None],
        clauses=TOOLS[list(tools)],
        masked_clauses=TOOLS[list(tools)],
        words=(),
        clause_words=((),) * len(tools),
        length=10,
    )


CHAINS = [[at % 10, at % 10 + 1] for at in range(60)]
PAST = [intent(*chain) for chain in CHAINS]


def test_boosting_learns_which_tools_and_in_which_order(monkeypatch):
    monkeypatch.setattr(boosting, "ROUNDS", 40)
    catalogue = Catalogue(vectors=TOOLS, bm25=lambda _: np.zeros(12))
    fitted = Boosting(catalogue, PAST, CHAINS)
    found = [fitted.suggest(intent(at, at + 1)) for at in range(10)]
    right = [tools == [at, at + 1] for at, (tools, _) in enumerate(found)]
    assert np.mean(right) > 0.7
    assert all(0 <= chance <= 1 for _, chance in found)


def test_training_features_of_a_run_exclude_the_run_itself():
    catalogue = Catalogue(vectors=TOOLS, bm25=lambda _: np.zeros(12))
    alone = [*PAST[:-1], intent(11)]
    evidence = Evidence.of(catalogue, alone, [*CHAINS[:-1], [11]])
    left_out = np.arange(60) == 59
    rows = evidence.without(left_out).rows(alone[-1])
    of_eleven = rows.features[rows.tools == 11][0]
    assert list(of_eleven[6:]) == [0, 0, -1, 0, 0]


def test_the_nearest_workflow_is_copied_and_each_clause_finds_its_tool():
    assert copying.copy_nearest(intent(3, 4), PAST, CHAINS) == [3, 4]
    assert copying.pick_best_per_clause(intent(7, 2), TOOLS, list(range(12))) == [7, 2]
