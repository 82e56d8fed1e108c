//! Prints the header of a changed file from its parsed form, and compares it with the header that
//! was read (git's `diff.c`: `builtin_diff` and `fill_metainfo`; `quote.c`).

use forge_core::{
    diff::{FileDiff, FileHeader, Hunk, HunkHeader},
    model::FileStatus,
};

use super::{binary, is_lower_hex};

/// File modes of git: files, links and submodules.
const MODES: [u32; 4] = [0o100_644, 0o100_755, 0o120_000, SUBMODULE];
const SUBMODULE: u32 = 0o160_000;
/// The type of a file, as part of its mode.
const TYPE_OF_MODE: u32 = 0o170_000;
/// Least number of digits to which git shortens an id.
const MIN_ID_DIGITS: usize = 4;
/// Ids of empty content, in SHA-1 and in SHA-256.
const EMPTY_IDS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

const OTHER_HEADER: &str = "a file header in a form that git does not print";

/// Checks that git would print a file of a diff in exactly these bytes. `content_left` is the size
/// that the binary content of the patch may still have.
///
/// # Errors
/// What is different, for a sentence that begins with "the patch has".
pub(super) fn check_file(file: &FileDiff<'_>, content_left: &mut u64) -> Result<(), &'static str> {
    let header = &file.header;
    let (old, new) = check_paths(header)?;
    check_modes(header)?;
    check_ids(header)?;
    let has_hunks = !file.hunks.is_empty();
    let percentages = [header.similarity, header.dissimilarity];
    if percentages
        .into_iter()
        .flatten()
        .any(|percent| percent > 100)
    {
        return Err(OTHER_HEADER);
    }
    // Names are quoted in one of two ways (`core.quotePath`).
    let body = [true, false].into_iter().find_map(|is_ascii| {
        let printed = print_header(header, (old, new), has_hunks, is_ascii);
        file.head.strip_prefix(&*printed)
    });
    match body {
        None => Err(OTHER_HEADER),
        Some(_) if is_submodule(header) && header.ids.is_some() => {
            check_hunks(file)?;
            check_submodule(file)
        }
        Some(body) if !body.is_empty() => {
            let blocks = body.strip_prefix(b"GIT binary patch\n");
            let blocks = blocks.filter(|_| !has_hunks);
            let blocks = blocks.ok_or("a file whose content is not in the patch")?;
            let ids = header.ids.as_ref().ok_or(OTHER_HEADER)?;
            binary::check_blocks(blocks, ids, content_left)
        }
        Some(_) if has_hunks => check_hunks(file),
        Some(_) => check_unchanged_content(header),
    }
}

/// Returns the old and the new path. A file that is new or deleted has one path for both.
fn check_paths(header: &FileHeader) -> Result<(&str, &str), &'static str> {
    let (old, new) = (header.old_path.as_deref(), header.new_path.as_deref());
    let is_moved = matches!(header.status, FileStatus::Renamed | FileStatus::Copied);
    let paths = match (header.status, old, new) {
        (FileStatus::Added, None, Some(path)) | (FileStatus::Deleted, Some(path), None) => {
            (path, path)
        }
        (FileStatus::Modified, Some(old), Some(new)) if old == new => (old, new),
        (_, Some(old), Some(new)) if is_moved && old != new => (old, new),
        _ => return Err("a file with several names"),
    };
    for path in [paths.0, paths.1] {
        // git shortens `//`, and a path ends at a NUL byte.
        let is_plain = |part: &str| !matches!(part, "" | "." | "..");
        if path.contains(['\0', char::REPLACEMENT_CHARACTER]) || !path.split('/').all(is_plain) {
            return Err("a file with a name that git does not have");
        }
    }
    Ok(paths)
}

