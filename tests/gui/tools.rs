//! The tools: every function of the command line that changes or makes datasets, through the window
//! and up to the file written.

use std::path::{Path, PathBuf};

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::container::{self, Format, Physical};
use taco_studio::gui::action::Action;
use taco_studio::jobs::JobContext;
use taco_studio::studio::Command;

use crate::support::geotiff;

use super::support::{
    Window, app, choose, click, dataset, document, fill, picture, sample, settle, take,
};

/// The window with a copy of the sample dataset, in a folder of its own.
fn with_sample() -> (Window, tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = folder.path().join("sample.tacozip");
    std::fs::copy(sample(), &input).expect("a copy");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![input.clone()]);
    (harness, folder, input)
}

fn golden(path: &str) -> PathBuf {
    crate::support::project_folder()
        .join("tests/fixtures/golden")
        .join(path)
}

/// The first file with this ending in a golden folder.
fn golden_file(folder: &str, ending: &str) -> PathBuf {
    let mut files: Vec<PathBuf> = std::fs::read_dir(golden(folder))
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    files.sort();
    files
        .into_iter()
        .find(|path| path.to_string_lossy().ends_with(ending))
        .expect("a file with the ending")
}

fn act(harness: &mut Window, action: Action) {
    harness.state_mut().act(action);
    settle(harness);
}

fn rows(path: &Path) -> usize {
    container::open(path, &JobContext::default())
        .expect("opens")
        .levels()
        .rows(0)
}

fn columns(path: &Path) -> Vec<String> {
    let reader = container::open(path, &JobContext::default()).expect("opens");
    let Physical::Tortilla(tortilla) = reader.physical() else {
        panic!("no TORTILLA")
    };
    tortilla.roots()[0]
        .table
        .fields()
        .into_iter()
        .map(|field| field.name)
        .collect()
}

/// Runs the tool that is open, and checks that it reports success.
fn run(harness: &mut Window, verb: &str) {
    click(harness, verb);
    let said: Vec<String> = harness
        .query_all_by_role(Role::Label)
        .filter_map(|node| node.accesskit_node().value())
        .collect();
    assert!(
        harness.query_by_label("Close the report").is_some(),
        "{verb} ends with a report: {:?} {said:?}",
        texts(harness)
    );
}

fn texts(harness: &Window) -> Vec<String> {
    harness
        .query_all_by_role(Role::ListItem)
        .filter_map(|node| node.accesskit_node().label())
        .collect()
}

#[test]
fn a_zip_becomes_a_folder_and_a_zip_again() {
    let (mut harness, folder, _) = with_sample();
    let (unpacked, packed) = (
        folder.path().join("unpacked"),
        folder.path().join("again.tacozip"),
    );
    act(&mut harness, Action::Convert);
    fill(&mut harness, "Output", &unpacked.display().to_string());
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.starts_with("Reads: ZIP")),
        "the preview says what is read: {:?}",
        texts(&harness)
    );
    picture(&mut harness, "tool-convert");
    run(&mut harness, "Convert");
    assert!(unpacked.join("COLLECTION.json").is_file());
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).format(), Some(Format::Folder));
    act(&mut harness, Action::Convert);
    fill(&mut harness, "Output", &packed.display().to_string());
    run(&mut harness, "Convert");
    assert_eq!(rows(&packed), 24);
    // What exists is not replaced unless that is asked for.
    click(&mut harness, "Close the report");
    act(&mut harness, Action::Convert);
    fill(&mut harness, "Output", &packed.display().to_string());
    assert!(
        harness
            .get_by_label("Convert")
            .accesskit_node()
            .is_disabled(),
        "the destination exists"
    );
    click(&mut harness, "Replace an existing output");
    run(&mut harness, "Convert");
}

