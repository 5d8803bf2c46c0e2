//! Copies contain the intended data: byte ranges apply only to the version of an archive in which
//! they were found, and data with a wrong CRC-32 is not silently given a new one.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use taco_studio::container::{self, Assembly, BuildOptions, ByteSource, Format, OnDamage};
use taco_studio::error::{Error, Kind};
use taco_studio::jobs::{JobContext, Jobs};
use taco_studio::model::{AssetPath, Collection, Dataset, Payload, Sample, Tortilla};
use taco_studio::ops::{SidecarHandling, checked_build, import_folder};
use taco_studio::raster::{self, RasterSource};
use taco_studio::studio::{Command, Event, Studio, open_project, save_project};
use taco_studio::validate::HeaderCache;
use taco_studio::zip_format::CentralDirectory;

use crate::rules::options;
use crate::support::{Ran, Workspace, fixtures, geotiff, nested_scenes, sha256_of, zips_in};

/// Roots whose files have equal sizes, so that ranges of different files coincide.
fn scenes(workspace: &Workspace, ids: &[&str]) -> Dataset {
    let roots = ids.iter().map(|id| {
        let files = ["a.bin", "b.bin"].map(|name| {
            let path = workspace.write(&format!("scenes/{id}/{name}"), bytes_of(id, name));
            let meta = fs::metadata(&path).expect("is there");
            Sample::from_file_metadata(name, path, &meta)
        });
        Sample::new_folder(id, Tortilla::new(files.to_vec()))
    });
    let mut collection = Collection::template();
    for (key, value) in [
        ("id", json!("alike")),
        ("description", json!("Scenes of one size.")),
        ("licenses", json!(["CC-BY-4.0"])),
        (
            "providers",
            json!([{"name": "Tests", "roles": ["producer"]}]),
        ),
        ("tasks", json!(["classification"])),
    ] {
        collection.set(key, Some(value));
    }
    Dataset {
        collection,
        root: Tortilla::new(roots.collect()).into(),
    }
}

fn bytes_of(id: &str, name: &str) -> Vec<u8> {
    format!("{id}/{name};").repeat(40).into_bytes()
}

const IDS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

fn write(dataset: &Dataset, target: &Path, overwrite: bool) -> Result<container::Built, Error> {
    checked_build(
        dataset,
        &BuildOptions {
            overwrite,
            ..options(target, Format::Zip)
        },
        &JobContext::default(),
    )
}

/// A studio with a copy of the archive open as a draft.
fn forked(path: &Path) -> Studio {
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    studio
        .run_to_end(
            Command::Open {
                path: path.to_owned(),
            },
            &mut |_| {},
        )
        .expect("opens");
    studio
        .run_to_end(Command::Fork, &mut |_| {})
        .expect("forks");
    studio
}

fn remove(studio: &mut Studio, count: u32) {
    let edit = json!({"command": "edit", "edit": "remove", "parent": [], "at": 0, "count": count});
    studio
        .run_to_end(
            serde_json::from_value(edit).expect("a command"),
            &mut |_| {},
        )
        .expect("removes");
}

fn write_draft(studio: &mut Studio, target: &Path) -> Result<Event, Error> {
    let options = BuildOptions {
        overwrite: true,
        ..options(target, Format::Zip)
    };
    studio.run_to_end(Command::Write { options }, &mut |_| {})
}

/// The archive contains these roots, each with its own data, and is valid.
fn expect_roots(workspace: &Workspace, path: &Path, ids: &[&str]) {
    let ctx = JobContext::default();
    let reader = container::open(path, &ctx).expect("opens");
    let tree = reader.levels().skeleton(&ctx).expect("has a tree");
    let found: Vec<&str> = (0..tree.levels[0].len() as u32)
        .map(|row| tree.levels[0].id(row))
        .collect();
    assert_eq!(found, ids);
    for row in 0..tree.levels[1].len() as u32 {
        let (asset, _) = reader.asset(1, row).expect("is there");
        let path = tree.path(1, row);
        let bytes = container::read_asset(&asset).expect("reads");
        assert!(
            bytes == bytes_of(&path.0[0], &path.0[1]),
            "{path} has the bytes of another"
        );
    }
    let arguments: [&OsStr; 3] = ["validate".as_ref(), path.as_os_str(), "--deep".as_ref()];
    assert!(workspace.studio(arguments).code() < 2);
}

