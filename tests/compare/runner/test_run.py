import itertools
import json
import platform
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque

import numpy as np
import pytest

from cordwood.compare.config.plan import load_plan, parse_plan
from cordwood.compare.runner import dataset_cache
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect, run
from cordwood.exceptions import DataError
from ledger_files import read_predictions

needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")

PLAN = """
seed = 7
[evaluation]
kind = "repeated"
folds = 3
repeats = 6
[tuning]
folds = 2
[vectorizer]
preset = "social"
[[datasets]]
path = "letters.csv"
[[learners]]
recipe = "svm"
grid = { C = [0.1, 1.0] }
[[learners]]
recipe = "nb"
"""
N_TRIALS = 36

RUNNER = """
import sys
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.config.plan import load_plan
from cordwood.compare.runner.run import run
plan, ledger = load_plan(sys.argv[1]), Ledger(sys.argv[2])
print("ready", flush=True)
input()
summary = run(plan, ledger, on_record=lambda record: print(record["key"], flush=True))
print(summary.n_done, summary.n_missing, len(summary.records), flush=True)
"""


def write_csv(path, n=120, seed=0):
    """Write noisy documents of two classes in random order."""
    rng = random.Random(seed)
    lines = ["text,label,group"]
    for number in range(n):
        label = rng.choice("xy")
        words = rng.choices("abcdef" if label == "x" else "defghi", k=8)
        lines.append(f"{' '.join(2 * word for word in words)},{label},g{number // 4}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path):
    write_csv(tmp_path / "letters.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def make_plan(folder, *learners, **tables):
    content = {
        "datasets": [{"path": "letters.csv"}],
        "evaluation": {"folds": 3},
        "vectorizer": {"preset": "social"},
        "learners": [{"recipe": name} if isinstance(name, str) else name for name in learners],
        **tables,
    }
    return parse_plan(content, folder=folder)


def start(folder, ledger):
    """Start a process that imports its modules and waits for `go`."""
    command = [sys.executable, "-c", RUNNER, folder / "plan.toml", ledger.path]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)


def go(runner):
    assert runner.stdout.readline() == "ready\n"
    runner.stdin.write("\n")
    runner.stdin.flush()


def results(ledger):
    """Return the deterministic part of a ledger."""
    fields = ("trial", "scores", "params", "tuning_score", "n_train", "n_test", "data", "plan")
    return {
        record["key"]: (
            {name: record[name] for name in fields},
            {
                name: (array.dtype.str, array.shape, array.tobytes())
                for name, array in read_predictions(ledger, record["key"]).items()
            },
        )
        for record in ledger.records()
    }


def files(ledger):
    folder = ledger.path.parent / f"{ledger.path.stem}.predictions"
    return sorted(path.name for path in folder.iterdir())


@needs_kill
def test_run_killed_and_resumed_ten_times_equals_an_uninterrupted_one(folder):
    whole = Ledger(folder / "whole.jsonl")
    summary = run(load_plan(folder / "plan.toml"), whole)
    assert (summary.n_done, summary.n_failed, len(whole.records())) == (N_TRIALS, 0, N_TRIALS)

    rng = random.Random(0)
    killed = Ledger(folder / "killed.jsonl")
    # Importing takes longest, so two processes are always starting.
    runners = deque(start(folder, killed) for _ in range(2))
    n_records = []
    for n_records_before_kill in itertools.islice(itertools.cycle([0, 2, 1]), 10):
        runner = runners.popleft()
        go(runner)
        for _ in range(n_records_before_kill):
            runner.stdout.readline()
        time.sleep(rng.uniform(0, 0.04))
        runner.kill()
        runner.communicate()
        n_records.append(len(killed.records()))
        runners.append(start(folder, killed))
    assert 9 <= n_records[-1] < N_TRIALS and n_records == sorted(n_records)

    # Two processes run the remaining trials; one of them is killed after its first.
    for runner in runners:
        go(runner)
    runners[0].stdout.readline()
    runners[0].kill()
    runners[0].communicate()
    _, last = read_output(runners[1])
    assert last[1:] == ["0", str(N_TRIALS)]
    assert set(Counter(record["key"] for record in killed.records()).values()) == {1}
    assert results(killed) == results(whole)
    assert files(killed) == files(whole)


def test_concurrent_runs_run_each_trial_once(folder):
    ledger = Ledger(folder / "both.jsonl")
    runners = [start(folder, ledger) for _ in range(2)]
    for runner in runners:
        go(runner)
    (keys, last), (other_keys, other_last) = map(read_output, runners)
    assert last[1:] == other_last[1:] == ["0", str(N_TRIALS)]
    assert [int(last[0]), int(other_last[0])] == [len(keys), len(other_keys)]
    assert sorted(keys + other_keys) == sorted(record["key"] for record in ledger.records())
    assert len({*keys, *other_keys}) == N_TRIALS


def read_output(runner):
    """Return the keys that a process has written, and the numbers in its last line."""
    *keys, last = runner.communicate()[0].splitlines()
    return keys, last.split()


def test_n_jobs_does_not_change_results(folder):
    plan = make_plan(folder, "svm", "rf", {"recipe": "nb", "params": {"alpha": 0.5}})
    one, two = Ledger(folder / "one.jsonl"), Ledger(folder / "two.jsonl")
    calls = []
    run(plan, one)
    summary = run(plan, two, n_jobs=2, progress=lambda *call: calls.append(call))
    assert (summary.n_done, summary.n_failed) == (9, 0)
    assert results(two) == results(one)
    assert calls == [(n, 9) for n in range(10)]
    # Nor does the n_jobs of a learner.
    parallel = make_plan(folder, {"recipe": "rf", "params": {"n_jobs": 2}})
    assert run(parallel, one).n_done == 0


def test_finished_plan_is_not_run_again(folder):
    plan, ledger = make_plan(folder, "svm", "nb"), Ledger(folder / "results.jsonl")
    assert collect(plan, ledger).n_missing == 6
    seen = []
    first = run(plan, ledger, on_record=seen.append)
    assert (first.n_trials, first.n_done, first.n_missing, first.n_foreign) == (6, 6, 0, 0)
    assert seen == ledger.records() == list(first.records)
    calls = []
    again = run(plan, ledger, progress=lambda *call: calls.append(call), on_record=seen.append)
    assert again.n_done == 0 and again.records == first.records and len(seen) == 6
    assert calls == [(6, 6)]
    assert [key for key, _ in again.planned] == [record["key"] for record in again.records]


def test_changed_parameters_add_trials_and_changed_names_do_not(folder):
    ledger = Ledger(folder / "results.jsonl")
    run(make_plan(folder, "svm", "nb"), ledger)
    renamed = make_plan(folder, {"recipe": "nb", "name": "Bayes"}, {"recipe": "svm", "name": "S"})
    summary = run(renamed, ledger)
    assert (summary.n_done, summary.n_foreign) == (0, 0)
    assert [record["trial"]["learner"] for record in summary.records] == ["Bayes", "S"] * 3
    changed = make_plan(folder, {"recipe": "svm", "params": {"C": 2.0}}, "nb")
    assert collect(changed, ledger).n_missing == 3
    summary = run(changed, ledger)
    assert (summary.n_trials, summary.n_done, summary.n_foreign) == (6, 3, 3)
    assert collect(changed, ledger).records == summary.records
    assert len(ledger.records()) == 9


def test_records_of_changed_data_are_not_mixed(folder):
    plan, ledger = make_plan(folder, "nb"), Ledger(folder / "results.jsonl")
    before = run(plan, ledger)
    write_csv(folder / "letters.csv", seed=1)
    after = run(plan, ledger)
    assert (after.n_done, after.n_foreign) == (3, 3)
    assert not {r["key"] for r in before.records} & {r["key"] for r in after.records}
    assert {record["data"] for record in after.records} != {r["data"] for r in before.records}
    assert collect(plan, ledger).records == after.records


def test_data_that_change_during_the_run_raise(folder):
    plan = make_plan(folder, "nb")
    known = dataset_cache.load(plan.datasets[0], plan, None).fingerprint
    write_csv(folder / "letters.csv", seed=1)
    # The cached data set is unchanged.
    assert dataset_cache.get_or_load(plan.datasets[0], plan, None, known).fingerprint == known
    dataset_cache.clear()
    with pytest.raises(DataError, match="'letters' has changed since the start of the run"):
        dataset_cache.get_or_load(plan.datasets[0], plan, None, known)


def test_data_that_cannot_be_split_raise_before_any_trial(folder):
    write_csv(folder / "good.csv", seed=1)
    datasets = [{"path": "good.csv"}, {"path": "letters.csv"}]
    (folder / "letters.csv").write_text("text,label\none,x\ntwo,y\n")
    plan, ledger = make_plan(folder, "nb", datasets=datasets), Ledger(folder / "results.jsonl")
    with pytest.raises(DataError, match="data set 'letters': 2 samples cannot be split into 3"):
        run(plan, ledger)
    assert not ledger.path.exists()


def test_failed_trials_are_recorded_and_retried_on_request(folder):
    bad = {"recipe": "svm", "params": {"C": -1.0}}
    plan, ledger = make_plan(folder, bad, "nb"), Ledger(folder / "results.jsonl")
    summary = run(plan, ledger)
    assert (summary.n_done, summary.n_failed, summary.n_missing) == (6, 3, 0)
    failed = [record for record in summary.records if "error" in record]
    assert {record["trial"]["learner"] for record in failed} == {"svm"}
    for record in failed:
        assert "C" in record["error"] and "\n" not in record["error"]
        assert "scores" not in record
    assert len(files(ledger)) == 3
    assert run(plan, ledger).n_done == 0
    again = run(plan, ledger, retry_errors=True)
    assert (again.n_done, again.n_failed, again.n_foreign) == (3, 3, 0)
    assert len(ledger.records()) == 9 and len(again.records) == 6


def test_successful_retry_replaces_the_failure(folder):
    plan, ledger = make_plan(folder, "nb"), Ledger(folder / "results.jsonl")
    (first, trial), *_ = run(plan, Ledger(folder / "other.jsonl")).planned
    data = dataset_cache.load(plan.datasets[0], plan, None).fingerprint
    ledger.append({"key": first, "trial": trial, "data": data, "error": "MemoryError: "})
    assert run(plan, ledger).n_failed == 1
    summary = run(plan, ledger, retry_errors=True)
    assert (summary.n_done, summary.n_failed) == (1, 0)
    assert "error" not in summary.records[0] and len(ledger.records()) == 4


def test_record_is_complete_and_does_not_identify_the_computer(folder):
    learner = {"recipe": "svm", "grid": {"C": [0.1, 1.0]}}
    plan, ledger = make_plan(folder, learner, tuning={"folds": 2}), Ledger(folder / "results.jsonl")
    record = run(plan, ledger).records[0]
    assert record["trial"]["grid"] == {"classifier__C": [0.1, 1.0]}
    assert record["params"]["classifier__C"] in (0.1, 1.0) and 0 < record["tuning_score"] <= 1
    assert record["plan"] == plan.fingerprint()
    assert (record["n_train"], record["n_test"]) == (80, 40)
    for part in ("tune", "fit", "predict"):
        assert record[f"{part}_wall_seconds"] > 0 and record[f"{part}_cpu_seconds"] >= 0
    assert record["versions"]["numpy"] == np.__version__
    assert record["time"].endswith("+00:00")
    assert record["warnings"] == []
    if sys.platform == "linux":
        assert 10**7 < record["peak_memory"] < 10**10
    text = ledger.path.read_text()
    assert str(folder) not in text and json.dumps(platform.node()) not in text


def test_training_fractions(folder):
    plan = make_plan(folder, "nb", evaluation={"folds": 3, "train_fractions": [0.25, 1.0]})
    ledger = Ledger(folder / "results.jsonl")
    records = run(plan, ledger).records
    assert [(r["trial"]["train_fraction"], r["n_train"], r["n_test"]) for r in records[:2]] == [
        (0.25, 20, 40),
        (1.0, 80, 40),
    ]
    small, whole = (read_predictions(ledger, record["key"]) for record in records[:2])
    np.testing.assert_array_equal(small["test_indices"], whole["test_indices"])
    assert (small["proba"] != whole["proba"]).any()


def test_folds_cover_all_samples_once_per_repeat(folder):
    plan = make_plan(folder, "nb", evaluation={"kind": "repeated", "folds": 3, "repeats": 2})
    ledger = Ledger(folder / "results.jsonl")
    indices = {0: [], 1: []}
    for record in run(plan, ledger).records:
        indices[record["trial"]["repeat"]] += read_predictions(ledger, record["key"])[
            "test_indices"
        ].tolist()
    assert sorted(indices[0]) == sorted(indices[1]) == list(range(120))
    assert indices[0] != indices[1]


def test_numeric_data_sets_by_name(tmp_path):
    plan = parse_plan(
        {
            "datasets": [{"name": "sklearn:iris"}, {"name": "sklearn:wine"}],
            "evaluation": {"kind": "holdout"},
            "learners": [{"recipe": "svm"}],
        }
    )
    records = run(plan, Ledger(tmp_path / "results.jsonl")).records
    assert [record["trial"]["dataset"] for record in records] == ["sklearn:iris", "sklearn:wine"]
    assert [record["n_test"] for record in records] == [30, 36]
    assert all(record["scores"]["micro_f1"] > 0.85 for record in records)


def test_zero_n_jobs_raises(folder):
    with pytest.raises(ValueError, match="n_jobs must be None or a non-zero integer; got 0"):
        run(make_plan(folder, "nb"), Ledger(folder / "ledger.jsonl"), n_jobs=0)