fn check_modes(header: &FileHeader) -> Result<(), &'static str> {
    let (old, new) = (header.old_mode, header.new_mode);
    let are_known = [old, new]
        .into_iter()
        .flatten()
        .all(|mode| MODES.contains(&mode));
    let fits = match (header.status, old, new) {
        (FileStatus::Added, None, Some(_)) | (FileStatus::Deleted, Some(_), None) => true,
        (FileStatus::Added | FileStatus::Deleted, ..) => false,
        // An `index` line without a mode belongs to a change of mode.
        (_, None, None) => header.ids.is_none(),
        (_, Some(old), Some(new)) => old & TYPE_OF_MODE == new & TYPE_OF_MODE,
        _ => false,
    };
    if are_known && fits {
        Ok(())
    } else {
        Err("a file mode that git does not print")
    }
}

fn check_ids(header: &FileHeader) -> Result<(), &'static str> {
    let Some((old, new)) = &header.ids else {
        return Ok(());
    };
    let is_id = |id: &str| (MIN_ID_DIGITS..=64).contains(&id.len()) && is_lower_hex(id.as_bytes());
    let fits = is_id(old)
        && is_id(new)
        && old != new
        && is_zero(old) == (header.status == FileStatus::Added)
        && is_zero(new) == (header.status == FileStatus::Deleted);
    if fits {
        Ok(())
    } else {
        Err("an `index` line that git does not print")
    }
}

pub(super) fn is_zero(id: &str) -> bool {
    id.bytes().all(|b| b == b'0')
}

fn is_submodule(header: &FileHeader) -> bool {
    let mut modes = [header.old_mode, header.new_mode].into_iter().flatten();
    modes.any(|mode| mode == SUBMODULE)
}

/// Checks that a submodule has the commits of its `index` line as its only content. git takes the
/// first line of each side, and ignores the others.
fn check_submodule(file: &FileDiff<'_>) -> Result<(), &'static str> {
    const OTHER_CONTENT: &str = "a submodule with other content than its commit";
    let (Some((old, new)), [hunk]) = (&file.header.ids, &*file.hunks) else {
        return Err(OTHER_CONTENT);
    };
    let mut lines = hunk.raw.split_inclusive(|b| *b == b'\n').skip(1);
    let sides: [(&[u8], _); 2] = [(b"-Subproject commit ", old), (b"+Subproject commit ", new)];
    for (start, id) in sides.into_iter().filter(|(_, id)| !is_zero(id)) {
        let line = lines.next().unwrap_or_default();
        let commit = line.strip_prefix(start);
        let commit = commit.and_then(|rest| rest.strip_suffix(b"\n"));
        let is_named = |oid: &[u8]| {
            matches!(oid.len(), 40 | 64) && is_lower_hex(oid) && oid.starts_with(id.as_bytes())
        };
        if !commit.is_some_and(is_named) {
            return Err(OTHER_CONTENT);
        }
    }
    lines.next().map_or(Ok(()), |_| Err(OTHER_CONTENT))
}

/// Checks a file without hunks and without binary content.
fn check_unchanged_content(header: &FileHeader) -> Result<(), &'static str> {
    let is_empty = |id: &str| EMPTY_IDS.iter().any(|empty| empty.starts_with(id));
    let is_whole = match (&header.ids, header.status) {
        (Some((_, new)), FileStatus::Added) => is_empty(new),
        (Some((old, _)), FileStatus::Deleted) => is_empty(old),
        (None, FileStatus::Renamed | FileStatus::Copied) => true,
        (None, FileStatus::Modified) => header.old_mode != header.new_mode,
        _ => false,
    };
    if is_whole {
        Ok(())
    } else {
        Err("a file whose content is not in the patch")
    }
}

