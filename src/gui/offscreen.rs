//! Runs the application without a display: frames are laid out one after the other, and rendered
//! only for a screenshot. For scripts in tests and on machines without a screen.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, mpsc};
use std::time::{Duration, Instant};

use eframe::App as _;
use eframe::egui_wgpu::{self, RenderState, ScreenDescriptor, WgpuSetup, wgpu};
use egui::{
    Color32, ColorImage, Context, FullOutput, Pos2, RawInput, Rect, TexturesDelta, Vec2,
    ViewportCommand, vec2,
};

use super::{App, ScriptVerdict, fallback_glyphs};
use crate::draft::Draft;
use crate::error::{Error, Result};
use crate::jobs::Jobs;
use crate::studio::{Document, Studio, read_script};

/// Size of the virtual window, in points.
const SIZE: Vec2 = vec2(1440.0, 900.0);
/// Pause between two frames, which leaves the processor to jobs.
const PAUSE: Duration = Duration::from_millis(3);
/// Timeout of a screenshot.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a script in the application without a display and returns the number of lines that
/// succeeded. Screenshots are rendered by a software adapter if there is one. `autosave` is the
/// folder for autosave. `report` gets the number of lines done and of undoable steps of the open
/// draft.
///
/// # Errors
///
/// The first line that fails.
pub fn replay_headless(
    file: &Path,
    pictures: Option<PathBuf>,
    autosave: Option<PathBuf>,
    report: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<usize> {
    let lines = read_script(file)?;
    let ctx = Context::default();
    fallback_glyphs::install(&ctx);
    let mut app = App::for_test(&ctx, Studio::new(Jobs::quiet()));
    if let Some(folder) = autosave {
        app.keep_drafts_in(folder);
    }
    let verdict = app.drive(&ctx, &file.display().to_string(), lines, pictures);
    let mut textures = TexturesDelta::default();
    let outcome = run_frames(&ctx, &mut app, &verdict, &mut textures, report);
    // Texture updates are dropped explicitly, because egui asserts that they are handled.
    textures.clear();
    app.forget_kept();
    outcome
}

/// Runs frames until the script has ended.
fn run_frames(
    ctx: &Context,
    app: &mut App,
    verdict: &ScriptVerdict,
    textures: &mut TexturesDelta,
    report: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<usize> {
    let mut frame = eframe::Frame::_new_kittest();
    let mut painter: Option<Painter> = None;
    let (mut size, began) = (SIZE, Instant::now());
    let mut reported = 0;
    loop {
        let done = app.lines_done();
        if done > reported {
            reported = done;
            report(
                done,
                app.studio()
                    .document()
                    .and_then(Document::draft)
                    .map_or(0, Draft::steps),
            )?;
        }
        if let Some(outcome) = verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            return outcome;
        }
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, size)),
            time: Some(began.elapsed().as_secs_f64()),
            max_texture_side: Some(8192),
            focused: true,
            ..RawInput::default()
        };
        let mut output = ctx.run_ui(input, |ui| {
            let ctx = ui.ctx().clone();
            app.logic(&ctx, &mut frame);
            app.ui(ui, &mut frame);
        });
        textures.append(std::mem::take(&mut output.textures_delta));
        let commands: Vec<ViewportCommand> = output
            .viewport_output
            .values_mut()
            .flat_map(|viewport| std::mem::take(&mut viewport.commands))
            .collect();
        for command in commands {
            match command {
                ViewportCommand::InnerSize(wanted) => {
                    size = wanted.clamp(vec2(320.0, 240.0), vec2(8000.0, 8000.0))
                }
                ViewportCommand::Screenshot(callback) => {
                    let ready = match &mut painter {
                        Some(painter) => Ok(painter),
                        none => Painter::new().map(|made| none.insert(made)),
                    };
                    let image = ready.and_then(|painter| painter.paint(ctx, &output, textures));
                    textures.clear();
                    callback.complete(Arc::new(image?));
                }
                _ => {}
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Renders a frame into memory.
struct Painter {
    state: RenderState,
}

impl Painter {
    fn new() -> Result<Self> {
        let mut setup = egui_wgpu::WgpuSetupCreateNew::without_display_handle();
        // Prefer a software adapter: it renders the same pixels on every machine.
        setup.native_adapter_selector = Some(Arc::new(|adapters, _| {
            let software =
                |adapter: &&wgpu::Adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu;
            let found = adapters.iter().find(software).or(adapters.first());
            found
                .cloned()
                .ok_or_else(|| "there is no adapter".to_owned())
        }));
        let setup = WgpuSetup::CreateNew(setup);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime
            .map_err(|error| Error::internal("nothing can wait for the painter").because(error))?;
        let made = runtime.block_on(async move {
            let instance = setup.new_instance().await;
            let config = egui_wgpu::WgpuConfiguration {
                wgpu_setup: setup,
                ..Default::default()
            };
            RenderState::create(
                &config,
                &instance,
                None,
                egui_wgpu::RendererOptions::PREDICTABLE,
            )
            .await
        });
        let state = made.map_err(|error| {
            Error::unsupported("nothing on this machine paints pictures without a display")
                .because(error.to_string())
                .hint("install the Mesa drivers: mesa-vulkan-drivers on Debian and Ubuntu")
        })?;
        Ok(Self { state })
    }

    fn paint(
        &mut self,
        ctx: &Context,
        output: &FullOutput,
        textures: &mut TexturesDelta,
    ) -> Result<ColorImage> {
        let (device, queue) = (&self.state.device, &self.state.queue);
        let mut renderer = self.state.renderer.write();
        for (id, images) in textures.set.drain() {
            images
                .iter()
                .for_each(|image| renderer.update_texture(device, queue, id, image));
        }
        let scale = ctx.pixels_per_point();
        let size = ctx.content_rect().size() * scale;
        let (width, height) = (size.x.round() as u32, size.y.round() as u32);
        let screen = ScreenDescriptor {
            pixels_per_point: scale,
            size_in_pixels: [width, height],
        };
        let shapes = ctx.tessellate(output.shapes.clone(), scale);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("picture"),
        });
        let buffers = renderer.update_buffers(device, queue, &mut encoder, &shapes, &screen);
        let extent = wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        };
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: extent,
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: self.state.target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        {
            let attachment = wgpu::RenderPassColorAttachment {
                view: &view,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                    store: wgpu::StoreOp::Store,
                },
                depth_slice: None,
            };
            let descriptor = wgpu::RenderPassDescriptor {
                label: Some("picture"),
                color_attachments: &[Some(attachment)],
                ..Default::default()
            };
            let mut pass = encoder.begin_render_pass(&descriptor).forget_lifetime();
            renderer.render(&mut pass, &shapes, &screen);
        }
        // Rows of a buffer are aligned.
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(row),
            rows_per_image: None,
        };
        let target = wgpu::TexelCopyBufferInfo {
            buffer: &buffer,
            layout,
        };
        encoder.copy_texture_to_buffer(texture.as_image_copy(), target, extent);
        queue.submit(buffers.into_iter().chain([encoder.finish()]));
        for id in textures.free.drain() {
            renderer.free_texture(&id);
        }
        let (sender, receiver) = mpsc::channel();
        buffer
            .slice(..)
            .map_async(wgpu::MapMode::Read, move |outcome| {
                drop(sender.send(outcome))
            });
        let lost =
            |why: String| Error::unsupported("the picture could not be painted").because(why);
        device
            .poll(wgpu::PollType::Wait {
                submission_index: None,
                timeout: Some(PATIENCE),
            })
            .map_err(|error| lost(error.to_string()))?;
        let mapped = receiver
            .recv_timeout(PATIENCE)
            .map_err(|error| lost(error.to_string()))?;
        mapped.map_err(|error| lost(error.to_string()))?;
        let bytes = buffer
            .slice(..)
            .get_mapped_range()
            .map_err(|error| lost(format!("{error:?}")))?;
        let swapped = matches!(
            self.state.target_format,
            wgpu::TextureFormat::Bgra8Unorm | wgpu::TextureFormat::Bgra8UnormSrgb
        );
        let mut pixels = Vec::with_capacity(width as usize * height as usize);
        for line in bytes.chunks_exact(row as usize) {
            pixels.extend(line.as_chunks::<4>().0.iter().take(width as usize).map(
                |&[a, b, c, _]| {
                    if swapped {
                        Color32::from_rgb(c, b, a)
                    } else {
                        Color32::from_rgb(a, b, c)
                    }
                },
            ));
        }
        Ok(ColorImage::new([width as usize, height as usize], pixels))
    }
}
