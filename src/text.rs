//! Texts of the interface in the user's language.
//!
//! The source contains the English text inside `tr!`, `tr_n!` or `mark!`. A test extracts all texts
//! to `assets/text/studio.pot` (gettext) and compares the catalogues `assets/text/*.po` with it.
//! Catalogues are compiled into the program; a missing translation is shown in English. To add a
//! language, translate `studio.pot` to `assets/text/TAG.po` and add it to [`Language`].
//!
//! Errors and the output of the command line are always English, for searching and for parsing.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use unicode_normalization::UnicodeNormalization as _;

/// A language of the interface.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Language {
    /// English, the language of the source.
    #[default]
    English,
    Spanish,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::English, Self::Spanish];

    /// Native name of the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Spanish => "Español",
        }
    }

    /// Language subtag (BCP 47).
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Spanish => "es",
        }
    }

    /// The language of a tag such as `es-PE` or `es_PE.UTF-8`.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let first = tag.split(['-', '_', '.', '@']).next()?;
        Self::ALL
            .into_iter()
            .find(|language| language.tag().eq_ignore_ascii_case(first))
    }

    /// Initial language: the system's after [`follow_system`]; otherwise English, as in scripts and
    /// tests.
    pub fn usual() -> Self {
        LANGUAGES.system.get().copied().unwrap_or_default()
    }

    /// The first supported language in the system's settings; else English.
    pub fn of_system() -> Self {
        sys_locale::get_locales()
            .find_map(|tag| Self::of_tag(&tag))
            .unwrap_or_default()
    }

    /// The built-in catalogue; `None` for English.
    pub fn catalogue(self) -> Option<&'static str> {
        match self {
            Self::English => None,
            Self::Spanish => Some(include_str!("../assets/text/es.po")),
        }
    }

    fn texts(self) -> Option<&'static LanguageTexts> {
        let catalogue = self.catalogue()?;
        match self {
            Self::English => None,
            Self::Spanish => LANGUAGES
                .spanish
                .get_or_init(|| LanguageTexts::read(catalogue).ok())
                .as_ref(),
        }
    }
}

/// Languages of this process.
struct ProcessLanguages {
    /// The system's language, after [`follow_system`].
    system: OnceLock<Language>,
    /// Language of the window and its worker threads, as an index into [`Language::ALL`].
    window: AtomicU8,
    /// The texts of the Spanish catalogue, read at their first use.
    spanish: OnceLock<Option<LanguageTexts>>,
}

static LANGUAGES: ProcessLanguages = ProcessLanguages {
    system: OnceLock::new(),
    window: AtomicU8::new(0),
    spanish: OnceLock::new(),
};

/// Uses the system's language unless the user chose another.
pub fn follow_system() {
    LANGUAGES.system.get_or_init(Language::of_system);
}

thread_local! {
    /// Language of this thread, overriding the window's.
    static OF_THREAD: Cell<Option<Language>> = const { Cell::new(None) };
}

/// Sets the user's choice; `None` for the system's language. After [`follow_system`] it applies to
/// all threads; otherwise (as in tests with one window per thread) to this thread only.
pub fn choose(language: Option<Language>) {
    match LANGUAGES.system.get() {
        Some(&system) => {
            let chosen = language.unwrap_or(system) as u8;
            LANGUAGES.window.store(chosen, Ordering::Relaxed);
        }
        None => speak(language),
    }
}

/// Sets the language of this thread; `None` removes the override.
pub fn speak(language: Option<Language>) {
    OF_THREAD.set(language);
}

/// The override of this thread, to be passed to threads that it starts.
pub fn of_thread() -> Option<Language> {
    OF_THREAD.get()
}

/// The current language of this thread; English by default.
pub fn current_language() -> Language {
    OF_THREAD.get().unwrap_or_else(read_window_language)
}

fn read_window_language() -> Language {
    Language::ALL
        .get(usize::from(LANGUAGES.window.load(Ordering::Relaxed)))
        .copied()
        .unwrap_or_default()
}

