"""Files of other labelling tools."""
