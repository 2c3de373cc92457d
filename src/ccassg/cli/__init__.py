"""The `ccassg` program: arguments and printing; no logic."""

from ccassg.cli import bench, convert, datasets, demo, evaluate, fit, links, reproduce
from ccassg.cli.app import app, main

# Importing a module adds its commands to the application.
COMMANDS = (demo, fit, evaluate, links, datasets, convert, reproduce, bench)
# The help lists commands as a user comes to them.
ORDER = (
    "demo", "fit", "report", "similar", "links", "evaluate", "embed", "settings", "convert", "reproduce", "bench",
)  # fmt: skip
app.registered_commands.sort(key=lambda command: ORDER.index(command.name or getattr(command.callback, "__name__", "")))
__all__ = ["app", "main"]
