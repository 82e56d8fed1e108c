use std::ops::Range;

use super::SectionItem;
use crate::{budget, content::Cleaner};

/// The blocks of a result's text in order, each with the length of its structured data.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub texts: Vec<String>,
    pub lengths: Vec<usize>,
}

impl Blocks {
    /// Adds a block, with the length of its structured data.
    pub fn push(&mut self, text: String, data: usize) {
        self.texts.push(text);
        self.lengths.push(data);
    }

    /// Adds a list: a heading with `note`, then the items, each in a block. For an empty list, only
    /// the heading is added.
    pub fn section<T: SectionItem>(
        &mut self,
        name: &str,
        note: &str,
        mut items: Vec<T>,
        detailed: bool,
        cleaner: &Cleaner,
    ) -> BlockList<T> {
        let first = self.texts.len();
        let count = items.iter().filter(|item| !item.continues()).count();
        let mut head = format!("\n{name} ({count}){note}:\n");
        if items.is_empty() {
            self.push(head, 0);
            return BlockList { first, items };
        }
        for item in &mut items {
            head.push_str(&item.text(detailed, cleaner));
            // A long structured result omits the bodies, so their length is not counted here.
            let bodies: usize = item.bodies().iter().map(|b| budget::length(&**b)).sum();
            let length = budget::length(item).saturating_sub(bodies);
            self.push(std::mem::take(&mut head), length);
        }
        BlockList { first, items }
    }
}

/// The items of a list, one for each block. The first item is in block `first`.
#[derive(Debug)]
pub(crate) struct BlockList<T> {
    first: usize,
    items: Vec<T>,
}

impl<T> BlockList<T> {
    /// Returns the item that is in a block.
    pub fn at(&self, block: usize) -> Option<&T> {
        self.items.get(block.checked_sub(self.first)?)
    }

    /// Returns the items that begin on a page; `None` if the page contains no part of the list.
    pub fn on(self, page: &Range<usize>) -> Option<Vec<T>> {
        let behind = self.first + self.items.len().max(1);
        let (from, to) = (page.start.max(self.first), page.end.min(behind));
        (from < to).then(|| {
            let items = self.items.into_iter();
            items.skip(from - self.first).take(to - from).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_data_has_items_of_its_blocks() {
        let listed = BlockList {
            first: 3,
            items: vec![1, 2],
        };
        let at = [2, 3, 4, 5].map(|block| listed.at(block).copied());
        assert_eq!(at, [None, Some(1), Some(2), None]);
        let on = |items: Vec<u8>, page| BlockList { first: 3, items }.on(&page);
        assert_eq!(on(vec![1, 2, 3], 0..4), Some(vec![1]));
        assert_eq!(on(vec![1, 2, 3], 4..9), Some(vec![2, 3]));
        assert_eq!(on(vec![1, 2, 3], 6..9), None);
        assert_eq!(on(vec![1, 2, 3], 0..3), None);
        assert_eq!(on(vec![1, 2, 3], 5..5), None);
        assert_eq!(on(Vec::new(), 0..9), Some(Vec::new()));
        assert_eq!(on(Vec::new(), 4..9), None);
    }
}
