//! Vector layers of several files, such as Shapefiles, as one file.

use std::ffi::{CString, c_int, c_void};
use std::path::Path;
use std::ptr;

use gdal::Dataset;
use gdal::cpl::CslStringList;
use gdal::errors::{GdalError, Result as GdalResult};

use super::tog::on_progress;
use super::write::whole_file;
use super::{RasterSource, environment, gdal_errors, pool};
use crate::error::{Error, Kind, Result};
use crate::jobs::JobContext;

/// Copies the layer of a vector file to a FlatGeobuf: shapes, coordinate system and fields.
/// Polygons and lines become those of several parts, because a Shapefile does not distinguish both
/// and a FlatGeobuf has one type. The file appears under its name when complete.
///
/// # Errors
/// Those of opening the file; [`Kind::Io`] when GDAL or the file system fails, and for a file of
/// several layers; cancellation.
pub fn write_flatgeobuf(source: &RasterSource, path: &Path, ctx: &JobContext) -> Result<()> {
    environment::init();
    ctx.check()?;
    let lease = pool::lease(source)?;
    let outcome = whole_file(path, |file| {
        let (written, said) = gdal_errors::listen(|| translate(&lease.dataset, file, ctx));
        let summary = || {
            Error::new(Kind::Io, "GDAL could not write the features as FlatGeobuf").at_path(path)
        };
        gdal_errors::expect_written(written, &said, summary)
    });
    ctx.check()?;
    outcome
}

fn translate(source: &Dataset, file: &Path, ctx: &JobContext) -> GdalResult<()> {
    let mut words = CslStringList::new();
    for word in ["-f", "FlatGeobuf", "-nlt", "PROMOTE_TO_MULTI"] {
        words.add_string(word)?;
    }
    let name = CString::new(file.to_string_lossy().as_bytes())?;
    let data = ptr::from_ref(ctx).cast_mut().cast::<c_void>();
    let mut input = source.c_dataset();
    let mut usage: c_int = 0;
    // Safety: handles and strings live during the calls; the options are freed after the last use;
    // the context is only read.
    let made = unsafe {
        let options = gdal_sys::GDALVectorTranslateOptionsNew(words.as_ptr(), ptr::null_mut());
        if options.is_null() {
            return Err(GdalError::NullPointer {
                method_name: "GDALVectorTranslateOptionsNew",
                msg: String::new(),
            });
        }
        gdal_sys::GDALVectorTranslateOptionsSetProgress(options, Some(on_progress), data);
        let made = gdal_sys::GDALVectorTranslate(
            name.as_ptr(),
            ptr::null_mut(),
            1,
            &raw mut input,
            options,
            &raw mut usage,
        );
        gdal_sys::GDALVectorTranslateOptionsFree(options);
        made
    };
    if made.is_null() {
        return Err(GdalError::NullPointer {
            method_name: "GDALVectorTranslate",
            msg: String::new(),
        });
    }
    // Safety: not NULL, and owned by nobody else.
    unsafe { Dataset::from_c_dataset(made) }.close()
}
