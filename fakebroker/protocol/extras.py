"""The optional parts of the package (extras of pip): one clear line when one of them is not installed."""

import json
import os
from pathlib import Path

from fakebroker.protocol.errors import Unavailable


class MissingExtra(Unavailable):
    """An extra is not installed; says which, and how to install it."""


def missing_extra(extra: str, why: str) -> MissingExtra:
    """The error for a part that needs `extra`; `why` says what needs what: "scenarios need PyYAML"."""
    return MissingExtra(f"{why}: {install_command(extra)}")


def install_command(extra: str) -> str:
    """The command that installs an extra, quoted for every shell: of the checkout if this package comes from one.

    In the container image, which has no pip, the command that builds an image with it.
    """
    if in_image := os.environ.get("FAKEBROKER_IMAGE_EXTRAS"):
        return f"docker build -t fakebroker --build-arg EXTRAS={in_image},{extra} ."
    return f"pip install '{_source()}[{extra}]'"


def _source() -> str:
    """What pip installs this package from: a folder of its source, or the package index."""
    checkout = Path(__file__).resolve().parents[2]
    return str(checkout) if (checkout / "pyproject.toml").exists() else _installed_from() or "fakebroker"


def _installed_from() -> str | None:
    """The folder that `pip install FOLDER` named; None if the package came from an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        direct = distribution("fakebroker").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    url = str(json.loads(direct)["url"]) if direct else ""
    folder = url.removeprefix("file://")
    return folder if url.startswith("file://") and Path(folder).is_dir() else None
