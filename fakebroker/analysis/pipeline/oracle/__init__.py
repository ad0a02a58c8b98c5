"""The what-if in plain Python, over rows: what the embedded engine runs, and tests compare Spark with.

The only table that has no recipe yet is `retention_losses`: on Spark it works on many millions of commits.
"""
