"""Studies with a known truth: for planning, tests and the demo.

Every item has a true label. An annotator answers with it, or, with a probability that is the annotator's
*noise*, with a draw from the prior over the labels: ``prior · noise + (1 − noise) · truth``. Nothing else is
assumed, so the correct result of a method is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import ParamSpec

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assay.data.annotations import Annotations, Reading
from assay.data.scales import Label, Nominal, Scale, parse_scale
from assay.errors import DesignError, unknown
from assay.estimation.options import Settings, number_in, option, question_alone, seed_option

Floats = NDArray[np.float64]
P = ParamSpec("P")

NOISE = 0.3
"""Default noise of an annotator: each gives the true label on seven items of ten, and a draw from the prior
otherwise."""


CATEGORIES = 4
"""Default number of categories of a simulated study."""


@dataclass(frozen=True)
class SimulationSettings(Settings):
    """Options of `assay.simulate`."""

    n_items: int = option(100, "Items.", low=1)
    n_annotators: int = option(3, "People, called `ann_1`, `ann_2` ...", low=1)
    _: KW_ONLY
    scale: Scale | str | int = option(
        CATEGORIES, "A number of categories without order, or a scale: `1-5`, `assay.Ordinal(1, 5)`, `interval:0-100`."
    )
    prior: Sequence[float] | None = option(
        None,
        "Probability of each label, lowest first.",
        details="Default: drawn from a flat Dirichlet, separately for each criterion. On an `Interval` truths and "
        "noise are uniform between the ends, and there is no prior.",
    )
    annotator_noise: float | Sequence[float] = option(
        NOISE, "Probability, 0 to 1, that a person answers with a draw from the prior; one number, or one a person."
    )
    judges: float | Mapping[str, float] = option(
        0.2,
        "Noise of the one judge `judge`, or of several by name; an empty mapping makes a study of people only.",
    )
    bias: Mapping[str, float] | None = option(
        None,
        "Mean bias of the labels of a judge or annotator.",
        details="In points (or categories) of an ordered scale, as far as its ends allow.",
    )
    spread: float = option(
        0.0,
        "Standard deviation of a Gaussian error of every answer, in points of an ordered scale.",
        low=0,
        details="Labels are rounded to the scale (unless it is an `Interval`) and never leave its ends.",
    )
    labels_per_item: int | None = option(
        None, "People who answer each item, drawn at random; all of them when not given."
    )
    documents: int | None = option(
        None, "Number of documents that the items come from, a column `document` of `items`."
    )
    alike: float = option(
        0.5,
        "Similarity of the items of one document.",
        low=0,
        high=1,
        details="The share of items that have their document's truth, and the share of an annotator's answers for "
        "which one draw decides, for the whole document, whether the annotator errs. Each item by itself is as without "
        "documents.",
    )
    criteria: Sequence[str] | None = option(None, "Criteria of every item, with independent true labels.")
    missing: float | Mapping[str, float] = option(
        0.0, "Share of the items for which a judge has no label; one number, or one a judge."
    )
    seed: int = seed_option("Random seed.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels_per_item is not None:
            number_in("labels_per_item", self.labels_per_item, low=1, high=self.n_annotators)
        if self.documents is not None:
            number_in("documents", self.documents, low=1, high=self.n_items)
        for share in self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]:
            number_in("missing", share, low=0, below=1)


@question_alone(SimulationSettings)
def simulate(settings: SimulationSettings) -> Annotations:
    """What would the labels look like, if this were the truth?

    Returns
    -------
    Annotations
        ``items`` has the true label in ``truth`` (with several criteria in ``truth_<criterion>``), and
        ``annotators`` has ``noise``, and ``bias`` if there is one.

    Raises
    ------
    DesignError
        For a probability outside 0 to 1, or a scale whose labels cannot be listed and that has no ends.

    Examples
    --------
    >>> import assay
    >>> labels = assay.simulate(n_items=200, n_annotators=3, judges={"careful": 0.1, "careless": 0.8}, seed=4)
    >>> labels
    Annotations(1,000 labels, 200 items, 3 humans, 2 judges, nominal:a,b,c,d)
    >>> judged = labels.where(annotator="careless")
    >>> float((judged.labels["label"] == judged.column("truth")).mean())
    0.565

    The careless judge answers 80% of the items by chance, and by chance it is right on many of those.
    """
    n_items, n_annotators, documents, alike = (
        settings.n_items, settings.n_annotators, settings.documents, settings.alike,
    )  # fmt: skip
    source = LabelSource.of(settings.scale, settings.prior, settings.spread)
    people, models = _noises(n_annotators, settings.annotator_noise, settings.judges)
    everyone = {**people, **models}
    shift = _biases(settings.bias, everyone, source)
    per_item = n_annotators if settings.labels_per_item is None else settings.labels_per_item
    missing = settings.missing
    for name in missing if isinstance(missing, Mapping) else ():
        if name not in models:
            raise DesignError(unknown("judge", name, models, "missing=..."))
    absent = {name: missing.get(name, 0.0) if isinstance(missing, Mapping) else missing for name in models}
    rng = np.random.default_rng(settings.seed)
    noise = np.array(list(everyone.values()))
    item_names = _numbered_names("item", n_items)
    items: dict[str, list[object]] = {"item": list(item_names)}
    document: NDArray[np.int64] | None = None
    if documents is not None:
        document = np.arange(n_items) * documents // n_items
        names = _numbered_names("document", documents)
        items["document"] = [names[d] for d in document]
    frames = []
    for criterion in [None] if settings.criteria is None else settings.criteria:
        cumulative = source.priors(rng, 1)
        truth = source.draw(_shared_draws(rng, (n_items, 1), document, alike)[None, :, 0], cumulative)
        answers = source.answer(
            rng, truth, cumulative, noise, shift,
            errs=_shared_draws(rng, (n_items, len(noise)), document, alike)[None],
            instead=_shared_draws(rng, (n_items, len(noise)), document, alike)[None],
        )[0]  # fmt: skip
        answered = np.ones(answers.shape, dtype=bool)
        answered[:, :n_annotators] = rng.random((n_items, n_annotators)).argsort(axis=1).argsort(axis=1) < per_item
        answered[:, n_annotators:] = rng.random((n_items, len(models))) >= np.array(list(absent.values()))
        item, annotator = np.nonzero(answered)
        frame = pl.DataFrame(
            {
                "item": pl.Series(item_names).gather(item),
                "annotator": pl.Series(list(everyone), dtype=pl.String).gather(annotator),
                "label": source.labels(answers[item, annotator]),
            }
        )
        frames.append(frame if criterion is None else frame.with_columns(criterion=pl.lit(criterion)))
        items["truth" if criterion is None else f"truth_{criterion}"] = source.labels(truth[0]).to_list()
    about: dict[str, list[object]] = {"annotator": list(everyone), "noise": list(noise)}
    if settings.bias:
        about["bias"] = list(shift)
    table = pl.concat(frames)
    return Annotations.from_frame(
        table,
        judges=list(models),
        scale=source.scale,
        items=pl.DataFrame(items),
        annotator_table=pl.DataFrame(about),
        reading=Reading(source=f"a simulated study (seed {settings.seed})", rows=table.height),
    )


@dataclass(frozen=True)
class LabelSource:
    """The distribution of simulated labels, which are positions in the scale or points of an interval.

    Arrays have studies on the first axis, so that planning can draw thousands at once.
    """

    scale: Scale
    prior: tuple[float, ...] | None = None
    spread: float = 0.0

    @classmethod
    def of(cls, scale: Scale | str | int, prior: Sequence[float] | None = None, spread: float = 0.0) -> LabelSource:
        """Check the options of a user."""
        number_in("spread", spread, low=0)
        if isinstance(scale, int):
            number_in("scale", scale, low=2, whole=True)
            scale = Nominal([_letters(i) for i in range(scale)])
        elif isinstance(scale, str):
            scale = parse_scale(scale)
        if scale.categories is None and scale.bounds is None:
            raise DesignError(
                f"labels that are {scale.describe()} cannot be simulated; take a number of categories, or a scale "
                "with two ends such as '1-5' or 'interval:0-100'"
            )
        if prior is not None:
            if scale.categories is None:
                raise DesignError("on an interval, truths are uniform; leave prior=... out, or take whole numbers")
            if len(prior) != len(scale.categories):
                raise DesignError(f"prior has {len(prior)} probabilities for {len(scale.categories)} labels")
            for share in prior:
                number_in("prior", share, low=0, high=1)
            if not np.isclose(sum(prior), 1.0):
                raise DesignError(f"the probabilities of a prior are at least 0 and add up to 1; got {list(prior)}")
        if spread and not scale.ordered:
            raise DesignError("spread needs an ordered scale; give categories without order more noise instead")
        return cls(scale, None if prior is None else tuple(prior), spread)

    @cached_property
    def categories(self) -> tuple[Label, ...] | None:
        """The labels, lowest first; None on an interval."""
        return self.scale.categories

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest number of a label."""
        if self.categories is not None:
            return 0.0, float(len(self.categories) - 1)
        assert self.scale.bounds is not None
        return self.scale.bounds

    def priors(self, rng: np.random.Generator, n_studies: int) -> Floats:
        """Summed probabilities of the labels in each study: (studies, categories); none on an interval."""
        if self.categories is None:
            return np.empty((n_studies, 0))
        if self.prior is not None:
            return np.tile(np.cumsum(self.prior), (n_studies, 1))
        return np.cumsum(rng.dirichlet(np.ones(len(self.categories)), n_studies), axis=1)

    def draw(self, uniform: Floats, cumulative: Floats) -> Floats:
        """Labels drawn from the prior of each study, by numbers from 0 to 1: (studies, ...)."""
        low, high = self.ends
        if self.categories is None:
            return low + (high - low) * uniform
        study = np.arange(len(cumulative))
        # One sorted list for all studies: those of study s lie between s and s + 1.
        offset = study.reshape(-1, *([1] * (uniform.ndim - 1)))
        found = np.searchsorted((cumulative + study[:, None]).ravel(), uniform + offset, side="right")
        return np.asarray(np.clip(found - offset * cumulative.shape[1], low, high), dtype=float)

    def answer(
        self,
        rng: np.random.Generator,
        truth: Floats,
        cumulative: Floats,
        noise: Floats,
        bias: Floats | None = None,
        *,
        errs: Floats | None = None,
        instead: Floats | None = None,
    ) -> Floats:
        """The labels of all raters: (studies, items, annotators).

        Parameters
        ----------
        truth : (studies, items)
        cumulative : (studies, categories)
        noise : (annotators,) or (studies, 1, annotators)
        bias : (annotators,), optional
        errs, instead : (studies, items, annotators), optional
            Numbers from 0 to 1 that decide whether an annotator errs, and with which label.
        """
        shape = (*truth.shape, noise.shape[-1])
        errs = rng.random(shape) if errs is None else errs
        instead = rng.random(shape) if instead is None else instead
        label = np.where(errs < noise, self.draw(instead, cumulative), truth[..., None])
        if bias is not None and bias.any():
            # On a scale of steps, half a point is a whole one for half of the labels.
            label = label + (bias if self.categories is None else np.floor(bias + rng.random(shape)))
        if self.spread:
            label = label + self.spread * rng.standard_normal(shape)
        if self.categories is not None:
            label = np.rint(label)
        return np.asarray(np.clip(label, *self.ends))

    def labels(self, positions: Floats) -> pl.Series:
        """Return the labels at these positions."""
        if self.categories is None:
            return pl.Series(positions)
        return pl.Series(list(self.categories)).gather(positions.astype(np.int64))

    def values(self, positions: Floats) -> Floats:
        """The numbers that a score compares: on a numeric scale the labels themselves."""
        if self.categories is None or not self.scale.numeric:
            return positions
        return np.asarray(positions + float(self.categories[0]))


