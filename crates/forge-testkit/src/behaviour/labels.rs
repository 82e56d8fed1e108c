//! Behaviour of the labels of a repository.

use forge_core::{
    PageReq,
    model::{CreatePull, Label, NewLabel},
};

use super::{Fixture, Set, cases, invalid, refused};

pub(super) fn cases(set: &mut Set) {
    cases![set;
        a_label_is_read_back [LabelList, LabelEdit];
        labels_are_sorted_by_name [LabelList, LabelEdit];
        pages_cover_every_label_once [LabelList, LabelEdit];
        label_without_colour_gets_one [LabelEdit];
        same_name_in_another_case_is_refused [LabelEdit];
        existing_label_is_overwritten_on_request [LabelList, LabelEdit];
        empty_name_is_refused [LabelEdit];
        bad_colour_is_refused [LabelEdit];
        odd_names_are_accepted [LabelList, LabelEdit];
        label_is_deleted [LabelList, LabelEdit];
        deletion_removes_label_from_pull_requests [LabelEdit, PrLabels];
        deletion_of_missing_label_is_not_found [LabelEdit];
    ];
}

fn label(name: &str) -> NewLabel {
    NewLabel::new(name)
}

async fn all(fx: &Fixture) -> Vec<Label> {
    fx.author.labels(PageReq::first(100)).await.unwrap().items
}

async fn names(fx: &Fixture) -> Vec<String> {
    all(fx).await.into_iter().map(|l| l.name).collect()
}

async fn a_label_is_read_back(fx: Fixture) {
    let mut new = label("regression");
    new.color = Some("d73a4a".into());
    new.description = Some("It worked before".into());
    let made = fx.author.define_label(&new).await.unwrap().value;
    let read = all(&fx).await.into_iter().find(|l| l.name == "regression");
    assert_eq!(read.as_ref(), Some(&made));
    assert_eq!(made.color, "d73a4a");
    assert_eq!(made.description.as_deref(), Some("It worked before"));
}

async fn labels_are_sorted_by_name(fx: Fixture) {
    fx.define(&["zz-c", "zz-a", "zz-b"]).await;
    let names = names(&fx).await;
    let ours: Vec<_> = names.iter().filter(|n| n.starts_with("zz-")).collect();
    assert_eq!(ours, ["zz-a", "zz-b", "zz-c"]);
    assert!(
        names
            .windows(2)
            .all(|w| w[0].to_lowercase() <= w[1].to_lowercase()),
        "{names:?}"
    );
}

async fn pages_cover_every_label_once(fx: Fixture) {
    fx.define(&["a", "b", "c", "d", "e"]).await;
    let mut seen = Vec::new();
    let mut page = PageReq::first(2);
    loop {
        let got = fx.author.labels(page).await.unwrap();
        seen.extend(got.items.into_iter().map(|l| l.name));
        let Some(next) = got.next else { break };
        page = PageReq::after(next, 2);
    }
    assert_eq!(seen, names(&fx).await);
}

async fn label_without_colour_gets_one(fx: Fixture) {
    let made = fx
        .author
        .define_label(&label("regression"))
        .await
        .unwrap()
        .value;
    assert_eq!(made.color.len(), 6);
    assert!(
        made.color.bytes().all(|b| b.is_ascii_hexdigit()),
        "{}",
        made.color
    );
}

async fn same_name_in_another_case_is_refused(fx: Fixture) {
    fx.define(&["Regression"]).await;
    refused(
        fx.author.define_label(&label("regression")).await,
        "already_exists",
    );
}

async fn existing_label_is_overwritten_on_request(fx: Fixture) {
    fx.define(&["bug"]).await;
    let mut new = label("bug");
    new.color = Some("000000".into());
    new.overwrite = true;
    fx.author.define_label(&new).await.unwrap();
    let labels = all(&fx).await;
    let ours: Vec<_> = labels.iter().filter(|l| l.name == "bug").collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0].color, "000000");
}

async fn empty_name_is_refused(fx: Fixture) {
    for name in ["", "  "] {
        invalid(fx.author.define_label(&label(name)).await, "name");
    }
}

async fn bad_colour_is_refused(fx: Fixture) {
    for color in ["red", "12345", "1234567", "gggggg", "#12345"] {
        let mut new = label("bug");
        new.color = Some(color.into());
        let e = invalid(fx.author.define_label(&new).await, "color");
        assert!(e.message().contains(color), "{e}");
    }
}

async fn odd_names_are_accepted(fx: Fixture) {
    for name in [
        "a/b",
        "two words",
        "ünï",
        "C++",
        "50%",
        "\"quoted\"",
        "a..b",
        "x.lock",
    ] {
        fx.author.define_label(&label(name)).await.unwrap();
        assert!(names(&fx).await.iter().any(|n| n == name), "{name}");
    }
}

async fn label_is_deleted(fx: Fixture) {
    fx.define(&["zz-a", "zz-b"]).await;
    let mut wanted = names(&fx).await;
    wanted.retain(|n| n != "zz-a");
    fx.author.delete_label("ZZ-A").await.unwrap();
    assert_eq!(names(&fx).await, wanted);
}

async fn deletion_removes_label_from_pull_requests(fx: Fixture) {
    fx.define(&["bug"]).await;
    fx.feature("feature");
    let mut req = CreatePull::new("feature", "Labelled");
    req.labels = vec!["bug".into()];
    let pr = fx.author.create_pull(&req).await.unwrap().value.id;
    fx.author.delete_label("bug").await.unwrap();
    assert!(fx.view(&pr).await.labels.is_empty());
}

async fn deletion_of_missing_label_is_not_found(fx: Fixture) {
    fx.define(&["wontfix"]).await;
    let e = refused(fx.author.delete_label("wontfx").await, "not_found");
    let said = format!("{} {}", e.message(), e.hint().map_or("", |h| h.text()));
    assert!(said.contains("wontfix"), "{said}");
}
