//! The settings dialog: appearance, processing, remote access, prices of publishing. Changes apply
//! at once and are stored.

use egui::{Frame, Margin, Ui, vec2};

use super::frame::{Next, head_ui};
use super::view::DialogView;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::settings::{Settings, ZOOM_FACTORS};
use crate::gui::theme::{self, Theme, font};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, draw_segments, paint};
use crate::jobs::AsyncValue;
use crate::ops::publish::{LIST_PRICES_DATE, Prices};
use crate::remote::{CacheState, cache_state, clear_cache};
use crate::text::Language;

/// Choices of the number of threads; 0 for one per processor.
const THREAD_COUNTS: [usize; 6] = [0, 1, 2, 4, 8, 16];
const REQUEST_COUNTS: [usize; 6] = [1, 4, 8, 16, 32, 64];
/// Choices of the time without an answer after which a request ends, in seconds.
const SERVER_TIMEOUTS_S: [f64; 5] = [5.0, 10.0, 20.0, 60.0, 300.0];
/// Choices of the size of the cache in MB; 0 for no cache.
const CACHE_SIZES_MB: [u64; 6] = [0, 512, 2048, 5120, 10_240, 51_200];
/// Width of the label of a row, in points.
const LABEL_WIDTH: f32 = 220.0;
/// Width of the choice or fields of a row, in points.
const FIELD_WIDTH: f32 = 190.0;

pub struct SettingsDialog {
    theme: Theme,
    settings: Settings,
    cache: AsyncValue<u32, CacheState>,
    /// How often emptying the cache was requested: the key of its measured state.
    times_emptied: u32,
    /// The prices as they are typed, in the order of [`PRICE_ROWS`].
    typed_prices: [String; 6],
}

/// Fields of prices, two in a row: label of the row, accessible names of its fields.
const PRICE_ROWS: [(&str, [&str; 2]); 3] = [
    (
        mark!("1 GB: a month of storage, egress"),
        [mark!("Storage of 1 GB, a month"), mark!("Egress of 1 GB")],
    ),
    (
        mark!("1,000 requests: reads, writes"),
        [
            mark!("1,000 requests that read"),
            mark!("1,000 requests that write"),
        ],
    ),
    (
        mark!("A month: full reads, limit in $"),
        [
            mark!("Full reads in a month"),
            mark!("Limit of the monthly cost"),
        ],
    ),
];

impl SettingsDialog {
    /// The dialog with the present settings.
    pub fn new(theme: Theme, settings: Settings) -> Self {
        let Prices {
            storage_gb_month,
            egress_gb,
            read_1000,
            write_1000,
            full_reads_month,
            limit_month,
        } = settings.publish_prices;
        let values = [
            storage_gb_month,
            egress_gb,
            read_1000,
            write_1000,
            full_reads_month,
            limit_month,
        ];
        let typed_prices =
            values.map(|price| price.map_or(String::new(), |price| price.to_string()));
        Self {
            theme,
            settings,
            cache: AsyncValue::default(),
            times_emptied: 0,
            typed_prices,
        }
    }

    fn appearance_ui(&mut self, ui: &mut Ui) {
        group_ui(ui, tr!("Appearance"));
        row_ui(ui, tr!("Theme"), |ui| {
            let themes = [
                Segment::new(Theme::System, tr!("System")),
                Segment::new(Theme::Dark, tr!("Dark")),
                Segment::new(Theme::Light, tr!("Light")),
            ];
            draw_segments(ui, "settings-theme", &mut self.theme, &themes);
        });
        let mut language = self.settings.language;
        let languages: Vec<Option<Language>> = std::iter::once(None)
            .chain(Language::ALL.map(Some))
            .collect();
        choice_ui(
            ui,
            tr!("Language"),
            &mut language,
            &languages,
            describe_language_choice,
        );
        self.settings.language = language;
        let percent = |scale: f32| format!("{} %", (scale * 100.0).round());
        choice_ui(
            ui,
            tr!("Size of everything"),
            &mut self.settings.scale,
            &ZOOM_FACTORS,
            percent,
        );
        widgets::checkbox(
            ui,
            &mut self.settings.reduced_motion,
            tr!("Less motion: nothing slides, fades or spins"),
        );
    }

