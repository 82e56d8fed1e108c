use std::fmt::Write as _;

use forge_core::{diff::quote_path, model::FileChange, text};

use crate::ui::color::Palette;

/// Width of the output on a pipe, in columns, as in git.
const PIPE_WIDTH: usize = 80;
/// Minimum number of columns for the `+` and `-` signs.
const MIN_GRAPH: usize = 10;
/// Maximum width to which names are padded on a pipe, in columns.
const MAX_PAD: usize = 200;

/// Renders the changed lines per file as `git diff --stat` does, without cutting names. `width` is
/// the width of the terminal; `None` on a pipe.
#[must_use]
pub fn stat_text(files: &[FileChange], width: Option<usize>, palette: Palette) -> String {
    let names: Vec<String> = files.iter().map(name).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max();
    let name_width = name_width.unwrap_or(0).min(width.unwrap_or(MAX_PAD));
    let lines = |file: &FileChange| {
        let (added, deleted) = (file.additions?, file.deletions?);
        Some((added, deleted))
    };
    let most = files
        .iter()
        .filter_map(lines)
        .map(|(a, d)| a.saturating_add(d));
    let most = most.max().unwrap_or(0);
    let has_binary = files.iter().any(|file| lines(file).is_none());
    let digits = most.to_string().len().max(if has_binary { 3 } else { 0 });
    // The layout needs five columns between name, count and bars, and leaves the last column empty.
    let around = name_width + digits + 6;
    let graph = width.unwrap_or(PIPE_WIDTH).saturating_sub(around);
    let graph = u64::try_from(graph.max(MIN_GRAPH)).unwrap_or(u64::MAX);
    let mut out = String::new();
    let (mut insertions, mut deletions) = (0_u64, 0_u64);
    for (file, name) in files.iter().zip(&names) {
        let pad = " ".repeat(name_width.saturating_sub(name.chars().count()));
        let Some((added, deleted)) = lines(file) else {
            let _ = writeln!(out, " {name}{pad} | {:>digits$}", "Bin");
            continue;
        };
        insertions = insertions.saturating_add(added);
        deletions = deletions.saturating_add(deleted);
        let (plus, minus) = bars(added, deleted, most, graph);
        let total = added.saturating_add(deleted);
        let bars = format!("{}{}", palette.green(&plus), palette.red(&minus));
        let line = format!(" {name}{pad} | {total:>digits$} {bars}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if !files.is_empty() {
        let _ = writeln!(out, "{}", summary(files.len(), insertions, deletions));
    }
    out
}

/// Returns the path with the previous path, on one line.
fn name(file: &FileChange) -> String {
    let shown = |path: &str| text::neutralise(&quote_path(path)).into_owned();
    match &file.previous_path {
        Some(previous) => format!("{} => {}", shown(previous), shown(&file.path)),
        None => shown(&file.path),
    }
}

/// Scales the bars as git does: every kind of change has at least one sign, and the longer bar gets
/// the remaining signs.
fn bars(added: u64, deleted: u64, most: u64, width: u64) -> (String, String) {
    let scaled = |n: u64| match n {
        0 => 0,
        n if most <= width => n,
        n => 1 + n.saturating_mul(width - 1) / most,
    };
    let total = scaled(added.saturating_add(deleted));
    let total = match added > 0 && deleted > 0 {
        true => total.max(2),
        false => total,
    };
    let (plus, minus) = if added < deleted {
        let plus = scaled(added);
        (plus, total.saturating_sub(plus))
    } else {
        let minus = scaled(deleted);
        (total.saturating_sub(minus), minus)
    };
    let bar = |sign: &str, n: u64| sign.repeat(usize::try_from(n).unwrap_or(0));
    (bar("+", plus), bar("-", minus))
}

fn summary(files: usize, insertions: u64, deletions: u64) -> String {
    let counted = |n: u64, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let count = u64::try_from(files).unwrap_or(u64::MAX);
    let mut line = format!(" {} changed", counted(count, "file"));
    if insertions > 0 || deletions == 0 {
        let _ = write!(line, ", {}(+)", counted(insertions, "insertion"));
    }
    if deletions > 0 || insertions == 0 {
        let _ = write!(line, ", {}(-)", counted(deletions, "deletion"));
    }
    line
}

#[cfg(test)]
mod tests {
    use forge_core::model::FileStatus;

    use super::*;

    fn file(path: &str, additions: Option<u64>, deletions: Option<u64>) -> FileChange {
        let mut file = FileChange::new(path, FileStatus::Modified);
        file.additions = additions;
        file.deletions = deletions;
        file
    }

    #[test]
    fn stat_bars_are_scaled_as_in_git() {
        let plain = Palette { on: false };
        assert_eq!(stat_text(&[], None, plain), "");
        let files = [
            file("a.rs", Some(3), Some(1)),
            file("long/name.png", None, None),
            file("c", Some(0), Some(0)),
        ];
        let wanted = " a.rs          |   4 +++-\n long/name.png | Bin\n c             |   0\n \
                      3 files changed, 3 insertions(+), 1 deletion(-)\n";
        assert_eq!(stat_text(&files, None, plain), wanted);
        let large = [file("a", Some(1000), Some(1)), file("b", Some(1), Some(0))];
        let shown = stat_text(&large, Some(30), plain);
        assert!(shown.lines().all(|line| line.len() <= 60), "{shown}");
        assert!(shown.contains("+-\n"), "{shown}");
        let (plus, minus) = bars(1, 1, 1000, 10);
        assert_eq!((plus.len(), minus.len()), (1, 1));
    }

    #[test]
    fn long_name_does_not_widen_other_lines() {
        let long = "x".repeat(100_000);
        let mut files = vec![file("a", Some(1), Some(0)); 100];
        files.push(file(&long, Some(1), Some(0)));
        let shown = stat_text(&files, None, Palette { on: false });
        assert!(shown.lines().take(100).all(|line| line.len() < 300));
        assert!(shown.contains(&long));
    }

    #[test]
    fn stat_names_have_no_control_characters() {
        let mut renamed = file("b\n", Some(1), Some(0));
        renamed.previous_path = Some("a\u{1b}".into());
        let shown = stat_text(&[renamed], None, Palette { on: false });
        assert_eq!(shown.lines().count(), 2, "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
        assert!(shown.contains(" => "), "{shown}");
    }
}
