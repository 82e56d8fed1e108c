//! Starts the real binary's server, with a client for both protocol eras.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

use forge_testkit::{CANARY, Run};
use serde_json::{Value, json};

pub use crate::local_world::World;
use crate::schema;

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

impl World {
    /// Creates a world with Ada's pull request 1 from `feature`.
    pub fn with_feature() -> Self {
        let world = Self::new();
        world.propose("feature", "Add a feature", "Closes nothing.");
        world
    }

    /// Opens a pull request as Ada.
    pub fn propose(&self, branch: &str, title: &str, body: &str) {
        let file = format!("{branch}.txt");
        let text = Some("one\ntwo\nthree\n");
        self.git
            .commit(branch, &format!("Add {file}"), &[(&file, text)]);
        self.forge(&["pr", "create", "-H", branch, "-t", title, "-b", body])
            .ok();
    }

    /// Starts a server in the repository as Grace.
    pub fn server(&self, era: &str, args: &[&str]) -> Wire {
        Wire::start(&self.grace(&["mcp"]).args(args), era)
    }

    /// Returns the repository's name as results contain it.
    pub fn name(&self) -> String {
        let path = self.git.path().canonicalize().unwrap();
        format!("file://{}", path.display())
    }
}

/// How the client answers a question for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Does not support elicitation.
    Absent,
    Agrees,
    Declines,
    /// Submits the form, but leaves the box unticked.
    LeavesItUnticked,
    /// Submits the form, but leaves out its field.
    LeavesItOut,
    /// Accepts the question without a form.
    SendsNoForm,
}

impl User {
    /// Returns the client's answer as JSON.
    fn answer(self) -> Value {
        match self {
            Self::Absent => panic!("a client that cannot ask was asked"),
            Self::Agrees => json!({"action": "accept", "content": {"confirm": true}}),
            Self::Declines => json!({"action": "decline"}),
            Self::LeavesItUnticked => json!({"action": "accept", "content": {"confirm": false}}),
            Self::LeavesItOut => json!({"action": "accept", "content": {}}),
            Self::SendsNoForm => json!({"action": "accept"}),
        }
    }
}

/// A client that is connected to a server over standard input and output.
pub struct Wire {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    era: &'static str,
    last_id: u64,
    /// Responses that arrived while the client waited for another one, by request id.
    early: BTreeMap<u64, Value>,
    /// Output schema of each tool, which the first call reads.
    outputs: BTreeMap<String, Value>,
    pub user: User,
    /// Questions for the user so far.
    pub asked: Vec<String>,
    /// Action to run once, between a question and its answer.
    pub meanwhile: Option<Box<dyn FnOnce()>>,
    /// Progress notifications received so far.
    pub progress: Vec<Value>,
    /// The server's response to `initialize` or `server/discover`.
    pub hello: Value,
}

impl Wire {
    pub fn start(run: &Run, era: &str) -> Self {
        let mut wire = Self::silent(run, era);
        wire.greet();
        wire
    }

