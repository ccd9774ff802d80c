import pytest

from gateway_project.foundation.exposure_setting import read_setting


@pytest.mark.parametrize(
    ("text", "names", "group", "expected"),
    [
        ("", ["zed"], None, "auto"),
        ("FULL", ["zed"], "desk", "full"),
        ("meta, Claude-Code=full", ["claude-code"], None, "full"),
        ("zed=hybrid", ["Zed Preview", "zed"], None, "hybrid"),
        ("zed=hybrid", ["other"], None, "auto"),
        ("auto,zed=hybrid,group:desk=meta", ["zed"], "desk", "meta"),
        ("auto,zed=hybrid,group:desk=meta", ["zed"], "other", "hybrid"),
    ],
)
def test_a_group_comes_before_a_client_and_a_client_before_all_others(
    text, names, group, expected
):
    assert read_setting(text).find(names, group=group) == expected


@pytest.mark.parametrize("text", ["everything", "meta,full", "=full", "zed=", "zed=most", "a=b=c"])
def test_anything_else_is_an_error_that_says_what_is_right(text):
    with pytest.raises(ValueError, match="none of auto, meta, hybrid, full"):
        read_setting(text)