#[test]
fn a_dataset_is_split_into_parts_with_an_index() {
    let (mut harness, folder, _) = with_sample();
    let target = folder.path().join("parts.tacozip");
    act(&mut harness, Action::Convert);
    choose(&mut harness, "Write as", "ZIP");
    fill(&mut harness, "Output", &target.display().to_string());
    fill(
        &mut harness,
        "A part for each value of",
        "nothing_like_this",
    );
    assert!(
        harness
            .get_by_label("Convert")
            .accesskit_node()
            .is_disabled(),
        "there is no such column"
    );
    fill(&mut harness, "A part for each value of", "river");
    click(&mut harness, ".tacocat");
    run(&mut harness, "Convert");
    assert!(folder.path().join(".tacocat").is_dir());
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).rows(0), 24);
}

#[test]
fn a_faulty_dataset_is_repaired_into_a_copy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = app(egui::Theme::Dark);
    let faulty = golden_file("23_v018_nested2_pad_zip", ".tacozip");
    take(&mut harness, vec![faulty]);
    let before = harness.state().studio().report().findings.len();
    let target = folder.path().join("whole.tacozip");
    act(&mut harness, Action::Repair);
    fill(&mut harness, "Copy", &target.display().to_string());
    run(&mut harness, "Repair");
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.contains("repaired, ")),
        "{:?}",
        texts(&harness)
    );
    click(&mut harness, "Open dataset");
    assert!(harness.state().studio().report().findings.len() <= before);
    assert!(target.is_file());
}

#[test]
fn histograms_are_counted_and_give_percentiles() {
    let (mut harness, folder, _) = with_sample();
    let target = folder.path().join("counts.tortilla");
    act(&mut harness, Action::Histograms);
    fill(
        &mut harness,
        "Histogram file",
        &target.display().to_string(),
    );
    run(&mut harness, "Count");
    click(&mut harness, "Open dataset");
    assert!(columns(&target).contains(&"tortilla:id".to_owned()));
    act(&mut harness, Action::Percentiles);
    fill(&mut harness, "Percentages", "5, 50, 101");
    assert!(
        harness
            .get_by_label("Compute")
            .accesskit_node()
            .is_disabled(),
        "101 is not a percentage"
    );
    fill(&mut harness, "Percentages", "5, 50");
    run(&mut harness, "Compute");
    let shown = texts(&harness);
    assert!(
        shown
            .iter()
            .any(|line| line.contains("p5 ") && line.contains("p50 ")),
        "{shown:?}"
    );
    let request = taco_studio::ops::PercentileRequest {
        input: target,
        percents: vec![5.0, 50.0],
        rows: taco_studio::ops::RowChoice::default(),
        each: false,
        histogram: true,
    };
    let found =
        taco_studio::ops::Operation::run(&request, &JobContext::default()).expect("percentiles");
    let first = &found.positions[0].bands[0].values;
    // Values are shown with six significant digits.
    let values_of = |line: &String| -> Option<[f64; 2]> {
        let value = |name: &str| {
            line.split_once(name)?
                .1
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        };
        Some([value("p5 ")?, value("p50 ")?])
    };
    let near = |[p5, p50]: [f64; 2]| {
        [(p5, first[0]), (p50, first[1])]
            .iter()
            .all(|(shown, exact)| (shown - exact).abs() <= 1e-5 * exact.abs())
    };
    assert!(
        shown.iter().filter_map(values_of).any(near),
        "{first:?} is not among {shown:?}"
    );
    // The summed histogram of each band is drawn beside, with what the command line prints.
    let histogram = found.positions[0].bands[0]
        .histogram
        .as_ref()
        .expect("a histogram");
    let total: u64 = histogram.counts.iter().sum();
    assert_eq!(
        (total, histogram.counts.len()),
        (found.positions[0].bands[0].count, 100)
    );
    let images = harness
        .query_all_by_role(Role::Image)
        .filter_map(|node| node.accesskit_node().label());
    let drawn: Vec<String> = images
        .filter(|label| label.starts_with("Histogram of "))
        .collect();
    let bands: usize = found
        .positions
        .iter()
        .map(|position| position.bands.len())
        .sum();
    assert!(!drawn.is_empty() && drawn.len() <= bands, "{drawn:?}");
}

