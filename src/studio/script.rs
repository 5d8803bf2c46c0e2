//! Scripts: lists of commands and of steps of the interface, each a line of a JSON list. This file
//! has the types only: [`super::replay()`] runs commands, the window runs interface steps. A line
//! is a command when it has a `command`, a step when it has a `step`:
//!
//! ```json
//! [
//!   {"step": "drop", "paths": ["scenes"]},
//!   {"step": "wait_job"},
//!   {"step": "open_panel", "panel": "Structure"},
//!   {"step": "click", "label": "Fix 2 safe"},
//!   {"step": "screenshot", "name": "fixed"},
//!   {"command": "validate", "expect": {"rules": []}}
//! ]
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;

use super::Command;
use crate::container::read_json_document;
use crate::error::{Error, IoContext, Result};
use crate::extensions;
use crate::model::is_remote;
use crate::ops::AnyOperation;
use crate::remote::admit;
use crate::text::PrintableLine;

/// Default timeout of a step in seconds.
pub const WAIT_SECONDS: f64 = 60.0;

/// Placeholder in typed text for the folder of the script.
const HERE: &str = "{here}";

/// Allowed width and height of the window in points.
const SIDE: std::ops::RangeInclusive<f32> = 1.0..=16_384.0;

/// A command of a script with its expectation.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct ReplayLine {
    #[serde(flatten)]
    pub command: Command,
    /// Expected result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expect>,
}

/// Expectation after a command. Absent fields are not checked.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// The command fails with a message that contains this text.
    pub error: Option<String>,
    /// Number of samples per level.
    pub rows: Option<Vec<usize>>,
    /// Rule codes of the last check, sorted, without duplicates.
    pub rules: Option<Vec<String>>,
    /// Collection fields that have these values.
    pub collection: Option<serde_json::Map<String, Json>>,
    /// Rows of a query.
    pub result: Option<Vec<Json>>,
    /// Number of files in the tray.
    pub tray: Option<usize>,
    /// Labels, or their prefixes, of the fixes of a finding or of the alternatives of a name
    /// pattern.
    pub offers: Option<Vec<String>>,
}

#[derive(Clone, Debug, serde::Serialize)]
#[serde(untagged)]
pub enum ScriptLine {
    /// A command with its expectation.
    Command(Box<ReplayLine>),
    /// An interface step.
    Step(Step),
}

/// An interface step. Labels are accessible names; `nth` selects among several controls with one
/// label, the first by default.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Shows a panel.
    OpenPanel {
        /// Title of the panel.
        panel: String,
    },
    /// Selects a sample.
    Select {
        /// Ids from the root: `roi_0007/s2/t02`.
        path: String,
    },
    /// Clicks a control.
    Click {
        /// Its accessible name.
        label: String,
        /// 0-based index among several.
        #[serde(default)]
        nth: usize,
        /// Use the secondary button.
        #[serde(default)]
        secondary: bool,
        /// Double-click.
        #[serde(default)]
        double: bool,
    },
    /// Types text.
    Type {
        /// The field; `None`: the focused one.
        #[serde(default)]
        label: Option<String>,
        /// 0-based index among several.
        #[serde(default)]
        nth: usize,
        /// Clears the field first.
        #[serde(default)]
        clear: bool,
        /// Text to type; `{here}` is replaced by the script's folder.
        text: String,
    },
    /// Presses a key.
    Key {
        /// Key in menu notation: `Ctrl+Shift+Z`, `Tab`, `Enter`.
        key: String,
        /// Number of key presses.
        #[serde(default = "once")]
        times: u32,
    },
    /// Drops files and folders on the window.
    Drop {
        /// Paths, relative to the script.
        paths: Vec<PathBuf>,
    },
    /// Drags one control onto another.
    Drag {
        /// Accessible name of the dragged control.
        from: String,
        /// Accessible name of the target.
        to: String,
    },
    /// Waits until no job runs and the draft is checked.
    WaitJob {
        /// Timeout in seconds.
        #[serde(default = "wait_seconds")]
        seconds: f64,
    },
    /// Waits until a control exists.
    WaitFor {
        /// Its accessible name.
        label: String,
        /// Timeout in seconds.
        #[serde(default = "wait_seconds")]
        seconds: f64,
    },
    /// Checks the document and the visible controls.
    Expect {
        /// Expectation, as after a command.
        #[serde(default)]
        that: Box<Expect>,
        /// Accessible names that must exist.
        #[serde(default)]
        shown: Vec<String>,
        /// Accessible names that must not exist.
        #[serde(default)]
        absent: Vec<String>,
    },
    /// Saves a screenshot of the window.
    Screenshot {
        /// File name without extension, in the screenshot folder.
        name: String,
    },
    /// Resizes the window.
    Resize {
        /// Width in points.
        width: f32,
        /// Height in points.
        height: f32,
    },
    /// Sets the theme.
    Theme {
        /// `dark` or `light`.
        theme: String,
    },
}

fn once() -> u32 {
    1
}

fn wait_seconds() -> f64 {
    WAIT_SECONDS
}

