"""Where a program runs, as far as it can be told while it is traced."""

import jax

from velocity_ledger.machine import device, platform


def test_a_program_is_for_the_device_that_jax_was_told() -> None:
    (first,) = jax.devices("cpu")[:1]
    for chosen in (None, first, "cpu"):
        with jax.default_device(chosen):
            assert device() == first and platform() == "cpu"
    with jax.default_device(first):
        assert device() is first
