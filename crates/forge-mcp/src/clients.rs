//! Generates the configuration with which MCP clients start this server.

use serde_json::{Value, json};

/// A client that the command line knows by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpClient {
    /// The name on the command line.
    pub name: &'static str,
    /// Where the user puts the configuration: a file, or a shell.
    pub place: &'static str,
    form: ConfigForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConfigForm {
    /// A command that adds the server.
    Command(&'static str),
    /// JSON of the form `{"mcpServers": {…}}`.
    Json(&'static str),
    /// JSON with `"type": "stdio"`, under this key.
    TypedJson(&'static str),
    /// TOML with the table `[mcp_servers.forge]`.
    Toml,
}

/// The known clients.
pub const CLIENTS: &[McpClient] = &[
    McpClient {
        name: "claude-code",
        place: "run once in a shell",
        form: ConfigForm::Command("claude mcp add forge --"),
    },
    McpClient {
        name: "claude-desktop",
        place: "claude_desktop_config.json",
        form: ConfigForm::Json("mcpServers"),
    },
    McpClient {
        name: "vscode",
        place: ".vscode/mcp.json",
        form: ConfigForm::TypedJson("servers"),
    },
    McpClient {
        name: "cursor",
        place: ".cursor/mcp.json",
        form: ConfigForm::Json("mcpServers"),
    },
    McpClient {
        name: "windsurf",
        place: "~/.codeium/windsurf/mcp_config.json",
        form: ConfigForm::Json("mcpServers"),
    },
    McpClient {
        name: "gemini",
        place: "~/.gemini/settings.json",
        form: ConfigForm::Json("mcpServers"),
    },
    McpClient {
        name: "codex",
        place: "~/.codex/config.toml",
        form: ConfigForm::Toml,
    },
    McpClient {
        name: "other",
        place: "the client's list of MCP servers",
        form: ConfigForm::Json("mcpServers"),
    },
];

impl McpClient {
    /// Finds a client by name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Returns the configuration for a program and its arguments.
    #[must_use]
    pub fn snippet(&self, program: &str, args: &[String]) -> String {
        let json = |key: &str, server: Value| {
            let text = serde_json::to_string_pretty(&json!({ key: { "forge": server } }));
            format!("{}\n", text.unwrap_or_default())
        };
        match self.form {
            ConfigForm::Command(add) => {
                let words: Vec<String> = std::iter::once(program)
                    .chain(args.iter().map(String::as_str))
                    .map(shell)
                    .collect();
                format!("{add} {}\n", words.join(" "))
            }
            ConfigForm::Json(key) => json(key, json!({ "command": program, "args": args })),
            ConfigForm::TypedJson(key) => json(
                key,
                json!({ "type": "stdio", "command": program, "args": args }),
            ),
            ConfigForm::Toml => {
                // JSON escapes in these strings are also valid in TOML.
                let list: Vec<String> = args.iter().map(|a| json!(a).to_string()).collect();
                format!(
                    "[mcp_servers.forge]\ncommand = {}\nargs = [{}]\n",
                    json!(program),
                    list.join(", ")
                )
            }
        }
    }
}

fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_snippet_names_program_and_arguments() {
        let args = [
            "mcp".to_owned(),
            "--allow-repo".to_owned(),
            "octo/*".to_owned(),
        ];
        for client in CLIENTS {
            let text = client.snippet("/opt/forge", &args);
            assert!(
                text.contains("/opt/forge") && text.contains("octo/*"),
                "{text}"
            );
        }
        let command = McpClient::named("claude-code")
            .unwrap()
            .snippet("forge", &args);
        assert_eq!(
            command,
            "claude mcp add forge -- forge mcp --allow-repo 'octo/*'\n"
        );
        assert!(McpClient::named("nothing").is_none());
    }
}
