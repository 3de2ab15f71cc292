//! Playing a script on a running node: when steps fire, and what they change.

use std::sync::Arc;

use cqldyno_script::{Action, Event as What, Played};
use tokio::time::sleep_until;

use crate::node::script::{Effect, Event, Fired, Notice, Play};
use crate::node::state::NodeState;
use crate::schema::{ChangeType, SchemaChange, is_of_the_system};

/// Starts the script, and ends one that is played. Needs a runtime, in which steps that have a time wait for it.
pub(crate) fn begin(state: &Arc<NodeState>) {
    end(state);
    let play = state.script.begin();
    let timed = play.timed();
    if timed.is_empty() {
        return;
    }
    let waiting = {
        let (state, play) = (state.clone(), play.clone());
        async move {
            for (time, at) in timed {
                sleep_until(play.began + time).await;
                fire(&state, play.fired(at));
            }
        }
    };
    // It was not set before: the play is new.
    let _ = play.timer.set(tokio::spawn(waiting).abort_handle());
}

/// Ends the script: the node is as new, and each step tells what it did.
pub(crate) fn end(state: &NodeState) -> Vec<Played> {
    let (played, forgotten) = state.script.end();
    state.remember(forgotten);
    played
}

/// Counts a statement, and fires the steps that are due with it. Returns whether there are any.
pub(crate) fn count(state: &NodeState, play: &Arc<Play>) -> bool {
    let due = play.count();
    let fires = !due.is_empty();
    due.into_iter().for_each(|fired| fire(state, fired));
    fires
}

fn fire(state: &NodeState, fired: Fired) {
    let Some(_going_on) = fired.goes_on() else { return };
    let effect = match fired.step().action {
        Action::Close | Action::HalfClose => Effect::Close(Arc::new(fired.closing())),
        Action::Stop => Effect::Stop(fired.clone()),
        Action::Start => Effect::Start(fired.clone()),
        Action::Refuse | Action::Hold | Action::Delay | Action::Drop | Action::Error => return fired.begin(),
        Action::Forget => return state.forget(&fired),
        Action::Event => return tell(state, &fired),
    };
    // It is no error if nobody listens.
    let _ = state.script.effects.send(effect);
}

fn tell(state: &NodeState, fired: &Fired) {
    let Some(what) = fired.step().event else { return };
    let node = fired.node().and_then(|node| state.nodes.get(node));
    let address = node.map(|node| (node.address, node.port).into());
    let of_node = |kind, change| address.map(|address| Notice::Node(kind, change, address));
    let notice = match what {
        What::Schema => Some(Notice::Schema(updated_keyspace(state))),
        What::Up => of_node("STATUS_CHANGE", "UP"),
        What::Down => of_node("STATUS_CHANGE", "DOWN"),
        What::NewNode => of_node("TOPOLOGY_CHANGE", "NEW_NODE"),
        What::RemovedNode => of_node("TOPOLOGY_CHANGE", "REMOVED_NODE"),
    };
    let times = fired.step().times.unwrap_or(1);
    if let Some(notice) = notice {
        // It is no error if nobody listens.
        let _ = state.events.send(Arc::new(Event { notice, times, by: Some(fired.clone()) }));
    }
}

/// The first keyspace of a client, or of the system if there is none.
fn updated_keyspace(state: &NodeState) -> SchemaChange {
    let catalog = state.database.catalog();
    let names = catalog.keyspaces().map(|keyspace| &*keyspace.name);
    let keyspace = names.filter(|name| !is_of_the_system(name)).min().unwrap_or("system");
    SchemaChange::new(ChangeType::Updated, &keyspace.into())
}

#[cfg(test)]
mod tests {
    use cqldyno_script::Step;

    use super::*;
    use crate::node::state::NodeOptions;
    use crate::storage::database::Database;
    use crate::system;

    #[test]
    fn a_step_that_is_due_when_the_script_has_ended_does_nothing() {
        let state = NodeState::new(Arc::new(Database::new(system::catalog(), 0)), NodeOptions::default());
        state.script.set(vec![Step { every: Some(1), ..Step::new(Action::Close) }]);
        let play = state.script.begin();
        let mut effects = state.script.effects.subscribe();
        assert!(count(&state, &play));
        assert!(matches!(effects.try_recv(), Ok(Effect::Close(_))));
        end(&state);
        assert!(matches!(effects.try_recv(), Ok(Effect::End)));
        count(&state, &play);
        assert!(effects.try_recv().is_err());
    }
}
