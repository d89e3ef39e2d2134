"""A grid of runs, variants times seeds, in one folder that can be read at any moment."""

from typing import TYPE_CHECKING

from velocity_ledger._lazy import lazy

if TYPE_CHECKING:
    from velocity_ledger.experiment._bundle import (
        Bundle as Bundle,
        mean_over_tokens as mean_over_tokens,
        open_bundle as open_bundle,
    )
    from velocity_ledger.experiment._config import (
        FOUR as FOUR,
        PRESETS as PRESETS,
        ExperimentConfig as ExperimentConfig,
        SweepConfig as SweepConfig,
    )
    from velocity_ledger.experiment._convert import (
        convert_cell as convert_cell,
        converted as converted,
    )
    from velocity_ledger.experiment._describe import describe as describe
    from velocity_ledger.experiment._detail import describe_in_full as describe_in_full
    from velocity_ledger.experiment._fairness import no_ranking as no_ranking
    from velocity_ledger.experiment._imported import (
        check_new as check_new,
        write_imported as write_imported,
    )
    from velocity_ledger.experiment._load import (
        cell_metadata as cell_metadata,
        load_cell as load_cell,
        vocabulary_of as vocabulary_of,
    )
    from velocity_ledger.experiment._manifest import (
        SCHEMA_VERSION as SCHEMA_VERSION,
        CellRecord as CellRecord,
    )
    from velocity_ledger.experiment._run import run_experiment as run_experiment
    from velocity_ledger.experiment._summary import (
        Row as Row,
        notes as notes,
        summary as summary,
        table as table,
    )
    from velocity_ledger.experiment._variants import (
        named_variants as named_variants,
        sources_of_text as sources_of_text,
    )

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "FOUR": "_config",
        "PRESETS": "_config",
        "SCHEMA_VERSION": "_manifest",
        "Bundle": "_bundle",
        "CellRecord": "_manifest",
        "ExperimentConfig": "_config",
        "Row": "_summary",
        "SweepConfig": "_config",
        "cell_metadata": "_load",
        "check_new": "_imported",
        "convert_cell": "_convert",
        "converted": "_convert",
        "describe": "_describe",
        "describe_in_full": "_detail",
        "load_cell": "_load",
        "mean_over_tokens": "_bundle",
        "named_variants": "_variants",
        "no_ranking": "_fairness",
        "notes": "_summary",
        "open_bundle": "_bundle",
        "run_experiment": "_run",
        "sources_of_text": "_variants",
        "summary": "_summary",
        "table": "_summary",
        "vocabulary_of": "_load",
        "write_imported": "_imported",
    },
)
