"""Which Python benchmarks run on: one that was optimized by profiles, as distributions ship it.

pyenv builds CPython without profiles by default: such a build takes 13 % more instructions and 30 %
more time for the same work. Debian's and Ubuntu's packages are built with profiles.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tools.stages import environment

ROOT = Path(__file__).resolve().parents[1]
SYSTEM_PYTHON = "/usr/bin/python3"


def fast_python() -> str:
    """The system's Python if it can load the libraries that were installed for this one, else this one."""
    if shutil.which(SYSTEM_PYTHON):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([SYSTEM_PYTHON, "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == sysconfig.get_python_version():
            return SYSTEM_PYTHON
    return sys.executable


def library_path() -> str:
    """PYTHONPATH for another interpreter: our code, and the libraries that this one has."""
    return os.pathsep.join([str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])


def change_to(python: str, module: str) -> None:
    """Start `python -m module` with our arguments in place of this process, unless it runs on that Python.

    What it starts in turn finds modules compiled, as after an installation.
    """
    os.environ.update(environment())
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if os.path.realpath(sys.executable) != os.path.realpath(python):
        os.execve(python, [python, "-m", module, *sys.argv[1:]], {**os.environ, "PYTHONPATH": library_path()})


def build() -> str:
    """Version and build of the Python that runs this, for people."""
    if os.path.realpath(sys.executable) == os.path.realpath(SYSTEM_PYTHON):
        kind = "the system's, optimized by profiles"
    elif "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or ""):
        kind = "optimized by profiles"
    else:
        kind = "NOT optimized by profiles"
    return f"{platform.python_implementation()} {platform.python_version()} ({kind})"
