//! The command line, through the real executables.

#[cfg(test)]
mod bisect;
#[cfg(test)]
mod builds;
#[cfg(test)]
mod cassandra;
#[cfg(test)]
mod check;
#[cfg(test)]
mod ci;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod conform;
#[cfg(test)]
mod durable;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod features;
#[cfg(test)]
mod gocql;
#[cfg(test)]
mod history;
#[cfg(test)]
mod install;
#[cfg(test)]
mod keyspaces;
#[cfg(test)]
mod ladder;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod listings;
#[cfg(test)]
mod loaders;
#[cfg(test)]
mod nodes;
#[cfg(test)]
mod own;
#[cfg(test)]
mod pr;
#[cfg(test)]
mod readings;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod regress;
#[cfg(test)]
mod report;
#[cfg(test)]
mod resume;
#[cfg(test)]
mod rooms;
#[cfg(test)]
mod rounds;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod script;
#[cfg(test)]
mod secure;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tape;
#[cfg(test)]
mod tapefile;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod within;
