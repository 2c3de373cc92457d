"""What is known about each dataset, and where its public files are: the facts stand in ``datasets.toml``."""

import tomllib
from importlib import resources
from typing import Any, NamedTuple

from ccassg.graph.dataset import Card


class SourceFile(NamedTuple):
    """One file: its path in a data folder, the address of the folder it comes from, and its hash."""

    path: str
    base_url: str
    digest: str

    @property
    def file_name(self) -> str:
        """Return the last part of the path, which is its name at the source."""
        return self.path.rsplit("/", 1)[-1]


def _files(facts: dict[str, Any]) -> tuple[SourceFile, ...]:
    url = facts.pop("url", "")
    return tuple(SourceFile(path, url, digest) for path, digest in facts.pop("files", {}).items())


_FACTS = tomllib.loads((resources.files("ccassg.datasets") / "datasets.toml").read_text(encoding="utf-8"))
DATASETS: tuple[str, ...] = tuple(_FACTS)
# None for Cora: it is embedded in the package.
FILES: dict[str, tuple[SourceFile, ...]] = {name: _files(facts) for name, facts in _FACTS.items()}
CARDS: dict[str, Card] = {
    name: Card(**facts | {"class_names": tuple(facts["class_names"])}) for name, facts in _FACTS.items()
}
