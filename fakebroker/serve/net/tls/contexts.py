"""The TLS of each listener: OpenSSL's context, made of the settings, and again when they or their files change.

Kafka reads its stores anew when their settings are altered (KIP-226). Here a file that has changed is read for the next
connection: a test that revokes or renews a certificate need not alter a setting, too.
"""

import ssl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fakebroker.broker.core.security.distinguished_names import subject_of
from fakebroker.broker.core.security.principal_mapping import PrincipalMapping
from fakebroker.broker.core.security.principals import ANONYMOUS, Principal
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import FakebrokerError, SettingError
from fakebroker.protocol.listeners import Listener
from fakebroker.serve.host_reads import HostReads
from fakebroker.serve.net.tls.handshakes import Handshakes
from fakebroker.serve.net.tls.key_costs import KeyRefused, check_pem
from fakebroker.serve.net.tls.tls_settings import PEM, STORE_SETTINGS, Stamp, Store, TlsSettings, read_settings
from fakebroker.serve.net.tls.tls_socket import GoOn
from fakebroker.serve.net.tls.words import OWN_NOT_ACCEPTED

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_VERIFY = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)  # X509_V_FLAG_NO_CHECK_TIME, which has no name in Python
_POLICY_CHECK = ssl.VerifyFlags(0x80)  # X509_V_FLAG_POLICY_CHECK, too: a certificate may ask for policies in others
_CRL_BEGIN = "-----BEGIN X509 CRL"


class CertificateRefused(FakebrokerError):
    """A client's certificate is not accepted, after the handshake was done; the text says why."""


class ListenerTls:
    """The TLS of one listener, as its settings are."""

    def __init__(self, settings: TlsSettings, handshakes: Handshakes) -> None:
        """Raises SettingError if they cannot be used."""
        self._settings = settings
        self._handshakes = handshakes
        self._mapping = PrincipalMapping(settings.mapping_rules)
        self._context = _context(settings)

    def context(self, clock_is_moved: bool) -> ssl.SSLContext:
        """What makes the next connection. OpenSSL goes by the machine's time alone: while the broker's clock shows
        another one, it leaves the dates of certificates to `client_of`.
        """
        return self._dateless_context if clock_is_moved else self._context

    @property
    def go_on(self) -> GoOn | None:
        """What takes the steps of handshakes with certificates of clients; None if there are none."""
        return None if self._context.verify_mode is ssl.CERT_NONE else self._handshakes.go_on

    def client_of(self, tls: ssl.SSLObject, wall_ms: int | None) -> tuple[str, Principal]:
        """The name in the client's certificate and who the client is by it; "" and ANONYMOUS without one.

        `wall_ms` is the broker's time, in milliseconds since the epoch, None if the dates were judged by OpenSSL.
        Raises CertificateRefused, NoRuleApplies.
        """
        certificate = tls.getpeercert(binary_form=True)
        if certificate is None:
            return "", ANONYMOUS
        if wall_ms is not None:
            _check_dates(tls, wall_ms)
        try:
            subject = subject_of(certificate)
        except ValueError as error:
            raise CertificateRefused(f"{OWN_NOT_ACCEPTED}: its subject cannot be read ({error})") from None
        if self._settings.has_sasl:
            return subject, ANONYMOUS
        return subject, Principal(self._mapping.name_of(subject))

    @cached_property
    def _dateless_context(self) -> ssl.SSLContext:
        context = _context(self._settings)
        context.verify_flags |= _NO_CHECK_TIME
        return context


