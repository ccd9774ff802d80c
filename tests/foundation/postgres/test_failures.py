import pytest

from gateway_project.foundation.postgres import failures

PARAMETERS = {
    "host": "db.example",
    "port": "5432",
    "user": "me",
    "dbname": "tools",
    "password": "hunter2",
}


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        (
            'connection failed: connection to server at "10.0.0.1", port 5432 failed: '
            'FATAL:  password authentication failed for user "me"',
            "db.example:5432 refuses the user 'me' (password authentication failed)",
        ),
        (
            "connection failed: fe_sendauth: no password supplied",
            "db.example:5432 refuses the user 'me' (no password supplied)",
        ),
        ('FATAL:  database "tools" does not exist', "create it (`createdb tools`)"),
        ('FATAL:  role "me" does not exist', "there is no user 'me' at db.example:5432"),
        ('FATAL:  no pg_hba.conf entry for host "1.2.3.4"', "does not let the user 'me' in"),
        ('FATAL:  Peer authentication failed for user "me"', "does not let the user 'me' in"),
        (
            "failed to resolve host 'db.example': [Errno -2] Name or service not known",
            "cannot find the host of db.example:5432",
        ),
        (
            "failed: Connection refused\n\tIs the server running on that host?",
            "cannot reach PostgreSQL at db.example:5432 (Connection refused)",
        ),
        ("connection timeout expired", "(timeout expired): start it"),
        ("FATAL:  sorry, too many clients already", "has no connection to spare"),
        ('invalid connection option "foo"', "(invalid connection option): correct its options"),
        ('invalid sslmode value: "x"', "(invalid sslmode value): correct its options"),
        (
            "server does not support SSL, but SSL was required",
            "(SSL, but SSL was required): correct its options",
        ),
        ("FATAL:  the database system is starting up", "is starting up: try again"),
        ("\n  something new\nmore", "cannot use the database at db.example:5432: something new"),
        ("", "no reason was given"),
    ],
)
def test_says_in_one_line_what_to_do(driver: str, said: str) -> None:
    line = failures.explain_failure(Exception(driver), PARAMETERS)
    assert said in line
    assert "\n" not in line
    assert "hunter2" not in line


@pytest.mark.parametrize(
    ("server", "installed", "available", "said"),
    [
        (180004, "0.8.5", "0.8.5", None),
        (150000, None, "0.8.0", None),
        (180004, "1.0", None, None),
        (140019, "0.8.5", "0.8.5", "is PostgreSQL 14 and Foregate needs 15"),
        (180004, None, None, "lacks pgvector: install pgvector 0.8"),
        (180004, "0.7.4", "0.8.1", "ALTER EXTENSION vector UPDATE` in it (version 0.8.1"),
        (180004, "0.7.4", "0.7.4", "pgvector 0.7.4 of the database server is too old"),
        (180004, "0.7.4", None, "pgvector 0.7.4 of the database server is too old"),
        (180004, None, "0.5.1", "pgvector 0.5.1 of the database server is too old"),
    ],
)
def test_a_server_must_be_recent_and_have_a_recent_pgvector(
    server: int, installed: str | None, available: str | None, said: str | None
) -> None:
    reason = failures.explain_unsuitable(server, installed, available)
    assert reason is None if said is None else said in (reason or "")
