"""Documents that hold whatever a graph may hold."""

from datetime import UTC, date, datetime

from hypothesis import strategies as st

from graph.exchange.document import GraphDocument, StatedEvidence, StatedRelation, StatedTool
from graph.relations import TEAM_SOURCES, EvidenceSource, RelationKind

NAMES = (
    "s:a",
    "s:b",
    'a b:"c"/<é>&\'',
    "s:tab\tnew\nline\r",
    "s:bell\x07_x0007_",
    "日本:語 \u2028",
)
ids = st.sampled_from(NAMES) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=20
).map("x:{}".format)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
confidences = st.floats(0, 1) | st.sampled_from([0.1 + 0.2, 1 / 3, 5e-324])
moments = st.datetimes(datetime(2000, 1, 2), timezones=st.just(UTC))  # noqa: DTZ001 - bounds have no zone


@st.composite
def evidence(draw, source):
    is_observed = source is EvidenceSource.OBSERVED
    return StatedEvidence(
        source=source,
        confidence=draw(st.none() | confidences),
        successes=draw(st.floats(0, 1e6)) if is_observed else 0.0,
        failures=draw(st.floats(0, 1e6)) if is_observed else 0.0,
        seconds=draw(st.none() | st.floats(0, 1e6)) if is_observed else None,
        fields=tuple(
            {"output": draw(texts), "input": draw(texts)} for _ in range(draw(st.integers(0, 2)))
        ),
        origin=draw(texts),
        team=draw(texts) if source in TEAM_SOURCES else "",
        last_seen_at=draw(st.none() | moments),
    )


@st.composite
def relations(draw):
    kind = draw(st.sampled_from(RelationKind))
    source, target = draw(st.lists(ids, min_size=2, max_size=2, unique=True))
    sources = draw(st.lists(st.sampled_from(EvidenceSource), unique=True, max_size=4))
    return StatedRelation(
        source=source,
        target=target,
        kind=kind,
        required=draw(st.booleans()) if kind is RelationKind.DEPENDS_ON else True,
        confidence=draw(st.none() | confidences),
        reason=draw(texts),
        version=draw(texts),
        deprecated_at=draw(st.none() | st.dates(date(2000, 1, 1), date(2100, 1, 1))),
        evidence=tuple(draw(evidence(source)) for source in sources),
    )


@st.composite
def documents(draw):
    stated = draw(st.lists(relations(), max_size=6, unique_by=lambda one: one.file_key))
    ends = sorted({end for one in stated for end in (one.source, one.target)})
    return GraphDocument(
        team=draw(texts),
        tools=tuple(
            StatedTool(
                id=end,
                category=draw(texts),
                metrics=draw(st.sampled_from([{}, {"pagerank": 0.1, "community": 3}])),
            )
            for end in ends
        ),
        relations=tuple(stated),
    )
