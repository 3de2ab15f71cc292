//! What a run keeps: its folder, its plan as `run.json` holds it, and both read back.

pub(crate) mod folder;
pub(crate) mod plan;
pub(crate) mod resume;
