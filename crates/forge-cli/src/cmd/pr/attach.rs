//! `--attach`: images and videos shown in a description or comment.
//!
//! If the text refers to a file, as in `![alt](./login.png)`, the reference becomes the URL of the
//! upload; a file without a reference is appended to the text. gh (2.103.3) does the same.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use clap::Args;
use forge_core::{
    Action, Capability, Error, Hint, Op, Param, Repo, Result, Support,
    model::{Attachment, NewAttachment},
    text,
};
use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use crate::{ctx::Ctx, exit::Exit};

/// `--attach`
#[derive(Args, Clone, Debug, Default)]
pub struct AttachArgs {
    /// Attach an image or a video: a file, or file#alternative-text; may be repeated
    ///
    /// If the text refers to the file, as in "![alt](./login.png)", the reference becomes the URL
    /// of the upload; otherwise the file is appended to the text.
    #[arg(long, value_name = "file")]
    pub attach: Vec<String>,
}

/// Maximum number of files per command.
const MAX_FILES: usize = 50;

/// Supported files: extension and media type.
const TYPES: [(&str, &str); 9] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("webm", "video/webm"),
];

#[derive(Debug)]
struct AttachedFile {
    /// The path as typed.
    given: String,
    path: PathBuf,
    /// The alternative text of the image.
    alt: String,
    upload: NewAttachment,
}

impl AttachedFile {
    fn is_video(&self) -> bool {
        self.upload.content_type.starts_with("video/")
    }
}

/// The files of `--attach`, read and validated.
#[derive(Debug, Default)]
pub(crate) struct Files {
    files: Vec<AttachedFile>,
    /// Directories to which paths in the text may be relative, in order of precedence.
    bases: Vec<PathBuf>,
    /// True if the text belongs to an issue.
    of_issue: bool,
}

/// The text to write, with the URLs of the uploaded files.
#[derive(Debug)]
pub(crate) struct AttachedText {
    pub(crate) text: String,
    failed: Vec<(String, Error)>,
    of_issue: bool,
}

impl AttachedText {
    /// Reports files that could not be uploaded, and are therefore missing in the written text.
    pub(crate) fn report(self, ctx: &Ctx) -> Exit {
        let failed = !self.failed.is_empty();
        for (name, e) in self.failed {
            ctx.ui.error(&not_uploaded(&name, &e, self.of_issue));
        }
        if failed { Exit::Failure } else { Exit::Ok }
    }
}

