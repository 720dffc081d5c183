import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from cordwood.cli.main import main
from cordwood.compare.config.plan import load_plan, parse_plan
from cordwood.compare.runner import cluster
from cordwood.compare.runner import run as runner
from cordwood.compare.runner.dataset_cache import load, put_away
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.runner.trials import list_trials
from cordwood.exceptions import CordwoodError

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
dask = pytest.importorskip("dask")  # which distributed needs, and the next as well
psutil = pytest.importorskip("psutil")

PLAN = """
[evaluation]
folds = 2
[tuning]
folds = 2
[text]
preset = "social"
[[datasets]]
path = "letters.csv"
[[datasets]]
name = "sklearn:iris"
[[learners]]
recipe = "nb"
[[learners]]
recipe = "svm"
grid = { C = [0.1, 1.0] }
[[learners]]
name = "slow"
recipe = "svm"
params = { C = 0.3 }
"""
N_UNITS = 12

# Every worker loads this before it starts. It notes all rows that reach the worker in whatever way
# and all units that it begins, and dawdles or dies over some of them.
PRELOAD = """
import os, time
from cordwood.compare.runner import cluster
from cordwood.datasets.corpus import Rows

carry_out = cluster.carry_out

def note(what):
    with open(f"{os.getpid()}.notes", "a") as file:
        print(what, file=file)

def receive(rows, state):
    note("rows")
    rows.__dict__.update(state)

def carry_out_noted(unit, *args):
    note("unit")
    if unit.learner == "slow":
        time.sleep(0.5)
    if unit.learner == "deadly":
        os._exit(1)
    return carry_out(unit, *args)

def dask_setup(worker):
    cluster.carry_out = carry_out_noted
    Rows.__setstate__ = receive
"""

CLIENT = """
import sys
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.config.plan import load_plan
from cordwood.compare.runner.run import run
plan, ledger, address = sys.argv[1:]
tell = lambda record: print(record["key"], flush=True)
run(load_plan(plan), Ledger(ledger), cluster=address, on_record=tell)
"""


class Machines:
    """A scheduler and workers on loopback, each a process of its own."""

    def __init__(self, folder, stack):
        self._folder, self._stack = folder, stack
        (folder / "preload.py").write_text(PRELOAD)
        told = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", told)
        deadline = time.monotonic() + 120
        while not told.exists():
            assert time.monotonic() < deadline and self.scheduler.poll() is None, self._log()
            time.sleep(0.05)
        self.address = json.loads(told.read_text())["address"]
        self.client = stack.enter_context(distributed.Client(self.address, set_as_default=False))

    def staff(self, n_workers):
        """Start or kill workers until there are as many as this; give their processes."""
        while len(self.client.nthreads()) > n_workers:
            self.kill(next(iter(self.client.nthreads())))
        for number in range(len(self.client.nthreads()), n_workers):
            # One of them with threads to spare.
            threads = ["--nthreads", "4" if number == 0 else "1"]
            preload = ["--preload", self._folder / "preload.py"]
            self._start("worker", self.address, "--no-nanny", *threads, *preload)
        if n_workers:
            self.client.wait_for_workers(n_workers, timeout=120)
        return self.processes()

    def processes(self):
        """Give the number of each worker's process, by its address."""
        return self.client.run(os.getpid)

    def kill(self, worker):
        psutil.Process(self.processes()[worker]).kill()
        while worker in self.client.nthreads():
            time.sleep(0.01)

    def dismiss(self, _=None):
        """Kill the scheduler."""
        self.scheduler.kill()
        self.scheduler.wait()

    def notes(self, process):
        path = self._folder / f"{process}.notes"
        return Counter(path.read_text().split() if path.exists() else ())

    def _start(self, role, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments]
        command += ["--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        log = self._stack.enter_context(open(self._folder / f"{role}.log", "a"))
        environment = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(self._folder)}
        process = subprocess.Popen(
            command, cwd=self._folder, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def _log(self):
        return (self._folder / "scheduler.log").read_text()


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with ExitStack() as stack:
        yield Machines(tmp_path_factory.mktemp("machines"), stack)


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory):
    rng = random.Random(0)
    lines = ["text,label"]
    for label in rng.choices("xy", k=60):
        words = rng.choices("abcdef" if label == "x" else "defghi", k=8)
        lines.append(f"{' '.join(2 * word for word in words)},{label}")
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    path.with_name("letters.csv").write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def plan(plan_file):
    return load_plan(plan_file)


@pytest.fixture(scope="module")
def expected(plan, tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("here") / "here.jsonl")
    summary = run(plan, ledger, n_jobs=1)
    assert (summary.n_done, summary.n_failed) == (N_UNITS, 0)
    return results(ledger)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "there.jsonl")


