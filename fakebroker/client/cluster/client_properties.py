"""The file of client properties that Kafka's own tools take as `--command-config`, read for what it says of security.

    security.protocol=SASL_SSL
    sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="...";
    ssl.truststore.type=PEM
    ssl.truststore.location=/etc/kafka/ca.pem

The names of librdkafka (`sasl.username`, `ssl.ca.location`, ...) mean the same. Other settings of a client have no
effect; a setting of TLS or SASL that is not known is an error, because connecting without it would be another thing.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from fakebroker.client.login import MECHANISMS, OAUTHBEARER, Credentials
from fakebroker.client.security import Security, Tls
from fakebroker.protocol.errors import InvalidArgument, nearest
from fakebroker.protocol.jaas import jaas_options
from fakebroker.protocol.listeners import PLAINTEXT, PROTOCOLS

_TOKEN_URL: Final = "sasl.oauthbearer.token.endpoint.url"
_SERVER_NAME: Final = "fakebroker.ssl.server.name"
KNOWN: Final = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.jaas.config",
    "sasl.username",
    "sasl.password",
    _TOKEN_URL,
    "ssl.ca.location",
    "ssl.ca.pem",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.certificate.location",
    "ssl.certificate.pem",
    "ssl.key.location",
    "ssl.key.pem",
    "ssl.key.password",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
    _SERVER_NAME,
)
_NO_EFFECT: Final = ("ssl.protocol", "ssl.enabled.protocols", "ssl.truststore.password", "ssl.keystore.password")
_NO_EFFECT_BEGIN: Final = "sasl.login."
OF_SECURITY: Final = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.", "fakebroker.")
_LINE: Final = re.compile(r"((?:\\.|[^\\:=\s])+)\s*[:=\s]\s*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_FLAGS: Final = {"false": False, "true": True}


def security_in_file(path: str | Path) -> Security:
    """What a file of client properties says of security. Raises InvalidArgument, OSError for a file that is missing.

    Paths in it are relative to the working directory, as for Kafka's tools.
    """
    return security_of(read_properties(_text_of(Path(path), str(path))), str(path))


def security_of(properties: Mapping[str, str], where: str) -> Security:
    """What client properties say of security; `where` begins each error. Raises InvalidArgument."""
    return _Reader(properties, where).security()


def read_properties(text: str) -> dict[str, str]:
    """The settings in a file of Java properties: comments, continued lines and escapes are Java's."""
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    found = {}
    for line in (each.strip() for each in joined.splitlines()):
        if line and line[0] not in "#!":
            match = _LINE.match(line)
            name, value = match.groups() if match else (line, "")
            found[_unescaped(name)] = _unescaped(value)
    return found


