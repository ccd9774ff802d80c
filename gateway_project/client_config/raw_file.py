"""A client's file as bytes and text: read whole, replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

MAX_FILE_BYTES = 20_000_000
BOM = b"\xef\xbb\xbf"
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


class UnreadableConfig(Exception):
    """A configuration that cannot be used as a whole; one line that says why and what to do."""


class MissingConfig(UnreadableConfig):
    """A configuration that is not there."""


class ChangedMeanwhile(UnreadableConfig):
    """A configuration that another program wrote while it was being changed."""


@dataclass(frozen=True, kw_only=True)
class RawFile:
    """A file as it was read.

    Attributes:
        path: Where it is, links followed.
        content: Its bytes; None if it does not exist.
    """

    path: Path
    content: bytes | None

    @property
    def text(self) -> str:
        """Its text without byte order mark, line ends as they are; empty if there is no file.

        Raises:
            UnreadableConfig: If it is not UTF-8.
        """
        content = (self.content or b"").removeprefix(BOM)
        try:
            return content.decode()
        except UnicodeDecodeError:
            kind = "UTF-16" if content.startswith(_OTHER_MARKS) else "not UTF-8 text"
            raise UnreadableConfig(f"{self.path} is {kind}; save it as UTF-8") from None

    def encoded(self, text: str) -> bytes:
        """Return the bytes of a text in place of this one, with the mark if this has one."""
        mark = BOM if (self.content or b"").startswith(BOM) else b""
        return mark + text.encode()


def read(path: Path) -> RawFile:
    """Read a file that may not exist.

    Raises:
        UnreadableConfig: If it is there and cannot be read.
    """
    try:
        real = path.resolve()
        size = real.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UnreadableConfig(f"{path} has {size:,} bytes; a configuration is far smaller")
        return RawFile(path=real, content=real.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return RawFile(path=path.resolve(), content=None)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "its links lead in a circle"
        raise UnreadableConfig(f"cannot read {path}: {reason}") from None


def replace(file: RawFile, content: bytes) -> tuple[Path, ...]:
    """Write other content into a file that was read: at once, with its mode and owner.

    Returns:
        Folders that had to be made for it, outermost first.

    Raises:
        ChangedMeanwhile: If the file is no longer as it was read; nothing is written then.
        UnreadableConfig: If it cannot be written.
    """
    try:
        made = _make_folders(file.path.parent)
        _replace(file, content)
    except OSError as error:
        raise UnreadableConfig(
            f"cannot write {file.path}: {error.strerror}; its folder must be writable"
        ) from None
    return made


def remove(file: RawFile, folders: tuple[Path, ...] = ()) -> None:
    """Delete a file, and folders made for it as far as they are empty.

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


def _replace(file: RawFile, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.path.parent, prefix=f".{file.path.name}-")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(content)
            written.flush()
            if file.content is not None:
                _keep_access(written.fileno(), file.path.stat())
            os.fsync(written.fileno())
        if read(file.path).content != file.content:
            raise ChangedMeanwhile(f"{file.path} was changed by another program; try again")
        beside.replace(file.path)
    finally:
        beside.unlink(missing_ok=True)


def _keep_access(descriptor: int, was: os.stat_result) -> None:
    """Give a new file the owner and mode of the one it replaces.

    Raises:
        PermissionError: If it belongs to somebody else.
    """
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (was.st_uid, was.st_gid):
        os.fchown(descriptor, was.st_uid, was.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(was.st_mode))
