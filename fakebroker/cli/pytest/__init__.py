"""What the pytest plugin (pytest_plugin.py) does, loaded when a test first asks for a broker."""
