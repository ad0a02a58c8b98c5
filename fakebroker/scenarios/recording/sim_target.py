"""A replay's target in virtual time: a broker that begins as the recorded cluster did."""

from collections.abc import Mapping

from fakebroker.broker.engine.engine import Engine
from fakebroker.protocol.listeners import Address
from fakebroker.scenarios.comparison.records import ReadRecord, records_of
from fakebroker.scenarios.recording.before import commit_before
from fakebroker.scenarios.recording.beginning import engine_of
from fakebroker.scenarios.recording.others import Others
from fakebroker.scenarios.recording.placement import Placement
from fakebroker.scenarios.recording.replay import Target
from fakebroker.scenarios.recording.survey import Place, Survey
from fakebroker.serve.sim.network import SimNetwork
from fakebroker.testing.sim_driver import SimDriver

_READ_BYTES = 1 << 20


def sim_target(
    survey: Survey, as_release: str | None = None, settings: Mapping[str, str] | None = None
) -> tuple[Target, Engine]:
    """The target, and its engine, whose `errors` are bugs of ours."""
    engine = engine_of(survey, as_release, settings)
    network = SimNetwork.around(engine)
    driver = SimDriver(network)
    nodes = {node_id: node_id for node_id in engine.cluster.nodes}
    addresses = {each.node_id: Address(each.host, each.port) for each in engine.listeners}
    placement = Placement(survey, engine)
    placement.begin()
    commit_before(survey, driver)

    def read(place: Place, offset: int) -> list[ReadRecord]:
        partition = engine.cluster.topics.partition(*place)
        if partition is None or not partition.log.log_start_offset <= offset < partition.log.log_end_offset:
            return []
        data = b"".join(partition.log.read(offset, _READ_BYTES, partition.log.log_end_offset))
        return [record for record in records_of(data) if record.offset == offset]

    def is_served(api_key: int, version: int) -> bool:
        low, high = engine.listeners[0].versions.get(api_key, (0, -1))
        return low <= version <= high

    catch_up = Others(survey, network).catch_up
    target = Target(
        driver,
        nodes,
        addresses,
        is_served,
        catch_up,
        read,
        placement.settle,
        stop=network.stop_node,
        start=network.start_node,
    )
    return target, engine
