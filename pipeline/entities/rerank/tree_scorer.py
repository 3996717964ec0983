"""LightGBM's own prediction through its C interface: no second import of half of scientific Python to score a row.

``import lightgbm`` imports pandas, scikit-learn and scipy, which takes as long as everything else that a prediction
loads; and ``Booster.predict`` builds a predictor and its options anew for each article. What is called here is the same
function of the same library (``LGBM_BoosterPredictForMat``), so scores are equal to the last bit.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

FLOAT32, RAW_SCORE = 0, 1
"""``C_API_DTYPE_FLOAT32`` and ``C_API_PREDICT_RAW_SCORE`` of LightGBM's ``c_api.h``."""
OPTIONS = b"num_threads=1 verbosity=-1"


class TreeScorer:
    """The trees of one text, which must have been checked (``checked_tree_text``).

    Args:
        text: in LightGBM's format.

    Raises:
        ValueError: LightGBM cannot read it.
    """

    _handle = ctypes.c_void_p()

    def __init__(self, text: str) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        n_trees, n_features = ctypes.c_int(), ctypes.c_int()
        self._call("BoosterLoadModelFromString", text.encode(), ctypes.byref(n_trees), ctypes.byref(self._handle))
        self._call("BoosterGetNumFeature", self._handle, ctypes.byref(n_features))
        self._n_features = n_features.value

    def __call__(self, matrix: np.ndarray) -> np.ndarray:
        """Return the sum of the trees' values for each row: float64 (n_rows,).

        Args:
            matrix: float32 (n_rows, n_features); NaN is what is missing.

        Raises:
            ValueError: it has another shape.
        """
        rows = np.ascontiguousarray(matrix, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self._n_features:
            raise ValueError(f"rows of shape {rows.shape}, want {self._n_features} columns")
        scores = np.empty(len(rows), dtype=np.float64)
        n_scores = ctypes.c_int64()
        self._call(
            "BoosterPredictForMat",
            self._handle,
            ctypes.c_void_p(rows.ctypes.data),
            FLOAT32,
            ctypes.c_int32(len(rows)),
            ctypes.c_int32(self._n_features),
            1,  # row after row
            RAW_SCORE,
            0,  # from the first tree
            -1,  # to the last
            OPTIONS,
            ctypes.byref(n_scores),
            ctypes.c_void_p(scores.ctypes.data),
        )
        return scores

    def _call(self, function: str, *arguments: object) -> None:
        if getattr(self._library, f"LGBM_{function}")(*arguments):
            raise ValueError(self._library.LGBM_GetLastError().decode("utf-8", "replace"))

    def __del__(self) -> None:
        if self._handle:
            self._library.LGBM_BoosterFree(self._handle)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    """Load LightGBM's library where its own ``libpath`` finds it, without the rest of the package."""
    package = find_spec("lightgbm")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm")
    finder = spec_from_file_location("lightgbm_libpath", Path(package.origin).with_name("libpath.py"))
    assert finder is not None
    assert finder.loader is not None
    module = module_from_spec(finder)
    finder.loader.exec_module(module)
    library: ctypes.CDLL = module._LIB
    library.LGBM_GetLastError.restype = ctypes.c_char_p
    return library
