import pytest

from velocity_ledger.training import Progress, RichProgress, SilentProgress


def drive(progress: Progress) -> None:
    progress.start(2, 10)
    progress.busy("compiling")
    progress.update(4, loss=1.25, tokens_per_second=1234.4, seconds_left=3661.0)
    progress.stop()
    progress.stop()


def test_rich_progress_is_silent_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    drive(RichProgress())
    assert capfd.readouterr() == ("", "")


def test_rich_progress_shows_rate_and_time_left_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    drive(RichProgress("ledger/0", force=True))
    out, err = capfd.readouterr()
    assert out == ""
    for text in ("ledger/0", "4/10", "loss 1.250", "1,234 tokens/s", "1:01:01 left"):
        assert text in err


def test_silent_progress_is_a_progress(capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(SilentProgress(), Progress) and isinstance(RichProgress(), Progress)
    drive(SilentProgress())
    assert capfd.readouterr() == ("", "")
