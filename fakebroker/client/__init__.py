"""Kafka clients of our own: a sans-IO client (`steps.py`), scripted clients, and a client of a whole cluster.

Imports `protocol` only. Begin with `connection.py` and `steps.py`; `scripted/scripted_client.py` is what tests use,
`cluster/cluster_client.py` reads and writes any running Kafka.
"""
