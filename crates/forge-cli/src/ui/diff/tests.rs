use super::*;

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,2 +1,2 @@
--- old
+++ new
 same
diff --git \"a/s p\\303\\244.lock\" \"b/s p\\303\\244.lock\"
new file mode 100644
index 0..1
--- /dev/null
+++ \"b/s p\\303\\244.lock\"
@@ -0,0 +1 @@
+diff --git a/x b/x
diff --git a/old name b/new name
similarity index 100%
rename from old name
rename to new name
diff --git a/run b/run
old mode 100644
new mode 100755
";

fn options(exclude: &[&str], escapes: Escapes, on: bool) -> DiffOptions {
    DiffOptions {
        exclude: exclude.iter().map(|s| (*s).to_owned()).collect(),
        paths: None,
        escapes,
        palette: Palette { on },
        mails: false,
    }
}

/// Prints `diff` in chunks of several sizes, which must not change the result.
fn print(diff: &[u8], options: &DiffOptions) -> (String, bool) {
    let mut results = [1, 3, 7, diff.len().max(1)].map(|size| {
        let mut printer = Printer::new(options.clone());
        let mut out = Vec::new();
        let fed = diff
            .chunks(size)
            .try_for_each(|c| printer.feed(c, &mut out));
        let ok = fed.and_then(|()| printer.finish(&mut out)).is_ok();
        (String::from_utf8_lossy(&out).into_owned(), ok)
    });
    let last = results.last_mut().map(std::mem::take).unwrap();
    assert!(results[..3].iter().all(|r| *r == last));
    last
}

#[test]
fn plain_diff_passes_unchanged() {
    for escapes in [Escapes::Allow, Escapes::Refuse, Escapes::Neutralise] {
        assert_eq!(
            print(DIFF.as_bytes(), &options(&[], escapes, false)),
            (DIFF.to_owned(), true)
        );
    }
    let all = options(&["nothing"], Escapes::Refuse, false);
    assert_eq!(print(DIFF.as_bytes(), &all), (DIFF.to_owned(), true));
}

#[test]
fn excluded_files_are_left_out() {
    let kept = |globs: &[&str]| {
        let (out, ok) = print(DIFF.as_bytes(), &options(globs, Escapes::Refuse, false));
        assert!(ok);
        out.lines()
            .filter(|l| l.starts_with("diff "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&["*.rs", "new*"]).len(), 2);
    assert!(kept(&["s pä.lock"]).iter().all(|l| !l.contains("lock")));
    assert!(kept(&["src/*"]).iter().all(|l| !l.contains("a.rs")));
    assert!(
        kept(&["run", "new name"])
            .iter()
            .all(|l| !l.contains("run") && !l.contains("new"))
    );
    assert_eq!(kept(&["x"]).len(), 4, "content is no header");
    assert_eq!(kept(&["*"]).len(), 0);
}

#[test]
fn refused_terminal_escape_stops_the_diff() {
    let opts = options(&[], Escapes::Refuse, false);
    assert_eq!(
        print(b"+ok\n+\x1b[2Jbad\n", &opts),
        ("+ok\n+".to_owned(), false)
    );
    assert_eq!(print(b"+a\xc2\x9b2J\n", &opts), ("+a".to_owned(), false));
    assert!(print("+ä\u{a0}\r\n+z\u{e2}".as_bytes(), &opts).1);
    let left_out = options(&["bad"], Escapes::Refuse, false);
    let diff = b"diff --git a/bad b/bad\n--- a/bad\n+++ b/bad\n@@ -1 +1 @@\n+\x1b[0m\n";
    assert_eq!(print(diff, &left_out), (String::new(), true));
}

#[test]
fn terminal_escapes_are_made_visible() {
    let (out, ok) = print(b"+\x1b[2Jx\r\n", &options(&[], Escapes::Neutralise, false));
    assert!(ok && out == "+␛[2Jx\r\n", "{out:?}");
}

#[test]
fn diff_colours_follow_line_context() {
    let (out, _) = print(DIFF.as_bytes(), &options(&[], Escapes::Neutralise, true));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[2], "\x1b[1m--- a/src/a.rs\x1b[0m");
    assert_eq!(lines[4], "\x1b[36m@@ -1,2 +1,2 @@\x1b[0m");
    assert_eq!(lines[5], "\x1b[31m--- old\x1b[0m");
    assert_eq!(lines[6], "\x1b[32m+++ new\x1b[0m");
    assert_eq!(lines[7], " same");
}

#[test]
fn overlong_line_is_passed_on_in_parts() {
    let mut printer = Printer::new(options(&["none"], Escapes::Neutralise, true));
    let mut out = Vec::new();
    printer
        .feed("diff --git a/x b/x\n@@ -1 +1 @@\n+".as_bytes(), &mut out)
        .unwrap();
    let mut shown = 0;
    let mut most = 0;
    for _ in 0..400 {
        printer.feed("é".repeat(501).as_bytes(), &mut out).unwrap();
        most = most.max(out.len());
        shown += String::from_utf8(std::mem::take(&mut out))
            .unwrap()
            .matches('é')
            .count();
    }
    printer.finish(&mut out).unwrap();
    shown += String::from_utf8(out).unwrap().matches('é').count();
    assert_eq!(shown, 400 * 501);
    assert!(most < 200 * 1024);
}

#[test]
fn mail_messages_are_not_parsed_as_diff() {
    let id = "a".repeat(40);
    let mails = format!(
        "From {id} Mon Sep 17 00:00:00 2001\nSubject: x\n\ndiff --git a/in b/message\n---\n\
         diff --git a/out b/out\n--- a/out\n+++ b/out\n@@ -1 +1 @@\n-a\n+b\n\
         From {id} Mon Sep 17 00:00:00 2001\nSubject: y\n---\n"
    );
    let opts = DiffOptions {
        mails: true,
        ..options(&["message", "out"], Escapes::Refuse, false)
    };
    let (out, _) = print(mails.as_bytes(), &opts);
    assert!(out.contains("b/message") && !out.contains("b/out") && out.contains("Subject: y"));
}

#[test]
fn selected_paths_limit_the_files() {
    for (named, shown) in [
        (&["src"][..], &["src/a.rs"][..]),
        (&["run", "*.lock"], &["s pä.lock", "run"]),
        // Either name selects a renamed file.
        (&["old name"], &["new name"]),
        (&["new name"], &["new name"]),
        (&["none"], &[]),
    ] {
        let opts = DiffOptions {
            paths: Some(PathFilter::new(named).unwrap()),
            ..options(&[], Escapes::Refuse, false)
        };
        let (out, _) = print(DIFF.as_bytes(), &opts);
        let sections = out.matches("diff --git a").count() + out.matches("diff --git \"").count();
        // An added line that looks like the start of a file must not be counted.
        let decoys = out.matches("+diff --git").count();
        assert_eq!(sections - decoys, shown.len(), "{named:?}\n{out}");
    }
}
