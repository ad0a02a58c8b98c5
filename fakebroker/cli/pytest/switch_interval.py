"""How soon a broker's thread gets its turn beside a test that computes: Python's switch interval for the whole run.

pytest --fakebroker-switch-interval-ms 0.2             fakebroker_switch_interval_ms = 0.2 in the ini file
"""

import sys

import pytest

from fakebroker.cli.pytest.options import given
from fakebroker.protocol.errors import InvalidArgument

OPTION = "fakebroker_switch_interval_ms"
_MAX_MS = 1000.0


def configure(config: pytest.Config) -> None:
    """Set the interval that the command line or the ini file asks for, until the run is over.

    Raises UsageError, which ends the run, for an invalid one.
    """
    try:
        interval_ms = _interval_ms(*given(config, OPTION))
    except InvalidArgument as error:
        raise pytest.UsageError(str(error)) from None
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(interval_ms / 1000)
    config.add_cleanup(lambda: sys.setswitchinterval(before_s))


def _interval_ms(value: str, called: str) -> float:
    """Raises InvalidArgument for what is not a number of milliseconds that makes sense."""
    try:
        interval_ms = float(value)
    except ValueError:
        interval_ms = 0.0
    if not 0.001 <= interval_ms <= _MAX_MS:
        raise InvalidArgument(called, value, f"{called} is {value!r}, which is not 0.001 to {_MAX_MS:g} milliseconds")
    return interval_ms
