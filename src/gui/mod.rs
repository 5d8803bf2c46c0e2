//! The window. The only module that names egui or a file dialog; everything that it changes goes through `studio`'s commands.

pub mod action;
pub mod icons;
pub mod theme;
pub mod widgets;
