"""What the client of one request may do; whoever is refused is noted."""

from collections.abc import Generator
from typing import TYPE_CHECKING

from fakebroker.broker.core.events import AccessDenied
from fakebroker.broker.core.security.acls import CLUSTER_NAME, Operation, ResourceType
from fakebroker.broker.core.security.authorizer import OPERATIONS, Client

if TYPE_CHECKING:
    from fakebroker.broker.apis.call import Call
    from fakebroker.broker.core.security.authorizer import Authorizer

MAX_NOTED = 1000  # refusals of one request in the journal: a frame of 1 MB may have 300,000
MAX_CHARACTERS = 300  # of a name in the journal: that of a resource or of a token's subject may be much longer
NAMES_PER_STEP = 2_000  # that are judged
LOOKS_PER_NAME = 10  # patterns and entries that may be looked at for one


class Access:
    """The rights of the client of one request. Each question has one answer, however often it is asked.

    `pace` is that of the request: whoever asks about many names in steps asks it after each whether the step is over.
    A question that takes many looks, because very many ACLs could be about the name, counts as more names.
    """

    def __init__(self, call: "Call", authorizer: "Authorizer", api: str) -> None:
        self._call = call
        self._authorizer = authorizer
        self._api = api
        self.pace = call.pace(NAMES_PER_STEP)
        self._client = Client(str(call.principal), call.client_host.removeprefix("/"))
        self._noted = 0
        self._known: dict[tuple[Operation, ResourceType, str], bool] = {}
        self._refused_unnoted: set[tuple[Operation, ResourceType, str]] = set()
        self._operations: dict[tuple[ResourceType, str], int] = {}

    def may(self, operation: Operation, resource_type: ResourceType, name: str, *, noted: bool = True) -> bool:
        """Whether the client may do something with a resource (AU-2).

        A refusal is an event of the journal if it is `noted`, up to `MAX_NOTED` of one request; as in Kafka's log, one
        that only leaves something out of a list is not.
        """
        key = operation, resource_type, name
        known = self._known.get(key)
        if known is not None or (not noted and key in self._refused_unnoted):
            return known is True
        decision = self._authorizer.decide(self._client, *key, count=self._count)
        if not decision.is_allowed and noted and self._noted < MAX_NOTED:
            self._noted += 1
            self._note(operation, resource_type, name, decision.reason)
        if decision.is_allowed or noted:
            self._known[key] = decision.is_allowed
        else:
            self._refused_unnoted.add(key)
        return decision.is_allowed

    def may_cluster(self, operation: Operation, *, noted: bool = True) -> bool:
        """The same of the cluster."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME, noted=noted)

    def may_somewhere(self, operation: Operation, resource_type: ResourceType) -> Generator[None, None, bool]:
        """Whether there could be a resource of the type with which the client may do it; in steps."""
        return self._authorizer.is_allowed_somewhere(self._client, operation, resource_type, self.pace)

    def operations(self, resource_type: ResourceType, name: str) -> int:
        """All that the client may do with a resource, as a bit field (AU-14)."""
        key = resource_type, name
        known = self._operations.get(key)
        if known is None:
            asked = OPERATIONS[resource_type]
            known = self._authorizer.operations(self._client, asked, resource_type, name, count=self._count)
            self._operations[key] = known
        return known

    def _count(self, looks: int) -> None:
        self.pace.count(looks // LOOKS_PER_NAME)

    def _note(self, operation: Operation, resource_type: ResourceType, name: str, reason: str) -> None:
        call = self._call
        event = AccessDenied(
            self._client.principal[:MAX_CHARACTERS],
            self._client.host,
            operation.name,
            resource_type.name,
            name[:MAX_CHARACTERS],
            reason[: 4 * MAX_CHARACTERS],
            self._api,
            call.node.id,
            call.connection_id,
            None if call.client_id is None else call.client_id[:MAX_CHARACTERS],
        )
        call.cluster.outbox.append(event)
