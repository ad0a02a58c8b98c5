"""Scenarios on a real broker, compared with the same scenarios here.

`against.py` plays both and `two_plays.py` compares them. `kafka_steps.py` says which steps a real broker can take,
`kafka_powers.py` reads its groups and topics by the protocol, and `kafka_world.py` is the place to play.
"""
