"""The `ccassg` program: arguments and printing; no logic."""

import ccassg.cli.datasets
import ccassg.cli.reproduce
from ccassg.cli.app import app, main

__all__ = ["app", "main"]
