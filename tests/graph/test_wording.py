from datetime import UTC, datetime

import pytest

from graph import wording
from graph.relations import Evidence, EvidenceSource, Relation, RelationKind

NAMES = {1: "a:x", 2: "b:y"}.__getitem__
AT = datetime(2026, 11, 1, tzinfo=UTC)


def said(source, **values):
    defaults = {"confidence": None, "successes": 0.0, "failures": 0.0, "last_seen": AT}
    return Evidence(source=EvidenceSource(source), **(defaults | values))


@pytest.mark.parametrize("kind", RelationKind)
def test_every_kind_has_a_sentence_that_names_both_tools(kind):
    words = wording.write_sentence(Relation(1, 2, kind, 0.5), NAMES)
    assert words.startswith("a:x ")
    assert "b:y" in words


@pytest.mark.parametrize(
    ("kind", "detail", "expected"),
    [
        ("depends_on", {}, "a:x requires b:y"),
        ("precedes", {"seconds": 12.0}, "a:x comes before b:y, by 12.0 s on average"),
        ("precedes", {"seconds": 0.0}, "a:x comes before b:y, by less than 1 ms on average"),
        ("replaces", {"version": "2"}, "a:x replaces b:y since version 2"),
        (
            "replaces",
            {"version": "2", "deprecated_at": "2026-05-01", "reason": "faster"},
            "a:x replaces b:y since version 2 (deprecated on 2026-05-01): faster",
        ),
        ("alternative_to", {"reason": "both log"}, "a:x and b:y are alternatives: both log"),
        (
            "provides",
            {"fields": [{"output": "/items/*/id", "input": "/geoId"}]},
            "a:x provides for b:y: its output /items/*/id feeds the parameter geoId",
        ),
    ],
)
def test_a_sentence_says_what_is_known(kind, detail, expected):
    relation = Relation(1, 2, RelationKind(kind), 0.5, detail=detail)
    assert wording.write_sentence(relation, NAMES) == expected


def test_parameters_inside_others_and_whole_outputs_are_named():
    flow = [{"output": "", "input": "/filter/a~1b/*"}]
    assert wording.write_data_flow(flow) == "its output (whole) feeds the parameter filter.a/b.*"


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (said("curated", origin="ann"), "curated by ann"),
        (said("curated"), "curated"),
        (said("curated", origin="foregate"), "comes with Foregate"),
        (said("schema"), "derived from the schemas of both"),
        (said("imported", origin="graph.json"), "imported from graph.json"),
        (said("imported"), "imported"),
        (said("observed", successes=7, failures=1), "seen in 7 of 8 runs"),
        (said("observed", successes=1), "seen in 1 of 1 run"),
        (said("observed", successes=6.6, failures=1.2), "seen in about 7 of 8 runs"),
        (said("observed", successes=0.2), "seen long ago"),
        (said("schema", team=3), "derived from results that team 3 saw"),
        (said("observed", successes=2, team=5), "seen by team 5 in 2 of 2 runs"),
    ],
)
def test_evidence_is_explained_in_plain_words(evidence, expected):
    assert wording.write_grounds(Relation(1, 2, RelationKind.PRECEDES, 0.5), [evidence]) == (
        expected,
    )


def test_without_evidence_the_sources_are_named():
    relation = Relation(
        1,
        2,
        RelationKind.PRECEDES,
        0.5,
        sources=tuple(EvidenceSource),
        detail={"successes": 2, "failures": 0},
    )
    assert wording.write_grounds(relation) == (
        "curated",
        "derived from the schemas of both",
        "seen in 2 of 2 runs",
        "imported",
    )
