use crate::ui::glob;

/// Leaves out the files of a diff that match a glob.
#[derive(Debug)]
pub(super) struct Sections {
    exclude: Vec<String>,
    mails: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Outside of files, or in one that is shown.
    Keep,
    /// In one that is left out.
    Drop,
    /// In the header of one whose name is not known for sure yet.
    Header(Vec<u8>),
    /// In the message of a mail, where nothing is part of a diff.
    Message,
}

impl Sections {
    pub(super) fn new(exclude: Vec<String>, mails: bool) -> Self {
        Self {
            exclude,
            mails,
            state: State::Keep,
        }
    }

    /// Takes a line: gives a header that is now to be shown, and whether to show the line.
    pub(super) fn line(&mut self, starts: bool, line: &[u8]) -> (Option<Vec<u8>>, bool) {
        if self.exclude.is_empty() {
            return (None, true);
        }
        if !starts {
            if let State::Header(held) = &mut self.state {
                held.extend_from_slice(line);
                return (None, false);
            }
            return (None, !matches!(self.state, State::Drop));
        }
        if self.mails && is_mail(line) {
            let header = self.finish();
            self.state = State::Message;
            return (header, true);
        }
        if matches!(self.state, State::Message) {
            if trimmed(line) == b"---" {
                self.state = State::Keep;
            }
            return (None, true);
        }
        if line.starts_with(b"diff --git ") {
            let header = self.finish();
            self.state = State::Header(line.to_vec());
            return (header, false);
        }
        match &mut self.state {
            State::Header(held) if is_header(line) => {
                held.extend_from_slice(line);
                (None, false)
            }
            State::Header(_) => {
                let header = self.finish();
                let keep = header.is_some();
                self.state = if keep { State::Keep } else { State::Drop };
                (header, keep)
            }
            State::Drop => (None, false),
            State::Keep | State::Message => (None, true),
        }
    }

    /// The header that is still held, if its file is shown.
    pub(super) fn finish(&mut self) -> Option<Vec<u8>> {
        let State::Header(held) = std::mem::replace(&mut self.state, State::Keep) else {
            return None;
        };
        let names = names(&held);
        let excluded = names
            .iter()
            .any(|n| self.exclude.iter().any(|g| glob::matches(g, n)));
        (!excluded).then_some(held)
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

/// `From <commit> Mon Sep 17 00:00:00 2001`, as `git format-patch` begins a mail.
fn is_mail(line: &[u8]) -> bool {
    line.strip_prefix(b"From ").is_some_and(|rest| {
        let digits = rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        digits >= 40 && rest.get(digits) == Some(&b' ')
    })
}

/// The lines between `diff --git` and the content (git-diff(1), "extended header lines").
fn is_header(line: &[u8]) -> bool {
    const STARTS: [&[u8]; 12] = [
        b"old mode ",
        b"new mode ",
        b"deleted file mode ",
        b"new file mode ",
        b"copy from ",
        b"copy to ",
        b"rename from ",
        b"rename to ",
        b"similarity index ",
        b"dissimilarity index ",
        b"index ",
        b"--- ",
    ];
    STARTS.iter().any(|s| line.starts_with(s)) || line.starts_with(b"+++ ")
}

/// The file's name at the head (at the base, where it is deleted).
fn names(header: &[u8]) -> Option<String> {
    let (mut new, mut old) = (None, None);
    let mut both = None;
    for line in header.split(|b| *b == b'\n') {
        let value = |prefix: &[u8]| line.strip_prefix(prefix).map(unquote);
        if let Some(name) = value(b"rename to ").or_else(|| value(b"copy to ")) {
            return Some(name);
        }
        if let Some(name) = value(b"+++ ") {
            new = Some(name);
        } else if let Some(name) = value(b"--- ") {
            old = Some(name);
        } else if let Some(rest) = line.strip_prefix(b"diff --git ") {
            both = same_name(rest);
        }
    }
    let side = |name: Option<String>, prefix: &str| {
        let name = name.filter(|n| n != "/dev/null")?;
        Some(
            name.strip_prefix(prefix)
                .map_or(name.clone(), str::to_owned),
        )
    };
    side(new, "b/").or_else(|| side(old, "a/")).or(both)
}

/// `a/x b/x`: where no other line names the file, both halves do, alike.
fn same_name(rest: &[u8]) -> Option<String> {
    let half = rest.len().checked_sub(1)? / 2;
    let name = unquote(rest.get(half + 1..)?);
    Some(name.strip_prefix("b/").map_or(name.clone(), str::to_owned))
}

/// Takes off git's quotes (`"a/\303\244"`) and the tab behind a name with spaces.
fn unquote(text: &[u8]) -> String {
    let text = text.strip_suffix(b"\t").unwrap_or(text);
    let Some(inner) = text.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")) else {
        return String::from_utf8_lossy(text).into_owned();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        match bytes.next() {
            Some(d @ b'0'..=b'7') => {
                let mut value = u32::from(d - b'0');
                for _ in 0..2 {
                    if let Some(d) = bytes.next_if(|d| (b'0'..=b'7').contains(d)) {
                        value = value * 8 + u32::from(d - b'0');
                    }
                }
                out.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'a') => out.push(0x07),
            Some(b'b') => out.push(0x08),
            Some(b'f') => out.push(0x0C),
            Some(b'v') => out.push(0x0B),
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
