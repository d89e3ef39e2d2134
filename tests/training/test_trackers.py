import json
import math
import pathlib
import sys
import types

import pytest

from velocity_ledger.errors import UserError
from velocity_ledger.training import (
    JsonlTracker,
    NullTracker,
    TensorBoardTracker,
    Tracker,
    WandbTracker,
)


def lines(path: pathlib.Path) -> list[dict[str, float | None]]:
    def no_constant(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    return [json.loads(t, parse_constant=no_constant) for t in path.read_text().splitlines()]


def test_jsonl_is_strict_json(tmp_path: pathlib.Path) -> None:
    tracker = JsonlTracker(tmp_path / "new" / "log.jsonl")
    assert isinstance(tracker, Tracker)
    tracker.start(0)
    tracker.log(1, {"train_loss": math.nan, "rate": 0.5})
    tracker.log(2, {"train_loss": math.inf})
    tracker.finish()
    tracker.finish()
    assert lines(tracker.path) == [
        {"step": 1, "train_loss": None, "rate": 0.5},
        {"step": 2, "train_loss": None},
    ]


def test_jsonl_is_cut_back_to_the_checkpoint(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"step": 1, "train_loss": 3.0}\n{"step": 2, "train_loss": 2.0}\n'
        '{"step": 2, "closing_val_loss": 9.0}\n{"step": 3, "train_loss": 1.0}\n{"step": 1, "tr'
    )
    tracker = JsonlTracker(path)
    tracker.start(2)
    tracker.log(3, {"train_loss": 7.0})
    tracker.flush()
    assert [(e["step"], e.get("train_loss")) for e in lines(path)] == [(1, 3.0), (2, 2.0), (3, 7.0)]
    tracker.finish()
    tracker.start(0)
    tracker.finish()
    assert lines(path) == []


def test_tensorboard_scalars_come_back(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto import event_pb2

    parse = event_pb2.Event.FromString  # pyright: ignore[reportAttributeAccessIssue]

    tracker = TensorBoardTracker(tmp_path)
    assert isinstance(tracker, Tracker)
    tracker.start(0)
    tracker.log(3, {"train_loss": 1.25})
    tracker.flush()
    tracker.finish()
    (file,) = tmp_path.glob("events*")
    content, found = file.read_bytes(), []
    while content:
        length = int.from_bytes(content[:8], "little")
        event = parse(content[12 : 12 + length])
        content = content[16 + length :]
        found += [(event.step, v.tag, v.simple_value) for v in event.summary.value]
    assert found == [(3, "train_loss", 1.25)]


def test_wandb_gets_scalars_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    class Fake:
        def log(self, metrics: dict[str, float], step: int) -> None:
            calls.append((step, metrics))

        def finish(self) -> None:
            calls.append("finish")

    def init(**keywords: object) -> Fake:
        calls.append(keywords)
        return Fake()

    module = types.ModuleType("wandb")
    module.init = init  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "wandb", module)
    tracker = WandbTracker(project="paths", id="ledger-0")
    assert isinstance(tracker, Tracker)
    tracker.start(4)
    tracker.log(5, {"val_loss": 2.0})
    tracker.finish()
    wanted = {"resume": "allow", "project": "paths", "id": "ledger-0"}
    assert calls == [wanted, (5, {"val_loss": 2.0}), "finish"]


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("tensorboardX", lambda: TensorBoardTracker(pathlib.Path("unused"))),
        ("wandb", lambda: WandbTracker()),
    ],
)
def test_a_missing_package_is_named(
    package: str, make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=f"pip install {package}"):
        make()  # pyright: ignore[reportCallIssue]


def test_null_tracker_is_a_tracker() -> None:
    tracker = NullTracker()
    assert isinstance(tracker, Tracker)
    tracker.start(0)
    tracker.log(1, {})
    tracker.flush()
    tracker.finish()
