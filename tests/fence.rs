//! Rasters in an untrusted dataset that refer to other files, with every command that reads pixels:
//! those files are not read.

use std::path::{Path, PathBuf};

use crate::interop::create;
use crate::support::{Workspace, flat_scenes};

/// The archive with the data of one sample replaced.
pub fn dataset_with(workspace: &Workspace, bytes: &[u8]) -> PathBuf {
    flat_scenes(workspace, 2);
    std::fs::write(workspace.path("scenes/tile_1.tif"), bytes).expect("writes");
    let out = workspace.path("in.tacozip");
    let _ = std::fs::remove_file(&out);
    let (scenes, collection) = (workspace.path("scenes"), workspace.path("collection.json"));
    let arguments = [
        "create".as_ref(),
        scenes.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--collection".as_ref(),
    ];
    workspace
        .studio([&arguments[..], &[collection.as_os_str()]].concat())
        .expect_code(0);
    out
}

/// The preview of a sample must not be read from the file that it refers to.
#[test]
fn no_command_follows_a_virtual_raster_in_a_dataset() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    let secret = workspace.path("scenes/tile_0.tif");
    let aside = workspace.path("secret.tif");
    std::fs::copy(&secret, &aside).expect("copies");
    let vrt = format!(
        "<VRTDataset rasterXSize=\"32\" rasterYSize=\"32\"><VRTRasterBand dataType=\"Byte\" \
            band=\"1\"><SimpleSource>\
         <SourceFilename>{}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>\
            </VRTRasterBand></VRTDataset>",
        aside.display()
    );
    let path = dataset_with(&workspace, vrt.as_bytes());
    let folder = workspace.path("folder");
    workspace
        .studio(["convert".as_ref(), path.as_os_str(), folder.as_os_str()])
        .expect_code(0);
    for path in [&path, &folder] {
        let stats = workspace
            .studio([
                "stats".as_ref(),
                path.as_os_str(),
                "--exact".as_ref(),
                "--json".as_ref(),
            ])
            .expect_code(0)
            .json();
        assert_eq!(
            (&stats["samples"], &stats["without"]),
            (&1.into(), &1.into()),
            "{stats}"
        );
        for deep in [&[][..], &["--deep"][..]] {
            let arguments = ["validate".as_ref(), path.as_os_str(), "--json".as_ref()];
            let arguments = arguments
                .into_iter()
                .chain(deep.iter().map(|text| std::ffi::OsStr::new(*text)));
            let report = workspace.studio(arguments).expect_code(0).json();
            let finding = &report["findings"][0];
            assert_eq!(
                (&finding["rule"], &finding["severity"]),
                (&"REF-1".into(), &"warning".into()),
                "{report}"
            );
            assert!(
                finding["message"]
                    .as_str()
                    .is_some_and(|text| text.contains("secret.tif")),
                "{report}"
            );
        }
        let out = workspace.path("h.tortilla");
        let _ = std::fs::remove_file(&out);
        let ran = workspace
            .studio([
                "histograms".as_ref(),
                path.as_os_str(),
                "-o".as_ref(),
                out.as_os_str(),
            ])
            .expect_code(0);
        assert!(
            ran.stderr.contains("tile_1.tif has no histogram"),
            "{}",
            ran.stderr
        );
    }
}

/// Exported pixels would come from another file.
#[test]
fn optimise_keeps_a_virtual_raster_of_a_dataset_as_it_is() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    let aside = workspace.path("secret.tif");
    std::fs::copy(workspace.path("scenes/tile_0.tif"), &aside).expect("copies");
    let text = format!(
        "<VRTDataset rasterXSize=\"32\" rasterYSize=\"32\"><VRTRasterBand dataType=\"Byte\" \
            band=\"1\"><SimpleSource><SourceFilename>{}</SourceFilename><SourceBand>1</SourceBand>\
            </SimpleSource></VRTRasterBand></VRTDataset>",
        aside.display()
    );
    let path = dataset_with(&workspace, text.as_bytes());
    let out = workspace.path("optimised.tacozip");
    workspace
        .studio([
            "optimise".as_ref(),
            path.as_os_str(),
            "-o".as_ref(),
            out.as_os_str(),
        ])
        .expect_code(0);
    let bytes = workspace.path("bytes");
    workspace.read_into(&out, "tile_1.tif", &bytes);
    assert_eq!(std::fs::read_to_string(&bytes).expect("is text"), text);
}

/// As a sample of a dataset in every container format.
#[test]
fn sidecars_in_a_folder_dataset_are_not_read() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 1);
    let folder = create(&workspace, "set", "folder");
    let exact = |path: &Path| {
        workspace
            .studio([
                "stats".as_ref(),
                path.as_os_str(),
                "--exact".as_ref(),
                "--json".as_ref(),
            ])
            .expect_code(0)
            .json()
    };
    let before = exact(&folder);
    let sidecar = "<PAMDataset><PAMRasterBand \
        band=\"1\"><NoDataValue>0</NoDataValue></PAMRasterBand></PAMDataset>";
    std::fs::write(folder.join("DATA/tile_0.tif.aux.xml"), sidecar).expect("writes");
    std::fs::write(
        folder.join("DATA/tile_0.tif.msk"),
        "<VRTDataset rasterXSize=\"32\" rasterYSize=\"32\"/>",
    )
    .expect("writes");
    assert_eq!(exact(&folder), before);
}
