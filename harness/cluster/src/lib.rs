//! What answers: the embedded nodes.
