//! Statistics of the filtered rows: pooled values of each band, shares of classes, sizes of splits,
//! leakage between them.

mod leaks;
pub mod state;

use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use crate::extensions::pooled_statistics::{BandMoments, Pooled, PooledReport};
use crate::gui::action::Action;
use crate::gui::counted_texts;
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::panels::preview::names::{band_names, classes_of, number, number_of};
use crate::gui::theme::{self, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, paint};
use crate::gui::{filters, icons};
use crate::model::is_padding;
use crate::ops::{ColumnSummary, StatsRequest, SummaryRequest, level_summary, pooled_statistics};
use crate::query::copy_as::{quoted_name, quoted_text};
use crate::studio::Document;
use state::StatisticsPanel;

impl Panel for StatisticsPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return widgets::draw_empty_state(
                ui,
                icons::CHART_BAR,
                tr!("No statistics"),
                tr!("Open a dataset first."),
            );
        };
        let key = cx.document_key();
        if self.made_for != Some(key) {
            *self = StatisticsPanel {
                made_for: Some(key),
                ..StatisticsPanel::default()
            };
        }
        let Some(open) = document.opened_dataset() else {
            ScrollArea::vertical()
                .id_salt("statistics")
                .auto_shrink(false)
                .show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.0;
                    widgets::remark(
                        ui,
                        12,
                        tr!("Statistics are pooled over a written dataset. Write the \
                        draft, then open it."),
                    );
                    leaks::ui(ui, self, cx, document);
                });
            return;
        };
        let levels = document.tree().levels.len();
        if levels == 0 {
            return widgets::draw_empty_state(
                ui,
                icons::CHART_BAR,
                tr!("No statistics"),
                tr!("This dataset has no levels."),
            );
        }
        let level = self
            .level
            .or_else(|| (0..levels).find(|&level| has_statistics(document, level)))
            .unwrap_or(levels.saturating_sub(1));
        let positions = positions_of(document, level);
        let position = self
            .position
            .clone()
            .filter(|position| positions.contains(position));
        let splits_known = self.splits.latest().and_then(Option::as_ref);
        let split = self
            .split
            .clone()
            .zip(splits_known)
            .filter(|(split, known)| has_value(known, split));
        let of_split = |(split, known): (String, &ColumnSummary)| {
            format!("{} = {}", quoted_name(&known.name), quoted_text(&split))
        };
        let request = StatsRequest {
            level: Some(level),
            positions: position.clone().into_iter().collect(),
            filter: split.map(of_split),
            exact: self.exact,
            ..StatsRequest::default()
        };
        let kept = cx.studio.filtered_rows().cloned();
        let wanted = (key, request.clone(), kept.as_ref().map(ValueId::from_arc));
        if has_statistics(document, level) || request.exact {
            let reader = open.reader.clone();
            self.pooled.update(
                cx.jobs,
                wanted.clone(),
                tr!("Pool statistics"),
                move |ctx| {
                    let among = kept.as_ref().and_then(|kept| kept.rows(level));
                    pooled_statistics(reader.as_ref(), &request, among, ctx).map(Arc::new)
                },
            );
        }
        splits(self, cx, document, key);
        head_ui(
            ui,
            self,
            cx,
            document,
            (level, levels),
            &positions,
            position.as_deref(),
        );
        ScrollArea::vertical()
        .id_salt("statistics")
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let pooled = self.pooled.get(&wanted).map(|outcome| match outcome {
                Ok(report) => Ok(report.clone()),
                Err(error) => Err(error.to_string()),
            });
            match pooled {
                Some(Ok(report)) => report_ui(ui, document, &report),
                Some(Err(why)) => widgets::remark(ui, 12, &why),
                None if self.pooled.is_pending() => drop(widgets::spinner(ui, 20.0)),
                None => {
                    widgets::remark(
                        ui,
                        12,
                        tr!(
                            "This level has no column of statistics. Read the pixels, or run the \
                                statistics extension."
                        ),
                    );
                }
            }
            if let Some(Some(summary)) = self.splits.latest().cloned() {
                splits_ui(ui, &summary);
            }
            leaks::ui(ui, self, cx, document);
        });
    }
}

fn has_statistics(document: &Document, level: usize) -> bool {
    document
        .fields(level)
        .iter()
        .any(|field| field.name == "geotiff:stats" || field.name == "stats:mean")
}

fn splits(
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    key: DocumentKey,
) {
    let column = document
        .fields(0)
        .into_iter()
        .map(|field| field.name)
        .find(|name| name == "split" || name.ends_with(":split"));
    let Some((column, open)) = column.zip(document.opened_dataset()) else {
        return;
    };
    let kept = cx.studio.filtered_rows().cloned();
    let of = kept.as_ref().map(ValueId::from_arc);
    let reader = open.reader.clone();
    panel
        .splits
        .update(cx.jobs, (key, of), tr!("Splits"), move |ctx| {
            let rows = kept.as_ref().and_then(|kept| kept.rows(0));
            level_summary(
                reader.as_ref(),
                &SummaryRequest { level: 0, column },
                rows,
                ctx,
            )
            .map(Some)
        });
}

