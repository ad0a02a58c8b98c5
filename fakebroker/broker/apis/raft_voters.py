"""What AddRaftVoter and RemoveRaftVoter check alike (KIP-853, RV)."""

from fakebroker.broker.apis.call import Call
from fakebroker.broker.release import KRAFT_VERSION
from fakebroker.protocol.errors import ErrorCode, KafkaError

_NO_DIRECTORY_ID = bytes(16)


def check_voter(call: Call, cluster_id: str | None, voter_id: int, directory_id: bytes) -> None:
    """Raises KafkaError for a request that is meant for another cluster, or names no voter (RV-1).

    Args:
        call: The call.
        cluster_id: The cluster that the request is meant for; None is any.
        voter_id: The id of the controller.
        directory_id: The id of its metadata directory.
    """
    own = call.cluster.cluster_id
    if cluster_id not in (None, own):
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {own}, not {cluster_id!r}")
    if voter_id < 0 or directory_id == _NO_DIRECTORY_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the id of the voter or of its directory is missing")


def check_quorum_can_change(call: Call) -> None:
    """Raises KafkaError in kraft.version 0, where the voters are those of the settings (RV-2)."""
    if not call.cluster.features.level(KRAFT_VERSION):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "voters cannot be changed at kraft.version 0")
