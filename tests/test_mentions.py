"""Numbers, sums, percentages and dates as people of many countries write them are found whole, with the value written.

Babel writes them, by the rules of Unicode's CLDR; the scanner, which does not know who wrote, must read the value back.
"""

from datetime import date
from decimal import Decimal

import pytest
from babel.dates import format_date
from babel.numbers import format_currency, format_decimal, format_percent
from hypothesis import example, given
from hypothesis import strategies as st

from callmatch import _core

LOCALES = [
    "en_US",
    "en_GB",
    "en_IN",
    "de_DE",
    "de_CH",
    "fr_FR",
    "fr_CH",
    "es_ES",
    "es_MX",
    "it_IT",
    "pt_BR",
    "pt_PT",
    "nl_NL",
    "sv_SE",
    "da_DK",
    "nb_NO",
    "fi_FI",
    "pl_PL",
    "cs_CZ",
    "ru_RU",
    "tr_TR",
    "ja_JP",
    "ko_KR",
    "zh_CN",
    "hi_IN",
    "bn_BD",
    "ar_EG",
    "he_IL",
    "fa_IR",
]
# Marks of the direction of writing, which may or may not count as part of a number at its ends.
MARKS = "\u200e\u200f\u061c "

values = st.decimals(min_value=-10_000_000, max_value=10_000_000, places=2)
dates = st.dates(min_value=date(1990, 1, 1), max_value=date(2060, 12, 31))
locales = st.sampled_from(LOCALES)


def only_mention(written: str) -> dict:
    text = f"It was {written} then."
    mentions = _core.mentions(text)
    assert len(mentions) == 1, (text, mentions)
    (mention,) = mentions
    found = text[mention["start"] : mention["end"]]
    assert found == mention["text"]
    assert found.strip(MARKS) == written.strip(MARKS), text
    return mention


def readings(mention: dict) -> list[Decimal]:
    return [Decimal(value) for value, _ in mention["readings"]]


@given(values, locales)
@example(Decimal("1.234"), "de_DE")
@example(Decimal("1234"), "en_US")
@example(Decimal("-1234567.5"), "fa_IR")
def test_numbers(value: Decimal, locale: str) -> None:
    mention = only_mention(format_decimal(value, locale=locale, decimal_quantization=False))
    assert mention["kind"] == "number"
    assert mention["unit"] is None
    assert value in readings(mention)


@given(values, locales, st.sampled_from(["EUR", "USD", "GBP", "JPY", "INR", "CHF", "BRL"]))
@example(Decimal("-3.25"), "fa_IR", "EUR")
def test_sums_of_money(value: Decimal, locale: str, code: str) -> None:
    mention = only_mention(
        format_currency(value, code, locale=locale, currency_digits=False, decimal_quantization=False)
    )
    assert value in readings(mention)
    kind, found = mention["unit"]
    assert kind.startswith("currency")
    # A sign that several currencies share may stand for any of them.
    assert found == code or kind == "currency_symbol"


@given(values, locales)
@example(Decimal("12"), "tr_TR")
def test_percentages(value: Decimal, locale: str) -> None:
    mention = only_mention(format_percent(value / 100, locale=locale, decimal_quantization=False))
    assert mention["unit"] == ("percent", "%")
    assert value in readings(mention)


@given(dates, locales, st.sampled_from(["long", "full"]))
def test_dates_in_words(day: date, locale: str, length: str) -> None:
    written = format_date(day, length, locale=locale)
    mentions = [mention for mention in _core.mentions(f"It was {written} then.") if mention["kind"] == "date"]
    assert len(mentions) == 1, (written, mentions)
    (mention,) = mentions
    assert (mention["year"], mention["month"], mention["day"]) == (day.year, day.month, day.day), written
    assert mention["weekday"] in (None, day.isoweekday())


# Korean writes the year first and with two digits, which is no date to anybody else.
@given(dates, st.sampled_from([locale for locale in LOCALES if locale != "ko_KR"]))
def test_dates_in_digits(day: date, locale: str) -> None:
    mention = only_mention(format_date(day, "short", locale=locale))
    assert mention["kind"] == "date"
    found = (mention["month"], mention["day"])
    assert found == (day.month, day.day) or (mention["ambiguous"] and found == (day.day, day.month))
    assert mention["year"] % 100 == day.year % 100


@given(st.text())
def test_places_of_any_text(text: str) -> None:
    end = 0
    for mention in _core.mentions(text):
        assert end <= mention["start"] < mention["end"] <= len(text)
        end = mention["end"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("😀 5 km", [(2, 6)]),
        ("é“A-99812”", [(2, 9)]),
        ("\U0001f600" * 3 + " €1,234.50", [(4, 13)]),
    ],
)
def test_places_count_code_points(text: str, places: list[tuple[int, int]]) -> None:
    assert [(mention["start"], mention["end"]) for mention in _core.mentions(text)] == places
