"""What commands that make a scenario file tell and write."""

from pathlib import Path

import pytest

from fakebroker.errors import FakebrokerError
from fakebroker.scenario.command_output import check_is_new, told_in_a_line, write_whole


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FakebrokerError("no such group"), "no such group"),
        (PermissionError(13, "Permission denied"), "x.yaml cannot be read or written: Permission denied"),
        (FileNotFoundError(2, "No such file", "y"), "y cannot be read or written: No such file"),
        (OSError("odd"), "x.yaml cannot be read or written: odd"),
    ],
)
def test_an_error_ends_the_command_with_a_line(error: Exception, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line goes to standard error, names a file, and the status is 2."""
    with pytest.raises(SystemExit) as ended, told_in_a_line(Path("x.yaml")):
        raise error

    assert ended.value.code == 2
    assert capsys.readouterr() == ("", f"Error: {line}\n")


def test_what_is_no_error_of_ours_is_left_alone() -> None:
    """A mistake in the code is not told as if it were one of the user; without an error the command goes on."""
    with pytest.raises(KeyError), told_in_a_line(Path("x.yaml")):
        raise KeyError
    with told_in_a_line(Path("x.yaml")):
        pass


def test_a_file_is_given_up_only_by_force(tmp_path: Path) -> None:
    """A file that is there is an error, one that is not is none."""
    path = tmp_path / "x.yaml"
    check_is_new(path, force=False)
    write_whole(path, "a: ä\n")
    with pytest.raises(FakebrokerError, match=r"x.yaml is there already; --force overwrites it"):
        check_is_new(path, force=False)
    check_is_new(path, force=True)
    assert path.read_bytes() == "a: ä\n".encode()


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A folder in the way: the text is not left beside it."""
    (tmp_path / "x.yaml" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match=r"x\.yaml"):
        write_whole(tmp_path / "x.yaml", "text")
    assert [each.name for each in tmp_path.iterdir()] == ["x.yaml"]
