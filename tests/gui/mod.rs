//! The window, driven by labels without a display: user input and the resulting state of the studio.

mod build;
mod consent;
mod explore;
mod frames;
mod incoming;
mod keyboard;
mod keys;
mod leave;
mod names;
mod offers;
mod places;
mod plan;
mod plots;
mod preview;
mod query;
mod saving;
mod screens;
mod settings;
mod spanish;
mod steady;
mod stranger;
mod structure;
pub mod support;
mod tools;
mod tour;
mod tray;
mod views;
