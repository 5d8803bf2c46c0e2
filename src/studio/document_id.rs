//! Document ids: a job records the id of its document, so that its result is applied to no other.
//! Documents open and close while jobs run.

use std::time::{Duration, Instant};

use super::document::Document;
use super::document_state::DocumentState;
use super::project::Autosave;
use super::{Command, DocumentId, DocumentRead, Studio};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::jobs::discard;

/// True for a command whose result concerns only the open document.
pub(super) fn is_about_document(command: &Command) -> bool {
    match command {
        Command::Query { path, .. } => path.is_none(),
        // It compares files, whatever is open when it ends.
        Command::Read(DocumentRead::Verify { .. }) => false,
        Command::Read(_) | Command::Filter { .. } | Command::Validate { .. } => true,
        _ => false,
    }
}

impl Studio {
    /// The id of the open document.
    pub fn document_id(&self) -> DocumentId {
        self.document_id
    }

    /// Fails with [`crate::error::Kind::Usage`] if that document was closed.
    pub(super) fn need_document(&self, id: DocumentId) -> Result<()> {
        if self.document_id == id {
            return Ok(());
        }
        let error = Error::usage("another document was opened meanwhile, so nothing was changed");
        Err(error.hint("open the document again, and do it once more"))
    }

    /// Closes the document: its id ends, and jobs about it are cancelled.
    pub(super) fn leave(&mut self) {
        let mut left = self.document.take();
        if let Some(Document::Draft(document)) = &mut left {
            self.pending_writes.retain(|writes| !writes.is_done());
            self.pending_writes
                .extend(document.autosave.take().map(Autosave::leave));
        }
        discard(left);
        self.check.leave_document();
        self.document_id = self.document_id.next();
        let late = self
            .running
            .iter()
            .filter(|running| running.document.is_some_and(|id| id != self.document_id));
        late.for_each(|running| running.job.cancel());
    }

    /// The state of the document now.
    pub(super) fn document_state(&self) -> DocumentState {
        DocumentState {
            document: self.document_id,
            revision: self.revision(),
        }
    }

    fn revision(&self) -> Option<u64> {
        self.document
            .as_ref()
            .and_then(Document::draft)
            .map(Draft::revision)
    }

    /// Fails if the draft has unsaved changes, unless discarding them was confirmed in this state.
    pub(super) fn may_leave(&self, confirmed: DocumentState) -> Result<()> {
        let unsaved = self
            .document
            .as_ref()
            .and_then(Document::draft)
            .is_some_and(Draft::has_unsaved);
        if !unsaved || self.document_state() == confirmed {
            return Ok(());
        }
        Err(
            Error::usage("the draft was changed meanwhile, so it stays open")
                .hint("save it, and open the other again"),
        )
    }

    /// Deletes the draft's autosave journal. Without this call it can be restored.
    pub fn forget_kept(&mut self) {
        if let Some(Document::Draft(document)) = &mut self.document {
            document.autosave.iter_mut().for_each(Autosave::forget);
        }
    }

    /// Cancels all jobs and waits for their clean-up, at most `patience`. Results are discarded.
    pub fn stop_jobs(&mut self, patience: Duration) {
        self.check.cancel();
        self.running.iter().for_each(|running| running.job.cancel());
        let end = Instant::now() + patience;
        while !self.running.is_empty() && Instant::now() < end {
            self.running
                .retain_mut(|running| running.job.wait_for(Duration::from_millis(20)).is_none());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Command, DocumentRead, Outcome};
    use super::*;
    use crate::draft::Edit;
    use crate::jobs::{JobId, Jobs};
    use crate::model::{NodePath, Sample, Tortilla};

    fn studio() -> Studio {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio
    }

    fn done(studio: &mut Studio, command: Command) {
        studio.run_to_end(command, &mut |_| {}).expect("does it");
    }

    fn insert(id: &str, parts: &[&str]) -> Command {
        let parts = parts
            .iter()
            .map(|part| Sample::new_file(part, "/data/x.tif", 1))
            .collect();
        let samples = vec![Sample::new_folder(id, Tortilla::new(parts))];
        Command::Edit {
            edit: Edit::Insert {
                parent: NodePath::root(),
                at: 0,
                samples,
            },
        }
    }

    fn start(studio: &mut Studio, command: Command) -> JobId {
        match studio.run(command).expect("starts") {
            Outcome::Started(job) => job,
            Outcome::Done(_) => panic!("is a job"),
        }
    }

    fn ids(studio: &Studio) -> Vec<String> {
        let draft = studio
            .document()
            .and_then(Document::draft)
            .expect("is a draft");
        draft
            .dataset()
            .root
            .samples
            .iter()
            .map(|sample| sample.id.to_string())
            .collect()
    }

    #[test]
    fn what_a_job_found_for_one_draft_does_not_reach_another() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let project = folder.path().join("a.tacostudio");
        let scene = folder.path().join("scene");
        std::fs::create_dir(&scene).expect("makes a folder");
        std::fs::write(scene.join("x.tif"), b"x").expect("writes");
        let jobs = [
            Command::FixSafe,
            Command::SaveProject {
                path: Some(project.clone()),
                view: None,
                overwrite: None,
            },
            Command::Import {
                paths: vec![scene.clone()],
                into: NodePath::root(),
                metadata: None,
            },
            Command::AddToTray { paths: vec![scene] },
        ];
        for command in jobs {
            let mut studio = studio();
            done(&mut studio, Command::New);
            for id in ["c", "b", "a"] {
                done(
                    &mut studio,
                    insert(id, if id == "b" { &["x"] } else { &["x", "y"] }),
                );
            }
            let saves = matches!(command, Command::SaveProject { .. });
            let job = start(&mut studio, command);
            // The same number of changes gives the same revision.
            done(&mut studio, Command::New);
            for id in ["3", "2", "1"] {
                done(&mut studio, insert(id, &["z"]));
            }
            assert_eq!(studio.wait(job, &mut |_| {}).is_ok(), saves);
            assert_eq!(ids(&studio), ["1", "2", "3"]);
            let Some(Document::Draft(document)) = studio.document() else {
                panic!("is a draft")
            };
            assert!(
                document.project().is_none()
                    && document.draft.has_unsaved()
                    && document.draft.tray().is_empty()
            );
        }
    }

