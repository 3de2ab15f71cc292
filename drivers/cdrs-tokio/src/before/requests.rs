//! The requests and settings of `cdrs` 4 and its first successor, `cdrs-tokio` 5.

use std::sync::OnceLock;

use cqldyno_driver_api::{ConnectOptions, DriverError, ErrorKind, Setting, Settings, Value as Given};
use driver::consistency::Consistency;
use driver::query::{QueryParams, QueryParamsBuilder};
use driver::types::CBytes;

use crate::errors;
use crate::names::{Answer, page};
use crate::values::{self, Kind};

/// The settings, with those of `own` that the driver has by itself.
pub(crate) fn settings<const N: usize>(options: &ConnectOptions, own: [Setting; N]) -> Vec<Setting> {
    let no_limit = "none: the driver has no time limit per statement";
    let routing = "round robin over the addresses given";
    let mut all = match options.settings {
        Settings::Equal => vec![Setting::refused("routing", routing)],
        Settings::Default => vec![
            Setting::taken("consistency", "ONE"),
            Setting::taken("routing", routing),
            Setting::taken("page size", "none: a result comes in one page"),
            Setting::taken("request timeout", no_limit),
        ],
    };
    match options.settings {
        Settings::Default => all.extend(own),
        Settings::Equal => all.extend(options.request_timeout.map(|_| Setting::refused("request timeout", no_limit))),
    }
    Setting::equal(options, all)
}

/// How many connections per node are asked for.
pub(crate) fn connections(options: &ConnectOptions) -> Result<u32, DriverError> {
    u32::try_from(options.connections).ok().filter(|connections| *connections > 0).ok_or_else(|| {
        DriverError::new(
            ErrorKind::Other,
            format!("{} connections per node were asked for; ask for at least 1", options.connections),
        )
    })
}

/// What requests have in common.
#[derive(Clone, Copy)]
pub(crate) struct Requests {
    pub(crate) consistency: Consistency,
    /// Rows per page, or `None` for the driver's own default.
    pub(crate) page_size: Option<i32>,
}

impl Requests {
    pub(crate) fn new(options: &ConnectOptions) -> Requests {
        let (consistency, page_size) = values::consistency_and_page_size(options);
        Requests { consistency, page_size }
    }

    /// The parameters of one of them.
    pub(crate) fn parameters(
        &self,
        values: &[Given<'_>],
        page_size: Option<i32>,
        paging_state: Option<CBytes>,
    ) -> QueryParams {
        let mut parameters = QueryParamsBuilder::new().consistency(self.consistency);
        if let Some(values) = values::bind(values) {
            parameters = parameters.values(values);
        }
        if let Some(page_size) = page_size {
            parameters = parameters.page_size(page_size);
        }
        if let Some(paging_state) = paging_state {
            parameters = parameters.paging_state(paging_state);
        }
        parameters.finalize()
    }
}

/// The types of a statement's columns from its first answer, none if that was not of kind Rows: the driver keeps nothing of PREPARED
/// but the id.
#[derive(Default)]
pub(crate) struct Columns(OnceLock<Vec<Kind>>);

impl Columns {
    /// Whether answers have rows; assumed until the first one.
    pub(crate) fn may_be_there(&self) -> bool {
        self.0.get().is_none_or(|columns| !columns.is_empty())
    }

    /// Those of such answers.
    pub(crate) fn of(&self, answer: &Answer) -> Result<&[Kind], DriverError> {
        if let Some(columns) = self.0.get() {
            return Ok(columns);
        }
        let columns = match page(answer).map_err(errors::codec)? {
            Some(page) => page.metadata.col_specs.iter().map(Kind::of).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        Ok(self.0.get_or_init(|| columns))
    }
}
