"""The `ccassg` program: arguments and printing; no logic."""

from ccassg.cli import bench, convert, datasets, demo, evaluate, fit, reproduce, tune
from ccassg.cli.app import app, main

# Importing a module adds its commands to the application.
COMMANDS = (demo, fit, tune, evaluate, datasets, convert, reproduce, bench)
__all__ = ["app", "main"]
