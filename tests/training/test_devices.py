"""A step on a device that is not there: tensors that refuse to meet those of the CPU, or to go back to it.

No GPU is needed to see that everything a step makes and uses is where the encoder is. What a GPU computes, and how fast, is not seen.
"""

import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from ccassg import as_graph
from ccassg.model.encoder import gcn, mlp
from ccassg.model.loss import Objective
from ccassg.training.batches import BatchViews, RunningMoments
from ccassg.training.settings import Settings
from ccassg.training.step import ExactStep
from ccassg.training.views import Views

DEVICE = torch.device("cuda", 0)
BACK = {"cpu", "numpy", "__array__"}


class Far(torch.Tensor):
    """Computed here, but says that it is far away; every operation on it must be far away as well."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.device.__get__:
            return DEVICE
        if name in BACK or (name == "to" and any(_is_here(value) for value in tree_leaves((args[1:], kwargs)))):
            raise AssertionError(f"{name} brings a tensor back to the CPU")
        for value in tree_leaves((args, kwargs)):
            if isinstance(value, torch.Tensor) and not isinstance(value, Far) and value.dim() > 0:
                raise AssertionError(f"{name} mixes a tensor of the CPU with one of the device")
        if name == "to" and any(_is_far(value) for value in tree_leaves((args[1:], kwargs))):
            return args[0]
        if "device" in kwargs:
            kwargs["device"] = torch.device("cpu")
        return super().__torch_function__(func, types, args, kwargs)


class Device(TorchFunctionMode):
    """Makes what is asked for on the device, and moves there what is sent."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        # Of a tensor that is far already, its own class takes care.
        if any(isinstance(value, Far) for value in tree_leaves((args, kwargs))):
            return func(*args, **kwargs)
        if getattr(func, "__name__", "") == "to" and any(_is_far(value) for value in args[1:]):
            return args[0].detach().clone().as_subclass(Far)
        if _is_far(kwargs.get("device")):
            return func(*args, **kwargs | {"device": "cpu"}).as_subclass(Far)
        return func(*args, **kwargs)


def _is_far(value):
    return isinstance(value, torch.device) and value.type == "cuda"


def _is_here(value):
    return value == "cpu" or (isinstance(value, torch.device) and value.type == "cpu")


N, F = 120, 20
EDGES = sp.random(N, N, density=0.06, random_state=0).astype(bool)
FEATURES = sp.random(N, F, density=0.15, random_state=1, format="csr")
STEPS = {
    "gcn": (gcn, {}),
    "mlp": (mlp, {}),
    "loss on a subset": (gcn, {"loss_nodes": 40}),
    "neighbour view": (mlp, {"neighbour_view": True}),
    "neighbour view, loss on a subset": (mlp, {"neighbour_view": True, "loss_nodes": 40}),
    "batch": (gcn, {"batch_nodes": 40}),
    "batch with few neighbours": (gcn, {"batch_nodes": 40, "max_neighbors": 3}),
}


def a_step(make, changes, features, *, far=False):
    """The loss of one step, and the gradients."""
    chosen = {
        "n_steps": 2, "learning_rate": 1e-2, "weight_decay": 0.0, "objective": Objective(1e-2),
        "edge_drop_rate": (0.3, 0.5), "feature_mask_rate": (0.2, 0.1),
    }  # fmt: skip
    settings, graph, encoder = Settings(**chosen | changes), as_graph(EDGES, features), make((F, 16, 8))
    for module in encoder.modules() if far else ():
        for name, value in module._parameters.items():
            module._parameters[name] = torch.nn.Parameter(value.detach().as_subclass(Far))
        for name, value in module._buffers.items():
            module._buffers[name] = value.as_subclass(Far)
    batches = "batch_nodes" in changes
    views = (BatchViews if batches else Views)(graph, encoder, settings)
    compute = ExactStep(encoder, settings.objective, smooth=RunningMoments(1.0) if batches else None)
    return float(compute(*views(1)).loss), [parameter.grad for parameter in encoder.parameters()]


@pytest.mark.parametrize("features", [FEATURES, FEATURES.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("step", STEPS)
def test_all_that_a_step_makes_and_uses_is_where_the_encoder_is(step, features):
    expected, gradients = a_step(*STEPS[step], features)
    with Device():
        loss, far = a_step(*STEPS[step], features, far=True)
    assert loss == pytest.approx(expected, rel=1e-5)
    for mine, theirs in zip(far, gradients, strict=True):
        assert type(mine) is Far
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine.as_subclass(torch.Tensor), theirs, rtol=1e-4, atol=1e-5)


def test_a_product_on_a_device_is_one_kernel(monkeypatch):
    rows, bag = [], functional.embedding_bag

    def counted(indices, table, offsets, **more):
        rows.append(len(offsets) - 1)
        return bag(indices, table, offsets, **more)

    monkeypatch.setattr(functional, "embedding_bag", counted)
    monkeypatch.setattr("ccassg.graph.sparse.multiply.__kwdefaults__", {"block_rows": 8})
    a_step(gcn, {}, FEATURES.toarray())
    assert set(rows) == {8}
    rows.clear()
    with Device():
        a_step(gcn, {}, FEATURES.toarray(), far=True)
    assert set(rows) == {N}


def test_the_guard_sees_what_it_is_for():
    with Device():
        far = torch.ones(3, device=DEVICE)
        assert far.device == DEVICE
        assert type(torch.ones(3)) is torch.Tensor
        for wrong in (
            lambda: far + torch.ones(3),
            lambda: far[torch.arange(2)],
            far.cpu,
            far.numpy,
            lambda: far.to("cpu"),
        ):
            with pytest.raises(AssertionError, match="CPU"):
                wrong()
        assert type(torch.ones(3).to(DEVICE)) is Far
        assert float((far + 1).sum()) == 6
