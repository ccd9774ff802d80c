from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.postgres.url import DatabaseAddress, parse_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://h/db", DatabaseAddress(name="db", host="h")),
        (
            "postgresql://me:s3cret@db.example:6000/tools",
            DatabaseAddress(
                name="tools", user="me", password="s3cret", host="db.example", port="6000"
            ),
        ),
        (
            "postgres://m%40e:p%2F%23%3F%40ss@h/d%20b",
            DatabaseAddress(name="d b", user="m@e", password="p/#?@ss", host="h"),
        ),
        ("postgres://me@h/db", DatabaseAddress(name="db", user="me", host="h")),
        (
            "postgres://me:a@b@h/db",
            DatabaseAddress(name="db", user="me", password="a@b", host="h"),
        ),
        ("postgres:///db", DatabaseAddress(name="db")),
        ("postgres:///db?host=/run/pg", DatabaseAddress(name="db", host="/run/pg")),
        ("postgres://%2Frun%2Fpg/db", DatabaseAddress(name="db", host="/run/pg")),
        (
            "postgres://h?dbname=db&user=u&password=a%26b+c&port=1",
            DatabaseAddress(name="db", user="u", password="a&b+c", host="h", port="1"),
        ),
        ("postgres://[::1]:5433/db", DatabaseAddress(name="db", host="::1", port="5433")),
        ("postgres://[::1]/db", DatabaseAddress(name="db", host="::1")),
        ("postgres://a:1,b:2/db", DatabaseAddress(name="db", host="a,b", port="1,2")),
        (" postgres://h/db\n", DatabaseAddress(name="db", host="h")),
        (
            "postgres://h/db?sslmode=require&connect_timeout=3",
            DatabaseAddress(
                name="db", host="h", options={"sslmode": "require", "connect_timeout": "3"}
            ),
        ),
    ],
)
def test_parses_addresses_as_libpq_does(url: str, expected: DatabaseAddress) -> None:
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
        ("postgres://[::1/db", "IPv6"),
        ("postgres://[::1]x/db", "IPv6"),
        ("postgres://[::1],[::2]x/db", "IPv6"),
        ("postgres://me:a#b@h/db", "write %23"),
        ("postgres://me:a/b@h/db", "write %23"),
        ("postgres://h/db?sslmode", "options that are not"),
        ("postgres://h/db?pool=1", "does not know: pool"),
        ("postgres://h/db?ssl-mode=x", "does not know: ssl-mode"),
    ],
)
def test_an_invalid_address_is_explained_in_one_clause(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        parse_url(url)
    assert "\n" not in str(caught.value)


@given(user=st.text(min_size=1), password=st.text(), name=st.text(min_size=1))
def test_undoes_percent_encoding_in_every_part(user: str, password: str, name: str) -> None:
    found = parse_url(
        f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@h/{quote(name, safe='')}"
    )
    assert (found.user, found.password, found.name) == (user, password, name)


@given(st.text())
def test_errors_are_of_one_type_and_never_contain_the_password(text: str) -> None:
    said = ""
    try:
        parse_url(f"postgres://me:hunter2hunter2@{text}")
    except ValueError as error:
        said = str(error)
    assert "hunter2" not in said
