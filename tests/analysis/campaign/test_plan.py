"""Campaigns as they are planned: which runs there are, and what is refused before anything is played."""

from pathlib import Path

import pytest

from fakebroker.analysis.campaign.plan import CampaignError, configs_of, loaded, read_campaign
from tests.analysis.campaign.texts import BROKEN, DEPENDS, EXPIRES, PASSES, write_scenarios


def test_every_combination_is_one_run(tmp_path: Path) -> None:
    """Scenarios x seeds x settings: each once, and the runs of a seed follow each other."""
    folder = write_scenarios(tmp_path, depends=DEPENDS, passes=PASSES)
    campaign = read_campaign([str(folder)], ["offsets.retention.minutes=1,2"], range(3, 6))

    tasks = [campaign.run(number)[1] for number in range(len(campaign))]

    assert len(campaign) == 12
    assert [task.seed for task in tasks] == [3] * 4 + [4] * 4 + [5] * 4
    assert len({(task.path, task.seed, tuple(task.config.items())) for task in tasks}) == 12


def test_files_in_common_folders_are_no_scenarios_of_their_own(tmp_path: Path) -> None:
    """What is only included is not played by itself."""
    folder = write_scenarios(tmp_path, expires=EXPIRES)

    assert [Path(each.path).name for each in read_campaign([str(folder)], [], range(1)).scenarios] == ["expires.yaml"]


def test_a_campaign_needs_no_files_once_it_is_read(tmp_path: Path) -> None:
    """It is plain data with what was included: an executor that has none of the files plays the same."""
    folder = write_scenarios(tmp_path, expires=EXPIRES, depends=DEPENDS)
    campaign = read_campaign([str(folder)], [], range(2))
    for file in folder.rglob("*.yaml"):
        file.unlink()

    assert loaded(campaign.pickled()) == campaign


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], [{}]),
        (["log.retention.hours=1, 2"], [{"log.retention.hours": "1"}, {"log.retention.hours": "2"}]),
        (['log.cleanup.policy="compact,delete"'], [{"log.cleanup.policy": "compact,delete"}]),
        (["log.retention.hours=1", "log.retention.hours=2,1"], [{"log.retention.hours": each} for each in "12"]),
        (
            ["num.partitions=1,2", "log.retention.hours=7"],
            [{"log.retention.hours": "7", "num.partitions": each} for each in "12"],
        ),
    ],
)
def test_settings_are_lists_of_values(settings: list[str], expected: list[dict[str, str]]) -> None:
    """Values stand between commas; in quotes a comma is part of a value; a value counts once."""
    assert configs_of(settings) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["num.partitions"], "--setting 'num.partitions' is not NAME=VALUE,VALUE"),
        (["=3"], "--setting '=3' is not NAME=VALUE,VALUE"),
        (["num.partition=3"], "did you mean 'num.partitions'?"),
        (["num.partitions=3,many"], "--setting num.partitions=many: num.partitions: 'many' is not a number"),
        (["num.partitions="], "--setting num.partitions=: "),
        (["num.partitions=1\n2"], r"--setting: '1\n2' is not a list of values"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: list[str], message: str) -> None:
    """An unknown setting is reported with the nearest name, a wrong value with what is wrong about it."""
    with pytest.raises(CampaignError) as caught:
        configs_of(settings)

    assert message in str(caught.value)


def test_all_files_that_are_wrong_are_reported_with_their_lines(tmp_path: Path) -> None:
    """One wrong file does not hide the other, and none is played."""
    folder = write_scenarios(tmp_path, one=BROKEN, two=PASSES.replace("commit,", "comit,"), three=PASSES)

    with pytest.raises(CampaignError) as caught:
        read_campaign([str(folder)], [], range(1))

    lines = str(caught.value).splitlines()
    assert any(line.startswith(f"{folder / 'one.yaml'}:3: timelime: ") for line in lines)
    assert any(line.startswith(f"{folder / 'two.yaml'}:5: ") for line in lines)
    assert "three" not in str(caught.value)


def test_yaml_that_is_none_is_reported_with_its_line(tmp_path: Path) -> None:
    """A file that is no YAML at all is named with the line at which it ends to be."""
    folder = write_scenarios(tmp_path, broken="about: [\n")

    with pytest.raises(CampaignError, match=r"broken\.yaml:\d+: "):
        read_campaign([str(folder / "broken.yaml")], [], range(1))


def test_there_must_be_scenarios(tmp_path: Path) -> None:
    """An empty folder, a path that is not there and a file that cannot be decoded are errors, not empty campaigns."""
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name, message in (("empty", "there are no scenarios in"), ("missing", "there is no file or folder")):
        if name == "empty":
            (tmp_path / name).mkdir()
        with pytest.raises(CampaignError, match=message):
            read_campaign([str(tmp_path / name)], [], range(1))
    with pytest.raises(CampaignError, match=r"binary\.yaml"):
        read_campaign([str(tmp_path / "binary.yaml")], [], range(1))


def test_too_many_runs_are_refused(tmp_path: Path) -> None:
    """A slip of the finger does not start a month of work."""
    folder = write_scenarios(tmp_path, passes=PASSES)

    with pytest.raises(CampaignError, match="1,000,000,000 runs exceed the limit of"):
        read_campaign([str(folder)], [], range(1_000_000_000))
