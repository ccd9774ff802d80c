from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_project.foundation.postgres.url import Address, parse


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgres://h/db", Address(name="db", host="h")),
        (
            "postgresql://me:s3cret@db.example:6000/tools",
            Address(name="tools", user="me", password="s3cret", host="db.example", port="6000"),
        ),
        (
            "postgres://m%40e:p%2F%23%3F%40ss@h/d%20b",
            Address(name="d b", user="m@e", password="p/#?@ss", host="h"),
        ),
        ("postgres://me@h/db", Address(name="db", user="me", host="h")),
        ("postgres://me:a@b@h/db", Address(name="db", user="me", password="a@b", host="h")),
        ("postgres:///db", Address(name="db")),
        ("postgres:///db?host=/run/pg", Address(name="db", host="/run/pg")),
        ("postgres://%2Frun%2Fpg/db", Address(name="db", host="/run/pg")),
        (
            "postgres://h?dbname=db&user=u&password=a%26b+c&port=1",
            Address(name="db", user="u", password="a&b+c", host="h", port="1"),
        ),
        ("postgres://[::1]:5433/db", Address(name="db", host="::1", port="5433")),
        ("postgres://[::1]/db", Address(name="db", host="::1")),
        ("postgres://a:1,b:2/db", Address(name="db", host="a,b", port="1,2")),
        (" postgres://h/db\n", Address(name="db", host="h")),
        (
            "postgres://h/db?sslmode=require&connect_timeout=3",
            Address(name="db", host="h", options={"sslmode": "require", "connect_timeout": "3"}),
        ),
    ],
)
def test_takes_an_address_apart_as_libpq_does(url: str, expected: Address) -> None:
    assert parse(url) == expected


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
def test_says_in_one_clause_what_is_wrong_with_an_address(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        parse(url)
    assert "\n" not in str(caught.value)


@given(user=st.text(min_size=1), password=st.text(), name=st.text(min_size=1))
def test_undoes_percent_encoding_in_every_part(user: str, password: str, name: str) -> None:
    found = parse(
        f"postgresql://{quote(user, safe='')}:{quote(password, safe='')}@h/{quote(name, safe='')}"
    )
    assert (found.user, found.password, found.name) == (user, password, name)


@given(st.text())
def test_fails_in_no_other_way_and_never_repeats_the_password(text: str) -> None:
    said = ""
    try:
        parse(f"postgres://me:hunter2hunter2@{text}")
    except ValueError as error:
        said = str(error)
    assert "hunter2" not in said
