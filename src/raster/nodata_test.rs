//! Which pixels have the nodata value, as GDAL's mask of a band decides: whole numbers exactly,
//! fractions with its tolerance. Headers spell the value with more or fewer digits than the type
//! has, such as −3.4e38 for the smallest number of 32 bits.

/// Compares pixels of one band with its nodata value.
#[derive(Clone, Copy, Debug)]
pub(super) enum NoDataTest {
    /// For integers of at most 32 bits: the value without its fraction.
    Whole(f64),
    /// For integers of 64 bits.
    Long(i128),
    /// For fractions of at most 32 bits.
    Single(f32),
    /// For fractions of 64 bits.
    Double(f64),
}

impl NoDataTest {
    /// `dtype` is the name that GDAL gives the type of the band; a complex type is compared by the
    /// type of its parts.
    pub fn new(nodata: f64, dtype: &str) -> Self {
        match dtype {
            "Float32" | "Float16" | "CFloat32" | "CFloat16" => Self::Single(nodata as f32),
            "Float64" | "CFloat64" => Self::Double(nodata),
            _ => Self::Whole(nodata.trunc()),
        }
    }

    /// True when the pixel has the nodata value.
    pub fn is_nodata(self, value: f64) -> bool {
        match self {
            Self::Whole(nodata) => value == nodata,
            Self::Long(nodata) => value == nodata as f64,
            Self::Single(nodata) => is_nearly_single(value as f32, nodata),
            Self::Double(nodata) => is_nearly_double(value, nodata),
        }
    }

    /// As [`NoDataTest::is_nodata`], for a pixel of 64-bit integers.
    pub fn is_nodata_long(self, value: i128) -> bool {
        match self {
            Self::Long(nodata) => value == nodata,
            _ => self.is_nodata(value as f64),
        }
    }

    /// As [`NoDataTest::is_nodata`], for a pixel of 32 bits.
    pub fn is_nodata_single(self, value: f32) -> bool {
        match self {
            Self::Single(nodata) => is_nearly_single(value, nodata),
            _ => self.is_nodata(f64::from(value)),
        }
    }
}

/// GDAL's comparison of fractions of 32 bits. The sum may be infinite: then any two finite numbers
/// that are so large are equal.
fn is_nearly_single(one: f32, other: f32) -> bool {
    one == other
        || (one - other).abs() < f32::EPSILON * (one + other).abs() * 2.0
        || (one.is_nan() && other.is_nan())
}

/// GDAL's comparison of fractions of 64 bits, with the tolerance of 32 bits.
fn is_nearly_double(one: f64, other: f64) -> bool {
    one == other
        || (one - other).abs() < f64::from(f32::EPSILON) * (one + other).abs() * 2.0
        || (one.is_nan() && other.is_nan())
}

#[cfg(test)]
mod tests {
    use gdal::DriverManager;
    use gdal::raster::{Buffer, GdalType, RasterBand};

    use super::*;

    /// What GDAL's mask and this module say of a row of pixels.
    fn masks<T: GdalType + Copy + Into<f64>>(pixels: &[T], nodata: f64) -> (Vec<bool>, Vec<bool>) {
        let driver = DriverManager::get_driver_by_name("MEM").expect("is built in");
        let dataset = driver
            .create_with_band_type::<T, _>("", pixels.len(), 1, 1)
            .expect("creates");
        let mut band: RasterBand<'_> = dataset.rasterband(1).expect("has a band");
        band.set_no_data_value(Some(nodata)).expect("sets");
        let mut buffer = Buffer::new((pixels.len(), 1), pixels.to_vec());
        band.write((0, 0), (pixels.len(), 1), &mut buffer)
            .expect("writes");
        let mask = band.open_mask_band().expect("has a mask");
        let size = (pixels.len(), 1);
        let by_gdal = mask.read_as::<u8>((0, 0), size, size, None).expect("reads");
        let test = NoDataTest::new(nodata, &band.band_type().name());
        (
            by_gdal.data().iter().map(|mask| *mask == 0).collect(),
            pixels
                .iter()
                .map(|pixel| test.is_nodata((*pixel).into()))
                .collect(),
        )
    }

    #[test]
    fn pixels_of_32_bits_are_compared_as_gdal_does() {
        for text in [
            "-3.4028234663852886e+38",
            "-3.40282346639e+38",
            "-3.39999999999999996e+38",
            "-3.4e+38",
            "-3.4028230607370965e+38",
            "-1.7e+308",
            "1e+20",
            "1.70141e+38",
            "-9999",
            "-9999.0001",
            "0.1",
            "0",
            "nan",
            "-inf",
        ] {
            let nodata: f64 = text.parse().expect("a number");
            if nodata.is_finite() && nodata.abs() > f64::from(f32::MAX) {
                continue;
            }
            let near = nodata as f32;
            let pixels = [
                f32::MIN,
                f32::MAX,
                -3.4e38,
                -3.0e38,
                1e20,
                1.000_001e20,
                -9999.0,
                -9999.001,
                -9998.0,
                0.1,
                0.100_001,
                0.0,
                -0.0,
                near,
                f32::NAN,
            ];
            let (by_gdal, ours) = masks(&pixels, nodata);
            assert_eq!(ours, by_gdal, "{text}: {pixels:?}");
        }
    }

    #[test]
    fn pixels_of_64_bits_and_integers_are_compared_as_gdal_does() {
        for nodata in [-3.4e38, -9999.0, 1e-300, 0.1, f64::MAX, f64::NEG_INFINITY] {
            let pixels = [
                -3.4e38,
                -3.400_000_01e38,
                f64::MAX,
                -9999.0,
                -9_999.000_01,
                -9998.0,
                1e-300,
                0.1,
                0.1 + 1e-9,
                0.0,
            ];
            let (by_gdal, ours) = masks(&pixels, nodata);
            assert_eq!(ours, by_gdal, "{nodata}");
        }
        for nodata in [0.0, 255.0, 30.5, 12.0] {
            let (by_gdal, ours) = masks::<u8>(&[0, 12, 30, 31, 255], nodata);
            assert_eq!(ours, by_gdal, "{nodata}");
            let (by_gdal, ours) = masks::<i16>(&[0, 12, 30, 31, 255, -9999], nodata);
            assert_eq!(ours, by_gdal, "{nodata}");
        }
    }
}