    fn processing_ui(&mut self, ui: &mut Ui) {
        group_ui(ui, tr!("Processing"));
        choice_ui(
            ui,
            tr!("Threads (after a restart)"),
            &mut self.settings.threads,
            &THREAD_COUNTS,
            describe_thread_count,
        );
    }

    fn remote_ui(&mut self, ui: &mut Ui) {
        group_ui(ui, tr!("Remote access"));
        let remote = &mut self.settings.remote;
        choice_ui(
            ui,
            tr!("Concurrent requests"),
            &mut remote.connections,
            &REQUEST_COUNTS,
            |number| number.to_string(),
        );
        choice_ui(
            ui,
            tr!("Stop waiting for a server after"),
            &mut remote.idle_timeout_s,
            &SERVER_TIMEOUTS_S,
            |seconds| format!("{seconds} s"),
        );
        choice_ui(
            ui,
            tr!("Maximum size of the cache"),
            &mut remote.cache_mb,
            &CACHE_SIZES_MB,
            describe_cache_size,
        );
        self.cache_ui(ui);
        let variables =
            tr!("TACO_STUDIO_HTTP_TIMEOUT and TACO_STUDIO_CACHE_MB override these settings.");
        ui.label(theme::style_small_text(variables, theme::tokens(ui).tx3));
    }

    /// Draws the state of the cache, once it is measured, and the button that empties it.
    fn cache_ui(&mut self, ui: &mut Ui) {
        let Some(cache) = self.cache.latest() else {
            return;
        };
        let Some(folder) = &cache.folder else { return };
        let (size, n) = (
            paint::format_bytes(cache.bytes),
            paint::format_grouped_number(cache.files),
        );
        row_ui(
            ui,
            &tr_n!(
                cache.files,
                "Cached: {n} file, {size}",
                "Cached: {n} files, {size}",
                size,
                n
            ),
            |ui| {
                let disabled_reason = (cache.files == 0).then_some(tr!("The cache is empty"));
                if ui
                    .add(
                        Button::secondary(tr!("Empty the cache"))
                            .with_disabled_reason(disabled_reason),
                    )
                    .clicked()
                {
                    self.times_emptied += 1;
                }
            },
        );
        ui.label(
            theme::rich_text(folder.display().to_string())
                .font(font::mono(12.0))
                .color(theme::tokens(ui).tx3),
        );
    }

    fn prices_ui(&mut self, ui: &mut Ui) {
        let t = theme::tokens(ui);
        group_ui(ui, tr!("Prices for the estimate of costs, in $"));
        let list_price = tr!("list price" in "a price");
        // What applies while a field is empty.
        let defaults = [
            [list_price, list_price],
            [list_price, list_price],
            ["1", tr!("none" in "a limit")],
        ];
        for (((label, names), fields), defaults) in PRICE_ROWS
            .iter()
            .zip(self.typed_prices.chunks_mut(2))
            .zip(defaults)
        {
            row_ui(ui, crate::text::translate_text(label), |ui| {
                for ((name, field), default) in names.iter().zip(fields).zip(defaults) {
                    let is_invalid =
                        !field.trim().is_empty() && Prices::parse_price(field).is_none();
                    let field = TextField::new(crate::text::translate_text(name), field)
                        .hide_label()
                        .mono()
                        .hint(default);
                    let note = if is_invalid {
                        FieldNote::Error(tr!("Type a number that is not negative").into())
                    } else {
                        FieldNote::None
                    };
                    field.width((FIELD_WIDTH - 8.0) / 2.0).note(note).show(ui);
                }
            });
        }
        let stored = &self.settings.publish_prices;
        self.settings.publish_prices = Prices {
            storage_gb_month: self.parse_typed_price(0, stored.storage_gb_month),
            egress_gb: self.parse_typed_price(1, stored.egress_gb),
            read_1000: self.parse_typed_price(2, stored.read_1000),
            write_1000: self.parse_typed_price(3, stored.write_1000),
            full_reads_month: self.parse_typed_price(4, stored.full_reads_month),
            limit_month: self.parse_typed_price(5, stored.limit_month),
        };
        let text = tr!(
            "Empty: the list prices of the stores of about {date}, which are approximate. The \
                command line reads these settings, too.",
            date = LIST_PRICES_DATE
        );
        ui.add(egui::Label::new(theme::style_small_text(text, t.tx3)).wrap());
    }

