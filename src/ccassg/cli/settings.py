"""Settings of a method as the command line writes and lists them."""

import inspect
import json
import re
from typing import Any


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Read ``name=value`` strings: values as JSON where they are, text otherwise, ``a,b`` as a pair of numbers."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise ValueError(f"a setting is written NAME=VALUE, got {pair!r}")
        if re.fullmatch(r"[\d.eE+-]+,[\d.eE+-]+", text):
            settings[name] = tuple(float(part) for part in text.split(","))
            continue
        try:
            settings[name] = json.loads(text.replace("None", "null").replace("True", "true").replace("False", "false"))
        except json.JSONDecodeError:
            settings[name] = text
    return settings


def settings_of(cls: type) -> list[tuple[str, Any, str]]:
    """Return name, default and description of each parameter of a method, read off its class and those it builds on.

    A description stands beside the parameter, in `Annotated`, or in the docstring of a public class.
    """
    texts: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        body = (each.__doc__ or "").partition("Parameters\n    ----------\n")[2].partition("\n\n    Attributes")[0]
        found = re.findall(r"^    (\w[\w, ]*) : .*\n((?:        .*\n?|\n)+)", body + "\n", re.MULTILINE)
        texts |= {name: " ".join(text.split()) for names, text in found for name in names.split(", ")}
        hints = inspect.get_annotations(each).items()
        texts |= {name: hint.__metadata__[0] for name, hint in hints if hasattr(hint, "__metadata__")}
    return [(name, default, texts.get(name, "")) for name, default in cls().get_params(deep=False).items()]
