import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.fusion import K1, B
from tools.search_index import NO_KEY, Postings, RankingPreference, SearchFilter, SearchIndex

DIMENSIONS = 4
LEXEMES = range(10, 15)
NO_LEXEMES = Postings(
    keys=np.empty(0, dtype=np.int64),
    starts=np.zeros(1, dtype=np.int64),
    tools=np.empty(0, dtype=np.int32),
    frequencies=np.empty(0, dtype=np.float32),
    in_name=np.empty(0, dtype=np.bool_),
)


def unit(rows):
    rows = np.asarray(rows, dtype=np.float32).reshape(-1, DIMENSIONS)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def postings(held):
    """Invert what each tool holds: frequency and whether in the name, by lexeme."""
    rows = sorted((key, at, *what) for at, words in enumerate(held) for key, what in words.items())
    if not rows:
        return NO_LEXEMES
    keys, firsts = np.unique([row[0] for row in rows], return_index=True)
    return Postings(
        keys=keys.astype(np.int64),
        starts=np.append(firsts, len(rows)),
        tools=np.array([row[1] for row in rows], dtype=np.int32),
        frequencies=np.array([row[2] for row in rows], dtype=np.float32),
        in_name=np.array([row[3] for row in rows], dtype=np.bool_),
    )


def index(vectors, held=None, **columns):
    size = len(vectors)
    held = held or [{} for _ in range(size)]
    given = {
        "servers": [1] * size,
        "categories": [NO_KEY] * size,
        "teams": [NO_KEY] * size,
        "embeddings": range(1, size + 1),
    } | columns
    arrays = {name: np.array(list(values), dtype=np.int64) for name, values in given.items()}
    return SearchIndex(
        model="m",
        tools=np.arange(100, 100 + size),
        texts=np.ones(size, dtype=np.int64),
        lengths=np.array([sum(f for f, _ in words.values()) for words in held], dtype=float),
        vectors=unit(vectors) * (arrays["embeddings"] != NO_KEY)[:, None].astype(np.float32),
        postings=postings(held),
        **arrays,
    )


def find(catalogue, *, lexemes=(), vectors=None, only=None, preference=None, limit=10):
    return catalogue.find_best(
        list(lexemes),
        vectors=vectors,
        only=only or SearchFilter(),
        preference=preference or RankingPreference(dense=1.0, lexical=0.02),
        limit=limit,
    )


def naive_bm25(catalogue, held, lexemes, seen, at):
    lengths = [catalogue.lengths[other] for other in seen if catalogue.lengths[other] > 0]
    mean = max(sum(lengths) / len(lengths), 1) if lengths else 1
    total = 0.0
    for lexeme in lexemes & held[at].keys():
        holders = sum(lexeme in held[other] for other in seen)
        idf = math.log(1 + (len(seen) - holders + 0.5) / (holders + 0.5))
        frequency = held[at][lexeme][0]
        norm = K1 * (1 - B + B * catalogue.lengths[at] / mean)
        total += idf * frequency * (K1 + 1) / (frequency + norm)
    return total


def naive_similarity(catalogue, vectors, at):
    whole, *parts = (float(catalogue.vectors[at] @ vector) for vector in vectors)
    return (whole + max(parts)) / 2 if parts else whole


def expected(catalogue, held, lexemes, vectors, only, preference):
    """Compute the score of every tool individually, by the definitions."""
    seen = [at for at, team in enumerate(catalogue.teams) if team in (NO_KEY, only.team)]
    found = {}
    for at in seen:
        passes = (
            only.server in (None, catalogue.servers[at])
            and only.category in (None, catalogue.categories[at])
            and catalogue.tools[at] not in only.excluded
        )
        bm25 = naive_bm25(catalogue, held, lexemes, seen, at)
        is_near = vectors is not None and catalogue.embeddings[at] != NO_KEY
        if not passes or not (bm25 or is_near):
            continue
        worth = preference.lexical * bm25
        worth += preference.dense * naive_similarity(catalogue, vectors, at) if is_near else 0
        worth += preference.affinity * (catalogue.servers[at] in preference.servers)
        found[int(catalogue.tools[at])] = worth
    return found


numbers = st.floats(min_value=-1, max_value=1, width=32).filter(lambda x: abs(x) > 0.01)
vector = st.tuples(*[numbers] * DIMENSIONS)
words = st.dictionaries(
    st.sampled_from(LEXEMES), st.tuples(st.sampled_from([0.3, 0.5, 1.0, 2.5]), st.booleans())
)
tool = st.tuples(
    vector,
    words,
    st.integers(1, 3),  # server
    st.integers(0, 2),  # category
    st.sampled_from([NO_KEY, NO_KEY, 7, 8]),  # team
    st.sampled_from([NO_KEY, 1, 2]),  # vector
)