/// Prints the lines from `diff --git` to the first hunk, or to the binary content.
fn print_header(
    header: &FileHeader,
    (old, new): (&str, &str),
    has_hunks: bool,
    is_ascii: bool,
) -> Vec<u8> {
    let (old_name, new_name) = (
        quote_name("a/", old, is_ascii),
        quote_name("b/", new, is_ascii),
    );
    let mut lines = vec![join(&[b"diff --git ", &old_name, b" ", &new_name])];
    match (header.status, header.old_mode, header.new_mode) {
        (FileStatus::Added, _, Some(mode)) => {
            lines.push(format!("new file mode {mode:06o}").into())
        }
        (FileStatus::Deleted, Some(mode), _) => {
            lines.push(format!("deleted file mode {mode:06o}").into());
        }
        (_, Some(old), Some(new)) if old != new => {
            lines.push(format!("old mode {old:06o}").into());
            lines.push(format!("new mode {new:06o}").into());
        }
        _ => {}
    }
    let verb: &[u8] = match header.status {
        FileStatus::Renamed => b"rename",
        _ => b"copy",
    };
    if let (FileStatus::Renamed | FileStatus::Copied, Some(percent)) =
        (header.status, header.similarity)
    {
        lines.push(format!("similarity index {percent}%").into());
        lines.push(join(&[verb, b" from ", &quote_name("", old, is_ascii)]));
        lines.push(join(&[verb, b" to ", &quote_name("", new, is_ascii)]));
    }
    if let (FileStatus::Modified, Some(percent)) = (header.status, header.dissimilarity) {
        lines.push(format!("dissimilarity index {percent}%").into());
    }
    if let Some((old_id, new_id)) = &header.ids {
        let mode = header
            .old_mode
            .filter(|_| header.old_mode == header.new_mode);
        let mode = mode.map(|mode| format!(" {mode:06o}")).unwrap_or_default();
        lines.push(format!("index {old_id}..{new_id}{mode}").into());
    }
    if has_hunks {
        let is_side = |path: &Option<String>, name| {
            if path.is_some() {
                name
            } else {
                b"/dev/null".to_vec()
            }
        };
        lines.push(print_side(b"--- ", &is_side(&header.old_path, old_name)));
        lines.push(print_side(b"+++ ", &is_side(&header.new_path, new_name)));
    }
    lines.push(Vec::new());
    lines.join(&b'\n')
}

/// Prints a `---` or `+++` line. A name with a space ends with a tab.
fn print_side(start: &[u8], name: &[u8]) -> Vec<u8> {
    let end: &[u8] = if name.contains(&b' ') { b"\t" } else { b"" };
    join(&[start, name, end])
}

fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Quotes a name as git does. With `is_ascii`, bytes above 127 are quoted too (`core.quotePath`).
fn quote_name(prefix: &str, path: &str, is_ascii: bool) -> Vec<u8> {
    let name = format!("{prefix}{path}");
    let is_plain =
        |b: u8| !b.is_ascii_control() && !matches!(b, b'"' | b'\\') && (b.is_ascii() || !is_ascii);
    if name.bytes().all(is_plain) {
        return name.into_bytes();
    }
    let mut out = vec![b'"'];
    for byte in name.bytes() {
        let escape = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            _ if is_plain(byte) => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend(format!("\\{byte:03o}").bytes());
                continue;
            }
        };
        out.extend([b'\\', escape]);
    }
    out.push(b'"');
    out
}