/// The translation of a text. Prefer `tr!`; this function is for texts from tables, marked there
/// with `mark!`.
pub fn translate_text(english: &'static str) -> &'static str {
    in_context("", english)
}

/// The translation of an ambiguous text; `context` distinguishes its meanings.
pub fn in_context(context: &'static str, english: &'static str) -> &'static str {
    let found = current_language()
        .texts()
        .and_then(|texts| texts.of.get(&(context, english)));
    found.map_or(english, |forms| forms.0)
}

/// The singular or plural form for a count.
pub fn select_plural_form(count: u64, one: &'static str, many: &'static str) -> &'static str {
    let found = current_language()
        .texts()
        .and_then(|texts| texts.of.get(&("", one)));
    // In English and Spanish: singular for 1, plural otherwise, including 0.
    match (found, count == 1) {
        (Some(forms), true) => forms.0,
        (Some(forms), false) => forms.1,
        (None, true) => one,
        (None, false) => many,
    }
}

/// Replaces the placeholders `{name}` by values.
pub fn fill(text: &str, values: &[(&str, &dyn Display)]) -> String {
    use std::fmt::Write as _;
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            filled.push_str(brace);
            rest = after;
            continue;
        }
        let Some((name, after)) = rest.split_once('}') else {
            continue;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            // Writing to a string only fails when a value's `Display` does.
            let _ = write!(filled, "{value}");
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// The texts of a language, by context and English text.
struct LanguageTexts {
    /// Translation; for counted texts singular and plural.
    of: HashMap<(&'static str, &'static str), (&'static str, &'static str)>,
}

impl LanguageTexts {
    fn read(catalogue: &'static str) -> Result<Self, polib::po_file::POParseError> {
        let mut of = HashMap::new();
        for entry in entries(catalogue)? {
            let mut forms = entry.translated.into_iter().map(leak_text);
            let Some(one) = forms.next() else { continue };
            let many = forms.next().unwrap_or(one);
            of.insert(
                (leak_text(entry.context), leak_text(entry.english)),
                (one, many),
            );
        }
        Ok(Self { of })
    }
}

/// Leaks a string: catalogue texts have static lifetime.
fn leak_text(text: String) -> &'static str {
    text.leak()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// Context (msgctxt); empty for none.
    pub context: String,
    /// The English text (msgid); singular for counted texts.
    pub english: String,
    /// English plural (msgid_plural) of counted texts.
    pub many: Option<String>,
    /// Translated forms; empty when missing.
    pub translated: Vec<String>,
}

/// The entry of `known` with the smallest edit distance to `typed`, if it is small. Upper and lower
/// case are the same.
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let (distance, name) = known
        .map(|name| (strsim::levenshtein(&typed, &name.to_lowercase()), name))
        .min()?;
    (distance <= typed.chars().count().max(3) / 2 + 1).then_some(name)
}

/// Most combining marks that follow each other unescaped: no orthography needs more, and a long row
/// of them covers the lines around.
const MARKS_MAX: usize = 8;
/// Most characters of a text of data that the window lays out, in a block and on a line: laying out
/// a megabyte holds the window up, and no screen shows it.
const BLOCK_MAX: usize = 10_000;
const LINE_MAX: usize = 2_000;

/// Escapes a text of data for a terminal or the window: control characters, marks of writing
/// direction, characters that show nothing and rows of combining marks become JSON-style escapes
/// such as `\u202e`, so JSON keeps its meaning. Line breaks and tabs are kept, and joiners and
/// variation selectors where they form letters or emoji.
pub fn printable(text: &str) -> Cow<'_, str> {
    with_deceptive(text, |letter, shown| {
        letter
            .encode_utf16(&mut [0; 2])
            .iter()
            .for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
    })
}

/// The form in which the window shows a text that is being edited: `�` in place of each character
/// that [`printable`] escapes, so that the cursor is where it seems to be.
pub fn editable(text: &str) -> Cow<'_, str> {
    with_deceptive(text, |_, shown| shown.push('\u{fffd}'))
}

