"""One clear line when an extra is not installed."""

from importlib.util import find_spec

from fakebroker.protocol.extras import MissingExtra, missing_extra

__all__ = ["MissingExtra", "need_extra"]

_MODULES = {
    "history": ("duckdb", "numpy", "pyarrow"),
    "spark": ("pyspark", "pandas", "pyarrow", "numpy"),
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg", "sqlalchemy"),
}


def need_extra(extra: str) -> None:
    """Raise MissingExtra unless the libraries of `extra` are installed; imports none of them."""
    missing = [name for name in _MODULES[extra] if find_spec(name) is None]
    if missing:
        instead = "; for small inputs without Java and Spark: --engine embedded" if extra == "spark" else ""
        raise MissingExtra(f"{missing_extra(extra, 'this needs ' + ', '.join(missing))}{instead}")