#[test]
fn rasters_of_a_folder_and_of_a_dataset_are_optimised() {
    let (mut harness, folder, _) = with_sample();
    let scenes = sample().parent().expect("a folder").join("scenes");
    let (rasters, whole) = (
        folder.path().join("togs"),
        folder.path().join("togs.tacozip"),
    );
    act(&mut harness, Action::Optimise);
    fill(&mut harness, "Rasters", &scenes.display().to_string());
    fill(&mut harness, "Output", &rasters.display().to_string());
    run(&mut harness, "Optimise");
    assert!(rasters.is_dir());
    click(&mut harness, "Close the report");
    act(&mut harness, Action::Optimise);
    fill(&mut harness, "Output", &whole.display().to_string());
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.starts_with("Of the first")),
        "{:?}",
        texts(&harness)
    );
    run(&mut harness, "Optimise");
    assert_eq!(rows(&whole), 24);
}

#[test]
fn an_older_generation_is_written_edited_in_place_and_turned_into_the_other() {
    let (mut harness, folder, _) = with_sample();
    let target = folder.path().join("old.tortilla");
    act(&mut harness, Action::WriteOlder);
    fill(&mut harness, "Output", &target.display().to_string());
    fill(&mut harness, "Only these samples", "po_0001, po_0002");
    run(&mut harness, "Write file");
    assert_eq!(rows(&target), 2);
    click(&mut harness, "Open dataset");
    assert!(
        harness
            .query_all_by_label_contains("First generation (TORTILLA 0.5), 2 samples")
            .next()
            .is_some(),
        "the banner says what it is"
    );
    click(&mut harness, "Edit footer…");
    assert!(
        harness
            .get_by_label("Apply changes")
            .accesskit_node()
            .is_disabled(),
        "nothing is changed"
    );
    let before = columns(&target);
    let name = before
        .iter()
        .find(|name| !name.starts_with("tortilla:"))
        .expect("a column of data")
        .clone();
    click(&mut harness, &format!("Keep {name}"));
    run(&mut harness, "Apply changes");
    assert!(
        !columns(&target).contains(&name),
        "the file itself was changed"
    );
    let opened = document(&harness).fields(0);
    assert!(
        !opened.iter().any(|field| field.name == name),
        "what is open was read again"
    );
    click(&mut harness, "Close the report");
    // A collection makes it a TACO; without it, it is a TORTILLA again.
    let collection = folder.path().join("collection.json");
    std::fs::write(
        &collection,
        crate::support::core_fields_of_taco_0_2("Rivers"),
    )
    .expect("written");
    act(&mut harness, Action::EditFooter);
    click(&mut harness, "Add a collection: the file becomes a TACO");
    fill(
        &mut harness,
        "Collection",
        &collection.display().to_string(),
    );
    run(&mut harness, "Apply changes");
    click(&mut harness, "Close the report");
    assert_eq!(document(&harness).format(), Some(Format::Taco));
    act(&mut harness, Action::EditFooter);
    fill(&mut harness, "Value of title", "Two rivers of the Alps");
    run(&mut harness, "Apply changes");
    click(&mut harness, "Close the report");
    assert_eq!(
        document(&harness).collection().fields["title"],
        "Two rivers of the Alps"
    );
    act(&mut harness, Action::EditFooter);
    click(
        &mut harness,
        "Remove the collection: the file becomes a TORTILLA",
    );
    run(&mut harness, "Apply changes");
    click(&mut harness, "Close the report");
    assert_eq!(document(&harness).format(), Some(Format::Tortilla));
    assert_eq!(rows(&target), 2);
}

