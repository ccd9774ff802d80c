"""When calls were under way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution.status import TaskStatus
from gateway_project.runs import timeline as run_timeline
from gateway_project.runs.timeline import Timeline, TimelineSpan
from tests.gateway.run_views import task, view


def test_time_is_counted_from_the_first_start():
    drawn = run_timeline.build_timeline(
        view(task("a", span=(100, 300)), task("b", span=(120, 320)), task("c", span=(320, 420)))
    )
    assert [(span.start_ms, span.end_ms) for span in drawn.spans] == [
        (0, 200),
        (20, 220),
        (220, 320),
    ]
    assert (drawn.elapsed_ms, drawn.sequential_ms) == (320, 500)
    assert drawn.speed_up == pytest.approx(500 / 320)


def test_unstarted_calls_have_no_bar_and_calls_in_progress_end_now():
    shown = view(task("a", TaskStatus.RUNNING, span=(0, None)), task("b", TaskStatus.PENDING))
    (span,) = run_timeline.build_timeline(shown).spans
    assert (span.task, span.end_ms) == ("a", 1_000)


def test_a_for_each_task_is_shown_by_its_items():
    shown = view(task("a", span=(0, 50)), *(task("a", item=n, span=(0, 50)) for n in (0, 1)))
    drawn = run_timeline.build_timeline(shown)
    assert [span.label for span in drawn.spans] == ["a[0]", "a[1]"]
    assert drawn.speed_up == 2


def test_nothing_called_is_no_faster_than_anything():
    drawn = run_timeline.build_timeline(view(task("a", TaskStatus.SKIPPED)))
    assert (drawn.speed_up, drawn.elapsed_ms) == (1, 0)


def test_a_timeline_round_trips_through_json():
    drawn = run_timeline.build_timeline(
        view(task("a", span=(0, 40)), task("b", item=3, span=(10, 20)))
    )
    assert run_timeline.timeline_from_json(drawn.as_json()) == drawn


def test_the_first_of_many_calls_are_listed_and_the_rest_counted():
    many = [task("a", item=number, span=(0, 10)) for number in range(203)]
    told = run_timeline.build_timeline(view(task("a"), *many)).as_json()
    assert (len(told["calls"]), told["more_calls"], told["sequential_ms"]) == (200, 3, 2_030)
    assert "more_calls" not in run_timeline.build_timeline(view(task("a"), *many[:200])).as_json()


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=20),
    st.integers(1, 200),
)
def test_a_bar_fits_its_line_and_is_always_visible(times, width):
    spans = tuple(
        TimelineSpan(task="a", tool="s:a", status="succeeded", start_ms=start, end_ms=start + took)
        for start, took in times
    )
    whole_ms = Timeline(spans=spans).elapsed_ms
    for span in spans:
        drawn = run_timeline.draw_bar(span, whole_ms=whole_ms, width=width)
        assert len(drawn) <= width
        assert drawn.strip()


def test_a_call_with_unknown_outcome_is_in_no_sum():
    lost = task("c", TaskStatus.UNKNOWN, span=(0, 90_000))
    drawn = run_timeline.build_timeline(
        view(task("a", span=(0, 40)), task("b", span=(0, 40)), lost)
    )
    assert (drawn.sequential_ms, drawn.busy_ms, drawn.speed_up) == (80, 40, 2)
    assert [span.task for span in drawn.spans] == ["a", "b", "c"]
