from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.postgres.address import parse_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://h/db", {"dbname": "db", "host": "h"}),
        (
            "postgres://m%40e:p%2F%23%3F%40ss@h:6000/d%20b",
            {"dbname": "d b", "user": "m@e", "password": "p/#?@ss", "host": "h", "port": "6000"},
        ),
        ("postgres:///db?host=/run/pg", {"dbname": "db", "host": "/run/pg"}),
        (
            "postgres://h?dbname=db&password=a%26b+c&port=1",
            {"dbname": "db", "password": "a&b+c", "host": "h", "port": "1"},
        ),
        ("postgres://[::1]:5433/db", {"dbname": "db", "host": "::1", "port": "5433"}),
        ("postgres://a:1,b:2/db", {"dbname": "db", "host": "a,b", "port": "1,2"}),
        (" postgres://h/db\n", {"dbname": "db", "host": "h"}),
        (
            "postgresql://h/db?sslmode=require",
            {"dbname": "db", "host": "h", "sslmode": "require"},
        ),
    ],
)
def test_parses_addresses_as_libpq_does(url: str, expected: dict[str, str]) -> None:
    assert parse_url(url) == expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://h/db", "must look like"),
        ("h/db", "must look like"),
        ("postgres://h", "names no database"),
        ("postgres://h/", "names no database"),
        ("postgres://h:port/db", "a port"),
        ("postgres://h:70000/db", "a port"),
        ("postgres://h:٣/db", "a port"),
        ("postgres://[::1/db", "must look like"),
        ("postgres://[::1]x/db", "must look like"),
        ("postgres://[::1],[::2]x/db", "must look like"),
        ("postgres://me:a/b@h/db", "write %23"),
        ("postgres://h/db?sslmode", "must look like"),
        ("postgres://h/db?pool=1", "does not know: pool"),
        ("postgres://h/db?ssl-mode=x", "does not know: ssl-mode"),
        ("postgres://h/db?client_encoding=x", "sets itself"),
    ],
)
def test_an_invalid_address_is_explained_in_one_clause(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        parse_url(url)
    assert "\n" not in str(caught.value)


TEXTS = st.text(st.characters(blacklist_characters="\0", codec="utf-8"), min_size=1)


@given(user=TEXTS, password=TEXTS)
def test_undoes_percent_encoding(user: str, password: str) -> None:
    found = parse_url(f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@h/db")
    assert (found["user"], found["password"]) == (user, password)


@given(st.text())
def test_errors_are_of_one_type_and_never_contain_the_password(text: str) -> None:
    said = ""
    try:
        parse_url(f"postgres://me:hunter2hunter2@{text}")
    except ValueError as error:
        said = str(error)
    assert "hunter2" not in said
