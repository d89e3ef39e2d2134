"""Configuration keys of other people, under any plausible spelling."""

import dataclasses as dc
import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from velocity_ledger.exchange._files import number, whole
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.model._config import ModelConfig
from velocity_ledger.training._config import TrainingConfig

# Our field: other spellings, in small letters and without what is neither letter nor digit.
_SPELLINGS = {
    "model.layers": "l nlayers nlayer numlayers depth blocks nblocks numblocks",
    "model.width": "d dm dim dmodel modeldim nembd embd embeddim embdim dembd embedding",
    "model.heads": "nheads nhead numheads attentionheads nh",
    "model.hidden": "ff dff ffdim ffn dffn ffnhidden mlp mlpdim dmlp mlphidden nhidden dhidden",
    "model.context": "t ctx blocksize seqlen sequencelength contextlength ctxlen seqlength window",
    "model.dropout": "drop droprate dropoutrate pdrop dropoutp",
    "model.vocabulary": "v vocab vocabsize nvocab vocabularysize",
    "training.steps": "nsteps iters niters maxiters trainsteps maxsteps numsteps totalsteps",
    "training.batch": "b bs batchsize nbatch",
    "training.peak_rate": "lr learningrate maxlr peaklr lrmax lrpeak peak",
    "training.final_rate": "minlr lrmin endlr lrend finallr lrfinal",
    "training.warmup": "warmupsteps warmupiters nwarmup warm",
    "training.weight_decay": "wd decay",
    "training.clip": "gradclip clipnorm maxnorm gradclipnorm maxgradnorm globalclip globalnorm",
    "training.val_every": "vallog evalevery evalinterval valinterval logval valfreq",
    "training.val_batches": "nvalbatches nval evalbatches numvalbatches",
    "training.probe_windows": "probe nprobe probebatch probesize numprobe",
    "integrator.mu": "mu momentum",
    "integrator.h": "hstep stepsize",
    "seeds": "nseeds numseeds",
    "corpus": "dataset data text corpusname source",
    "characters": "chars nchars corpuschars corpussize textlen textlength corpuslen ntext",
    "variants": "variant models",
    "checkpoints": "ckpts ckptsteps ckpt checkpointsteps telemetrysteps",
}
# One letter is told by its case: H heads of attention, h the step scale.
_CASE = {"H": "model.heads", "h": "integrator.h"}


def _hints() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part, cls in (("model", ModelConfig), ("training", TrainingConfig)):
        hints = get_type_hints(cls)
        found |= {f"{part}.{f.name}": hints[f.name] for f in dc.fields(cls)}
    # What a run has beside its model, its training and its grid.
    hints = get_type_hints(ExperimentConfig)
    return found | {
        name: hint
        for name, hint in hints.items()
        if hint in (bool, int) or get_origin(hint) is Literal
    }


_HINTS = _hints()
_FIELDS = {re.sub(r"[^a-z0-9]", "", k.rpartition(".")[2]): k for k in _HINTS} | {
    word: field for field, words in _SPELLINGS.items() for word in words.split()
} | {name: name for name in _SPELLINGS if "." not in name}  # fmt: skip

RUN_FIELDS = tuple(name for name in _HINTS if "." not in name)
"""Settings of a run beside its model, its training and its grid."""


@dc.dataclass
class Said:
    """What a configuration says, by our names; and the rest, as it was."""

    fields: dict[str, Any] = dc.field(default_factory=dict)
    rest: dict[str, Any] = dc.field(default_factory=dict)
    conflicts: list[str] = dc.field(default_factory=list)

    def part(self, name: str) -> dict[str, Any]:
        """The fields of `model`, `training` or `integrator`."""
        return {k.partition(".")[2]: v for k, v in self.fields.items() if k.startswith(f"{name}.")}

    def add(self, field: str, value: Any, spelled: str) -> None:
        """Note a field; another value for it is a conflict, and the first counts."""
        if field in self.fields and self.fields[field] != value:
            self.conflicts.append(
                f"config.{spelled} says {value}, another key says {self.fields[field]} for {field}"
            )
        else:
            self.fields.setdefault(field, value)


def read_config(record: Any) -> Said:
    """Sort the keys of a configuration into those that are understood and the rest."""
    said = Said()
    if isinstance(record, Mapping):
        _read(record, "", said, said.rest)
    elif record is not None:
        said.rest["config"] = record
    return said


def _read(record: Mapping[str, Any], prefix: str, said: Said, rest: dict[str, Any]) -> None:
    for key, value in record.items():
        spelled = f"{prefix}{key}"
        if key in ("corpus_record", "vocabulary_record") and isinstance(value, Mapping):
            said.fields[key] = dict(value)
            continue
        field = _CASE.get(key) or _FIELDS.get(re.sub(r"[^a-z0-9]", "", key.lower()))
        if isinstance(value, Mapping) and field != "variants":
            inner: dict[str, Any] = {}
            _read(value, f"{spelled}.", said, inner)
            if inner:
                rest[key] = inner
            continue
        found = None if field is None else _value(field, value)
        # Null is a value of a field of ours, and else says nothing.
        ours = field is not None and value is None and key == field.rpartition(".")[2]
        if field is None or (found is None and not ours):
            rest[key] = value
        else:
            said.add(field, found, spelled)


def _value(field: str, value: Any) -> Any:
    """`value` as the field's type; None where it is of another."""
    if field == "variants":
        return _variants(value)
    if field == "seeds" or field == "checkpoints":
        values = value if isinstance(value, list) else [value]
        found = [whole(v) for v in values]
        # A single number counts the seeds rather than naming one.
        if field == "seeds" and not isinstance(value, list) and found[0] is not None:
            return list(range(found[0])) if 0 < found[0] < 1000 else None
        return None if any(v is None for v in found) else found
    if field == "corpus":
        return value if isinstance(value, str) else None
    hint = _HINTS.get(field, int if field == "characters" else float)
    if hint is bool:
        return value if isinstance(value, bool) else None
    if get_origin(hint) is Literal:
        return value if isinstance(value, str) and value in get_args(hint) else None
    if hint is float:
        return number(value)
    if hint is int or hint == int | None:
        return whole(value)
    if isinstance(value, list) and all(number(v) is not None for v in value):
        return [number(v) for v in value]
    return None


def _variants(value: Any) -> dict[str, str] | None:
    """Spelling to text form; the published spellings need no text."""
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return {v: "" for v in value}
    if isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()):
        return {str(k): v for k, v in value.items()}
    return None
