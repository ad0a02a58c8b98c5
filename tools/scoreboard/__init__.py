"""The scoreboard: `fakebroker conformance` on several brokers, and the page made of it.

`start_kafka.py`, `start_librdkafka.py` and `kfake/` start brokers for `--command`; `__main__.py` runs them all, and
`page.py` writes the page.
"""
