"""The example of docs/how-to/campaigns.md does what the page says."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fakebroker.cli.main import main

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "campaigns.md").read_text()


@pytest.mark.slow
def test_the_example_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints what stands below it, and the command that repeats a failure fails."""
    monkeypatch.chdir(tmp_path)
    ((scenario, name),) = re.findall(r"```yaml\n(# (\S+)\n.*?)```", PAGE, re.S)
    ((command, printed),) = re.findall(r"```sh\nfakebroker (.*?)\n```\n\n```\n(.*?)```", PAGE, re.S)
    (tmp_path / name).write_text(scenario)

    played = CliRunner().invoke(main, command.split())
    repeated = re.findall(r"repeat: fakebroker (.*)", printed)[0]

    assert (played.exit_code, played.stdout) == (1, printed)
    assert CliRunner().invoke(main, repeated.split()).exit_code == 1
    assert CliRunner().invoke(main, ["campaign", "report"]).stdout == printed
