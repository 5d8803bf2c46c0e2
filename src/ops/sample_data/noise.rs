//! Noise that is the same on every machine, and the grid of all scenes.

/// Columns and rows of a scene.
pub const SIZE: usize = 256;
/// Metres of a pixel.
pub const PIXEL: f64 = 10.0;

/// A number in 0..1 for a place of a grid.
pub fn hash_place(seed: u32, x: i64, y: i64, layer: u32) -> f64 {
    let mut hash = seed
        .wrapping_mul(0x9E37_79B9)
        .wrapping_add((x as u32).wrapping_mul(0x85EB_CA6B))
        .wrapping_add((y as u32).wrapping_mul(0xC2B2_AE35))
        .wrapping_add(layer.wrapping_mul(0x27D4_EB2F));
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x2C1B_3C6D);
    hash ^= hash >> 12;
    hash = hash.wrapping_mul(0x297A_2D39);
    f64::from(hash ^ (hash >> 15)) / f64::from(u32::MAX)
}

/// Smooth noise in 0..1 from a few octaves of hashed grid values.
pub fn noise(seed: u32, x: f64, y: f64) -> f64 {
    let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
    let (mut sum, mut weight, mut scale) = (0.0, 0.5, 1.0);
    for octave in 0..5 {
        let (px, py) = (x * scale, y * scale);
        let (ix, iy) = (px.floor() as i64, py.floor() as i64);
        let corner = |ix: i64, iy: i64| hash_place(seed, ix, iy, octave);
        let (tx, ty) = (smooth(px - px.floor()), smooth(py - py.floor()));
        let top = corner(ix, iy) * (1.0 - tx) + corner(ix + 1, iy) * tx;
        let bottom = corner(ix, iy + 1) * (1.0 - tx) + corner(ix + 1, iy + 1) * tx;
        sum += weight * (top * (1.0 - ty) + bottom * ty);
        weight *= 0.5;
        scale *= 2.0;
    }
    sum / 0.969
}
