"""Run trials on a Dask cluster: each data set is sent to each worker once.

The client keeps the ledger, because workers may run on computers without a shared file system. If
a worker is lost, its trial is run again by another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from cordwood._base.cluster import Call, Cluster, WorkersLost
from cordwood.compare.runner import dataset_cache
from cordwood.compare.runner.dataset_cache import LoadedDataset
from cordwood.compare.runner.run_trial import TrialResult, run_trial
from cordwood.compare.runner.trials import Trial


class Job(NamedTuple):
    """A trial and everything that is needed to run it."""

    key: str
    trial: Trial
    seed: int
    dataset: LoadedDataset


def open_cluster(address: str, versions: Mapping[str, str]) -> Cluster:
    """Return the connection to a cluster that runs trials."""
    return Cluster(
        address, versions, "finished trials are in the ledger", clean_up=dataset_cache.clear
    )


def run_jobs(workers: Cluster, jobs: Iterable[Job]) -> Iterator[tuple[str, TrialResult]]:
    """Run jobs, and yield the key and the result of each as soon as it has finished."""
    keys: list[str] = []

    def list_calls() -> Iterator[Call]:
        for job in jobs:
            keys.append(job.key)
            yield Call("this trial", partial(_run, job.trial, job.seed, job.dataset))

    for index, result in workers.run(list_calls()):
        is_lost = isinstance(result, WorkersLost)
        yield keys[index], TrialResult({"error": str(result)}, {}) if is_lost else result


def _run(trial: Trial, seed: int, dataset: LoadedDataset) -> TrialResult:
    """Run a trial in a worker, which caches what other trials on the same data can use."""
    if dataset_cache.get(dataset.key) is None:
        dataset_cache.put(dataset)
    return run_trial(trial, dataset.data, dataset.get_split(trial), seed)
