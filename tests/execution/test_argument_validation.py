import asyncio
import threading

import pytest

from execution import argument_validation, call
from execution.call_errors import ArgumentsTooCostly, InvalidArguments
from gateway_project.foundation import computing, schema, schema_steps
from tests.execution.test_call import ADMIN
from tests.gateway.catalogues import FakeUpstream, catalogue, tool
from tests.patience import PATIENCE_S
from tools.upstream.request import UpstreamRequest

UNIQUE = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def unique(key):
    return tool("fs:write", definition_hash=key, input_schema=UNIQUE)


async def require_fitting(one, arguments):
    request = UpstreamRequest.to_call(one.tool, arguments)
    await call.admit(request, caller=ADMIN, catalogue=catalogue(one))


def objects(count):
    return {"a": [{"id": place} for place in range(count)]}


@pytest.fixture
def on_the_loop(monkeypatch):
    """Fail if anything is judged elsewhere."""

    async def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(computing, "run_in_validation_thread", refuse)


async def test_small_arguments_are_validated_on_the_loop(on_the_loop):
    await require_fitting(unique("small"), objects(20))
    with pytest.raises(InvalidArguments, match="must be an array"):
        await require_fitting(unique("small"), {"a": 1})


@pytest.mark.parametrize(
    ("published", "arguments"),
    [
        (UNIQUE, objects(2_000)),
        (UNIQUE, {"a": ["x" * 100_000]}),
        (
            {
                "$defs": {"d": {"allOf": [{"type": ["object", "null"]}] * 3_000}},
                "$ref": "#/$defs/d",
            },
            {},
        ),
        ({"properties": {f"f{place}": {"type": "string"} for place in range(2_000)}}, {}),
    ],
)
async def test_the_loop_judges_neither_large_arguments_nor_by_large_schemas(
    monkeypatch, published, arguments
):
    threads = set()
    validate = schema.validate_arguments

    def watched(*args, **more):
        if more["steps"]._limit != schema_steps.MAX_LOOP_STEPS:
            threads.add(threading.get_ident())
        return validate(*args, **more)

    monkeypatch.setattr(schema, "validate_arguments", watched)
    one = tool("fs:write", definition_hash=str(len(repr(published))), input_schema=published)
    await require_fitting(one, arguments)
    assert threads
    assert threading.get_ident() not in threads


async def test_arguments_too_costly_to_validate_are_not_sent(monkeypatch):
    monkeypatch.setattr(schema_steps, "MAX_STEPS", 5_000)
    upstream = FakeUpstream()
    request = UpstreamRequest.to_call("fs:write", objects(5_000))
    with pytest.raises(ArgumentsTooCostly, match="pass fewer or smaller items") as refused:
        await call.call(
            request, caller=ADMIN, catalogue=catalogue(unique("costly")), upstream=upstream
        )
    assert refused.value.code == "arguments_too_costly"
    assert "more than 5,000 steps" in str(refused.value)
    assert upstream.calls == []


async def test_arguments_with_too_many_values_are_refused(monkeypatch):
    monkeypatch.setattr(argument_validation, "MAX_VALUES", 3_000)
    with pytest.raises(ArgumentsTooCostly, match="more than 3,000 values"):
        await require_fitting(tool("fs:write"), {"a": list(range(3_001))})


async def test_a_call_that_is_cancelled_ends_the_judging_of_its_arguments(monkeypatch):
    begun, ended = threading.Event(), threading.Event()
    validate = schema.validate_arguments

    def watched(*args, steps, **more):
        begun.set()
        try:
            while True:
                validate(*args, steps=steps, **more)
        finally:
            ended.set()

    monkeypatch.setattr(schema_steps, "MAX_STEPS", 10**12)
    monkeypatch.setattr(schema, "validate_arguments", watched)
    judging = asyncio.create_task(require_fitting(unique("cancelled"), objects(2_000)))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    assert await asyncio.to_thread(ended.wait, PATIENCE_S)


async def test_arguments_that_cannot_be_validated_at_once_are_validated_at_the_call():
    known = catalogue(unique("later"))
    twice = {"a": [{"id": 1}] * 3_000}
    request = UpstreamRequest.to_call("fs:write", twice)
    prepared = call.prepare(request, caller=ADMIN, catalogue=known, digest=lambda _: "digest")
    assert prepared.arguments_digest == "digest"
    with pytest.raises(InvalidArguments, match="items 0 and 1 are equal"):
        await call.call(request, caller=ADMIN, catalogue=known, upstream=FakeUpstream())


async def test_valid_arguments_are_not_validated_twice_by_the_same_definition(monkeypatch):
    judged = []
    validate = schema.validate_arguments

    def watched(*args, **more):
        judged.append(more["cache_key"])
        return validate(*args, **more)

    monkeypatch.setattr(schema, "validate_arguments", watched)
    for definition in ("once", "once", "changed", "once"):
        await require_fitting(unique(definition), objects(2_000))
    assert judged == ["once", "changed"]
    await require_fitting(unique("once"), objects(2_001))
    assert judged == ["once", "changed", "once"]
    for _ in range(2):
        with pytest.raises(InvalidArguments):
            await require_fitting(unique("once"), {"a": [1] * 2_000})
    assert judged == ["once", "changed", *["once"] * 3]
