"""Stems and stemmed ROUGE as nltk 3.10.4 and rouge-score 0.1.2 give them (``RougeScorer(..., use_stemmer=True)``)."""

from __future__ import annotations

import pytest

import assay
from assay.errors import DesignError
from assay.similarity import stemming
from assay.similarity.stemming import IRREGULAR, porter_stem, rouge_stem

STEMS = """
abilities abil, agentic agent, agreeed agree, angelopoulos angelopoulo, applies appli, arbitrary arbitrari,
assigned assign, biweekly biweekli, blackwell blackwel, blurred blur, caiming caim, callousion callous,
cases case, catalli catal, caters cater, charalambous charalamb, chercheurs chercheur, chingos chingo,
circles circl, classes class, coins coin, colorrelated colorrel, computational comput, conditioning condit,
conditions condit, conflatying conflati, constructed construct, controltion controlt, controversy controversi,
cores core, counts count, covariates covari, crosses cross, denote denot, differene differen,
differenize differen, digitable digit, digited digit, digiter digit, discrepancy discrep, discussions discuss,
econometric econometr, electrical electr, electricate electr, electricfulli electr, electriciviti electric,
equipartitioned equipartit, etudiants etudi, examines examin, exception except, exclusion exclus,
expressions express, falle fall, fallfulness fall, fallies falli, feudalence feudal, fifths fifth,
figures figur, finds find, flattered flatter, flyies flyi, flylogi flylog, formible formibl,
formtional formtion, generalizations gener, grams gram, grounds ground, haiming haim, happyization happyiz,
happys happi, henrique henriqu, hissalli hissal, hissance hissanc, hisse hiss, hissization hissiz,
ignores ignor, implications implic, importance import, institutions institut, january januari, jaume jaum,
kamienny kamienni, laurie lauri, liebiliti liebil, many mani, markus marku, mechanical mechan, missed miss,
motories motori, motortional motort, multiplier multipli, national nation, operatlogi operatlog,
organized organ, orientation orient, originally origin, participle participl, partners partner,
penalty penalti, perturbed perturb, picked pick, pooling pool, powered power, preference prefer,
promotion promot, pronounced pronounc, proxy proxi, radicalence radical, radicality radic,
rationalee rationale, rationalement rational, rationalll rationall, reasons reason, receive receiv,
recommendations recommend, reducing reduc, reflecting reflect, relatesion relates, replicates replic,
respective respect
"""
"""Drawn from 10,879 words, of which every one had the stem of ``nltk.stem.porter.PorterStemmer()``."""


def test_stems_are_those_of_nltk():
    for pair in STEMS.replace("\n", " ").split(", "):
        word, stem = pair.split()
        assert porter_stem(word) == stem, word


@pytest.mark.parametrize(
    ("word", "stem"),
    [("dies", "die"), ("flies", "fli"), ("skies", "sky"), ("died", "die"), ("agreed", "agre"), ("feed", "feed"),
     ("hopping", "hop"), ("hissing", "hiss"), ("filing", "file"), ("happy", "happi"), ("enjoy", "enjoy"),
     ("conditionally", "condit"), ("geology", "geolog"), ("adoption", "adopt"),
     ("controlling", "control"), ("by", "by"), ("bys", "by")],
)  # fmt: skip
def test_rules_that_are_easily_missed(word, stem):
    assert porter_stem(word) == stem


def test_short_words_stay_as_rouge_has_it():
    assert [rouge_stem(word) for word in ("was", "his", "runs", "dies")] == ["was", "his", "run", "die"]
    assert all(porter_stem(word) == stem for word, stem in IRREGULAR.items())


@pytest.mark.parametrize(
    ("first", "second", "scores"),
    [
        ("the students added the numbers and relied on addition", "a student was adding numbers, relying on additions",
         (12 / 17, 4 / 15, 12 / 17)),
        ("Ten times ten makes one hundred.", "10x10 is 100!! tens and hundreds", (1 / 3, 0.0, 1 / 3)),
        ("She is generalizing operational definitions happily",
         "General operations were defined, she was happy", (6 / 13, 2 / 11, 4 / 13)),
        ("dies flies skies news", "dying flying sky new", (0.75, 2 / 3, 0.75)),
        ("he runs, it eats", "they ran; it was eaten", (2 / 9, 0.0, 2 / 9)),
    ],
)  # fmt: skip
def test_stemmed_rouge_is_the_golden_one(first, second, scores):
    pytest.importorskip("rapidfuzz", reason='ROUGE-L needs the extra "similarity"')
    for name, wanted in zip(("rouge-1", "rouge-2", "rouge-l"), scores, strict=True):
        found = assay.similarity_matrix([first, second], f"{name},stem=porter")[0, 1]
        assert found == pytest.approx(wanted, abs=1e-12), name


