"""Where boxes and lines of small pictures go."""

from hypothesis import given
from hypothesis import strategies as st

from gateway_project.console.rooms.drawing import draw_star, draw_workflow

NAMES = st.sampled_from("abcdef")


def overlap(one, other):
    return abs(one.x - other.x) < one.width and abs(one.y - other.y) < one.height


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=4), max_size=6))
def test_boxes_of_a_workflow_never_overlap_and_lines_lead_to_the_right(dependencies):
    picture = draw_workflow(dependencies)
    boxes = {box.key: box for box in picture.boxes}
    assert boxes.keys() == dependencies.keys()
    for one in picture.boxes:
        assert one.x >= 0
        assert one.y + one.height <= picture.height
        assert not any(other is not one and overlap(one, other) for other in picture.boxes)
    for line in picture.lines:
        assert boxes[line.source].x < boxes[line.target].x


def test_a_star_without_one_side_still_shows_its_centre():
    picture = draw_star("a", [], ["b", "c"])
    assert [box.key for box in picture.boxes] == ["a", "b", "c"]
    assert not any(
        overlap(one, other) for one in picture.boxes for other in picture.boxes if one is not other
    )
