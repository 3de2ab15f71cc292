//! Our codec against that of `cassandra-protocol`, which knows nothing of ours: what one writes the other must read.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;

use cassandra_protocol::compression::Compression;
use cassandra_protocol::consistency::Consistency;
use cassandra_protocol::frame::events::ServerEvent;
use cassandra_protocol::frame::message_batch::{BatchQuery, BatchQuerySubj, BatchType, BodyReqBatch};
use cassandra_protocol::frame::message_query::BodyReqQuery;
use cassandra_protocol::frame::message_response::ResponseBody;
use cassandra_protocol::frame::message_result::ResResultBody;
use cassandra_protocol::frame::message_startup::BodyReqStartup;
use cassandra_protocol::frame::{Envelope, Flags, FromCursor, Opcode as TheirOpcode, Serialize, Version};
use cassandra_protocol::query::{QueryParams, QueryValues};
use cassandra_protocol::types::value::Value as TheirValue;
use cassandra_protocol::types::{CBytes, CBytesShort};
use cqldyno_cluster::codec::response::{self, ReplyTo};
use cqldyno_cluster::codec::{HEADER_LEN, Header, Opcode, request, write};
use cqldyno_cluster::error::CqlError;
use cqldyno_cluster::types::{self, ColumnSpec, CqlType, UserType, Value};
use cqldyno_cluster::{ChangeType, Changed, SchemaChange};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

// What clients send, written by them and read by us.

fn consistency() -> impl Strategy<Value = Consistency> {
    (0u16..=10).prop_map(|code| Consistency::try_from(code as i16).unwrap())
}

fn their_value() -> impl Strategy<Value = TheirValue> {
    prop_oneof![
        4 => vec(any::<u8>(), 0..40).prop_map(TheirValue::Some),
        1 => Just(TheirValue::Null),
        1 => Just(TheirValue::NotSet),
    ]
}

fn values() -> impl Strategy<Value = QueryValues> {
    prop_oneof![
        vec(their_value(), 0..8).prop_map(QueryValues::SimpleValues),
        proptest::collection::hash_map("[a-zé]{0,8}", their_value(), 0..8).prop_map(QueryValues::NamedValues),
    ]
}

prop_compose! {
    fn parameters()(
        consistency in consistency(),
        values in option::of(values()),
        page_size in option::of(any::<i32>()),
        paging_state in option::of(vec(any::<u8>(), 0..30)),
        serial_consistency in option::of(prop_oneof![Just(Consistency::Serial), Just(Consistency::LocalSerial)]),
        timestamp in option::of((i64::MIN + 1)..),
    ) -> QueryParams {
        QueryParams {
            consistency,
            with_names: values.as_ref().is_some_and(QueryValues::has_names),
            values,
            page_size,
            paging_state: paging_state.map(CBytes::new),
            serial_consistency,
            timestamp,
            keyspace: None,
            now_in_seconds: None,
        }
    }
}

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V3), Just(Version::V4)]
}

/// Writes an envelope on some stream and reads it as a frame of ours.
fn sent(mut envelope: Envelope, stream: i16) -> (Header, Vec<u8>) {
    envelope.stream_id = stream;
    let bytes = envelope.encode_with(Compression::None).unwrap();
    let header = Header::parse(&bytes).unwrap().unwrap();
    assert_eq!(header.length, bytes.len() - HEADER_LEN);
    assert_eq!(header.stream, stream);
    assert_eq!(header.encode(false), bytes[..HEADER_LEN]);
    (header, bytes[HEADER_LEN..].to_vec())
}

fn same_value(ours: Value<'_>, theirs: &TheirValue, version: u8) -> bool {
    match (ours, theirs) {
        (Value::Bytes(ours), TheirValue::Some(theirs)) => ours == theirs,
        (Value::Null, TheirValue::Null) => true,
        // Before version 4 there is no "not set": every negative length is null.
        (Value::Unset, TheirValue::NotSet) => version >= 4,
        (Value::Null, TheirValue::NotSet) => version < 4,
        _ => false,
    }
}

