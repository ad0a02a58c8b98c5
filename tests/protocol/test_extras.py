"""What to install when an extra is missing: a command that works where it is shown."""

import ast
import json
from pathlib import Path

import pytest

import fakebroker
from fakebroker.protocol import extras
from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.extras import install_command, missing_extra
from tests.support.sources import ROOT, nodes_of, python_files, tree_of

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


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is installed in a folder of its own, outside of a checkout."""
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages" / "fakebroker" / "protocol" / "extras.py"))


def installed_from(monkeypatch: pytest.MonkeyPatch, path: Path | None) -> None:
    """Have the metadata say that pip was given a path, or a name."""
    url = None if path is None else path.as_uri()
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Installed(url))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", ["source", "my source", "fakebroker-1.0.0-py3-none-any.whl"])
def test_an_installed_package_names_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The folder or the wheel that pip was given if it still exists, else the package index."""
    source = tmp_path / name
    installed_from(monkeypatch, source)
    assert install_command("tls") == "pip install 'fakebroker[tls]'"
    source.touch() if name.endswith(".whl") else source.mkdir()
    assert install_command("tls") == f"pip install '{source}[tls]'"
    installed_from(monkeypatch, None)
    assert install_command("tls") == "pip install 'fakebroker[tls]'"


@pytest.mark.usefixtures("elsewhere")
def test_the_recordings_are_installed_from_beside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index has them before a release: from a checkout its folder is named, from wheels the folder of wheels."""
    folder, wheel = tmp_path / "checkout", tmp_path / "fakebroker-1.0.0-py3-none-any.whl"
    (folder / "recordings").mkdir(parents=True)
    wheel.touch()
    installed_from(monkeypatch, folder)
    assert install_command("conformance") == f"pip install '{folder}/recordings' '{folder}[conformance]'"
    installed_from(monkeypatch, wheel)
    assert install_command("conformance") == f"pip install --find-links '{tmp_path}' '{wheel}[conformance]'"
    installed_from(monkeypatch, None)
    assert install_command("conformance") == "pip install 'fakebroker[conformance]'"


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
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("fakebroker")
        if path.name != "extras.py" or path.parent.name != "protocol"
        for node in nodes_of(tree_of(path), ast.Constant)
        if isinstance(node.value, str) and "pip install" in node.value
    ]
    assert found == []
