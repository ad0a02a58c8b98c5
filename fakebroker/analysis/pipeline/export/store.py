"""A place in an object store, or in a folder, by its URI: the few things that an export does there. No Java here."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow.fs as fs

from fakebroker.analysis.pipeline.publish import MANIFEST, read_manifest
from fakebroker.analysis.pipeline.storage_failures import storage_failures_reported
from fakebroker.protocol.errors import FakebrokerError

_BETWEEN_LINES: Final = re.compile(r"\s*\n(\x1b\[\d+m|[^\w(])*")  # with the coloured branch of Delta's trees of errors
_SCHEMES: Final = ("s3", "s3a", "gs", "abfs", "abfss", "file")


class Store:
    """A place that is written file by file; a file is there as a whole or not at all.

    Raises FakebrokerError for a URI that names no such place, and from each method for what the store refuses.
    """

    def __init__(self, uri: str) -> None:
        scheme, separator, path = uri.partition("://")
        if not separator or scheme not in _SCHEMES or not path.strip("/"):
            known = ", ".join(f"{each}://" for each in _SCHEMES)
            raise FakebrokerError(f"{uri!r} is not the URI of a place for tables; a URI begins with one of {known}")
        self.uri = f"{'s3' if scheme == 's3a' else scheme}://{path.rstrip('/')}"
        """Where it is, as Arrow, Delta and Iceberg write it."""
        with storage_failures_reported(uri):
            self._system, self._base = self._found()
        self._is_local = self._system.type_name == "local"

    def manifest(self) -> dict[str, Any] | None:
        """The manifest there; None without one."""
        with storage_failures_reported(self.uri):
            if self._system.get_file_info(self._at(MANIFEST)).type == fs.FileType.NotFound:
                return None
            with self._system.open_input_stream(self._at(MANIFEST)) as file:
                text = file.read()
        return read_manifest(text, f"{self.uri}/{MANIFEST}")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Put a manifest in the place of the one before: readers see one of both."""
        unfinished = f".{MANIFEST}.unfinished" if self._is_local else MANIFEST
        with storage_failures_reported(self.uri):
            self._make_folder("")
            with self._system.open_output_stream(self._at(unfinished)) as file:
                file.write(json.dumps(manifest, indent=2, ensure_ascii=False).encode() + b"\n")
            if self._is_local:
                self._system.move(self._at(unfinished), self._at(MANIFEST))

    def names(self, folder: str = "") -> list[str]:
        """The paths of what lies in a folder."""
        place = fs.FileSelector(self._at(folder), allow_not_found=True)
        with storage_failures_reported(self.uri):
            return [each.path[len(self._base) + 1 :] for each in self._system.get_file_info(place)]

    def upload(self, file: Path, name: str) -> None:
        """Copy a file of this machine there."""
        with storage_failures_reported(self.uri):
            self._make_folder(name.rpartition("/")[0])
            fs.copy_files(str(file.absolute()), self._at(name), fs.LocalFileSystem(), self._system)

    def download(self, name: str, file: Path) -> None:
        """Copy a file from there."""
        with storage_failures_reported(self.uri):
            fs.copy_files(self._at(name), str(file.absolute()), self._system, fs.LocalFileSystem())

    def remove(self, name: str) -> None:
        """Remove a file."""
        with storage_failures_reported(self.uri):
            self._system.delete_file(self._at(name))

    def _found(self) -> tuple[Any, str]:
        try:
            found: tuple[Any, str] = fs.FileSystem.from_uri(self.uri)
        except ValueError as error:  # Arrow's own errors are ValueErrors, too: what is wrong with the URI
            raise FakebrokerError(f"{self.uri}: {error}") from None
        return found

    def _at(self, name: str) -> str:
        return f"{self._base}/{name}".rstrip("/")

    def _make_folder(self, name: str) -> None:
        """An object store has no folders."""
        if self._is_local:
            self._system.create_dir(self._at(name), recursive=True)


@contextmanager
def library_failures_reported(what: str) -> Iterator[None]:
    """Turn whatever a library of a table format raises in the block into FakebrokerError, in a line that begins so."""
    try:
        yield
    except FakebrokerError:
        raise
    except Exception as error:  # of its own, of Rust, of Arrow, of a database: they have no class in common
        raise FakebrokerError(f"{what}: {_BETWEEN_LINES.sub(': ', str(error).strip())}") from error
