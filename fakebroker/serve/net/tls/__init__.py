"""TLS on the sockets of clients."""
