//! Drag and drop of unplaced files and samples inside the window. Every drop is one undoable step
//! and has a keyboard equivalent.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Area, Context, DragAndDrop, Frame, Id, Margin, Order, Rect, Response, Ui, vec2};

use super::counted_texts;
use super::icons;
use super::panel_context::{PanelContext, Request};
use super::theme::{self, font, text_style};
use super::widgets::{self, paint};
use crate::draft::{Draft, Edit, Example, Slot, Unplaced, place_between};
use crate::jobs::{AsyncValue, Jobs};
use crate::model::{AssetPath, NodePath, SampleKind, SamplePath};
use crate::raster::{RasterInfo, RasterSource, describe};
use crate::studio::{Command, Document};

/// Payload of a drag.
#[derive(Clone, Debug, PartialEq)]
pub enum Dragged {
    /// Files of the tray.
    Files(Vec<Unplaced>),
    /// Samples of the draft, none an ancestor of another.
    Samples(Vec<NodePath>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum DropTarget {
    /// A missing or padded position of the pattern: root and position.
    Slot(u32, u32),
    /// Between the samples of a FOLDER, before position `.1`.
    Gap(NodePath, u32),
    /// At the end of a FOLDER.
    Into(NodePath),
}

/// Payload of the current drag, if any.
pub fn dragged_payload(ctx: &Context) -> Option<Arc<Dragged>> {
    DragAndDrop::payload::<Dragged>(ctx)
}

/// Reads the header of a single dragged file for the hint at the pointer.
pub fn look(ctx: &Context, facts: &mut AsyncValue<PathBuf, Arc<RasterInfo>>, jobs: &Jobs) {
    let dragged = dragged_payload(ctx);
    let file = match dragged.as_deref() {
        Some(Dragged::Files(files)) if files.len() == 1 => files.first(),
        _ => None,
    };
    let Some(file) = file else { return };
    let path = file.path.clone();
    facts.update(
        jobs,
        path.clone(),
        tr!("Read the dragged file"),
        move |_| describe(&RasterSource::from_user_path(AssetPath::file(path))),
    );
    let text = facts
        .get(&file.path)
        .and_then(|found| found.as_ref().ok())
        .map(|info| facts_text(info));
    ctx.data_mut(|data| data.insert_temp(facts_id(), text.unwrap_or_default()));
}

fn facts_id() -> Id {
    Id::unique("facts of the dragged file")
}

/// `uint16 · 10 980 × 10 980 · 4 bands · EPSG:32718`.
fn facts_text(info: &RasterInfo) -> String {
    let dtype = info
        .bands
        .first()
        .map_or(String::new(), |band| band.dtype.clone());
    let size = format!(
        "{} × {}",
        paint::format_grouped_number(info.width as u64),
        paint::format_grouped_number(info.height as u64)
    );
    let bands = tr_n!(
        info.band_count,
        "{n} band",
        "{n} bands",
        n = info.band_count
    );
    let crs = info
        .crs_code
        .clone()
        .or_else(|| info.crs_name.clone())
        .unwrap_or_default();
    let variable = info
        .variable
        .as_ref()
        .map(crate::raster::VariableRead::sentence)
        .unwrap_or_default();
    [variable, dtype, size, bands, crs]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" · ")
}

/// Starts a drag.
pub fn begin(ctx: &Context, what: Dragged) {
    DragAndDrop::set_payload(ctx, what);
}

/// Payload dropped on this widget in this frame.
pub fn dropped_payload(response: &Response) -> Option<Arc<Dragged>> {
    response.dnd_release_payload::<Dragged>()
}

/// The zone of a row under the pointer: before, into or behind it. Only FOLDERs have the middle
/// zone.
pub fn zone(rect: Rect, y: f32, folder: bool) -> RowZone {
    let part = ((y - rect.top()) / rect.height().max(1.0)).clamp(0.0, 1.0);
    match (folder, part) {
        (true, part) if (0.28..=0.72).contains(&part) => RowZone::Into,
        (_, part) if part < 0.5 => RowZone::Before,
        _ => RowZone::Behind,
    }
}

/// A part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowZone {
    /// The upper edge.
    Before,
    /// The middle of a FOLDER.
    Into,
    /// The lower edge.
    Behind,
}

