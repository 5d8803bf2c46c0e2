//! The graphics adapters of this machine, for `doctor` and the About dialog. Opens no window.

use eframe::wgpu;
use futures::FutureExt;

use crate::ops::doctor::DoctorCheck;

/// Lists the graphics adapters of this machine, hardware or software.
pub fn graphics() -> DoctorCheck {
    // Enumeration loads third-party drivers; a panic in one must not end `doctor`.
    let found = std::panic::catch_unwind(|| {
        let instance =
            wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        instance
            .enumerate_adapters(wgpu::Backends::all())
            .now_or_never()
            .unwrap_or_default()
    });
    let adapters: Vec<Adapter> = found
        .unwrap_or_default()
        .iter()
        .map(|adapter| adapter.get_info())
        .map(|info| Adapter {
            name: format!("{} ({})", info.name, info.backend),
            software: info.device_type == wgpu::DeviceType::Cpu,
        })
        .collect();
    judge_adapters(&adapters)
}

struct Adapter {
    name: String,
    software: bool,
}

fn judge_adapters(adapters: &[Adapter]) -> DoctorCheck {
    let mut names: Vec<&str> = adapters
        .iter()
        .map(|adapter| adapter.name.as_str())
        .collect();
    names.dedup();
    if adapters.is_empty() {
        let advice = if cfg!(windows) {
            "install the driver of the graphics card from its maker"
        } else {
            "install the Mesa drivers: libgl1-mesa-dri and mesa-vulkan-drivers on Debian and \
                Ubuntu, mesa-dri-drivers on Fedora"
        };
        return DoctorCheck::warning(
            "graphics",
            "no adapter was found; OpenGL may still work",
            advice,
        );
    }
    if adapters.iter().all(|adapter| adapter.software) {
        let advice = "everything works, large previews and maps scroll less smoothly; install the \
            driver of your graphics card if there is one";
        return DoctorCheck::warning(
            "graphics",
            format!(
                "no graphics card, drawing in software: {}",
                names.join(", ")
            ),
            advice,
        );
    }
    DoctorCheck::ok("graphics", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::doctor::Health;

    #[test]
    fn a_machine_without_a_card_is_told_so() {
        let card = || Adapter {
            name: "Card (Vulkan)".into(),
            software: false,
        };
        let software = || Adapter {
            name: "llvmpipe (Vulkan)".into(),
            software: true,
        };
        assert_eq!(judge_adapters(&[card(), software()]).health, Health::Ok);
        assert!(
            judge_adapters(&[software()])
                .seen
                .contains("no graphics card")
        );
        assert_eq!(judge_adapters(&[]).health, Health::Warning);
    }
}
