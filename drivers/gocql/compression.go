package main

import (
	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/apache/cassandra-gocql-driver/v2/lz4"
	"github.com/apache/cassandra-gocql-driver/v2/snappy"
)

// compressors are the driver's, by the value of the option. compression.first has those of the module before Apache's.
var compressors = map[string]gocql.Compressor{"lz4": lz4.LZ4Compressor{}, "snappy": snappy.SnappyCompressor{}}
