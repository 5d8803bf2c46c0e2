//! Built-in countries: land polygons of Natural Earth 1:50m with names and ISO 3166-1 codes, for
//! looking up the country of a place and for drawing. Disputed areas are not marked.

use geo::{BoundingRect, Coord, Intersects, LineString, MultiPolygon, Polygon, Rect};

/// Written by packaging/countries.py, which documents the format.
const ASSET: &[u8] = include_bytes!("../../../assets/countries.bin");

/// One country.
#[derive(Clone, Debug)]
pub struct Country {
    /// English name as in Natural Earth.
    pub name: String,
    /// ISO 3166-1 alpha-2 code; empty when there is none.
    pub alpha2: String,
    /// ISO 3166-1 alpha-3 code; empty when there is none.
    pub alpha3: String,
    /// ISO 3166-1 numeric code; 0 when there is none.
    pub number: u16,
    /// Polygons in degrees (x: longitude, y: latitude). A polygon across the antimeridian continues
    /// beyond ±180 instead of wrapping.
    pub land: MultiPolygon<f64>,
    /// Bounding box of each polygon.
    boxes: Vec<Rect<f64>>,
}

impl Country {
    /// True when the point, or the same point shifted by ±360 degrees, is inside the country or on
    /// its border.
    pub fn contains(&self, lon: f64, lat: f64) -> bool {
        [lon, lon - 360.0, lon + 360.0].into_iter().any(|x| {
            let point = Coord { x, y: lat };
            self.boxes
                .iter()
                .zip(&self.land.0)
                .any(|(bounds, polygon)| bounds.intersects(&point) && polygon.intersects(&point))
        })
    }
}

/// Decodes all countries, sorted by name, which takes milliseconds.
pub fn read_countries() -> Vec<Country> {
    decode(ASSET).unwrap_or_default()
}

/// The first of `countries` that has a point in degrees inside it or on its border; `None` at sea
/// and for latitudes outside ±90.
pub fn country_at(countries: &[Country], lon: f64, lat: f64) -> Option<&Country> {
    if !(lon.is_finite() && lat.abs() <= 90.0) {
        return None;
    }
    let lon = (lon + 180.0).rem_euclid(360.0) - 180.0;
    countries.iter().find(|country| country.contains(lon, lat))
}

struct BorderBytes<'a>(&'a [u8]);

impl<'a> BorderBytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn double(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn read_unsigned(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..63).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn read_signed(&mut self) -> Option<i64> {
        let number = self.read_unsigned()? as i64;
        Some((number >> 1) ^ -(number & 1))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.read_unsigned()? as usize;
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    /// Decodes a list: its length, then each element. The length is checked against the remaining
    /// bytes before allocation.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.read_unsigned()? as usize;
        if length > self.0.len() {
            return None;
        }
        (0..length).map(|_| one(self)).collect()
    }
}

fn decode(asset: &[u8]) -> Option<Vec<Country>> {
    let mut bytes = BorderBytes(asset);
    if bytes.take(8)? != b"TSLAND1\0" {
        return None;
    }
    let (scale_x, scale_y, x0, y0) = (
        bytes.double()?,
        bytes.double()?,
        bytes.double()?,
        bytes.double()?,
    );
    let arcs = bytes.list(|bytes| {
        let (mut x, mut y) = (0i64, 0i64);
        bytes.list(|bytes| {
            x = x.checked_add(bytes.read_signed()?)?;
            y = y.checked_add(bytes.read_signed()?)?;
            Some(Coord {
                x: x as f64 * scale_x + x0,
                y: y as f64 * scale_y + y0,
            })
        })
    })?;
    bytes.list(|bytes| {
        let (name, alpha2, alpha3) = (bytes.text()?, bytes.text()?, bytes.text()?);
        let number = u16::try_from(bytes.read_unsigned()?).ok()?;
        let polygons = bytes.list(|bytes| {
            let mut rings = bytes
                .list(|bytes| Some(ring(&arcs, &bytes.list(BorderBytes::read_signed)?)))?
                .into_iter()
                .flatten();
            let outer = rings.next()?;
            Some(polygon(outer, rings.collect()))
        })?;
        let boxes = polygons
            .iter()
            .filter_map(BoundingRect::bounding_rect)
            .collect();
        Some(Country {
            name,
            alpha2,
            alpha3,
            number,
            land: MultiPolygon(polygons),
            boxes,
        })
    })
}

