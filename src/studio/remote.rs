//! Verbs about other machines: how to reach them, their cache, and the meter that the panels show.

use super::{Event, Finish, Outcome, Studio};
use crate::error::Result;
use crate::remote::{self, Access, Traffic};

impl Studio {
    pub(super) fn connect(&mut self, access: Access) -> Result<Outcome> {
        remote::set_access(access)?;
        Ok(Outcome::Done(Event::None))
    }

    pub(super) fn remote_cache(&mut self, clear: bool) -> Result<Outcome> {
        let label = if clear { tr!("Empty the cache of remote files") } else { tr!("Look at the cache of remote files") };
        Ok(self.start(label, move |_| {
            let state = if clear { remote::clear_cache() } else { remote::cache_state() };
            Ok(Box::new(move |_: &mut Studio| Ok(Event::RemoteCache(state))) as Finish)
        }))
    }

    /// What was asked of other machines since the start. Never blocks.
    pub fn traffic(&self) -> Traffic {
        remote::traffic()
    }
}
