//! Dates and times of a text against those of payloads.

use jiff::civil;

use super::{How, Mismatch, numbers::Says};
use crate::grounding::scan::{Date, Hedge, Time};

/// Does a date of a payload say what a text says? The text may leave out parts, not add any but the year.
pub fn date_says(told: Date, found: Date) -> Option<Says> {
    let readings =
        |date: Date| [Some(date), date.ambiguous.then_some(Date { month: date.day, day: date.month, ..date })];
    let mut best: Option<Says> = None;
    for (first, told) in readings(told).into_iter().enumerate().filter_map(|(index, date)| Some((index, date?))) {
        for (second, found) in readings(found).into_iter().enumerate().filter_map(|(index, date)| Some((index, date?)))
        {
            let says = one_date_says(told, found, first + second > 0);
            best = match (best, says) {
                (Some(Says::Same { weak: false, .. }), _) | (_, None) => best,
                (Some(Says::Same { .. }), Some(Says::Otherwise(_))) => best,
                _ => says,
            };
        }
    }
    best
}

fn one_date_says(told: Date, found: Date, second_reading: bool) -> Option<Says> {
    let part = |told: Option<i8>, found: Option<i8>| told.is_none() || told == found;
    if !part(told.month, found.month) || !part(told.day, found.day) {
        return None;
    }
    let year_missing = told.year.is_some() && found.year.is_none();
    if told.year.is_some() && !year_missing && told.year != found.year {
        return None;
    }
    let bare = told.year.is_none() && told.month.is_none() && told.day.is_none();
    if year_missing && told.month.is_none() {
        return None;
    }
    if let Some(told) = told.weekday {
        match found.weekday.or_else(|| weekday(found)) {
            Some(found) if found == told => {}
            Some(_) if bare => return None,
            Some(_) if weekday(found).is_some() => return Some(Says::Otherwise(Mismatch::Weekday)),
            _ if bare => return None,
            _ => {}
        }
    } else if bare {
        return None;
    }
    let same_parts = told.year.is_some() == found.year.is_some()
        && told.month.is_some() == found.month.is_some()
        && told.day.is_some() == found.day.is_some();
    let how = if same_parts { How::Exact } else { How::DateForm };
    Some(Says::Same { how, weak: second_reading || year_missing, sign_differs: false })
}

/// Of a date of which all is known.
pub fn weekday(date: Date) -> Option<i8> {
    Some(civil(date)?.weekday().to_monday_one_offset())
}

pub fn civil(date: Date) -> Option<civil::Date> {
    civil::Date::new(date.year?, date.month?, date.day?).ok()
}

/// The day of a moment in milliseconds since 1970, where the clock is `offset` minutes ahead of UTC.
pub fn local_day(millis: i64, offset: i16) -> Option<civil::Date> {
    let local = jiff::Timestamp::from_millisecond(millis.checked_add(i64::from(offset) * 60_000)?).ok()?;
    Some(jiff::tz::Offset::UTC.to_datetime(local).date())
}

pub fn from_civil(date: civil::Date) -> Date {
    Date { year: Some(date.year()), month: Some(date.month()), day: Some(date.day()), weekday: None, ambiguous: false }
}

/// Hours that a time may mean: "2:05" is 14:05 as well.
pub fn hours(told: Time) -> impl Iterator<Item = i8> {
    let other = told.half_day_open.then_some((told.hour + 12).rem_euclid(24));
    // "12:30" may be half an hour after midnight.
    [Some(told.hour), other].into_iter().flatten()
}

/// Does a time of day of a payload say what a text says, on the same clock?
pub fn time_says(told: Time, hedge: Hedge, found: Time) -> Option<Says> {
    if let (Some(told), Some(found)) = (told.offset, found.offset)
        && told != found
    {
        return None;
    }
    let hour = hours(told).position(|hour| hour == found.hour)?;
    let found_minute = found.minute.unwrap_or(0);
    let how = match told.minute {
        Some(minute) if minute == found_minute => {
            if told.second.is_some() && found.second.is_some() && told.second != found.second {
                return None;
            }
            if told.second.is_some() == found.second.is_some() { How::Exact } else { How::DateForm }
        }
        Some(minute) if hedge == Hedge::About && (minute - found_minute).abs() <= 10 => How::Hedged,
        Some(_) => return None,
        None if found_minute == 0 => How::DateForm,
        None if hedge == Hedge::About => How::Hedged,
        None => How::Truncated,
    };
    Some(Says::Same { how, weak: hour > 0 || how >= How::Truncated, sign_differs: false })
}

