//! The files whose names have the structure of the examples': a table of tokens with one row per
//! file. Columns that always change together are merged into one class.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::name::{TokenKind, TokenizedPath};
use super::{Example, Nearly};
use crate::draft::Unplaced;

/// A token column, or several that always change together.
pub(super) struct TokenClass {
    /// Indices of the tokens in the first example's name, ascending.
    pub tokens: Vec<usize>,
    pub kind: TokenKind,
    /// For each of `tokens`, the distinct texts by value number.
    pub texts: Vec<Vec<String>>,
}

pub(super) struct MatchingFile {
    /// Index in the tray; `None` for an example that is placed already.
    pub file: Option<u32>,
    /// Value number in each class.
    pub values: Vec<u32>,
    /// Index of the name's shape among the examples' shapes.
    pub template: u32,
}

/// All matching names.
pub(super) struct Cohort {
    pub classes: Vec<TokenClass>,
    pub rows: Vec<MatchingFile>,
    /// Row of each example.
    pub examples: Vec<usize>,
    /// Name of the first example.
    pub model: TokenizedPath,
    /// Number of shapes; with more than one, their differences determine the position.
    pub templates: u32,
    pub nearly: Vec<Nearly>,
    pub left_over: Vec<u32>,
}

/// One of the examples' shapes.
struct ExampleTemplate {
    shape: String,
    name: TokenizedPath,
    /// The token index of each column.
    columns: Vec<usize>,
}

/// How numbers in a column are formatted.
enum Digits {
    Any,
    Padded(usize),
}

impl Cohort {
    /// Builds the table of name parts.
    ///
    /// # Errors
    /// The reason, for the user, why the names form no table.
    pub fn from_tray(tray: &[Unplaced], examples: &[Example], fine: bool) -> Result<Self, String> {
        let folder = common_folder(
            tray.iter()
                .map(|file| &file.path)
                .chain(examples.iter().map(|example| &example.file)),
        );
        let name = |path: &Path| TokenizedPath::from_text(relative_path_text(path, &folder), fine);
        let names: Vec<TokenizedPath> =
            examples.iter().map(|example| name(&example.file)).collect();
        let templates = templates(&names, examples)?;
        let Some(first) = templates.first() else {
            return Err(tr!("there is no example").into());
        };
        let width = first.columns.len();
        // Groups the files by shape; then excludes those without a date, number or tile where the
        // examples have one.
        let (mut fitting, mut nearly, mut left_over) = (Vec::new(), Vec::new(), Vec::new());
        for (file, index) in tray.iter().zip(0..) {
            let name = name(&file.path);
            match templates
                .iter()
                .position(|template| template.shape == name.shape)
            {
                Some(template) => fitting.push((Some(index), name, template)),
                None => match other_shape(&name, &names) {
                    Some(why) => nearly.push(Nearly { file: index, why }),
                    None => left_over.push(index),
                },
            }
        }
        let mut example_rows = Vec::new();
        for (example, name) in examples.iter().zip(&names) {
            let in_tray = tray.iter().position(|file| file.path == example.file);
            let row = in_tray
                .and_then(|index| fitting.iter().position(|row| row.0 == Some(index as u32)));
            example_rows.push(row.unwrap_or_else(|| {
                let template = templates
                    .iter()
                    .position(|template| template.shape == name.shape)
                    .unwrap_or(0);
                fitting.push((None, name.clone(), template));
                fitting.len() - 1
            }));
        }
        let digits: Vec<Digits> = (0..width)
            .map(|column| digits_of(column, &templates, &fitting, &example_rows))
            .collect();
        let mut kept = Vec::with_capacity(fitting.len());
        let mut moved = vec![usize::MAX; fitting.len()];
        for (place, (file, name, template)) in fitting.into_iter().enumerate() {
            let misfit = describe_misfit(&name, &templates[template], &digits);
            match (misfit, file) {
                (Some(why), Some(file)) if !example_rows.contains(&place) => {
                    nearly.push(Nearly { file, why })
                }
                _ => {
                    moved[place] = kept.len();
                    kept.push((file, name, template));
                }
            }
        }
        let examples: Vec<usize> = example_rows.iter().map(|&row| moved[row]).collect();
        let (classes, values) = classes(&templates, &kept);
        let rows = kept.iter().zip(values);
        let rows = rows
            .map(|((file, _, template), values)| MatchingFile {
                file: *file,
                values,
                template: *template as u32,
            })
            .collect();
        let count = templates.len() as u32;
        let model = names.into_iter().next().ok_or(tr!("there is no example"))?;
        Ok(Self {
            classes,
            rows,
            examples,
            model,
            templates: count,
            nearly,
            left_over,
        })
    }

    /// The text of a row in the first token of a class.
    pub fn read_class_text(&self, row: usize, class: usize) -> &str {
        let value = self.rows[row].values[class];
        let mut texts = self.classes[class].texts_of(value);
        texts.next().unwrap_or_default()
    }
}

