//! The committed files that follow from the types and from the load generator.

#[cfg(test)]
mod schema;
#[cfg(test)]
mod vectors;
