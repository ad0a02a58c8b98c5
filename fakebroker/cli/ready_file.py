"""A file that exists while a broker serves clients: for checks that must not depend on its ports."""

import os
from pathlib import Path


class ReadyFile:
    """The file with the process id of a broker that serves. One that an earlier process left is removed."""

    def __init__(self, path: str) -> None:
        """Raises OSError if there cannot be such a file."""
        self._path = Path(path)
        self._path.touch()  # an error now is better than a broker that is never found ready
        self.remove()

    def write(self) -> None:
        """The broker serves clients now."""
        self._path.write_text(f"{os.getpid()}\n")

    def remove(self) -> None:
        """It does not, or no more."""
        self._path.unlink(missing_ok=True)
