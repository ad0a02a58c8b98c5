"""API messages, headers, frames and the registry of APIs.

`api_keys.py` has their numbers, `registry.py` their versions, and `messages` has a file for each. `layout.py`
recognises a request that repeats an earlier one. `drafts.py` and `dialects.py` have drafts of the protocol that never
shipped.
"""
