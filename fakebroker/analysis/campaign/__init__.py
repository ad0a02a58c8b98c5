"""Campaigns: scenarios x seeds x settings, each run in virtual time, on one machine or spread over a Spark cluster."""
