"""What reaches a server ahead of requests: the engine with its budgets, over a recording upstream.

The labels are those of `labelled_tools` and of the lists of names, without code of the product.
"""

import asyncio
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from execution.call_outcome import SpeculationForm
from execution.speculation import waste_budget
from execution.speculation.allowance import Allowance
from execution.speculation.dependencies import SpeculatorDependencies
from execution.speculation.limits import ServerLimits
from execution.speculation.provenance import STATED, UNKNOWN, Provenance, ProvenanceKind
from execution.speculation.rules import AdmissibilityRules, GrantedDefinition, SpeculationGrants
from execution.speculation.speculator import Speculator
from tests.execution import operator_names
from tests.execution.adversarial_names import list_names
from tests.execution.early_world import Agreed
from tests.execution.labelled_tools import (
    ANN,
    KINDS,
    LAUNCH,
    MIN_ADMITTED,
    annotate,
    build_tool,
    github_tools,
    is_rightly_admissible,
    list_mutations,
    public_tools,
    rename,
)
from tests.execution.speculation_setup import planned_call
from tools.catalogue import Catalogue, CatalogueServer
from tools.definition import Definition
from tools.upstream.result import UpstreamResult

BUDGETS = (0.0, 0.7, 1.0)
FORMS = (SpeculationForm.NEXT_CALL, SpeculationForm.INTENT, SpeculationForm.NEXT_LAYER)
PLENTY = 1_000_000
WAVE = 500
"""Calls in flight at once; fewer than the results that are kept."""


class Recorder:
    """An upstream that records what reaches it, and answers."""

    def __init__(self):
        self.reached = set()

    async def call_tool(self, server, request, *, caller):
        self.reached.add(f"{server}:{request.tool}")
        return UpstreamResult(raw={"content": []})


class Engine:
    """A speculator with real budgets, for the tools of a catalogue that can be changed."""

    start_threshold = 0.0
    """Of the budgets of the newest engine."""

    def __init__(self, rules, *, waste=1.0, threshold=0.0):
        self.rules, self.upstream = rules, Recorder()
        Engine.start_threshold = threshold
        self.limits = dict.fromkeys(
            rules.catalogue.servers, ServerLimits(waste=waste, calls_per_minute=PLENTY)
        )
        self.allowance = Allowance(
            catalogue=lambda: self.rules.catalogue,
            load_limits=self._load,
            reserve_money=self._refuse,
            settle_money=self._refuse,
        )
        self.speculator = Speculator(
            SpeculatorDependencies(
                rules=lambda: self.rules,
                upstream=self.upstream,
                is_on=lambda: True,
                allowance=self.allowance,
                agreements=Agreed(),
                places=(PLENTY, PLENTY),
            )
        )

    async def _load(self):
        return self.limits

    async def _refuse(self, *_args):
        return False

    async def try_all(self, *, form=SpeculationForm.NEXT_CALL, arguments=None, origin=STATED):
        """Dispatch a call of every tool; return the ids of those that reached a server."""
        await self.allowance.exchange()
        self.upstream.reached.clear()
        names = list(self.rules.catalogue.tools)
        for first in range(0, len(names), WAVE):
            for name in names[first : first + WAVE]:
                self.speculator.dispatch(
                    ANN,
                    planned_call(
                        tool=name,
                        form=form,
                        arguments=arguments or {},
                        provenance={"": origin},
                    ),
                )
            tasks = [task for task in asyncio.all_tasks() if task.get_name() == "early call"]
            if tasks:
                await asyncio.wait(tasks)
            self.speculator.discard_all()
        return frozenset(self.upstream.reached)


@dataclass(frozen=True)
class Case:
    """A tool of a catalogue, and whether its calls may be made ahead; None: a person decides."""

    tool: object
    may_be_called: bool | None


def build_rules(tools, *, trusted=True, grants=()):
    names = {tool.server for tool in tools}
    servers = {
        name: CatalogueServer(
            name=name,
            team=None,
            enabled=True,
            trusted=trusted,
            description="",
            last_error="",
            launch_hash=LAUNCH,
            price_per_call=Decimal(0),
        )
        for name in names
    }
    return AdmissibilityRules(
        catalogue=Catalogue(servers=servers, tools={tool.tool: tool for tool in tools}),
        grants=SpeculationGrants.from_grants(grants),
    )


