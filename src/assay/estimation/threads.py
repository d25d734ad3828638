"""One thread for linear algebra, where it multiplies thousands of small matrices."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Let BLAS use one thread meanwhile, as context.

    Products of thousands of small matrices take twice the processor time with two threads, and several times as long
    where another program uses one of the processors. Questions run in several processes with joblib.
    """
    limited: AbstractContextManager[Any] = _controller("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas")
    return limited


@lru_cache(maxsize=1)
def _controller(with_scipy: bool) -> ThreadpoolController:
    """The libraries that are loaded: NumPy's, and SciPy's once it is imported, which has its own."""
    from threadpoolctl import ThreadpoolController

    del with_scipy
    return ThreadpoolController()
