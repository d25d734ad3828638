"""The studies that the browser is shown: one for each kind of page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from browsing import Site, picture

REVIEWS = (
    "The soup was cold and no one cared. We asked twice, and twice someone promised to come back; no one did.\n\n"
    "The bread, at least, was good.",
    "Lovely evening, we will be back. <b>Try the figs</b> & the cheese.",
    "Good food, slow service.",
    "Overpriced, but the view makes up for it.",
    "The best bread in town, and kind people.",
    "We waited an hour and left.",
)
STORY = (
    "A ferry company in the north of the country wants to replace three of its diesel ferries with electric ones by "
    "2028. The harbour towns welcome quieter boats but fear that fares will rise, and the union asks who will be "
    "trained to look after the batteries.\n\nThe first of the new boats is being built now; it carries 120 cars."
)

SHOWN = ["text", "photo"]


def stars(folder: Path) -> Site:
    """One choice from 1 to 5 and an optional reason, with instructions."""
    return Site(
        folder,
        {
            "name": "Stars for restaurant reviews",
            "items": {"file": "items.jsonl"},
            "questions": [
                {
                    "name": "stars",
                    "text": "How many stars would the writer of this review give?",
                    "scale": "1-5",
                    "meanings": {1: "very bad", 5: "excellent"},
                    "guidelines": "Judge the whole visit as the writer saw it, not the food alone.",
                },
                {"name": "why", "text": "What made you choose this?", "scale": "text", "optional": True},
            ],
            "people": {"order": "fixed", "instructions": "Read the whole review first.\n\nThere is no right answer."},
        },
        {"items.jsonl": [{"item": f"r{n}", "review": text} for n, text in enumerate(REVIEWS, start=1)]},
    )


def kinds(folder: Path) -> Site:
    """Four questions about each item: letters as keys, a bounded number, an unbounded number, and a text."""
    folder.mkdir(parents=True, exist_ok=True)
    picture(folder / "one.png", (92, 132, 196))
    return Site(
        folder,
        {
            "name": "Several questions",
            "items": {"file": "items.jsonl", "images": ["photo"]},
            "questions": [
                {
                    "name": "tone",
                    "text": "What is its tone?",
                    "scale": "nominal:yes,no,neither of the two",
                    "show": SHOWN,
                    "keys": {"yes": "y", "no": "n"},
                    "meanings": {"yes": "the writer is friendly", "no": "the writer is not"},
                },
                {"name": "quality", "show": SHOWN, "text": "How good is it?", "scale": "interval:0-10"},
                {"name": "words", "show": SHOWN, "text": "How many words would you have used?", "scale": "interval"},
                {"name": "summary", "show": SHOWN, "text": "Sum it up in one sentence.", "scale": "text"},
            ],
            "people": {"order": "fixed", "consent": "You will read short texts.\n\nYour name is not published."},
        },
        {"items.jsonl": [{"item": f"k{n}", "text": REVIEWS[n], "photo": "one.png"} for n in range(4)]},
    )


def pairs(folder: Path) -> Site:
    """Three pairs about one source text on a page."""
    rows = [
        {
            "item": f"{story}{n}",
            "document": story,
            "source": STORY if story == "d1" else "Another text, much shorter.",
            "one": f"Electric ferries are coming, and towns worry about fares. ({story}, {n}, first)",
            "two": f"A company buys boats. Some people have questions about that. ({story}, {n}, second)",
        }
        for story in ("d1", "d2")
        for n in range(1, 4)
    ]
    return Site(
        folder,
        {
            "name": "Which summary is better?",
            "items": {"file": "items.jsonl", "document": "document"},
            "questions": [
                {
                    "name": "better",
                    "text": "Which summary is better?",
                    "scale": "preference",
                    "options": ["one", "two"],
                    "show": ["source"],
                }
            ],
            "people": {"order": "fixed", "together": True},
        },
        {"items.jsonl": rows},
    )


def odd(folder: Path) -> Site:
    """Pick the odd one out of three."""
    rows = [
        {
            "item": f"t{n}",
            "document": f"Essay {n}: on electric ferries",
            "first": "The harbour becomes quieter, and divers hear whales again.",
            "second": "Noise falls in the port; animals come back.",
            "third": "Tickets may cost more from next year on.",
        }
        for n in range(1, 5)
    ]
    return Site(
        folder,
        {
            "name": "The odd one out",
            "items": {"file": "items.jsonl"},
            "questions": [
                {
                    "name": "odd",
                    "text": "Which one says something else than the other two?",
                    "scale": "odd-one-out",
                    "options": ["first", "second", "third"],
                    "show": ["document"],
                }
            ],
            "people": {"order": "fixed", "instructions": "Look at what is said, not at how it is said."},
        },
        {"items.jsonl": rows},
    )


def practice(folder: Path) -> Site:
    """Two practice items with feedback, before two that count."""
    return Site(
        folder,
        {
            "name": "With practice",
            "items": {"file": "items.jsonl"},
            "questions": [{"name": "stars", "text": "How many stars?", "scale": "1-5"}],
            "people": {"order": "fixed", "warm_up": "gold.jsonl"},
        },
        {
            "items.jsonl": [{"item": f"p{n}", "review": REVIEWS[n]} for n in range(2)],
            "gold.jsonl": [
                {"item": "g1", "review": "Splendid.", "stars": 5, "feedback": "Praise without a but is a five."},
                {"item": "g2", "review": "Awful.", "stars": 1, "feedback": ""},
            ],
        },
    )


def sessions(folder: Path) -> Site:
    """One question on two scales, a session for each."""
    return Site(
        folder,
        {
            "name": "On two scales",
            "items": {"file": "items.jsonl"},
            "questions": [{"name": "quality", "text": "How good is it?", "scale": "interval:0-10"}],
            "conditions": {"scale": ["interval:0-5", "interval:0-100"]},
            "people": {"order": "fixed"},
        },
        {"items.jsonl": [{"item": f"s{n}", "review": REVIEWS[n]} for n in range(2)]},
    )


STUDIES: dict[str, Callable[[Path], Site]] = {
    one.__name__: one for one in (stars, kinds, pairs, odd, practice, sessions)
}
