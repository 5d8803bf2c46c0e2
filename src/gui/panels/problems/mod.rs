//! The problems panel: findings grouped by rule. A click selects the sample or field.

pub mod state;

use std::collections::HashMap;
use std::sync::Arc;

use egui::{Rect, Role, Ui, WidgetInfo, pos2, vec2};

use super::structure;
use crate::draft::{Care, Fix, FixPlan};
use crate::gui::action::Action;
use crate::gui::document_key::DocumentKey;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::sample_status::finding_sample;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, Tone, VirtualRows, paint};
use crate::model::{Finding, Location, Report, Rule, Severity};
use crate::studio::{Command, Document};
use state::{ProblemLine, ProblemsPanel};

/// Largest number of fix buttons a line; tooltips show what they change.
const OFFERED: usize = 2;

/// Shows the location of a finding: selects the sample, or focuses the collection field.
pub fn go_to(cx: &mut PanelContext<'_>, finding: &Finding) {
    match &finding.at {
        Location::Collection(field) => cx.request(Request::CollectionField(field.clone())),
        Location::Level(level) | Location::Column { level, .. } => {
            cx.session.selection.level = *level
        }
        _ => {}
    }
    if let Some(at) = finding_sample(finding) {
        cx.request(Request::Select(Some(at)));
    }
    if !matches!(finding.at, Location::Collection(_)) {
        cx.request(Request::LeaveCollectionField);
    }
}

/// Finds the fixes of these findings off the interface thread. They are kept until the report
/// changes.
fn find_fixes(
    state: &mut ProblemsPanel,
    cx: &PanelContext<'_>,
    report: &Arc<Report>,
    visible: Vec<usize>,
) {
    let key = (cx.document_key(), visible);
    if let Some(Ok(found)) = state.finding.get(&key) {
        state.fixes.extend(found.clone());
        return;
    }
    let Some(finder) = cx.studio.fix_finder() else {
        return;
    };
    let (report, visible) = (report.clone(), key.1.clone());
    state
        .finding
        .update(cx.jobs, key, tr!("Look for fixes"), move |ctx| {
            let mut found = HashMap::with_capacity(visible.len());
            for index in visible {
                ctx.check()?;
                found.insert(index, finder.fixes(&report.findings[index]));
            }
            Ok(found)
        });
}

