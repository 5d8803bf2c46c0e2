//! Decides whether an action is enabled, and why not.

use super::action::Action;
use super::panel_context::PanelContext;
use super::report_delay::describe_report_delay;
use crate::model::SampleKind;
use crate::ops::is_other_generation;

const NOTHING_OPEN: &str = mark!("Nothing is open");
const NO_DRAFT: &str = mark!("This dataset is read-only; edit it as a draft first");
const NOT_WRITTEN: &str = mark!("A draft has to be written first; then open what was written");
const NO_SAMPLE: &str = mark!("No sample is selected");

/// Why `action` is disabled; `None` when it is enabled.
pub fn disabled_reason(action: Action, cx: &PanelContext<'_>) -> Option<String> {
    let document = cx.document();
    let draft = document.and_then(|document| document.draft());
    let no_document = document.is_none().then_some(NOTHING_OPEN);
    let no_draft = no_document.or(draft.is_none().then_some(NO_DRAFT));
    let no_selection = cx.session.selection.sample.is_none().then_some(NO_SAMPLE);
    let reason = match action {
        Action::Close
        | Action::Validate
        | Action::GoToRow
        | Action::Filter
        | Action::NextRoot
        | Action::PreviousRoot => no_document,
        Action::NextBand | Action::PreviousBand => match cx.facts.shown_band_count {
            None => Some(mark!("No picture is shown")),
            Some(0 | 1) => Some(mark!("The picture has one band")),
            Some(_) => None,
        },
        Action::ValidateDeep => no_document
            .or(draft.map(|_| mark!("A draft has no bytes of its own yet; write it first"))),
        Action::Save | Action::SaveAs | Action::Relocate => no_draft,
        Action::JoinTable => no_draft.or(match document {
            Some(document) if document.rows(0) == 0 => Some(mark!("The draft has no samples yet")),
            _ => None,
        }),
        Action::Write => no_draft.or(match document {
            Some(document) if document.rows(0) == 0 => Some(mark!("The draft has no samples yet")),
            _ => None,
        }),
        Action::ExportSubset | Action::Describe => no_document.or(draft.map(|_| NOT_WRITTEN)),
        Action::Publish => no_document.or(draft.map(|_| NOT_WRITTEN)).or_else(|| {
            let open = document?.opened_dataset()?;
            is_other_generation(open.reader.as_ref())
                .then_some(mark!("Only datasets of 2.0; move this one to 2.0 first"))
        }),
        Action::Migrate => no_document.or(draft.map(|_| NOT_WRITTEN)).or_else(|| {
            let open = document?.opened_dataset()?;
            (!is_other_generation(open.reader.as_ref()))
                .then_some(mark!("This dataset is of 2.0 already"))
        }),
        Action::PrepareTaco3 => no_document.or(draft.map(|_| NOT_WRITTEN)).or_else(|| {
            (document?.format()? == crate::container::Format::Taco3)
                .then_some(mark!("This dataset is of TACO 3 already"))
        }),
        Action::Repair | Action::Convert => document.and_then(|document| {
            let open = document.opened_dataset()?;
            is_other_generation(open.reader.as_ref())
                .then_some(mark!("Only datasets of 2.0; move this one to 2.0 first"))
        }),
        Action::WriteOlder => match document {
            Some(document) if document.rows(0) == 0 => Some(mark!("The draft has no samples yet")),
            _ => None,
        },
        Action::PadTo | Action::Sidecars => no_draft.or(match document {
            Some(document) if document.rows(0) == 0 => Some(mark!("The draft has no samples yet")),
            _ => None,
        }),
        Action::Undo => no_draft.or(draft
            .filter(|draft| draft.undo_label().is_none())
            .map(|_| mark!("There is nothing to undo"))),
        Action::Redo => no_draft.or(draft
            .filter(|draft| draft.redo_label().is_none())
            .map(|_| mark!("There is nothing to redo"))),
        Action::AddFiles | Action::AddFolder => draft
            .is_none()
            .then_some(())
            .and(document.map(|_| NO_DRAFT)),
        Action::AddUnplaced | Action::AddUnplacedFolder | Action::Watch => draft
            .is_none()
            .then_some(())
            .and(document.map(|_| NO_DRAFT)),
        Action::Place => no_draft.or(cx
            .session
            .selection
            .files
            .is_empty()
            .then_some(mark!("Select files among the unplaced ones first"))),
        Action::MatchPattern => no_draft.or(draft
            .filter(|draft| draft.tray().is_empty())
            .map(|_| mark!("There are no unplaced files"))),
        Action::Remove if cx.session.selection.files.focused => cx
            .session
            .selection
            .files
            .is_empty()
            .then_some(mark!("No unplaced file is selected")),
        Action::Rename | Action::Remove | Action::Unplace => no_draft.or(no_selection),
        Action::Nest => no_draft.or(no_selection).or_else(|| no_folder_above(cx)),
        Action::Unnest => no_draft.or(no_selection).or_else(|| {
            let top = cx.session.selection.sample.is_some_and(|at| at.level == 0);
            top.then_some(mark!("It is not in a folder"))
        }),
        Action::Group => no_draft.or(no_selection),
        Action::Dissolve => no_draft.or(no_selection).or_else(|| {
            let folder = document?.kind(cx.session.selection.sample?)? == SampleKind::Folder;
            (!folder).then_some(mark!("A FILE holds nothing"))
        }),
        Action::MoveUp | Action::MoveDown => no_draft
            .or(no_selection)
            .or_else(|| refuse_at_edge(action, cx)),
        Action::EditCopy => no_document.or(draft.map(|_| mark!("This is a draft already"))),
        Action::SaveSample => no_document.or(no_selection).or_else(|| {
            let file = document?.kind(cx.session.selection.sample?)? == SampleKind::File;
            (!file).then_some(mark!("A FOLDER has no bytes of its own"))
        }),
        Action::RunExtensions => {
            let ticked = cx.facts.is_extension_chosen;
            no_draft.or((!ticked).then_some(mark!("Tick an extension first")))
        }
        Action::NextProblem | Action::PreviousProblem => cx
            .studio
            .report()
            .findings
            .is_empty()
            .then_some(mark!("There are no problems")),
        Action::FixSafe | Action::FixProblem | Action::FixAlike
            if cx.studio.report().findings.is_empty() =>
        {
            no_draft.or(Some(mark!("There are no problems")))
        }
        Action::FixSafe => no_draft.or_else(|| {
            let choice = document?.structure()?.choice().clone();
            cx.session
                .structure
                .find_known_safe_fix_obstacle(cx.document_key(), &choice)
        }),
        Action::FixProblem | Action::FixAlike => {
            // Findings of an older revision must not change the draft.
            let checking = describe_report_delay(cx.studio);
            no_draft.or(checking).or(cx
                .facts
                .selected_finding
                .is_none()
                .then_some(mark!("Select a problem first, with F8")))
        }
        Action::ClearFilter => no_document.or(cx
            .studio
            .filters()
            .is_empty()
            .then_some(mark!("No filter is set"))),
        Action::CancelJobs => cx
            .studio
            .jobs()
            .is_empty()
            .then_some(mark!("Nothing is running")),
        _ => None,
    };
    reason.map(|reason| crate::text::translate_text(reason).to_owned())
}

fn no_folder_above(cx: &PanelContext<'_>) -> Option<&'static str> {
    let document = cx.document()?;
    let (parent, position) = document.node(cx.session.selection.sample?)?.parent()?;
    let Some(position_before) = position.checked_sub(1) else {
        return Some(mark!("There is no folder before it"));
    };
    let dataset = document.draft()?.dataset();
    let before = dataset.sample(&parent.child(position_before))?;
    before
        .children()
        .is_none()
        .then_some(mark!("The sample before it is a FILE"))
}

fn refuse_at_edge(action: Action, cx: &PanelContext<'_>) -> Option<&'static str> {
    let document = cx.document()?;
    let (parent, position) = document.node(cx.session.selection.sample?)?.parent()?;
    let last = document
        .draft()?
        .dataset()
        .tortilla(&parent)?
        .samples
        .len()
        .checked_sub(1)? as u32;
    match action {
        Action::MoveUp if position == 0 => Some(mark!("It is the first one")),
        Action::MoveDown if position == last => Some(mark!("It is the last one")),
        _ => None,
    }
}
