//! The dialog for a typed path or address with access settings, and the list of recent datasets.

use std::path::PathBuf;

use egui::{Frame, Id, Margin, Ui};

use super::frame::{Next, enter_pressed, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::gui::file_dialog::FileRequest;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::widgets::{self, Button, FieldNote, TextField};
use crate::gui::{dropped_paths, icons};
use crate::jobs::{AsyncValue, Jobs};
use crate::model::{Address, Scheme, is_remote};
use crate::remote::{Access, Secret, access};

/// The dialog.
pub struct OpenPath {
    request: FileRequest,
    text: String,
    /// True when it replaces a desktop dialog that does not appear.
    stand_in: bool,
    access: AccessForm,
    /// The typed paths that were looked for, and the first that is not there, by the paths and
    /// whether the window has the focus: another program may have made them.
    sought: AsyncValue<(Vec<PathBuf>, bool), SoughtPaths>,
    /// The paths that the user confirmed while they were looked for.
    confirmed: Option<Vec<PathBuf>>,
}

/// The paths that were looked for, and the first that is not there.
type SoughtPaths = (Vec<PathBuf>, Option<PathBuf>);

/// What is known of typed paths.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TypedPaths {
    /// They are being looked for.
    Sought,
    /// They are all there, or need not be.
    Found,
    /// This one is not there.
    Missing(PathBuf),
}

/// Typed access settings.
#[derive(Default)]
struct AccessForm {
    endpoint: String,
    region: String,
    profile: String,
    account: String,
    token: String,
    anonymous: bool,
}

impl AccessForm {
    /// The settings in use, without the token.
    fn current() -> Self {
        let Access {
            endpoint,
            region,
            profile,
            account,
            anonymous,
            ..
        } = access();
        let text = Option::unwrap_or_default;
        Self {
            endpoint: text(endpoint),
            region: text(region),
            profile: text(profile),
            account: text(account),
            anonymous,
            token: String::new(),
        }
    }

    /// The typed settings, limited to the servers and buckets of these addresses.
    fn access(&self, paths: &[PathBuf]) -> Access {
        let text = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Access {
            hosts: paths
                .iter()
                .filter_map(|path| Some(Address::from_path(path)?.origin()))
                .collect(),
            endpoint: text(&self.endpoint),
            region: text(&self.region),
            profile: text(&self.profile),
            account: text(&self.account),
            anonymous: self.anonymous,
            token: text(&self.token).map(Secret),
            connections: access().connections,
        }
    }

    /// Draws the fields that apply to these addresses.
    fn ui(&mut self, ui: &mut Ui, schemes: &[Scheme]) {
        let t = theme::tokens(ui);
        let web = schemes
            .iter()
            .any(|scheme| matches!(scheme, Scheme::Http | Scheme::Https));
        let (s3, az) = (schemes.contains(&Scheme::S3), schemes.contains(&Scheme::Az));
        let half = (ui.available_width() - 12.0) / 2.0;
        if schemes
            .iter()
            .any(|scheme| !matches!(scheme, Scheme::Http | Scheme::Https))
        {
            let field = TextField::new(tr!("Endpoint"), &mut self.endpoint).mono();
            field
                .hint(tr!("empty for the provider's own; http://localhost:9000"))
                .show(ui);
        }
        if s3 {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 12.0;
                TextField::new(tr!("Region"), &mut self.region)
                    .mono()
                    .hint("us-east-1")
                    .width(half)
                    .show(ui);
                TextField::new(tr!("AWS profile"), &mut self.profile)
                    .mono()
                    .hint("default")
                    .width(half)
                    .show(ui);
            });
        }
        if az {
            TextField::new(tr!("Account"), &mut self.account)
                .mono()
                .hint(tr!("name of the storage account"))
                .show(ui);
        }
        if web {
            let field = TextField::new(tr!("Token"), &mut self.token)
                .mono()
                .secret();
            field
                .hint(tr!(
                    "only where the server requires one; kept until the program ends"
                ))
                .show(ui);
        }
        widgets::checkbox(ui, &mut self.anonymous, tr!("Send no credentials"));
        let why = tr!(
            "Otherwise the environment and the profiles of the provider's tools are used. Keys are \
                not stored."
        );
        ui.label(theme::style_small_text(why, t.tx2));
    }
}

impl OpenPath {
    /// The dialog for a file request.
    pub fn new(request: FileRequest, stand_in: bool) -> Self {
        Self {
            request,
            text: String::new(),
            stand_in,
            access: AccessForm::current(),
            sought: AsyncValue::default(),
            confirmed: None,
        }
    }

