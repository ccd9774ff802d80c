from execution.process.silence import Silence


def test_who_gives_the_same_sign_for_long_is_silent_and_no_longer_once_it_changes():
    silence = Silence(after_s=10)
    assert silence.silent({"a": 1, "b": 1}, now=0) == set()
    assert silence.silent({"a": 1, "b": 2}, now=11) == {"a"}
    assert silence.silent({"a": 2, "b": 2}, now=12) == set()


def test_who_was_gone_and_is_there_again_is_looked_at_anew():
    silence = Silence(after_s=10)
    silence.silent({"a": 1}, now=0)
    silence.silent({}, now=5)
    assert silence.silent({"a": 1}, now=15) == set()
