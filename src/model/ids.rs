//! Rules for ids (TACO 2.0, section 5.5), and reserved names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Maximum number of levels (0 to 5).
pub const MAX_LEVELS: usize = 6;
/// Maximum nesting of FOLDERs that is examined in memory and stored in a project, far above that of
/// a valid dataset.
pub const MAX_FOLDER_NESTING: usize = 64;
/// Prefix of padding ids.
pub const PAD_PREFIX: &str = "__TACOPAD__";
/// Name of the file in every FOLDER with the metadata of its children (section 6.2).
pub const META_NAME: &str = "__meta__";

/// Why an id is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdFault {
    /// Empty.
    #[error("is empty; an id needs at least one character")]
    Empty,
    /// `/`, `\` or `:`.
    #[error("contains \"{0}\"; ids may not contain / \\ or :")]
    Separator(char),
    /// A control character, including NUL and line breaks.
    #[error("contains the control character U+{0:04X}; remove it")]
    Control(u32),
    /// `.` or `..`, which would leave the folder.
    #[error("is a path step (\".\" or \"..\"); give it a name")]
    PathStep,
    /// A leading `__`, which is reserved.
    #[error("starts with \"__\", which is reserved for padding; drop the underscores")]
    Reserved,
    /// A dataset id with an upper-case letter, a space, or no letter.
    #[error("has to be lower-case letters, digits, \"_\" and \"-\", with at least one letter")]
    DatasetAlphabet,
    /// A metadata key that does not match `^[a-zA-Z0-9_]+(:\w+)?$`.
    #[error(
        "has to be letters, digits and \"_\", with at most one \":\" between namespace and name"
    )]
    FieldAlphabet,
    /// A field that the writer generates: `id`, `type`, `path` or `internal:*`.
    #[error("is made by the writer; choose another name")]
    FieldReserved,
    /// Longer than 255 bytes, the limit of file systems.
    #[error("is {0} bytes long; file systems allow 255")]
    TooLong(usize),
}

impl IdFault {
    /// The text of `Display` in the current interface language, for findings and the window. Errors
    /// use `Display`.
    pub fn localized_text(self) -> String {
        match self {
            Self::Empty => tr!("is empty; an id needs at least one character").to_owned(),
            Self::Separator(separator) => tr!(
                "contains \"{separator}\"; ids may not contain / \\ or :",
                separator
            ),
            Self::Control(code) => {
                tr!(
                    "contains the control character {code}; remove it",
                    code = format!("U+{code:04X}")
                )
            }
            Self::PathStep => tr!("is a path step (\".\" or \"..\"); give it a name").to_owned(),
            Self::Reserved => {
                tr!("starts with \"__\", which is reserved for padding; drop the underscores")
                    .to_owned()
            }
            Self::DatasetAlphabet => tr!(
                "has to be lower-case letters, digits, \"_\" and \"-\", with at least one letter"
            )
            .to_owned(),
            Self::FieldAlphabet => tr!(
                "has to be letters, digits and \"_\", with at most one \":\" between namespace \
                    and name"
            )
            .to_owned(),
            Self::FieldReserved => tr!("is made by the writer; choose another name").to_owned(),
            Self::TooLong(length) => tr!("is {length} bytes long; file systems allow 255", length),
        }
    }
}

/// Checks a sample's id (section 5.5.1); padding ids are valid. Stricter than the Python tools:
/// empty ids, `.`, `..` and control characters are refused.
///
/// # Errors
/// The rule that the id breaks.
pub fn check_sample_id(id: &str) -> Result<(), IdFault> {
    if id.is_empty() {
        return Err(IdFault::Empty);
    }
    if let Some(separator) = id.chars().find(|c| matches!(c, '/' | '\\' | ':')) {
        return Err(IdFault::Separator(separator));
    }
    if let Some(control) = id.chars().find(|c| c.is_control()) {
        return Err(IdFault::Control(control as u32));
    }
    if id == "." || id == ".." {
        return Err(IdFault::PathStep);
    }
    if id.starts_with("__") && !is_padding(id) {
        return Err(IdFault::Reserved);
    }
    if id.len() > 255 {
        return Err(IdFault::TooLong(id.len()));
    }
    Ok(())
}

