"""Programs that show defects of other brokers and clients; docs/reference/found.md lists them."""
