"""A replay's target in virtual time: a broker that begins as the recorded cluster did."""

from collections.abc import Mapping

from fakebroker.client.cluster.cluster_client import ClusterClient
from fakebroker.scenarios.recording.earlier_commits import commit_before
from fakebroker.scenarios.recording.replay import Target
from fakebroker.scenarios.recording.survey import Survey
from fakebroker.testing.recorded_cluster.broker import RecordedBroker


def sim_target(
    survey: Survey, as_release: str | None = None, settings: Mapping[str, str] | None = None
) -> tuple[Target, RecordedBroker]:
    """The target, and its broker, whose `errors` are bugs of ours."""
    broker = RecordedBroker(survey, as_release, settings)
    commit_before(survey, ClusterClient(driver=broker.driver))
    nodes = {node_id: node_id for node_id in broker.node_ids}
    target = Target(
        broker.driver,
        nodes,
        broker.addresses,
        broker.is_served,
        broker.catch_up,
        broker.read,
        broker.settle,
        stop=broker.stop,
        start=broker.start,
    )
    return target, broker
