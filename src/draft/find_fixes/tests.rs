//! Fixes of damaged drafts: each removes its finding, adds none of its kind, and undoes.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::draft::FileKind;
use crate::draft::{Content, Unplaced, fault_of};
use crate::jobs::JobContext;
use crate::model::{SampleKind, Tortilla, padding_file};
use crate::validate;

fn file(id: &str) -> Sample {
    Sample::new_file(id, format!("/data/{id}"), 1)
}

fn scene(id: &str) -> Sample {
    let times = Tortilla::new(vec![file("t0"), file("t1")]);
    Sample::new_folder(
        id,
        Tortilla::new(vec![
            file("before"),
            Sample::new_folder("s2", times),
            file("label"),
        ]),
    )
}

fn dataset(samples: Vec<Sample>) -> Dataset {
    Dataset {
        root: Tortilla::new(samples).into(),
        ..Dataset::default()
    }
}

fn children(sample: &mut Sample) -> &mut Vec<Sample> {
    match &mut sample.payload {
        Payload::Folder(children) => &mut Arc::make_mut(children).samples,
        _ => panic!("is a FOLDER"),
    }
}

fn tree_findings(dataset: &Dataset) -> Vec<Finding> {
    let report = validate::dataset(dataset, &JobContext::default()).expect("checks");
    report
        .findings
        .into_iter()
        .filter(|finding| !matches!(finding.at, Location::Collection(_)))
        .collect()
}

fn damaged(random: &mut ChaCha8Rng) -> Dataset {
    let mut samples: Vec<Sample> = (0..9).map(|n| scene(&format!("r{n}"))).collect();
    for _ in 0..1 + random.next_u32() % 3 {
        let index = random.next_u32() as usize % 4;
        let kind = random.next_u32() % 9;
        if samples[index].children().is_none() {
            continue;
        }
        let parts = children(&mut samples[index]);
        match kind {
            0 => drop(parts.pop()),
            1 => parts.push(file("extra")),
            2 => parts.reverse(),
            3 => parts[0] = file("befor"),
            4 if parts.len() > 1 && parts[1].children().is_some() => {
                drop(children(&mut parts[1]).remove(0))
            }
            5 => parts[0] = Sample::new_folder("before", Tortilla::new(vec![file("inside")])),
            6 => drop(parts.remove(0)),
            7 => samples[index] = file(&format!("lone{index}")),
            _ => samples[index].id = "r8".into(),
        }
    }
    dataset(samples)
}

/// The fix of one root, applied to all roots of the same shape.
fn fix_alike(
    dataset: &Dataset,
    structure: &Structure,
    tray: &TrayIndex,
    root: usize,
) -> Option<(Edit, u64)> {
    let alike = (0..structure.roots()).filter(|&other| structure.has_same_shape(root, other));
    let kinds = Kinds::default();
    let label = |roots| format!("{roots} alike");
    fix_each_root(dataset, structure, tray, &kinds, alike, |_| true, label)
}