/// The common parent folder of all paths.
fn common_folder<'a>(mut paths: impl Iterator<Item = &'a PathBuf>) -> PathBuf {
    let mut folder = paths
        .next()
        .and_then(|path| path.parent())
        .unwrap_or(Path::new(""))
        .to_owned();
    for path in paths {
        while !path.starts_with(&folder) {
            if !folder.pop() {
                return PathBuf::new();
            }
        }
    }
    folder
}

fn relative_path_text(path: &Path, folder: &Path) -> String {
    let rest = path.strip_prefix(folder).unwrap_or(path);
    crate::files::with_slashes(&rest.to_string_lossy()).into_owned()
}

/// The shapes of the examples, with the columns they have in common.
fn templates(
    names: &[TokenizedPath],
    examples: &[Example],
) -> Result<Vec<ExampleTemplate>, String> {
    let mut found: Vec<(usize, Vec<(usize, usize)>)> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        if found
            .iter()
            .any(|(known, _)| names[*known].shape == name.shape)
        {
            continue;
        }
        let pairs = if found.is_empty() {
            (0..name.tokens.len()).map(|token| (token, token)).collect()
        } else {
            let same_root = |a: usize, b: usize| examples[a].root == examples[b].root;
            let twins = (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b)));
            let mut twins = twins
                .filter(|&(a, b)| names[a].shape == names[0].shape && names[b].shape == name.shape);
            let Some((a, b)) = twins.find(|&(a, b)| same_root(a, b)) else {
                let trouble = tr!(
                    "The names have different forms. Place two files of the same root as examples."
                );
                return Err(trouble.into());
            };
            common_tokens(&names[a], &names[b])
        };
        found.push((index, pairs));
    }
    let count = names.first().map_or(0, |name| name.tokens.len());
    let columns: Vec<usize> = (0..count)
        .filter(|token| {
            let mut shapes = found.iter();
            shapes.all(|(_, pairs)| pairs.iter().any(|pair| pair.0 == *token))
        })
        .collect();
    Ok(found
        .iter()
        .map(|(index, pairs)| build_template(&names[*index], pairs, &columns))
        .collect())
}

/// The shape of an example; `pairs` are tokens of the first example and those of this one.
fn build_template(
    name: &TokenizedPath,
    pairs: &[(usize, usize)],
    columns: &[usize],
) -> ExampleTemplate {
    let own = columns.iter().filter_map(|column| {
        let pair = pairs.iter().find(|pair| pair.0 == *column)?;
        Some(pair.1)
    });
    ExampleTemplate {
        shape: name.shape.clone(),
        name: name.clone(),
        columns: own.collect(),
    }
}

