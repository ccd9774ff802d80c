"""Verifies ID tokens of an OpenID Connect provider.

References:
    OpenID Connect Core 1.0, section 3.1.3.7.
    RFC 8725, JSON Web Token Best Current Practices.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt

CLOCK_SKEW_S: Final = 60.0
MAX_SUBJECT_CHARS: Final = 255
"""OpenID Connect Core 1.0, section 2."""
ALGORITHMS_BY_KEY_TYPE: Final[Mapping[str, tuple[str, ...]]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
}
"""Signatures only: a key that is known to both sides proves nothing to a third."""
_REQUIRED_CLAIMS: Final = ("iss", "sub", "aud", "exp", "iat", "nonce")


class InvalidIdToken(Exception):
    """The ID token does not prove who somebody is; the message says why."""


class UnknownSigningKey(InvalidIdToken):
    """No key of the provider that is known has signed the token."""


def verify_id_token(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client_id: str, nonce: str
) -> dict[str, Any]:
    """Return the claims of an ID token that a provider issued for this sign-in.

    Args:
        token: As received from the provider.
        keys: Keys of the provider, as JSON Web Keys.
        issuer: The provider.
        client_id: Id of this installation there, which must be the audience.
        nonce: That was sent with the request.

    Raises:
        UnknownSigningKey: If no key fits; the provider may have new ones.
        InvalidIdToken: If it is not signed by the provider, for another audience or sign-in,
            expired, or incomplete.
    """
    try:
        header = jwt.get_unverified_header(token)
        key, algorithms = _choose_key(header, keys)
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=list(algorithms),
            audience=client_id,
            issuer=issuer,
            leeway=CLOCK_SKEW_S,
            options={"require": list(_REQUIRED_CLAIMS)},
        )
    except jwt.PyJWTError as error:
        raise InvalidIdToken(str(error)) from None
    _check_claims(claims, client_id=client_id, nonce=nonce)
    return claims


def _choose_key(
    header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]
) -> tuple[jwt.PyJWK, tuple[str, ...]]:
    """Return the key that may have signed a token, and the algorithms that it may use."""
    algorithm, kid = header.get("alg"), header.get("kid")
    fitting = [
        key
        for key in keys
        if algorithm in ALGORITHMS_BY_KEY_TYPE.get(str(key.get("kty")), ())
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (kid is None or key.get("kid") == kid)
    ]
    if not fitting or (kid is None and len(fitting) > 1):
        raise UnknownSigningKey(f"no key of the provider fits (alg {algorithm!r}, kid {kid!r})")
    key = jwt.PyJWK.from_dict(dict(fitting[0]), algorithm=algorithm)
    return key, ALGORITHMS_BY_KEY_TYPE[str(fitting[0]["kty"])]


def _check_claims(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    """Check what the library does not.

    Raises:
        InvalidIdToken: If a claim is wrong.
    """
    given = claims["nonce"]
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), nonce.encode()):
        raise InvalidIdToken("the nonce is not that of this sign-in")
    party = claims.get("azp")
    audience = claims["aud"]
    if party is None and isinstance(audience, list) and len(audience) > 1:
        raise InvalidIdToken("it is for several audiences and does not say for whom it was issued")
    if party is not None and party != client_id:
        raise InvalidIdToken("it was issued for another client")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT_CHARS:
        raise InvalidIdToken("it names no subject")
