use super::*; use std::fmt;
/// x
pub fn parse(_: &str, _: &Hosts) -> Result<Parsed, ParseLocatorError> { Err(ParseLocatorError) }
/// x
pub fn parse_remote(_: &str, _: &Hosts) -> Result<Parsed, ParseLocatorError> { Err(ParseLocatorError) }
/// x
pub fn parse_selector(_: &str, _: &Hosts) -> Result<PrSelector, ParseLocatorError> { Err(ParseLocatorError) }
pub fn write_repo(_r: &RepoId, _f: &mut fmt::Formatter<'_>) -> fmt::Result { Ok(()) }
