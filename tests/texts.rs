//! Texts of the interface: `assets/text/studio.pot` contains the texts of the source, the
//! catalogues beside it their translations with the same placeholders. `TACO_STUDIO_WRITE_TEXTS=1`
//! updates the template, and the catalogues with empty translations for new texts. A missing
//! translation is listed; it fails the test only for a release (`TACO_STUDIO_RELEASE=1`), so that a
//! change does not require a speaker of the language.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use taco_studio::text::{CatalogueEntry, Language, entries};

use crate::support::{expect_generated, files_below};

/// Context, English singular, English plural.
type Key = (String, String, Option<String>);

const TEMPLATE_HEAD: &str = "# The texts of Taco Studio. Made from the source; translations are \
    beside this file.\nmsgid \"\"\nmsgstr \"\"\n\
    \"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n\
    \"Plural-Forms: nplurals=2; plural=(n != 1);\\n\"\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/text")
}

/// A string literal at the beginning of `text`, and the rest.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut rest = text.trim_start().strip_prefix('"')?;
    let mut out = String::new();
    loop {
        let at = rest.find(['"', '\\'])?;
        out.push_str(&rest[..at]);
        if rest[at..].starts_with('"') {
            return Some((out, &rest[at + 1..]));
        }
        let escaped = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + escaped.len_utf8()..];
        match escaped {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            '\n' => rest = rest.trim_start(),
            'u' => {
                let (code, after) = rest.strip_prefix('{')?.split_once('}')?;
                out.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
                rest = after;
            }
            other => out.push(other),
        }
    }
}

/// The text after the first argument of a call.
fn after_argument(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}

/// Texts of a source file.
fn texts_of(name: &str, source: &str) -> Vec<Key> {
    let source = source.replace("#[cfg(test)]\nmod tests;\n", "");
    let source = source
        .split("#[cfg(test)]\nmod ")
        .next()
        .unwrap_or_default();
    let plain: Vec<&str> = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let source = plain.join("\n");
    let mut found = Vec::new();
    for (at, _) in source.match_indices('!') {
        let (before, after) = (&source[..at], &source[at + 1..]);
        let word = before
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default();
        let Some(arguments) = after.strip_prefix('(') else {
            continue;
        };
        match word {
            "tr" | "mark" => {
                // `mark!($what:literal)` is a macro pattern.
                let Some((english, rest)) = literal(arguments) else {
                    assert!(
                        arguments.starts_with('$'),
                        "{name}: {}",
                        &arguments[..arguments.len().min(60)]
                    );
                    continue;
                };
                let context = rest
                    .trim_start()
                    .strip_prefix("in ")
                    .and_then(literal)
                    .map(|(context, _)| context);
                found.push((context.unwrap_or_default(), english, None));
            }
            "tr_n" => {
                let forms = after_argument(arguments).and_then(literal);
                let forms = forms.and_then(|(one, rest)| {
                    Some((one, literal(rest.trim_start().strip_prefix(',')?)?.0))
                });
                let (one, many) = forms
                    .unwrap_or_else(|| panic!("{name}: {}", &arguments[..arguments.len().min(60)]));
                found.push((String::new(), one, Some(many)));
            }
            _ => {}
        }
    }
    found
}

/// Every text of the source in file order, with the files that contain it.
fn of_source() -> Vec<(Key, BTreeSet<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut places: BTreeMap<Key, usize> = BTreeMap::new();
    let mut all: Vec<(Key, BTreeSet<String>)> = Vec::new();
    let mut names = files_below(&root);
    names.sort();
    for name in names
        .iter()
        .filter(|name| name.ends_with(".rs") && *name != "text.rs")
    {
        let source = std::fs::read_to_string(root.join(name)).expect("a text file");
        for key in texts_of(name, &source) {
            let place = *places.entry(key.clone()).or_insert_with(|| {
                all.push((key, BTreeSet::new()));
                all.len() - 1
            });
            all[place].1.insert(format!("src/{name}"));
        }
    }
    all
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
            .replace('\t', "\\t")
    )
}

