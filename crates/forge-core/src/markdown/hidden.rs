use std::{collections::BTreeSet, ops::Range};

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Parser, Tag, TagEnd};

use super::{
    InTag, OPTIONS, beginning,
    elements::{Content, Elements},
    end_of_bogus, end_of_comment,
};
use crate::text::strip_hidden;

/// An event of the parser with its byte range in the text.
type SpannedEvent<'t> = (Event<'t>, Range<usize>);

/// A part of a text that the page does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hidden {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// True if the part is an HTML comment as [`super::html_comments`] defines it.
    pub is_comment: bool,
}

/// Returns the parts of a Markdown text that the page of a forge does not show, in order. A hidden
/// part is not returned if it carries no message for a reader, such as the size of an image. The
/// comments in this file say that such a part is kept.
///
/// | Hidden | Shown, or kept |
/// |---|---|
/// | HTML comments | code with comments in it |
/// | unused link definitions, footnotes without a reference | address of a link or an image |
/// | titles of links and images, texts in place of images | labels of one short word |
/// | the info string of a code fence | the name of a known language |
/// | attributes of HTML | `href` and `src` with an address; sizes |
/// | the content of `<template>`, `<script>`, `<style>` and so on | `<details>`: a click opens it |
/// | the content of an element with `hidden` | text hidden by `style`: forges remove `style` |
/// | cells beyond the last column of a table | the name of a tag, as in `Vec<String>` |
/// | zero-width characters written as entities | `%` within `$` or `$$`, `\phantom` of a formula |
/// | `%%` in `mermaid` and `%` in `math` fences, up to the line's end | properties of GeoJSON |
/// | everything after 512 elements that are open at once | |
/// | everything after the first [`super::MAX_TEXT`] bytes | |
/// | a table whose short rows lack thousands of cells, and everything after it | |
///
/// Tags are parsed as in a browser. An element may therefore stay open after the end of its block,
/// and hides the same text here as on the page.
#[must_use]
pub fn hidden(text: &str) -> Vec<Hidden> {
    let (read, rest) = beginning(text);
    let mut parts = hidden_in(read);
    if rest > 0 {
        parts.push(Hidden {
            range: read.len()..text.len(),
            is_comment: false,
        });
    }
    parts
}

