"""The pictures that README shows."""

import re

import pytest

from tests.journeys import browser


def test_readme_shows_every_picture_and_each_is_small():
    pictures = pytest.importorskip("tests.journeys.pictures")
    readme = (browser.BASE / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"docs/images/console_(\w+)\.webp", readme)
    assert sorted(shown) == sorted(pictures.PICTURES)
    for name in shown:
        size = (pictures.IMAGES / f"console_{name}.webp").stat().st_size
        assert 10_000 < size <= pictures.MAX_BYTES, name
