"""The runner: all units of a plan that a ledger lacks, carried out once and written down.

A record of the ledger has the fields

- `key`: names the result; `unit`: what was done, as JSON; `data` and `plan`: fingerprints;
- `scores`: `micro_f1` and `macro_f1`, and `f1`, `precision` and `recall` of the unit's category if
  it has one; `params`: those that tuning has chosen, `tuned_by`: "cv", "oob", "loo" or "test", by
  what they were chosen, or null, and `tuning_score`, their score by that, or null; `threshold`, if
  that was chosen as well;
- `n_words`: number of words that rules are about, for learners of rules; `rounds`, if the plan
  wants them: numbers `n` of rounds, and for `train` and `test` the scores after these;
- `fit_cpu_seconds`, `fit_wall_seconds`, and the same of `tune` and `predict`; `peak_memory`: bytes,
  or null where the system cannot tell (see `cordwood.compare.runner.resources`);
- `n_train`, `n_test`: rows; `warnings`: what the learner complained of;
- `versions`: of the libraries; `time`: when it was finished, in UTC;
- `error`: one line, in the place of all results, if the unit failed.

Nothing in it tells the machine. Times are those of one thread, without compilation.
"""

import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from cordwood._param_validation import check_jobs
from cordwood.compare.config.external_estimator import find_distributions
from cordwood.compare.config.plan import Plan
from cordwood.compare.runner.cluster import Cluster, Job
from cordwood.compare.runner.dataset_cache import DataDir, Material, fetch, load, put_away
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.lock import Lock
from cordwood.compare.runner.run_trial import TrialResult, carry_out
from cordwood.compare.runner.trials import Trial, learner_seed, list_trials, trial_key
from cordwood.datasets._lines import Progress
from cordwood.exceptions import CordwoodError

_PAUSE = 0.2  # seconds, before asking again for units that another process has

_LIBRARIES = ("cordwood", "scikit-learn", "numpy", "scipy", "numba")
# The libraries of recipes that are not ours.
_PEERS = {"brf": "imbalanced-learn", "lightgbm": "lightgbm", "xgboost": "xgboost"}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Where a plan stands in a ledger.

    Parameters
    ----------
    n_units : int
        Units of the plan.
    n_done : int
        How many of them this call has carried out.
    n_failed : int
        How many have failed, now or earlier.
    n_missing : int
        How many have no record; none after `run`.
    n_foreign : int
        Records of the ledger that do not belong to the plan: other learners, other parameters,
        other data. They stay, and count for nothing.
    planned : tuple of (str, dict)
        The key and the JSON of each unit, in the order of the plan.
    records : tuple of dict
        The record of each unit that has one, in the same order and under the plan's labels.
    """

    n_trials: int
    n_done: int
    n_failed: int
    n_missing: int
    n_foreign: int
    planned: tuple[tuple[str, dict[str, Any]], ...]
    records: tuple[dict[str, Any], ...]


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
) -> Summary:
    """Carry out all units of a plan that a ledger lacks.

    It may be stopped or killed at any moment: the units that are in the ledger are not done again.
    Several processes may run the same plan on the same ledger; each unit is done by one of them,
    and each returns when all are done.

    Parameters
    ----------
    plan : Plan
        From `cordwood.compare.config.plan`.
    ledger : Ledger
        Where results are looked up and written down.
    data_dir : path, optional
        The data folder; see `cordwood.datasets.registry.list_datasets`.
    n_jobs : int, default=1
        How many units are done at a time, each by a process of its own; -1 for as many as there
        are processors. It does not change results.
    cluster : str, optional
        The address of a Dask scheduler, such as "tcp://host:8786": units are done by its workers,
        one at a time by each. The ledger and the data stay here; workers are sent each data set
        once. Results are the same as without, on processors of the same kind. See
        `cordwood.compare.runner.cluster`.
    retry_errors : bool, default=False
        Whether to try again the units that have failed earlier.
    progress : callable, optional
        Called with how many units have a record, and how many there are.
    on_record : callable, optional
        Called with each record that this call has added.

    Returns
    -------
    Summary

    Raises
    ------
    DataError
        If a data set cannot be loaded or divided as the plan wants, before any unit is done.
    CordwoodError
        If workers are lost that nobody can replace, if the cluster is not there, or if its workers
        have other versions of Python or of libraries than this process.

    Examples
    --------
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
    with _find_workers(plan, ledger, data_dir, n_jobs, cluster) as work:
        fingerprints = {
            dataset.name: load(dataset, plan, data_dir).fingerprint
            # The first comes last, and so is at hand when the units begin.
            for dataset in reversed(plan.datasets)
        }
        tasks = _list_tasks(plan, fingerprints, ledger.records())
        pending = {
            task.key: task
            for task in tasks
            if task.n_earlier == 0 or (retry_errors and task.has_failed)
        }
        n_keys = len({task.key for task in tasks})
        n_done = 0
        report = progress or _ignore
        report(n_keys - len(pending), n_keys)
        while pending:
            n_before = len(pending)
            for task, record in work(list(pending.values())):
                if record is not None:
                    n_done += 1
                    if on_record is not None:
                        on_record(record)
                elif ledger.count(task.key) <= task.n_earlier:
                    continue  # another process has it under way
                del pending[task.key]
                report(n_keys - len(pending), n_keys)
            if len(pending) == n_before:
                time.sleep(_PAUSE)
    put_away()
    return _summarize(plan, fingerprints, ledger.records(), n_done)


