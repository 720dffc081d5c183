import json
import pickle
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from cordwood._base import cluster, cluster_worker
from cordwood.cli.main import main
from cordwood.compare.config.plan import load_plan, parse_plan
from cordwood.compare.runner import run as runner
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.run import run
from cordwood.exceptions import CordwoodError
from ledger_files import read_predictions
from local_cluster import LocalCluster

distributed = pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")
dask = pytest.importorskip("dask")  # which distributed needs

PLAN = """
[evaluation]
folds = 2
[tuning]
folds = 2
[vectorizer]
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
N_TRIALS = 12

# Preloaded by every worker: logs each data set that the worker unpickles and each trial that it
# starts, and delays or exits in some of them.
PRELOAD = """
import os, time
from cordwood.compare.runner import cluster
from cordwood.datasets.corpus import Dataset

run_trial = cluster.run_trial

def log(event):
    with open(f"{os.getpid()}.events", "a") as file:
        print(event, file=file)

def receive(dataset, state):
    log("dataset")
    dataset.__dict__.update(state)

def run_trial_logged(trial, *args):
    log("trial")
    if trial.learner == "slow":
        time.sleep(0.5)
    if trial.learner == "deadly":
        os._exit(1)
    return run_trial(trial, *args)

def dask_setup(worker):
    cluster.run_trial = run_trial_logged
    Dataset.__setstate__ = receive
