"""What a campaign says in the end."""

from typing import Any

from fakebroker.analysis.campaign.outcome_text import MAX_SHOWN, Count, outcome_text


def failure(rank: int, **more: Any) -> dict[str, Any]:
    """A row of `campaign_failures`."""
    row = {"rank": rank, "runs": 1, "of_runs": 4, "scenario": "a.yaml", "first_seed": 7, "settings": "{}"}
    return {**row, "failure": f"expected {rank}\nbut saw 0", "repeat": f"repeat {rank}", **more}


def test_a_failure_has_its_text_and_its_command() -> None:
    """By rank, whatever order they come in; several lines of a failure stand under each other."""
    counts = [Count("a.yaml", "{}", "passed", 2), Count("a.yaml", "{}", "broken", 2)]

    text = outcome_text(counts, [failure(2), failure(1, settings='{"a.b": "5"}', runs=1000)])

    assert text.splitlines() == [
        "1. 1,000 of 4 runs of a.yaml, first with seed 7, a.b=5",
        "     expected 1",
        "     but saw 0",
        "   repeat: repeat 1",
        "",
        "2. 1 of 4 runs of a.yaml, first with seed 7",
        "     expected 2",
        "     but saw 0",
        "   repeat: repeat 2",
        "",
        "4 runs of 1 scenario: 2 passed, 2 broken in 2 different ways",
    ]


def test_settings_are_compared_by_how_often_runs_failed_with_them() -> None:
    """The combination with the largest share of failures comes first, not that with the most."""
    counts = [
        Count("a.yaml", '{"n": "1"}', "passed", 90),
        Count("a.yaml", '{"n": "1"}', "failed", 10),
        Count("a.yaml", '{"n": "2"}', "failed", 4),
        Count("a.yaml", "{}", "passed", 1),
    ]

    assert outcome_text(counts, [failure(1)]).split("\n\n")[1].splitlines() == [
        "   4 of 4 runs failed with n=2",
        "   10 of 100 runs failed with n=1",
        "   0 of 1 runs failed with no settings",
    ]


def test_long_lists_are_cut_and_say_so() -> None:
    """Failures and combinations of settings beyond the first are counted."""
    many = MAX_SHOWN + 2
    counts = [Count("a.yaml", f'{{"n": "{number}"}}', "failed", 1) for number in range(many)]
    text = outcome_text(counts, [failure(rank) for rank in range(1, many + 1)])

    assert f"{MAX_SHOWN}. 1 of 4 runs" in text
    assert f"{MAX_SHOWN + 1}. 1 of 4 runs" not in text
    assert "... and 2 more ways to fail, in the table campaign_failures" in text
    assert "   ... and 2 more combinations of settings" in text
    assert text.endswith(f"{many} runs of 1 scenario: {many} failed in {many} different ways")
