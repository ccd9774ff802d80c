"""Refresh the graph and fit models in a separate process, so that no gateway waits for it.

`python -m graph DATABASE` prints nothing; it exits with `BUSY_EXIT_CODE` if another one runs.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

BUSY_EXIT_CODE = 75
PROCESS_NICENESS = 19


def main(database: str) -> int:
    """Refresh and fit what is due in a database of the configured server; return the exit code."""
    os.nice(PROCESS_NICENESS)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # leave the other cores to the gateway
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway_project.settings.base")
    import django  # noqa: PLC0415 - after the settings are named

    django.setup()
    from django.conf import settings  # noqa: PLC0415 - after Django is set up
    from django.db import connection  # noqa: PLC0415 - likewise

    from gateway_project.foundation import telemetry  # noqa: PLC0415 - likewise
    from graph import fit_models, refresh  # noqa: PLC0415 - likewise

    telemetry.configure_logging(settings.FOREGATE, process="graph", quiet=True)
    connection.settings_dict["NAME"] = database
    now = datetime.now(UTC)
    is_busy = refresh.refresh_graph(now=now, wait_s=0.0).is_busy
    fit_settings = fit_models.load_settings(settings.FOREGATE)
    if fit_settings is not None:
        outcome = fit_models.fit_due_scopes(
            fit_settings, now=now, stop_s=fit_models.BACKGROUND_TIMEOUT_S
        )
        is_busy |= outcome is None
    return BUSY_EXIT_CODE if is_busy else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