/// Positions in the list of choices: sets of children larger than this are no positions of a
/// pattern.
const POSITIONS: usize = 200;

/// Ids of the positions of a level: those of the children of the first FOLDER above; empty for
/// roots.
fn positions_of(document: &Document, level: usize) -> Vec<String> {
    let tree = document.tree();
    let Some((above, own)) = level
        .checked_sub(1)
        .and_then(|above| tree.levels.get(above))
        .zip(tree.levels.get(level))
    else {
        return Vec::new();
    };
    let Some(first) = above.folder.iter().position(|folder| *folder) else {
        return Vec::new();
    };
    let children = above
        .children(first as u32)
        .iter()
        .take(POSITIONS)
        .map(|&row| own.id(row));
    children
        .filter(|id| !is_padding(id))
        .map(str::to_owned)
        .collect()
}

fn head_ui(
    ui: &mut Ui,
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    (level, levels): (usize, usize),
    positions: &[String],
    position: Option<&str>,
) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(10, 5))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                let names: Vec<String> = (0..levels)
                    .map(|level| tr!("Level {level}", level))
                    .collect();
                let name = tr!("Level of the statistics");
                if let Some(index) =
                    widgets::combo(ui, name, &names[level.min(levels - 1)], 90.0, false, &names)
                {
                    (panel.level, panel.exact) = (Some(index), false);
                    panel.position = None;
                }
                if !positions.is_empty() {
                    let all = tr!("All positions");
                    let names: Vec<&str> = std::iter::once(all)
                        .chain(positions.iter().map(String::as_str))
                        .collect();
                    if let Some(index) = widgets::combo(
                        ui,
                        tr!("Position of the statistics"),
                        position.unwrap_or(all),
                        140.0,
                        false,
                        &names,
                    ) {
                        panel.position = index
                            .checked_sub(1)
                            .and_then(|index| positions.get(index))
                            .cloned();
                        panel.exact = false;
                    }
                }
                split_ui(ui, panel);
                let exact = panel.exact;
                let text = if exact {
                    tr!("From metadata")
                } else {
                    tr!("Read the pixels")
                };
                let tip = if exact {
                    tr!("Combine the statistics in the metadata")
                } else {
                    tr!("Compute from every pixel of the selection; slow for many rasters")
                };
                if ui
                    .add(Button::secondary(text).icon(icons::CHART_BAR).tooltip(tip))
                    .clicked()
                {
                    panel.exact = !exact;
                }
                for action in [Action::Percentiles, Action::Histograms] {
                    let button = Button::secondary(action.info().text)
                        .icon(action.info().icon)
                        .tooltip(action.info().tooltip);
                    if ui.add(button).clicked() {
                        cx.request(Request::Do(action));
                    }
                }
                let text = filters::tally_text(cx, document, level);
                ui.add(
                    egui::Label::new(
                        theme::rich_text(text)
                            .text_style(text_style("small12"))
                            .color(t.tx3),
                    )
                    .truncate(),
                );
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn has_value(summary: &ColumnSummary, value: &str) -> bool {
    summary.top.iter().any(|(known, _)| known == value)
}

/// Draws the choice of one split; nothing for datasets without one.
fn split_ui(ui: &mut Ui, panel: &mut StatisticsPanel) {
    let Some(Some(summary)) = panel.splits.latest() else {
        return;
    };
    let all = tr!("All splits");
    let names: Vec<&str> = std::iter::once(all)
        .chain(summary.top.iter().map(|(value, _)| value.as_str()))
        .collect();
    let current = panel
        .split
        .as_deref()
        .filter(|split| has_value(summary, split))
        .unwrap_or(all);
    if let Some(index) = widgets::combo(
        ui,
        tr!("Split of the statistics"),
        current,
        110.0,
        false,
        &names,
    ) {
        panel.split = index
            .checked_sub(1)
            .and_then(|index| summary.top.get(index))
            .map(|(value, _)| value.clone());
        panel.exact = false;
    }
}

