"""What a campaign tells while it works."""

from io import StringIO

import pytest

from fakebroker.analysis.campaign import progress
from fakebroker.analysis.campaign.progress import CampaignProgress


class Terminal(StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs done, all runs, failures so far: on a line that is written again and gone in the end."""
    monkeypatch.setattr(progress, "monotonic", iter(range(100)).__next__)
    out = Terminal()
    rows = [{"outcome": "passed"}, {"outcome": "failed"}, {"outcome": "passed"}]

    assert list(CampaignProgress(3000, out).counting(rows)) == rows

    shown = out.getvalue().split("\r\x1b[K")
    assert shown == ["", "1 of 3,000 runs, 0 failed, 1 s", "2 of 3,000 runs, 1 failed, 2 s", shown[3], ""]


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on a terminal there are few lines, without control characters."""
    monkeypatch.setattr(progress, "monotonic", iter(range(100)).__next__)
    out = StringIO()

    list(CampaignProgress(30, out).counting([{"outcome": "passed"}] * 30))

    assert out.getvalue() == "".join(f"{done} of 30 runs, 0 failed, {done} s\n" for done in (10, 20, 30))