    /// Looks for typed paths off the interface thread, as their disk may not respond. Addresses to
    /// be opened and paths to be saved need not be there.
    fn look_for(&mut self, jobs: &Jobs, paths: &[PathBuf], focused: bool) -> TypedPaths {
        let wanted: Vec<PathBuf> = match self.request {
            FileRequest::SaveSample | FileRequest::SaveRows | FileRequest::SaveProject => {
                return TypedPaths::Found;
            }
            FileRequest::Open | FileRequest::OpenFolder => {
                let local = paths.iter().filter(|path| !is_remote(path));
                local.cloned().collect()
            }
            _ => paths.to_vec(),
        };
        if wanted.is_empty() {
            return TypedPaths::Found;
        }
        let (key, sought) = ((wanted.clone(), focused), wanted.clone());
        self.sought
            .update(jobs, key, tr!("Looking at the files"), move |_| {
                let missing = sought.iter().find(|path| !path.exists()).cloned();
                Ok((sought, missing))
            });
        match self.sought.latest() {
            Some((known, None)) if *known == wanted => TypedPaths::Found,
            Some((known, Some(path))) if *known == wanted => TypedPaths::Missing(path.clone()),
            _ if self.sought.is_pending() => TypedPaths::Sought,
            // Opening them says what is wrong.
            _ => TypedPaths::Found,
        }
    }

    /// True once for paths that were confirmed and are known to be there.
    fn take_confirmed(&mut self, paths: &[PathBuf], found: &TypedPaths) -> bool {
        let is_sought = *found == TypedPaths::Sought;
        let over = |confirmed: &mut Vec<PathBuf>| *confirmed != paths || !is_sought;
        let confirmed = self.confirmed.take_if(over);
        *found == TypedPaths::Found && confirmed.is_some_and(|confirmed| confirmed == paths)
    }

    /// True when nothing was typed and it replaces the desktop's dialog.
    pub fn is_stand_in(&self) -> bool {
        self.stand_in && self.text.is_empty()
    }
}

impl DialogView for OpenPath {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let (title, verb) = match self.request {
            FileRequest::Open | FileRequest::OpenFolder => {
                (tr!("Open path or address"), tr!("Open"))
            }
            FileRequest::AddFiles | FileRequest::AddFolder => (tr!("Add path"), tr!("Add")),
            FileRequest::AddUnplaced | FileRequest::AddUnplacedFolder => {
                (tr!("Add unplaced files"), tr!("Add"))
            }
            FileRequest::Watch => (tr!("Watch a folder"), tr!("Watch")),
            FileRequest::JoinTable => (tr!("Join a table"), tr!("Look at it")),
            FileRequest::SaveProject => (tr!("Save draft as"), tr!("Save")),
            FileRequest::SaveSample => (tr!("Save sample as"), tr!("Save")),
            FileRequest::SaveRows => (tr!("Save rows as"), tr!("Save")),
            FileRequest::Target => (tr!("Write into"), tr!("Use folder")),
            FileRequest::Plan => (tr!("Folder of the plan"), tr!("Use folder")),
            FileRequest::ToolFile
            | FileRequest::ToolFiles
            | FileRequest::ToolFolder
            | FileRequest::ToolOutput => (tr!("Type a path"), tr!("Use path")),
        };
        let close = head_ui(ui, icons::LINK, title, "");
        let entered = enter_pressed(ui);
        let mut paths = dropped_paths::parse_paths(&self.text);
        let opens = matches!(self.request, FileRequest::Open | FileRequest::OpenFolder);
        let schemes: Vec<Scheme> = paths
            .iter()
            .filter_map(|path| Some(Address::from_path(path)?.scheme))
            .filter(|_| opens)
            .collect();
        let focused = ui.input(|input| input.focused);
        let mut found = self.look_for(cx.jobs, &paths, focused);
        let note = match &found {
            TypedPaths::Missing(path) => FieldNote::Warning(tr!(
                "There is nothing at {path}.",
                path = dropped_paths::display_path(path)
            )),
            TypedPaths::Found if !paths.is_empty() => FieldNote::Ok,
            _ => FieldNote::None,
        };
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            if self.stand_in {
                let why = tr!(
                    "The desktop's file dialog has not opened. Type the path here \
                    instead, or wait for it."
                );
                ui.label(theme::style_small_text(why, t.tx2));
            }
            let field = TextField::new(tr!("Path"), &mut self.text)
                .id(Id::unique("typed-path"))
                .mono();
            let hint = hint_of(self.request);
            let response = field.hint(hint).note(note).show(ui);
            // The path field has the initial focus.
            if ui.memory(|memory| memory.focused().is_none()) && !entered {
                response.request_focus();
            }
            if !schemes.is_empty() {
                self.access.ui(ui, &schemes);
            }
        });
        // Text typed in this frame is included: Enter acts on the displayed text.
        let now = dropped_paths::parse_paths(&self.text);
        if now != paths {
            paths = now;
            found = self.look_for(cx.jobs, &paths, focused);
        }
        let schemes: Vec<Scheme> = paths
            .iter()
            .filter_map(|path| Some(Address::from_path(path)?.scheme))
            .filter(|_| opens)
            .collect();
        let blocked = match &found {
            _ if paths.is_empty() => Some(tr!("Type a path")),
            TypedPaths::Sought => Some(tr!("Looking at the files")),
            TypedPaths::Missing(_) => Some(tr!("There is nothing at this path")),
            TypedPaths::Found => None,
        };
        let (act, cancel) = foot_ui(ui, |ui| {
            let act = ui
                .add(Button::primary(verb).large().with_disabled_reason(blocked))
                .clicked();
            (act, ui.add(Button::ghost(tr!("Cancel")).large()).clicked())
        });
        if (act || entered) && !paths.is_empty() {
            self.confirmed = Some(paths.clone());
        }
        if self.take_confirmed(&paths, &found) {
            if !schemes.is_empty() {
                return Next::Addresses(self.access.access(&paths), paths);
            }
            return Next::Paths(self.request, paths);
        }
        if close || cancel {
            Next::Close
        } else {
            Next::Stay
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::PickerClosed if self.is_stand_in() => Reply::Close,
            _ => Reply::Ignored,
        }
    }
}