#[test]
fn a_draft_written_over_its_archive_never_gives_samples_the_bytes_of_others() {
    let workspace = Workspace::new();
    let (a, b) = (workspace.path("a.tacozip"), workspace.path("b.tacozip"));
    write(&scenes(&workspace, &IDS), &a, false).expect("writes");
    let before = sha256_of(&a);
    let mut studio = forked(&a);
    remove(&mut studio, 1);
    let refused = write_draft(&mut studio, &a).expect_err("would take the place of its own source");
    assert_eq!(refused.kind(), Kind::Usage);
    let report = refused.report();
    assert!(
        report.contains("s1 / a.bin") && report.contains("another name"),
        "{report}"
    );
    assert_eq!(sha256_of(&a), before, "the original is there as it was");
    remove(&mut studio, 3);
    write_draft(&mut studio, &b).expect("writes elsewhere");
    expect_roots(&workspace, &b, &IDS[4..]);
    studio
        .run_to_end(Command::Undo, &mut |_| {})
        .expect("undoes");
    studio
        .run_to_end(Command::Undo, &mut |_| {})
        .expect("undoes");
    write_draft(&mut studio, &b).expect("what undo brought back has its bytes");
    expect_roots(&workspace, &b, &IDS);
}

#[test]
fn a_folder_and_parts_with_the_draft_s_own_files_are_not_written_over() {
    let workspace = Workspace::new();
    let (folder, part) = (workspace.path("set"), workspace.path("set2.tacozip"));
    let dataset = scenes(&workspace, &IDS);
    checked_build(
        &dataset,
        &options(&folder, Format::Folder),
        &JobContext::default(),
    )
    .expect("writes");
    write(&dataset, &part, false).expect("writes");
    let mut studio = forked(&folder);
    let target = BuildOptions {
        overwrite: true,
        ..options(&folder, Format::Folder)
    };
    let refused = studio
        .run_to_end(Command::Write { options: target }, &mut |_| {})
        .expect_err("is refused");
    assert_eq!(refused.kind(), Kind::Usage);
    // A single part has the plain name.
    let mut studio = forked(&part);
    let parts = Some(container::PartOptions {
        size_bytes: Some(1 << 30),
        ..Default::default()
    });
    let target = BuildOptions {
        overwrite: true,
        parts,
        ..options(&part, Format::Zip)
    };
    let refused = studio
        .run_to_end(Command::Write { options: target }, &mut |_| {})
        .expect_err("is refused");
    assert_eq!(refused.kind(), Kind::Usage);
}

/// Replaces the archive at `path` by one with the roots in another order, with equal size and
/// modification time.
fn put_another(workspace: &Workspace, path: &Path) {
    let mut turned = IDS;
    turned.reverse();
    let other = workspace.path("other.tacozip");
    write(&scenes(workspace, &turned), &other, true).expect("writes");
    let time = fs::metadata(path)
        .and_then(|meta| meta.modified())
        .expect("has a time");
    assert_eq!(
        fs::metadata(&other).expect("is there").len(),
        fs::metadata(path).expect("is there").len()
    );
    fs::write(path, fs::read(&other).expect("reads")).expect("writes in place");
    fs::File::options()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(time))
        .expect("sets the time");
}

