"""One view of a fitted classifier: its members, their transformers, and the final estimator.

What explanations, confidence, reports and the command line know of the inside of a model, they know
from here: no other module looks into the steps of pipelines or the estimators of stacks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from cordwood.columns.converter import TableConverter
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.multilabel.problem_transformation import LabelPowerset
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.vectorizer import TextVectorizer


class Member(NamedTuple):
    """A classifier of a model: the only one, or one of several that are combined."""

    name: str
    transformers: tuple[Any, ...]  # fitted
    classifier: Any  # takes the output of the last transformer
    whole: Any  # both, as one classifier

    @property
    def vectorizers(self) -> list[Any]:
        """Transformers of texts, also those inside unions and column transformers."""
        return [part for each in self.transformers[:1] for part in _flatten(each)]


class MemberRecord(NamedTuple):
    """What a stack knows of one of its members; None where it does not."""

    name: str
    weight: float | None
    is_pruned: bool
    oof_source: str
    accuracy: float | None = None  # out of fold, as all scores
    macro_f1: float | None = None
    fit_seconds: float | None = None
    accuracy_change: float | None = None  # of the stack, if the member is removed
    log_loss_change: float | None = None
    is_exact: bool | None = None  # whether explanations of it are exact


@dataclass(frozen=True)
class ModelView:
    """The parts of a fitted classifier."""

    converter: TableConverter | None  # first step of a model of a table
    whole: Any  # the classifier without the converter
    classifier: Any  # its last step
    members: tuple[Member, ...]

    @property
    def stack(self) -> OOBStackingClassifier | None:
        """The stack of classifiers of one label per sample, if the model is one."""
        return self.classifier if isinstance(self.classifier, OOBStackingClassifier) else None

    @property
    def is_multilabel(self) -> bool:
        """Whether the model predicts several labels per sample."""
        return isinstance(self.classifier, MultiLabelClassifier)

    @property
    def final_estimator(self) -> Any:
        """The final estimator of a stack whose only input are the members' probabilities."""
        stack = self.stack
        is_plain = stack is not None and self.whole_is_last and not stack.passthrough
        return stack.final_estimator_ if is_plain and stack is not None else None

    @property
    def whole_is_last(self) -> bool:
        """Whether nothing transforms the samples before the last step."""
        return not isinstance(self.whole, Pipeline) or len(self.whole.steps) == 1

    @property
    def takes_columns(self) -> bool:
        """Whether members select columns of a table, so that samples are not texts."""
        first = [each.transformers[0] for each in self.members if each.transformers]
        return any(isinstance(each, ColumnTransformer) for each in first)

    @property
    def explained_members(self) -> tuple[Member, ...]:
        """Members whose explanations can be combined; else the whole model as the only one."""
        if self.final_estimator is not None:
            return self.members
        steps = _list_steps(self.whole)
        name = type(self.classifier).__name__
        return (Member(name, tuple(steps[:-1]), self.classifier, self.whole),)

    @property
    def vectorizers(self) -> list[Any]:
        """Distinct transformers of texts of all members."""
        found = {id(each): each for member in self.members for each in member.vectorizers}
        return list(found.values())

    @property
    def vectorizer(self) -> TextVectorizer | None:
        """The first vectorizer of words or characters."""
        return next((each for each in self.vectorizers if isinstance(each, TextVectorizer)), None)

    def member_records(self) -> list[MemberRecord]:
        """List what the stack knows of its members, those that it has dropped last."""
        if self.is_multilabel:
            weights, sources = self.classifier.estimator_weights_, self.classifier.oof_source_
            return [MemberRecord(name, weights[name], False, sources[name]) for name in sources]
        stack = self.stack
        if stack is None:
            return []
        weights = getattr(stack, "estimator_weights_", {})
        # A stack of a file that did not come with it has no ablation.
        ablation = getattr(stack, "ablation_", {})
        return [
            MemberRecord(
                name,
                weights.get(name),
                name in stack.pruned_,
                stack.oof_source_[name],
                stack.oof_scores_[name]["accuracy"],
                stack.oof_scores_[name]["macro_f1"],
                stack.fit_times_.get(name),
                ablation.get(name, {}).get("accuracy"),
                ablation.get(name, {}).get("log_loss"),
            )
            for name in [*stack.named_estimators_, *stack.pruned_]
        ]

    def member_oof_probas(self) -> dict[str, NDArray[np.float64]]:
        """Return the out-of-fold probabilities of the members; none if loaded from a file."""
        features = getattr(self.stack, "meta_features_", None)
        if self.stack is None or features is None:
            return {}
        names = list(self.stack.named_estimators_)
        blocks = np.asarray(features).reshape(-1, len(names), len(self.stack.classes_))
        return {name: blocks[:, i] for i, name in enumerate(names)}


def view_model(model: Any) -> ModelView:
    """Return the view of a fitted classifier or pipeline."""
    converter = None
    whole = model
    if isinstance(model, Pipeline) and isinstance(model.steps[0][1], TableConverter):
        converter, whole = model.steps[0][1], Pipeline(model.steps[1:])
    *transformers, classifier = _list_steps(whole)
    if isinstance(classifier, OOBStackingClassifier):
        members = tuple(
            Member(name, (*transformers, *steps[:-1]), steps[-1], member)
            for name, member in classifier.named_estimators_.items()
            for steps in [_list_steps(member)]
        )
    elif isinstance(classifier, MultiLabelClassifier):
        members = tuple(
            # The labels of a forest or of nearest neighbors are those of its label sets.
            Member(
                name,
                (*transformers, *steps),
                member.estimator_ if isinstance(member, LabelPowerset) else member,
                Pipeline([*((str(i), step) for i, step in enumerate(steps)), ("member", member)]),
            )
            for name, steps, member in classifier.iter_members()
        )
    else:
        name = type(classifier).__name__
        members = (Member(name, tuple(transformers), classifier, whole),)
    return ModelView(converter, whole, classifier, members)


def _list_steps(model: Any) -> list[Any]:
    if not isinstance(model, Pipeline):
        return [model]
    return [step for _, step in model.steps if step is not None and step != "passthrough"]


def _flatten(transformer: Any) -> Iterator[Any]:
    """Yield the transformers inside a union, a pipeline or a column transformer."""
    if isinstance(transformer, FeatureUnion):
        parts = [each for _, each in transformer.transformer_list]
    elif isinstance(transformer, ColumnTransformer):
        parts = [each for _, each, _ in transformer.transformers_]
    elif isinstance(transformer, Pipeline):
        parts = _list_steps(transformer)
    else:
        yield transformer
        return
    for part in parts:
        if not isinstance(part, str):
            yield from _flatten(part)