def results(ledger):
    """Give all of a ledger that must come out the same everywhere: all but times and memory."""
    return {
        record["key"]: (
            {
                name: value
                for name, value in record.items()
                if not name.endswith("_seconds") and name not in ("time", "peak_memory")
            },
            {
                name: (array.dtype.str, array.shape, array.tobytes())
                for name, array in ledger.read_predictions(record["key"]).items()
            },
        )
        for record in ledger.records()
    }


def test_a_worker_killed_half_way_changes_nothing(machines, ledger, plan, expected):
    processes = machines.staff(2)
    killed = {}

    def kill_one_that_is_at_work(record):
        busy = {worker: keys for worker, keys in machines.client.processing().items() if keys}
        if busy and not killed:
            killed.update(busy)
            machines.kill(next(iter(busy)))

    summary = run(plan, ledger, cluster=machines.address, on_record=kill_one_that_is_at_work)
    assert killed and len(machines.client.nthreads()) == 1
    assert (summary.n_done, summary.n_failed, summary.n_missing) == (N_UNITS, 0, 0)
    assert len(ledger.records()) == N_UNITS and results(ledger) == expected
    notes = sum((machines.notes(process) for process in processes.values()), Counter())
    assert notes["trial"] == N_UNITS + 1  # that which was lost was done again


def test_other_versions_are_told_before_anything_runs(machines, ledger, plan, monkeypatch):
    machines.staff(1)
    ours = runner._versions("svm")
    for library, told in (("numpy", "0.1"), ("python", "2.7.18"), ("nonesuch", "1.0")):
        monkeypatch.setattr(runner, "_versions", lambda _, fake={library: told}: {**ours, **fake})
        has = ours.get(library, "none")
        sentence = f"this process has {library} {told}, and worker tcp://[^ ]* has {has}; install"
        with pytest.raises(CordwoodError, match=sentence):
            run(plan, ledger, cluster=machines.address)
    assert not ledger.path.exists()


def test_a_scheduler_without_cordwood_is_told(machines, ledger, plan, monkeypatch):
    monkeypatch.setattr(cluster, "__name__", "cordwood.nonesuch")
    with pytest.raises(CordwoodError, match="scheduler at .* cannot import cordwood .*nonesuch"):
        run(plan, ledger, cluster=machines.address)


