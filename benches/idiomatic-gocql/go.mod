module cqldyno/benches/idiomatic-gocql

go 1.24.0

require (
	cqldyno/drivers/gocql v0.0.0
	github.com/apache/cassandra-gocql-driver/v2 v2.1.2
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0 // indirect
	golang.org/x/sys v0.36.0 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
)

replace cqldyno/drivers/gocql => ../../drivers/gocql