#[test]
fn an_archive_that_was_rewritten_since_is_refused_by_draft_and_project() {
    let workspace = Workspace::new();
    let (a, b, project) = (
        workspace.path("a.tacozip"),
        workspace.path("b.tacozip"),
        workspace.path("p.tacostudio"),
    );
    write(&scenes(&workspace, &IDS), &a, false).expect("writes");
    let whole = fs::read(&a).expect("reads");
    let mut studio = forked(&a);
    studio
        .run_to_end(
            Command::SaveProject {
                path: Some(project.clone()),
                view: None,
                overwrite: None,
            },
            &mut |_| {},
        )
        .expect("saves");
    let build = |code: i32| {
        let arguments: [&OsStr; 5] = [
            "build".as_ref(),
            project.as_os_str(),
            "-o".as_ref(),
            b.as_os_str(),
            "--overwrite".as_ref(),
        ];
        workspace.studio(arguments).expect_code(code)
    };
    put_another(&workspace, &a);
    let refused = write_draft(&mut studio, &b).expect_err("is another archive");
    assert_eq!(refused.kind(), Kind::Changed, "{}", refused.report());
    assert!(
        refused.report().contains("s0 / a.bin"),
        "{}",
        refused.report()
    );
    assert!(build(2).stderr.contains("s0 / a.bin") && !b.exists());
    // A copy of the same archive, with another modification time.
    fs::write(&a, &whole).expect("writes");
    write_draft(&mut studio, &b).expect("is the archive that was opened");
    expect_roots(&workspace, &b, &IDS);
    build(0);
    expect_roots(&workspace, &b, &IDS);
    // In another folder, with the project next to it.
    let moved = workspace.write("moved/a.tacozip", &whole);
    fs::remove_file(&a).expect("removes");
    fs::copy(&project, workspace.path("moved/p.tacostudio")).expect("copies");
    let project = workspace.path("moved/p.tacostudio");
    let arguments: [&OsStr; 5] = [
        "build".as_ref(),
        project.as_os_str(),
        "-o".as_ref(),
        b.as_os_str(),
        "--overwrite".as_ref(),
    ];
    workspace.studio(arguments).expect_code(0);
    assert!(moved.exists());
    expect_roots(&workspace, &b, &IDS);
}

/// The dataset with ranges of unknown version, as in older projects.
fn without_stamps(tortilla: &Tortilla) -> Tortilla {
    let samples = tortilla.samples.iter().map(|sample| {
        let payload = match &sample.payload {
            Payload::Folder(children) => Payload::Folder(without_stamps(children).into()),
            Payload::Asset {
                path:
                    AssetPath::Range {
                        container,
                        offset,
                        size,
                        ..
                    },
                ..
            } => Payload::asset(AssetPath::range(container.clone(), *offset, *size), *size),
            other => other.clone(),
        };
        Sample {
            payload,
            ..sample.clone()
        }
    });
    Tortilla {
        schema: tortilla.schema.clone(),
        samples: samples.collect(),
    }
}

#[test]
fn ranges_of_older_projects_must_be_members_of_their_archive() {
    let workspace = Workspace::new();
    let ctx = JobContext::default();
    let (a, b, file) = (
        workspace.path("a.tacozip"),
        workspace.path("b.tacozip"),
        workspace.path("p.tacostudio"),
    );
    write(&scenes(&workspace, &IDS), &a, false).expect("writes");
    let studio = forked(&a);
    let Some(taco_studio::studio::Document::Draft(draft)) = studio.document() else {
        panic!("is a draft")
    };
    let mut project = draft.as_project();
    let children = project.content.dataset.root.samples[0]
        .children()
        .expect("is a FOLDER");
    let Payload::Asset { path, .. } = &children.samples[0].payload else {
        panic!("is a file")
    };
    assert!(path.stamp().is_some_and(|stamp| stamp.directory.is_some()));
    save_project(&file, &project, &ctx).expect("saves");
    assert_eq!(
        open_project(&file, &ctx).expect("opens").content,
        project.content,
        "the versions come back"
    );
    project.content.dataset.root = without_stamps(&project.content.dataset.root).into();
    save_project(&file, &project, &ctx).expect("saves");
    let old = open_project(&file, &ctx).expect("opens").content.dataset;
    write(&old, &b, true).expect("the archive is as it was");
    expect_roots(&workspace, &b, &IDS);
    // Another archive with longer names: no member has the offset of a former one.
    let longer = [
        "scene0", "scene1", "scene2", "scene3", "scene4", "scene5", "scene6", "scene7",
    ];
    write(&scenes(&workspace, &longer), &a, true).expect("writes");
    let refused = write(&old, &b, true).expect_err("is another archive");
    assert_eq!(refused.kind(), Kind::Changed, "{}", refused.report());
}

#[test]
fn an_archive_overwritten_while_it_is_read_gives_no_dataset_of_halves() {
    let workspace = Workspace::new();
    let ctx = JobContext::default();
    let (a, b) = (workspace.path("a.tacozip"), workspace.path("b.tacozip"));
    write(&scenes(&workspace, &IDS), &a, false).expect("writes");
    let reader = container::open(&a, &ctx).expect("opens");
    let assembly = Assembly::of_reader(reader.as_ref(), &ctx).expect("lays out");
    let time = fs::metadata(&a)
        .and_then(|meta| meta.modified())
        .expect("has a time");
    put_another(&workspace, &a);
    let later = time + std::time::Duration::from_millis(50);
    fs::File::options()
        .write(true)
        .open(&a)
        .and_then(|file| file.set_modified(later))
        .expect("sets the time");
    for format in [Format::Zip, Format::Folder] {
        let refused = container::write(&assembly, &options(&b, format), &ctx)
            .expect_err("is another archive");
        assert_eq!(refused.kind(), Kind::Changed, "{}", refused.report());
        assert!(
            refused.report().contains("s0 / a.bin") && !b.exists(),
            "{}",
            refused.report()
        );
    }
}

