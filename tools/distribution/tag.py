"""Whether everything that names the version names that of a tag."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.distribution.building import PROJECTS, ROOT


def tag_problems(tag: str, root: Path = ROOT) -> list[str]:
    """What does not have the version of a tag such as `v1.2.3`, in sentences."""
    version = tag.removeprefix("v")
    if tag == version or not re.fullmatch(r"\d+\.\d+\.\d+", version):
        return [f"the tag is {tag!r}; it should be v and three numbers, such as v1.2.3"]
    return [f"{where} has version {found}; the tag is {tag}" for where, found in _versions(root) if found != version]


def _versions(root: Path) -> Iterator[tuple[str, str]]:
    for project in PROJECTS:
        path = project.relative_to(ROOT) / "pyproject.toml"
        yield str(path), tomllib.loads((root / path).read_text())["project"]["version"]
    yield "Dockerfile", _first(r'image\.version="([^"]+)"', root / "Dockerfile")
    yield "CHANGELOG.md", _first(r"^## (\S+(?: \(unreleased\))?)", root / "CHANGELOG.md")


def _first(pattern: str, path: Path) -> str:
    found = re.search(pattern, path.read_text(), re.MULTILINE)
    return found[1] if found else "none"