fn assert_same_parameters(ours: &request::QueryParameters<'_>, theirs: &QueryParams, version: u8) {
    assert_eq!(ours.consistency, i16::from(theirs.consistency) as u16);
    match (&ours.values, &theirs.values) {
        (request::Values::Positional(ours), None) => assert!(ours.is_empty()),
        (request::Values::Positional(ours), Some(QueryValues::SimpleValues(theirs))) => {
            assert_eq!(ours.len(), theirs.len());
            assert!(ours.iter().zip(theirs).all(|(ours, theirs)| same_value(*ours, theirs, version)));
        }
        (request::Values::Named(ours), Some(QueryValues::NamedValues(theirs))) => {
            assert_eq!(ours.len(), theirs.len());
            assert!(ours.iter().all(|(name, value)| same_value(*value, &theirs[*name], version)));
        }
        (ours, theirs) => panic!("{ours:?} is not {theirs:?}"),
    }
    assert_eq!(ours.page_size, theirs.page_size);
    assert_eq!(ours.paging_state, theirs.paging_state.as_ref().and_then(CBytes::as_slice));
    assert_eq!(ours.serial_consistency, theirs.serial_consistency.map(|level| i16::from(level) as u16));
    assert_eq!(ours.timestamp, theirs.timestamp);
}

proptest! {
    #[test]
    fn a_query_that_they_write_is_read(query in "\\PC{0,60}", parameters in parameters(), version in version(), stream: i16) {
        let body = BodyReqQuery { query: query.clone(), query_params: parameters.clone() };
        let envelope = envelope(TheirOpcode::Query, &body, version);
        let (header, bytes) = sent(envelope, stream);
        prop_assert_eq!(header.opcode, Opcode::Query as u8);
        let ours = request::query(&bytes, header.version).unwrap();
        prop_assert_eq!(ours.query, query);
        assert_same_parameters(&ours.parameters, &parameters, header.version);
    }

    #[test]
    fn an_execute_that_they_write_is_read(id in vec(any::<u8>(), 0..40), parameters in parameters(), version in version(), stream: i16) {
        let envelope = Envelope::new_req_execute(&CBytesShort::new(id.clone()), None, &parameters, Flags::empty(), version);
        let (header, bytes) = sent(envelope, stream);
        prop_assert_eq!(header.opcode, Opcode::Execute as u8);
        let ours = request::execute(&bytes, header.version).unwrap();
        prop_assert_eq!(ours.id, id);
        assert_same_parameters(&ours.parameters, &parameters, header.version);
        for cut in 0..bytes.len() {
            prop_assert!(request::execute(&bytes[..cut], header.version).is_err());
        }
    }

    #[test]
    fn a_batch_that_they_write_is_read(
        kind in 0u8..3,
        queries in vec((any::<bool>(), "[a-z]{0,16}", vec(their_value(), 0..4)), 0..6),
        level in consistency(),
        serial in any::<bool>(),
        timestamp in option::of((i64::MIN + 1)..),
        version in version(),
    ) {
        let subject = |is_id: bool, text: &str| if is_id {
            BatchQuerySubj::PreparedId(CBytesShort::new(text.as_bytes().to_vec()))
        } else {
            BatchQuerySubj::QueryString(text.to_owned())
        };
        let body = BodyReqBatch::new(
            BatchType::try_from(kind).unwrap(),
            queries.iter().map(|(is_id, text, values)| {
                BatchQuery::new(subject(*is_id, text), QueryValues::SimpleValues(values.clone()))
            }).collect(),
            level,
            serial.then_some(Consistency::Serial),
            timestamp,
            None,
            None,
        );
        let (header, bytes) = sent(Envelope::new_req_batch(body, Flags::empty(), version), 7);
        let ours = request::batch(&bytes, header.version).unwrap();
        prop_assert_eq!(ours.kind, kind);
        prop_assert_eq!(ours.consistency, i16::from(level) as u16);
        prop_assert_eq!(ours.serial_consistency, serial.then_some(8));
        prop_assert_eq!(ours.timestamp, timestamp);
        prop_assert_eq!(ours.statements.len(), queries.len());
        for ((what, values), (is_id, text, theirs)) in ours.statements.iter().zip(&queries) {
            match what {
                request::BatchQuery::Text(query) => prop_assert!(!is_id && query == text),
                request::BatchQuery::Id(id) => prop_assert!(*is_id && *id == text.as_bytes()),
            }
            prop_assert_eq!(values.len(), theirs.len());
            prop_assert!(values.iter().zip(theirs).all(|(ours, theirs)| same_value(*ours, theirs, header.version)));
        }
    }

    #[test]
    fn startup_prepare_register_and_auth_that_they_write_are_read(
        options in proptest::collection::hash_map("[A-Z_]{1,12}", "\\PC{0,20}", 0..5),
        text in "\\PC{0,60}",
        token in vec(any::<u8>(), 0..40),
        version in version(),
    ) {
        use cassandra_protocol::frame::events::SimpleServerEvent as Event;
        let body = BodyReqStartup { map: options.clone() };
        let (_, bytes) = sent(envelope(TheirOpcode::Startup, &body, version), 0);
        let ours = request::startup(&bytes).unwrap().into_iter().map(|(key, value)| (key.to_owned(), value.to_owned()));
        prop_assert_eq!(ours.collect::<HashMap<_, _>>(), options);

        let (_, bytes) = sent(Envelope::new_req_prepare(text.clone(), None, Flags::empty(), version), 0);
        prop_assert_eq!(request::prepare(&bytes).unwrap(), text);

        let (_, bytes) = sent(Envelope::new_req_register(vec![Event::SchemaChange, Event::StatusChange], version), 0);
        prop_assert_eq!(request::register(&bytes).unwrap(), ["SCHEMA_CHANGE", "STATUS_CHANGE"]);

        let (_, bytes) = sent(Envelope::new_req_auth_response(CBytes::new(token.clone()), version), 0);
        prop_assert_eq!(request::auth_response(&bytes).unwrap(), Some(&token[..]));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..200), version in 3u8..5) {
        let _ = Header::parse(&bytes);
        let _ = request::startup(&bytes);
        let _ = request::auth_response(&bytes);
        let _ = request::register(&bytes);
        let _ = request::prepare(&bytes);
        let _ = request::query(&bytes, version);
        let _ = request::execute(&bytes, version);
        let _ = request::batch(&bytes, version);
    }
}

