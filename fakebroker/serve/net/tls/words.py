"""Why a TLS handshake failed, in words: OpenSSL names what it found in the terms of its own source."""

from ssl import SSLCertVerificationError, SSLEOFError, SSLError

_HANDSHAKE = 0x16  # the first byte of a client that speaks TLS
_NO_TLS = "the client does not use TLS, which this listener requires: set its security.protocol to SSL or SASL_SSL"
_NOT_TRUSTED = "the client does not accept the broker's certificate"
OWN_NOT_ACCEPTED = "the client's certificate is not accepted"
LONG_HANDSHAKE = "the client sends more in the handshake than any client needs"
EMPTY_RECORDS = "the client sends records without data (such as KeyUpdates) only"

# OpenSSL's reason -> what it means here. Alerts are what the client said.
_WORDS = {
    "HTTP_REQUEST": "the client speaks HTTP, but this listener speaks Kafka's protocol over TLS",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate, but ssl.client.auth is required",
    "TLSV1_ALERT_UNKNOWN_CA": f"{_NOT_TRUSTED}: its issuer is not in the client's truststore (alert unknown_ca)",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": f"{_NOT_TRUSTED}: it has expired (alert certificate_expired)",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": f"{_NOT_TRUSTED}: it was revoked (alert certificate_revoked)",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": f"{_NOT_TRUSTED} and gives no reason (alert certificate_unknown): "
    f"perhaps its issuer "
    f"is not in the "
    f"client's truststore, or it is for another host",
    "SSLV3_ALERT_BAD_CERTIFICATE": f"{_NOT_TRUSTED} (alert bad_certificate): perhaps it is for another host, or not"
    " valid yet",
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": f"{_NOT_TRUSTED}: its type is not supported (alert unsupported_certificate)",
    "TLSV1_ALERT_DECRYPT_ERROR": f"{_NOT_TRUSTED}: its signature is wrong (alert decrypt_error)",
    "TLSV1_ALERT_ACCESS_DENIED": "the client denies access (alert access_denied)",
    "TLSV1_ALERT_INTERNAL_ERROR": "the client reports an internal error (alert internal_error)",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the client supports no TLS version that the broker supports (alert "
    "protocol_version)",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "the client and the broker have no TLS parameters in common (alert "
    "handshake_failure)",
    "UNSUPPORTED_PROTOCOL": "the client supports only TLS versions that ssl.enabled.protocols does not list",
    "NO_SHARED_CIPHER": "the client and the broker have no cipher suite in common",
}
# What OpenSSL finds in the certificate of a client -> what it means here.
_VERIFY_WORDS = {
    "HTTP_REQUEST": "the client speaks HTTP, but this listener speaks Kafka's protocol over TLS",
    9: f"{OWN_NOT_ACCEPTED}: it is not valid yet",
    10: f"{OWN_NOT_ACCEPTED}: it has expired",
    18: f"{OWN_NOT_ACCEPTED}: it is self-signed and not in the truststore",
    19: f"{OWN_NOT_ACCEPTED}: its issuer is not in the truststore",
    20: f"{OWN_NOT_ACCEPTED}: its issuer is not in the truststore",
    21: f"{OWN_NOT_ACCEPTED}: its issuer is not in the truststore",
    23: f"{OWN_NOT_ACCEPTED}: it was revoked",
}


def words_of_failure(error: SSLError, first_bytes: bytes) -> str:
    """What went wrong in a handshake of a client whose first bytes were these."""
    if not speaks_tls(first_bytes):
        return _WORDS["HTTP_REQUEST"] if error.reason == "HTTP_REQUEST" else _NO_TLS
    if isinstance(error, SSLCertVerificationError):
        found = _VERIFY_WORDS.get(error.verify_code)
        return found or f"{OWN_NOT_ACCEPTED}: {error.verify_message}"
    if isinstance(error, SSLEOFError):
        return (
            "the client closed the connection in the middle of the handshake: perhaps it does not accept the broker's"
            " certificate"
        )
    reason = error.reason or ""
    return _WORDS.get(reason) or f"OpenSSL reports {reason or error}"


def speaks_tls(first_bytes: bytes) -> bool:
    """Whether a client whose first bytes are these may speak TLS; so may one that sent none."""
    return not first_bytes or first_bytes[0] == _HANDSHAKE
