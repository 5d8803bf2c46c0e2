//! The selected structure fault: its description, the state now and after the fix, the fixes to
//! choose from, and the same fix for all similar roots, after a preview. Drawn at the top of the
//! Sample panel.

use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::matrix::describe_state;
use super::root_of;
use super::state::{FixState, PlanKey, StructureFault};
use crate::draft::{self, Care, Fix, FixVerb, PatternCell, PositionState};
use crate::gui::counted_texts;
use crate::gui::draft_structure::StructureSummary;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::report_delay::describe_report_delay;
use crate::gui::sample_status::finding_sample;
use crate::gui::theme::{self, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, Tone, paint};
use crate::jobs::AsyncState;
use crate::model::{Finding, SampleKind};
use crate::studio::{Command, Document};

/// Largest number of ids listed below a fix.
const MAX_LISTED: usize = 24;

/// Finds the selected fault; cached until the draft or the selection changes.
fn refresh(shown_fix: &mut FixState, cx: &mut PanelContext<'_>, document: &Document) {
    super::update_summary(cx);
    let key = cx.document_key();
    let Some(at) = cx.session.selection.sample else {
        shown_fix.fault = None;
        shown_fix.of = None;
        return;
    };
    let root = root_of(document, at);
    let report = cx.studio.report().clone();
    let position = cx
        .session
        .selection
        .cell
        .filter(|(of, _)| *of == root)
        .map(|(_, position)| position);
    let of = Some((key, ValueId::from_arc(&report), at, root, position));
    if shown_fix.of == of {
        return;
    }
    let summary = cx.session.structure.summary.clone();
    let fault = cell_fault(document, &summary, root, position, at.level == 0).or_else(|| {
        let finding = report
            .findings
            .iter()
            .find(|finding| finding_sample(finding) == Some(at))?;
        finding_fault(document, finding, root)
    });
    let mut next = FixState {
        of: of.clone(),
        fault,
        ..FixState::default()
    };
    // A new report of the same revision does not change a plan: keep the one that is being
    // computed.
    if shown_fix
        .of
        .as_ref()
        .is_some_and(|old| (old.0, old.3, old.4) == (key, root, position))
    {
        (next.plan, next.asked, next.chosen) = (
            std::mem::take(&mut shown_fix.plan),
            shown_fix.asked.take(),
            shown_fix.chosen,
        );
    }
    if let (Some(fault), Some(of), Some(finder)) = (&next.fault, of, cx.studio.fix_finder()) {
        let finding = fault.finding.clone();
        next.fixes
            .update(cx.jobs, of, tr!("Look for fixes"), move |_| {
                Ok(finder.fixes(&finding))
            });
    }
    *shown_fix = next;
}

