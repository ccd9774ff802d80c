import pytest

from graph.data_flow import phrases
from graph.data_flow.vocabulary import ActionKind


def read(name, says="", server="server"):
    deed = phrases.read_action(name, says, server)
    return deed.action, [" ".join((*term.thing, term.attribute)).strip() for term in deed.terms]


@pytest.mark.parametrize(
    ("name", "says", "act", "thing"),
    [
        ("search_airports", "", ActionKind.SEARCH, "airport"),
        ("SkyScrapperSearchAirport", "", ActionKind.SEARCH, "airport"),
        ("package_search", "", ActionKind.SEARCH, "package"),
        ("trial_getter", "", ActionKind.GET, "trial"),
        ("Get_Artist_ID_By_Name", "", ActionKind.GET, "artist id"),
        ("get_all_orders", "", ActionKind.SEARCH, "order"),
        ("get_users_by_team", "", ActionKind.SEARCH, "user"),
        ("get_user_details", "", ActionKind.GET, "user"),
        ("create_calendar_event", "", ActionKind.MAKE, "calendar event"),
        ("resolve-library-id", "", ActionKind.SEARCH, "library id"),
        ("resolve_ticket", "", ActionKind.TAKE, "ticket"),
        ("book_hotel", "", ActionKind.TAKE, "hotel"),
        ("search_books", "", ActionKind.SEARCH, "book"),
        ("businesses", "Search for local businesses near you.", ActionKind.SEARCH, "business"),
        (
            "reader",
            "Returns the list of accounts followed by a user.",
            ActionKind.GET,
            "account followed",
        ),
        ("x", "This tool allows you to find hotels in a city.", ActionKind.SEARCH, "hotel"),
        (
            "x",
            "Loads it and returns the path to the audio file.",
            ActionKind.GET,
            "audio file path",
        ),
    ],
)
def test_action_and_object_are_read_from_name_and_first_sentence(name, says, act, thing):
    done, things = read(name, says)
    assert done is act
    assert thing in things


@pytest.mark.parametrize(
    "name", ["login", "user_login", "login_to_shop", "log_in", "authenticate"]
)
def test_signing_in_is_recognised(name):
    assert read(name)[0] is ActionKind.SIGN_IN


def test_words_before_the_action_are_the_family():
    assert phrases.read_action("Movies.FindMovies", "", "s").family == ("movie",)
    assert phrases.read_action("spotify_scraper_get_artist", "", "s").family == (
        "spotify",
        "scraper",
    )


@pytest.mark.parametrize(
    ("says", "thing"),
    [
        ("ID of the author whose books are retrieved", "author"),
        ("The name of the movie.", "movie"),
        ("Unique identifier for the calendar event to move", "calendar event"),
        ("How many results to return", ""),
        ("", ""),
    ],
)
def test_a_description_names_the_object_of_an_attribute(says, thing):
    assert " ".join(phrases.extract_named_thing(says)) == thing


def test_parameters_are_described_in_the_description_of_the_tool():
    says = "Ends it.\n\nArgs:\n    pid: Process from start_process\n    - `wait` (int): Seconds\n"
    assert phrases.extract_parameter_descriptions(says)["pid"] == "Process from start_process"
    assert phrases.extract_parameter_descriptions(says)["wait"] == "Seconds"