impl Files {
    /// Reads the files of `--attach`; references in `body_file` are relative to its directory.
    ///
    /// # Errors
    ///
    /// `unsupported` if the forge accepts no files; `invalid_input` for a file that is missing,
    /// empty, duplicate or of an unsupported type.
    pub(crate) fn read(
        ctx: &Ctx,
        args: &AttachArgs,
        repo: &Repo,
        body_file: Option<&str>,
    ) -> Result<Self> {
        if args.attach.is_empty() {
            return Ok(Self::default());
        }
        if let Support::No { why, instead } = repo.support(Capability::Attachments) {
            return Err(Error::unsupported(Capability::Attachments, why, instead));
        }
        let of_issue = ctx.ui.named().path.first().is_some_and(|p| p == "issue");
        if args.attach.len() > MAX_FILES {
            return Err(refused(format!(
                "{} files are attached; {MAX_FILES} are allowed",
                args.attach.len()
            ))
            .with_hint(
                Hint::new("attach the rest to a comment").with_action(attach_to_comment(of_issue)),
            ));
        }
        let mut files: Vec<AttachedFile> = Vec::new();
        for argument in &args.attach {
            let file = read(&ctx.cwd, argument)?;
            if let Some(twin) = files.iter().find(|f| f.path == file.path) {
                return Err(refused(format!(
                    "{} and {} are the same file; attached files must be unique",
                    twin.given, file.given
                ))
                .with_hint("name each file once"));
            }
            files.push(file);
        }
        let beside = body_file
            .filter(|f| *f != "-")
            .and_then(|f| ctx.cwd.join(f).parent().map(Path::to_owned));
        Ok(Self {
            files,
            bases: beside.into_iter().chain([ctx.cwd.clone()]).collect(),
            of_issue,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Uploads the files, and puts their URLs into `text`.
    ///
    /// # Errors
    ///
    /// Fails if no file can be uploaded. The caller must then not write the text.
    pub(crate) async fn upload(self, repo: &Repo, text: String) -> Result<AttachedText> {
        if self.files.is_empty() {
            return Ok(AttachedText {
                text,
                failed: Vec::new(),
                of_issue: self.of_issue,
            });
        }
        let uploads: Vec<NewAttachment> = self.files.iter().map(|f| f.upload.clone()).collect();
        let answers = repo.attach(&uploads).await?;
        let mut there: Vec<(&AttachedFile, Attachment)> = Vec::new();
        let mut failed = Vec::new();
        for (file, answer) in self.files.iter().zip(answers) {
            match answer {
                Ok(attachment) => there.push((file, attachment)),
                Err(e) => failed.push((file.given.clone(), e)),
            }
        }
        if there.is_empty()
            && let Some((name, e)) = failed.first()
        {
            return Err(not_uploaded(name, e, self.of_issue));
        }
        Ok(AttachedText {
            text: replace_references(&text, &there, &self.bases),
            failed,
            of_issue: self.of_issue,
        })
    }
}

pub(crate) fn attach_conflict_error(flag: &str) -> Error {
    refused(format!("`--attach` is not supported when using `{flag}`"))
        .with_hint("omit one of them")
}

fn refused(message: String) -> Error {
    Error::invalid("attach", text::one_line(&message).into_owned())
}

/// Returns the suggested action "add a comment with a file".
fn attach_to_comment(of_issue: bool) -> Action {
    let op = if of_issue {
        Op::IssueComment
    } else {
        Op::Comment
    };
    Action::op(op).choose(Param::Attach)
}

fn not_uploaded(name: &str, e: &Error, of_issue: bool) -> Error {
    let message = format!("could not upload {name}: {}", e.message());
    let error = Error::new(e.kind().clone(), text::one_line(&message).into_owned());
    let once_more =
        Hint::new("try again: attach it to a comment").with_action(attach_to_comment(of_issue));
    error.with_hint(e.hint().cloned().unwrap_or(once_more))
}

/// Parses `file` or `file#alternative text`. If a file has the whole argument as its name, `#` is
/// part of the name.
fn read(cwd: &Path, argument: &str) -> Result<AttachedFile> {
    let (given, alt) = match argument.split_once('#') {
        Some((path, alt)) if !cwd.join(argument).is_file() => (path, Some(alt)),
        _ => (argument, None),
    };
    let cannot = |e: io::Error| {
        refused(format!("{given} cannot be attached: {e}"))
            .with_hint("check the path; it is relative to the working directory")
            .with_source(e)
    };
    let path = cwd.join(given).canonicalize().map_err(cannot)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let extension = extension.to_lowercase();
    if path.is_dir() {
        return Err(refused(format!("{given} is a directory")).with_hint("name a file in it"));
    }
    let Some((_, content_type)) = TYPES.iter().find(|(e, _)| *e == extension) else {
        let known: Vec<&str> = TYPES.iter().map(|(e, _)| *e).collect();
        return Err(refused(format!(
            "{given} is not a supported file type (supported: {})",
            known.join(", ")
        ))
        .with_hint("convert it, or put it into the branch and link to it"));
    };
    let alt = alt.filter(|alt| !alt.is_empty());
    if alt.is_some() && content_type.starts_with("video/") {
        return Err(refused(format!("{given}: a video has no alternative text"))
            .with_hint(format!("attach it as {given}")));
    }
    let bytes = fs::read(&path).map_err(cannot)?;
    if bytes.is_empty() {
        return Err(refused(format!("{given} is empty")).with_hint("attach a file with content"));
    }
    Ok(AttachedFile {
        given: given.to_owned(),
        alt: alt.unwrap_or(stem).to_owned(),
        upload: NewAttachment::new(name.clone(), *content_type, bytes),
        path,
    })
}

/// Replaces references in `text` by URLs, and appends files without a reference.
fn replace_references(
    text: &str,
    there: &[(&AttachedFile, Attachment)],
    bases: &[PathBuf],
) -> String {
    let mut named = vec![false; there.len()];
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let mut note = |dest: &str, whole: Range<usize>, start: &str, is_image: bool| {
        let found = there.iter().position(|(file, _)| names(dest, file, bases));
        let Some((index, (file, attachment))) =
            found.and_then(|i| there.get(i).map(|entry| (i, entry)))
        else {
            return;
        };
        let Some(at) = destination(text, &whole, start) else {
            return;
        };
        changes.push((at, attachment.url.clone()));
        // GitHub shows a player for a linked video, but does not show a video in an image.
        // Therefore the image's `!` is removed.
        if is_image && file.is_video() {
            changes.push((whole.start..whole.start + 1, String::new()));
        }
        if let Some(named) = named.get_mut(index) {
            *named = true;
        }
    };
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH);
    for (_, definition) in parser.reference_definitions().iter() {
        note(&definition.dest, definition.span.clone(), "]:", false);
    }
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Image {
                link_type: LinkType::Inline,
                dest_url,
                ..
            }) => note(&dest_url, range, "](", true),
            Event::Start(Tag::Link {
                link_type: LinkType::Inline,
                dest_url,
                ..
            }) => note(&dest_url, range, "](", false),
            _ => {}
        }
    }
    let mut out = text.to_owned();
    changes.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, new) in changes {
        out.replace_range(range, &new);
    }
    let unnamed = there.iter().zip(&named).filter(|(_, named)| !**named);
    for ((file, attachment), _) in unnamed {
        if !out.is_empty() {
            out.truncate(out.trim_end_matches(['\n', '\r']).len());
            out.push_str("\n\n");
        }
        if file.is_video() {
            out.push_str(&attachment.url);
        } else {
            out.push_str(&format!("![{}]({})", escaped(&file.alt), attachment.url));
        }
    }
    out
}

