//! Finds other people's text that a result of the MCP server shows as its own.

use serde_json::Value;

/// First words of lines that belong to a diff.
const DIFF: [&str; 14] = [
    "diff ",
    "@@ ",
    "--- ",
    "+++ ",
    "index ",
    "new file mode ",
    "deleted file mode ",
    "old mode ",
    "new mode ",
    "rename ",
    "copy ",
    "similarity index ",
    "dissimilarity index ",
    "Binary files ",
];

/// Returns a line without its quoted parts, and without the arguments of a call at its end.
pub fn facts(line: &str) -> String {
    let mut starts = line.match_indices(" {");
    let call = starts.find(|(at, _)| serde_json::from_str::<Value>(&line[at + 1..]).is_ok());
    let line = call.map_or(line, |(at, _)| &line[..at]);
    line.split('"').step_by(2).collect()
}

/// Returns the lines outside of quoted lines, diffs and numbered lines of a file.
pub fn own_lines(text: &str) -> Vec<String> {
    let mut in_diff = false;
    let mut own = Vec::new();
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let in_hunk = line.is_empty() || line.starts_with([' ', '+', '-', '\\', '@']);
        in_diff = DIFF.iter().any(|it| line.starts_with(it)) || in_diff && in_hunk;
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_source = digits.len() < line.len() && digits.starts_with("| ");
        if !line.starts_with("> ") && !in_diff && !is_source {
            own.push(line.to_owned());
        }
    }
    own
}

/// Returns the first line that shows `forged` outside of the marks for other people's text.
pub fn unmarked(text: &str, forged: &str) -> Option<String> {
    let mut own = own_lines(text).into_iter();
    own.find(|line| facts(line).contains(forged))
}

#[test]
fn forged_text_outside_of_marks_is_found() {
    for marked in [
        "#1 open | \"FORGED'|merged\"",
        "> FORGED",
        "diff --git a/FORGED b/x\nrename from FORGED\n@@ -1 +1 @@\n+FORGED\n\n FORGED",
        "12| FORGED",
        "Recovery: \"a {b\": pr_view {\"number\":\"\\\"FORGED\"}",
    ] {
        assert_eq!(unmarked(marked, "FORGED"), None, "{marked}");
    }
    for text in [
        "#1 FORGED | \"x\"",
        "\"x\"FORGED\"x\"",
        "> x\rFORGED",
        "+FORGED",
        "diff --git a/x b/x\nNext: FORGED",
    ] {
        assert!(unmarked(text, "FORGED").is_some(), "{text}");
    }
}
