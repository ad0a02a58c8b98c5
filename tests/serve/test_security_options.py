"""Users of the command line and of files."""

from pathlib import Path

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.serve.security_options import parse_user, read_users


def test_a_user_is_a_name_and_a_password() -> None:
    """The first "=" ends the name."""
    assert parse_user("alice=pa=ss") == ("alice", "pa=ss")


@pytest.mark.parametrize("text", ["alice-secret", "=secret", "alice="])
def test_what_is_no_user_is_reported_without_the_password(text: str) -> None:
    """A password that was typed in the wrong place is not shown either."""
    with pytest.raises(InvalidArgument) as wrong:
        parse_user(text)
    assert "secret" not in f"{wrong.value} {wrong.value.value}"


def test_a_file_has_a_user_on_each_line(tmp_path: Path) -> None:
    """Empty lines and remarks are passed over; a password may have blanks and end with one."""
    path = tmp_path / "users"
    path.write_text("# who may log in\n\nalice=a secret \nbob=#x\n", encoding="utf-8")

    assert read_users(str(path)) == {"alice": "a secret ", "bob": "#x"}


def test_only_an_end_of_line_ends_a_line(tmp_path: Path) -> None:
    """A password may have what Unicode calls a line separator: what follows is no user."""
    path = tmp_path / "users"
    path.write_bytes("alice=a\u2028admin=x\x0c\x85\r\nbob=b\r\n".encode())

    assert read_users(str(path)) == {"alice": "a\u2028admin=x\x0c\x85", "bob": "b"}


def test_a_byte_order_mark_belongs_to_no_name(tmp_path: Path) -> None:
    """Editors of Windows write one."""
    path = tmp_path / "users"
    path.write_text("alice=a\n", encoding="utf-8-sig")

    assert read_users(str(path)) == {"alice": "a"}


def test_other_encodings_are_reported_without_the_bytes(tmp_path: Path) -> None:
    """By the place, as the bytes may be of a password; UTF-16 is none either."""
    path = tmp_path / "users"
    path.write_bytes(b"alice=secret\xff\n")

    with pytest.raises(InvalidArgument, match="users is not UTF-8 at byte 12") as wrong:
        read_users(str(path))
    assert "secret" not in f"{wrong.value!r} {wrong.value.__cause__!r}"


def test_a_bad_line_is_reported_by_its_number(tmp_path: Path) -> None:
    """Without what stands there."""
    path = tmp_path / "users"
    path.write_text("alice=pa\na secret without a name\n", encoding="utf-8")

    with pytest.raises(InvalidArgument, match="users:2: a user must be NAME=PASSWORD") as wrong:
        read_users(str(path))
    assert "without a name" not in str(wrong.value)
