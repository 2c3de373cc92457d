"""Settings of a method as the command line writes and lists them."""

import contextlib
import dataclasses
import inspect
import json
import re
from typing import Any

from ccassg.graph.checks import shown

# The parameters of cca-ssg in the order of docs/settings.md, and what "auto" stands for: known before PyTorch is loaded.
AUTOMATIC = {
    "encoder": "canonical",
    "n_layers": "2",
    "hidden_dim": "twice the embedding, at most 512",
    "embedding_dim": "solved: nine parts of at most 128 or 256 columns, 1,664 in all; trained: at most 512. No part is wider than the features, or than half the nodes",
    "second_view": "",
    "decorrelation": "0.001 at width 512, more in proportion when narrower",
    "edge_drop_rate": "0.4 (0 with mlp)",
    "feature_mask_rate": "0.2",
    "n_steps": "50",
    "early_stopping": "",
    "learning_rate": "",
    "weight_decay": "",
    "drop_both_directions": "",
    "loss_nodes": "all nodes; on more than 50,000 of them 4,096, but for batches and several processes",
    "batch_nodes": "",
    "max_neighbors": "",
    "augmentations": "",
    "invariance": "",
    "device": "",
    "random_state": "",
}

# The longest value: short enough that nothing nested in it, nor any number, is beyond the parser.
MAX_LENGTH = 500


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Read ``name=value`` strings: values as JSON where they are, text otherwise, ``a,b`` as a pair of numbers."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"a setting is written NAME=VALUE, got {shown(pair)}")
        if len(text) > MAX_LENGTH:
            raise ValueError(
                f"the value of {shown(name)} has {len(text):,} characters; no setting needs more than {MAX_LENGTH}"
            )
        if re.fullmatch(r"[\d.eE+-]+,[\d.eE+-]+", text):
            with contextlib.suppress(ValueError):
                settings[name] = tuple(float(part) for part in text.split(","))
                continue
        try:
            value = json.loads(text.replace("None", "null").replace("True", "true").replace("False", "false"))
        except json.JSONDecodeError:
            value = text
        settings[name] = tuple(value) if isinstance(value, list) else value
    return settings


def settings_of(cls: type) -> list[tuple[str, Any, str]]:
    """Return name, default and description of each parameter of a method, read off its class and those it builds on.

    A description stands beside the parameter, in `Annotated`, or in the docstring of a public class.
    """
    texts: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        body = (each.__doc__ or "").partition("Parameters\n    ----------\n")[2].partition("\n\n    Attributes")[0]
        found = re.findall(r"^    (\w+) : .*\n((?:        .*\n?|\n)+)", body + "\n", re.MULTILINE)
        texts |= {name: " ".join(text.split()) for name, text in found}
        hints = inspect.get_annotations(each).items()
        texts |= {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
    defaults = cls().get_params(deep=False)
    names = sorted((each.name for each in dataclasses.fields(cls)), key=lambda name: name == "random_state")
    return [(name, defaults[name], texts.get(name, "").replace("``", "")) for name in names]
