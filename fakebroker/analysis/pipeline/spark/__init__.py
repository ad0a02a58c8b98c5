"""Transformations on Spark, a file for each table.

Its function has the table's name, takes the DataFrames of the tables that its parameters name, and gives a DataFrame
with the columns of the contract. It plans and does not act: no count, no collect, no look at a schema.
"""
