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
    """The command that installs an extra, quoted for every shell: from where this package came, if that is still there.

    In the container image, which has no pip, the command that builds an image with it.
    """
    if in_image := os.environ.get("FAKEBROKER_IMAGE_EXTRAS"):
        return f"docker build -t fakebroker --build-arg EXTRAS={in_image},{extra} ."
    source = _source()
    recordings = _recordings(source) if source is not None and extra == "conformance" else ""
    return f"pip install {recordings}'{source or 'fakebroker'}[{extra}]'"


def _recordings(source: Path) -> str:
    """Where pip finds the package of recordings, which is made beside this one."""
    if source.is_file():
        return f"--find-links '{source.parent}' "
    return f"'{source / 'recordings'}' " if (source / "recordings").is_dir() else ""


def _source() -> Path | None:
    """The folder or wheel that pip installs this package from; None if it came from an index."""
    checkout = Path(__file__).resolve().parents[2]
    return checkout if (checkout / "pyproject.toml").exists() else _installed_from()


def _installed_from() -> Path | None:
    """The folder or file that `pip install` was given, if it still exists."""
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        direct = distribution("fakebroker").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    url = urlsplit(str(json.loads(direct)["url"]) if direct else "")
    path = Path(url2pathname(url.path))
    return path if url.scheme == "file" and path.exists() else None
