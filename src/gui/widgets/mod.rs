//! The controls of the studio. They depend on the theme and egui only, not on datasets; each
//! custom-painted one reports role and name to accessibility, for screen readers and tests.

mod badge;
mod button;
mod checks;
mod choice_card;
mod code;
mod combo;
mod empty;
mod field;
mod header;
mod logo;
mod menu;
pub mod paint;
mod palette;
pub mod plot;
mod progress;
mod remark;
mod segmented;
mod slider;
mod table;
mod tags;
mod toast;
mod tree;
mod virtual_rows;

#[cfg(test)]
mod style_guide;

pub use badge::{
    Tone, ToneColors, badge, badge_width, closable_chip, count_badge, key_cap, key_cap_width,
};
pub use button::{Button, link, take_first};
pub use checks::{checkbox, radio};
pub use choice_card::{ChoiceCard, choice_card};
pub use code::code_ui;
pub use combo::combo;
pub use empty::{EmptyState, draw_empty_state, draw_empty_state_with_actions};
pub use field::{FieldNote, TextField, note_ui};
pub use header::{collapsing_header, section_header, tab};
pub use logo::{logo, logo_image};
pub use menu::{menu_entry, menu_entry_with_hint, menu_scroll};
pub use palette::{Palette, PaletteEntry};
pub use progress::{progress_bar, spinner};
pub use remark::{draw_control_label, heading, line_below, remark};
pub use segmented::{Segment, draw_segments, segmented_width, segmented_within};
pub use slider::slider;
pub use table::{
    Cell, PitMark, StatusMark, TableColumn, TableOutput, TableSource, TableState, TableWidget,
};
pub use tags::{tag_input, tag_input_id};
pub use toast::{Toast, ToastEvent};
pub use tree::{TreeOutput, TreeRow, tree};
pub use virtual_rows::{RowScroll, RowsOutput, VirtualRows};
