"""Recording the traffic between clients and a Kafka cluster, replaying it, and making scenarios of it.

`testing/exchanges` is the format of a session file, with its reader and writer.

- Recording: `proxy.py` has the ports and the file, `link.py` is one connection, `addresses.py` rewrites addresses,
  `lines.py` says what a line has, and `upstream.py` asks the cluster first.
- Replay: `survey.py` finds what was there before, `replay.py` plays and compares, `fetched.py` compares records, and
  `explained.py` gives the reasons for differences that do not matter.
- Scenarios: `exchanges.py` finds the actors, `steps.py` makes steps, `to_scenario.py` puts them together.
"""
