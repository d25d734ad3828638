"""Do annotators agree, and on which scale best?

``assay.agreement(labels)`` asks the question; the package of the same name holds its parts. Python binds a
package's name in its parent when it is first imported, so the package itself answers the call.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.agreement.summary import Agreement
    from assay.data.annotations import Annotations


class _Question(ModuleType):
    """A package that can be asked."""

    def __call__(self, labels: Annotations, **options: Any) -> Agreement:
        """Who agrees with whom: see `assay.agreement.summary.agreement`."""
        from assay.agreement.summary import agreement

        return agreement(labels, **options)


sys.modules[__name__].__class__ = _Question
