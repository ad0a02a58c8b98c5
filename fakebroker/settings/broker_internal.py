"""Settings of ours, and those of Kafka that it does not list."""

from fakebroker.settings.declare import BOOLEAN, LONG, READ_ONLY, STRING, OneOf, Range, Setting

ROWS = (
    Setting(
        "fakebroker.expiry.policy",
        STRING,
        "release",
        OneOf(("release", "2.0", "2.1", "3.9", "4.3", "kip-211")),
        READ_ONLY,
        "release whose rules of offset expiry apply (EX-17, EX-18); `release`: those of the emulated release",
        has_effect=True,
        internal=True,
    ),
    Setting(
        "fakebroker.coordinator.load.ms",
        LONG,
        0,
        Range(0),
        READ_ONLY,
        "how long a broker that becomes the coordinator of a partition loads it; COORDINATOR_LOAD_IN_PROGRESS "
        "meanwhile (CLU-31, LD-6)",
        has_effect=True,
        internal=True,
    ),
    Setting(
        "fakebroker.unread.writes.max.bytes",
        LONG,
        32 * 1024 * 1024,
        Range(0),
        READ_ONLY,
        "memory for the batches of `__consumer_offsets` whose bytes were not needed yet, all partitions together; "
        "beyond it the oldest are stored, or dropped from the log if later records overwrote all of theirs (CO-1)",
        has_effect=True,
        internal=True,
    ),
    Setting(
        "allow.everyone.if.no.acl.found",
        BOOLEAN,
        False,
        None,
        READ_ONLY,
        "whether a resource without access list is open to all (AU-3)",
        internal=True,
    ),
    Setting(
        "super.users",
        STRING,
        "",
        None,
        READ_ONLY,
        "principals that may do everything, whatever the access lists say",
        internal=True,
    ),
    Setting(
        "log.initial.task.delay.ms",
        LONG,
        30000,
        Range(0),
        READ_ONLY,
        "the first run of retention and cleaning after the start",
        has_effect=True,
        internal=True,
    ),
    Setting(
        "unstable.api.versions.enable",
        BOOLEAN,
        False,
        None,
        READ_ONLY,
        "would let clients use API versions under development; there are none here",
        internal=True,
    ),
)
