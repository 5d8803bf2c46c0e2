//! HDF5 files that refer to other files, in the three ways that the format has, written with the
//! HDF5 library.

use std::ffi::{CString, c_char, c_int, c_void};

use super::*;
use crate::raster::hdf5_lock;

type Id = i64;

unsafe extern "C" {
    static H5T_STD_U8LE_g: Id;
    static H5P_CLS_DATASET_CREATE_ID_g: Id;
    fn H5open() -> c_int;
    fn H5Fcreate(name: *const c_char, flags: u32, creation: Id, access: Id) -> Id;
    fn H5Fclose(file: Id) -> c_int;
    fn H5Tenum_create(base: Id) -> Id;
    fn H5Tenum_insert(kind: Id, name: *const c_char, value: *const c_void) -> c_int;
    fn H5Screate_simple(rank: c_int, sizes: *const u64, most: *const u64) -> Id;
    fn H5Pcreate(class: Id) -> Id;
    fn H5Pset_external(list: Id, name: *const c_char, offset: i64, size: u64) -> c_int;
    fn H5Pset_virtual(
        list: Id,
        space: Id,
        file: *const c_char,
        dataset: *const c_char,
        from: Id,
    ) -> c_int;
    fn H5Pset_chunk(list: Id, rank: c_int, sizes: *const u64) -> c_int;
    fn H5Dcreate2(
        place: Id,
        name: *const c_char,
        kind: Id,
        space: Id,
        links: Id,
        creation: Id,
        access: Id,
    ) -> Id;
    fn H5Dwrite(
        dataset: Id,
        kind: Id,
        memory: Id,
        file: Id,
        list: Id,
        data: *const c_void,
    ) -> c_int;
    fn H5Dclose(dataset: Id) -> c_int;
    fn H5Lcreate_external(
        file: *const c_char,
        object: *const c_char,
        place: Id,
        name: *const c_char,
        c: Id,
        a: Id,
    ) -> c_int;
}

const SIDE: u64 = 16;