    #[test]
    fn what_was_asked_of_one_dataset_reaches_neither_the_next_one_nor_an_empty_window() {
        let golden = |name: &str| {
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/fixtures/golden")
                .join(name)
        };
        let first = golden("01_flat_zip/flat.tacozip");
        let select = crate::query::Query {
            sql: Some("SELECT id FROM data".into()),
            ..Default::default()
        };
        let asked = || {
            vec![
                Command::Query {
                    query: select.clone(),
                    path: None,
                },
                Command::Read(DocumentRead::LoadLevel { level: 0 }),
                Command::Read(DocumentRead::Leakage {
                    request: Default::default(),
                }),
                Command::Filter {
                    filters: vec![crate::query::Filter::bbox([-180.0, -90.0, 180.0, 90.0])],
                },
                Command::Validate {
                    deep: false,
                    profile: Default::default(),
                },
            ]
        };
        let next = [
            Command::Close,
            Command::New,
            Command::Open {
                path: golden("05_nested3_zip/stack.tacozip"),
            },
        ];
        for next in next {
            for command in asked() {
                let mut studio = studio();
                done(
                    &mut studio,
                    Command::Open {
                        path: first.clone(),
                    },
                );
                let what = format!("{command:?} before {next:?}");
                let job = start(&mut studio, command.clone());
                done(&mut studio, next.clone());
                assert!(studio.filters().is_empty(), "{what}");
                let mut ended = None;
                while ended.is_none() {
                    ended = studio
                        .poll_jobs()
                        .into_iter()
                        .find(|(of, _)| *of == Some(job))
                        .map(|(_, event)| event);
                }
                assert!(
                    matches!(ended, Some(super::super::Event::Cancelled { .. })),
                    "{what}: {ended:?}"
                );
                assert!(
                    studio.filtered_rows().is_none()
                        && studio.filters().is_empty()
                        && studio.report().findings.is_empty(),
                    "{what}"
                );
                // `wait` returns the error.
                done(
                    &mut studio,
                    Command::Open {
                        path: first.clone(),
                    },
                );
                let job = start(&mut studio, command);
                done(&mut studio, next.clone());
                studio.wait(job, &mut |_| {}).expect_err(&what);
            }
        }
    }

    #[test]
    fn a_draft_that_was_changed_while_something_else_was_opened_stays() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden/01_flat_zip/flat.tacozip");
        let mut studio = studio();
        done(&mut studio, Command::New);
        done(&mut studio, insert("a", &["x"]));
        let job = start(&mut studio, Command::Open { path: path.clone() });
        done(&mut studio, insert("b", &["x"]));
        studio
            .wait(job, &mut |_| {})
            .expect_err("nobody decided to lose b");
        assert_eq!(ids(&studio), ["b", "a"]);
        done(&mut studio, Command::Open { path });
        assert!(
            studio
                .document()
                .and_then(Document::opened_dataset)
                .is_some(),
            "what was decided is done"
        );
    }

    #[test]
    fn files_go_into_the_folder_that_was_meant() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let file = folder.path().join("new.tif");
        std::fs::write(&file, b"x").expect("writes");
        let mut studio = studio();
        done(&mut studio, Command::New);
        for id in ["c", "b", "a"] {
            done(&mut studio, insert(id, &["x"]));
        }
        let into = NodePath(vec![1]);
        let job = start(
            &mut studio,
            Command::Import {
                paths: vec![file.clone()],
                into: into.clone(),
                metadata: None,
            },
        );
        done(
            &mut studio,
            Command::Edit {
                edit: Edit::Remove {
                    parent: NodePath::root(),
                    at: 0,
                    count: 1,
                },
            },
        );
        studio.wait(job, &mut |_| {}).expect("adds");
        let parts = |studio: &Studio, at: usize| {
            let draft = studio
                .document()
                .and_then(Document::draft)
                .expect("is a draft");
            draft.dataset().root.samples[at]
                .children()
                .map(|below| below.samples.len())
        };
        assert_eq!(
            (ids(&studio), parts(&studio, 0), parts(&studio, 1)),
            (vec!["b".into(), "c".into()], Some(2), Some(1))
        );
        let job = start(
            &mut studio,
            Command::Import {
                paths: vec![file],
                into,
                metadata: None,
            },
        );
        done(
            &mut studio,
            Command::Edit {
                edit: Edit::Remove {
                    parent: NodePath::root(),
                    at: 1,
                    count: 1,
                },
            },
        );
        studio.wait(job, &mut |_| {}).expect_err("it is gone");
    }
}