impl Step {
    /// True for steps that need a window.
    pub fn needs_window(&self) -> bool {
        match self {
            Step::Drop { .. } | Step::WaitJob { .. } => false,
            Step::Expect { shown, absent, .. } => !(shown.is_empty() && absent.is_empty()),
            _ => true,
        }
    }
}

impl<'de> Deserialize<'de> for ScriptLine {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let line = Json::deserialize(deserializer)?;
        if let Some(why) = line
            .get("command")
            .and_then(Json::as_str)
            .and_then(removed_command_error)
        {
            return Err(D::Error::custom(why));
        }
        match (line.get("command").is_some(), line.get("step").is_some()) {
            (true, false) => serde_json::from_value(line)
                .map(|line| ScriptLine::Command(Box::new(line)))
                .map_err(D::Error::custom),
            (false, true) => serde_json::from_value(line)
                .map(ScriptLine::Step)
                .map_err(D::Error::custom),
            _ => Err(D::Error::custom("a line needs either a command or a step")),
        }
    }
}

/// Error message for a command of earlier versions that was removed; `None` for other names.
fn removed_command_error(command: &str) -> Option<String> {
    let instead = match command {
        "summarize" | "footprints" | "preview" | "thumbnail" | "bytes" => {
            "the window computes it by itself"
        }
        "check_togs" => "use `taco-studio validate --tog`",
        "pool_statistics" => "use `taco-studio stats`",
        "fix_alike" | "align_schema" => "use find_fixes and apply_fix, or fix_safe",
        "fill_missing" | "pad_to" => "use `taco-studio create --fill-missing --pad-to N`",
        _ => return None,
    };
    Some(format!(
        "the command {command} is not offered any more: {instead}"
    ))
}

/// A command or step of a script, and where it is.
#[derive(Clone, Debug)]
pub struct PlacedScriptLine {
    /// Its number among the commands and steps, from 1.
    pub number: usize,
    /// The line of the file on which it begins, from 1.
    pub file_line: usize,
    pub content: ScriptLine,
}

impl PlacedScriptLine {
    /// Where it is, for errors; `file` is the name of the script.
    pub fn place_in(&self, file: &str) -> String {
        format!("{file} line {} (item {})", self.file_line, self.number)
    }
}

/// The lines, from 1, on which the items of a JSON list begin. The text is valid.
fn list_item_lines(text: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut line, mut depth) = (1usize, 0usize);
    let (mut in_string, mut escaped, mut begins) = (false, false, false);
    for byte in text {
        line += usize::from(*byte == b'\n');
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        if begins && !byte.is_ascii_whitespace() && *byte != b']' {
            found.push(line);
            begins = false;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth = depth.saturating_add(1);
                begins = depth == 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => begins = depth == 1,
            _ => {}
        }
    }
    found
}

/// Reads a script and resolves its paths against its folder.
///
/// # Errors
/// [`crate::error::Kind::Io`] or [`crate::error::Kind::Format`] for a file that is not a script;
/// [`crate::error::Kind::Usage`] when it starts programs or sets connection settings without the
/// consent of the user of this session. Nothing is run.
pub fn read_script(file: &Path) -> Result<Vec<PlacedScriptLine>> {
    let text = read_json_document(file, "read the command file")?;
    let lines: Vec<ScriptLine> = serde_json::from_slice(&text).map_err(|error| {
        Error::usage("the command file is not a list of commands")
            .because(error)
            .at_path(file)
    })?;
    let numbered = (1..).zip(list_item_lines(&text)).zip(lines);
    let mut lines: Vec<PlacedScriptLine> = numbered
        .map(|((number, file_line), content)| PlacedScriptLine {
            number,
            file_line,
            content,
        })
        .collect();
    let name = file.display().to_string();
    let base = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    for line in &mut lines {
        let place = line.place_in(&name);
        match &mut line.content {
            ScriptLine::Command(line) => line
                .command
                .visit_paths(&mut |_, path| *path = resolve_script_path(base, path)),
            ScriptLine::Step(Step::Drop { paths }) => {
                paths.iter_mut().for_each(|path| *path = base.join(&*path))
            }
            ScriptLine::Step(Step::Type { text, .. }) if text.contains(HERE) => {
                let here =
                    std::path::absolute(base).io_at("look at the folder of the script", base)?;
                *text = text.replace(HERE, &here.display().to_string());
            }
            ScriptLine::Step(Step::Screenshot { name }) if !is_file_name(name) => {
                let error = Error::usage(
                    "a picture is saved in the folder of the screenshots, so its name is a file \
                        name alone",
                );
                let name = name.printable_line();
                return Err(error.at_place(format!("{place}: {name}")));
            }
            ScriptLine::Step(Step::Resize { width, height })
                if !(SIDE.contains(&*width) && SIDE.contains(&*height)) =>
            {
                let error = Error::usage(format!("a window can't have {width} × {height} points"))
                    .at_place(place);
                return Err(error.hint(format!(
                    "each side has {} to {}",
                    SIDE.start(),
                    SIDE.end()
                )));
            }
            ScriptLine::Step(_) => {}
        }
    }
    need_consent(&lines).map_err(|error| error.at_path(file))?;
    Ok(lines)
}

