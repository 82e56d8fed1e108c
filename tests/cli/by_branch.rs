//! Tests commands that change a pull request which a branch name or the checked-out branch selects.
//! The branch lookup also returns the fields that the change needs, so no second read follows.

use forge_testkit::{Run, git_program};

use crate::hub::{Hub, REPO};

/// How the command selects the pull request: by a branch name with `-R`, or by the checked-out
/// branch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    ByBranch,
    ByCheckout,
}

const WAYS: [Named; 2] = [Named::ByBranch, Named::ByCheckout];

/// Creates a hub, and a clone that has branch `work` checked out and the double as `origin`.
fn hub_with_clone() -> Hub {
    let hub = Hub::with_pull();
    let clone = hub.scratch.repository("clone");
    let dir = clone.path();
    let git = |args: &[&str]| hub.scratch.run(git_program()).args(args).dir(dir).ok();
    git(&["switch", "--quiet", "-c", "work"]);
    let url = format!("http://github.localhost/{REPO}.git");
    git(&["remote", "add", "origin", &url]);
    hub
}

fn run(hub: &Hub, named: Named, command: &[&str], flags: &[&str]) -> Run {
    match named {
        Named::ByBranch => {
            let args = [command, &["work"], flags, &["-R", REPO]].concat();
            hub.forge(&args)
        }
        Named::ByCheckout => {
            let args = [command, flags].concat();
            hub.forge(&args).dir(hub.scratch.path("clone"))
        }
    }
}

#[track_caller]
fn assert_requests(hub: &Hub, requests: usize, run: &Run) {
    hub.double.reset_record();
    let output = run.output().success();
    let sent: Vec<_> = hub
        .double
        .requests()
        .into_iter()
        .map(|r| r.operation)
        .collect();
    let api = hub.double.counts().api;
    assert_eq!(api, requests, "{run}: {sent:?}\n{output:?}");
}

#[test]
fn change_of_pull_named_by_branch_takes_two_requests() {
    for named in WAYS {
        let hub = hub_with_clone();
        for (command, flags) in [
            (["pr", "edit"], &["-t", "New", "-b", "New"][..]),
            (["pr", "comment"], &["-b", "Said."]),
            (["pr", "review"], &["--approve", "-b", "Good."]),
            (["pr", "ready"], &["--undo"]),
            (["pr", "ready"], &[]),
        ] {
            assert_requests(&hub, 2, &run(&hub, named, &command, flags));
        }
        // The branch lookup returns no labels, so adding a label costs one more request.
        let label = run(&hub, named, &["pr", "edit"], &["--add-label", "bug"]);
        assert_requests(&hub, 3, &label);
        // `pr close` and `pr reopen` require an argument: the branch or the number.
        let close = run(&hub, Named::ByBranch, &["pr", "close"], &["-c", "Not now."]);
        assert_requests(&hub, 2, &close);
        assert_requests(&hub, 2, &run(&hub, Named::ByBranch, &["pr", "reopen"], &[]));
        // The first read makes GitHub compute mergeability, and the next read returns the result.
        hub.forge(&["pr", "view", "1", "--json", "mergeable", "-R", REPO])
            .ok();
        assert_requests(&hub, 2, &run(&hub, named, &["pr", "merge"], &["--squash"]));
        assert_eq!(
            format!("{:?}", hub.double.seed().pull_of(REPO, 1).state),
            "Merged"
        );
    }
}

#[test]
fn merge_of_unexpected_head_is_refused() {
    // C-000-14: the head commit is compared before the merge.
    let hub = hub_with_clone();
    hub.forge(&["pr", "view", "1", "--json", "mergeable", "-R", REPO])
        .ok();
    for named in WAYS {
        let expected = "0123456789012345678901234567890123456789";
        let flags = ["--squash", "--match-head-commit", expected];
        let merge = run(&hub, named, &["pr", "merge"], &flags);
        let out = merge.output().exits(1);
        assert!(out.stderr_text().contains(expected), "{out:?}");
        assert_eq!(
            format!("{:?}", hub.double.seed().pull_of(REPO, 1).state),
            "Open"
        );
    }
}

#[test]
fn close_of_closed_pull_takes_one_request() {
    let hub = hub_with_clone();
    let close = run(&hub, Named::ByBranch, &["pr", "close"], &[]);
    close.ok();
    assert_requests(&hub, 1, &close);
}
