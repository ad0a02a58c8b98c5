"""What installers and other programs look up: extras, commands, entry points, the module that Spark finds by name."""

import tomllib
from collections.abc import Iterator

from tools.stages import ROOT


def packaging_names() -> Iterator[str]:
    """All of them."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = found["project"]
    yield from (f"fakebroker[{name}]" for name in project["optional-dependencies"])
    yield from (f"command {name}" for name in project["scripts"])
    for group, entries in project["entry-points"].items():
        yield from (f"entry point {group}:{name}" for name in entries)
    yield from (
        f"module {name.removesuffix('.py')}"
        for name in found["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    )