impl Panel for ProblemsPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let report = cx.studio.report().clone();
        if report.findings.is_empty() {
            let (title, why) = match (
                cx.document().is_some(),
                cx.session.status.samples.has_check_result(),
            ) {
                (true, true) => (
                    tr!("No problems"),
                    tr!("Every rule that was checked holds."),
                ),
                (true, false) => (
                    tr!("Not checked yet"),
                    tr!("Check the dataset with F7. Drafts are checked after every edit."),
                ),
                _ => (
                    tr!("Nothing to check"),
                    tr!("Open a dataset, or drop files to begin one."),
                ),
            };
            let icon = if cx.session.status.samples.has_check_result() {
                icons::CHECK_CIRCLE
            } else {
                icons::WARNING_OCTAGON
            };
            widgets::draw_empty_state(ui, icon, title, why);
            return;
        }
        self.refresh(&report);
        let cursor = self.find_selected_row();
        // Findings of an older revision must not change the draft.
        let fixable = cx
            .document()
            .is_some_and(|document| document.draft().is_some())
            && cx.studio.is_report_current();
        let plans_key = want_plans(self, cx, &report, fixable);
        let list = VirtualRows::new(tr!("Problems"), self.rows.len() as u64)
            .row_height(26.0)
            .cursor(cursor.map(|row| row as u64));
        let (mut scroll, rows) = (self.scroll, &self.rows);
        let fixes = &self.fixes;
        let plans = plans_key.and_then(|key| self.plans.get(&key)?.as_ref().ok());
        let mut chosen_plan = None;
        let (mut wanted, mut chosen_fix) = (Vec::new(), None);
        let out = list.show(ui, &mut scroll, |ui, row, rect, response| {
            let line = rows[row as usize];
            let (ProblemLine::Group(index, ..)
            | ProblemLine::Child(index)
            | ProblemLine::Single(index)) = line;
            let finding = &report.findings[index];
            let chosen = cursor == Some(row as usize);
            response.widget_info(|| match line {
                ProblemLine::Group(..) => WidgetInfo::labeled(
                    Role::ListItem,
                    true,
                    crate::text::translate_text(finding.rule.what()),
                ),
                _ => {
                    let said = format!("{} {}: {}", finding.rule, finding.at, finding.message);
                    WidgetInfo::selected(Role::ListItem, true, chosen, said)
                }
            });
            let (mut room, mut widths) = (rect, Vec::new());
            let group_plans = plans.filter(|_| {
                matches!(line, ProblemLine::Group(..)) && finding.rule == Rule::PitRoots
            });
            if let Some(plans) = group_plans {
                (widths, room.max.x) = row_buttons(ui, rect, &plan_texts(plans));
            }
            // What is done with sidecars concerns all rasters alike, so a child of the group has no
            // button.
            let offers_sidecars = fixable
                && matches!(finding.rule, Rule::SidecarLeft | Rule::FileNeedsOthers)
                && !matches!(line, ProblemLine::Child(_));
            if offers_sidecars {
                (widths, room.max.x) =
                    row_buttons(ui, rect, &[tr!("Pack, burn in or leave…").to_owned()]);
            } else if fixable && !matches!(line, ProblemLine::Group(..)) {
                match fixes.get(&index) {
                    Some(fixes) => (widths, room.max.x) = row_buttons(ui, rect, &fix_texts(fixes)),
                    None => wanted.push(index),
                }
            }
            line_ui(
                ui,
                rect,
                room.right(),
                line,
                finding,
                chosen,
                response.hovered(),
            );
            if let Some(fixes) = fixes
                .get(&index)
                .filter(|_| room.right() < rect.right() && !matches!(line, ProblemLine::Group(..)))
                && let Some(fix) = fixes_ui(
                    ui,
                    rect.with_min_x(room.right()),
                    fixes,
                    &widths,
                    &finding.at,
                )
            {
                chosen_fix = Some((index, fix.clone()));
            }
            if let Some(plans) = group_plans
                && let Some(plan) = plans_ui(ui, rect.with_min_x(room.right()), plans, &widths)
            {
                chosen_plan = Some(plan.clone());
            }
            if offers_sidecars && sidecars_ui(ui, rect.with_min_x(room.right()), &widths) {
                cx.requests.push(Request::Do(Action::Sidecars));
            }
            let rule = crate::text::translate_text(finding.rule.what());
            response.clone().on_hover_text(theme::rich_text(format!(
                "{} ({rule}, §{})",
                finding.message,
                finding.rule.section()
            )));
        });
        self.scroll = scroll;
        if let Some((index, alike)) = self.fix_asked.filter(|_| fixable) {
            match self.fixes.get(&index).map(|fixes| fixes.first().cloned()) {
                None if wanted.contains(&index) => {}
                None => wanted.push(index),
                Some(fix) => {
                    let root = report
                        .findings
                        .get(index)
                        .and_then(finding_sample)
                        .zip(cx.document());
                    match (&fix, root) {
                        (Some(fix), Some((at, document))) if alike => {
                            let key = (cx.document_key(), index);
                            if let (None, Some(finder)) =
                                (self.alike.get(&key), cx.studio.fix_finder())
                            {
                                let (root, fix) =
                                    (structure::root_of(document, at) as usize, fix.clone());
                                self.alike
                                    .update(cx.jobs, key, tr!("Look for fixes"), move |_| {
                                        Ok(finder.alike_plan(root, &fix).map(Arc::new))
                                    });
                            }
                            if let Some(found) = self.alike.get(&key) {
                                chosen_plan = found.as_ref().ok().cloned().flatten();
                                self.fix_asked = None;
                            }
                            if let Some(plan) = chosen_plan {
                                cx.request(Request::Plan(plan));
                            }
                            return;
                        }
                        _ => self.fix_asked = None,
                    }
                    match fix {
                        Some(fix) => chosen_fix = Some((index, fix)),
                        // Its error says that there is none.
                        None => cx.run(Command::ApplyFix {
                            finding: index,
                            fix: 0,
                        }),
                    }
                }
            }
        }
        if !wanted.is_empty() {
            find_fixes(self, cx, &report, wanted);
        }
        if let Some(plan) = chosen_plan {
            return cx.request(Request::Plan(plan));
        }
        if let Some((index, fix)) = chosen_fix {
            let at = report.findings.get(index).and_then(finding_sample);
            if let Some((document, at)) = cx.document().zip(at) {
                cx.request(Request::Fix(
                    structure::root_of(document, at),
                    Box::new(fix),
                ));
            }
            return;
        }
        if let Some(row) = out.clicked.or(out.moved_to) {
            match self.rows[row as usize] {
                ProblemLine::Group(index, ..) => {
                    let rule = report.findings[index].rule;
                    if out.clicked.is_some() && !self.folded.remove(&rule) {
                        self.folded.insert(rule);
                    }
                    self.changes += 1;
                }
                ProblemLine::Child(index) | ProblemLine::Single(index) => {
                    self.selected = Some(index);
                    go_to(cx, &report.findings[index]);
                }
            }
        }
    }

    fn tab_count(&self, cx: &PanelContext<'_>) -> Option<(u64, Tone)> {
        let status = &cx.session.status.samples;
        match (status.errors, status.warnings) {
            (0, 0) => None,
            (0, warnings) => Some((warnings, Tone::Warning)),
            (errors, warnings) => Some((errors + warnings, Tone::Error)),
        }
    }

    fn bar_right_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        let (errors, warnings) = (
            cx.session.status.samples.errors,
            cx.session.status.samples.warnings,
        );
        ui.add_space(8.0);
        if cx.document().is_some()
            && ui
                .add(
                    Button::ghost(tr!("Check"))
                        .icon(icons::CHECK_CIRCLE)
                        .tooltip(tr!("Check every rule (F7)")),
                )
                .clicked()
        {
            cx.request(Request::Do(crate::gui::action::Action::Validate));
        }
        let repairable = cx.document().and_then(Document::opened_dataset).is_some()
            && !cx.studio.report().findings.is_empty();
        if repairable {
            let action = crate::gui::action::Action::Repair;
            let reason = crate::gui::action_enabled::disabled_reason(action, cx);
            let button = Button::primary(action.info().text)
                .icon(icons::FIRST_AID_KIT)
                .tooltip(action.info().tooltip);
            if ui.add(button.with_disabled_reason(reason)).clicked() {
                cx.request(Request::Do(action));
            }
        }
        let fixable = cx
            .document()
            .is_some_and(|document| document.draft().is_some())
            && cx.studio.is_report_current();
        let report = cx.studio.report().clone();
        let has_findings = !report.findings.is_empty();
        if has_findings {
            self.refresh(&report);
        }
        if fixable && has_findings && self.has_shape_faults {
            let tip = tr!(
                "Pad, rename, reorder and wrap wherever nothing is removed, in one step that can \
                    be undone"
            );
            if let Some(document) = cx.document() {
                structure::update_summary(cx);
                structure::want_plans(cx, document);
            }
            let choice = cx
                .document()
                .and_then(Document::structure)
                .map(|structure| structure.choice().clone())
                .unwrap_or_default();
            let blocked = cx
                .session
                .structure
                .find_safe_fix_obstacle(cx.document_key(), &choice);
            if ui
                .add(
                    Button::primary(tr!("Fix all safe"))
                        .tooltip(tip)
                        .with_disabled_reason(blocked),
                )
                .clicked()
            {
                cx.run(Command::FixSafe);
            }
        }
        let warning_text = describe_warning_count(warnings);
        let error_text = describe_error_count(errors);
        for (number, text, icon, color) in [
            (warnings, warning_text, icons::WARNING, t.warn),
            (errors, error_text, icons::WARNING_OCTAGON, t.err),
        ] {
            if number > 0 {
                ui.label(
                    theme::rich_text(text)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                ui.label(theme::rich_text(icon).font(font::icon(14.0)).color(color));
            }
        }
    }
}

