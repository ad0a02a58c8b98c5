"""The approved transcript beside a scenario."""

from pathlib import Path

from fakebroker.scenarios.running.approve import Approval, approve, approved_path, approved_text, compare, diff

TEXT = "a: join\n  a -> JoinGroup\n  a <- ok\n"


def test_the_transcript_stands_beside_its_file() -> None:
    """With the same name."""
    assert approved_path("scenarios/expiry/empty.yaml") == Path("scenarios/expiry/empty.transcript")


def test_only_the_same_text_is_approved(tmp_path: Path) -> None:
    """One that is missing is as little approved as another one."""
    path = tmp_path / "x.transcript"

    assert compare(approved_text(path), TEXT) is Approval.MISSING
    assert approve(path, TEXT)
    assert compare(approved_text(path), TEXT) is Approval.SAME
    assert compare(approved_text(path), TEXT + "more\n") is Approval.DIFFERENT


STEPS = """\
story: It is told.

     +00:00:00.000   8  a: join billing
                          a -> JoinGroup v9  group_id: billing, a text that is long, protocols:
                              [range: {topics: [orders]}]
                     9  a: heartbeat
+2d 00:00:00.000 two:3  a: leave
"""
MOVED = """\
story: It is told.

     +00:00:00.000    9  a: join billing
                           a -> JoinGroup v9  group_id: billing, a text that is long,
                               protocols: [range: {topics: [orders]}]
                     10  a: heartbeat
 +2d 00:00:00.000 two:4  a: leave
"""


def test_steps_may_stand_in_other_lines_of_the_file() -> None:
    """Who adds a remark to the file does not have to approve the dialogue again."""
    assert compare(STEPS, MOVED) is Approval.SAME
    assert compare(STEPS, MOVED.replace("heartbeat", "rejoin")) is Approval.DIFFERENT
    assert compare(STEPS, MOVED.replace("+2d 00:00:00.000", "+2d 00:00:00.001")) is Approval.DIFFERENT


def test_a_diff_does_not_show_that_steps_have_moved() -> None:
    """Only what is said in another way is marked."""
    played = (
        STEPS.replace("   8  a:", "   7  a:").replace("9  a: heartbeat", "8  a: heartbeat").replace("leave", "sync")
    )

    marked = [line for line in diff(STEPS, played, "x").splitlines()[3:] if line[0] in "+-"]
    assert marked == ["-+2d 00:00:00.000 two:3  a: leave", "++2d 00:00:00.000 two:3  a: sync"]


def test_approving_the_same_again_changes_nothing(tmp_path: Path) -> None:
    """The file is not written; nothing else is left in the folder."""
    path = tmp_path / "x.transcript"
    approve(path, TEXT)
    before = path.stat().st_mtime_ns

    assert not approve(path, TEXT)
    assert path.stat().st_mtime_ns == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.transcript"]


def test_a_diff_has_three_lines_around_each_difference() -> None:
    """Of a long dialogue the rest is left out."""
    lines = [f"line {number}" for number in range(100)]
    played = [*lines[:50], "another", *lines[51:]]

    shown = diff("\n".join(lines), "\n".join(played), "x.transcript").splitlines()
    assert shown[2:] == [
        "@@ -48,7 +48,7 @@",
        *(" line 47", " line 48", " line 49", "-line 50", "+another", " line 51", " line 52", " line 53"),
    ]


def test_a_diff_shows_what_came_before_and_after() -> None:
    """As far as there is something."""
    played = TEXT.replace("<- ok", "<- FENCED_INSTANCE_ID")

    assert diff(TEXT, played, "x.transcript").splitlines() == [
        "--- x.transcript (approved)",
        "+++ x.transcript (played)",
        "@@ -1,3 +1,3 @@",
        " a: join",
        "   a -> JoinGroup",
        "-  a <- ok",
        "+  a <- FENCED_INSTANCE_ID",
    ]


def test_a_diff_is_coloured_on_a_terminal_only() -> None:
    """What was added is green there, what is gone red."""
    played = TEXT.replace("<- ok", "<- FENCED_INSTANCE_ID")

    assert "\033" not in diff(TEXT, played, "x.transcript")
    shown = diff(TEXT, played, "x.transcript", is_coloured=True)
    assert "\033[31m-  a <- ok\033[0m" in shown
    assert "\033[32m+  a <- FENCED_INSTANCE_ID\033[0m" in shown
