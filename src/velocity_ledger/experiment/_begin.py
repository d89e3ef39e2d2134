"""How a run is begun, or gone on with: its manifest."""

import dataclasses as dc
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from velocity_ledger.corpus import Corpus, check_length, load_corpus
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _environment
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._corpus import recorded_corpus
from velocity_ledger.experiment._describe import (
    count_own_parameters,
    forward_flops,
    parameter_count,
)
from velocity_ledger.experiment._files import saved
from velocity_ledger.experiment._ledger import Ledger
from velocity_ledger.experiment._manifest import (
    FORMAT,
    NAME as MANIFEST,
    SCHEMA_VERSION,
    CellRecord,
    config_from_dict,
    differences,
    now,
    read_manifest,
    refuse_imported,
)
from velocity_ledger.experiment._match import Matched, with_matches
from velocity_ledger.experiment._start import CONVERTED_FROM, Start
from velocity_ledger.experiment._sweep import is_swept
from velocity_ledger.experiment._trial import try_variant
from velocity_ledger.experiment._variants import (
    Variant,
    as_recorded,
    check_files,
    describe_axes,
    describe_text,
    keep_files,
    variants_of,
)


def check_out(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    resume: bool,
    add: bool,
) -> dict[str, Any] | None:
    """Return the manifest to go on with, None for a new run."""
    if os.path.exists(out) and not os.path.isdir(out):
        raise UserError(f"{out} is a file: choose another --out")
    if not resume:
        if os.path.exists(out / MANIFEST):
            raise UserError(exists(out))
        if os.path.exists(out) and any(not p.name.startswith(".") for p in out.iterdir()):
            raise UserError(f"{out} is not empty and holds no run: choose another --out")
        return None
    if not os.path.exists(out / MANIFEST):
        raise UserError(f"{out} holds no run to resume: leave out --resume or --add to begin one")
    manifest = read_manifest(out)
    refuse_imported(manifest, out, "cannot go on: choose another --out, without --resume")
    found = differences(config_from_dict(manifest["configuration"]), config)
    found = [d for d in found if d[0] != "corpus" or not _same_corpus(manifest, config)]
    if add:
        found = [d for d in found if d[0] not in ("variants", "seeds")]
    if found:
        what = "; ".join(f"{name} {_shown(a)}, not {_shown(b)}" for name, a, b in found[:3])
        more = f" and {len(found) - 3} more" if len(found) > 3 else ""
        raise UserError(
            f"{out} was begun with {what}{more}: resume with the same configuration, "
            f"{'--add variants and seeds, ' if _only_more(found) else ''}or choose another --out"
        )
    check_files(out, variants, manifest)
    return manifest


def _only_more(found: Sequence[tuple[str, Any, Any]]) -> bool:
    return {name for name, _, _ in found} <= {"variants", "seeds"}


def exists(out: pathlib.Path) -> str:
    """Return what is wrong with beginning a run where there is one."""
    return f"{out} holds a run already: add --resume to go on with it, or choose another --out"


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _same_corpus(manifest: dict[str, Any], config: ExperimentConfig) -> bool:
    """Whether another way to write the path means the recorded text."""
    location = manifest["corpus"].get("location")
    if manifest["corpus"].get("kind") not in ("file", "gzip", "folder") or not location:
        return False
    return pathlib.Path(location).resolve() == pathlib.Path(config.corpus).resolve()


def session_record(command: list[str], device: str, stack_seeds: bool) -> dict[str, Any]:
    """Return what the manifest says of one start of the command."""
    return {
        "started": now(),
        "command": _environment.command(command),
        "source": _environment.source(),
        "environment": _environment.environment(),
        "device": _environment.device(device),
        "stack_seeds": stack_seeds,
    }


def begin(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    session: dict[str, Any],
    notify: Callable[[str], None],
    start: Start | None = None,
) -> tuple[Ledger, Corpus]:
    """Read the corpus and write the manifest of a new run."""
    corpus = (
        load_corpus(config.corpus, allow_fallback=config.allow_fallback, notify=notify)
        if start is None
        else start.corpus(notify)
    )
    check_length(corpus, config.model.context)
    sized = with_vocabulary(config, corpus)
    variants, matches = with_matches(variants, sized)
    _say_matches(matches, config, notify)
    for variant in variants:
        try_variant(variant, variant.configure(sized).model)
    with saved(out, "run again"):
        files = keep_files(out, variants)
    manifest = {
        "format": FORMAT,
        "schema_version": SCHEMA_VERSION,
        "created": session["started"],
        "configuration": config,
        **{k: session[k] for k in ("source", "environment", "device", "command")},
        "corpus": {"name": corpus.name, **corpus.source},
        "vocabulary": {
            "characters": corpus.vocabulary.characters,
            "size": corpus.vocabulary.size,
            "sha256": corpus.vocabulary.sha256,
        },
        "variants": [_variant_record(v, sized, matches, files) for v in variants],
        "cells": _cells(variants, config),
        "sessions": [session],
        **({} if start is None else {CONVERTED_FROM: start.record}),
    }
    ledger = Ledger(out, manifest)
    with saved(out, "run again"):
        ledger.write()
    return ledger, corpus


