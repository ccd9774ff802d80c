"""Observations in the form in which they are stored: JSON, compressed to a quarter."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

FIELD: Final = "observation"
"""Key of an observation in the data of an event."""
MAX_BYTES: Final = 10_000_000
"""Largest observation that is read; a record of the spool holds less."""
_FORM: Final = b"\2"
"""First byte of a stored observation; those of other forms are not read."""
_LEVEL: Final = 6
"""zlib's default."""
_RAW: Final = -zlib.MAX_WBITS
"""Without zlib's header and checksum, which take ten bytes."""
_FIELD_NAMES: Final = (
    b"updated_at created_at user_id order_id address2 address1 options insurance method "
    b"history reason error enabled available active permission role department company "
    b"market symbol stock port host server service provider model temperature depth length "
    b"width height weight score rating title link image color brand category child parent "
    b"target source thread comment priority ticket repository commit branch issue project "
    b"team channel event next page offset limit max min last first end start distance "
    b"duration seat booking reservation passengers passenger cabin arrival departure "
    b"airport destination origin flight longitude latitude location zip postal country "
    b"region city street address phone payment unit quantity currency amount price product "
    b"order customer account author owner group index kind method mode level version "
    b"locale language format size file path results result data item items tags tag label "
    b"message text description has is by at updated created email user number total count "
    b"url value key code time date state title status type name id"
).replace(b" ", b'":[[1]],"/')
"""Names of fields that results often have, the most frequent last."""
_DICTIONARY: Final = _FIELD_NAMES + (
    b'{"tool":1,"read_only":false,"error":true,"complete":false,"arguments":{},'
    b'"schema_arguments":{"query":0,"limit":[["/items/*/price":[[1,1,1,1,1,1,1,1,1,1],'
    b'[0,1,1,1,1,1,1,1,1,1]],"/results/*/email":[[2],[0]],"/*/status":[[1],[0]],'
    b'"/data/*/name":[[1,2],[0,1]],"first":1,"shapes":["a_a_9","9x4-9-9","Aa Aa","9x5","prose",'
    b'"a@a.a","9.9","X6","9","Aa","a"],"statements":[{"values":[["Aa 1",["user","id"],"words":['
    b'"found":[[1,0.5],[2,0.25]],"planned":[[1,0.9,{"id":0},{},true]]}],{"tool":1,'
    b'"read_only":true,"error":false,"arguments":{"id":0},"schema_arguments":{},"complete":true,'
    b'"places":{"":[[1]]},"statements":[],"first":1,"shapes":["a"],"ms":'
)
"""What observations have in common. Never change it: stored ones could not be read any more. Those
of recorded sessions, 640 bytes of JSON on average, take 165 bytes with it."""


class UnreadableObservation(Exception):
    """A stored observation is damaged, or has the form of another version."""


def compress_observation(observation: Mapping[str, Any]) -> bytes:
    """Return an observation as stored.

    Example:
        >>> restore_observation(compress_observation({"tool": 3}))
        {'tool': 3}
    """
    packer = zlib.compressobj(_LEVEL, wbits=_RAW, zdict=_DICTIONARY)
    text = json.dumps(observation, separators=(",", ":")).encode()
    return _FORM + packer.compress(text) + packer.flush()


def restore_observation(stored: bytes) -> Mapping[str, Any]:
    """Return a stored observation.

    Raises:
        UnreadableObservation: If the bytes are damaged, or of another version.
    """
    if not stored.startswith(_FORM):
        raise UnreadableObservation("it was stored by another version")
    unpacker = zlib.decompressobj(_RAW, zdict=_DICTIONARY)
    try:
        observation: Mapping[str, Any] = json.loads(unpacker.decompress(stored[1:], MAX_BYTES))
    except (zlib.error, ValueError) as error:
        raise UnreadableObservation(type(error).__name__) from error
    return observation
