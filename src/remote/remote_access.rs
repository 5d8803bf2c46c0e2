//! What remote access keeps for the whole process. The types are those of the files that use them;
//! the open files are kept in `file`, which reads through all of this.

use std::sync::{LazyLock, Mutex};

use tokio::runtime::Handle;

use super::cache_use::CacheUse;
use super::credentials::connection_state::Connections;
use super::limits::{EffectiveLimits, RemoteLimits};
use super::memory::SharedMemory;
use super::meter::Meter;

/// The remote access of this process. Mutexes are `None` before the first use.
pub(super) struct RemoteAccess {
    /// The thread that runs all requests. A forked process starts its own.
    pub runtime: Mutex<Option<Handle>>,
    /// Settings, signed links and clients of servers. A forked process makes its own clients.
    pub connections: Mutex<Option<Connections>>,
    pub limits: LazyLock<EffectiveLimits>,
    /// Pieces of all files in memory.
    pub memory: SharedMemory,
    /// Use of the disk cache.
    pub cache_use: CacheUse,
    /// Statistics of the requests.
    pub meter: Mutex<Option<Meter>>,
}

static REMOTE: RemoteAccess = RemoteAccess {
    runtime: Mutex::new(None),
    connections: Mutex::new(None),
    limits: LazyLock::new(EffectiveLimits::from_environment),
    memory: Mutex::new(None),
    cache_use: CacheUse::new(),
    meter: Mutex::new(None),
};

/// The remote access of this process.
pub(super) fn remote_access() -> &'static RemoteAccess {
    &REMOTE
}

/// Sets the user's limits.
pub fn set_limits(limits: RemoteLimits) {
    REMOTE.limits.set_user_limits(limits);
}
