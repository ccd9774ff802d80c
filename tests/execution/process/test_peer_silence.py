from execution.process.run_claimer import PeerSilence, PeerVisibility


def test_a_peer_with_an_unchanged_heartbeat_is_silent_until_it_changes():
    silence = PeerSilence(after_s=10)
    assert silence.find_silent({"a": 1, "b": 1}, now=0) == set()
    assert silence.find_silent({"a": 1, "b": 2}, now=11) == {"a"}
    assert silence.find_silent({"a": 2, "b": 2}, now=12) == set()


def test_a_peer_that_reappears_is_observed_afresh():
    silence = PeerSilence(after_s=10)
    silence.find_silent({"a": 1}, now=0)
    silence.find_silent({}, now=5)
    assert silence.find_silent({"a": 1}, now=15) == set()


def test_a_forgotten_peer_has_no_effect():
    silence = PeerSilence(after_s=10)
    silence.find_silent({"a": 1}, now=0)
    silence.reset()
    assert silence.find_silent({"a": 1}, now=11) == set()
    assert silence.find_silent({"a": 1}, now=22) == {"a"}


def test_an_observer_that_was_away_gives_peers_time():
    sight = PeerVisibility(gap_s=10, spare_s=15)
    found = [sight.record_look(now=now) for now in (100, 110, 121, 122, 130, 136)]
    assert found == [True, True, False, False, False, True]
