//! A server's own data in an answer: ids, times, and the host's and the system's rows.

use serde_json::Value;

/// Columns of system tables with values of the host or the moment.
const OWN_COLUMNS: [&str; 13] = [
    "bootstrapped",
    "broadcast_port",
    "cluster_name",
    "gossip_generation",
    "host_id",
    "id",
    "listen_port",
    "release_version",
    "rpc_port",
    "schema_version",
    "tokens",
    "truncated_at",
    "native_port",
];

/// Replaces each server's own data with its name in parentheses: prepared ids, paging states, and the host's columns in system
/// tables. Rows of system tables on other keyspaces than `keyspace` are left out: Cassandra has more of them.
pub fn mask(mut answer: Value, keyspace: &str) -> Value {
    if let Some(body) = answer.get_mut("body") {
        mask_error(body);
        leave_excerpt_out(body);
        replace(body.get_mut("id"), "id");
        replace(body.pointer_mut("/metadata/paging_state"), "paging state");
        mask_rows(body, keyspace);
    }
    answer
}

fn replace(value: Option<&mut Value>, by: &str) {
    if let Some(value) = value {
        *value = format!("({by})").into();
    }
}

/// The text of an error has the id, too.
fn mask_error(body: &mut Value) {
    let id = body.get("id").and_then(Value::as_str).and_then(|id| id.strip_prefix("0x")).map(str::to_owned);
    if let (Some(id), Some(Value::String(message))) = (id, body.get_mut("message")) {
        *message = message.replace(&id, "(id)");
    }
}

/// Cassandra ends many syntax errors with a piece of the statement, `(SELECT * [FORM]...)`.
fn leave_excerpt_out(body: &mut Value) {
    let is_syntax_error = body.get("code").is_some_and(|code| code == "0x2000");
    if let (true, Some(Value::String(message))) = (is_syntax_error, body.get_mut("message"))
        && let Some((before, excerpt)) = message.split_once(" (")
        && excerpt.contains('[')
        && excerpt.ends_with(')')
    {
        *message = before.to_owned();
    }
}

fn mask_rows(body: &mut Value, keyspace: &str) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !body.pointer("/metadata/table").is_some_and(|table| text(table).starts_with("system")) {
        return;
    }
    let columns: Vec<String> =
        body.pointer("/metadata/columns").and_then(Value::as_array).into_iter().flatten().map(text).collect();
    let names: Vec<&str> = columns.iter().filter_map(|column| column.split(' ').next()).collect();
    let Some(rows) = body.get_mut("rows").and_then(Value::as_array_mut) else { return };
    if let Some(at) = names.iter().position(|name| *name == "keyspace_name") {
        rows.retain(|row| row.get(at).and_then(Value::as_str) == Some(keyspace));
    }
    for row in rows {
        for (at, name) in names.iter().enumerate().filter(|(_, name)| OWN_COLUMNS.contains(name)) {
            replace(row.get_mut(at), name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_the_hosts_own_is_replaced_by_its_name() {
        let local = json!({ "body": {
            "metadata": { "table": "system.local", "columns": ["host_id uuid", "rack text", "tokens set<text>"] },
            "rows": [["5f3e", "rack1", null]],
        } });
        assert_eq!(mask(local, "ks")["body"]["rows"], json!([["(host_id)", "rack1", "(tokens)"]]));
        let schema = json!({ "body": {
            "metadata": { "table": "system_schema.tables", "columns": ["keyspace_name text"], "paging_state": "0x01" },
            "rows": [["system"], ["ks"]],
        } });
        let masked = mask(schema, "ks");
        assert_eq!(masked["body"]["rows"], json!([["ks"]]));
        assert_eq!(masked["body"]["metadata"]["paging_state"], "(paging state)");
        let unprepared = json!({ "body": { "code": "0x2500", "message": "ID ab01 not found", "id": "0xab01" } });
        assert_eq!(
            mask(unprepared, "ks")["body"],
            json!({ "code": "0x2500", "message": "ID (id) not found", "id": "(id)" })
        );
    }

    #[test]
    fn rows_of_other_tables_stay_as_they_are() {
        let rows = json!({ "body": {
            "metadata": { "table": "ks.t", "columns": ["id int", "keyspace_name text"] }, "rows": [[1, "other"]],
        } });
        assert_eq!(mask(rows.clone(), "ks"), rows);
    }
}