/// Returns true if `dest`, the destination of a link in the text, is the path of `file`.
fn names(dest: &str, file: &AttachedFile, bases: &[PathBuf]) -> bool {
    if dest.is_empty() || dest.contains("://") {
        return false;
    }
    let decoded = percent_decode_str(dest).decode_utf8_lossy();
    bases
        .iter()
        .filter_map(|base| base.join(&*decoded).canonicalize().ok())
        .any(|path| path == file.path)
}

/// Finds the destination of a Markdown link, image or link definition. The destination begins after
/// the last occurrence of `start`.
fn destination(text: &str, whole: &Range<usize>, start: &str) -> Option<Range<usize>> {
    let slice = text.get(whole.clone())?;
    let behind = slice.rfind(start)? + start.len();
    let rest = slice.get(behind..)?;
    let lead = rest.len() - rest.trim_start().len();
    let rest = rest.trim_start();
    let length = if rest.starts_with('<') {
        rest.find('>')? + 1
    } else {
        bare(rest)
    };
    let from = whole.start + behind + lead;
    Some(from..from + length)
}

/// Returns the length of a link destination that has no angle brackets. It ends at a blank or at
/// the closing parenthesis.
fn bare(rest: &str) -> usize {
    let mut depth = 0_u32;
    let mut escape = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escape => escape = false,
            '\\' => escape = true,
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            c if c.is_whitespace() => return at,
            _ => {}
        }
    }
    rest.len()
}

