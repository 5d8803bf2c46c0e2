//! The window on a real display: the built program on a separate X server, driven with mouse and
//! keyboard from the welcome screen to a dataset that is written and opened again. Only for what
//! the harness cannot test; panels are tested in `gui`. Linux only: it needs an X server, and
//! `/proc` for CPU times.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::interop::expect_ok;
use crate::support::{Workspace, nested_scenes};

/// Timeout for quick actions; a debug build with software rendering on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// Clock of `/proc/PID/stat`: 100 ticks per second on every Linux.
const TICK_MS: u64 = 10;

/// A child process, ended on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(command: &mut Command) -> Running {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.spawn() {
        Ok(child) => Running(child),
        Err(error) => panic!(
            "{name} could not start ({error}): run ./packaging/test, which installs what the tests \
                need"
        ),
    }
}

/// An X server on a free display number, in memory.
struct Screen {
    _server: Running,
    display: String,
}

impl Screen {
    fn new() -> Self {
        let mut command = Command::new("Xvfb");
        command.args([
            "-displayfd",
            "1",
            "-screen",
            "0",
            "1440x900x24",
            "-nolisten",
            "tcp",
            "-noreset",
        ]);
        let mut server = spawn(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null()),
        );
        let mut number = String::new();
        BufReader::new(server.0.stdout.take().expect("piped"))
            .read_line(&mut number)
            .expect("the display's number");
        assert!(!number.trim().is_empty(), "Xvfb ended without a display");
        Self {
            _server: server,
            display: format!(":{}", number.trim()),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DISPLAY", &self.display)
            .env_remove("XAUTHORITY")
            .stdin(Stdio::null());
        command
    }
}

/// The program with its window.
struct Window<'a> {
    screen: &'a Screen,
    program: Running,
    /// Log of its standard error.
    log: PathBuf,
    settings: PathBuf,
    /// List of the named controls, which the program keeps up to date.
    controls: PathBuf,
    id: String,
}

/// A named control of the window.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
struct Control {
    label: String,
    role: String,
    acts: bool,
    /// Left, top, right, bottom.
    rect: [f32; 4],
}

impl Control {
    fn middle(&self) -> (f32, f32) {
        (
            (self.rect[0] + self.rect[2]) / 2.0,
            (self.rect[1] + self.rect[3]) / 2.0,
        )
    }

    fn takes_text(&self) -> bool {
        matches!(
            self.role.as_str(),
            "TextInput" | "MultilineTextInput" | "SearchInput"
        )
    }
}

