"""The same transformations in plain Python, a file for each table: what `--engine python` runs, and tests compare with.

Its function has the table's name and takes the rows of the tables that its parameters name. Rows are dicts by column;
a timestamp is a number of milliseconds since the epoch.
"""
