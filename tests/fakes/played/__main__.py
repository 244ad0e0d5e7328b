"""``python -m played``."""

from __future__ import annotations

import sys

from .server import main

if __name__ == "__main__":
    main(sys.argv[1:])
