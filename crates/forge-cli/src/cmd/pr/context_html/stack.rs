//! The stack of a pull request, drawn as SVG.

use forge::context::{PullContext, RelatedBy, RelatedPull};
use forge_core::{model::LinkState, text};
use unicode_width::UnicodeWidthChar as _;

use super::{name, section, state_word};
use crate::ui::html::{Anchor, Attr, HtmlWriter};

/// The width of the drawing. On a narrow screen, one unit is about one pixel.
const WIDTH: usize = 360;
/// The height of a box.
const BOX: usize = 48;
/// The distance between the tops of two boxes.
const STEP: usize = 62;
/// Maximum number of columns of a title in a box.
const MAX_COLUMNS: usize = 40;

const TITLE: Anchor = Anchor::new("stack-title");
const DESC: Anchor = Anchor::new("stack-description");

struct StackBox {
    facts: String,
    title: String,
    is_this: bool,
}

/// Draws the stack: dependents above the pull request, dependencies and base branch below it. Draws
/// nothing if there are neither dependents nor dependencies.
pub(super) fn draw(html: &mut HtmlWriter, found: &PullContext) {
    let Some(related) = &found.related_prs else {
        return;
    };
    let of = |kind: RelatedBy| {
        let some = related.iter().filter(move |r| r.relationship == kind);
        some.collect::<Vec<_>>()
    };
    let (below, above) = (of(RelatedBy::Dependency), of(RelatedBy::Dependent));
    let pull = &found.pull;
    let unlisted = pull.depends_on.as_ref();
    let unlisted = unlisted.filter(|key| !below.iter().any(|r| r.key == **key));
    if below.is_empty() && above.is_empty() && unlisted.is_none() {
        return;
    }
    let level = |r: &RelatedPull, relation: &str| StackBox {
        facts: format!("{} · {} · {relation}", name(&r.key), state_word(r.state)),
        title: r.title.clone().unwrap_or_default(),
        is_this: false,
    };
    let mut levels: Vec<StackBox> = above.iter().map(|r| level(r, "builds on this")).collect();
    levels.push(StackBox {
        facts: format!(
            "{} · {} · this pull request",
            name(&pull.id.key),
            state_word(Some(LinkState::from(pull.state)))
        ),
        title: pull.title.clone(),
        is_this: true,
    });
    levels.extend(below.iter().map(|r| level(r, "this builds on it")));
    levels.extend(unlisted.map(|key| StackBox {
        facts: format!("{} · this builds on it", name(key)),
        title: String::new(),
        is_this: false,
    }));
    // If the base branch is the head of another pull request, only that pull request is drawn.
    let base = below.is_empty().then_some(pull.base_branch.as_str());
    section(html, "stack", "Stack", |html| picture(html, &levels, base));
}

fn picture(html: &mut HtmlWriter, levels: &[StackBox], base: Option<&str>) {
    let rows = levels.len();
    let height = rows * STEP + if base.is_some() { 24 } else { 0 };
    let attrs = [
        Attr::Class("stack"),
        Attr::Role("img"),
        Attr::ViewBox(WIDTH, height),
        Attr::LabelledBy(TITLE),
    ];
    html.within("svg", &attrs, |html| {
        html.leaf(
            "title",
            &[Attr::Id(TITLE)],
            "Stack of pull requests, the topmost first",
        );
        let all: Vec<String> = levels
            .iter()
            .map(|level| format!("{} {}", level.facts, level.title))
            .collect();
        html.leaf("desc", &[Attr::Id(DESC)], &all.join("; "));
        let last = match base {
            Some(_) => rows * STEP + 12,
            None => (rows - 1) * STEP + BOX / 2,
        };
        let spine = [
            Attr::Number("x1", 12),
            Attr::Number("y1", BOX / 2),
            Attr::Number("x2", 12),
            Attr::Number("y2", last),
        ];
        html.within("line", &spine, |_| {});
        for (n, level) in levels.iter().enumerate() {
            draw_level(html, level, n * STEP);
        }
        if let Some(base) = base {
            dot(html, last);
            label(html, "soft", last + 4, &fit(base));
        }
    });
}

fn draw_level(html: &mut HtmlWriter, level: &StackBox, top: usize) {
    let class = if level.is_this { "this" } else { "other" };
    html.within("g", &[Attr::Class(class)], |html| {
        let frame = [
            Attr::Number("x", 30),
            Attr::Number("y", top + 1),
            Attr::Number("width", WIDTH - 32),
            Attr::Number("height", BOX - 2),
            Attr::Number("rx", 6),
        ];
        html.within("rect", &frame, |_| {});
        dot(html, top + BOX / 2);
        label(html, "soft", top + 19, &fit(&level.facts));
        let class = if level.is_this { "own" } else { "other" };
        label(html, class, top + 38, &fit(&level.title));
    });
}

fn dot(html: &mut HtmlWriter, y: usize) {
    let at = [
        Attr::Number("cx", 12),
        Attr::Number("cy", y),
        Attr::Number("r", 6),
    ];
    html.within("circle", &at, |_| {});
}

fn label(html: &mut HtmlWriter, class: &'static str, y: usize, text: &str) {
    let at = [
        Attr::Class(class),
        Attr::Number("x", 42),
        Attr::Number("y", y),
    ];
    html.leaf("text", &at, text);
}

/// Truncates a text to the width of a box.
fn fit(of: &str) -> String {
    let mut columns = 0;
    let mut out = String::new();
    for c in text::one_line(of).chars() {
        columns += c.width().unwrap_or(1);
        if columns > MAX_COLUMNS {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}
