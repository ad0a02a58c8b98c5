"""The runs of a campaign in the processes of this machine."""

from collections.abc import Iterator
from functools import partial

from fakebroker.analysis.campaign.one_run import Row, play_numbered
from fakebroker.analysis.campaign.plan import Campaign
from fakebroker.scenarios.running.side_by_side import outcomes


def runs_here(campaign: Campaign, processes: int | None = None) -> Iterator[Row]:
    """Rows of `campaign_runs`, in the order of their numbers; `processes` may work; default: one a processor."""
    return outcomes(partial(play_numbered, campaign.pickled()), range(len(campaign)), processes)
