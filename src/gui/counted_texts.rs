//! Counts of things as text: `1 sample`, `12 samples`.

use super::widgets::paint::format_grouped_number;

pub fn format_samples(count: u64) -> String {
    tr_n!(
        count,
        "{n} sample",
        "{n} samples",
        n = format_grouped_number(count)
    )
}

pub fn format_files(count: u64) -> String {
    tr_n!(
        count,
        "{n} file",
        "{n} files",
        n = format_grouped_number(count)
    )
}

pub fn format_roots(count: u64) -> String {
    tr_n!(
        count,
        "{n} root",
        "{n} roots",
        n = format_grouped_number(count)
    )
}

pub fn format_new_tray_files(count: u64) -> String {
    tr_n!(
        count,
        "{n} new file in the tray",
        "{n} new files in the tray",
        n = format_grouped_number(count)
    )
}
