"""Run all trials of a plan that a ledger does not contain yet; ``docs/plans.md`` has its fields."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from cordwood._base.cluster import Cluster, library_versions
from cordwood._base.param_validation import check_jobs
from cordwood.compare.config.external_estimator import find_distributions
from cordwood.compare.config.plan import Plan
from cordwood.compare.runner import dataset_cache
from cordwood.compare.runner.cluster import Job, open_cluster, run_jobs
from cordwood.compare.runner.dataset_cache import DataDir, LoadedDataset
from cordwood.compare.runner.ledger import Claim, Ledger
from cordwood.compare.runner.parent_watch import exit_with_parent
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.record_validation import read_records
from cordwood.compare.runner.run_trial import TrialResult, run_trial
from cordwood.compare.runner.trials import Trial, learner_seed, trial_key
from cordwood.datasets.lines import Progress
from cordwood.exceptions import CordwoodError

_POLL_INTERVAL = 0.2  # seconds between checks for trials that other processes are running

# Libraries of recipes that wrap estimators of other packages.
_EXTRA_LIBRARIES = {"brf": "imbalanced-learn", "lightgbm": "lightgbm", "xgboost": "xgboost"}


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """State of a plan in a ledger."""

    n_trials: int
    n_done: int  # by this call
    n_failed: int  # now or earlier
    n_missing: int  # trials without a record; zero after `run`
    n_foreign: int  # records that do not belong to the plan; they are kept and ignored
    planned: tuple[tuple[str, dict[str, Any]], ...]  # key and JSON of each trial
    records: tuple[dict[str, Any], ...]  # the latest of each trial, with the plan's names


def run(
    plan: Plan,
    ledger: Ledger,
    *,
    data_dir: DataDir = None,
    n_jobs: int = 1,
    cluster: str | None = None,
    retry_errors: bool = False,
    progress: Progress | None = None,
    on_record: Callable[[Mapping[str, Any]], None] | None = None,
) -> RunSummary:
    """Run all trials of a plan that a ledger does not contain yet.

    An interrupted run resumes from the ledger. Several processes may run the same plan on the same
    ledger: each trial is run by one of them, and each process returns when all trials are done.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from cordwood.compare.config.plan import parse_plan
    >>> plan = parse_plan({"datasets": [{"name": "sklearn:iris"}], "learners": [{"recipe": "svm"}]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(Path(folder, "iris.jsonl"))
    ...     [run(plan, ledger).n_done for _ in range(2)]
    [5, 0]
    """
    check_jobs(n_jobs)
    with _open_executor(plan, ledger, data_dir, n_jobs, cluster) as execute:
        fingerprints = {
            dataset.name: dataset_cache.load(dataset, plan, data_dir).fingerprint
            # In reverse, so that the first data set is in the cache when the trials start.
            for dataset in reversed(plan.datasets)
        }
        tasks = _list_tasks(plan, fingerprints, read_records(ledger))
        pending = {
            task.key: task
            for task in tasks
            if task.n_records == 0 or (retry_errors and task.has_failed)
        }
        n_keys = len({task.key for task in tasks})
        n_done = 0
        report = progress or _ignore_progress
        report(n_keys - len(pending), n_keys)
        while pending:
            n_before = len(pending)
            for task, record in execute(list(pending.values())):
                if record is not None:
                    n_done += 1
                    if on_record is not None:
                        on_record(record)
                elif ledger.count(task.key) <= task.n_records:
                    continue  # another process is running it
                del pending[task.key]
                report(n_keys - len(pending), n_keys)
            if len(pending) == n_before:
                time.sleep(_POLL_INTERVAL)
    dataset_cache.clear()
    return _summarize(plan, fingerprints, read_records(ledger), n_done)


def collect(plan: Plan, ledger: Ledger) -> RunSummary:
    """Collect the records of a plan without running trials and without loading data."""
    records = read_records(ledger)
    # Of several versions of a data set, the latest.
    fingerprints = {record["trial"]["dataset"]: record["data"] for record in records}
    return _summarize(plan, fingerprints, records, n_done=0)


class _Task(NamedTuple):
    """A trial on a given version of the data, and its state in the ledger."""

    trial: Trial
    key: str
    data: str  # fingerprint
    n_records: int
    has_failed: bool  # by its last record

    @property
    def seed(self) -> int:
        """Derived from the key, so that a result does not depend on other trials or their order."""
        return learner_seed(self.trial, self.key)


# Yields each task with its record, or with None if another process has claimed or finished it.
_Execute = Callable[[Sequence[_Task]], Iterator[tuple[_Task, dict[str, Any] | None]]]


def _list_tasks(
    plan: Plan, fingerprints: Mapping[str, str], records: Iterable[Mapping[str, Any]]
) -> list[_Task]:
    by_key: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        by_key.setdefault(record["key"], []).append(record)
    tasks = []
    for trial in list_trials(plan):
        data = fingerprints.get(trial.dataset, "")
        key = trial_key(trial, data)
        attempts = by_key.get(key, [])
        has_failed = bool(attempts) and "error" in attempts[-1]
        tasks.append(_Task(trial, key, data, len(attempts), has_failed))
    return tasks


def _summarize(
    plan: Plan,
    fingerprints: Mapping[str, str],
    records: Sequence[dict[str, Any]],
    n_done: int,
) -> RunSummary:
    tasks = _list_tasks(plan, fingerprints, records)
    latest = {record["key"]: record for record in records}
    keys = {task.key for task in tasks}
    return RunSummary(
        n_trials=len(tasks),
        n_done=n_done,
        n_failed=sum(task.has_failed for task in tasks),
        n_missing=sum(task.n_records == 0 for task in tasks),
        n_foreign=sum(record["key"] not in keys for record in records),
        planned=tuple((task.key, task.trial.to_json()) for task in tasks),
        # Names are not part of the key: they may have changed since the record was written.
        records=tuple(
            {**latest[task.key], "trial": task.trial.to_json()} for task in tasks if task.n_records
        ),
    )


@contextmanager
def _open_executor(
    plan: Plan, ledger: Ledger, data_dir: DataDir, n_jobs: int, cluster: str | None
) -> Iterator[_Execute]:
    if cluster is None:
        yield partial(_execute_locally, plan, ledger, data_dir, n_jobs)
        return
    if n_jobs != 1:
        raise CordwoodError(
            f"n_jobs / --jobs ({n_jobs}) is the number of local processes and cannot be combined "
            "with cluster / --cluster; use one of them"
        )
    versions = {
        library: number
        for learner in plan.learners
        for library, number in _versions(learner.recipe, learner.estimator).items()
    }
    with open_cluster(cluster, versions) as workers:
        yield partial(_execute_on_cluster, plan, ledger, data_dir, workers)


def _execute_locally(
    plan: Plan, ledger: Ledger, data_dir: DataDir, n_jobs: int, tasks: Sequence[_Task]
) -> Iterator[tuple[_Task, dict[str, Any] | None]]:
    """Run tasks in this process, or in several local processes."""
    n_jobs = min(effective_n_jobs(n_jobs), len(tasks))
    if n_jobs == 1:
        for task in tasks:
            yield task, _run_task(task, plan, ledger, data_dir)
        return
    dataset_cache.clear()
    workers = Parallel(n_jobs, backend="loky", batch_size=1, return_as="generator_unordered")
    calls = (
        delayed(_run_task_in_worker)(task, plan, ledger.path, data_dir, os.getpid())
        for task in tasks
    )
    try:
        yield from workers(calls)
    except BrokenProcessPool as error:
        raise CordwoodError(
            "a worker process was killed, possibly because the computer ran out of memory; "
            "finished trials are in the ledger: run the plan again, with a smaller n_jobs / --jobs "
            "if necessary"
        ) from error


def _run_task_in_worker(
    task: _Task, plan: Plan, path: Path, data_dir: DataDir, parent: int
) -> tuple[_Task, dict[str, Any] | None]:
    exit_with_parent(parent)
    return task, _run_task(task, plan, _open_ledger(path), data_dir)


# Cached, because a ledger reads only the lines that were added since it was last read.
@lru_cache(maxsize=1)
def _open_ledger(path: Path) -> Ledger:
    return Ledger(path)


def _run_task(task: _Task, plan: Plan, ledger: Ledger, data_dir: DataDir) -> dict[str, Any] | None:
    """Run a trial and write its record; None if another process has claimed or finished it."""
    claim = ledger.claim(task.key, n_known=task.n_records)
    if claim is None:
        return None
    with claim:
        loaded = _get_dataset(task, plan, data_dir)
        result = run_trial(task.trial, loaded.data, loaded.get_split(task.trial), task.seed)
        return _write_record(task, result, plan, ledger)


def _execute_on_cluster(
    plan: Plan, ledger: Ledger, data_dir: DataDir, workers: Cluster, tasks: Sequence[_Task]
) -> Iterator[tuple[_Task, dict[str, Any] | None]]:
    """Run tasks on a cluster; this process claims keys and writes records."""
    claimed: dict[str, tuple[_Task, Claim]] = {}

    def claim_jobs() -> Iterator[Job]:
        for task in tasks:
            claim = ledger.claim(task.key, n_known=task.n_records)
            if claim is not None:
                claimed[task.key] = task, claim
                yield Job(task.key, task.trial, task.seed, _get_dataset(task, plan, data_dir))

    done = set()
    try:
        for key, result in run_jobs(workers, claim_jobs()):
            task, claim = claimed.pop(key)
            with claim:
                record = _write_record(task, result, plan, ledger)
            done.add(key)
            yield task, record
    finally:
        for _, claim in claimed.values():
            claim.release()
    for task in tasks:
        if task.key not in done:
            yield task, None


def _get_dataset(task: _Task, plan: Plan, data_dir: DataDir) -> LoadedDataset:
    dataset = next(dataset for dataset in plan.datasets if dataset.name == task.trial.dataset)
    return dataset_cache.get_or_load(dataset, plan, data_dir, task.data)


def _write_record(task: _Task, result: TrialResult, plan: Plan, ledger: Ledger) -> dict[str, Any]:
    record = {
        "key": task.key,
        "trial": task.trial.to_json(),
        **result.outcome,
        "random_state": task.seed,
        "data": task.data,
        "plan": plan.fingerprint(),
        "versions": _versions(task.trial.recipe, task.trial.estimator),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if result.predictions:
        # Before the record, so that every successful record has predictions.
        ledger.write_predictions(task.key, **result.predictions)
    ledger.append(record)
    return record


@lru_cache
def _versions(recipe: str | None, estimator: str | None) -> dict[str, str]:
    extra = [_EXTRA_LIBRARIES[recipe]] if recipe in _EXTRA_LIBRARIES else []
    external = find_distributions(estimator) if estimator else ()
    return library_versions(*extra, *external)


def _ignore_progress(done: int, total: int | None) -> None:
    """Do nothing."""
