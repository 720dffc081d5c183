"""Summary of a model: the records of its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cordwood.explain.class_words import ClassWord
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.reports.charts import Estimate, ReliabilityBin
from cordwood.reports.dataset_summary import AuditSummary, FindingSummary

Source = Literal["oof", "test", "training"]
"""Out-of-fold predictions of the training samples; predictions of other samples; or predictions of
training samples by the model that was trained on them."""


@dataclass(frozen=True, kw_only=True)
class ScoreEstimates:
    """Scores of a classifier with their intervals."""

    accuracy: Estimate
    macro_f1: Estimate
    log_loss: Estimate
    calibration_error: Estimate


@dataclass(frozen=True, kw_only=True)
class ScoreSummary:
    """Scores with intervals, beside those of baselines."""

    n_samples: int
    n_groups: int | None
    confidence_level: float
    scores: ScoreEstimates
    baselines: Mapping[str, ScoreEstimates]
    expected: ScoreEstimates | None = None  # of new samples, from the training data
    class_f1: Mapping[str, Estimate]  # of the classes that occur or are predicted


@dataclass(frozen=True, kw_only=True)
class ClassSummary:
    """Scores and errors of a class."""

    label: str
    n_samples: int
    precision: float
    recall: float
    f1: float
    n_missed: int  # samples of the class that are predicted as another
    n_false: int  # samples of other classes that are predicted as this one
    log_loss: float | None
    confused_with: str | None  # class that most of the missed samples are predicted as
    n_confused: int


@dataclass(frozen=True)
class ConfusionGroup:
    """Classes that are confused with each other, and their part of the confusion matrix."""

    labels: Sequence[str]
    counts: Sequence[Sequence[int]]


@dataclass(frozen=True, kw_only=True)
class ConfusionExample:
    """The beginning of a text that is predicted as a wrong class."""

    id: str
    text: str
    is_shortened: bool
    probability: float
    probability_true: float


@dataclass(frozen=True, kw_only=True)
class ConfusedPair:
    """A class and another one that its samples are predicted as."""

    true: str
    predicted: str
    n: int
    share: float  # of the samples of the true class
    examples: Sequence[ConfusionExample]


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Which classes are predicted as which others."""

    n_errors: int
    n_classes: int
    n_shown_errors: int  # between classes of the same group
    groups: Sequence[ConfusionGroup]
    pairs: Sequence[ConfusedPair]  # the most frequent first


@dataclass(frozen=True)
class AbstentionPoint:
    """Accuracy of the predictions that are decided, and their share."""

    coverage: float
    accuracy: float


@dataclass(frozen=True)
class AbstentionThreshold:
    """Probability from which on predictions are decided, so that the error is bounded."""

    max_error: float
    confidence: float
    decided: float
    error: float


@dataclass(frozen=True)
class Abstention:
    """Accuracy if the least confident predictions are left undecided."""

    curve: Sequence[AbstentionPoint]
    thresholds: Sequence[AbstentionThreshold]


@dataclass(frozen=True)
class SetSizes:
    """Sizes of conformal prediction sets by the coverage that they guarantee."""

    coverage: float
    mean_size: float
    share_single: float
    max_size: int


@dataclass(frozen=True, kw_only=True)
class SuspectLabel:
    """A sample whose label may be wrong."""

    id: str
    label: str
    suggested: str
    confidence: float  # probability of the suggested label
    self_confidence: float  # probability of the label
    text: str
    is_shortened: bool


@dataclass(frozen=True)
class SuspectLabels:
    """Number of the labels that may be wrong, and the most suspicious ones."""

    n: int
    samples: Sequence[SuspectLabel]


@dataclass(frozen=True)
class Contribution:
    """Contribution of a member, or the baseline, to the output of the predicted class."""

    name: str
    value: float
    method: str


@dataclass(frozen=True)
class MemberProbability:
    """Out-of-fold probabilities of a member, of the predicted class and of the label."""

    name: str
    predicted: float
    label: float


@dataclass(frozen=True)
class SimilarSample:
    """A training sample that is similar to an explained one."""

    id: str
    label: str
    similarity: float
    terms: Sequence[str]
    text: str | None  # None if the training samples are not known


@dataclass(frozen=True, kw_only=True)
class ExplainedSample:
    """An explained prediction."""

    kind: str  # such as "wrong and certain"
    id: str
    label: str
    is_shortened: bool
    predicted: str
    probability: float
    output: str
    segments: Sequence[tuple[str, float]]  # parts of the text and their contributions
    contributions: Sequence[Contribution]
    member_probabilities: Sequence[MemberProbability]
    neighbors: Sequence[SimilarSample]


@dataclass(frozen=True, kw_only=True)
class MemberSummary:
    """A member of a stack; what is not known is None."""

    name: str
    oof_source: str
    weight: float | None
    is_pruned: bool
    accuracy: float | None
    macro_f1: float | None
    fit_seconds: float | None
    # Changes of the scores of the stack without the member.
    accuracy_change: float | None
    log_loss_change: float | None
    predict_seconds: float | None = None  # per sample


@dataclass(frozen=True)
class StackSummary:
    """The members of a stack."""

    combiner: str
    members: Sequence[MemberSummary]  # pruned members last
    names: Sequence[str]  # of the members that are not pruned
    disagreement: Sequence[Sequence[float]] | None  # of shape (n_names, n_names)


@dataclass(frozen=True)
class WordsOfClass:
    """Words for and against a class."""

    label: str
    for_: Sequence[ClassWord]
    against: Sequence[ClassWord]


@dataclass(frozen=True)
class WordSummary:
    """Words of all classes."""

    output: str
    note: str  # how they were found
    classes: Sequence[WordsOfClass]


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """How a model was made, as far as it is known."""

    name: str
    classifier: str
    recipe: str | None
    data: str | None
    created: str | None
    fingerprint: str | None
    versions: Mapping[str, str]
    columns: Mapping[str, Any]
    n_train: int | None
    training: Mapping[str, Any]
    params: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class ModelSummary:
    """Content of the report of a model; parts that cannot be computed are None or empty."""

    kind: str = field(default="model", init=False)
    name: str
    classes: Sequence[str]
    data: str | None
    review: str | None = None  # command that shows the suspicious labels one by one
    source: Source | None = None
    scores: ScoreSummary | None = None
    n_unseen: int = 0  # samples of classes that the model does not know
    decision: str | None  # how it is tuned; None if the most probable class is predicted
    by_class: Sequence[ClassSummary] = ()  # most errors first
    confusion: Confusion | None = None
    reliability: Sequence[ReliabilityBin] = ()
    abstention: Abstention | None = None
    prediction_sets: Sequence[SetSizes] = ()
    curve: LearningCurveEstimate | None = None
    suspects: SuspectLabels | None = None
    explained: Sequence[ExplainedSample] = ()
    members: StackSummary | None
    words: WordSummary | None = None
    findings: Sequence[FindingSummary] = ()
    audit: AuditSummary | None = None
    provenance: ModelFacts
