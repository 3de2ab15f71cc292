//! Refuses a compression that the server does not offer: the driver would go without, and say so in its log only.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use cqldyno_driver_api::{ConnectOptions, DriverError, ErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// OPTIONS of protocol version 4 without a body (native_protocol_v4.spec sections 2 and 4.1.3).
const OPTIONS: [u8; 9] = [4, 0, 0, 0, 5, 0, 0, 0, 0];

const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Asks the first contact point, if the contender has a compression.
pub(crate) async fn check(options: &ConnectOptions) -> Result<(), DriverError> {
    let Some(asked) = options.option("compression").filter(|asked| *asked != "none") else { return Ok(()) };
    if options.tls.is_some() {
        return Err(DriverError::new(
            ErrorKind::Other,
            format_args!(
                "compression={asked} was asked for together with TLS, over which the adapter cannot ask whether the server offers it; \
                 leave one of them out"
            ),
        ));
    }
    let Some(&server) = options.contact_points.first() else { return Ok(()) };
    let answer = timeout(ANSWERS_WITHIN, supported(server)).await.unwrap_or_else(|late| Err(late.into()));
    let answer = answer.map_err(|error| DriverError::new(ErrorKind::Connect, error))?;
    match answer.windows(asked.len()).any(|window| window == asked.as_bytes()) {
        true => Ok(()),
        false => Err(DriverError::new(
            ErrorKind::Other,
            format_args!("compression={asked} was asked for, and {server} does not offer it; leave the option out"),
        )),
    }
}

/// The body of SUPPORTED: algorithms stand in it by name (section 4.2.4).
async fn supported(server: SocketAddr) -> io::Result<Vec<u8>> {
    let mut connection = TcpStream::connect(server).await?;
    connection.write_all(&OPTIONS).await?;
    let mut header = [0; 9];
    connection.read_exact(&mut header).await?;
    let [_, _, _, _, _, length @ ..] = header;
    let mut body = Vec::new();
    connection.take(u32::from_be_bytes(length).into()).read_to_end(&mut body).await?;
    Ok(body)
}
