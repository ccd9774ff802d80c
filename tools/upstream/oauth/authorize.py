"""Provides the credentials of a server's connections from its sign-ins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway_project.foundation.caller import GATEWAY, Caller
from tools.upstream.errors import SignInRequired
from tools.upstream.oauth import challenge
from tools.upstream.oauth.sign_ins import SignInManager, build_sign_in_error
from tools.upstream.oauth.values import SignInKey
from tools.upstream.spec import ServerSpec

UNAUTHORIZED = 401
FORBIDDEN = 403


@dataclass(frozen=True, kw_only=True)
class SignInCredentials:
    """The `CredentialsProvider` of one server's connections.

    Attributes:
        sign_ins: Source of the tokens.
        server: Name of the server.
        is_per_user: Whether each user has their own sign-in.
        is_private: Whether the server's address may be in a private network.
        listing_user: User whose sign-in serves the gateway's own listings; empty: none.
    """

    sign_ins: SignInManager
    server: str
    is_per_user: bool
    is_private: bool
    listing_user: str

    async def build_headers(self, url: str, caller: Caller) -> Mapping[str, str]:
        """Return the headers that authorize a request.

        Args:
            url: Address of the request; tokens are sent only to the resource they are valid for.
            caller: Whose rights the request carries.

        Raises:
            SignInRequired: If there is no usable sign-in.
            SignInUnavailable: If it temporarily cannot be renewed.
        """
        key = self._find_key(caller)
        sign_in = await self.sign_ins.get_usable(key, url, private=self.is_private)
        return {"Authorization": f"Bearer {sign_in.tokens.access}"}

    async def handle_refusal(self, *, status: int, www_authenticate: str, caller: Caller) -> bool:
        """Handle a 401 or 403; return whether to repeat the request.

        Args:
            status: Status of the response.
            www_authenticate: Its header of that name, or empty.
            caller: As for `build_headers`.

        Raises:
            SignInRequired: If a person must sign in, again or for more scopes.
            SignInUnavailable: If new tokens are temporarily unavailable.
        """
        refusal, key = challenge.read_challenge(www_authenticate), self._find_key(caller)
        if status == UNAUTHORIZED:
            return await self.sign_ins.renew(key, private=self.is_private)
        if status == FORBIDDEN and refusal.error == "insufficient_scope":
            await self.sign_ins.add_wanted_scope(key, refusal.scope)
            scopes = f": {refusal.scope}" if refusal.scope else ""
            raise build_sign_in_error(key, f"this takes more rights than were granted{scopes}")
        return False

    def _find_key(self, caller: Caller) -> SignInKey:
        """Return the sign-in of a caller; only the gateway's own requests use another user's."""
        if not self.is_per_user:
            return SignInKey(self.server, "")
        user = self.listing_user if caller == GATEWAY else caller.user
        if not user:
            raise SignInRequired(self.server, why="each user has their own")
        return SignInKey(self.server, user)


def make_authorization(
    sign_ins: SignInManager, spec: ServerSpec, *, listing_user: str
) -> SignInCredentials | None:
    """Return the credentials provider of a server; None if it needs no sign-in.

    Args:
        sign_ins: The sign-in manager of the process.
        spec: The server's entry.
        listing_user: User whose sign-in is used to list tools of servers with per-user sign-ins;
            requests of callers always use their own. Empty: there is none.
    """
    if spec.authorization == "none":
        return None
    return SignInCredentials(
        sign_ins=sign_ins,
        server=spec.name,
        is_per_user=spec.authorization == "oauth_per_user",
        is_private=spec.private_network,
        listing_user=listing_user,
    )
