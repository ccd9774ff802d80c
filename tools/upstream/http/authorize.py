"""What a transport needs of whoever holds the tokens of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Authorize(Protocol):
    """Provides the credentials of one server's requests."""

    async def headers(self, url: str, downstream_user: str) -> Mapping[str, str]:
        """Return headers to add to a request; none if there is no sign-in.

        Args:
            url: Where the request goes.
            downstream_user: For whom; empty where all share one sign-in.

        Raises:
            UpstreamError: If there is a sign-in that cannot be used.
        """

    async def refused(self, *, status: int, www_authenticate: str, user: str) -> bool:
        """Take note that the server did not accept a request's credentials.

        Args:
            status: 401 or 403.
            www_authenticate: That header of the answer, empty if there is none.
            user: For whom the request was.

        Returns:
            Whether there are new credentials, so that the request is worth sending again.

        Raises:
            UpstreamError: If it can be said better what to do.
        """
