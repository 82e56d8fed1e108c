//! Compares [`hidden`] with another Markdown renderer and with an HTML parser like that of a
//! browser.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use comrak::{Options, markdown_to_html};
use forge_core::markdown::{MAX_TEXT, hidden};
use html5ever::{ParseOpts, parse_document, tendril::TendrilSink as _};
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use proptest::prelude::*;

/// Renders a text as the HTML of a page.
fn page(text: &str) -> String {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.footnotes = true;
    options.render.r#unsafe = true;
    let html = markdown_to_html(text, &options);
    format!("<!DOCTYPE html><html><head></head><body>{html}</body></html>")
}

/// Returns the text that a reader of the page sees.
fn visible(html: &str) -> String {
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
    text_of(&dom.document)
}

const UNSEEN: &[&str] = &[
    "audio", "canvas", "datalist", "dialog", "head", "iframe", "noembed", "noframes", "noscript",
    "rp", "script", "style", "template", "title", "video",
];

fn text_of(node: &Handle) -> String {
    match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        NodeData::Element { name, attrs, .. } => {
            let has = |wanted: &str| attrs.borrow().iter().any(|a| &*a.name.local == wanted);
            let is_unseen =
                UNSEEN.contains(&&*name.local) && !(&*name.local == "dialog" && has("open"));
            match has("hidden") || is_unseen {
                true => " ".to_owned(),
                false => format!(" {} ", children(node)),
            }
        }
        _ => children(node),
    }
}

fn children(node: &Handle) -> String {
    node.children.borrow().iter().map(text_of).collect()
}

/// Returns the words of a text that consist of `w` and a number, with their offsets.
fn words(text: &str) -> Vec<(usize, &str)> {
    let all = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_word = |w: &&str| w.starts_with('w') && w[1..].starts_with(|c: char| c.is_ascii_digit());
    let at = |w: &str| w.as_ptr() as usize - text.as_ptr() as usize;
    all.filter(is_word).map(|w| (at(w), w)).collect()
}

/// Returns the words that [`hidden`] hides and the page shows, or the reverse.
fn differences(text: &str) -> Vec<String> {
    let html = page(text);
    let shown = visible(&html);
    let shown: BTreeSet<&str> = words(&shown).into_iter().map(|(_, w)| w).collect();
    let parts = hidden(text);
    let is_hidden = |at: usize| parts.iter().any(|part| part.range.contains(&at));
    let ours = words(text).into_iter().filter(|(at, _)| !is_hidden(*at));
    let ours: BTreeSet<&str> = ours.map(|(_, w)| w).collect();
    let all: BTreeSet<&str> = words(text).into_iter().map(|(_, w)| w).collect();
    let mut found = Vec::new();
    for word in all {
        if ours.contains(word) != shown.contains(word) {
            let what = match ours.contains(word) {
                true => "shown",
                false => "hidden",
            };
            found.push(format!(
                "{word} is {what} by us\n--- in\n{text}\n--- of\n{html}\n"
            ));
        }
    }
    found
}

/// Parts of a line. Each `W` is replaced by a unique word.
const SPANS: &[&str] = &[
    "W",
    "`W` \\<!-- W -->",
    "`<!-- W -->` W",
    "<!-- W --> W",
    "<!-- W --><!--W-->W",
    "<!-- W --!> W",
    "<?W W?> W",
    "<!X W> W",
    "<![CDATA[ W ]]> W",
    "[W](u.html \"W W\") W",
    "[W](u.html 'W') W",
    "[W](u.html (W)) W",
    "[W](<- W W>) W",
    "[W](<u.html> \"W\") W",
    "[*W* `W`](u.html \"W\")",
    "[W](data:text/plain,W)",
    "![W](u.png) W",
    "![W *W*](u.png \"W\") W",
    "[![W](u.png)](u.html 'W') W",
    "[W][w900 w901] W",
    "[W W] W",
    "[W][known] W",
    "[known][] W",
    "<b title=\"W W\">W</b> W",
    "<b title='W>' class=W W>W</b> W",
    "<a href=\"u.html\" title=\"W\">W</a> W",
    "<img alt=\"W\" src='u.png' width=\"20\"/> W",
    "<img src=\"W W\"> W",
    "<span hidden>W</span> W",
    "<span hidden=\"W\">W *W* <i>W</i></span> W",
    "<b hidden>W</b> W",
    "<i>W <b hidden>W <u>W</u></b> W</i> W",
    "<span hidden>W <span>W</span> W</span> W",
    "<span hidden>W `</span>` W",
    "*W <b hidden>W* W</b> W",
    "<template>W</template> W",
    "<script>W</script> W",
    "<style>W</style> W",
    "<noscript>W</noscript> W",
    "<title>W</title> W",
    "<iframe src=\"u.html\">W</iframe> W",
    "<video src=\"u.mp4\">W</video> W",
    "<details><summary>W</summary>W</details> W",
    "<sub>W</sub> <kbd>W</kbd> a < W > W",
    "<br W> W",
    "W</b W> W",
    "&lt;!-- W --&gt; &amp; W",
    "https://a.example/W <https://b.example/W>",
    "W[^note] W",
    "W[^W W] W",
    "Vec<String> W",
];

