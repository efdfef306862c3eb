"""Run the command line as ``python -m navserver``."""

import sys

from navserver.cli import main

if __name__ == "__main__":
    sys.exit(main())
