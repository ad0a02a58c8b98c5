"""What differs between Kafka releases: version tables, named behaviours, changed defaults.

    release("3.9").versions            {api key: (lowest, highest)} that the release served
    release("3.9").behaviours          a frozen set of named flags; core objects get it and never see a release name
    release("3.9").defaults            defaults of settings that differ from the newest release

A name is one of the known releases or a shorter or longer form of it: "2.1", "2.1.1" and "2.1.0" mean 2.1.1.
Behaviours exist for 4.3 (default), 3.9, 2.8, 2.1 and 2.0; another release gets those of the nearest newer one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fakebroker.protocol.errors import ErrorCode, InvalidArgument
from fakebroker.protocol.wire.api_keys import ApiKey


@dataclass(frozen=True, slots=True)
class Behaviours:
    """Named differences between releases. The defaults are Kafka 4.3.1's; each names its rule in docs/rules.

    The comments become a page (docs/reference/releases.md).
    """

    sync_in_stable_restarts_session: bool = False  # TM-1: 3.9.1 also restarts the session timer on SyncGroup in Stable
    every_initial_delay_is_extended: bool = True  # JG-32: 3.9.1 only that of generation 0
    pending_timeout_ends_initial_delay: bool = True  # JG-37: 3.9.1 waits for the delay
    pending_leave_rebalances: bool = True  # LG-4: 3.9.1 does nothing outside of the join phase
    leave_batch_acts_once: bool = True  # LG-8: 3.9.1 acts after each member
    rejected_join_may_complete_rebalance: bool = False  # JG-8: 3.9.1 completes if only the rejected member was missing
    sync_matches_unchosen_protocol: bool = True  # SG-4: 3.9.1 answers INCONSISTENT_GROUP_PROTOCOL before generation 1
    sync_while_loading_rebalances: bool = False  # SG-2: 3.9.1 REBALANCE_IN_PROGRESS, not COORDINATOR_LOAD_IN_PROGRESS
    join_checks_owner_first: bool = False  # JG-4: 3.9.1 NOT_COORDINATOR before INVALID_SESSION_TIMEOUT
    heartbeat_in_completing_rejoins: bool = False  # HB-6: 2.1.1 answers REBALANCE_IN_PROGRESS to any generation there
    protocol_ties_in_scala_order: bool = False  # JG-27: of protocols with equal votes 3.9.1 takes another
    join_stores_new_group: bool = True  # CR-12: 3.9.1 writes nothing before the group is Stable
    describe_answers_duplicates: bool = True  # DS-9: 2.1.1 shows a group that is asked for twice once
    describe_shows_assignments_in_rebalance: bool = True  # DS-4: 3.9.1 only in Stable
    group_authorized_operations: int = 3400  # DS-8, a bit field: 3.9.1 has no DESCRIBE_CONFIGS, ALTER_CONFIGS
    list_filter_ignores_blanks: bool = True  # LS-2: 3.9.1 compares states with the blanks around them
    list_shows_loaded_while_loading: bool = False  # LS-4: 3.9.1 lists what is loaded
    share_key_error: ErrorCode = ErrorCode.INVALID_REQUEST  # FC-8: of a malformed key of type 2; 3.9.1 differs
    unreadable_requests_close: bool = False  # FC-8, LO-10, FT-14, PD-12, AC-2: 2.1.1 fails while it reads a request
    expiry_policy: str = "4.3"  # EX-17, EX-18: the release whose rules of offset expiry apply
    per_offset_expire_timestamps: bool = False  # EX-17: before 2.1 each stored offset carries an expire timestamp
    client_commit_timestamps_are_stored: bool = True  # OC-10: 2.0.1 only computes the expire timestamp from them
    offset_value_version: int = 4  # CR-5: version of OffsetCommitValue without expire timestamp
    group_value_version: int = 3  # CR-8: version of GroupMetadataValue
    tombstone_for_every_group: bool = True  # EX-10: 3.9.1 only if there ever was a generation
    base_sequence_of_groups: int = 0  # CR-14: up to 3.9.1 -1 in batches with tombstones or a group
    groups_expire_in_one_batch: bool = True  # CR-14: 3.9.1 writes the tombstones of each group by themselves
    deletes_emptied_group_at_once: bool = False  # OD-6, EX-12: 3.9.1 removes a group with its last offset
    commit_v9_reports_unknown_group: bool = True  # OC-6: GROUP_ID_NOT_FOUND in v9+; 3.9.1 ILLEGAL_GENERATION
    offsets_leave_simple_groups: bool = True  # LD-3: 3.9.1 loads no group whose offsets are deleted
    commit_in_completing_checks_member: bool = True  # OC-8: 2.1.1 answers REBALANCE_IN_PROGRESS first
    large_commit_error: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR  # OC-14: 3.9.1 differs
    commits_answer_duplicates: bool = True  # OC-15, OF-12, OD-8: 3.9.1 merges them
    commits_answer_unknown_duplicates: bool = True  # OC-15: 2.1.1 merges also partitions that do not exist
    v1_fetch_errors_per_partition: bool = True  # OF-6: 3.9.1 answers with an empty topic list
    unwritten_groups_are_unseen: bool = True  # OC-19: 3.9.1 shows the group of a refused commit at once
    txn_commit_creates_group: bool = False  # OC-18: 3.9.1 does, then answers UNKNOWN_MEMBER_ID
    zstd_needs_fetch_v10: bool = False  # FT-17: 3.9.1 does not serve zstd topics to Fetch v0-v9
    fetch_errors_list_aborted: bool = True  # FT-8: the aborted transactions beside an error are null in 2.1.1
    zstd_error_has_null_records: bool = True  # FT-17: the records beside it are empty in 2.1.1
    unknown_partitions_need_fetch_v10: bool = False  # FT-17: 2.1.1 takes a partition without a log for one of zstd
    append_time_bit_is_refused: bool = False  # PD-21: 2.1.1 refuses bit 3 of clients
    invalid_times_tell_log_start: bool = True  # PD-14: 2.1.1 says -1 beside INVALID_TIMESTAMP
    invalid_record_error: ErrorCode = ErrorCode.INVALID_RECORD  # PD-10: 2.1.1 answers CORRUPT_MESSAGE
    producers_outlive_records: bool = True  # ID-9, ID-7: 2.1.1 forgets a producer with its records: UNKNOWN_PRODUCER_ID
    lists_produce_from_v0: bool = True  # AV-8: Produce v0-v2 are listed but not served, for the sake of old librdkafka
    auto_creation_error: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # MD-2: in the Metadata that makes a topic
    metadata_checks_names: bool = True  # MD-2: 2.1.1 looks at a name only when it makes the topic
    topic_counts_have_defaults: bool = True  # NT-5: 2.1.1 refuses counts of -1, and checks counts before the name
    repeated_deletions_are_refused: bool = True  # XT-3: 2.1.1 deletes a topic that is named twice
    describe_configs_v0_shows_defaults: bool = True  # DC-2: is_default in v0; 3.9.1 never sets it, 2.1.1 did
    described_configs_may_repeat: bool = True  # DC-1: 2.1.1 describes a resource that is named twice once
    no_config_keys_mean_all: bool = True  # DC-1: only null does in 2.1.1; an empty list is none
    has_logger_resources: bool = True  # DC-5: 2.1.1 describes topics and brokers only, and calls other types 0
    has_eligible_leader_replicas: bool = True  # CLU-22: before 4.1 the last replica in sync never leaves the ISR
    coordinator_checks_min_isr: bool = False  # CLU-65: 3.9.1 refuses its writes where 4.x makes them and waits
    high_watermark_needs_min_isr: bool = True  # CLU-62: before 3.7 it advances however few replicas are in sync
    min_isr_is_cluster_default: bool = True  # DC-6: a new cluster holds min.insync.replicas as dynamic cluster default
    transaction_version: int = 2  # TX-10: the transaction protocol of the broker; 3.9.1 knows TV1 only
    coordinators_check_epochs: bool = True  # TO-7: 2.1.1 takes offsets of a producer that was fenced
    end_takes_later_epochs: bool = False  # TX-20: 2.1.1 fences only producers whose epoch is below the stored one
    empty_transactions_never_began: bool = True  # DX-1: 3.9.1 shows the start of the last one after InitProducerId
    verification_checks_epoch: bool = True  # TX-6: 3.9.1 asks the coordinator first, also for a fenced producer
    transaction_value_version: int = 1  # TS-2: version of TransactionLogValue; 3.9.1 writes 0
    list_offsets_merges_topics: bool = True  # LO-6, LO-27: 3.9.1 answers each occurrence of a topic, also empty ones
    list_offsets_tells_epochs: bool = True  # LO-9: 2.1.1 says -1
    negative_times_are_searched: bool = False  # LO-3: 2.1.1 takes a target below -2 for a time
    epoch_ends_answer_duplicates: bool = True  # OE-5: 2.1.1 answers the last of several entries of a partition
    keeps_message_formats: bool = False  # LO-7: before 3.0 message.format.version decides how records are stored
    altered_value_error: ErrorCode = ErrorCode.INVALID_CONFIG  # AC-2: of a value that a topic cannot have
    altered_configs_may_repeat: bool = False  # AC-2, AC-3: in 2.1.1 the last entry of a config or resource counts
    altered_topics_are_found_first: bool = False  # AC-2: 2.1.1 fails for an unknown one before it looks at values


class UnknownRelease(InvalidArgument):
    """A release we have no version table for; the message lists the known ones."""


@dataclass(frozen=True, slots=True)
class Release:
    """One Kafka release: its full version number, the API versions it served, how it behaved, its other defaults."""

    name: str
    versions: dict[int, tuple[int, int]]
    behaviours: Behaviours
    defaults: dict[str, str]
    features: dict[str, tuple[int, int]]  # UF-3: their lowest and highest levels
    line: tuple[int, int]  # the first two numbers, such as (2, 1)

    def listed(
        self, served: dict[int, tuple[int, int]], collects_telemetry: bool = False
    ) -> dict[int, tuple[int, int]]:
        """What ApiVersions lists where `served` is served: the same, but for Produce in 4.x (AV-8, KAFKA-18659).

        There it is listed from 0, because old librdkafka looks for that, and yet closes the connection below 3.
        """
        if not collects_telemetry:  # TE-1: they are answered all the same
            served = {key: versions for key, versions in served.items() if key not in _TELEMETRY}
        if self.behaviours.lists_produce_from_v0 and ApiKey.PRODUCE in served:
            _, newest = served[ApiKey.PRODUCE]
            return served | {int(ApiKey.PRODUCE): (0, newest)}
        return served


_BEHAVIOURS_4_3 = Behaviours()
_BEHAVIOURS_3_9 = replace(
    _BEHAVIOURS_4_3,
    sync_in_stable_restarts_session=True,
    every_initial_delay_is_extended=False,
    pending_timeout_ends_initial_delay=False,
    pending_leave_rebalances=False,
    leave_batch_acts_once=False,
    rejected_join_may_complete_rebalance=True,
    sync_matches_unchosen_protocol=False,
    sync_while_loading_rebalances=True,
    join_checks_owner_first=True,
    protocol_ties_in_scala_order=True,
    join_stores_new_group=False,
    describe_shows_assignments_in_rebalance=False,
    group_authorized_operations=328,
    list_filter_ignores_blanks=False,
    list_shows_loaded_while_loading=True,
    share_key_error=ErrorCode.COORDINATOR_NOT_AVAILABLE,
    expiry_policy="3.9",
    offset_value_version=3,
    tombstone_for_every_group=False,
    base_sequence_of_groups=-1,
    groups_expire_in_one_batch=False,
    deletes_emptied_group_at_once=True,
    commit_v9_reports_unknown_group=False,
    offsets_leave_simple_groups=False,
    large_commit_error=ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    commits_answer_duplicates=False,
    v1_fetch_errors_per_partition=False,
    unwritten_groups_are_unseen=False,
    txn_commit_creates_group=True,
    zstd_needs_fetch_v10=True,
    lists_produce_from_v0=False,
    describe_configs_v0_shows_defaults=False,
    has_eligible_leader_replicas=False,
    coordinator_checks_min_isr=True,
    min_isr_is_cluster_default=False,
    transaction_version=0,
    empty_transactions_never_began=False,
    verification_checks_epoch=False,
    transaction_value_version=0,
    list_offsets_merges_topics=False,
)
_BEHAVIOURS_2_8 = replace(_BEHAVIOURS_3_9, keeps_message_formats=True)
_BEHAVIOURS_2_1 = replace(
    _BEHAVIOURS_2_8,
    heartbeat_in_completing_rejoins=True,
    describe_answers_duplicates=False,
    unreadable_requests_close=True,
    expiry_policy="2.1",
    commit_in_completing_checks_member=False,
    commits_answer_unknown_duplicates=False,
    fetch_errors_list_aborted=False,
    zstd_error_has_null_records=False,
    unknown_partitions_need_fetch_v10=True,
    append_time_bit_is_refused=True,
    invalid_times_tell_log_start=False,
    invalid_record_error=ErrorCode.CORRUPT_MESSAGE,
    producers_outlive_records=False,
    coordinators_check_epochs=False,
    end_takes_later_epochs=True,
    high_watermark_needs_min_isr=False,
    group_value_version=2,
    auto_creation_error=ErrorCode.LEADER_NOT_AVAILABLE,
    metadata_checks_names=False,
    topic_counts_have_defaults=False,
    repeated_deletions_are_refused=False,
    describe_configs_v0_shows_defaults=True,
    list_offsets_merges_topics=True,
    list_offsets_tells_epochs=False,
    negative_times_are_searched=True,
    epoch_ends_answer_duplicates=False,
    altered_value_error=ErrorCode.INVALID_REQUEST,
    altered_configs_may_repeat=True,
    altered_topics_are_found_first=True,
    described_configs_may_repeat=False,
    no_config_keys_mean_all=False,
    has_logger_resources=False,
)
_BEHAVIOURS_2_0 = replace(
    _BEHAVIOURS_2_1,
    expiry_policy="2.0",
    per_offset_expire_timestamps=True,
    client_commit_timestamps_are_stored=False,
    offset_value_version=1,
    group_value_version=1,
    unknown_partitions_need_fetch_v10=False,  # there is no zstd
)

# The newest release of each line that an entry speaks for; the first entry that is not older than the release counts.
_BEHAVIOURS = (
    ((2, 0), _BEHAVIOURS_2_0),
    ((2, 1), _BEHAVIOURS_2_1),
    ((2, 8), _BEHAVIOURS_2_8),
    ((3, 9), _BEHAVIOURS_3_9),
    ((4, 3), _BEHAVIOURS_4_3),
)

# What running brokers of each release advertised: `key min-max`, read from the brokers in November 2026.
# A column is one release; "-" means that it did not have the API.
RELEASES: tuple[str, ...] = (
    "1.0.2",
    "1.1.1",
    "2.0.1",
    "2.1.1",
    "2.4.1",
    "2.8.2",
    "3.3.2",
    "3.6.2",
    "3.9.1",
    "4.0.0",
    "4.1.1",
    "4.2.0",
    "4.3.1",
)

_TABLE: dict[int, str] = {
    ApiKey.PRODUCE: "0-5 0-5 0-6 0-7 0-8 0-9 0-9 0-9 0-11 3-12 3-13 3-13 3-13",  # `Release.listed`: from 0 in 4.x
    ApiKey.FETCH: "0-6 0-7 0-8 0-10 0-11 0-12 0-13 0-15 0-17 4-17 4-18 4-18 4-18",
    ApiKey.LIST_OFFSETS: "0-2 0-2 0-3 0-4 0-5 0-6 0-7 0-8 0-9 1-10 1-10 1-11 1-11",
    ApiKey.METADATA: "0-5 0-5 0-6 0-7 0-9 0-11 0-12 0-12 0-12 0-13 0-13 0-13 0-13",
    ApiKey.LEADER_AND_ISR: "0-1 0-1 0-1 0-1 0-4 0-5 - - - - - - -",
    ApiKey.STOP_REPLICA: "0-0 0-0 0-0 0-0 0-2 0-3 - - - - - - -",
    ApiKey.UPDATE_METADATA: "0-4 0-4 0-4 0-4 0-6 0-7 - - - - - - -",
    ApiKey.CONTROLLED_SHUTDOWN: "0-1 0-1 0-1 0-1 0-3 0-3 - - - - - - -",
    ApiKey.OFFSET_COMMIT: "0-3 0-3 0-4 0-6 0-8 0-8 0-8 0-8 0-9 2-9 2-9 2-10 2-10",
    ApiKey.OFFSET_FETCH: "0-3 0-3 0-4 0-5 0-6 0-7 0-8 0-8 0-9 1-9 1-9 1-10 1-10",
    ApiKey.FIND_COORDINATOR: "0-1 0-1 0-2 0-2 0-3 0-3 0-4 0-4 0-6 0-6 0-6 0-6 0-6",
    ApiKey.JOIN_GROUP: "0-2 0-2 0-3 0-3 0-6 0-7 0-9 0-9 0-9 2-9 0-9 0-9 0-9",
    ApiKey.HEARTBEAT: "0-1 0-1 0-2 0-2 0-4 0-4 0-4 0-4 0-4 0-4 0-4 0-4 0-4",
    ApiKey.LEAVE_GROUP: "0-1 0-1 0-2 0-2 0-4 0-4 0-5 0-5 0-5 0-5 0-5 0-5 0-5",
    ApiKey.SYNC_GROUP: "0-1 0-1 0-2 0-2 0-4 0-5 0-5 0-5 0-5 0-5 0-5 0-5 0-5",
    ApiKey.DESCRIBE_GROUPS: "0-1 0-1 0-2 0-2 0-5 0-5 0-5 0-5 0-5 0-6 0-6 0-6 0-6",
    ApiKey.LIST_GROUPS: "0-1 0-1 0-2 0-2 0-3 0-4 0-4 0-4 0-5 0-5 0-5 0-5 0-5",
    ApiKey.SASL_HANDSHAKE: "0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",
    ApiKey.API_VERSIONS: "0-1 0-1 0-2 0-2 0-3 0-3 0-3 0-3 0-4 0-4 0-4 0-4 0-4",
    ApiKey.CREATE_TOPICS: "0-2 0-2 0-3 0-3 0-5 0-7 0-7 0-7 0-7 2-7 2-7 2-7 2-7",
    ApiKey.DELETE_TOPICS: "0-1 0-1 0-2 0-3 0-4 0-6 0-6 0-6 0-6 1-6 1-6 1-6 1-6",
    ApiKey.DELETE_RECORDS: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",
    ApiKey.INIT_PRODUCER_ID: "0-0 0-0 0-1 0-1 0-2 0-4 0-4 0-4 0-5 0-5 0-5 0-5 0-5",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "0-0 0-0 0-1 0-2 0-3 0-4 0-4 0-4 0-4 2-4 2-4 2-4 2-4",
    ApiKey.ADD_PARTITIONS_TO_TXN: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-4 0-5 0-5 0-5 0-5 0-5",
    ApiKey.ADD_OFFSETS_TO_TXN: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-4 0-4 0-4 0-4 0-4",
    ApiKey.END_TXN: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-4 0-5 0-5 0-5 0-5",
    ApiKey.WRITE_TXN_MARKERS: "0-0 0-0 0-0 0-0 0-0 0-1 0-1 0-1 0-1 1-1 1-1 1-2 1-2",
    ApiKey.TXN_OFFSET_COMMIT: "0-0 0-0 0-1 0-2 0-2 0-3 0-3 0-3 0-4 0-5 0-5 0-5 0-5",
    ApiKey.DESCRIBE_ACLS: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",
    ApiKey.CREATE_ACLS: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",
    ApiKey.DELETE_ACLS: "0-0 0-0 0-1 0-1 0-1 0-2 0-3 0-3 0-3 1-3 1-3 1-3 1-3",
    ApiKey.DESCRIBE_CONFIGS: "0-0 0-1 0-2 0-2 0-2 0-4 0-4 0-4 0-4 1-4 1-4 1-4 1-4",
    ApiKey.ALTER_CONFIGS: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "0-0 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2 1-2 1-2 1-2 1-2",
    ApiKey.DESCRIBE_LOG_DIRS: "0-0 0-0 0-1 0-1 0-1 0-2 0-4 0-4 0-4 1-4 1-4 1-4 1-5",
    ApiKey.SASL_AUTHENTICATE: "0-0 0-0 0-0 0-0 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",
    ApiKey.CREATE_PARTITIONS: "0-0 0-0 0-1 0-1 0-1 0-3 0-3 0-3 0-3 0-3 0-3 0-3 0-3",
    ApiKey.CREATE_DELEGATION_TOKEN: "- 0-0 0-1 0-1 0-2 0-2 - 0-3 0-3 1-3 1-3 1-3 1-3",
    ApiKey.RENEW_DELEGATION_TOKEN: "- 0-0 0-1 0-1 0-1 0-2 - 0-2 0-2 1-2 1-2 1-2 1-2",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "- 0-0 0-1 0-1 0-1 0-2 - 0-2 0-2 1-2 1-2 1-2 1-2",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "- 0-0 0-1 0-1 0-1 0-2 - 0-3 0-3 1-3 1-3 1-3 1-3",
    ApiKey.DELETE_GROUPS: "- 0-0 0-1 0-1 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",
    ApiKey.ELECT_LEADERS: "- - - - 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2 0-2",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "- - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-1 0-1 0-1",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.OFFSET_DELETE: "- - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "- - - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",
    ApiKey.ALTER_CLIENT_QUOTAS: "- - - - - 0-1 0-1 0-1 0-1 0-1 0-1 0-1 0-1",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "- - - - - 0-0 - 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "- - - - - 0-0 - 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.DESCRIBE_QUORUM: "- - - - - - 0-1 0-1 0-2 0-2 0-2 0-2 0-2",
    ApiKey.ALTER_PARTITION: "- - - - - 0-0 - - - - - - -",
    ApiKey.UPDATE_FEATURES: "- - - - - 0-0 0-1 0-1 0-1 0-2 0-2 0-2 0-2",
    ApiKey.DESCRIBE_CLUSTER: "- - - - - 0-0 0-0 0-0 0-1 0-2 0-2 0-2 0-2",
    ApiKey.DESCRIBE_PRODUCERS: "- - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.UNREGISTER_BROKER: "- - - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.DESCRIBE_TRANSACTIONS: "- - - - - - 0-0 0-0 0-0 0-0 0-0 0-0 0-0",
    ApiKey.LIST_TRANSACTIONS: "- - - - - - 0-0 0-0 0-1 0-1 0-2 0-2 0-2",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "- - - - - - - - 0-0 0-1 0-1 0-1 0-1",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "- - - - - - - - 0-0 0-1 0-1 0-1 0-1",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",  # never listed by a plain broker
    ApiKey.PUSH_TELEMETRY: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",  # as the one before
    ApiKey.LIST_CONFIG_RESOURCES: "- - - - - - - - 0-0 0-0 0-1 0-1 0-1",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",
    ApiKey.SHARE_GROUP_HEARTBEAT: "- - - - - - - - - - 1-1 1-1 1-1",
    ApiKey.SHARE_GROUP_DESCRIBE: "- - - - - - - - - - 1-1 1-1 1-1",
    ApiKey.SHARE_FETCH: "- - - - - - - - - - 1-1 1-2 1-2",
    ApiKey.SHARE_ACKNOWLEDGE: "- - - - - - - - - - 1-1 1-2 1-2",
    ApiKey.ADD_RAFT_VOTER: "- - - - - - - - 0-0 0-0 0-0 0-1 0-1",
    ApiKey.REMOVE_RAFT_VOTER: "- - - - - - - - 0-0 0-0 0-0 0-0 0-0",
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: "- - - - - - - - - - 0-0 0-0 0-0",
    ApiKey.READ_SHARE_GROUP_STATE: "- - - - - - - - - - 0-0 0-0 0-0",
    ApiKey.WRITE_SHARE_GROUP_STATE: "- - - - - - - - - - 0-0 0-1 0-1",
    ApiKey.DELETE_SHARE_GROUP_STATE: "- - - - - - - - - - 0-0 0-0 0-0",
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: "- - - - - - - - - - 0-0 0-1 0-1",
    ApiKey.STREAMS_GROUP_HEARTBEAT: "- - - - - - - - - - - 0-0 0-0",
    ApiKey.STREAMS_GROUP_DESCRIBE: "- - - - - - - - - - - 0-0 0-0",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "- - - - - - - - - - 0-0 0-1 0-1",
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: "- - - - - - - - - - 0-0 0-0 0-0",
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: "- - - - - - - - - - 0-0 0-0 0-0",
}

METADATA_VERSION, KRAFT_VERSION = "metadata.version", "kraft.version"

# Features that a release finished: the first release, lowest and highest level. None is shown before 4.0.
_FEATURES: tuple[tuple[tuple[int, int], str, int, int], ...] = (
    ((4, 0), "group.version", 0, 1),
    ((4, 0), KRAFT_VERSION, 0, 1),
    ((4, 0), METADATA_VERSION, 7, 25),
    ((4, 0), "transaction.version", 0, 2),
    ((4, 1), "eligible.leader.replicas.version", 0, 1),
    ((4, 1), METADATA_VERSION, 7, 27),
    ((4, 2), METADATA_VERSION, 7, 29),
    ((4, 2), "share.version", 0, 1),
    ((4, 2), "streams.version", 0, 1),
    ((4, 3), METADATA_VERSION, 7, 30),
)

_TELEMETRY = (ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY)
_LONG_MAX = str(2**63 - 1)

# Defaults that changed: a release older than the one named had the value given.
_DEFAULTS_BEFORE: tuple[tuple[tuple[int, int], str, str], ...] = (
    ((4, 0), "group.coordinator.rebalance.protocols", "classic"),
    ((4, 0), "group.coordinator.threads", "1"),
    ((4, 0), "log.message.timestamp.after.max.ms", _LONG_MAX),
    ((3, 0), "log.message.format.version", "2.8-IV1"),
    ((2, 8), "log.message.format.version", "2.4-IV1"),
    ((2, 4), "log.message.format.version", "2.1-IV2"),
    ((2, 1), "log.message.format.version", "2.0-IV1"),
    ((2, 0), "log.message.format.version", "1.1-IV0"),
    ((1, 1), "log.message.format.version", "1.0-IV0"),
    ((4, 0), "num.recovery.threads.per.data.dir", "1"),
    ((2, 8), "message.max.bytes", "1000012"),
    ((2, 8), "replica.lag.time.max.ms", "10000"),
    ((2, 8), "transaction.abort.timed.out.transaction.cleanup.interval.ms", "60000"),
    ((3, 6), "transaction.partition.verification.enable", "false"),  # TX-6: nobody verified
    ((2, 4), "group.max.session.timeout.ms", "300000"),
    ((2, 0), "offsets.retention.minutes", "1440"),
)


def release(name: str | None = None) -> Release:
    """The release of that name ("4.3", "3.9", "2.1.1"), the newest when None. Raises UnknownRelease."""
    full_name = RELEASES[-1] if name is None else _full_name(name)
    line = _line(full_name)
    behaviours = next(behaviours for until, behaviours in _BEHAVIOURS if line <= until)
    versions = _versions(RELEASES.index(full_name))
    return Release(
        name=full_name,
        versions=versions,
        behaviours=behaviours,
        defaults={setting: value for before, setting, value in _DEFAULTS_BEFORE if line < before},
        features={name: (low, high) for since, name, low, high in _FEATURES if line >= since},
        line=line,
    )


def nearest_release(versions: Mapping[int, tuple[int, int]]) -> str:
    """The release whose versions are most like these: a guess, since no Kafka says which it is."""

    def differences(name: str) -> tuple[int, int]:
        known = release(name)
        listed = known.listed(known.versions)
        return sum(listed.get(key) != span for key, span in versions.items()), len(listed.keys() - versions.keys())

    return min(reversed(RELEASES), key=differences)


def _full_name(name: str) -> str:
    if isinstance(name, str) and re.fullmatch(r"\d+\.\d+(\.\d+)?", name):
        for full_name in RELEASES:
            if _line(full_name) == _line(name):
                return full_name
    # All of them: a release that is spelt like another one is not like it.
    text = f"as_release: there is no release {name!r}; there are {', '.join(RELEASES)}"
    raise UnknownRelease("as_release", name, text)


def _line(name: str) -> tuple[int, int]:
    major, minor = name.split(".")[:2]
    return int(major), int(minor)


def _versions(column: int) -> dict[int, tuple[int, int]]:
    """What the release of that column of the table serves."""
    versions = {}
    for key, row in _TABLE.items():
        cell = row.split()[column]
        if cell != "-":
            low, high = cell.split("-")
            versions[int(key)] = (int(low), int(high))  # plain numbers, as frames have
    return versions
