"""What a campaign plays: scenarios x settings x seeds, each combination a run with a number."""

import csv
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

from fakebroker.protocol.errors import FakebrokerError
from fakebroker.scenarios.errors import ScenarioError
from fakebroker.scenarios.language.reading import find_scenarios, read_scenario
from fakebroker.scenarios.running.run import Task
from fakebroker.scenarios.script import Scenario
from fakebroker.testing.releases import check_settings

MAX_RUNS = 100_000_000

Config = Mapping[str, str]


class CampaignError(FakebrokerError):
    """A campaign that cannot begin; says why, with file and line where a file is wrong."""


@dataclass(frozen=True)
class Campaign:
    """Scenarios that were read and checked, combinations of broker settings, and seeds.

    It is plain data: processes and executors get it as it is, with what the files included, and read no files.
    """

    scenarios: Sequence[Scenario]
    configs: Sequence[Config]
    seeds: range

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.seeds) * len(self.scenarios) * len(self.configs)

    def run(self, number: int) -> tuple[Scenario, Task]:
        """The run of that number, counted from 0.

        All runs of a seed follow each other, so that equal parts of a campaign have a like share of each scenario.
        """
        rest, config = divmod(number, len(self.configs))
        seed, scenario = divmod(rest, len(self.scenarios))
        found = self.scenarios[scenario]
        return found, Task(found.path, seed=self.seeds[seed], keeps_transcript=True, config=self.configs[config])

    def pickled(self) -> bytes:
        """It as bytes, for `loaded`."""
        return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)


@lru_cache(maxsize=2)
def loaded(pickled: bytes) -> Campaign:
    """The campaign of these bytes; a process that gets them again and again reads them once."""
    found: Campaign = pickle.loads(pickled)
    return found


def read_campaign(paths: Sequence[str], settings: Sequence[str], seeds: range) -> Campaign:
    """A campaign of the scenario files in `paths`, which may be folders, with "NAME=VALUE,VALUE" `settings`.

    Nothing is played. Raises CampaignError for a path or file that cannot be read, an unknown setting or a value that
    it cannot have, and for no or too many runs.
    """
    configs = configs_of(settings)
    found = _read(_files(paths))
    campaign = Campaign(found, configs, seeds)
    if len(campaign) > MAX_RUNS:
        raise CampaignError(f"{len(campaign):,} runs exceed the limit of {MAX_RUNS:,}")
    return campaign


def configs_of(settings: Sequence[str]) -> list[Config]:
    """Every combination of the values of "NAME=VALUE,VALUE" texts; a single empty one for none.

    A value with a comma stands in double quotes. A name that comes again has more values. Raises CampaignError.
    """
    values: dict[str, dict[str, None]] = {}
    for text in settings:
        name, found, listed = text.partition("=")
        if not found or not name:
            raise CampaignError(f"--setting {text!r} is not NAME=VALUE,VALUE")
        of_name = values.setdefault(name.strip(), {})
        for value in _listed(listed):
            _check_setting(name.strip(), value)
            of_name[value] = None
    names = sorted(values)
    return [dict(zip(names, each, strict=True)) for each in product(*(values[name] for name in names))]


def _listed(text: str) -> list[str]:
    """The values of a list such as 1,2,"a,b". Raises CampaignError."""
    try:
        return [value.strip() for value in next(csv.reader([text], skipinitialspace=True)) or [""]]
    except csv.Error as error:
        raise CampaignError(f"--setting: {text[:100]!r} is not a list of values: {error}") from None


def _check_setting(name: str, value: str) -> None:
    try:
        check_settings({name: value})
    except FakebrokerError as error:
        raise CampaignError(f"--setting {name}={value}: {error}") from None


def _files(paths: Sequence[str]) -> list[Path]:
    try:
        files = list(dict.fromkeys(find_scenarios(paths)))
    except OSError as error:
        raise CampaignError(f"{error.filename}: {error.strerror or error}") from None
    except FakebrokerError as error:
        raise CampaignError(str(error)) from None
    if not files:
        raise CampaignError(f"there are no scenarios in {' '.join(paths)}")
    return files


def _read(files: Iterable[Path]) -> list[Scenario]:
    """The scenarios of all files. Raises CampaignError with everything that is wrong with any of them."""
    scenarios: list[Scenario] = []
    wrong: list[str] = []
    for file in files:
        try:
            scenarios.append(read_scenario(file))
        except ScenarioError as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"{file}: cannot be read: {error.strerror or error}")
    if wrong:
        raise CampaignError("\n".join(wrong))
    return scenarios