/// Checks that the hunks of a file follow one another, and that their positions in the old and in
/// the new file agree.
fn check_hunks(file: &FileDiff<'_>) -> Result<(), &'static str> {
    const OTHER_PLACE: &str = "a hunk at a place that contradicts the others";
    let is_one_sided = matches!(file.header.status, FileStatus::Added | FileStatus::Deleted);
    if is_one_sided && file.hunks.len() > 1 {
        return Err(OTHER_PLACE);
    }
    let (mut old_end, mut new_end) = (1, 1);
    let mut is_ended = false;
    for hunk in &file.hunks {
        let header = &hunk.header;
        let old_start = first_line(header.old_start, header.old_count).ok_or(OTHER_PLACE)?;
        let new_start = first_line(header.new_start, header.new_count).ok_or(OTHER_PLACE)?;
        let old_gap = old_start.checked_sub(old_end);
        if is_ended || old_gap.is_none() || old_gap != new_start.checked_sub(new_end) {
            return Err(OTHER_PLACE);
        }
        is_ended = check_hunk(hunk)?;
        old_end = old_start.checked_add(header.old_count).ok_or(OTHER_PLACE)?;
        new_end = new_start.checked_add(header.new_count).ok_or(OTHER_PLACE)?;
        if header.old_count == 0 && header.old_start > 0 {
            return Err("a hunk without context, which git puts at the end of the file");
        }
        let missing_side = match file.header.status {
            FileStatus::Added => (header.old_start, header.old_count),
            FileStatus::Deleted => (header.new_start, header.new_count),
            _ => (0, 0),
        };
        if missing_side != (0, 0) {
            return Err("a new or deleted file with content on both sides");
        }
    }
    Ok(())
}

/// Returns the number of a hunk's first line. For an empty range, git prints the line before it.
fn first_line(start: u64, count: u64) -> Option<u64> {
    if count == 0 {
        start.checked_add(1)
    } else {
        (start > 0).then_some(start)
    }
}

/// Checks the lines of a hunk. Returns true if the hunk contains the end of a file without a
/// newline, after which there can be no other hunk.
fn check_hunk(hunk: &Hunk<'_>) -> Result<bool, &'static str> {
    const OTHER_LINES: &str = "a hunk with lines that git does not print";
    let header = &hunk.header;
    let lines = hunk.raw.strip_prefix(&*print_hunk_header(header));
    let lines = lines.ok_or("a hunk header in a form that git does not print")?;
    let (mut old_left, mut new_left) = (header.old_count, header.new_count);
    // True if the last line of the side has been read and has no newline.
    let (mut is_old_ended, mut is_new_ended) = (false, false);
    let mut is_changed = false;
    let (mut was_old, mut was_new) = (false, false);
    for line in lines.split_inclusive(|b| *b == b'\n') {
        if line == b"\\ No newline at end of file\n" {
            if !was_old && !was_new {
                return Err(OTHER_LINES);
            }
            (is_old_ended, is_new_ended) = (is_old_ended || was_old, is_new_ended || was_new);
            (was_old, was_new) = (false, false);
            continue;
        }
        (was_old, was_new) = match line.first() {
            Some(b' ') => (true, true),
            // With `diff.suppressBlankEmpty`, an empty context line has no space.
            Some(b'\n') => (true, true),
            Some(b'-') => (true, false),
            Some(b'+') => (false, true),
            _ => return Err(OTHER_LINES),
        };
        if !line.ends_with(b"\n") || was_old && is_old_ended || was_new && is_new_ended {
            return Err(OTHER_LINES);
        }
        is_changed |= was_old != was_new;
        let lefts = (
            old_left.checked_sub(u64::from(was_old)),
            new_left.checked_sub(u64::from(was_new)),
        );
        let (Some(old), Some(new)) = lefts else {
            return Err(OTHER_LINES);
        };
        (old_left, new_left) = (old, new);
    }
    if old_left == 0 && new_left == 0 && is_changed {
        Ok(is_old_ended || is_new_ended)
    } else {
        Err(OTHER_LINES)
    }
}

fn print_hunk_header(header: &HunkHeader<'_>) -> Vec<u8> {
    let old = print_range(header.old_start, header.old_count);
    let new = print_range(header.new_start, header.new_count);
    let mut line = format!("@@ -{old} +{new} @@").into_bytes();
    if !header.section.is_empty() {
        line.push(b' ');
        line.extend_from_slice(header.section);
    }
    line.push(b'\n');
    line
}

fn print_range(start: u64, count: u64) -> String {
    if count == 1 {
        start.to_string()
    } else {
        format!("{start},{count}")
    }
}