@given(
    tools=st.lists(tool, min_size=1, max_size=40),
    queries=st.none() | st.lists(vector, min_size=1, max_size=3),
    lexemes=st.sets(st.sampled_from([*LEXEMES, 99])),
    only=st.builds(
        SearchFilter,
        team=st.sampled_from([None, 7]),
        server=st.sampled_from([None, 1, 4]),
        category=st.sampled_from([None, 1]),
        excluded=st.sampled_from([frozenset(), frozenset({100, 103})]),
    ),
    preference=st.sampled_from(
        [
            RankingPreference(dense=1.0, lexical=0.02),
            RankingPreference(dense=1.0, lexical=0.1, affinity=0.3, servers=frozenset({2})),
        ]
    ),
    limit=st.integers(1, 12),
)
def test_filtered_search_finds_the_same_as_exhaustive_comparison(
    tools, queries, lexemes, only, preference, limit
):
    vectors, held, servers, categories, teams, embeddings = map(list, zip(*tools, strict=True))
    catalogue = index(
        vectors, held, servers=servers, categories=categories, teams=teams, embeddings=embeddings
    )
    asked = None if queries is None else unit(queries)
    truth = expected(catalogue, held, lexemes, asked, only, preference)
    found = find(
        catalogue, lexemes=lexemes, vectors=asked, only=only, preference=preference, limit=limit
    )
    told = [item.tool_pk for item in found]
    assert len(set(told)) == len(told) == min(limit, len(truth))
    best = sorted(truth.values(), reverse=True)[:limit]
    assert [truth[pk] for pk in told] == pytest.approx(best, abs=1e-5)


def test_evidence_is_told_with_each_tool():
    catalogue = index(
        [[1, 0, 0, 0], [0, 1, 0, 0]], [{10: (2.0, True), 11: (1.0, False)}, {11: (1.0, False)}]
    )
    best, other = find(catalogue, lexemes=[10, 11, 12], vectors=unit([[1, 0, 0, 0]]))
    assert (best.tool_pk, best.similarity) == (100, pytest.approx(1))
    assert (best.in_name, best.in_text) == ({10}, {11})
    assert (other.in_name, other.in_text) == (frozenset(), {11})
    assert best.bm25 > other.bm25 > 0


def test_a_tool_without_a_vector_is_found_by_words_and_has_no_similarity():
    catalogue = index([[1, 0, 0, 0]], [{10: (1.0, True)}], embeddings=[NO_KEY])
    assert find(catalogue, vectors=unit([[1, 0, 0, 0]])) == []
    (found,) = find(catalogue, lexemes=[10], vectors=unit([[1, 0, 0, 0]]))
    assert found.similarity is None


def test_what_a_team_sees_is_told_only_where_something_is_private():
    assert index([[1, 0, 0, 0]] * 2).visible_mask(4) is None
    private = index([[1, 0, 0, 0]] * 3, teams=[NO_KEY, 4, 5])
    assert private.visible_mask(4).tolist() == [True, True, False]
    assert private.visible_mask(None).tolist() == [True, False, False]


def test_for_a_caller_limited_to_some_tools_no_others_exist():
    held = [{10: (1.0, True)}, {10: (1.0, True)}, {10: (1.0, False), 11: (1.0, True)}]
    whole = index([[1, 0, 0, 0]] * 3, held)
    alone = index([[1, 0, 0, 0]] * 2, held[1:])
    only = SearchFilter(within=frozenset(whole.tools[1:].tolist()))
    found, expected = (
        one.find_best(
            [10, 11],
            vectors=None,
            only=given,
            preference=RankingPreference(dense=0.0, lexical=1.0),
            limit=5,
        )
        for one, given in ((whole, only), (alone, SearchFilter()))
    )
    assert [hit.bm25 for hit in found] == [hit.bm25 for hit in expected]
    assert len(found) == 2
    mixed = index([[1, 0, 0, 0]] * 3, teams=[NO_KEY, 4, 4])
    assert mixed.visible_mask(4, within=mixed.tools[:2].tolist()).tolist() == [True, True, False]
    assert mixed.visible_mask(None, within=mixed.tools[:2].tolist()).tolist() == [
        True, False, False,
    ]  # fmt: skip


def test_the_likeliest_tools_are_appended_once_and_only_if_they_may_be_found():
    catalogue = index(np.eye(DIMENSIONS), servers=[1, 1, 1, 2])
    odds = {100: 9.0, 101: -1.0, 102: 1.0, 103: 5.0, 999: 7.0}

    def list_found(*, limit, excluded=frozenset()):
        measured = catalogue.measure(
            [],
            vectors=unit([[1, 0, 0, 0]]),
            only=SearchFilter(server=1, excluded=excluded),
            preference=RankingPreference(dense=1.0, lexical=0.02),
        )
        rows = measured.append_likeliest(measured.find_best(1), odds, limit)
        assert [hit.tool_pk for hit in measured.describe(rows)] == measured.list_tools(rows)
        return measured.list_tools(rows)

    assert list_found(limit=5) == [100, 102, 101]
    assert list_found(limit=1) == [100, 102]
    assert list_found(limit=5, excluded=frozenset({102})) == [100, 101]
    assert list_found(limit=0) == [100]
