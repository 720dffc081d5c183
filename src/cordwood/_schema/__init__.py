"""Schemas: what a model file contains of each class, and what is valid.

A schema lists the fitted attributes that prediction needs, each with a `Field` that converts it to
JSON and back and checks its type, shape and range. Schemas are next to their estimators, in modules
named `schema`. `cordwood.persist` collects them, and runs the same checks when it writes and when
it loads a file.
"""
