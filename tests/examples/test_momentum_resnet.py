"""The momentum ResNet, far smaller than by default: what it says of rings holds in kind."""

import importlib.util
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.example import ROOT, run
from velocity_ledger import PathStatistics, ledger, plain


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resnet")
    files = ["--figure", "flow.png", "--json", "found.json"]
    printed, log = run("momentum_resnet.py", "--quick", *files, cwd=folder)
    found = {row["mu"]: row for row in json.loads((folder / "found.json").read_text())}
    return folder, printed, found, log


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("resnet", ROOT / "examples/momentum_resnet.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_a_velocity_turns_less_and_separates_the_rings(quick):
    _, _, found, _ = quick
    (bare,), (damped,) = found[0.0]["turning_angle"], found[0.9]["turning_angle"]
    assert damped < bare / 2
    assert damped < found[0.9]["null_turning_angle"][0]
    assert found[0.9]["path_length"][0] < found[0.0]["path_length"][0]
    assert found[0.9]["accuracy"][0] > 99
    assert found[0.0]["accuracy"][0] > 95


def test_the_null_of_the_plain_network_has_its_path(quick):
    # Euler's path is the sum of its increments, whichever way they point.
    (row,) = [row for mu, row in quick[2].items() if mu == 0]
    assert row["null_path_length"] == pytest.approx(row["path_length"], rel=1e-4)


def test_it_prints_what_it_measured_and_draws(quick):
    folder, printed, found, _ = quick
    lines = [line.split() for line in printed.splitlines() if line.startswith("rings")]
    assert [float(words[1]) for words in lines] == [0.0, 0.9]
    for words, row in zip(lines, found.values(), strict=True):
        assert float(words[2]) == pytest.approx(row["accuracy"][0], abs=0.006)
        assert float(words[4]) == pytest.approx(row["turning_angle"][0], abs=0.06)
        assert float(words[6]) == pytest.approx(row["path_length"][0], abs=0.006)
    assert (folder / "flow.png").read_bytes().startswith(b"\x89PNG")


def test_one_compilation_serves_every_mu(quick):
    compiled = re.findall(r"Compiling jit\((fit|look)\)", quick[3])
    assert sorted(compiled) == ["fit", "look"]


def test_mu_of_zero_is_the_plain_network(module):
    x, _ = module.points("spirals", 16, seed=3)
    weights = module.initial(jax.random.key(0), 3)

    @jax.jit
    def through(integrator):
        return module.network(weights, x, integrator, PathStatistics())

    both = [through(integrator) for integrator in (plain(h=0.5), ledger(mu=0.0, h=0.5))]
    (logits, path), (same, same_path) = both
    assert jnp.array_equal(logits, same)
    for name in path:
        assert jnp.array_equal(path[name], same_path[name], equal_nan=True)


@pytest.mark.parametrize("task", ["rings", "moons", "spirals"])
def test_points_come_in_equal_classes_and_from_their_seed(module, task):
    x, label = module.points(task, 64, seed=1)
    again, _ = module.points(task, 64, seed=1)
    other, _ = module.points(task, 64, seed=2)
    assert x.shape == (64, 2) and int(label.sum()) == 32
    assert jnp.array_equal(x, again) and not jnp.array_equal(x, other)
    assert np.abs(np.asarray(x)).max() < 2.5
