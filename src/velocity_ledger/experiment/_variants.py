"""The variants of a run: text to integrator, folder name, and a user's own file kept by copy."""

import dataclasses as dc
import os
import pathlib
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from velocity_ledger import integrators
from velocity_ledger.errors import UserError
from velocity_ledger.experiment import _own
from velocity_ledger.experiment._config import ExperimentConfig
from velocity_ledger.experiment._files import sha256, write_aside
from velocity_ledger.experiment._manifest import slugs
from velocity_ledger.experiment._wholes import WHOLES
from velocity_ledger.integrators import Composition, Integrator, Reduction

COPIES = "integrators"
_FILE_FORM = re.compile(r"^(?P<path>.+\.py):(?P<rest>[^:]*)$")


@dc.dataclass(frozen=True)
class Variant:
    """An integrator of a run, and what its cells set for themselves."""

    text: str
    """Text form, the same however the user wrote it."""
    slug: str
    integrator: Integrator
    file: pathlib.Path | None
    """The user's own file that it comes from."""
    form: str
    """The text form of the integrator alone."""
    own: Mapping[str, Any] = dc.field(default_factory=dict)
    """Settings that differ from the run's, by dotted name."""

    @property
    def name(self) -> str | None:
        """The registered name that its text form begins with, or None for a user's own."""
        name = re.split(r"[(:]", self.form)[0]
        return name if self.file is None and name in integrators.names() else None

    def configure(self, config: ExperimentConfig) -> ExperimentConfig:
        """Return the run's configuration as this variant's cells have it.

        Raises `UserError` where its settings do not go with the run's.
        """
        return _own.configure(config, self.own)


def variants_of(texts: Sequence[str]) -> list[Variant]:
    """Read the text forms of a run.

    Raises `UserError` where one cannot be read, or two are the same variant.
    """
    parts = [_own.split(text) for text in texts]
    read = [integrators.parse(form) for form, _ in parts]
    owns = [own for _, own in parts]
    forms = [integrators.text(integrator) for integrator in read]
    canonical = [_own.join(form, own) for form, own in zip(forms, owns, strict=True)]
    for i, text in enumerate(canonical):
        if text in canonical[:i]:
            first = texts[canonical.index(text)]
            raise UserError(f"{first!r} and {texts[i]!r} are the same variant: leave one out")
    return [
        Variant(text, slug, integrator, integrators.source_of(integrator), form, own)
        for text, slug, integrator, form, own in zip(
            canonical, slugs(canonical), read, forms, owns, strict=True
        )
    ]


def as_recorded(variants: Sequence[Variant], records: Sequence[Mapping[str, Any]]) -> list[Variant]:
    """Return the variants with the settings that a manifest's records hold for them."""
    known = {record["text"]: record for record in records}
    return [
        dc.replace(v, own=_own.recorded(known[v.text])) if v.text in known else v for v in variants
    ]


def describe_axes(integrator: Integrator) -> dict[str, str]:
    """Return what an integrator is made of, as texts."""
    if isinstance(integrator, Composition):
        return {
            f.name: repr(getattr(integrator, f.name))
            for f in dc.fields(integrator)  # pyright: ignore[reportArgumentType]
        }
    return {"integrator": repr(integrator)}


def named_variants() -> tuple[str, ...]:
    """Return every name that a variant can go by: registered integrators, then whole networks."""
    return (*integrators.names(), *WHOLES)


def describe_text(variant: Variant) -> str:
    """Return the sentence that describes a variant: the registry's, or its class's own."""
    whole = _own.whole_of(variant.text)
    if whole is not None:
        return WHOLES[whole].summary
    if variant.name is not None:
        return integrators.summary(variant.name)
    return (type(variant.integrator).__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def sources_of(variant: Variant) -> tuple[str, ...]:
    """Return the BibTeX entries of the papers that a variant comes from; none for a user's own."""
    return () if variant.name is None else integrators.sources(variant.name)


def sources_of_text(text: str) -> tuple[str, ...]:
    """Return the same by a variant's text form alone, whatever became of a user's own file.

    A whole network's papers are those of its integrator.
    """
    try:
        form, _ = _own.split(text)
    except UserError:  # of another version, or imported
        form = text
    name = form.partition("(")[0].strip()
    return integrators.sources(name) if name in integrators.names() else ()


def reductions_of(variant: Variant) -> tuple[Reduction, ...]:
    """Return what a variant says that it equals at the edge of its arguments."""
    named = () if variant.name is None else integrators.reductions(variant.name)
    return tuple(dict.fromkeys((*named, *variant.integrator.reductions)))


def keep_files(bundle: pathlib.Path, variants: Sequence[Variant]) -> dict[str, dict[str, str]]:
    """Copy the users' own files into the bundle; return per variant what the manifest holds."""
    kept: dict[str, dict[str, str]] = {}
    names: dict[pathlib.Path, str] = {}
    for variant in variants:
        file = variant.file
        if file is None:
            continue
        if file not in names:
            name = slugs([*names.values(), file.name])[-1]
            names[file] = name if name.endswith(".py") else f"{name}.py"
            (bundle / COPIES).mkdir(exist_ok=True)
            target = bundle / COPIES / names[file]
            write_aside(target, lambda aside, file=file: shutil.copyfile(file, aside))
        copy = f"{COPIES}/{names[file]}"
        kept[variant.text] = {"path": str(file), "copy": copy, "sha256": sha256(bundle / copy)}
    return kept


def check_files(
    bundle: pathlib.Path, variants: Sequence[Variant], manifest: Mapping[str, Any]
) -> None:
    """Raise `UserError` where a user's own file, or its copy in the bundle, has changed."""
    recorded = {v["text"]: v.get("file") for v in manifest["variants"]}
    for variant in variants:
        record = recorded.get(variant.text)
        if record is None or variant.file is None:
            continue
        copy = bundle / record["copy"]
        if sha256(variant.file) != record["sha256"]:
            raise UserError(
                f"{variant.file} has changed since {bundle} began: put back the version kept as "
                f"{copy}, or start a new run"
            )


def recorded_integrator(bundle: pathlib.Path, record: Mapping[str, Any]) -> Integrator:
    """Return the integrator of a variant that a manifest records.

    One from a user's own file is read from where it was, if that file is still the same, and
    else from the copy in the bundle. Raises `UserError` where both have changed or are gone.
    """
    file = record.get("file")
    form, _ = _own.split(record["text"])
    if file is None:
        return integrators.parse(form)
    match = _FILE_FORM.match(form)
    if match is None:
        raise UserError(f"the manifest of {bundle} is damaged (variant {record['text']!r})")
    places = (pathlib.Path(file["path"]), bundle / file["copy"])
    for place in places:
        try:
            same = sha256(place) == file["sha256"]
        except OSError:
            continue
        if same:
            return integrators.parse(f"{os.fspath(place)}:{match['rest']}")
    raise UserError(
        f"{places[1]} is not the file that {record['text']} was run with, nor is {places[0]}: "
        "put it back"
    )
