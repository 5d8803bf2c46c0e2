//! Every rule has a broken dataset that violates it, with location and a helpful message; a valid
//! dataset has no findings. Copies of a small dataset are damaged in process.

mod cases;
mod damage;
mod good;
mod index;
mod pixels;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use taco_studio::container::{Format, OpenOptions, open};
use taco_studio::error::Kind;
use taco_studio::jobs::JobContext;
use taco_studio::model::{AssetPath, Dataset, FINDINGS_KEPT, Profile, Report, Rule};
use taco_studio::validate::{CheckOptions, HeaderCache};
use taco_studio::{ops, studio, validate};

use cases::{Case, Damage};
pub use damage::{Files, patch_both};
pub use good::{FILES, Good, ROOTS, options};

/// A profile that contains the rule; preferably that of the tools.
fn profile_of(rule: Rule) -> Profile {
    if rule.applies_to(Profile::Tools) {
        Profile::Tools
    } else {
        Profile::Spec
    }
}

fn check_draft(dataset: &Dataset, profile: Profile) -> Report {
    let ctx = JobContext::default();
    let mut report = validate::dataset_with(dataset, None, profile, &ctx).expect("a report");
    let sources = validate::sources(dataset, &HeaderCache::default(), &ctx).expect("a report");
    report.findings.extend(sources.findings);
    report
}

fn check_path(path: &Path) -> Report {
    check_path_as(path, Profile::Tools)
}

