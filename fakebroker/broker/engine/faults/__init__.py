"""Faults: what a test lets go wrong with requests and answers.

`spec.py` declares what a fault may say, `fault.py` is one that is set, `faults.py` are all of an engine. While there
are any, the routes of the dispatchers ask them before a request is handled; before the first, nothing here is loaded.
"""
