//! The thread that reads and writes all connections.

use std::{
    io,
    panic::resume_unwind,
    sync::{Mutex, PoisonError, mpsc},
    thread,
};

use forge_core::{Error, ErrorKind};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
    task::JoinHandle,
};

use crate::failure::HttpFailure;

/// A separate thread with its own tokio runtime. The thread starts with the first request and ends
/// when this value is dropped.
///
/// A server can keep hyper busy without a pause, for example with an endless series of interim
/// responses (1xx). On the thread of the caller, this would block the caller's timers and its other
/// tasks.
#[derive(Default)]
pub(crate) struct Connections(Mutex<Option<ConnectionRuntime>>);

struct ConnectionRuntime {
    runtime: Handle,
    /// Dropping this sender ends the thread.
    _end: oneshot::Sender<()>,
}

/// A task that is cancelled when its handle is dropped.
struct OwnedTask<T>(JoinHandle<T>);

impl<T> Drop for OwnedTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connections {
    /// Runs `future` on the connection thread. Dropping the returned future cancels `future`.
    pub async fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, HttpFailure> {
        let runtime = self.runtime().map_err(|e| HttpFailure::NotSent {
            error: Error::new(
                ErrorKind::Internal,
                format!("the connection thread cannot start: {e}"),
            )
            .with_source(e),
            again: false,
        })?;
        let mut task = OwnedTask(runtime.spawn(future));
        match (&mut task.0).await {
            Ok(done) => Ok(done),
            Err(e) => match e.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(e) => Err(HttpFailure::Unknown(
                    Error::new(ErrorKind::Internal, "the connection thread has ended")
                        .with_source(e),
                )),
            },
        }
    }

    fn runtime(&self) -> io::Result<Handle> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = running.as_ref() {
            return Ok(running.runtime.clone());
        }
        let (made, runtime) = mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("connections".to_owned())
            .spawn(move || {
                // The interval 1 lets timers and other tasks run after each step of a task.
                let runtime = Builder::new_current_thread()
                    .enable_all()
                    .event_interval(1)
                    .build();
                // A failure to send is ignored, because the caller no longer waits.
                match runtime {
                    Ok(runtime) => {
                        let _ = made.send(Ok(runtime.handle().clone()));
                        let _ = runtime.block_on(ended);
                    }
                    Err(e) => {
                        let _ = made.send(Err(e));
                    }
                }
            })?;
        let handle: Handle = runtime.recv().map_err(io::Error::other)??;
        *running = Some(ConnectionRuntime {
            runtime: handle.clone(),
            _end: end,
        });
        Ok(handle)
    }
}
