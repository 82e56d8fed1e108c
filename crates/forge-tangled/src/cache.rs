//! Values that are worked out once per process, also when many ask at the same time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::OnceCell;

#[derive(Debug)]
pub(crate) struct Cache<T>(Mutex<HashMap<String, Arc<OnceCell<T>>>>);

impl<T> Default for Cache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Cache<T> {
    /// The place of `key`, empty until somebody fills it.
    pub fn cell(&self, key: &str) -> Arc<OnceCell<T>> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(key.to_owned()).or_default())
    }

    /// Forgets `key`.
    pub fn forget(&self, key: &str) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.remove(key);
    }
}
