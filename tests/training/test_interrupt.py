"""Ctrl-C is held back until a step is whole, once."""

import signal

import pytest

from ccassg.training.interrupt import held_interrupt


@pytest.fixture(autouse=True)
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def press(times, *, hold):
    """Press Ctrl-C so many times within the block; return how often it got past."""
    past = 0
    try:
        with held_interrupt(hold=hold) as pressed:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
                past += 1
                assert pressed
            past += 1  # the end of the block
    except KeyboardInterrupt:
        return past
    pytest.fail("it was never raised")


def test_the_first_is_held_to_the_end_of_the_block():
    assert press(1, hold=True) == 2


def test_the_second_is_not_held():
    assert press(2, hold=True) == 1


def test_without_holding_it_comes_at_once():
    assert press(1, hold=False) == 0
