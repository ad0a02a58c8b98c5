"""python -m fakebroker"""

from fakebroker.cli.main import main

main()