#[test]
fn a_file_modified_after_it_was_added_is_refused() {
    let workspace = Workspace::new();
    let target = workspace.path("b.tacozip");
    let ctx = JobContext::default();
    let mut dataset = scenes(&workspace, &IDS);
    dataset.root = Tortilla::new(
        import_folder(&workspace.path("scenes"), SidecarHandling::Leave, &ctx)
            .expect("imports")
            .0,
    )
    .into();
    let path = workspace.path("scenes/s3/a.bin");
    let time = fs::metadata(&path)
        .and_then(|meta| meta.modified())
        .expect("has a time");
    fs::write(&path, bytes_of("s4", "b.bin")).expect("writes");
    let later = time + std::time::Duration::from_secs(1);
    fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(later))
        .expect("sets the time");
    let refused = write(&dataset, &target, false)
        .expect_err("is another file")
        .report();
    assert!(
        refused.contains("s3 / a.bin") && refused.contains("Add it again"),
        "{refused}"
    );
    // The writers check too, as the validation may be outdated.
    for (format, name) in [(Format::Zip, "c.tacozip"), (Format::Folder, "c")] {
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("lays out");
        let refused = container::write(&assembly, &options(&workspace.path(name), format), &ctx)
            .expect_err("is another file");
        assert_eq!(refused.kind(), Kind::Changed, "{}", refused.report());
        assert!(
            refused.report().contains("s3 / a.bin") && !workspace.path(name).exists(),
            "{}",
            refused.report()
        );
    }
    dataset.root = Tortilla::new(
        import_folder(&workspace.path("scenes"), SidecarHandling::Leave, &ctx)
            .expect("imports")
            .0,
    )
    .into();
    write(&dataset, &target, false).expect("the file as it is now was added");
}

/// A copy of an archive with one byte of a member changed.
fn damaged(workspace: &Workspace, archive: &Path, member: &str, name: &str) -> PathBuf {
    let mut bytes = fs::read(archive).expect("reads");
    let at = bytes
        .windows(member.len())
        .position(|window| window == member.as_bytes())
        .expect("has the member");
    bytes[at + member.len() + 3] ^= 0x40;
    workspace.write(name, bytes)
}

fn run(workspace: &Workspace, arguments: &[&OsStr]) -> Ran {
    workspace.studio(arguments.iter().copied())
}

