import pytest

from gateway_project.foundation.shares import Bound, Shares


def fill(shares: Shares, *holders: str) -> None:
    """Have holders take in turns until none gets any more."""
    while sum(shares.take(holder) for holder in holders):
        pass


@pytest.mark.parametrize("holders", [1, 2, 6, 20])
def test_however_many_take_all_they_can_something_is_left_for_a_later_one(holders):
    shares = Shares(Bound(total=1_500, each=1_500))
    fill(shares, *map(str, range(holders)))
    assert len(shares) == pytest.approx(1_500 * holders / (holders + 4), abs=holders)
    assert shares.take("late")


def test_holders_that_take_all_they_can_have_equally_much():
    shares = Shares(Bound(total=1_000, each=1_000))
    fill(shares, "first")
    fill(shares, "first", "second", "third")
    for _ in range(300):  # places that become free go to those with fewer
        shares.give_back("first")
        fill(shares, "second", "third", "first")
    held = [shares.count_of(name) for name in ("first", "second", "third")]
    assert max(held) - min(held) <= 1


def test_a_holder_has_at_most_its_limit():
    shares = Shares(Bound(total=1_000, each=3))
    fill(shares, "one")
    assert shares.count_of("one") == 3


def test_the_last_place_is_taken_by_whoever_has_none():
    shares = Shares(Bound(total=3, each=3))
    assert [shares.take(name) for name in "aaabcd"] == [True, False, False, True, True, False]


def test_the_privileged_get_what_is_left_for_others():
    shares = Shares(Bound(total=10, each=8))
    fill(shares, "one")
    assert all(shares.take("root", is_privileged=True) for _ in range(8))
    assert len(shares) == 10
    assert not shares.take("root", is_privileged=True)


def test_amounts_are_taken_whole_and_given_back():
    shares = Shares(Bound(total=100, each=60, fraction=0.5))
    assert shares.take("one", 40)
    assert not shares.take("one", 10)
    assert shares.take("two", 30)
    shares.give_back("one", 40)
    assert (shares.count_of("one"), len(shares)) == (0, 30)
    assert shares.take("one", 35)
