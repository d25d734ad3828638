"""Sheets as users keep them: one small study in many layouts, each with the correct reading.

A kind writes its files into a folder and returns the correct reading: the labels of each annotator by item, the judges,
and the number of items. If the sheet cannot be read, it returns a part of the error message.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import polars as pl

PEOPLE = ("Ann", "Bob", "Cho")
JUDGE = "gpt-4o"
N = 24

_rng = np.random.default_rng(5)
_truth = _rng.integers(1, 6, N)
CELLS: dict[str, dict[str, int]] = {
    who: {
        f"q{i:03}": int(np.clip(_truth[i] + _rng.choice([-1, 0, 0, 0, 1]), 1, 5))
        for i in range(N)
    }
    for who in (*PEOPLE, JUDGE)
}  # fmt: skip
ITEMS = list(CELLS["Ann"])


@dataclass(frozen=True)
class Wanted:
    """The correct reading; ``refused`` is part of the error message if the sheet has to be refused."""

    people: tuple[str, ...] = PEOPLE
    judges: tuple[str, ...] = (JUDGE,)
    cells: dict[str, dict[str, Any]] = field(default_factory=lambda: CELLS)
    n_items: int = N
    named: bool = True
    """Whether items keep their names."""
    criteria: tuple[str, ...] = ()
    refused: str = ""


@dataclass(frozen=True)
class Kind:
    name: str
    write: Callable[[Path], Path]
    wanted: Wanted


KINDS: dict[str, Kind] = {}
HUMAN_ONLY = Wanted(judges=(), cells={who: CELLS[who] for who in PEOPLE})


def kind(wanted: Wanted = Wanted(), name: str | None = None) -> Callable[[Callable[[Path], Path]], Callable[..., Path]]:
    def keep(function: Callable[[Path], Path]) -> Callable[[Path], Path]:
        known = name or function.__name__
        assert known not in KINDS
        KINDS[known] = Kind(known, function, wanted)
        return function

    return keep


def wide(
    who: Sequence[str] = (*PEOPLE, JUDGE), item: str = "ID", names: dict[str, str] | None = None
) -> pl.DataFrame:  # fmt: skip
    names = names or {}
    return pl.DataFrame({item: ITEMS, **{names.get(w, w): list(CELLS[w].values()) for w in who}})


def long(
    who: Sequence[str] = (*PEOPLE, JUDGE), columns: Sequence[str] = ("item", "annotator", "label")
) -> pl.DataFrame:
    rows = [(i, w, CELLS[w][i]) for i in ITEMS for w in who]
    return pl.DataFrame(rows, schema=list(columns), orient="row")


def texts(frame: pl.DataFrame) -> list[list[str | None]]:
    return [frame.columns, *[[None if c is None else str(c) for c in row] for row in frame.rows()]]


def csv_text(rows: Sequence[Sequence[Any]], separator: str = ",") -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(c in text for c in (separator, '"', "\n")) else text

    return "".join(separator.join(map(cell, row)) + "\n" for row in rows)


def put(folder: Path, data: str | bytes | pl.DataFrame, name: str = "sheet.csv") -> Path:
    path = folder / name
    if isinstance(data, pl.DataFrame):
        data = csv_text(texts(data))
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def people_names(*names: str, judge: str = JUDGE) -> Wanted:
    cells = {**dict(zip(names, [CELLS[p] for p in PEOPLE], strict=True)), judge: CELLS[JUDGE]}
    return Wanted(people=tuple(names), judges=(judge,), cells=cells)


# -- minimal spreadsheets ------------------------------------------------------------------------------

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def _letters(i: int) -> str:
    found, i = "", i + 1
    while i:
        i, r = divmod(i - 1, 26)
        found = chr(65 + r) + found
    return found


def xlsx(path: Path, sheets: dict[str, Sequence[Sequence[Any]]]) -> Path:
    """A workbook of numbers and texts."""
    numbers = range(1, len(sheets) + 1)
    part = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    types = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{part}.worksheet+xml"/>' for i in numbers
    )
    names = "".join(f'<sheet name="{escape(n)}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, 1))
    links = "".join(
        f'<Relationship Id="r{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.'
            'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{part}.sheet.main+xml"/>{types}</Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
            'Target="xl/workbook.xml"/></Relationships>',
        )
        file.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{names}</sheets></workbook>'
        )
        file.writestr(
            "xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'
        )
        for i, rows in zip(numbers, sheets.values(), strict=True):
            file.writestr(f"xl/worksheets/sheet{i}.xml", _sheet_xml(rows))
    return path


def _sheet_xml(rows: Sequence[Sequence[Any]]) -> str:
    lines = []
    for r, row in enumerate(rows, 1):
        cells = ""
        for c, value in enumerate(row):
            at = f"{_letters(c)}{r}"
            if isinstance(value, int | float):
                cells += f'<c r="{at}"><v>{value}</v></c>'
            elif value is not None:
                cells += f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        lines.append(f'<row r="{r}">{cells}</row>')
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def rows_of(frame: pl.DataFrame) -> list[list[Any]]:
    return [list(frame.columns), *map(list, frame.rows())]


# -- long ------------------------------------------------------------------------------------------------


@kind()
def canonical(folder: Path) -> Path:
    return put(folder, long())


@kind()
def capitals(folder: Path) -> Path:
    return put(folder, long(columns=("Item", "Annotator", "Label")))


@kind()
def own_words(folder: Path) -> Path:
    return put(folder, long(columns=("question_id", "worker", "rating")))


@kind()
def camel_case(folder: Path) -> Path:
    return put(folder, long(columns=("itemId", "raterId", "score")))


@kind()
def long_with_time_and_comment(folder: Path) -> Path:
    frame = long(columns=("id", "rater", "score")).with_columns(
        created_at=pl.lit("2024-05-01 10:00:00"), comment=pl.lit("hm"), seconds=pl.lit(12)
    )
    return put(folder, frame)


@kind(HUMAN_ONLY)
def long_of_people(folder: Path) -> Path:
    return put(folder, long(PEOPLE, columns=("doc_id", "coder", "grade")))


@kind()
def long_with_kind(folder: Path) -> Path:
    frame = long()
    return put(folder, frame.with_columns(kind=pl.when(pl.col("annotator") == JUDGE).then(pl.lit("judge")).otherwise(
        pl.lit("human"))))  # fmt: skip


@kind()
def long_with_a_majority(folder: Path) -> Path:
    extra = [(i, "Majority", sorted(CELLS[p][i] for p in PEOPLE)[1]) for i in ITEMS]
    frame = pl.concat([long(), pl.DataFrame(extra, schema=["item", "annotator", "label"], orient="row")])
    return put(folder, frame)


@kind()
def long_merged_cells(folder: Path) -> Path:
    rows = [[i if k == 0 else "", w, CELLS[w][i]] for i in ITEMS for k, w in enumerate((*PEOPLE, JUDGE))]
    return put(folder, csv_text([["item", "rater", "rating"], *rows]))


@kind()
def json_lines(folder: Path) -> Path:
    lines = [json.dumps({"item_id": i, "user": w, "rating": v}) for i, w, v in long().rows()]
    return put(folder, "\n".join(lines) + "\n", "labels.jsonl")


@kind()
def json_nested(folder: Path) -> Path:
    return put(folder, json.dumps(CELLS), "labels.json")


@kind()
def parquet(folder: Path) -> Path:
    long(columns=("Item", "Rater", "Rating")).write_parquet(folder / "labels.parquet")
    return folder / "labels.parquet"


@kind(Wanted(criteria=("accuracy", "clarity")))
def long_of_criteria(folder: Path) -> Path:
    frame = long(columns=("item", "annotator", "score"))
    return put(folder, pl.concat([frame.with_columns(criterion=pl.lit(c)) for c in ("clarity", "accuracy")]))


# -- wide --------------------------------------------------------------------------------------------------


@kind()
def wide_plain(folder: Path) -> Path:
    return put(folder, wide())


@kind(HUMAN_ONLY)
def wide_of_people(folder: Path) -> Path:
    return put(folder, wide(PEOPLE))


@kind()
def wide_lower_case_id(folder: Path) -> Path:
    return put(folder, wide(item="prompt_id"))


@kind(HUMAN_ONLY)
def wide_with_mean(folder: Path) -> Path:
    means = [round(sum(CELLS[p][i] for p in PEOPLE) / 3, 2) for i in ITEMS]
    return put(folder, wide(PEOPLE).with_columns(Mean=pl.Series(means)))


@kind()
def wide_with_mean_of_people(folder: Path) -> Path:
    means = [round(sum(CELLS[p][i] for p in PEOPLE) / 3, 1) for i in ITEMS]
    return put(folder, wide().with_columns(pl.Series("avg_score", means)))


@kind(HUMAN_ONLY)
def wide_with_majority(folder: Path) -> Path:
    votes = [sorted(CELLS[p][i] for p in PEOPLE)[1] for i in ITEMS]
    return put(folder, wide(PEOPLE).with_columns(Majority=pl.Series(votes)))


@kind(HUMAN_ONLY)
def wide_with_total_of_another_name(folder: Path) -> Path:
    return put(folder, wide(PEOPLE).with_columns(X=pl.sum_horizontal(*PEOPLE)))


@kind(HUMAN_ONLY)
def wide_with_a_nameless_median(folder: Path) -> Path:
    votes = [sorted(CELLS[p][i] for p in PEOPLE)[1] for i in ITEMS]
    return put(folder, wide(PEOPLE).with_columns(Final=pl.Series(votes)))


@kind(HUMAN_ONLY)
def wide_with_average_row(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    averages = [f"{sum(CELLS[p].values()) / N:.2f}" for p in PEOPLE]
    return put(folder, csv_text([*rows, ["Average", *averages]]))


@kind(HUMAN_ONLY)
def wide_with_total_row(folder: Path) -> Path:
    return put(folder, csv_text([*texts(wide(PEOPLE)), ["Total", *[sum(CELLS[p].values()) for p in PEOPLE]]]))


@kind()
def wide_with_length(folder: Path) -> Path:
    return put(folder, wide().with_columns(Length=pl.Series(range(100, 100 + 7 * N, 7))))


@kind()
def wide_with_everything(folder: Path) -> Path:
    frame = wide().with_columns(
        Mean=pl.mean_horizontal(*PEOPLE).round(2), Topic=pl.Series(["health", "law", "art"] * 8),
        Comments=pl.Series(["", "unclear", "fine"] * 8), Submitted=pl.lit("2024-05-01 10:00"),
        Text=pl.Series([f"The long answer number {i}, in some words that no one has to count." for i in range(N)]),
    )  # fmt: skip
    return put(folder, frame)


@kind()
def wide_item_covariates_first(folder: Path) -> Path:
    frame = wide().with_columns(topic=pl.Series(["a", "b"] * 12), year=pl.lit(2024))
    return put(folder, frame.select("topic", "year", "ID", *PEOPLE, JUDGE))


@kind(people_names(*PEOPLE, judge="Prediction"))
def wide_prediction(folder: Path) -> Path:
    return put(folder, wide(names={JUDGE: "Prediction"}))


@kind(people_names(*PEOPLE, judge="AI score"))
def wide_ai_score(folder: Path) -> Path:
    return put(folder, wide(names={JUDGE: "AI score"}))


@kind(people_names(*PEOPLE, judge="sonnet"))
def wide_sonnet(folder: Path) -> Path:
    return put(folder, wide(names={JUDGE: "sonnet"}))


@kind(people_names("human_1", "human_2", "human_3", judge="candidate"))
def wide_judge_by_what_people_share(folder: Path) -> Path:
    names = {p: f"human_{k}" for k, p in enumerate(PEOPLE, 1)} | {JUDGE: "candidate"}
    return put(folder, wide(names=names))


@kind(Wanted(judges=(), cells={w: CELLS[w] for w in PEOPLE}, named=False))
def wide_without_items(folder: Path) -> Path:
    return put(folder, wide(PEOPLE).drop("ID"))


@kind()
def wide_with_row_numbers(folder: Path) -> Path:
    return put(folder, csv_text([["", *wide().columns], *[[k, *row] for k, row in enumerate(wide().rows())]]))


@kind()
def wide_as_r_writes(folder: Path) -> Path:
    rows = [[f'"{k}"', f'"{row[0]}"', *row[1:]] for k, row in enumerate(wide().rows(), 1)]
    return put(folder, " ".join(f'"{n}"' for n in wide().columns) + "\n" + "".join(
        " ".join(map(str, row)) + "\n" for row in rows), "ratings.txt")  # fmt: skip


@kind(HUMAN_ONLY)
def wide_with_row_names_of_r(folder: Path) -> Path:
    return put(folder, csv_text([list(PEOPLE), *map(list, wide(PEOPLE).rows())]))


_FURTHER = {
    "Ann": CELLS["Ann"],
    "Bob": CELLS["Bob"] | {f"z{k}": 2 for k in range(6)},
    "Cho": CELLS["Cho"] | {f"z{k}": 3 for k in range(6)},
}


@kind(Wanted(judges=(), n_items=N + 6, cells=_FURTHER))
def wide_missing_marks(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    rows += [[f"z{k}", mark, "2", "3"] for k, mark in enumerate(("n.a.", ".", "-", "N/A", "–", ""))]
    return put(folder, csv_text(rows))


@kind(HUMAN_ONLY)
def wide_with_a_word_for_no_answer(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    return put(folder, csv_text([*rows, ["z1", "skip", "", ""]]))


@kind(HUMAN_ONLY)
def wide_numbers_with_spaces(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    return put(folder, csv_text([rows[0], *[[row[0], *[f" {c} " for c in row[1:]]] for row in rows[1:]]]))


@kind(HUMAN_ONLY)
def wide_decimal_commas(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    return put(folder, csv_text([rows[0], *[[r[0], *[f"{c},0" for c in r[1:]]] for r in rows[1:]]], ";"))


@kind(HUMAN_ONLY)
def wide_parts_of_five(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    return put(folder, csv_text([rows[0], *[[r[0], *[f"{c}/5" for c in r[1:]]] for r in rows[1:]]]))


_WORD = {1: "poor", 2: "fair", 3: "good", 4: "very good", 5: "excellent"}
_WORDS = {w: {i: _WORD[v] for i, v in cells.items()} for w, cells in CELLS.items()}


@kind(Wanted(cells=_WORDS))
def wide_words(folder: Path) -> Path:
    frame = wide().with_columns(pl.col(c).replace_strict(_WORD) for c in (*PEOPLE, JUDGE))
    return put(folder, frame)


@kind(Wanted(cells=_WORDS))
def wide_words_in_two_cases(folder: Path) -> Path:
    frame = wide().with_columns(pl.col(c).replace_strict(_WORD) for c in (*PEOPLE, JUDGE))
    odd = pl.int_range(pl.len()) == 3
    return put(folder, frame.with_columns(Bob=pl.when(odd).then(pl.col("Bob").str.to_uppercase()).otherwise("Bob")))


@kind(Wanted(cells={w: {i: "yes" if v > 3 else "no" for i, v in c.items()} for w, c in CELLS.items()}))
def wide_yes_and_no(folder: Path) -> Path:
    yes = {True: "yes", False: "no"}
    return put(folder, wide().with_columns((pl.col(c) > 3).replace_strict(yes) for c in (*PEOPLE, JUDGE)))


@kind(Wanted(judges=(), cells={p: CELLS[p] for p in PEOPLE}, criteria=("accuracy", "clarity")))
def wide_two_header_rows(folder: Path) -> Path:
    rows = [[i, *[CELLS[p][i] for _ in range(2) for p in PEOPLE]] for i in ITEMS]
    return put(folder, csv_text([["ID", "clarity", "", "", "accuracy", "", ""], ["", *PEOPLE, *PEOPLE], *rows]))


@kind(Wanted(criteria=("accuracy", "clarity")))
def wide_criteria_in_names(folder: Path) -> Path:
    who = (*PEOPLE, JUDGE)
    data = {f"{w}_{c}": list(CELLS[w].values()) for w in who for c in ("clarity", "accuracy")}
    return put(folder, pl.DataFrame({"ID": ITEMS, **data}))


_ONE_PERSON = {"human_label": CELLS["Ann"], "llm_label": CELLS[JUDGE]}


@kind(Wanted(people=("human_label",), judges=("llm_label",), cells=_ONE_PERSON))
def wide_human_label_and_llm_label(folder: Path) -> Path:
    return put(folder, wide(("Ann", JUDGE), names={"Ann": "human_label", JUDGE: "llm_label"}))


@kind(people_names("A1", "A2", "A3", judge="M1"))
def wide_letters_for_people_and_models(folder: Path) -> Path:
    return put(folder, wide(names=dict(zip((*PEOPLE, JUDGE), ("A1", "A2", "A3", "M1"), strict=True))))


@kind(Wanted(criteria=("accuracy", "clarity")))
def long_with_a_column_for_each_criterion(folder: Path) -> Path:
    frame = long(columns=("item", "rater", "clarity")).with_columns(accuracy=pl.col("clarity"), notes=pl.lit("x"))
    return put(folder, frame)


@kind()
def long_with_a_column_of_models(folder: Path) -> Path:
    return put(folder, long(columns=("prompt_id", "model", "score")))


@kind()
def wide_with_confidence(folder: Path) -> Path:
    return put(folder, wide().with_columns(Ann_confidence=pl.lit(0.7), Bob_confidence=pl.lit(0.8)))


@kind()
def wide_with_gold(folder: Path) -> Path:
    return put(folder, wide().with_columns(gold=pl.col("Ann")))


@kind(HUMAN_ONLY)
def wide_with_spread_and_mean_rows(folder: Path) -> Path:
    frame = wide(PEOPLE).with_columns(SD=pl.Series([k / 50 for k in range(N)]))
    return put(folder, csv_text([*texts(frame), ["Mean", "3.1", "3.2", "3.3", ""], ["SD", "1.1", "1.2", "1.3", ""]]))


_SLIP = {"Ann": {i: v for i, v in CELLS["Ann"].items() if i != "q023"}, "Bob": CELLS["Bob"], "Cho": CELLS["Cho"]}


@kind(Wanted(judges=(), cells=_SLIP))
def wide_with_a_slip(folder: Path) -> Path:
    rows = texts(wide(PEOPLE))
    return put(folder, csv_text([*rows[:-1], ["q023", "44", *rows[-1][2:]]]))


@kind(people_names("Müller", "Jäger", "Weiß", judge="KI"))
def german_windows(folder: Path) -> Path:
    names = dict(zip((*PEOPLE, JUDGE), ("Müller", "Jäger", "Weiß", "KI"), strict=True))
    return put(folder, csv_text(texts(wide(item="Frage", names=names)), ";").encode("cp1252"))


@kind(HUMAN_ONLY)
def people_in_two_cases(folder: Path) -> Path:
    frame = long(PEOPLE)
    odd = pl.int_range(pl.len()) < 9
    return put(folder, frame.with_columns(annotator=pl.when(odd).then(pl.col("annotator").str.to_lowercase()).otherwise(
        "annotator")))  # fmt: skip


@kind()
def json_records(folder: Path) -> Path:
    return put(folder, json.dumps(wide().to_dicts()), "sheet.json")


@kind(Wanted(refused="has two columns"))
def two_columns_of_one_name(folder: Path) -> Path:
    return put(folder, csv_text([["ID", "score", "score"], *map(list, wide(("Ann", "Bob")).rows())]))


@kind(Wanted(refused="more than one row"))
def wide_with_rows_twice(folder: Path) -> Path:
    return put(folder, pl.concat([wide(), wide().head(2)]))


@kind(HUMAN_ONLY)
def ends_of_a_scale_in_words(folder: Path) -> Path:
    ends = {1: "1 - poor", 2: "2", 3: "3", 4: "4", 5: "5 - great"}
    return put(folder, long(PEOPLE).with_columns(pl.col("label").replace_strict(ends)))


# -- files of other programs ----------------------------------------------------------------------------


def _bytes(name: str, data: Callable[[], bytes], wanted: Wanted = Wanted(), file: str = "sheet.csv") -> None:
    kind(wanted, name)(lambda folder: put(folder, data(), file))


_bytes("utf_16", lambda: csv_text(texts(wide())).encode("utf-16"))
_bytes("utf_8_with_mark", lambda: csv_text(texts(wide())).encode("utf-8-sig"))
_bytes(
    "windows", lambda: csv_text(texts(wide(names={"Ann": "Änne"}))).encode("cp1252"), people_names("Änne", "Bob", "Cho")
)
_bytes("semicolons", lambda: csv_text(texts(wide()), ";").encode())
_bytes("sep_line", lambda: b"sep=;\r\n" + csv_text(texts(wide()), ";").replace("\n", "\r\n").encode())
_bytes("tabs", lambda: csv_text(texts(wide()), "\t").encode(), file="sheet.tsv")
_bytes("title_rows", lambda: ("Ratings of wave 1,,,,\n,,,,\n" + csv_text(texts(wide()))).encode())
_bytes("title_line", lambda: ("Ratings of wave 1\n\n" + csv_text(texts(wide()))).encode())
_bytes("blank_rows_at_the_end", lambda: (csv_text(texts(wide())) + ",,,,\n" * 5).encode())
_bytes("gzipped", lambda: gzip.compress(csv_text(texts(long())).encode()), file="labels.csv.gz")


@kind()
def zipped(folder: Path) -> Path:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as file:
        file.writestr("ratings.csv", csv_text(texts(wide())))
    return put(folder, held.getvalue(), "ratings.zip")


@kind()
def spreadsheet(folder: Path) -> Path:
    return xlsx(folder / "ratings.xlsx", {"Sheet1": rows_of(wide())})


@kind()
def spreadsheet_with_title_and_key(folder: Path) -> Path:
    rows = [["Ratings of wave 1"], [None], *rows_of(wide())]
    return xlsx(folder / "ratings.xlsx", {"Wave 1": rows, "Key": [["code", "meaning"], [1, "poor"], [5, "excellent"]]})


@kind()
def spreadsheet_two_waves(folder: Path) -> Path:
    other = wide().head(20)
    return xlsx(folder / "ratings.xlsx", {"Wave 1": rows_of(wide()), "Wave 2": rows_of(other)})


@kind()
def spreadsheet_merged(folder: Path) -> Path:
    rows = [[i if k == 0 else None, w, CELLS[w][i]] for i in ITEMS for k, w in enumerate((*PEOPLE, JUDGE))]
    return xlsx(folder / "ratings.xlsx", {"Sheet1": [["item", "rater", "rating"], *rows]})


# -- forms ------------------------------------------------------------------------------------------------


def _form(who: Sequence[str], name: str | None) -> pl.DataFrame:
    data = {f"Q{k} [{i}]": [CELLS[w][i] for w in who] for k, i in enumerate(ITEMS, 1)}
    stamp = {"Timestamp": [f"2024/05/{k:02} 10:00:00 AM" for k in range(1, len(who) + 1)]}
    return pl.DataFrame({**stamp, **({name: list(who)} if name else {}), **data})


_QUESTIONS = {p: {f"Q{k} [{i}]": CELLS[p][i] for k, i in enumerate(ITEMS, 1)} for p in (*PEOPLE, JUDGE)}


@kind(Wanted(judges=(), cells={p: _QUESTIONS[p] for p in PEOPLE}))
def google_form(folder: Path) -> Path:
    return put(folder, _form(PEOPLE, "Your name"))


@kind(Wanted(people=("row 2", "row 3", "row 4"), judges=(),
             cells={f"row {k}": _QUESTIONS[p] for k, p in enumerate(PEOPLE, 2)}))  # fmt: skip
def google_form_without_names(folder: Path) -> Path:
    return put(folder, _form(PEOPLE, None))


@kind(Wanted(cells=_QUESTIONS))
def form_with_a_model_in_a_row(folder: Path) -> Path:
    return put(folder, _form((*PEOPLE, JUDGE), "Email address"))


_QUALTRICS = {f"R_{k}": {f"Q{j}": CELLS[p][i] for j, i in enumerate(ITEMS, 1)} for k, p in enumerate(PEOPLE)}


@kind(Wanted(people=("R_0", "R_1", "R_2"), judges=(), cells=_QUALTRICS))
def qualtrics(folder: Path) -> Path:
    names = [
        "StartDate",
        "EndDate",
        "Status",
        "Progress",
        "Duration (in seconds)",
        "Finished",
        "ResponseId",
        "UserLanguage",
    ]
    asked = [f"Q{j}" for j in range(1, N + 1)]
    head = [[*names, *asked], [*names, *[f"How good is answer {j}?" for j in range(1, N + 1)]],
            [json.dumps({"ImportId": n}) for n in (*names, *asked)]]  # fmt: skip
    rows = [["2024-05-01 10:00:00", "2024-05-01 10:30:00", "IP Address", "100", "1800", "True", f"R_{k}", "EN",
             *CELLS[p].values()] for k, p in enumerate(PEOPLE)]  # fmt: skip
    return put(folder, csv_text([*head, *rows]))


# -- platforms and other questions -----------------------------------------------------------------------


@kind(Wanted(people=("voters",), judges=(), cells={}, n_items=2, named=False))
def arena(folder: Path) -> Path:
    return put(folder, "model_a,model_b,winner\ngpt-4,llama,model_a\nllama,claude,tie\n")


@kind()
def alt_test_folder(folder: Path) -> Path:
    place = folder / "study"
    place.mkdir()
    (place / "human_annotations.json").write_text(json.dumps({p: CELLS[p] for p in PEOPLE}))
    (place / "llm_annotations.json").write_text(json.dumps({JUDGE: CELLS[JUDGE]}))
    return place


# -- sheets that cannot be read -----------------------------------------------------------------------------


@kind(Wanted(refused="name"))
def one_column(folder: Path) -> Path:
    return put(folder, "name\nann\nbob\n")


@kind(Wanted(refused="dates"))
def dates_for_labels(folder: Path) -> Path:
    return put(folder, long().with_columns(label=pl.format("2024-05-0{}", "label")))


@kind(Wanted(refused="given several times"))
def answers_twice(folder: Path) -> Path:
    return put(folder, pl.concat([long(), long().head(3)]))


@kind(Wanted(refused="decimals or thousands"))
def thousands_or_decimals(folder: Path) -> Path:
    return put(folder, csv_text(texts(long().with_columns(label=pl.format("{},250", "label"))), ";"))


@kind(Wanted(refused="not supported"))
def a_pdf(folder: Path) -> Path:
    return put(folder, b"%PDF-1.7 ...", "ratings.pdf")


@kind(Wanted(refused="empty"))
def nothing(folder: Path) -> Path:
    return put(folder, b"")
