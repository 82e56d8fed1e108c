//! Reads changes that are given as whole files: `--edit PATH=FILE` and `--delete PATH`.

use std::{
    fs::File,
    io::{Read as _, stdin},
};

use forge_core::{Error, Result, model::FileEdit};

use crate::cmd::pr::create::CreateArgs;

/// Maximum size of all files together.
const MAX_EDITS_BYTES: u64 = FileEdit::MAX_TOTAL_BYTES as u64;

/// Reads the edits with their file contents.
///
/// # Errors
///
/// `invalid_input` for a malformed `PATH=FILE`, an unreadable file, and standard input used twice.
pub(super) fn read(args: &CreateArgs) -> Result<Vec<FileEdit>> {
    let mut edits = Vec::new();
    let mut bytes_left = MAX_EDITS_BYTES;
    let mut piped = args.body_file.as_deref() == Some("-");
    for given in &args.edit {
        let Some((path, file)) = given.split_once('=').filter(|(_, file)| !file.is_empty()) else {
            return Err(refused(format!("'{given}' is not of the form PATH=FILE")));
        };
        let from_pipe = file == "-";
        if from_pipe && piped {
            return Err(refused(format!(
                "standard input ('-') can be read only once, but both --edit '{path}=-' and an earlier \
                 flag read it"
            )));
        }
        piped |= from_pipe;
        let content = read_content(file, bytes_left)?;
        bytes_left -= content.len() as u64;
        edits.push(FileEdit::write(path, content));
    }
    edits.extend(args.delete.iter().map(FileEdit::delete));
    Ok(edits)
}

/// Reads a file, which may have `bytes_left` bytes.
fn read_content(file: &str, bytes_left: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let (name, done) = if file == "-" {
        let done = stdin().lock().take(bytes_left + 1).read_to_end(&mut bytes);
        ("standard input".to_owned(), done)
    } else {
        let done = File::open(file).and_then(|f| f.take(bytes_left + 1).read_to_end(&mut bytes));
        (format!("'{file}'"), done)
    };
    done.map_err(|e| {
        Error::invalid("edits", format!("{name} cannot be read: {e}"))
            .with_hint("check the path, and whether you may read the file")
            .with_source(e)
    })?;
    if bytes.len() as u64 > bytes_left {
        return Err(refused(format!(
            "the files are larger than {MAX_EDITS_BYTES} bytes in all, with {name}"
        )));
    }
    Ok(bytes)
}

fn refused(why: String) -> Error {
    Error::invalid("edits", why).with_hint(
        "write --edit PATH=FILE: the path in the repository, and the file with its new content; '-' \
         as FILE is standard input",
    )
}
