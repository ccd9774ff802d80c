"""How far a run has come, event by event."""

import asyncio
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from execution import events
from execution.changes import WHOLE_TASK, RunEvent
from execution.process.progress_relay import ProgressReport
from execution.status import TaskStatus
from gateway_project.mcp import run_progress
from gateway_project.mcp.run_progress import RunProgress
from tests.gateway.conftest import ADMIN
from tests.gateway.fake_runs import FakeRuns
from tests.gateway.run_views import RUN, task, view
from tests.patience import PATIENCE_S

AT = datetime(2026, 3, 1, tzinfo=UTC)
KINDS = sorted(value for name, value in vars(events).items() if name.isupper())
happened = st.builds(
    RunEvent,
    seq=st.just(1),
    kind=st.sampled_from(KINDS),
    at=st.just(AT),
    task=st.sampled_from(["", "a", "b", "c"]),
    item=st.sampled_from([WHOLE_TASK, 0, 1]),
    data=st.just({}),
)


said = st.builds(
    ProgressReport,
    task=st.sampled_from(["a", "b", "c"]),
    item=st.sampled_from([WHOLE_TASK, 0, 1]),
    progress=st.floats(allow_nan=False, allow_infinity=False),
    total=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    message=st.text(max_size=5),
)


@given(st.lists(happened | said, max_size=200))
def test_reports_never_go_back_nor_beyond_the_end(drawn):
    course, last = RunProgress(tasks=3), 0.0
    for news in drawn:
        told = (
            course.apply_event(news) if isinstance(news, RunEvent) else course.apply_report(news)
        )
        if told is not None:
            assert last < told[0] <= 3
            last = told[0]


def test_items_are_reported_by_index_and_do_not_end_their_task():
    course = RunProgress(tasks=1)
    event = RunEvent(seq=1, kind="task_succeeded", at=AT, task="a", item=4)
    assert course.apply_event(event) == (0.5, "a[4] succeeded (0 of 1 done)")


def test_progress_of_a_running_run_starts_at_its_current_count():
    course = run_progress.resume_progress(
        view(
            task("a", span=(0, 1)),
            task("b", TaskStatus.RUNNING, span=(0, None)),
            task("b", item=0, span=(0, 1)),
            task("c", TaskStatus.PENDING),
        )
    )
    event = RunEvent(seq=9, kind="task_succeeded", at=AT, task="b")
    assert course.apply_event(event) == (2.0, "b succeeded (2 of 3 done)")


def test_server_progress_is_relayed_without_hidden_characters():
    course = RunProgress(tasks=2)
    report = ProgressReport(
        task="a", item=WHOLE_TASK, progress=1, total=2, message="page\u202e 1\x07"
    )
    assert course.apply_report(report) == (0.75, "a: page 1 (0 of 2 done)")
    told = course.apply_report(ProgressReport(task="a", item=WHOLE_TASK, progress=1.5, total=2))
    assert told == (0.875, "a: 1.5 of 2 (0 of 2 done)")
    assert "a[3]: 7 (0 of 2 done)" in course.apply_report(
        ProgressReport(task="a", item=3, progress=7)
    )


def test_the_end_of_a_task_is_reported_regardless_of_server_progress():
    course = RunProgress(tasks=1)
    course.apply_report(ProgressReport(task="a", item=WHOLE_TASK, progress=9, total=3))
    ended = RunEvent(seq=1, kind="task_succeeded", at=AT, task="a")
    assert course.apply_event(ended) == (1.0, "a succeeded (1 of 1 done)")
    assert (
        course.apply_report(ProgressReport(task="a", item=WHOLE_TASK, progress=3, total=3)) is None
    )


async def test_server_progress_is_interleaved_with_events():
    runs, told = FakeRuns(), []
    runs.known = view(task("a", TaskStatus.PENDING))
    runs.reported = [
        ProgressReport(task="a", item=WHOLE_TASK, progress=1, total=2, message="half")
    ]
    runs.events = [RunEvent(seq=2, kind="task_succeeded", at=AT, task="a")]

    async def progress(done, total, message):
        told.append((done, total, message))

    async with asyncio.timeout(PATIENCE_S), run_progress.make_watcher(runs, ADMIN, progress)(RUN):
        pass
    assert told == [(0.75, 1.0, "a: half (0 of 1 done)"), (1.0, 1.0, "a succeeded (1 of 1 done)")]


async def test_a_progress_failure_does_not_lose_the_answer():
    runs = FakeRuns()
    runs.known = view(task("a", TaskStatus.PENDING))
    runs.events = [RunEvent(seq=2, kind="task_started", at=AT, task="a")]

    async def gone(*_):
        raise ConnectionError("the client went away")

    async with asyncio.timeout(PATIENCE_S), run_progress.make_watcher(runs, ADMIN, gone)(RUN):
        await asyncio.sleep(0)
