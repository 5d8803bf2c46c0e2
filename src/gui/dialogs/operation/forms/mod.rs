//! The forms of operations, each in a file of its own, by the action that opens them.

mod convert;
mod describe;
mod export_subset;
mod footer;
mod histograms;
mod index;
mod migrate;
mod older;
mod optimise;
mod pad;
mod percentiles;
mod prepare_taco3;
mod publish;
mod repair;
mod several;
mod sidecars;
mod write;

use super::form::{OperationForm, OperationStart};
use crate::gui::action::Action;

pub use several::SeveralForm;
pub use write::WriteForm;

/// The form that an action opens; `None` for actions without one.
pub fn form_of(action: Action, start: &OperationStart) -> Option<Box<dyn OperationForm>> {
    Some(match action {
        Action::Describe => Box::new(describe::DescribeForm::new(start)?),
        Action::ExportSubset => Box::new(export_subset::SubsetForm::new(start)?),
        Action::Publish => Box::new(publish::PublishForm::new(start)?),
        Action::Migrate => Box::new(migrate::MigrateForm::new(start)?),
        Action::Optimise => Box::new(optimise::OptimiseForm::new(start)),
        Action::Histograms => Box::new(histograms::HistogramsForm::new(start)),
        Action::Percentiles => Box::new(percentiles::PercentilesForm::new(start)),
        Action::Repair => Box::new(repair::RepairForm::new(start)),
        Action::Convert => Box::new(convert::ConvertForm::new(start)),
        Action::IndexZips => Box::new(index::IndexForm::new(start)),
        Action::PrepareTaco3 => Box::new(prepare_taco3::PrepareTaco3Form::new(start)),
        Action::WriteOlder => Box::new(older::OlderForm::new(start)),
        Action::EditFooter => Box::new(footer::DatasetEditForm::new(start)),
        Action::OpenSeveral => Box::new(several::SeveralForm::new(start)),
        Action::PadTo => Box::new(pad::PadForm::default()),
        Action::Sidecars => Box::new(sidecars::SidecarsForm::default()),
        _ => return None,
    })
}
