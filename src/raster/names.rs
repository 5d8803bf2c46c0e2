//! Which files claim to be rasters by the extension of their names.

/// Extensions of files that are rasters of one file, or damaged.
pub(super) const RASTER_EXTENSIONS: [&str; 9] = [
    "tif", "tiff", "gtiff", "jp2", "j2k", "png", "jpg", "jpeg", "webp",
];

/// True for a name that claims a raster, such as `before.TIF`.
pub fn claims_raster(name: &str) -> bool {
    let ending = name
        .rsplit_once('.')
        .filter(|(stem, _)| !stem.is_empty())
        .map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| RASTER_EXTENSIONS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_claim_a_raster() {
        assert!(
            claims_raster("Label_FINAL.TIF")
                && claims_raster("a.b.jp2")
                && claims_raster("x/y.png")
        );
        assert!(!claims_raster("notes.txt") && !claims_raster(".tif") && !claims_raster("before"));
    }
}
