//! Readings of the names: which tokens determine the root, and which the position. Each reading is
//! tried on all files; those that give different placements are returned as alternatives.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cohort::{Cohort, TokenClass, find_word};
use super::grouping::{FileCell, Grouping};
use super::name::{TokenKind, natural_key};
use super::reader::{ExistingStructure, IdPart, IdParts, IdPath, PatternInput};
use super::{Alternative, Example, Nearly, PatternReport, PatternToken, Placement, TokenRole};
use crate::draft::Content;
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Maximum number of readings tried.
const READINGS_MAX: usize = 4096;
/// A token class with more distinct texts than this is taken as a key; with fewer, the user may be
/// asked.
const FEW: usize = 12;

/// Derives patterns from the examples, with the resulting placements and reasons.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for fewer than two examples, or examples that repeat
/// a file or a position.
pub fn find_pattern(
    content: &Content,
    examples: &[Example],
    ctx: &JobContext,
) -> Result<PatternReport> {
    if examples.len() < 2 {
        return Err(Error::usage(
            "at least two files with their positions are needed to find a pattern",
        ));
    }
    for (index, example) in examples.iter().enumerate() {
        if examples[..index]
            .iter()
            .any(|other| other.file == example.file)
        {
            return Err(Error::usage("a file is given twice").at_path(&example.file));
        }
        if examples[..index]
            .iter()
            .any(|other| (&other.root, &other.position) == (&example.root, &example.position))
        {
            return Err(Error::usage("two files have the same position").at_place(&example.root));
        }
    }
    let draft = ExistingStructure::from_dataset(&content.dataset, examples);
    let mut best: Option<PatternReport> = None;
    // First with separators only; words are split from trailing numbers only when that finds no
    // pattern.
    for fine in [false, true] {
        ctx.check()?;
        let report = match Cohort::from_tray(&content.tray, examples, fine) {
            Err(trouble) => PatternReport {
                trouble: Some(trouble),
                ..PatternReport::default()
            },
            Ok(cohort) => PatternInput {
                cohort: &cohort,
                examples,
                draft: &draft,
            }
            .report(ctx)?,
        };
        let done = count_placed_files(&report) > 2 * examples.len();
        if best
            .as_ref()
            .is_none_or(|best| count_placed_files(&report) > count_placed_files(best))
        {
            best = Some(report);
        }
        if done {
            break;
        }
    }
    Ok(best.unwrap_or_default())
}

/// Number of files that the first alternative places.
fn count_placed_files(report: &PatternReport) -> usize {
    let first = report.alternatives.first();
    first.map_or(0, |first| first.placed.len())
}

/// Result of trying one reading.
struct ReadingOutcome {
    roles: Vec<TokenRole>,
    /// The cell of each row; `None` for rows without a position.
    cells: Vec<Option<FileCell>>,
    /// Ids of the roots, by index.
    roots: Vec<Arc<str>>,
    positions: Vec<IdPath>,
    /// Rows that match the pattern but have no position, with the reason.
    excluded: Vec<(usize, String)>,
    /// Number of rows in `excluded` that compete for one position.
    twins: usize,
    placed: usize,
    /// Fraction of the cells (roots × positions) that are filled.
    fill: f64,
    /// Treats every text of a token as a separate root without evidence.
    risky: bool,
    /// The position is determined by the order within the root.
    ordered: bool,
    /// Root ids are composed of tokens.
    named: bool,
}

impl ReadingOutcome {
    fn count_root_classes(&self) -> usize {
        let roles = self.roles.iter();
        roles.filter(|role| **role == TokenRole::Root).count()
    }
}

