"""What differs between Linux, macOS and Windows: files, sockets, signals and processes.

Imports nothing of ours. All other code asks these modules, and never looks for the name of a system itself.
"""