#[test]
fn no_copy_gives_damaged_bytes_a_new_checksum() {
    let workspace = Workspace::new();
    let (whole, other) = (workspace.path("a.tacozip"), workspace.path("other.tacozip"));
    write(&scenes(&workspace, &IDS), &whole, false).expect("writes");
    write(&scenes(&workspace, &["t0", "t1"]), &other, false).expect("writes");
    let bad = damaged(&workspace, &whole, "DATA/s2/b.bin", "bad.tacozip");
    let sound = run(
        &workspace,
        &["validate".as_ref(), bad.as_os_str(), "--deep".as_ref()],
    )
    .code();
    assert_eq!(sound, 1, "validate sees it");
    let bad_text = bad.as_os_str();
    type Case<'a> = (&'a str, Vec<&'a OsStr>, bool);
    let cases: Vec<Case<'_>> = vec![
        ("zip.tacozip", vec!["convert".as_ref(), bad_text], true),
        ("folder", vec!["convert".as_ref(), bad_text], true),
        (
            "part.tacozip",
            vec![
                "export".as_ref(),
                bad_text,
                "--ids".as_ref(),
                "s1,s2".as_ref(),
            ],
            true,
        ),
        (
            "parts.tacozip",
            vec![
                "convert".as_ref(),
                bad_text,
                "--split-size".as_ref(),
                "2KB".as_ref(),
            ],
            true,
        ),
        (
            "joined.tacozip",
            vec!["concat".as_ref(), other.as_os_str(), bad_text],
            true,
        ),
        ("first.tortilla", vec!["compile".as_ref(), bad_text], true),
        ("togs.tacozip", vec!["optimise".as_ref(), bad_text], true),
        (
            "sample.bin",
            vec!["read".as_ref(), bad_text, "s2/b.bin".as_ref()],
            false,
        ),
    ];
    for (name, verb, json) in cases {
        let out = workspace.path(name);
        let output: Vec<&OsStr> = match verb[0].to_str() {
            Some("convert") => vec![out.as_os_str()],
            Some("read") => vec!["--out".as_ref(), out.as_os_str()],
            _ => vec!["-o".as_ref(), out.as_os_str()],
        };
        let mut arguments = verb.clone();
        arguments.splice(
            2..2,
            if verb[0] == "convert" {
                output.clone()
            } else {
                Vec::new()
            },
        );
        arguments.extend(if verb[0] == "convert" {
            Vec::new()
        } else {
            output
        });
        let stopped = run(&workspace, &arguments).expect_code(2);
        assert!(
            stopped.stderr.contains("damaged") && stopped.stderr.contains("--keep-damaged"),
            "{stopped}"
        );
        assert!(
            name == "sample.bin" || stopped.stderr.contains("s2 / b.bin"),
            "{stopped}"
        );
        let left: Vec<String> = fs::read_dir(workspace.path(""))
            .expect("lists")
            .map(|entry| {
                entry
                    .expect("is there")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .filter(|found| {
                found.starts_with(name.split('.').next().expect("a name")) && *found != "scenes"
            })
            .collect();
        assert_eq!(left, Vec::<String>::new(), "{stopped}");
        arguments.push("--keep-damaged".as_ref());
        if json {
            arguments.push("--json".as_ref());
        }
        let kept = run(&workspace, &arguments).expect_code(1);
        assert_eq!(kept.stderr.matches("damaged: ").count(), 1, "{kept}");
        if json {
            assert_eq!(kept.json()["damaged"], json!(["s2 / b.bin"]), "{kept}");
        }
    }
    let read: [&OsStr; 5] = [
        "read".as_ref(),
        bad_text,
        "s2/b.bin".as_ref(),
        "--out".as_ref(),
        "-".as_ref(),
    ];
    run(&workspace, &read).expect_code(2);
    // A subset without the damaged sample is written, and a valid archive gives exit code 0.
    let part = workspace.path("sound.tacozip");
    run(
        &workspace,
        &[
            "export".as_ref(),
            bad_text,
            "--ids".as_ref(),
            "s4".as_ref(),
            "-o".as_ref(),
            part.as_os_str(),
        ],
    )
    .expect_code(0);
    expect_roots(&workspace, &part, &["s4"]);
}

#[test]
fn damage_in_a_part_of_a_tacocat_and_in_an_archive_of_another_generation_stops_a_copy() {
    let workspace = Workspace::new();
    let golden = |name: &str| {
        let mut folders = fixtures("golden", "TACO_STUDIO_GOLDEN").into_iter();
        folders
            .find(|folder| folder.ends_with(name))
            .expect("is there")
    };
    let from = golden("09_split_tacocat");
    let to = workspace.path("set");
    for name in crate::support::files_below(&from) {
        workspace.write(
            &format!("set/{name}"),
            fs::read(from.join(&name)).expect("reads"),
        );
    }
    let part = zips_in(&to);
    let directory =
        CentralDirectory::read(&ByteSource::open(&part[1]).expect("opens")).expect("reads");
    let mut names = directory.entries.iter().map(|entry| entry.name.to_string());
    let member = names
        .find(|name| name.starts_with("DATA/") && !name.ends_with("__meta__"))
        .expect("a FILE");
    fs::copy(damaged(&workspace, &part[1], &member, "broken"), &part[1]).expect("copies");
    let index = fs::read_dir(&to)
        .expect("lists")
        .map(|entry| entry.expect("is there").path())
        .find(|path| path.ends_with(".tacocat") || path.ends_with("__TACOCAT__"))
        .expect("has an index");
    let out = workspace.path("whole.tacozip");
    let stopped = run(
        &workspace,
        &["convert".as_ref(), index.as_os_str(), out.as_os_str()],
    )
    .expect_code(2);
    let id = member
        .trim_start_matches("DATA/")
        .split('/')
        .next()
        .expect("an id");
    assert!(stopped.stderr.contains(id) && !out.exists(), "{stopped}");
    let three = damaged(
        &workspace,
        &golden("60_v3_zip").join("change.zip"),
        "before.tif",
        "three.zip",
    );
    let out = workspace.path("three.tacozip");
    let stopped = run(
        &workspace,
        &[
            "migrate".as_ref(),
            three.as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
        ],
    )
    .expect_code(2);
    assert!(
        stopped.stderr.contains("damaged") && !out.exists(),
        "{stopped}"
    );
    let arguments: [&OsStr; 6] = [
        "migrate".as_ref(),
        three.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--keep-damaged".as_ref(),
        "--json".as_ref(),
    ];
    let kept: Json = run(&workspace, &arguments).expect_code(1).json();
    assert_eq!(
        kept["built"]["damaged"].as_array().map(Vec::len),
        Some(1),
        "{kept}"
    );
}

#[test]
fn a_draft_made_of_a_damaged_archive_is_written_with_a_list_or_not_at_all() {
    let workspace = Workspace::new();
    let whole = workspace.path("a.tacozip");
    write(&scenes(&workspace, &IDS), &whole, false).expect("writes");
    let bad = damaged(&workspace, &whole, "DATA/s2/b.bin", "bad.tacozip");
    let mut studio = forked(&bad);
    let out = workspace.path("out.tacozip");
    let stopped = write_draft(&mut studio, &out).expect_err("is damaged");
    assert_eq!(stopped.kind(), Kind::Damaged, "{}", stopped.report());
    assert!(
        stopped.report().contains("s2 / b.bin") && !out.exists(),
        "{}",
        stopped.report()
    );
    let kept = BuildOptions {
        on_damage: OnDamage::Keep,
        ..options(&out, Format::Zip)
    };
    let event = studio
        .run_to_end(Command::Write { options: kept }, &mut |_| {})
        .expect("is written");
    let Event::Written(built) = event else {
        panic!("{event:?}")
    };
    assert_eq!(built.damaged, ["s2 / b.bin"]);
}

#[test]
fn a_corrupt_raster_is_named_when_it_is_written_and_counted_by_the_deep_check() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let bytes = fs::read(workspace.path("scenes/scene_9/after.tif")).expect("reads");
    fs::write(
        workspace.path("scenes/scene_9/after.tif"),
        [b"II*\0\x08\0\0\0", &bytes[bytes.len() / 2..]].concat(),
    )
    .expect("writes");
    // Header sound, pixels cut off: only reading them shows it.
    let bytes = fs::read(workspace.path("scenes/scene_10/label.tif")).expect("reads");
    let cut = bytes.len() - 400;
    fs::write(workspace.path("scenes/scene_10/label.tif"), &bytes[..cut]).expect("writes");
    let [scenes, collection, out] =
        ["scenes", "collection.json", "out.tacozip"].map(|name| workspace.path(name));
    let text = |path: &Path| path.display().to_string();
    let arguments = [
        "create",
        &text(&scenes),
        "-o",
        &text(&out),
        "--collection",
        &text(&collection),
    ]
    .map(str::to_owned);
    let made = workspace.studio(arguments).expect_code(0);
    assert!(
        made.stderr.contains("scene_9 / after.tif") && made.stderr.contains("can't be opened"),
        "{made}"
    );
    let deep = workspace
        .studio(["validate", &text(&out), "--deep", "--json"].map(str::to_owned))
        .expect_code(0);
    let report = deep.json();
    let findings = report["findings"].as_array().expect("a list");
    let places: Vec<String> = findings
        .iter()
        .filter(|finding| finding["rule"] == "SRC-2")
        .map(|finding| finding["at"].to_string())
        .collect();
    assert_eq!(places.len(), 2, "{report}");
    assert!(
        places[0].contains("label.tif") && places[1].contains("after.tif"),
        "{places:?}"
    );
    let quick = workspace
        .studio(["validate", &text(&out), "--json"].map(str::to_owned))
        .expect_code(0)
        .json();
    assert!(
        !quick.to_string().contains("SRC-2"),
        "pixels are read by the deep check only: {quick}"
    );
}