def test_words_as_they_are_stay_the_default():
    texts = ["students played", "student playing"]
    assert assay.similarity_matrix(texts, "rouge-1")[0, 1] == 0
    assert assay.similarity_matrix(texts, "rouge-1,stem=porter")[0, 1] == 1
    with pytest.raises(DesignError, match="stem must be none or porter; got 'snowball'"):
        assay.similarity_matrix(texts, "rouge-1,stem=snowball")


@pytest.mark.parametrize(("word", "stem"), [("using", "use"), ("aged", "age"), ("owed", "owe"), ("failing", "fail")])
def test_short_stems_get_their_e_back_after_a_vowel_and_a_consonant(word, stem):
    assert porter_stem(word) == stem


# -- the steps, with the examples of Porter (1980) for each rule -------------------------------------

STEPS = {
    stemming._plural: "caresses caress, ponies poni, caress caress, cats cat, ties tie, bass bass, s ",
    stemming._past: (
        "feed feed, agreed agree, plastered plaster, bled bled, motoring motor, sing sing, conflated conflate, "
        "troubled trouble, sized size, hopping hop, tanned tan, falling fall, hissing hiss, fizzed fizz, "
        "failing fail, filing file, died die, cried cri, bowed bow, boxed box, played play"
    ),
    stemming._final_y: "happy happi, sky ski, y y, by by, enjoy enjoy, say say, cry cri",
    stemming._double_suffix: (
        "relational relate, conditional condition, rational rational, valenci valence, hesitanci hesitance, "
        "digitizer digitize, conformabli conformable, radicalli radical, differentli different, vileli vile, "
        "analogousli analogous, vietnamization vietnamize, predication predicate, operator operate, feudalism feudal, "
        "decisiveness decisive, hopefulness hopeful, callousness callous, formaliti formal, sensitiviti sensitive, "
        "sensibiliti sensible, geologi geolog, logi logi"
    ),
    stemming._ful_ness: (
        "triplicate triplic, formative form, formalize formal, electriciti electric, electrical electric, "
        "hopeful hope, goodness good"
    ),
    stemming._single_suffix: (
        "revival reviv, allowance allow, inference infer, airliner airlin, gyroscopic gyroscop, adjustable adjust, "
        "defensible defens, irritant irrit, replacement replac, adjustment adjust, dependent depend, adoption adopt, "
        "homologou homolog, communism commun, activate activ, angulariti angular, homologous homolog, "
        "effective effect, bowdlerize bowdler, decision decis, opinion opinion, alal alal"
    ),
    stemming._final_e: "probate probat, rate rate, cease ceas, the the, able abl, e e, tree tree",
    stemming._final_ll: "controll control, roll roll, control control, full full",
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_each_step_does_what_porter_says(step):
    for pair in STEPS[step].split(", "):
        word, _, stem = pair.partition(" ")
        assert step(word) == stem, word


@pytest.mark.parametrize(
    ("measure", "words"),
    [(0, "tr ee tree y by"), (1, "trouble oats trees ivy"), (2, "troubles private oaten orrery"), (3, "atatat")],
)
def test_the_measure_is_that_of_porter(measure, words):
    for word in words.split():
        assert stemming.porter_measure(word) == measure
        assert stemming.has_measure(word) == (measure > 0)
        assert stemming.has_long_measure(word) == (measure > 1)


@pytest.mark.parametrize(
    ("word", "kinds"),
    [("toy", "cvc"), ("syzygy", "cvcvcv"), ("y", "c"), ("yes", "cvc"), ("ay", "vc"), ("yy", "cv"), ("", "")],
)
def test_y_is_a_consonant_at_the_beginning_and_after_a_vowel(word, kinds):
    assert stemming.consonants(word) == [kind == "c" for kind in kinds]
    assert stemming._has_vowel(word) == ("v" in kinds)


@pytest.mark.parametrize(
    ("word", "double", "short"),
    [("hop", False, True), ("fail", False, False), ("bow", False, False), ("box", False, False), ("toy", False, False),
     ("us", False, True), ("by", False, False), ("s", False, False), ("ss", True, False), ("ee", False, False),
     ("tann", True, False), ("free", False, False), ("sho", False, False), ("in", False, True), ("try", False, False),
     ("stop", False, True), ("iot", False, False)],
)  # fmt: skip
def test_double_consonants_and_short_ends(word, double, short):
    assert stemming.ends_double(word) == double
    assert stemming.ends_short(word) == short


@pytest.mark.parametrize(("word", "stem"), [("is", "is"), ("as", "as"), ("us", "us"), ("bus", "bu"), ("ias", "ia")])
def test_words_of_two_letters_are_stems(word, stem):
    assert porter_stem(word) == stem


@pytest.mark.parametrize(("word", "stem"), [("orally", "oral"), ("formally", "formal"), ("ally", "alli")])
def test_alli_requires_a_vowel_and_consonant_before(word, stem):
    """In Porter's second step *orally* is *or* with *ally*; *ally* itself has no prefix."""
    assert porter_stem(word) == stem
