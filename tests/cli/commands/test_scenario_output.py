"""How commands write a scenario file."""

from pathlib import Path

import pytest

from fakebroker.cli.commands.scenario_output import check_is_new, write_whole
from fakebroker.protocol.errors import FakebrokerError


def test_a_file_that_exists_is_only_overwritten_with_force(tmp_path: Path) -> None:
    """The error names the option."""
    path = tmp_path / "x.yaml"
    check_is_new(path, force=False)
    path.touch()

    check_is_new(path, force=True)
    with pytest.raises(FakebrokerError, match=r"x.yaml already exists; --force overwrites it"):
        check_is_new(path, force=False)


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A folder in the way: the text is not left beside it."""
    (tmp_path / "x.yaml" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match=r"x\.yaml"):
        write_whole(tmp_path / "x.yaml", "text")
    assert [each.name for each in tmp_path.iterdir()] == ["x.yaml"]