/// Storage of the dataset `data`.
enum Kept<'a> {
    Inside(u8),
    External(&'a Path),
    Virtual(&'a Path),
    Linked(&'a Path),
    /// No chunk written, this many rows and columns.
    Claimed(u64),
    /// One chunk over this many layers of 512 × 512 bytes.
    Thick(u64),
    /// Four dimensions, not written.
    Cube,
    /// Booleans, not written.
    Booleans,
}

fn text(path: &Path) -> CString {
    CString::new(path.display().to_string()).expect("a path")
}

fn hdf5(path: &Path, kept: &Kept) {
    let _turn = hdf5_lock::turn();
    let (name, dataset) = (text(path), c"data".as_ptr());
    // Safety: the library is used by one thread, ids are checked by the reading that follows, texts
    // and lists live during the calls.
    unsafe {
        assert!(H5open() >= 0);
        let file = H5Fcreate(name.as_ptr(), 2, 0, 0);
        assert!(file >= 0);
        let side = if let Kept::Claimed(side) = kept {
            *side
        } else {
            SIDE
        };
        let sizes = match kept {
            Kept::Thick(layers) => vec![*layers, 512, 512],
            Kept::Cube => vec![2, 3, side, side],
            _ => vec![side, side],
        };
        let space = H5Screate_simple(sizes.len() as c_int, sizes.as_ptr(), std::ptr::null());
        let list = H5Pcreate(H5P_CLS_DATASET_CREATE_ID_g);
        match kept {
            Kept::External(other) => {
                assert!(H5Pset_external(list, text(other).as_ptr(), 0, SIDE * SIDE) >= 0)
            }
            Kept::Virtual(other) => {
                assert!(H5Pset_virtual(list, space, text(other).as_ptr(), dataset, space) >= 0)
            }
            Kept::Claimed(_) => assert!(H5Pset_chunk(list, 2, [256, 256].as_ptr()) >= 0),
            Kept::Thick(_) => assert!(H5Pset_chunk(list, 3, sizes.as_ptr()) >= 0),
            Kept::Inside(_) | Kept::Linked(_) | Kept::Cube | Kept::Booleans => {}
        }
        let mut kind = H5T_STD_U8LE_g;
        if let Kept::Booleans = kept {
            kind = H5Tenum_create(H5T_STD_U8LE_g);
            for (name, value) in [(c"FALSE", 0_u8), (c"TRUE", 1)] {
                assert!(H5Tenum_insert(kind, name.as_ptr(), (&raw const value).cast()) >= 0);
            }
        }
        if let Kept::Linked(other) = kept {
            assert!(
                H5Lcreate_external(text(other).as_ptr(), c"/data".as_ptr(), file, dataset, 0, 0)
                    >= 0
            );
        } else {
            let made = H5Dcreate2(file, dataset, kind, space, 0, list, 0);
            assert!(made >= 0);
            if let Kept::Inside(value) = kept {
                let pixels = vec![*value; (SIDE * SIDE) as usize];
                assert!(H5Dwrite(made, H5T_STD_U8LE_g, 0, 0, 0, pixels.as_ptr().cast()) >= 0);
            }
            H5Dclose(made);
        }
        H5Fclose(file);
    }
}

fn first(source: &RasterSource) -> crate::error::Result<f64> {
    let request = ReadRequest {
        window: Window {
            x: 0,
            y: 0,
            width: 1,
            height: 1,
        },
        out: (1, 1),
        bands: vec![BandIndex::FIRST],
        resampling: Resampling::Nearest,
    };
    Ok(read_window(source, &request, &ctx())?.bands[0]
        .samples
        .get(0))
}

#[test]
fn an_hdf5_member_that_names_other_files_is_refused() {
    let folder = folder();
    let (raw, other) = (
        folder.path().join("secret.bin"),
        folder.path().join("secret.h5"),
    );
    std::fs::write(&raw, vec![200; (SIDE * SIDE) as usize]).expect("writes");
    hdf5(&other, &Kept::Inside(200));
    let cases = [
        ("inside.h5", Kept::Inside(7), Some(7.0), None),
        (
            "external.h5",
            Kept::External(&raw),
            Some(200.0),
            Some("data in another file"),
        ),
        (
            "virtual.h5",
            Kept::Virtual(&other),
            Some(200.0),
            Some("put together"),
        ),
        ("linked.h5", Kept::Linked(&other), None, Some("a link")),
    ];
    for (name, kept, own_value, refused) in cases {
        let path = folder.path().join(name);
        hdf5(&path, &kept);
        if let Some(value) = own_value {
            assert_eq!(
                first(&own(&path)).expect("the person's own file is read"),
                value,
                "{name}"
            );
        }
        let bytes = std::fs::read(&path).expect("reads");
        let container = path.with_extension("container");
        std::fs::write(&container, [vec![7; 99], bytes.clone()].concat()).expect("writes");
        let range = AssetPath::range(container.as_path(), 99, bytes.len() as u64);
        for member in [
            RasterSource::member(AssetPath::file(&path)),
            RasterSource::member(range),
        ] {
            match refused {
                None => assert_eq!(first(&member).expect("reads its own bytes"), 7.0, "{name}"),
                Some(why) => {
                    let told = describe(&member).expect_err("is refused");
                    assert!(told.to_string().contains(why), "{name}: {told}");
                    assert!(
                        first(&member).is_err() && tally(&member, &ctx()).is_err(),
                        "{name}"
                    );
                }
            }
        }
    }
}

/// A VRT that the user named opens HDF5 files through the same library.
#[test]
fn a_wrapper_round_an_hdf5_file_waits_for_its_turn() {
    let folder = folder();
    let path = folder.path().join("a.h5");
    hdf5(&path, &Kept::Inside(7));
    let wrapper = folder.path().join("wrapper.vrt");
    let text = format!(
        "<VRTDataset rasterXSize=\"16\" rasterYSize=\"16\"><VRTRasterBand dataType=\"Byte\" \
            band=\"1\"><SimpleSource>\
         <SourceFilename>{}</SourceFilename><SourceBand>1</SourceBand></SimpleSource>\
            </VRTRasterBand></VRTDataset>",
        path.display()
    );
    std::fs::write(&wrapper, text).expect("writes");
    let renamed = folder.path().join("renamed.tif");
    std::fs::copy(&wrapper, &renamed).expect("copies");
    for asset in [
        AssetPath::file(&wrapper),
        AssetPath::file(&renamed),
        AssetPath::file(format!("vrt://{}", path.display())),
        AssetPath::file(format!("HDF5:\"{}\"://data", path.display())),
        AssetPath::Vsi(format!("/vsisubfile/0_0,{}", path.display()).into()),
    ] {
        assert!(
            hdf5_lock::turn_for(&RasterSource::from_user_path(asset.clone())).is_some(),
            "{asset}"
        );
    }
    let plain = written(folder.path(), "plain.tif", &scene(8, 8));
    assert!(
        hdf5_lock::turn_for(&own(&plain)).is_none(),
        "a plain GeoTIFF waits for nobody"
    );
    std::fs::copy(&wrapper, folder.path().join("plain.tif.ovr")).expect("copies");
    assert!(
        hdf5_lock::turn_for(&own(&plain)).is_some(),
        "its overviews may be anything"
    );
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (wrapper, path) = (&wrapper, &path);
            scope.spawn(move || {
                for round in 0..8 {
                    let one = if (thread + round) % 2 == 0 {
                        own(wrapper)
                    } else {
                        RasterSource::member(AssetPath::file(path))
                    };
                    assert_eq!(first(&one).expect("reads"), 7.0);
                }
            });
        }
    });
}

