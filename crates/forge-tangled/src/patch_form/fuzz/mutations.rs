//! Changes of a patch, as a stranger would make them: some keep its form, most do not.

use std::collections::BTreeSet;

use forge_testkit::Random;

/// What occurs in the repository.
pub(super) struct Material {
    pub paths: BTreeSet<String>,
    /// Ids of all blobs.
    pub ids: Vec<String>,
}

const LINES: [&str; 36] = [
    "\n",
    " \n",
    "\r\n",
    "-- \n",
    "---\n",
    "--- \n",
    "\\ No newline at end of file\n",
    "\\ \n",
    "diff --git a/build.sh b/build.sh\n",
    "--- a/build.sh\n",
    "+++ b/build.sh\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "@@ -1 +1 @@\n",
    "@@ -1,4 +1,4 @@ x\n",
    "+evil\n",
    "-echo one\n",
    " echo one\n",
    "copy from build.sh\n",
    "copy to evil\n",
    "rename from build.sh\n",
    "rename to evil\n",
    "rename old build.sh\n",
    "new mode 100755\n",
    "old mode 100644\n",
    "new file mode 100755\n",
    "deleted file mode 100644\n",
    "similarity index 50%\n",
    "GIT binary patch\n",
    "literal 0\n",
    "HcmV?d00001\n",
    "Binary files a/build.sh and b/build.sh differ\n",
    "Index: build.sh\n",
    "From: Mail System Internal Data <m@example.com>\n",
    "Subject: [PATCH] [x] Re: other\n",
    "From 1111111111111111111111111111111111111111 Mon Sep 17 00:00:00 2001\n",
];

const CHARACTERS: [&str; 16] = [
    "\0", "\t", "\"", "\\", "\r", " ", "+", "-", "a", "/", "\n", ",", "0", "\\000", "\u{e4}", ".",
];

pub(super) fn mutate(
    text: &str,
    material: &Material,
    pool: &[Vec<String>],
    random: &mut Random,
) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return text.to_owned();
    }
    let at = index_below(lines.len(), random);
    let other = index_below(lines.len(), random);
    match random.below(20) {
        0 => {
            let line = lines[at].clone();
            lines.insert(other, line);
        }
        1 => {
            lines.remove(at);
        }
        2 => lines.swap(at, other),
        3 | 4 => lines.insert(at, (*random.pick(&LINES)).to_owned()),
        5 => lines[at] = change_number(&lines[at], random),
        6 => lines[at] = change_character(&lines[at], random),
        7 => change_id(&mut lines, material, random),
        8 => {
            let end = (at + 1 + index_below(6, random)).min(lines.len());
            let block: Vec<String> = lines.drain(at..end).collect();
            let to = index_below(lines.len() + 1, random);
            lines.splice(to..to, block);
        }
        9 => change_path(&mut lines, material, random),
        10 | 11 => shift_hunks(&mut lines, random),
        12..=15 => change_content(&mut lines, at, random),
        16 => drop_hunk(&mut lines, random),
        17 => swap_files(&mut lines, random),
        18 => {
            let mails = random.pick(pool);
            lines.push(random.pick(mails).clone());
        }
        _ => change_header(&mut lines, random),
    }
    lines.concat()
}

fn index_below(count: usize, random: &mut Random) -> usize {
    usize::try_from(random.below(count.max(1) as u64)).unwrap()
}

fn change_number(line: &str, random: &mut Random) -> String {
    let digits: Vec<usize> = line
        .char_indices()
        .filter_map(|(at, c)| c.is_ascii_digit().then_some(at))
        .collect();
    if digits.is_empty() {
        return line.to_owned();
    }
    let at = *random.pick(&digits);
    format!("{}{}{}", &line[..at], random.below(10), &line[at + 1..])
}

