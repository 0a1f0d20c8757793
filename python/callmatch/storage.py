"""Files of this machine and behind URLs, by fsspec: which there are, what they are now, and giving them their names."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callmatch import _core
from callmatch.documents import put
from callmatch.errors import ENDING, CallmatchError, InvalidInput, raised

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["Place", "fetched", "find", "is_url", "reached"]

VERSIONS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")
"""What the file systems say by which a changed file of the same size can be told; the first that is there counts."""


def is_url(path: str) -> bool:
    """Is this a URL, or one that goes through others (``simplecache::s3://…``)? A drive of Windows has one letter."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+(://|::)", path) is not None


@dataclass(frozen=True)
class Place:
    """Where a file is, or will be.

    Attributes:
        name: What people call it: the path or the URL.
        path: What its file system calls it.
    """

    name: str
    path: str
    filesystem: AbstractFileSystem | None = None
    """None for files of this machine."""

    @classmethod
    def of(cls, name: str) -> Place:
        """The place that a path or a URL leads to.

        Raises:
            InvalidInput: A URL of which fsspec knows nothing, or whose library is not there.
        """
        if not is_url(name):
            return cls(name, name)
        with reached(name):
            from fsspec.core import url_to_fs  # noqa: PLC0415 - few need it
            from fsspec.implementations.local import LocalFileSystem  # noqa: PLC0415

            filesystem, path = url_to_fs(name)
        return cls(name, path, None if isinstance(filesystem, LocalFileSystem) else filesystem)

    @property
    def is_local(self) -> bool:
        """Is it a file of this machine?"""
        return self.filesystem is None

    def exists(self) -> bool:
        """Is there a file, or a folder?"""
        if self.filesystem is None:
            return os.path.exists(self.path)
        with reached(self.name):
            self.filesystem.invalidate_cache()
            return bool(self.filesystem.exists(self.path))

    def is_same(self, other: Place) -> bool:
        """Is it the same file, by whatever name?"""
        if self.filesystem is None and other.filesystem is None:
            return os.path.exists(self.path) and os.path.exists(other.path) and os.path.samefile(self.path, other.path)
        return self.path == other.path and self.filesystem == other.filesystem

    def stamp(self) -> dict[str, Any]:
        """What changes with the file: its size in bytes, None where nobody knows, and its version or time."""
        if self.filesystem is None:
            about = os.stat(self.path)
            return {"size": about.st_size, "version": str(about.st_mtime_ns)}
        with reached(self.name):
            told = self.filesystem.info(self.path)
        return {"size": told.get("size"), "version": str(next((told[key] for key in VERSIONS if told.get(key)), ""))}

    def open(self, mode: str, **options: Any) -> Any:
        """Open it, for bytes."""
        if self.filesystem is None:
            return open(self.path, mode)
        with reached(self.name):
            return self.filesystem.open(self.path, mode, **options)

    def beside(self, suffix: str) -> Place:
        """A place with more at the end of its name."""
        return Place(self.name + suffix, self.path + suffix, self.filesystem)

    def inside(self, name: str) -> Place:
        """The place of a file in this folder."""
        return self.beside(f"/{name}")

    def aside(self) -> Place:
        """Where to write it until it is whole."""
        suffix = f".{os.getpid()}.partial"
        if self.filesystem is not None:
            return self.beside(suffix)
        folder, name = os.path.split(self.path)
        return Place(self.name, os.path.join(folder, f".{name}{suffix}"))

    def resolved(self) -> Place:
        """Where a link leads to."""
        return Place(self.name, os.path.realpath(self.path)) if self.filesystem is None else self

    def make_folder(self) -> None:
        """Make a folder, unless it is there."""
        if self.filesystem is None:
            os.makedirs(self.path, exist_ok=True)
        else:
            with reached(self.name):
                self.filesystem.makedirs(self.path, exist_ok=True)

    def names(self) -> list[str]:
        """The names of the files in this folder, sorted."""
        if self.filesystem is None:
            return sorted(os.listdir(self.path))
        found: list[str] = []
        # Object stores know no folder without files.
        with reached(self.name), contextlib.suppress(FileNotFoundError):
            self.filesystem.invalidate_cache()
            found = self.filesystem.ls(self.path, detail=False)
        return sorted(path.rsplit("/", 1)[-1] for path in found)

    def remove(self) -> None:
        """Remove a file, or a folder with the files in it; nothing, if it isn't there."""
        if self.filesystem is not None:
            with reached(self.name), contextlib.suppress(FileNotFoundError):
                self.filesystem.rm(self.path, recursive=True)
            return
        with contextlib.suppress(FileNotFoundError):
            if not os.path.isdir(self.path):
                os.unlink(self.path)
                return
            for name in os.listdir(self.path):
                os.unlink(os.path.join(self.path, name))
            os.rmdir(self.path)

    def becomes(self, other: Place) -> None:
        """Give a file that is whole its name. What had this name before is replaced at once, or not at all.

        Behind a URL this is what the file system has for it: object stores copy, and show the copy when it is whole.
        """
        if self.filesystem is None:
            put(self.path, other.path)
            return
        with reached(other.name):
            self.filesystem.mv(self.path, other.path)


@contextlib.contextmanager
def reached(name: str) -> Iterator[None]:
    """Say of what goes wrong with what is behind a URL that it is with this one. Its libraries raise what they like."""
    try:
        yield
    except ENDING:
        raise
    except CallmatchError:
        raise
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("fsspec"):
            raise InvalidInput(_core.printable(f"{name}: {error}")) from error
        raise ImportError(f"{name}: it needs fsspec: pip install 'callmatch[parquet]'", name=error.name) from None
    except FileNotFoundError as error:
        raise FileNotFoundError(2, "No such file or directory", name) from error
    except Exception as error:
        raise InvalidInput(_core.printable(f"{name}: {raised(error)}")) from error


@contextlib.contextmanager
def fetched(url: str) -> Iterator[str]:
    """The path of a copy of what is behind a URL, for who reads files of this machine only; then it is removed."""
    place = Place.of(url)
    if place.filesystem is None:
        yield place.path
        return
    with tempfile.TemporaryDirectory(prefix="callmatch-") as folder:
        path = os.path.join(folder, "file")
        with place.open("rb") as there, open(path, "wb") as here, reached(url):
            shutil.copyfileobj(there, here, 1 << 20)
        yield path


def find(patterns: Iterable[str]) -> list[str]:
    """The files that paths, URLs and patterns of them lead to; those of a pattern are sorted.

    Raises:
        FileNotFoundError: There is none.
    """
    found: list[str] = []
    for pattern in patterns:
        if is_url(pattern):
            found += _find_urls(pattern)
            continue
        paths = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise FileNotFoundError(2, "No such file or directory", pattern)
        found += paths
    return found


def _find_urls(url: str) -> list[str]:
    place = Place.of(url)
    if place.filesystem is None:
        return find([place.path])
    if not glob.has_magic(place.path):
        return [url]
    with reached(url):
        # A question mark is part of a URL of HTTP, and a file may have any name.
        if place.exists():
            return [url]
        paths = sorted(place.filesystem.glob(place.path))
        urls = [place.filesystem.unstrip_protocol(path) for path in paths]
    if not urls:
        raise FileNotFoundError(2, "No file matches", url)
    if "::" in url:
        raise InvalidInput(f"{url}: patterns work in URLs that go through no other; name the files")
    return urls