fn cell_fault(
    document: &Document,
    summary: &StructureSummary,
    root: u32,
    position: Option<u32>,
    whole: bool,
) -> Option<StructureFault> {
    let draft = document.draft()?;
    let structure = document.structure()?;
    if !structure.worst(root as usize).is_fault() {
        return None;
    }
    let (places, _) = draft::places(draft.dataset(), &structure, root as usize);
    let alike = draft::alike_count(&structure, root as usize);
    drop(structure);
    let position = match position {
        Some(position) => Some(position).filter(|position| is_fixable_at(&places, *position)),
        None if whole => {
            (0..places.len() as u32).find(|position| is_fixable_at(&places, *position))
        }
        None => None,
    }?;
    let place = places.get(position as usize)?;
    let node = summary.pattern.get(position as usize)?;
    let finding = draft::fault_of(draft.dataset(), root as usize)?;
    let id = document
        .id(crate::studio::RowRef {
            level: 0,
            row: root,
        })?
        .to_owned();
    let mut path: Vec<String> = summary
        .path(position)
        .iter()
        .map(|id| (*id).to_owned())
        .collect();
    path.pop();
    let above = path.clone();
    path.insert(0, id.clone());
    let total = paint::format_grouped_number(summary.total());
    let counts = summary
        .counts
        .get(position as usize)
        .copied()
        .unwrap_or_default();
    let sound = paint::format_grouped_number(
        counts.count_in_state(PositionState::Present)
            + counts.count_in_state(PositionState::Padded),
    );
    let inside = if above.is_empty() {
        tr!("the root").to_owned()
    } else {
        above.join(" / ")
    };
    let (title, text) = match place.state {
        PositionState::Missing => (
            tr!("Missing child"),
            tr!(
                "Every root must hold the same children in the same order. {sound} of {total} \
                    roots hold {id} in {inside}; this one does not.",
                sound,
                total,
                id = node.id,
                inside
            ),
        ),
        PositionState::WrongType => {
            let found = place.kind.unwrap_or(SampleKind::File);
            (
                tr!("Wrong type"),
                tr!(
                    "{id} is a {found} here; the pattern says {wanted}.",
                    id = node.id,
                    found,
                    wanted = node.kind
                ),
            )
        }
        PositionState::WrongId => (
            tr!("Wrong id"),
            tr!(
                "Position {position} is {found}; the pattern says {wanted}.",
                position = node.position,
                found = place.id.as_deref().unwrap_or_default(),
                wanted = node.id
            ),
        ),
        PositionState::WrongOrder => (
            tr!("Wrong order"),
            tr!(
                "{id} is at another position; {sound} of {total} roots have it at position \
                    {position}.",
                id = node.id,
                sound,
                total,
                position = node.position
            ),
        ),
        PositionState::Present | PositionState::Padded => return None,
    };
    let now = summary
        .siblings(position)
        .map(|sibling| {
            let place: &PatternCell = &places[sibling as usize];
            let off = place.state.is_fault();
            let word = match place.state {
                PositionState::Missing | PositionState::WrongType => describe_state(place),
                _ => place.id.as_deref().unwrap_or_default().to_owned(),
            };
            (word, off)
        })
        .collect();
    Some(StructureFault {
        title: title.into(),
        rule: "PIT-1",
        path,
        last: tr!(
            "position {position} ({id})",
            position = node.position,
            id = node.id
        ),
        text,
        now,
        finding,
        alike,
        root,
        above,
        target: Some(node.id.to_string()),
    })
}

fn is_fixable_at(places: &[PatternCell], position: u32) -> bool {
    places
        .get(position as usize)
        .is_some_and(|place| place.state.is_fault() && !place.unreachable)
}

fn finding_fault(document: &Document, finding: &Finding, root: u32) -> Option<StructureFault> {
    document.draft()?;
    let mut path: Vec<String> = finding_sample(finding)
        .and_then(|at| document.path(at))
        .map(|path| path.0.iter().map(|id| id.to_string()).collect())
        .unwrap_or_default();
    let last = path.pop()?;
    Some(StructureFault {
        title: crate::text::translate_text(finding.rule.what()).into(),
        rule: finding.rule.code(),
        path,
        last,
        text: finding.message.clone(),
        now: Vec::new(),
        finding: finding.clone(),
        alike: 0,
        root,
        above: Vec::new(),
        target: None,
    })
}

/// Draws the selected fault, if any.
pub fn ui(ui: &mut Ui, shown_fix: &mut FixState, cx: &mut PanelContext<'_>, document: &Document) {
    if document.draft().is_none() {
        return;
    }
    refresh(shown_fix, cx, document);
    show_plan(shown_fix, cx);
    // Moved out for the frame to release the borrow of the state.
    let Some(fault) = shown_fix.fault.take() else {
        return;
    };
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin {
            left: 12,
            right: 12,
            top: 10,
            bottom: 10,
        })
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            head_ui(ui, &fault);
            if !fault.now.is_empty() {
                ui.label(theme::rich_text(tr!("Now")).font(font::semibold(12.0)));
                chips_ui(
                    ui,
                    fault.now.iter().map(|(word, off)| (word.as_str(), *off)),
                    t.errbg,
                    t.errline,
                    t.err,
                );
            }
            fixes_ui(ui, shown_fix, cx, document, &fault);
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line2),
    );
    shown_fix.fault = Some(fault);
}

