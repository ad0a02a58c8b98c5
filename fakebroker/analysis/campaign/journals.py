"""Journals of failed runs: the first run of each failure, played again."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from fakebroker.analysis.campaign.plan import Campaign
from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.playing.player import Player
from fakebroker.scenarios.playing.worlds import VirtualWorld
from fakebroker.scenarios.running.run import with_config
from fakebroker.scenarios.script import Scenario


def make_folder(folder: Path) -> None:
    """Make the folder for journals, and write to it once. Raises OSError if that cannot be done."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):
        pass


def keep_journals(campaign: Campaign, failures: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write a journal for each failure (a row of `campaign_failures`) into `folder`, in files named after its rank.

    `folder` must be there. Returns the files; a run that could not be played has none. Of a very long run the journal
    has the end, which is what a broker keeps in memory. Raises OSError for a folder that cannot be written.
    """
    scenarios = {each.path: each for each in campaign.scenarios}
    kept: list[Path] = []
    for failure in failures:
        path = folder / f"{failure['rank']:03}-{Path(failure['scenario']).stem}-seed-{failure['first_seed']}.jsonl"
        scenario = with_config(scenarios[failure["scenario"]], json.loads(failure["settings"]))
        if _write_journal(scenario, failure["first_seed"], path):
            kept.append(path)
    return kept


def _write_journal(scenario: Scenario, seed: int, path: Path) -> bool:
    """Play once more and save what the broker's journal has then; False if it cannot be played."""
    try:
        world = VirtualWorld(scenario)
    except FakebrokerError:
        return False
    Player(world, scenario, seed).play()
    world.broker.journal.save(path)
    return True
