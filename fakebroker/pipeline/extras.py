"""One clear line when an extra is not installed."""

from importlib.util import find_spec

from fakebroker.errors import FakebrokerError

_MODULES = {"history": ("numpy", "pyarrow"), "spark": ("pyspark", "pandas", "pyarrow", "numpy")}


class MissingExtra(FakebrokerError):
    """An extra is not installed; says which, and how to install it."""


def need_extra(extra: str) -> None:
    """Raise MissingExtra unless the libraries of `extra` ("history" or "spark") are installed; imports none of them."""
    missing = [name for name in _MODULES[extra] if find_spec(name) is None]
    if missing:
        instead = "; without Java and Spark, small inputs: --engine python" if extra == "spark" else ""
        raise MissingExtra(f"this needs {', '.join(missing)}: pip install 'fakebroker[{extra}]'{instead}")
