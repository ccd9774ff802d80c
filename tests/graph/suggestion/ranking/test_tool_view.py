import weakref
from itertools import pairwise

import numpy as np
import pytest

from gateway_project.foundation.garbage import pause_collection
from graph.suggestion.ranking import tool_view
from graph.suggestion.ranking.tool_view import ToolView
from tests.graph.suggestion.ranking.drawn_intents import (
    DIMENSIONS,
    drawn_encoded,
    drawn_index,
    drawn_view,
)

TEAMS = np.arange(40) % 3


def test_a_team_sees_its_own_and_the_shared_tools():
    index = drawn_index(teams=TEAMS)
    view = ToolView.for_team(index, team=2)
    seen = TEAMS != 1
    assert view.tools.tolist() == index.tools[seen].tolist()
    assert view.servers.tolist() == index.servers[seen].tolist()
    rows = drawn_encoded().clauses
    np.testing.assert_allclose(view.compute_cosines(rows), rows @ index.vectors[seen].T, atol=1e-6)
    places = np.array([0, 5])
    np.testing.assert_array_equal(view.vectors_at(places), index.vectors[seen][places])


def test_a_caller_without_a_team_sees_the_shared_tools():
    index = drawn_index(teams=TEAMS)
    assert ToolView.for_team(index, team=None).tools.tolist() == index.tools[TEAMS == 0].tolist()


def test_a_caller_limited_to_some_tools_sees_only_those_that_its_team_sees():
    index = drawn_index(teams=TEAMS)
    wanted = frozenset(index.tools[:6].tolist())
    view = ToolView.for_team(index, team=2, within=wanted)
    assert view.tools.tolist() == index.tools[:6][TEAMS[:6] != 1].tolist()
    assert view is ToolView.for_team(index, team=2, within=frozenset(sorted(wanted)))
    assert view is not ToolView.for_team(index, team=2)
    assert len(ToolView.for_team(drawn_index(), team=None, within=frozenset())) == 0


def test_postings_are_those_of_the_visible_tools():
    index = drawn_index(teams=TEAMS)
    spans = list(pairwise(index.postings.starts.tolist()))
    whole, empty = ToolView.for_team(drawn_index(), team=None), drawn_index()
    assert all(map(whole.has_postings, pairwise(empty.postings.starts.tolist())))
    view = ToolView.for_team(index, team=None, within=frozenset())
    assert not any(map(view.has_postings, spans))
    view = ToolView.for_team(index, team=None)
    seen = set(np.flatnonzero(TEAMS == 0).tolist())
    for start, end in spans:
        holds = bool(seen & set(index.postings.tools[start:end].tolist()))
        assert view.has_postings((start, end)) is holds


def test_tools_are_found_by_key():
    view = drawn_view(10)
    assert view.find_positions([1000, 1018, 1001, 5, 9999]).tolist() == [0, 9, -1, -1, -1]
    assert view.find_positions([]).tolist() == []
    assert (len(view), view.model, view.dimensions) == (10, "m", DIMENSIONS)


def test_statistics_are_worked_out_once_for_each_team():
    index = drawn_index(teams=TEAMS)
    assert ToolView.for_team(index, team=1) is ToolView.for_team(index, team=1)
    assert ToolView.for_team(index, team=1) is not ToolView.for_team(index, team=2)
    public = drawn_index()
    assert ToolView.for_team(public, team=1) is ToolView.for_team(public, team=2)


def test_an_index_with_cached_views_is_freed_without_garbage_collection():
    index = drawn_index(teams=TEAMS)
    view = ToolView.for_team(index, team=1)
    assert view.index.vectors is index.vectors
    watched = weakref.ref(index)
    with pause_collection():
        del index
        assert watched() is None
    assert len(view)


def test_the_number_of_cached_views_is_bounded():
    index = drawn_index(teams=TEAMS)
    for team in range(1, 3 * tool_view.MAX_CACHED_VIEWS):
        ToolView.for_team(index, team=team)
    assert len(index.derived_cache) <= tool_view.MAX_CACHED_VIEWS


def test_a_narrower_view_shares_the_statistics():
    index = drawn_index()
    view, narrow = (
        ToolView.for_team(index, team=None),
        ToolView.for_team(index, team=None, allowed=[1004, 7]),
    )
    assert view.allowed is None
    assert np.flatnonzero(narrow.allowed).tolist() == [2]
    assert narrow.words is view.words


def test_statistics_of_many_tools_use_a_sample(monkeypatch):
    monkeypatch.setattr(tool_view, "MAX_SAMPLE", 10)
    view = drawn_view()
    assert len(view.sample) == 10
    assert view.sample.tolist() == drawn_view().sample.tolist()
    rows = np.tile(np.arange(40.0, dtype=np.float32), (2, 1))
    np.testing.assert_array_equal(view.sample_columns(rows)[0], view.sample)


def test_an_empty_catalogue_is_a_view_too():
    view = drawn_view(0)
    assert len(view) == 0
    assert view.find_positions([1]).tolist() == [-1]
    assert view.compute_cosines(np.ones((2, 3), dtype=np.float32)).shape == (2, 0)


@pytest.mark.parametrize("team", [None, 7])
def test_without_private_tools_everyone_sees_all(team):
    assert ToolView.for_team(drawn_index(), team=team).index_positions is None
