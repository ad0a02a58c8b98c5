"""Certificates of an authority for tests, and a broker that has one."""

import socket
import ssl

from fakebroker import FakeBroker
from fakebroker.tls import CertificateAuthority


def test_a_client_trusts_the_broker():
    authority = CertificateAuthority()
    with FakeBroker(listen="SSL://127.0.0.1:0", config=authority.broker_config()) as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        context = ssl.create_default_context(cafile=authority.ca_file)
        with (
            socket.create_connection((host, int(port))) as plain,
            context.wrap_socket(plain, server_hostname=host) as tls,
        ):
            assert tls.version()