#[test]
fn metadata_of_a_folder_change_in_place_and_its_data_stay() {
    let (mut harness, folder, input) = with_sample();
    let target = folder.path().join("unpacked");
    act(&mut harness, Action::Convert);
    fill(&mut harness, "Output", &target.display().to_string());
    run(&mut harness, "Convert");
    click(&mut harness, "Open dataset");
    assert!(input.is_file());
    let data = target.join("DATA");
    let dates = |folder: &Path| -> Vec<(PathBuf, std::time::SystemTime)> {
        let mut files: Vec<PathBuf> = walk(folder);
        files.retain(|path| path.extension().is_some_and(|ending| ending == "tif"));
        files
            .into_iter()
            .map(|path| {
                (
                    path.clone(),
                    path.metadata()
                        .expect("metadata")
                        .modified()
                        .expect("a time"),
                )
            })
            .collect()
    };
    let before = dates(&data);
    assert!(!before.is_empty());
    act(&mut harness, Action::EditFooter);
    click(&mut harness, "Keep cloud_cover");
    fill(&mut harness, "Value of title", "Rivers, edited");
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.contains("data files are not touched")),
        "{:?}",
        texts(&harness)
    );
    picture(&mut harness, "tool-edit-folder");
    run(&mut harness, "Apply changes");
    click(&mut harness, "Close the report");
    assert_eq!(
        document(&harness).collection().fields["title"],
        "Rivers, edited",
        "what is open was read again"
    );
    assert!(
        !document(&harness)
            .fields(0)
            .iter()
            .any(|field| field.name == "cloud_cover")
    );
    assert_eq!(dates(&data), before, "no data file was written");
}

/// All files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_draft_is_written_as_an_older_generation() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("draft.tortilla");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    act(&mut harness, Action::EditCopy);
    act(&mut harness, Action::WriteOlder);
    fill(&mut harness, "Output", &target.display().to_string());
    run(&mut harness, "Write file");
    assert_eq!(rows(&target), 24);
}

#[test]
fn a_dataset_is_prepared_for_taco_3_and_written_by_its_library() {
    let (mut harness, folder, _) = with_sample();
    act(&mut harness, Action::PrepareTaco3);
    let prepared = folder.path().join("prepared");
    fill(&mut harness, "Folder", &prepared.display().to_string());
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.contains("stac:proj_transform")),
        "{:?}",
        texts(&harness)
    );
    picture(&mut harness, "tool-taco3");
    run(&mut harness, "Prepare");
    assert!(
        prepared.join("rebuild.py").is_file() && prepared.join("tables/sample.parquet").is_file()
    );
    click(&mut harness, "Close the report");
    // With the library: the preview names the program that the button starts.
    act(&mut harness, Action::PrepareTaco3);
    let (again, written) = (
        folder.path().join("again"),
        folder.path().join("written.zip"),
    );
    fill(&mut harness, "Folder", &again.display().to_string());
    click(
        &mut harness,
        "Run the library at once: pip install 'taco-eo[writer]'",
    );
    fill(
        &mut harness,
        "Dataset of TACO 3",
        &written.display().to_string(),
    );
    fill(
        &mut harness,
        "Python with the library",
        &crate::support::taco3_python().display().to_string(),
    );
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.starts_with("Starts: ") && line.contains("rebuild.py")),
        "{:?}",
        texts(&harness)
    );
    run(&mut harness, "Prepare");
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).format(), Some(Format::Taco3));
}

#[test]
fn zips_that_exist_get_an_index() {
    let (mut harness, folder, input) = with_sample();
    let second = folder.path().join("second.tacozip");
    std::fs::copy(&input, &second).expect("a copy");
    act(&mut harness, Action::IndexZips);
    fill(
        &mut harness,
        "ZIPs",
        &format!("{}\n{}", input.display(), second.display()),
    );
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.starts_with("2 ZIPs with 48")),
        "{:?}",
        texts(&harness)
    );
    run(&mut harness, "Write index");
    assert!(
        folder.path().join(".tacocat").is_dir(),
        "it is beside the ZIPs"
    );
    click(&mut harness, "Open dataset");
    assert_eq!(document(&harness).rows(0), 48);
}