fn envelope(opcode: TheirOpcode, body: &impl Serialize, version: Version) -> Envelope {
    use cassandra_protocol::frame::Direction;
    Envelope::new(version, Direction::Request, Flags::empty(), opcode, 0, body.serialize_to_vec(version), None, vec![])
}

// What we send, written by us and read by them; what they then write must be our bytes again.

const TO: ReplyTo = ReplyTo { version: 4, stream: -300 };

fn received(frame: &[u8]) -> Envelope {
    let parsed = Envelope::from_buffer(frame, Compression::None).unwrap();
    assert_eq!(parsed.envelope_len, frame.len());
    assert_eq!(parsed.envelope.stream_id, TO.stream);
    assert_eq!(parsed.envelope.version, Version::V4);
    parsed.envelope
}

fn result(frame: &[u8]) -> ResResultBody {
    let envelope = received(frame);
    let Ok(ResponseBody::Result(result)) = envelope.response_body() else { panic!("no RESULT") };
    assert_eq!(result.serialize_to_vec(Version::V4), envelope.body);
    result
}

fn column_type() -> impl Strategy<Value = CqlType> {
    let native = (0usize..19).prop_map(|index| {
        let names = "ascii bigint blob boolean counter date decimal double float inet int smallint text time timestamp \
                     timeuuid tinyint uuid varint";
        CqlType::native(names.split_whitespace().nth(index).unwrap()).unwrap()
    });
    native.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|element| CqlType::List(Box::new(element))),
            inner.clone().prop_map(|element| CqlType::Set(Box::new(element)).freeze()),
            [inner.clone(), inner.clone()].prop_map(|entry| CqlType::Map(Box::new(entry))),
            vec(inner.clone(), 0..3).prop_map(CqlType::Tuple),
            vec(inner, 1..3).prop_map(user_type),
            (1u16..4).prop_map(CqlType::Vector),
        ]
    })
}