fn change_character(line: &str, random: &mut Random) -> String {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).collect();
    let Some(&at) = starts.get(index_below(starts.len(), random)) else {
        return line.to_owned();
    };
    let length = line[at..].chars().next().map_or(0, char::len_utf8);
    let rest = if random.below(2) == 0 {
        &line[at..]
    } else {
        &line[at + length..]
    };
    format!("{}{}{rest}", &line[..at], random.pick(&CHARACTERS))
}

/// Returns the indexes of the lines for which `is_it` is true.
fn find_lines(lines: &[String], is_it: fn(&str) -> bool) -> Vec<usize> {
    let found = lines.iter().enumerate().filter(|(_, line)| is_it(line));
    found.map(|(at, _)| at).collect()
}

fn is_hunk(line: &str) -> bool {
    line.starts_with("@@ -")
}

/// Puts the id of another blob into an `index` line.
fn change_id(lines: &mut [String], material: &Material, random: &mut Random) {
    let found = find_lines(lines, |line| line.starts_with("index "));
    let Some(&at) = found.get(index_below(found.len(), random)) else {
        return;
    };
    let id = random.pick(&material.ids);
    let Some((old, rest)) = lines[at].split_once("..") else {
        return;
    };
    let length = rest.find([' ', '\n']).unwrap_or(rest.len());
    let id = if random.below(2) == 0 {
        id.as_str()
    } else {
        &id[..length.min(40)]
    };
    lines[at] = format!("{old}..{id}{}", &rest[length..]);
}

/// Replaces a path in one line, or in all lines.
fn change_path(lines: &mut [String], material: &Material, random: &mut Random) {
    let paths: Vec<&String> = material.paths.iter().collect();
    let text = lines.concat();
    let present: Vec<&&String> = paths
        .iter()
        .filter(|path| text.contains(path.as_str()))
        .collect();
    if present.is_empty() {
        return;
    }
    let from = random.pick(&present).as_str();
    let to = random.pick(&paths).as_str();
    let only = (random.below(2) == 0).then(|| index_below(lines.len(), random));
    for (at, line) in lines.iter_mut().enumerate() {
        let is_header = !matches!(line.as_bytes().first(), Some(b' ' | b'@'));
        if is_header && only.is_none_or(|only| only <= at) && line.contains(from) {
            *line = line.replace(from, to);
            if only.is_some() {
                return;
            }
        }
    }
}

/// Parses `@@ -1,2 +3,4 @@ section` into its four numbers and the rest.
fn parse_hunk(line: &str) -> Option<([i64; 4], String)> {
    let (ranges, section) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(i64, i64)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let (old, new) = (range(old)?, range(new)?);
    Some(([old.0, old.1, new.0, new.1], section.to_owned()))
}

fn print_hunk([old, old_count, new, new_count]: [i64; 4], section: &str) -> String {
    let range = |start: i64, count: i64| {
        if count == 1 {
            start.to_string()
        } else {
            format!("{start},{count}")
        }
    };
    format!(
        "@@ -{} +{} @@{section}",
        range(old, old_count),
        range(new, new_count)
    )
}

/// Moves all hunks of a file from one hunk on, by the same number of lines.
fn shift_hunks(lines: &mut [String], random: &mut Random) {
    let found = find_lines(lines, is_hunk);
    let Some(&first) = found.get(index_below(found.len(), random)) else {
        return;
    };
    let by = i64::try_from(random.below(21)).unwrap() - 10;
    for line in lines.iter_mut().skip(first) {
        if line.starts_with("diff --git ") {
            return;
        }
        if let Some(([old, a, new, b], section)) = parse_hunk(line) {
            *line = print_hunk([old + by, a, new + by, b], &section);
        }
    }
}

