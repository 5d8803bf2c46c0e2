//! The window, driven by labels without a display: what a person clicks and types, and what the studio then holds.

mod screens;
mod support;
