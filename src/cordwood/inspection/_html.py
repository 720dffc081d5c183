"""HTML."""


def render_explanation(e):
    return ""


def render_list(e):
    return ""
