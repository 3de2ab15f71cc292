//! What the parts of cqldyno cost, by criterion: `cargo bench -p cqldyno-criterion --bench NAME`. The benches are under
//! `benches/`; there is nothing here.