/// Joins the arcs of a ring. At the antimeridian the ring continues beyond ±180, and a ring around
/// the pole (Antarctica) is closed along the pole.
fn ring(arcs: &[Vec<Coord<f64>>], indices: &[i64]) -> Option<LineString<f64>> {
    let mut line: Vec<Coord<f64>> = Vec::new();
    for &index in indices {
        if index >= 0 {
            for &point in arcs.get(index as usize)? {
                push_point(&mut line, point);
            }
        } else {
            for &point in arcs.get((-1 - index) as usize)?.iter().rev() {
                push_point(&mut line, point);
            }
        }
    }
    let (first, last) = (*line.first()?, *line.last()?);
    if (first.x - last.x).abs() > 180.0 {
        // The artificial line along the pole at the edge of the map.
        if line.iter().all(|point| point.y.abs() > 89.9) {
            return None;
        }
        let pole = if first.y < 0.0 { -90.0 } else { 90.0 };
        line.push(Coord { x: last.x, y: pole });
        line.push(Coord {
            x: first.x,
            y: pole,
        });
    }
    Some(LineString(line))
}

/// Appends a point at most 180 degrees from the last one; none twice in a row.
fn push_point(line: &mut Vec<Coord<f64>>, mut point: Coord<f64>) {
    if let Some(last) = line.last() {
        point.x += 360.0 * ((last.x - point.x) / 360.0).round();
    }
    if line.last() != Some(&point) {
        line.push(point);
    }
}

/// Shifts holes by multiples of 360 degrees so that they are inside the outer ring.
fn polygon(outer: LineString<f64>, mut holes: Vec<LineString<f64>>) -> Polygon<f64> {
    if let Some(bounds) = outer.bounding_rect() {
        for hole in &mut holes {
            let Some(own) = hole.bounding_rect() else {
                continue;
            };
            let turns = ((bounds.center().x - own.center().x) / 360.0).round();
            hole.0.iter_mut().for_each(|point| point.x += 360.0 * turns);
        }
    }
    Polygon::new(outer, holes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_assigned_to_their_countries() {
        let countries = read_countries();
        for (lon, lat, code) in [
            (2.35, 48.85, "FRA"),
            (-77.03, -12.05, "PER"),
            (-0.6, 39.45, "ESP"),
            (139.6, 35.8, "JPN"),
            (28.0, -29.5, "LSO"),
            (24.7, -29.1, "ZAF"),
            // Both sides of the antimeridian.
            (178.0, 66.5, "RUS"),
            (-175.0, 66.5, "RUS"),
            (185.0, 66.5, "RUS"),
            (178.0, -17.8, "FJI"),
            (-160.0, -87.0, "ATA"),
            (90.0, -75.0, "ATA"),
            (0.0, -89.9, "ATA"),
            (180.0, -88.0, "ATA"),
        ] {
            assert_eq!(
                country_at(&countries, lon, lat).map(|country| country.alpha3.as_str()),
                Some(code),
                "at {lon} {lat}"
            );
        }
        for (lon, lat) in [
            (0.0, 0.0),
            (-150.0, 20.0),
            (0.0, 89.0),
            (f64::NAN, 0.0),
            (0.0, 91.0),
        ] {
            assert!(country_at(&countries, lon, lat).is_none(), "at {lon} {lat}");
        }
    }

    #[test]
    fn the_asset_is_whole() {
        let countries = read_countries();
        assert_eq!(countries.len(), 241);
        assert!(countries.iter().all(
            |country| !country.land.0.is_empty() && country.boxes.len() == country.land.0.len()
        ));
        let without: Vec<&str> = countries
            .iter()
            .filter(|c| c.alpha3.is_empty())
            .map(|c| c.name.as_str())
            .collect();
        assert_eq!(
            without,
            [
                "Indian Ocean Ter.",
                "N. Cyprus",
                "Siachen Glacier",
                "Somaliland"
            ]
        );
    }

    #[test]
    fn damaged_bytes_are_no_countries() {
        for cut in (0..ASSET.len()).step_by(9973) {
            assert!(decode(&ASSET[..cut]).is_none());
        }
        assert!(decode(b"TSLAND1\0").is_none());
    }
}