impl PatternInput<'_> {
    fn value(&self, example: usize, class: usize) -> u32 {
        self.cohort.rows[self.cohort.examples[example]].values[class]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let count = self.examples.len();
        (0..count).flat_map(move |a| (a + 1..count).map(move |b| (a, b)))
    }

    /// True when the class has the same value in all examples with the same `key`.
    fn agrees<K: PartialEq>(&self, class: usize, key: impl Fn(&Example) -> K) -> bool {
        self.pairs().all(|(a, b)| {
            key(&self.examples[a]) != key(&self.examples[b])
                || self.value(a, class) == self.value(b, class)
        })
    }

    /// The first token of a class whose text occurs in the id of every example.
    fn evidence(&self, class: usize, id: impl Fn(&Example) -> String) -> Option<usize> {
        let texts = &self.cohort.classes[class].texts;
        (0..texts.len()).find(|&token| self.is_in_all_ids(class, token, &id))
    }

    /// True when the text of the token occurs in the id of every example.
    fn is_in_all_ids(&self, class: usize, token: usize, id: &impl Fn(&Example) -> String) -> bool {
        let texts = &self.cohort.classes[class].texts[token];
        (0..self.examples.len()).all(|example| {
            let text = texts.get(self.value(example, class) as usize);
            let text = text.map_or("", String::as_str);
            find_word(&id(&self.examples[example]), text).is_some()
        })
    }

    fn report(&self, ctx: &JobContext) -> Result<PatternReport> {
        let root_id = |example: &Example| example.root.to_string();
        let position_id = |example: &Example| example.position.join("/");
        let count = self.cohort.classes.len();
        let in_root: Vec<Option<usize>> = (0..count)
            .map(|class| self.evidence(class, root_id))
            .collect();
        let in_position: Vec<Option<usize>> = (0..count)
            .map(|class| self.evidence(class, position_id))
            .collect();
        let explained = [
            in_root.iter().any(Option::is_some),
            in_position.iter().any(Option::is_some),
        ];
        let choices: Vec<Vec<TokenRole>> = (0..count)
            .map(|class| self.choices(class, explained, &in_root, &in_position))
            .collect();
        if choices
            .iter()
            .map(Vec::len)
            .try_fold(1usize, |total, next| {
                total
                    .checked_mul(next)
                    .filter(|total| *total <= READINGS_MAX)
            })
            .is_none()
        {
            let trouble = tr!(
                "The names are ambiguous. Place another file, or type ids of root and position \
                    that the names contain."
            );
            return Ok(PatternReport {
                trouble: Some(trouble.into()),
                ..PatternReport::default()
            });
        }
        let mut outcomes = Vec::new();
        let mut turn = vec![0usize; count];
        loop {
            ctx.check()?;
            let roles: Vec<TokenRole> = turn
                .iter()
                .zip(&choices)
                .map(|(&at, choices)| choices[at])
                .collect();
            if let Some(outcome) = self.outcome(roles, &in_root, &in_position, false) {
                outcomes.push(outcome);
            }
            let Some(next) = (0..count).find(|&class| turn[class] + 1 < choices[class].len())
            else {
                break;
            };
            turn[next] += 1;
            turn[..next].fill(0);
        }
        if outcomes
            .iter()
            .all(|outcome| outcome.placed <= self.examples.len() + self.cohort.rows.len() / 10)
        {
            outcomes.extend(self.find_ordered_readings(explained[0], &in_root, &in_position));
        }
        Ok(self.build_report(outcomes))
    }

    /// The possible roles of a class, given the examples.
    fn choices(
        &self,
        class: usize,
        explained: [bool; 2],
        in_root: &[Option<usize>],
        in_position: &[Option<usize>],
    ) -> Vec<TokenRole> {
        let found = &self.cohort.classes[class];
        let root = self.agrees(class, |example| example.root.clone());
        let position = self.agrees(class, |example| example.position.clone());
        let same = self.agrees(class, |_| ());
        let (named_root, named_position) = (
            in_root[class].is_some() && root,
            in_position[class].is_some() && position,
        );
        if found.kind == TokenKind::Ending {
            return match (position && (!same || named_position), same) {
                (true, true) => vec![TokenRole::Position, TokenRole::Fixed],
                (true, false) => vec![TokenRole::Position],
                _ => vec![TokenRole::Fixed],
            };
        }
        let mut roles = Vec::new();
        match (named_root, named_position) {
            (true, false) => {
                roles.push(TokenRole::Root);
                roles.extend(self.has_twin(class, in_root).then_some(TokenRole::Free));
            }
            (false, true) => {
                roles.push(TokenRole::Position);
                roles.extend(self.has_twin(class, in_position).then_some(TokenRole::Free));
            }
            (true, true) => roles.extend([TokenRole::Root, TokenRole::Position]),
            (false, false) => {
                roles.extend((root && !explained[0]).then_some(TokenRole::Root));
                roles.extend((position && !same && !explained[1]).then_some(TokenRole::Position));
                roles.push(TokenRole::Free);
                let few = found.kind.is_wordy() && found.distinct() <= FEW;
                roles.extend((same && few).then_some(TokenRole::Fixed));
            }
        }
        roles
    }

    /// True for a text that occurs twice in a name: the id can refer to only one of them.
    fn has_twin(&self, class: usize, named: &[Option<usize>]) -> bool {
        (0..named.len())
            .any(|other| other != class && named[other].is_some() && self.same_texts(class, other))
    }

    /// True when two classes have the same texts in all examples.
    fn same_texts(&self, a: usize, b: usize) -> bool {
        let cohort = self.cohort;
        let text = |example: usize, class| cohort.read_class_text(cohort.examples[example], class);
        (0..self.examples.len()).all(|example| text(example, a) == text(example, b))
    }

    /// How the id of the examples is composed of the tokens with this role: `Some(None)` when it is
    /// not, or not consistently; `None` when two tokens would be the same part of it.
    fn parts(
        &self,
        roles: &[TokenRole],
        role: TokenRole,
        named: &[Option<usize>],
        id: impl Fn(&Example) -> String,
    ) -> Option<Option<IdParts>> {
        let Some(first) = self.examples.first().map(&id) else {
            return Some(None);
        };
        let mut spans: Vec<(std::ops::Range<usize>, usize, usize)> = Vec::new();
        for (class, found) in self
            .cohort
            .classes
            .iter()
            .enumerate()
            .filter(|(class, _)| roles[*class] == role)
        {
            if named[class].is_none() {
                return Some(None);
            }
            for (token, text) in found.texts_of(self.value(0, class)).enumerate() {
                let Some(span) = find_word(&first, text) else {
                    continue;
                };
                match spans
                    .iter()
                    .find(|known| known.0.start < span.end && span.start < known.0.end)
                {
                    Some(known) if known.1 != class => return None,
                    Some(_) => {}
                    None => spans.push((span, class, token)),
                }
            }
        }
        if spans.is_empty() {
            return Some(None);
        }
        spans.sort_by_key(|span| span.0.start);
        let (mut parts, mut last) = (IdParts::new(), 0);
        for (span, class, token) in spans {
            parts.push(IdPart::Text(first[last..span.start].to_owned()));
            parts.push(IdPart::Token { class, token });
            last = span.end;
        }
        parts.push(IdPart::Text(first[last..].to_owned()));
        let holds = |example: usize| {
            self.compose_id(&parts, self.cohort.examples[example]) == id(&self.examples[example])
        };
        Some((0..self.examples.len()).all(holds).then_some(parts))
    }

    /// Tries one reading on all files; `None` when it contradicts the examples.
    fn outcome(
        &self,
        roles: Vec<TokenRole>,
        in_root: &[Option<usize>],
        in_position: &[Option<usize>],
        ordered: bool,
    ) -> Option<ReadingOutcome> {
        let cohort = self.cohort;
        let root_parts = self.parts(&roles, TokenRole::Root, in_root, |example| {
            example.root.to_string()
        })?;
        let position_parts = self.parts(&roles, TokenRole::Position, in_position, |example| {
            example.position.join("/")
        })?;
        let named = root_parts.is_some();
        let mut tried = Grouping::new(self, &roles, root_parts, position_parts);
        tried.register_examples(ordered)?;
        let mut cells: Vec<Option<FileCell>> = vec![None; cohort.rows.len()];
        let mut excluded: Vec<(usize, String)> = Vec::new();
        let model = &cohort.rows[*cohort.examples.first()?];
        for (row, found) in cohort.rows.iter().enumerate() {
            let fixed = (0..roles.len()).find(|&class| {
                roles[class] == TokenRole::Fixed && found.values[class] != model.values[class]
            });
            if let Some(class) = fixed {
                let text = cohort.read_class_text(row, class);
                let wanted = cohort.read_class_text(*cohort.examples.first()?, class);
                excluded.push((
                    row,
                    tr!("it has {text} where the pattern has {wanted}", text, wanted),
                ));
                continue;
            }
            let root = tried.assign_root(row);
            let position = if ordered {
                0
            } else {
                tried.assign_position(row)
            };
            cells[row] = Some(FileCell { root, position });
        }
        if ordered {
            tried.assign_positions_by_order(&mut cells, &mut excluded)?
        } else {
            tried.exclude_uncertain_files(&mut cells, &mut excluded)
        }
        let twins = self.exclude_twins(&tried, &mut cells, &mut excluded);
        let shown = cohort.examples.iter().all(|&row| cells[row].is_some());
        let used: HashSet<u32> = cells.iter().flatten().map(|cell| cell.root).collect();
        let wide: HashSet<u32> = cells.iter().flatten().map(|cell| cell.position).collect();
        let placed = cells.iter().flatten().count();
        let risky = (0..roles.len())
            .any(|class| self.is_risky(class, roles[class], in_root[class].is_some()));
        let fill = placed as f64 / (used.len() * wide.len()).max(1) as f64;
        let (roots, positions) = (tried.roots, tried.positions);
        shown.then_some(ReadingOutcome {
            roles,
            cells,
            roots,
            positions,
            excluded,
            twins,
            placed,
            fill,
            risky,
            ordered,
            named,
        })
    }

    /// A token with few texts and no evidence: each text may be a separate root, or the rare ones
    /// may not belong to the pattern.
    fn is_risky(&self, class: usize, role: TokenRole, named: bool) -> bool {
        let found: &TokenClass = &self.cohort.classes[class];
        if named || !found.kind.is_wordy() || found.distinct() > FEW {
            return false;
        }
        let shown: Vec<u32> = (0..self.examples.len())
            .map(|example| self.value(example, class))
            .collect();
        let odd = self
            .cohort
            .rows
            .iter()
            .filter(|row| !shown.contains(&row.values[class]))
            .count();
        role == TokenRole::Root
            || (role == TokenRole::Free && odd > 0 && odd * 10 < self.cohort.rows.len())
    }

    /// Excludes files that compete for one position, and files whose position is occupied. Returns
    /// the number of the former.
    fn exclude_twins(
        &self,
        tried: &Grouping<'_, '_>,
        cells: &mut [Option<FileCell>],
        excluded: &mut Vec<(usize, String)>,
    ) -> usize {
        let mut twins = 0;
        let mut counts: HashMap<FileCell, u32> = HashMap::new();
        cells
            .iter()
            .flatten()
            .for_each(|cell| *counts.entry(*cell).or_default() += 1);
        for (row, cell) in cells.iter_mut().enumerate() {
            let Some(own) = *cell else {
                continue;
            };
            let (root, path) = (
                &tried.roots[own.root as usize],
                &tried.positions[own.position as usize],
            );
            let place = || join_place(root, path);
            let example = self.cohort.examples.iter().position(|&shown| shown == row);
            if counts.get(&own).is_some_and(|count| *count > 1) && example.is_none() {
                excluded.push((row, tr!("several files match {place}", place = place())));
                twins += 1;
                *cell = None;
            } else if self.cohort.rows[row].file.is_some()
                && self
                    .draft
                    .filled
                    .get(root)
                    .is_some_and(|filled| filled.contains(path))
            {
                excluded.push((row, tr!("{place} exists already", place = place())));
                *cell = None;
            }
        }
        twins
    }

    /// Readings in which the position is determined by order, such as the earlier and the later
    /// file.
    fn find_ordered_readings(
        &self,
        explained: bool,
        in_root: &[Option<usize>],
        in_position: &[Option<usize>],
    ) -> Vec<ReadingOutcome> {
        let mut found = Vec::new();
        for class in 0..self.cohort.classes.len() {
            let kind = self.cohort.classes[class].kind;
            let differs = self.pairs().any(|(a, b)| {
                self.examples[a].root == self.examples[b].root
                    && self.value(a, class) != self.value(b, class)
            });
            if !differs || !matches!(kind, TokenKind::Date | TokenKind::Number) {
                continue;
            }
            let roles = (0..self.cohort.classes.len())
                .map(|other| self.choose_role_beside(class, other, explained, in_root))
                .collect();
            found.extend(self.outcome(roles, in_root, in_position, true));
        }
        found
    }

    /// The role of the class `other` where the order of `class` determines the position.
    fn choose_role_beside(
        &self,
        class: usize,
        other: usize,
        explained: bool,
        in_root: &[Option<usize>],
    ) -> TokenRole {
        if other == class {
            TokenRole::Position
        } else if in_root[other].is_some()
            || (!explained && self.agrees(other, |example| example.root.clone()))
        {
            TokenRole::Root
        } else {
            TokenRole::Free
        }
    }

    /// Keeps the plausible outcomes, drops those implied by others, and describes the rest.
    fn build_report(&self, mut outcomes: Vec<ReadingOutcome>) -> PatternReport {
        let rows = self.cohort.rows.len();
        outcomes
            .retain(|outcome| outcome.fill >= 0.5 && outcome.twins * 20 <= outcome.placed.max(20));
        // Among readings with equal placements, the one with the fewest tokens in root ids is kept.
        outcomes.sort_by(|a, b| {
            b.placed
                .cmp(&a.placed)
                .then(b.fill.total_cmp(&a.fill))
                .then(a.count_root_classes().cmp(&b.count_root_classes()))
        });
        let most = outcomes.first().map_or(0, |outcome| outcome.placed);
        let mut kept: Vec<ReadingOutcome> = Vec::new();
        for outcome in outcomes {
            let covered = kept.iter().any(|known| {
                let within = is_extended_by(&outcome.cells, &known.cells);
                within
                    && same_ids(&outcome, known)
                    && (!known.risky || outcome.risky || outcome.placed == known.placed)
            });
            let safe_known = kept.iter().any(|known| !known.risky);
            if covered || (outcome.placed * 10 < most * 6 && (outcome.risky || safe_known)) {
                continue;
            }
            kept.push(outcome);
        }
        // Readings without assumptions first.
        kept.sort_by_key(|outcome| outcome.risky);
        let alternatives: Vec<Alternative> = kept
            .into_iter()
            .map(|outcome| self.alternative(outcome))
            .collect();
        let trouble = alternatives.is_empty().then(|| match rows {
            0..=2 => tr!("No other file has a name like these.").to_owned(),
            _ => tr!("The places of the files do not follow from their names. Place another file.")
                .to_owned(),
        });
        PatternReport {
            alternatives,
            trouble,
        }
    }

    fn alternative(&self, outcome: ReadingOutcome) -> Alternative {
        let cohort = self.cohort;
        let model = &cohort.model;
        let mut last = 0;
        let mut tokens = Vec::with_capacity(model.tokens.len());
        for (index, token) in model.tokens.iter().enumerate() {
            let class = cohort
                .classes
                .iter()
                .position(|class| class.tokens.contains(&index));
            tokens.push(PatternToken {
                text: model.token(index).to_owned(),
                before: model.text[last..token.span.start].to_owned(),
                kind: token.kind,
                role: class.map_or(TokenRole::Fixed, |class| outcome.roles[class]),
            });
            last = token.span.end;
        }
        let mut placed = Vec::with_capacity(outcome.placed);
        let mut counts = vec![0usize; outcome.positions.len()];
        let mut used = HashSet::new();
        for (row, cell) in cohort.rows.iter().zip(&outcome.cells) {
            let Some(cell) = *cell else {
                continue;
            };
            counts[cell.position as usize] += 1;
            used.insert(cell.root);
            if let Some(file) = row.file {
                let (root, position) = (
                    outcome.roots[cell.root as usize].clone(),
                    outcome.positions[cell.position as usize].clone(),
                );
                placed.push(Placement {
                    root,
                    position,
                    file,
                });
            }
        }
        let mut positions: Vec<(IdPath, usize)> = outcome
            .positions
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .collect();
        positions.sort_by_cached_key(|(path, _)| self.rank_position(path));
        let order: HashMap<IdPath, usize> = positions
            .iter()
            .enumerate()
            .map(|(at, (path, _))| (path.clone(), at))
            .collect();
        placed.sort_by_cached_key(|placement| {
            (
                natural_key(&placement.root),
                order.get(&placement.position).copied(),
                placement.file,
            )
        });
        let mut nearly = cohort.nearly.clone();
        nearly.extend(outcome.excluded.into_iter().filter_map(|(row, why)| {
            Some(Nearly {
                file: cohort.rows[row].file?,
                why,
            })
        }));
        nearly.sort_by_key(|file| file.file);
        let new_roots = used
            .iter()
            .filter(|root| {
                !self
                    .draft
                    .filled
                    .contains_key(&outcome.roots[**root as usize])
            })
            .count();
        let label = label(&tokens, outcome.ordered);
        let (roots, left_over) = (used.len(), cohort.left_over.clone());
        Alternative {
            label,
            tokens,
            placed,
            roots,
            new_roots,
            positions,
            nearly,
            left_over,
        }
    }

    /// Key by which positions are in the order of the draft, then by name.
    fn rank_position(&self, path: &IdPath) -> (usize, Vec<(u64, String)>) {
        let mut known = self.draft.positions.iter();
        let rank = known.position(|known| known == path);
        (rank.unwrap_or(usize::MAX), natural_key(&path.join("/")))
    }
}