#[test]
fn datasets_that_are_dropped_together_open_as_one_and_say_what_they_lose() {
    let (mut harness, folder, input) = with_sample();
    let second = folder.path().join("second.tacozip");
    std::fs::copy(&input, &second).expect("a copy");
    act(&mut harness, Action::Close);
    let other = golden_file("01_flat_zip", ".tacozip");
    take(&mut harness, vec![input.clone(), second.clone()]);
    assert!(
        texts(&harness)
            .iter()
            .any(|line| line.contains("have the same columns")),
        "{:?}",
        texts(&harness)
    );
    click(&mut harness, "Open as one");
    assert_eq!(document(&harness).rows(0), 48);
    // One more is added to what is open; its columns differ, and the mode says what becomes of
    // them.
    act(&mut harness, Action::OpenSeveral);
    fill(
        &mut harness,
        "Datasets",
        &format!("{}\n{}", input.display(), other.display()),
    );
    let lost = texts(&harness);
    assert!(
        lost.iter().any(|line| line.contains("differ"))
            || harness.query_by_label("Open as one").is_some(),
        "{lost:?}"
    );
    // Without a draft a second dataset does not become a sample of a new one.
    assert!(harness.query_by_label("Add as files").is_none());
}

#[test]
fn placeholders_fill_a_draft_up_to_a_multiple() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    act(&mut harness, Action::EditCopy);
    act(&mut harness, Action::PadTo);
    fill(&mut harness, "Multiple of", "24");
    assert!(
        harness.get_by_label("Pad").accesskit_node().is_disabled(),
        "24 is a multiple of 24"
    );
    fill(&mut harness, "Multiple of", "10");
    click(&mut harness, "Pad");
    assert_eq!(dataset(&harness).root.samples.len(), 30);
    act(&mut harness, Action::Undo);
    assert_eq!(dataset(&harness).root.samples.len(), 24);
    // The FOLDERs of level 0, or one of them.
    let children = |harness: &Window| -> Vec<usize> {
        dataset(harness)
            .root
            .samples
            .iter()
            .filter_map(|sample| Some(sample.children()?.samples.len()))
            .collect()
    };
    let before = children(&harness);
    act(&mut harness, Action::PadTo);
    fill(&mut harness, "Multiple of", "8");
    fill(&mut harness, "Only this FOLDER", "po_0002");
    assert!(
        texts(&harness).iter().any(|line| line.contains("1 FOLDER")),
        "{:?}",
        texts(&harness)
    );
    click(&mut harness, "Pad");
    let after = children(&harness);
    assert_eq!(
        before
            .iter()
            .zip(&after)
            .filter(|(before, after)| before != after)
            .count(),
        1
    );
    assert!(after.contains(&8), "{after:?}");
    act(&mut harness, Action::PadTo);
    fill(&mut harness, "Multiple of", "8");
    click(&mut harness, "L1");
    // The key of the button that runs a tool.
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    settle(&mut harness);
    assert!(
        children(&harness).iter().all(|count| *count == 8),
        "{:?}",
        children(&harness)
    );
}

