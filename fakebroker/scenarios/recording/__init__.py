"""Recording the traffic between clients and a Kafka cluster, replaying it, and making scenarios of it.

`session.py` is the format of a session file.

- Recording: `proxy.py` has the ports and the file, `link.py` is one connection, `addresses.py` rewrites addresses,
  `lines.py` writes a line, `payloads.py` makes payloads unreadable, and `upstream.py` asks the cluster first.
- Replay: `survey.py` finds what was there before, `replay.py` plays and compares, `fetched.py` compares records, and
  `explained.py` gives the reasons for differences that do not matter.
- Scenarios: `exchanges.py` finds the actors, `steps.py` makes steps, `to_scenario.py` puts them together.
"""