class TlsContexts:
    """The TLS of all listeners of a broker."""

    def __init__(self, settings_of: Callable[[int], Settings], host_reads: HostReads) -> None:
        """`settings_of` gives the settings in force of a node."""
        self._settings_of = settings_of
        self._host_reads = host_reads
        self._handshakes = Handshakes()
        self._made: dict[Listener, tuple[TlsSettings, list[Stamp | None], ListenerTls | str]] = {}

    def of(self, listener: Listener) -> ListenerTls:
        """The TLS of a listener, for the next connection. Raises SettingError if it cannot be had.

        That is remembered, too: decrypting a key with the wrong password again would cost each connection as much.
        """
        settings = read_settings(self._settings_of(listener.node_id), listener, self._host_reads)
        stamps = [settings.keystore.stamp(), settings.truststore.stamp()]
        made = self._made.get(listener)
        if made is None or made[:2] != (settings, stamps):
            made = self._made[listener] = settings, stamps, self._tls_or_problem(settings)
        if isinstance(made[2], str):
            raise SettingError(made[2])
        return made[2]

    def check(self, listener: Listener, settings: Settings, altered: Collection[str]) -> None:
        """Raises SettingError if the listener's keys or certificates could not be used with these settings, or if it
        has no truststore and would have one.

        It does not look unless one of its stores is among what is `altered` (IA-12).
        """
        own = {f"listener.name.{listener.name.lower()}.{name}" for name in STORE_SETTINGS}
        if own.isdisjoint(altered):
            return
        new = read_settings(settings, listener, self._host_reads)
        now = read_settings(self._settings_of(listener.node_id), listener, self._host_reads)
        if new.truststore.is_given and not now.truststore.is_given:
            problem = f"the listener {listener.name} has no truststore, and gets none while it runs"
            raise new.truststore.wrong(f"{problem}: start the broker with one")
        ListenerTls(new, self._handshakes)

    def _tls_or_problem(self, settings: TlsSettings) -> ListenerTls | str:
        """The TLS of these settings, or why it cannot be had."""
        try:
            return ListenerTls(settings, self._handshakes)
        except SettingError as error:
            return str(error)


def _context(settings: TlsSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[name] for name in settings.protocols if name in _VERSIONS]
    if not versions:
        served = " and ".join(_VERSIONS)
        raise SettingError(f"ssl.enabled.protocols: {','.join(settings.protocols)}: {served} are served")
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    # A session that goes on with an old handshake would not ask for the client's certificate again. In TLS 1.2 one can,
    # as long as the old connection is there (tls_socket.py); the dates of its certificate are judged again.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    # Others cost a client nothing and this process up to 170 ms: OpenSSL would take finite fields of 8,192 bits.
    context.set_ecdh_curve("prime256v1")
    _load_keystore(context, settings.keystore)
    if settings.truststore.is_given:
        _load_truststore(context, settings.truststore)
    context.verify_mode = _VERIFY[settings.client_auth]
    return context


def _check_dates(tls: ssl.SSLObject, wall_ms: int) -> None:
    """Raises CertificateRefused if the client's certificate is not valid at the broker's time."""
    dates: dict[str, Any] = tls.getpeercert() or {}
    if wall_ms > ssl.cert_time_to_seconds(dates["notAfter"]) * 1000:
        raise CertificateRefused(f"{OWN_NOT_ACCEPTED}: by the broker's clock it has expired")
    if wall_ms < ssl.cert_time_to_seconds(dates["notBefore"]) * 1000:
        raise CertificateRefused(f"{OWN_NOT_ACCEPTED}: by the broker's clock it is not valid yet")


def _load_keystore(context: ssl.SSLContext, store: Store) -> None:
    password = store.key_password
    if not store.location:
        pem = f"{store.key_text}\n{store.text}"
    else:
        kind, content = store.read()
        if kind == PEM:
            pem = content.decode("latin-1")
        else:
            from fakebroker.serve.net.tls.pkcs12 import key_and_certificates

            pem, password = key_and_certificates(store, content), ""
    try:
        with _file_of(check_pem(pem)) as path:
            context.load_cert_chain(path, password=lambda: password)
    except ssl.SSLError as error:
        raise store.wrong(f"its key and certificates cannot be used: {error.reason or error}") from None
    except KeyRefused as error:
        raise store.wrong(str(error)) from None


def _load_truststore(context: ssl.SSLContext, store: Store) -> None:
    if not store.location:
        pem = store.text
    else:
        kind, content = store.read()
        if kind == PEM:
            pem = content.decode("latin-1")
        else:
            from fakebroker.serve.net.tls.pkcs12 import certificates

            pem = certificates(store, content)
    try:
        with _file_of(check_pem(pem)) as path:
            context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise store.wrong(f"its certificates cannot be used: {error.reason or error}") from None
    except KeyRefused as error:
        raise store.wrong(str(error)) from None
    # In Java each certificate of a truststore is trusted, whoever has signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _POLICY_CHECK
    if _CRL_BEGIN in pem:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


@contextmanager
def _file_of(pem: str) -> Iterator[str]:
    """A file that only we can read, for OpenSSL, which takes nothing else; it is gone afterwards."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "store.pem"
        path.write_text(pem, "latin-1", errors="replace")
        yield str(path)
