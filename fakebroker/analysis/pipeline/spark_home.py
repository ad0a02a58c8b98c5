"""A home of Spark from which its Python workers start fast.

Spark starts Python processes with `$SPARK_HOME/python/lib/pyspark.zip` before everything else on their path: there
Python finds no compiled modules, and compiles all that it imports, in each process anew. That is most of what the first
query over a Python data source costs, which has five kinds of processes. Where pyspark is installed beside the
interpreter, a home without that file makes them import the installed one.
"""

import atexit
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp


@contextmanager
def fast_home() -> Iterator[None]:
    """Name such a home in the environment in which the block starts Spark, where that is possible."""
    import pyspark

    home = make_home(os.environ, Path(pyspark.__file__).parent)
    if home is None:
        yield
        return
    os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        del os.environ["SPARK_HOME"]


def make_home(environment: Mapping[str, str], package: Path) -> Path | None:
    """Make a home of links to what is in `package`, the folder of pyspark, but for its copy for workers.

    Returns None, and the home has to stay as it is, if the environment names one or another Python for workers, if
    pyspark is not where this Python finds it by itself, or links cannot be made. The home goes when Python ends.
    """
    is_installed = str(package.parent) in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    is_named = "SPARK_HOME" in environment or environment.get("PYSPARK_PYTHON", sys.executable) != sys.executable
    if is_named or not is_installed or not (package / "jars").is_dir():
        return None
    home = Path(mkdtemp(prefix="fakebroker-spark-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    try:
        for name in ("bin", "conf", "jars", "sbin"):
            if (package / name).is_dir():
                os.symlink(package / name, home / name, target_is_directory=True)
    except OSError:
        return None
    return home