#[test]
fn a_fix_removes_its_finding_and_adds_none_of_its_kind_and_undoes() {
    let mut tried = 0;
    for seed in 0..150 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let before = damaged(&mut random);
        let structure = Structure::from_dataset(&before);
        let findings = tree_findings(&before);
        for finding in &findings {
            let fixes = fixes_of(
                &before,
                &structure,
                finding,
                &TrayIndex::default(),
                &Kinds::default(),
            );
            assert!(!fixes.is_empty(), "seed {seed}: nothing mends {finding:?}");
            for fix in fixes {
                let mut after = before.clone();
                let inverse = fix.edit.clone().apply(&mut after).expect("applies");
                let left = tree_findings(&after);
                let key = |finding: &Finding| {
                    (
                        finding.rule,
                        finding.at.to_string(),
                        finding.message.clone(),
                    )
                };
                // Removing a root moves the rows after it, so findings are compared by id.
                let twin = |list: &[Finding]| {
                    list.iter()
                        .filter(|other| key(other) == key(finding))
                        .count()
                };
                assert!(
                    twin(&left) < twin(&findings),
                    "seed {seed}: {} left {finding:?}",
                    fix.label
                );
                let kind = |list: &[Finding]| {
                    list.iter()
                        .filter(|other| other.rule == finding.rule)
                        .count()
                };
                assert!(
                    kind(&left) < kind(&findings),
                    "seed {seed}: {} after {finding:?}: {left:#?}",
                    fix.label
                );
                inverse.apply(&mut after).expect("undoes");
                assert_eq!(after, before, "seed {seed}: {}", fix.label);
                tried += 1;
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

#[test]
fn missing_files_are_placed_when_one_matches_and_padded_otherwise() {
    let mut samples: Vec<Sample> = (0..4).map(|n| scene(&format!("r{n}"))).collect();
    children(&mut samples[2]).remove(0);
    let data = dataset(samples);
    let structure = Structure::from_dataset(&data);
    let finding = &tree_findings(&data)[0];
    let unplaced = vec![
        Unplaced::file("/new/r2_before.tif", 7),
        Unplaced::file("/new/r3_before.tif", 7),
        Unplaced::file("/new/r22_before.tif", 7),
    ];
    // At level 0 the containing folder says nothing about the root; the file name contains the
    // root's id.
    let fixes = fixes_of(
        &data,
        &structure,
        finding,
        &TrayIndex::from_files(unplaced.clone().into()),
        &Kinds::default(),
    );
    let labels: Vec<&str> = fixes.iter().map(|fix| fix.label.as_str()).collect();
    assert_eq!(
        labels,
        ["Place r2_before.tif as before", "Pad before", "Drop r2"]
    );
    assert_eq!(
        fixes.iter().map(|fix| fix.care).collect::<Vec<_>>(),
        [Care::Safe, Care::Safe, Care::Removes]
    );
    let mut content = Content {
        dataset: data.clone(),
        tray: unplaced.clone().into(),
    };
    fixes[0]
        .edit
        .clone()
        .apply_to(&mut content)
        .expect("places");
    assert_eq!(
        &*content.tray,
        &unplaced[1..],
        "what is placed is no longer in the tray"
    );
    let (edit, _) = fix_safe(
        &data,
        &structure,
        &TrayIndex::from_files(unplaced.clone().into()),
        &Kinds::default(),
    )
    .expect("has a gap");
    let mut safe = Content {
        dataset: data.clone(),
        tray: unplaced.clone().into(),
    };
    edit.apply_to(&mut safe).expect("places");
    assert_eq!(safe, content);
    let two = vec![unplaced[0].clone(), Unplaced::file("/b/r2_before.png", 1)];
    let fixes = fixes_of(
        &data,
        &structure,
        finding,
        &TrayIndex::from_files(two.into()),
        &Kinds::default(),
    );
    assert_eq!(
        fixes[0].label, "Pad before",
        "two files fit: nobody guesses"
    );
}

#[test]
fn a_folder_of_several_files_does_not_become_an_empty_file() {
    for inside in [
        vec![file("x"), file("y")],
        Vec::new(),
        vec![padding_file(0)],
    ] {
        let mut samples: Vec<Sample> = (0..5).map(|n| scene(&format!("r{n}"))).collect();
        let odd = children(&mut samples[1]);
        odd[0] = Sample::new_folder("before", Tortilla::new(inside));
        odd.pop();
        children(&mut samples[2]).pop();
        let data = dataset(samples);
        let structure = Structure::from_dataset(&data);
        let tray: Arc<[Unplaced]> = ["/new/r1_label.tif", "/new/r2_label.tif"]
            .map(|path| Unplaced::file(path, 7))
            .into();
        let index = TrayIndex::from_files(tray.clone());
        let fixes = fixes_of(
            &data,
            &structure,
            &fault_of(&data, 1).expect("is there"),
            &index,
            &Kinds::default(),
        );
        assert_eq!(
            fixes
                .iter()
                .map(|fix| fix.label.as_str())
                .collect::<Vec<_>>(),
            ["Drop r1"]
        );
        assert_eq!(fix_alike(&data, &structure, &index, 1), None);
        // The other roots are fixed, and the unused file stays in the tray.
        let (edit, roots) =
            fix_safe(&data, &structure, &index, &Kinds::default()).expect("r2 can be mended");
        let mut content = Content {
            dataset: data.clone(),
            tray: tray.clone(),
        };
        edit.apply_to(&mut content).expect("applies");
        assert_eq!((roots, &*content.tray), (1, &tray[..1]));
        assert_eq!(content.dataset.root.samples[1], data.root.samples[1]);
    }
}

#[test]
fn padding_of_the_wrong_type_becomes_padding_of_the_right_one() {
    let mended = |samples: Vec<Sample>| {
        let data = dataset(samples);
        let structure = Structure::from_dataset(&data);
        let fixes = fixes_of(
            &data,
            &structure,
            &fault_of(&data, 1).expect("is there"),
            &TrayIndex::default(),
            &Kinds::default(),
        );
        let (edit, _) = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default())
            .expect("can be mended");
        let mut mended = data.clone();
        edit.apply(&mut mended).expect("applies");
        assert!(!Structure::from_dataset(&mended).worst(1).is_fault());
        (
            fixes[0].label.clone(),
            fixes[0].verb,
            fixes[0].care,
            mended.root.samples[1].clone(),
        )
    };
    let all_padding = |sample: &Sample| {
        let children = sample.children().expect("is a FOLDER");
        sample.is_padding()
            && !children.samples.is_empty()
            && children.samples.iter().all(Sample::is_padding)
    };
    let whole = || {
        (0..4)
            .map(|n| scene(&format!("r{n}")))
            .collect::<Vec<Sample>>()
    };
    let mut samples = whole();
    children(&mut samples[1])[1] = padding_file(6);
    let (label, verb, care, root) = mended(samples);
    let s2 = &root.children().expect("is a FOLDER").samples[1];
    assert_eq!(
        (label.as_str(), verb, care),
        ("Pad s2", FixVerb::Pad, Care::Safe)
    );
    assert_eq!(&*s2.id, "__TACOPAD__6");
    assert!(all_padding(s2), "{s2:?}");

    let mut samples = whole();
    samples[1] = padding_file(6);
    let (_, verb, care, root) = mended(samples);
    assert_eq!(
        (verb, care, &*root.id),
        (FixVerb::Pad, Care::Safe, "__TACOPAD__6")
    );
    assert!(all_padding(&root), "{root:?}");

    let mut samples = whole();
    let folder = Sample::new_folder(
        "__TACOPAD__6",
        Tortilla::new(vec![padding_file(0), padding_file(1)]),
    );
    children(&mut samples[1])[0] = folder;
    let (_, verb, care, root) = mended(samples);
    let before = &root.children().expect("is a FOLDER").samples[0];
    assert_eq!((verb, care), (FixVerb::Pad, Care::Safe));
    assert_eq!(
        (&*before.id, before.kind(), before.size_bytes()),
        ("__TACOPAD__6", SampleKind::File, 0)
    );
}

#[test]
fn safe_fixes_and_padding_are_one_step() {
    let mut samples: Vec<Sample> = (0..6).map(|n| scene(&format!("r{n}"))).collect();
    children(&mut samples[1]).remove(1);
    children(&mut samples[2]).reverse();
    children(&mut samples[3]).push(file("extra"));
    let data = dataset(samples);
    let structure = Structure::from_dataset(&data);
    let (edit, roots) = fill_missing(&data, &structure).expect("has a gap");
    let mut padded = data.clone();
    edit.apply(&mut padded).expect("applies");
    assert_eq!((roots, tree_findings(&padded).len()), (1, 2));
    let s2 = &padded.root.samples[1]
        .children()
        .expect("is a FOLDER")
        .samples[1];
    assert_eq!(
        (&*s2.id, s2.children().map(|t| t.samples.len())),
        ("__TACOPAD__1", Some(2))
    );
    let (edit, roots) =
        fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default()).expect("has fixes");
    let mut mended = data.clone();
    edit.apply(&mut mended).expect("applies");
    assert_eq!(
        (roots, tree_findings(&mended).len()),
        (2, 1),
        "the sample too much stays"
    );
    let (edit, _) = fix_alike(&data, &structure, &TrayIndex::default(), 3).expect("has a fix");
    edit.apply(&mut mended).expect("applies");
    assert_eq!(tree_findings(&mended), []);
}

#[test]
fn only_another_spelling_of_a_name_is_renamed() {
    let scene = |id: &str, parts: &[&str]| {
        Sample::new_folder(
            id,
            Tortilla::new(parts.iter().map(|part| file(part)).collect()),
        )
    };
    let whole = ["after.tif", "before.tif"];
    let labels = |odd: &[&str]| {
        let data = dataset(vec![
            scene("a", &whole),
            scene("b", odd),
            scene("c", &whole),
        ]);
        let structure = Structure::from_dataset(&data);
        let fixes = fixes_of(
            &data,
            &structure,
            &tree_findings(&data)[0],
            &TrayIndex::default(),
            &Kinds::default(),
        );
        let safe = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default());
        (
            fixes
                .iter()
                .map(|fix| (fix.changes().join("; "), fix.care))
                .collect::<Vec<_>>(),
            safe.is_some(),
        )
    };
    let drop = ("Drop b".to_owned(), Care::Removes);
    let padded = ("Pad 1, drop 1; Drop label.tif".to_owned(), Care::Removes);
    assert_eq!(
        labels(&["after.tif", "label.tif"]),
        (vec![padded, drop.clone()], false)
    );
    let renamed = ("S2_before_v2.tif → before.tif".to_owned(), Care::Ids);
    assert_eq!(
        labels(&["after.tif", "S2_before_v2.tif"]),
        (vec![renamed, drop.clone()], false)
    );
    // Two files could be the one that is missing.
    let (fixes, safe) = labels(&["after.tif", "before_v1.tif", "before_v2.tif"]);
    assert!(
        fixes.iter().all(|(_, care)| *care == Care::Removes) && !safe,
        "{fixes:?}"
    );

    let data = dataset(vec![
        scene("a", &whole),
        scene("b", &["after.tif", "befor.tif"]),
        scene("c", &whole),
    ]);
    let (_, roots) = fix_safe(
        &data,
        &Structure::from_dataset(&data),
        &TrayIndex::default(),
        &Kinds::default(),
    )
    .expect("is a slip");
    assert_eq!(roots, 1);

    // When many roots have the other spelling, it is ambiguous which is intended.
    let slip = ["after.tif", "befor.tif"];
    let mut roots = vec![scene("a", &whole), scene("b", &whole), scene("c", &whole)];
    roots.extend(["d", "e", "f"].map(|id| scene(id, &slip)));
    let data = dataset(roots);
    assert_eq!(
        fix_safe(
            &data,
            &Structure::from_dataset(&data),
            &TrayIndex::default(),
            &Kinds::default()
        ),
        None
    );
}

