//! Reads files at a commit.

use forge_core::{Result, model::FileContent};

use crate::Git;

impl Git {
    /// Returns the content of each path at the commit `oid`, in the order of the paths.
    ///
    /// # Errors
    /// `git` if git cannot be run; `protocol` if a file is damaged, or if the call holds too much in
    /// memory.
    pub async fn contents(&self, oid: &str, paths: &[String]) -> Result<Vec<FileContent>> {
        // A line break would end the query for git. A path with a line break is therefore replaced
        // by `./`, which is a directory and counts as missing.
        let name = |path: &String| match path.contains('\n') {
            true => format!("{oid}:./"),
            false => format!("{oid}:{path}"),
        };
        let names: Vec<String> = paths.iter().map(name).collect();
        let mut cat = self.cat_file();
        let infos = cat.info_many(&names).await?;
        let mut contents = Vec::with_capacity(names.len());
        for (name, info) in names.iter().zip(infos) {
            contents.push(match info {
                Some(info) if info.kind == "blob" && info.size <= FileContent::MAX_BYTES => {
                    match cat.get(name).await? {
                        Some(blob) => FileContent::of(&blob.keep()),
                        None => FileContent::Missing,
                    }
                }
                Some(info) if info.kind == "blob" => FileContent::TooLarge,
                _ => FileContent::Missing,
            });
        }
        Ok(contents)
    }
}
