//! URLs of the GitHub pages that `gh` opens.

use forge_core::{
    RepoId, WebPage,
    model::{CreatePull, NewIssue},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{GitHub, issues::list, pulls::query};

/// Characters to percent-encode in a form value.
const FORM: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b' ');
/// Characters to percent-encode in a path segment.
const SEGMENT: &AsciiSet = &FORM.add(b' ').remove(b':').remove(b'@').remove(b'+');

impl GitHub {
    pub(crate) fn page(&self, repo: &RepoId, page: &WebPage<'_>) -> Option<String> {
        let (owner, name) = repo.owner_and_name()?;
        let base = format!("{}/{owner}/{name}", self.api.endpoint.web);
        Some(match page {
            WebPage::Pulls(query) => form(
                &format!("{base}/pulls"),
                &[("q", query::words_for_web(query))],
            ),
            WebPage::NewPull { request, template } => new_pull(&base, request, *template),
            WebPage::Issues(query) => form(
                &format!("{base}/issues"),
                &[("q", list::words_for_web(query))],
            ),
            WebPage::NewIssue { request, template } => new_issue(&base, request, *template),
            WebPage::Checks(pull) => format!("{pull}/checks"),
            WebPage::Files(pull) => format!("{pull}/files"),
            WebPage::NewComment(pull) => format!("{pull}#issuecomment-new"),
        })
    }
}

fn new_issue(base: &str, new: &NewIssue, template: Option<&str>) -> String {
    let mut fields = vec![
        ("assignees", new.assignees.join(",")),
        ("body", new.body.clone()),
        ("labels", new.labels.join(",")),
        ("milestone", new.milestone.clone().unwrap_or_default()),
        ("template", template.unwrap_or_default().to_owned()),
        ("title", new.title.clone()),
        ("type", new.issue_type.clone().unwrap_or_default()),
    ];
    fields.retain(|(key, value)| *key == "body" || !value.is_empty());
    form(&format!("{base}/issues/new"), &fields)
}

fn new_pull(base: &str, req: &CreatePull, template: Option<&str>) -> String {
    let head = match (&req.head.owner, &req.head.repo) {
        (Some(owner), Some(repo)) => format!("{owner}:{repo}:{}", req.head.branch),
        (Some(owner), None) => format!("{owner}:{}", req.head.branch),
        (None, _) => req.head.branch.clone(),
    };
    let segment = |text| utf8_percent_encode(text, SEGMENT);
    let into = req.base.as_deref().unwrap_or_default();
    let page = format!("{base}/compare/{}...{}", segment(into), segment(&head));
    let mut fields = vec![
        ("assignees", req.assignees.join(",")),
        ("body", req.description.clone()),
        ("expand", "1".to_owned()),
        ("labels", req.labels.join(",")),
        ("milestone", req.milestone.clone().unwrap_or_default()),
        ("projects", req.projects.join(",")),
        ("template", template.unwrap_or_default().to_owned()),
        ("title", req.title.clone()),
    ];
    fields.retain(|(key, value)| *key == "body" || !value.is_empty());
    form(&page, &fields)
}

fn form(page: &str, fields: &[(&str, String)]) -> String {
    let encoded = |text: &str| {
        utf8_percent_encode(text, FORM)
            .to_string()
            .replace(' ', "+")
    };
    let fields: Vec<String> = fields
        .iter()
        .map(|(key, value)| format!("{key}={}", encoded(value)))
        .collect();
    format!("{page}?{}", fields.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_page_url_names_the_template() {
        let mut new = NewIssue::new("T", "");
        new.projects = vec!["Roadmap".into()];
        assert_eq!(
            new_issue("https://h/o/r", &new, Some("bug.md")),
            "https://h/o/r/issues/new?body=&template=bug.md&title=T"
        );
    }

    #[test]
    fn compare_page_url_prefills_the_form() {
        let mut req = CreatePull::new("fe/a b", "Ünï & x");
        req.base = Some("rel/1".into());
        assert_eq!(
            new_pull("https://h/o/r", &req, Some("fix.md")),
            "https://h/o/r/compare/rel%2F1...fe%2Fa%20b?body=&expand=1&template=fix.md&title=%C3%9Cn%C3%AF+%26+x"
        );
        req.head.owner = Some("org".into());
        req.head.repo = Some("other".into());
        req.labels = vec!["good, first".into(), "bug".into()];
        let url = new_pull("https://h/o/r", &req, None);
        assert!(url.contains("...org:other:fe%2Fa%20b?"), "{url}");
        assert!(url.contains("&labels=good%2C+first%2Cbug&"), "{url}");
    }
}
