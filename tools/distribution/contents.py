"""What may be in a wheel and in an sdist, and how large they may be."""

import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MAX_BYTES: Final = {"fakebroker": 2_500_000, "fakebroker_recordings": 1_000_000}
"""Of each wheel. A wheel compresses each of its 1,200 modules by itself, and names each of them three times; the sdist
has the same files in two thirds of the bytes.
"""
MAX_SDIST_BYTES: Final = {"fakebroker": 2_000_000, "fakebroker_recordings": 500_000}
_TOP: Final = {
    "fakebroker": ("fakebroker", "pyspark_fakebroker.py"),
    "fakebroker_recordings": ("fakebroker_recordings",),
}
_BESIDE: Final = ("CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore")
"""What an sdist has beside the package."""
_STRANGE: Final = ("tests", "test_", "conftest", ".pyc", "__pycache__", ".orig", ".rej", ".log")


def problems(wheel: Path) -> Iterator[str]:
    """What is wrong with a wheel: files that do not belong there, files that are missing, its size."""
    name = wheel.name.split("-")[0]
    yield from _too_large(wheel, MAX_BYTES[name])
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for each in names:
        top = each.split("/")[0]
        if top not in _TOP[name] and not top.endswith(".dist-info"):
            yield f"{wheel.name}: {each} is outside of {' and '.join(_TOP[name])}"
        elif _is_strange(each):
            yield f"{wheel.name}: {each} does not belong into a wheel"
    for top in _TOP[name]:
        if not any(each.split("/")[0] == top for each in names):
            yield f"{wheel.name}: there is no {top}"


def sdist_problems(sdist: Path) -> Iterator[str]:
    """What is wrong with an sdist: it has what its wheel is built from, and nothing else."""
    name = sdist.name.split("-")[0]
    yield from _too_large(sdist, MAX_SDIST_BYTES[name])
    with tarfile.open(sdist) as archive:
        names = [each.partition("/")[2] for each in archive.getnames()]
    for each in filter(None, names):
        if each.split("/")[0] not in (*_TOP[name], *_BESIDE) or _is_strange(each):
            yield f"{sdist.name}: {each} does not belong into an sdist"


def _too_large(file: Path, most: int) -> Iterator[str]:
    size = file.stat().st_size
    if size > most:
        yield f"{file.name} has {size:,} bytes; it should have at most {most:,}"


def _is_strange(path: str) -> bool:
    return any(part.startswith(_STRANGE) or part.endswith(_STRANGE) for part in path.split("/"))


def difference(one: Path, other: Path) -> list[str]:
    """The files that two wheels do not have with the same bytes, but for the list of files and its hashes."""
    first, second = _files(one), _files(other)
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def _files(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist() if not each.filename.endswith("/RECORD")}
