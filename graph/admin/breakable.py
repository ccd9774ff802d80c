"""Line breaks in tool ids."""

from __future__ import annotations

import re
from typing import Final

from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

_BREAKS: Final = re.compile(r"(?<=[:_./-])")


def breakable_html(text: object) -> SafeString:
    """Return a text as HTML that may be wrapped after punctuation."""
    return format_html_join(
        mark_safe("<wbr>"), "{}", ((part,) for part in _BREAKS.split(str(text)))
    )