#[test]
fn statistics_of_a_draft_are_those_of_what_is_packed_not_seen_through_a_mask_that_stays_behind() {
    use taco_studio::extensions::{ExtensionCall, builtin, run};
    let workspace = Workspace::new();
    let [plain, masked] =
        ["scenes/plain.tif", "scenes/masked.tif"].map(|name| workspace.path(name));
    geotiff(&plain, 1, 32, 3);
    fs::copy(&plain, &masked).expect("a copy");
    // A mask that says that no pixel is valid, as another program leaves it.
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
    let mut mask = driver
        .create_with_band_type::<u8, _>(workspace.path("scenes/masked.tif.msk"), 32, 32, 1)
        .expect("a mask");
    gdal::Metadata::set_metadata_item(&mut mask, "INTERNAL_MASK_FLAGS_1", "2", "").expect("a flag");
    mask.close().expect("a closed file");
    let seen = RasterSource::from_user_path(AssetPath::file(masked.as_path()));
    let tally = raster::tally(&seen, &JobContext::default()).expect("reads");
    let summary = tally
        .summary(0, &[], &JobContext::default())
        .expect("summarizes");
    assert!(
        summary.is_none(),
        "the mask hides every pixel of the file as GDAL opens it"
    );
    let dataset = |image: &Path| {
        let sample = Sample::new_file("a.tif", image, fs::metadata(image).expect("is there").len());
        Dataset {
            root: Tortilla::new(vec![sample]).into(),
            ..Dataset::default()
        }
    };
    let stats = |image: &Path| {
        let call = ExtensionCall {
            extension: "stats".into(),
            ..ExtensionCall::default()
        };
        let run = run(&dataset(image), &[call], &builtin(), &JobContext::default()).expect("runs");
        assert!(run.failures.is_empty(), "{:?}", run.failures);
        run.columns[0][0].values[0].clone()
    };
    assert_eq!(stats(&masked), stats(&plain));
    let report = taco_studio::validate::sources(
        &dataset(&masked),
        &HeaderCache::default(),
        &JobContext::default(),
    )
    .expect("looks");
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.rule == taco_studio::model::Rule::SidecarLeft),
        "{:?}",
        report.findings
    );
}

