"""Who is a person and who is a model: what the table says, what the user says, and what nobody has said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from assay.data.coding import coded
from assay.data.frames import natural, with_id
from assay.data.names import Coded, Spelling, alike, like_models, spelled_as, without_spaces
from assay.errors import DataError, DesignError, counted, listing, unknown

KINDS = ("human", "judge")

FEW = 12
"""So many names are listed in a remedy; for more, a column is the shorter way."""


class KindUnknownError(DataError):
    """Nothing says whether annotators with a model's name are people or models."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def annotator_frame(
    who: Coded,
    kinds: pl.Series | None,
    named: Mapping[str, Iterable[str] | None],
    about: pl.DataFrame | None,
    how: Spelling,
    source: str,
) -> tuple[pl.DataFrame, list[str]]:
    """One row an annotator with its kind, and what was assumed.

    Parameters
    ----------
    who : Coded
        The annotators of the labels.
    kinds : polars.Series or None
        The kind of each label's annotator, where the table has such a column.
    named : mapping of kind to names, or to None
        Whom the user calls a ``judge`` and a ``human``.
    about : polars.DataFrame or None
        Attributes, perhaps ``kind`` among them.
    how : {"refuse", "merge", "apart"}
        What becomes of names that differ only in spelling.
    source : str
        The table, in words for messages.
    """
    names = natural(who.names.to_list())
    frame = pl.DataFrame({"annotator": list(names)}, schema={"annotator": pl.String})
    said: dict[str, str] = {}
    if about is not None:
        about = with_id(about, "annotator", "annotator")
        about = about.with_columns(spelled_as(about["annotator"], who.names, "annotator", how, source))
        twice = about.filter(about["annotator"].is_duplicated())
        if twice.height:
            raise DataError(f"the table of annotators names '{twice['annotator'][0]}' twice")
        frame = frame.join(about, on="annotator", how="left", maintain_order="left")
    chosen = {kind: None if given is None else _known(given, kind, names, how, source) for kind, given in named.items()}
    only_words = any(given is not None for given in chosen.values())
    if about is not None and "kind" in about.columns:
        said = _said_beside(frame, only_words=only_words)
    if kinds is not None:
        said |= _said_of_labels(who, kinds, source, only_words=only_words)
    found, notes = settled(names, said, chosen["judge"], chosen["human"], source)
    rest = [c for c in frame.columns if c not in ("annotator", "kind")]
    return frame.with_columns(kind=pl.Series(found, dtype=pl.String)).select("annotator", "kind", *rest), notes


def _known(given: Iterable[str], kind: str, names: Sequence[str], how: Spelling, source: str) -> tuple[str, ...]:
    """The annotators that the user names, as the labels spell them."""
    wanted = without_spaces(
        pl.Series([given] if isinstance(given, str) else [str(one) for one in given], dtype=pl.String)
    )
    spelled = (
        dict(zip(alike(pl.Series(names, dtype=pl.String)).to_list(), names, strict=True)) if how == "merge" else {}
    )
    found = []
    for name in wanted:
        one = name if name in names else spelled.get(alike(pl.Series([name]))[0])
        if one is None:
            raise DataError(unknown(kind, name, names, source))
        found.append(one)
    return tuple(found)