/// Largest number of buttons on the row of a rule.
const GROUP_PLANS: usize = 3;

/// Computes the plans of the roots that break the pattern, where several do; returns their key.
fn want_plans(
    state: &mut ProblemsPanel,
    cx: &PanelContext<'_>,
    report: &Arc<Report>,
    fixable: bool,
) -> Option<(DocumentKey, ValueId)> {
    let several = report
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::PitRoots)
        .take(2)
        .count()
        > 1;
    let finder = cx.studio.fix_finder().filter(|_| fixable && several)?;
    let key = (cx.document_key(), ValueId::from_arc(report));
    state.plans.update(
        cx.jobs,
        key.clone(),
        tr!("Look for fixes of many roots"),
        move |ctx| Ok(finder.plans(ctx)?.into_iter().map(Arc::new).collect()),
    );
    Some(key)
}

fn plan_text(plan: &FixPlan) -> String {
    format!("{}…", plan.label)
}

/// Gap between two buttons of a row, in points.
const GAP: f32 = 6.0;
/// Distance of the buttons from the ends of their part of a row, in points.
const MARGIN: f32 = 10.0;
/// Smallest width of a button whose text is cut, in points.
const LEAST: f32 = 52.0;

/// Part of a row that its buttons may take; the text keeps the rest.
const SHARE: f32 = 0.58;

