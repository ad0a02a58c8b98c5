"""A certificate with its key, in the files that brokers and clients read."""

from pathlib import Path
from typing import NamedTuple

PASSWORD = "fakebroker"  # of every PKCS12 file; Java reads none without


class Certificate(NamedTuple):
    """A certificate of a broker or of a client, and where it is.

    `subject` is its name as Kafka writes it: "CN=alice", whose principal is "User:CN=alice". `file` has the
    certificate, `key_file` its key, `keystore_file` both in PEM, `pkcs12_file` both in PKCS12, which opens with
    `password`.
    """

    subject: str
    serial_number: int
    file: Path
    key_file: Path
    keystore_file: Path
    pkcs12_file: Path
    password: str = PASSWORD