fn hidden_in(text: &str) -> Vec<Hidden> {
    // Without one of these characters, no text is hidden.
    if !text.contains(['<', '[', '`', '~', '&', '|']) {
        return Vec::new();
    }
    let parser = Parser::new_ext(text, OPTIONS);
    let definitions = parser.reference_definitions().iter();
    let definitions: Vec<(String, Range<usize>)> = definitions
        .map(|(label, of)| (folded(label), of.span.clone()))
        .collect();
    let events: Vec<SpannedEvent<'_>> = parser.into_offset_iter().collect();
    let footnotes = events.iter().filter_map(|(event, _)| match event {
        Event::FootnoteReference(label) => Some(folded(label)),
        _ => None,
    });
    let mut page = ScannedPage {
        text,
        footnotes: footnotes.collect(),
        used: BTreeSet::new(),
        at: TokenizerState::Shown,
        elements: Elements::default(),
        since: None,
        in_image: 0,
        drawn: DrawnCode::None,
        links: Vec::new(),
        done: 0,
        skipped: 0,
        is_cut: false,
        seen: Vec::new(),
        hidden: Vec::new(),
    };
    // A page shows its footnotes at the end, so they are processed last.
    let mut notes: Vec<(Range<usize>, Vec<SpannedEvent<'_>>)> = Vec::new();
    for (event, range) in events {
        match notes.last_mut() {
            Some((note, inner)) if range.start < note.end => inner.push((event, range)),
            _ if matches!(event, Event::Start(Tag::FootnoteDefinition(_))) => {
                notes.push((range.clone(), vec![(event, range)]));
            }
            _ => page.read(&event, range),
        }
    }
    page.finish(
        &notes
            .iter()
            .map(|(note, _)| note.clone())
            .collect::<Vec<_>>(),
    );
    for (note, inner) in notes {
        page.done = note.start;
        for (event, range) in inner {
            page.read(&event, range);
        }
        page.finish_note(&note);
    }
    page.all(&definitions)
}

/// Normalises the label of a link or footnote for comparison.
fn folded(label: &str) -> String {
    let words: Vec<String> = label.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

#[derive(Debug)]
enum TokenizerState {
    Shown,
    Tag(OpenTag),
    Comment(usize),
    Bogus(usize),
    /// In raw text up to the end tag of this element. The number is the offset where the text
    /// begins.
    Raw(String, usize),
}

/// A tag whose end has not been found yet, as far as it was parsed.
#[derive(Debug)]
struct OpenTag {
    start: usize,
    is_end: bool,
    name: String,
    place: InTag,
    attributes: Vec<Attribute>,
}

#[derive(Debug)]
struct Attribute {
    range: Range<usize>,
    name: String,
    value: String,
}

struct ScannedPage<'a> {
    text: &'a str,
    /// Labels of the footnotes that have a reference.
    footnotes: BTreeSet<String>,
    /// Labels of the link definitions that are in use.
    used: BTreeSet<String>,
    at: TokenizerState,
    elements: Elements,
    /// Offset from which an open element hides text; `None` if no element hides text.
    since: Option<usize>,
    in_image: usize,
    /// Language of the code block that is being read.
    drawn: DrawnCode,
    /// For each link whose end was not read yet, the earliest offset where its target can begin.
    links: Vec<usize>,
    /// End of the last text that was processed.
    done: usize,
    /// Offset up to which everything is hidden.
    skipped: usize,
    /// True after too many elements were open. Everything that follows is hidden.
    is_cut: bool,
    /// Ranges that are not hidden: the page shows them, or they are kept although it does not.
    seen: Vec<Range<usize>>,
    hidden: Vec<Hidden>,
}

impl ScannedPage<'_> {
    fn read(&mut self, event: &Event<'_>, range: Range<usize>) {
        if self.is_cut || range.start < self.skipped {
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, &range),
            Event::End(tag) => self.end(*tag, &range),
            Event::Text(shown) | Event::Code(shown) => {
                if self.in_image > 0 {
                    self.hide(range.clone(), false);
                } else if self.is_visible() {
                    let written = self.text.get(range.clone()).unwrap_or_default();
                    match written != &**shown
                        && written.starts_with('&')
                        && strip_hidden(shown).1 > 0
                    {
                        true => self.hide(range.clone(), false),
                        false => {
                            self.seen.push(range.clone());
                            self.hide_code_comments(range.clone());
                        }
                    }
                }
            }
            Event::InlineHtml(_) => {
                self.html(range.clone(), true);
                self.leave(range.end);
            }
            Event::Html(_) => self.html(range.clone(), false),
            Event::FootnoteReference(_) => self.keep_label(range.start + 2, range.end),
            Event::Rule => self.begin("hr", range.start),
            _ => return,
        }
        if !matches!(event, Event::Start(_)) {
            self.done = self.done.max(range.end);
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        match tag {
            Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. } => {
                self.end_quoted_tag(range.start);
                if matches!(
                    link_type,
                    LinkType::Reference | LinkType::Collapsed | LinkType::Shortcut
                ) {
                    self.used.insert(folded(id));
                }
                self.links.push(range.start);
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                self.keep_language(info, range.start);
                self.drawn = DrawnCode::of(info);
            }
            Tag::FootnoteDefinition(label) => match self.footnotes.contains(&folded(label)) {
                true => self.keep_label(range.start + 2, range.end),
                false => {
                    self.hide(range.clone(), false);
                    self.skipped = range.end;
                    return;
                }
            },
            Tag::Item => self.keep_number(range.start),
            _ => {}
        }
        if let Tag::Image { .. } = tag {
            self.in_image += 1;
        }
        for name in names(&tag.to_end()) {
            self.begin(name, range.start);
        }
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::HtmlBlock => return self.leave(self.done),
            TagEnd::Image => {
                self.in_image = self.in_image.saturating_sub(1);
                self.keep_target(range.end);
            }
            TagEnd::Link => self.keep_target(range.end),
            TagEnd::CodeBlock => self.drawn = DrawnCode::None,
            _ => {}
        }
        for name in names(&tag).iter().rev() {
            self.elements.end(name);
        }
        self.update_since(range.end.min(self.done.max(range.start)));
    }

    /// Opens an element that comes from Markdown syntax.
    fn begin(&mut self, name: &str, at: usize) {
        self.elements.close_implied(name);
        self.update_since(at);
        self.elements.start(name, false, false);
        self.cut_if_deep(at);
    }

    /// Hides the rest of the text if more than 512 elements are open.
    fn cut_if_deep(&mut self, at: usize) {
        if self.elements.are_too_many() && !self.is_cut {
            self.hide(at..self.text.len(), false);
            self.is_cut = true;
        }
    }

    /// Returns true if the page shows the text that follows.
    fn is_visible(&self) -> bool {
        self.since.is_none() && matches!(self.at, TokenizerState::Shown)
    }

    /// Updates `since` after an element started or stopped hiding its content.
    fn update_since(&mut self, at: usize) {
        match (self.since, self.elements.are_hiding()) {
            (None, true) => self.since = Some(at),
            (Some(since), false) => {
                self.hide(since..at, false);
                self.since = None;
            }
            _ => {}
        }
    }

    fn hide(&mut self, range: Range<usize>, is_comment: bool) {
        self.hidden.push(Hidden { range, is_comment });
    }

    fn html(&mut self, part: Range<usize>, is_inline: bool) {
        let mut from = part.start;
        while let Some(rest) = self
            .text
            .get(from..part.end)
            .filter(|rest| !rest.is_empty() && !self.is_cut)
        {
            match &mut self.at {
                TokenizerState::Shown => {
                    let at = rest.find('<').unwrap_or(rest.len());
                    let start = from + at;
                    if self.since.is_none() {
                        self.seen.push(from..start);
                    }
                    let Some(behind) = rest.get(at + 1..) else {
                        return;
                    };
                    let closing = behind.strip_prefix('/');
                    let name = closing.unwrap_or(behind);
                    from = start + 1;
                    if behind.starts_with("!--") {
                        self.at = TokenizerState::Comment(start);
                        // The opening hyphens can also close the comment.
                        from = start + 2;
                    } else if behind.starts_with(['!', '?'])
                        || closing.is_some()
                            && name.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '>')
                    {
                        self.at = TokenizerState::Bogus(start);
                    } else if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        from += behind.len() - name.len();
                        self.at = TokenizerState::Tag(OpenTag {
                            start,
                            is_end: closing.is_some(),
                            name: String::new(),
                            place: InTag::Name,
                            attributes: Vec::new(),
                        });
                    }
                }
                TokenizerState::Tag(tag) => {
                    let last = match is_inline {
                        true => rest.len() - 1,
                        false => 0,
                    };
                    let Some(end) = tag.read(from, rest, last) else {
                        return;
                    };
                    from += end;
                    self.end_tag(from);
                }
                TokenizerState::Comment(start) => {
                    let start = *start;
                    let Some(end) = end_of_comment(self.text, start, from..part.end) else {
                        return;
                    };
                    from = end;
                    self.end_comment(start..end);
                }
                TokenizerState::Bogus(start) => {
                    let start = *start;
                    let Some(end) = end_of_bogus(rest) else {
                        return;
                    };
                    from += end;
                    self.end_comment(start..from);
                }
                TokenizerState::Raw(name, start) => {
                    let Some(at) = end_of_raw(rest, name) else {
                        return;
                    };
                    let start = *start;
                    from += at;
                    self.at = TokenizerState::Shown;
                    if self.since.is_none() {
                        self.hide(start..from, false);
                    }
                }
            }
        }
    }

    fn end_comment(&mut self, range: Range<usize>) {
        self.at = TokenizerState::Shown;
        if self.since.is_none() {
            self.hide(range, true);
        }
    }

    /// Handles the end of a part of the text that is HTML. The text up to the next block or tag is
    /// not HTML, so only an open comment or a quoted attribute value continues there.
    fn leave(&mut self, end: usize) {
        match &self.at {
            TokenizerState::Tag(tag) if !matches!(tag.place, InTag::Quoted(_)) => self.end_tag(end),
            TokenizerState::Bogus(start) => {
                let start = *start;
                let part = self.text.get(start..end).unwrap_or_default();
                self.end_comment(start..start + part.trim_end().len());
            }
            _ => {}
        }
    }

    /// Ends the open tag at a link or image, if the link is in an attribute value between double
    /// quotes. The page writes the link or image as HTML with a `"`, and this `"` ends the value.
    fn end_quoted_tag(&mut self, at: usize) {
        if matches!(&self.at, TokenizerState::Tag(tag) if tag.place == InTag::Quoted('"')) {
            self.end_tag(at);
        }
    }

    /// Processes the end of the open tag.
    fn end_tag(&mut self, end: usize) {
        let TokenizerState::Tag(mut tag) = std::mem::replace(&mut self.at, TokenizerState::Shown)
        else {
            return;
        };
        if let (InTag::Quoted(_), Some(open)) = (tag.place, tag.attributes.last_mut()) {
            open.range.end = end;
        }
        let name = tag.name.to_ascii_lowercase();
        match tag.is_end {
            true => self.elements.end(&name),
            false => self.elements.close_implied(&name),
        }
        self.update_since(tag.start);
        if self.since.is_none() {
            self.seen.push(tag.start..end);
            let from = tag.start + 1 + usize::from(tag.is_end);
            if tag.name.len() > MAX_WORD || !is_name(&tag.name) {
                self.hide(from..from + tag.name.len(), false);
            }
            for attribute in tag.attributes.iter().filter(|a| tag.is_end || !a.is_kept()) {
                self.hide(attribute.range.clone(), false);
            }
        }
        if tag.is_end {
            return;
        }
        let has = |name: &str| tag.attributes.iter().any(|a| a.name == name);
        match self.elements.start(&name, has("hidden"), has("open")) {
            Content::Raw => self.at = TokenizerState::Raw(name, end),
            Content::Markup => {
                self.update_since(end);
                self.cut_if_deep(end);
            }
            Content::None => {}
        }
    }

    /// Keeps the address of a link or image, and its label if the label is short. The title is not
    /// kept, so it is hidden.
    fn keep_target(&mut self, end: usize) {
        let from = self.links.pop().unwrap_or(end).max(self.done.min(end));
        let tail = self.text.get(from..end).unwrap_or_default();
        if let Some((before, target)) = tail.split_once("](") {
            let at = from + before.len() + 2;
            self.keep_address(at, target);
        } else if let Some((before, label)) = tail.split_once("][") {
            let at = from + before.len() + 2;
            self.keep_label(at, at + label.len());
        }
    }

    /// Keeps the address at the beginning of a link target.
    fn keep_address(&mut self, at: usize, target: &str) {
        let trimmed = target.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
        let mut at = at + target.len() - trimmed.len();
        let address = match trimmed.strip_prefix('<') {
            Some(inner) => {
                at += 1;
                inner.split('>').next().unwrap_or_default()
            }
            None => bare_address(trimmed),
        };
        if is_address(address) {
            self.seen.push(at..at + address.len());
        }
    }

    /// Keeps the label that starts at `from` if it is one short word.
    fn keep_label(&mut self, from: usize, most: usize) {
        let rest = self.text.get(from..most).unwrap_or_default();
        let label = rest.split(']').next().unwrap_or_default();
        if label.len() <= MAX_WORD && is_name(label) && self.is_visible() {
            self.seen.push(from..from + label.len());
        }
    }

    /// Keeps the number of a list item.
    fn keep_number(&mut self, start: usize) {
        let rest = self.text.get(start..).unwrap_or_default();
        let trimmed = rest.trim_start();
        let at = start + rest.len() - trimmed.len();
        let digits = trimmed.len()
            - trimmed
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        self.seen.push(at..at + digits);
    }

    /// Hides the comments in a code block that the page draws as a diagram or formula.
    fn hide_code_comments(&mut self, part: Range<usize>) {
        let mut at = part.start;
        let lines = self.text.get(part).unwrap_or_default();
        for line in lines.split_inclusive(['\n', '\r']) {
            let end = at + line.len();
            if let Some(start) = self.drawn.comment_start(line) {
                self.hide(at + start..end, false);
            }
            at = end;
        }
    }

    /// Keeps the name of a code block's language.
    fn keep_language(&mut self, info: &str, start: usize) {
        let word = language_of(info);
        let line = self.text.get(start..).unwrap_or_default();
        let line = line.lines().next().unwrap_or_default();
        if !word.is_empty()
            && LANGUAGES
                .split(' ')
                .any(|known| known.eq_ignore_ascii_case(word))
            && let Some(at) = line.find(word)
        {
            self.seen.push(start + at..start + at + word.len());
        }
    }

    /// Ends everything that is still open at the end of the text. The footnotes `notes` are taken
    /// out of the hidden parts, because a page shows footnotes after the text.
    fn finish(&mut self, notes: &[Range<usize>]) {
        let end = self.text.len();
        let is_open = self.end_at(end) || self.is_cut;
        self.hidden = std::mem::take(&mut self.hidden)
            .into_iter()
            .flat_map(|part| subtract_ranges(part, notes))
            .collect();
        // If an element is still open at the end of the text, it also hides the footnotes.
        if is_open {
            notes.iter().for_each(|note| self.hide(note.clone(), false));
        }
    }

    /// Ends everything that is still open at the end of a footnote.
    fn finish_note(&mut self, note: &Range<usize>) {
        self.end_at(note.end);
        self.elements = Elements::default();
    }

    /// Ends the tag, comment or hiding element that is still open at `end`. Returns true if it was
    /// a comment or an element, whose text is then hidden up to `end`.
    fn end_at(&mut self, end: usize) -> bool {
        match std::mem::replace(&mut self.at, TokenizerState::Shown) {
            TokenizerState::Shown => {}
            TokenizerState::Comment(start) => {
                self.end_comment(start..end);
                return true;
            }
            TokenizerState::Bogus(start) => {
                self.at = TokenizerState::Bogus(start);
                self.leave(end);
            }
            TokenizerState::Raw(_, start) => {
                self.since = self.since.or(Some(start));
            }
            TokenizerState::Tag(tag) => {
                self.at = TokenizerState::Tag(tag);
                self.end_tag(end);
            }
        }
        let Some(since) = self.since.take() else {
            return false;
        };
        self.hide(since..end, false);
        true
    }

    /// Returns all hidden parts, including those for which the parser reports no event.
    fn all(mut self, definitions: &[(String, Range<usize>)]) -> Vec<Hidden> {
        for (label, span) in definitions {
            match self.used.contains(label) {
                true => self.keep_definition(span),
                false => self.hide(span.clone(), false),
            }
        }
        self.hide_unseen();
        merge_parts(self.text, self.hidden)
    }

    fn keep_definition(&mut self, span: &Range<usize>) {
        let written = self.text.get(span.clone()).unwrap_or_default();
        if let Some((label, target)) = written.split_once("]:") {
            let at = span.start + label.len() + 2;
            self.keep_label(span.start + 1, at);
            self.keep_address(at, target);
        }
    }

    /// Hides the words that are not in `seen`, unless they are hidden already.
    fn hide_unseen(&mut self) {
        let mut known = std::mem::take(&mut self.seen);
        known.extend(self.hidden.iter().map(|part| part.range.clone()));
        known.sort_unstable_by_key(|part| part.start);
        let end = self.text.len();
        let mut done = 0;
        for part in known.into_iter().chain(std::iter::once(end..end)) {
            let between = self.text.get(done..part.start).unwrap_or_default();
            if let Some(words) = words_of(between) {
                self.hide(done + words.start..done + words.end, false);
            }
            done = done.max(part.end);
        }
    }
}

