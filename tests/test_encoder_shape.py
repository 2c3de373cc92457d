"""An encoder of a shape has the weights of the one that the shape was taken of; shapes that nobody builds are refused."""

import pytest

from ccassg.encoder_shape import of_shape, shape_of
from ccassg.model.canonical import Canonical
from ccassg.model.encoder import gcn, mlp
from ccassg.parameters import MAX_HOPS, MAX_LAYERS


@pytest.mark.parametrize(
    "encoder",
    [Canonical(5, (2, 3, 1)), Canonical(5, (2, 3, 1), rooted=True), gcn((5, 4, 3), seed=0), mlp((5, 2), seed=0)],
)
def test_there_and_back(encoder):
    again = of_shape(shape_of(encoder))
    assert type(again) is type(encoder)
    assert shape_of(again) == shape_of(encoder)
    wanted = {name: tensor.shape for name, tensor in encoder.state_dict().items()}
    assert {name: tensor.shape for name, tensor in again.state_dict().items()} == wanted


def test_as_many_layers_and_hops_as_can_be_trained():
    deepest = {"dims": [1] * (MAX_LAYERS + 1), "propagate": False, "batch_norm": False}
    assert len(of_shape(deepest).dims) == MAX_LAYERS + 1
    for n in (1, MAX_LAYERS + 2):
        with pytest.raises(ValueError, match=f"no encoder with {n - 1} layers"):
            of_shape(deepest | {"dims": [1] * n})
    furthest = {"n_features": 3, "widths": [1, 1, 1], "hops": [0, MAX_HOPS]}
    assert of_shape(furthest).n_hops == MAX_HOPS
    for change in ({"hops": [0, MAX_HOPS + 1]}, {"hops": [1, 2]}, {"hops": [0, 2, 2]}, {"widths": [1, -1, 1]}):
        with pytest.raises(ValueError, match="no encoder with widths"):
            of_shape(furthest | change)
