//! The only place where pixels become a texture.

use egui::{ColorImage, Context, TextureFilter, TextureHandle, TextureOptions};

use crate::raster::Rgba;

/// Puts another image into a texture.
pub fn replace(texture: &mut TextureHandle, image: &Rgba) {
    let size = [image.width, image.height];
    if image.data.len() == image.width * image.height * 4 {
        texture.set(ColorImage::from_rgba_unmultiplied(size, &image.data), sampling());
    }
}

fn sampling() -> TextureOptions {
    TextureOptions { magnification: TextureFilter::Nearest, minification: TextureFilter::Linear, ..TextureOptions::LINEAR }
}

/// Uploads an image. Pixels stay sharp when enlarged and are averaged when shrunk.
pub fn upload(ctx: &Context, name: &str, image: &Rgba) -> TextureHandle {
    let most = ctx.input(|input| input.max_texture_side);
    let size = [image.width, image.height];
    let pixels = match image.width <= most && image.height <= most && image.data.len() == image.width * image.height * 4 {
        true => ColorImage::from_rgba_unmultiplied(size, &image.data),
        false => shrunk(image, most),
    };
    ctx.load_texture(name, pixels, sampling())
}

/// Every n-th pixel: only for machines whose textures are smaller than what was asked for.
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
    ColorImage::from_rgba_unmultiplied([width, height], &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_larger_than_a_texture_is_thinned_out() {
        let image = Rgba { width: 5, height: 3, data: (0..60).collect() };
        let small = shrunk(&image, 2);
        assert_eq!(small.size, [2, 1]);
        // A header that promises more pixels than there are gives transparent ones, not a panic.
        assert_eq!(shrunk(&Rgba { width: 4, height: 4, data: vec![] }, 2).size, [2, 2]);
    }
}
