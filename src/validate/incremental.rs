//! Incremental validation of a draft while editing: returns the same findings as the full check,
//! but examines only roots that changed. The rules are those of the other files, applied to one
//! root at a time.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{collection, conventions, pit, schema};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{
    Dataset, FINDINGS_KEPT, Finding, Location, MAX_LEVELS, MostCommonShape, Profile, Report,
    RootShapes, Rule, RuleSettings, Sample, SamplePath, ShapeId, Skeleton, Tortilla,
    check_portable_name, check_sample_id, without_case,
};

/// State of the last check; one per draft.
#[derive(Default)]
pub struct LiveCheck {
    shapes: RootShapes,
    /// Roots by id, for duplicates.
    ids: HashMap<Arc<str>, u32>,
    /// Number of ids that occur more than once among the roots.
    twins: usize,
    /// Number of distinct ids of roots by the hash of their names without case.
    names: HashMap<u64, u32>,
    /// Number of names of roots that several ids share.
    shared_names: usize,
    /// Findings by root, with rows relative to the root's first row on each level. `None`: not
    /// checked.
    found: Vec<Option<Arc<[Finding]>>>,
    /// The reference that `found` was computed against.
    against: Option<Against>,
    /// Whether a shape conforms to the model, by shape number.
    conforming: Vec<Option<bool>>,
    /// Whether a list of schemas equals those of the levels, by number.
    uniform: Vec<Option<bool>>,
    /// True for roots with an invalid id.
    bad_ids: Vec<bool>,
}

#[derive(PartialEq)]
struct Against {
    model: ShapeId,
    /// The root chosen by the user as the pattern.
    chosen: Option<usize>,
    /// False when no shape is common, so that roots are not compared with the model.
    is_common: bool,
    /// For each level below 0: the root with the level's reference schema, and the schema's number.
    schemas: Vec<(usize, u32)>,
    root_schema: crate::model::Schema,
    /// Language of the findings.
    language: crate::text::Language,
}

impl LiveCheck {
    /// Checks a draft. The findings equal those of [`super::dataset_with`] with the same `pattern`,
    /// except that beyond a thousand roots with findings, roots are counted instead of findings.
    ///
    /// # Errors
    /// When the job is cancelled.
    pub fn check(
        &mut self,
        dataset: &Dataset,
        pattern: Option<&str>,
        ctx: &JobContext,
    ) -> Result<Report> {
        self.update(dataset);
        ctx.check()?;
        let mut report = Report::default();
        let roots = &dataset.root.samples;
        self.check_roots(dataset, &mut report);
        let chosen = pattern.and_then(|id| roots.iter().position(|sample| *sample.id == *id));
        let picked = chosen.map(|index| MostCommonShape {
            shape: self.shapes.roots()[index].shape,
            first_root: index,
            is_common: true,
        });
        if let Some(common) = picked.or_else(|| self.shapes.most_common()) {
            let against = Against {
                model: common.shape,
                chosen,
                is_common: common.is_common,
                schemas: self.reference_schemas(),
                root_schema: dataset.root.schema.clone(),
                language: crate::text::current_language(),
            };
            if self.against.as_ref() != Some(&against) {
                self.found.iter_mut().for_each(|found| *found = None);
                self.conforming.clear();
                self.uniform.clear();
                self.against = Some(against);
            }
            self.check_below(dataset, common.first_root, &mut report, ctx)?;
        }
        conventions::check_draft(dataset, &mut report);
        collection::check_collection(&dataset.collection, &mut report);
        if roots.is_empty() {
            report.add(
                Rule::PitRoots,
                Location::Dataset,
                tr!("The dataset has no samples. Drop files or folders to begin."),
            );
        }
        Ok(super::finish_report(
            report,
            Profile::default(),
            &RuleSettings::default(),
        ))
    }

