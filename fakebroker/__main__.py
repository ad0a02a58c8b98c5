"""python -m fakebroker"""

from fakebroker.cli import main

main()