/// Changes a line of a hunk, and the numbers of the hunk and of those after it.
fn change_content(lines: &mut Vec<String>, at: usize, random: &mut Random) {
    let Some(hunk) = (0..at).rev().find(|at| is_hunk(&lines[*at])) else {
        return;
    };
    let Some((mut numbers, section)) = parse_hunk(&lines[hunk]) else {
        return;
    };
    let (old, new) = match lines[at].as_bytes().first() {
        Some(b' ') => (1, 1),
        Some(b'+') => (0, 1),
        Some(b'-') => (1, 0),
        _ => return,
    };
    let words = [
        "+evil\n",
        "+\n",
        "+ \t\n",
        "+-- \n",
        "+x\r\n",
        "+@@ -1 +1 @@\n",
        "+++ b/x\n",
        "+\0\n",
    ];
    let (before, after) = (
        (old, new),
        match random.below(4) {
            0 => {
                lines.insert(at, (*random.pick(&words)).to_owned());
                (old, new + 1)
            }
            1 => {
                lines.remove(at);
                (0, 0)
            }
            2 => {
                let kind = *random.pick(&["+", "-", " "]);
                lines[at] = format!("{kind}{}", &lines[at][1..]);
                (i64::from(kind != "+"), i64::from(kind != "-"))
            }
            _ => {
                lines[at] = change_character(&lines[at], random);
                (old, new)
            }
        },
    );
    let (old_change, new_change) = (after.0 - before.0, after.1 - before.1);
    numbers[1] += old_change;
    numbers[3] += new_change;
    lines[hunk] = print_hunk(numbers, &section);
    for line in lines.iter_mut().skip(hunk + 1) {
        if line.starts_with("diff --git ") {
            return;
        }
        if let Some(([old, a, new, b], section)) = parse_hunk(line) {
            *line = print_hunk([old, a, new + new_change - old_change, b], &section);
        }
    }
}

/// Removes a hunk without changing the numbers of those after it.
fn drop_hunk(lines: &mut Vec<String>, random: &mut Random) {
    let found = find_lines(lines, is_hunk);
    let Some(&start) = found.get(index_below(found.len(), random)) else {
        return;
    };
    let is_end = |line: &String| is_hunk(line) || line.starts_with("diff --git ");
    let length = lines[start + 1..].iter().position(is_end);
    let end = length.map_or(lines.len(), |length| start + 1 + length);
    lines.drain(start..end);
}

/// Swaps two neighbouring files.
fn swap_files(lines: &mut Vec<String>, random: &mut Random) {
    let found = find_lines(lines, |line| line.starts_with("diff --git "));
    let at = index_below(found.len(), random);
    let (Some(&first), Some(&second)) = (found.get(at), found.get(at + 1)) else {
        return;
    };
    let end = found.get(at + 2).copied().unwrap_or(second);
    let block: Vec<String> = lines.drain(first..second).collect();
    let to = end.max(second) - block.len();
    lines.splice(to..to, block);
}

/// Changes who wrote a mail, or its subject.
fn change_header(lines: &mut Vec<String>, random: &mut Random) {
    let headers = [
        "From: Eve <eve@example.com>\n",
        "From: eve@example.com (Eve \"E\" Z)\n",
        "From: =?UTF-8?q?Mail_System_Internal_Data?= <m@example.com>\n",
        "From: \"Eve, F.\" <eve@example.com>\n",
        "Subject: [PATCH] [other] Re: [x] title\n",
        "Subject: =?UTF-8?b?w6Q=?= =?iso-8859-1?q?=E4?= end\n",
        "Subject: re: lower\n",
        "X-Header: a\n folded\n",
    ];
    let header = (*random.pick(&headers)).to_owned();
    let name = header.split(':').next().unwrap_or_default().to_owned();
    let end = lines.iter().position(|line| line == "\n").unwrap_or(0);
    let known = lines[..end]
        .iter()
        .position(|line| line.starts_with(&format!("{name}:")));
    match known {
        Some(at) if random.below(2) == 0 => lines[at] = header,
        _ => {
            // A header in the message goes before those of the mail.
            let at = (end + 1).min(lines.len());
            lines.insert(at, header);
        }
    }
}
