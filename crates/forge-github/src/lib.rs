//! Pull requests on GitHub, GitHub Enterprise Cloud and GitHub Enterprise Server.
