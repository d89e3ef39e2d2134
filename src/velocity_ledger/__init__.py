"""Velocity Ledger: integrators of the residual stream of a Transformer.

Written once, trained fairly, measured through depth. Everything public is exported here; nothing
is imported before it is used.
"""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.corpus import (
        Corpus as Corpus,
        Vocabulary as Vocabulary,
        load_corpus as load_corpus,
        windows as windows,
    )
    from velocity_ledger.errors import UserError as UserError
    from velocity_ledger.experiment import (
        PRESETS as PRESETS,
        Bundle as Bundle,
        ExperimentConfig as ExperimentConfig,
        load_cell as load_cell,
        open_bundle as open_bundle,
        run_experiment as run_experiment,
    )
    from velocity_ledger.integrators import (
        Alpha as Alpha,
        Composition as Composition,
        Context as Context,
        Euler as Euler,
        Field as Field,
        Fixed as Fixed,
        Flat as Flat,
        Geometry as Geometry,
        HeavyBall as HeavyBall,
        Impulse as Impulse,
        Info as Info,
        Integrator as Integrator,
        Momentum as Momentum,
        Parameter as Parameter,
        Sphere as Sphere,
        StepScale as StepScale,
        ledger as ledger,
        names as names,
        ngpt_ledger as ngpt_ledger,
        ngpt_lite as ngpt_lite,
        parse as parse,
        plain as plain,
        register as register,
        retract as retract,
        text as text,
    )
    from velocity_ledger.model import (
        GPT as GPT,
        ModelConfig as ModelConfig,
        convert as convert,
        count_parameters as count_parameters,
        generate as generate,
    )
    from velocity_ledger.record import (
        Nothing as Nothing,
        PathStatistics as PathStatistics,
        Recorder as Recorder,
        States as States,
        StepGram as StepGram,
        Together as Together,
    )
    from velocity_ledger.report import render as render
    from velocity_ledger.stream import integrate as integrate
    from velocity_ledger.telemetry import (
        PathCallback as PathCallback,
        impulse_response as impulse_response,
        measure as measure,
        null_path as null_path,
        paired_difference as paired_difference,
        path_dataset as path_dataset,
        summarise as summarise,
    )
    from velocity_ledger.training import (
        Anneal as Anneal,
        Data as Data,
        Run as Run,
        TrainingConfig as TrainingConfig,
        evaluate as evaluate,
        train as train,
        validation_batches as validation_batches,
    )

_get, __dir__, __all__ = lazy(
    __name__,
    {
        "Alpha": "integrators",
        "Anneal": "training",
        "Bundle": "experiment",
        "Composition": "integrators",
        "Context": "integrators",
        "Corpus": "corpus",
        "Data": "training",
        "Euler": "integrators",
        "ExperimentConfig": "experiment",
        "Field": "integrators",
        "Fixed": "integrators",
        "Flat": "integrators",
        "GPT": "model",
        "Geometry": "integrators",
        "HeavyBall": "integrators",
        "Impulse": "integrators",
        "Info": "integrators",
        "Integrator": "integrators",
        "ModelConfig": "model",
        "Momentum": "integrators",
        "Nothing": "record",
        "PRESETS": "experiment",
        "Parameter": "integrators",
        "PathCallback": "telemetry",
        "PathStatistics": "record",
        "Recorder": "record",
        "Run": "training",
        "Sphere": "integrators",
        "States": "record",
        "StepGram": "record",
        "Together": "record",
        "StepScale": "integrators",
        "TrainingConfig": "training",
        "UserError": "errors",
        "Vocabulary": "corpus",
        "convert": "model",
        "count_parameters": "model",
        "evaluate": "training",
        "generate": "model",
        "impulse_response": "telemetry",
        "integrate": "stream",
        "ledger": "integrators",
        "load_cell": "experiment",
        "load_corpus": "corpus",
        "measure": "telemetry",
        "names": "integrators",
        "ngpt_ledger": "integrators",
        "ngpt_lite": "integrators",
        "null_path": "telemetry",
        "open_bundle": "experiment",
        "paired_difference": "telemetry",
        "parse": "integrators",
        "path_dataset": "telemetry",
        "plain": "integrators",
        "register": "integrators",
        "render": "report",
        "retract": "integrators",
        "run_experiment": "experiment",
        "summarise": "telemetry",
        "text": "integrators",
        "train": "training",
        "validation_batches": "training",
        "windows": "corpus",
    },
)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("velocity-ledger")
    return _get(name)
