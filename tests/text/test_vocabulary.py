import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.text.vocabulary import pack, unpack


@settings(deadline=None)
@given(st.lists(st.text(st.characters())))
def test_terms_survive_packing(terms):
    text, offsets = pack(terms)
    assert (text.dtype, offsets.dtype, len(offsets)) == (np.uint8, np.int64, len(terms) + 1)
    assert unpack(text, offsets) == terms