fn join_place(root: &str, position: &IdPath) -> String {
    let ids = std::iter::once(root).chain(position.iter().map(|id| &**id));
    ids.collect::<Vec<_>>().join(" / ")
}

/// True when `large` places every file that `small` places, with the same grouping by root and
/// position.
fn is_extended_by(small: &[Option<FileCell>], large: &[Option<FileCell>]) -> bool {
    // Roots of `large` by root of `small`, and conversely; positions of `large` by that of `small`.
    let (mut there, mut back, mut positions) = (HashMap::new(), HashMap::new(), HashMap::new());
    small.iter().zip(large).all(|(a, b)| match (a, b) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(a), Some(b)) => {
            *there.entry(a.root).or_insert(b.root) == b.root
                && *back.entry(b.root).or_insert(a.root) == a.root
                && *positions.entry(a.position).or_insert(b.position) == b.position
        }
    })
}

/// True when the roots that both outcomes fill have the same ids, where ids come from the names.
fn same_ids(a: &ReadingOutcome, b: &ReadingOutcome) -> bool {
    let id =
        |outcome: &ReadingOutcome, cell: FileCell| outcome.roots.get(cell.root as usize).cloned();
    let both = a
        .cells
        .iter()
        .zip(&b.cells)
        .filter_map(|(x, y)| Some(((*x)?, (*y)?)));
    !(a.named && b.named) || both.into_iter().all(|(x, y)| id(a, x) == id(b, y))
}

fn label(tokens: &[PatternToken], ordered: bool) -> String {
    let by = |role: TokenRole| describe_tokens(tokens, role);
    match (by(TokenRole::Root), by(TokenRole::Position), ordered) {
        (Some(root), Some(position), true) => tr!(
            "root by {root} · position by the order of {position}",
            root,
            position
        ),
        (Some(root), Some(position), false) => {
            tr!("root by {root} · position by {position}", root, position)
        }
        (Some(root), None, _) => tr!("root by {root}", root),
        (None, Some(position), true) => tr!("position by the order of {position}", position),
        (None, Some(position), false) => tr!("position by {position}", position),
        (None, None, _) => tr!("the same name for all files").into(),
    }
}

/// What the tokens with this role are; `None` without one.
fn describe_tokens(tokens: &[PatternToken], role: TokenRole) -> Option<String> {
    let kinds: Vec<String> = tokens
        .iter()
        .filter(|token| token.role == role)
        .map(|token| match token.kind {
            TokenKind::Word => format!("\u{201c}{}\u{201d}", token.text),
            kind => kind.as_str().to_owned(),
        })
        .collect();
    (!kinds.is_empty()).then(|| kinds.join(", "))
}
