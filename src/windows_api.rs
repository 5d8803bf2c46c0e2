//! Calls of the Windows API that the standard library has no function for. Empty on other systems.
#![cfg(windows)]

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::time::Duration;

/// `FILE_FLAG_BACKUP_SEMANTICS`: folders can be opened too.
const ALSO_FOLDERS: u32 = 0x0200_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link is opened, not its target.
const THE_LINK_ITSELF: u32 = 0x0020_0000;

/// `BY_HANDLE_FILE_INFORMATION`; times are pairs of 32-bit numbers.
#[repr(C)]
#[derive(Default)]
struct FileInformation {
    attributes: u32,
    times: [u32; 6],
    volume: u32,
    size: [u32; 2],
    links: u32,
    number: [u32; 2],
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetDiskFreeSpaceExW(
        folder: *const u16,
        available: *mut u64,
        total: *mut u64,
        free: *mut u64,
    ) -> i32;
    fn GetFileInformationByHandle(file: *mut c_void, information: *mut FileInformation) -> i32;
    fn GetConsoleProcessList(processes: *mut u32, capacity: u32) -> u32;
    fn FreeConsole() -> i32;
    fn SetConsoleCtrlHandler(handler: extern "system" fn(u32) -> i32, add: i32) -> i32;
    fn OpenProcess(access: u32, inherit: i32, process: u32) -> *mut c_void;
    fn WaitForSingleObject(handle: *mut c_void, milliseconds: u32) -> u32;
    fn CloseHandle(handle: *mut c_void) -> i32;
}

/// Bytes that this user can still write on the disk of a folder that exists.
pub fn free_bytes(folder: &Path) -> Option<u64> {
    let name: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let (mut available, mut total, mut free) = (0, 0, 0);
    // SAFETY: the name ends with a zero, and all four pointers outlive the call.
    let done = unsafe { GetDiskFreeSpaceExW(name.as_ptr(), &mut available, &mut total, &mut free) };
    (done != 0).then_some(available)
}

/// Serial number of the volume and number of the file on it, which a rename does not change.
///
/// # Errors
/// The system's error.
pub fn file_number(file: &File) -> io::Result<(u64, u64)> {
    let information = information_of(file)?;
    let [high, low] = information.number.map(u64::from);
    Ok((information.volume.into(), high << 32 | low))
}

/// Number of names (hard links) of a file.
///
/// # Errors
/// The system's error.
pub fn file_links(file: &File) -> io::Result<u64> {
    information_of(file).map(|information| information.links.into())
}

fn information_of(file: &File) -> io::Result<FileInformation> {
    let mut information = FileInformation::default();
    // SAFETY: the handle is open while `file` lives, and the structure has the layout that the
    // system fills.
    match unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut information) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(information),
    }
}

/// As [`file_number`] for a file, folder or link by its path.
///
/// # Errors
/// The system's error.
pub fn number_of(path: &Path) -> io::Result<(u64, u64)> {
    // Without access to the contents, so that a file opens that another program uses.
    file_number(
        &OpenOptions::new()
            .access_mode(0)
            .custom_flags(ALSO_FOLDERS | THE_LINK_ITSELF)
            .open(path)?,
    )
}

/// True when there is no process with this number, or it has ended and another process still holds
/// its number.
pub fn has_ended(process: u32) -> bool {
    /// `SYNCHRONIZE`: the right to wait for the end.
    const TO_WAIT: u32 = 0x0010_0000;
    /// `ERROR_INVALID_PARAMETER`.
    const NO_SUCH_PROCESS: i32 = 87;
    // SAFETY: no pointers are passed; a handle that is not null is closed once, after its last use.
    unsafe {
        let handle = OpenProcess(TO_WAIT, 0, process);
        if handle.is_null() {
            return io::Error::last_os_error().raw_os_error() == Some(NO_SUCH_PROCESS);
        }
        // `WAIT_OBJECT_0`: it has ended.
        let ended = WaitForSingleObject(handle, 0) == 0;
        CloseHandle(handle);
        ended
    }
}

/// Closes the console that Windows opened for this program alone, when it was started from the
/// desktop. A console that was there before stays.
pub fn leave_own_console() {
    let mut processes = [0; 2];
    // SAFETY: the array has the capacity that is given.
    if unsafe { GetConsoleProcessList(processes.as_mut_ptr(), 2) } == 1 {
        // SAFETY: has no arguments; later output is discarded, which the standard library takes for
        // success.
        unsafe { FreeConsole() };
    }
}

/// Calls `S::stop`, on a thread of its own, when Ctrl-C or Ctrl-Break is pressed in the console,
/// and when the console is closed or the user logs off: then Windows ends the process as soon as
/// it can, in five seconds at most.
///
/// # Errors
/// The system's error.
pub fn on_console_stop<S: ConsoleStop>() -> io::Result<()> {
    extern "system" fn handle<S: ConsoleStop>(event: u32) -> i32 {
        /// `CTRL_BREAK_EVENT`; `CTRL_C_EVENT` is 0, and all others end the process when this
        /// function returns.
        const BREAK: u32 = 1;
        S::stop();
        if event > BREAK {
            std::thread::sleep(Duration::from_secs(5));
        }
        1
    }
    // SAFETY: the handler is a function of this program, which stays while the process runs, and
    // calls nothing that unwinds.
    match unsafe { SetConsoleCtrlHandler(handle::<S>, 1) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What [`on_console_stop`] calls.
pub trait ConsoleStop {
    fn stop();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_number_when_it_is_renamed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        std::fs::write(&one, "1").expect("writes");
        std::fs::write(&other, "2").expect("writes");
        let number = number_of(&one).expect("has a number");
        assert_ne!(number, number_of(&other).expect("has a number"));
        assert_eq!(
            number,
            file_number(&File::open(&one).expect("opens")).expect("has a number")
        );
        std::fs::rename(&one, folder.path().join("later")).expect("renames");
        assert_eq!(
            number,
            number_of(&folder.path().join("later")).expect("has a number")
        );
        assert!(number_of(folder.path()).is_ok() && number_of(&one).is_err());
    }

    #[test]
    fn the_disk_of_a_folder_has_free_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(free_bytes(folder.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(&folder.path().join("absent")), None);
    }
}