fn check_path_as(path: &Path, profile: Profile) -> Report {
    let options = CheckOptions {
        profile,
        deep: true,
        ..CheckOptions::default()
    };
    let open = OpenOptions::default();
    validate::path_with(path, &open, &options, &JobContext::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn listed(report: &Report) -> String {
    let line =
        |f: &taco_studio::model::Finding| format!("  {} at {}: {}\n", f.rule, f.at, f.message);
    report.findings.iter().map(line).collect()
}

/// The reports on the broken datasets of a case; two when ZIP and FOLDER are damaged alike.
fn reports(good: &Good, case: &Case) -> Vec<(&'static str, Report)> {
    let folder = tempfile::tempdir_in(good.workspace.path("")).expect("a folder");
    let zip = folder.path().join("broken.tacozip");
    let write = |bytes: &[u8]| std::fs::write(&zip, bytes).expect("an archive");
    let damaged = |from: Files, change: fn(&mut Files)| {
        let mut files = from;
        change(&mut files);
        files
    };
    let profile = profile_of(case.rule);
    let mut found = Vec::new();
    match case.damage {
        Damage::Draft(change) => {
            let mut dataset = good.dataset.clone();
            change(&mut dataset);
            found.push(("draft", check_draft(&dataset, profile)));
        }
        Damage::Bytes(change) => {
            let mut bytes = std::fs::read(&good.zip).expect("the archive");
            change(&mut bytes);
            write(&bytes);
            found.push(("ZIP", check_path_as(&zip, profile)));
        }
        Damage::Members(change) => {
            write(&damaged(Files::of_zip(&good.zip), change).to_zip());
            found.push(("ZIP", check_path_as(&zip, profile)));
        }
        Damage::Place(name) => {
            let place = folder.path().join(name);
            std::fs::create_dir(&place).expect("a folder");
            std::fs::copy(&good.zip, place.join("good.tacozip")).expect("a copy");
            found.push(("ZIP", check_path_as(&place.join("good.tacozip"), profile)));
            Files::of_folder(&good.folder).write_folder(&place.join("good"));
            found.push(("FOLDER", check_path_as(&place.join("good"), profile)));
        }
        Damage::Folder(change) => {
            damaged(Files::of_folder(&good.folder), change).write_folder(folder.path());
            found.push(("FOLDER", check_path_as(folder.path(), profile)));
        }
        #[cfg(unix)]
        Damage::Disk(change) => {
            let place = folder.path().join("set");
            Files::of_folder(&good.folder).write_folder(&place);
            change(&place);
            found.push(("FOLDER", check_path_as(&place, profile)));
        }
        Damage::Both(change) => {
            damaged(Files::of_folder(&good.folder), change).write_folder(folder.path());
            found.push(("FOLDER", check_path_as(folder.path(), profile)));
            write(&damaged(Files::of_zip(&good.zip), change).to_zip());
            found.push(("ZIP", check_path_as(&zip, profile)));
        }
    }
    found
}

#[test]
fn the_good_dataset_has_no_finding() {
    let good = Good::new();
    assert_eq!(listed(&check_draft(&good.dataset, Profile::Tools)), "");
    assert_eq!(listed(&check_path(&good.zip)), "");
    assert_eq!(listed(&check_path(&good.folder)), "");
    // The archive built by the test code is as valid as the writer's, so findings come from the
    // damage.
    let again = good
        .workspace
        .write("again.tacozip", Files::of_zip(&good.zip).to_zip());
    assert_eq!(listed(&check_path(&again)), "");
}

#[test]
fn every_rule_has_a_case() {
    let cases = cases::all()
        .iter()
        .map(|case| case.rule)
        .collect::<Vec<_>>();
    let shown: BTreeSet<Rule> = cases
        .into_iter()
        .chain(index::rules())
        .chain(pixels::rules())
        .chain(crate::legacy::rules())
        .chain(crate::togs::rules())
        .chain(crate::consistency::rules())
        .chain(crate::places::rules())
        .chain(crate::taco3::rules())
        .collect();
    // Its case makes symbolic links.
    let absent = |rule: &Rule| cfg!(not(unix)) && *rule == Rule::FolderLink;
    let missing: Vec<_> = Rule::ALL
        .iter()
        .filter(|rule| !shown.contains(rule) && !absent(rule))
        .map(|rule| rule.code())
        .collect();
    assert!(
        missing.is_empty(),
        "rules without a broken dataset in tests/rules/cases.rs: {missing:?}"
    );
}

#[test]
fn every_case_is_found_where_it_is() {
    let good = Good::new();
    let mut wrong = String::new();
    for case in cases::all() {
        for (what, report) in reports(&good, &case) {
            let shown = |finding: &&taco_studio::model::Finding| {
                finding.rule == case.rule
                    && finding.at.to_string() == case.at
                    && finding.message.contains(case.says)
            };
            if report.findings.iter().filter(shown).count() == 0 {
                let Case { rule, at, says, .. } = &case;
                wrong += &format!(
                    "{what}: no {rule} at {at} with {says:?}, but\n{}",
                    listed(&report)
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_has_a_dataset_that_breaks_nothing_else() {
    let good = Good::new();
    let mut with: BTreeMap<Rule, BTreeSet<String>> = BTreeMap::new();
    for case in cases::all() {
        for (_, report) in reports(&good, &case) {
            let others: BTreeSet<&str> = report
                .findings
                .iter()
                .map(|finding| finding.rule)
                .filter(|rule| *rule != case.rule)
                .map(Rule::code)
                .collect();
            let others = others.into_iter().collect::<Vec<_>>().join(" ");
            with.entry(case.rule).or_default().insert(others);
        }
    }
    // These cannot be violated alone; the other findings are consequences.
    let never_alone = [
        (Rule::ZipOverlap, "ZIP-7"),
        (Rule::ZipName, "ZIP-9"),
        (Rule::FolderPath, "DIR-2 ID-1 META-6 META-7"),
    ];
    let mut wrong = String::new();
    for (rule, others) in &with {
        let expected = never_alone
            .iter()
            .find(|(known, _)| known == rule)
            .map_or("", |(_, others)| others);
        if !others.contains(expected) {
            wrong += &format!("{rule}: {others:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn the_other_profile_does_not_make_the_rule() {
    let good = Good::new();
    let ctx = JobContext::default();
    let mut dataset = good.dataset.clone();
    dataset.collection.set("taco_version", Some("0.5.0".into()));
    assert!(
        validate::dataset(&dataset, &ctx)
            .expect("a report")
            .findings
            .is_empty()
    );
    let codes = |profile| {
        let report = validate::dataset_with(&dataset, None, profile, &ctx).expect("a report");
        report
            .findings
            .iter()
            .map(|finding| finding.rule.code())
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(Profile::Spec), ["COL-12", "COL-13"]);
    let mut files = Files::of_zip(&good.zip);
    files.drop_column("METADATA/level0.parquet", "internal:current_id");
    let path = good.workspace.write("old.tacozip", files.to_zip());
    let has = |profile| {
        let options = CheckOptions {
            profile,
            ..CheckOptions::default()
        };
        validate::path_with(&path, &OpenOptions::default(), &options, &ctx)
            .expect("a report")
            .has(Rule::NoCurrentId)
    };
    assert!(has(Profile::Tools) && !has(Profile::Spec));
}

#[test]
fn many_findings_of_one_rule_are_summarized() {
    let good = Good::new();
    let mut dataset = good.dataset.clone();
    let extra = 1_345;
    let samples = (0..FINDINGS_KEPT + extra)
        .map(|number| taco_studio::model::Sample::new_file(&format!("a:{number}"), "/x", 1));
    dataset.root = std::sync::Arc::new(taco_studio::model::Tortilla::new(samples.collect()));
    let report = validate::dataset(&dataset, &JobContext::default()).expect("a report");
    let of_ids: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.rule == Rule::IdCharacters)
        .collect();
    assert_eq!(of_ids.len(), FINDINGS_KEPT + 1);
    assert_eq!(
        of_ids.last().map(|last| last.message.as_str()),
        Some("And 1,345 more of ID-1.")
    );
}

#[test]
fn rules_are_printed_as_text_json_and_markdown() {
    let good = Good::new();
    let listed = good
        .workspace
        .studio(["rules", "--json"])
        .expect_code(0)
        .json();
    let listed = listed.as_array().expect("a list");
    assert_eq!(listed.len(), Rule::ALL.len());
    for (json, rule) in listed.iter().zip(Rule::ALL) {
        assert_eq!(
            (&json["rule"], &json["fix"]),
            (&rule.code().into(), &rule.fix().into())
        );
    }
    assert!(
        good.workspace
            .studio(["rules"])
            .expect_code(0)
            .stdout
            .contains("META-9  warning, section 8.3, profile tools only")
    );
    let table = good
        .workspace
        .studio(["rules", "--markdown"])
        .expect_code(0)
        .stdout;
    assert_eq!(table.lines().count(), Rule::ALL.len() + 2);
}

#[test]
fn sarif_names_rules_and_files() {
    let good = Good::new();
    let mut files = Files::of_zip(&good.zip);
    files.put("README.md", "hello");
    let path = good.workspace.write("stray.tacozip", files.to_zip());
    let arguments = [
        "validate".as_ref(),
        path.as_os_str(),
        "--format".as_ref(),
        "sarif".as_ref(),
    ];
    let log = good.workspace.studio(arguments).expect_code(0).json();
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!(
        (&log["version"], &result["ruleId"], &result["level"]),
        (&"2.1.0".into(), &"ZIP-9".into(), &"warning".into())
    );
    let index = result["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "ZIP-9");
    let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        .as_str()
        .expect("a URI");
    assert!(
        uri.starts_with("file:///") && uri.ends_with("/stray.tacozip"),
        "{uri}"
    );
}

#[test]
fn messages_are_sentences() {
    let good = Good::new();
    for case in cases::all() {
        for (what, report) in reports(&good, &case) {
            for finding in &report.findings {
                let message = &finding.message;
                assert!(
                    message.ends_with('.') && !message.contains("..."),
                    "{what} {}: {message}",
                    case.rule
                );
                assert!(
                    !message.contains('\n') && !message.contains('\0'),
                    "{what} {}: {message:?}",
                    case.rule
                );
            }
        }
    }
}

#[test]
fn names_that_some_systems_merge_are_findings_and_no_folder_is_written_with_them() {
    let good = Good::new();
    let ctx = JobContext::default();
    let (composed, decomposed) = ("Ca\u{f1}on", "Can\u{303}on");
    for (pair, rule) in [
        ([composed, decomposed], Rule::IdUnicode),
        (["Scene", "SCENE"], Rule::IdPortable),
        ([composed, "CAN\u{303}ON"], Rule::IdPortable),
    ] {
        let mut dataset = good.dataset.clone();
        let root = std::sync::Arc::make_mut(&mut dataset.root);
        for (sample, id) in root.samples.iter_mut().zip(pair) {
            sample.id = id.into();
        }
        let codes = |report: &Report| {
            report
                .findings
                .iter()
                .map(|finding| finding.rule)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            codes(&validate::dataset(&dataset, &ctx).expect("a report")),
            [rule],
            "{pair:?}"
        );
        let (zip, folder) = (
            good.workspace.path("twins.tacozip"),
            good.workspace.path("twins"),
        );
        let refused = ops::checked_build(&dataset, &good::options(&folder, Format::Folder), &ctx)
            .expect_err("is refused");
        assert!(
            refused.kind() == Kind::Invalid && refused.report().contains(".tacozip"),
            "{}",
            refused.report()
        );
        assert!(!folder.exists(), "{pair:?}");
        ops::checked_build(&dataset, &good::options(&zip, Format::Zip), &ctx)
            .expect("an archive holds every name");
        assert_eq!(codes(&check_path(&zip)), [rule], "{pair:?}");
        std::fs::remove_file(&zip).expect("removed");
    }
}

#[test]
fn a_lost_source_stops_the_writer_before_it_begins() {
    let good = Good::new();
    let lost = good.workspace.path("sources/scene_b/after.bin");
    std::fs::remove_file(&lost).expect("removed");
    let target = good.workspace.path("out/new.tacozip");
    let error = ops::checked_build(
        &good.dataset,
        &good::options(&target, Format::Zip),
        &JobContext::default(),
    );
    let error = error.expect_err("a source is gone");
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(
        error.report().contains("SRC-1 at scene_b / after.bin"),
        "{}",
        error.report()
    );
    assert!(!good.workspace.path("out").exists(), "the output was begun");
}

#[test]
fn ids_that_lead_outside_are_never_followed() {
    let good = Good::new();
    good.workspace.write("secret.bin", "not yours");
    let mut files = Files::of_folder(&good.folder);
    files.set_text("METADATA/level0.parquet", "id", 0, "..");
    files.set_text("METADATA/level1.parquet", "id", 0, "../secret.bin");
    let broken = good.workspace.path("broken");
    files.write_folder(&broken);
    let reader = open(&broken, &JobContext::default()).expect("opens");
    for (level, rows) in [(0, ROOTS.len()), (1, ROOTS.len() * FILES.len())] {
        for row in 0..rows as u32 {
            if let Ok((AssetPath::File(path), _)) = reader.asset(level, row) {
                assert!(
                    path.starts_with(broken.join("DATA")) && !path.to_string_lossy().contains(".."),
                    "{}",
                    path.display()
                );
            }
        }
    }
    assert!(reader.asset(1, 0).is_err());
}

#[test]
fn a_copy_of_a_broken_dataset_is_broken_in_the_same_place() {
    let good = Good::new();
    let mut files = Files::of_folder(&good.folder);
    // Rows 3 to 5 are the children of scene_b.
    files.table("METADATA/level1.parquet", |columns| {
        for (_, array) in columns {
            let rows = arrow::array::UInt32Array::from(vec![0, 1, 2, 6, 7, 8]);
            *array = arrow::compute::take(array, &rows, None).expect("rows");
        }
    });
    let broken = good.workspace.path("broken");
    files.write_folder(&broken);
    let mut studio = studio::Studio::new(taco_studio::jobs::Jobs::quiet());
    studio.set_live_check(false);
    for command in [
        studio::Command::Open { path: broken },
        studio::Command::Fork,
        studio::Command::Validate {
            deep: true,
            profile: Profile::Tools,
        },
    ] {
        studio.run_to_end(command, &mut |_| {}).expect("works");
    }
    let draft = studio
        .document()
        .and_then(studio::Document::draft)
        .expect("a draft")
        .dataset();
    let counts: Vec<usize> = draft
        .root
        .samples
        .iter()
        .map(|root| root.children().map_or(0, |below| below.samples.len()))
        .collect();
    assert_eq!(counts, [3, 0, 3]);
    let places: Vec<String> = studio
        .report()
        .findings
        .iter()
        .map(|f| format!("{} {}", f.rule, f.at))
        .collect();
    assert_eq!(places, ["PIT-5 scene_b", "PIT-1 scene_b"]);
}