    fn update(&mut self, dataset: &Dataset) {
        let old = self.shapes.tortilla().clone();
        let changes = self.shapes.update(&dataset.root);
        if changes.is_rebuilt {
            *self = Self {
                shapes: std::mem::take(&mut self.shapes),
                ..Self::default()
            };
            self.found = vec![None; dataset.root.samples.len()];
            self.bad_ids = dataset.root.samples.iter().map(bad_id).collect();
            dataset
                .root
                .samples
                .iter()
                .for_each(|sample| self.count(&sample.id, 1));
            return;
        }
        let aligned = changes.before.len() == changes.after.len();
        if aligned {
            for &index in &changes.touched {
                self.count(&old.samples[index].id, -1);
                self.count(&dataset.root.samples[index].id, 1);
                self.found[index] = None;
                self.bad_ids[index] = bad_id(&dataset.root.samples[index]);
            }
        } else {
            old.samples[changes.before.clone()]
                .iter()
                .for_each(|sample| self.count(&sample.id, -1));
            dataset.root.samples[changes.after.clone()]
                .iter()
                .for_each(|sample| self.count(&sample.id, 1));
            self.bad_ids.splice(
                changes.before.clone(),
                dataset.root.samples[changes.after.clone()]
                    .iter()
                    .map(bad_id),
            );
            self.found.splice(
                changes.before,
                std::iter::repeat_n(None, changes.after.len()),
            );
        }
    }

    fn count(&mut self, id: &Arc<str>, by: i32) {
        let entry = self.ids.entry(id.clone()).or_default();
        let twin = *entry > 1;
        let was_known = *entry > 0;
        *entry = entry.saturating_add_signed(by);
        let (twin_now, is_known) = (*entry > 1, *entry > 0);
        if !is_known {
            self.ids.remove(id);
        }
        match (was_known, is_known) {
            (false, true) => self.count_name(id, 1),
            (true, false) => self.count_name(id, -1),
            _ => {}
        }
        match (twin, twin_now) {
            (false, true) => self.twins += 1,
            (true, false) => self.twins -= 1,
            _ => {}
        }
    }

    /// Counts an id that appears among the roots, or is there no more.
    fn count_name(&mut self, id: &str, by: i32) {
        let mut hasher = DefaultHasher::new();
        without_case(id).hash(&mut hasher);
        let entry = self.names.entry(hasher.finish()).or_default();
        let was_shared = *entry > 1;
        *entry = entry.saturating_add_signed(by);
        match (was_shared, *entry > 1) {
            (false, true) => self.shared_names += 1,
            (true, false) => self.shared_names -= 1,
            _ => {}
        }
        if *entry == 0 {
            self.names.remove(&hasher.finish());
        }
    }

    /// For each level, the first root with FOLDERs and the schema of its first tortilla, which is
    /// the level's reference.
    fn reference_schemas(&self) -> Vec<(usize, u32)> {
        let mut levels: Vec<(usize, u32)> = Vec::new();
        let mut seen = HashSet::new();
        let list_count = self.shapes.used_schema_lists().count();
        for (index, root) in self.shapes.roots().iter().enumerate() {
            if !seen.insert(root.schema_list) {
                continue;
            }
            for &(level, schema) in self.shapes.shapes().schema_list(root.schema_list) {
                let place = level as usize - 1;
                if place == levels.len() {
                    // A root with several schemas is examined in any case, so either may be
                    // recorded.
                    levels.push((index, schema));
                }
            }
            // Stops when all lists of schemas, or all levels, are covered.
            if seen.len() == list_count || levels.len() >= MAX_LEVELS * 2 {
                break;
            }
        }
        levels
    }

