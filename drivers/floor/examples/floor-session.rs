//! The session of which the requests are recorded: `harness/cluster/recorded/README.md` says how. The last argument is the server.

use cqldyno_driver_floor::Floor;
use cqldyno_driver_tests::Failure;
use cqldyno_driver_tests::session::{address_of_arguments, session};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    session::<Floor>(address_of_arguments()?).await
}
