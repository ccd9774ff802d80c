"""What a connection to a remote server asks for headers, and tells of their refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.upstream.errors import SignInRequired
from tools.upstream.oauth import challenge
from tools.upstream.oauth.sign_ins import SignIns, required
from tools.upstream.oauth.values import Key
from tools.upstream.spec import ServerSpec

UNAUTHORIZED = 401
FORBIDDEN = 403


@dataclass(frozen=True, kw_only=True)
class Authorization:
    """The `Authorize` of one server's connections.

    Attributes:
        sign_ins: Where tokens come from.
        server: Its name.
        per_user: Whether each user has a sign-in of their own.
        private: Whether its own address may lie in a private network.
        listing_user: In whose name the gateway itself asks such a server; empty: in nobody's.
    """

    sign_ins: SignIns
    server: str
    per_user: bool = False
    private: bool = False
    listing_user: str = ""

    async def headers(self, url: str, downstream_user: str) -> Mapping[str, str]:
        """Return what proves to a server on whose behalf it is called.

        Args:
            url: Address that is called; tokens are sent nowhere else than they are meant for.
            downstream_user: Whose call it is; empty: the gateway's own.

        Raises:
            SignInRequired: If there is no sign-in to call it with.
            SignInUnavailable: If it cannot be renewed at the moment.
        """
        key = self._key(downstream_user)
        sign_in = await self.sign_ins.usable(key, url, private=self.private)
        return {"Authorization": f"Bearer {sign_in.tokens.access}"}

    async def refused(self, *, status: int, www_authenticate: str, user: str) -> bool:
        """Act on a 401 or 403; return whether the request is worth one more attempt.

        Args:
            status: Of the answer.
            www_authenticate: Its header of that name; empty: it had none.
            user: As given to `headers`.

        Raises:
            SignInRequired: If a person has to sign in, again or for more rights.
            SignInUnavailable: If new tokens cannot be had at the moment.
        """
        said, key = challenge.read(www_authenticate), self._key(user)
        if status == UNAUTHORIZED:
            return await self.sign_ins.renew(key, private=self.private)
        if status == FORBIDDEN and said.error == "insufficient_scope":
            await self.sign_ins.want(key, said.scope)
            named = f": {said.scope}" if said.scope else ""
            raise required(key, f"this takes more rights than were granted{named}")
        return False

    def _key(self, user: str) -> Key:
        if not self.per_user:
            return Key(self.server, "")
        user = user or self.listing_user
        if not user:
            raise SignInRequired(self.server, why="each user has their own")
        return Key(self.server, user)


def for_spec(
    sign_ins: SignIns, spec: ServerSpec, *, listing_user: str = ""
) -> Authorization | None:
    """Return what a server's connections ask for headers; None if it needs no sign-in.

    Args:
        sign_ins: The process's.
        spec: The server.
        listing_user: In whose name the gateway lists the tools of servers that each user signs in
            to; their calls are always made in the caller's own.
    """
    if spec.authorization == "none":
        return None
    return Authorization(
        sign_ins=sign_ins,
        server=spec.name,
        per_user=spec.authorization == "oauth_per_user",
        private=spec.private_network,
        listing_user=listing_user,
    )
