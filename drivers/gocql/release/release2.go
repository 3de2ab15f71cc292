//go:build !gocql1

// Package release is gocql at one of its import paths, which a build tag chooses: what both have in common.
package release

import "github.com/apache/cassandra-gocql-driver/v2"

// Module is the import path.
const Module = "github.com/apache/cassandra-gocql-driver/v2"

// IsFirst says whether this is the module before Apache's.
const IsFirst = false

// What the adapter uses.
type (
	ClusterConfig         = gocql.ClusterConfig
	HostSelectionPolicy   = gocql.HostSelectionPolicy
	MarshalError          = gocql.MarshalError
	ObservedConnect       = gocql.ObservedConnect
	PasswordAuthenticator = gocql.PasswordAuthenticator
	QueryInfo             = gocql.QueryInfo
	RequestError          = gocql.RequestError
	Session               = gocql.Session
	SslOptions            = gocql.SslOptions
	Type                  = gocql.Type
	TypeInfo              = gocql.TypeInfo
	UUID                  = gocql.UUID
	UnmarshalError        = gocql.UnmarshalError
)

// What the adapter uses.
const (
	TypeBigInt    = gocql.TypeBigInt
	TypeBlob      = gocql.TypeBlob
	TypeBoolean   = gocql.TypeBoolean
	TypeDouble    = gocql.TypeDouble
	TypeInt       = gocql.TypeInt
	TypeTimestamp = gocql.TypeTimestamp
	TypeUUID      = gocql.TypeUUID
	TypeVarchar   = gocql.TypeVarchar
	UnloggedBatch = gocql.UnloggedBatch
)

// What the adapter uses.
var (
	DCAwareRoundRobin    = gocql.DCAwareRoundRobinPolicy
	NewCluster           = gocql.NewCluster
	ParseConsistency     = gocql.ParseConsistencyWrapper
	RoundRobinHostPolicy = gocql.RoundRobinHostPolicy
	TokenAwareHostPolicy = gocql.TokenAwareHostPolicy
	Unmarshal            = gocql.Unmarshal

	ErrConnectionClosed  = gocql.ErrConnectionClosed
	ErrNoConnections     = gocql.ErrNoConnections
	ErrNoStreams         = gocql.ErrNoStreams
	ErrSessionClosed     = gocql.ErrSessionClosed
	ErrTimeoutNoResponse = gocql.ErrTimeoutNoResponse
	ErrTooManyTimeouts   = gocql.ErrTooManyTimeouts
)
