"""Lets classes of the admin and of forms be subscripted, as their types are.

To be imported by what does so, and by nothing else: it loads the whole admin, which gateways never
show.
"""

from __future__ import annotations

import django_stubs_ext

django_stubs_ext.monkeypatch()
