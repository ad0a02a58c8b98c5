"""What needs the extra `tls`, and what does not."""

import subprocess
import sys

from fakebroker.protocol.extras import install_command
from tests.support.tls import authority

WITHOUT = "import sys; sys.modules['cryptography'] = None\n"


def run(code: str) -> str:
    """What Python prints where the library of the extra is not installed."""
    command = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_broker_speaks_tls_without_the_extra() -> None:
    """PEM is read by Python's own OpenSSL."""
    code = f"""
from fakebroker import FakeBroker
with FakeBroker(listen="SSL://127.0.0.1:0", config={authority().broker_config()!r}) as broker:
    print(broker.client("c").request("ApiVersions", 0).error_code)
"""
    assert run(code) == "0\n"


def test_what_needs_the_extra_says_so() -> None:
    """The authority, and stores in PKCS12."""
    store = str(authority().issue().pkcs12_file)
    code = f"""
from fakebroker import FakeBroker
from fakebroker.protocol import errors
def make_authority():
    from fakebroker.tls import CertificateAuthority
for call in (make_authority, lambda: FakeBroker(listen="SSL://:0", config={{"ssl.keystore.location": {store!r}}})):
    try:
        call()
    except errors.FakebrokerError as error:
        print(error)
"""
    certificates, pkcs12 = run(code).splitlines()
    assert certificates == f"certificates need cryptography: {install_command('tls')}"
    assert pkcs12.startswith(f"ssl.keystore.location: PKCS12 needs the extra `tls`: {install_command('tls')}")
