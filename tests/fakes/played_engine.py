"""Starts a played engine from a folder of its own, without the collection on the path. ``python played_engine.py --behaviour FILE …``."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    runpy.run_module("played", run_name="__main__", alter_sys=True)