#[test]
fn sidecars_are_offered_where_they_are_found_and_packed_burned_in_or_left() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for scene in ["a", "b", "c"] {
        let image = folder.path().join(format!("scenes/{scene}/image.tif"));
        geotiff(&image, 1, 32, 3);
        if scene != "c" {
            std::fs::write(
                image.with_file_name("image.tif.aux.xml"),
                "<PAMDataset></PAMDataset>",
            )
            .expect("writes");
        }
    }
    const OFFER: &str = "Pack, burn in or leave…";
    let mut harness = app(egui::Theme::Light);
    harness.set_size(egui::vec2(1024.0, 640.0));
    take(&mut harness, vec![folder.path().join("scenes")]);
    let collection = folder.path().join("collection.json");
    std::fs::write(&collection, crate::support::COLLECTION).expect("writes");
    harness
        .state_mut()
        .command(Command::ImportCollection { path: collection });
    settle(&mut harness);
    let children = |harness: &Window| -> Vec<usize> {
        dataset(harness)
            .root
            .samples
            .iter()
            .filter_map(|sample| Some(sample.children()?.samples.len()))
            .collect()
    };
    assert_eq!(children(&harness), [1, 1, 1]);
    // The offer is whole in a small window, among the problems and in the write dialog.
    harness
        .state_mut()
        .show_pane(taco_studio::gui::Pane::Problems);
    settle(&mut harness);
    let offer = harness.get_by_label(OFFER).rect();
    assert!(
        offer.right() <= 1024.0 && offer.bottom() <= 640.0 && offer.width() > 100.0,
        "{offer:?}"
    );
    click(&mut harness, OFFER);
    let said = texts(&harness);
    assert!(
        said.iter()
            .any(|line| line
                .contains("2 rasters with 2 files beside them: 2 files of GDAL metadata")),
        "{said:?}"
    );
    let copies = folder.path().join("scenes-burned-in");
    assert!(
        said.iter().any(|line| line.contains("scenes-burned-in")),
        "where the copies go is shown before: {said:?}"
    );
    picture(&mut harness, "sidecars-burn-in-light");
    // Leaving says what is lost, and changes nothing.
    choose(&mut harness, "", "Leave");
    let said = texts(&harness);
    assert!(
        said.iter()
            .any(|line| line.contains("Readers do not see what the sidecars hold")),
        "{said:?}"
    );
    picture(&mut harness, "sidecars-leave-light");
    click(&mut harness, "Leave sidecars");
    assert_eq!(
        (children(&harness), copies.exists()),
        (vec![1, 1, 1], false)
    );
    // Packing tells of the root that has none.
    act(&mut harness, Action::Sidecars);
    choose(&mut harness, "", "Pack");
    let said = texts(&harness);
    assert!(
        said.iter()
            .any(|line| line.contains("2 of 3 roots have sidecars")),
        "{said:?}"
    );
    picture(&mut harness, "sidecars-pack-light");
    click(&mut harness, "Pack sidecars");
    assert_eq!(children(&harness), [2, 2, 1]);
    act(&mut harness, Action::Undo);
    assert_eq!(children(&harness), [1, 1, 1]);
    // From the write dialog: the copies replace the rasters, and undo brings these back.
    act(&mut harness, Action::Write);
    picture(&mut harness, "sidecars-write-light");
    let offers: Vec<_> = harness
        .query_all_by_label(OFFER)
        .map(|node| node.rect())
        .collect();
    assert_eq!(offers.len(), 2, "in the dialog as well");
    harness
        .query_all_by_label(OFFER)
        .last()
        .expect("an offer")
        .click();
    settle(&mut harness);
    click(&mut harness, "Burn in sidecars");
    assert_eq!(children(&harness), [1, 1, 1]);
    assert!(copies.join("a/image.tif").is_file() && !copies.join("c").exists());
    assert!(
        harness.query_by_label(OFFER).is_none(),
        "nothing is left beside the rasters"
    );
    act(&mut harness, Action::Undo);
    assert!(harness.query_by_label(OFFER).is_some());
    assert!(
        copies.join("a/image.tif").is_file(),
        "redo reads the copies"
    );
}

#[test]
fn what_was_written_is_under_recent() {
    let (mut harness, folder, _) = with_sample();
    let target = folder.path().join("just-written.tacozip");
    act(&mut harness, Action::Convert);
    choose(&mut harness, "Write as", "ZIP");
    fill(&mut harness, "Output", &target.display().to_string());
    run(&mut harness, "Convert");
    click(&mut harness, "Close the report");
    act(&mut harness, Action::OpenRecent);
    let entries: Vec<String> = harness
        .query_all_by_role(Role::MenuItem)
        .filter_map(|node| node.accesskit_node().label())
        .collect();
    assert!(
        entries
            .first()
            .is_some_and(|first| first.contains("just-written.tacozip")),
        "{entries:?}"
    );
}

#[test]
fn writing_that_is_cancelled_leaves_nothing_behind() {
    let (mut harness, folder, _) = with_sample();
    act(&mut harness, Action::EditCopy);
    act(&mut harness, Action::Write);
    let target = folder.path().join("cancelled.tacozip");
    fill(&mut harness, "Destination", &target.display().to_string());
    harness.get_by_label("Write now").click();
    for _ in 0..200 {
        harness.step();
        if harness.query_by_label("Cancel writing").is_some()
            || harness.query_by_label("Write again…").is_some()
        {
            break;
        }
    }
    if harness.query_by_label("Cancel writing").is_some() {
        harness.get_by_label("Cancel writing").click();
        settle(&mut harness);
    }
    // It had ended before, or the form is there again and says so.
    let ended = harness.query_by_label("Write again…").is_some();
    assert_eq!(target.exists(), ended);
    let notes = harness
        .query_all_by_label_contains("Nothing was left at the destination")
        .count();
    assert_eq!(notes > 0, !ended);
    assert_eq!(harness.query_by_label("Write now").is_some(), !ended);
}

