//! What judges a cell: whether its figures count, and in which form results hold them.

pub(crate) mod agreement;
pub(crate) mod due;
pub(crate) mod latency;
pub(crate) mod noise;
pub(crate) mod readings;
pub(crate) mod redaction;
