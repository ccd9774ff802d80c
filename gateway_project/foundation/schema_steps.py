"""A budget of counted steps for one validation: the same on every machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from gateway_project.foundation import abandonment

MAX_STEPS = 1_000_000
"""Steps of one validation; a step is some 4 µs of processor time."""
MAX_LOOP_STEPS: Final = 2_000
"""Steps allowed on the event loop: some 8 ms. Longer validations run on a validation thread."""
MAX_SECONDS: Final = 10.0
"""Processor time of one validation, however few steps it counts; legitimate ones take far less."""
MAX_LOOP_SECONDS: Final = 0.02
"""Processor time allowed on the event loop; what takes more is repeated on a validation thread."""
_CHECK_EVERY: Final = 16
"""Calls of `spend` between two checks of the clock and of abandonment."""


class StepBudgetExceeded(Exception):
    """A validation takes more steps or processor time than its budget allows.

    Attributes:
        limit: The budget in steps.
        bound: The limit that was exceeded, in words.
    """

    def __init__(self, limit: int, *, bound: str = "") -> None:
        self.limit = limit
        self.bound = bound or f"{limit:,} steps"
        super().__init__(f"validating it takes more than {self.bound}")


class ValidationAbandoned(Exception):
    """The caller no longer waits for the validation."""


class StepBudget:
    """Counts the steps of one validation, or of several that share a budget.

    Args:
        limit: Maximum number of steps; None: `MAX_STEPS`.
        seconds: Maximum processor time, in case a schema causes work that no steps are charged
            for.
        is_abandoned: Whether the work may stop because nobody waits for it; checked periodically.
        clock: Returns the processor time of the current thread, in seconds.

    Attributes:
        spent: Steps taken so far.

    Example:
        >>> steps = StepBudget(10)
        >>> steps.spend(10)
        >>> steps.spend()
        Traceback (most recent call last):
        ...
        gateway_project.foundation.schema_steps.StepBudgetExceeded: validating it takes more than \
10 steps
    """

    def __init__(
        self,
        limit: int | None = None,
        *,
        seconds: float = MAX_SECONDS,
        is_abandoned: Callable[[], bool] = abandonment.is_abandoned,
        clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._limit = MAX_STEPS if limit is None else limit
        self._seconds = seconds
        self._is_abandoned = is_abandoned
        self._clock = clock
        self._until_check = _CHECK_EVERY
        self._deadline: float | None = None
        self.spent = 0

    def spend(self, count: int = 1) -> None:
        """Charge steps to the budget.

        Raises:
            StepBudgetExceeded: If the budget of steps or of time is exceeded.
            ValidationAbandoned: If the caller no longer waits.
        """
        self.spent += count
        if self.spent > self._limit:
            raise StepBudgetExceeded(self._limit)
        self._until_check -= 1
        if self._until_check <= 0:
            self._until_check = _CHECK_EVERY
            self._check_limits()

    @contextmanager
    def limit_time(self) -> Iterator[None]:
        """Charge the processor time that this thread spends in the block to the budget."""
        self._deadline = self._clock() + self._seconds
        try:
            yield
        finally:
            self._seconds = self._deadline - self._clock()
            self._deadline = None

    def _check_limits(self) -> None:
        if self._is_abandoned():
            raise ValidationAbandoned
        if self._deadline is not None and self._clock() > self._deadline:
            raise StepBudgetExceeded(self._limit, bound="the processor time allowed for it")