/// A moment in minutes since 1970, in UTC; None where no zone is known.
pub fn minutes(date: Date, time: Time) -> Option<i64> {
    let at = civil(date)?.at(time.hour, time.minute.unwrap_or(0), 0, 0);
    let seconds = jiff::tz::Offset::UTC.to_timestamp(at).ok()?.as_second();
    Some(seconds / 60 - i64::from(time.offset?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i16, month: i8, day: i8) -> Date {
        let known = |part: i8| (part != 0).then_some(part);
        Date {
            year: (year != 0).then_some(year),
            month: known(month),
            day: known(day),
            weekday: None,
            ambiguous: false,
        }
    }

    fn same(told: Date, found: Date) -> Option<How> {
        match date_says(told, found) {
            Some(Says::Same { how, .. }) => Some(how),
            _ => None,
        }
    }

    #[test]
    fn a_date_may_be_told_in_parts() {
        let found = date(2026, 3, 9);
        assert_eq!(same(date(2026, 3, 9), found), Some(How::Exact));
        for part in [date(2026, 3, 0), date(0, 3, 9), date(2026, 0, 0), date(0, 3, 0), date(0, 0, 9)] {
            assert_eq!(same(part, found), Some(How::DateForm), "{part:?}");
        }
        for other in [date(2026, 3, 8), date(2025, 3, 9), date(2026, 4, 0), date(0, 9, 3), date(0, 0, 0)] {
            assert_eq!(same(other, found), None, "{other:?}");
        }
        assert_eq!(same(date(2026, 3, 9), date(2026, 3, 0)), None, "the text may not be more precise");
        let with_year = date_says(date(2026, 3, 9), date(0, 3, 9));
        assert!(matches!(with_year, Some(Says::Same { weak: true, .. })), "the year may be known otherwise");
    }

    #[test]
    fn day_and_month_may_be_the_other_way_round() {
        let told = Date { ambiguous: true, ..date(2026, 3, 9) };
        assert_eq!(same(told, date(2026, 9, 3)), Some(How::Exact));
        assert_eq!(same(told, date(2026, 3, 9)), Some(How::Exact));
        assert_eq!(same(date(2026, 3, 9), date(2026, 9, 3)), None);
    }

    #[test]
    fn a_weekday_has_to_be_that_of_its_date() {
        let found = date(2026, 3, 9);
        let told = |weekday| Date { weekday: Some(weekday), ..found };
        assert_eq!(same(told(1), found), Some(How::Exact));
        assert_eq!(date_says(told(2), found), Some(Says::Otherwise(Mismatch::Weekday)));
        let alone = |weekday| Date { weekday: Some(weekday), ..date(0, 0, 0) };
        assert!(same(alone(1), found).is_some() && date_says(alone(2), found).is_none());
    }

    #[test]
    fn times_of_twelve_and_of_twenty_four_hours() {
        let time = |hour, minute| Time { hour, minute, second: None, offset: None, half_day_open: false };
        let found = time(14, Some(5));
        let says = |told, hedge| time_says(told, hedge, found).is_some();
        assert!(says(time(14, Some(5)), Hedge::None) && !says(time(2, Some(5)), Hedge::None));
        assert!(says(Time { half_day_open: true, ..time(2, Some(5)) }, Hedge::None));
        assert!(says(time(14, Some(0)), Hedge::About) && !says(time(14, Some(0)), Hedge::None));
        let zoned = Time { offset: Some(60), ..time(14, Some(5)) };
        assert!(time_says(zoned, Hedge::None, Time { offset: Some(0), ..found }).is_none());
    }
}