/// Language of a code block that the page draws without its comments.
enum DrawnCode {
    /// The page shows the code as it is, or the text is outside of code blocks.
    None,
    /// A TeX formula.
    Math,
    /// A diagram.
    Mermaid,
    /// A diagram, inside a directive of several lines: `%%{init: … }%%`.
    MermaidDirective,
}

impl DrawnCode {
    fn of(info: &str) -> Self {
        match language_of(info).to_ascii_lowercase().as_str() {
            "math" => Self::Math,
            "mermaid" => Self::Mermaid,
            _ => Self::None,
        }
    }

    /// Returns the start of the comment or directive in a line. Everything from there to the end of
    /// the line is hidden. Text may precede the comment, because some diagrams allow a comment
    /// after a statement.
    fn comment_start(&mut self, line: &str) -> Option<usize> {
        let start = match self {
            Self::None => return None,
            Self::Math => {
                let mut is_escaped = false;
                return line.find(|c: char| {
                    let begins = c == '%' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    begins
                });
            }
            Self::Mermaid => line.find("%%"),
            Self::MermaidDirective => Some(0),
        };
        let (open, close) = (line.rfind("%%{"), line.rfind("}%%"));
        if open.max(close).is_some() {
            *self = match open > close {
                true => Self::MermaidDirective,
                false => Self::Mermaid,
            };
        }
        start
    }
}