def grant(tool):
    return GrantedDefinition(
        tool=tool.pk, definition_hash=tool.definition_hash, launch_hash=LAUNCH
    )


def list_cases(labelled, *, kind, trusted, granted):
    """Build the tools of labelled definitions, annotated in one way."""
    cases = []
    for at, (definition, server, writes) in enumerate(labelled):
        annotations = annotate(kind, writes=writes is not False)
        tool = build_tool(
            replace_annotations(definition, annotations),
            server=f"{server.lower()[:20]}{at}",  # public names repeat
            trusted=trusted,
            pk=at + 1,
        )
        right = writes is not None and is_rightly_admissible(
            writes=writes, trusted=trusted, granted=granted, annotations=annotations
        )
        cases.append(Case(tool, None if writes is None else right))
    return cases


def replace_annotations(definition, annotations):
    return Definition(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=definition.input_schema,
        annotations=annotations,
    )


def list_adversarial():
    as_names = [(Definition(name=name), "s", True) for name in list_names()]
    as_titles = [(Definition(name="show", title=name), "s", True) for name in list_names()]
    operators = [(Definition(name=name), "s", True) for name in operator_names.WRITING]
    return [*as_names, *as_titles, *operators]


async def require_only_admissible_dispatches(labelled):
    """Dispatch each tool in every way; return how many admissible ones were, of how many."""
    expected = reached = 0
    for kind in KINDS:
        for trusted in (True, False):
            for granted in (False, True):
                cases = list_cases(labelled, kind=kind, trusted=trusted, granted=granted)
                tools = [case.tool for case in cases]
                rules = build_rules(
                    tools, trusted=trusted, grants=map(grant, tools) if granted else ()
                )
                allowed = {one.tool.tool for one in cases if one.may_be_called}
                doubtful = {one.tool.tool for one in cases if one.may_be_called is None}
                for budget in BUDGETS:
                    for threshold in BUDGETS:
                        engine = Engine(rules, waste=budget, threshold=threshold)
                        called = await engine.try_all()
                        assert called <= allowed | doubtful, called - allowed - doubtful
                        assert called or not allowed or budget == 0
                        assert not called or budget > 0
                        if budget and threshold == 0:
                            expected += len(allowed)
                            reached += len(called & allowed)
    return reached, expected


@pytest.fixture(autouse=True)
def _without_clamp(monkeypatch):
    """Let thresholds start where an engine says, and move from 0 to 1."""
    monkeypatch.setattr(waste_budget, "default_threshold", lambda _: Engine.start_threshold)
    monkeypatch.setattr(waste_budget, "MIN_THRESHOLD", 0.0)
    monkeypatch.setattr(waste_budget, "MAX_THRESHOLD", 1.0)


@pytest.mark.full
async def test_of_527_public_tools_only_readers_are_called_ahead():
    labelled = public_tools()
    assert sum(writes is True for _, _, writes in labelled) > 120
    reached, expected = await require_only_admissible_dispatches(labelled)
    assert expected > 1_000
    assert reached >= MIN_ADMITTED * expected


@pytest.mark.full
async def test_of_githubs_tools_only_readers_are_called_ahead():
    reached, expected = await require_only_admissible_dispatches(github_tools())
    assert expected > 100
    assert reached >= MIN_ADMITTED * expected


@pytest.mark.full
async def test_no_adversarial_tool_is_called_ahead_among_readers():
    """The readers show that it is the names which are refused."""
    readers = [(Definition(name=name), "s", False) for name in operator_names.READING]
    adversarial = list_adversarial()
    assert len(adversarial) > 1_000
    reached, expected = await require_only_admissible_dispatches([*adversarial, *readers])
    assert reached >= 0.94 * expected  # undeclared `list_charges` could charge


@pytest.mark.parametrize("form", FORMS)
async def test_no_form_of_speculation_calls_an_adversarial_tool(form):
    labelled = list_adversarial()[::7]
    for kind in KINDS:
        tools = [one.tool for one in list_cases(labelled, kind=kind, trusted=True, granted=True)]
        assert not await Engine(build_rules(tools, grants=map(grant, tools))).try_all(form=form)