    /// Starts a server without a handshake.
    pub fn silent(run: &Run, era: &str) -> Self {
        let mut command = run.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
            era: if era == MODERN { MODERN } else { LEGACY },
            last_id: 0,
            early: BTreeMap::new(),
            outputs: BTreeMap::new(),
            user: User::Agrees,
            asked: Vec::new(),
            meanwhile: None,
            progress: Vec::new(),
            hello: Value::Null,
        }
    }

    pub fn greet(&mut self) {
        self.hello = if self.era == MODERN {
            self.request("server/discover", json!({}))["result"].clone()
        } else {
            let hello = self.request(
                "initialize",
                json!({
                    "protocolVersion": LEGACY,
                    "capabilities": {"elicitation": {}},
                    "clientInfo": {"name": "tests", "version": "1"}
                }),
            );
            self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            hello["result"].clone()
        };
    }

    pub fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").expect("the server reads");
        input.flush().unwrap();
    }

    /// Sends bytes as one line, and returns the server's next message.
    pub fn line(&mut self, line: &[u8]) -> Value {
        let input = self.input.as_mut().unwrap();
        input
            .write_all(&[line, b"\n"].concat())
            .expect("the server reads");
        input.flush().unwrap();
        self.receive()
    }

    /// Returns the server's next message.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server writes");
        serde_json::from_str(&line).expect("JSON on standard output")
    }

    /// Sends a request and returns its id.
    pub fn begin(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if self.era == MODERN {
            let capabilities = match self.user {
                User::Absent => json!({}),
                _ => json!({"elicitation": {"form": {}}}),
            };
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"}
            });
            let own = params
                .as_object_mut()
                .unwrap()
                .entry("_meta")
                .or_insert_with(|| json!({}));
            own.as_object_mut()
                .unwrap()
                .extend(meta.as_object().unwrap().clone());
        }
        let message =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.send(&message);
        self.last_id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Returns the response to a request. Meanwhile, answers the questions for the user.
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(answer) = self.early.remove(&id) {
            return answer;
        }
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("the server writes");
            assert!(read > 0, "the server has gone");
            assert!(!line.contains(CANARY), "a token in an answer");
            let message: Value = serde_json::from_str(&line).expect("JSON on standard output");
            if message["method"] == "elicitation/create" {
                self.asked
                    .push(message["params"]["message"].as_str().unwrap().to_owned());
                if let Some(change) = self.meanwhile.take() {
                    change();
                }
                let result = self.user.answer();
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            } else if message["method"] == "notifications/progress" {
                self.progress.push(message["params"].clone());
            } else if message["id"] == id {
                return message;
            } else if let Some(other) = message["id"].as_u64() {
                self.early.insert(other, message);
            }
        }
    }

    /// Calls a tool, and returns the result without checking it.
    pub fn raw(&mut self, tool: &str, args: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": args}));
        assert!(answer.get("error").is_none(), "{answer}");
        let result = answer["result"].clone();
        if result["resultType"] != "input_required" {
            self.fits(tool, &result);
        }
        result
    }

    /// Checks the data in a result against the schema that the tool declares.
    fn fits(&mut self, tool: &str, result: &Value) {
        if self.outputs.is_empty() {
            let tools = self.tools().into_iter();
            let schema = |t: Value| {
                (
                    t["name"].as_str().unwrap().to_owned(),
                    t["outputSchema"].clone(),
                )
            };
            self.outputs = tools.map(schema).collect();
        }
        let (of, data) = (&self.outputs[tool], &result["structuredContent"]);
        if let Err(why) = schema::check(of, data, tool) {
            panic!("{why}\nin {data}");
        }
    }

    /// Returns the confirmation token in a failed call's result. A client without elicitation sends
    /// it with the next call.
    pub fn seal(failed: &Called) -> Value {
        let hint = failed.data()["error"]["hint"].as_str().unwrap().to_owned();
        let (_, rest) = hint.split_once("confirm=\"").unwrap();
        json!(rest.split('"').next().unwrap())
    }

    /// Calls a tool. If the tool asks the user, answers and calls again.
    pub fn call(&mut self, tool: &str, args: Value) -> Called {
        let result = self.raw(tool, args.clone());
        if result["resultType"] != "input_required" {
            return Called(result);
        }
        let question = &result["inputRequests"]["confirm"]["params"]["message"];
        self.asked.push(question.as_str().unwrap().to_owned());
        let state = result["requestState"].clone();
        if let Some(change) = self.meanwhile.take() {
            change();
        }
        self.confirmed(tool, args, &state)
    }

    /// Sends the second call of a confirmation in the modern era, and returns its result.
    pub fn confirmed(&mut self, tool: &str, args: Value, state: &Value) -> Called {
        let params = json!({
            "name": tool, "arguments": args, "requestState": state,
            "inputResponses": {"confirm": self.user.answer()}
        });
        let answer = self.request("tools/call", params);
        assert!(answer.get("error").is_none(), "{answer}");
        self.fits(tool, &answer["result"]);
        Called(answer["result"].clone())
    }

    /// Calls a tool, and follows its cursors to the last page. Asserts that each page has at most
    /// `most` characters of text, and at most three times as many in total.
    pub fn pages(&mut self, tool: &str, mut args: Value, most: usize) -> Vec<Called> {
        let mut pages = Vec::new();
        loop {
            let page = self.call(tool, args.clone()).ok().bounded(most);
            let cursor = page.cursor();
            assert_eq!(cursor.is_some(), page.text().contains("More: cursor="));
            pages.push(page);
            match cursor {
                Some(cursor) => args["cursor"] = json!(cursor),
                None => return pages,
            }
        }
    }

    /// Returns the tools that the server lists.
    pub fn tools(&mut self) -> Vec<Value> {
        self.request("tools/list", json!({}))["result"]["tools"]
            .as_array()
            .unwrap()
            .clone()
    }

    /// Ends the connection and returns the server's standard error.
    pub fn end(mut self) -> String {
        self.finish()
    }

    fn finish(&mut self) -> String {
        drop(self.input.take());
        let status = self.child.wait().expect("the server ends");
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        if !std::thread::panicking() {
            assert!(status.success(), "{status}: {said}");
            assert!(!said.contains(CANARY), "a token on standard error");
        }
        said
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.input.is_some() {
            let _ = self.finish();
        }
    }
}

/// The result of a tool call.
#[derive(Debug)]
pub struct Called(pub Value);

impl Called {
    pub fn text(&self) -> &str {
        self.0["content"][0]["text"].as_str().unwrap_or_default()
    }

    pub fn data(&self) -> &Value {
        &self.0["structuredContent"]
    }

    #[track_caller]
    pub fn ok(self) -> Self {
        assert_ne!(self.0["isError"], json!(true), "{}", self.text());
        self
    }

    /// Asserts that the call failed with this code.
    #[track_caller]
    pub fn fails(self, code: &str) -> Self {
        assert_eq!(self.0["isError"], json!(true), "{}", self.text());
        assert_eq!(self.data()["error"]["code"], code, "{}", self.text());
        assert!(self.text().contains("Recovery: "), "{}", self.text());
        self
    }

    #[track_caller]
    pub fn says(self, part: &str) -> Self {
        assert!(
            self.text().contains(part),
            "{part:?} is not in:\n{}",
            self.text()
        );
        self
    }

    /// Asserts that the text has at most `most` characters, and the whole result at most three
    /// times as many.
    #[track_caller]
    pub fn bounded(self, most: usize) -> Self {
        let text = self.text().chars().count();
        assert!(text <= most, "{text} characters of text");
        let whole = self.0.to_string().chars().count();
        assert!(whole <= 3 * most, "{whole} characters, {text} of text");
        self
    }

    /// Returns the cursor of the next page.
    pub fn cursor(&self) -> Option<String> {
        self.data()["next_cursor"].as_str().map(str::to_owned)
    }
}

/// Returns a field of each item in a list, over the data of all pages.
pub fn column(pages: &[Called], list: &str, field: &str) -> Vec<String> {
    let lists = pages.iter().filter_map(|p| p.data()[list].as_array());
    let items = lists
        .flatten()
        .map(|item| item[field].as_str().unwrap().to_owned());
    items.collect()
}