#[test]
fn the_key_that_writes_does_not_also_tick_the_option_that_has_the_focus() {
    let (mut harness, folder, _) = with_sample();
    act(&mut harness, Action::EditCopy);
    act(&mut harness, Action::Write);
    let target = folder.path().join("kept.tacozip");
    std::fs::write(&target, b"an older file").expect("writes");
    fill(&mut harness, "Destination", &target.display().to_string());
    let replace = harness.get_by_label("Replace an existing output");
    replace.focus();
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    settle(&mut harness);
    // Nobody has seen that it would be replaced.
    assert!(harness.query_by_label("Write again…").is_none());
    assert_eq!(std::fs::read(&target).expect("reads"), b"an older file");
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    settle(&mut harness);
}

#[test]
fn a_tool_that_is_stopped_leaves_nothing_behind() {
    let (mut harness, folder, _) = with_sample();
    let target = folder.path().join("stopped.tortilla");
    act(&mut harness, Action::Histograms);
    fill(
        &mut harness,
        "Histogram file",
        &target.display().to_string(),
    );
    harness.get_by_label("Count").click();
    for _ in 0..200 {
        harness.step();
        if harness.query_by_label("Stop the tool").is_some()
            || harness.query_by_label("Close the report").is_some()
        {
            break;
        }
    }
    if harness.query_by_label("Stop the tool").is_some() {
        harness.get_by_label("Stop the tool").click();
        settle(&mut harness);
    }
    // It had ended before, or it was stopped and wrote nothing.
    let ended = harness.query_by_label("Close the report").is_some();
    assert_eq!(target.exists(), ended);
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("partial")),
        "{left:?}"
    );
}

#[test]
fn the_palette_finds_tools_settings_languages_extensions_and_documentation() {
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    let cases = [
        ("migrate", "Move to 2.0…"),
        ("optimise", "Optimise rasters…"),
        ("repair", "Repair a copy…"),
        ("convert", "Convert ZIP or FOLDER…"),
        ("index", "Index existing ZIPs…"),
        ("tacocat", "Index existing ZIPs…"),
        ("deep", "Check every byte"),
        ("Spanish", "Español"),
        ("timeout", "Stop waiting for a server after"),
        ("concat", "Add dataset…"),
        ("padding", "Pad to a multiple…"),
        ("quantile", "Percentiles…"),
        ("compile", "Write older generation…"),
        ("majortom", "Major TOM grid"),
        ("#po_0001", "po_0001"),
        (":river", "river"),
        ("?migrate", "migrate"),
    ];
    for (typed, expected) in cases {
        harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
        settle(&mut harness);
        fill(&mut harness, "Search commands", typed);
        let found: Vec<String> = harness
            .query_all_by_role(Role::ListBoxOption)
            .filter_map(|node| node.accesskit_node().label())
            .collect();
        let first_words = found.iter().take(12).any(|label| label.contains(expected));
        assert!(
            first_words || typed == "majortom" && !found.is_empty(),
            "{typed} finds {found:?}, not {expected}"
        );
        if typed == "repair" {
            picture(&mut harness, "palette-repair");
        }
        harness.key_press(Key::Escape);
        settle(&mut harness);
    }
    harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    settle(&mut harness);
    fill(&mut harness, "Search commands", "repair");
    harness.key_press(Key::Enter);
    settle(&mut harness);
    assert!(
        harness.query_by_label("Repair a copy").is_some(),
        "Enter opens the tool"
    );
}

