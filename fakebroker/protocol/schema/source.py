"""Generated source: lines that remember which field they are about, and their way into a function.

Every compiled piece is registered with linecache, so that a traceback, a debugger or a profiler shows its lines.
"""

import linecache
import struct
from typing import Any

from fakebroker.protocol.schema import runtime
from fakebroker.protocol.schema.message import Declaration

# Generated functions by file name: which field each line is about. Errors look up the line that failed.
_paths: dict[str, list[str]] = {}


class FunctionSource:
    """The source of one function, line by line: `add` writes at the depth `depth`, `compile` makes the function."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines: list[str] = []
        self.paths: list[str] = []
        self.names: dict[str, Any] = {}
        self.depth = 0
        self._serial = 0

    def add(self, line: str, path: str = "") -> None:
        """Appends a line at the current depth; `path` is the field it is about."""
        self.lines.append("    " * self.depth + line)
        self.paths.append(path)

    def insert(self, index: int, line: str) -> None:
        """Puts a line at the current depth before the one with that index."""
        self.lines.insert(index, "    " * self.depth + line)
        self.paths.insert(index, "")

    def cut(self, index: int) -> None:
        """Takes back the lines from that index on."""
        del self.lines[index:]
        del self.paths[index:]

    def fresh(self, prefix: str) -> str:
        """A local name not used so far."""
        self._serial += 1
        return f"{prefix}{self._serial}"

    def use(self, name: str, value: Any) -> str:
        """Gives the function a global."""
        self.names[name] = value
        return name

    def helper(self, name: str) -> str:
        """Gives the function a name from runtime.py."""
        return self.use(name, getattr(runtime, name))

    def struct_function(self, verb: str, chars: str) -> str:
        """The name of a precompiled struct function, such as `unpack_iqB`."""
        name = f"{verb}_{chars.replace('?', 'o').replace('16s', 'u')}"
        if name not in self.names:
            compiled = struct.Struct(">" + chars)
            self.names[name] = compiled.pack if verb == "pack" else compiled.unpack_from
        return name

    def compile(self, function: str) -> Any:
        """Runs the source and returns the named function."""
        text, file_name = self.text(), f"<fakebroker {self.title}>"
        exec(compile(text, file_name, "exec"), self.names)
        linecache.cache[file_name] = (len(text), None, text.splitlines(keepends=True), file_name)
        _paths[file_name] = self.paths
        return self.names[function]

    def text(self) -> str:
        """The whole source; lines name the field they are about where the code does not say it."""
        lines = (f"{line}  # {path}" if path else line for line, path in zip(self.lines, self.paths, strict=True))
        return "\n".join(lines) + "\n"


def format_paths(paths: list[str]) -> str:
    """Several fields as one text: those of the same struct share its path, as in `Topics[].(Name, Partitions)`."""
    named = [path for path in paths if path]
    parent = named[0].rpartition(".")[0] if named else ""
    if len(named) < 2 or not parent or any(path.rpartition(".")[0] != parent for path in named):
        return ", ".join(named)
    return f"{parent}.({', '.join(path.rpartition('.')[2] for path in named)})"


def field_targets(declaration: type[Declaration], target: str) -> dict[str, str]:
    """Field name -> what generated code assigns it to: an attribute, or for rows a local that goes into the tuple."""
    dot = "_" if declaration.is_row else "."
    return {spec.name: f"{target}{dot}{spec.name}" for spec in declaration.fields}


def failing_field(error: BaseException) -> tuple[str, int | None]:
    """Which field generated code failed at: its path, and the value of `p` if it was a decoder, else None.

    ("", None) for an error that was raised elsewhere.
    """
    traceback = error.__traceback__
    path, position = "", None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename in _paths:
            path = _paths[code.co_filename][traceback.tb_lineno - 1]
            position = traceback.tb_frame.f_locals.get("p")
        traceback = traceback.tb_next
    return path, position
