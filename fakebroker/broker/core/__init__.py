"""The broker's state machine: topics, logs, groups, offsets, time as an argument. Knows no API and no version."""