#[test]
fn every_tool_is_reached_by_the_keyboard_alone() {
    for (typed, title) in [
        ("optimise rasters", "Optimise rasters"),
        ("histograms", "Histograms"),
        ("percentiles", "Percentiles"),
        ("repair a copy", "Repair a copy"),
        ("convert zip", "Convert ZIP or FOLDER"),
        ("index existing", "Index existing ZIPs"),
        ("prepare for", "Prepare for TACO 3"),
        ("write older", "Write older generation"),
        ("edit in place", "Edit in place"),
        ("add dataset", "Open datasets as one"),
    ] {
        let mut harness = app(egui::Theme::Dark);
        take(&mut harness, vec![sample()]);
        harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
        settle(&mut harness);
        fill(&mut harness, "Search commands", typed);
        harness.key_press(Key::Enter);
        settle(&mut harness);
        assert!(
            harness.query_all_by_label(title).next().is_some(),
            "{typed} opens {title}"
        );
        // Tab reaches a field of the dialog, and Escape closes it.
        harness.key_press(Key::Tab);
        settle(&mut harness);
        assert!(
            harness.ctx.memory(|memory| memory.focused()).is_some(),
            "{title} takes the focus"
        );
        harness.key_press(Key::Escape);
        settle(&mut harness);
    }
}

#[test]
fn the_bar_and_the_menus_stay_in_a_small_window() {
    for (width, height) in [(1440.0, 900.0), (1024.0, 640.0), (800.0, 600.0)] {
        let mut harness = app(egui::Theme::Light);
        harness.set_size(egui::vec2(width, height));
        take(
            &mut harness,
            vec![golden_file("43_v1_nested3", ".tortilla")],
        );
        let mut seen = Vec::new();
        for name in [
            "New dataset",
            "Open file…",
            "Save draft",
            "Write dataset…",
            "Export",
            "Tools",
            "Settings…",
            "Command palette",
        ] {
            if let Some(node) = harness.query_by_role_and_label(Role::Button, name) {
                let rect = node.rect();
                assert!(
                    rect.left() >= 0.0 && rect.right() <= width && rect.width() > 10.0,
                    "{name} at {rect:?} of {width}"
                );
                seen.push((name, rect));
            }
        }
        for (index, (name, rect)) in seen.iter().enumerate() {
            for (other, next) in &seen[index + 1..] {
                assert!(
                    !rect.shrink(1.0).intersects(next.shrink(1.0)),
                    "{name} and {other} overlap in {width}"
                );
            }
        }
        let more = harness.query_by_label("More commands").is_some();
        assert!(
            seen.len() == 8 || more,
            "what does not fit is in a menu: {seen:?}"
        );
        assert!(
            harness
                .query_all_by_label_contains("First generation (TORTILLA 0.5)")
                .next()
                .is_some()
        );
        picture(&mut harness, &format!("tools-bar-{width}"));
        click(&mut harness, "Tools");
        let entries: Vec<(String, egui::Rect)> = harness
            .query_all_by_role(Role::MenuItem)
            .filter_map(|node| Some((node.accesskit_node().label()?, node.rect())))
            .collect();
        assert!(entries.len() >= 11, "{entries:?}");
        picture(&mut harness, &format!("tools-menu-{width}"));
        harness.key_press(Key::Escape);
        settle(&mut harness);
    }
}

#[test]
fn a_banner_is_closed_for_its_dataset_only() {
    let mut harness = app(egui::Theme::Dark);
    take(
        &mut harness,
        vec![golden_file("43_v1_nested3", ".tortilla")],
    );
    click(&mut harness, "Close banner");
    assert!(
        harness
            .query_all_by_label_contains("First generation")
            .next()
            .is_none()
    );
    harness.state_mut().command(Command::Open {
        path: golden_file("42_v1_nested", ".tortilla"),
    });
    settle(&mut harness);
    click(&mut harness, "What changes?");
    assert!(harness.query_by_label("Documentation").is_some());
    harness.key_press(Key::Escape);
    settle(&mut harness);
    click(&mut harness, "Move to 2.0…");
    assert!(harness.query_by_label("Move to 2.0").is_some());
}
