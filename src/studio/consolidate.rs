//! One index over many archives.

use super::{Event, Finish, Outcome, Studio};
use crate::container::{ConsolidateOptions, consolidate};
use crate::error::Result;

impl Studio {
    pub(super) fn consolidate(&mut self, options: ConsolidateOptions) -> Result<Outcome> {
        let datasets = options.inputs.len();
        Ok(self.start(&tr_n!(datasets, "Join {n} dataset", "Join {n} datasets", n = datasets), move |ctx| {
            let built = consolidate(&options, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Written(built))) as Finish)
        }))
    }
}
