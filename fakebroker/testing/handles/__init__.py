"""The object model: handles by which a test looks at clock, topics, groups, coordinators, nodes, and changes them.

It begins at `BrokerControl` (broker_control.py), which every broker has. A handle names a thing that need not exist
yet. Each method runs on the engine's thread, whichever thread calls it, and returns when it is done; only `wait` takes
time: it blocks with FakeBroker and is awaited with AsyncFakeBroker. What is returned is a copy that never changes
afterwards.
"""
