// The worker for gocql, in Go; drivers/PROTOCOL.md is what it speaks.
package main

import "cqldyno/drivers/gocql/worker"

func main() {
	worker.Main(gocql{})
}
