//! All of it together.

use std::io;

use super::{
    directory::DirectoryDouble,
    network::Network,
    pds::{PdsDouble, PdsOptions},
};

/// A directory and a PDS. More of the world is added to it as a test needs it.
pub struct World {
    directory: DirectoryDouble,
    pds: PdsDouble,
    network: Network,
}

impl World {
    /// Starts one.
    ///
    /// # Errors
    /// When there are no ports.
    pub fn start() -> io::Result<Self> {
        Self::with(PdsOptions::default())
    }

    /// As [`Self::start`], with a PDS that behaves like this.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn with(options: PdsOptions) -> io::Result<Self> {
        let directory = DirectoryDouble::start()?;
        let network = Network::default();
        let pds = PdsDouble::start(options, &directory, network.clone())?;
        Ok(Self {
            directory,
            pds,
            network,
        })
    }

    /// The directory of DIDs.
    #[must_use]
    pub fn directory(&self) -> &DirectoryDouble {
        &self.directory
    }

    /// The PDS.
    #[must_use]
    pub fn pds(&self) -> &PdsDouble {
        &self.pds
    }

    /// Another PDS in the same network.
    ///
    /// # Errors
    /// When there is no port.
    pub fn another_pds(&self, options: PdsOptions) -> io::Result<PdsDouble> {
        PdsDouble::start(options, &self.directory, self.network.clone())
    }
}
