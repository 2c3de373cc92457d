"""The `ccassg` program: arguments and printing; no logic."""

import ccassg.cli.datasets
from ccassg.cli.app import app, main

__all__ = ["app", "main"]