/// The first of a list of texts, each on one line, and `…` where there are more than `most`.
pub fn list_first<T: AsRef<str>>(texts: impl IntoIterator<Item = T>, most: usize) -> String {
    let mut texts = texts.into_iter();
    let shown: Vec<String> = texts
        .by_ref()
        .take(most)
        .map(|text| text.as_ref().printable_line().to_string())
        .collect();
    let more = if texts.next().is_some() { ", …" } else { "" };
    shown.join(", ") + more
}

/// The text with its letters without accents and other combining marks.
pub fn without_marks(text: &str) -> String {
    text.nfkd()
        .filter(|letter| !unicode_normalization::char::is_combining_mark(*letter))
        .collect()
}

/// The text with what `put` writes in place of each character that [`printable`] escapes.
pub fn with_deceptive(text: &str, put: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let (mut taken, mut marks, mut before) = (0, 0, None);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let after = letters.peek().map(|(_, after)| *after);
        let is_mark = !letter.is_ascii() && unicode_normalization::char::is_combining_mark(letter);
        marks = if is_mark { marks + 1 } else { 0 };
        if marks > MARKS_MAX || is_deceptive(before, letter, after) {
            shown.push_str(&text[taken..at]);
            put(letter, &mut shown);
            taken = at + letter.len_utf8();
        }
        before = Some(letter);
    }
    if taken == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[taken..]);
    Cow::Owned(shown)
}

/// Texts of files and users in messages.
pub trait PrintableLine {
    /// As [`printable`] on one line: line breaks and tabs are escaped too; quotes and backslashes
    /// are as they are, so that names and paths can be copied.
    fn printable_line(&self) -> Cow<'_, str>;
}

impl PrintableLine for str {
    fn printable_line(&self) -> Cow<'_, str> {
        let text = printable(self);
        if !text.contains(['\n', '\t']) {
            return text;
        }
        Cow::Owned(text.replace('\n', "\\n").replace('\t', "\\t"))
    }
}

/// The form in which the window shows a text of several lines: as [`printable`], and cut after
/// 10,000 characters.
pub fn displayed_block(text: &str) -> Cow<'_, str> {
    shortened_to(text, BLOCK_MAX, printable)
}

/// The form in which the window shows a text on one line: as [`PrintableLine::printable_line`], and
/// cut after 2,000 characters.
pub fn displayed_line(text: &str) -> Cow<'_, str> {
    shortened_to(text, LINE_MAX, str::printable_line)
}