fn head_ui(ui: &mut Ui, fault: &StructureFault) {
    let t = theme::tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.label(
            theme::rich_text(icons::WARNING_OCTAGON)
                .font(font::icon(16.0))
                .color(t.err),
        );
        widgets::badge(ui, Tone::Neutral, None, fault.rule);
        ui.label(
            theme::rich_text(&fault.title)
                .font(font::semibold(14.0))
                .color(t.tx),
        );
    });
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        for id in &fault.path {
            ui.label(
                theme::rich_text(format!("{id} / "))
                    .font(font::mono(12.0))
                    .color(t.tx),
            );
        }
        ui.label(
            theme::rich_text(&fault.last)
                .font(font::mono(12.0))
                .color(t.err),
        );
    });
    ui.label(
        theme::rich_text(&fault.text)
            .text_style(text_style("small12"))
            .color(t.tx2),
    );
}

fn chips_ui<'a>(
    ui: &mut Ui,
    words: impl Iterator<Item = (&'a str, bool)>,
    fill: egui::Color32,
    line: egui::Color32,
    color: egui::Color32,
) {
    let t = theme::tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(5.0, 4.0);
        for (word, marked) in words.take(24) {
            let text = if marked { color } else { t.tx };
            let galley = paint::layout_unwrapped_line(ui.painter(), word, font::mono(12.0), text);
            let (rect, response) = ui
                .allocate_exact_size(vec2((galley.size().x + 12.0).round(), 21.0), Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, word));
            ui.painter()
                .rect_filled(rect, 3, if marked { fill } else { t.bg3 });
            if marked {
                paint::dashed_rect(ui.painter(), rect, line);
            }
            paint::text_center(ui.painter(), rect, word, font::mono(12.0), text);
        }
    });
}

fn fixes_ui(
    ui: &mut Ui,
    shown_fix: &mut FixState,
    cx: &mut PanelContext<'_>,
    document: &Document,
    fault: &StructureFault,
) {
    let t = theme::tokens(ui);
    let fixes = match &shown_fix.fixes.state() {
        AsyncState::Ready(fixes) => (*fixes).clone(),
        AsyncState::Failed(_) => Vec::new(),
        AsyncState::NotAsked | AsyncState::Pending => return,
    };
    if fixes.is_empty() {
        let nothing_common = document
            .structure()
            .is_some_and(|structure| structure.nothing_common());
        let text = if nothing_common {
            tr!(
                "No shape is common, so there is no pattern to fix this root by: choose one under \
                    Pattern from."
            )
        } else {
            tr!("There is no automatic fix: choose by hand.")
        };
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
        return;
    }
    // What removes samples is never chosen beforehand.
    let chosen = shown_fix
        .chosen
        .or_else(|| fixes.iter().position(|fix| fix.care != Care::Removes));
    let fix = chosen.and_then(|index| fixes.get(index));
    if let Some(fix) = fix {
        after_ui(ui, fix, fault);
    }
    ui.label(theme::rich_text(tr!("Fix" in "heading")).font(font::semibold(12.0)));
    for (index, fix) in fixes.iter().enumerate() {
        if choice_ui(ui, fix, Some(index) == chosen) {
            shown_fix.chosen = Some(index);
        }
    }
    let Some(fix) = fix else {
        let text =
            tr!("Every fix here removes samples: choose one, or change the samples by hand.");
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
        return;
    };
    ui.horizontal_wrapped(|ui| {
        let apply = match fix.care {
            Care::Safe => Button::primary(tr!("Apply")),
            Care::Ids => Button::secondary(tr!("Apply")),
            Care::Removes => Button::danger(tr!("Apply")),
        };
        // Findings of an older revision must not change the draft.
        let checking = describe_report_delay(cx.studio).map(crate::text::translate_text);
        if ui
            .add(
                apply
                    .name(tr!("Apply: {fix}", fix = fix.label))
                    .with_disabled_reason(checking),
            )
            .clicked()
        {
            match fix.care {
                Care::Removes => cx.request(Request::Fix(fault.root, Box::new(fix.clone()))),
                // The list above shows every new id.
                Care::Safe | Care::Ids => cx.run(Command::Edit {
                    edit: fix.edit.clone(),
                }),
            }
        }
        if fault.alike > 1 {
            let text = tr!(
                "Apply to {roots} like this…",
                roots = paint::format_grouped_number(fault.alike)
            );
            let tip = tr!(
                "Shows what changes in every root of the same shape, before anything is changed"
            );
            let busy = shown_fix
                .asked
                .is_some()
                .then_some(tr!("Looking at the other roots"));
            if ui
                .add(
                    Button::secondary(text)
                        .name(tr!("Apply to all like this"))
                        .tooltip(tip)
                        .with_disabled_reason(busy),
                )
                .clicked()
            {
                ask_plan(shown_fix, cx, document, fault.root, fix);
            }
        }
    });
}

