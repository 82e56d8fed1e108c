use std::fmt::Write as _;

use crate::{GitDir, Identity, Scratch};

/// Creates a repository with `count` pull requests of 20 events each. A third of the pull requests
/// are open, the others closed.
#[must_use]
pub fn many_pulls(scratch: &Scratch, name: &str, count: u64) -> GitDir {
    let git = scratch.repository(name);
    let last: [&[&str]; 2] = [&["edit", "1", "-t", "T"], &["close", "2"]];
    for (number, (branch, last)) in ["one", "two"].into_iter().zip(last).enumerate() {
        git.commit(branch, "Change", &[(branch, Some("x\n"))]);
        let number = (number + 1).to_string();
        let pr = |args: &[&str]| {
            let forge = scratch.forge(git.path(), &Identity::ADA);
            forge.arg("pr").args(args).ok();
        };
        let title = ["-t", "A pull request", "-b", "Text."];
        pr(&[&["create", "-H", branch][..], &title].concat());
        for n in 0..18 {
            pr(&["comment", &number, "-b", &format!("Comment {n}.")]);
        }
        pr(last);
    }
    git.multiply_pulls(count);
    git
}

/// An event of a pull request that is copied.
struct Event {
    author: String,
    committer: String,
    message: String,
    second_parents: Vec<String>,
    snapshot: String,
}

/// A pull request of the local backend, as the original for copies.
struct Template {
    root: String,
    branch: String,
    head: String,
    events: Vec<Event>,
}

impl GitDir {
    /// Fills the repository up to number `last` with copies of its pull requests 1 (which must be
    /// open) and 2 (which must be closed). Every third copy is open. A copy has all events of its
    /// original, and its own head branch. The refs are packed, as `git gc` leaves them.
    ///
    /// The copies are written directly in the local backend's format. The backend would take an
    /// hour to create ten thousand pull requests.
    pub fn multiply_pulls(&self, last: u64) {
        let open = self.template(1);
        let closed = self.template(2);
        let mut stream = Vec::new();
        for number in 3..=last {
            let template = if number % 3 == 0 { &open } else { &closed };
            template.copy(number, &mut stream);
            if stream.len() > 64 << 20 {
                self.import(std::mem::take(&mut stream));
            }
        }
        self.import(stream);
        let mut index = format!("forge index 1\nhighest {last}\nopen 1");
        for number in (3..=last).step_by(3) {
            let _ = write!(index, ",{number}");
        }
        index.push('\n');
        let blob = self
            .run(["hash-object", "-w", "--stdin"])
            .stdin(index)
            .text();
        self.run(["update-ref", "refs/forge/index", blob.trim()])
            .ok();
        self.run(["pack-refs", "--all"]).ok();
    }

    fn template(&self, number: u64) -> Template {
        let reference = format!("refs/forge/pulls/{number}");
        let chain = self
            .run(["rev-list", "--first-parent", "--reverse", &reference])
            .text();
        let mut chain = chain.lines();
        let root = chain.next().expect("the root of the chain").to_owned();
        let events: Vec<_> = chain.map(|oid| self.event(oid)).collect();
        let snapshot: serde_json::Value =
            serde_json::from_str(&events.last().expect("an event").snapshot).expect("a snapshot");
        let text = |key: &str| snapshot[key].as_str().expect("a text").to_owned();
        Template {
            root,
            branch: text("head_branch"),
            head: text("head_oid"),
            events,
        }
    }

    fn event(&self, oid: &str) -> Event {
        let commit = self.run(["cat-file", "commit", oid]).text();
        let (header, message) = commit.split_once("\n\n").expect("a commit");
        let line = |key: &str| {
            let found = header.lines().find_map(|l| l.strip_prefix(key));
            found.expect("a header line").to_owned()
        };
        let parents = header.lines().filter_map(|l| l.strip_prefix("parent "));
        Event {
            author: line("author "),
            committer: line("committer "),
            message: message.to_owned(),
            second_parents: parents.skip(1).map(str::to_owned).collect(),
            snapshot: self.show(oid, "pull.json"),
        }
    }
}

impl Template {
    fn copy(&self, number: u64, stream: &mut Vec<u8>) {
        let branch = format!("copy/{number}");
        let named = |text: &str, space: &str| {
            text.replace(
                &format!("\"head_branch\":{space}\"{}\"", self.branch),
                &format!("\"head_branch\":{space}\"{branch}\""),
            )
        };
        for (n, event) in self.events.iter().enumerate() {
            let message = named(&event.message, "");
            let snapshot = named(&event.snapshot, " ");
            let snapshot = match snapshot.split_once("\"number\": ") {
                Some((before, after)) => {
                    let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                    format!("{before}\"number\": {number}{after}")
                }
                None => snapshot,
            };
            let mut text = format!(
                "commit refs/forge/pulls/{number}\nauthor {}\ncommitter {}\ndata {}\n{message}\n",
                event.author,
                event.committer,
                message.len()
            );
            if n == 0 {
                let _ = writeln!(text, "from {}", self.root);
            }
            for parent in &event.second_parents {
                let _ = writeln!(text, "merge {parent}");
            }
            let _ = write!(
                text,
                "M 100644 inline pull.json\ndata {}\n{snapshot}\n",
                snapshot.len()
            );
            stream.extend_from_slice(text.as_bytes());
        }
        let reset = format!("reset refs/heads/{branch}\nfrom {}\n\n", self.head);
        stream.extend_from_slice(reset.as_bytes());
    }
}
