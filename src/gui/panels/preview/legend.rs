//! The classes in the picture of a single band that has a colour table, or whose classes the
//! collection names.

use egui::{Color32, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::names::{LabelClasses, classes_of};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, paint};
use crate::raster::{Histogram, PreviewImage};
use crate::studio::Document;

/// Height of a line, in points.
const LINE: f32 = 18.0;
/// Most classes that are listed.
const MAX_LISTED: usize = 64;

/// A class in the picture.
#[derive(Debug, PartialEq)]
struct ClassRow {
    value: i64,
    name: String,
    /// RGBA; none without a colour table.
    colour: Option<[u8; 4]>,
    /// Part of the pixels with data; `None` for a value far from the others that fewer than one
    /// pixel in a thousand has.
    share: Option<f64>,
}

/// Draws the classes; nothing for other pictures.
pub fn ui(ui: &mut Ui, document: &Document, image: &PreviewImage) {
    let rows = rows_of(image, &classes_of(document));
    if rows.is_empty() {
        return;
    }
    let t = theme::tokens(ui);
    let count = paint::format_grouped_number(rows.len() as u64);
    widgets::section_header(ui, tr!("Classes"), |ui| {
        ui.label(theme::rich_text(count).font(font::mono(11.0)).color(t.tx3));
    });
    egui::Frame::NONE
        .inner_margin(egui::Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for row in rows.iter().take(MAX_LISTED) {
                row_ui(ui, row);
            }
            if rows.len() > MAX_LISTED {
                let n = paint::format_grouped_number((rows.len() - MAX_LISTED) as u64);
                ui.label(
                    theme::rich_text(tr!("and {n} more", n))
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
            }
        });
}

fn row_ui(ui: &mut Ui, row: &ClassRow) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    let share = row.share.map_or_else(
        || "< 0.1 %".to_owned(),
        |share| format!("{:.1} %", share * 100.0),
    );
    response.widget_info(|| {
        WidgetInfo::labeled(
            egui::Role::ListItem,
            true,
            format!("{} {}: {share}", row.value, row.name),
        )
    });
    let painter = ui.painter();
    let mut left = rect.left();
    if let Some([r, g, b, a]) = row.colour {
        let swatch =
            egui::Rect::from_center_size(pos2(left + 6.0, rect.center().y), vec2(12.0, 12.0));
        painter.rect(
            swatch,
            2,
            Color32::from_rgba_unmultiplied(r, g, b, a),
            Stroke::new(1.0, t.line2),
            StrokeKind::Inside,
        );
        left += 20.0;
    }
    let numbers = rect.with_min_x(left).with_max_x(left + 34.0);
    paint::text_left(
        painter,
        numbers,
        &row.value.to_string(),
        font::mono(11.0),
        t.tx2,
    );
    let names = rect
        .with_min_x(numbers.right() + 6.0)
        .with_max_x(rect.right() - 54.0);
    paint::text_left(painter, names, &row.name, font::regular(12.0), t.tx);
    paint::text_right(painter, rect, &share, font::mono(11.0), t.tx2);
}

/// The classes of the pixels shown, by value. Empty where several bands are shown, or a band of
/// measurements.
fn rows_of(image: &PreviewImage, classes: &LabelClasses) -> Vec<ClassRow> {
    let ([band], [histogram], [limits]) = (
        image.band_indices.as_slice(),
        image.histograms.as_slice(),
        image.limits.as_slice(),
    ) else {
        return Vec::new();
    };
    // A band shown by a colour table has no limits.
    let palette = image.info.band(*band).and_then(|band| band.palette.clone());
    let table = classes
        .colours
        .clone()
        .or(palette)
        .filter(|_| limits.is_none());
    let [low, high] = histogram.range;
    // One bin for each whole number, or the counts would be those of several classes.
    let is_counted =
        high - low < histogram.counts.len() as f64 && low.fract() == 0.0 && high.fract() == 0.0;
    if histogram.valid == 0 || !is_counted || (table.is_none() && classes.names.is_empty()) {
        return Vec::new();
    }
    let table = table.as_ref().map(|table| table.as_slice());
    (low as i64..=high as i64)
        .filter_map(|value| make_class_row(value, histogram, classes, table))
        .collect()
}

/// `None` for a class that has no pixels; `table` has the colours by value.
fn make_class_row(
    value: i64,
    histogram: &Histogram,
    classes: &LabelClasses,
    table: Option<&[[u8; 4]]>,
) -> Option<ClassRow> {
    let count = histogram.count_at(value as f64);
    let [low, high] = histogram.range;
    let [below, above] = histogram.outside;
    let is_far = value as f64 == low && below > 0 || value as f64 == high && above > 0;
    let name = classes
        .names
        .iter()
        .find(|(number, _)| *number == value)
        .map(|(_, name)| name.clone());
    let colour = table.map(|table| {
        usize::try_from(value)
            .ok()
            .and_then(|at| table.get(at))
            .copied()
    });
    (count > 0 || is_far).then(|| ClassRow {
        value,
        name: name.unwrap_or_default(),
        // As the picture draws a class outside of the table.
        colour: colour.map(|colour| colour.unwrap_or([128, 128, 128, 255])),
        share: (!is_far).then(|| count as f64 / histogram.valid as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobContext;
    use crate::model::AssetPath;
    use crate::raster::{NewRaster, PreviewRequest, RasterSource, Samples, preview, write_geotiff};

    #[test]
    fn classes_of_a_picture_have_name_colour_and_share() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("classes.tif");
        let image = |palette: Option<Vec<[u8; 4]>>| {
            let bands = vec![Samples::U8(vec![1, 1, 1, 2, 2, 2, 2, 7])];
            write_geotiff(
                &file,
                &NewRaster {
                    width: 4,
                    height: 2,
                    bands,
                    palette,
                    ..NewRaster::default()
                },
            )
            .expect("is written");
            let request = PreviewRequest::new(
                RasterSource::from_user_path(AssetPath::file(&file)),
                (64, 64),
            );
            preview(&request, &JobContext::default()).expect("is read")
        };
        let names = vec![(1, "water".to_owned()), (9, "snow".to_owned())];
        let named = rows_of(
            &image(None),
            &LabelClasses {
                names,
                colours: None,
            },
        );
        let found: Vec<(i64, &str, Option<f64>)> = named
            .iter()
            .map(|row| (row.value, row.name.as_str(), row.share))
            .collect();
        assert_eq!(
            found,
            [
                (1, "water", Some(0.375)),
                (2, "", Some(0.5)),
                (7, "", Some(0.125))
            ]
        );
        assert!(
            rows_of(&image(None), &LabelClasses::default()).is_empty(),
            "a band of measurements has no classes"
        );
        std::fs::remove_file(&file).expect("is there");
        let palette = vec![[0, 0, 0, 255], [10, 20, 30, 255], [40, 50, 60, 255]];
        let coloured = rows_of(&image(Some(palette)), &LabelClasses::default());
        let colours: Vec<Option<[u8; 4]>> = coloured.iter().map(|row| row.colour).collect();
        assert_eq!(
            colours[..2],
            [Some([10, 20, 30, 255]), Some([40, 50, 60, 255])]
        );
    }
}