/// An example of what is to be typed.
fn hint_of(request: FileRequest) -> &'static str {
    match request {
        FileRequest::Open | FileRequest::OpenFolder => {
            tr!("/data/dataset.tacozip, a folder, https://…, s3://…")
        }
        FileRequest::AddFiles
        | FileRequest::AddFolder
        | FileRequest::AddUnplaced
        | FileRequest::AddUnplacedFolder
        | FileRequest::ToolFiles => tr!("/data/scenes, one path a line"),
        FileRequest::Watch => "/data/incoming",
        FileRequest::JoinTable => "/data/metadata.csv",
        FileRequest::SaveProject => "/data/draft.tacostudio",
        FileRequest::SaveSample => "/data/sample.tif",
        FileRequest::SaveRows => "/data/rows.csv",
        FileRequest::Target | FileRequest::Plan | FileRequest::ToolFolder => "/data/datasets",
        FileRequest::ToolFile => "/data/dataset.tacozip",
        FileRequest::ToolOutput => "/data/out.tacozip",
    }
}

/// The recent datasets as a list.
pub struct RecentDialog;

impl DialogView for RecentDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(ui, icons::CLOCK_COUNTER_CLOCKWISE, tr!("Open recent"), "") {
            return Next::Close;
        }
        let mut next = Next::Stay;
        Frame::NONE.inner_margin(Margin::same(8)).show(ui, |ui| {
            if cx.recent.is_empty() {
                ui.label(theme::style_small_text(
                    tr!("Datasets that you open are listed here."),
                    t.tx2,
                ));
            }
            ui.spacing_mut().menu_width = ui.available_width();
            for recent in cx.recent {
                let path = dropped_paths::display_path(&recent.path);
                let text = format!("{}   {path}", recent.title);
                let badge = if recent.badge == "Draft" {
                    tr!("Draft")
                } else {
                    &recent.badge
                };
                if widgets::menu_entry(ui, icons::PACKAGE, &text, badge, None).clicked() {
                    next = Next::Do(Request::OpenPaths(vec![recent.path.clone()]));
                }
            }
        });
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn look(dialog: &mut OpenPath, paths: &[PathBuf], focused: bool) -> TypedPaths {
        let jobs = Jobs::quiet();
        for _ in 0..20_000 {
            match dialog.look_for(&jobs, paths, focused) {
                TypedPaths::Sought => std::thread::sleep(std::time::Duration::from_millis(1)),
                found => return found,
            }
        }
        panic!("waited in vain");
    }

    #[test]
    fn typed_paths_are_looked_for_again_when_the_window_has_the_focus_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let paths = [folder.path().to_owned(), folder.path().join("late")];
        let mut dialog = OpenPath::new(FileRequest::AddFiles, false);
        let missing = TypedPaths::Missing(paths[1].clone());
        assert_eq!(look(&mut dialog, &paths, true), missing);
        std::fs::write(&paths[1], "").expect("writes");
        look(&mut dialog, &paths, false);
        while dialog.sought.is_pending() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(look(&mut dialog, &paths, false), TypedPaths::Found);
    }

    #[test]
    fn addresses_to_be_opened_and_paths_to_be_saved_need_not_be_there() {
        let address = [PathBuf::from("s3://bucket/a.tacozip")];
        for (request, found) in [
            (FileRequest::Open, true),
            (FileRequest::AddFiles, false),
            (FileRequest::SaveRows, true),
        ] {
            let mut dialog = OpenPath::new(request, false);
            let known = look(&mut dialog, &address, true);
            assert_eq!(known == TypedPaths::Found, found);
        }
    }

    #[test]
    fn enter_waits_for_paths_that_are_looked_for() {
        let mut dialog = OpenPath::new(FileRequest::Open, false);
        let typed = [PathBuf::from("/a")];
        dialog.confirmed = Some(typed.to_vec());
        assert!(!dialog.take_confirmed(&typed, &TypedPaths::Sought));
        assert!(dialog.take_confirmed(&typed, &TypedPaths::Found));
        assert!(!dialog.take_confirmed(&typed, &TypedPaths::Found), "once");
        let missing = TypedPaths::Missing("/a".into());
        let other = [PathBuf::from("/b")];
        for (paths, found) in [(&typed, missing), (&other, TypedPaths::Sought)] {
            dialog.confirmed = Some(typed.to_vec());
            assert!(!dialog.take_confirmed(paths, &found));
            assert_eq!(dialog.confirmed, None);
        }
    }
}
