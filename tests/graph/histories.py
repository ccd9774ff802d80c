"""Past runs for tests."""

from datetime import UTC, datetime, timedelta

from graph.patterns import PastRun, RunTask

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def task(name, tool, *after, **arguments):
    """Return a task of a tool, after others, called with arguments."""
    return RunTask(id=name, tool=tool, arguments=arguments, depends_on=after)


def taken(giver, pointer=""):
    """Return a reference to another task's result."""
    return {"$ref": giver, "pointer": pointer}


def run(key, intent, *tasks, succeeded=True, days_ago=0.0):
    """Return a finished run."""
    at = NOW - timedelta(days=days_ago)
    return PastRun(key=key, intent=intent, tasks=tasks, succeeded=succeeded, at=at)