impl<'a> Window<'a> {
    fn open(workspace: &Workspace, screen: &'a Screen) -> Self {
        let (log, settings, controls) = (
            workspace.path("window.log"),
            workspace.path("settings"),
            workspace.path("controls.json"),
        );
        let mut command = screen.command(env!("CARGO_BIN_EXE_taco-studio"));
        // `-vv` also logs every command, which the test waits for.
        workspace
            .house(command.arg("-vv"))
            .env("TACO_STUDIO_CONFIG_DIR", &settings)
            .env("TACO_STUDIO_CONTROLS", &controls)
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("GALLIUM_DRIVER", "llvmpipe")
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).expect("a log"));
        let mut window = Self {
            screen,
            program: spawn(&mut command),
            log,
            settings,
            controls,
            id: String::new(),
        };
        window.wait("the window", |window| {
            let found = window.xdotool(&["search", "--onlyvisible", "--name", "Taco Studio"]);
            found
                .filter(|found| !found.is_empty())
                .map(|found| found.lines().last().unwrap_or_default().to_owned())
        });
        window.id = window
            .xdotool(&["search", "--onlyvisible", "--name", "Taco Studio"])
            .expect("the window's id");
        window
            .xdotool(&["windowfocus", "--sync", &window.id])
            .expect("the focus");
        window.rest();
        window
    }

    /// Runs xdotool; `None` when it finds nothing.
    fn xdotool(&self, arguments: &[&str]) -> Option<String> {
        let output = self.screen.command("xdotool").args(arguments).output();
        let output = output.unwrap_or_else(|error| {
            panic!("xdotool could not start ({error}): run ./packaging/test, which installs it")
        });
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Presses keys and waits until the window has handled them.
    fn key(&self, keys: &str) {
        self.keys(keys, 1);
    }

    /// Presses the same keys several times, waiting for idle before each: a key that moves the
    /// focus takes effect in the next frame.
    fn keys(&self, keys: &str, times: usize) {
        for _ in 0..times {
            self.xdotool(&["key", "--clearmodifiers", keys])
                .unwrap_or_else(|| panic!("{keys} could not be pressed"));
            self.rest();
        }
    }

    fn type_text(&self, text: &str) {
        self.xdotool(&["type", "--clearmodifiers", "--delay", "8", text])
            .unwrap_or_else(|| panic!("{text} could not be typed"));
        self.rest();
    }

    fn click(&self, x: u32, y: u32) {
        self.xdotool(&[
            "mousemove",
            "--window",
            &self.id,
            &x.to_string(),
            &y.to_string(),
        ])
        .expect("a moved mouse");
        self.rest();
        self.xdotool(&["click", "1"]).expect("a click");
        self.rest();
    }

    fn title(&self) -> String {
        self.xdotool(&["getwindowname", &self.id])
            .unwrap_or_default()
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).expect("the log")).into_owned()
    }

    fn expect_title(&mut self, wanted: &str) {
        self.wait(&format!("the title {wanted:?}"), |window| {
            (window.title() == wanted).then_some(())
        });
    }

    /// Waits for a command of the studio to appear in the log.
    fn expect_command(&mut self, part: &str) {
        self.wait(&format!("the command {part}"), |window| {
            window
                .log()
                .lines()
                .any(|line| line.contains("run command=") && line.contains(part))
                .then_some(())
        });
    }

    /// CPU time of the interface thread in nanoseconds where the kernel provides it, otherwise from
    /// `ticks`.
    fn work_done(&self) -> u64 {
        let id = self.program.0.id();
        let text =
            fs::read_to_string(format!("/proc/{id}/task/{id}/schedstat")).unwrap_or_default();
        text.split(' ')
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| self.ticks())
    }

    /// CPU time of the whole process, in ticks of `/proc/PID/stat`.
    fn ticks(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.program.0.id()))
            .expect("the program runs");
        // The name in the second column may contain spaces; user and system time are the 12th and
        // 13th column after it.
        let after: Vec<&str> = text
            .rsplit(')')
            .next()
            .expect("columns")
            .split_whitespace()
            .collect();
        after[11].parse::<u64>().expect("a number") + after[12].parse::<u64>().expect("a number")
    }

    /// Waits until the interface thread is idle, after drawing the result of the last input.
    fn rest(&self) {
        let end = Instant::now() + PATIENCE;
        let mut before = None;
        let mut calm = 0;
        // Longer than the polling interval of a running job.
        while calm < 4 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(35));
            let id = self.program.0.id();
            let stat = fs::read_to_string(format!("/proc/{id}/task/{id}/stat")).unwrap_or_default();
            let sleeps = stat
                .rsplit(')')
                .next()
                .is_some_and(|rest| rest.trim_start().starts_with('S'));
            let now = Some(self.work_done());
            calm = if sleeps && now == before { calm + 1 } else { 0 };
            before = now;
        }
    }

    /// Repeats `look` until it returns a value.
    fn wait<T>(&mut self, what: &str, look: impl Fn(&Self) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let ended = self.program.0.try_wait().expect("the state of the program");
            if ended.is_some() || Instant::now() > end {
                let picture = std::env::temp_dir().join("taco-studio-window-test.png");
                let _ = self
                    .screen
                    .command("import")
                    .args(["-window", "root"])
                    .arg(&picture)
                    .status();
                let state = ended.map_or("still runs".to_owned(), |status| {
                    format!("ended with {status}")
                });
                panic!(
                    "waited for {what}, in vain; the program {state}, its title is {:?}, the \
                        screen is in {}, its log:\n{}",
                    self.title(),
                    picture.display(),
                    self.log()
                );
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn wait_for_end(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.program.0.try_wait().expect("the state of the program") {
                return status;
            }
            assert!(
                Instant::now() < end,
                "the program did not end; its log:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }
}

/// Owns the clipboard, as a file manager does after "Copy".
fn copy(workspace: &Workspace, screen: &Screen, text: &str) -> Running {
    let file = workspace.write("clipboard", text);
    let mut command = screen.command("xclip");
    command
        .args(["-quiet", "-selection", "clipboard", "-in"])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let owner = spawn(&mut command);
    let end = Instant::now() + PATIENCE;
    let held = || {
        screen
            .command("xclip")
            .args(["-selection", "clipboard", "-out"])
            .output()
            .is_ok_and(|out| out.stdout == text.as_bytes())
    };
    while !held() {
        assert!(Instant::now() < end, "xclip does not hold the clipboard");
        std::thread::sleep(Duration::from_millis(30));
    }
    owner
}

fn fill_in_collection(window: &mut Window) {
    // To the first problem: the collection has no id.
    window.key("F8");
    window.type_text("window-test");
    window.expect_title("• window-test – Taco Studio");
    window.key("Tab");
    window.key("ctrl+a");
    window.type_text("1.2.3");
    // Past the specification's version, which is read-only.
    window.keys("Tab", 2);
    window.expect_command(r#"key: "dataset_version", value: Some(String("1.2.3"))"#);
    window.type_text("Scenes from a clipboard");
    window.key("Tab");
    window.expect_command(r#"key: "title", value: Some(String("Scenes from a clipboard"))"#);
    window.type_text("Pasted, named & written in a window.");
    window.key("Tab");
    window.expect_command(
        r#"key: "description", value: Some(String("Pasted, named & written in a window."))"#,
    );
    window.type_text("CC-BY-4.0");
    window.key("Return");
    window.expect_command(r#"key: "licenses", value: Some(Array [String("CC-BY-4.0")])"#);
    window.key("Tab");
    window.type_text("classif");
    window.key("Return");
    window.expect_command(r#"key: "tasks", value: Some(Array [String("classification")])"#);
    window.key("Tab");
    // "Add provider" moves the focus to the new name.
    window.key("Return");
    window.expect_command(r#"key: "providers""#);
    window.rest();
    window.type_text("Tests");
    window.expect_command(r#"String("Tests")"#);
    // To the remaining problem.
    window.rest();
    window.key("F8");
    window.type_text("floods");
    window.key("Return");
    window.expect_command(r#"key: "keywords", value: Some(Array [String("floods")])"#);
}

/// Writes a ZIP from the dialog, and opens it with the dialog's offer.
fn write_and_reopen(window: &mut Window, out: &Path) {
    window.key("ctrl+e");
    // Close, ZIP, ZIP parts, FOLDER, then the destination.
    window.keys("Tab", 5);
    window.key("ctrl+a");
    window.type_text(&out.display().to_string());
    window.rest();
    window.key("ctrl+Return");
    window.wait("the written file", |_| out.exists().then_some(()));
    window.rest();
    // The draft is not saved by writing; the dataset that is opened in its place is.
    window.key("ctrl+Return");
    window.expect_title("window-test – Taco Studio");
    window.wait("the dataset in the recent list", |window| {
        let state: Value =
            serde_json::from_slice(&fs::read(window.settings.join("window.json")).ok()?).ok()?;
        let first = state.get("recent")?.get(0)?;
        (first.get("path")?.as_str()? == out.to_str()? && first.get("title")? == "window-test")
            .then_some(())
    });
    // The session checks an opened dataset by itself, without a command; the key checks it again.
    window.key("F7");
    window.expect_command("Validate { deep: false, profile: Tools }");
}

#[test]
fn a_folder_pasted_into_the_window_becomes_a_dataset() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let scenes = workspace.path("scenes");
    let out = workspace.path("from-the-window.tacozip");
    let screen = Screen::new();
    let mut window = Window::open(&workspace, &screen);
    window.expect_title("Taco Studio");

    // "New" in the top bar.
    window.click(105, 20);
    window.expect_title("Untitled dataset – Taco Studio");
    let _owner = copy(
        &workspace,
        &screen,
        &format!("file://{}\n", scenes.display()),
    );
    window.key("ctrl+v");
    window.expect_title("• Untitled dataset – Taco Studio");
    window.rest();

    fill_in_collection(&mut window);
    write_and_reopen(&mut window, &out);

    // Idle: nothing is drawn.
    window.rest();
    std::thread::sleep(Duration::from_secs(5));
    let before = window.ticks();
    std::thread::sleep(Duration::from_secs(5));
    let worked_ms = (window.ticks() - before) * TICK_MS;
    assert!(
        worked_ms < 100,
        "an idle window worked {worked_ms} ms in 5 s; its log:\n{}",
        window.log()
    );

    // A second start, as by a double click on a file, passes the file to this window and ends.
    let other = workspace.path("double-clicked.tacozip");
    fs::copy(&out, &other).expect("a copy");
    let mut later = screen.command(env!("CARGO_BIN_EXE_taco-studio"));
    workspace
        .house(later.arg("double-clicked.tacozip"))
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET");
    assert!(later.status().expect("the program starts").success());
    window.expect_command("double-clicked.tacozip");
    window.rest();

    window
        .xdotool(&["key", "ctrl+q"])
        .expect("the shortcut to quit");
    let status = window.wait_for_end();
    let log = window.log();
    assert!(status.success(), "it ended with {status}:\n{log}");
    assert!(
        !log.contains("panicked at") && !log.contains("ERROR"),
        "{log}"
    );

    let report = workspace
        .studio([
            "validate".as_ref(),
            out.as_os_str(),
            "--deep".as_ref(),
            "--json".as_ref(),
        ])
        .expect_code(0)
        .json();
    assert_eq!(report["valid"], true, "{report}");
    assert_eq!(report["findings"], serde_json::json!([]), "{report}");
    expect_ok(workspace.python(
        "check.py",
        ["reader".as_ref(), out.as_os_str(), scenes.as_os_str()],
    ));
}

#[test]
fn a_script_builds_the_same_in_a_real_window() {
    let workspace = Workspace::new();
    let script = crate::replays::faulty_scenes(&workspace);
    let pictures = workspace.path("pictures");
    let screen = Screen::new();
    let mut command = screen.command(env!("CARGO_BIN_EXE_taco-studio"));
    workspace
        .house(
            command
                .args(["replay", "--window", "--screenshots"])
                .arg(&pictures)
                .arg(&script),
        )
        .env("LIBGL_ALWAYS_SOFTWARE", "1")
        .env("GALLIUM_DRIVER", "llvmpipe")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET");
    let output = command.output().expect("the program starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{said}");
    assert!(said.contains("lines did what they should"), "{said}");
    let taken = crate::support::entries(&pictures);
    assert!(
        taken.len() >= 11
            && taken
                .iter()
                .all(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 20_000)),
        "{taken:?}"
    );
    let index = workspace.path("work/out/.tacocat");
    expect_ok(workspace.python("check_index.py", [index.as_os_str()]));
}

/// The pointer and what is typed: a person without shortcuts. Counts clicks and drops; text is
/// typed where the caret is, and turns of the wheel are free, as in the count of scripts.
struct Hand<'a> {
    window: Window<'a>,
    clicks: usize,
}

impl Hand<'_> {
    fn controls(&self) -> Vec<Control> {
        let bytes = fs::read(&self.window.controls).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The control with this name, or whose name contains what follows `*`; those that react to
    /// clicks first.
    fn find(&self, label: &str) -> Option<Control> {
        let named = |control: &Control| match label.strip_prefix('*') {
            Some(part) => control.label.contains(part),
            None => control.label == label,
        };
        let mut found: Vec<Control> = self.controls().into_iter().filter(named).collect();
        found.sort_by_key(|control| !control.acts);
        found.into_iter().next()
    }

    fn wait_for(&mut self, label: &str) -> Control {
        let end = Instant::now() + PATIENCE;
        loop {
            self.window.rest();
            match self.find(label) {
                Some(found) if self.find(label).as_ref() == Some(&found) => return found,
                _ if Instant::now() > end => {
                    let near: Vec<String> = self
                        .controls()
                        .into_iter()
                        .map(|control| control.label)
                        .collect();
                    self.window
                        .wait(&format!("{label} among {near:?}"), |_| None::<()>);
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn point(&self, (x, y): (f32, f32)) {
        let place = [x, y].map(|number| (number.round() as i32).to_string());
        self.window
            .xdotool(&[
                "mousemove",
                "--window",
                &self.window.id,
                &place[0],
                &place[1],
            ])
            .expect("a moved pointer");
        self.window.rest();
    }

    /// Clicks the control, or just inside the left edge of a field.
    fn click(&mut self, label: &str) {
        let control = self.wait_for(label);
        let (x, y) = control.middle();
        assert!(
            (0.0..SIZE.0).contains(&x) && (0.0..SIZE.1).contains(&y),
            "{control:?} is outside the window"
        );
        self.point(if control.takes_text() {
            (control.rect[0] + 8.0, control.rect[1] + 12.0)
        } else {
            (x, y)
        });
        self.window.xdotool(&["click", "1"]).expect("a click");
        self.clicks += 1;
        self.window.rest();
    }

    /// Turns the wheel over `over` until the control is between the heights.
    fn scroll_to(&mut self, label: &str, over: &str, (top, bottom): (f32, f32)) {
        for _ in 0..60 {
            let Some(control) = self.find(label) else {
                break;
            };
            let button = match control.rect {
                [_, above, _, _] if above < top => "4",
                [_, _, _, below] if below > bottom => "5",
                _ => return,
            };
            let (x, y) = (self.wait_for(over).middle().0, (top + bottom) / 2.0);
            self.point((x, y));
            self.window
                .xdotool(&["click", button])
                .expect("a turn of the wheel");
            self.window.rest();
        }
        let control = self.find(label);
        panic!("{label} does not come between {top} and {bottom}: {control:?}");
    }

    fn fill(&mut self, label: &str, text: &str) {
        self.click(label);
        self.window.type_text(text);
    }

    /// Drops paths in the middle of the window, as a file manager does.
    fn drop(&mut self, workspace: &Workspace, paths: &[&Path]) {
        let mut arguments = vec![self.window.id.clone(), "720".to_owned(), "450".to_owned()];
        arguments.extend(paths.iter().map(|path| path.display().to_string()));
        workspace
            .python_on(&self.window.screen.display, "drop.py", arguments)
            .expect_code(0);
        self.clicks += 1;
        self.window.rest();
    }

    /// Waits until the status bar shows the result of a check.
    fn wait_for_jobs(&mut self) {
        self.wait_for("No jobs");
    }
}

/// Size of the window in the tests.
const SIZE: (f32, f32) = (1440.0, 900.0);

/// Where the form of the collection is drawn, beside the table and above the problems.
const FORM: (f32, f32) = (195.0, 595.0);

#[test]
fn a_messy_folder_becomes_a_sound_dataset_by_the_pointer() {
    let workspace = Workspace::new();
    crate::curator::messy(&workspace, 13);
    let screen = Screen::new();
    let began = Instant::now();
    let mut hand = Hand {
        window: Window::open(&workspace, &screen),
        clicks: 0,
    };

    hand.drop(&workspace, &[&workspace.path("messy")]);
    hand.window.expect_title("• Untitled dataset – Taco Studio");
    // The misnamed label after a look at what changes, then what needs no judgement, then the table
    // that came with the folder.
    hand.click("*Rename Label_FINAL.TIF to label.tif in 1 root");
    hand.wait_for("*Label_FINAL.TIF → label.tif");
    hand.click("Apply the fixes");
    hand.click("Fix all safe");
    hand.click("Join scenes.csv");
    hand.click("Join columns");

    hand.click("Collection");
    for (field, text) in [
        ("id", "bahamas"),
        ("description", "Islands before and after a storm."),
        ("licenses", "CC-BY-4.0,"),
        ("tasks", "classif"),
    ] {
        hand.scroll_to(field, "Collection", FORM);
        hand.fill(field, text);
    }
    hand.click("classification");
    hand.scroll_to("Add provider", "Collection", FORM);
    hand.click("Add provider");
    hand.window.type_text("Tests");
    hand.scroll_to("keywords", "Collection", FORM);
    hand.fill("keywords", "storms,");

    hand.click("Extensions");
    hand.click("Run STAC");
    hand.click("Run Statistics");
    hand.click("Run extensions");
    hand.wait_for_jobs();

    hand.click("Write dataset…");
    hand.click("Write now");
    hand.wait_for("Written and verified");
    hand.click("Open dataset");
    hand.window.expect_title("bahamas – Taco Studio");
    hand.click("Tools");
    hand.click("*Check every byte");
    hand.wait_for_jobs();
    hand.wait_for("Valid");
    let (clicks, took) = (hand.clicks, began.elapsed());
    println!("{clicks} clicks in {:.1} min", took.as_secs_f64() / 60.0);
    assert!(clicks < crate::curator::MOST, "{clicks} clicks");

    hand.window
        .xdotool(&["key", "ctrl+q"])
        .expect("the shortcut to quit");
    let status = hand.window.wait_for_end();
    let log = hand.window.log();
    assert!(
        status.success() && !log.contains("panicked at") && !log.contains("ERROR"),
        "it ended with {status}:\n{log}"
    );
    crate::curator::check(&workspace, 13);
}
