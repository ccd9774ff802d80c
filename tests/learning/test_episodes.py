import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph.relations import MIN_OBSERVED_RUNS
from learning import episodes
from learning.episodes import Episode, EpisodeBuilder, group_calls
from tests.learning.session_calls import PKS, call, common, passed, search, taken


def grouped(calls, statements=()):
    """Return the numbers of the calls of each episode."""
    return [[one.number for one in found.calls] for found in group_calls(calls, statements)]


def only(calls, statements=()):
    (episode,) = group_calls(calls, statements)
    return episode


def test_a_value_from_a_result_joins_calls_to_two_servers():
    episode = only([call(0, "s:a"), call(1, "other:x", taken("/id", 0))])
    assert episode.certainty == episodes.MAX_CERTAINTY


def test_a_value_from_a_result_joins_calls_with_others_between_and_after_a_pause():
    calls = [call(0, "s:a"), call(1, "other:x"), call(2, "s:b", taken("/id", 0), at=300.0)]
    assert grouped(calls) == [[0, 2], [1]]


def test_calls_that_only_follow_one_another_are_episodes_of_their_own():
    assert grouped([call(0, "s:a"), call(1, "s:b"), call(2, "other:x")]) == [[0], [1], [2]]


def test_a_search_that_found_both_tools_joins_their_calls():
    calls = [call(1, "s:a"), call(2, "s:b")]
    assert grouped(calls, [search("a and b", "s:a", "s:b")]) == [[1, 2]]
    assert grouped(calls, [search("a", "s:a"), search("b", "s:b", at=15.0)]) == [[1], [2]]


def test_a_tool_that_the_search_did_not_find_is_less_certain():
    calls = [call(1, "s:a"), call(2, "s:b")]
    found = only(calls, [search("a and b", "s:a", "s:b")]).certainty
    guessed = only(calls, [search("a and b", "s:a")]).certainty
    assert episodes.MIN_LINK < guessed < found < episodes.MAX_CERTAINTY


def test_calls_that_pass_the_same_value_belong_together():
    assert grouped([call(0, "s:a"), call(1, "s:b", passed("/path", 0))]) == [[0, 1]]


def test_a_value_that_may_be_equal_by_chance_says_less():
    sure = only([call(0, "s:a"), call(1, "s:b", taken("/id", 0))]).certainty
    less = only([call(0, "s:a"), call(1, "s:b", common("/date", 0))]).certainty
    assert less < sure
    assert grouped([call(0, "s:a"), call(1, "s:b", common("/date", 0), at=300.0)]) == [[0], [1]]


def test_a_failure_between_calls_and_a_pause_make_it_less_certain():
    statements = [search("a and b", "s:a", "s:b")]
    sure = only([call(1, "s:a"), call(2, "s:b")], statements).certainty
    failed = only([call(1, "s:a", succeeded=False), call(2, "s:b")], statements).certainty
    late = only([call(1, "s:a"), call(2, "s:b", at=100.0)], statements).certainty
    assert max(failed, late) < sure
    assert grouped([call(1, "s:a"), call(2, "s:b", at=400.0)], statements) == [[1, 2]]


def test_an_episode_is_as_certain_as_its_weakest_necessary_link():
    calls = [call(1, "s:a"), call(2, "s:b", taken("/id", 1)), call(3, "s:c", passed("/x", 2))]
    weakest = only(calls[1:]).certainty
    assert only(calls).certainty == weakest < only(calls[:2]).certainty


def test_searches_that_found_the_calls_say_what_they_were_for():
    statements = [
        search("find the user", "s:a"),
        search("what is this", "other:x", at=12.0),
        search("list the orders", "s:b", at=15.0),
    ]
    episode = only([call(1, "s:a"), call(2, "s:b", taken("/id", 1))], statements)
    assert episode.intent == "find the user; list the orders"


def test_searches_that_found_too_few_of_the_calls_do_not_say_what_they_were_for():
    calls = [call(1, "s:a"), *(call(n, "s:b", taken("/id", n - 1)) for n in (2, 3))]
    assert only(calls, [search("find the user", "s:a")]).intent == ""


def test_an_intent_states_the_whole_task():
    calls = [call(1, "s:a"), *(call(n, "s:b", taken("/id", n - 1)) for n in (2, 3))]
    statements = [search("refund the user", "s:a", is_intent=True), search("a", "s:a", at=5.0)]
    assert only(calls, statements[:1]).intent == "refund the user"
    assert only(calls, [statements[1], statements[0]]).intent == "refund the user"


def test_a_call_is_traced_to_the_last_search_that_found_its_tool():
    statements = [search("a", "s:a"), search("b", "s:b", at=5.0)]
    assert only([call(1, "s:a")], statements).intent == "a"


