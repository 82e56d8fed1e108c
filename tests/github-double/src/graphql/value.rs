//! Values that resolvers give to the executor.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::super::state::Id;

/// A GitHub object that has resolvers, identified by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Query,
    Mutation,
    User(Id),
    Organization(Id),
    Bot(Id),
    Team(Id),
    Repo(Id),
    Ref(Id, String),
    Commit(Id, String),
    Tree(Id, String),
    Blob(Id, String),
    Pull(Id),
    PullCommit(Id, String),
    Issue(Id),
    Label(Id),
    Milestone(Id),
    Comment(Id),
    Reaction(Id, Id),
    Review(Id),
    Thread(Id),
    ReviewComment(Id),
    ReviewRequest(Id, usize),
    Suite(Id),
    Run(Id),
    Status(Id),
    Rollup(Id, String),
    CommitStatus(Id, String),
    WorkflowRun(Id),
    Workflow(Id),
    App(String),
    Project(Id),
    Item(Id),
    Field(Id),
    Protection(Id, String),
}

/// A small object with fields that are all known when it is created.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) type_name: String,
    pub(crate) fields: Vec<(&'static str, Val)>,
}

/// All nodes of a connection. The executor returns the requested page of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    pub(crate) nodes: Vec<Val>,
    /// Fields of the connection in addition to its nodes, edges, page info and total.
    pub(crate) extra: Vec<(&'static str, Val)>,
    /// Additional fields of the edges, in the order of the nodes.
    pub(crate) edges: Vec<Vec<(&'static str, Val)>>,
    /// Total that the connection reports; `None` means the number of nodes.
    pub(crate) total: Option<usize>,
}

/// The value of a field, as a resolver returns it.
#[derive(Debug, Clone)]
pub(crate) enum Val {
    Json(Value),
    Object(Node),
    Record(Rc<Record>),
    List(Vec<Val>),
    Connection(Connection),
}

impl Val {
    pub(crate) const NULL: Self = Self::Json(Value::Null);

    pub(crate) fn record(type_name: &str, fields: Vec<(&'static str, Val)>) -> Self {
        Self::Record(Rc::new(Record {
            type_name: type_name.to_owned(),
            fields,
        }))
    }

    pub(crate) fn connection(nodes: impl IntoIterator<Item = Node>) -> Self {
        Self::Connection(Connection {
            nodes: nodes.into_iter().map(Self::Object).collect(),
            ..Connection::default()
        })
    }

    pub(crate) fn option<T: Into<Self>>(value: Option<T>) -> Self {
        value.map_or(Self::NULL, Into::into)
    }
}

impl From<Node> for Val {
    fn from(node: Node) -> Self {
        Self::Object(node)
    }
}

impl From<&str> for Val {
    fn from(text: &str) -> Self {
        Self::Json(text.into())
    }
}

impl From<String> for Val {
    fn from(text: String) -> Self {
        Self::Json(text.into())
    }
}

impl From<&String> for Val {
    fn from(text: &String) -> Self {
        Self::Json(text.as_str().into())
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Self {
        Self::Json(value.into())
    }
}

impl From<u64> for Val {
    fn from(value: u64) -> Self {
        Self::Json(value.into())
    }
}

impl From<u32> for Val {
    fn from(value: u32) -> Self {
        Self::Json(value.into())
    }
}

impl From<usize> for Val {
    fn from(value: usize) -> Self {
        Self::Json(value.into())
    }
}

impl From<Value> for Val {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}

/// Error of a field, with GitHub's error type if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Fail {
    pub(crate) kind: Option<&'static str>,
    pub(crate) message: String,
}

impl Fail {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind: Some(kind),
            message: message.into(),
        }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new("NOT_FOUND", message)
    }

    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new("UNPROCESSABLE", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new("FORBIDDEN", message)
    }

    /// Creates an error without a type, like many errors of GitHub.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self {
            kind: None,
            message: message.into(),
        }
    }
}

impl From<super::super::git::GitError> for Fail {
    fn from(error: super::super::git::GitError) -> Self {
        Self::plain(format!("Something went wrong in git: {error}"))
    }
}

pub(crate) type Resolved = Result<Option<Val>, Fail>;

/// Arguments of a field, or the fields of an input object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Args(pub(crate) Map<String, Value>);

impl Args {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    pub(crate) fn str(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        self.str(name).map(str::to_owned)
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.0.get(name).and_then(Value::as_i64)
    }

    pub(crate) fn bool(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(Value::as_bool)
    }

    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.0
            .get(name)
            .and_then(Value::as_object)
            .map(|map| Self(map.clone()))
    }

    /// Returns a list argument of strings, or `None` if the argument is missing.
    pub(crate) fn strings(&self, name: &str) -> Option<Vec<String>> {
        self.0.get(name).and_then(Value::as_array).map(|list| {
            list.iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        })
    }

    /// Returns a list argument of input objects.
    pub(crate) fn objects(&self, name: &str) -> Vec<Self> {
        self.0
            .get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .map(|map| Self(map.clone()))
            .collect()
    }
}
