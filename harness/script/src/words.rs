//! The words of a step.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        $(#[$meta])*
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// Each with its word.
            pub const WORDS: [(&str, $name); [$($word),*].len()] = [$(($word, $name::$variant)),*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(match self {
                    $($name::$variant => $word,)*
                })
            }
        }
    };
}

words! {
    /// What a step does.
    #[derive(Default)]
    Action {
        /// Closes data connections, which asked for no events, or the control connections.
        #[default]
        Close = "close",
        /// Shuts the write side of such connections down. The node reads on, and drops what it reads.
        HalfClose = "half-close",
        /// Closes new connections at once.
        Refuse = "refuse",
        /// Keeps answers until its end, and sends them then.
        Hold = "hold",
        /// Sends answers late.
        Delay = "delay",
        /// Executes requests, and never sends their answers.
        Drop = "drop",
        /// Forgets prepared statements: their EXECUTEs get the error UNPREPARED until they are prepared again.
        Forget = "forget",
        /// Sends an event to the connections that asked for its type.
        Event = "event",
        /// Closes a node's listener and all of its connections.
        Stop = "stop",
        /// Lets a stopped node listen again.
        Start = "start",
        /// Answers requests with an error, and does not execute them.
        Error = "error",
    }
}

words! {
    /// A kind of request.
    #[cfg_attr(feature = "schema", schemars(rename = "RequestKind"))]
    Kind {
        /// QUERY.
        Query = "query",
        /// PREPARE.
        Prepare = "prepare",
        /// EXECUTE.
        Execute = "execute",
        /// BATCH.
        Batch = "batch",
        /// OPTIONS.
        Options = "options",
        /// STARTUP.
        Startup = "startup",
        /// REGISTER.
        Register = "register",
    }
}

impl Kind {
    /// Whether such a request is a statement that is executed.
    pub fn is_statement(self) -> bool {
        matches!(self, Kind::Query | Kind::Execute | Kind::Batch)
    }
}

words! {
    /// An error of the protocol (native_protocol_v4.spec section 9) as an answer.
    Answer {
        /// 0x0000.
        ServerError = "server_error",
        /// 0x1000.
        Unavailable = "unavailable",
        /// 0x1001.
        Overloaded = "overloaded",
        /// 0x1002.
        Bootstrapping = "bootstrapping",
        /// 0x1100.
        WriteTimeout = "write_timeout",
        /// 0x1200.
        ReadTimeout = "read_timeout",
        /// 0x2100.
        Unauthorized = "unauthorized",
        /// 0x2200.
        Invalid = "invalid",
    }
}

words! {
    /// An event of the protocol (native_protocol_v4.spec section 4.2.6).
    Event {
        /// SCHEMA_CHANGE: a keyspace was updated.
        Schema = "schema",
        /// STATUS_CHANGE: a node is up.
        Up = "up",
        /// STATUS_CHANGE: a node is down.
        Down = "down",
        /// TOPOLOGY_CHANGE: a node is new.
        NewNode = "new_node",
        /// TOPOLOGY_CHANGE: a node is gone.
        RemovedNode = "removed_node",
    }
}
