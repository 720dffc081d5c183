import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.text.vocabulary import pack_strings, unpack_strings


@settings(deadline=None)
@given(st.lists(st.text(st.characters())))
def test_pack_and_unpack_round_trip(strings):
    content, offsets = pack_strings(strings)
    assert (content.dtype, offsets.dtype) == (np.uint8, np.int64)
    assert len(offsets) == len(strings) + 1
    assert unpack_strings(content, offsets) == strings
