"""``python -m sigshift`` is the command ``sigshift``."""

import sys

from sigshift.cli import main

if __name__ == "__main__":
    sys.exit(main())
