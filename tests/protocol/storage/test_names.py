"""Names of files and folders in a log directory."""

import pytest

from fakebroker.protocol.errors import InvalidArgument
from fakebroker.protocol.storage.names import (
    LOG,
    OFFSET_INDEX,
    deleted_folder_name,
    file_name,
    folder_name,
    is_deleted_folder,
    offset_of,
    parse_folder,
)


@pytest.mark.parametrize("offset", [0, 42, 2**63 - 1])
def test_files_of_a_segment(offset: int) -> None:
    """A file's name has the offset in 20 digits, which can be read again."""
    assert len(file_name(offset, LOG)) == 24
    assert offset_of(file_name(offset, LOG), LOG) == offset


@pytest.mark.parametrize("name", ["42.log", "0" * 20, f"{'0' * 20}.log.deleted", f"{'²' * 20}.log", f"{'0' * 19}x.log"])
def test_other_files(name: str) -> None:
    """A name of another form, or of another kind of file, has no offset."""
    assert offset_of(name, LOG) is None
    assert offset_of(file_name(0, LOG), OFFSET_INDEX) is None


@pytest.mark.parametrize("topic", ["orders", "a-b-1", "__consumer_offsets"])
def test_folders_of_partitions(topic: str) -> None:
    """A folder's name is topic and partition, where the topic may have hyphens."""
    assert parse_folder(folder_name(topic, 17)) == (topic, 17)


@pytest.mark.parametrize("topic", ["../victim", "/victim", "a\\b", "a\0b", ""])
def test_no_folder_is_elsewhere(topic: str) -> None:
    """A name that leaves the log directory is refused, whatever let it come this far."""
    with pytest.raises(InvalidArgument, match="cannot be that of a folder"):
        folder_name(topic, 0)
    with pytest.raises(InvalidArgument, match="cannot be that of a folder"):
        deleted_folder_name(topic, 0, "0" * 32)


@pytest.mark.parametrize("name", ["orders", "orders-", "-1", "orders-01", "orders-x", "orders-²", "o-0.a-delete"])
def test_other_folders(name: str) -> None:
    """A folder of another form belongs to no partition."""
    assert parse_folder(name) is None


def test_folders_that_are_removed() -> None:
    """They have a name that no partition's folder has, and that is not longer than a name can be."""
    name = deleted_folder_name("t" * 249, 3, "0" * 32)

    assert is_deleted_folder(name)
    assert len(name) == 255
    assert parse_folder(name) is None
    assert not is_deleted_folder("orders-0")
