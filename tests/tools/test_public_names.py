"""The list of public names is complete, and a name does not go by accident."""

import sys
from pathlib import Path

import pytest

from tools.public_names import __main__ as command
from tools.public_names import listed
from tools.public_names.names import names
from tools.public_names.python_names import names_of_page

PAGE = """
## FakeBroker

From ...

### `FakeBroker(*, nodes: int=1, config: Mapping[str, Any] | None=None)`

### `await create_topic(name: str, /, *, partitions: int | None=1) -> TopicHandle`

- `bootstrap: str`

## Errors

- `KafkaError(FakebrokerError)`: An error.
"""


@pytest.fixture(scope="module")
def now() -> list[str]:
    """The names that there are."""
    return names()


def test_no_public_name_is_gone(now: list[str]) -> None:
    """A removal is a decision; the message says how it is made."""
    removed = listed.gone(listed.listed(), now)
    assert not removed, listed.removal_text(removed)


def test_every_public_name_is_listed(now: list[str]) -> None:
    """A name that is not in the list can go without notice."""
    assert listed.listed() == now, "run `make public-names`"


@pytest.mark.parametrize(
    "name",
    [
        "python fakebroker.FakeBroker",
        "python GroupHandle.wait(state)",
        "python CertificateAuthority.broker_config",
        "pytest fixture fakebroker",
        "pytest option --fakebroker-seed",
        "pytest mark fakebroker(nodes)",
        "install fakebroker[control]",
        "command fakebroker serve --listen",
        "command fakebroker ctl clock advance --timers",
        "environment FAKEBROKER_CONTROL_TOKEN",
        "exit 3 UNAVAILABLE",
        "http POST /clock/advance",
        "http POST /clock/advance days",
        "scenario actor: commit offsets",
        "scenario file key timeline",
        "setting broker offsets.retention.minutes",
        "setting topic retention.ms",
        "release 3.9.1",
        "line journal request.api",
        "table rebalances cause",
        "format snapshot, version 1",
    ],
)
def test_names_of_every_kind_are_found(now: list[str], name: str) -> None:
    """One example of each kind, which no change of the reading may lose."""
    assert name in now


def test_names_of_a_page_are_classes_members_and_parameters() -> None:
    """Errors are named by their module."""
    assert list(names_of_page(PAGE)) == [
        "FakeBroker",
        "FakeBroker",
        "FakeBroker(nodes)",
        "FakeBroker(config)",
        "FakeBroker.create_topic",
        "FakeBroker.create_topic(name)",
        "FakeBroker.create_topic(partitions)",
        "FakeBroker.bootstrap",
        "Errors",
    ]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list with two names, of which one is gone; there is a new one."""
    path = tmp_path / "names.txt"
    monkeypatch.setattr(listed, "PATH", path)
    monkeypatch.setattr(command, "PATH", path)
    monkeypatch.setattr(command, "names", lambda: ["python a", "python c"])
    listed.write(["python a", "python b"])
    return path


def test_the_command_refuses_removals(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list stays as it was, and the message names what is gone."""
    before = small.read_text()
    monkeypatch.setattr(sys, "argv", ["public_names"])
    assert command.main() == 1
    assert small.read_text() == before
    printed = capsys.readouterr().err
    assert "  python b\n" in printed
    assert "raise the major version" in printed
    assert "make public-names ARGS=--accept-removals" in printed


def test_an_accepted_removal_is_written(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the new names."""
    monkeypatch.setattr(sys, "argv", ["public_names", "--accept-removals"])
    assert command.main() == 0
    assert small.read_text().splitlines()[1:] == ["python a", "python c"]