/// Blocks of Markdown. Each `W` is replaced by a unique word.
const BLOCKS: &[&str] = &[
    "[//]: # (W W)\n\nW",
    "[W]: u.html \"W W\"\n\nW",
    "[W W]: <u.html> 'W\nW'\n\nW",
    "[a]: u.html \"W\"\n\n[a] W",
    "[a]: u.html\n[a]: v.html \"W\"\n\n[W][a] W",
    "[a]:\n  u.html\n  (W)\n\n[W][A]",
    "[a w904]: u.html\n\n[W][a w904] W",
    "```W\nW\n```",
    "```rust W W\nW\n```\nW",
    "~~~ W `W`\nW\n~~~",
    "```rust\nW\n<!-- W -->\n```",
    "```js {W}\nW\n```",
    "    W <!-- W -->\n\nW",
    "<!-- W\n\nW -->\n\nW",
    "<!-- W\n\nW",
    "<!-- W\n\n`-->` W\n\n<b>\n-->\n\nW",
    "<div title=\"W\nW\">\nW\n</div>\n\nW",
    "<div\nclass='W'\nid=W>\nW\n</div>",
    "<div hidden>\nW\n</div>\nW",
    "<div hidden>\n\nW *W*\n\n- W\n\n</div>\n\nW",
    "<div hidden>\n<div>\nW\n</div>\nW\n</div>\nW",
    "<div hidden>\n\n```\nW\n</div>\n```\n\nW\n\n</div>\n\nW",
    "<p hidden>W\n\nW",
    "<p hidden>\nW\n<p>W",
    "<ul>\n<li hidden>W\n<li>W\n</ul>\n\nW",
    "<table>\n<tr hidden><td>W</td></tr>\n<tr><td hidden>W<td>W</tr>\n</table>\n\nW",
    "<details>\n<summary>W</summary>\n\nW <!-- W -->\n\n</details>\n\nW",
    "<details open>\n<summary>W</summary>\n\nW\n\n</details>",
    "<template>\n\nW\n\n</template>\n\nW",
    "<script>\nW\n\nW\n</script>\n\nW",
    "<style>\nW { W }\n</style>\nW",
    "<script>\nW\n\nW",
    "<pre>\nW <!-- W --> W\n</pre>\n\nW",
    "<dialog>\nW\n</dialog>\n\n<dialog open>\nW\n</dialog>",
    "<?W\nW?>\n\nW",
    "<!DOCTYPE W>\n\nW",
    "<section hidden>\n\n# W\n\n> W\n\n</section>\n\n# W",
    "<b hidden>W\n\nW</b> W\n\nW",
    "W <span hidden>W\n\nW",
    "- W <span hidden>W\n- W\n\nW",
    "> <div hidden>\n> W\n\nW",
    "|W|W|\n|-|:-:|\n|W|W|W <!-- W -->|\n|`W`|\n\nW",
    "|a|\n|-|\n|<!-- W -->W|\n|<b title='W'>W</b>|",
    "W[^a] W\n\n[^a]: W W\n\n    W <!-- W -->",
    "W\n\n[^a]: W\n\n    W\n\nW",
    "W[^w902-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n\n[^w902-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]: W",
    "1. W\n2. W\n   - W\n10. W",
    "W\n===\n\nW\n---\n\n# W #\n\n***\n",
    "W  \nW\\\nW",
    "- [x] W\n- [ ] W",
    "<form>\n<input type=\"hidden\" value=\"W\"> W\n</form>",
    "<svg><text>W</text></svg>",
];

/// Replaces each `W` in the text by a unique word.
fn numbered(text: &str) -> String {
    let mut parts = text.split('W');
    let mut out = parts.next().unwrap().to_owned();
    for (n, part) in parts.enumerate() {
        out.push_str(&format!("w{n}"));
        out.push_str(part);
    }
    out
}

