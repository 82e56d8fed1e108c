//! Reads the diff of a pull request: streamed from GitHub, rebuilt from the files if GitHub
//! refuses, or made by git in a clone.

use forge_core::{
    Error, ErrorKind, PrId, Result, Warning,
    model::{ByteStream, Diff, DiffFormat, DiffReq},
};
use forge_git::command_line;
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, header::CONTENT_TYPE};
use http_body_util::BodyExt;

use super::{files::route, rebuild};
use crate::{
    GitHub,
    api::chunks,
    error::{self, missing},
};

/// The lines of context in GitHub's diffs.
pub(super) const SENT_LINES: u32 = 3;

impl GitHub {
    pub(super) async fn pull_diff(&self, pr: &PrId, req: &DiffReq) -> Result<Diff> {
        let accept = match req.format {
            DiffFormat::Diff => "application/vnd.github.diff",
            DiffFormat::Patch => "application/vnd.github.patch",
        };
        let mut warnings = Vec::new();
        if let Some(since) = &req.since {
            return self.diff_since(pr, req, since).await;
        }
        if req.context_lines.is_some_and(|n| n != SENT_LINES) {
            let made = match &req.clone {
                Some(clone) => Some(self.fetched_diff(pr, req, clone).await),
                None => None,
            };
            match made {
                Some(Ok(diff)) => return Ok(diff),
                _ if req.prefers_context => {}
                None => warnings.push(
                    Warning::new("GitHub always sends three lines of context")
                        .with_hint("ask in a clone of the repository, where git makes the diff"),
                ),
                Some(Err(e)) => warnings.push(Warning::new(format!(
                    "GitHub sends three lines of context, and git could not make the diff: {}",
                    e.message()
                ))),
            }
        }
        // If GitHub refuses the diff, the diff is rebuilt from the files, which concurrent readers
        // can share. With a clone, git makes the diff instead, so there are no files to share.
        let shared = req.clone.is_none().then(|| self.shared_rows.announce(pr));
        let (parts, body) = self.api.stream(&route(pr)?, accept).await?.into_parts();
        if parts.status.is_success() {
            let body = self.sent_diff(pr, &parts.headers, chunks(body)).await?;
            let mut diff = Diff::new("", body);
            diff.context_lines = Some(SENT_LINES);
            diff.warnings = warnings;
            return Ok(diff);
        }
        let bytes = body
            .collect()
            .await
            .map(|b| b.to_bytes())
            .unwrap_or_default();
        let error = error::from_http(
            self.api.error_context(false),
            parts.status,
            &parts.headers,
            &bytes,
        );
        let too_large = matches!(parts.status.as_u16(), 406 | 422);
        if too_large && let Some(clone) = &req.clone {
            let mut fetching = req.clone();
            fetching.prefers_context = false;
            match self.fetched_diff(pr, &fetching, clone).await {
                Ok(diff) => return Ok(diff),
                Err(e) => warnings.push(
                    Warning::new(format!(
                        "the diff is too large for {}, and could not be fetched into {}: {}",
                        self.info.host,
                        clone.dir.display(),
                        e.message()
                    ))
                    .with_hint(format!(
                        "run `{}` to see the reason",
                        command_line(["git", "fetch", &clone.remote])
                    )),
                ),
            }
        }
        match (parts.status.as_u16(), req.format) {
            (404, _) => Err(missing(pr)),
            // GitHub refuses diffs of more than 20,000 lines, 1 MB or 300 files (docs.github.com,
            // "Limits on diffs").
            (_, DiffFormat::Diff) if too_large => {
                let mut rebuilt = self.all_files(pr).await?;
                if let Some(shared) = shared {
                    shared.share(&rebuilt.files);
                }
                warnings.push(
                    Warning::new(format!(
                        "the diff is too large for {}, and was rebuilt from its files: their \
                         modes are not known, so a new executable file or symbolic link looks like \
                         a plain file",
                        self.info.host
                    ))
                    .with_hint(format!(
                        "fetch {} and use `git diff` for the whole diff",
                        Self::head_ref(crate::number(pr)?)
                    )),
                );
                warnings.append(&mut rebuilt.warnings);
                let mut diff = Diff::new("", rebuild::stream(rebuilt.files));
                diff.context_lines = Some(SENT_LINES);
                diff.warnings = warnings;
                Ok(diff)
            }
            (_, DiffFormat::Patch) if too_large => Err(error.with_hint(format!(
                "fetch {} and use `git format-patch`: the patch series is too large for {}",
                Self::head_ref(crate::number(pr)?),
                self.info.host
            ))),
            _ => Err(error),
        }
    }

    /// Returns the body of a diff. A body that begins like JSON or HTML is an error, because no
    /// diff begins like that.
    async fn sent_diff(
        &self,
        pr: &PrId,
        headers: &HeaderMap,
        mut body: ByteStream,
    ) -> Result<ByteStream> {
        let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok());
        let kind = kind.unwrap_or_default().to_ascii_lowercase();
        let first = body.try_next().await?;
        let begins = first.as_ref().and_then(|bytes| bytes.first());
        if kind.contains("json") || kind.contains("html") || matches!(begins, Some(b'{' | b'<')) {
            let host = &self.info.host;
            let message = format!("{host} sent something other than the diff of {pr}");
            return Err(Error::new(ErrorKind::Protocol, message)
                .with_hint("try again; look at the page of the pull request"));
        }
        let first = stream::iter(first.map(Ok));
        Ok(Box::pin(first.chain(body)))
    }
}
