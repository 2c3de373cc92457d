"""Where tensors lie and are computed: a device by its name."""

from typing import Any

import torch

from ccassg.graph.checks import shown


def device_of(name: Any) -> torch.device:
    """Return a device by its name; ValueError for one that torch does not know or cannot reach."""
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("it computes nothing")
        torch.tensor([], device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"device {shown(name)} cannot be used ({why}); cpu always can") from None
    return device
