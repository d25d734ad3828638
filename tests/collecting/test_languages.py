"""The languages of the annotation page: catalogues, choice of the language, and complete translation."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from typing import Any, get_args

import pytest
from annotating import Annotator, Reply, Served
from phrases import ROOM, page_phrases, script_phrases

from assay.collecting import languages, serving
from assay.collecting.languages import Catalogue, Said, allowed_words, pick_language, words
from assay.data.scales import parse_scale
from assay.study.schema import SKIP_REASONS, Language

OTHERS = [one for one in get_args(Language) if one != "en"]


# -- the catalogues --------------------------------------------------------------------------------


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w*\}", text))


def test_each_language_has_a_catalogue() -> None:
    assert [one.language for one in languages.languages()] == list(get_args(Language))
    assert sorted(path.stem for path in (ROOM / "catalogues").iterdir()) == sorted(OTHERS)
    assert [one.language for one in languages.languages() if one.dir == "rtl"] == ["ar"]


@pytest.mark.slow
@pytest.mark.parametrize("language", OTHERS)
def test_catalogue_has_exactly_the_messages_of_the_code(language: str) -> None:
    raw = json.loads((ROOM / "catalogues" / f"{language}.json").read_text(encoding="utf-8"))
    script = script_phrases()
    assert set(raw["script"]) == script
    assert set(raw["page"]) == page_phrases() - script
    for english, other in (raw["script"] | raw["page"]).items():
        assert places(english) == places(other), english
        assert other.strip() == other, english
        assert other, english
        assert (english[-1] in ".!?") <= (other[-1] in ".!?。！？؟"), english


@pytest.mark.slow
def test_default_skip_reasons_are_in_the_catalogues() -> None:
    assert set(SKIP_REASONS) <= page_phrases()


def test_scale_descriptions_are_translatable() -> None:
    for scale in ("1-5", "nominal:a,b", "ordinal:low<high", "interval:0-1", "interval", "text", "odd-one-out"):
        found = allowed_words(parse_scale(scale))
        assert isinstance(found, Said), scale
        assert found == parse_scale(scale).describe()
    assert words("de").own(allowed_words(parse_scale("1-5"))) == "eine ganze Zahl von 1 bis 5"


def test_values_are_not_formatted_or_interpreted_as_html() -> None:
    said = Said("Answers of others to {question}", question="{0.__class__} <b>")
    assert words("de").own(said) == "Was andere auf {0.__class__} <b> geantwortet haben"
    assert words("de").own("Close") == "Close", "texts of the study are not translated"
    assert words("es").date(date(2027, 6, 30)) == "30 de junio de 2027"
    assert words("zh").date(date(2027, 6, 30)) == "2027年6月30日"
    assert words("en").date(date(2027, 6, 30)) == "30 June 2027"


# -- who chooses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "en;q=0.8, es-MX;q=0.9", "es"),
        (None, "fr-FR,fr;q=0.9,ar;q=0.1", "ar"),
        (None, "de;q=0,zh-TW", "zh"),
        (None, "de;q=x, ar;q=0.2", "ar"),
        (None, "*", "en"),
        (None, "", "en"),
        (None, "fr", "en"),
        (None, "fr," * 49 + "de", "de"),
        (None, "fr," * 50 + "de", "en"),  # only the first 50 languages are read
        ("ar", "de", "ar"),
        ("klingon", "de", "de"),
        ("../de", "", "en"),
    ],
)
def test_pick_language_prefers_the_choice_of_the_person(chosen: str | None, accepted: str, language: str) -> None:
    assert pick_language(chosen, accepted) == language


def page_in(language: str, person: Annotator, path: str = "/work") -> str:
    return person.send("GET", path, headers={"Accept-Language": language}).text


def test_language_attribute_sets_the_language(serve: Callable[..., Served]) -> None:
    for said in ("de", "de-AT", "German", " deutsch "):
        assert pick_language(None, "es", said) == "de"
    for said in ("", "French", "design", "den", "*"):
        assert pick_language(None, "es", said) == "es"
    assert pick_language("ar", "es", "de") == "ar"
    served = serve(who={"ana": {"language": "German"}})
    link = served.links["ana"]
    assert '<html lang="de"' in page_in("es", served.visitor(link), link), "before the first click"
    ana = served.annotator()
    assert '<html lang="de"' in page_in("es", ana)
    assert (
        words("de").say("This item is not assigned to you.")
        in ana.send("PUT", "/drafts/99", {"revision": 0, "body": {}}).text
    )
    ana.cookie += "; assay_language=zh"
    assert '<html lang="zh-Hans"' in page_in("es", ana), "their own choice has priority"


def test_study_can_fix_the_language(serve: Callable[..., Served]) -> None:
    page = serve(people={"language": "de"}).annotator()
    found = page_in("ar", page)
    assert '<html lang="de" dir="ltr">' in found
    assert "/language" not in found
    assert page.send("GET", "/language").status == 303


def test_person_chooses_the_language_on_the_page(serve: Callable[..., Served]) -> None:
    page = serve().annotator()
    assert '<html lang="ar" dir="rtl">' in page_in("ar", page)
    assert '<html lang="en" dir="ltr">' in page.send("GET", "/work").text
    reply = page.form("/language", language="es", back="/work/1")
    assert (reply.status, reply.headers["location"]) == (303, "/work/1")
    assert reply.cookies[0].startswith("assay_language=es;")
    page.cookie += "; assay_language=es"
    assert "Guardar y continuar" in page_in("de", page)


def test_personal_link_is_not_part_of_other_addresses(serve: Callable[..., Served]) -> None:
    served = serve()
    link = served.annotator(join=False).link
    for path, shown in ((link, "Abrir el estudio"), (f"{link}x", "Este enlace no abre la página")):
        found = page_in("es", served.visitor(), path)
        assert shown in found
        assert "/language" not in found


@pytest.mark.parametrize("back", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere", "", "/a b"])
def test_return_address_stays_on_this_server(serve: Callable[..., Served], back: str) -> None:
    page = serve().annotator()
    assert page.form("/language", language="es", back=back).status == 422
    assert page.form("/language", language="fr", back="/work").status == 422


@pytest.mark.slow
def test_refusals_are_translated_and_labels_are_not(serve: Callable[..., Served]) -> None:
    page = serve(people={"language": "de"})
    ana = page.annotator()
    (task, *_), _rest = ana.pages()
    number = task.questions[0].id
    refused = ana.answer(task, {number: 9})
    assert refused.status == 422
    assert refused.json()["questions"] == {str(number): "Erlaubt ist: eine ganze Zahl von 1 bis 5."}
    assert refused.json()["message"] == "Diese Antwort kann so nicht gespeichert werden."
    assert ana.answer(task, {number: 4}).status == 200
    stranger = page.visitor().send("GET", "/work")
    assert "Bitte öffnen Sie Ihren persönlichen Link" in stranger.text
    assert '<html lang="en"' in page.visitor().send("GET", "/lead").text, "the dashboard is in English"


# -- no English is left bare -----------------------------------------------------------------------


class _Pseudo(dict[str, str]):
    """A catalogue of a language that translates every message by adding brackets."""

    def get(self, english: str, default: Any = None) -> Any:
        return f"⟦{english}⟧"


class _Reader(HTMLParser):
    """The visible and spoken text of a page, without names of keys and text marked as another language."""

    SPOKEN = ("aria-label", "aria-valuetext", "alt", "title", "placeholder", "content")

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.skipped = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in ("kbd", "style", "script") or (tag != "html" and "lang" in given):
            self.skipped = tag
        if tag != "meta":
            self.found += [given[name] or "" for name in self.SPOKEN if name in given]

    def handle_endtag(self, tag: str) -> None:
        if tag == self.skipped:
            self.skipped = ""

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.found.append(data)


def bare_english(page: str) -> list[str]:
    """Latin words that are not from a catalogue."""
    reader = _Reader()
    reader.feed(page)
    text = "\n".join(reader.found)
    while "⟦" in text:
        shorter = re.sub(r"⟦[^⟦⟧]*⟧", "", text)
        assert shorter != text, text
        text = shorter
    return re.findall(r"[A-Za-z]{2,}[^\n]*", html.unescape(text))


def test_untranslated_english_is_detected() -> None:
    assert bare_english('<p>⟦In ⟦two⟧⟧ Bare</p><p aria-label="Too">1 <kbd>Enter</kbd></p>') == ["Bare", "Too"]


QUESTIONS = [
    {"name": "α", "text": "πόσα;", "scale": "1-5", "optional": True},
    {"name": "β", "text": "πόσα;", "scale": "interval:0-1"},
    {"name": "γ", "text": "ποιο;", "scale": "preference", "options": ["ένα", "δύο"]},
    {"name": "δ", "text": "τι;", "scale": "text"},
    {"name": "ε", "text": "τι;", "scale": "nominal:ναι,όχι"},
]
ITEMS = [{"item": f"ι{n}", "ένα": "α", "δύο": "β", "τρία": "γ"} for n in range(4)]
CROWD = {"platform": "other", "places": 3}
ASK = {
    "screening": {"σ": {"τι;": {"ν": True, "ο": False}}},
    "before": {"π": {"ποιο;": {"ν": True, "ο": False}}, "λ": {"λόγος;": "text"}},
}


@pytest.mark.slow
def test_pages_have_no_untranslated_text(serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch) -> None:
    def pseudo(language: str) -> Catalogue:
        return replace(words("en"), language="de", name="⟦⟧", page=_Pseudo(), script=_Pseudo())

    monkeypatch.setattr(serving, "words", pseudo)
    people = {"consent": "μ", "keep_until": "2027-06-30", "crowd": CROWD, "warm_up": "w.jsonl", "ask": ASK, "tries": 3}
    tables = {"w.jsonl": [ITEMS[0] | {"item": "ω1", "ε": "ναι"}]}
    page = serve(
        who=("ana",),
        name="Μ",
        items=ITEMS,
        questions=[{"show": ["τρία"], **one} for one in QUESTIONS],
        people=people,
        tables=tables,
    )
    ana = page.annotator(join=False)
    found = {path: page.visitor().send("GET", path) for path in (ana.link, "/work", "/enter?id=p1", "/enter")}
    ana.join()
    found["/questions"] = ana.send("GET", "/questions")
    found["incomplete"] = ana.form("/questions", number="1")
    ana.form("/questions", number="1", **{"q-π": "ο", "q-λ": ""})
    found["wrong"] = ana.send("GET", "/questions")
    ana.form("/questions", number="2", **{"q-π": "ν"})
    for path in ("/consent", "/work", "/work/1", "/leave", "/language", "/work/99", "/nowhere"):
        found[path] = ana.send("GET", path)
    for path in ("/pages?after=x", "/pages?after=0"):
        found[path] = ana.send("GET", path)
    for path, reply in found.items():
        text = "\n".join(said_in(reply))
        assert "⟦" in text, path
        assert bare_english(text.replace("ana", "")) == [], path


def said_in(reply: Reply) -> list[str]:
    """The part of a reply that the page's script shows, or all of a page."""
    if not reply.headers["content-type"].startswith("application/json"):
        return [reply.text]
    found = reply.json()
    shown = [one["html"] for one in found.get("pages", [])] + [(found.get("end") or {}).get("html", "")]
    return [*shown, found.get("message", ""), (found.get("session") or {}).get("words", "")]


def test_script_messages_are_all_in_the_catalogues() -> None:
    for path in sorted((ROOM / "static").glob("*.js")):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        code = re.sub(r"\bsay\(\s*\"[^\"]*\"", "", code)
        bare = re.findall(r"[\"`](?:\$\{[^}]*\} )?[A-Z][a-z]+[ .,…!?:][^\"`]*", code)
        assert path.name == "lead.js" or bare == [], path.name