/// Escapes `alt` for use between the brackets of a Markdown image.
fn escaped(alt: &str) -> String {
    let mut out = String::with_capacity(alt.len());
    for c in text::one_line(alt).chars() {
        if matches!(c, '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://u/1";

    struct World(tempfile::TempDir);

    impl World {
        fn new(files: &[&str]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in files {
                let path = dir.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "x").unwrap();
            }
            Self(dir)
        }

        fn read(&self, argument: &str) -> Result<AttachedFile> {
            read(self.0.path(), argument)
        }

        fn written(&self, text: &str, argument: &str) -> String {
            let file = self.read(argument).unwrap();
            let attachment = Attachment::new(URL);
            replace_references(
                text,
                &[(&file, attachment)],
                &[self.0.path().join("sub"), self.0.path().to_owned()],
            )
        }
    }

    #[test]
    fn reference_to_an_attached_file_becomes_the_url() {
        let world = World::new(&["sub/d.png", "v.mp4", "a b.png", "p(1).png"]);
        for (text, argument, wanted) in [
            ("i ![q](d.png) e", "sub/d.png", "i ![q](https://u/1) e"),
            (
                "![w](<d.png> \"t\")",
                "sub/d.png",
                "![w](https://u/1 \"t\")",
            ),
            ("l [l](./d.png)", "sub/d.png", "l [l](https://u/1)"),
            ("![s](d%2Epng)", "sub/d.png", "![s](https://u/1)"),
            ("![s](sub/d.png)", "sub/d.png", "![s](https://u/1)"),
            (
                "![s][r]\n\n[r]: d.png\n",
                "sub/d.png",
                "![s][r]\n\n[r]: https://u/1\n",
            ),
            ("![s](<a b.png>)", "a b.png", "![s](https://u/1)"),
            ("![s](p(1).png)", "p(1).png", "![s](https://u/1)"),
            (
                "[![s](d.png)](d.png)",
                "sub/d.png",
                "[![s](https://u/1)](https://u/1)",
            ),
            ("![x](v.mp4)", "v.mp4", "[x](https://u/1)"),
            ("ü ![é](d.png) ü", "sub/d.png", "ü ![é](https://u/1) ü"),
        ] {
            assert_eq!(world.written(text, argument), wanted, "{text}");
        }
    }

    #[test]
    fn unreferenced_file_is_appended_to_the_text() {
        let world = World::new(&["d.png", "v.mp4"]);
        for (text, argument, wanted) in [
            ("", "d.png", "![d](https://u/1)"),
            (
                "Text\n",
                "d.png#An [x]",
                "Text\n\n![An \\[x\\]](https://u/1)",
            ),
            ("Text", "v.mp4", "Text\n\nhttps://u/1"),
            (
                "`![q](d.png)`",
                "d.png",
                "`![q](d.png)`\n\n![d](https://u/1)",
            ),
            (
                "![q](https://d.png)",
                "d.png",
                "![q](https://d.png)\n\n![d](https://u/1)",
            ),
        ] {
            assert_eq!(world.written(text, argument), wanted, "{text}");
        }
    }

    #[test]
    fn unsupported_file_is_refused() {
        let world = World::new(&["b.txt", "v.mp4", "dir.png/x", "odd#name.png"]);
        fs::write(world.0.path().join("empty.png"), "").unwrap();
        for (argument, wanted) in [
            ("b.txt", "is not a supported file type (supported: png,"),
            ("v.mp4#alt", "a video has no alternative text"),
            ("none.png", "cannot be attached"),
            ("dir.png", "is a directory"),
            ("empty.png", "is empty"),
        ] {
            let error = world.read(argument).unwrap_err();
            assert!(error.message().contains(wanted), "{argument}: {error}");
            assert!(error.hint().is_some());
        }
        assert_eq!(world.read("odd#name.png").unwrap().alt, "odd#name");
    }
}
