"""A file that says that a folder is in use. The system unlocks it when the process ends, however that happens."""

from pathlib import Path
from typing import BinaryIO

from fakebroker.platform.files import file_in_place, lock_for_process


def locked(path: Path) -> BinaryIO | None:
    """The file, which is made if needed, locked until it is closed; None if another process has it. Raises OSError."""
    file = file_in_place(path, "ab")
    try:
        lock_for_process(file.fileno())
    except BlockingIOError:
        file.close()
        return None
    return file