def collect(plan: Plan, ledger: Ledger) -> Summary:
    """Find the records of a plan without doing anything, and without its data.

    Parameters
    ----------
    plan : Plan
        From `cordwood.compare.config.plan`.
    ledger : Ledger
        Where results are looked up. Where it has records on several states of a data set, those on
        the state that was written down last count.

    Returns
    -------
    Summary
    """
    records = ledger.records()
    fingerprints = {record["trial"]["dataset"]: record["data"] for record in records}
    return _summarize(plan, fingerprints, records, n_done=0)


class _Task(NamedTuple):
    """A unit on certain data, and what a ledger had of it."""

    trial: Trial
    key: str
    data: str  # fingerprint
    n_earlier: int  # records
    has_failed: bool  # by the last of them

    @property
    def seed(self) -> int:
        """Of the key, so that neither order nor company of a unit has a say in its result."""
        return learner_seed(self.trial, self.key)


# Yields each task with its record, or with None if it was not to be had.
_Work = Callable[[Sequence[_Task]], Iterator[tuple[_Task, dict[str, Any] | None]]]


def _list_tasks(
    plan: Plan, fingerprints: Mapping[str, str], records: Iterable[Mapping[str, Any]]
) -> list[_Task]:
    earlier: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        earlier.setdefault(record["key"], []).append(record)
    tasks = []
    for trial in list_trials(plan):
        data = fingerprints.get(trial.dataset, "")
        name = trial_key(trial, data)
        attempts = earlier.get(name, [])
        has_failed = bool(attempts) and "error" in attempts[-1]
        tasks.append(_Task(trial, name, data, len(attempts), has_failed))
    return tasks


def _summarize(
    plan: Plan,
    fingerprints: Mapping[str, str],
    records: Sequence[dict[str, Any]],
    n_done: int,
) -> Summary:
    tasks = _list_tasks(plan, fingerprints, records)
    latest = {record["key"]: record for record in records}
    keys = {task.key for task in tasks}
    return Summary(
        n_trials=len(tasks),
        n_done=n_done,
        n_failed=sum(task.has_failed for task in tasks),
        n_missing=sum(task.n_earlier == 0 for task in tasks),
        n_foreign=sum(record["key"] not in keys for record in records),
        planned=tuple((task.key, task.trial.to_json()) for task in tasks),
        # Labels may have changed since: they are not part of the key.
        records=tuple(
            {**latest[task.key], "trial": task.trial.to_json()} for task in tasks if task.n_earlier
        ),
    )


