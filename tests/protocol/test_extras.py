"""What to install when an extra is missing: a command that works where it is shown."""

import ast
import json
from pathlib import Path

import pytest

import fakebroker
from fakebroker.protocol import extras
from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.extras import install_command, missing_extra

PACKAGE = Path(fakebroker.__file__).parent


class Installed:
    """The metadata of an installed package."""

    def __init__(self, url: str | None) -> None:
        self._url = url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._url is None else json.dumps({"url": self._url})


def test_a_checkout_names_itself() -> None:
    """While nothing is released, the package index has no fakebroker to install."""
    assert install_command("spark") == f"pip install '{PACKAGE.parent}[spark]'"


@pytest.mark.parametrize(("is_from_folder", "is_there"), [(True, True), (True, False), (False, False)])
def test_an_installed_package_names_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_from_folder: bool, is_there: bool
) -> None:
    """The folder that pip was given if it still exists, else the package index."""
    source = tmp_path / "source"
    if is_there:
        source.mkdir()
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages" / "fakebroker" / "protocol" / "extras.py"))
    url = f"file://{source}" if is_from_folder else None
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(url))

    assert install_command("tls") == f"pip install '{source if is_there else 'fakebroker'}[tls]'"


def test_the_image_names_how_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no pip: what it has already, and what is missing, go to `docker build`."""
    monkeypatch.setenv("FAKEBROKER_IMAGE_EXTRAS", "control,scenario")
    assert install_command("tls") == "docker build -t fakebroker --build-arg EXTRAS=control,scenario,tls ."


def test_the_error_says_what_needs_what() -> None:
    """On one line; the command line ends with the status for what is missing outside."""
    error = missing_extra("scenario", "scenarios need PyYAML")

    assert str(error) == f"scenarios need PyYAML: {install_command('scenario')}"
    assert isinstance(error, Unavailable)


def test_no_other_text_says_what_to_install() -> None:
    """Every hint is made in one place, so that all are quoted for every shell."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "extras.py" or path.parent != PACKAGE / "protocol"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "pip install" in node.value
    ]
    assert found == []
