"""A file that says that a folder is in use. The system unlocks it when the process ends, however that happens."""

import fcntl
from pathlib import Path
from typing import BinaryIO


def locked(path: Path) -> BinaryIO | None:
    """The file, which is made if needed, locked until it is closed; None if another process has it. Raises OSError."""
    file = path.open("ab")
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # systems differ
        file.close()
        return None
    return file
