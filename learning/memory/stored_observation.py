"""Observations in the form in which they are stored: JSON, compressed to a third."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

FIELD: Final = "observation"
"""Key of an observation in the data of an event."""
MAX_BYTES: Final = 10_000_000
"""Largest observation that is read; a record of the spool holds less."""
_LEVEL: Final = 6
"""zlib's default: 26 µs for an average observation."""
_DICTIONARY: Final = (
    b'"name_id":"email":"/name":[["/status":[["/type":[["/date":[["/price":[['
    b'"/items/*/id":[[0,0],[1,1],[2,2],[3,3],[4,4],[5,5],[6,6],[7,7],[8,8],[9,9],[10,10],[11,11],'
    b'[12,12]],"/*/id":[["text","word","number","statements":[{"values":[],"tools":[[1,0.5],'
    b'[2,1.0]]}],"shapes":{"1":"2":"3":"","statements":[],"shapes":{},"ms":0.0}{"tool":1,'
    b'"read_only":false,"error":true,"arguments":{},"schema_arguments":{},"complete":true,'
    b'"values":{},{"tool":1,"read_only":true,"error":false,"arguments":{"id":1},'
    b'"schema_arguments":{},"complete":true,"values":{"":[[1]]},"statements":[],"shapes":{},'
    b'"ms":100.0}'
)
"""What observations have in common. Never change it: stored ones could not be read any more. The
1,081 observations of recorded sessions shrink from 742 to 255 bytes on average, without it to
336."""


class UnreadableObservation(Exception):
    """A stored observation is damaged."""


def compress_observation(observation: Any) -> bytes:
    """Return an observation as stored.

    Example:
        >>> restore_observation(compress_observation({"tool": 3}))
        {'tool': 3}
    """
    packer = zlib.compressobj(_LEVEL, zdict=_DICTIONARY)
    text = json.dumps(observation, separators=(",", ":")).encode()
    return packer.compress(text) + packer.flush()


def restore_observation(stored: bytes) -> Mapping[str, Any]:
    """Return a stored observation.

    Raises:
        UnreadableObservation: If the bytes are damaged.
    """
    unpacker = zlib.decompressobj(zdict=_DICTIONARY)
    try:
        text = unpacker.decompress(stored, MAX_BYTES)
        observation: Mapping[str, Any] = json.loads(text)
    except (zlib.error, ValueError) as error:
        raise UnreadableObservation(type(error).__name__) from error
    return observation
