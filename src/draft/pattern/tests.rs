//! Realistic file names, ten thousand of each naming scheme with decoys among them: no file may be
//! misplaced.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::draft::{Content, Edit, Unplaced};
use crate::jobs::JobContext;
use crate::model::{Payload, Sample, Tortilla};

/// Files with the expected (root, position joined by `/`); `None` for decoys.
type Files = Vec<(String, Option<(String, String)>)>;

fn place(root: &str, position: &str) -> Option<(String, String)> {
    Some((root.to_owned(), position.to_owned()))
}

/// A tray with these files, shuffled.
fn content(files: &Files, seed: u64) -> Content {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut tray: Vec<Unplaced> = files
        .iter()
        .map(|(path, _)| Unplaced::file(path, 1))
        .collect();
    for index in (1..tray.len()).rev() {
        tray.swap(index, random.next_u32() as usize % (index + 1));
    }
    Content {
        tray: tray.into(),
        ..Content::default()
    }
}

fn example(file: &str, root: &str, position: &str) -> Example {
    let position = position
        .split('/')
        .filter(|id| !id.is_empty())
        .map(Arc::from)
        .collect();
    Example {
        file: file.into(),
        root: root.into(),
        position,
    }
}

fn find(content: &Content, examples: &[Example]) -> PatternReport {
    find_pattern(content, examples, &JobContext::default()).expect("reads the names")
}

/// The (root, position) of every file of the dataset.
fn standing(root: &Tortilla) -> HashMap<PathBuf, (String, String)> {
    fn walk(
        sample: &Sample,
        above: &str,
        root: &str,
        found: &mut HashMap<PathBuf, (String, String)>,
    ) {
        match &sample.payload {
            Payload::Folder(children) => {
                for child in &children.samples {
                    let path = if above.is_empty() {
                        child.id.to_string()
                    } else {
                        format!("{above}/{}", child.id)
                    };
                    walk(child, &path, root, found);
                }
            }
            Payload::Asset { path, .. } => {
                drop(found.insert(path.to_vsi().into(), (root.to_owned(), above.to_owned())))
            }
            Payload::Bytes(_) => {}
        }
    }
    let mut found = HashMap::new();
    root.samples
        .iter()
        .for_each(|sample| walk(sample, "", &sample.id, &mut found));
    found
}

/// Two examples must place every file that belongs to the pattern, and no other; undo restores the
/// former state.
#[track_caller]
fn all_find_their_place(files: &Files, examples: &[Example]) {
    let content = content(files, 7);
    let report = find(&content, examples);
    let ways: Vec<_> = report
        .alternatives
        .iter()
        .map(|way| (&way.label, way.placed.len(), way.roots))
        .collect();
    assert_eq!(ways.len(), 1, "{:?} {ways:?}", report.trouble);
    let edit = place_by_pattern(&content, &report.alternatives[0]).expect("places");
    let mut placed = content.clone();
    let inverse = edit.apply_to(&mut placed).expect("applies");
    let standing = standing(&placed.dataset.root);
    for (path, expected) in files {
        let found = standing.get(&PathBuf::from(path));
        assert_eq!(
            found,
            expected.as_ref(),
            "{path} by {}",
            report.alternatives[0].label
        );
    }
    assert_eq!(standing.len() + placed.tray.len(), files.len());
    let reported = report.alternatives[0].nearly.len() + report.alternatives[0].left_over.len();
    assert_eq!(reported, placed.tray.len(), "what stays is reported");
    let shapes: Vec<Vec<&str>> = placed
        .dataset
        .root
        .samples
        .iter()
        .filter_map(Sample::children)
        .map(|t| t.samples.iter().map(|s| &*s.id).collect())
        .collect();
    assert!(
        shapes
            .windows(2)
            .all(|pair| pair[0].len() != pair[1].len() || pair[0] == pair[1]),
        "one order of positions"
    );
    inverse.apply_to(&mut placed).expect("undoes");
    assert_eq!(placed, content);
}

const TILES: [&str; 10] = [
    "T32TQM", "T32TQN", "T33UVP", "T18LTK", "T19HDA", "T01WCU", "T60HUB", "T43RGQ", "T10SEG",
    "T55KEV",
];

fn day(index: u32) -> String {
    format!(
        "{:04}{:02}{:02}",
        2016 + index / 336,
        1 + index / 28 % 12,
        1 + index % 28
    )
}