/// Why this can't be dropped there.
pub fn refusal(
    document: &Document,
    dragged: &Dragged,
    target: &DropTarget,
) -> Option<&'static str> {
    match (dragged, target) {
        (Dragged::Files(files), DropTarget::Slot(..)) if files.len() > 1 => {
            Some(tr!("One file fits into a slot"))
        }
        (Dragged::Files(_), DropTarget::Slot(_, position)) => {
            let structure = document.structure()?;
            let folder = structure.pattern().get(*position as usize)?.kind == SampleKind::Folder;
            folder.then_some(tr!("The pattern has a FOLDER here"))
        }
        (Dragged::Files(_), _) => None,
        (Dragged::Samples(_), DropTarget::Slot(..)) => {
            Some(tr!("Only unplaced files fit into a slot"))
        }
        (Dragged::Samples(samples), DropTarget::Gap(into, _) | DropTarget::Into(into)) => samples
            .iter()
            .any(|sample| into.0.starts_with(&sample.0))
            .then_some(tr!("A FOLDER can't be moved into itself")),
    }
}

/// The command of a drop, and the address of the first dropped item afterwards.
pub fn command(
    document: &Document,
    dragged: &Dragged,
    target: &DropTarget,
) -> Option<(Command, Option<NodePath>)> {
    let draft = document.draft()?;
    match (dragged, target) {
        (Dragged::Files(files), DropTarget::Slot(root, position)) => {
            let [file] = files.as_slice() else {
                return None;
            };
            let slot = Slot::Position {
                root: *root,
                position: *position,
            };
            Some((
                Command::PlaceUnplaced {
                    file: file.path.clone(),
                    slot,
                },
                None,
            ))
        }
        (Dragged::Files(files), DropTarget::Gap(into, _) | DropTarget::Into(into)) => {
            let at = if let DropTarget::Gap(_, at) = target {
                *at
            } else {
                count_samples_in(draft, into)?
            };
            let wanted: std::collections::HashSet<&std::path::Path> =
                files.iter().map(|file| file.path.as_path()).collect();
            let places = (0..)
                .zip(draft.tray().iter())
                .filter(|(_, file)| wanted.contains(file.path.as_path()));
            let places: Vec<u32> = places.map(|(place, _)| place).collect();
            let edit = place_between(draft.tray(), &places, into.clone(), at)?;
            Some((Command::Edit { edit }, Some(into.child(at))))
        }
        (Dragged::Samples(samples), DropTarget::Gap(into, _) | DropTarget::Into(into)) => {
            let at = if let DropTarget::Gap(_, at) = target {
                *at
            } else {
                count_samples_in(draft, into)?
            };
            let to = at - count_leaving_samples(samples, into, at).min(at);
            let stays = samples
                .iter()
                .zip(to..)
                .all(|(sample, at)| *sample == into.child(at));
            if stays {
                return None;
            }
            let edit = Edit::MoveMany {
                samples: samples.clone(),
                to: into.clone(),
                at: to,
            };
            Some((
                Command::Edit { edit },
                Some(after_move(into, samples).child(to)),
            ))
        }
        (Dragged::Samples(_), DropTarget::Slot(..)) => None,
    }
}

fn count_samples_in(draft: &Draft, folder: &NodePath) -> Option<u32> {
    draft
        .dataset()
        .tortilla(folder)
        .map(|tortilla| tortilla.samples.len() as u32)
}

/// Counts the samples of `folder` before the position `before` that leave it.
fn count_leaving_samples(samples: &[NodePath], folder: &NodePath, before: u32) -> u32 {
    let parents = samples.iter().filter_map(NodePath::parent);
    parents
        .filter(|(parent, position)| parent == folder && *position < before)
        .count() as u32
}

/// The address of a FOLDER after these samples were moved away.
pub fn after_move(folder: &NodePath, leaving: &[NodePath]) -> NodePath {
    NodePath(
        folder
            .0
            .iter()
            .enumerate()
            .map(|(depth, &position)| shift_position(folder, leaving, depth, position))
            .collect(),
    )
}