/// Returns the language in the info string of a code fence.
fn language_of(info: &str) -> &str {
    let mut words = info.split(|c: char| c.is_whitespace() || ",{".contains(c));
    words.next().unwrap_or_default()
}

impl OpenTag {
    /// Continues parsing the tag in `rest`. If the tag ends in `rest`, returns the length up to its
    /// end. Before the offset `last`, a `>` at the start of a line does not end the tag, because it
    /// belongs to a Markdown quote around the tag.
    fn read(&mut self, from: usize, rest: &str, last: usize) -> Option<usize> {
        let mut begins_line = false;
        for (at, c) in rest.char_indices() {
            if at < last && begins_line && matches!(c, ' ' | '\t' | '>') {
                continue;
            }
            begins_line = c == '\n';
            if c == '>' && !matches!(self.place, InTag::Quoted(_)) {
                return Some(at + 1);
            }
            let before = self.place;
            self.place = before.next(c);
            self.take(from + at, c, before);
        }
        None
    }

    /// Adds a character to the name or attributes of the tag. `before` is the state before the
    /// character.
    fn take(&mut self, at: usize, c: char, before: InTag) {
        let end = at + c.len_utf8();
        match (before, self.place) {
            (_, InTag::Name) => self.name.push(c),
            (InTag::Attribute, InTag::Attribute) => {
                if let Some(open) = self.attributes.last_mut() {
                    open.name.push(c.to_ascii_lowercase());
                    open.range.end = end;
                }
            }
            (_, InTag::Attribute) => self.attributes.push(Attribute {
                range: at..end,
                name: c.to_ascii_lowercase().to_string(),
                value: String::new(),
            }),
            (_, InTag::Value | InTag::Quoted(_)) => {
                if let Some(open) = self.attributes.last_mut() {
                    open.range.end = end;
                    if before != InTag::BeforeValue || self.place == InTag::Value {
                        open.value.push(c);
                    }
                }
            }
            (InTag::Quoted(_), _) => {
                if let Some(open) = self.attributes.last_mut() {
                    open.range.end = end;
                }
            }
            _ => {}
        }
    }
}

