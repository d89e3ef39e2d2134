"""How large a program is, counted and not timed."""

from typing import Any

import jax


def equations(jaxpr: Any) -> int:
    """Count the equations of a program, those of its loops and branches among them."""
    count = 0
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        inner = jax.tree.leaves(list(equation.params.values()), is_leaf=_is_program)
        count += 1 + sum(equations(one) for one in inner if _is_program(one))
    return count


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns")


def peak_bytes(lowered: Any) -> int:
    """What the compiler sets aside for a run: temporaries and results."""
    memory: Any = lowered.compile().memory_analysis()
    return memory.temp_size_in_bytes + memory.output_size_in_bytes