#[test]
fn another_date_is_not_the_expected_one_under_another_name() {
    let series = |id: &str, days: &[&str]| {
        let ids: Vec<String> = days.iter().map(|day| format!("202001{day}.tif")).collect();
        Sample::new_folder(id, Tortilla::new(ids.iter().map(|id| file(id)).collect()))
    };
    let fixes = |samples: Vec<Sample>| {
        let data = dataset(samples);
        let structure = Structure::from_dataset(&data);
        let finding = fault_of(&data, 1).expect("is there");
        let fixes = fixes_of(
            &data,
            &structure,
            &finding,
            &TrayIndex::default(),
            &Kinds::default(),
        );
        let safe = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default());
        assert_eq!(
            fill_missing(&data, &structure),
            safe,
            "only padding is safe here"
        );
        let labels: Vec<Vec<String>> = fixes.iter().map(Fix::changes).collect();
        (labels, safe.is_some())
    };
    let days = ["01", "06", "11", "16"];
    let other = ["03", "08", "13", "18", "23", "28"];
    for odd in [&other[..], &other[..4], &other[..2]] {
        let found = fixes(vec![
            series("a", &days),
            series("b", odd),
            series("c", &days),
        ]);
        assert_eq!(found, (vec![vec!["Drop b".to_owned()]], false), "{odd:?}");
    }
    // Every root has dates of its own: nothing is the pattern, and nothing follows from it.
    let tie = || ["01", "03", "05", "07", "09"].map(|day| series(day, &[day, "20"][..1]));
    assert_eq!(fixes(tie().into()), (Vec::new(), false));
    // What the pattern lacks is named before it is dropped.
    let more = ["01", "06", "11", "16", "21", "26"];
    let (labels, safe) = fixes(vec![
        series("a", &days),
        series("b", &more),
        series("c", &days),
    ]);
    let drops = vec![
        "Drop 20200121.tif".to_owned(),
        "Drop 20200126.tif".to_owned(),
    ];
    assert_eq!(
        (labels, safe),
        (vec![drops, vec!["Drop b".to_owned()]], false)
    );
}

