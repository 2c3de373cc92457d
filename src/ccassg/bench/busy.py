"""Another process, as there is one on every real machine: it holds a core until its caller ends."""

from collections.abc import Iterator
from typing import Any


def serve(orders: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Answer the first order and keep computing; see `ccassg.worker`."""
    yield next(orders)
    while True:
        pass