    /// Checks level 0 as a whole: duplicate ids, mixed types, depth.
    fn check_roots(&self, dataset: &Dataset, report: &mut Report) {
        let samples = &dataset.root.samples;
        if self.twins > 0 {
            let mut seen = HashSet::with_capacity(samples.len());
            for (row, sample) in samples.iter().enumerate() {
                if !seen.insert(&sample.id) {
                    let message = tr!(
                        "Duplicate id {id} among siblings. Rename or drop one of them.",
                        id = sample.id
                    );
                    report.add(Rule::IdUnique, at_root(sample, row), message);
                }
            }
        }
        for (row, twin) in pit::unicode_twins(samples.iter().map(|sample| &*sample.id)) {
            let message = pit::unicode_message(&samples[row].id, &samples[twin].id);
            report.add(Rule::IdUnicode, at_root(&samples[row], row), message);
        }
        if self.shared_names > 0 {
            for (row, twin) in pit::case_twins(samples.iter().map(|sample| &*sample.id)) {
                let message = pit::case_message(&samples[row].id, &samples[twin].id);
                report.add(Rule::IdPortable, at_root(&samples[row], row), message);
            }
        }
        let shapes = self.shapes.shapes();
        let deepest = self
            .shapes
            .used_shapes()
            .map(|(shape, _)| shapes.descendant_counts(shape).len() + 1)
            .max()
            .unwrap_or(0);
        if deepest > MAX_LEVELS {
            // The tree is limited to twice the maximum depth.
            let levels = deepest.min(MAX_LEVELS * 2);
            let message = tr!(
                "The dataset is {levels} levels deep; {limit} is the limit.",
                levels,
                limit = MAX_LEVELS
            );
            report.add(Rule::PitDepth, Location::Dataset, message);
        }
        let held = self
            .shapes
            .used_shapes()
            .filter(|(shape, _)| shapes.is_folder(*shape));
        let folders: usize = held.map(|(_, count)| count as usize).sum();
        if folders != 0 && folders != samples.len() {
            // This rule depends on the types of level 0 only.
            let bare = samples.iter().map(|sample| match sample.children() {
                Some(_) => Sample::new_folder(&sample.id, Tortilla::default()),
                None => Sample {
                    id: sample.id.clone(),
                    payload: crate::model::Payload::Bytes(Arc::from([])),
                    values: Arc::from([]),
                },
            });
            let tree = Skeleton::from_dataset(&Dataset {
                root: Tortilla::new(bare.collect()).into(),
                ..Dataset::default()
            });
            let mut mixed = Report::default();
            pit::check_tree(&tree, None, &mut mixed);
            mixed
                .findings
                .into_iter()
                .filter(|finding| finding.rule == Rule::PitMixed)
                .for_each(|finding| report.push(finding));
        }
    }

    /// All other checks, root by root.
    fn check_below(
        &mut self,
        dataset: &Dataset,
        model: usize,
        report: &mut Report,
        ctx: &JobContext,
    ) -> Result<()> {
        let Some(against) = &self.against else {
            return Ok(());
        };
        let shapes = self.shapes.shapes();
        let (folder, is_common) = (shapes.is_folder(against.model), against.is_common);
        let conforms = |shape: ShapeId| {
            shapes.is_folder(shape) != folder || shapes.conforms(against.model, shape)
        };
        if !is_common && self.shapes.used_shapes().any(|(shape, _)| !conforms(shape)) {
            let sizes = self
                .shapes
                .used_shapes()
                .map(|(shape, _)| shapes.descendant_count(shape))
                .collect();
            pit::report_tie(dataset.root.samples.len(), sizes, report);
        }
        field_names(dataset, &against.schemas)
            .into_iter()
            .for_each(|finding| report.push(finding));
        let mut starts = vec![0u32; MAX_LEVELS * 2 + 1];
        // When no shape, schema and id in use is invalid, no root is.
        let sound = self.bad_ids.iter().all(|bad| !bad)
            && self.shapes.used_shapes().all(|(shape, _)| {
                get_or_find(&mut self.conforming, shape, || {
                    !is_common || conforms(shape)
                }) && !shapes.is_faulty(shape)
            })
            && self.shapes.used_schema_lists().all(|(list, _)| {
                get_or_find(&mut self.uniform, list, || {
                    are_uniform(shapes.schema_list(list), &against.schemas)
                })
            });
        if sound {
            return Ok(());
        }
        let (mut looked_at, mut left) = (0, 0usize);
        for (index, root) in self.shapes.roots().iter().enumerate() {
            if index % 4096 == 0 {
                ctx.check()?;
            }
            let sample = &dataset.root.samples[index];
            let conforms = get_or_find(&mut self.conforming, root.shape, || {
                !is_common || conforms(root.shape)
            });
            let is_uniform = || are_uniform(shapes.schema_list(root.schema_list), &against.schemas);
            let is_uniform = get_or_find(&mut self.uniform, root.schema_list, is_uniform);
            if !conforms || !is_uniform || self.bad_ids[index] || shapes.is_faulty(root.shape) {
                if looked_at == FINDINGS_KEPT {
                    left += 1;
                } else {
                    looked_at += 1;
                    let found = self.found[index].get_or_insert_with(|| {
                        let compared = if conforms {
                            None
                        } else {
                            Some(&dataset.root.samples[model])
                        };
                        check_root(
                            dataset,
                            sample,
                            compared,
                            &against.schemas,
                            shapes.descendant_counts(root.shape),
                        )
                        .into()
                    });
                    found
                        .iter()
                        .for_each(|finding| report.push(shift_finding_row(finding, &starts)));
                }
            }
            starts[0] += 1;
            for (start, count) in starts[1..]
                .iter_mut()
                .zip(shapes.descendant_counts(root.shape))
            {
                *start += count;
            }
        }
        if left > 0 {
            *report.more.entry(Rule::PitRoots).or_default() += left;
        }
        Ok(())
    }
}

