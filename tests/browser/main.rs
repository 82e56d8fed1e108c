//! Opens the page of `forge pr context --html` in a real Chromium, and tests its requests, scripts
//! and display.
//!
//! Without Chromium, the tests print a note and pass, unless `FORGE_REQUIRE_CHROMIUM` is set.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod chromium;
#[path = "../cli/context_stage.rs"]
mod context_stage;
#[allow(dead_code, reason = "the tests of the command line need more of it")]
#[path = "../cli/hub.rs"]
mod hub;
mod png;

use forge_core::text::neutralise;
use forge_testkit::workspace_root;
use serde_json::{Value, json};

use self::{
    chromium::{Browser, Tab, View},
    context_stage::{HOSTILE, HOSTILE_PATH, Stage},
    png::Png,
};

/// Script that counts all texts, and lists those with less contrast than WCAG 2.2 AA requires.
const CONTRAST: &str = "(() => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number);
  const channel = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = rgb(c).map(channel); return .2126*r + .7152*g + .0722*b };
  const behind = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor, [,,, a] = rgb(c);
    if (a === undefined || a === 1) return c; } return 'none' };
  const low = []; let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, s = getComputedStyle(e);
    if (!walker.currentNode.data.trim() || s.visibility !== 'visible') continue;
    const inside = e.closest('svg'), box = inside && e.closest('g')?.querySelector('rect');
    const ink = inside ? s.fill : s.color;
    if (inside && e.localName !== 'text') continue;
    const paper = box ? getComputedStyle(box).fill : behind(e);
    const [a, b] = [light(ink), light(paper)].sort((a, b) => b - a);
    seen++;
    if ((a + .05) / (b + .05) < 4.5) low.push([walker.currentNode.data.slice(0, 40), ink, paper]);
  }
  return { seen, low };
})()";

const SIZES: &[(&str, View)] = &[
    (
        "light",
        View {
            width: 1200,
            dark: false,
            print: false,
        },
    ),
    (
        "dark",
        View {
            width: 1200,
            dark: true,
            print: false,
        },
    ),
    (
        "phone",
        View {
            width: 390,
            dark: false,
            print: false,
        },
    ),
    (
        "phone-dark",
        View {
            width: 390,
            dark: true,
            print: false,
        },
    ),
    (
        "print",
        View {
            width: 800,
            dark: true,
            print: true,
        },
    ),
];

/// Asserts that the browser requested only the page, and logged no error.
fn check_quiet(tab: &Tab<'_>, name: &str) {
    let (asked, complaints) = tab.record();
    assert_eq!(asked, [tab.url()], "{name}");
    assert_eq!(complaints, [""; 0], "{name}");
    let state = tab.evaluate(
        "({ scripts: document.scripts.length, violations: window.violations,
            outside: document.querySelectorAll('[src],link,iframe,object,embed,form,base').length })",
    );
    let wanted = json!({"scripts": 0, "violations": [], "outside": 0});
    assert_eq!(state, wanted, "{name}");
}

#[test]
fn page_is_readable_in_every_size_and_colour() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let stage = Stage::rich();
    let page = stage.page(&[]);
    let kept = workspace_root().join("target/pages");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::copy(&page, kept.join("context.html")).unwrap();
    for (name, view) in SIZES {
        let tab = browser.open(&page, view);
        check_quiet(&tab, name);
        let contrast = tab.evaluate(CONTRAST);
        assert_eq!(contrast["low"], json!([]), "{name}");
        assert!(contrast["seen"].as_u64() > Some(150), "{name}: {contrast}");
        let wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64() <= Some(0), "{name} is {wide} px too wide");
        let text = tab.evaluate("document.body.innerText");
        for part in [
            "Not ready to merge",
            "CI failing: lint",
            "Open thread",
            "start = Some(at)",
        ] {
            assert!(text.as_str().unwrap().contains(part), "{name}: {part}");
        }
        let shot = tab.screenshot();
        std::fs::write(kept.join(format!("context-{name}.png")), &shot).unwrap();
        let png = Png::read(&shot);
        assert!(
            png.different_rows > 300,
            "{name}: {} rows",
            png.different_rows
        );
        let is_dark = png.corner.iter().all(|channel| *channel < 64);
        let is_light = png.corner.iter().all(|channel| *channel > 192);
        let wants_dark = view.dark && !view.print;
        assert_eq!((is_dark, is_light), (wants_dark, !wants_dark), "{name}");
    }
}

#[test]
fn hostile_page_runs_no_script_and_loads_nothing() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let stage = Stage::hostile();
    let include = "comments,reviews,ci,linked_issues,related_prs,diff,files,history";
    let page = stage.page(&["-i", include]);
    for (name, view) in SIZES {
        let tab = browser.open(&page, view);
        check_quiet(&tab, name);
        let wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64() <= Some(0), "{name} is {wide} px too wide");
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = tab.evaluate("document.title");
        let shown = joined(&neutralise(HOSTILE));
        assert_eq!(title, format!("#{} {shown}", stage.number), "{name}");
        let text = tab.evaluate("document.querySelector('main').textContent");
        let text = joined(text.as_str().unwrap());
        assert!(text.contains(&shown), "{name}");
        assert!(text.contains(&*neutralise(HOSTILE_PATH)), "{name}");
        let targets = tab.evaluate("[...document.links].map(a => a.protocol)");
        let targets = targets.as_array().unwrap();
        let known = ["file:", "http:"].map(Value::from);
        assert!(targets.iter().all(|t| known.contains(t)), "{targets:?}");
    }
}

#[test]
fn active_content_in_page_is_detected() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let stage = Stage::rich();
    let page = stage.page(&[]);
    let text = std::fs::read_to_string(&page).unwrap();
    let bad =
        "<script>document.title = 'pwned'</script><img src='http://127.0.0.1:9/x.png'></main>";
    let text = text.replace("</main>", bad);
    std::fs::write(&page, &text).unwrap();
    let (_, view) = &SIZES[0];
    let tab = browser.open(&page, view);
    let violations = tab.evaluate("window.violations");
    assert_eq!(violations.as_array().unwrap().len(), 2, "{violations}");
    assert!(!tab.record().1.is_empty());
    assert_ne!(tab.evaluate("document.title"), "pwned");
    std::fs::write(&page, text.replace("http-equiv", "name")).unwrap();
    let tab = browser.open(&page, view);
    assert_eq!(tab.record().0[1..], ["http://127.0.0.1:9/x.png"]);
    assert_eq!(tab.evaluate("document.title"), "pwned");
}

#[test]
fn folded_section_is_expanded_in_print() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let stage = Stage::rich();
    let page = stage.page(&[]);
    let is_seen = |print| {
        let view = View {
            width: 800,
            dark: false,
            print,
        };
        let tab = browser.open(&page, &view);
        let found = "document.querySelector('details:not([open]) > :last-child').checkVisibility({contentVisibilityAuto: true})";
        tab.evaluate(found)
    };
    assert_eq!((is_seen(false), is_seen(true)), (json!(false), json!(true)));
}
