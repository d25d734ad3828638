"""The outputs of a study's systems in a report on its labels."""

from __future__ import annotations

from pathlib import Path

from assay.data.annotations import Annotations
from assay.errors import StudyError
from assay.preference.page import separability_parts
from assay.preference.separability import separability
from assay.reporting.page import Part, PartOptions, parts_or_reason


def report_separability(labels: Annotations, options: PartOptions) -> tuple[Part, ...]:
    """Return the separability of the systems of the labels' study, if it has two or more."""
    if not labels.reading.study or not (Path(labels.reading.study) / "study.yaml").is_file():
        return ()
    from assay.reading import study_outputs
    from assay.study.definition import load_study

    study = load_study(labels.reading.study)
    if len(study.systems) < 2:
        return ()
    try:
        outputs = study_outputs(study)
    except StudyError:
        return ()
    similarity = study.config.comparisons.similarity
    made = {name: options.intervals[name] for name in ("confidence",) if name in options.intervals}
    return parts_or_reason(
        "Separability of systems", lambda: separability_parts(separability(outputs, similarity=similarity, **made))
    )
