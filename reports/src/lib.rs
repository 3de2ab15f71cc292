//! What is shown: the result model and one exporter a format.