/// True when a root has the reference schemas of the levels.
fn are_uniform(schemas: &[(u8, u32)], levels: &[(usize, u32)]) -> bool {
    schemas.iter().all(|&(level, schema)| {
        levels
            .get(level as usize - 1)
            .is_some_and(|known| known.1 == schema)
    })
}

fn bad_id(sample: &Sample) -> bool {
    check_sample_id(&sample.id).is_err() || check_portable_name(&sample.id).is_err()
}

fn get_or_find(known: &mut Vec<Option<bool>>, number: u32, find: impl FnOnce() -> bool) -> bool {
    let place = number as usize;
    if place >= known.len() {
        known.resize(place + 1, None);
    }
    *known[place].get_or_insert_with(find)
}

fn at_root(sample: &Sample, row: usize) -> Location {
    Location::Sample {
        level: 0,
        row: row as u32,
        path: SamplePath(vec![sample.id.clone()]),
    }
}

/// The findings of one root: ids, empty FOLDERs, differences from the model, schemas.
fn check_root(
    dataset: &Dataset,
    sample: &Sample,
    model: Option<&Sample>,
    schemas: &[(usize, u32)],
    counts: &[u32],
) -> Vec<Finding> {
    // The root is placed last, so that its rows are the last of every level.
    let mut samples: Vec<Sample> = schemas
        .iter()
        .filter_map(|&(index, _)| dataset.root.samples.get(index).cloned())
        .collect();
    samples.dedup_by(|a, b| a.id == b.id);
    samples.extend(model.cloned());
    samples.push(sample.clone());
    let (last, before) = (samples.len() - 1, samples.len().saturating_sub(2));
    let mini = Dataset {
        root: Tortilla {
            schema: dataset.root.schema.clone(),
            samples,
        }
        .into(),
        ..Dataset::default()
    };
    let tree = Skeleton::from_dataset(&mini);
    let mut report = Report::default();
    pit::check_ids(&tree, None, &mut report);
    pit::check_case(&tree, false, &mut report);
    pit::check_empty(&tree, &mut report);
    if model.is_some() {
        pit::compare(&tree, 0, before as u32, last as u32, &mut report);
    }
    schema::check_draft(&mini, &tree, &mut report);
    report.findings.retain_mut(|finding| match &mut finding.at {
        Location::Sample { level, row, .. } => {
            let first = find_first_row(&tree, counts, last, *level);
            let mine = *row >= first;
            *row = row.saturating_sub(first);
            // Roots are compared with each other as a whole.
            mine && !(matches!(finding.rule, Rule::IdUnique | Rule::IdUnicode) && *level == 0)
        }
        // Field names are reported once per level.
        _ => false,
    });
    report.findings
}

/// The first row on a level of what is below the root in row `last`, which comes last. `counts` has
/// the number of its descendants by level.
fn find_first_row(tree: &Skeleton, counts: &[u32], last: usize, level: usize) -> u32 {
    match level.checked_sub(1) {
        None => last as u32,
        Some(below) => (tree.levels[level].len() as u32)
            .saturating_sub(counts.get(below).copied().unwrap_or(0)),
    }
}

