//! Interception of this process's system calls: a seccomp filter turns each call of a list into a
//! signal, whose handler decides what becomes of the call and makes it. It meets the calls of every
//! library and thread, so the product needs no test hooks.
//!
//! The handler runs between any two instructions of a thread: it allocates nothing, locks nothing,
//! and makes its own calls from the one instruction that the filter lets through.

use std::arch::global_asm;
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};

global_asm!(
    ".globl taco_simulation_call",
    ".globl taco_simulation_returned",
    "taco_simulation_call:",
    "mov rax, rdi",
    "mov r11, rsi",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    "syscall",
    "taco_simulation_returned:",
    "ret",
);

unsafe extern "C" {
    fn taco_simulation_call(number: i64, arguments: *const [u64; 6]) -> i64;
    fn taco_simulation_returned();
}

/// A system call: its number and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub number: i64,
    pub arguments: [u64; 6],
}

impl Call {
    pub fn new(number: i64, arguments: &[u64]) -> Self {
        let mut all = [0; 6];
        all[..arguments.len()].copy_from_slice(arguments);
        Self {
            number,
            arguments: all,
        }
    }

    /// Makes the call; returns its result, or the negative number of its error.
    pub fn make(&self) -> i64 {
        // SAFETY: The function does what the call does; pointers among its arguments come from the
        // code that wanted the call.
        unsafe { taco_simulation_call(self.number, &self.arguments) }
    }
}

/// Makes a call or refuses it; returns its result, or the negative number of an error.
pub type Decide = fn(Call) -> i64;

static DECIDE: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn on_call(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: The kernel passes the registers of the thread that it stopped.
    let registers: &mut [i64; 23] =
        unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let arguments = [
        libc::REG_RDI,
        libc::REG_RSI,
        libc::REG_RDX,
        libc::REG_R10,
        libc::REG_R8,
        libc::REG_R9,
    ];
    let arguments = arguments.map(|name| registers[name as usize] as u64);
    let call = Call {
        number: registers[libc::REG_RAX as usize],
        arguments,
    };
    let decide = DECIDE.load(Ordering::Acquire);
    let result = if decide.is_null() {
        call.make()
    } else {
        // SAFETY: Only `intercept` stores here, a function of this type.
        let decide = unsafe { std::mem::transmute::<*mut (), Decide>(decide) };
        decide(call)
    };
    registers[libc::REG_RAX as usize] = result;
}

/// The filter: calls of `numbers` become a signal unless they come from [`Call::make`].
fn filter(numbers: &[i64]) -> Vec<libc::sock_filter> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    const X86_64: u32 = 0xC000_003E;
    let step = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    let from = taco_simulation_returned as *const () as usize as u64;
    let allow = step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0);
    let mut steps = vec![
        step(LOAD, 4, 0, 0),
        step(EQUAL, X86_64, 1, 0),
        allow,
        step(LOAD, 0, 0, 0),
    ];
    for (at, number) in numbers.iter().enumerate() {
        // To the first step behind the list and its `allow`.
        steps.push(step(EQUAL, *number as u32, (numbers.len() - at) as u8, 0));
    }
    steps.push(allow);
    steps.extend([
        step(LOAD, 8, 0, 0),
        step(EQUAL, from as u32, 0, 3),
        step(LOAD, 12, 0, 0),
        step(EQUAL, (from >> 32) as u32, 0, 1),
        allow,
    ]);
    steps.push(step(RETURN, libc::SECCOMP_RET_TRAP, 0, 0));
    steps
}

/// Passes calls of `numbers` to `decide` from now on, in this thread and those that it starts.
/// There is no way back: call it in a process that ends soon.
///
/// # Errors
/// When the system takes no filter.
pub fn intercept(numbers: &[i64], decide: Decide) -> io::Result<()> {
    DECIDE.store(decide as *mut (), Ordering::Release);
    let steps = filter(numbers);
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_ptr().cast_mut(),
    };
    let checked = |result: libc::c_int| {
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: The structures are complete and live until the calls return; the handler is safe in a
    // signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_call as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_RESTART;
        checked(libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()))?;
        checked(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        let way = libc::SECCOMP_SET_MODE_FILTER;
        checked(libc::syscall(libc::SYS_seccomp, way, 0, &program) as libc::c_int)
    }
}
