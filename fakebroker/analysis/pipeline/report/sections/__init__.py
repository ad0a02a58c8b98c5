"""The sections of the report, a file for each: `section(tables)` gives one, of tables that may be empty.

The table KEY is there, others may be missing.
"""
