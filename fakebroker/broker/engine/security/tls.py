"""What the engine hears of TLS, which is spoken below it: a handshake was done or failed, and who the client is."""

from fakebroker.broker.core.security.principals import Principal
from fakebroker.broker.engine.connection import Connection
from fakebroker.broker.engine.journal import TlsEstablished, TlsFailed


def established(connection: Connection, version: str, cipher: str, subject: str, principal: Principal) -> None:
    """The handshake is done. The client is `principal`, unless it has to log in by SASL, too.

    `version` and `cipher` are what both sides agreed on, `subject` is the name in the client's certificate, "" if it
    has shown none.
    """
    if not connection.listener.has_sasl:
        connection.principal = principal
    event = TlsEstablished(connection.peer, version, cipher, subject, str(connection.principal))
    connection.engine.journal.event(event, connection.engine.now)


def failed(connection: Connection, reason: str) -> None:
    """The handshake failed; `reason` says why in words. The connection closes."""
    connection.engine.journal.event(TlsFailed(connection.peer, reason), connection.engine.now)
    connection.fail(f"TLS: {reason}")
