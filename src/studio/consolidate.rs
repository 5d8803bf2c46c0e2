//! One index over many archives.

use super::{Event, Finish, Outcome, Studio};
use crate::container::{ConsolidateOptions, consolidate};
use crate::error::Result;

impl Studio {
    pub(super) fn consolidate(&mut self, options: ConsolidateOptions) -> Result<Outcome> {
        Ok(self.start(&format!("Join {} datasets", options.inputs.len()), move |ctx| {
            let built = consolidate(&options, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Written(built))) as Finish)
        }))
    }
}