numbers = st.integers(0, 5)
some_calls = st.lists(
    st.tuples(st.sampled_from(sorted(PKS)), st.lists(st.tuples(numbers, st.booleans()))),
    max_size=6,
).map(
    lambda drawn: [
        call(
            number,
            tool,
            *(
                taken("/p", earlier) if is_result else passed("/p", earlier)
                for earlier, is_result in sources
                if earlier < number
            ),
        )
        for number, (tool, sources) in enumerate(drawn)
    ]
)


@given(some_calls)
def test_each_call_belongs_to_one_episode_of_less_certainty_than_a_run(calls):
    found = group_calls(calls, [search("all", *PKS)])
    assert sorted(one.number for episode in found for one in episode.calls) == list(
        range(len(calls))
    )
    assert all(0 < episode.certainty < MIN_OBSERVED_RUNS for episode in found)
    assert all(
        list(episode.calls) == sorted(episode.calls, key=lambda one: one.number)
        for episode in found
    )


@given(some_calls)
def test_an_episode_survives_its_stored_form(calls):
    for episode in group_calls(calls, [search("all", *PKS)]):
        assert Episode.from_json(json.loads(json.dumps(episode.to_json()))) == episode


def test_a_pause_or_many_calls_end_what_is_grouped():
    builder = EpisodeBuilder()
    assert builder.close() == ()
    builder.add_statement(search("a", "s:a"))
    builder.add_call(call(1, "s:a"))
    assert not builder.is_over(20.0)
    assert builder.is_over(21.0 + episodes.IDLE_S + 1)
    for number in range(2, episodes.MAX_CALLS + 1):
        builder.add_call(call(number, "s:a", at=10.0))
    assert builder.is_over(20.0)
    assert len(builder.close()) == 1
    assert builder.close() == ()


def test_unstated_single_calls_of_a_tool_are_one_episode():
    builder = EpisodeBuilder()
    for made in (call(1, "s:a"), call(2, "other:x"), call(3, "s:a"), call(4, "other:x")):
        builder.add_call(made)
    found = builder.close()
    assert [[one.number for one in episode.calls] for episode in found] == [[1, 3], [2, 4]]
    assert [episode.certainty for episode in found] == [episodes.MAX_CERTAINTY] * 2


def test_single_calls_for_two_searches_stay_apart():
    builder = EpisodeBuilder()
    for number, text in ((1, "a"), (2, "b")):
        builder.add_statement(search(text, "s:a", at=10.0 * number))
        builder.add_call(call(number, "s:a", at=10.0 * number + 1))
    assert [episode.intent for episode in builder.close()] == ["a", "b"]


def repeated(pauses_s):
    """Return the certainties of the same two calls, made again after each pause."""
    builder, at, found = EpisodeBuilder(), 0.0, []
    for number, pause_s in enumerate(pauses_s):
        at += pause_s
        builder.add_call(call(2 * number, "s:a", at=at))
        builder.add_call(call(2 * number + 1, "s:b", taken("/id", 2 * number), at=at + 2))
        (episode,) = builder.close()
        found.append(episode.certainty)
    return found


def test_repetitions_in_one_session_never_amount_to_a_run():
    certainties = repeated([60.0] * 50)
    assert certainties[0] == episodes.MAX_CERTAINTY
    assert sum(certainties) < MIN_OBSERVED_RUNS


def test_a_repetition_after_hours_is_independent():
    assert repeated([0.0, episodes.INDEPENDENT_S + 60]) == [episodes.MAX_CERTAINTY] * 2


def close_pair(builder, second, *, at):
    builder.add_call(call(2, "s:a", at=at))
    builder.add_call(replace(call(3, "s:b", taken("/id", 2), at=at + 2), tool=second))
    (episode,) = builder.close()
    return episode.certainty


def test_a_flood_of_other_tools_does_not_make_a_repetition_look_new(monkeypatch):
    monkeypatch.setattr(episodes, "MAX_TAUGHT", 3)
    builder = EpisodeBuilder()
    found = [close_pair(builder, f"s:{n}", at=10.0 * n) for n in range(8)]
    assert len(builder._taught) <= episodes.MAX_TAUGHT + 1
    assert found[3] == episodes.MAX_CERTAINTY
    assert found[4:] == [episodes.MAX_CERTAINTY * episodes.REPEAT_SHARE] * 4
    later = 200.0 + episodes.INDEPENDENT_S
    assert close_pair(builder, "s:0", at=later) == episodes.MAX_CERTAINTY
    assert len(builder._taught) == 1


def test_a_variation_that_repeats_two_of_its_tools_is_a_repetition():
    builder = EpisodeBuilder()
    builder.add_call(call(0, "s:a"))
    builder.add_call(call(1, "s:b", taken("/id", 0)))
    builder.close()
    builder.add_call(call(2, "s:a"))
    builder.add_call(call(3, "s:b", taken("/id", 2)))
    builder.add_call(call(4, "s:c", taken("/id", 3)))
    (episode,) = builder.close()
    assert episode.certainty == episodes.MAX_CERTAINTY * episodes.REPEAT_SHARE
