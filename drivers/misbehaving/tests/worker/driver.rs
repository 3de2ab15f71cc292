//! The driver: floor with other words.

use std::sync::{Arc, Mutex, PoisonError};

use cqldyno_driver_api::{ConnectOptions, Driver, DriverError, DriverInfo, Setting};
use cqldyno_driver_floor::{Floor, FloorSession};

use crate::how::{How, OPTION, OPTIONS};
use crate::lies;
use crate::session::MisbehavingSession;

/// The driver that misbehaves.
#[derive(Default)]
pub struct Misbehaving {
    floor: Floor,
    /// The session of a driver that has only one.
    kept: Mutex<Option<Arc<FloorSession>>>,
    /// The sessions of a driver that leaves their connections open.
    open: Mutex<Vec<Arc<FloorSession>>>,
}

impl Driver for Misbehaving {
    type Session = MisbehavingSession;

    fn describe(&self) -> Result<DriverInfo, DriverError> {
        Ok(DriverInfo {
            name: "misbehaving".to_owned(),
            caveats: Vec::new(),
            options: Some(OPTIONS.to_vec()),
            ..self.floor.describe()?
        })
    }

    fn settings(&self, options: &ConnectOptions) -> Vec<Setting> {
        self.floor.settings(options)
    }

    async fn connect(&self, options: &ConnectOptions) -> Result<MisbehavingSession, DriverError> {
        let how = How::of(options)?;
        lies::begin(how);
        let mut options = options.clone();
        options.options.remove(OPTION);
        if how == How::OpensMoreConnections {
            options.connections += 1;
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let floor = match kept.filter(|_| how == How::ReusesItsSession) {
            Some(floor) => floor,
            None => Arc::new(self.floor.connect(&options).await?),
        };
        if how == How::ReusesItsSession {
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&floor));
        }
        if how == How::LeavesConnectionsOpen {
            self.open.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&floor));
        }
        let mut by_node = Vec::new();
        for node in options.contact_points.iter().filter(|_| how == How::RoutesByTextbook) {
            by_node.push(self.floor.connect(&ConnectOptions { contact_points: vec![*node], ..options.clone() }).await?);
        }
        MisbehavingSession::new(how, floor, by_node).await
    }
}