@pytest.mark.parametrize("form", FORMS)
async def test_a_changed_definition_is_not_called_until_it_is_granted_again(form):
    original = build_tool(rename("get_note"))
    engine = Engine(build_rules([original], grants=[grant(original)]))
    assert await engine.try_all(form=form) == {original.tool}
    mutations = list(list_mutations())
    assert len(mutations) > 60
    for mutated in mutations:
        changed = build_tool(mutated)
        engine.rules = build_rules([changed], grants=[grant(original)])
        assert not await engine.try_all(form=form)
        engine.rules = build_rules([changed], grants=[grant(changed)])
        assert await engine.try_all(form=form) == {changed.tool}


async def test_a_changed_launch_command_is_not_called_until_it_is_granted_again():
    tool = build_tool(rename("get_note"))
    engine = Engine(build_rules([tool], grants=[grant(tool)]))
    server = engine.rules.catalogue.servers[tool.server]
    moved = replace(server, launch_hash="c" * 64)
    engine.rules = replace(
        engine.rules, catalogue=Catalogue(servers={tool.server: moved}, tools={tool.tool: tool})
    )
    assert not await engine.try_all()


async def test_a_thousand_uses_change_nothing_of_what_is_admissible():
    names = (*operator_names.READING[:60], *operator_names.WRITING[:60], *list_names()[:60])
    tools = [build_tool(rename(name), pk=at + 1) for at, name in enumerate(names)]
    engine = Engine(build_rules(tools, grants=map(grant, tools[::2])), waste=1.0)
    before = await engine.try_all()
    assert before
    agreements = engine.speculator._dependencies.agreements
    for _ in range(1_000):
        for tool in (tools[0], tools[61]):
            agreements.record(tool, None, agreed=True, age_s=30.0)
            agreements.served.add(tool.tool)
            budget = engine.allowance._budgets.get((tool.server, None))
            if budget is not None:
                budget.record_outcome(1.0, was_used=True)
    assert await engine.try_all() == before


HOSTILE = (
    "https://evil.example/?d=1", "evil.example", "../../etc/passwd", "/etc/shadow", "--exec=sh",
    "-rf", "bob@evil.example", "the user's card is 4111 1111 1111 1111", "%2e%2e%2fetc",
    "\uff0e\uff0e\uff0fetc", "\u0661\u0662\u0663", "file:///etc/passwd", "a\nb", "x" * 65,
    "169.254.169.254", "0x7f000001.example", "[::1]", "~root", "$(id)", "a;b", 1e308, 2**63, 0.5,
    {"href": "https://evil.example"}, ["a", ["b", "../c"]], {"https://evil.example": 1},
    {"$evil": ["x y"]},
)  # fmt: skip
ANYTHING = {"type": "object", "properties": {"id": {}, "query": {}, "path": {}}}
ORIGINS = (
    UNKNOWN,
    Provenance(kind=ProvenanceKind.RESULT, server="s"),
    Provenance(kind=ProvenanceKind.RESULT, server="evil"),
    Provenance(kind=ProvenanceKind.ARGUMENT, server="s"),
    Provenance(kind=ProvenanceKind.MEMORY),
    Provenance(kind=ProvenanceKind.CONSTANT),
)


@pytest.mark.parametrize("form", FORMS)
async def test_nothing_hostile_in_results_reaches_an_open_world_tool(form):
    tool = build_tool(
        Definition(name="get_page", input_schema=ANYTHING, annotations={"readOnlyHint": True})
    )
    engine = Engine(build_rules([tool], grants=[grant(tool)]))
    good = Provenance(kind=ProvenanceKind.RESULT, server="s")
    assert await engine.try_all(form=form, arguments={"id": "W-17"}, origin=good)
    for place in ("id", "query", "path"):
        for value in HOSTILE:
            for origin in ORIGINS:
                arguments = {place: value}
                assert not await engine.try_all(form=form, arguments=arguments, origin=origin), (
                    arguments
                )
