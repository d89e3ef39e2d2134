"""The command as a process: exit statuses, streams, and what it does not import."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from velocity_ledger.cli import main
from velocity_ledger.errors import UserError


def python(*words, **options):
    environment = {**os.environ, "VELOCITY_LEDGER_NO_REEXEC": "1", **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=environment, **options
    )


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    paths = os.pathsep.join(p for p in sys.path if p)
    monkeypatch.setenv("PYTHONPATH", paths)


def test_a_mistake_of_many_words_is_shown_in_part(capsys):
    assert main(["cite", "x" * 100_000]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert len(line) < 3000
    assert line.startswith("velocity-ledger: error: xxx")


@pytest.mark.parametrize("words", [["--help"], ["compare", "--help"], ["render"], ["--version"]])
def test_words_alone_import_nothing_heavy(words):
    code = f"""
        import sys
        from velocity_ledger.cli import main
        main({words!r})
        heavy = "jax flax numpy xarray pandas matplotlib scipy optax orbax h5py".split()
        print([name for name in heavy if name in sys.modules], file=sys.stderr)
    """
    done = python("-c", textwrap.dedent(code))
    assert done.stderr.splitlines()[-1] == "[]"


def test_help_takes_less_than_half_a_second_of_processor_time():
    code = "import time; from velocity_ledger.cli import main; main(['compare', '--help']); "
    code += "import sys; print(time.process_time(), file=sys.stderr)"
    assert min(float(python("-c", code).stderr) for _ in range(3)) < 0.5


def test_the_environment_is_set_before_jax_is_imported():
    code = """
        import os, sys
        seen = []
        class Spy:
            def find_spec(self, name, path=None, target=None):
                if name == "jax":
                    seen.append(os.environ.get("JAX_PLATFORMS"))
                    seen.append(os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"))
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Spy())
        from velocity_ledger.cli import main
        assert main(["compare", "--device", "cpu", "--preset", "smoke"]) == 130
        print(seen)
    """
    done = python("-c", textwrap.dedent(code), env={"JAX_PLATFORMS": "tpu"})
    assert done.stdout == "['cpu', 'false']\n", done.stderr


def test_a_mistake_is_one_line_and_exit_2():
    done = python("-m", "velocity_ledger", "compare", "--model.width", "wide")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("velocity-ledger: error: ")


def test_a_folder_that_is_no_run_is_one_line_and_exit_2(tmp_path):
    done = python("-m", "velocity_ledger", "render", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "nowhere" in line


def test_a_user_error_inside_a_verb_is_told_the_same_way(monkeypatch, capsys):
    def refuse(options, command):
        raise UserError("no such\nvariant")

    monkeypatch.setattr("velocity_ledger.cli.verbs.Describe.call", refuse)
    assert main(["describe"]) == 2
    assert capsys.readouterr().err == "velocity-ledger: error: no such variant\n"


def test_ctrl_c_before_training_exits_130(monkeypatch, capsys):
    def interrupted(options, command):
        raise KeyboardInterrupt

    monkeypatch.setattr("velocity_ledger.cli.verbs.Describe.call", interrupted)
    assert main(["describe"]) == 130
    assert "Traceback" not in capsys.readouterr().err


_SIGNALLED = """
import os, signal, sys
names, times = {names!r}, {times}

class Spy:
    # Where the module `names` is about to be imported, Ctrl-C is pressed.
    def find_spec(self, name, path=None, target=None):
        if name == names:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Spy())
from velocity_ledger.cli import run
sys.argv = ["velocity-ledger", *{words!r}]
run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    "name", ["tyro", "velocity_ledger.cli.verbs", "numpy", "jax", "jax._src.core", "flax"]
)
def test_ctrl_c_while_importing_is_one_line_and_exit_130(name, times):
    code = _SIGNALLED.format(names=name, times=times, words=["describe", "--device", "cpu"])
    done = python("-c", code)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "velocity-ledger: interrupted\n"


_LATE = """
import atexit, os, signal, sys
from velocity_ledger.cli import _main
press = lambda: os.kill(os.getpid(), signal.SIGINT)
def call(options, command):
    from velocity_ledger.cli import _interrupts
    with _interrupts.raised():
        try:
            press()
        finally:
            print("cleaned", flush=True)
            if {times} == 2:
                press()
_main._call = call
if {times} == 3:
    atexit.register(press)
sys.argv = ["velocity-ledger", "describe"]
_main.run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("times", [1, 2, 3])
def test_ctrl_c_while_drawing_cleans_up_and_a_second_ends_at_once(times):
    done = python("-c", _LATE.format(times=times))
    assert (done.returncode, done.stdout) == (130, "cleaned\n")
    assert done.stderr == "velocity-ledger: interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_between_two_starts_is_not_lost():
    code = """
        import os, signal, sys
        from velocity_ledger.cli import _interrupts, run
        if "AGAIN" not in os.environ:
            with _interrupts.held():
                os.kill(os.getpid(), signal.SIGINT)
                words = [sys.executable, *sys.orig_argv[1:]]
                os.execve(sys.executable, words, {**os.environ, "AGAIN": "1"})
        sys.argv = ["velocity-ledger", "--version"]
        run()
    """
    done = python("-c", textwrap.dedent(code))
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "velocity-ledger: interrupted\n"


def test_a_process_of_somebody_else_keeps_its_own_handler(monkeypatch):
    monkeypatch.setattr("velocity_ledger.cli.verbs.Describe.call", lambda options, command: 0)
    before = signal.getsignal(signal.SIGINT)
    assert main(["describe"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("lines", [1, 100_000])
def test_an_output_that_cannot_be_written_is_one_line_and_exit_2(lines):
    code = f"""
        import sys
        from velocity_ledger.cli import _main
        def call(options, command):
            for k in range({lines}):
                print(k)
            return 0
        _main._call = call
        sys.argv = ["velocity-ledger", "describe"]
        _main.run()
    """
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    told = "velocity-ledger: error: cannot write standard output: No space left on device\n"
    assert done.stderr == told


def test_other_exceptions_are_not_hidden(monkeypatch):
    def broken(options, command):
        raise ZeroDivisionError

    monkeypatch.setattr("velocity_ledger.cli.verbs.Describe.call", broken)
    with pytest.raises(ZeroDivisionError):
        main(["describe"])


def test_a_reader_that_goes_away_is_no_failure():
    code = """
        import sys
        from velocity_ledger.cli import _main
        def call(options, command):
            for k in range(100_000):
                print(k)
            print("came to the end", file=sys.stderr)
            return 0
        _main._call = call
        sys.argv = ["velocity-ledger", "describe"]
        _main.run()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.stderr.read() == "came to the end\n"
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_narrow_encoding_does_not_crash(encoding):
    words = ("-m", "velocity_ledger", "compare", "--help")
    done = python(*words, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "--model.width" in done.stdout


def test_the_article_s_script_is_the_paper_preset():
    script = "scripts/velocity_ledger.py"
    done = python(script, "--help")
    assert done.returncode == 0, done.stderr
    assert "(default: paper)" in done.stdout
    assert "--training.steps INT" in done.stdout and "(default: 12000)" in done.stdout