/// The position of the ancestor of `folder` at `depth` when samples before it have left.
fn shift_position(folder: &NodePath, leaving: &[NodePath], depth: usize, position: u32) -> u32 {
    let before = leaving.iter().filter(|path| {
        path.0.len() == depth + 1
            && path.0[..depth] == folder.0[..depth]
            && path.0.last().is_some_and(|last| *last < position)
    });
    position - (before.count() as u32).min(position)
}

/// Performs a drop: runs its command, records a placed file as an example for the pattern, and
/// selects what was moved.
pub fn perform_drop(
    cx: &mut PanelContext<'_>,
    document: &Document,
    dragged: &Dragged,
    target: &DropTarget,
) {
    if refusal(document, dragged, target).is_some() {
        return;
    }
    let Some((command, destination)) = command(document, dragged, target) else {
        return;
    };
    if let Dragged::Files(files) = dragged
        && let [file] = files.as_slice()
        && let Some(example) = example(document, file, target)
    {
        let steps = document.draft().map(|draft| draft.step_number());
        let step = steps.map(|steps| steps + 1);
        cx.request(Request::PatternExample(example, step));
    }
    cx.session.selection.clear_marked();
    cx.run(command);
    if let Some(node) = destination {
        cx.request(Request::SelectNode(node));
    }
}

/// A placed file as an example for the pattern in names.
fn example(document: &Document, file: &Unplaced, target: &DropTarget) -> Option<Example> {
    let dataset = document.draft()?.dataset();
    let ids = place_ids(document, file, target)?;
    let (root, position) = ids.0.split_first()?;
    let folder = dataset
        .root
        .samples
        .iter()
        .find(|sample| sample.id == *root)
        .is_some_and(|sample| sample.children().is_some());
    (folder && !position.is_empty()).then(|| Example {
        file: file.path.clone(),
        root: root.clone(),
        position: position.to_vec(),
    })
}

/// The ids from the root that a placed file would have.
pub fn place_ids(document: &Document, file: &Unplaced, target: &DropTarget) -> Option<SamplePath> {
    let dataset = document.draft()?.dataset();
    match target {
        DropTarget::Slot(root, position) => {
            let mut ids = vec![dataset.root.samples.get(*root as usize)?.id.clone()];
            let structure = document.structure()?;
            let mut below = Vec::new();
            let mut next = Some(*position);
            while let Some(node) = next.and_then(|next| structure.pattern().get(next as usize)) {
                below.push(node.id.clone());
                next = node.parent;
            }
            ids.extend(below.into_iter().rev());
            Some(SamplePath(ids))
        }
        DropTarget::Gap(into, _) | DropTarget::Into(into) => {
            let mut ids = dataset.ids(into)?;
            ids.0.push(file_name(file).into());
            Some(ids)
        }
    }
}

