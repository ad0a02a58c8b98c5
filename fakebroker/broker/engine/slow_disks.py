"""The stage of slow disks: an answer leaves when the flushes have ended that began while its request was served."""

from typing import TYPE_CHECKING

from fakebroker.broker.engine.stages import Handle, Passage, Pause, StageKind

if TYPE_CHECKING:
    from fakebroker.broker.core.disk_faults import DiskFaults
    from fakebroker.broker.engine.dispatch import Route
    from fakebroker.broker.engine.engine import Engine
    from fakebroker.broker.engine.exchange import Exchange
    from fakebroker.protocol.schema import Message


class SlowDisks:
    """See the module. It concerns every request: whatever waits may be answered because of a write."""

    kind = StageKind.DISKS

    def __init__(self, engine: "Engine", faults: "DiskFaults") -> None:
        self._engine = engine
        self._faults = faults

    def concerns(self, route: "Route") -> bool:  # noqa: ARG002 - as Stage
        """Whether requests of a route may wait for a flush."""
        return True

    def serve(self, exchange: "Exchange", request: "Message") -> Passage:
        """Let the request be served, and hold its answer."""
        faults, flushes = self._faults, self._faults.flushes
        node_ids = (exchange.call.node.id, self._engine.cluster.controller_id)
        before = [flushes.begun.get(each, 0) for each in node_ids]
        faults.has_metadata_changed = False
        response = yield Handle(request)
        now = self._engine.now
        if faults.has_metadata_changed:
            faults.has_metadata_changed = False
            flushes.begin_metadata(now)
        ends_ms = [
            flushes.ends_ms[each]
            for each, count in zip(node_ids, before, strict=True)
            if flushes.begun.get(each, 0) > count
        ]
        left_ms = max(ends_ms, default=0) - now.mono_ms
        if left_ms > 0:
            yield Pause(left_ms)
        return response