/// The FOLDER after the fix, and the ids that the fix changes or removes.
fn after_ui(ui: &mut Ui, fix: &Fix, fault: &StructureFault) {
    let t = theme::tokens(ui);
    ui.label(theme::rich_text(tr!("After the fix")).font(font::semibold(12.0)));
    match siblings_after(&fix.preview.1, &fault.above) {
        Some(after) => {
            let before: Vec<String> =
                siblings_after(&fix.preview.0, &fault.above).unwrap_or_default();
            let fresh =
                |word: &String| !before.contains(word) || fault.target.as_ref() == Some(word);
            chips_ui(
                ui,
                after.iter().map(|word| (word.as_str(), fresh(word))),
                t.accbg,
                t.accfill,
                t.acc,
            );
        }
        None => {
            let text = if fix.preview.1.is_empty() {
                tr!("Nothing: the root was removed.")
            } else {
                tr!("The FOLDER is gone.")
            };
            ui.label(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
        }
    }
    let renamed = if fix.care == Care::Safe {
        t.tx2
    } else {
        t.warn
    };
    let renames = fix
        .renames
        .iter()
        .map(|(old, new)| (format!("{old} → {new}"), renamed));
    let drops = fix
        .drops
        .iter()
        .map(|path| (tr!("Drop {id}", id = path), t.err));
    for (text, color) in renames.chain(drops).take(MAX_LISTED) {
        ui.label(theme::rich_text(text).font(font::mono(12.0)).color(color));
    }
    let listed = fix.renames.len() + fix.drops.len();
    if listed > MAX_LISTED {
        ui.label(
            theme::rich_text(tr!("and {n} more", n = listed - MAX_LISTED))
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
    }
    ui.add_space(4.0);
}

/// A fix as a card with a radio button. True when it was clicked.
fn choice_ui(ui: &mut Ui, fix: &Fix, chosen: bool) -> bool {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 46.0), Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::RadioButton,
            true,
            chosen,
            tr!("Fix: {fix}", fix = fix.label),
        )
    });
    let (fill, line) = if chosen {
        (t.accbg, t.accline)
    } else if response.hovered() {
        (t.hover, t.line2)
    } else {
        (t.bg1, t.line)
    };
    let painter = ui.painter();
    painter.rect(rect, 4, fill, Stroke::new(1.0, line), StrokeKind::Inside);
    let dot = pos2(rect.left() + 16.0, rect.top() + 15.0);
    if chosen {
        painter.circle_filled(dot, 7.0, t.accfill);
        painter.circle_filled(dot, 3.0, t.onacc);
    } else {
        painter.circle(dot, 6.5, t.input, Stroke::new(1.0, t.ctl));
    }
    let inner = Rect::from_min_max(
        pos2(rect.left() + 32.0, rect.top() + 4.0),
        rect.max - vec2(8.0, 4.0),
    );
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let color = if fix.care == Care::Removes {
        t.err
    } else {
        t.tx
    };
    paint::text_left(painter, upper, &fix.label, font::medium(12.5), color);
    paint::text_left(
        painter,
        lower,
        &explanation(fix),
        font::regular(11.5),
        t.tx2,
    );
    paint::focus_ring(ui, &response, 4);
    response.clicked()
}

