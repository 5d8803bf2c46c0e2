//! Entries of the palette: actions with synonyms, extensions, settings, languages, samples,
//! columns, documentation, and the command lines of the tools.

use super::App;
use super::action::Action;
use super::action_enabled::disabled_reason;
use super::documentation_page::Page;
use super::icons;
use super::pane::Pane;
use super::panel_context::{PanelContext, Request};
use super::widgets::PaletteEntry;
use crate::extensions::{ExtensionEntry, ExtensionScope};
use crate::gui::outline::matches;
use crate::ops::join_for_shell;
use crate::studio::{Document, RowRef};
use crate::text::Language;

/// Samples that a search lists.
const SAMPLES: usize = 60;

/// Entries with what each does.
type PaletteMatches = Vec<(PaletteEntry, Request)>;

/// Other words that people search for an action with.
fn synonyms(action: Action) -> &'static str {
    match action {
        Action::OpenFile | Action::OpenFolder | Action::OpenPath => {
            tr!("load, import, read, url, remote, cloud, s3")
        }
        Action::OpenRecent => tr!("history, last, reopen"),
        Action::Write => tr!("build, export, pack, publish, tacozip, zip, folder"),
        Action::ExportSubset => tr!("extract, filter, part, crop, concat, merge"),
        Action::Publish => {
            tr!("upload, share, release, s3, bucket, hugging face, zenodo, source cooperative")
        }
        Action::Describe => {
            tr!("stac, geoparquet, croissant, datacite, doi, card, catalogue, metadata")
        }
        Action::Validate => tr!("validate, verify, test, lint, rules"),
        Action::ValidateDeep => tr!("verify, deep, checksum, crc, integrity, repair, damaged"),
        Action::FixSafe | Action::FixProblem | Action::FixAlike => {
            tr!("mend, repair, correct, quick fix")
        }
        Action::Optimise => tr!("optimize, tog, cog, tile, compress, geotiff, convert raster"),
        Action::Histograms => tr!("count, bins, distribution"),
        Action::Percentiles => tr!("quantile, stretch, p2, p98, normalise"),
        Action::Repair => tr!("fix, mend, broken, corrupt, recover"),
        Action::Convert => {
            tr!("zip, folder, unpack, pack, split, parts, shard, join parts, compression")
        }
        Action::IndexZips => {
            tr!("tacocat, tacollection, consolidate, catalogue, collection, parts")
        }
        Action::Migrate => tr!("migrate, upgrade, convert, update, version, old, 0.2, 0.5, 3.0"),
        Action::PrepareTaco3 => {
            tr!("migrate, upgrade, bridge, rebuild, version, new, taco-eo, cozip, 3.0")
        }
        Action::WriteOlder => tr!("compile, downgrade, tortilla, taco, 0.2, 0.5, stream, legacy"),
        Action::EditFooter => tr!(
            "edit, footer, correct, repair, tortilla2taco, taco2tortilla, collection, columns, \
                fields"
        ),
        Action::OpenSeveral => {
            tr!("concat, join, merge, combine, several, base path, index, together")
        }
        Action::PadTo => tr!("padding, batch, placeholder, fill, multiple"),
        Action::Sidecars => tr!(
            "msk, mask, aux.xml, ovr, tfw, world file, prj, projection, burn in, pack, georeference"
        ),
        Action::Relocate => tr!("lost files, missing, moved, repair, relink"),
        Action::JoinTable => tr!("csv, metadata, columns, merge, excel"),
        Action::EditCopy => tr!("fork, change, edit, copy, duplicate"),
        Action::ShowCollection => {
            tr!("citation, licence, providers, authors, doi, title, keywords, publications")
        }
        Action::ShowPreview => {
            tr!("bands, spectrum, spectra, histogram, stretch, pixel, compare, play")
        }
        Action::ShowTable => tr!("rows, sort, order, values"),
        Action::ShowStructure => tr!("positions, children, order, missing, shape"),
        Action::ShowPattern => tr!("names, transpose, swap levels, regroup, dates, sort files"),
        Action::Unplace => tr!("tray, unassign, take back, regroup, place again"),
        Action::MoveUp | Action::MoveDown => tr!("order, reorder, sort, position"),
        Action::NextRoot | Action::PreviousRoot => {
            tr!("same position, step through, sibling, compare, time step")
        }
        Action::NextBand | Action::PreviousBand => {
            tr!("time step, date, level, dimension, cube, step through")
        }
        Action::Group | Action::Nest | Action::Unnest | Action::Dissolve => {
            tr!("folder, level, hierarchy, regroup")
        }
        Action::SaveSample => tr!("extract, download, export file"),
        Action::Settings => {
            tr!("preferences, options, configuration, theme, language, threads, cache, network")
        }
        Action::ToggleTheme => tr!("appearance, colours, night"),
        Action::Documentation => tr!("help, manual, rules, reference"),
        Action::Shortcuts => tr!("keys, keyboard, hotkeys"),
        Action::ShowStatistics => {
            tr!("mean, std, percentiles, leakage, duplicates, splits, classes")
        }
        Action::ShowExtensions => {
            tr!("stac, gcp, ground control points, enrich, compute columns, split, embeddings")
        }
        Action::ShowPlan => tr!("cluster, slurm, dask, parts, split, workers, machines"),
        Action::ShowEngine => tr!("cluster, slurm, dask, scheduler, workers, machines"),
        Action::ShowPart => tr!("plan, attempt, failed part, log of a part"),
        Action::ShowBytes => tr!("layout, offsets, hex, structure of the file"),
        Action::ShowSource => tr!("network, cache, requests, traffic"),
        Action::ShowQuery => {
            tr!("sql, select, search, sort, order by, python, duckdb, polars, spark, dask")
        }
        Action::ShowMap => tr!("footprints, places, extent, bbox"),
        Action::CancelJobs => tr!("stop, abort, kill"),
        _ => "",
    }
}

