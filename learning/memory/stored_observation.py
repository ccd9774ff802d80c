"""Observations in the form in which they are stored: packed and compressed to a quarter."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

from learning.memory.packed_observation import (
    Unpackable,
    pack_observation,
    unpack_observation,
)

FIELD: Final = "observation"
"""Key of an observation in the data of an event."""
MAX_BYTES: Final = 10_000_000
"""Largest observation that is read; a record of the spool holds less."""
_PACKED: Final = b"\1"
"""First byte of a packed observation; others begin with a zlib header."""
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
).replace(b" ", b"\n") + b"\n*/"
"""Names of fields that results often have, the most frequent last. Never change it: stored
observations could not be read any more. Those of recorded sessions, 690 bytes of JSON on average,
take 154 bytes with it, and 240 as JSON with `_JSON_DICTIONARY`."""
_JSON_DICTIONARY: Final = (
    b'"name_id":"email":"/name":[["/status":[["/type":[["/date":[["/price":[['
    b'"/items/*/id":[[0,0],[1,1],[2,2],[3,3],[4,4],[5,5],[6,6],[7,7],[8,8],[9,9],[10,10],[11,11],'
    b'[12,12]],"/*/id":[["text","word","number","statements":[{"values":[],"tools":[[1,0.5],'
    b'[2,1.0]]}],"shapes":{"1":"2":"3":"","statements":[],"shapes":{},"ms":0.0}{"tool":1,'
    b'"read_only":false,"error":true,"arguments":{},"schema_arguments":{},"complete":true,'
    b'"values":{},{"tool":1,"read_only":true,"error":false,"arguments":{"id":1},'
    b'"schema_arguments":{},"complete":true,"values":{"":[[1]]},"statements":[],"shapes":{},'
    b'"ms":100.0}'
)
"""What observations stored as JSON have in common: those that cannot be packed, and older ones.
Never change it, for the same reason."""


class UnreadableObservation(Exception):
    """A stored observation is damaged."""


def compress_observation(observation: Mapping[str, Any]) -> bytes:
    """Return an observation as stored.

    Example:
        >>> restore_observation(compress_observation({"tool": 3}))
        {'tool': 3}
    """
    try:
        packed = pack_observation(observation)
    except Unpackable:
        packer = zlib.compressobj(_LEVEL, zdict=_JSON_DICTIONARY)
        text = json.dumps(observation, separators=(",", ":")).encode()
        return packer.compress(text) + packer.flush()
    packer = zlib.compressobj(_LEVEL, wbits=_RAW, zdict=_FIELD_NAMES)
    return _PACKED + packer.compress(packed) + packer.flush()


def restore_observation(stored: bytes) -> Mapping[str, Any]:
    """Return a stored observation.

    Raises:
        UnreadableObservation: If the bytes are damaged.
    """
    try:
        if stored.startswith(_PACKED):
            unpacker = zlib.decompressobj(_RAW, zdict=_FIELD_NAMES)
            return unpack_observation(unpacker.decompress(stored[1:], MAX_BYTES))
        unpacker = zlib.decompressobj(zdict=_JSON_DICTIONARY)
        observation: Mapping[str, Any] = json.loads(unpacker.decompress(stored, MAX_BYTES))
    except (zlib.error, ValueError, LookupError) as error:
        raise UnreadableObservation(type(error).__name__) from error
    return observation
