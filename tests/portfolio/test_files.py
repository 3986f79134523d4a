"""Files of every form, and files that mean harm."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from openpyxl import Workbook, load_workbook

from energycomm.pipeline.portfolio import wrong_header
from energycomm.portfolio.columns import fixed_columns, read_header
from energycomm.portfolio.files import Unreadable, rows_of, table_form, write_table
from energycomm.portfolio.opening import header_of, read_row
from tests.portfolio.tables import HEAD, csv_of, french

ROW = french(supply_start="2019-03-01", contract_subscribed_power="6,5", customer_surname="Élise")


def values_of(content: bytes, name: str) -> list[dict[str, object]]:
    """What the rows of a file hold; they have no mistakes."""
    form = table_form(content[: 1 << 16], name)
    assert form is not None
    rows = rows_of(io.BytesIO(content), form)
    columns, wrong = header_of(rows)
    assert wrong == []
    read = [read_row(columns, number, cells) for number, cells in rows]
    assert [one.wrong for one in read] == [[]] * len(read)
    return [one.values for one in read]


def xlsx(rows: list[list[object]]) -> bytes:
    book = Workbook()
    for row in rows:
        book.active.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def test_every_form_says_the_same() -> None:
    """Separators, encodings, a workbook with numbers and dates of its own, Parquet with types of its own."""
    text = csv_of(HEAD, [ROW])
    wanted = values_of(text.encode(), "p.csv")
    assert wanted[0]["customer.surname"] == "Élise"
    assert str(wanted[0]["contract.subscribed_power"]) == "6.5"
    assert wanted[0]["supply.start"] == dt.date(2019, 3, 1)
    for content in (
        text.encode("utf-8-sig"),
        text.encode("cp1252"),
        text.encode("utf-16"),
        csv_of(HEAD, [ROW], "\t").encode(),
        csv_of(HEAD, [ROW], "|").replace("\n", "\r\n").encode(),
        ('"' + '","'.join(HEAD) + '"\n"' + '","'.join(ROW.get(name, "") for name in HEAD) + '"\n').encode(),
    ):
        assert values_of(content, "p.csv") == wanted
    own: dict[str, object] = {
        "access_point": 99000000000017,
        "supply.start": dt.datetime(2019, 3, 1),
        "contract.subscribed_power": 6.5,
        "index.supplier.BASE": 12000.0,
    }
    cells = [own.get(name, ROW.get(name)) for name in HEAD]
    assert values_of(xlsx([list(HEAD), cells]), "p.xlsx") == wanted
    own["supply.start"] = dt.date(2019, 3, 1)
    table = pyarrow.table({name: [own.get(name, ROW.get(name))] for name in HEAD})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    assert values_of(stream.getvalue(), "p.parquet") == wanted


def test_a_template_has_every_column_and_can_be_filled(tmp_path: Path) -> None:
    """The names are those that are read."""
    for name in ("t.csv", "t.xlsx"):
        write_table(tmp_path / name, list(fixed_columns()), [])
        content = (tmp_path / name).read_bytes()
        form = table_form(content, name)
        assert form is not None
        columns, wrong = header_of(rows_of(io.BytesIO(content), form))
        assert (wrong, [one.name for one in columns]) == ([], list(fixed_columns()))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["tarif"], ["contract.tariff?"]),
        (["acces_point"], ["access_point?"]),
        (["qqqq"], ["a column of docs/portfolio.md"]),
        (["as_of"], ["each column once"]),
        (["point.2.segment"], ["point.segment?"]),
        (["Contract.Tariff", "CUSTOMER.SURNAME"], []),
        (["meter.2.serial", "request.12.state", "power.HPH", "index.supplier.HP.production"], []),
    ],
)
def test_columns_are_known_or_refused_with_the_nearest(names: list[str], expected: list[str]) -> None:
    """Unknown, twice, numbered where there is one only."""
    needed = ["market", "access_point", "as_of", "supply.start", "supply.supplier"]
    _, wrong = read_header([*needed, *names])
    assert [one.expected for one in wrong] == expected
    _, missing = read_header(names)
    assert "supply.start" in missing[-1].expected


def bomb() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("[Content_Types].xml", "<Types/>")
        with opened.open("xl/worksheets/sheet1.xml", "w") as sheet:
            for _ in range(64):
                sheet.write(b"0" * (1 << 20))
    return stream.getvalue()


def with_doctype() -> bytes:
    sound = io.BytesIO(xlsx([list(HEAD)]))
    stream = io.BytesIO()
    with zipfile.ZipFile(sound) as source, zipfile.ZipFile(stream, "w") as opened:
        for entry in source.infolist():
            text = source.read(entry)
            if entry.filename == "xl/workbook.xml":
                text = b'<!DOCTYPE x [<!ENTITY a "b">]>' + text
            opened.writestr(entry, text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a bomb", bomb),
        ("a DOCTYPE", with_doctype),
        ("a zip cut off", lambda: xlsx([list(HEAD)])[:-200]),
        ("a Parquet file cut off", lambda: b"PAR1" + b"\0" * 100),
        ("a line of ten megabytes", lambda: csv_of(HEAD, [french(customer_surname="x" * 10_000_000)]).encode()),
        ("an open quote", lambda: csv_of(HEAD, [french(customer_surname='"open')]).encode()),
    ],
)
def test_a_file_that_means_harm_is_refused(name: str, make: Callable[[], bytes]) -> None:
    """One refusal with what was expected, before it costs anything."""
    content = make()
    form = table_form(content[: 1 << 16], "p.xlsx")
    assert form is not None, name
    with pytest.raises(Unreadable) as caught:
        list(rows_of(io.BytesIO(content), form))
    assert caught.value.refusal.code == "PORTFOLIO_FILE"
    assert caught.value.refusal.advice


def test_a_cell_that_is_too_long_or_too_many_is_one_bad_row() -> None:
    """The others are read."""
    content = csv_of(HEAD, [french(customer_surname="x" * 2000), french()]) + ";".join(["1"] * 40) + "\n"
    rows = rows_of(io.BytesIO(content.encode()), "csv")
    columns, _ = header_of(rows)
    first, second, third = (read_row(columns, number, cells) for number, cells in rows)
    assert [one.path for one in first.wrong] == ["customer.surname"]
    assert second.wrong == []
    assert any("cells" in (one.value or "") for one in third.wrong)


def test_what_is_written_is_no_formula(tmp_path: Path) -> None:
    """A name that a spreadsheet would run stays a text, in CSV and in XLSX, and is read as it was."""
    evil = "=HYPERLINK(1)"
    for name in ("d.csv", "d.xlsx"):
        write_table(tmp_path / name, HEAD, [[evil if column == "customer.surname" else "1" for column in HEAD]])
    assert f"'{evil}" in (tmp_path / "d.csv").read_text("utf-8-sig")
    cell = load_workbook(tmp_path / "d.xlsx").active.cell(2, HEAD.index("customer.surname") + 1)
    assert (cell.data_type, cell.value) == ("s", evil)
    _, (_, cells) = rows_of(io.BytesIO((tmp_path / "d.csv").read_bytes()), "csv")
    assert cells[HEAD.index("customer.surname")] == evil


def test_all_mistakes_of_the_names_are_told_at_once() -> None:
    """Of a file of any form; of what is no table, nothing."""
    wrong = wrong_header(io.BytesIO(b"market;tarif;zzz\n"), "p.csv")
    assert [one.value for one in wrong] == ["tarif", "zzz", None]
    assert wrong_header(io.BytesIO(b"<C12/>"), "c12.xml") == []