/// The synonyms in English, which are found in every language.
fn english(action: Action) -> String {
    let before = crate::text::of_thread();
    crate::text::speak(Some(Language::English));
    let words = synonyms(action).to_owned();
    crate::text::speak(before);
    words
}

/// The verb of the command line that does the same as an action.
fn verb(action: Action) -> Option<&'static str> {
    Some(match action {
        Action::Validate => "validate INPUT",
        Action::ValidateDeep => "validate --deep INPUT",
        Action::Optimise => "optimise INPUT -o OUT",
        Action::Histograms => "histograms INPUT -o OUT.tortilla",
        Action::Percentiles => "percentiles INPUT",
        Action::Repair => "repair INPUT -o OUT",
        Action::Convert => "convert INPUT OUT",
        Action::IndexZips => "tacocat ZIP… -o FOLDER",
        Action::Migrate => "migrate INPUT -o OUT",
        Action::PrepareTaco3 => "migrate INPUT --to 3 -o FOLDER",
        Action::WriteOlder => "compile INPUT -o OUT.tortilla",
        Action::EditFooter => "edit INPUT",
        Action::OpenSeveral => "concat INPUT MORE…",
        Action::ExportSubset => "export INPUT -o OUT",
        Action::Describe => "describe INPUT",
        Action::Publish => "publish INPUT TARGET",
        _ => return None,
    })
}

/// The entries for what is typed.
pub fn entries(cx: &mut PanelContext<'_>, query: &str) -> PaletteMatches {
    match query.chars().next() {
        Some('#') => samples(cx, query.trim_start_matches('#').trim()),
        Some(':') => columns(cx),
        Some('?') => documents(false),
        Some('>') => commands(cx),
        _ => {
            let mut found = offers(cx);
            found.extend(commands(cx));
            found.extend(extensions(cx));
            found.extend(settings());
            found.extend(documents(true));
            found.extend(command_lines(cx));
            found
        }
    }
}

fn commands(cx: &PanelContext<'_>) -> PaletteMatches {
    let other_language = crate::text::current_language() != Language::English;
    Action::ALL
        .iter()
        .filter(|action| **action != Action::Palette)
        .map(|action| make_command_entry(cx, *action, other_language))
        .collect()
}

fn make_command_entry(
    cx: &PanelContext<'_>,
    action: Action,
    other_language: bool,
) -> (PaletteEntry, Request) {
    let (info, keys) = (action.info(), action.keys_text());
    let mut synonyms = synonyms(action).to_owned();
    if other_language {
        synonyms = format!("{synonyms}, {}", english(action));
    }
    let entry = PaletteEntry {
        group: tr!("Commands"),
        icon: info.icon,
        text: info.text.to_owned(),
        about: info.tooltip.to_owned(),
        synonyms,
        right: if keys.is_empty() {
            info.menu.title().to_owned()
        } else {
            keys
        },
        blocked: disabled_reason(action, cx),
        on_demand: false,
    };
    (entry, Request::Do(action))
}

/// Proposal for the open draft: the metadata table found with its files.
fn offers(cx: &PanelContext<'_>) -> PaletteMatches {
    let Some(table) = cx.session.selection.files.table.clone().filter(|_| {
        cx.document()
            .is_some_and(|document| document.draft().is_some())
    }) else {
        return Vec::new();
    };
    let name = table
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let entry = PaletteEntry {
        group: tr!("Commands"),
        icon: icons::TABLE,
        text: tr!("Join {table}", table = name),
        about: tr!("Adds its columns to the samples that its rows name; shows first what matches")
            .to_owned(),
        synonyms: synonyms(Action::JoinTable).to_owned(),
        right: tr!("Unplaced files").to_owned(),
        ..PaletteEntry::default()
    };
    vec![(entry, Request::JoinTable(table))]
}

