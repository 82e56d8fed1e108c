/// x
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)] #[error("x")] pub struct ParseLocatorError;
impl ParseLocatorError { /// x
 #[must_use] pub fn hint(&self) -> String { String::new() } }