/// Why a file name is not portable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// A Windows device name with any extension: `CON`, `NUL`, `COM1`, ….
    #[error("is the name of a device on Windows")]
    Device,
    /// A trailing dot or space, which Windows removes.
    #[error("ends with a dot or a space, which Windows drops")]
    Ending,
    /// One of `< > " | ? *`, a separator, or a control character.
    #[error("contains {0:?}, which Windows does not take in a name")]
    Letter(char),
}

impl NameFault {
    /// The text of `Display` in the current interface language, for findings.
    pub fn localized_text(self) -> String {
        match self {
            Self::Device => tr!("is the name of a device on Windows").to_owned(),
            Self::Ending => tr!("ends with a dot or a space, which Windows drops").to_owned(),
            Self::Letter(letter) => {
                tr!(
                    "contains {letter}, which Windows does not take in a name",
                    letter = format!("{letter:?}")
                )
            }
        }
    }
}

/// Checks that every operating system can store a file or folder of this name. The check is the
/// same on all systems, as datasets are moved between them.
///
/// # Errors
/// The first problem of the name.
pub fn check_portable_name(name: &str) -> Result<(), NameFault> {
    if let Some(letter) = name.chars().find(|c| {
        matches!(c, '<' | '>' | '"' | '|' | '?' | '*' | ':' | '/' | '\\') || c.is_control()
    }) {
        return Err(NameFault::Letter(letter));
    }
    if name.ends_with(['.', ' ']) {
        return Err(NameFault::Ending);
    }
    if crate::files::is_device_name(name) {
        Err(NameFault::Device)
    } else {
        Ok(())
    }
}

/// The nearest portable name: the proposed file name for an id.
pub fn portable_name(name: &str) -> String {
    let mapped: String = name.chars().map(replace_unportable_letter).collect();
    let mapped = mapped.trim_end_matches(['.', ' ']);
    if mapped.is_empty() || check_portable_name(mapped).is_err() {
        format!("_{mapped}")
    } else {
        mapped.to_owned()
    }
}

/// Names for a file, to take the first one that is free: `stem` and `ending`, then with `-2`, `-3`
/// and so on between them. The iterator has no end.
pub fn list_numbered_names(stem: &str, ending: &str) -> impl Iterator<Item = String> {
    let numbered = (2u64..).map(move |number| format!("{stem}-{number}{ending}"));
    std::iter::once(format!("{stem}{ending}")).chain(numbered)
}

/// Names of files in one folder, of which no two differ by case alone.
#[derive(Debug, Default)]
pub struct DistinctFileNames {
    taken: HashSet<String>,
    numbers: NameNumbers,
}

impl DistinctFileNames {
    /// Takes `stem` and `ending`, with `-2`, `-3` and so on between them where the name is taken.
    pub fn take(&mut self, stem: &str, ending: &str) -> String {
        let name = format!("{stem}{ending}");
        self.numbers.find_free(
            name.to_lowercase(),
            name,
            |number| format!("{stem}-{number}{ending}"),
            |name| self.taken.insert(name.to_lowercase()),
        )
    }
}

/// The next number of each repeated name, by a key of the name: many equal names take no longer
/// than as many different ones.
#[derive(Debug, Default)]
pub struct NameNumbers<K = String>(HashMap<K, u64>);

impl<K: Eq + Hash> NameNumbers<K> {
    /// The first that is free of `name`, `numbered(2)`, `numbered(3)` and so on. Names with the
    /// same `key` share their numbers. `is_free` is called once for each candidate.
    pub fn find_free(
        &mut self,
        key: K,
        name: String,
        numbered: impl Fn(u64) -> String,
        mut is_free: impl FnMut(&str) -> bool,
    ) -> String {
        let next = self.0.entry(key).or_insert(2);
        let mut free = name;
        while !is_free(&free) {
            free = numbered(*next);
            *next += 1;
        }
        free
    }
}