def test_the_command_takes_a_cluster(machines, ledger, plan_file, capsys):
    machines.staff(1)
    command = ["compare", str(plan_file), "--ledger", str(ledger.path), "--cluster"]
    assert main([*command, machines.address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done_now"] == N_UNITS
    assert main([*command, "somewhere"]) == 1
    assert capsys.readouterr().err.startswith("cordwood: cluster 'somewhere' is not an address")


def test_data_that_a_worker_no_longer_has_are_sent_again(machines, ledger, plan, expected):
    machines.staff(1)

    def forget(record):
        if len(ledger.records()) == 1:
            machines.client.run(put_away)

    (process,) = machines.processes().values()
    before = machines.notes(process)
    run(plan, ledger, cluster=machines.address, on_record=forget)
    assert results(ledger) == expected
    assert machines.notes(process) - before == {"rows": 3, "trial": N_UNITS}


def test_no_more_units_are_claimed_than_there_are_workers(machines, ledger, plan, expected):
    """So that other runners on the same ledger find something to do."""
    machines.staff(2)
    other = Ledger(ledger.path)
    claimed = []

    def count_claims(record):
        claims = [other.claim(key, known=1) for key in expected]
        claimed.append(claims.count(None))
        for claim in filter(None, claims):
            claim.release()

    run(plan, ledger, cluster=machines.address, on_record=count_claims)
    # Whoever has just done one has not been given the next.
    assert len(claimed) == N_UNITS and max(claimed) == 1


def test_data_go_to_a_worker_once_also_if_it_comes_later(machines, ledger, plan, expected):
    machines.staff(1)

    def hire(record):
        machines.staff(2)

    before = {process: machines.notes(process) for process in machines.processes().values()}
    run(plan, ledger, cluster=machines.address, on_record=hire)
    assert results(ledger) == expected
    notes = [
        machines.notes(process) - before.get(process, Counter())
        for process in machines.processes().values()
    ]
    assert len(notes) == 2 and all(0 < note["rows"] <= 2 for note in notes)
    assert sum(note["trial"] for note in notes) == N_UNITS


def test_a_client_that_was_killed_goes_on_where_it_was(machines, ledger, plan, plan_file, expected):
    machines.staff(2)
    command = [sys.executable, "-c", CLIENT, plan_file, ledger.path, machines.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout.readline()
        client.kill()
    n_before = len(ledger.records())
    summary = run(plan, ledger, cluster=machines.address)
    assert 0 < n_before < N_UNITS and summary.n_done == N_UNITS - n_before
    assert len(ledger.records()) == N_UNITS and results(ledger) == expected


def test_a_unit_that_workers_die_of_is_a_failure_and_the_others_are_done(
    machines, ledger, monkeypatch
):
    monkeypatch.setattr(cluster, "_MOST_LOSSES", 2)
    machines.staff(3)
    plan = parse_plan(
        {
            "datasets": [{"name": "sklearn:iris"}],
            "evaluation": {"kind": "holdout"},
            "learners": [{"recipe": "svm", "name": "deadly"}, {"recipe": "nb"}],
        }
    )
    summary = run(plan, ledger, cluster=machines.address)
    assert (summary.n_done, summary.n_failed, summary.n_missing) == (2, 1, 0)
    deadly, other = summary.records
    assert deadly["error"].startswith("2 workers were lost while they did this unit")
    assert "scores" in other and len(machines.client.nthreads()) == 1


def test_without_workers_it_says_so_and_keeps_what_is_finished(machines, ledger, plan, monkeypatch):
    machines.staff(1)
    monkeypatch.setattr(cluster, "_PATIENCE", 0.0)
    with pytest.raises(CordwoodError, match="has no workers; start some, each with: dask worker"):
        run(plan, ledger, cluster=machines.address, on_record=lambda record: machines.staff(0))
    assert len(ledger.records()) == 1
    # And also from the start.
    with pytest.raises(CordwoodError, match="has no workers"):
        run(plan, ledger, cluster=machines.address)
    # No claim is left behind.
    assert run(plan, ledger).n_done == N_UNITS - 1


def test_a_scheduler_that_is_lost_ends_the_run(tmp_path, ledger, plan):
    with ExitStack() as stack:
        machines = Machines(tmp_path, stack)
        machines.staff(1)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
            pytest.raises(CordwoodError, match="was lost; what was finished is in the ledger"),
        ):
            run(plan, ledger, cluster=machines.address, on_record=machines.dismiss)
        assert len(ledger.records()) == 1


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("tcp://127.0.0.1:1", "there is no Dask scheduler at tcp://127.0.0.1:1"),
        ("tcp://no-such-host.invalid:8786", "there is no Dask scheduler at tcp://no-such-host"),
        ("somewhere", "cluster 'somewhere' is not an address .* such as tcp://host:8786"),
        ("http://127.0.0.1:8786", "cluster 'http://127.0.0.1:8786' is not an address"),
    ],
)
def test_addresses_without_a_scheduler(address, sentence, ledger, plan, monkeypatch):
    monkeypatch.setattr(cluster, "_KNOCKING", 0.5)
    with pytest.raises(CordwoodError, match=sentence) as caught:
        run(plan, ledger, cluster=address)
    assert "\n" not in str(caught.value)


def test_jobs_and_a_cluster_exclude_each_other(ledger, plan):
    with pytest.raises(CordwoodError, match="n_jobs / --jobs is 2, .* leave one of them out"):
        run(plan, ledger, n_jobs=2, cluster="tcp://127.0.0.1:1")


def test_a_missing_package_is_named_with_its_install_line(ledger, plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CordwoodError, match=r'pip install "cordwood\[cluster\]"'):
        run(plan, ledger, cluster="tcp://127.0.0.1:1")


def test_threads_of_a_worker_take_turns(plan, monkeypatch):
    """Else they would measure each other's processor time, and catch each other's warnings."""
    material = load(plan.datasets[0], plan, None)
    at_work, most = [], []

    def carry_out(trial, *_):
        at_work.append(trial)
        most.append(len(at_work))
        time.sleep(0.01)
        at_work.remove(trial)

    monkeypatch.setattr(cluster, "carry_out", carry_out)
    threads = [
        threading.Thread(target=cluster._carry_out, args=(trial, 0, material.name))
        for trial in list_trials(plan)[:4]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


def test_a_client_that_trips_while_it_closes_hides_nothing(tmp_path, ledger, plan, monkeypatch):
    closed = []

    class Client(distributed.Client):
        def close(self, *arguments):
            super().close(*arguments)
            closed.append(self)
            if len(closed) == 2:  # the first one only looks whether the scheduler is there
                raise RuntimeError("Cannot change state of expiring Timeout")

    with ExitStack() as stack:
        machines = Machines(tmp_path, stack)
        machines.staff(1)
        monkeypatch.setattr(distributed, "Client", Client)
        run(plan, ledger, cluster=machines.address)
    assert len(closed) == 2
    assert len(ledger.records()) == len(list_trials(plan))
