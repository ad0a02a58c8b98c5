"""Spark finds this module by the beginning of its name: with it `format("fakebroker")` needs no registration.

A program that imports it before its Spark session starts has workers in the same Python. Imported later it raises
OtherPython if workers on this machine have another Python that lacks this package.

It is also the program for spark-submit, with the arguments of the command `fakebroker`.
"""

from fakebroker.analysis.pipeline.kafka_source.source import FakebrokerSource as DefaultSource
from fakebroker.analysis.pipeline.workers_python import check_workers_python, use_this_python

__all__ = ["DefaultSource"]

use_this_python()
check_workers_python()

if __name__ == "__main__":
    from fakebroker.cli.main import main

    main()
