"""Makes Django's admin and form classes subscriptable at run time, like their type stubs.

Import it only in modules that need it: it loads the whole admin, which gateways do not use.
"""

from __future__ import annotations

import django_stubs_ext

django_stubs_ext.monkeypatch()
