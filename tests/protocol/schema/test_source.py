"""Generated functions can be read where they fail."""

import linecache
import traceback

import pytest

from fakebroker.protocol.schema.source import FunctionSource, failing_field, format_paths
from tests.protocol.schema.samples import Everything, Inner


def test_a_traceback_shows_the_generated_line() -> None:
    """A bare decoder that fails leads to its line, and the line names the field."""
    decode = Everything.decoder(2)
    with pytest.raises(IndexError) as failed:
        decode(Everything().encode(2)[:50], 0)

    last = traceback.extract_tb(failed.value.__traceback__)[-1]
    assert last.filename == "<fakebroker Everything v2 decode>"
    assert last.line == "n4 = data[p]  # Data"
    assert failing_field(failed.value) == ("Data", 50)


def test_sources_survive_a_check_of_the_cache() -> None:
    """linecache does not throw the source away for lack of a file."""
    Inner()
    Everything().encode(0)
    linecache.checkcache()

    assert linecache.getline("<fakebroker Everything v0 encode>", 1) == "def encode(o):\n"


def test_a_codec_is_made_once() -> None:
    """Asking again gives the same function."""
    assert Everything.decoder(1) is Everything.decoder(1)
    assert Everything.encoder(1) is Everything.encoder(1)


def test_an_error_elsewhere_has_no_place() -> None:
    """An exception that did not pass through generated code names no field."""
    with pytest.raises(ValueError, match="invalid literal") as failed:
        int("x")

    assert failing_field(failed.value) == ("", None)


def test_fields_of_one_struct_are_named_together() -> None:
    """A line about several fields names their struct once."""
    assert format_paths(["A[].B", "", "A[].C"]) == "A[].(B, C)"
    assert format_paths(["A", "B"]) == "A, B"
    assert format_paths(["A", "B.C"]) == "A, B.C"
    assert format_paths([]) == ""


def test_lines_are_written_at_their_depth() -> None:
    """FunctionSource grows by lines, which can be taken back or put in later."""
    source = FunctionSource("sample")
    source.add("def f():")
    source.depth = 1
    source.add("y = 2")
    source.add("return x + y", "Sum")
    source.insert(1, "x = 1")
    source.add("unreachable")
    source.cut(4)

    assert source.text() == "def f():\n    x = 1\n    y = 2\n    return x + y  # Sum\n"
    assert source.compile("f")() == 3
