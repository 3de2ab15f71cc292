// The Go driver at its defaults. Arguments: address and port of a node.
package main

import (
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

const rows = 250

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func check(holds bool, found ...any) {
	if !holds {
		log.Fatal(append([]any{"not as expected:"}, found...)...)
	}
}

func main() {
	cluster := gocql.NewCluster(os.Args[1])
	port, err := strconv.Atoi(os.Args[2])
	must(err)
	cluster.Port = port
	session, err := cluster.CreateSession()
	must(err)
	defer session.Close()
	must(session.Query("CREATE KEYSPACE go WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").Exec())
	must(session.Query("CREATE TABLE go.t (pk int PRIMARY KEY, v text, l list<int>)").Exec())
	for pk := range rows {
		values := []any{pk, fmt.Sprint("value ", pk), []int{pk, pk + 1}}
		must(session.Query("INSERT INTO go.t (pk, v, l) VALUES (?, ?, ?)", values...).Exec())
	}
	for pk := range rows {
		var value string
		var list []int
		must(session.Query("SELECT v, l FROM go.t WHERE pk = ?", pk).Scan(&value, &list))
		check(value == fmt.Sprint("value ", pk) && slices.Equal(list, []int{pk, pk + 1}), value, list)
	}
	pages := session.Query("SELECT pk FROM go.t").PageSize(100).Iter()
	check(pages.NumRows() == 100 && len(pages.PageState()) > 0, pages.NumRows())
	seen := map[int]bool{}
	for pk := 0; pages.Scan(&pk); {
		seen[pk] = true
	}
	must(pages.Close())
	check(len(seen) == rows, len(seen))
	found := map[string]any{}
	applied, err := session.Query("INSERT INTO go.t (pk, v) VALUES (1, 'x') IF NOT EXISTS").MapScanCAS(found)
	must(err)
	check(!applied && found["v"] == "value 1", applied, found)
	must(session.Query("UPDATE go.t USING TTL 100 SET v = 'y' WHERE pk = 1").Exec())
	var left int
	must(session.Query("SELECT ttl(v) FROM go.t WHERE pk = 1").Scan(&left))
	check(left > 0 && left <= 100, left)
	var keyspace, kind, name, described string
	must(session.Query("DESCRIBE TABLE go.t").Scan(&keyspace, &kind, &name, &described))
	check(strings.HasPrefix(described, "CREATE TABLE go.t (\n    pk int PRIMARY KEY,\n    v text,\n"), described)
	// The driver reads the schema a second after it changed.
	metadata, err := session.KeyspaceMetadata("go")
	for begun := time.Now(); (err != nil || metadata.Tables["t"] == nil) && time.Since(begun) < time.Minute; {
		time.Sleep(50 * time.Millisecond)
		metadata, err = session.KeyspaceMetadata("go")
	}
	must(err)
	check(len(metadata.Tables["t"].Columns) == 3, metadata.Tables)
	fmt.Println("done")
}