#[test]
fn sidecars_are_left_packed_or_burned_in_through_the_window() {
    let workspace = Workspace::new();
    for scene in ["a", "b"] {
        for (part, bands) in [("before.tif", 3), ("label.tif", 1)] {
            geotiff(
                &workspace.path(&format!("plain/{scene}/{part}")),
                bands,
                32,
                5,
            );
        }
        // Without coordinates of its own: a world file, a coordinate system and a mask are beside
        // it.
        let image = workspace.path(&format!("scenes/{scene}/before.tif"));
        fs::create_dir_all(image.parent().expect("a parent")).expect("folders");
        fs::rename(
            workspace.path(&format!("plain/{scene}/label.tif")),
            image.with_file_name("label.tif"),
        )
        .expect("moved");
        let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("the GTiff driver");
        let bare = driver
            .create_with_band_type::<u8, _>(&image, 32, 32, 1)
            .expect("a GeoTIFF");
        let mut pixels =
            gdal::raster::Buffer::new((32, 32), (0..32 * 32).map(|i| (i % 251) as u8).collect());
        bare.rasterband(1)
            .and_then(|mut band| band.write((0, 0), (32, 32), &mut pixels))
            .expect("pixels");
        bare.close().expect("a closed file");
        fs::write(
            image.with_extension("tfw"),
            "10\n0\n0\n-10\n500005\n4999995\n",
        )
        .expect("writes");
        fs::write(
            image.with_file_name("before.tif.aux.xml"),
            "<PAMDataset><SRS>EPSG:32633</SRS></PAMDataset>",
        )
        .expect("writes");
        let mut mask = driver
            .create_with_band_type::<u8, _>(image.with_file_name("before.tif.msk"), 32, 32, 1)
            .expect("a mask");
        let mut valid = gdal::raster::Buffer::new(
            (32, 32),
            (0..32 * 32)
                .map(|i| if i % 3 == 0 { 255u8 } else { 0 })
                .collect(),
        );
        mask.rasterband(1)
            .and_then(|mut band| band.write((0, 0), (32, 32), &mut valid))
            .expect("pixels");
        gdal::Metadata::set_metadata_item(&mut mask, "INTERNAL_MASK_FLAGS_1", "2", "")
            .expect("a flag");
        mask.close().expect("a closed file");
    }
    workspace.write("collection.json", crate::support::COLLECTION);
    let text = |path: &Path| path.display().to_string();
    let before = crate::support::files_below(&workspace.path("scenes"));
    let script = workspace.path("sidecars.json");
    crate::support::copy_script("sidecars.json", &script);
    let mut arguments = vec![
        "replay".into(),
        script.into_os_string(),
        "--headless".into(),
    ];
    if let Some(shots) = std::env::var_os("TACO_STUDIO_SHEETS") {
        arguments.extend([
            "--screenshots".into(),
            Path::new(&shots).join("sidecars").into_os_string(),
        ]);
    }
    let ran = workspace.studio(arguments).expect_code(0);
    assert!(ran.stdout.contains("lines did what they should"), "{ran}");
    assert_eq!(
        crate::support::files_below(&workspace.path("scenes")),
        before,
        "the sources stay"
    );
    assert!(!workspace.path("more").exists());
    let [scenes, copies] = ["scenes", "scenes-burned-in"].map(|name| workspace.path(name));
    let compared = workspace
        .python("sidecars.py", [scenes.as_os_str(), copies.as_os_str()])
        .expect_code(0);
    assert_eq!(compared.stdout.trim(), "2", "{compared}");
    let checked = workspace.studio(
        [
            "validate",
            &text(&workspace.path("burned.tacozip")),
            "--deep",
            "--json",
        ]
        .map(str::to_owned),
    );
    assert_eq!(
        checked.expect_code(0).json()["findings"],
        serde_json::json!([])
    );
    // The command line packs and burns in the same way.
    for (choice, rows) in [("leave", 4), ("pack", 10), ("burn-in", 4)] {
        let out = workspace.path(&format!("{choice}.tacozip"));
        let (source, collection) = (text(&scenes), text(&workspace.path("collection.json")));
        let arguments = [
            "create",
            &source,
            "--collection",
            &collection,
            "--sidecars",
            choice,
            "-o",
            &text(&out),
        ];
        workspace
            .studio(arguments.map(str::to_owned))
            .expect_code(0);
        let reader = taco_studio::container::open(&out, &JobContext::default()).expect("opens");
        assert_eq!(reader.levels().rows(1), rows, "{choice}");
    }
}