"""

CLIENT = """
import sys
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.config.plan import load_plan
from cordwood.compare.runner.run import run
plan, ledger, address = sys.argv[1:]
print_key = lambda record: print(record["key"], flush=True)
run(load_plan(plan), Ledger(ledger), cluster=address, on_record=print_key)
"""


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    with ExitStack() as stack:
        yield LocalCluster(tmp_path_factory.mktemp("workers"), stack, PRELOAD)


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
    assert (summary.n_done, summary.n_failed) == (N_TRIALS, 0)
    return results(ledger)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "there.jsonl")


class Slow:
    def __call__(self):
        self.run()


def results(ledger):
    """Return the deterministic part of a ledger: everything but times and memory."""
    return {
        record["key"]: (
            {
                name: value
                for name, value in record.items()
                if not name.endswith("_seconds") and name not in ("time", "peak_memory")
            },
            {
                name: (array.dtype.str, array.shape, array.tobytes())
                for name, array in read_predictions(ledger, record["key"]).items()
            },
        )
        for record in ledger.records()
    }


def test_killed_worker_does_not_change_results(workers, ledger, plan, expected):
    processes = workers.scale(2)
    killed = {}

    def kill_busy_worker(record):
        busy = {worker: keys for worker, keys in workers.client.processing().items() if keys}
        if busy and not killed:
            killed.update(busy)
            workers.kill(next(iter(busy)))

    summary = run(plan, ledger, cluster=workers.address, on_record=kill_busy_worker)
    assert killed and len(workers.client.nthreads()) == 1
    assert (summary.n_done, summary.n_failed, summary.n_missing) == (N_TRIALS, 0, 0)
    assert len(ledger.records()) == N_TRIALS and results(ledger) == expected
    events = sum((workers.events(process) for process in processes.values()), Counter())
    assert events["trial"] == N_TRIALS + 1  # the lost trial was run again


def test_other_versions_raise_before_any_trial(workers, ledger, plan, monkeypatch):
    workers.scale(1)
    ours = runner._versions("svm", None)
    for library, fake in (("numpy", "0.1"), ("python", "2.7.18"), ("nonesuch", "1.0")):
        monkeypatch.setattr(
            runner, "_versions", lambda *_, other={library: fake}: {**ours, **other}
        )
        has = ours.get(library, "none")
        message = f"this process has {library} {fake}, but worker tcp://[^ ]* has {has}; install"
        with pytest.raises(CordwoodError, match=message):
            run(plan, ledger, cluster=workers.address)
    assert not ledger.path.exists()


def test_scheduler_without_cordwood_raises(workers, ledger, plan, monkeypatch):
    monkeypatch.setattr(cluster, "__name__", "cordwood.nonesuch")
    with pytest.raises(CordwoodError, match="scheduler at .* cannot import cordwood .*nonesuch"):
        run(plan, ledger, cluster=workers.address)


def test_compare_command_runs_on_a_cluster(workers, ledger, plan_file, capsys):
    workers.scale(1)
    command = ["compare", str(plan_file), "--ledger", str(ledger.path), "--cluster"]
    assert main([*command, workers.address, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_done"] == N_TRIALS
    assert main([*command, "somewhere"]) == 1
    assert capsys.readouterr().err.startswith("cordwood: cluster must be the address of")


def test_data_set_that_a_worker_has_lost_is_sent_again(workers, ledger, plan, expected):
    workers.scale(1)

    def clear_caches(record):
        if len(ledger.records()) == 1:
            workers.client.run(lambda: cluster_worker._kept.clear())

    (process,) = workers.processes().values()
    before = workers.events(process)
    run(plan, ledger, cluster=workers.address, on_record=clear_caches)
    assert results(ledger) == expected
    assert workers.events(process) - before == {"dataset": 3, "trial": N_TRIALS}


def test_claims_do_not_exceed_the_number_of_workers(workers, ledger, plan, expected):
    """Other processes on the same ledger can then claim the remaining trials."""
    workers.scale(2)
    other = Ledger(ledger.path)
    claimed = []

    def count_claims(record):
        claims = [other.claim(key, n_known=1) for key in expected]
        claimed.append(claims.count(None))
        for claim in filter(None, claims):
            claim.release()

    run(plan, ledger, cluster=workers.address, on_record=count_claims)
    # The worker that has just finished has not yet received its next trial.
    assert len(claimed) == N_TRIALS and max(claimed) == 1


def test_data_set_is_sent_once_to_a_worker_that_joins_later(workers, ledger, plan, expected):
    workers.scale(1)

    def add_worker(record):
        workers.scale(2)

    before = {process: workers.events(process) for process in workers.processes().values()}
    run(plan, ledger, cluster=workers.address, on_record=add_worker)
    assert results(ledger) == expected
    events = [
        workers.events(process) - before.get(process, Counter())
        for process in workers.processes().values()
    ]
    assert len(events) == 2 and all(0 < counts["dataset"] <= 2 for counts in events)
    assert sum(counts["trial"] for counts in events) == N_TRIALS


def test_killed_client_resumes(workers, ledger, plan, plan_file, expected):
    workers.scale(2)
    command = [sys.executable, "-c", CLIENT, plan_file, ledger.path, workers.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout.readline()
        client.kill()
    n_before = len(ledger.records())
    summary = run(plan, ledger, cluster=workers.address)
    assert 0 < n_before < N_TRIALS and summary.n_done == N_TRIALS - n_before
    assert len(ledger.records()) == N_TRIALS and results(ledger) == expected


def test_trial_that_kills_its_workers_fails_and_others_finish(workers, ledger, monkeypatch):
    monkeypatch.setattr(cluster, "_MAX_WORKER_LOSSES", 2)
    workers.scale(3)
    plan = parse_plan(
        {
            "datasets": [{"name": "sklearn:iris"}],
            "evaluation": {"kind": "holdout"},
            "learners": [{"recipe": "svm", "name": "deadly"}, {"recipe": "nb"}],
        }
    )
    summary = run(plan, ledger, cluster=workers.address)
    assert (summary.n_done, summary.n_failed, summary.n_missing) == (2, 1, 0)
    deadly, other = summary.records
    assert deadly["error"].startswith("2 workers were lost while running this trial")
    assert "scores" in other and len(workers.client.nthreads()) == 1


def test_loss_of_all_workers_raises_and_keeps_finished_trials(workers, ledger, plan, monkeypatch):
    workers.scale(1)
    monkeypatch.setattr(cluster, "_WORKER_TIMEOUT", 0.0)
    with pytest.raises(CordwoodError, match="has no workers; start some, each with: dask worker"):
        run(
            plan,
            ledger,
            cluster=workers.address,
            on_record=lambda record: workers.scale(0),
        )
    assert len(ledger.records()) == 1
    # Also at the start.
    with pytest.raises(CordwoodError, match="has no workers"):
        run(plan, ledger, cluster=workers.address)
    # All claims are released.
    assert run(plan, ledger).n_done == N_TRIALS - 1


def test_lost_scheduler_raises(tmp_path, ledger, plan):
    with ExitStack() as stack:
        workers = LocalCluster(tmp_path, stack, PRELOAD)
        workers.scale(1)
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
            pytest.raises(CordwoodError, match="was lost; finished trials are in the ledger"),
        ):
            run(plan, ledger, cluster=workers.address, on_record=workers.kill_scheduler)
        assert len(ledger.records()) == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "there is no Dask scheduler at tcp://127.0.0.1:1"),
        ("tcp://no-such-host.invalid:8786", "there is no Dask scheduler at tcp://no-such-host"),
        ("somewhere", "such as tcp://host:8786; got 'somewhere'"),
        ("http://127.0.0.1:8786", "got 'http://127.0.0.1:8786'"),
    ],
)
def test_address_without_a_scheduler_raises(address, message, ledger, plan, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT_TIMEOUT", 0.5)
    with pytest.raises(CordwoodError, match=message) as caught:
        run(plan, ledger, cluster=address)
    assert "\n" not in str(caught.value)


def test_n_jobs_and_cluster_are_mutually_exclusive(ledger, plan):
    with pytest.raises(CordwoodError, match="n_jobs / --jobs .2. is .* use one of them"):
        run(plan, ledger, n_jobs=2, cluster="tcp://127.0.0.1:1")


def test_missing_package_raises_with_install_command(ledger, plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(CordwoodError, match=r'pip install "cordwood\[cluster\]"'):
        run(plan, ledger, cluster="tcp://127.0.0.1:1")


def test_threads_of_a_worker_run_one_trial_at_a_time():
    """CPU time and warnings are per process, not per thread."""
    running, max_running = [], []

    def run_slowly():
        running.append(0)
        max_running.append(len(running))
        time.sleep(0.01)
        running.pop()

    payload = pickle.dumps((Slow(), {}))
    Slow.run = staticmethod(run_slowly)
    threads = [
        threading.Thread(target=cluster_worker.run_in_worker, args=("session", payload, []))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max_running == [1] * 4


def test_error_while_closing_the_client_is_ignored(tmp_path, ledger, plan, monkeypatch):
    closed = []

    class Client(distributed.Client):
        def close(self, *arguments):
            super().close(*arguments)
            closed.append(self)
            if len(closed) == 2:  # the first only checks for a scheduler
                raise RuntimeError("Cannot change state of expiring Timeout")

    with ExitStack() as stack:
        workers = LocalCluster(tmp_path, stack, PRELOAD)
        workers.scale(1)
        monkeypatch.setattr(distributed, "Client", Client)
        run(plan, ledger, cluster=workers.address)
    assert len(closed) == 2
    assert len(ledger.records()) == len(list_trials(plan))
