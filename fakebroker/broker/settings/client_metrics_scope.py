"""Settings of client metrics subscriptions (DC-7, TE-6)."""

from fakebroker.broker.settings.declare import CLUSTER_WIDE, INT, LIST, Form, Range, Setting

_SELECTORS = "client_instance_id|client_id|client_software_name|client_software_version|client_source_(address|port)"

ROWS = (
    Setting(
        "interval.ms", INT, 300_000, Range(100, 3_600_000), CLUSTER_WIDE, "how often a client would send its metrics"
    ),
    Setting(
        "match",
        LIST,
        (),
        Form(rf"\s*({_SELECTORS})\s*=[^=]+", "selectors of the form name=regular expression"),
        CLUSTER_WIDE,
        "which clients would send metrics",
    ),
    Setting("metrics", LIST, (), None, CLUSTER_WIDE, "which metrics a client would send, by prefixes of their names"),
)
