"""What the pytest plugin (plugin.py) does, loaded when a test first asks for a broker."""
