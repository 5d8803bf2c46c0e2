//! The only module that uploads pixels as textures.

use egui::{ColorImage, Context, TextureFilter, TextureHandle, TextureOptions};

use crate::raster::Rgba;

/// Replaces the image of a texture.
pub fn replace(texture: &mut TextureHandle, image: &Rgba) {
    let size = [image.width, image.height];
    if image.data.len() == image.width * image.height * 4 {
        texture.set(colours(size, &image.data), sampling());
    }
}

/// Premultiplies pixels. Fully opaque or transparent pixels need no arithmetic.
fn colours(size: [usize; 2], data: &[u8]) -> ColorImage {
    let plain = data
        .as_chunks::<4>()
        .0
        .iter()
        .all(|pixel| pixel[3] == 255 || *pixel == [0; 4]);
    if plain {
        ColorImage::from_rgba_premultiplied(size, data)
    } else {
        ColorImage::from_rgba_unmultiplied(size, data)
    }
}

fn sampling() -> TextureOptions {
    TextureOptions {
        magnification: TextureFilter::Nearest,
        minification: TextureFilter::Linear,
        ..TextureOptions::LINEAR
    }
}

/// Uploads an image. Pixels stay sharp when enlarged and are averaged when shrunk.
pub fn upload(ctx: &Context, name: &str, image: &Rgba) -> TextureHandle {
    let most = ctx.input(|input| input.max_texture_side);
    let size = [image.width, image.height];
    let pixels = if image.width <= most
        && image.height <= most
        && image.data.len() == image.width * image.height * 4
    {
        colours(size, &image.data)
    } else {
        shrunk(image, most)
    };
    ctx.load_texture(name, pixels, sampling())
}

/// Subsamples an image that exceeds the machine's largest texture.
fn shrunk(image: &Rgba, most: usize) -> ColorImage {
    let step = image.width.max(image.height).div_ceil(most.max(1)).max(1);
    let (width, height) = (image.width.div_ceil(step), image.height.div_ceil(step));
    let mut data = Vec::with_capacity(width * height * 4);
    for row in (0..image.height).step_by(step) {
        for column in (0..image.width).step_by(step) {
            let at = (row * image.width + column) * 4;
            data.extend_from_slice(image.data.get(at..at + 4).unwrap_or(&[0; 4]));
        }
    }
    colours([width, height], &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_colours_agree() {
        let opaque = [10, 20, 30, 255, 0, 0, 0, 0];
        assert_eq!(
            colours([2, 1], &opaque),
            ColorImage::from_rgba_unmultiplied([2, 1], &opaque)
        );
        let half = [200, 100, 50, 128];
        assert_eq!(
            colours([1, 1], &half),
            ColorImage::from_rgba_unmultiplied([1, 1], &half)
        );
    }

    #[test]
    fn an_image_larger_than_a_texture_is_thinned_out() {
        let image = Rgba {
            width: 5,
            height: 3,
            data: (0..60).collect(),
        };
        let small = shrunk(&image, 2);
        assert_eq!(small.size, [2, 1]);
        // Missing pixels are transparent and do not panic.
        assert_eq!(
            shrunk(
                &Rgba {
                    width: 4,
                    height: 4,
                    data: vec![]
                },
                2
            )
            .size,
            [2, 2]
        );
    }
}
