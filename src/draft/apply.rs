//! Applies edits. Each returns its inverse; a refused edit leaves the content unchanged.

use std::sync::Arc;

use super::arrange::{group, move_many, remove_many, rename_by, rename_many, reorder, unnest};
use super::column_change::change_column;
use super::edit::{Content, Edit};
use super::primitives::{
    add_field, batch, insert, relocate, remove, remove_field, rename, replace, set_payload,
    set_row, set_value,
};
use super::tray::{add_to_tray, relocate_sources, remove_from_tray, replace_tray};
use crate::error::Result;
use crate::model::Dataset;

impl Edit {
    /// Applies the edit to a dataset without a tray; see [`Edit::apply_to`].
    ///
    /// # Errors
    /// As [`Edit::apply_to`]; `dataset` is then unchanged.
    pub fn apply(self, dataset: &mut Dataset) -> Result<Edit> {
        let mut content = Content {
            dataset: std::mem::take(dataset),
            tray: Arc::default(),
        };
        let inverse = self.apply_to(&mut content);
        *dataset = content.dataset;
        inverse
    }

    /// Applies the edit to `content` and returns the inverse edit.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when an address, field or type does not exist or
    /// a value does not fit; `content` is then unchanged.
    pub fn apply_to(self, content: &mut Content) -> Result<Edit> {
        let dataset = &mut content.dataset;
        match self {
            Edit::Insert {
                parent,
                at,
                samples,
            } => insert(dataset, parent, at, samples),
            Edit::Remove { parent, at, count } => remove(dataset, parent, at, count),
            Edit::Rename { sample, id } => rename(dataset, sample, id),
            Edit::Move { sample, to, at } => relocate(dataset, sample, to, at),
            Edit::SetPayload { sample, payload } => set_payload(dataset, sample, payload),
            Edit::SetValue {
                sample,
                field,
                value,
            } => set_value(dataset, sample, field, value),
            Edit::SetRow { sample, values } => set_row(dataset, sample, values),
            Edit::RemoveMany { samples } => remove_many(dataset, samples),
            Edit::MoveMany { samples, to, at } => move_many(dataset, samples, to, at),
            Edit::Reorder { parent, order } => reorder(dataset, parent, order),
            Edit::Group {
                parent,
                positions,
                id,
            } => group(dataset, parent, positions, id),
            Edit::Unnest { folder } => unnest(dataset, folder),
            Edit::RenameMany { names } => rename_many(dataset, names),
            Edit::RenameBy {
                level,
                under,
                find,
                replace,
                regex,
            } => rename_by(dataset, level, under.as_deref(), &find, &replace, regex),
            Edit::Column { level, change } => change_column(dataset, level, &change),
            Edit::AddToTray { files } => add_to_tray(&mut content.tray, files),
            Edit::RemoveFromTray { places } => remove_from_tray(&mut content.tray, places),
            Edit::ReplaceTray { files } => Ok(replace_tray(&mut content.tray, files)),
            Edit::Relocate { from, to } => relocate_sources(content, &from, &to),
            Edit::AddField {
                tortilla,
                at,
                field,
                values,
            } => add_field(dataset, tortilla, at, field, values),
            Edit::RemoveField { tortilla, field } => remove_field(dataset, tortilla, field),
            Edit::ReplaceTortilla { tortilla, with } => replace(dataset, tortilla, with),
            Edit::SetCollection { key, value } => {
                let value = dataset.collection.set(&key, value);
                Ok(Edit::SetCollection { key, value })
            }
            Edit::ReplaceCollection { collection } => {
                let collection = std::mem::replace(&mut dataset.collection, collection);
                Ok(Edit::ReplaceCollection { collection })
            }
            Edit::Batch { label, edits } => batch(content, label, edits),
        }
    }
}
