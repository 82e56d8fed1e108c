//! Default values for fields whose data the double does not have.
//!
//! The schema is reduced by type, so covered types have fields for which the double has no data,
//! such as the sponsors of a user. These fields get the value of an object without such data: null,
//! false, zero, an empty text or an empty connection.

use apollo_compiler::{ast::Type, resolvers::ResolveInfo, schema::ExtendedType};
use serde_json::json;

use super::{
    context::Ctx,
    value::{Connection, Fail, Val},
};

pub(crate) fn value(ctx: &Ctx<'_>, info: &ResolveInfo<'_>, on: &str) -> Result<Val, Fail> {
    let definition = info.field_definition();
    let name = definition.ty.inner_named_type();
    if name.ends_with("Connection") {
        return Ok(Val::Connection(Connection::default()));
    }
    match &definition.ty {
        Type::Named(_) | Type::List(_) => return Ok(Val::NULL),
        Type::NonNullList(_) => return Ok(Val::List(Vec::new())),
        Type::NonNullNamed(_) => {}
    }
    let value = match info.schema().types.get(name) {
        Some(ExtendedType::Enum(it)) => json!(it.values.keys().next().map(|it| it.as_str())),
        Some(ExtendedType::Scalar(_)) => match name.as_str() {
            "Int" => json!(0),
            "Float" => json!(0.0),
            "Boolean" => json!(false),
            "DateTime" => json!(ctx.state().now()),
            "URI" => json!(ctx.web),
            "GitObjectID" => json!("0".repeat(40)),
            _ => json!(""),
        },
        _ => {
            return Err(Fail::plain(format!(
                "the double has no answer for {on}.{}",
                info.field_name()
            )));
        }
    };
    Ok(Val::Json(value))
}
