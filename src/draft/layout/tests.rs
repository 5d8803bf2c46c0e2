//! Tests of the recognition: readings of paths, and questions.

use super::{ArrangedFiles, arrange_files, list_family, recognise_layout};

fn paths(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn arranged(text: &str) -> ArrangedFiles {
    let paths = paths(text);
    let reading =
        recognise_layout(&paths).unwrap_or_else(|question| panic!("a question: {question:?}"));
    arrange_files(&paths, &reading).expect("a place for each file")
}

fn positions(found: &ArrangedFiles) -> Vec<(&str, usize)> {
    found
        .positions
        .iter()
        .map(|position| (position.id.as_str(), position.matched))
        .collect()
}

#[test]
fn parallel_folders_and_splits_are_found() {
    let found = arranged(
        "train/images/1.tif train/masks/1.png train/images/2.tif train/masks/2.png \
            val/images/9.tif val/masks/9.png \
         val/notes/readme.md",
    );
    assert_eq!(positions(&found), [("image", 3), ("mask", 3)]);
    assert_eq!(
        (found.columns.as_slice(), found.roots.len()),
        (["split".to_owned()].as_slice(), 3)
    );
    assert_eq!(found.left_over.len(), 1);
}

#[test]
fn what_all_positions_end_with_is_not_in_their_ids() {
    let found = arranged(
        "train_red/red_patch_1_T1.TIF train_red/red_patch_2_T1.TIF train_blue/blue_patch_1_T1.TIF \
            train_blue/blue_patch_2_T1.TIF",
    );
    assert_eq!(positions(&found), [("blue", 2), ("red", 2)]);
}

#[test]
fn labels_make_the_roots_where_there_is_nothing_else() {
    let paths = paths("roads/a_1.geojson houses/a_1.geojson roads/a_2.geojson houses/a_2.geojson");
    let reading = super::folder_layout(&paths).expect("a reading");
    let found = arrange_files(&paths, &reading).expect("a place for each file");
    assert_eq!(
        (positions(&found), found.roots.len()),
        (vec![("houses", 2), ("roads", 2)], 2)
    );
}

#[test]
fn ids_that_differ_in_case_alone_stay_two_roots() {
    let found = arranged(
        "images/A1.tif masks/A1.tif images/b_1.tif masks/b_1.tif images/b-1.tif masks/b-1.tif \
            images/:2.tif masks/:2.tif",
    );
    let mut ids: Vec<String> = found
        .roots
        .iter()
        .map(|root| root.id.to_lowercase())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), found.roots.len(), "{:?}", found.roots);
}

#[test]
fn files_that_may_be_parts_of_scenes_are_no_roots_unasked() {
    for text in [
        // Folders of unknown words with files of the same names.
        "s1weak/a_1.tif s1weak/b_2.tif s2weak/a_1.tif s2weak/b_2.tif",
        // Years of a product, one of which has labels.
        "images_2006/14-2005-1.tif images_2006/14-2005-2.tif images_2012/14-2012-1.tif \
            images_2012/14-2012-2.tif \
         labels_change/14-2012-1.tif labels_change/14-2012-2.tif",
        // Products amid the numbers.
        "S_0/S_0_rgb_1.png S_0/S_0_cl_1.tif S_0/S_0_rgb_2.png S_0/S_0_cl_2.tif S_1/S_1_rgb_1.png \
            S_1/S_1_cl_1.tif",
        // Roots that share no position.
        "x_features/0003d2eb_S1_00.tif x_features/0003d2eb_S1_01.tif x_features/000aa810_S1_00.tif \
            x_features/000aa810_S1_01.tif \
         x_agbm/0003d2eb_agbm.tif x_agbm/000aa810_agbm.tif",
    ] {
        let question = recognise_layout(&paths(text)).expect_err(text);
        assert!(!question.alternatives.is_empty(), "{text}");
    }
    let found = arranged("train/1.tif train/2.tif val/1.tif val/2.tif");
    assert!(
        found.has_file_roots() && found.roots.len() == 4,
        "the same names in two splits are two roots"
    );
}

/// Known words among unknown ones make no second scene of a folder that has one.
#[test]
fn names_without_numbers_in_one_folder_belong_to_one_scene() {
    for text in [
        "after.tif before.tif label.tif",
        "after.tif before.tif label.tif outlines.geojson radar.tif terrain.tif",
    ] {
        let question = recognise_layout(&paths(text)).expect_err(text);
        assert!(
            matches!(question.alternatives[0].way, super::LayoutWay::AsTheyAre),
            "{text}: {question:?}"
        );
    }
}

#[test]
fn lists_of_one_family_are_known_by_their_names() {
    assert_eq!(list_family("eurosat-spatial-train"), "eurosat_spatial");
    assert_eq!(list_family("train"), "");
}
