import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cordwood.stacking.combiners._combiner import hard_votes, split_by_estimator

probabilities = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)


@given(probabilities)
@settings(deadline=None, max_examples=100)
def test_hard_votes_are_split_among_the_most_probable_classes(members):
    n_classes = members.shape[2]
    pairs = zip(
        members.reshape(-1, n_classes), hard_votes(members).reshape(-1, n_classes), strict=True
    )
    for member, vote in pairs:
        winners = {code for code, value in enumerate(member) if value == max(member)}
        assert vote.tolist() == [(code in winners) / len(winners) for code in range(len(member))]


def test_split_by_estimator_keeps_blocks_of_columns():
    X = np.arange(12).reshape(2, 6) / 100
    members = split_by_estimator(X, 3)
    assert members[1, 0].tolist() == X[1, :3].tolist()
    assert members[0, 1].tolist() == X[0, 3:].tolist()


def test_single_precision_sums_are_accepted():
    probas = np.full((1, 90), 1 / 90, np.float32).astype(np.float64) * (1 + 1e-6)
    assert split_by_estimator(probas, 90).shape == (1, 1, 90)


def test_sum_above_one_raises():
    X = np.array([[0.2, 0.8, 0.5, 0.5], [0.2, 0.8, 0.9, 0.8]])
    with pytest.raises(
        ValueError, match=r"block of 2 .* in row 1, the block of base estimator 1 sums to 1\.7\."
    ):
        split_by_estimator(X, 2)
