"""The `ccassg` program: arguments and printing; no logic."""

from ccassg.cli.app import app, main

__all__ = ["app", "main"]
