//! stub
pub mod error;
pub mod jobs;
pub mod model;
