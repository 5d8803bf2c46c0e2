//! Tests of the recognition: readings of paths, and questions.

use super::{
    ArrangedFiles, LayoutRefusal, UnclearLayout, arrange_files, find_list_family, recognise_layout,
};

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
fn polarisations_of_sentinel_1_are_positions_of_their_products() {
    // Products are as they were, or cloud optimised.
    for (product, measurement) in [("", ""), ("_COG", "-cog")] {
        let mut text = String::new();
        for (start, orbit) in [
            ("20200101t053412", "030612-0381c9"),
            ("20200113t053412", "030787-0387ee"),
        ] {
            for (polarisation, number) in [("vv", 1), ("vh", 2)] {
                text += &format!(
                    "S1A_IW_GRDH_1SDV_{}_{orbit}{product}.SAFE/measurement/s1a-iw-grd-\
                        {polarisation}-{start}-{start}-{orbit}-00{number}{measurement}.tiff ",
                    start.to_uppercase()
                );
            }
        }
        let found = arranged(&text);
        assert_eq!(positions(&found), [("vh", 2), ("vv", 2)], "{product}");
    }
}

#[test]
fn swaths_and_polarisations_of_single_look_complex_products_are_positions() {
    let mut text = String::new();
    for (day, orbit) in [("20200101", "030612-0381c9"), ("20200113", "030787-0387ee")] {
        for (number, part) in ["iw1-slc-vh", "iw2-slc-vh", "iw1-slc-vv", "iw2-slc-vv"]
            .iter()
            .enumerate()
        {
            // Each swath has times of its own.
            let start = format!("{day}t05341{}", number % 2);
            text += &format!(
                "S1A_IW_SLC__1SDV_{day}T053411_{orbit}.SAFE/measurement/s1a-{part}-{start}-\
                    {day}t053438-{orbit}-00{}.tiff ",
                number + 1
            );
        }
        text += &format!(
            "S1A_IW_SLC__1SDV_{day}T053411_{orbit}.SAFE/annotation/s1a-iw1-slc-vh-{day}.xml "
        );
    }
    let found = arranged(&text);
    let wanted = [("iw1-vh", 2), ("iw1-vv", 2), ("iw2-vh", 2), ("iw2-vv", 2)];
    assert_eq!(positions(&found), wanted);
    assert_eq!((found.roots.len(), found.left_over.len()), (2, 2));
}

#[test]
fn labels_in_folders_below_those_of_positions_are_positions() {
    let mut text = String::new();
    for image in ["img1", "img10"] {
        for folder in ["MUL", "PAN"] {
            text += &format!("AOI_2_Vegas/{folder}/{folder}_AOI_2_Vegas_{image}.tif ");
        }
        text += &format!("AOI_2_Vegas/geojson/roads/roads_AOI_2_Vegas_{image}.geojson ");
        text += &format!("AOI_2_Vegas/geojson/speed/speed_AOI_2_Vegas_{image}.geojson ");
    }
    text += "AOI_2_Vegas/MUL/notes/readme.txt";
    let found = arranged(&text);
    assert_eq!(
        positions(&found),
        [("MUL", 2), ("PAN", 2), ("roads", 2), ("speed", 2)]
    );
    assert_eq!((found.roots.len(), found.left_over.len()), (2, 1));
}

#[test]
fn programs_and_papers_beside_the_folders_are_no_scenes() {
    for name in [
        "README",
        "LICENSE",
        "split.py",
        "load.ipynb",
        "paper.docx",
        "MD5SUMS",
    ] {
        let found = arranged(&format!(
            "images/M-33-c-4.tif images/N-34-d-3.tif masks/M-33-c-4.tif masks/N-34-d-3.tif {name}"
        ));
        assert_eq!(positions(&found), [("image", 2), ("mask", 2)], "{name}");
        assert_eq!((found.roots.len(), found.left_over.len()), (2, 1), "{name}");
    }
    // What is proposed to be left out is not everything.
    let other = "images/a_1.tif images/a_2.tif masks/a_1.tif masks/a_2.tif labels.pkl";
    let question = recognise_layout(&paths(other)).expect_err("a question");
    for alternative in &question.alternatives {
        if let super::LayoutWay::Exclude(patterns) = &alternative.way {
            assert!(!patterns.contains(&"*".to_owned()), "{question:?}");
        }
    }
}

