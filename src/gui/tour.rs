//! The tour: a card in the corner that leads through the sample dataset. Each step performs an
//! ordinary action; doing that action by hand completes the step as well.

use egui::{Align, Align2, Area, Context, Frame, Id, Layout, Margin, Order, Ui};

use super::action::Action;
use super::icons;
use super::pane::Pane;
use super::panel_context::{PanelContext, Request};
use super::theme::{self, font, text_style};
use super::widgets::Button;
use crate::model::SampleKind;
use crate::studio::RowRef;

struct TourStep {
    title: &'static str,
    text: &'static str,
    button: &'static str,
    act: fn(&PanelContext<'_>) -> Vec<Request>,
    /// True when the step is complete.
    done: fn(&PanelContext<'_>) -> bool,
}

const STEPS: [TourStep; 8] = [
    TourStep {
        title: mark!("Open a dataset"),
        text: mark!(
            "The sample dataset is made on this machine: scenes before and after a change, with \
                labels. Your own open the same way, \
             by a drop, a path or an address."
        ),
        button: mark!("Open the sample dataset now"),
        act: |_| vec![Request::SampleDataset],
        done: |cx| cx.document().is_some(),
    },
    TourStep {
        title: mark!("Walk the hierarchy"),
        text: mark!(
            "A FOLDER is a sample that holds samples. Every scene has the same children in the \
                same order: that is what makes \
             a TACO dataset readable by position."
        ),
        button: mark!("Select a file"),
        act: |cx| {
            first_file(cx)
                .into_iter()
                .flat_map(|row| [Request::Select(Some(row)), Request::Show(Pane::Preview)])
                .collect()
        },
        done: |cx| {
            cx.session
                .selection
                .sample
                .and_then(|row| cx.document()?.kind(row))
                == Some(SampleKind::File)
        },
    },
    TourStep {
        title: mark!("See it on the map"),
        text: mark!(
            "Places come from the columns of the extension STAC. Draw a box, and table, gallery \
                and query show what is in it."
        ),
        button: mark!("Show the map"),
        act: |_| vec![Request::Show(Pane::Map)],
        done: |_| false,
    },
    TourStep {
        title: mark!("Ask a question"),
        text: mark!(
            "Every level is a table: level0, level1, and so on. The samples that a query returns \
                can be exported as a new dataset."
        ),
        button: mark!("Show the query"),
        act: |_| vec![Request::Show(Pane::Query)],
        done: |_| false,
    },
    TourStep {
        title: mark!("Check it"),
        text: mark!(
            "Checks every rule and lists each problem with its place and its fixes. Drafts are \
                checked after every edit."
        ),
        button: mark!("Check the dataset"),
        act: |_| vec![Request::Do(Action::Validate), Request::Show(Pane::Problems)],
        done: |_| false,
    },
    TourStep {
        title: mark!("Make it yours"),
        text: mark!(
            "A draft refers to the files where they are. Every edit can be undone, and nothing is \
                written until you choose Write."
        ),
        button: mark!("Edit as a draft"),
        act: |_| vec![Request::Do(Action::EditCopy)],
        done: |cx| {
            cx.document()
                .is_some_and(|document| document.draft().is_some())
        },
    },
    TourStep {
        title: mark!("Look at its structure"),
        text: mark!(
            "The pattern, and every root beside it: what is missing, misnamed or of the wrong \
                type, with fixes to choose from."
        ),
        button: mark!("Show the structure"),
        act: |_| vec![Request::Show(Pane::Structure)],
        done: |_| false,
    },
    TourStep {
        title: mark!("Write it"),
        text: mark!(
            "As one ZIP, in parts with an index, or as a FOLDER. The dataset gets its name when it \
                is complete."
        ),
        button: mark!("Choose where to write"),
        act: |_| vec![Request::Do(Action::Write)],
        done: |_| false,
    },
];

#[derive(Default)]
pub struct Tour {
    step: usize,
    acted: bool,
}

impl Tour {
    /// Draws the card, `bottom` points above the window's lower edge. False when the tour has
    /// ended.
    pub fn show(&mut self, ctx: &Context, cx: &mut PanelContext<'_>, bottom: f32) -> bool {
        let area = Area::new(Id::unique("tour")).order(Order::Foreground);
        area.anchor(Align2::RIGHT_BOTTOM, [-16.0, -16.0 - bottom])
            .show(ctx, |ui| self.card_ui(ui, cx))
            .inner
    }

    fn card_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> bool {
        let Some(step) = STEPS.get(self.step) else {
            return false;
        };
        let t = theme::tokens(ui);
        let done = self.acted || (step.done)(cx);
        let mut stay = true;
        Frame::popup(ui.style())
            .inner_margin(Margin::same(14))
            .show(ui, |ui| {
                ui.set_width(340.0);
                ui.horizontal(|ui| {
                    let (icon, color) = if done {
                        (icons::CHECK_CIRCLE, t.ok)
                    } else {
                        (icons::PATH, t.acc)
                    };
                    ui.label(theme::rich_text(icon).font(font::icon(16.0)).color(color));
                    ui.label(
                        theme::rich_text(crate::text::translate_text(step.title))
                            .font(font::semibold(13.0))
                            .color(t.tx),
                    );
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        stay = !ui
                            .add(Button::icon_only(icons::X, tr!("End the tour")))
                            .clicked();
                        let place = tr!("{n} of {total}", n = self.step + 1, total = STEPS.len());
                        ui.label(theme::rich_text(place).font(font::mono(12.0)).color(t.tx2));
                    });
                });
                ui.label(
                    theme::rich_text(crate::text::translate_text(step.text))
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
                ui.add_space(4.0);
                ui.horizontal(|ui| {
                    let button = crate::text::translate_text(step.button);
                    let act = if done {
                        Button::secondary(button)
                    } else {
                        Button::primary(button)
                    };
                    if ui.add(act).clicked() {
                        cx.requests.extend((step.act)(cx));
                        self.acted = true;
                    }
                    let last = self.step + 1 == STEPS.len();
                    let word = if last {
                        tr!("Finish")
                    } else {
                        tr!("Next step")
                    };
                    let next = if done {
                        Button::primary(word)
                    } else {
                        Button::ghost(word)
                    };
                    // Later steps need a dataset.
                    let nothing = cx
                        .document()
                        .is_none()
                        .then_some(tr!("Nothing is open yet"));
                    if ui.add(next.with_disabled_reason(nothing)).clicked() {
                        (self.step, self.acted) = (self.step + 1, false);
                        stay = !last;
                    }
                });
            });
        stay
    }
}

/// The first FILE of the deepest level, which has pixels.
fn first_file(cx: &PanelContext<'_>) -> Option<RowRef> {
    let document = cx.document()?;
    let mut rows = (0..document.tree().levels.len()).rev().flat_map(|level| {
        (0..document.rows(level)).map(move |row| RowRef {
            level,
            row: row as u32,
        })
    });
    rows.find(|&row| document.kind(row) == Some(SampleKind::File))
}
