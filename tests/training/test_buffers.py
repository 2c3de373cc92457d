"""Buffers keep their memory from step to step."""

import torch

from ccassg.training.buffers import Buffer, step_buffers


def test_a_buffer_is_reused_and_grows():
    buffer = Buffer(torch.device("cpu"), torch.float64)
    first = buffer(10, 4)
    assert (first.shape, first.dtype) == ((10, 4), torch.float64)
    assert buffer(5, 4).data_ptr() == first.data_ptr()
    grown = buffer(100, 4)
    assert grown.shape == (100, 4)
    assert buffer(105, 4).data_ptr() == grown.data_ptr()  # a little slack


def test_no_two_buffers_of_a_step_share_memory():
    buffers = step_buffers(2, like=torch.zeros(1))
    mine = [
        buffer
        for view in buffers.views
        for buffer in (
            view.product, *view.hidden, *view.unit, view.gradient, view.embedding, view.embedding_gradient
        )
    ]  # fmt: skip
    everything = [*mine, *buffers.columns, buffers.weight_gradient]
    assert len({buffer(3, 3).data_ptr() for buffer in everything}) == 2 * 8 + 3 + 1