/// Description of a fix.
fn explanation(fix: &Fix) -> String {
    match fix.verb {
        _ if fix.care == Care::Ids => {
            tr!("The names differ. Apply it only where it is the same thing.").into()
        }
        FixVerb::Pad => tr!("Inserts a placeholder: 0 bytes, null metadata.").into(),
        FixVerb::Place => tr!("From the unplaced files. Undo takes it out again.").into(),
        FixVerb::Drop => {
            tr!(
                "Takes {samples} out of the dataset. Files on disk stay.",
                samples = counted_texts::format_samples(fix.affects)
            )
        }
        FixVerb::Rename => tr!("Only the id changes.").into(),
        FixVerb::Move => tr!("Only the order changes.").into(),
        FixVerb::Wrap => tr!("Puts a FOLDER around the FILE; the rest is padded.").into(),
        _ if fix.care == Care::Safe => tr!(
            "Changes {samples}. Removes nothing.",
            samples = counted_texts::format_samples(fix.affects)
        ),
        _ => tr!(
            "Changes {samples}. Some are taken out; files on disk stay.",
            samples = counted_texts::format_samples(fix.affects)
        ),
    }
}

/// The ids directly below the FOLDER at `above` in the lines of a preview; `above` starts below the
/// root. `None` when it is missing.
fn siblings_after(lines: &[String], above: &[String]) -> Option<Vec<String>> {
    let depth_of = |line: &str| (line.len() - line.trim_start_matches(' ').len()) / 2;
    let mut open = vec![true];
    let mut found = None;
    for line in lines {
        let (depth, id) = (depth_of(line), line.trim_start_matches(' '));
        if depth == 0 {
            if above.is_empty() {
                found = Some(Vec::new());
            }
            continue;
        }
        open.truncate(depth);
        let inside = open.last().copied().unwrap_or(false) && open.len() == depth;
        if inside && depth == above.len() + 1 {
            found.get_or_insert_with(Vec::new).push(id.to_owned());
        }
        let here = inside && above.get(depth - 1).is_some_and(|wanted| wanted == id);
        if here && depth == above.len() {
            found.get_or_insert_with(Vec::new);
        }
        open.push(here);
    }
    found
}

/// Starts the plan of the same fix for all similar roots.
fn ask_plan(
    shown_fix: &mut FixState,
    cx: &mut PanelContext<'_>,
    document: &Document,
    root: u32,
    fix: &Fix,
) {
    let Some(finder) = cx.studio.fix_finder() else {
        return;
    };
    let choice = document
        .structure()
        .map(|structure| structure.choice().clone())
        .unwrap_or_default();
    let key = cx.document_key();
    let wanted: PlanKey = (key, choice, root, fix.verb, fix.care);
    let like = fix.clone();
    shown_fix.asked = Some(wanted.clone());
    shown_fix
        .plan
        .update(cx.jobs, wanted, tr!("Compare the roots"), move |_| {
            Ok(finder.alike_plan(root as usize, &like).map(Arc::new))
        });
}

fn show_plan(shown_fix: &mut FixState, cx: &mut PanelContext<'_>) {
    let Some(wanted) = &shown_fix.asked else {
        return;
    };
    let Some(made) = shown_fix.plan.get(wanted) else {
        return;
    };
    let plan = made.as_ref().ok().and_then(|plan| plan.clone());
    shown_fix.asked = None;
    if let Some(plan) = plan {
        cx.request(Request::Plan(plan));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_children_of_a_folder_are_read_from_a_preview() {
        let lines: Vec<String> = [
            "roi", "  s2", "    t0", "    t1", "  s1", "    t0", "    t9", "  dem",
        ]
        .map(str::to_owned)
        .into();
        let of = |above: &[&str]| {
            siblings_after(
                &lines,
                &above.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&[]), Some(vec!["s2".into(), "s1".into(), "dem".into()]));
        assert_eq!(of(&["s1"]), Some(vec!["t0".into(), "t9".into()]));
        assert_eq!(of(&["s3"]), None);
        assert_eq!(siblings_after(&[], &[]), None, "a root that is gone");
    }
}
