from execution.process.peer_silence import PeerSilence, PeerVisibility


def test_who_gives_the_same_sign_for_long_is_silent_and_no_longer_once_it_changes():
    silence = PeerSilence(after_s=10)
    assert silence.find_silent({"a": 1, "b": 1}, now=0) == set()
    assert silence.find_silent({"a": 1, "b": 2}, now=11) == {"a"}
    assert silence.find_silent({"a": 2, "b": 2}, now=12) == set()


def test_who_was_gone_and_is_there_again_is_looked_at_anew():
    silence = PeerSilence(after_s=10)
    silence.find_silent({"a": 1}, now=0)
    silence.find_silent({}, now=5)
    assert silence.find_silent({"a": 1}, now=15) == set()


def test_what_is_forgotten_counts_for_nothing():
    silence = PeerSilence(after_s=10)
    silence.find_silent({"a": 1}, now=0)
    silence.reset()
    assert silence.find_silent({"a": 1}, now=11) == set()
    assert silence.find_silent({"a": 1}, now=22) == {"a"}


def test_who_could_not_look_for_long_gives_others_time_to_be_seen():
    sight = PeerVisibility(gap_s=10, spare_s=15)
    found = [sight.record_look(now=now) for now in (100, 110, 121, 122, 130, 136)]
    assert found == [True, True, False, False, False, True]


def test_where_each_look_takes_long_some_tell_who_is_gone():
    sight = PeerVisibility(gap_s=10, spare_s=15)
    assert [sight.record_look(now=now) for now in range(0, 72, 12)] == [
        True,
        False,
        False,
        True,
    ] + [False] * 2