/// `escape` of the first `most` characters, with `…` where there are more.
fn shortened_to(text: &str, most: usize, escape: fn(&str) -> Cow<'_, str>) -> Cow<'_, str> {
    // A character has at least one byte.
    let end = if text.len() <= most {
        None
    } else {
        text.char_indices().nth(most).map(|(at, _)| at)
    };
    match end {
        None => escape(text),
        Some(end) => Cow::Owned(format!("{}…", escape(&text[..end]))),
    }
}

/// True for a character between `before` and `after` that shows nothing, hides what is beside it,
/// or changes its order.
fn is_deceptive(before: Option<char>, letter: char, after: Option<char>) -> bool {
    match letter {
        '\n' | '\t' => false,
        // The joiners form letters of Arabic and Indic scripts, and emoji.
        '\u{200c}' | '\u{200d}' => {
            let joins = |letter: char| letter >= '\u{600}' && !is_invisible(letter);
            !(before.is_some_and(|before| joins(before) || before == '\u{fe0f}')
                && after.is_some_and(joins))
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            !before.is_some_and(takes_variation_selector)
        }
        letter => letter.is_control() || is_invisible(letter),
    }
}

/// One variation selector chooses the form of a Chinese character, a symbol, or a digit as an
/// emoji.
fn takes_variation_selector(letter: char) -> bool {
    (letter >= '\u{2000}' && !is_invisible(letter))
        || matches!(letter, '0'..='9' | '#' | '*' | '©' | '®')
}

/// True for characters without a picture of their own: those with the properties
/// Default_Ignorable_Code_Point or Bidi_Control (Unicode Standard Annex 44), separators of lines,
/// annotations, and the empty Braille cell.
fn is_invisible(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Parses a catalogue.
///
/// # Errors
/// When it is not valid PO syntax.
pub fn entries(catalogue: &str) -> Result<Vec<CatalogueEntry>, polib::po_file::POParseError> {
    let options = polib::po_file::POParseOptions {
        message_body_only: true,
        ..Default::default()
    };
    let read = polib::po_file::parse_from_reader_with_option(catalogue.as_bytes(), &options)?;
    let entries = read.messages().map(|message| {
        let forms = message
            .msgstr_plural()
            .cloned()
            .or_else(|_| message.msgstr().map(|text| vec![text.to_owned()]));
        let translated = forms.unwrap_or_default();
        CatalogueEntry {
            context: message.msgctxt().unwrap_or_default().to_owned(),
            english: message.msgid().to_owned(),
            many: message.msgid_plural().ok().map(str::to_owned),
            translated: if translated.iter().any(String::is_empty) {
                Vec::new()
            } else {
                translated
            },
        }
    });
    Ok(entries.collect())
}

/// The translation of an interface text: `tr!("Open file")` is a `&'static str`. With values, a
/// `String`: `tr!("Cached: {files} files, {size}", size = format_bytes(bytes), files)`. With a
/// context for ambiguous texts: `tr!("Open" in "state of a job")`. Placeholders and values are
/// checked at compile time.
macro_rules! tr {
    ($text:literal) => {
        $crate::text::translate_text($text)
    };
    ($text:literal in $context:literal) => {
        $crate::text::in_context($context, $text)
    };
    ($text:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        tr!(@fill $crate::text::translate_text($text), $text, $($name $(= $value)?),+)
    };
    (@fill $template:expr, $text:literal, $($name:ident $(= $value:expr)?),+) => {
        match ($(&tr!(@value $name $(= $value)?),)+) {
            ($($name,)+) => {
                // Never executed; the compiler checks placeholders against values.
                if false {
                    let _ = format_args!($text, $($name = $name),+);
                }
                $crate::text::fill($template, &[$((stringify!($name), $name as &dyn ::std::fmt::Display)),+])
            }
        }
    };
    (@value $name:ident) => { $name };
    (@value $name:ident = $value:expr) => { $value };
}

/// The translation of a text with a count: `tr_n!(files, "{n} file", "{n} files", n =
/// paint::grouped(files))`. Without values, a `&'static str`.
macro_rules! tr_n {
    ($count:expr, $one:literal, $many:literal) => {
        $crate::text::select_plural_form($count as u64, $one, $many)
    };
    ($count:expr, $one:literal, $many:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {{
        let template = $crate::text::select_plural_form($count as u64, $one, $many);
        tr!(@fill template, $many, $($name $(= $value)?),+)
    }};
}

/// Marks a text in a table for extraction; [`translate_text`](crate::text::translate_text)
/// translates it where it is shown.
macro_rules! mark {
    ($text:literal) => {
        $text
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(
            nearest("sentinel2", ["landsat8oli", "sentinel2msi"].into_iter()),
            Some("sentinel2msi")
        );
        assert_eq!(nearest("zzzzzzzzzzzz", ["aster"].into_iter()), None);
    }

    #[test]
    fn control_characters_are_escaped_and_letters_kept() {
        let plain = "γ ñ 雪 مرحبا 👩\u{200d}🚀\n\tb";
        assert!(matches!(printable(plain), Cow::Borrowed(same) if same == plain));
        let shown = printable("a\u{1b}[2Jb\rc\u{9b}d\u{7f}e\u{202e}f\u{2066}g\u{200b}h\0");
        assert_eq!(
            shown,
            r"a\u001b[2Jb\u000dc\u009bd\u007fe\u202ef\u2066g\u200bh\u0000"
        );
        assert_eq!(
            "a\nerror: b\t\u{2028}".printable_line(),
            r"a\nerror: b\t\u2028"
        );
        assert_eq!(
            r#"C:\data\it's "one".tif"#.printable_line(),
            r#"C:\data\it's "one".tif"#
        );
    }

    #[test]
    fn what_shows_nothing_is_escaped_and_what_forms_letters_and_emoji_is_kept() {
        for plain in [
            "👩🏽\u{200d}🚀",
            "❤\u{fe0f}\u{200d}🔥",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "葛\u{e0100}",
            "é e\u{301}\u{323}",
        ] {
            assert!(
                matches!(printable(plain), Cow::Borrowed(_)),
                "{plain:?} became {}",
                printable(plain)
            );
        }
        for (text, shown) in [
            ("a\u{200d}b", r"a\u200db"),
            ("\u{200c}", r"\u200c"),
            ("id\u{ad}1", r"id\u00ad1"),
            ("é\u{200d}é", r"é\u200dé"),
            ("🛰\u{fe0f}\u{fe0f}", "🛰\u{fe0f}\\ufe0f"),
            ("a\u{e0100}", r"a\udb40\udd00"),
            ("\u{3164}\u{2800}\u{206a}", r"\u3164\u2800\u206a"),
            ("a\u{2069}\u{2067}", r"a\u2069\u2067"),
        ] {
            assert_eq!(printable(text), shown);
        }
        let storm = format!("a{}b", "\u{301}".repeat(1000));
        let shown = printable(&storm);
        assert_eq!(shown.matches('\u{301}').count(), MARKS_MAX);
        assert!(shown.ends_with("\\u0301b"));
    }

    #[test]
    fn the_window_lays_out_the_beginning_of_a_long_text_only() {
        let long = "卫".repeat(1 << 20);
        assert_eq!(
            (
                displayed_block(&long).chars().count(),
                displayed_line(&long).chars().count()
            ),
            (BLOCK_MAX + 1, LINE_MAX + 1)
        );
        assert!(displayed_block(&long).ends_with('…'));
        assert_eq!(displayed_line("a\nb\u{202e}"), r"a\nb\u202e");
        assert_eq!(displayed_block("a\nb\u{202e}"), "a\nb\\u202e");
        assert_eq!(editable("a\nb\u{202e}\u{1b}c"), "a\nb\u{fffd}\u{fffd}c");
        let fits = "x".repeat(LINE_MAX);
        assert!(matches!(displayed_line(&fits), Cow::Borrowed(_)));
    }

    #[test]
    fn places_take_their_values_and_doubled_braces_stay() {
        let (size, files) = ("3 MB", 4);
        assert_eq!(
            tr!("Kept: {size} of {files}", size, files),
            "Kept: 3 MB of 4"
        );
        assert_eq!(
            tr!("{{as it is}} {files}", files = files + 1),
            "{as it is} 5"
        );
        assert_eq!(fill("ñ {a} á {b", &[("a", &1)]), "ñ 1 á b");
    }

    #[test]
    fn one_and_many_take_their_form() {
        let text = |n: usize| tr_n!(n, "{n} thing", "{n} things", n);
        assert_eq!(
            [text(0), text(1), text(2)],
            ["0 things", "1 thing", "2 things"]
        );
    }

    #[test]
    fn a_language_is_found_by_the_systems_tag() {
        assert_eq!(Language::of_tag("es-PE"), Some(Language::Spanish));
        assert_eq!(Language::of_tag("es_ES.UTF-8"), Some(Language::Spanish));
        assert_eq!(Language::of_tag("EN"), Some(Language::English));
        assert_eq!(
            [
                Language::of_tag("C"),
                Language::of_tag(""),
                Language::of_tag("est")
            ],
            [None; 3]
        );
    }

    #[test]
    fn texts_are_in_the_language_of_the_thread() {
        speak(Some(Language::Spanish));
        let spanish = (
            tr!("Undo"),
            std::thread::spawn(|| tr!("Undo")).join().unwrap(),
        );
        speak(None);
        assert_eq!((spanish, tr!("Undo")), (("Deshacer", "Undo"), "Undo"));
    }
}
