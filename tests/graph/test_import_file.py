import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from graph import export, import_file, shipped
from graph.exchange.read import GraphFormat
from graph.import_file import ImportRefused
from graph.models import RelationEvidence, ToolDependency
from graph.record import GraphMetric, RelationClaim, RelationObservation
from graph.relations import EvidenceSource, RelationKind
from graph.store import metrics, relations
from tests.factories import CategoryFactory, ServerFactory, TeamFactory, ToolFactory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
CURATED = {"source": "curated", "confidence": 0.9, "origin": "ann"}
SCHEMA = {"source": "schema", "confidence": 0.7, "fields": [{"output": "/a", "input": "/b"}]}
IMPORTED = {"source": "imported", "confidence": 0.6, "origin": "other.json"}
OBSERVED = {"source": "observed", "successes": 3.5, "failures": 0.5, "team": "theirs"}


@pytest.fixture
def tools():
    server = ServerFactory(name="s")
    return {name: ToolFactory(server=server, name=name).pk for name in "abcd"}


def row(source="s:a", target="s:b", kind="precedes", **more):
    return {"source": source, "target": target, "kind": kind, **more}


def take(*rows, filename="graph.jsonl", **options):
    text = "\n".join(map(json.dumps, rows))
    return import_file.import_relations(text, filename=filename, now=NOW, **options)


def refused(*rows, **options):
    with pytest.raises(ImportRefused) as caught:
        take(*rows, **options)
    assert not ToolDependency.objects.exclude(reason="stored before").exists()
    return caught.value


def said(pk=None):
    rows = RelationEvidence.objects.order_by("relation", "source")
    return [
        (one.source, one.team_id, one.origin, one.confidence)
        for one in (rows if pk is None else rows.filter(relation=pk))
    ]


def text_of(form=GraphFormat.JSON, **options):
    return "".join(export.write_text(export.build_document(now=NOW, **options), form))


class TestImport:
    def test_vouching_makes_relations_curated(self, tools):
        take(row(confidence=0.8), as_curated=True)
        assert said() == [("curated", None, "graph.jsonl", 0.8)]

    def test_curated_relations_in_a_file_are_imported_unless_vouched_for(self, tools):
        take(row(evidence=[CURATED, IMPORTED]))
        assert said() == [("imported", None, "graph.jsonl", 0.9)]

    def test_every_source_is_kept_when_vouched_for(self, tools):
        take(row(kind="provides", evidence=[CURATED, SCHEMA, IMPORTED]), as_curated=True)
        assert said() == [
            ("curated", None, "ann", 0.9),
            ("imported", None, "other.json", 0.6),
            ("schema", None, "", 0.7),
        ]
        assert RelationEvidence.objects.get(source="schema").fields == SCHEMA["fields"]

    def test_observed_relations_are_skipped_unless_a_team_adopts_them(self, tools):
        done = take(row(evidence=[OBSERVED]), row(target="s:c", evidence=[OBSERVED, IMPORTED]))
        assert (done.added, done.left_out) == (1, 1)
        assert done.warnings == (
            "1 relations left out: teams observed them, and no team was named to take over",
        )
        assert [source for source, *_ in said()] == ["imported"]

    def test_team_result_relations_are_skipped_unless_a_team_adopts_them(self, tools):
        shown = SCHEMA | {"team": "theirs"}
        done = take(row(kind="provides", evidence=[shown]), as_curated=True)
        assert (done.added, done.left_out) == (0, 1)
        team = TeamFactory()
        take(row(kind="provides", evidence=[shown]), team=team.pk)
        assert said() == [("schema", team.pk, "", 0.7)]

    def test_an_observation_is_never_later_than_the_import(self, tools):
        ahead = OBSERVED | {"last_seen_at": "2999-01-01"}
        take(row(evidence=[ahead]), team=TeamFactory().pk)
        assert RelationEvidence.objects.get().last_seen_at == NOW

    def test_reimporting_changes_nothing(self, tools):
        rows = [
            row(confidence=0.5, reason="why"),
            row("s:b", "s:a", "alternative_to", evidence=[CURATED, IMPORTED]),
            row("s:c", "s:d", "replaces", version="2", deprecated_at="2026-01-02"),
        ]
        take(*rows)
        before = list(RelationEvidence.objects.order_by("pk").values())
        again = take(*rows)
        assert (again.added, again.changed, again.same) == (0, 0, 3)
        assert list(RelationEvidence.objects.order_by("pk").values()) == before

    def test_curated_relations_are_kept_against_a_file(self, tools):
        claim = RelationClaim(
            source=tools["a"], target=tools["b"], kind=RelationKind.PRECEDES, reason="mine"
        )
        relations.curate_relation(claim, by="ann", at=NOW)
        take(row(reason="theirs"))
        assert ToolDependency.objects.get().reason == "mine"
        assert take(row(reason="theirs")).same == 1

    def test_a_rejected_relation_stays_rejected(self, tools):
        relations.reject_relation(tools["a"], tools["b"], RelationKind.PRECEDES, at=NOW)
        done = take(row(), as_curated=True)
        assert (done.added, done.left_out) == (0, 1)
        assert done.warnings == ("1 relations left out: an admin rejected them here",)
        assert ToolDependency.objects.get().rejected

    def test_rejections_are_imported_only_if_vouched_for(self, tools):
        assert take(row(rejected=True)).left_out == 1
        assert not ToolDependency.objects.exists()
        assert take(row(rejected=True), as_curated=True).added == 1
        assert ToolDependency.objects.get().rejected
        assert take(row(rejected=True), as_curated=True).same == 1

    def test_a_dry_run_stores_nothing(self, tools):
        done = take(row(), dry_run=True)
        assert done.changes[0][1:] == ("s:a", "s:b", "precedes", "new")
        assert done.dry_run
        assert not ToolDependency.objects.exists()

    def test_a_cycle_is_stored_with_a_warning_that_names_what_is_dropped(self, tools):
        done = take(row(kind="depends_on"), row("s:b", "s:a", "depends_on", confidence=0.4))
        assert done.added == 2
        [warning] = done.warnings
        assert warning.startswith("line 2: s:b depends on s:a, which depends on it in turn")
        other = take(row("s:c", "s:d"))
        assert other.warnings == ()