impl Attribute {
    /// Returns true if the value is an address or a size. Such a value carries no message for a
    /// reader.
    fn is_kept(&self) -> bool {
        match self.name.as_str() {
            "href" | "src" => is_address(&self.value),
            "width" | "height" | "colspan" | "rowspan" | "start" => {
                let is_size = |c: char| c.is_ascii_digit() || ".%".contains(c);
                let value = self.value.strip_suffix("px").unwrap_or(&self.value);
                value.chars().all(is_size)
            }
            "align" | "valign" => {
                let known = [
                    "left", "right", "center", "top", "middle", "bottom", "justify",
                ];
                known.contains(&self.value.as_str())
            }
            "hidden" | "open" => self.value.is_empty(),
            _ => false,
        }
    }
}

/// Maximum length of a word that is kept, in bytes. Such words are labels and names of tags.
const MAX_WORD: usize = 24;

fn is_name(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

/// Maximum length of an address that is kept, in bytes.
const MAX_ADDRESS: usize = 2_000;

/// Returns true if a browser could follow `target`.
fn is_address(target: &str) -> bool {
    let path = target.find(['/', '?', '#']).unwrap_or(target.len());
    let scheme = target.get(..path).and_then(|before| before.split_once(':'));
    let is_known =
        |scheme: &str| ["http", "https", "mailto"].contains(&scheme.to_ascii_lowercase().as_str());
    target.len() <= MAX_ADDRESS
        && !target.contains(|c: char| c.is_whitespace() || c.is_control())
        && scheme.is_none_or(|(scheme, _)| is_known(scheme))
}

/// Returns the address of a link target: the text up to the space before the title or up to the
/// closing parenthesis.
fn bare_address(target: &str) -> &str {
    let (mut depth, mut is_escaped) = (0_usize, false);
    for (at, c) in target.char_indices() {
        let ends = match c {
            _ if std::mem::take(&mut is_escaped) => false,
            '\\' => {
                is_escaped = true;
                false
            }
            '(' => {
                depth += 1;
                false
            }
            ')' if depth == 0 => true,
            ')' => {
                depth -= 1;
                false
            }
            c => c.is_whitespace(),
        };
        if ends {
            return target.get(..at).unwrap_or_default();
        }
    }
    target
}

/// Returns the start of the end tag that closes a raw text element.
fn end_of_raw(rest: &str, name: &str) -> Option<usize> {
    let mut places = rest.match_indices("</").map(|(at, _)| at);
    places.find(|at| {
        let behind = rest.get(at + 2..).unwrap_or_default();
        let is_it = behind
            .get(..name.len())
            .is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        let ends = behind.get(name.len()..).unwrap_or_default();
        is_it && ends.starts_with(|c: char| c.is_ascii_whitespace() || "/>".contains(c))
    })
}

/// Returns the range from the first to the last word, if there are words.
fn words_of(text: &str) -> Option<Range<usize>> {
    let start = text.find(char::is_alphanumeric)?;
    let (at, last) = text.char_indices().rfind(|(_, c)| c.is_alphanumeric())?;
    Some(start..at + last.len_utf8())
}

/// Trims, sorts and merges the parts.
fn merge_parts(text: &str, mut parts: Vec<Hidden>) -> Vec<Hidden> {
    let of = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
    for Hidden { range, .. } in &mut parts {
        let part = of(range);
        range.start += part.len() - part.trim_start().len();
        range.end -= (part.len() - part.trim_end().len()).min(range.end - range.start);
    }
    parts.retain(|part| {
        part.is_comment || words_of(of(&part.range)).is_some() || has_invisible(of(&part.range))
    });
    parts.sort_by_key(|part| (part.range.start, std::cmp::Reverse(part.range.end)));
    let mut all: Vec<Hidden> = Vec::new();
    for part in parts {
        match all.last_mut() {
            Some(last) if part.range.end <= last.range.end => {}
            Some(last) if part.range.start < last.range.end => last.range.end = part.range.end,
            Some(last)
                if !last.is_comment
                    && !part.is_comment
                    && of(&(last.range.end..part.range.start)).trim().is_empty() =>
            {
                last.range.end = part.range.end;
            }
            _ => all.push(part),
        }
    }
    all
}

/// Removes the ranges in `others`, which must be sorted, from a part.
fn subtract_ranges(part: Hidden, others: &[Range<usize>]) -> Vec<Hidden> {
    let mut left = Vec::new();
    let mut start = part.range.start;
    let first = others.partition_point(|other| other.start < start);
    let behind = others.get(first..).unwrap_or_default().iter();
    for other in behind.take_while(|other| other.start < part.range.end) {
        if other.start > start {
            left.push(start..other.start);
        }
        start = other.end.max(start);
    }
    if start < part.range.end {
        left.push(start..part.range.end);
    }
    let of = |(n, range)| Hidden {
        range,
        is_comment: part.is_comment && n == 0,
    };
    left.into_iter().enumerate().map(of).collect()
}

/// Returns true if the part is an HTML entity for an invisible character. Such a part stays in the
/// result although it contains no words.
fn has_invisible(part: &str) -> bool {
    part.starts_with('&')
}

/// Returns the HTML elements that a Markdown element becomes, the outer one first.
fn names(tag: &TagEnd) -> &'static [&'static str] {
    use pulldown_cmark::HeadingLevel as Level;
    match tag {
        TagEnd::Paragraph => &["p"],
        TagEnd::Heading(level) => match level {
            Level::H1 => &["h1"],
            Level::H2 => &["h2"],
            Level::H3 => &["h3"],
            Level::H4 => &["h4"],
            Level::H5 => &["h5"],
            Level::H6 => &["h6"],
        },
        TagEnd::BlockQuote(_) => &["blockquote"],
        TagEnd::CodeBlock => &["pre", "code"],
        TagEnd::List(true) => &["ol"],
        TagEnd::List(false) => &["ul"],
        TagEnd::Item => &["li"],
        TagEnd::Table => &["table"],
        TagEnd::TableHead | TagEnd::TableRow => &["tr"],
        TagEnd::TableCell => &["td"],
        TagEnd::Emphasis => &["em"],
        TagEnd::Strong => &["strong"],
        TagEnd::Link => &["a"],
        _ => &[],
    }
}

/// Languages that a page highlights. The page shows no other info string of a fence.
const LANGUAGES: &str = "\
    apache asm awk bash bat c c# c++ clojure cmake console cpp cs csharp css csv cxx d dart diff \
    dockerfile elixir elm erl erlang f# fish fsharp geojson go golang graphql groovy h haskell \
    hcl hpp hs html http ini java javascript jinja jq js json json5 jsonc jsonl jsx julia kotlin \
    kt latex less lisp log lua make makefile markdown math md mermaid nginx nix objc ocaml \
    pascal patch perl php pl plaintext powershell properties proto protobuf ps1 pwsh py python r \
    rb rs rst ruby rust sass scala scss sh shell solidity sql stl suggestion svelte svg swift \
    systemd tcl terraform tex text tf toml topojson ts tsx txt typescript vb vim vue wasm wat \
    wgsl xml yaml yml zig zsh";