#[test]
fn sentinel_2_products() {
    let bands = [
        "B01_60m", "B02_10m", "B03_10m", "B04_10m", "B05_20m", "B08_10m", "B8A_20m", "B11_20m",
        "B12_20m", "AOT_20m",
    ];
    let mut files = Files::new();
    for index in 0..1000u32 {
        let (tile, date) = (TILES[index as usize % 10], day(index / 10));
        let (satellite, orbit) = (
            ["S2A", "S2B"][index as usize % 2],
            format!("R{:03}", 1 + index % 143),
        );
        // Two products of a day share the production time; some have an older processing baseline.
        let product = format!(
            "{satellite}_MSIL2A_{date}T10{:02}31_N02{:02}_{orbit}_{tile}_{}T1213{:02}",
            index % 60,
            9 + index % 5,
            day(index / 10 + index % 3),
            index % 50
        );
        let granule = format!(
            "/data/s2/{product}.SAFE/GRANULE/L2A_{tile}_A{:06}_{date}T101031",
            14000 + index
        );
        for band in bands {
            let name = format!(
                "{granule}/IMG_DATA/{tile}_{date}T10{:02}31_{band}.jp2",
                index % 60
            );
            files.push((
                name,
                place(&format!("{tile}_{date}"), &format!("{}.jp2", &band[..3])),
            ));
        }
        if index % 7 == 0 {
            files.push((format!("{granule}/MTD_TL.xml"), None));
            files.push((format!("{granule}/QI_DATA/MSK_CLDPRB_20m.jp2"), None));
            files.push((
                format!(
                    "{granule}/IMG_DATA/{tile}_{date}T10{:02}31_TCI_10m.jp2",
                    index % 60
                ),
                None,
            ));
            files.push((format!("/data/s2/{product}.SAFE/manifest.safe"), None));
        }
    }
    let path = |root: &str, band: &str| {
        files
            .iter()
            .find(|file| file.1 == place(root, band))
            .expect("is there")
            .0
            .clone()
    };
    let examples = [
        example(
            &path("T32TQM_20160101", "B02.jp2"),
            "T32TQM_20160101",
            "B02.jp2",
        ),
        // The product was made on a later day than the acquisition: only one of the two dates is
        // the key.
        example(
            &path("T33UVP_20160103", "B8A.jp2"),
            "T33UVP_20160103",
            "B8A.jp2",
        ),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn landsat_products() {
    let parts = [
        "SR_B1",
        "SR_B2",
        "SR_B3",
        "SR_B4",
        "SR_B5",
        "SR_B6",
        "SR_B7",
        "ST_B10",
        "QA_PIXEL",
        "QA_RADSAT",
    ];
    let mut files = Files::new();
    for index in 0..1000u32 {
        let (satellite, tier) = (
            ["LC08", "LC09"][index as usize % 2],
            ["T1", "T2"][usize::from(index % 9 == 0)],
        );
        let product = format!(
            "{satellite}_L2SP_{:03}{:03}_{}_{}_02_{tier}",
            190 + index % 9,
            20 + index % 13,
            day(index),
            day(index + 9)
        );
        for part in parts {
            files.push((
                format!("/l/{product}/{product}_{part}.TIF"),
                place(&product, part),
            ));
        }
        files.push((format!("/l/{product}/{product}_MTL.txt"), None));
        if index % 11 == 0 {
            files.push((format!("/l/{product}/{product}_MTL.json"), None));
            files.push((format!("/l/{product}/{product}_thumb_small.jpeg"), None));
        }
    }
    let root = files[0].1.clone().expect("belongs").0;
    let examples = [
        example(&files[3].0, &root, "SR_B4"),
        example(&files[8].0, &root, "QA_PIXEL"),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn scenes_and_bands() {
    let mut files = Files::new();
    for index in 0..2500u32 {
        for band in ["red", "green", "blue", "nir"] {
            files.push((
                format!("/d/scene_{index}_{band}.tif"),
                place(&format!("scene_{index}"), band),
            ));
        }
    }
    for decoy in [
        "scene_007_red.tif",
        "scene_12_red_old.tif",
        "scene_x_red.tif",
        "scene_9_mask.tif",
        "readme.txt",
        "scene_3_red.png",
    ] {
        files.push((format!("/d/{decoy}"), None));
    }
    let examples = [
        example("/d/scene_4_red.tif", "scene_4", "red"),
        example("/d/scene_12_nir.tif", "scene_12", "nir"),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn folders_of_dates() {
    let mut files = Files::new();
    for index in 0..2500u32 {
        let date = day(index);
        let folder = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
        for part in ["s1", "s2", "dem", "label"] {
            files.push((
                format!("/d/{folder}/{part}.tif"),
                place(&folder, &format!("data/{part}.tif")),
            ));
        }
    }
    for decoy in [
        "2017-02-30/s1.tif",
        "latest/s1.tif",
        "2016-01-02/s1.tif.bak",
        "2016-01-02/notes.tif",
        "2016-01-02/old/s1.tif",
        "index.html",
    ] {
        files.push((format!("/d/{decoy}"), None));
    }
    let examples = [
        example("/d/2016-01-02/s1.tif", "2016-01-02", "data/s1.tif"),
        example("/d/2016-01-02/label.tif", "2016-01-02", "data/label.tif"),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn numbered_chips() {
    let mut files = Files::new();
    for index in 0..5000u32 {
        files.push((
            format!("/d/images/img{index:06}.png"),
            place(&format!("{index:06}"), "image"),
        ));
        files.push((
            format!("/d/masks/mask{index:06}.png"),
            place(&format!("{index:06}"), "mask"),
        ));
    }
    for decoy in [
        "images/img0001.png",
        "images/img000001_copy.png",
        "masks/mask00000a.png",
        "images/thumb000001.png",
        "masks/mask000009.json",
    ] {
        files.push((format!("/d/{decoy}"), None));
    }
    let examples = [
        example("/d/images/img000012.png", "000012", "image"),
        example("/d/masks/mask000012.png", "000012", "mask"),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn before_and_after() {
    let mut files = Files::new();
    let events = ["hurricane-michael", "palu-tsunami", "socal-fire"];
    for index in 0..5000u32 {
        let event = events[index as usize % 3];
        let root = format!("{event}_{index:08}");
        files.push((
            format!("/d/{event}_{index:08}_pre_disaster.png"),
            place(&root, "before"),
        ));
        files.push((
            format!("/d/{event}_{index:08}_post_disaster.png"),
            place(&root, "after"),
        ));
    }
    for decoy in [
        "palu-tsunami_0000001_pre_disaster.png",
        "palu-tsunami_00000001_mid_disaster.png",
        "palu-tsunami_00000001_pre_disaster.json",
    ] {
        files.push((format!("/d/{decoy}"), None));
    }
    let name = |event: &str, number: u32, part: &str| {
        format!("/d/{event}_{number:08}_{part}_disaster.png")
    };
    let examples = [
        example(
            &name("hurricane-michael", 3, "pre"),
            "hurricane-michael_00000003",
            "before",
        ),
        example(
            &name("palu-tsunami", 4, "post"),
            "palu-tsunami_00000004",
            "after",
        ),
    ];
    // Event names of one part and of two parts have different shapes: a third example shows the
    // second one.
    let (mut dashed, mut plain): (Files, Files) = (Files::new(), Files::new());
    files.into_iter().for_each(|file| {
        if file.0.contains("socal-fire") {
            plain.push(file)
        } else {
            dashed.push(file)
        }
    });
    all_find_their_place(&dashed, &examples);
    let examples = [
        example(
            &name("socal-fire", 2, "pre"),
            "socal-fire_00000002",
            "before",
        ),
        example(
            &name("socal-fire", 5, "post"),
            "socal-fire_00000005",
            "after",
        ),
    ];
    all_find_their_place(&plain, &examples);
}

#[test]
fn pairs_that_differ_only_by_date() {
    let mut files = Files::new();
    for index in 0..500u32 {
        let root = format!("site{index}");
        files.push((
            format!("/d/site{index}_{}.tif", day(index)),
            place(&root, "before"),
        ));
        files.push((
            format!("/d/site{index}_{}.tif", day(index + 40 + index % 9)),
            place(&root, "after"),
        ));
    }
    for third in [
        "site9000_20200101",
        "site9001_20200101",
        "site9001_20200102",
        "site9001_20200103",
    ] {
        files.push((format!("/d/{third}.tif"), None));
    }
    let examples = [
        example(&files[0].0, "site0", "before"),
        example(&files[1].0, "site0", "after"),
    ];
    all_find_their_place(&files, &examples);
}

#[test]
fn chips_that_are_roots_themselves() {
    let mut files: Files = (0..300)
        .map(|index| {
            (
                format!("/d/chip_{index:04}.tif"),
                place(&format!("chip_{index:04}"), ""),
            )
        })
        .collect();
    files.push(("/d/chip_12.tif".into(), None));
    all_find_their_place(
        &files,
        &[
            example("/d/chip_0001.tif", "chip_0001", ""),
            example("/d/chip_0002.tif", "chip_0002", ""),
        ],
    );
}

#[test]
fn ambiguous_names_give_several_alternatives() {
    // Site and date are in every name, but the root ids are unrelated: a root may be a site, or a
    // site at a date. Both readings fill all positions.
    let mut files = Files::new();
    for site in ["north", "south"] {
        for date in ["20200101", "20200201"] {
            for band in ["red", "nir"] {
                files.push((format!("/d/{site}_{date}_{band}.tif"), None));
            }
        }
    }
    let content = content(&files, 3);
    let examples = [
        example("/d/north_20200101_red.tif", "r1", "red"),
        example("/d/north_20200101_nir.tif", "r1", "nir"),
    ];
    let report = find(&content, &examples);
    assert!(report.alternatives.len() > 1, "{report:#?}");
    let counts: Vec<_> = report
        .alternatives
        .iter()
        .map(|way| (way.placed.len(), way.roots))
        .collect();
    assert!(counts.contains(&(8, 4)), "{counts:?}");
    // Root ids taken from the names leave nothing ambiguous.
    let named = [
        example("/d/north_20200101_red.tif", "north_20200101", "red"),
        example("/d/north_20200101_nir.tif", "north_20200101", "nir"),
    ];
    let report = find(&content, &named);
    assert_eq!(
        report
            .alternatives
            .iter()
            .map(|way| (way.placed.len(), way.roots))
            .collect::<Vec<_>>(),
        [(8, 4)]
    );
}

#[test]
fn files_join_roots_that_are_there() {
    let mut content = content(
        &(0..4)
            .flat_map(|n| ["red", "nir"].map(|band| (format!("/d/s{n}_{band}.tif"), None)))
            .collect(),
        1,
    );
    let label =
        |id: &str| Sample::new_folder(id, Tortilla::new(vec![Sample::new_file("label", "/l", 1)]));
    let whole = Tortilla::new(
        ["red", "nir", "label"]
            .map(|id| Sample::new_file(id, "/x", 1))
            .to_vec(),
    );
    let roots = vec![
        Sample::new_folder("s9", whole),
        label("s0"),
        label("s1"),
        label("s2"),
        label("s3"),
    ];
    content.dataset.root = Tortilla::new(roots).into();
    let examples = [
        example("/d/s0_red.tif", "s0", "red"),
        example("/d/s1_nir.tif", "s1", "nir"),
    ];
    let report = find(&content, &examples);
    assert_eq!(
        (report.alternatives.len(), report.alternatives[0].new_roots),
        (1, 0),
        "{report:#?}"
    );
    let Edit::Batch { label, edits } =
        place_by_pattern(&content, &report.alternatives[0]).expect("places")
    else {
        panic!()
    };
    assert_eq!(label, "Place 8 files");
    Edit::Batch { label, edits }
        .apply_to(&mut content)
        .expect("applies");
    for sample in &content.dataset.root.samples {
        let ids: Vec<&str> = sample
            .children()
            .expect("is a FOLDER")
            .samples
            .iter()
            .map(|sample| &*sample.id)
            .collect();
        assert_eq!(ids, ["red", "nir", "label"], "{}", sample.id);
    }
    assert!(content.tray.is_empty());
}

#[test]
fn uninformative_examples_are_refused() {
    let content = content(
        &["/d/a_1.tif", "/d/b_1.tif", "/d/zzz.txt"]
            .map(|path| (path.into(), None))
            .to_vec(),
        1,
    );
    let fails = |examples: &[Example]| {
        find_pattern(&content, examples, &JobContext::default())
            .expect_err("is refused")
            .to_string()
    };
    assert!(fails(&[example("/d/a_1.tif", "1", "a")]).contains("two files"));
    assert!(
        fails(&[
            example("/d/a_1.tif", "1", "a"),
            example("/d/b_1.tif", "1", "a")
        ])
        .contains("same position")
    );
    assert!(
        fails(&[
            example("/d/a_1.tif", "1", "a"),
            example("/d/a_1.tif", "2", "a")
        ])
        .contains("twice")
    );
    let report = find(
        &content,
        &[
            example("/d/a_1.tif", "1", "a"),
            example("/d/zzz.txt", "2", "b"),
        ],
    );
    assert!(
        report.alternatives.is_empty()
            && report
                .trouble
                .is_some_and(|text| text.contains("same root"))
    );
}