class TestRefusal:
    def test_one_bad_row_of_ten_thousand_leaves_nothing_behind(self, tools):
        server = ServerFactory(name="many")
        names = [ToolFactory(server=server, name=f"t{n}").name for n in range(101)]
        rows = [row(f"many:{a}", f"many:{b}") for a in names for b in names if a != b][:10_000]
        rows[7_000]["target"] = "many:t1OO"
        problem = refused(*rows)
        assert problem.count == 1
        assert str(problem.problems[0]).startswith(
            "line 7001: no tool 'many:t1OO'; did you mean many:t1"
        )

    def test_problems_are_reported_in_file_order(self, tools):
        problem = refused(
            row(target="s:aa"),
            row(confidence=2),
            row("s:c", "s:d", "replaces"),
            row("s:d", "s:c", "replaces"),
        )
        assert [one.line for one in problem.problems] == [1, 2, 4]
        assert problem.count == 3
        assert "'graph.jsonl' is not imported: line 1: no tool 's:aa'" in str(problem)
        assert "(and 2 more)" in str(problem)

    def test_contradictions_with_stored_relations_are_refused(self, tools):
        claim = RelationClaim(
            source=tools["a"],
            target=tools["b"],
            kind=RelationKind.MUTUALLY_EXCLUSIVE,
            reason="stored before",
        )
        relations.curate_relation(claim, by="ann", at=NOW)
        [problem] = refused(row(kind="depends_on")).problems
        assert str(problem) == (
            "line 1: s:a cannot both require s:b and exclude it: keep one of the two "
            "(the other one is stored already)"
        )
        assert take(row(kind="depends_on", required=False)).added == 1

    def test_contradictions_that_were_stored_before_are_not_the_files(self, tools):
        for ends in (("a", "b"), ("b", "a")):
            source, target = (tools[end] for end in ends)
            claim = RelationClaim(source=source, target=target, kind=RelationKind.REPLACES)
            relations.curate_relation(claim, by="ann", at=NOW)
        assert take(row("s:c", "s:d")).added == 1

    def test_a_tool_deleted_during_the_import_is_reported(self, tools, monkeypatch):
        def gone(records, *, at):
            raise relations.ToolsNotFound([tools["a"]])

        monkeypatch.setattr(relations, "put_many", gone)
        assert "the tool 's:a' was deleted meanwhile; import it again" in str(refused(row()))

    def test_text_that_is_no_file_of_relations_is_refused(self, tools):
        for name in ("x.json", "x.jsonl", "x.graphml", "x"):
            with pytest.raises(ImportRefused):
                import_file.import_relations("\ud800 no", filename=name)


def fill(tools, team):
    a, b, c, d = tools.values()
    at = NOW - timedelta(days=3)
    relations.curate_relation(
        RelationClaim(
            source=a, target=b, kind=RelationKind.DEPENDS_ON, required=False, confidence=1 / 3
        ),
        by="ann",
        at=at,
    )
    relations.curate_relation(
        RelationClaim(
            source=c,
            target=d,
            kind=RelationKind.REPLACES,
            version="2",
            deprecated_at=date(2026, 1, 2),
            reason="newer & <better>\x07",
        ),
        by="ann",
        at=at,
    )
    fields = ({"output": "/a", "input": "/b"},)
    flow = RelationClaim(
        source=a, target=b, kind=RelationKind.PROVIDES, confidence=0.7, fields=fields
    )
    relations.replace_derived([flow], at=at)
    relations.replace_derived_of_teams({team: [replace(flow, confidence=0.8)]}, at=at)
    relations.curate_relation(
        RelationClaim(source=d, target=a, kind=RelationKind.ALTERNATIVE_TO, confidence=0.5),
        by="bob",
        at=at,
    )
    seen = RelationObservation(
        source=a,
        target=c,
        kind=RelationKind.PRECEDES,
        successes=2.7,
        failures=0.1,
        seconds=1.5,
        at=at,
    )
    relations.observe_relations(None, [seen])
    relations.observe_relations(team, [seen])
    relations.reject_relation(b, c, RelationKind.PRECEDES, reason="no", at=at)


