"""The one call that all protocols make: samples of a model to predictions or explanations."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from cordwood.exceptions import CordwoodError
from cordwood.explain.explanation import Explanation
from cordwood.reports.model_summary import Provenance
from cordwood.reports.report import model_report
from cordwood.serve.batching import Batcher, Work
from cordwood.serve.errors import RequestError, to_sentence
from cordwood.serve.limits import Limits
from cordwood.serve.metrics import Metrics
from cordwood.serve.models import Models, Options, Prediction, ServedModel

_EXPLAINED_TOGETHER = 4


@dataclass(eq=False)
class Trace:
    """What is recorded of a request: for its log, its metrics and its Server-Timing header."""

    request_id: str
    traceparent: str | None = None
    route: str = "unknown"  # the pattern, because paths of clients have no bound
    stages: dict[str, float] = field(default_factory=dict)  # seconds
    model: str | None = None
    n_samples: int | None = None
    samples: list[Any] | None = None  # logged only if wanted
    error: str | None = None

    def add(self, stage: str, seconds: float) -> None:
        """Add to the time of a stage."""
        self.stages[stage] = self.stages.get(stage, 0.0) + seconds


class Service:
    """Models, and the threads that run them."""

    overview = "/openapi.json"  # what can be requested

    def __init__(self, models: Models, limits: Limits) -> None:
        self.models, self.limits = models, limits
        self.metrics = Metrics()
        self.batcher = Batcher(limits, self.metrics)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch the model files."""
        watcher = asyncio.create_task(self.models.watch())
        try:
            yield
        finally:
            watcher.cancel()
            self.batcher.close()

    async def predict(
        self, trace: Trace, model: ServedModel, samples: list[Any], options: Options
    ) -> list[Prediction]:
        """Predict samples, together with those of other requests."""
        self._check_number(samples, self.limits.samples)
        valid = model.check(samples, self.limits)
        return await self.predict_valid(trace, model, valid, options)

    async def predict_valid(
        self, trace: Trace, model: ServedModel, samples: list[Any], options: Options
    ) -> list[Prediction]:
        """Predict samples that `ServedModel.check` has returned."""
        work = Work(
            (model.name, model.version, options),
            lambda batch: model.predict(batch, options),
            self.limits.batch_samples,
        )
        found: list[Prediction] = await self._run(trace, model, work, "predict", samples)
        for prediction in found:
            for label in prediction.labels:
                self.metrics.predictions.add(model.name, str(label))
            if not prediction.is_certain:
                self.metrics.undecided.add(model.name)
        return found

    async def explain(
        self, trace: Trace, model: ServedModel, samples: list[Any]
    ) -> list[Explanation]:
        """Explain the predictions of samples."""
        self._check_number(samples, self.limits.explained_samples)
        valid = model.check(samples, self.limits)
        key = (model.name, model.version, "explain")
        work = Work(key, model.explain, _EXPLAINED_TOGETHER, is_exclusive=True)
        return await self._run(trace, model, work, "explain", valid)

    async def report(self, trace: Trace, model: ServedModel) -> str:
        """Return the report of a model as HTML."""

        def make(_: list[Any]) -> list[str]:
            return [model_report(model.classifier, None, Provenance(name=model.name)).to_html()]

        work = Work((model.name, model.version, "report"), make, 1, is_exclusive=True)
        (page,) = await self._run(trace, model, work, "report", [None])
        return str(page)

    def _check_number(self, samples: list[Any], limit: int) -> None:
        if len(samples) > limit:
            raise RequestError(
                413,
                f"the request has {len(samples):,} samples, more than the limit of {limit:,}; send "
                "them in several requests, or as lines of NDJSON",
            )

    async def _run(
        self, trace: Trace, model: ServedModel, work: Work, stage: str, samples: list[Any]
    ) -> list[Any]:
        trace.model, trace.samples = model.name, samples
        trace.n_samples = (trace.n_samples or 0) + len(samples)
        start = time.perf_counter()
        try:
            found, seconds = await self.batcher.run(work, samples)
        except (CordwoodError, ValueError, TypeError) as error:
            # Of the samples or the options: models are tried when they are loaded.
            raise RequestError(422, to_sentence(error)) from error
        trace.add("queue", max(time.perf_counter() - start - seconds, 0.0))
        trace.add(stage, seconds)
        return found
