"""A journal that was saved is shown as a timeline, read-only, by `fakebroker journal view`."""

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakebroker import FakeBroker
from tests.support.chromium import ShownPage, violations

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.page, pytest.mark.slow]


def test_a_saved_journal_opens_in_the_timeline(browser: "Browser", tmp_path: Path) -> None:
    """All of it is shown with the file's name; there is nothing to control, and entries open."""
    path = tmp_path / "run.jsonl"
    with FakeBroker() as broker:
        client = broker.client("svc-1")
        client.join("billing", ["orders"])
        client.sync({client.member_id: {"orders": [0]}})
        broker.clock.advance(days=8)
        broker.journal.save(path)
    command = [sys.executable, "-m", "fakebroker", "journal", "view", str(path), "--listen", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        found = re.search(r"http://[^ /]+", process.stdout.readline())
        assert found
        context = browser.new_context(viewport={"width": 1360, "height": 860})
        shown = ShownPage(context, found[0])
        page = shown.open()
        shown.sees("run.jsonl", "header")
        assert page.locator("nav a").all_inner_texts() == ["Timeline"]
        for text in ("svc-1", "billing"):
            shown.sees(text, ".lanes .labels")
        shown.sees("clock advanced by 8 d", ".entries")
        page.locator(".entries a.entry").filter(has_text="MEMBER_ID_REQUIRED").click()
        shown.sees("JG-", ".panel .note.bad")
        assert violations(page) == []
        assert shown.complaints == []
        context.close()
        process.terminate()
