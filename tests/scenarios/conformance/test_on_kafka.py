"""A real Kafka 4.3.1 answers the recordings of 4.3.1 as recorded: what the command calls a difference is one."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fakebroker.cli.main import main
from tests.support.real_kafka import needs_real_kafka, running_kafka

pytestmark = needs_real_kafka
START = f"{shlex.quote(sys.executable)} -m tools.scoreboard.start_kafka 4.3.1 {{port}} {{settings_file}} {{folder}}"


def judge(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["conformance", *arguments])


@pytest.mark.timeout(600)
def test_a_running_kafka_has_no_differences_and_keeps_its_own() -> None:
    """On a Kafka with its defaults nothing differs in what it can be judged by, and everything made is deleted."""
    with running_kafka() as kafka:
        result = judge(kafka.bootstrap, "--chapter", "list-offsets", "--chapter", "offsets")

    assert result.exit_code == 0, result.output
    assert "left behind" not in result.stderr


@pytest.mark.timeout(600)
def test_kafkas_with_settings_and_logins_have_no_differences(tmp_path: Path) -> None:
    """Kafkas that a command starts have the settings of the recordings, with listeners for logins, too."""
    score = tmp_path / "score.json"
    cases = ("admin/sasl_scram", "admin/acl_patterns", "admin/quotas*", "groups/hb_*")
    only = [word for case in cases for word in ("--only", case)]

    result = judge("--command", START, *only, "--json", str(score))

    assert result.exit_code == 0, result.output
    assert json.loads(score.read_text())["total"].keys() == {"as Kafka"}
