"""A certificate authority for tests: certificates that are good, and each kind of those that are not.

    authority = CertificateAuthority()
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority.broker_config()) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, **authority.client_config("confluent-kafka")})

It needs the extra `tls`. The settings that it gives are Kafka's own, so a running Kafka takes them, too.
"""

from fakebroker.tls.authority import CertificateAuthority
from fakebroker.tls.certificate import Certificate

__all__ = ["Certificate", "CertificateAuthority"]
