"""Metrics in the text format of Prometheus, with names after the conventions of OpenTelemetry.

Three kinds of values are all that the server needs, so that no client library is.
"""

from bisect import bisect_left
from collections.abc import Iterator

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Value:
    """A counter, or a gauge, by the values of its labels."""

    def __init__(self, name: str, kind: str, help: str, labels: tuple[str, ...] = ()) -> None:
        self.name, self.kind, self.help, self.labels = name, kind, help, labels
        self.values: dict[tuple[str, ...], float] = {}

    def add(self, *labels: str, amount: float = 1.0) -> None:
        """Add to the value of some labels."""
        self.values[labels] = self.values.get(labels, 0.0) + amount

    def lines(self) -> Iterator[str]:
        """Yield the lines of the format."""
        for labels, value in self.values.items():
            yield f"{self.name}{_format(self.labels, labels)} {value:g}"


class Histogram:
    """Counts of observed values up to each of some bounds, by the values of labels."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        help: str,
        labels: tuple[str, ...] = (),
        bounds: tuple[float, ...] = _SECONDS,
    ) -> None:
        self.name, self.help, self.labels, self.bounds = name, help, labels, bounds
        self.counts: dict[tuple[str, ...], list[int]] = {}
        self.sums: dict[tuple[str, ...], float] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        counts = self.counts.setdefault(labels, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, value)] += 1
        self.sums[labels] = self.sums.get(labels, 0.0) + value

    def lines(self) -> Iterator[str]:
        """Yield the lines of the format, with counts that accumulate."""
        for labels, counts in self.counts.items():
            total = 0
            for bound, n in zip((*map("{:g}".format, self.bounds), "+Inf"), counts, strict=True):
                total += n
                shown = _format((*self.labels, "le"), (*labels, bound))
                yield f"{self.name}_bucket{shown} {total}"
            shown = _format(self.labels, labels)
            yield f"{self.name}_sum{shown} {self.sums[labels]:.9g}"
            yield f"{self.name}_count{shown} {total}"


class Metrics:
    """All metrics of a server."""

    def __init__(self) -> None:
        self.request_duration = Histogram(
            "http_server_request_duration_seconds",
            "Duration of requests",
            ("http_request_method", "http_route", "http_response_status_code"),
        )
        self.active_requests = Value(
            "http_server_active_requests", "gauge", "Requests that are being handled"
        )
        self.stage_duration = Histogram(
            "cordwood_stage_duration_seconds", "Duration of the stages of requests", ("stage",)
        )
        self.batch_size = Histogram(
            "cordwood_batch_samples", "Samples that are predicted together", bounds=_SIZES
        )
        self.queued = Value("cordwood_queued_samples", "gauge", "Samples that wait for a thread")
        self.predictions = Value(
            "cordwood_predictions_total", "counter", "Predicted labels", ("model", "label")
        )
        self.undecided = Value(
            "cordwood_undecided_total", "counter", "Samples without a decision", ("model",)
        )
        self.models = Value(
            "cordwood_model_info", "gauge", "Loaded models", ("model", "version", "sha256")
        )

    def render(self) -> str:
        """Return the page."""
        lines: list[str] = []
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind}"]
            lines += metric.lines()
        return "\n".join(lines) + "\n"


def _format(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = ",".join(
        f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)
    )
    return f"{{{pairs}}}" if pairs else ""


def _escape(value: str) -> str:
    # Lone surrogates of labels cannot be encoded.
    value = value.encode("utf-8", "replace").decode()
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