fn report_ui(ui: &mut Ui, document: &Document, report: &PooledReport) {
    let t = theme::tokens(ui);
    let names = band_names(Some(document));
    widgets::section_header(ui, tr!("Pooled by band"), |ui| {
        let mut parts = vec![counted_texts::format_samples(report.samples)];
        if report.without > 0 {
            parts.push(tr!(
                "{n} without statistics",
                n = paint::format_grouped_number(report.without)
            ));
        }
        if report.not_finite > 0 {
            parts.push(tr!(
                "{n} with NaN or infinite statistics left out",
                n = paint::format_grouped_number(report.not_finite)
            ));
        }
        let weight = if report.weighted {
            tr!("weighted by valid pixels")
        } else {
            tr!("all samples have the same weight")
        };
        parts.push(weight.to_owned());
        ui.label(
            theme::rich_text(parts.join(", "))
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
    });
    match &report.pooled {
        Pooled::Continuous { bands } => {
            let heads = [
                tr!("band"),
                tr!("min"),
                tr!("mean"),
                tr!("max"),
                tr!("std"),
                tr!("pixels"),
            ];
            row_ui(ui, heads.map(str::to_owned), true);
            for (band, moments) in bands.iter().enumerate() {
                match moments {
                    Some(BandMoments {
                        min,
                        max,
                        mean,
                        std,
                        count,
                    }) => {
                        let cells = [
                            describe_band(&names, band),
                            number_of(*min),
                            number(*mean),
                            number_of(*max),
                            number(*std),
                            paint::format_grouped_number(*count as u64),
                        ];
                        row_ui(ui, cells, false);
                    }
                    None => row_ui(
                        ui,
                        [
                            describe_band(&names, band),
                            tr!("no data").into(),
                            String::new(),
                            String::new(),
                            String::new(),
                            String::new(),
                        ],
                        false,
                    ),
                }
            }
        }
        Pooled::Categorical { bands } => {
            let classes = classes_of(document);
            for (band, shares) in bands.iter().enumerate() {
                for (class, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                    let label = classes
                        .names
                        .iter()
                        .find(|(number, _)| *number == class as i64)
                        .map(|(_, name)| name.as_str());
                    let text = format!(
                        "{} {class} {}",
                        if bands.len() > 1 {
                            describe_band(&names, band)
                        } else {
                            tr!("class").into()
                        },
                        label.unwrap_or_default()
                    );
                    share_ui(ui, text.trim(), *share, &format!("{:.2} %", share * 100.0));
                }
            }
        }
    }
}

fn describe_band(names: &[String], band: usize) -> String {
    match names.get(band) {
        Some(name) if !name.is_empty() => name.clone(),
        _ => tr!("Band {number}", number = band + 1),
    }
}

fn row_ui(ui: &mut Ui, cells: [String; 6], head: bool) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, cells.join(" ")));
    let inner = rect.shrink2(vec2(12.0, 0.0));
    let first = (inner.width() * 0.28).min(220.0);
    let width = ((inner.width() - first) / 5.0).min(130.0);
    let (font, color) = if head {
        (font::mono(11.0), t.tx3)
    } else {
        (font::mono(12.0), t.tx)
    };
    paint::text_left(
        ui.painter(),
        inner.with_max_x(inner.left() + first),
        &cells[0],
        font.clone(),
        if head { t.tx3 } else { t.tx2 },
    );
    for (index, cell) in cells.iter().enumerate().skip(1) {
        let right = inner.left() + first + width * index as f32;
        paint::text_right(
            ui.painter(),
            Rect::from_min_max(pos2(right - width, rect.top()), pos2(right, rect.bottom())),
            cell,
            font.clone(),
            color,
        );
    }
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn share_ui(ui: &mut Ui, name: &str, share: f64, text: &str) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, format!("{name}: {text}")));
    let inner = rect
        .shrink2(vec2(12.0, 0.0))
        .with_max_x(rect.left() + rect.width().min(640.0));
    let (label, rest) = inner.split_left_right_at_fraction(0.34);
    paint::text_left(ui.painter(), label, name, font::mono(12.0), t.tx2);
    paint::text_right(ui.painter(), rest, text, font::mono(12.0), t.tx);
    let track = Rect::from_min_max(
        pos2(rest.left(), rest.center().y - 4.0),
        pos2(rest.right() - 110.0, rest.center().y + 4.0),
    );
    if track.width() > 10.0 {
        ui.painter().rect_filled(track, 2, t.bg3);
        ui.painter().rect_filled(
            track.with_max_x(track.left() + track.width() * (share as f32).clamp(0.0, 1.0)),
            2,
            t.tx3,
        );
    }
}

fn splits_ui(ui: &mut Ui, summary: &ColumnSummary) {
    let t = theme::tokens(ui);
    widgets::section_header(ui, tr!("Splits"), |ui| {
        ui.label(
            theme::rich_text(&summary.name)
                .font(font::mono(11.0))
                .color(t.tx3),
        );
    });
    let valid = summary.rows.max(1) as f64;
    for (value, count) in &summary.top {
        let share = *count as f64 / valid;
        share_ui(
            ui,
            value,
            share,
            &format!(
                "{}   {:.1} %",
                paint::format_grouped_number(*count),
                share * 100.0
            ),
        );
    }
    if summary.nulls > 0 {
        let share = summary.nulls as f64 / valid;
        share_ui(
            ui,
            tr!("without a split"),
            share,
            &format!(
                "{}   {:.1} %",
                paint::format_grouped_number(summary.nulls),
                share * 100.0
            ),
        );
    }
}