#[test]
fn a_band_behind_a_point_is_a_position() {
    let mut text = String::new();
    for day in ["2020123T185921", "2020133T185921"] {
        for band in ["B02", "B8A", "Fmask"] {
            text += &format!("HLS.S30.T10SEG.{day}.v2.0.{band}.tif ");
        }
    }
    let found = arranged(&text);
    assert_eq!(positions(&found), [("B02", 2), ("B8A", 2), ("Fmask", 2)]);
    assert_eq!(found.roots.len(), 2);
}

#[test]
fn brackets_of_a_position_are_closed() {
    let mut text = String::new();
    for day in ["2023-06-14", "2023-06-19"] {
        for band in ["B02", "B03"] {
            text += &format!("{day}-00_00_{day}-23_59_Sentinel-2_L2A_{band}_(Raw).tiff ");
        }
    }
    let found = arranged(&text);
    assert_eq!(positions(&found), [("B02_(Raw)", 2), ("B03_(Raw)", 2)]);
}

#[test]
fn annotations_of_two_kinds_beside_images_by_split_are_positions() {
    let mut text = String::new();
    for (split, image) in [
        ("trainval", "00001"),
        ("trainval", "00002"),
        ("test", "11726"),
    ] {
        text += &format!("JPEGImages-{split}/{image}.jpg ");
        for kind in ["Horizontal_Boxes", "Oriented_Boxes"] {
            text += &format!("Annotations/{kind}/{image}.xml ");
        }
    }
    let found = arranged(&text);
    let wanted = [
        ("Horizontal_Boxes", 3),
        ("JPEGImages", 3),
        ("Oriented_Boxes", 3),
    ];
    assert_eq!(positions(&found), wanted);
    assert_eq!(found.columns, ["split"]);
}

#[test]
fn masks_of_planetscope_are_positions() {
    let found = arranged(
        "20210101_101010_1009_3B_AnalyticMS_SR.tif 20210101_101010_1009_3B_udm2.tif \
            20210202_101010_1010_3B_AnalyticMS_SR.tif 20210202_101010_1010_3B_udm2.tif",
    );
    assert_eq!(found.roots.len(), 2, "{found:?}");
    assert_eq!(found.positions.len(), 2, "{found:?}");
    let clipped = arranged(
        "20210101_101010_1009_3B_AnalyticMS_SR_8b_clip.tif 20210101_101010_1009_3B_udm2_clip.tif \
            20210202_101010_1010_3B_AnalyticMS_SR_8b_clip.tif \
            20210202_101010_1010_3B_udm2_clip.tif",
    );
    let wanted = [("AnalyticMS_SR_8b_clip", 2), ("udm2_clip", 2)];
    assert_eq!(positions(&clipped), wanted);
}

#[test]
fn tiles_of_scenes_are_no_products_of_these() {
    let text = "scene_1.tif scene_1_tile_1.tif scene_1_tile_2.tif scene_2.tif scene_2_tile_1.tif \
        scene_2_tile_2.tif";
    let found = recognise_layout(&paths(text));
    let is_kept = found.is_err()
        || arrange_files(&paths(text), &found.expect("a reading"))
            .is_ok_and(|found| found.has_file_roots());
    assert!(is_kept);
}

#[test]
fn a_folder_that_stems_repeat_in_words_of_the_dataset_is_no_part_of_the_root() {
    let mut text = String::new();
    for area in ["AOI_2_Vegas", "AOI_3_Paris"] {
        for image in ["img1", "img2"] {
            for (folder, ending) in [
                ("PS-RGB", "tif"),
                ("MS", "tif"),
                ("geojson_buildings", "geojson"),
            ] {
                text += &format!(
                    "{area}/{folder}/SN2_buildings_train_{area}_{folder}_{image}.{ending} "
                );
            }
        }
    }
    let found = arranged(&text);
    assert_eq!((found.roots.len(), found.left_over.len()), (4, 0));
    let counts: Vec<usize> = positions(&found).iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [4, 4, 4], "{:?}", positions(&found));
    // The same with a folder of one word below the one that is repeated.
    let mut deeper = String::new();
    for path in text.split_whitespace() {
        let (folder, name) = path.rsplit_once('/').expect("is in a folder");
        for time in ["pre", "post"] {
            deeper += &format!("{folder}/{time}/{name} ");
        }
    }
    let found = arranged(&deeper);
    assert_eq!((found.roots.len(), found.left_over.len()), (4, 0));
    assert_eq!(positions(&found).len(), 6, "{:?}", positions(&found));
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

