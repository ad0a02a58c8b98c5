"""What an actor of a scenario can do beside the steps of a scripted client: the signatures that the language reads."""

from collections.abc import Sequence
from typing import Literal

GroupProtocol = Literal["classic", "consumer"]


class ActorVerbs:
    """The player does these; nothing calls the functions here."""

    def request(self, api_name: str, version: int | None = None) -> None:
        """Send any request: its fields are keys of the step, in snake_case; `version` is the newest unless given."""

    def answered(self, *, within_ms: int = 10_000) -> None:
        """The oldest outstanding step of the actor (`later: true`) is answered within a time."""

    def silent(self, *, for_ms: int = 0) -> None:
        """The actor's outstanding steps stay unanswered while a time passes; without `for`, they are unanswered now."""

    def consume(
        self,
        group_id: str,
        topics: Sequence[str],
        *,
        protocols: Sequence[str] = ("range",),
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 300_000,
        heartbeat_interval_ms: int = 3_000,
        group_instance_id: str | None = None,
        poll_interval_ms: int | None = None,
        auto_commit_interval_ms: int | None = None,
        group_protocol: GroupProtocol = "classic",
    ) -> None:
        """Be an automatic member until `stop`: join, sync, heartbeat, and join again when the group rebalances.

        It finds the coordinator, and connects again when the connection is lost. The protocols are "range" and
        "roundrobin". With `group_protocol` "consumer" it is a member of a consumer group, to which the broker assigns:
        protocols, session timeout and heartbeat interval are not its own then. With `poll_interval_ms` it fetches from
        its partitions so often, from the committed offsets on; with `auto_commit_interval_ms` it commits as often how
        far it has come, and when it leaves.
        """

    def pause(self) -> None:
        """Send nothing until `resume`, as in a long pause of a garbage collector."""

    def resume(self) -> None:
        """Go on after `pause`."""

    def stop(self) -> None:
        """End `consume`: leave the group."""

    def disconnect(self) -> None:
        """Close the connection without a word, as a crash does."""

    def connect(self, node: int | None = None) -> None:
        """Open a new connection, to the actor's node unless another is given; it keeps its member id."""
