// The program that the documentation of gocql would have you write.
package main

import (
	"fmt"
	"os"

	"cqldyno/drivers/gocql/worker"

	"github.com/apache/cassandra-gocql-driver/v2"
)

func main() {
	version, err := worker.VersionOf("github.com/apache/cassandra-gocql-driver/v2")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	worker.MainProgram("gocql", version, &program{})
}

type program struct{ session *gocql.Session }

func (p *program) Connect(node string) (err error) {
	// Pages of 5,000 rows and no retries are the driver's own.
	cluster := gocql.NewCluster(node)
	cluster.ProtoVersion = 4
	cluster.Consistency = gocql.LocalOne
	cluster.NumConns = 1
	cluster.Timeout = 0
	cluster.DefaultTimestamp = false
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	p.session, err = cluster.CreateSession()
	return err
}

func (p *program) Execute(tickets *worker.Tickets) (verified uint64, err error) {
	for {
		inserts, key, more := tickets.Take()
		if !more {
			return verified, nil
		}
		if inserts {
			if err := p.session.Query(worker.Insert, key, 2*key, 3*key).Exec(); err != nil {
				return verified, err
			}
			verified++
			continue
		}
		var pk, v1, v2 int64
		if err := p.session.Query(worker.Select, key).Scan(&pk, &v1, &v2); err != nil {
			return verified, err
		}
		if tickets.IsRow(pk, v1, v2, key) {
			verified++
		}
	}
}
