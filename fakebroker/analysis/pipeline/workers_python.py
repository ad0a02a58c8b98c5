"""Which Python runs Spark's workers: it must be one that has this package.

Spark starts workers with `python3` of the PATH unless PYSPARK_PYTHON says otherwise. In a program run by the Python of
a virtual environment that is not activated these are two Pythons, and the second one does not find
`format("fakebroker")`.
"""

import os
import shutil
import subprocess
import sys
from typing import Any, Final

from fakebroker.protocol.errors import Unavailable

_SOURCE: Final = "pyspark_fakebroker"
_HAS_SOURCE: Final = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({_SOURCE!r}) is None)"
_LONGEST_S: Final = 30
_BY_SPARK_SUBMIT: Final = "PYSPARK_GATEWAY_PORT"


class OtherPython(Unavailable):
    """Spark's workers run in a Python without this package; says how to give them this one."""


def is_submitted() -> bool:
    """Whether spark-submit runs this program: it has started Java before this Python, with its own options."""
    return _BY_SPARK_SUBMIT in os.environ


def use_this_python() -> None:
    """Name this Python as that of workers, for sessions that start later, unless another one is named."""
    if is_submitted():
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", os.environ["PYSPARK_PYTHON"])


def check_workers_python() -> None:
    """Raise OtherPython if a session runs on this machine alone whose workers do not have this package."""
    pyspark = sys.modules.get("pyspark")
    context: Any = None if pyspark is None else pyspark.SparkContext._active_spark_context
    if context is None or not str(context.master).startswith("local"):
        return
    python = shutil.which(context.pythonExec) or context.pythonExec
    if python == sys.executable or _has_package(python):
        return
    raise OtherPython(
        f"Spark's workers run {python}, which has no fakebroker: set PYSPARK_PYTHON={sys.executable}, or "
        f"`import {_SOURCE}` before the Spark session starts"
    )


def _has_package(python: str) -> bool:
    try:
        return not subprocess.run([python, "-c", _HAS_SOURCE], capture_output=True, timeout=_LONGEST_S).returncode
    except (OSError, subprocess.SubprocessError):
        return False
