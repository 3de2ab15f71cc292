//! The plan, the supervision of workers and the files of a run.
