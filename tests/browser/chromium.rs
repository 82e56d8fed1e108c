//! A headless Chromium that the tests control by the DevTools protocol over a pipe
//! (<https://chromedevtools.github.io/devtools-protocol/>).

use std::{
    cell::RefCell,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_testkit::Scratch;
use serde_json::{Value, json};

/// Time limit of a response from Chromium.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Script that Chromium runs in each page before the page's own scripts. The page's content
/// security policy does not apply to it.
const WATCH: &str = "window.violations = []; document.addEventListener(
    'securitypolicyviolation', e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI))";

/// Window size and browser settings for a page.
pub struct View {
    pub width: u32,
    pub dark: bool,
    pub print: bool,
}

pub struct Browser {
    child: Child,
    pipe: RefCell<Pipe>,
    _profile: Scratch,
}

struct Pipe {
    to: ChildStdin,
    from: Receiver<Value>,
    calls: u64,
    events: Vec<Value>,
}

/// An open page in Chromium.
pub struct Tab<'a> {
    browser: &'a Browser,
    session: String,
    url: String,
}

impl Browser {
    /// Starts Chromium. Returns `None` if Chromium is missing and the tests do not require it.
    pub fn start() -> Option<Self> {
        let program = std::env::var_os("FORGE_CHROMIUM").map(PathBuf::from);
        let Some(program) = program else {
            let required = std::env::var_os("FORGE_REQUIRE_CHROMIUM").is_some();
            assert!(
                !required,
                "Chromium is required, and FORGE_CHROMIUM names none"
            );
            eprintln!("FORGE_CHROMIUM names no Chromium: no page was shown in it");
            return None;
        };
        let profile = Scratch::new();
        // Chromium reads commands from descriptor 3 and writes to descriptor 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>&2"])
            .arg(&program)
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args([
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .arg(format!(
                "--user-data-dir={}",
                profile.path("profile").display()
            ))
            .env("HOME", profile.path("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {}: {e}", program.display()));
        let (send, from) = channel();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else {
                    return;
                };
                message.clear();
                if send.send(value).is_err() {
                    return;
                }
            }
        });
        let to = child.stdin.take().unwrap();
        let browser = Self {
            child,
            pipe: RefCell::new(Pipe {
                to,
                from,
                calls: 0,
                events: Vec::new(),
            }),
            _profile: profile,
        };
        let version = browser.call("", "Browser.getVersion", json!({}));
        assert!(version["product"].is_string(), "{version}");
        Some(browser)
    }

    /// Opens a file, and waits until the page is loaded.
    pub fn open(&self, file: &Path, view: &View) -> Tab<'_> {
        let target = self.call("", "Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("", "Target.attachToTarget", attach);
        let tab = Tab {
            browser: self,
            session: attached["sessionId"].as_str().unwrap().to_owned(),
            url: format!("file://{}", file.canonicalize().unwrap().display()),
        };
        for domain in ["Page", "Runtime", "Log", "Network", "Audits"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({
            "media": if view.print { "print" } else { "" },
            "features": [{"name": "prefers-color-scheme", "value": scheme}],
        });
        tab.call("Emulation.setEmulatedMedia", media);
        let size = json!({
            "width": view.width, "height": 900, "deviceScaleFactor": 1, "mobile": view.width < 600,
        });
        tab.call("Emulation.setDeviceMetricsOverride", size);
        let watch = json!({"source": WATCH});
        tab.call("Page.addScriptToEvaluateOnNewDocument", watch);
        self.pipe.borrow_mut().events.clear();
        let went = tab.call("Page.navigate", json!({"url": tab.url}));
        assert!(went["errorText"].is_null(), "{went}");
        self.wait_for(&tab.session, "Page.loadEventFired");
        // Once a page is painted, it has sent all of its requests.
        tab.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))");
        tab
    }

    fn call(&self, session: &str, method: &str, params: Value) -> Value {
        let mut pipe = self.pipe.borrow_mut();
        pipe.calls += 1;
        let id = pipe.calls;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).unwrap();
        bytes.push(0);
        pipe.to
            .write_all(&bytes)
            .unwrap_or_else(|e| panic!("Chromium has ended: {e}"));
        loop {
            let answer = pipe.next(method);
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            pipe.events.push(answer);
        }
    }

    fn wait_for(&self, session: &str, event: &str) {
        let mut pipe = self.pipe.borrow_mut();
        let is_it = |e: &Value| e["method"] == event && e["sessionId"] == session;
        while !pipe.events.iter().any(is_it) {
            let next = pipe.next(event);
            pipe.events.push(next);
        }
    }
}

impl Pipe {
    fn next(&self, what: &str) -> Value {
        let next = self.from.recv_timeout(RESPONSE_TIMEOUT);
        next.unwrap_or_else(|e| panic!("Chromium does not answer {what}: {e}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // On this command Chromium ends all its processes, so none writes to its profile later.
        self.call("", "Browser.close", json!({}));
        let _ = self.child.wait();
    }
}

impl Tab<'_> {
    pub fn url(&self) -> &str {
        &self.url
    }

    fn call(&self, method: &str, params: Value) -> Value {
        self.browser.call(&self.session, method, params)
    }

    /// Evaluates a JavaScript expression in the page, and returns its value.
    pub fn evaluate(&self, expression: &str) -> Value {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true,
        });
        let found = self.call("Runtime.evaluate", params);
        assert!(found["exceptionDetails"].is_null(), "{found}");
        found["result"]["value"].clone()
    }

    /// Returns the requests of the page, and the errors that the browser logged.
    pub fn record(&self) -> (Vec<String>, Vec<String>) {
        let pipe = self.browser.pipe.borrow();
        let of = |methods: &[&str]| -> Vec<Value> {
            let events = pipe.events.iter().filter(|e| {
                e["sessionId"] == self.session.as_str()
                    && methods.iter().any(|method| e["method"] == *method)
            });
            events.map(|e| e["params"].clone()).collect()
        };
        let asked = of(&["Network.requestWillBeSent"]);
        let asked = asked
            .iter()
            .map(|p| p["request"]["url"].as_str().unwrap().to_owned());
        let complaints = of(&[
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Audits.issueAdded",
            "Page.javascriptDialogOpening",
        ]);
        (
            asked.collect(),
            complaints.iter().map(Value::to_string).collect(),
        )
    }

    /// Returns an image of the whole page as a PNG.
    pub fn screenshot(&self) -> Vec<u8> {
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let metrics = self.call("Page.getLayoutMetrics", json!({}));
        let size = &metrics["cssContentSize"];
        let clip =
            json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        let mut params = params;
        params["clip"] = clip;
        let shot = self.call("Page.captureScreenshot", params);
        BASE64_STANDARD
            .decode(shot["data"].as_str().unwrap())
            .unwrap()
    }
}