fn field_names(dataset: &Dataset, schemas: &[(usize, u32)]) -> Vec<Finding> {
    let mut samples: Vec<Sample> = schemas
        .iter()
        .filter_map(|&(index, _)| dataset.root.samples.get(index).cloned())
        .collect();
    samples.dedup_by(|a, b| a.id == b.id);
    if samples.is_empty() {
        samples.extend(dataset.root.samples.first().cloned());
    }
    let mini = Dataset {
        root: Tortilla {
            schema: dataset.root.schema.clone(),
            samples,
        }
        .into(),
        ..Dataset::default()
    };
    let mut report = Report::default();
    schema::check_draft(&mini, &Skeleton::from_dataset(&mini), &mut report);
    report
        .findings
        .retain(|finding| finding.rule == Rule::FieldName);
    report.findings
}

/// The finding with its row number in the whole level.
fn shift_finding_row(finding: &Finding, starts: &[u32]) -> Finding {
    let mut finding = finding.clone();
    if let Location::Sample { level, row, .. } = &mut finding.at {
        *row += starts.get(*level).copied().unwrap_or(0);
    }
    finding
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::model::{FieldSpec, Payload, padding_file};

    fn file(id: &str) -> Sample {
        Sample::new_file(id, "/x", 1)
    }

    fn scene(id: &str) -> Sample {
        let times = Tortilla::new(vec![file("t0"), file("t1")]);
        Sample::new_folder(
            id,
            Tortilla::new(vec![
                Sample::new_folder("s2", times),
                file("label"),
                file("mask"),
            ]),
        )
    }

    fn sorted(report: Report) -> Vec<String> {
        let mut lines: Vec<String> = report
            .findings
            .iter()
            .map(|finding| format!("{finding:?}"))
            .collect();
        lines.sort();
        lines
    }

    fn damage(samples: &mut Vec<Sample>, random: &mut ChaCha8Rng) {
        let index = random.next_u32() as usize % samples.len();
        let kind = random.next_u32() % 13;
        // Twins in case and in Unicode form, among roots and below.
        match kind {
            10 => {
                return samples[index].id =
                    ["R1", "Caf\u{e9}", "Cafe\u{301}", "CAFE\u{301}"][index % 4].into();
            }
            11 => {
                let Payload::Folder(children) = &mut samples[index].payload else {
                    return;
                };
                return Arc::make_mut(children).samples.push(file("LABEL"));
            }
            _ => {}
        }
        let Payload::Folder(children) = &mut samples[index].payload else {
            samples[index] = scene("again");
            return;
        };
        let children = Arc::make_mut(children);
        match kind {
            0 => drop(children.samples.pop()),
            1 => children.samples.push(file("extra")),
            2 => children.samples.reverse(),
            3 => {
                children.schema =
                    vec![FieldSpec::new("cloud", arrow::datatypes::DataType::Float64)].into()
            }
            4 => children.samples.insert(0, file("a:b")),
            5 => children.samples.push(padding_file(9)),
            12 => children
                .samples
                .extend([file("Caf\u{e9}"), file("Cafe\u{301}")]),
            6 => samples[index] = file("lonely"),
            7 => samples.insert(index, scene("r3")),
            8 => drop(samples.remove(index)),
            _ => children.samples.clear(),
        }
    }

    #[test]
    fn the_incremental_check_equals_the_full_check_after_any_edit() {
        let ctx = JobContext::default();
        for seed in 0..40 {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut samples: Vec<Sample> = (0..12).map(|n| scene(&format!("r{n}"))).collect();
            let mut live = LiveCheck::default();
            for step in 0..12 {
                let dataset = Dataset {
                    root: Tortilla::new(samples.clone()).into(),
                    ..Dataset::default()
                };
                let whole = super::super::dataset(&dataset, &ctx).expect("checks");
                let found = live.check(&dataset, None, &ctx).expect("checks");
                assert_eq!(sorted(found), sorted(whole), "seed {seed}, step {step}");
                let chosen = dataset.root.samples[seed as usize % dataset.root.samples.len()]
                    .id
                    .clone();
                let profile = Profile::default();
                let whole = super::super::dataset_with(&dataset, Some(&chosen), profile, &ctx)
                    .expect("checks");
                let found = live.check(&dataset, Some(&chosen), &ctx).expect("checks");
                assert_eq!(
                    sorted(found),
                    sorted(whole),
                    "pattern {chosen}, seed {seed}, step {step}"
                );
                damage(&mut samples, &mut random);
            }
        }
    }
}