/// Widths of the buttons of a row with these texts. Where they do not fit in `room`, the widest are
/// cut to the same width.
fn button_widths(widths: &[f32], room: f32) -> Vec<f32> {
    let room = room - GAP * widths.len().saturating_sub(1) as f32;
    let mut sorted = widths.to_vec();
    sorted.sort_by(f32::total_cmp);
    let (mut left, mut cut) = (room, f32::INFINITY);
    for (index, width) in sorted.iter().enumerate() {
        let each = left / (sorted.len() - index) as f32;
        if *width > each {
            cut = each.max(LEAST);
            break;
        }
        left -= width;
    }
    widths.iter().map(|width| width.min(cut)).collect()
}

/// Widths of the buttons with these texts at the right end of a row, and the left edge of their
/// part.
fn row_buttons(ui: &Ui, rect: Rect, texts: &[String]) -> (Vec<f32>, f32) {
    let widths: Vec<f32> = texts
        .iter()
        .map(|text| Button::width_of(ui, text))
        .collect();
    let widths = button_widths(&widths, rect.width() * SHARE - 2.0 * MARGIN);
    let taken =
        widths.iter().sum::<f32>() + GAP * widths.len().saturating_sub(1) as f32 + 2.0 * MARGIN;
    (
        widths,
        if texts.is_empty() {
            rect.right()
        } else {
            rect.right() - taken
        },
    )
}

fn plan_texts(plans: &[Arc<FixPlan>]) -> Vec<String> {
    plans
        .iter()
        .take(GROUP_PLANS)
        .map(|plan| plan_text(plan))
        .collect()
}

fn fix_texts(fixes: &[Fix]) -> Vec<String> {
    fixes
        .iter()
        .take(OFFERED)
        .map(|fix| fix.label.clone())
        .collect()
}