fn user_type(types: Vec<CqlType>) -> CqlType {
    let names = (0..types.len()).map(|at| format!("field{at}").into()).collect();
    CqlType::User(Arc::new(UserType { keyspace: "ks".into(), name: "place".into(), names, types }))
}

fn specs(tables: usize) -> impl Strategy<Value = Vec<ColumnSpec>> {
    let spec = (0..tables, "\\PC{0,12}", column_type()).prop_map(|(table, name, ty)| ColumnSpec {
        keyspace: "ks".into(),
        table: format!("t{table}").into(),
        name: name.into(),
        ty,
    });
    vec(spec, 1..6)
}

fn assert_same_columns(
    ours: &[ColumnSpec],
    global: Option<&cassandra_protocol::frame::message_result::TableSpec>,
    theirs: &[cassandra_protocol::frame::message_result::ColSpec],
) {
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let table = theirs.table_spec.as_ref().or(global).unwrap();
        assert_eq!((&*ours.keyspace, &*ours.table, &*ours.name), (&*table.ks_name, &*table.table_name, &*theirs.name));
        let mut option = Vec::new();
        ours.ty.write_option(4, &mut option);
        assert_eq!(option, theirs.col_type.serialize_to_vec(Version::V4));
    }
}

proptest! {
    #[test]
    fn rows_that_we_write_are_read(
        columns in specs(2),
        skip in any::<bool>(),
        paging_state in option::of(vec(any::<u8>(), 0..20)),
        cells in vec(option::of(vec(any::<u8>(), 0..20)), 0..30),
    ) {
        let rows = cells.chunks_exact(columns.len()).collect::<Vec<_>>();
        let mut frame = Vec::new();
        response::frame(&mut frame, TO, Opcode::Result, |out| {
            write::int(out, response::KIND_ROWS);
            response::rows_metadata(out, 4, &columns, skip, paging_state.as_deref());
            write::int(out, rows.len() as i32);
            rows.iter().copied().flatten().for_each(|cell| write::bytes(out, cell.as_deref()));
        });
        // They cannot write "no metadata" and "one table" at once, which Cassandra sends: look at the fields only.
        let Ok(ResponseBody::Result(ResResultBody::Rows(theirs))) = received(&frame).response_body() else {
            panic!("no rows")
        };
        prop_assert_eq!(theirs.metadata.columns_count as usize, columns.len());
        prop_assert_eq!(theirs.metadata.paging_state.and_then(CBytes::into_bytes), paging_state);
        if !skip {
            assert_same_columns(&columns, theirs.metadata.global_table_spec.as_ref(), &theirs.metadata.col_specs);
        }
        let content = theirs.rows_content.iter().map(|row| row.iter().map(CBytes::as_slice).collect::<Vec<_>>());
        let expected = rows.iter().map(|row| row.iter().map(Option::as_deref).collect::<Vec<_>>());
        prop_assert_eq!(content.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn prepared_that_we_write_is_read(
        id in vec(any::<u8>(), 1..20),
        markers in specs(2),
        key in vec(any::<u16>().prop_map(|index| index & 0x7fff), 0..4),
        columns in option::of(specs(1)),
    ) {
        let columns = columns.unwrap_or_default();
        let mut frame = Vec::new();
        response::prepared(&mut frame, TO, &id, &markers, &key, &columns);
        let ResResultBody::Prepared(theirs) = result(&frame) else { panic!("not prepared") };
        prop_assert_eq!(theirs.id.into_bytes(), Some(id));
        prop_assert_eq!(theirs.metadata.pk_indexes.iter().map(|index| *index as u16).collect::<Vec<_>>(), key);
        assert_same_columns(&markers, theirs.metadata.global_table_spec.as_ref(), &theirs.metadata.col_specs);
        assert_same_columns(&columns, theirs.result_metadata.global_table_spec.as_ref(), &theirs.result_metadata.col_specs);
    }

    #[test]
    fn errors_that_we_write_are_read(kind in 0usize..10, text in "\\PC{0,40}", id in vec(any::<u8>(), 0..20)) {
        let error = match kind {
            0 => CqlError::Server(text.clone()),
            1 => CqlError::Protocol(text.clone()),
            2 => CqlError::BadCredentials(text.clone()),
            3 => CqlError::Unprepared(id),
            4 => CqlError::Syntax(text.clone()),
            5 => CqlError::Unauthorized(text.clone()),
            6 => CqlError::Invalid(text.clone()),
            7 => CqlError::Config(text.clone()),
            8 => CqlError::AlreadyExists { keyspace: text.clone(), table: None },
            _ => CqlError::AlreadyExists { keyspace: "ks".to_owned(), table: Some(text.clone()) },
        };
        let mut frame = Vec::new();
        response::error(&mut frame, TO, &error);
        let envelope = received(&frame);
        let Ok(ResponseBody::Error(theirs)) = envelope.response_body() else { panic!("no ERROR") };
        prop_assert_eq!(theirs.serialize_to_vec(Version::V4), envelope.body);
        prop_assert_eq!(theirs.ty.to_error_code(), error.code());
        prop_assert_eq!(theirs.message, error.to_string());
    }

    #[test]
    fn schema_changes_that_we_write_are_read(
        change in prop_oneof![Just(ChangeType::Created), Just(ChangeType::Updated), Just(ChangeType::Dropped)],
        keyspace in "[a-z]{1,8}",
        changed in prop_oneof![
            Just(Changed::Keyspace),
            "[a-z]{1,8}".prop_map(|name| Changed::Table(name.into())),
            "[a-z]{1,8}".prop_map(|name| Changed::Type(name.into())),
        ],
    ) {
        let change = SchemaChange { changed, ..SchemaChange::new(change, &keyspace.into()) };
        let mut frame = Vec::new();
        response::schema_change(&mut frame, TO, &change);
        let ResResultBody::SchemaChange(theirs) = result(&frame) else { panic!("no schema change") };
        let mut event = Vec::new();
        response::schema_change_event(&mut event, 4, &change);
        let parsed = Envelope::from_buffer(&event, Compression::None).unwrap();
        prop_assert_eq!(parsed.envelope.stream_id, -1);
        let told = ServerEvent::from_cursor(&mut Cursor::new(&parsed.envelope.body), Version::V4).unwrap();
        prop_assert_eq!(told, ServerEvent::SchemaChange(theirs));
    }

    #[test]
    fn the_other_answers_that_we_write_are_read(keyspace in "\\PC{0,20}", class in "\\PC{0,20}") {
        let mut frame = Vec::new();
        response::void(&mut frame, TO);
        prop_assert_eq!(result(&frame), ResResultBody::Void);
        frame.clear();
        response::set_keyspace(&mut frame, TO, &keyspace);
        prop_assert_eq!(result(&frame).into_set_keyspace().unwrap().body, keyspace);
        frame.clear();
        response::ready(&mut frame, TO);
        prop_assert!(matches!(received(&frame).response_body(), Ok(ResponseBody::Ready)));
        frame.clear();
        response::authenticate(&mut frame, TO, &class);
        let Ok(ResponseBody::Authenticate(theirs)) = received(&frame).response_body() else { panic!("no AUTHENTICATE") };
        prop_assert_eq!(theirs.data, class);
        frame.clear();
        response::auth_success(&mut frame, TO);
        prop_assert!(matches!(received(&frame).response_body(), Ok(ResponseBody::AuthSuccess(_))));
        frame.clear();
        response::supported(&mut frame, TO, &[("CQL_VERSION", &["3.4.7"]), ("COMPRESSION", &[])]);
        let Ok(ResponseBody::Supported(theirs)) = received(&frame).response_body() else { panic!("no SUPPORTED") };
        prop_assert_eq!(&theirs.data["CQL_VERSION"], &["3.4.7"]);
        prop_assert!(theirs.data["COMPRESSION"].is_empty());
    }
}

// Values, written by them and judged by us, and the other way round.

fn their_bytes(value: impl Into<cassandra_protocol::types::value::Bytes>) -> Vec<u8> {
    value.into().into_inner()
}

proptest! {
    #[test]
    fn values_that_they_write_are_valid_and_keep_their_order(
        bigints in vec(any::<i64>(), 2..6),
        doubles in vec(any::<f64>(), 2..6),
        texts in vec("\\PC{0,8}", 2..6),
    ) {
        for pair in bigints.windows(2) {
            let (a, b) = (their_bytes(pair[0]), their_bytes(pair[1]));
            prop_assert_eq!(CqlType::Bigint.validate(&a), Ok(()));
            prop_assert_eq!(CqlType::Bigint.compare(&a, &b), pair[0].cmp(&pair[1]));
        }
        for pair in doubles.windows(2) {
            let (a, b) = (their_bytes(pair[0]), their_bytes(pair[1]));
            prop_assert_eq!(CqlType::Double.validate(&a), Ok(()));
            if let Some(order) = pair[0].partial_cmp(&pair[1]) && order.is_ne() {
                prop_assert_eq!(CqlType::Double.compare(&a, &b), order);
            }
        }
        for pair in texts.windows(2) {
            let (a, b) = (their_bytes(pair[0].as_str()), their_bytes(pair[1].as_str()));
            prop_assert_eq!(CqlType::Text.validate(&a), Ok(()));
            prop_assert_eq!(CqlType::Text.compare(&a, &b), pair[0].cmp(&pair[1]));
        }
    }

    #[test]
    fn collections_that_they_write_are_ours(list in vec(any::<i32>(), 0..8), map in proptest::collection::btree_map("[a-z]{0,4}", any::<i64>(), 0..6)) {
        let theirs = their_bytes(list.clone());
        let elements = list.iter().map(|element| element.to_be_bytes()).collect::<Vec<_>>();
        prop_assert_eq!(&theirs, &types::write_list(elements.iter().map(|element| &element[..])));
        prop_assert_eq!(CqlType::List(Box::new(CqlType::Int)).validate(&theirs), Ok(()));
        let theirs = their_bytes(map.clone());
        let entries = map.iter().map(|(key, value)| (key.as_bytes(), value.to_be_bytes())).collect::<Vec<_>>();
        let entries = entries.iter().map(|(key, value)| (*key, &value[..])).collect();
        prop_assert_eq!(&theirs, &types::write_map(&CqlType::Text, entries));
        prop_assert_eq!(CqlType::Map(Box::new([CqlType::Text, CqlType::Bigint])).validate(&theirs), Ok(()));
    }

    #[test]
    fn no_bytes_make_a_type_panic(ty in column_type(), a in vec(any::<u8>(), 0..60), b in vec(any::<u8>(), 0..60)) {
        let valid = |bytes: &[u8]| ty.validate(bytes).is_ok();
        if valid(&a) {
            let mut json = String::new();
            ty.write_json(Some(&a), &mut json).unwrap();
            if let Some(normal) = ty.normalise(&a) {
                prop_assert_eq!(ty.validate(&normal), Ok(()));
                let again = ty.normalise(&*normal);
                prop_assert_eq!(again.as_deref(), Some(&*normal));
            }
            prop_assert!(ty.compare(&a, &a).is_eq());
            if valid(&b) {
                prop_assert_eq!(ty.compare(&a, &b), ty.compare(&b, &a).reverse());
            }
        }
    }
}

#[test]
fn every_opcode_has_the_number_that_they_give_it() {
    let numbers = Opcode::ALL.iter().map(|(opcode, name)| (*opcode as u8, *name)).collect::<BTreeMap<_, _>>();
    for (number, name) in numbers {
        let theirs = TheirOpcode::try_from(number).unwrap();
        let spelled = name.replace('_', "").to_lowercase();
        assert_eq!(format!("{theirs:?}").to_lowercase(), spelled);
    }
}
