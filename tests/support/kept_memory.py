"""What an object keeps in memory: itself and all that it refers to, as far as that is data."""

import gc
import sys
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_NO_DATA = (type, ModuleType, FunctionType, BuiltinFunctionType)


def kept_bytes(*roots: Any) -> int:
    """The bytes of these objects with all that they refer to, each once."""
    seen, waiting, size_bytes = set[int](), list(roots), 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _NO_DATA):
            continue
        seen.add(id(each))
        size_bytes += sys.getsizeof(each)
        waiting += gc.get_referents(each)
    return size_bytes
