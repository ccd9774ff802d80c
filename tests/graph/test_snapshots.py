from graph.snapshots import (
    CommunityChange,
    ConfidenceChange,
    RankChange,
    compare_snapshots,
)


def snapshot(tools, *relations):
    """Make a snapshot of tools, as id: (community, rank), and relations between ids."""
    places = {name: place for place, name in enumerate(tools)}
    return {
        "tools": [
            {"id": name, "community": community, "pagerank": rank}
            for name, (community, rank) in tools.items()
        ],
        "relations": [
            {
                "source": places[one],
                "target": places[other],
                "kind": kind,
                "confidence": sure,
            }
            for one, other, kind, sure in relations
        ],
    }


PLAIN = {"s:a": (0, 0.5), "s:b": (0, 0.3), "s:c": (1, 0.2)}


def test_tools_and_relations_come_and_go_and_change():
    before = snapshot(
        PLAIN,
        ("s:a", "s:b", "provides", 0.5),
        ("s:a", "s:b", "precedes", 0.5),
        ("s:b", "s:c", "provides", 0.9),
        ("s:a", "s:c", "provides", 0.9),
    )
    later = {name: PLAIN[name] for name in ("s:a", "s:c")} | {"s:d": (1, 0.3)}
    after = snapshot(
        later | {"s:b": PLAIN["s:b"]},
        ("s:a", "s:b", "provides", 0.6),
        ("s:b", "s:c", "provides", 0.3),
        ("s:d", "s:a", "provides", 1.0),
        ("s:a", "s:c", "provides", 0.90001),
    )
    found = compare_snapshots(before, after)
    assert (found.tools_added, found.tools_removed) == (("s:d",), ())
    assert found.relations_added == (("s:d", "s:a", "provides"),)
    assert found.relations_removed == (("s:a", "s:b", "precedes"),)
    assert found.relations_changed == (
        ConfidenceChange("s:b", "s:c", "provides", 0.9, 0.3),
        ConfidenceChange("s:a", "s:b", "provides", 0.5, 0.6),
    )
    assert compare_snapshots(after, before).tools_removed == ("s:d",)


def test_numbers_of_communities_are_matched_before_any_tool_has_moved():
    before = {"a": (0, 0.2), "b": (0, 0.2), "c": (0, 0.2), "d": (1, 0.2), "e": (1, 0.2)}
    after = {"a": (1, 0.2), "b": (1, 0.2), "c": (0, 0.2), "d": (0, 0.2), "e": (0, 0.2)}
    assert compare_snapshots(snapshot(before), snapshot(after)).moved == (
        CommunityChange("c", 0, 0),
    )


def test_a_rank_shift_is_relative_to_other_tools():
    after = {"s:a": (0, 0.2), "s:b": (0, 0.25), "s:c": (1, 0.1), "s:d": (1, 0.45)}
    assert compare_snapshots(snapshot(PLAIN), snapshot(after)).shifted == (
        RankChange("s:a", 0.5, 0.2, 1, 2),
        RankChange("s:b", 0.3, 0.25, 2, 1),
    )
