//! stub
pub mod error;
pub mod jobs;
pub mod model;
pub mod table;
pub mod container;
pub mod draft;
pub mod raster;
