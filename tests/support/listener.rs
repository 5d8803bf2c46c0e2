//! A listener on 127.0.0.1 with a thread for each connection.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The running listener; stopped on drop.
pub struct Listener {
    port: u16,
    ends: Arc<AtomicBool>,
}

impl Listener {
    /// Calls `serve` for each connection, in a thread of its own.
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (serve, ends) = (Arc::new(serve), Arc::new(AtomicBool::new(false)));
        let stops = ends.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stops.load(Ordering::Relaxed) {
                    return;
                }
                let serve = serve.clone();
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { port, ends }
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