/// A path of a command of a script, against the folder of the script. Addresses of other machines
/// stay as they are.
fn resolve_script_path(folder: &Path, path: &Path) -> PathBuf {
    if is_remote(path) {
        // `admit` removes the signature of a signed link and keeps it for requests.
        PathBuf::from(admit(&path.to_string_lossy()))
    } else {
        folder.join(path)
    }
}

fn is_file_name(name: &str) -> bool {
    crate::model::safe_relative(name) && !name.contains('/')
}

/// Refuses a script with lines that need consent. Programs known only later, such as those of a
/// project's recipe, are refused when they are run.
fn need_consent(lines: &[PlacedScriptLine]) -> Result<()> {
    let commands = lines.iter().filter_map(|line| {
        if let ScriptLine::Command(line) = &line.content {
            Some(&line.command)
        } else {
            None
        }
    });
    let mut calls = Vec::new();
    for command in commands {
        match command {
            Command::Extend { calls: own, .. } | Command::SetRecipe { recipe: own } => {
                calls.extend(own.iter().cloned())
            }
            Command::Operate(AnyOperation::Extend(request)) => {
                calls.extend(request.calls.iter().cloned())
            }
            Command::Connect { .. } if !crate::consent::allows_connect() => {
                let error = Error::usage(
                    "the script says how to reach other machines (connect), which you have not \
                        agreed to",
                );
                return Err(error.hint("look at what it says; --allow-connect lets it"));
            }
            _ => {}
        }
        if let Some(target) = command
            .targets()
            .into_iter()
            .find(|target| is_remote(target))
            && !crate::consent::allows_connect()
        {
            let error =
                Error::usage("the script writes to another machine, which you have not agreed to")
                    .at_path(&target);
            return Err(error.hint("look at what it writes; --allow-connect lets it"));
        }
    }
    extensions::need_consent(&calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_an_end_is_refused() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let file = folder.path().join("x.json");
        for (width, height, good) in [
            ("800", "600.5", true),
            ("1e308", "600", false),
            ("800", "-1", false),
            ("0", "600", false),
        ] {
            std::fs::write(
                &file,
                format!(r#"[{{"step": "resize", "width": {width}, "height": {height}}}]"#),
            )
            .expect("writes");
            assert_eq!(read_script(&file).is_ok(), good, "{width} × {height}");
        }
    }

    #[test]
    fn items_have_the_lines_on_which_they_begin() {
        let text = "[\n  {\"a\": \"x, [\\\" {\",\n   \"b\": [1,\n 2]},\n\n {\"c\": 1}, {}\n]\n";
        assert_eq!(list_item_lines(text.as_bytes()), [2, 6, 6]);
        assert_eq!(list_item_lines(b" [ ] "), [0; 0]);
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let file = folder.path().join("x.json");
        std::fs::write(
            &file,
            "[\n{\"command\": \"new\"},\n\n{\"command\": \"undo\"}]",
        )
        .expect("writes");
        let lines = read_script(&file).expect("reads");
        let places: Vec<String> = lines.iter().map(|line| line.place_in("x")).collect();
        assert_eq!(places, ["x line 2 (item 1)", "x line 4 (item 2)"]);
    }

    #[test]
    fn a_line_is_a_command_or_a_step() {
        let read = |text: &str| serde_json::from_str::<ScriptLine>(text);
        let step = |text: &str| match read(text).expect("reads") {
            ScriptLine::Step(step) => step,
            ScriptLine::Command(line) => panic!("{line:?}"),
        };
        assert!(matches!(
            read(r#"{"command": "undo"}"#),
            Ok(ScriptLine::Command(_))
        ));
        assert_eq!(
            step(r#"{"step": "click", "label": "Undo"}"#),
            Step::Click {
                label: "Undo".into(),
                nth: 0,
                secondary: false,
                double: false
            }
        );
        assert!(!step(r#"{"step": "drop", "paths": ["a"]}"#).needs_window());
        assert!(step(r#"{"step": "expect", "shown": ["Problems"]}"#).needs_window());
        let expect = step(r#"{"step": "expect", "that": {"rows": [3, 9], "rules": []}}"#);
        assert!(!expect.needs_window());
        let text = serde_json::to_string(&expect).expect("writes");
        assert_eq!(step(&text), expect, "{text}");
        for wrong in [
            r#"{"step": "dance"}"#,
            r#"{"step": "click", "label": "a", "lable": "x"}"#,
            "{}",
            r#"{"step": "key", "command": "undo"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let removed = read(r#"{"command": "check_togs"}"#)
            .expect_err("was removed")
            .to_string();
        assert!(removed.contains("validate --tog"), "{removed}");
        // Scripts of earlier versions use `select` for a query with filters.
        for query in [
            r#"{"command": "query", "sql": "FROM data", "limit": 3}"#,
            r#"{"command": "select", "filters": []}"#,
        ] {
            assert!(matches!(read(query), Ok(ScriptLine::Command(_))), "{query}");
        }
    }
}
