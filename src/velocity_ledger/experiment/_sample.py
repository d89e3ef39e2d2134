"""A passage of text from each cell's best weights, kept beside its measurements."""

import pathlib
from typing import Any

from velocity_ledger.corpus import Corpus
from velocity_ledger.experiment import _json
from velocity_ledger.experiment._cells import SAMPLE
from velocity_ledger.experiment._files import write_aside
from velocity_ledger.model import GPT, generate

_PROMPT, _TEMPERATURE, _SEED = "ROMEO:\n", 0.8, 7


def draw_sample(model: GPT, *, step: int | None, length: int, corpus: Corpus) -> dict[str, Any]:
    """Return how a model goes on from one prompt: `length` characters at temperature .8.

    A function of its weights alone, those of `step`. The prompt is that of the published run, or,
    for an alphabet that lacks it, how the validation text begins.
    """
    vocabulary = corpus.vocabulary
    prompt = _PROMPT
    if not set(prompt) <= set(vocabulary.characters):
        prompt = vocabulary.decode(corpus.val[: len(_PROMPT)])
    drawn = generate(
        model,
        vocabulary.encode(prompt)[None],
        length=length,
        temperature=_TEMPERATURE,
        seed=_SEED,
    )
    return {
        "prompt": prompt,
        "text": vocabulary.decode(drawn[0]),
        "temperature": _TEMPERATURE,
        "top_k": None,
        "seed": _SEED,
        "step": step,
    }


def write_sample(folder: pathlib.Path, record: dict[str, Any]) -> None:
    """Write a cell's sample in one step."""
    text = _json.dumps(record) + "\n"
    write_aside(folder / SAMPLE, lambda aside: aside.write_text(text, encoding="utf-8"))
