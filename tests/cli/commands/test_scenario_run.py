"""`fakebroker scenario run`: what is good, what is not, what it prints, and its exit status."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.exit_status import ExitStatus
from fakebroker.cli.main import main
from fakebroker.protocol.extras import install_command

GOOD = """\
about: A commit is there.
parameters: {offset: 42}
topics: {orders: {partitions: 1}}
actors: [a, b]
timeline:
  - {a: commit, group_id: billing, offsets: {orders-0: "${offset}"}, expect: {error: NONE}}
  - any_order: [{a: committed billing}, {b: committed billing}]
  - {expect: {group: billing, offsets: {orders-0: 42}}}
"""
BAD = GOOD.replace("orders-0: 42}}}", "orders-0: 43}}}")
BROKEN = "about: It has no timeline and a wrong key.\nactor: [a]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").mkdir()
    return tmp_path


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / "scenarios" / f"{name}.yaml").write_text(text)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["scenario", "run", *words])


def test_what_was_approved_is_good_and_always_the_same(folder: Path) -> None:
    """Approved once, it passes from then on; not a byte of the output changes."""
    write(folder, good=GOOD)

    assert run("scenarios", "--approve").exit_code == 0
    transcript = (folder / "scenarios" / "good.transcript").read_bytes()
    first, second = run("scenarios"), run("scenarios")

    assert (first.exit_code, first.output) == (second.exit_code, second.output)
    assert first.output == dedent("""\
        ok         scenarios/good.yaml    4 steps  +00:00:00.000
        1 scenario: 1 passed
        """)
    assert (folder / "scenarios" / "good.transcript").read_bytes() == transcript


def test_the_text_does_not_depend_on_the_process_or_the_folder(folder: Path) -> None:
    """Another process, another seed of hashes, another way to the file: the same transcript."""
    write(folder, good=GOOD)
    run("scenarios", "--approve")
    command = [sys.executable, "-m", "fakebroker", "scenario", "run", str(folder / "scenarios")]
    played = subprocess.run(command, cwd="/", env={"PYTHONHASHSEED": "77"}, capture_output=True, text=True, check=False)

    assert played.returncode == 0, played.stdout


def test_a_file_without_a_transcript_is_new(folder: Path) -> None:
    """It has a status of its own and is no failure; for CI systems it passed, with a note."""
    write(folder, good=GOOD)
    result = run("scenarios", "--junit", "junit.xml")

    assert result.exit_code == 0
    assert "new        scenarios/good.yaml" in result.output
    assert "; all held; keep the transcript with --approve\n" in result.output
    assert result.output.endswith("1 scenario: 1 new\n")
    junit = Path("junit.xml").read_text()
    assert 'failures="0" errors="0"' in junit
    assert "<system-out>new: no approved transcript; keep the transcript with --approve</system-out>" in junit


def test_a_missing_transcript_fails_with_strict(folder: Path) -> None:
    """Nothing is approved by not being looked at; what was played is printed with --verbose."""
    write(folder, good=GOOD)
    result = run("scenarios", "--strict")

    assert result.exit_code == 1
    assert "scenarios/good.transcript does not exist; --verbose prints what was played" in result.output
    assert "approve: fakebroker scenario run scenarios/good.yaml --approve" in result.output
    assert "a <- OffsetCommit" not in result.output
    assert "a <- OffsetCommit  ok  orders-0" in run("scenarios", "--strict", "--verbose").output


def test_another_dialogue_is_shown_as_a_diff(folder: Path) -> None:
    """What differs, without colours where nobody sees them, and how to approve it."""
    write(folder, good=GOOD)
    run("scenarios", "--approve")
    write(folder, good=GOOD.replace("42", "41"))
    result = run("scenarios")

    assert result.exit_code == 1
    assert "--- scenarios/good.transcript (approved)" in result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    for sign, offset in (("-", 42), ("+", 41)):
        sent = f"{sign} a -> OffsetCommit v9 group_id: billing, orders-0: {{committed_offset: {offset}}}"
        assert sent in lines
    assert "\033" not in result.output
    assert "approve: fakebroker scenario run scenarios/good.yaml --approve" in result.output


def test_a_long_diff_is_cut(folder: Path) -> None:
    """After 40 lines; --verbose prints all of it."""
    write(folder, good=GOOD)
    run("scenarios", "--approve")
    approved = folder / "scenarios" / "good.transcript"
    approved.write_text("\n".join(f"gone {number}" for number in range(100)))
    cut, whole = run("scenarios").output, run("scenarios", "--verbose").output

    assert "-gone 36\n" in cut
    assert "-gone 37\n" not in cut
    assert "more lines; --verbose prints all of them, and the transcript\n" in cut
    assert "approve: fakebroker scenario run scenarios/good.yaml --approve" in cut
    assert "-gone 99\n" in whole
    assert "more lines;" not in whole


def test_what_fails_is_reported_with_its_place_and_how_to_repeat_it(folder: Path) -> None:
    """File and line, what was expected and seen, what happened last, the command."""
    write(folder, bad=BAD)
    result = run("scenarios")

    assert result.exit_code == 1
    assert "scenarios/bad.yaml:8: expect: {group: billing, offsets: {orders-0: 43}}" in result.output
    assert "expected 43" in result.output
    assert "42" in result.output
    assert "what happened last:" in result.output
    assert "repeat: fakebroker scenario run scenarios/bad.yaml\n" in result.output


def test_what_fails_is_not_approved(folder: Path) -> None:
    """--approve is for plays whose expectations hold; it says which it wrote."""
    write(folder, bad=BAD, good=GOOD)
    result = run("scenarios", "--approve")

    assert result.exit_code == 1
    assert [path.name for path in (folder / "scenarios").glob("*.transcript")] == ["good.transcript"]
    assert "approved   scenarios/good.yaml" in result.output
    assert "2 scenarios: 1 newly approved, 1 failed" in result.output
    assert "approved   scenarios/good.yaml" not in run("scenarios", "--approve").output


def test_a_file_that_is_no_scenario_has_a_status_of_its_own(folder: Path) -> None:
    """What is wrong is reported with file, line and key; the others are played."""
    write(folder, broken=BROKEN, good=GOOD)
    run("scenarios", "--approve")
    result = run("scenarios")

    assert result.exit_code == 2
    assert "scenarios/broken.yaml:2: actor: " in result.output
    assert "did you mean 'actors'" in result.output
    assert "2 scenarios: 1 passed, 1 with errors in the file" in result.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nowhere",), "nowhere"),
        (("scenarios", "-k", "x"), "no scenario in scenarios matches 'x'"),
        (("empty",), "there are no scenarios in empty"),
        (("scenarios", "--seeds", "many"), "--seeds is a number or a range"),
        (("scenarios", "--seeds", "5..2"), "the range from 5 to 2 is empty"),
        (("scenarios", "--seeds", "99999999999"), "more than"),
        (("scenarios", "--seed", "1", "--seeds", "2"), "--seed and --seeds are mutually exclusive"),
        (("scenarios", "--set", "offset"), "is not NAME=VALUE"),
        (
            ("scenarios", "--approve", "--seed", "1"),
            "--approve cannot be used with --set",
        ),
        ((), "PATH"),
    ],
)
def test_wrong_usage_is_reported(folder: Path, words: tuple[str, ...], expected: str) -> None:
    """With the status of bad files."""
    write(folder, good=GOOD)
    (folder / "empty").mkdir()
    result = run(*words)

    assert result.exit_code == 2
    assert expected in result.output


def test_a_parameter_is_set(folder: Path) -> None:
    """Another value is another play; the transcript says nothing of it, expectations do."""
    write(folder, good=GOOD, other=GOOD.replace("orders-0: 42}}}", 'orders-0: "${offset}"}}}'))

    assert run("scenarios/other.yaml", "--set", "offset=7").exit_code == 0
    failed = run("scenarios/good.yaml", "--set", "offset=7")
    assert failed.exit_code == 1
    assert "repeat: fakebroker scenario run scenarios/good.yaml --set offset=7\n" in failed.output
    assert run("scenarios/good.yaml", "--set", "ofset=7").exit_code == 2


def test_each_seed_that_fails_is_repeated_by_one_command(folder: Path) -> None:
    """And the command does repeat it."""
    write(folder, bad=BAD)
    result = run("scenarios", "--seeds", "5..7")

    assert result.exit_code == 1
    assert "FAILED     scenarios/bad.yaml  3 of 3 seeds failed" in result.output
    for seed in (5, 6, 7):
        assert f"fakebroker scenario run scenarios/bad.yaml --seed {seed}\n" in result.output
    repeated = run("scenarios/bad.yaml", "--seed", "6")
    assert "FAILED scenarios/bad.yaml with seed 6" in repeated.output


def test_of_many_seeds_that_fail_the_first_are_reported(folder: Path) -> None:
    """One is enough to look at; the others are counted."""
    write(folder, bad=BAD)
    result = run("scenarios", "--seeds", "30")

    assert result.output.count("--seed ") == 10
    assert "    ... and 20 more\n" in result.output
    assert "1 scenario, 30 plays: 30 failed" in result.output


def test_a_file_that_is_no_scenario_is_reported_once_for_all_seeds(folder: Path) -> None:
    """It would be the same with each."""
    write(folder, broken=BROKEN)
    result = run("scenarios", "--seeds", "30")

    assert result.exit_code == 2
    assert result.output.count("did you mean 'actors'?") == 1
    assert "seed" not in result.output
    assert result.output.endswith("1 scenario: 1 with errors in the file\n")


def test_without_the_extra_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a traceback for each file."""
    write(folder, good=GOOD)
    monkeypatch.setitem(sys.modules, "yaml", None)
    result = run("scenarios")

    assert result.exit_code == ExitStatus.UNAVAILABLE
    assert result.output == f"Error: scenarios need PyYAML: {install_command('scenario')}\n"