/// The order of a hash table would decide which of the two is renamed.
#[test]
fn positions_that_differ_in_case_alone_have_the_same_ids_each_time() {
    let paths = paths("A/x_1.tif a/x_1.tif A/x_2.tif a/x_2.tif");
    let reading = super::folder_layout(&paths).expect("a reading");
    for _ in 0..32 {
        let found = arrange_files(&paths, &reading).expect("a place for each file");
        assert_eq!(positions(&found), [("A", 2), ("a_2", 2)]);
    }
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
    assert_eq!(find_list_family("eurosat-spatial-train"), "eurosat_spatial");
    assert_eq!(find_list_family("train"), "");
}

/// `00027_cityaabb.tif` of 27: a word without digits for each number.
fn name_city(number: usize) -> String {
    let letters = |number: usize| char::from(b'a' + (number % 26) as u8);
    let word: String = [17_576, 676, 26, 1]
        .map(|unit| letters(number / unit))
        .into_iter()
        .collect();
    format!("{number:05}_city{word}.tif")
}

/// Names of their own after the number: each would be a position of all roots, 100 million cells.
#[test]
fn a_layout_that_is_nearly_all_padding_is_a_question() {
    let paths: Vec<String> = (0..10_000).map(name_city).collect();
    let question = super::stem_layout(&paths).expect_err("too sparse");
    assert_eq!(question.reason, UnclearLayout::TooSparse);
    assert!(
        question.summary.contains("less than 1 % have a file"),
        "{}",
        question.summary
    );
    let report = question.into_error().report();
    for way in ["--layout auto", "--layout '{root}'", "--exclude GLOB"] {
        assert!(report.contains(way), "{report}");
    }
    let each = super::question::read_files_as_roots(&paths);
    let found = arrange_files(&paths, &each).expect("a place for each file");
    assert!(found.has_file_roots() && found.roots.len() == paths.len());
    assert!(recognise_layout(&paths).is_ok_and(|reading| reading == each));
}

/// One series that is far longer than the others has a cell for each of its dates in all of them.
#[test]
fn series_of_unlike_length_are_refused_before_they_are_filled() {
    let days = (0..5_000).map(|at| {
        let (year, month, day) = (1990 + at / 336, at % 336 / 28 + 1, at % 28 + 1);
        format!("long_{year}{month:02}{day:02}.tif")
    });
    let others = (0..20_000).map(|at| format!("site{at:05}q_20200101.tif"));
    let paths: Vec<String> = days.chain(others).collect();
    let reading = super::LayoutReading::of_pattern("{root}_{date}").expect("a pattern");
    let Err(LayoutRefusal::TooSparse(sparse)) = arrange_files(&paths, &reading) else {
        panic!("is refused")
    };
    assert_eq!(
        (
            sparse.roots,
            sparse.positions,
            sparse.placed,
            sparse.by_date
        ),
        (20_001, 5_000, 25_000, true)
    );
}

/// Each position would be compared with all others.
#[test]
fn labels_in_many_folders_beside_one_image_are_positions_of_one_root() {
    let count = 20_000;
    let mut paths = vec!["image/scene_1.tif".to_owned()];
    paths.extend((0..count).map(|at| format!("note{at}/scene_1.txt")));
    let reading = super::folder_layout(&paths).expect("a reading");
    let found = arrange_files(&paths, &reading).expect("a place for each file");
    assert_eq!(
        (found.roots.len(), found.positions.len()),
        (1, count + 1),
        "{} are left over",
        found.left_over.len()
    );
}

