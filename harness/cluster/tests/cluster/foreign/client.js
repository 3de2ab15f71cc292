// The Node.js driver at its defaults. Arguments: address and port of a node.
"use strict";

const assert = require("node:assert");
const { Client } = require("cassandra-driver");

const ROWS = 250;

async function main(address, port) {
  const client = new Client({ contactPoints: [`${address}:${port}`], localDataCenter: "datacenter1" });
  await client.connect();
  await client.execute(
    "CREATE KEYSPACE node WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
  );
  await client.execute("CREATE TABLE node.t (pk int PRIMARY KEY, v text, l list<int>)");
  const prepare = { prepare: true };
  for (let pk = 0; pk < ROWS; pk++) {
    await client.execute("INSERT INTO node.t (pk, v, l) VALUES (?, ?, ?)", [pk, `value ${pk}`, [pk, pk + 1]], prepare);
  }
  for (let pk = 0; pk < ROWS; pk++) {
    const row = (await client.execute("SELECT v, l FROM node.t WHERE pk = ?", [pk], prepare)).first();
    assert.deepStrictEqual([row.v, row.l], [`value ${pk}`, [pk, pk + 1]]);
  }
  const page = await client.execute("SELECT pk FROM node.t", [], { prepare: true, fetchSize: 100 });
  assert.ok(page.rows.length === 100 && page.pageState);
  const seen = new Set();
  for await (const row of client.stream("SELECT pk FROM node.t", [], { prepare: true, fetchSize: 100, autoPage: true })) {
    seen.add(row.pk);
  }
  assert.strictEqual(seen.size, ROWS);
  const again = (await client.execute("INSERT INTO node.t (pk, v) VALUES (1, 'x') IF NOT EXISTS")).first();
  assert.deepStrictEqual([again["[applied]"], again.v], [false, "value 1"]);
  await client.execute("UPDATE node.t USING TTL 100 SET v = 'y' WHERE pk = 1");
  const left = (await client.execute("SELECT ttl(v) AS ttl FROM node.t WHERE pk = 1")).first().ttl;
  assert.ok(left > 0 && left <= 100);
  const described = (await client.execute("DESCRIBE TABLE node.t")).first().create_statement;
  assert.ok(described.startsWith("CREATE TABLE node.t (\n    pk int PRIMARY KEY,\n    v text,\n"), described);
  const table = await client.metadata.getTable("node", "t");
  assert.strictEqual(table.columns.length, 3);
  await client.shutdown();
}

main(process.argv[2], process.argv[3]).then(
  () => console.log("done"),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