/// Draws a button for each kind of fix, right-aligned; returns the plan that was clicked, which is
/// shown before it is applied.
fn plans_ui<'a>(
    ui: &mut Ui,
    rect: Rect,
    plans: &'a [Arc<FixPlan>],
    widths: &[f32],
) -> Option<&'a Arc<FixPlan>> {
    let mut clicked = None;
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    ui.scope_builder(
        egui::UiBuilder::new()
            .max_rect(rect.shrink2(vec2(MARGIN, 1.0)))
            .layout(layout),
        |ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            ui.spacing_mut().interact_size.y = 22.0;
            for (plan, width) in plans.iter().take(GROUP_PLANS).zip(widths).rev() {
                let lines: String = plan
                    .changes
                    .iter()
                    .take(8)
                    .map(|(root, what)| format!("\n{root}: {what}"))
                    .collect();
                let button = match plan.care {
                    Care::Safe => Button::secondary(plan_text(plan)),
                    Care::Ids => Button::ghost(plan_text(plan)),
                    Care::Removes => Button::danger_ghost(plan_text(plan)),
                };
                if ui
                    .add(
                        button
                            .max_width(*width)
                            .tooltip(format!("{}{lines}", plan.label)),
                    )
                    .clicked()
                {
                    clicked = Some(plan);
                }
            }
        },
    );
    clicked
}

/// Draws the button for the sidecars of all rasters, right-aligned; true when it was clicked.
fn sidecars_ui(ui: &mut Ui, rect: Rect, widths: &[f32]) -> bool {
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    let builder = egui::UiBuilder::new()
        .max_rect(rect.shrink2(vec2(MARGIN, 1.0)))
        .layout(layout);
    ui.scope_builder(builder, |ui| {
        ui.spacing_mut().interact_size.y = 22.0;
        let width = widths.first().copied().unwrap_or_default();
        let button = Button::secondary(tr!("Pack, burn in or leave…"))
            .tooltip(Action::Sidecars.info().tooltip);
        ui.add(button.max_width(width)).clicked()
    })
    .inner
}

/// Draws a button for each of the best fixes, right-aligned; returns the fix that was clicked.
fn fixes_ui<'a>(
    ui: &mut Ui,
    rect: Rect,
    fixes: &'a [Fix],
    widths: &[f32],
    at: &Location,
) -> Option<&'a Fix> {
    let mut clicked = None;
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    ui.scope_builder(
        egui::UiBuilder::new()
            .max_rect(rect.shrink2(vec2(MARGIN, 1.0)))
            .layout(layout),
        |ui| {
            ui.spacing_mut().item_spacing.x = GAP;
            ui.spacing_mut().interact_size.y = 22.0;
            for (fix, width) in fixes.iter().take(OFFERED).zip(widths).rev() {
                let (before, after) = &fix.preview;
                let tip = format!(
                    "{}{}{}",
                    fix.label,
                    format_preview_lines("−", before),
                    format_preview_lines("+", after)
                );
                let name = tr!("{fix} in {place}", fix = fix.label, place = at);
                let button = match fix.care {
                    Care::Safe => Button::secondary(fix.label.as_str()),
                    Care::Ids => Button::ghost(fix.label.as_str()),
                    Care::Removes => Button::danger_ghost(fix.label.as_str()),
                };
                if ui
                    .add(button.max_width(*width).name(name).tooltip(tip))
                    .clicked()
                {
                    clicked = Some(fix);
                }
            }
        },
    );
    clicked
}

/// The first lines of a preview, each behind a line break and `mark`.
fn format_preview_lines(mark: &str, lines: &[String]) -> String {
    lines
        .iter()
        .take(8)
        .map(|line| format!("\n{mark} {line}"))
        .collect()
}