def _unescaped(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        found = match[1]
        return chr(int(found[1:], 16)) if len(found) == 5 else _ESCAPED.get(found, found)

    return _ESCAPE.sub(character, text)


def _text_of(path: Path, where: str) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        raise InvalidArgument("command_config", where, f"{where}: the file is not UTF-8 text") from None


class _Reader:
    """Properties with their errors. No error has a value of a secret in it."""

    def __init__(self, properties: Mapping[str, str], where: str) -> None:
        self._given = properties
        self._where = where
        for name in properties:
            self._check_name(name)

    def security(self) -> Security:
        protocol = (self._text("security.protocol") or PLAINTEXT).upper()
        if protocol not in PROTOCOLS:
            raise self._wrong("security.protocol", f"is {protocol!r}; it must be {' or '.join(PROTOCOLS)}")
        tls = self._tls() if protocol.endswith("SSL") else None
        return Security(protocol, tls, self._credentials() if protocol.startswith("SASL_") else None)

    # SASL

    def _credentials(self) -> Credentials:
        name = "sasl.mechanisms" if "sasl.mechanisms" in self._given else "sasl.mechanism"
        mechanism = (self._text(name) or "").upper()
        if mechanism not in MECHANISMS:
            what = f"is {mechanism!r}" if mechanism else "is missing"
            raise self._wrong(name, f"{what}; it must be {', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}")
        if mechanism == OAUTHBEARER:
            return Credentials(mechanism=mechanism, token=self._token())
        options = jaas_options(self._text("sasl.jaas.config") or "")
        user = self._text("sasl.username") or options.get("username")
        password = self._text("sasl.password") or options.get("password")
        if not user or password is None:
            missing = "username" if not user else "password"
            raise self._wrong(f"sasl.{missing}", f'is missing; set it, or {missing}="..." in sasl.jaas.config')
        found = Credentials(user, password, mechanism, "", options.get("tokenauth", "").lower() == "true")
        found.check()
        return found

    def _token(self) -> str:
        """The token in the file that the setting names, as Kafka's FileJwtRetriever reads it."""
        url = urlsplit(self._text(_TOKEN_URL) or "")
        if url.scheme != "file":
            raise self._wrong(_TOKEN_URL, "must be the URL of a file with a token, such as file:///run/kafka-token")
        token = self._content(_TOKEN_URL, unquote(url.path)).strip()
        if not token:
            raise self._wrong(_TOKEN_URL, "names an empty file; it must have a token in it")
        return token

    # TLS

    def _tls(self) -> Tls:
        self._check_stores()
        authorities = self._pem(
            "ssl.ca.location", "ssl.truststore.location", "ssl.ca.pem", "ssl.truststore.certificates"
        )
        store = self._pem("ssl.keystore.location")
        certificate = store or self._pem(
            "ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.certificate.chain"
        )
        key = "" if store else self._pem("ssl.key.location", "ssl.key.pem", "ssl.keystore.key")
        if not store and bool(certificate) != bool(key):
            name, other = ("ssl.key.location", "certificate") if certificate else ("ssl.certificate.location", "key")
            raise self._wrong(name, f"is missing; a {other} is given, and a client shows both or neither")
        algorithm = self._text("ssl.endpoint.identification.algorithm")
        return Tls(
            authorities,
            certificate,
            key,
            self._text("ssl.key.password") or "",
            verifies=self._flag("enable.ssl.certificate.verification"),
            checks_host=algorithm is None or algorithm.lower() not in ("", "none"),
            server_name=self._text(_SERVER_NAME) or "",
        )

    def _check_stores(self) -> None:
        for store, extract in (("truststore", "-nokeys"), ("keystore", "-nodes")):
            name = f"ssl.{store}.type"
            kind = (self._text(name) or "").upper()
            has_file = self._text(f"ssl.{store}.location") is not None
            if kind not in ("", "PEM") or (has_file and not kind):
                how = f"openssl pkcs12 -in STORE {extract} -out STORE.pem"
                what = f"is {kind}" if kind else "is missing, which means JKS"
                raise self._wrong(name, f"{what}; only PEM can be read here: {how} makes it of a PKCS12 store")

    def _pem(self, *names: str) -> str:
        """The text in PEM that the first given of these settings has, or names a file of."""
        for name in names:
            value = self._text(name)
            if value is not None:
                return self._content(name, value) if name.endswith("location") else value
        return ""

    # Values

    def _text(self, name: str) -> str | None:
        value = self._given.get(name)
        return None if value is None else value.strip()

    def _flag(self, name: str) -> bool:
        value = (self._text(name) or "true").lower()
        if value not in _FLAGS:
            raise self._wrong(name, f"is {value!r}; it must be true or false")
        return _FLAGS[value]

    def _content(self, name: str, path: str) -> str:
        try:
            return Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "not a text; PEM is"
            raise self._wrong(name, f"names the file {path!r}, which cannot be read: {why}") from None

    def _check_name(self, name: str) -> None:
        if not name.startswith(OF_SECURITY) or name in (*KNOWN, *_NO_EFFECT) or name.startswith(_NO_EFFECT_BEGIN):
            return
        raise self._wrong(name, f"is not supported; {nearest(name, KNOWN)}")

    def _wrong(self, name: str, text: str) -> InvalidArgument:
        return InvalidArgument("command_config", self._where, f"{self._where}: {name} {text}")
