import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cordwood.stacking.combiners._combiner import as_members, decide

probabilities = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4)),
    elements=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)


@given(probabilities)
@settings(deadline=None, max_examples=100)
def test_a_vote_is_shared_by_the_most_probable_and_by_no_others(members):
    n_classes = members.shape[2]
    pairs = zip(members.reshape(-1, n_classes), decide(members).reshape(-1, n_classes), strict=True)
    for member, vote in pairs:
        winners = {code for code, value in enumerate(member) if value == max(member)}
        assert vote.tolist() == [(code in winners) / len(winners) for code in range(len(member))]


def test_members_follow_each_other_in_the_columns():
    X = np.arange(12).reshape(2, 6) / 100
    members = as_members(X, 3)
    assert members[1, 0].tolist() == X[1, :3].tolist()
    assert members[0, 1].tolist() == X[0, 3:].tolist()


def test_single_precision_is_no_error():
    shares = np.full((1, 90), 1 / 90, np.float32).astype(np.float64) * (1 + 1e-6)
    assert as_members(shares, 90).shape == (1, 1, 90)


def test_the_sum_that_is_too_large_is_shown():
    X = np.array([[0.2, 0.8, 0.5, 0.5], [0.2, 0.8, 0.9, 0.8]])
    with pytest.raises(ValueError, match=r"X has a row, 1, .* 2 prob.* member 1 sum to 1\.7;"):
        as_members(X, 2)
