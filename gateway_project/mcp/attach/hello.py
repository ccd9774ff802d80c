"""How two gateways of one home find each other, and their handshake before one attaches.

The host describes itself and the environment in which it runs servers; the other side compares
that with its own and leaves if they differ. Values of variables are sent as keyed digests only.
Imports the standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

MAX_PATH_BYTES: Final = 100
"""Longest path of a socket; the smallest system limit is 104, including the terminator."""
PRIVATE_MODE: Final = 0o700
OTHERS_MODE_MASK: Final = 0o077
SOCKET_SUFFIX: Final = ".sock"

PROTOCOL_VERSION: Final = 3
WELCOME: Final = "welcome"
SALT_BYTES: Final = 16
_SETTING_PREFIXES: Final = ("FOREGATE_", "DATABASE_URL")
_IGNORED_SETTINGS: Final = frozenset(
    {
        "FOREGATE_ALLOWED_HOSTS",
        "FOREGATE_ALLOWED_ORIGINS",
        "FOREGATE_CONSOLE_HOST",
        "FOREGATE_CONSOLE_IDLE_S",
        "FOREGATE_CONSOLE_ON_DEMAND",
        "FOREGATE_CONSOLE_PORT",
        "FOREGATE_EXPOSURE",  # its effective value is compared, which includes --exposure
        "FOREGATE_HOME",
        "FOREGATE_LOG_FILE_BYTES",
        "FOREGATE_LOG_LEVEL",
        "FOREGATE_TOKEN",  # of clients that connect over HTTP
    }
)


class UntrustedFolder(Exception):
    """Others can access the folder of the sockets; the message says what to do."""


def socket_folder(home: Path) -> Path:
    """Return the folder of the sockets: the temporary folder if the path of the home is long.

    Example:
        >>> socket_folder(Path("/srv/foregate"))
        PosixPath('/srv/foregate/run')
    """
    in_home = home / "run"
    if len(os.fsencode(in_home / f"{2**22}{SOCKET_SUFFIX}")) <= MAX_PATH_BYTES:
        return in_home
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"foregate-{os.geteuid()}-{digest}"


def prepare_socket(home: Path) -> Path:
    """Create the folder if necessary and return the path of this process's own socket.

    Raises:
        OSError: If the folder cannot be created.
        UntrustedFolder: If others can access it.
    """
    folder = socket_folder(home)
    folder.mkdir(mode=PRIVATE_MODE, parents=True, exist_ok=True)
    require_own_folder(folder)
    return folder / f"{os.getpid()}{SOCKET_SUFFIX}"


def find_sockets(home: Path) -> tuple[Path, ...]:
    """Return the existing sockets, oldest first, including those of dead processes."""
    folder = socket_folder(home)
    try:
        require_own_folder(folder)
        paths = [path for path in folder.iterdir() if path.suffix == SOCKET_SUFFIX]
    except (OSError, UntrustedFolder):
        return ()
    return tuple(sorted(paths, key=_read_mtime))


def require_own_folder(folder: Path) -> None:
    """Check that nobody else could have created a socket in a folder.

    Raises:
        OSError: If there is no such folder.
        UntrustedFolder: If it belongs to another user or is open to others.
    """
    status = os.lstat(folder)
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_own or status.st_mode & OTHERS_MODE_MASK:
        raise UntrustedFolder(
            f"{folder} must be a folder only you can access; remove it, or chmod 700 it"
        )


def _read_mtime(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")


@dataclass(frozen=True, kw_only=True)
class HostOffer:
    """A host's description of itself.

    Attributes:
        protocol: Version of this handshake.
        code: Folder of the program.
        exposure: Which tools its clients are shown.
        salt: Key of the digests, hexadecimal.
        settings: Digest of its settings.
        variables: Digest of each variable that its server entries refer to; None if unset.
    """

    protocol: int
    code: str
    exposure: str
    salt: str
    settings: str
    variables: Mapping[str, str | None]


def make_offer(
    *, exposure: str, variables: Iterable[str], environ: Mapping[str, str]
) -> HostOffer:
    """Describe this process.

    Args:
        exposure: Which tools its clients are shown.
        variables: Names of the variables that its server entries refer to.
        environ: Its environment.
    """
    salt = os.urandom(SALT_BYTES)
    return HostOffer(
        protocol=PROTOCOL_VERSION,
        code=code_folder(),
        exposure=exposure,
        salt=salt.hex(),
        settings=_digest_settings(environ, salt),
        variables={name: _digest_variable(name, environ, salt) for name in sorted(set(variables))},
    )


def find_objection(offer: HostOffer, *, exposure: str, environ: Mapping[str, str]) -> str:
    """Return why this process cannot attach to a host; empty if it can."""
    salt = bytes.fromhex(offer.salt)
    if (offer.protocol, offer.code) != (PROTOCOL_VERSION, code_folder()):
        return "it runs another version of the program"
    if offer.exposure != exposure:
        return f"its exposure is {offer.exposure!r}"
    if offer.settings != _digest_settings(environ, salt):
        return "its settings differ"
    differing = [
        name
        for name, digest in offer.variables.items()
        if digest != _digest_variable(name, environ, salt)
    ]
    return f"its servers see another value of {', '.join(differing)}" if differing else ""


def encode_line(message: HostOffer | Mapping[str, Any]) -> bytes:
    """Encode a message as a line of JSON."""
    value = asdict(message) if isinstance(message, HostOffer) else message
    return json.dumps(value).encode() + b"\n"


def read_offer(line: bytes) -> HostOffer | None:
    """Parse a host's first line; None if it is not an offer."""
    try:
        value = json.loads(line)
        bytes.fromhex(value["salt"])
        return HostOffer(**value)
    except (ValueError, TypeError, KeyError):
        return None


def code_folder() -> str:
    """Return the folder that this program runs from."""
    return str(Path(__file__).resolve().parents[3])


def _digest_settings(environ: Mapping[str, str], salt: bytes) -> str:
    settings = {
        name: value
        for name, value in environ.items()
        if name.startswith(_SETTING_PREFIXES) and name not in _IGNORED_SETTINGS and value
    }
    return _compute_digest(json.dumps(settings, sort_keys=True), salt)


def _digest_variable(name: str, environ: Mapping[str, str], salt: bytes) -> str | None:
    return _compute_digest(environ[name], salt) if name in environ else None


def _compute_digest(text: str, salt: bytes) -> str:
    return hmac.new(salt, text.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()
