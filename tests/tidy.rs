//! Rules of the source code that the compiler does not check: imports between modules, a `//!`
//! sentence at the head of every file, nothing unfinished, nothing specific to one machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::files_below;

/// The modules of the library, lowest first: each may import only earlier ones. `src/lib.rs`
/// describes them.
const MODULES: [&str; 31] = [
    "windows_api",
    "text",
    "digits",
    "error",
    "folders",
    "consent",
    "file_lock",
    "work_files",
    "files",
    "handles",
    "zip_format",
    "model",
    "jobs",
    "table",
    "remote",
    "folder_archive",
    "unpack",
    "raster",
    "footprint",
    "container",
    "validate",
    "query",
    "extensions",
    "export",
    "draft",
    "ops",
    "binding",
    "studio",
    "cli",
    "gui",
    "program",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// `(path from the root, text)` of every Rust file of the project.
fn rust_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in ["src", "tests", "packaging"] {
        let names = files_below(&root().join(folder))
            .into_iter()
            .filter(|name| name.ends_with(".rs"));
        files.extend(names.map(|name| format!("{folder}/{name}")));
    }
    assert!(files.len() > 10, "only {} Rust files found", files.len());
    files
        .into_iter()
        .map(|name| {
            (
                name.clone(),
                fs::read_to_string(root().join(&name)).expect("a text file"),
            )
        })
        .collect()
}

#[track_caller]
fn expect_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn modules_import_only_modules_before_them_in_the_table() {
    let rank = |module: &str| MODULES.iter().position(|known| *known == module);
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        let Some(below) = name.strip_prefix("src/") else {
            continue;
        };
        let own = below
            .split('/')
            .next()
            .unwrap_or(below)
            .trim_end_matches(".rs");
        if ["lib", "main"].contains(&own) {
            continue;
        }
        let Some(own_rank) = rank(own) else {
            found.push(format!(
                "{name}: the module {own} is not in the table of tests/tidy.rs"
            ));
            continue;
        };
        for module in imported_modules(&text) {
            match rank(&module) {
                Some(rank) if rank <= own_rank => {}
                Some(_) => found.push(format!(
                    "{name}: {own} imports {module}, which comes after it in the table"
                )),
                None => {}
            }
        }
    }
    expect_none("imports against the table", &found);
}

