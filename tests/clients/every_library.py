"""Every client library that the tests use through one interface (story.py)."""

import pytest

from tests.clients.libraries import CODECS, PYTHON_LIBRARIES
from tests.clients.program_library import ProgramLibrary
from tests.clients.programs import LANGUAGES
from tests.clients.story import Adapter

_FOUR = {each: each for each in ("range", "roundrobin", "sticky", "cooperative-sticky")}
_OTHERS = (
    ProgramLibrary("java", CODECS, _FOUR),
    ProgramLibrary("java-2.8", CODECS, _FOUR),
    ProgramLibrary("franz-go", CODECS, _FOUR),
    ProgramLibrary("sarama", CODECS, _FOUR),
    ProgramLibrary("kafkajs", ("none", "gzip"), {"roundrobin": "RoundRobinAssigner"}),
    ProgramLibrary("rdkafka", CODECS, {each: each for each in ("range", "roundrobin", "cooperative-sticky")}),
)
LIBRARIES: dict[str, Adapter] = {library.name: library for library in (*PYTHON_LIBRARIES, *_OTHERS)}
EVERY_LIBRARY = list(LIBRARIES)


def of(library: str, *values: object, marks: "list[pytest.MarkDecorator] | None" = None) -> object:
    """A parameter with a library, and values besides; it is skipped where the library is not installed."""
    own = LANGUAGES[library].marks if library in LANGUAGES else []
    return pytest.param(library, *values, id="-".join([library, *map(str, values)]), marks=[*own, *(marks or [])])


every_library = pytest.mark.parametrize("name", [of(name) for name in LIBRARIES])
