"""What an encoder is apart from its weights, as it is written into a file and as an encoder is made of it again."""

from typing import Any

from ccassg.model.canonical import Canonical
from ccassg.model.encoder import Encoder
from ccassg.parameters import MAX_HOPS, MAX_LAYERS


def shape_of(encoder: Encoder | Canonical) -> dict[str, Any]:
    """Return what an encoder is, apart from its weights."""
    if isinstance(encoder, Canonical):
        return {"n_features": encoder.dims[0], "widths": encoder.widths, "hops": encoder.hops, "rooted": encoder.rooted}
    return {"dims": encoder.dims, "propagate": encoder.propagate, "batch_norm": len(encoder.norms) > 0}


def of_shape(shape: dict[str, Any]) -> Encoder | Canonical:
    """Return an encoder of a shape that anyone may have written into a file."""
    if "hops" in shape:
        widths, hops = ([int(number) for number in shape[name]] for name in ("widths", "hops"))
        if len(widths) != 3 or min(widths) < 0 or hops != sorted(set(hops)) or not 0 == hops[0] <= hops[-1] <= MAX_HOPS:
            raise ValueError(f"there is no encoder with widths {widths} and hops {hops}")
        return Canonical(int(shape["n_features"]), widths, hops, rooted=bool(shape.get("rooted", False)))
    dims = [int(width) for width in shape["dims"]]
    if not 2 <= len(dims) <= MAX_LAYERS + 1:
        raise ValueError(f"there is no encoder with {len(dims) - 1} layers")
    return Encoder(dims, propagate=bool(shape["propagate"]), batch_norm=bool(shape["batch_norm"]))
