"""`fakebroker scenario check`, `schema` and `new`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakebroker.cli.exit_status import ExitStatus
from fakebroker.cli.main import main
from fakebroker.protocol.extras import install_command
from fakebroker.scenarios.language.reading import read_scenario
from tests.scenarios.texts import with_steps


def run(*args: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["scenario", *map(str, args)])
    return result.exit_code, result.output


def test_check_reads_without_playing(tmp_path: Path) -> None:
    """Files and folders; the number of files is reported."""
    (tmp_path / "a.yaml").write_text(with_steps("{a: heartbeat}"))
    (tmp_path / "b.yaml").write_text(with_steps("{b: heartbeat}"))

    assert run("check", tmp_path) == (0, "2 files, all valid\n")
    assert run("check", tmp_path / "a.yaml") == (0, "1 file, all valid\n")


def test_check_says_what_is_wrong_in_every_file(tmp_path: Path) -> None:
    """With file, line and key; the status is 2."""
    (tmp_path / "a.yaml").write_text(with_steps("{a: heartbeat}"))
    (tmp_path / "b.yaml").write_text(with_steps("{b: hartbeat}"))
    (tmp_path / "c.yaml").write_bytes(b"\xff")
    status, output = run("check", tmp_path)

    assert status == ExitStatus.BAD_INPUT
    assert output.splitlines() == [
        f"{tmp_path}/b.yaml:5: b: an actor (b) has no verb 'hartbeat'; did you mean 'heartbeat'?",
        f"{tmp_path}/c.yaml:1: this is not UTF-8 text",
        "Error: 2 of 3 files are not valid scenarios",
    ]


def test_check_of_a_path_that_is_not_there(tmp_path: Path) -> None:
    """An error in one line."""
    path = tmp_path / "nowhere"

    assert run("check", path) == (ExitStatus.BAD_INPUT, f"Error: there is no file or folder {path}\n")


def test_the_schema_is_printed() -> None:
    """As JSON."""
    status, output = run("schema")

    assert status == 0
    assert json.loads(output)["title"] == "A scenario of fakebroker"


def test_new_writes_a_file_to_begin_with(tmp_path: Path) -> None:
    """It can be read at once, and one that is there already stays."""
    status, output = run("new", "outage", "--dir", tmp_path / "mine")
    path = tmp_path / "mine" / "outage.yaml"

    assert (status, output) == (0, f"wrote {path}\nplay it: fakebroker scenario run {path}\n")
    assert "schema" not in path.read_text()
    assert len(read_scenario(path).timeline) > 10
    path.write_text("mine")
    refused = run("new", "outage.yaml", "--dir", tmp_path / "mine")
    assert refused == (ExitStatus.BAD_INPUT, f"Error: {path} already exists; --force overwrites it\n")
    assert path.read_text() == "mine"
    assert run("new", "outage.yaml", "--dir", tmp_path / "mine", "--force")[0] == 0
    assert path.read_text() != "mine"


def test_new_writes_the_schema_to_which_the_file_refers(tmp_path: Path) -> None:
    """With --schema an editor completes at once."""
    status, _ = run("new", "outage", "--dir", tmp_path, "--schema")

    assert status == 0
    assert (tmp_path / "outage.yaml").read_text().startswith("# yaml-language-server: $schema=scenario.schema.json\n")
    assert json.loads((tmp_path / "scenario.schema.json").read_text())["title"] == "A scenario of fakebroker"
    assert run("check", tmp_path / "outage.yaml")[0] == 0


def test_what_new_writes_passes(tmp_path: Path) -> None:
    """It is new at first, which is no failure, and compared with its transcript once that is approved."""
    run("new", "outage", "--dir", tmp_path)

    status, output = run("run", tmp_path / "outage.yaml")
    assert status == 0
    assert output.startswith(
        f"new        {tmp_path}/outage.yaml   17 steps; all held; keep the transcript with --approve"
    )
    assert run("run", tmp_path / "outage.yaml", "--approve")[0] == 0
    assert run("run", tmp_path / "outage.yaml")[0] == 0


def test_new_where_no_file_can_be(tmp_path: Path) -> None:
    """The reason of the system is reported."""
    (tmp_path / "file").write_text("")
    status, output = run("new", "x", "--dir", tmp_path / "file")

    assert status == ExitStatus.BAD_INPUT
    assert output.startswith(f"Error: cannot write {tmp_path}/file/x.yaml: ")


@pytest.mark.parametrize(
    "words",
    [
        ["scenario", "check"],
        ["scenario", "run"],
        ["scenario", "run", "--against", "127.0.0.1:1"],
        ["serve", "--listen", "127.0.0.1:0", "--scenario"],
    ],
)
def test_what_is_missing_without_the_extra_is_said(tmp_path: Path, words: list[str]) -> None:
    """Without PyYAML the command names the extra, and other commands go on."""
    (tmp_path / "a.yaml").write_text(with_steps("{a: heartbeat}"))
    code = (
        "import sys; sys.modules['yaml'] = None; from fakebroker.cli.main import main; "
        f"main({[*words, str(tmp_path / 'a.yaml')]!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == ExitStatus.UNAVAILABLE
    assert done.stderr.endswith(f"Error: scenarios need PyYAML: {install_command('scenario')}\n")
    assert "Traceback" not in done.stderr