/// A catalogue with these texts.
fn catalogue(
    head: &str,
    texts: &[(Key, BTreeSet<String>)],
    translated: &BTreeMap<Key, Vec<String>>,
) -> String {
    let mut out = head.to_owned();
    for (key, files) in texts {
        let (context, one, many) = key;
        let given = translated.get(key);
        let form = |at: usize| {
            quoted(
                given
                    .and_then(|forms| forms.get(at))
                    .map_or("", String::as_str),
            )
        };
        let _ = writeln!(
            out,
            "\n#: {}",
            files.iter().cloned().collect::<Vec<_>>().join(" ")
        );
        if !context.is_empty() {
            let _ = writeln!(out, "msgctxt {}", quoted(context));
        }
        let _ = writeln!(out, "msgid {}", quoted(one));
        match many {
            None => drop(writeln!(out, "msgstr {}", form(0))),
            Some(many) => {
                let _ = writeln!(
                    out,
                    "msgid_plural {}\nmsgstr[0] {}\nmsgstr[1] {}",
                    quoted(many),
                    form(0),
                    form(1)
                );
            }
        }
    }
    out
}

fn key(entry: &CatalogueEntry) -> Key {
    (
        entry.context.clone(),
        entry.english.clone(),
        entry.many.clone(),
    )
}

/// The distinct placeholders `{name}` of a text.
fn places(text: &str) -> BTreeSet<String> {
    let plain = text.replace("{{", "").replace("}}", "");
    let parts = plain
        .split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}').map(|(name, _)| name.to_owned()));
    parts
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .collect()
}

#[test]
fn every_text_is_in_the_template_and_translations_have_its_placeholders() {
    let texts = of_source();
    assert!(texts.len() > 1000, "only {} texts found", texts.len());
    let writes = std::env::var_os("TACO_STUDIO_WRITE_TEXTS").is_some();
    let template = catalogue(TEMPLATE_HEAD, &texts, &BTreeMap::new());
    let path = folder().join("studio.pot");
    expect_generated(&path, &template, "TACO_STUDIO_WRITE_TEXTS");
    let (mut faults, mut missing) = (Vec::new(), Vec::new());
    for language in Language::ALL
        .into_iter()
        .filter(|language| language.catalogue().is_some())
    {
        let path = folder().join(format!("{}.po", language.tag()));
        let text = std::fs::read_to_string(&path).expect("the catalogue");
        let found: BTreeMap<Key, Vec<String>> = entries(&text)
            .expect("reads")
            .into_iter()
            .map(|entry| (key(&entry), entry.translated))
            .collect();
        if writes {
            let head = text
                .split_inclusive("\n\n")
                .next()
                .unwrap_or_default()
                .trim_end()
                .to_owned()
                + "\n";
            std::fs::write(&path, catalogue(&head, &texts, &found)).expect("writes");
        }
        for (known, _) in &texts {
            let Some(forms) = found.get(known).filter(|forms| !forms.is_empty()) else {
                missing.push(format!(
                    "{}: no translation of {:?}",
                    language.tag(),
                    known.1
                ));
                continue;
            };
            let wanted = known.2.as_ref().unwrap_or(&known.1);
            if forms.len() != 1 + usize::from(known.2.is_some()) {
                faults.push(format!(
                    "{}: {} forms for {:?}",
                    language.tag(),
                    forms.len(),
                    known.1
                ));
            }
            let last = forms.last().map(String::as_str).unwrap_or_default();
            if places(last) != places(wanted) {
                faults.push(format!(
                    "{}: other placeholders in {last:?} than in {wanted:?}",
                    language.tag()
                ));
            }
        }
        if !writes {
            let known: BTreeSet<&Key> = texts.iter().map(|(key, _)| key).collect();
            let unused = found.keys().filter(|key| !known.contains(key));
            missing
                .extend(unused.map(|key| {
                    format!("{}: no text of the source is {:?}", language.tag(), key.1)
                }));
        }
    }
    if std::env::var_os("TACO_STUDIO_RELEASE").is_some() {
        faults.append(&mut missing);
    }
    if !missing.is_empty() {
        eprintln!(
            "{} translations to bring up to date before a release:\n{}",
            missing.len(),
            missing.join("\n")
        );
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn texts_are_found_however_they_are_written() {
    let source = "#[cfg(test)]\nmod tests;\ntr!(\"a \\\"b\\\"\");\n tr!(\n \"one \\\n   two \
        {n}\",\n n\n)\n// tr!(\"no\")\ntr_n!(f(1, 2), \"x\", \"xs\", n)\n\
        tr!(\"Open\" in \"state\") mark!(\"m\") extra_tr!(\"no\")\n#[cfg(test)]\nmod tests { \
        tr!(\"no\") }";
    let found = texts_of("here", source);
    let plain = |text: &str| (String::new(), text.to_owned(), None);
    let wanted = [
        plain("a \"b\""),
        plain("one two {n}"),
        (String::new(), "x".into(), Some("xs".into())),
        ("state".into(), "Open".into(), None),
        plain("m"),
    ];
    assert_eq!(found, wanted);
}
