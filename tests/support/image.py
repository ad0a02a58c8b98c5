"""The Dockerfile, read as far as tests need it: which files are copied, what runs, how health is checked."""

import fnmatch
import json
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Dockerfile:
    """The instructions of the file, continued lines joined."""

    def __init__(self, path: Path = ROOT / "Dockerfile") -> None:
        lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
        joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
        self._instructions = [line.partition(" ")[::2] for line in joined.splitlines() if line]

    def all(self, word: str) -> list[str]:
        """What follows each instruction of that name."""
        return [rest for name, rest in self._instructions if name == word]

    @property
    def environment(self) -> dict[str, str]:
        """What ENV sets."""
        return dict(line.split("=", 1) for line in self.all("ENV"))

    @property
    def labels(self) -> dict[str, str]:
        """What LABEL sets."""
        return dict(re.findall(r'(\S+)="([^"]*)"', " ".join(self.all("LABEL"))))

    @property
    def command(self) -> list[str]:
        """The arguments of the program when no others are given."""
        words: list[str] = json.loads(self.all("CMD")[-1])
        return words

    @property
    def build_arguments(self) -> dict[str, str]:
        """What ARG sets, if no `--build-arg` does. Raises ValueError if two stages differ."""
        found = dict(line.split("=", 1) for line in self.all("ARG"))
        if len(set(self.all("ARG"))) != len(found):
            raise ValueError(f"stages differ: {self.all('ARG')}")
        return found

    @property
    def health_check(self) -> list[str]:
        """The command of HEALTHCHECK."""
        words: list[str] = json.loads(self.all("HEALTHCHECK")[0].partition("CMD ")[2])
        return words

    def copied(self) -> list[tuple[str, str]]:
        """Sources and destinations of the COPY instructions from the context."""
        lines = [line.split() for line in self.all("COPY") if not line.startswith("--from")]
        return [(source, words[-1]) for words in lines for source in words[:-1]]


def is_in_context(path: str, ignore: Path = ROOT / ".dockerignore") -> bool:
    """Whether .dockerignore leaves a file in: the last line that matches it, or a folder above it, decides."""
    parts = path.split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    is_in = True
    for line in ignore.read_text().split():
        pattern = line.removeprefix("!")
        names = parts if pattern.startswith("**/") else above
        if any(fnmatch.fnmatch(name, pattern.removeprefix("**/")) for name in names):
            is_in = line.startswith("!")
    return is_in


def copy_context(folder: Path) -> None:
    """Do the COPY instructions: only files that are in the context are copied. Raises FileNotFoundError for none."""
    for source, destination in Dockerfile().copied():
        files = [ROOT / source] if (ROOT / source).is_file() else sorted((ROOT / source).rglob("*"))
        there = [file for file in files if file.is_file() and is_in_context(file.relative_to(ROOT).as_posix())]
        if not there:
            raise FileNotFoundError(f"COPY {source}: .dockerignore leaves it out")
        for file in there:
            inside = file.name if file == ROOT / source else file.relative_to(ROOT / source).as_posix()
            to = folder / destination / inside
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, to)