/// A name for a field or an id that is free: `name`, or with `_2`, `_3` and so on behind it.
pub fn find_free_name(name: &str, mut is_free: impl FnMut(&str) -> bool) -> String {
    let mut free = name.to_owned();
    let mut number = 2u64;
    while !is_free(&free) {
        free = format!("{name}_{number}");
        number += 1;
    }
    free
}

fn replace_unportable_letter(letter: char) -> char {
    match check_portable_name(letter.encode_utf8(&mut [0; 4])) {
        Err(NameFault::Letter(_)) => '_',
        _ => letter,
    }
}

/// The name as compared by file systems that know neither case nor Unicode form, such as those of
/// macOS.
pub fn without_case(name: &str) -> String {
    let folded: String = in_nfc(name)
        .chars()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect();
    // Letters in the other case may be composed in another way.
    in_nfc(&folded).into_owned()
}

/// The name in Unicode's composed form (NFC). File systems and programs write one name in either
/// form: `ñ` as one character, or as `n` and a tilde.
pub fn in_nfc(name: &str) -> Cow<'_, str> {
    match is_nfc_quick(name.chars()) {
        IsNormalized::Yes => Cow::Borrowed(name),
        _ => Cow::Owned(name.nfc().collect()),
    }
}

/// The forms in which programs write a name, that of `name` first: as it is, composed (NFC),
/// decomposed (NFD).
pub fn forms_of_name(name: &str) -> Vec<String> {
    let mut forms = vec![name.to_owned()];
    if !name.is_ascii() {
        for form in [name.nfc().collect(), name.nfd().collect()] {
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}

/// True for padding ids `__TACOPAD__N`.
pub fn is_padding(id: &str) -> bool {
    id.starts_with(PAD_PREFIX)
}

/// Checks a dataset's id (section 5.5.2) as the Python tools do: letters of any script, but no
/// upper case.
///
/// # Errors
/// The rule that the id breaks.
pub fn check_dataset_id(id: &str) -> Result<(), IdFault> {
    if id.is_empty() {
        return Err(IdFault::Empty);
    }
    let alphabet = id
        .chars()
        .all(|c| c == '_' || c == '-' || c.is_alphanumeric());
    let cased = id.chars().any(char::is_lowercase) && !id.chars().any(char::is_uppercase);
    if alphabet && cased {
        Ok(())
    } else {
        Err(IdFault::DatasetAlphabet)
    }
}

/// Checks the name of a metadata field (section 7.2).
///
/// # Errors
/// The rule that the name breaks.
pub fn check_field_name(name: &str) -> Result<(), IdFault> {
    if name.is_empty() {
        return Err(IdFault::Empty);
    }
    if matches!(name, "id" | "type" | "path") || name.starts_with("internal:") {
        return Err(IdFault::FieldReserved);
    }
    let (namespace, rest) = match name.split_once(':') {
        Some((namespace, rest)) => (namespace, Some(rest)),
        None => (name, None),
    };
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let wide =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if plain(namespace) && rest.is_none_or(wide) {
        Ok(())
    } else {
        Err(IdFault::FieldAlphabet)
    }
}

/// True when a path from an archive stays inside the folder that it is joined to, on every
/// operating system.
pub fn safe_relative(path: &str) -> bool {
    // A drive or an alternate data stream on Windows.
    let has_colon = path
        .split('/')
        .next()
        .is_some_and(|first| first.contains(':'));
    !path.is_empty()
        && !path.starts_with('/')
        && !path.contains(['\\', '\0'])
        && !path.split('/').any(|part| matches!(part, "" | "." | ".."))
        && !has_colon
}

/// True when an id matches a pattern: `*` matches any text, `?` any one character. Both may be in
/// any Unicode form. Time grows with the product of both lengths.
pub fn id_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (
        in_nfc(pattern).chars().collect(),
        in_nfc(text).chars().collect(),
    );
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star, from)) = retry else {
                    return false;
                };
                retry = Some((star, from + 1));
                p = star + 1;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localized_faults_equal_display_in_english() {
        use IdFault::{
            Control, DatasetAlphabet, Empty, FieldAlphabet, FieldReserved, PathStep, Reserved,
            Separator, TooLong,
        };
        let of_samples = [
            Empty,
            Separator('\\'),
            Control(10),
            PathStep,
            Reserved,
            TooLong(300),
        ];
        for fault in of_samples
            .into_iter()
            .chain([DatasetAlphabet, FieldAlphabet, FieldReserved])
        {
            assert_eq!(fault.localized_text(), fault.to_string());
        }
    }

    #[test]
    fn names_that_some_system_does_not_hold_are_told() {
        for good in [
            "a",
            "roi 7",
            "γ.tif",
            "con1",
            "comet.tif",
            "COMA",
            "x.con",
            ".hidden",
            "a.b.tif",
            "COM10",
        ] {
            assert_eq!(check_portable_name(good), Ok(()), "{good}");
        }
        for device in [
            "CON",
            "nul",
            "Aux.tif",
            "com1",
            "COM9.tar.gz",
            "LPT1 .x",
            "lpt²",
            "CONIN$",
        ] {
            assert_eq!(
                check_portable_name(device),
                Err(NameFault::Device),
                "{device}"
            );
        }
        assert_eq!(check_portable_name("a."), Err(NameFault::Ending));
        assert_eq!(check_portable_name("a "), Err(NameFault::Ending));
        for letter in "<>:\"/\\|?*\u{1}".chars() {
            assert_eq!(
                check_portable_name(&format!("a{letter}b")),
                Err(NameFault::Letter(letter))
            );
        }
        let proposed = [
            "../../.ssh/key",
            "C:\\x",
            "con.tif",
            "a. ",
            "..",
            "",
            "roi 7.tif",
        ]
        .map(portable_name);
        assert_eq!(
            proposed,
            [
                ".._.._.ssh_key",
                "C__x",
                "_con.tif",
                "a",
                "_",
                "_",
                "roi 7.tif"
            ]
        );
        assert_eq!(without_case("ÄßA"), without_case("äSSa"));
        assert_eq!(
            without_case("Can\u{303}o\u{301}n"),
            without_case("CA\u{d1}\u{d3}N")
        );
        assert_ne!(without_case("Canon"), without_case("Ca\u{f1}on"));
    }

    #[test]
    fn sample_ids() {
        for good in ["roi_0007", "a b", "γ.tif", "a-b", "__TACOPAD__3", "_x"] {
            assert_eq!(check_sample_id(good), Ok(()), "{good}");
        }
        assert_eq!(check_sample_id("a:b"), Err(IdFault::Separator(':')));
        assert_eq!(check_sample_id("a\\b"), Err(IdFault::Separator('\\')));
        assert_eq!(check_sample_id(""), Err(IdFault::Empty));
        assert_eq!(check_sample_id(".."), Err(IdFault::PathStep));
        assert_eq!(check_sample_id("a\nb"), Err(IdFault::Control(10)));
        assert_eq!(check_sample_id("__meta__"), Err(IdFault::Reserved));
    }

    #[test]
    fn dataset_ids_follow_the_python_tools() {
        for good in ["peru-cropland-s2", "ñandú", "-a", "a1_2"] {
            assert_eq!(check_dataset_id(good), Ok(()), "{good}");
        }
        for bad in ["123", "日本", "Peru", "a b", ""] {
            assert!(check_dataset_id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn field_names() {
        for good in ["cloud_cover", "stac:crs", "a1:ñ"] {
            assert_eq!(check_field_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a:b:c", "a b", "stac:", "id", "internal:offset"] {
            assert!(check_field_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn archive_paths_stay_inside() {
        assert!(safe_relative("DATA/a/b.tif"));
        for bad in ["../a", "/a", "a//b", "a/./b", "C:/a", "a\\b", "", "a/.."] {
            assert!(!safe_relative(bad), "{bad}");
        }
    }
}
