//! Connects the double's resolvers to the executor.

use std::rc::Rc;

use apollo_compiler::{
    resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue},
    schema::ExtendedType,
};

use super::{
    context::Ctx,
    defaults, errors, page,
    value::{Args, Fail, Node, Record, Val},
};
use crate::resolve;

/// An object whose fields the executor resolves.
pub(crate) struct Object<'c, 's> {
    ctx: &'c Ctx<'s>,
    inner: Inner,
}

enum Inner {
    Node(Node),
    Record(Rc<Record>),
}

impl<'c, 's> Object<'c, 's> {
    pub(crate) fn root(ctx: &'c Ctx<'s>, mutation: bool) -> Self {
        let node = if mutation {
            Node::Mutation
        } else {
            Node::Query
        };
        Self {
            ctx,
            inner: Inner::Node(node),
        }
    }

    fn value(&self, info: &ResolveInfo<'_>, args: &Args) -> Result<Val, Fail> {
        let name = info.field_name();
        let found = match &self.inner {
            Inner::Node(node) => resolve::field(self.ctx, node, name, args)?,
            Inner::Record(record) => record
                .fields
                .iter()
                .find(|(field, _)| *field == name)
                .map(|(_, value)| value.clone()),
        };
        match found {
            Some(value) => Ok(value),
            None => defaults::value(self.ctx, info, self.type_name()),
        }
    }
}

impl ObjectValue for Object<'_, '_> {
    fn type_name(&self) -> &str {
        match &self.inner {
            Inner::Node(node) => resolve::type_name(self.ctx, node),
            Inner::Record(record) => &record.type_name,
        }
    }

    fn resolve_field<'a>(
        &'a self,
        info: &'a ResolveInfo<'a>,
    ) -> Result<ResolvedValue<'a>, FieldError> {
        let args = Args(
            serde_json::to_value(info.arguments())
                .ok()
                .and_then(|value| value.as_object().cloned())
                .unwrap_or_default(),
        );
        self.value(info, &args)
            .and_then(|value| resolved(self.ctx, value, info, &args))
            .map_err(errors::raise)
    }
}

fn resolved<'a>(
    ctx: &'a Ctx<'_>,
    value: Val,
    info: &'a ResolveInfo<'a>,
    args: &Args,
) -> Result<ResolvedValue<'a>, Fail> {
    Ok(match value {
        Val::Json(serde_json::Value::Array(list)) if is_list(info) => {
            ResolvedValue::list(list.into_iter().map(ResolvedValue::leaf))
        }
        Val::Json(value) => ResolvedValue::leaf(value),
        Val::Object(node) => ResolvedValue::object(Object {
            ctx,
            inner: Inner::Node(node),
        }),
        Val::Record(record) => ResolvedValue::object(Object {
            ctx,
            inner: Inner::Record(record),
        }),
        Val::List(items) => {
            let items: Result<Vec<_>, Fail> = items
                .into_iter()
                .map(|item| resolved(ctx, item, info, args))
                .collect();
            ResolvedValue::list(items?)
        }
        Val::Connection(connection) => {
            let type_name = info.field_definition().ty.inner_named_type();
            let page = page::cut(connection, args, type_name, info)?;
            resolved(ctx, page, info, args)?
        }
    })
}

/// Returns true if the field's type is a list. A JSON array is then a list of values; otherwise it
/// is the value of a scalar.
fn is_list(info: &ResolveInfo<'_>) -> bool {
    let definition = info.field_definition();
    definition.ty.is_list()
        && !matches!(
            info.schema().types.get(definition.ty.inner_named_type()),
            Some(ExtendedType::Object(_))
        )
}
