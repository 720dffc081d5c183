import numpy as np
import pytest

from cordwood.oof.folds import make_folds

CLASS_CODES = np.tile([0, 1], 12)


def test_fewer_groups_than_folds_give_fewer_folds():
    groups = np.arange(24) // 6
    folds = make_folds(5, CLASS_CODES, groups, 0)
    assert len(folds) == 4
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])


def test_a_single_group_raises():
    with pytest.raises(ValueError, match="requires at least two groups"):
        make_folds(5, CLASS_CODES, np.zeros(24), 0)