def settled(
    names: Sequence[str],
    said: Mapping[str, str],
    judges: Sequence[str] | None,
    humans: Sequence[str] | None,
    source: str,
) -> tuple[list[str], list[str]]:
    """The kind of each annotator, and what was assumed: what the user says counts first, then what the table says."""
    both = [name for name in judges or () if name in (humans or ())]
    if both:
        raise DesignError(f"judges=... and humans=... both name '{both[0]}'; name it in one")
    given = {**dict.fromkeys(judges or (), "judge"), **dict.fromkeys(humans or (), "human")}
    if judges is not None:
        _refuse_dropped_judges(names, said, given, judges, source)
    if judges is None and humans is not None:
        # Who says who the people are leaves out the models, but somebody may be forgotten.
        said = {**dict.fromkeys(like_models(names, names), "judge"), **said}
    known = {**said, **given}
    open_ = [name for name in names if name not in known]
    models = like_models(open_, names)
    if models:
        raise KindUnknownError(_nothing_says(models, judges, names, source), models)
    if open_ and humans is not None and judges is None:
        raise DataError(
            f"{source}: humans=... does not name {listing(open_)}; name all people there, or the judges with "
            "judges=[...] too, and who is in neither is taken as a person"
        )
    notes = []
    if open_ and judges is not None and humans is not None:
        notes.append(f"{counted(len(open_), 'annotator')} named neither as judge nor as human, taken as people: "
                     f"{listing(open_)}")  # fmt: skip
    if humans is not None and judges is None:
        rest = [name for name in names if known[name] == "judge"]
        notes += [f"taken as judges, because humans=... does not name them: {listing(rest)}"] if rest else []
    return [known.get(name, "human") for name in names], notes


def _refuse_dropped_judges(
    names: Sequence[str], said: Mapping[str, str], given: Mapping[str, str], judges: Sequence[str], source: str
) -> None:
    """Whoever the table calls a judge does not become a person by not being named."""
    dropped = [name for name in names if said.get(name) == "judge" and name not in given]
    if dropped:
        it, is_person = ("them", "they are people") if len(dropped) > 1 else ("it", "it is a person")
        raise DataError(
            f"{source} says that {listing(dropped)} {'are judges' if len(dropped) > 1 else 'is a judge'}, and "
            f"judges=... does not name {it}; add {it} with judges={[*judges, *dropped]}, or say that {is_person} "
            f"with humans={dropped}"
        )


def _nothing_says(models: Sequence[str], judges: Sequence[str] | None, names: Sequence[str], source: str) -> str:
    """Words for annotators who look like models, and the remedy."""
    looks = f"{listing([repr(m) for m in models])} {'look like models' if len(models) > 1 else 'looks like a model'}"
    people = list(models) if judges is not None else list(names)
    person = f"humans={people}" if len(people) <= FEW else "a column 'kind' (human or judge)"
    return (
        f"{source}: {looks}, and nothing says who is a judge. Name all judges with "
        f"judges={[*(judges or ()), *models]}, or say with {person} who is a person"
    )


# -- what the table says ----------------------------------------------------------------------------


def _said_beside(frame: pl.DataFrame, *, only_words: bool) -> dict[str, str]:
    """The kinds that the table of annotators states; with ``only_words`` none where the column has another meaning."""
    words = frame.select("annotator", pl.col("kind").cast(pl.String).str.strip_chars().str.to_lowercase()).drop_nulls()
    odd = words.filter(~words["kind"].is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"the table of annotators: column 'kind' must say human or judge; '{odd['annotator'][0]}' has "
            f"{odd['kind'][0]!r}"
        )
    return {} if odd.height else dict(words.iter_rows())


def _said_of_labels(who: Coded, kinds: pl.Series, source: str, *, only_words: bool) -> dict[str, str]:
    """The one kind of each annotator, as a column of the labels says; empty cells say nothing.

    With ``only_words`` the user has named judges or people: a column of other words has another meaning then.
    """
    words, codes = coded(kinds.cast(pl.String).str.strip_chars().str.to_lowercase())
    cells = np.unique(who.codes.astype(np.int64) * len(words) + codes)
    said = pl.DataFrame(
        {"annotator": who.names.gather(cells // len(words)), "kind": words.gather(cells % len(words))},
        schema={"annotator": pl.String, "kind": pl.String},
    ).filter(pl.col("kind").is_not_null() & (pl.col("kind") != ""))
    odd = said.filter(~pl.col("kind").is_in(KINDS))
    if odd.height and not only_words:
        raise DataError(
            f"{source}: column 'kind' must say human or judge; annotator '{odd['annotator'][0]}' has {odd['kind'][0]!r}"
        )
    if odd.height:
        return {}
    both = said.filter(said["annotator"].is_duplicated())
    if both.height:
        raise DataError(f"{source}: annotator '{both['annotator'][0]}' is both human and judge")
    return dict(said.iter_rows())
