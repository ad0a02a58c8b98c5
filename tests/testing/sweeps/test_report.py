"""What a sweep says: counts, each break with the line that repeats it, and nothing endless."""

import pytest

from fakebroker.testing.sweeps import plausible
from fakebroker.testing.sweeps.cases import Case
from fakebroker.testing.sweeps.report import BROKEN, HELD, HUNG, NOT_REACHED, CaseResult, SweepReport


def result(nth: int, outcome: str, message: str = "", was_reached: bool = True) -> CaseResult:
    case = Case("OffsetCommit", nth, plausible.fault("lost-answer"), "a")
    return CaseResult(case, outcome, message=message, was_reached=was_reached)


def report(*results: CaseResult, requests: int = 3, cases: int | None = None) -> SweepReport:
    cases = len(results) if cases is None else cases
    return SweepReport("test_orders", requests, cases, list(results), lambda name: f"again {name}", seed=7)


def test_the_first_line_counts() -> None:
    """Only what there is."""
    assert str(report(result(1, HELD))) == "test_orders: 3 requests, 1 run, 1 held"
    assert report(result(1, BROKEN), result(2, HUNG), result(3, NOT_REACHED)).text.startswith(
        "test_orders: 3 requests, 3 runs, 0 held, 1 broken, 1 hung, 1 not reached\n"
    )
    assert str(report(requests=0)).startswith("test_orders: no cases: no client sent a request")


def test_a_break_has_its_sentence_message_and_repeat() -> None:
    """Of a message over several lines the first."""
    assert report(result(3, BROKEN, "AssertionError: 1 != 2\nand more")).text.splitlines()[1:] == [
        "  broken by: the answer to OffsetCommit #3 of a is lost after it was applied",
        "    AssertionError: 1 != 2",
        "    repeat: again OffsetCommit#3:lost-answer",
    ]


def test_a_break_before_the_fault_is_said() -> None:
    """A test that fails by itself at times is not blamed on the fault."""
    assert (
        "(already broken before the fault, which may not be the cause)"
        in report(result(1, BROKEN, was_reached=False)).text
    )


def test_many_are_named_only() -> None:
    """Twenty in full, then five names and a number."""
    text = report(*(result(n, BROKEN) for n in range(1, 31)), *(result(n, NOT_REACHED) for n in range(31, 40))).text

    assert text.count("broken by:") == 20
    assert "  and 10 more broken: OffsetCommit#21:lost-answer, " in text
    assert "OffsetCommit#25:lost-answer and 5 more" in text
    assert text.endswith("OffsetCommit#35:lost-answer and 4 more")


def test_a_sample_is_said() -> None:
    """With its seed."""
    assert "  1 of 9 cases, chosen by seed 7; a larger budget runs more" in report(result(1, HELD), cases=9).text


@pytest.mark.parametrize(("outcome", "is_held"), [(HELD, True), (NOT_REACHED, True), (BROKEN, False), (HUNG, False)])
def test_what_is_broken_or_hung_does_not_pass(outcome: str, is_held: bool) -> None:
    """`check` raises then, with the whole text."""
    swept = report(result(1, outcome))

    assert swept.is_held is is_held
    if is_held:
        swept.check()
    else:
        with pytest.raises(AssertionError) as raised:
            swept.check()
        assert str(raised.value) == swept.text
