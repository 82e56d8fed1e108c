//! Serves `sh.tangled.repo.compare`, which returns the patches between two revisions.

use serde_json::{Value, json};

use super::{Knot, read};
use crate::{
    host::Incoming,
    xrpc::{Answer, Failure},
};

pub(super) fn compare(knot: &Knot, request: &Incoming) -> Answer {
    let repo = read::repo(knot, request)?;
    let (base, head) = (read::param(request, "rev1")?, read::param(request, "rev2")?);
    let git = repo.git();
    let resolve = |rev: &str| {
        let spellings = [
            format!("refs/heads/{rev}"),
            format!("refs/{rev}"),
            rev.to_owned(),
        ];
        spellings
            .iter()
            .find_map(|it| git.oid(&format!("{it}^{{commit}}")))
            .ok_or_else(|| {
                Failure::new(
                    404,
                    "RevisionNotFound",
                    format!("revision not found: {rev}"),
                )
            })
    };
    let (rev1, rev2) = (resolve(&base)?, resolve(&head)?);
    let fork = git.run(["merge-base", &rev1, &rev2]).output();
    if fork.code != Some(0) {
        return Err(Failure::new(
            500,
            "CompareError",
            "error comparing revisions",
        ));
    }
    let fork = String::from_utf8_lossy(&fork.stdout).trim().to_owned();
    let range = format!("{fork}..{rev2}");
    let list = git
        .run(["rev-list", "--reverse", "--no-merges", &range])
        .text();
    let mut patches = Vec::new();
    let mut texts = String::new();
    for oid in list.lines() {
        let output = git.run(["format-patch", "-1", "--stdout", oid]).output();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let title = git.run(["log", "-1", "--format=%s", oid]).text();
        patches.push(json!({ "SHA": oid, "Title": title.trim_end(), "Raw": text }));
        texts.push_str(&text);
    }
    let mut answer = json!({
        "rev1": rev1, "rev2": rev2, "merge_base": fork, "format_patch": patches, "patch": texts,
    });
    if patches.len() > 1 {
        let diff = git.run(["diff", &fork, &rev2]).output();
        answer["combined_patch_raw"] =
            Value::String(String::from_utf8_lossy(&diff.stdout).into_owned());
    }
    Ok(answer)
}
