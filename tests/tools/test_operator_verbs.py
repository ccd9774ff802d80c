import pytest

from tests.execution.operator_names import READING, WRITING
from tools import danger_seeds
from tools.danger import DangerMatcher
from tools.disguised_names import find_operator_verbs
from tools.judge_danger import NamedTool, judge_danger

MATCHER = DangerMatcher(danger_seeds.operations())
READ_ONLY = {"readOnlyHint": True}


def is_vetoed(name, annotations=READ_ONLY):
    tool = NamedTool(name, "", "s")
    return judge_danger(tool, matcher=MATCHER, annotations=annotations, trusted=True).vetoed


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("mv", "mv"),
        ("getDel", "del"),
        ("redis_hset", "hset"),
        ("cleanup", "cleanup"),
        ("backup_database", "backup"),
        ("db_backup", "backup"),
        ("refresh_token", "refresh"),
        ("turnOnLight", "turn on"),
        ("git_cherry_pick", "cherry pick"),
        ("search_then_snooze", "snooze"),
    ],
)
def test_a_verb_is_found_where_a_name_has_its_verb(name, verb):
    assert verb in find_operator_verbs(name)


@pytest.mark.parametrize(
    "name",
    [
        "list_backups", "get_backup", "backup_status", "latest_backup", "get_refresh_token",
        "lista_del_mes", "get_cp_info", "clean_air_index", "page_content", "train_schedule",
        "zip_code", "build_status", "water_quality", "feed_items", "",
    ],
)  # fmt: skip
def test_the_same_words_are_nouns_elsewhere(name):
    assert find_operator_verbs(name) == ()


def test_operators_writing_tools_are_vetoed_though_a_trusted_server_calls_them_read_only():
    assert len(WRITING) > 200
    assert [name for name in WRITING if not is_vetoed(name)] == []


@pytest.mark.parametrize("annotations", [READ_ONLY, {}])
def test_hardly_any_reading_tool_is_vetoed(annotations):
    assert len(READING) > 180
    vetoed = [name for name in READING if is_vetoed(name, annotations)]
    allowed = 0.05 if annotations else 0.06  # without a declaration, `list_charges` may charge
    assert len(vetoed) <= allowed * len(READING)
