//! The table of differences in `docs/explanation/recordings.md`.

use forge_testkit::workspace_root;

/// A difference between a double and a recording.
#[derive(Debug, Clone)]
pub struct Difference {
    /// The service and the name of the exchange.
    pub exchange: String,
    pub what: String,
}

/// A row of the table.
struct Row {
    exchange: String,
    what: String,
    reason: String,
}

impl Row {
    fn covers(&self, difference: &Difference) -> bool {
        matches(&self.exchange, &difference.exchange) && matches(&self.what, &difference.what)
    }
}

/// Returns true if a cell is about a text: it is the text, or its beginning and `*`.
fn matches(cell: &str, text: &str) -> bool {
    match cell.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => cell == text,
    }
}

fn read_rows() -> Vec<Row> {
    let page = workspace_root().join("docs/explanation/recordings.md");
    let text = std::fs::read_to_string(page).unwrap();
    let lines = text.lines().filter_map(|it| it.strip_prefix("| "));
    let cells = lines.map(|it| it.trim_end_matches(" |").split(" | ").collect::<Vec<_>>());
    let rows = cells.filter_map(|it| match it[..] {
        [exchange, what, reason] => Some(Row {
            exchange: exchange.trim_matches('`').to_owned(),
            what: what.to_owned(),
            reason: reason.to_owned(),
        }),
        _ => None,
    });
    let services = ["github ", "tangled "];
    rows.filter(|it| {
        services
            .iter()
            .any(|service| it.exchange.starts_with(service))
    })
    .collect()
}

/// Fails if a difference is not in the table, or if the table has one that is not found.
pub fn assert_listed(service: &str, found: &[Difference]) {
    let mut rows = read_rows();
    rows.retain(|it| it.exchange.split(' ').next() == Some(service));
    let mut wrong = Vec::new();
    for difference in found {
        if !rows.iter().any(|it| it.covers(difference)) {
            wrong.push(format!(
                "| `{}` | {} | ? |",
                difference.exchange, difference.what
            ));
        }
    }
    wrong.dedup();
    for row in &rows {
        if !found.iter().any(|it| row.covers(it)) {
            wrong.push(format!(
                "no such difference: {} | {}",
                row.exchange, row.what
            ));
        }
        assert!(row.reason.len() > 3, "{} has no reason", row.exchange);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
