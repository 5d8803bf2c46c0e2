//! Functions that queries on datasets need and polars lacks: coordinates of WKB points, bounds of WKB geometries.

use std::sync::Arc;

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;
use polars::sql::{FunctionOptions, FunctionRegistry};

use crate::table::wkb_point;

/// Geometries inside geometries; deeper ones are damage.
const NESTING: u8 = 8;

/// A function of one geometry.
type Measure = fn(&[u8]) -> Option<f64>;

/// The functions, by their names in lower case. Bounds are those of the coordinates, in the geometry's own system.
const FUNCTIONS: [(&str, Measure); 6] = [
    ("st_x", |wkb| wkb_point(wkb).map(|(x, _)| x)),
    ("st_y", |wkb| wkb_point(wkb).map(|(_, y)| y)),
    ("st_xmin", |wkb| bounds(wkb).map(|bounds| bounds[0])),
    ("st_ymin", |wkb| bounds(wkb).map(|bounds| bounds[1])),
    ("st_xmax", |wkb| bounds(wkb).map(|bounds| bounds[2])),
    ("st_ymax", |wkb| bounds(wkb).map(|bounds| bounds[3])),
];

struct Functions;

impl FunctionRegistry for Functions {
    fn register(&mut self, name: &str, _function: UserDefinedFunction) -> PolarsResult<()> {
        polars_bail!(InvalidOperation: "{name} can't be added")
    }

    fn get_udf(&self, name: &str) -> PolarsResult<Option<UserDefinedFunction>> {
        Ok(FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(name, measure)| of_geometry(name, *measure)))
    }

    fn contains(&self, name: &str) -> bool {
        is_known(name)
    }
}

/// True for the name of a function of this module, in lower case.
pub(super) fn is_known(name: &str) -> bool {
    FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// The registry as polars wants it.
pub(super) fn registry() -> Arc<dyn FunctionRegistry> {
    Arc::new(Functions)
}

fn of_geometry(name: &'static str, measure: Measure) -> UserDefinedFunction {
    let values = move |columns: &mut [Column]| -> PolarsResult<Column> {
        let [column] = columns else { polars_bail!(InvalidOperation: "{name} takes one column") };
        let wrong = |_| polars_err!(InvalidOperation: "{name} takes a column of WKB geometries, as stac:centroid");
        let geometries = column.binary().map_err(wrong)?;
        let numbers: Float64Chunked = geometries.iter().map(|wkb| wkb.and_then(measure)).collect();
        Ok(numbers.with_name(column.name().clone()).into_series().into_column())
    };
    let field = |_: &Schema, fields: &[Field]| {
        let name = fields.first().map_or(PlSmallStr::EMPTY, |field| field.name().clone());
        Ok(Field::new(name, DataType::Float64))
    };
    let mut function = UserDefinedFunction::new(name.into(), BaseColumnUdf::new(values, field));
    function.options = FunctionOptions::elementwise();
    function
}

/// Smallest x, smallest y, largest x, largest y; `None` for an empty or damaged geometry.
fn bounds(wkb: &[u8]) -> Option<[f64; 4]> {
    let mut walk = Walk { rest: wkb, bounds: [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY] };
    walk.geometry(NESTING)?;
    (walk.bounds[0] <= walk.bounds[2] && walk.bounds[1] <= walk.bounds[3]).then_some(walk.bounds)
}

struct Walk<'a> {
    rest: &'a [u8],
    bounds: [f64; 4],
}

impl Walk<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn count(&mut self, little: bool) -> Option<u32> {
        let bytes = self.take()?;
        Some(if little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn geometry(&mut self, nesting: u8) -> Option<()> {
        let little = match self.take()? {
            [1] => true,
            [0] => false,
            _ => return None,
        };
        let code = self.count(little)?;
        if code & 0x2000_0000 != 0 {
            // PostGIS puts the number of the coordinate system here.
            self.count(little)?;
        }
        // Heights and measures: flags in PostGIS' form, thousands in the standard's.
        let plain = code & 0x0FFF_FFFF;
        let flags = usize::from(code & 0x8000_0000 != 0) + usize::from(code & 0x4000_0000 != 0);
        let thousands = match plain / 1000 {
            0 => 0,
            1 | 2 => 1,
            3 => 2,
            _ => return None,
        };
        let further = flags + thousands;
        match plain % 1000 {
            1 => self.point(little, further),
            2 => self.points(little, further),
            3 => {
                for _ in 0..self.count(little)? {
                    self.points(little, further)?;
                }
                Some(())
            }
            4..=7 => {
                let nesting = nesting.checked_sub(1)?;
                for _ in 0..self.count(little)? {
                    self.geometry(nesting)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn points(&mut self, little: bool, further: usize) -> Option<()> {
        for _ in 0..self.count(little)? {
            self.point(little, further)?;
        }
        Some(())
    }

    fn point(&mut self, little: bool, further: usize) -> Option<()> {
        let number = |bytes: [u8; 8]| if little { f64::from_le_bytes(bytes) } else { f64::from_be_bytes(bytes) };
        let (x, y) = (number(self.take()?), number(self.take()?));
        for _ in 0..further {
            self.take::<8>()?;
        }
        // NaN, the mark of an empty point, leaves the bounds as they are.
        self.bounds = [self.bounds[0].min(x), self.bounds[1].min(y), self.bounds[2].max(x), self.bounds[3].max(y)];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polygon() -> Vec<u8> {
        let mut wkb = vec![1];
        wkb.extend(3u32.to_le_bytes());
        wkb.extend(1u32.to_le_bytes());
        wkb.extend(4u32.to_le_bytes());
        for number in [1.0f64, 2.0, 5.0, 2.5, 3.0, 9.0, 1.0, 2.0] {
            wkb.extend(number.to_le_bytes());
        }
        wkb
    }

    #[test]
    fn bounds_hold_every_coordinate() {
        assert_eq!(bounds(&polygon()), Some([1.0, 2.0, 5.0, 9.0]));
        let mut collection = vec![0];
        collection.extend(7u32.to_be_bytes());
        collection.extend(1u32.to_be_bytes());
        collection.extend(polygon());
        assert_eq!(bounds(&collection), Some([1.0, 2.0, 5.0, 9.0]));
    }

    #[test]
    fn damaged_geometries_have_none() {
        let good = polygon();
        for cut in 0..good.len() {
            assert_eq!(bounds(&good[..cut]), None, "{cut}");
        }
        let mut many = good.clone();
        many[5..9].fill(0xFF);
        assert_eq!(bounds(&many), None);
        let mut deep = Vec::new();
        for _ in 0..1000 {
            deep.extend([1, 7, 0, 0, 0, 1, 0, 0, 0]);
        }
        assert_eq!(bounds(&deep), None);
    }
}