/// Returns a block in several surroundings, such as a list or a quote.
fn contexts(block: &str) -> Vec<String> {
    let behind = |first: &str, rest: &str| {
        let lines = block.split('\n').enumerate();
        let lines = lines.map(|(n, line)| match (n, line) {
            (0, line) => format!("{first}{line}"),
            (_, "") => rest.trim_end().to_owned(),
            (_, line) => format!("{rest}{line}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    // Parsers disagree on which part of an indented footnote continues inside a quote.
    let nested = match block.contains("\n\n    W") && block.contains("[^") {
        true => Vec::new(),
        false => vec![
            behind("> ", "> "),
            behind("- ", "  "),
            behind("7. ", "   "),
            behind("> - ", ">   "),
        ],
    };
    let flat = vec![
        block.to_owned(),
        block.replace('\n', "\r\n"),
        format!("W\n\n{block}\n\n# W"),
        format!("<details>\n\n{block}\n\n</details>\n\nW"),
    ];
    [flat, nested].concat()
}

/// Returns a part of a line in several surroundings.
fn lines(span: &str) -> Vec<String> {
    let of_line = [
        span.to_owned(),
        format!("W *W {span} W* W"),
        format!("W **{span}**\nW"),
        format!("# {span}"),
        format!("W\n{span}\nW"),
    ];
    let mut all: Vec<String> = of_line.iter().flat_map(|line| contexts(line)).collect();
    if !span.contains('|') {
        all.push(format!("|W|{span}|\n|-|-|\n|{span}|W|"));
    }
    all
}

/// Definitions that the spans refer to.
const KNOWN: &str = "\n\n[known]: u.html\n\n[w900 w901]: v.html\n\n[^note]: W\n";

#[test]
fn hidden_parts_match_rendered_page() {
    let blocks = BLOCKS.iter().flat_map(|block| contexts(block));
    let spans = SPANS.iter().flat_map(|span| lines(span));
    let spans = spans.map(|text| format!("{text}{KNOWN}"));
    let cases: Vec<String> = blocks.chain(spans).map(|text| numbered(&text)).collect();
    let wrong: Vec<Vec<String>> = cases.iter().map(|text| differences(text)).collect();
    let wrong: Vec<&String> = wrong.iter().filter_map(|found| found.first()).collect();
    let first: String = wrong.iter().take(12).map(|found| found.as_str()).collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{first}",
        wrong.len(),
        cases.len()
    );
    assert!(cases.len() > 535);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An element that one block leaves open can affect the next block, so several blocks are
    /// combined.
    #[test]
    fn hidden_parts_of_several_blocks_match_rendered_page(
        blocks in proptest::collection::vec(proptest::sample::select(BLOCKS), 1..4),
        spans in proptest::collection::vec(proptest::sample::select(SPANS), 1..4),
    ) {
        // If two footnotes have the same name, the renderer shows the one without a reference.
        let mut notes = 0;
        let mut blocks = blocks;
        blocks.retain(|block| {
            notes += usize::from(block.contains("[^a]:"));
            notes < 2 || !block.contains("[^a]:")
        });
        // After a comment without an end, the renderer recognises no other comment.
        let spans: Vec<&str> = spans.into_iter().filter(|s| !s.contains("--!>")).collect();
        let text = format!("{}\n\n{}{KNOWN}", blocks.join("\n\n"), spans.join(" "));
        let found = differences(&numbered(&text));
        prop_assert!(found.is_empty(), "{}", found.concat());
    }

    #[test]
    fn arbitrary_text_yields_ordered_disjoint_hidden_parts(
        text in "([<>!?=/\"'`|~#:^\\[\\]()\\-\\\\& \t\r\né1a]|<!--|-->|<p>|<b hidden>|</b>|<script>|&#8203;){0,60}"
    ) {
        let mut end = 0;
        for part in hidden(&text) {
            prop_assert!(end <= part.range.start && part.range.start < part.range.end);
            prop_assert!(text.get(part.range.clone()).is_some());
            end = part.range.end;
        }
    }
}

#[test]
fn zero_width_entities_are_hidden() {
    let of = |text: &str| -> Vec<String> {
        let parts = hidden(text).into_iter();
        parts.map(|part| text[part.range].to_owned()).collect()
    };
    assert_eq!(of("a&#8203;b &amp; &#xE0041;c"), ["&#8203;", "&#xE0041;"]);
    assert_eq!(of("a &lt;b&gt; &eacute; `&#8203;`"), [""; 0]);
}

#[test]
fn text_beyond_maximum_length_is_hidden() {
    for part in ["a ", "<b>ü</b>"] {
        let text = part.repeat(300_000 / part.len());
        let parts = hidden(&text);
        let last = parts.last().unwrap();
        let start = text.floor_char_boundary(MAX_TEXT);
        assert_eq!(
            (last.range.clone(), last.is_comment),
            (start..text.len(), false)
        );
        let fits = &text[..start];
        assert!(
            hidden(fits).iter().all(|part| part.range.len() < 10),
            "{part}"
        );
    }
}

/// Every tag is compared with all open elements, so the limit on their number bounds the work.
#[test]
fn text_after_too_many_open_elements_is_hidden() {
    for open in ["<div>", "<b>", "<details>", "<x>", "<i>\n"] {
        let few = format!("{} end", open.repeat(100));
        assert!(hidden(&few).is_empty(), "{open}");
        let many = format!("{} end", open.repeat(65_000 / open.len()));
        let parts = hidden(&many);
        let [part] = parts.as_slice() else {
            panic!("{open}: {parts:?}");
        };
        assert!(part.range.start <= 513 * open.len(), "{open}: {part:?}");
        assert_eq!((part.range.end, part.is_comment), (many.len(), false));
    }
}

#[test]
fn footnotes_after_too_many_open_elements_are_hidden() {
    let text = format!("[^n]\n\n[^n]: shown last\n\n{}", "<div>".repeat(600));
    let note = text.find("shown").unwrap();
    let is_in = |part: &forge_core::markdown::Hidden| part.range.contains(&note);
    assert!(hidden(&text).iter().any(is_in));
}
