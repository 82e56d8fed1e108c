/// The base addresses of a GitHub host's APIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The base URL of REST routes, without a trailing slash.
    pub rest: String,
    /// The URL of the GraphQL API.
    pub graphql: String,
    /// The base URL of web pages and of git, without a trailing slash.
    pub web: String,
    /// The base URL for uploading attachments, without a trailing slash. GitHub Enterprise Server
    /// has none.
    pub uploads: Option<String>,
}

impl Endpoint {
    /// Returns the addresses of `host`, which is `name` or `name:port` in lower case.
    ///
    /// github.com and the tenants of ghe.com serve their APIs on another host (`api.…`). GitHub
    /// Enterprise Server serves its APIs under paths (docs.github.com, "Getting started with the
    /// REST API" for Enterprise Server). `github.localhost` is gh's name for a development server.
    /// That server is reached over plain HTTP, through a proxy if one is configured.
    #[must_use]
    pub fn of_host(host: &str) -> Self {
        let scheme = if host == "github.localhost" {
            "http"
        } else {
            "https"
        };
        if host == "github.com" || host == "github.localhost" || host.ends_with(".ghe.com") {
            let rest = format!("{scheme}://api.{host}");
            return Self {
                graphql: format!("{rest}/graphql"),
                rest,
                web: format!("{scheme}://{host}"),
                uploads: Some(format!("{scheme}://uploads.{host}")),
            };
        }
        Self {
            rest: format!("https://{host}/api/v3"),
            graphql: format!("https://{host}/api/graphql"),
            web: format!("https://{host}"),
            uploads: None,
        }
    }

    /// Returns the addresses of a test server at `base`, with the paths of github.com.
    #[must_use]
    pub fn at(base: &str) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        Self {
            graphql: format!("{base}/graphql"),
            web: base.clone(),
            uploads: Some(base.clone()),
            rest: base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_depend_on_kind_of_host() {
        for (host, rest, graphql, web) in [
            (
                "github.com",
                "https://api.github.com",
                "https://api.github.com/graphql",
                "https://github.com",
            ),
            (
                "a.ghe.com",
                "https://api.a.ghe.com",
                "https://api.a.ghe.com/graphql",
                "https://a.ghe.com",
            ),
            (
                "git.example",
                "https://git.example/api/v3",
                "https://git.example/api/graphql",
                "https://git.example",
            ),
            (
                "git.example:8443",
                "https://git.example:8443/api/v3",
                "https://git.example:8443/api/graphql",
                "https://git.example:8443",
            ),
            (
                "github.localhost",
                "http://api.github.localhost",
                "http://api.github.localhost/graphql",
                "http://github.localhost",
            ),
        ] {
            let found = Endpoint::of_host(host);
            assert_eq!(
                (&*found.rest, &*found.graphql, &*found.web),
                (rest, graphql, web)
            );
        }
    }
}
