//! `cargo xtask picture`: draws a session of `forge demo` as `docs/demo.svg`.

use std::{fs, process::Command};

use anyhow::{Result, ensure};

use crate::cargo::{cargo, root, watched};

/// The parts of the session to draw. Each has the beginning of its first line, and the beginning of
/// the first line after it.
const PARTS: [(&str, &str); 4] = [
    ("# A branch with a change", "$ forge pr diff"),
    ("# Grace reviews it", "# Ada pushes nothing"),
    ("# A merge that conflicts", "# The conflict is settled"),
    ("# The conflict is settled", "$ forge pr view"),
];
const MAX_COLUMNS: usize = 96;
const LINE_HEIGHT: usize = 20;
/// The style and the frame. The picture has a background, so that its text is readable on light and
/// dark pages.
const FRAME: &str = r##"<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3; white-space: pre }
.comment { fill: #9aa7b4 }
.command { fill: #7ee787 }
.error { fill: #ffa198 }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="22" cy="22" r="6" fill="#ff5f57"/>
<circle cx="42" cy="22" r="6" fill="#febc2e"/>
<circle cx="62" cy="22" r="6" fill="#28c840"/>
"##;

/// Runs the demo with the program of this workspace, and draws parts of its output.
pub fn run() -> Result<bool> {
    let (built, _) = watched(&mut cargo(&["build", "--locked", "-p", "forge-cli"]))?;
    if !built {
        return Ok(false);
    }
    // The shell joins both streams, so that errors are printed where they occur.
    let demo = Command::new("sh")
        .args(["-c", "exec \"$0\" demo 2>&1"])
        .arg(root().join("target/debug/forge"))
        .output()?;
    let session = String::from_utf8_lossy(&demo.stdout);
    ensure!(demo.status.success(), "forge demo failed: {session}");
    fs::write(root().join("docs/demo.svg"), draw(&session)?)?;
    Ok(true)
}

fn draw(session: &str) -> Result<String> {
    let mut rows = String::new();
    let mut y = 60;
    for (first, after) in PARTS {
        let begin = session.lines().skip_while(|line| !line.starts_with(first));
        let part: Vec<&str> = begin
            .take_while(|line| !line.starts_with(after))
            .filter(|line| !line.is_empty())
            .collect();
        ensure!(!part.is_empty(), "forge demo does not print: {first}");
        for line in part {
            let class = match line.split(' ').next() {
                Some("#") => "comment",
                Some("$") => "command",
                Some("error:") => "error",
                _ => "output",
            };
            for text in wrap(line) {
                let text = escape(&text);
                rows += &format!(
                    "<text x=\"20\" y=\"{y}\" class=\"{class}\" xml:space=\"preserve\">{text}</text>\n"
                );
                y += LINE_HEIGHT;
            }
        }
        y += LINE_HEIGHT;
    }
    let width = MAX_COLUMNS * 17 / 2 + 40;
    let open = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {y}\" role=\"img\" \
         aria-label=\"A session of forge in a terminal\">\n"
    );
    Ok(open + FRAME + &rows + "</svg>\n")
}

/// Breaks a line at spaces, and indents the continuation lines.
fn wrap(line: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for word in line.split_inclusive(' ') {
        if current.chars().count() + word.trim_end().chars().count() > MAX_COLUMNS {
            lines.push(std::mem::replace(&mut current, "    ".to_owned()));
        }
        current += word;
    }
    lines.push(current);
    lines
}

/// Escapes text for XML, which forbids control characters.
fn escape(text: &str) -> String {
    let visible = text.replace('\t', "    ");
    let visible = visible.replace(char::is_control, "\u{fffd}");
    let text = visible.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_text_is_escaped() {
        assert_eq!(
            escape("echo '<b>&' \u{1b}"),
            "echo '&lt;b&gt;&amp;' \u{fffd}"
        );
    }
}