def test_seeds_that_hold_need_no_transcript(folder: Path) -> None:
    """An order that is drawn is not the approved one."""
    write(folder, good=GOOD)
    result = run("scenarios", "--seeds", "20")

    assert result.exit_code == 0
    assert result.output == dedent("""\
        ok         scenarios/good.yaml  20 seeds

        1 scenario, 20 plays: 20 passed
        """)


def test_fail_fast_ends_at_the_first(folder: Path) -> None:
    """What comes after it is not played."""
    write(folder, a_bad=BAD, b_bad=BAD)
    result = run("scenarios", "--fail-fast")

    assert result.exit_code == 1
    assert "b_bad" not in result.output


def test_files_are_picked_by_a_pattern(folder: Path) -> None:
    """A part of the path, or wildcards."""
    write(folder, good=GOOD, bad=BAD)
    run("scenarios", "--approve")

    assert run("scenarios", "-k", "GOOD").exit_code == 0
    assert run("scenarios", "-k", "*/g*d.yaml").exit_code == 0
    assert run("scenarios", "-k", "g*D").exit_code == 0


def test_verbose_prints_the_transcripts(folder: Path) -> None:
    """Those of plays that are good, too."""
    write(folder, good=GOOD)
    run("scenarios", "--approve")

    assert (folder / "scenarios" / "good.transcript").read_text() in run("scenarios", "--verbose").output