@contextmanager
def _find_workers(
    plan: Plan, ledger: Ledger, data_dir: DataDir, n_jobs: int, cluster: str | None
) -> Iterator[_Work]:
    if cluster is None:
        yield partial(_work_here, plan, ledger, data_dir, n_jobs)
        return
    if n_jobs != 1:
        raise CordwoodError(
            f"n_jobs / --jobs is {n_jobs}, which counts processes on this machine, and cannot be "
            "combined with cluster / --cluster, which has workers of its own; leave one of them out"
        )
    versions = {
        k: v for each in plan.learners for k, v in _versions(each.recipe, each.estimator).items()
    }
    with Cluster(cluster, versions) as workers:
        yield partial(_work_there, plan, ledger, data_dir, workers)


def _work_here(
    plan: Plan, ledger: Ledger, data_dir: DataDir, n_jobs: int, tasks: Sequence[_Task]
) -> Iterator[tuple[_Task, dict[str, Any] | None]]:
    """Work in this process, or in several of this machine."""
    n_jobs = min(effective_n_jobs(n_jobs), len(tasks))
    if n_jobs == 1:
        for task in tasks:
            yield task, _attempt(task, plan, ledger, data_dir)
        return
    put_away()
    workers = Parallel(n_jobs, backend="loky", batch_size=1, return_as="generator_unordered")
    calls = (delayed(_attempt_elsewhere)(task, plan, ledger.path, data_dir) for task in tasks)
    try:
        yield from workers(calls)
    except BrokenProcessPool as error:
        raise CordwoodError(
            "a worker process was killed, perhaps for want of memory; what was finished is in the "
            "ledger: run the plan again, with a smaller n_jobs / --jobs if need be"
        ) from error


def _attempt_elsewhere(
    task: _Task, plan: Plan, path: Path, data_dir: DataDir
) -> tuple[_Task, dict[str, Any] | None]:
    return task, _attempt(task, plan, _open(path), data_dir)


# Kept, because a ledger remembers how far it has read.
@lru_cache(maxsize=1)
def _open(path: Path) -> Ledger:
    return Ledger(path)


def _attempt(task: _Task, plan: Plan, ledger: Ledger, data_dir: DataDir) -> dict[str, Any] | None:
    """Carry out a unit and write it down, unless another process has it or has done it."""
    claim = ledger.claim(task.key, known=task.n_earlier)
    if claim is None:
        return None
    with claim:
        material = _fetch(task, plan, data_dir)
        result = carry_out(task.trial, material.rows, material.divide(task.trial), task.seed)
        return _write_down(task, result, plan, ledger)


def _work_there(
    plan: Plan, ledger: Ledger, data_dir: DataDir, workers: Cluster, tasks: Sequence[_Task]
) -> Iterator[tuple[_Task, dict[str, Any] | None]]:
    """Let a cluster work; claims are taken and records written here."""
    claimed: dict[str, tuple[_Task, Lock]] = {}

    def claim_jobs() -> Iterator[Job]:
        for task in tasks:
            claim = ledger.claim(task.key, known=task.n_earlier)
            if claim is not None:
                claimed[task.key] = task, claim
                yield Job(task.key, task.trial, task.seed, _fetch(task, plan, data_dir))

    done = set()
    try:
        for job, result in workers.carry_out(claim_jobs()):
            task, claim = claimed.pop(job.key)
            with claim:
                record = _write_down(task, result, plan, ledger)
            done.add(job.key)
            yield task, record
    finally:
        for _, claim in claimed.values():
            claim.release()
    for task in tasks:
        if task.key not in done:
            yield task, None


def _fetch(task: _Task, plan: Plan, data_dir: DataDir) -> Material:
    dataset = next(set_ for set_ in plan.datasets if set_.name == task.trial.dataset)
    return fetch(dataset, plan, data_dir, task.data)


def _write_down(task: _Task, result: TrialResult, plan: Plan, ledger: Ledger) -> dict[str, Any]:
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
        # First, so that what has a record has predictions.
        ledger.write_predictions(task.key, **result.predictions)
    ledger.append(record)
    return record


@lru_cache
def _versions(recipe: str | None, estimator: str | None) -> dict[str, str]:
    peers = (_PEERS[recipe],) if recipe in _PEERS else ()
    libraries = (*_LIBRARIES, *peers, *(find_distributions(estimator) if estimator else ()))
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}


def _ignore(done: int, total: int | None) -> None:
    """Report to nobody."""
