//! Go's time layouts, which format the reference time `Mon Jan 2 15:04:05 MST 2006`.

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// The elements of a layout. A longer element precedes its prefixes, such as `January` before
/// `Jan`.
const ELEMENTS: &[&str] = &[
    "January", "Jan", "Monday", "Mon", "MST", "2006", "-07:00", "-0700", "Z07:00", "01", "02",
    "03", "04", "05", "06", "15", "PM", "pm", "_2", "1", "2", "3", "4", "5",
];

/// Formats a time with `layout`. `rfc3339` is the time as `Timestamp` prints it.
pub(super) fn format(layout: &str, rfc3339: &str) -> String {
    let number = |from: usize, to: usize| {
        rfc3339
            .get(from..to)
            .and_then(|t| t.parse::<usize>().ok())
            .unwrap_or(0)
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    let zone = rfc3339
        .get(19..)
        .unwrap_or("")
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = if zone == "Z" { "+00:00" } else { zone };
    let month_name = month
        .checked_sub(1)
        .and_then(|m| MONTHS.get(m))
        .copied()
        .unwrap_or("");
    let day_name = DAYS.get(weekday(year, month, day)).copied().unwrap_or("");
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let mut out = String::new();
    let mut rest = layout;
    while let Some(c) = rest.chars().next() {
        let Some((element, after)) = ELEMENTS
            .iter()
            .find_map(|e| Some((*e, rest.strip_prefix(e)?)))
        else {
            out.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or("");
            continue;
        };
        rest = after;
        out.push_str(&match element {
            "January" => month_name.to_owned(),
            "Jan" => month_name.chars().take(3).collect(),
            "Monday" => day_name.to_owned(),
            "Mon" => day_name.chars().take(3).collect(),
            "MST" => {
                if zone == "Z" {
                    "UTC".to_owned()
                } else {
                    offset.replace(':', "")
                }
            }
            "2006" => format!("{year:04}"),
            "06" => format!("{:02}", year % 100),
            "-07:00" => offset.to_owned(),
            "-0700" => offset.replace(':', ""),
            "Z07:00" => zone.to_owned(),
            "01" => format!("{month:02}"),
            "1" => month.to_string(),
            "02" => format!("{day:02}"),
            "_2" => format!("{day:2}"),
            "2" => day.to_string(),
            "15" => format!("{hour:02}"),
            "03" => format!("{twelve:02}"),
            "3" => twelve.to_string(),
            "04" => format!("{minute:02}"),
            "4" => minute.to_string(),
            "05" => format!("{second:02}"),
            "5" => second.to_string(),
            "PM" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            _ => if hour < 12 { "am" } else { "pm" }.to_owned(),
        });
    }
    out
}

/// Returns the day of the week, 0 for Sunday, by Sakamoto's method.
fn weekday(year: usize, month: usize, day: usize) -> usize {
    const SHIFT: [usize; 12] = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 {
        year.saturating_sub(1)
    } else {
        year
    };
    let shift = month
        .checked_sub(1)
        .and_then(|m| SHIFT.get(m))
        .copied()
        .unwrap_or(0);
    (year + year / 4 - year / 100 + year / 400 + shift + day) % 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_formatted_by_go_layout() {
        let at = "2026-02-03T16:05:09+02:00";
        assert_eq!(
            format("Monday 2 January 2006, 03:04 pm", at),
            "Tuesday 3 February 2026, 04:05 pm"
        );
        assert_eq!(format("2006-01-02T15:04:05Z07:00", at), at);
        assert_eq!(format("02/01/06 MST -0700", at), "03/02/26 +0200 +0200");
        assert_eq!(format("15:04 MST", "2000-02-29T00:00:00.5Z"), "00:00 UTC");
        assert_eq!(format("Mon", "2000-02-29T00:00:00Z"), "Tue");
    }
}