pub fn file_name(file: &Unplaced) -> String {
    file.path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Addresses without those below another of them.
pub fn topmost(mut nodes: Vec<NodePath>) -> Vec<NodePath> {
    nodes.sort();
    nodes.dedup();
    let mut kept: Vec<NodePath> = Vec::with_capacity(nodes.len());
    for node in nodes {
        if kept
            .last()
            .is_none_or(|above| !node.0.starts_with(&above.0))
        {
            kept.push(node);
        }
    }
    kept
}

/// Draws the hint at the pointer that says what a drop will do.
pub fn drop_overlay_ui(ui: &Ui, document: &Document, dragged: &Dragged, target: &DropTarget) {
    let Some(pointer) = ui.ctx().pointer_latest_pos() else {
        return;
    };
    let t = theme::tokens(ui);
    let refusal = refusal(document, dragged, target);
    let (icon, name, places) = match dragged {
        Dragged::Files(files) => match files.as_slice() {
            [file] => (
                icons::IMAGE,
                file_name(file),
                place_ids(document, file, target).map(|ids| ids.to_string()),
            ),
            files => {
                let name = counted_texts::format_files(files.len() as u64);
                (icons::IMAGE, name, into_text(document, target))
            }
        },
        Dragged::Samples(samples) => {
            let name = match samples.as_slice() {
                [one] => find_sample_id(document, one).unwrap_or_default(),
                samples => counted_texts::format_samples(samples.len() as u64),
            };
            (icons::STACK, name, into_text(document, target))
        }
    };
    let verb = if matches!(dragged, Dragged::Files(_)) {
        tr!("Place as")
    } else {
        tr!("Move into")
    };
    let verb = if matches!(dragged, Dragged::Files(files) if files.len() > 1) {
        tr!("Place into")
    } else {
        verb
    };
    let area = Area::new(Id::unique("dragged"))
        .order(Order::Tooltip)
        .interactable(false)
        .fixed_pos(pointer + vec2(16.0, 18.0));
    area.show(ui.ctx(), |ui| {
        let frame = Frame::NONE
            .fill(t.bg2)
            .stroke(egui::Stroke::new(1.0, t.line2))
            .corner_radius(6);
        frame.inner_margin(Margin::symmetric(10, 8)).show(ui, |ui| {
            ui.set_max_width(330.0);
            ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(icon).font(font::icon(15.0)).color(t.acc));
                ui.label(
                    theme::rich_text(name)
                        .font(font::mono_semibold(12.0))
                        .color(t.tx),
                );
            });
            let facts: String = ui
                .ctx()
                .data(|data| data.get_temp(facts_id()))
                .unwrap_or_default();
            if matches!(dragged, Dragged::Files(files) if files.len() == 1) && !facts.is_empty() {
                ui.label(theme::rich_text(facts).font(font::mono(11.0)).color(t.tx3));
            }
            match refusal {
                Some(why) => drop(
                    ui.label(
                        theme::rich_text(why)
                            .text_style(text_style("small12"))
                            .color(t.err),
                    ),
                ),
                None => drop(ui.horizontal(|ui| {
                    ui.label(
                        theme::rich_text(verb)
                            .text_style(text_style("small12"))
                            .color(t.tx2),
                    );
                    ui.label(
                        theme::rich_text(places.unwrap_or_default())
                            .font(font::mono(12.0))
                            .color(t.tx),
                    );
                })),
            }
            ui.horizontal(|ui| {
                if refusal.is_none() && matches!(target, DropTarget::Slot(..)) {
                    ui.label(
                        theme::rich_text(tr!("Fixes 1 problem"))
                            .text_style(text_style("small12"))
                            .color(t.tx2),
                    );
                }
                widgets::key_cap(ui, "Esc");
                ui.label(
                    theme::rich_text(tr!("cancel"))
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
            });
        });
    });
}

fn find_sample_id(document: &Document, node: &NodePath) -> Option<String> {
    document
        .draft()?
        .dataset()
        .sample(node)
        .map(|sample| sample.id.to_string())
}

fn into_text(document: &Document, target: &DropTarget) -> Option<String> {
    let (DropTarget::Gap(into, _) | DropTarget::Into(into)) = target else {
        return None;
    };
    let ids = document.draft()?.dataset().ids(into)?;
    Some(if ids.0.is_empty() {
        tr!("root").to_owned()
    } else {
        ids.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn a_row_has_edges_and_a_folder_a_middle() {
        let rect = Rect::from_min_size(pos2(0.0, 100.0), vec2(10.0, 24.0));
        for (y, folder, expected) in [
            (101.0, true, RowZone::Before),
            (112.0, true, RowZone::Into),
            (123.0, true, RowZone::Behind),
            (110.0, false, RowZone::Before),
            (113.0, false, RowZone::Behind),
        ] {
            assert_eq!(zone(rect, y, folder), expected, "{y} {folder}");
        }
    }

    #[test]
    fn a_folder_is_found_again_when_samples_have_left() {
        let path = |positions: &[u32]| NodePath(positions.to_vec());
        let leaving = [path(&[0]), path(&[2, 1]), path(&[5]), path(&[3, 0])];
        assert_eq!(after_move(&path(&[3, 2]), &leaving), path(&[2, 1]));
        assert_eq!(after_move(&path(&[2, 4, 9]), &leaving), path(&[1, 3, 9]));
        assert_eq!(after_move(&path(&[]), &leaving), path(&[]));
    }

    #[test]
    fn what_lies_in_a_chosen_folder_goes_with_it() {
        let path = |positions: &[u32]| NodePath(positions.to_vec());
        let nodes = vec![
            path(&[3]),
            path(&[1, 2]),
            path(&[1]),
            path(&[1, 0, 5]),
            path(&[10]),
            path(&[3]),
        ];
        assert_eq!(topmost(nodes), [path(&[1]), path(&[3]), path(&[10])]);
    }
}