fn question_of(text: &str) -> UnclearLayout {
    recognise_layout(&paths(text))
        .expect_err("a question")
        .reason
}

/// Labels of fields, and images by field and date, share no position: LandCoverNet, Rwanda.
#[test]
fn roots_that_share_no_position_with_the_others_are_of_another_structure() {
    let mut text = String::new();
    for field in ["29NMH_00", "30PWT_13", "31QGA_07"] {
        text += &format!("labels/{field}/labels.tif ");
        for date in ["20180103", "20180108"] {
            for band in ["B02", "B03", "CLD", "SCL"] {
                text += &format!("source/{field}_{date}/{band}.tif ");
            }
        }
    }
    assert_eq!(question_of(&text), UnclearLayout::SeveralStructures);
}

#[test]
fn parts_of_a_split_with_one_product_each_have_files_as_roots() {
    let found = arranged(
        "train_images/100.tif train_images/102.tif train_images/1036.tif val_images/5.tif \
            val_images/7.tif",
    );
    assert!(found.has_file_roots() && found.roots.len() == 5);
    assert_eq!(found.columns, ["split"]);
}

#[test]
fn products_with_a_number_in_the_names_of_folders_are_positions() {
    let found = arranged(
        "train/Image1/1.png train/Image2/1.png train/label/1.png train/label1/1.png \
            train/label2/1.png train/Image1/2.png train/Image2/2.png train/label/2.png \
            train/label1/2.png train/label2/2.png test/Image1/4001.png test/Image2/4001.png \
            test/label/4001.png test/label1/4001.png test/label2/4001.png",
    );
    let ids: Vec<&str> = positions(&found).into_iter().map(|found| found.0).collect();
    assert_eq!(ids, ["Image1", "Image2", "label1", "label2", "label"]);
    assert_eq!((found.roots.len(), found.fill()), (3, 1.0));
}

#[test]
fn scenes_with_a_number_after_the_word_of_a_product_are_roots() {
    for scenes in ["image1_berlin image2_madrid image3_rome", "map1 map2"] {
        let mut text = String::new();
        for scene in scenes.split(' ') {
            for band in ["B02", "B03", "B04"] {
                text += &format!("{scene}/{band}.tif ");
            }
        }
        let found = arranged(&text);
        let ids: Vec<&str> = positions(&found).into_iter().map(|found| found.0).collect();
        assert_eq!(ids, ["B02", "B03", "B04"], "{scenes}");
    }
}

#[test]
fn products_of_one_part_of_a_split_are_positions() {
    let mut text = String::new();
    for root in ["91/99/2999991", "92/00/2900092", "93/12/2901293"] {
        for product in ["landsat", "bioclim"] {
            text += &format!("PA-train-{product}/{root}.tiff ");
        }
    }
    let found = arranged(&text);
    assert_eq!(found.columns, ["split"]);
    assert_eq!((found.roots.len(), found.fill()), (3, 1.0));
    assert_eq!(found.positions.len(), 2);
}

#[test]
fn a_copy_beside_its_file_does_not_take_the_name_of_the_root() {
    let found =
        arranged("img/a_(1).tif img/a_(2).tif img/a.tif mask/a_(1).tif mask/a_(2).tif mask/a.tif");
    assert!(found.renamed.iter().all(|renamed| !renamed.from.is_empty()));
    assert_eq!((found.roots.len(), found.positions.len()), (3, 2));
}

#[test]
fn classes_and_series_of_files_are_asked_about() {
    // NWPU VHR-10: other scenes have the same numbers.
    let classes = "negative_set/001.jpg negative_set/002.jpg positive_set/001.jpg \
        positive_set/002.jpg";
    assert_eq!(question_of(classes), UnclearLayout::PartsOrRoots);
    // One file of a year, and a series in a folder of the same name.
    let mut series = String::new();
    for cell in ["S30E140_02_11", "S31E141_03_12", "S32E142_04_13"] {
        series += &format!("biomass/{cell}.tif s3_olci/{cell}/S3A_20200319T233546.tif ");
        series += &format!("s3_olci/{cell}/S3B_20200514T234457.tif ");
    }
    recognise_layout(&paths(&series)).expect_err("a question");
}
