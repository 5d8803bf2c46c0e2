//! The banners below the top bar: an opened dataset that changed on disk; one of an older
//! generation; and what can be done.

use egui::{Color32, Frame, Margin, Panel, Role, Sense, Stroke, Ui, WidgetInfo};

use super::action::Action;
use super::icons;
use super::panel_context::{PanelContext, Request};
use super::theme::{self, font};
use super::widgets::{self, Button, paint};
use crate::container::{Format, OpenOptions};
use crate::studio::{Command, DiskChange, Document, OutdatedReport};

/// Draws the banners that are due and were not closed.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    disk_ui(ui, cx);
    check_ui(ui, cx);
    generation_ui(ui, cx);
}

/// Says that the files of the opened dataset are not those that are shown, and offers to open them
/// again.
fn disk_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let Some(change) = cx
        .session
        .banners
        .disk_change()
        .filter(|change| cx.session.banners.closed_change.as_ref() != Some(change))
    else {
        return;
    };
    let Some(open) = cx.document().and_then(Document::opened_dataset) else {
        return;
    };
    let again = if open.options == OpenOptions::default() {
        Command::Open {
            path: open.reader.info().path.clone(),
        }
    } else {
        Command::OpenWith {
            path: open.reader.info().path.clone(),
            options: Box::new(open.options.clone()),
        }
    };
    let (text, is_there) = match &change {
        DiskChange::Changed(file) => (
            tr!(
                "{file} was changed by another program. What is shown is from before.",
                file = file.display()
            ),
            true,
        ),
        DiskChange::Gone(file) => (
            tr!(
                "{file} was deleted or moved. What is shown is from before.",
                file = file.display()
            ),
            false,
        ),
    };
    let t = theme::tokens(ui);
    let style = BannerStyle {
        id: "disk-banner",
        icon: icons::WARNING,
        icon_colour: t.warn,
        fill: t.warnbg,
        line: t.warnline,
    };
    style.draw(ui, |ui| {
        if ui
            .add(Button::icon_only(
                icons::X,
                tr!("Close the notice of the change"),
            ))
            .clicked()
        {
            cx.session.banners.closed_change = Some(change.clone());
        }
        if is_there && ui.add(Button::primary(tr!("Reload"))).clicked() {
            cx.run(again);
        }
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            message_ui(ui, &text, &text);
        });
    });
}

/// Says that the check failed, so that nothing of the report can be applied, and offers to check
/// again.
fn check_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let Some(OutdatedReport::Failed(error)) = cx.studio.find_report_delay() else {
        return;
    };
    let text = tr!(
        "The check failed: {error}. Problems are those of an earlier state.",
        error = error.sentence()
    );
    let t = theme::tokens(ui);
    let style = BannerStyle {
        id: "check-banner",
        icon: icons::WARNING_OCTAGON,
        icon_colour: t.err,
        fill: t.errbg,
        line: t.errline,
    };
    style.draw(ui, |ui| {
        let again = Button::primary(tr!("Check again")).name(tr!("Run the failed check again"));
        if ui.add(again).clicked() {
            cx.request(Request::Do(Action::Validate));
        }
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            message_ui(ui, &text, &text);
        });
    });
}

/// Says that a dataset is of an older generation, and what can be done.
fn generation_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let Some(document) = cx
        .document()
        .filter(|_| !cx.session.banners.is_generation_closed)
    else {
        return;
    };
    let Some(open) = document.opened_dataset() else {
        return;
    };
    let format = open.reader.info().format;
    let what = match format {
        Format::Tortilla | Format::Taco => {
            tr!(
                "First generation ({format} {generation})",
                format = format.badge(),
                generation = format.generation()
            )
        }
        Format::Taco3 => tr!("Third generation (TACO 3.0)").to_owned(),
        Format::Early => tr!("TACO 2.0 before its present layout").to_owned(),
        _ => return,
    };
    let samples = document.rows(0);
    let n = paint::format_grouped_number(samples as u64);
    let text = tr_n!(
        samples,
        ", {n} sample. The studio reads it and writes 2.0.",
        ", {n} samples. The studio reads it and writes 2.0.",
        n
    );
    let t = theme::tokens(ui);
    let style = BannerStyle {
        id: "banner",
        icon: icons::INFO,
        icon_colour: t.info,
        fill: t.infobg,
        line: t.infoline,
    };
    style.draw(ui, |ui| {
        if ui
            .add(Button::icon_only(icons::X, tr!("Close banner")))
            .clicked()
        {
            cx.session.banners.is_generation_closed = true;
        }
        if widgets::link(ui, tr!("What changes?")).clicked() {
            cx.request(Request::Document(
                super::documentation_page::Page::Commands,
                super::documentation_page::Page::Commands.line_of("migrate"),
            ));
        }
        if matches!(format, Format::Tortilla | Format::Taco)
            && ui
                .add(Button::secondary(tr!("Edit footer…")).icon(icons::PENCIL_SIMPLE))
                .clicked()
        {
            cx.request(Request::Do(Action::EditFooter));
        }
        if ui
            .add(Button::primary(tr!("Move to 2.0…")).icon(icons::ARROW_FAT_LINE_UP))
            .clicked()
        {
            cx.request(Request::Do(Action::Migrate));
        }
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.label(
                theme::rich_text(&what)
                    .font(font::semibold(13.0))
                    .color(t.tx),
            );
            message_ui(ui, &text, &format!("{what}{text}"));
        });
    });
}

/// Draws the text of a banner; `spoken` is what screen readers say.
fn message_ui(ui: &mut Ui, text: &str, spoken: &str) {
    let text = theme::rich_text(text)
        .font(font::regular(13.0))
        .color(theme::tokens(ui).tx);
    let label = egui::Label::new(text).truncate();
    let response = ui.add(label.sense(Sense::hover()));
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, spoken));
}

struct BannerStyle {
    id: &'static str,
    icon: &'static str,
    icon_colour: Color32,
    fill: Color32,
    /// Colour of the line at the bottom.
    line: Color32,
}

impl BannerStyle {
    /// Draws a banner with `contents` from its right edge.
    fn draw(&self, ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
        let frame = Frame::NONE.fill(self.fill).inner_margin(Margin {
            left: 12,
            right: 8,
            top: 6,
            bottom: 6,
        });
        let panel = Panel::top(self.id)
            .exact_size(40.0)
            .resizable(false)
            .show_separator_line(false)
            .frame(frame);
        panel.show(ui, |ui| {
            let rect = ui.max_rect().expand2(egui::vec2(12.0, 6.0));
            ui.painter().hline(
                rect.x_range(),
                rect.bottom() - 0.5,
                Stroke::new(1.0, self.line),
            );
            ui.horizontal_centered(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                ui.label(
                    theme::rich_text(self.icon)
                        .font(font::icon(15.0))
                        .color(self.icon_colour),
                );
                let layout = egui::Layout::right_to_left(egui::Align::Center);
                ui.with_layout(layout, contents);
            });
        });
    }
}