/// What a clone has in place of a file of Git LFS that was not fetched.
fn lfs_pointer() -> String {
    let hash = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize 12345\n")
}

#[test]
fn pointers_of_git_lfs_are_named_wherever_they_stand_for_a_file() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let create = |extra: &[&str]| {
        let mut arguments = vec!["create", "scenes", "--collection", "collection.json"];
        arguments.extend(extra);
        workspace.studio(arguments)
    };
    create(&["-o", "set"]).expect_code(0);
    let expect_named = |ran: Ran| {
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains("pointer of Git LFS"), "{ran}");
        assert!(ran.code() != 0, "{ran}");
    };
    for name in ["table.csv", "table.parquet", "table.xlsx", "table.geojson"] {
        workspace.write(name, lfs_pointer());
        expect_named(create(&["-o", "other", "--metadata", name]));
    }
    for name in [
        "a.tacozip",
        "a.zip",
        "a.tar.gz",
        "a.tortilla",
        "TACOLLECTION.json",
    ] {
        workspace.write(name, lfs_pointer());
        expect_named(workspace.studio(["inspect", name]));
        let arguments = [
            "create",
            name,
            "-o",
            "other",
            "--collection",
            "collection.json",
        ];
        expect_named(workspace.studio(arguments));
    }
    workspace.write("pointer.json", lfs_pointer());
    let arguments = [
        "create",
        "scenes",
        "-o",
        "other",
        "--collection",
        "pointer.json",
    ];
    expect_named(workspace.studio(arguments));
    // A dataset in a clone, whose tables were not fetched.
    workspace.write("set/METADATA/level0.parquet", lfs_pointer());
    expect_named(workspace.studio(["validate", "set"]));
    // A source that is no raster would be packed unseen.
    workspace.write("scenes/scene_9/before.tif", lfs_pointer());
    expect_named(create(&["-o", "other"]));
    workspace.write("flat/a.npz", lfs_pointer());
    workspace.write("flat/b.npz", lfs_pointer());
    let arguments = [
        "create",
        "flat",
        "-o",
        "other",
        "--collection",
        "collection.json",
    ];
    expect_named(workspace.studio(arguments));
    assert!(!workspace.path("other").exists());
}