fn line_ui(
    ui: &Ui,
    rect: Rect,
    end: f32,
    line: ProblemLine,
    finding: &Finding,
    chosen: bool,
    hovered: bool,
) {
    let t = theme::tokens(ui);
    let painter = ui.painter();
    paint::row_with_line(painter, t, rect, chosen, hovered);
    let middle = rect.center().y;
    let mut inner = Rect::from_min_max(
        pos2(rect.left() + 12.0, rect.top()),
        pos2(end - 14.0, rect.bottom()),
    );
    if let ProblemLine::Child(_) = line {
        inner.min.x += 22.0;
        let end = Rect::from_min_max(
            inner.min,
            pos2(
                inner.left() + (rect.width() * 0.3).min(300.0),
                inner.bottom(),
            ),
        );
        paint::text_left(
            painter,
            end,
            &finding.at.to_string(),
            font::mono(12.0),
            t.tx,
        );
        inner.min.x = end.right() + 12.0;
        paint::text_left(painter, inner, &finding.message, font::regular(12.0), t.tx2);
        return;
    }
    if let ProblemLine::Group(_, _, open) = line {
        let caret = if open {
            icons::CARET_DOWN
        } else {
            icons::CARET_RIGHT
        };
        paint::draw_icon(
            painter,
            pos2(inner.left() + 4.0, middle),
            caret,
            12.0,
            t.tx3,
        );
    }
    let (icon, color) = severity_look(t, finding.severity);
    paint::draw_icon(
        painter,
        pos2(inner.left() + 22.0, middle),
        icon,
        15.0,
        color,
    );
    inner.min.x += 38.0;
    let chip = Rect::from_center_size(pos2(inner.left() + 27.0, middle), vec2(54.0, 18.0));
    painter.rect_filled(chip, 4, t.bg3);
    paint::text_center(painter, chip, finding.rule.code(), font::mono(11.0), t.tx2);
    inner.min.x = chip.right() + 10.0;
    match line {
        ProblemLine::Group(_, count, _) => {
            let number = paint::format_grouped_number(count as u64);
            let width =
                paint::measure_text_width(painter, &number, font::medium(11.0), t.tx2) + 10.0;
            let right = Rect::from_min_max(
                pos2(inner.right() - width, middle - 8.0),
                pos2(inner.right(), middle + 8.0),
            );
            painter.rect_filled(right, 4, t.bg3);
            paint::text_center(painter, right, &number, font::medium(11.0), t.tx2);
            inner.max.x = right.left() - 8.0;
            paint::text_left(
                painter,
                inner,
                crate::text::translate_text(finding.rule.what()),
                font::medium(12.0),
                t.tx,
            );
        }
        _ => {
            if finding.at != Location::Dataset {
                let place = Rect::from_min_max(
                    inner.min,
                    pos2(
                        inner.left() + (inner.width() * 0.35).min(300.0),
                        inner.bottom(),
                    ),
                );
                inner.min.x = paint::text_left(
                    painter,
                    place,
                    &finding.at.to_string(),
                    font::mono(12.0),
                    t.tx,
                ) + 12.0;
            }
            paint::text_left(painter, inner, &finding.message, font::regular(12.0), t.tx2);
        }
    }
}

fn severity_look(t: &ThemeTokens, severity: Severity) -> (&'static str, egui::Color32) {
    match severity {
        Severity::Error => (icons::WARNING_OCTAGON, t.err),
        Severity::Warning => (icons::WARNING, t.warn),
    }
}

pub fn describe_error_count(errors: u64) -> String {
    tr_n!(
        errors,
        "{n} error",
        "{n} errors",
        n = paint::format_grouped_number(errors)
    )
}

pub fn describe_warning_count(warnings: u64) -> String {
    tr_n!(
        warnings,
        "{n} warning",
        "{n} warnings",
        n = paint::format_grouped_number(warnings)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buttons_of_a_row_share_its_room() {
        assert_eq!(button_widths(&[60.0, 80.0], 200.0), [60.0, 80.0]);
        // 300 without two gaps are 288: the short button keeps its width, the others share the
        // rest.
        assert_eq!(
            button_widths(&[60.0, 200.0, 400.0], 300.0),
            [60.0, 114.0, 114.0]
        );
        assert_eq!(button_widths(&[200.0, 200.0], 40.0), [LEAST, LEAST]);
        assert!(button_widths(&[], 40.0).is_empty());
    }
}