def snapshot():
    """Everything stored of relations, but for keys and times that no evidence rests on."""
    return [
        (
            {end: getattr(one, end).name for end in ("source", "target")},
            (one.kind, one.required, one.rejected, one.reason, one.version, one.deprecated_at),
            [
                tuple(
                    getattr(item, field)
                    for field in (
                        *("source", "team_id", "origin", "confidence", "successes", "failures"),
                        *("seconds", "fields", "last_seen_at"),
                    )
                )
                for item in one.evidence.order_by("source", "team")
            ],
        )
        for one in ToolDependency.objects.order_by("source", "target", "kind")
    ]


class TestRoundTrip:
    @pytest.mark.parametrize("form", GraphFormat)
    def test_importing_an_export_into_an_empty_graph_restores_it(self, tools, form):
        team = TeamFactory(name="theirs")
        fill(tools, team.pk)
        before = snapshot()
        text = text_of(form, team=team.pk)
        ToolDependency.objects.all().delete()
        done = import_file.import_relations(
            text, filename=f"x.{form}", as_curated=True, team=team.pk, now=NOW
        )
        kept = [one for one in before if not one[1][2]] if form is GraphFormat.GRAPHML else before
        assert done.left_out == 0
        assert snapshot() == kept
        assert text_of(form, team=team.pk) == text

    @pytest.mark.parametrize("form", GraphFormat)
    @pytest.mark.parametrize("as_curated", [True, False])
    def test_reimporting_an_export_changes_nothing(self, tools, form, as_curated):
        team = TeamFactory()
        fill(tools, team.pk)
        before = snapshot()
        text = text_of(form, team=team.pk)
        done = import_file.import_relations(
            text, filename=f"x.{form}", as_curated=as_curated, team=team.pk, now=NOW
        )
        assert done.changes == ()
        assert snapshot() == before


class TestExport:
    def test_team_relations_are_exported_only_for_that_team(self, tools):
        mine, theirs = TeamFactory(), TeamFactory()
        own = ToolFactory(server__name="private", server__team=mine, name="t").pk
        seen = RelationObservation(
            source=tools["a"], target=tools["b"], kind=RelationKind.PRECEDES, successes=1, at=NOW
        )
        relations.observe_relations(mine.pk, [seen])
        claim = RelationClaim(source=own, target=tools["c"], kind=RelationKind.PRECEDES)
        relations.curate_relation(claim, by="ann", at=NOW)
        assert export.build_document(now=NOW).relations == ()
        assert export.build_document(now=NOW, team=theirs.pk).relations == ()
        found = export.build_document(now=NOW, team=mine.pk)
        assert found.team == mine.name
        assert [one.source for one in found.relations] == ["private:t", "s:a"]
        assert [item.team for item in found.relations[1].evidence] == [mine.name]

    def test_exported_tools_include_category_and_metrics(self, tools):
        category = CategoryFactory(name="code")
        filed = ToolFactory(server__name="x", name="filed", category=category)
        ToolFactory(server=filed.server, name="alone")
        metrics.replace_metrics({filed.pk: GraphMetric(0.25, 1, 0.5, 0.75)})
        [found] = export.build_document(now=NOW, with_metrics=True).tools
        assert (found.id, found.category) == ("x:filed", "code")
        assert found.metrics == {
            "pagerank": 0.25,
            "community": 1,
            "betweenness": 0.5,
            "closeness": 0.75,
        }
        assert export.build_document(now=NOW).tools[0].metrics == {}

    @pytest.mark.parametrize(
        ("hops", "kept"), [(0, ""), (1, "ab"), (2, "abc"), (3, "abcd"), (9, "abcd")]
    )
    def test_a_partial_export_reaches_the_given_number_of_hops(self, tools, hops, kept):
        take(row("s:b", "s:a"), row("s:b", "s:c"), row("s:c", "s:d"))
        part = export.extract_part(export.build_document(now=NOW), ["s:a"], hops=hops)
        assert {tool.id[2:] for tool in part.tools} == set(kept or "a")
        assert len(part.relations) == max(len(kept) - 1, 0)


def test_a_shipped_relation_that_was_rejected_stays_rejected(tools):
    claim = RelationClaim(
        source=tools["a"], target=tools["b"], kind=RelationKind.PRECEDES, confidence=0.9
    )
    shipping = {"at": NOW, "source": EvidenceSource.CURATED, "origin": shipped.ORIGIN}
    assert relations.replace_derived([claim], **shipping).added == 1
    relations.reject_relation(tools["a"], tools["b"], RelationKind.PRECEDES, at=NOW)
    relations.replace_derived([claim], **shipping)
    assert len(relations.load_topology(now=NOW)) == 0