/// The first path segment of every `crate::…`, also of `crate::{a::B, c}`.
fn imported_modules(text: &str) -> Vec<String> {
    let code: String = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect::<Vec<_>>()
        .join("\n");
    let mut modules = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        let rest = &code[at + start.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            modules.push(leading_name(rest));
            continue;
        };
        let mut depth = 1;
        let mut expecting = true;
        for (index, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expecting = true,
                _ if expecting && !character.is_whitespace() => {
                    modules.push(leading_name(&group[index..]));
                    expecting = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    modules
}

fn leading_name(text: &str) -> String {
    text.chars()
        .take_while(|character| character.is_alphanumeric() || *character == '_')
        .collect()
}

#[test]
fn the_import_rule_sees_every_way_to_write_it() {
    let text = "use crate::{gui::Theme, error::{Error, Kind},\n draft};\nfn f() { \
        crate::studio::run() } // crate::cli\n";
    assert_eq!(imported_modules(text), ["gui", "error", "draft", "studio"]);
}

/// The paths that a `use` statement brings in, without braces and new names.
fn expand_use(tree: &str) -> Vec<String> {
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        return vec![path.split_whitespace().collect()];
    };
    let inner = inner.trim_end().trim_end_matches('}');
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in inner.char_indices().chain([(inner.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = inner[start..at].trim();
                if !item.is_empty() {
                    found.extend(expand_use(&format!("{}{item}", prefix.trim())));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[test]
fn uses_are_expanded() {
    assert_eq!(
        expand_use("super::{a::{B, c as D}, self,\n    e}"),
        ["super::a::B", "super::a::c", "super::self", "super::e"]
    );
}

/// The files of the library by the path of their module, and what each imports: a module and the
/// name that it takes from there.
struct FileImports {
    modules: BTreeMap<Vec<String>, String>,
    uses: BTreeMap<Vec<String>, Vec<Vec<String>>>,
    /// Names that a module hands on, with where they come from.
    handed_on: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl FileImports {
    fn of_library() -> Self {
        let mut found = Self {
            modules: BTreeMap::new(),
            uses: BTreeMap::new(),
            handed_on: BTreeMap::new(),
        };
        let files: Vec<(String, String)> = rust_files()
            .into_iter()
            .filter(|(file, _)| file.starts_with("src/") && !file.contains("tests"))
            .collect();
        for (file, _) in &files {
            let path = file["src/".len()..].trim_end_matches(".rs");
            let path = path.strip_suffix("/mod").unwrap_or(path);
            let module: Vec<String> = path.split('/').map(str::to_owned).collect();
            found.modules.insert(module, file.clone());
        }
        for (file, text) in &files {
            let module = found.module_of(file);
            found.read_uses(&module, without_tests(text));
        }
        found
    }

    fn module_of(&self, file: &str) -> Vec<String> {
        let found = self.modules.iter().find(|(_, known)| *known == file);
        found.map_or(Vec::new(), |(module, _)| module.clone())
    }

    fn read_uses(&mut self, module: &[String], text: &str) {
        let code: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for statement in code.join("\n").split(';') {
            let Some(at) = statement.rfind("use ").filter(|at| {
                let before = &statement[..*at];
                before.is_empty() || before.ends_with(['\n', ' ', ')'])
            }) else {
                continue;
            };
            let line = statement[..at]
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .trim();
            if !(line.is_empty() || line.starts_with("pub")) {
                continue;
            }
            for path in expand_use(&statement[at + 4..]) {
                let Some(target) = self.absolute(module, &path) else {
                    continue;
                };
                if line.starts_with("pub")
                    && let Some(name) = target.last()
                {
                    self.handed_on
                        .insert((module.to_vec(), name.clone()), target.clone());
                } else {
                    self.uses.entry(module.to_vec()).or_default().push(target);
                }
            }
        }
    }

    fn absolute(&self, module: &[String], path: &str) -> Option<Vec<String>> {
        let mut steps: Vec<String> = path.split("::").map(str::to_owned).collect();
        let mut base = module.to_vec();
        match steps.first()?.as_str() {
            "crate" => base.clear(),
            "self" => {}
            "super" => {
                while steps.first().is_some_and(|step| step == "super") {
                    base.pop();
                    steps.remove(0);
                }
                base.extend(steps);
                return Some(base);
            }
            first => {
                let below = [module, &[first.to_owned()]].concat();
                return self
                    .modules
                    .contains_key(&below)
                    .then(|| [module, &steps].concat());
            }
        }
        base.extend(steps.into_iter().skip(1));
        Some(base)
    }

    /// The module that defines what a path names.
    fn definer(&self, path: &[String], depth: usize) -> Option<Vec<String>> {
        let length = (1..=path.len())
            .rev()
            .find(|length| self.modules.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        if let Some(name) = rest.first().filter(|_| depth < 6)
            && let Some(target) = self.handed_on.get(&(module.to_vec(), name.clone()))
        {
            return self.definer(&[target.as_slice(), &rest[1..]].concat(), depth + 1);
        }
        Some(module.to_vec())
    }

    /// Files that import each other in a loop, directly or through others.
    fn in_circles(&self) -> BTreeSet<String> {
        let mut arrows: BTreeMap<&[String], BTreeSet<Vec<String>>> = BTreeMap::new();
        for (module, targets) in &self.uses {
            let definers = targets.iter().filter_map(|target| self.definer(target, 0));
            arrows
                .entry(module)
                .or_default()
                .extend(definers.filter(|definer| definer != module));
        }
        let reaches_itself = |start: &Vec<String>| {
            let (mut seen, mut next) = (BTreeSet::new(), vec![start.as_slice()]);
            while let Some(module) = next.pop() {
                for target in arrows.get(module).into_iter().flatten() {
                    if target == start {
                        return true;
                    }
                    if seen.insert(target.as_slice()) {
                        next.push(target);
                    }
                }
            }
            false
        };
        let circles = self
            .modules
            .iter()
            .filter(|(module, _)| reaches_itself(module));
        circles.map(|(_, file)| file.clone()).collect()
    }
}

/// Files of a module form layers, too.
#[test]
fn no_files_import_each_other_in_a_loop() {
    let circles = FileImports::of_library().in_circles();
    expect_none("files in circles", &Vec::from_iter(circles));
}

#[test]
fn the_map_of_the_code_names_every_module() {
    let text = fs::read_to_string(root().join("src/lib.rs")).expect("src/lib.rs");
    let map: String = text
        .lines()
        .filter(|line| line.starts_with("//!"))
        .collect::<Vec<_>>()
        .join("\n");
    let declared = text.lines().filter_map(|line| {
        line.trim()
            .trim_start_matches("pub ")
            .strip_prefix("mod ")?
            .strip_suffix(';')
    });
    let mut found = Vec::new();
    for module in declared {
        if !MODULES.contains(&module) {
            found.push(format!("{module} is not in the table of tests/tidy.rs"));
        }
        if !map.contains(&format!("`{module}")) {
            found.push(format!(
                "{module} is not in the text at the head of src/lib.rs"
            ));
        }
    }
    expect_none("modules without a place", &found);
}

#[test]
fn every_file_has_a_head_comment() {
    let found: Vec<String> = rust_files()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(name, _)| name)
        .collect();
    expect_none("files that do not start with a //! sentence", &found);
}

/// A type whose name another file has too says what it is only beside its file.
#[test]
fn no_two_types_share_a_name() {
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, text) in rust_files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("src/"))
    {
        for defined in text.lines().filter_map(defined_type) {
            files.entry(defined).or_default().insert(name.clone());
        }
    }
    assert!(files.len() > 1000, "only {} types found", files.len());
    let shared = files.into_iter().filter(|(_, places)| places.len() > 1);
    let shared: Vec<String> = shared
        .map(|(name, places)| format!("{name}: {}", Vec::from_iter(places).join(", ")))
        .collect();
    expect_none("types of one name: one of them lacks its noun", &shared);
}

/// The name of the type that a line of a module defines.
fn defined_type(line: &str) -> Option<String> {
    let definition = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let (keyword, rest) = definition.split_once(' ')?;
    ["struct", "enum", "trait", "type", "union"]
        .contains(&keyword)
        .then(|| leading_name(rest))
}

#[test]
fn the_rule_of_names_sees_every_definition() {
    for line in [
        "struct Row {",
        "pub enum Row<T> {",
        "pub(super) type Row = (u8, (u8, u8));",
        "pub(in crate::ops) trait Row: Sized {",
    ] {
        assert_eq!(defined_type(line).as_deref(), Some("Row"), "{line}");
    }
    assert_eq!(defined_type("    type Row = u8;"), None);
    assert_eq!(defined_type("pub fn row(of: Row) -> Row {"), None);
}

/// Functions are verb and object: a participle, a preposition or an adverb alone needs its module
/// to be understood. The list has the words that were once names.
#[test]
fn no_function_is_one_participle_or_preposition() {
    let words: BTreeSet<&str> = include_str!("fixtures/tidy/bare_words.txt")
        .split_whitespace()
        .collect();
    assert!(words.len() > 200, "only {} words", words.len());
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        let is_test = name.contains("/tests") || name.ends_with("tests.rs");
        if is_test || !name.starts_with("src/") {
            continue;
        };
        for (number, line) in without_tests(&text).lines().enumerate() {
            if let Some(function) = defined_function(line).filter(|name| words.contains(&**name)) {
                found.push(format!("{name}:{}: fn {function}", number + 1));
            }
        }
    }
    // `From::from` has its name from the standard library; errors are made by their kind.
    let is_kind = |line: &str| line.ends_with(" fn unsupported") || line.ends_with(" fn cancelled");
    found.retain(|line| {
        let is_of_errors = line.starts_with("src/error.rs") && is_kind(line);
        !is_of_errors && !line.ends_with(" fn from")
    });
    expect_none("functions without their object", &found);
}

/// The name of the function that a line defines.
fn defined_function(line: &str) -> Option<String> {
    let code = line.split("//").next().unwrap_or_default();
    let (before, after) = code.split_once("fn ")?;
    let is_definition = before
        .split_whitespace()
        .all(|word| !word.contains(['"', '(', ')', '=']) || word.starts_with("pub("));
    is_definition
        .then(|| leading_name(after))
        .filter(|name| !name.is_empty())
}

#[test]
fn the_rule_of_functions_sees_every_definition() {
    for line in [
        "fn told() {",
        "    pub(super) fn told<T>(of: T) -> u8 {",
        "    pub const unsafe fn told(&self);",
        "pub extern fn told() {",
    ] {
        assert_eq!(defined_function(line).as_deref(), Some("told"), "{line}");
    }
    for line in [
        "// fn told()",
        "let call: fn (u8) = told;",
        "a(\"fn told\")",
    ] {
        assert_eq!(defined_function(line), None, "{line}");
    }
}

/// Lines are read in columns of 100 characters; the exceptions are literals that can't be broken.
#[test]
fn lines_have_at_most_100_characters() {
    const EXCEPTIONS: usize = 20;
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > 100 {
                found.push(format!("{name}:{}: {line}", number + 1));
            }
        }
    }
    assert!(
        found.len() <= EXCEPTIONS,
        "{} lines have more than 100 characters:\n  {}",
        found.len(),
        found.join("\n  ")
    );
}

/// Memory is used again: a cache with addresses as keys shows the views of another value.
/// Lines of each closure that is bound to a local name, with the number of its first line. The text
/// is formatted: such a statement ends with the first `;` at the indentation of the line on which
/// the closure begins.
fn local_closures(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = without_tests(text).lines().collect();
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(binding) = line.trim_start().strip_prefix("let ") else {
            continue;
        };
        let (first, value) = match binding.split_once(" =") {
            Some((_, "")) => match lines.get(start + 1) {
                Some(next) => (*next, next.trim_start()),
                None => continue,
            },
            Some((_, value)) => (*line, value.trim_start()),
            None => continue,
        };
        if !value.trim_start_matches("move ").starts_with('|') {
            continue;
        }
        let ends = |end: &&str| end.ends_with(';') && indentation(end) == indentation(first);
        let length = if line.ends_with(';') {
            1
        } else {
            let rest = lines[start + 1..].iter().position(ends);
            rest.map_or(lines.len() - start, |rest| rest + 2)
        };
        found.push((start + 1, length));
    }
    found
}

#[test]
fn the_rule_of_closures_sees_every_form() {
    let text = [
        "fn a() {",
        "    let b = |c: u8| c;",
        "    let d = move |e| {",
        "        let f = 1;",
        "        e + f",
        "    };",
        "    let g: H =",
        "        |i| {",
        "            i",
        "        };",
        "    let j = k || l;",
        "}",
    ]
    .join("\n");
    assert_eq!(local_closures(&text), [(2, 1), (3, 4), (7, 4)]);
}

/// A closure with a local name and more than three lines does the work of a function, without its
/// signature.
#[test]
fn local_closures_are_short() {
    const LINES_MAX: usize = 3;
    const EXCEPTIONS: usize = 5;
    let long: Vec<String> = rust_files()
        .into_iter()
        .filter(|(file, _)| file.starts_with("src/") && !file.contains("tests"))
        .flat_map(|(file, text)| {
            let long = local_closures(&text)
                .into_iter()
                .filter(|(_, length)| *length > LINES_MAX);
            long.map(|(line, length)| format!("{file}:{line}: {length} lines"))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        long.len() <= EXCEPTIONS,
        "{} closures with a local name have more than {LINES_MAX} lines, at most {EXCEPTIONS} may; \
            make functions of them:\n{}",
        long.len(),
        long.join("\n")
    );
}

/// State of the process is shared by everything in it, tests included.
#[test]
fn statics_are_few() {
    const EXCEPTIONS: usize = 30;
    let mut found = Vec::new();
    for (file, text) in rust_files() {
        if !file.starts_with("src/") || file.contains("/tests/") {
            continue;
        }
        for line in without_tests(&text).lines() {
            let line = line.trim_start();
            let definition = line.strip_prefix("pub ").unwrap_or(line);
            // Without a value it is one of a C library.
            if definition.starts_with("static ") && definition.contains('=') {
                found.push(format!("{file}: {line}"));
            }
        }
    }
    assert!(
        found.len() <= EXCEPTIONS,
        "{} statics, at most {EXCEPTIONS} may be:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn addresses_are_no_identities() {
    expect_none(
        "addresses of values: compare gui::value_id::ValueId",
        &found_outside(&["Arc::as_ptr", "Rc::as_ptr"], &[]),
    );
}

/// The icon file of Windows holds the pictures of `assets/icons` as they are.
#[test]
fn the_icon_of_windows_holds_the_same_pictures() {
    let icon = fs::read(root().join("assets/icon.ico")).expect("an icon file");
    let number =
        |at: usize| u32::from_le_bytes(icon[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut sizes = Vec::new();
    for entry in (6..).step_by(16).take(usize::from(icon[4])) {
        let side = if icon[entry] == 0 {
            256
        } else {
            u32::from(icon[entry])
        };
        let picture = &icon[number(entry + 12)..][..number(entry + 8)];
        assert!(
            picture
                == fs::read(root().join(format!("assets/icons/{side}.png"))).expect("a picture"),
            "{side} pixels differ"
        );
        sizes.push(side);
    }
    assert_eq!(sizes, [16, 32, 48, 64, 128, 256]);
}

#[test]
fn nothing_unfinished_is_left() {
    // Composed here, so that this file does not match itself.
    let marks = [
        concat!("to", "do!"),
        concat!("unimpl", "emented!"),
        concat!("db", "g!("),
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
    ];
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none("unfinished code", &found);
}

#[test]
fn no_code_is_commented_out() {
    let mut found = Vec::new();
    for (name, text) in rust_files() {
        for (number, line) in text.lines().enumerate() {
            if line
                .trim_start()
                .strip_prefix("//")
                .is_some_and(|comment| !comment.starts_with(['/', '!']) && is_code(comment.trim()))
            {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none("commented-out code", &found);
}

/// Whether a comment looks like Rust code.
fn is_code(comment: &str) -> bool {
    let opens = [
        "let ", "use ", "pub ", "fn ", "impl ", "struct ", "mod ", "#[",
    ];
    if comment.starts_with("Safety: ") {
        return false;
    }
    let statement =
        comment.ends_with(';') && ['(', '=', ':'].iter().any(|sign| comment.contains(*sign));
    let block = comment.ends_with('{') || comment == "}";
    statement
        || block
        || (opens.iter().any(|word| comment.starts_with(word))
            && comment.ends_with([';', '{', ')', ']']))
}

#[test]
fn the_comment_rule_distinguishes_code_from_sentences() {
    assert!(is_code("let x = 1;") && is_code("}") && is_code("if a {") && is_code("call(now);"));
    assert!(!is_code("Use the first one; the rest follows.") && !is_code("a list: one, two;three"));
}

/// Lines outside of test modules that contain one of `marks` and are not in an `allowed` file.
fn found_outside(marks: &[&str], allowed: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in rust_files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("src/") && !name.contains("tests"))
    {
        if allowed
            .iter()
            .any(|place| name == *place || (place.ends_with('/') && name.starts_with(place)))
        {
            continue;
        }
        for (number, line) in without_tests(&text).lines().enumerate() {
            let line = line.trim();
            if !line.starts_with("//") && marks.iter().any(|mark| line.contains(mark)) {
                found.push(format!("{name}:{}: {line}", number + 1));
            }
        }
    }
    found
}

/// Texts of data would make PROJ and GDAL open files and addresses.
#[test]
fn coordinate_systems_are_made_from_texts_in_one_place() {
    let marks = [
        "SpatialRef::from_wkt",
        "SpatialRef::from_definition",
        "SpatialRef::from_proj4",
        "SpatialRef::from_esri",
        "OSRSetFromUserInput",
        "OSRImportFrom",
        "OSRNewSpatialReference",
    ];
    expect_none(
        "coordinate systems from texts: call crs_text::spatial_ref_of",
        &found_outside(&marks, &["src/raster/crs_text.rs"]),
    );
}

/// Texts for people: reports of errors, lines of the log, labels of jobs, messages of findings.
const TEXTS: [&str; 9] = [
    ".summary()",
    ".report()",
    ".sentence()",
    ".label()",
    ".message",
    ".label",
    "line.text",
    "error.to_string()",
    "err.to_string()",
];

/// Calls and operators that compare a text with another.
const COMPARISONS: [&str; 9] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".find(",
    ".split_once(",
    ".strip_prefix(",
    ".strip_suffix(",
    " == ",
    " != ",
];

/// The code of a file without its tests.
fn without_tests(text: &str) -> &str {
    let is_module = |at: usize| {
        // An attribute may go over several lines.
        let is_attribute = |line: &str| line.starts_with("#[") || line.starts_with([')', ' ']);
        let below = text[at..].lines().skip(1).find(|line| !is_attribute(line));
        below.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    let start = text
        .match_indices("#[cfg(test)]\n")
        .map(|(at, _)| at)
        .find(|&at| is_module(at));
    &text[..start.unwrap_or(text.len())]
}

/// Where one file compares a text for people, or a variable that holds one, with wording of the
/// code: a literal, a constant, a translated text. What a script says that it expects is data and
/// no wording of the code.
fn branches_on_texts(text: &str) -> Vec<String> {
    let is_wording = |argument: &str| {
        let argument = argument.trim_start_matches(['&', '(', '*']);
        let constant = argument
            .chars()
            .take_while(|c| c.is_ascii_uppercase() || *c == '_')
            .count()
            > 2;
        let begins = [
            "\"",
            "'",
            "r\"",
            "tr!",
            "tr_n!",
            "format!",
            "concat!",
            "crate::text",
            "translate_text",
            "text::translate_text",
            "['",
            "[\"",
            "|",
        ];
        constant || begins.iter().any(|begin| argument.starts_with(begin))
    };
    let lines = without_tests(text)
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"));
    // A chain of calls, a comparison and the arguments of a call may go over several lines.
    let joined = lines.collect::<Vec<_>>().join("\n");
    let joined = joined
        .replace("\n.", ".")
        .replace("(\n", "(")
        .replace("\n==", " ==")
        .replace("\n!=", " !=");
    let (mut found, mut held): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for line in joined.lines() {
        if line.starts_with("fn ") || line.starts_with("pub") {
            held.clear();
        }
        let of = |text: &str| {
            COMPARISONS.iter().any(|call| {
                let mark = format!("{text}{call}");
                let own = |at: usize| {
                    text.starts_with('.')
                        || !line[..at]
                            .ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
                };
                line.match_indices(&mark)
                    .any(|(at, mark)| own(at) && is_wording(&line[at + mark.len()..]))
            })
        };
        if TEXTS
            .iter()
            .copied()
            .chain(held.iter().map(String::as_str))
            .any(of)
        {
            found.push(line.to_owned());
        }
        let binding = line
            .strip_prefix("let ")
            .and_then(|rest| rest.split_once(" = "));
        if let Some((name, value)) = binding {
            let name = name
                .trim_start_matches("mut ")
                .split(':')
                .next()
                .unwrap_or(name)
                .to_owned();
            held.retain(|known| *known != name);
            if TEXTS
                .iter()
                .any(|text| value.trim_end_matches(';').ends_with(text))
            {
                held.push(name);
            }
        }
    }
    found
}

#[test]
fn behaviour_depends_on_typed_causes_and_never_on_the_wording_of_a_text() {
    let mut found = Vec::new();
    for (name, text) in rust_files()
        .into_iter()
        .filter(|(name, _)| name.starts_with("src/") && !name.contains("tests"))
    {
        found.extend(
            branches_on_texts(&text)
                .into_iter()
                .map(|line| format!("{name}: {line}")),
        );
    }
    expect_none(
        "branches on the text of an error, a log line or a label: match a Cause, a level or a kind",
        &found,
    );
}

#[test]
fn the_wording_rule_sees_branches_and_leaves_data_alone() {
    for branch in [
        r#"if error.to_string().contains("central directory") {"#,
        "if error.summary()\n    .contains(\"not in the archive\") {",
        "error.summary().contains(\n    \"not in the archive\",\n)",
        "error.summary()\n    == \"not in the archive\"",
        r#"let quiet = lines.filter(|line| !line.text.contains(" took "));"#,
        "job.label.starts_with(crate::text::translate_text(READ_RASTER))",
        r#"if job.label() == tr!("Read the raster") {"#,
        "if finding.message.ends_with(ABSENT) {",
        "let said = error.report();\nif said.contains(\"404\") {",
    ] {
        assert_eq!(branches_on_texts(branch).len(), 1, "{branch}");
    }
    for other in [
        "(Err(error), Some(part)) if error.report().contains(part.as_str()) => return Ok(()),",
        r#"// error.to_string().contains("x")"#,
        r#"name.starts_with("internal:")"#,
        "let text = error.to_string();\nfn other() {\nif text.contains(\"a\") {",
        "#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\nassert!(error.report().contains(\"x\"))\n\
            }",
        "#[cfg(test)]\n#[expect(\n    dead_code\n)]\nmod tests {\nlet x = \
            error.report().contains(\"x\")}",
    ] {
        assert!(branches_on_texts(other).is_empty(), "{other}");
    }
}

#[test]
fn files_are_opened_for_reading_in_one_module_which_refuses_pipes() {
    let marks = [
        " File::open(",
        "fs::File::open(",
        "(File::open(",
        "fs::read(",
        "fs::read_to_string(",
    ];
    // Files in the user's folders that the studio creates itself; and folders, which are opened for
    // syncing.
    let own = [
        "src/files.rs",
        "src/cli/bench.rs",
        "src/container/atomic_write.rs",
        "src/container/atomic_write/",
        "src/gui/dialogs/crash.rs",
        "src/gui/view_state.rs",
        "src/raster/write.rs",
        "src/remote/cache.rs",
        "src/remote/profile.rs",
        "src/ops/doctor.rs",
        "src/studio/project/journal_files.rs",
        "src/ops/thumbnails.rs",
        "src/work_files.rs",
    ];
    expect_none(
        "files that are not opened by crate::files",
        &found_outside(&marks, &own),
    );
}

#[test]
fn texts_of_the_window_are_made_where_they_get_their_displayed_form() {
    let marks = ["RichText::new(", ".layout_no_wrap(", "LayoutJob::simple"];
    // Texts of the studio alone: icons, the characters that are rasterized at the start, boxes of
    // code points.
    let own = [
        "src/gui/theme.rs",
        "src/gui/widgets/paint.rs",
        "src/gui/widgets/field.rs",
        "src/gui/widgets/toast.rs",
        "src/gui/widgets/progress.rs",
        "src/gui/glyph_warmup.rs",
        "src/gui/fallback_glyphs.rs",
    ];
    expect_none(
        "texts that are laid out without theme::rich_text or paint",
        &found_outside(&marks, &own),
    );
}

#[test]
fn programs_start_where_the_user_is_asked_and_nowhere_else() {
    // The second starts the file manager of the desktop for a button; the third restarts the studio
    // itself with another renderer; the fourth starts the engine that the user names for a plan.
    let allowed = [
        "src/extensions/program.rs",
        "src/gui/file_manager.rs",
        "src/gui/run.rs",
        "src/ops/plan/submit/",
    ];
    expect_none(
        "programs that start unasked",
        &found_outside(&["Command::new(", "process::Command"], &allowed),
    );
}

#[test]
fn text_reaches_the_terminal_through_one_writer_which_escapes_it() {
    let marks = ["println!(", "eprint!(", " print!("];
    expect_none(
        "text that is not escaped",
        &found_outside(&marks, &["src/cli/output.rs"]),
    );
}

#[test]
fn nothing_refers_to_a_specific_machine_or_registry() {
    let hosts = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("npmjs", ".org"),
        concat!("npmjs", ".com"),
        concat!("deb.debian", ".org"),
        concat!("rust-lang", ".org"),
        concat!("rustup", ".rs"),
    ];
    let folders = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!(".lib", "rary/"),
        concat!("/tmp/", "bash_jobs"),
    ];
    let mut found = Vec::new();
    for name in text_files() {
        let Ok(text) = fs::read_to_string(root().join(&name)) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            if hosts.iter().any(|host| line.contains(host))
                || folders.iter().any(|folder| begins_in(line, folder))
            {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    expect_none("paths of one machine, or hosts of a registry", &found);
}

/// Whether `line` contains a path that begins with `folder`; a match inside a longer path does not
/// count.
fn begins_in(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || "_-}.".contains(before))
    })
}

fn text_files() -> Vec<String> {
    let top = [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "Cargo.toml",
        ".cargo/config.toml",
        ".ci/run",
        ".gitignore",
    ];
    let mut names: Vec<String> = top.map(str::to_owned).to_vec();
    for folder in ["src", "tests", "packaging", "docs", ".github"] {
        let below = files_below(&root().join(folder))
            .into_iter()
            .map(|name| format!("{folder}/{name}"));
        // In a lock file cargo writes where each package is from, as in the one of the root.
        names.extend(below.filter(|name| {
            !Path::new(name).starts_with("tests/fixtures") && !name.ends_with("/Cargo.lock")
        }));
    }
    names
}
