"""Differential play: random histories on two brokers at once, the first difference shrunk and written as a dialogue.

    python -m tools.differential --steps 20000                            Kafka 4.3.1 and fakebroker, both started
    python -m tools.differential kafka-3.9.1 fakebroker-as-3.9            another pair of the scoreboard's brokers
    python -m tools.differential 127.0.0.1:9092 127.0.0.1:9093 --seed 1   two brokers that run

Each history is a list of actions that hypothesis makes up. A chapter (`chapters/`) reads them as requests, valid and
invalid, with what the reference answered before. Every request goes to both brokers (`pair.py`), and the answers are
compared by meaning. A history that shows a difference is shrunk.
"""
