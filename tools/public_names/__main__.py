"""See the package."""

import argparse
import sys

from tools.public_names import __doc__ as about
from tools.public_names.listed import PATH, gone, listed, removal_text, write
from tools.public_names.names import names


def main() -> int:
    """Write the list; the status is 1 if names are gone and that is not accepted."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accept-removals", action="store_true", help="names that are gone are no error")
    accepts = parser.parse_args().accept_removals
    before, now = listed(), names()
    removed = gone(before, now)
    if removed and not accepts:
        print(removal_text(removed), file=sys.stderr)
        return 1
    write(now)
    print(f"{PATH.name}: {len(now)} names, {len(set(now) - set(before))} new, {len(removed)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