/// The longest common subsequence of tokens of two names of one root, as index pairs.
fn common_tokens(a: &TokenizedPath, b: &TokenizedPath) -> Vec<(usize, usize)> {
    let (rows, columns) = (a.tokens.len(), b.tokens.len());
    let mut length = vec![vec![0usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            length[row][column] = if a.token(row) == b.token(column) {
                length[row + 1][column + 1] + 1
            } else {
                length[row + 1][column].max(length[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut pairs) = (0, 0, Vec::new());
    while row < rows && column < columns {
        if a.token(row) == b.token(column) {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        } else if length[row + 1][column] >= length[row][column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

/// Why a name of another shape almost matches.
fn other_shape(name: &TokenizedPath, examples: &[TokenizedPath]) -> Option<String> {
    let end = read_lower_case_ending(name);
    let close = examples.iter().filter(|example| {
        read_lower_case_ending(example) == end
            && example.tokens.len().abs_diff(name.tokens.len()) <= 1
    });
    let example = close.min_by_key(|example| example.tokens.len().abs_diff(name.tokens.len()))?;
    let (found, wanted) = (name.tokens.len(), example.tokens.len());
    Some(match found.cmp(&wanted) {
        std::cmp::Ordering::Equal => tr!("its parts are separated in another way").into(),
        std::cmp::Ordering::Greater => {
            let odd = (0..found).find(|&index| {
                name.token(index) != example.token(index)
                    && !is_same_token_kind(name, index, example, index)
            });
            tr!(
                "its name has an extra part: {part}",
                part = name.token(odd.unwrap_or(found - 1))
            )
        }
        std::cmp::Ordering::Less => tr!("its name lacks a part").into(),
    })
}

fn read_lower_case_ending(name: &TokenizedPath) -> Option<String> {
    let (_, end) = name.text.rsplit_once('.')?;
    Some(end.to_lowercase())
}

fn is_same_token_kind(a: &TokenizedPath, at: usize, b: &TokenizedPath, place: usize) -> bool {
    matches!((a.tokens.get(at), b.tokens.get(place)), (Some(a), Some(b)) if a.kind == b.kind)
}

type TokenFitting = (Option<u32>, TokenizedPath, usize);

fn digits_of(
    column: usize,
    templates: &[ExampleTemplate],
    rows: &[TokenFitting],
    examples: &[usize],
) -> Digits {
    let token = |row: &TokenFitting| row.1.token(templates[row.2].columns[column]).to_owned();
    let shown: Vec<String> = examples.iter().map(|&row| token(&rows[row])).collect();
    let width = shown.first().map_or(0, String::len);
    if shown
        .iter()
        .any(|text| text.len() != width || !text.bytes().all(|b| b.is_ascii_digit()))
    {
        return Digits::Any;
    }
    let zero = |text: &str| text.len() > 1 && text.starts_with('0');
    // A single zero-padded name among many others does not make the column zero-padded.
    let padded = rows.iter().filter(|row| zero(&token(row))).count();
    if shown.iter().any(|text| zero(text)) || padded * 20 > rows.len() {
        Digits::Padded(width)
    } else {
        Digits::Any
    }
}

/// Why a name of the right shape does not match.
fn describe_misfit(
    name: &TokenizedPath,
    template: &ExampleTemplate,
    digits: &[Digits],
) -> Option<String> {
    for (index, token) in name.tokens.iter().enumerate() {
        let text = name.token(index);
        let Some(model) = template.name.tokens.get(index) else {
            return Some(tr!("its name has a part more").into());
        };
        let column = template.columns.iter().position(|&column| column == index);
        let wanted = model.kind;
        let number = |kind| matches!(kind, TokenKind::Number | TokenKind::Date | TokenKind::Time);
        let same = match wanted {
            TokenKind::Ending => true,
            TokenKind::Number => number(token.kind),
            TokenKind::Date | TokenKind::Time | TokenKind::Tile => token.kind == wanted,
            _ => token.kind.is_wordy() || token.kind == TokenKind::Tile,
        };
        if !same {
            return Some(tr!(
                "it has {text} where the pattern has a {kind}",
                text,
                kind = wanted.as_str()
            ));
        }
        if wanted == TokenKind::Number
            && let Some(column) = column
        {
            match digits[column] {
                Digits::Padded(width) if text.len() != width => {
                    return Some(tr!(
                        "{text} does not have {width} digits as the others have",
                        text,
                        width
                    ));
                }
                Digits::Any
                    if text.len() > 1
                        && text.starts_with('0')
                        && !template.name.token(index).starts_with('0') =>
                {
                    return Some(tr!(
                        "{text} begins with a zero, which the others do not",
                        text
                    ));
                }
                _ => {}
            }
        }
        // Tokens that only this shape has must be constant within it, unless they are numeric.
        let own = column.is_none() && !number(wanted);
        if own && text != template.name.token(index) {
            return Some(tr!(
                "it has {text} where the pattern has {wanted}",
                text,
                wanted = template.name.token(index)
            ));
        }
    }
    None
}

/// The changing columns, merged where they change together, and their values per row.
fn classes(
    templates: &[ExampleTemplate],
    rows: &[TokenFitting],
) -> (Vec<TokenClass>, Vec<Vec<u32>>) {
    let mut classes: Vec<TokenClass> = Vec::new();
    let mut known: Vec<Vec<u32>> = Vec::new();
    let columns = templates
        .first()
        .map_or(0, |template| template.columns.len());
    for column in 0..columns {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut texts = Vec::new();
        let mut values = Vec::with_capacity(rows.len());
        for (_, name, template) in rows {
            let text = name.token(templates[*template].columns[column]);
            values.push(*numbers.entry(text).or_insert_with(|| {
                texts.push(text.to_owned());
                texts.len() as u32 - 1
            }));
        }
        if texts.len() < 2 {
            continue;
        }
        let token = templates[0].columns[column];
        let kind = templates[0].name.tokens[token].kind;
        // The extension determines the position only; it is merged with a band that changes with
        // it.
        match known.iter().position(|other| *other == values) {
            Some(class) => {
                let class = &mut classes[class];
                class.tokens.push(token);
                class.texts.push(texts);
                if class.kind == TokenKind::Ending {
                    class.kind = kind;
                }
            }
            None => {
                classes.push(TokenClass {
                    tokens: vec![token],
                    kind,
                    texts: vec![texts],
                });
                known.push(values);
            }
        }
    }
    let rows = (0..rows.len()).map(|row| known.iter().map(|values| values[row]).collect());
    (classes, rows.collect())
}

impl TokenClass {
    /// The texts of a value, one per token.
    pub fn texts_of(&self, value: u32) -> impl Iterator<Item = &str> {
        self.texts
            .iter()
            .map(move |texts| texts.get(value as usize).map_or("", String::as_str))
    }

    /// Number of distinct values.
    pub fn distinct(&self) -> usize {
        self.texts.first().map_or(0, Vec::len)
    }
}

/// Range of `word` in an id, where it is not adjacent to more letters (or more digits) of the same
/// kind.
pub(super) fn find_word(id: &str, word: &str) -> Option<Range<usize>> {
    let found = id.match_indices(word).map(|(at, _)| at..at + word.len());
    found.filter(|_| !word.is_empty()).find(|at| {
        !continues_word(id[..at.start].chars().next_back(), word.chars().next())
            && !continues_word(word.chars().next_back(), id[at.end..].chars().next())
    })
}

/// True for two letters or two digits beside one another.
fn continues_word(a: Option<char>, b: Option<char>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return false;
    };
    a.is_alphanumeric() && b.is_alphanumeric() && a.is_ascii_digit() == b.is_ascii_digit()
}
