"""The list of tests that run alone stays short and true."""

from datetime import date

import pytest

from tests.support.alone import ALONE, FILE, Alone, read

MOST = 5


def test_few_tests_run_alone() -> None:
    """There are five at most, each of a file that exists, each with a reason."""
    assert len(ALONE) <= MOST
    assert [each for each in ALONE if not (FILE.parent.parent / each.test.split("::")[0]).exists()] == []
    assert [each for each in ALONE if len(each.reason.split()) < 3] == []


def test_a_line_has_a_test_a_date_and_a_reason() -> None:
    """A line that lacks one of them is refused."""
    line = "tests/a.py::test_b[x] | 2026-11-23 | two JVMs need 4 GB"

    assert read(f"# comment\n{line}\n") == [Alone("tests/a.py::test_b[x]", date(2026, 11, 23), "two JVMs need 4 GB")]
    for wrong in ("tests/a.py::test_b | 2026-11-23", "tests/a.py::test_b | soon | why"):
        with pytest.raises(ValueError):
            read(wrong)