fn extensions(cx: &PanelContext<'_>) -> PaletteMatches {
    let draft = cx
        .document()
        .is_some_and(|document| document.draft().is_some());
    let why = (!draft)
        .then(|| tr!("Extensions add columns to a draft; edit the dataset as a draft first"));
    let registry = crate::extensions::builtin();
    registry
        .entries()
        .iter()
        .map(|entry| make_extension_entry(entry, why))
        .collect()
}

fn make_extension_entry(entry: &ExtensionEntry, blocked: Option<&str>) -> (PaletteEntry, Request) {
    let right = match entry.scope {
        ExtensionScope::Sample => tr!("samples"),
        ExtensionScope::Tortilla => tr!("tables"),
        ExtensionScope::Collection => tr!("collection" in "extension"),
    };
    let palette = PaletteEntry {
        group: tr!("Extensions"),
        icon: icons::PUZZLE_PIECE,
        text: crate::text::translate_text(entry.title).to_owned(),
        about: crate::text::translate_text(entry.summary).to_owned(),
        synonyms: entry.name.replace('_', " "),
        right: right.to_owned(),
        blocked: blocked.map(str::to_owned),
        on_demand: true,
    };
    (palette, Request::Extension(entry.name))
}

fn settings() -> PaletteMatches {
    let dialog = || Request::Do(Action::Settings);
    let mut found = vec![
        make_settings_entry(
            tr!("Theme").into(),
            tr!("dark, light, appearance, colours"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Size of everything").into(),
            tr!("zoom, scale, font size, larger, smaller"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Less motion: nothing slides, fades or spins").into(),
            tr!("animation, accessibility"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Threads (after a restart)").into(),
            tr!("processors, cpu, parallel, cores"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Concurrent requests").into(),
            tr!("network, connections, remote"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Stop waiting for a server after").into(),
            tr!("timeout, network, remote"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Maximum size of the cache").into(),
            tr!("cache, disk, space, remote"),
            dialog(),
        ),
        make_settings_entry(
            tr!("Empty the cache").into(),
            tr!("clear, delete, disk, space"),
            dialog(),
        ),
    ];
    let system = tr!(
        "As the system: {language}",
        language = Language::usual().name()
    );
    found.push(mark_language_entry(make_settings_entry(
        system,
        "language, idioma, system",
        Request::Language(None),
    )));
    for one in Language::ALL {
        let words = match one {
            Language::English => "english, inglés, language, idioma",
            Language::Spanish => "spanish, español, castellano, language, idioma",
        };
        found.push(mark_language_entry(make_settings_entry(
            one.name().to_owned(),
            words,
            Request::Language(Some(one)),
        )));
    }
    found
}

fn make_settings_entry(text: String, synonyms: &str, request: Request) -> (PaletteEntry, Request) {
    let entry = PaletteEntry {
        group: tr!("Settings"),
        icon: icons::GEAR_SIX,
        text,
        synonyms: synonyms.to_owned(),
        right: tr!("Settings").to_owned(),
        on_demand: true,
        ..PaletteEntry::default()
    };
    (entry, request)
}

fn mark_language_entry((mut entry, request): (PaletteEntry, Request)) -> (PaletteEntry, Request) {
    (entry.icon, entry.right) = (icons::TRANSLATE, tr!("Language").to_owned());
    (entry, request)
}

fn documents(on_demand: bool) -> PaletteMatches {
    let mut found = Vec::new();
    for page in Page::ALL {
        for (line, heading) in page.headings() {
            let entry = PaletteEntry {
                group: tr!("Documentation"),
                icon: icons::BOOK_OPEN,
                text: heading.replace('`', ""),
                synonyms: format!("{}, help, documentation", page.title()),
                right: page.title().to_owned(),
                on_demand,
                ..PaletteEntry::default()
            };
            found.push((entry, Request::Document(page, line)));
        }
    }
    found
}

fn command_lines(cx: &PanelContext<'_>) -> PaletteMatches {
    let input = cx
        .document()
        .and_then(|document| document.opened_dataset())
        .map(|open| open.reader.info().path.clone());
    let input = input.and_then(|path| Some(file_word(&path.file_name()?.to_string_lossy())));
    Action::ALL
        .iter()
        .filter_map(|action| make_command_line_entry(*action, input.as_deref()))
        .collect()
}

fn make_command_line_entry(action: Action, input: Option<&str>) -> Option<(PaletteEntry, Request)> {
    let verb = verb(action)?;
    let line = format!(
        "taco-studio {}",
        input.map_or_else(|| verb.to_owned(), |word| verb.replace("INPUT", word))
    );
    let entry = PaletteEntry {
        group: tr!("Elsewhere"),
        icon: icons::TERMINAL_WINDOW,
        text: line.clone(),
        about: tr!("The same from the command line").to_owned(),
        synonyms: english(action),
        right: tr!("Copy").to_owned(),
        on_demand: true,
        ..PaletteEntry::default()
    };
    Some((entry, Request::Copy(line)))
}

/// The name of a file in the current folder as a word of a command line: quoted, because a stranger
/// may have named it, and never an option.
fn file_word(name: &str) -> String {
    if name.starts_with('-') {
        join_for_shell([&*format!("./{name}")])
    } else {
        join_for_shell([name])
    }
}

fn samples(cx: &mut PanelContext<'_>, wanted: &str) -> PaletteMatches {
    let Some(document) = cx.document() else {
        return Vec::new();
    };
    let key = (cx.document_key(), wanted.to_owned());
    let (tree, pattern) = (document.tree().clone(), wanted.to_owned());
    cx.session
        .palette_samples
        .update(cx.jobs, key, tr!("Search samples"), move |ctx| {
            let mut found = Vec::new();
            for (level, table) in tree.levels.iter().enumerate() {
                for row in 0..table.len() as u32 {
                    if row % 4096 == 0 {
                        ctx.check()?;
                    }
                    if found.len() < SAMPLES && matches(&pattern, table.id(row)) {
                        found.push(RowRef { level, row });
                    }
                }
            }
            Ok(found)
        });
    cx.session
        .palette_samples
        .latest()
        .into_iter()
        .flatten()
        .filter_map(|at| make_sample_entry(document, wanted, *at))
        .collect()
}

fn make_sample_entry(
    document: &Document,
    wanted: &str,
    at: RowRef,
) -> Option<(PaletteEntry, Request)> {
    let path = document.path(at)?.to_string();
    let table = &document.tree().levels[at.level];
    let entry = PaletteEntry {
        group: tr!("Samples"),
        icon: if table.folder[at.row as usize] {
            icons::STACK
        } else {
            icons::of_file(table.id(at.row))
        },
        text: path,
        synonyms: wanted.to_owned(),
        right: tr!("Level {level}", level = at.level),
        ..PaletteEntry::default()
    };
    Some((entry, Request::Select(Some(at))))
}

fn columns(cx: &PanelContext<'_>) -> PaletteMatches {
    let Some(document) = cx.document() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for level in 0..document.tree().levels.len() {
        for field in document.fields(level) {
            let entry = PaletteEntry {
                group: tr!("Columns"),
                icon: icons::COLUMNS,
                about: format!("{:?}", field.dtype),
                text: field.name,
                right: tr!("Level {level}", level),
                ..PaletteEntry::default()
            };
            found.push((entry, Request::Show(Pane::Columns)));
        }
    }
    found
}

impl App {
    /// Draws the palette while it is open, and requests what is chosen.
    pub(super) fn palette_ui(&mut self, ctx: &egui::Context) {
        if !self.palette.is_open() {
            return;
        }
        let query = self.palette.query().to_owned();
        let found = self.with_cx(|cx| entries(cx, &query));
        let (entries, mut requests): (Vec<PaletteEntry>, Vec<Request>) = found.into_iter().unzip();
        if let Some(chosen) = self.palette.show(ctx, &entries) {
            self.requests.push(requests.swap_remove(chosen));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_users_lead_to_actions() {
        for word in [
            "python",
            "citation",
            "duplicate",
            "gcp",
            "spectr",
            "transpose",
            "sort",
            "order",
            "next root",
        ] {
            let found = |action: &Action| {
                synonyms(*action).contains(word) || action.info().text.to_lowercase().contains(word)
            };
            assert!(Action::ALL.iter().any(found), "{word}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_name_of_a_file_is_one_word_of_the_command_line_and_no_option() {
        for (name, word) in [
            ("scenes.tacozip", "scenes.tacozip"),
            ("x; rm -rf ~ #.tacozip", "'x; rm -rf ~ #.tacozip'"),
            ("$(id).tacozip", "'$(id).tacozip'"),
            ("--config=x.tacozip", "./--config=x.tacozip"),
        ] {
            assert_eq!(shlex::split(&file_word(name)), shlex::split(word), "{name}");
        }
        assert!(!file_word("a\u{1b}[201~\n.tacozip").contains(char::is_control));
    }
}