#[test]
fn a_fix_never_gives_a_label_the_id_of_an_image() {
    let scene = |id: &str, parts: &[&str]| {
        let file = |part: &&str| Sample::new_file(part, format!("/data/{id}/{part}"), 9);
        Sample::new_folder(id, Tortilla::new(parts.iter().map(file).collect()))
    };
    let whole = ["after.tif", "before.tif", "label.tif"];
    let odd = [
        "Label_FINAL.TIF",
        "after_20200101.tif",
        "before_20190101.tif",
    ];
    let names = |samples: &[Sample]| {
        let data = dataset(samples.to_vec());
        let structure = Structure::from_dataset(&data);
        let image =
            |path: &str| path.contains("after") || path.contains("before") || path.contains("pic");
        let kinds = Kinds::new(move |path: &crate::model::AssetPath| {
            let (dtype, bands) = if image(&path.to_vsi()) {
                ("UInt16", 3)
            } else {
                ("Byte", 1)
            };
            Some(FileKind::Raster {
                dtype: dtype.into(),
                bands,
                size: (8, 8),
                crs: Some("EPSG:4326".into()),
            })
        });
        let finding = fault_of(&data, 1).expect("is there");
        let fixes = fixes_of(&data, &structure, &finding, &TrayIndex::default(), &kinds);
        let mut mended = data.clone();
        fixes[0].edit.clone().apply(&mut mended).expect("applies");
        let children = mended.root.samples[1].children().expect("is a FOLDER");
        let pairs: Vec<String> = children
            .samples
            .iter()
            .map(|child| match &child.payload {
                Payload::Asset { path, .. } => {
                    format!(
                        "{} = {}",
                        child.id,
                        path.to_vsi().rsplit('/').next().unwrap_or_default()
                    )
                }
                _ => child.id.to_string(),
            })
            .collect();
        (fixes[0].clone(), pairs)
    };
    let three = |odd: &[&str]| [scene("a", &whole), scene("b", odd), scene("c", &whole)];
    // Names are alike although the order of names differs.
    let (fix, pairs) = names(&three(&odd));
    let right = [
        "after.tif = after_20200101.tif",
        "before.tif = before_20190101.tif",
        "label.tif = Label_FINAL.TIF",
    ];
    assert_eq!(pairs, right);
    assert_eq!(
        fix.label,
        "Rename all 3 to match: after_20200101.tif → after.tif, …"
    );
    let shown = [
        "after_20200101.tif → after.tif",
        "before_20190101.tif → before.tif",
        "Label_FINAL.TIF → label.tif",
    ];
    assert_eq!(fix.changes(), shown);
    // A name that says nothing is not guessed from the kind of file.
    let (fix, _) = names(&three(&["aaa.tif", "before.tif", "pic.tif"]));
    assert_eq!((fix.care, fix.renames), (Care::Removes, Vec::new()));
    // Only an image is left for the position of the label: it is not renamed.
    let (fix, pairs) = names(&three(&["after.tif", "before.tif", "pic.tif"]));
    assert_eq!(fix.care, Care::Removes, "{}", fix.label);
    assert!(
        pairs.iter().all(|pair| !pair.contains("pic.tif")),
        "{pairs:?}"
    );
}