# -- private ----------------------------------------------------------------------------------------


def _noises(
    n_annotators: int, annotator_noise: float | Sequence[float], judges: float | Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Noise of every person and of every judge, by name."""
    several = isinstance(annotator_noise, Sequence)
    noises = list(annotator_noise) if isinstance(annotator_noise, Sequence) else [annotator_noise] * n_annotators
    if several and len(noises) != n_annotators:
        raise DesignError(f"annotator_noise has {len(noises)} numbers for {n_annotators} annotators")
    named = judges if isinstance(judges, Mapping) else {"judge": judges}
    people = {f"ann_{j + 1}": noise for j, noise in enumerate(noises)}
    models = {str(name): noise for name, noise in named.items()}
    for name, noise in [*people.items(), *models.items()]:
        number_in(f"the noise of {name}", noise, low=0, high=1)
    for name in models:
        if name in people:
            raise DesignError(f"'{name}' is the name of a simulated person; call the judge something else")
    return {k: float(v) for k, v in people.items()}, {k: float(v) for k, v in models.items()}


def _biases(bias: Mapping[str, float] | None, everyone: Mapping[str, float], source: LabelSource) -> Floats:
    for name in bias or {}:
        if name not in everyone:
            raise DesignError(unknown("annotator", name, everyone, "bias=..."))
        number_in(f"the bias of {name}", (bias or {})[name])
    if bias and not source.scale.ordered:
        raise DesignError("bias needs an ordered scale such as '1-5'; categories without order have no too high")
    return np.array([(bias or {}).get(name, 0.0) for name in everyone])


def _shared_draws(
    rng: np.random.Generator, shape: tuple[int, int], document: NDArray[np.int64] | None, alike: float
) -> Floats:
    """Numbers from 0 to 1, (items, columns); in a document a share of them is the document's own number."""
    own = rng.random(shape)
    if document is None:
        return own
    whole = rng.random((int(document.max()) + 1, shape[1]))[document]
    return np.where(rng.random(shape) < alike, whole, own)


def _numbered_names(what: str, n: int) -> list[str]:
    """``item_001`` …: names whose alphabetical order is their order."""
    return [f"{what}_{i:0{len(str(n))}d}" for i in range(1, n + 1)]


def _letters(i: int) -> str:
    """a, b … z, ba, bb …"""
    head, tail = divmod(i, 26)
    return (_letters(head) if head else "") + chr(ord("a") + tail)
