//! Canary programs, which record that they ran, who started them, and which tokens they could see.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    thread,
};

use forge_testkit::{CANARY, Scratch};

/// The script that every canary runs. Each canary is a link to this script, and the link's name is
/// the canary's name. The script answers as git expects, so that git continues and starts the other
/// canaries.
const SCRIPT: &str = r#"#!/bin/sh
PATH=$PATH:/usr/bin:/bin
name=${0##*/}
case "$0" in
*/core.hooksPath/*) name=core.hooksPath/$name ;;
*hooks/*) name=hooks/$name ;;
esac
tokens=$(env | sed -n 's/^\([A-Za-z_0-9]*\)=.*WORD.*$/\1/p' | sort | tr '\n' ' ')
parent=$(tr '\0\n' '  ' 2>/dev/null </proc/$PPID/cmdline)
printf '%s|%s|%s\n' "$name" "$tokens" "$parent" >>'LOG'
for last; do :; done
case "$name" in
*.clean | *.smudge) exec cat ;;
*.process)
    # A server that can neither clean nor smudge: gitattributes(5), long-running filter process.
    printf '0016git-filter-server\n000eversion=2\n00000000'
    exec cat >/dev/null
    ;;
*.textconv) exec cat -- "$1" ;;
core.fsmonitor) printf 'canary\0/\0' ;;
gpg.ssh.defaultKeyCommand) echo 'key::ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9XkVOyPFBVVdzbYqMfHm8ANcXbOJ6hV9DJlM3gq8sR' ;;
gpg.*)
    case " $* " in
    *" -Y sign "*) printf -- '-----BEGIN SSH SIGNATURE-----\nx\n-----END SSH SIGNATURE-----\n' >"$last.sig" ;;
    *" -bsau "*)
        cat >/dev/null
        printf '\n[GNUPG:] SIG_CREATED \n' >&2
        printf -- '-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n'
        ;;
    esac
    ;;
ssh) [ "$1" = -G ] && echo "hostname $last" ;;
esac
exit 0
"#;

/// A recorded run of a canary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The configuration key that names the canary, or `hooks/<name>` for a hook.
    pub canary: String,
    /// The environment variables that contain a token.
    pub tokens: String,
    /// The command line of the process that started the canary.
    pub parent: String,
}

/// The canary programs of one test.
pub struct Canaries {
    dir: PathBuf,
    log: PathBuf,
    seen: usize,
    /// Port of an HTTP proxy that records its clients and demands a password.
    proxy: u16,
}

impl Canaries {
    pub fn new(scratch: &Scratch) -> Self {
        let log = scratch.path("canaries.log");
        fs::write(&log, "").unwrap();
        let script = SCRIPT
            .replace("WORD", CANARY)
            .replace("LOG", &log.display().to_string());
        let program = scratch.write("canaries/canary", script);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            dir: scratch.path("canaries"),
            seen: 0,
            proxy: proxy(log.clone()),
            log,
        }
    }

    /// Returns the path of the canary `name`.
    pub fn program(&self, name: &str) -> String {
        let path = self.dir.join(name.replace(['/', ':'], "_"));
        self.link(&path);
        path.display().to_string()
    }

    /// Makes a canary at the given path, such as the path of a hook.
    pub fn link(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        symlink(self.dir.join("canary"), path).unwrap();
    }

    /// Creates a directory with one canary for each name, and returns its path.
    pub fn directory(&self, name: &str, names: &[&str]) -> String {
        let dir = self.dir.join(name);
        names.iter().for_each(|name| self.link(&dir.join(name)));
        dir.display().to_string()
    }

    /// Returns the address of the HTTP proxy.
    pub fn proxy(&self) -> String {
        format!("http://127.0.0.1:{}", self.proxy)
    }

    /// Returns the programs that ran since the last call.
    pub fn sightings(&mut self) -> Vec<Sighting> {
        let text = fs::read_to_string(&self.log).unwrap();
        let fresh = &text[self.seen..];
        self.seen = text.len();
        let sighting = |line: &str| {
            let mut parts = line.splitn(3, '|').map(|part| part.trim().to_owned());
            Sighting {
                canary: parts.next().unwrap_or_default(),
                tokens: parts.next().unwrap_or_default(),
                parent: parts.next().unwrap_or_default(),
            }
        };
        fresh.lines().map(sighting).collect()
    }
}

fn proxy(log: PathBuf) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let Ok(mut log) = fs::OpenOptions::new().append(true).open(&log) else {
                return;
            };
            let _ = writeln!(log, "http.proxy||a connection");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"canary\"\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    port
}
