"""Reads a client's file and replaces it atomically."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_BYTES = 20_000_000
BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


class UnreadableConfig(Exception):
    """A whole configuration cannot be used; the message says why and what to do."""


class MissingConfig(UnreadableConfig):
    """A configuration does not exist."""


class ConcurrentChange(UnreadableConfig):
    """Another program wrote the configuration while it was being changed."""


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """A file as read from disk.

    Attributes:
        path: Its path with links resolved.
        content: Its bytes; None if it does not exist.
    """

    path: Path
    content: bytes | None

    @property
    def text(self) -> str:
        """Its text without byte order mark, line endings unchanged; empty if there is no file.

        Raises:
            UnreadableConfig: If it is not UTF-8.
        """
        content = (self.content or b"").removeprefix(BOM)
        try:
            return content.decode()
        except UnicodeDecodeError:
            kind = "UTF-16" if content.startswith(_UTF16_BOMS) else "not UTF-8 text"
            raise UnreadableConfig(f"{self.path} is {kind}; save it as UTF-8") from None

    def encode_text(self, text: str) -> bytes:
        """Encode a new text for this file, with a byte order mark if the file has one."""
        mark = BOM if (self.content or b"").startswith(BOM) else b""
        return mark + text.encode()


def read_raw(path: Path) -> RawFile:
    """Read a file that may not exist.

    Raises:
        UnreadableConfig: If it exists and cannot be read.
    """
    try:
        resolved = path.resolve()
        size = resolved.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UnreadableConfig(f"{path} has {size:,} bytes; a configuration is far smaller")
        return RawFile(path=resolved, content=resolved.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return RawFile(path=path.resolve(), content=None)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "its links form a loop"
        raise UnreadableConfig(f"cannot read {path}: {reason}") from None


def replace_content(file: RawFile, content: bytes) -> tuple[Path, ...]:
    """Replace the content of a file that was read, atomically, with its mode and owner.

    Returns:
        Folders created for it, outermost first.

    Raises:
        ConcurrentChange: If the file has changed since it was read; nothing is written then.
        UnreadableConfig: If it cannot be written.
    """
    try:
        created = _make_folders(file.path.parent)
        _replace_atomically(file, content)
    except OSError as error:
        raise UnreadableConfig(
            f"cannot write {file.path}: {error.strerror}; its folder must be writable"
        ) from None
    return created


def remove_file(file: RawFile, folders: tuple[Path, ...] = ()) -> None:
    """Delete a file and those folders created for it that are empty.

    Raises:
        UnreadableConfig: If it cannot be deleted.
    """
    try:
        file.path.unlink(missing_ok=True)
    except OSError as error:
        raise UnreadableConfig(f"cannot delete {file.path}: {error.strerror}") from None
    for folder in reversed(folders):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _make_folders(folder: Path) -> tuple[Path, ...]:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(reversed(missing))


def _replace_atomically(file: RawFile, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.path.parent, prefix=f".{file.path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as new_file:
            new_file.write(content)
            new_file.flush()
            if file.content is not None:
                _copy_owner_and_mode(new_file.fileno(), file.path.stat())
            os.fsync(new_file.fileno())
        if read_raw(file.path).content != file.content:
            raise ConcurrentChange(f"{file.path} was changed by another program; try again")
        temporary.replace(file.path)
    finally:
        temporary.unlink(missing_ok=True)


def _copy_owner_and_mode(descriptor: int, original: os.stat_result) -> None:
    """Copy owner and mode of the replaced file to the new one.

    Raises:
        PermissionError: If the replaced file belongs to another user.
    """
    current = os.fstat(descriptor)
    if (current.st_uid, current.st_gid) != (original.st_uid, original.st_gid):
        os.fchown(descriptor, original.st_uid, original.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(original.st_mode))
