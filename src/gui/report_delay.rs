//! Why what the report says of a draft may not be applied to it.

use crate::studio::{OutdatedReport, Studio};

/// The reason, to be translated; `None` while the report is of the draft as it is.
pub fn describe_report_delay(studio: &Studio) -> Option<&'static str> {
    Some(match studio.find_report_delay()? {
        OutdatedReport::Checking => mark!("The draft is being checked"),
        OutdatedReport::Failed(_) => mark!("The check of the draft failed. Check it again (F7)"),
        OutdatedReport::NotChecked => {
            mark!("The draft was not checked since it changed. Check it (F7)")
        }
    })
}