def go_on(
    config: ExperimentConfig,
    out: pathlib.Path,
    variants: Sequence[Variant],
    session: dict[str, Any],
    notify: Callable[[str], None],
) -> tuple[Ledger, Corpus]:
    """Take up a run that was begun, with the variants and seeds that it has not had."""
    # Read again: only now does the lock keep it from changing.
    manifest = read_manifest(out)
    corpus = recorded_corpus(manifest, out, notify)
    check_length(corpus, config.model.context)
    changed = [
        f"{name} {was} then, {session['environment'].get(name)} now"
        for name, was in manifest.get("environment", {}).items()
        if was != session["environment"].get(name)
    ]
    kind, here = manifest.get("device", {}).get("kind"), session["device"]["kind"]
    if kind is not None and kind != here:
        changed.append(f"device {kind} then, {here} now")
    before = [s for s in manifest.get("sessions", []) if isinstance(s, Mapping)]
    if any(bool(s.get("stack_seeds")) != session["stack_seeds"] for s in before):
        changed.append("seeds stacked in some sessions, not in others")
    if changed:
        notify(f"resuming in another environment ({'; '.join(changed)}): bits may differ")
    if manifest.get("source", {}).get("sha256") != session["source"]["sha256"]:
        notify("resuming with another version of velocity-ledger's source: bits may differ")
    manifest = _joined(manifest, config, out, variants, corpus, notify)
    sessions = [*manifest.get("sessions", []), session]
    ledger = Ledger(out, manifest | {"sessions": sessions})
    with saved(out):
        ledger.write()
    return ledger, corpus


def _joined(
    manifest: dict[str, Any],
    config: ExperimentConfig,
    out: pathlib.Path,
    given: Sequence[Variant],
    corpus: Corpus,
    notify: Callable[[str], None],
) -> dict[str, Any]:
    """Return a manifest that also has the variants and seeds given, what it had as it was."""
    recorded = config_from_dict(manifest["configuration"])
    known = {v["text"]: v for v in manifest["variants"]}
    joined = dc.replace(
        recorded,
        variants=(*recorded.variants, *(v.text for v in given if v.text not in known)),
        seeds=(*recorded.seeds, *(s for s in config.seeds if s not in recorded.seeds)),
    )
    if joined == recorded:
        return manifest
    sized = with_vocabulary(joined, corpus)
    texts = [*known, *(v.text for v in given if v.text not in known)]
    there = as_recorded(variants_of(texts), manifest["variants"])
    variants, matches = with_matches(there, sized, done=known)
    new = [v for v in variants if v.text not in known]
    _say_matches(matches, joined, notify)
    for variant in new:
        try_variant(variant, variant.configure(sized).model)
    with saved(out):
        files = keep_files(out, variants)
    records = [known.get(v.text) or _variant_record(v, sized, matches, files) for v in variants]
    there = {(c["variant"], c["seed"]): c for c in manifest["cells"]}
    cells = [there.get((c["variant"], c["seed"]), c) for c in _cells(variants, joined)]
    return manifest | {"configuration": joined, "variants": records, "cells": cells}


def _variant_record(
    variant: Variant,
    config: ExperimentConfig,
    matches: Mapping[str, Matched],
    files: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """What the manifest says of a variant; `config` knows the vocabulary."""
    own = variant.configure(config)
    match = matches.get(variant.text)
    return {
        "text": variant.text,
        "slug": variant.slug,
        "description": describe_text(variant),
        "axes": describe_axes(variant.integrator),
        "parameters": parameter_count(variant.integrator, own.model),
        "flops_per_token_forward": forward_flops(variant.integrator, own.model),
        "integrator_parameters": count_own_parameters(variant.integrator, own.model),
        "sub_updates": own.model.layers * len(variant.integrator.splitting.kinds),
        "peak_rate": None if is_swept(variant, config) else own.training.peak_rate,
        "own": dict(variant.own) or None,
        "match": None if match is None else dc.asdict(match),
        "file": files.get(variant.text),
    }


def _cells(variants: Sequence[Variant], config: ExperimentConfig) -> list[dict[str, Any]]:
    return [
        dc.asdict(CellRecord(variant=v.text, slug=v.slug, seed=seed))
        for seed in config.seeds
        for v in variants
    ]


def configuration_of(manifest: Mapping[str, Any]) -> ExperimentConfig:
    """Return the configuration that a manifest, written or about to be, holds."""
    found = manifest["configuration"]
    return found if isinstance(found, ExperimentConfig) else config_from_dict(found)


def with_vocabulary(config: ExperimentConfig, corpus: Corpus) -> ExperimentConfig:
    """Return the configuration with a model of the corpus's vocabulary."""
    return dc.replace(config, model=dc.replace(config.model, vocabulary=corpus.vocabulary.size))


def _say_matches(
    matches: Mapping[str, Matched], config: ExperimentConfig, notify: Callable[[str], None]
) -> None:
    what = "parameters" if config.match == "params" else "FLOPs a token"
    for variant, match in matches.items():
        off = 100 * (match.size / match.wanted - 1)
        notify(
            f"{variant} has {match.wanted:,} {what}: matched by {match.text}, "
            f"{match.size:,} ({off:+.1f} %)"
        )
