//! The git program, as a subprocess.
