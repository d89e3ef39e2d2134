"""Write docs/comparison.json: what a run of many variants found, for the documentation.

    python scripts/comparison_rows.py runs/many [runs/beyond]

The second run has trials of some of the variants at rates beyond those of the first one's sweep.
"""

import dataclasses as dc
import json
import shlex
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0:1] = [str(ROOT / "src")]
TARGET = ROOT / "docs" / "comparison.json"


def command(config: Any) -> str:
    """The command that makes such a run anew, of a configuration of the preset `quick`."""
    from velocity_ledger.experiment import PRESETS

    preset = PRESETS["quick"]
    like = {name: getattr(preset, name) for name in ("variants", "seeds", "match", "sweep")}
    model = dc.replace(config.model, vocabulary=preset.model.vocabulary)
    if dc.replace(config, model=model, **like) != preset:
        raise SystemExit("the run differs from the preset quick in more than what it compares")
    words = ["velocity-ledger", "compare", "--preset", "quick", "--variants", *config.variants]
    words += ["--match", config.match, "--sweep.rates", *(f"{r:g}" for r in config.sweep.rates)]
    words += ["--sweep.steps", str(config.sweep.steps), "--seeds", *map(str, config.seeds)]
    return " ".join(map(_quoted, [*words, "--out", "runs/many"]))


def _quoted(word: str) -> str:
    """As one would type it: text forms have single quotes, and nothing that a shell expands."""
    plain = shlex.quote(word)
    return f'"{word}"' if "'" in word and not set(word) & set('"$`!\\') else plain


def main(path: str, beyond: str | None = None) -> int:
    from velocity_ledger.experiment import notes, open_bundle, summary
    from velocity_ledger.experiment._trials import read_trials

    bundle = open_bundle(path)
    if bundle.config is None:
        raise SystemExit(f"{path} records no configuration")
    manifest = bundle.manifest
    environment = manifest["environment"]
    found = {
        "command": command(bundle.config),
        "corpus": {k: manifest["corpus"].get(k) for k in ("name", "characters", "sha256")},
        "environment": {k: environment.get(k) for k in ("python", "jax", "flax", "optax")},
        "device": manifest["device"].get("kind"),
        "tokens_a_cell": bundle.config.training.steps
        * bundle.config.training.batch
        * bundle.config.model.context,
        "rows": [dc.asdict(row) for row in summary(bundle)],
        "trials": [dc.asdict(trial) for trial in read_trials(bundle.path)],
        "notes": notes(bundle),
    }
    if beyond is not None:
        found["beyond"] = [dc.asdict(trial) for trial in read_trials(Path(beyond))]
    text = json.dumps(found, indent=1, allow_nan=False)
    TARGET.write_text(text + "\n", encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)}: {len(found['rows'])} variants")
    return 0


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    sys.exit(main(*sys.argv[1:]))