    /// The price in a field: `None` when the field is empty, `stored` while its text is not a
    /// price.
    fn parse_typed_price(&self, index: usize, stored: Option<f64>) -> Option<f64> {
        let text = self
            .typed_prices
            .get(index)
            .filter(|text| !text.trim().is_empty())?;
        Prices::parse_price(text).or(stored)
    }
}

fn describe_language_choice(language: Option<Language>) -> String {
    match language {
        None => tr!(
            "As the system: {language}",
            language = Language::usual().name()
        ),
        Some(language) => language.name().to_owned(),
    }
}

fn describe_thread_count(threads: usize) -> String {
    if threads == 0 {
        tr!("All processors").to_owned()
    } else {
        threads.to_string()
    }
}

fn describe_cache_size(mb: u64) -> String {
    match mb {
        0 => tr!("No cache").to_owned(),
        mb if mb % 1024 == 0 => format!("{} GB", mb / 1024),
        mb => format!("{mb} MB"),
    }
}

impl DialogView for SettingsDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let times_emptied = self.times_emptied;
        self.cache.update(
            cx.jobs,
            times_emptied,
            tr!("Measure the cache"),
            move |_| {
                Ok(if times_emptied > 0 {
                    clear_cache()
                } else {
                    cache_state()
                })
            },
        );
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(ui, icons::GEAR_SIX, tr!("Settings"), "") {
            return Next::Close;
        }
        let before = (self.theme, self.settings.clone());
        let height = ui.ctx().content_rect().height() - 120.0;
        egui::ScrollArea::vertical()
            .id_salt("settings")
            .max_height(height)
            .show(ui, |ui| {
                Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
                    self.appearance_ui(ui);
                    ui.add_space(6.0);
                    self.processing_ui(ui);
                    ui.add_space(6.0);
                    self.remote_ui(ui);
                    ui.add_space(6.0);
                    self.prices_ui(ui);
                });
            });
        if before == (self.theme, self.settings.clone()) {
            Next::Stay
        } else {
            Next::Settings(self.theme, self.settings.clone())
        }
    }
}

fn group_ui(ui: &mut Ui, title: &str) {
    ui.label(
        theme::rich_text(title)
            .font(font::semibold(12.0))
            .color(theme::tokens(ui).tx2),
    );
}

fn row_ui(ui: &mut Ui, label: &str, add_contents: impl FnOnce(&mut Ui)) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(LABEL_WIDTH, 26.0), egui::Sense::hover());
        paint::text_left(
            ui.painter(),
            rect,
            label,
            font::regular(13.0),
            theme::tokens(ui).tx,
        );
        add_contents(ui);
    });
}

/// Draws a choice among `values`. A value that is not one of them is shown until one is chosen.
fn choice_ui<T: PartialEq + Copy>(
    ui: &mut Ui,
    label: &str,
    value: &mut T,
    values: &[T],
    describe: impl Fn(T) -> String,
) {
    row_ui(ui, label, |ui| {
        let options: Vec<String> = values.iter().map(|&value| describe(value)).collect();
        if let Some(picked) =
            widgets::combo(ui, label, &describe(*value), FIELD_WIDTH, false, &options)
        {
            *value = values[picked];
        }
    });
}