def test_junit_has_a_case_for_each_play(folder: Path) -> None:
    """Failures with the text that a person needs, errors for files; counts that add up; written where no folder was."""
    write(folder, good=GOOD, bad=BAD, broken=BROKEN)
    run("scenarios", "--approve")
    run("scenarios", "--junit", "build/out.xml")
    root = ElementTree.parse(folder / "build" / "out.xml").getroot()
    cases = {str(case.get("name")): case for case in root.iter("testcase")}

    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    assert sorted(cases) == ["bad", "broken", "good"]
    assert list(cases["good"]) == []
    assert {case.get("classname") for case in cases.values()} == {"scenarios"}
    assert cases["bad"].get("file") == "scenarios/bad.yaml"
    failure = cases["bad"].find("failure")
    assert failure is not None
    assert str(failure.get("message")).startswith("scenarios/bad.yaml:8: ")
    assert "repeat: fakebroker scenario run scenarios/bad.yaml" in str(failure.text)
    error = cases["broken"].find("error")
    assert error is not None
    assert str(error.get("message")).startswith("scenarios/broken.yaml:1: timeline")
    assert "scenarios/broken.yaml:2: actor" in str(error.text)


def test_junit_says_nothing_that_xml_cannot(folder: Path) -> None:
    """A name may hold any character."""
    write(folder, bad=BAD.replace("A commit", '"A \\x01 commit').replace("there.", 'there."', 1))
    run("scenarios", "--junit", "out.xml")

    assert ElementTree.parse(folder / "out.xml").getroot().get("tests") == "1"


def test_a_junit_file_that_cannot_be_written_is_reported(folder: Path) -> None:
    """After the plays, whose result is printed."""
    write(folder, good=GOOD)
    result = run("scenarios", "--approve", "--junit", "scenarios/good.yaml/out.xml")

    assert result.exit_code == 2
    assert "cannot be written" in result.output


def test_settings_go_before_those_of_the_file(folder: Path) -> None:
    """With --config a play has another setting than the file says, and is compared with no transcript."""
    cleanup = "config: {offsets.retention.minutes: 600, offsets.retention.check.interval.ms: 60000}\n"
    advanced = "{clock: advance, hours: 1}\n  - {expect: {group: billing, offsets: {orders-0: 42}}}"
    write(folder, good=cleanup + GOOD.replace("{expect: {group: billing, offsets: {orders-0: 42}}}", advanced))

    kept = run("scenarios", "--config", "offsets.retention.minutes=90")
    gone = run("scenarios", "--config", "offsets.retention.minutes=1")

    assert kept.exit_code == 0, kept.output
    assert gone.exit_code == 1
    assert "repeat: fakebroker scenario run scenarios/good.yaml --config offsets.retention.minutes=1\n" in gone.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--config", "offsets.retention.minutes"), "--config 'offsets.retention.minutes' is not NAME=VALUE"),
        (("--config", "a=1", "--approve"), "cannot be used with --set, --config, --seed and --seeds"),
        (("--config", "a=1", "--against", "localhost:9092"), "it cannot be used with --config"),
        (("--config", "offsets.retention.minute=1"), "did you mean 'offsets.retention.minutes'?"),
    ],
)
def test_settings_that_cannot_be_are_reported(folder: Path, words: tuple[str, ...], message: str) -> None:
    """A wrong --config ends with status 2 and a sentence."""
    write(folder, good=GOOD)
    result = run("scenarios", *words)

    assert result.exit_code == 2
    assert message in result.output
