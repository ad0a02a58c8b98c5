"""TLS on the sockets of clients.

`tls_socket.py` stands between a socket and `ClientConnection`. `contexts.py` makes OpenSSL's contexts of the settings
(`tls_settings.py`), and `words.py` says why a handshake failed.
"""