#[test]
fn an_hdf5_file_that_claims_a_huge_dataset_is_not_counted_through() {
    let folder = folder();
    let path = folder.path().join("claimed.h5");
    hdf5(&path, &Kept::Claimed(1_000_000_000));
    let member = RasterSource::member(AssetPath::file(&path));
    assert_eq!(describe(&member).expect("describes").width, 1_000_000_000);
    let told = tally(&member, &ctx()).err().expect("is refused");
    assert!(told.to_string().contains("the header claims"), "{told}");
    assert!(preview(&PreviewRequest::new(member, (512, 512)), &ctx()).is_err());
}

/// The library decodes a chunk whole; the block that a driver reports has two of its dimensions.
#[test]
fn a_chunk_over_many_layers_that_does_not_fit_in_memory_is_refused() {
    let folder = folder();
    for (layers, fits) in [(64, true), (4096, false)] {
        let path = folder.path().join(format!("thick{layers}.h5"));
        hdf5(&path, &Kept::Thick(layers));
        let read = first(&RasterSource::member(AssetPath::file(&path)));
        if fits {
            assert_eq!(read.expect("is read"), 0.0)
        } else {
            assert!(
                read.expect_err("is refused")
                    .to_string()
                    .contains("takes 1024 MiB")
            )
        }
    }
}

/// The HDF5 driver reads arrays of two and three dimensions; the netCDF driver those of more.
#[test]
fn arrays_of_four_dimensions_are_read_and_booleans_are_named() {
    let folder = folder();
    let (cube, booleans) = (folder.path().join("cube.h5"), folder.path().join("mask.h5"));
    hdf5(&cube, &Kept::Cube);
    hdf5(&booleans, &Kept::Booleans);
    let sources = |path: &Path| [own(path), RasterSource::member(AssetPath::file(path))];
    for source in sources(&cube) {
        let info = describe(&source).expect("describes");
        assert_eq!(
            (info.width, info.height, info.band_count),
            (16, 16, 6),
            "{info:?}"
        );
        assert_eq!(first(&source).expect("reads"), 0.0);
    }
    for source in sources(&booleans) {
        let error = first(&source).expect_err("has no pixels").report();
        assert!(error.contains("8-bit integers"), "{error}");
    }
}
