"""Classify text and other high-dimensional noisy data with forests, boosting and stacking.

The public names are listed in the stub `__init__.pyi` and imported on first access, so that
``import cordwood`` is fast (SPEC 1 of the Scientific Python project).
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
