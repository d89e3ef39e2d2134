"""Which check catches which planted fault."""

import dataclasses as dc
import pathlib

from integrators import numpy_reference
from velocity_ledger.contract import CHECKS, Check, Subject

FILE = pathlib.Path(__file__).with_name("faults.py")
BY_NAME = {check.__name__: check for check in CHECKS}


@dc.dataclass(frozen=True)
class Fault:
    """A fault of the file, the checks that must catch it, and whose equation it should keep."""

    name: str
    caught_by: tuple[str, ...]
    equation: str | None = None

    def subject(self) -> Subject:
        reference = numpy_reference.STATES[self.equation] if self.equation else None
        return Subject(f"{FILE}:{self.name}", name=self.name, reference=reference)

    @property
    def checks(self) -> tuple[Check, ...]:
        return tuple(BY_NAME[name] for name in self.caught_by)


FAULTS = (
    Fault("Halves", ("text_form",)),
    Fault("Drifts", ("rests_without_fields",)),
    Fault("tells_the_step_before", ("steps_add_up",)),
    Fault("NeverUpdated", ("velocity_moves", "memory_changes", "every_number_acts")),
    Fault("gain_of_the_square", ("agrees_with_numpy",), "ledger"),
    Fault("looks_behind", ("agrees_with_numpy", "every_number_acts"), "nesterov"),
    Fault("untransported", ("agrees_with_numpy",), "riemannian-ledger"),
    Fault("alpha_of_the_mean", ("agrees_with_numpy",), "layer-scale"),
    Fault("TransposedMixing", ("agrees_with_numpy",)),
    Fault("double_precision", ("keeps_structure",)),
    Fault("NormAtZero", ("finite_everywhere",)),
    Fault("KnowsTheLoop", ("scan_is_loop",)),
    Fault("NumberInTheProgram", ("numbers_are_data",)),
    Fault("BranchesOnANumber", ("numbers_are_data",)),
    Fault("OnlyPlainNumbers", ("sweep_is_each",)),
    Fault("no_memory", ("memory_is_read", "can_be_undone")),
    Fault("ignores_mu", ("every_number_acts",)),
    Fault("ignores_depth", ("every_number_acts",)),
    Fault("NeverUsed", ("every_parameter_is_heard",)),
    Fault("alpha_not_applied", ("every_parameter_is_heard",)),
    Fault("EverySecond", ("every_field_is_heard",)),
    Fault("AnothersState", ("samples_are_apart",)),
    Fault("MeanOverTime", ("tokens_are_apart", "no_token_sees_the_next")),
    Fault("MeanOfThePast", ("tokens_are_apart",)),
    Fault("ReadsAhead", ("no_token_sees_the_next",)),
    Fault("ReusesTheKey", ("draws_are_fresh",)),
    Fault("NoiseForAllRows", ("pieces_are_the_batch",)),
    Fault("NoiseOfTwoStreams", ("pieces_are_the_batch",)),
    Fault("geometry_not_applied", ("stays_in_its_space",)),
    Fault("WrongReduction", ("reduces_as_declared",)),
    Fault("wrong_order", ("has_its_order",)),
    Fault("drops_the_mlp", ("uses_its_layer",)),
    Fault("uneven_halves", ("uses_its_layer",)),
    Fault("bootstrap_not_applied", ("agrees_with_numpy",), "midpoint(start='bootstrap')"),
    Fault("cosine_never_there", ("agrees_with_numpy",), "ledger(mu=cosine(0.2, 0.8))"),
    Fault(
        "table_one_late",
        ("agrees_with_numpy", "every_number_acts"),
        "ledger(mu=table((0.1, 0.9, 0.5, -0.5, 0.7, 0.2)))",
    ),
    Fault("one_velocity_for_all", ("kinds_are_apart",)),
    Fault("starts_from_the_other", ("kinds_are_apart",)),
    Fault("coasts_a_step_too_far", ("coasts_to_rest",)),
    Fault("weights_swapped", ("agrees_with_numpy",), "ode-rk2"),
    Fault("gate_of_the_other", ("agrees_with_numpy",), "gated-rk2"),
    Fault("AveragesAverages", ("agrees_with_numpy",), "denseformer"),
    Fault(
        "DilatedFromTheStart",
        ("agrees_with_numpy",),
        "denseformer(dilation=2, period=3, h=0.5)",
    ),
    Fault("static_mixing_transposed", ("agrees_with_numpy",), "hyper-connections"),
    Fault("manifold_mixing_transposed", ("agrees_with_numpy",), "manifold-hyper-connections"),
    Fault("writes_once", ("every_parameter_is_heard",)),
)