#[test]
fn a_file_is_wrapped_only_when_unambiguous() {
    let scene = |id: &str, parts: &[&str]| {
        Sample::new_folder(
            id,
            Tortilla::new(parts.iter().map(|part| file(part)).collect()),
        )
    };
    let whole = ["after.tif", "before.tif"];
    let wrapped = |odd: &str, parts: &[&str]| {
        let data = dataset(vec![scene("a", parts), file(odd), scene("c", parts)]);
        let structure = Structure::from_dataset(&data);
        let finding = tree_findings(&data)
            .into_iter()
            .find(|finding| finding.rule == Rule::PitMixed)
            .expect("is mixed");
        let fixes = fixes_of(
            &data,
            &structure,
            &finding,
            &TrayIndex::default(),
            &Kinds::default(),
        );
        let safe = fix_safe(&data, &structure, &TrayIndex::default(), &Kinds::default()).is_some();
        assert_eq!(fixes[0].care, if safe { Care::Safe } else { Care::Removes });
        let mut mended = data.clone();
        fixes[0].edit.clone().apply(&mut mended).expect("applies");
        let inside = mended.root.samples[1]
            .children()
            .expect("is a FOLDER")
            .samples
            .clone();
        inside
            .into_iter()
            .find(|sample| !sample.is_padding())
            .map(|sample| sample.id.to_string())
            .filter(|_| safe)
    };
    assert_eq!(wrapped("b_before.tif", &whole), Some("before.tif".into()));
    assert_eq!(wrapped("b", &["image.tif"]), Some("image.tif".into()));
    // Which of the two it is cannot be known: all that is offered is to drop it.
    assert_eq!(wrapped("b", &whole), None);
}
