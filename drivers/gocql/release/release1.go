//go:build gocql1

// Package release is gocql at one of its import paths, which a build tag chooses: what both have in common.
package release

import "github.com/gocql/gocql"

// Module is the import path.
const Module = "github.com/gocql/gocql"

// IsFirst says whether this is the module before Apache's.
const IsFirst = true

// What the adapter uses.
type (
	ClusterConfig         = gocql.ClusterConfig
	Duration              = gocql.Duration
	HostSelectionPolicy   = gocql.HostSelectionPolicy
	MarshalError          = gocql.MarshalError
	ObservedConnect       = gocql.ObservedConnect
	PasswordAuthenticator = gocql.PasswordAuthenticator
	QueryInfo             = gocql.QueryInfo
	RequestError          = gocql.RequestError
	Session               = gocql.Session
	SslOptions            = gocql.SslOptions
	Type                  = gocql.Type
	TupleTypeInfo         = gocql.TupleTypeInfo
	TypeInfo              = gocql.TypeInfo
	UUID                  = gocql.UUID
	UnmarshalError        = gocql.UnmarshalError
)

// What the adapter uses.
const (
	TypeAscii     = gocql.TypeAscii
	TypeBigInt    = gocql.TypeBigInt
	TypeBlob      = gocql.TypeBlob
	TypeBoolean   = gocql.TypeBoolean
	TypeCounter   = gocql.TypeCounter
	TypeCustom    = gocql.TypeCustom
	TypeDate      = gocql.TypeDate
	TypeDecimal   = gocql.TypeDecimal
	TypeDouble    = gocql.TypeDouble
	TypeDuration  = gocql.TypeDuration
	TypeFloat     = gocql.TypeFloat
	TypeInet      = gocql.TypeInet
	TypeInt       = gocql.TypeInt
	TypeList      = gocql.TypeList
	TypeMap       = gocql.TypeMap
	TypeSet       = gocql.TypeSet
	TypeSmallInt  = gocql.TypeSmallInt
	TypeText      = gocql.TypeText
	TypeTime      = gocql.TypeTime
	TypeTimestamp = gocql.TypeTimestamp
	TypeTimeUUID  = gocql.TypeTimeUUID
	TypeTinyInt   = gocql.TypeTinyInt
	TypeTuple     = gocql.TypeTuple
	TypeUDT       = gocql.TypeUDT
	TypeUUID      = gocql.TypeUUID
	TypeVarchar   = gocql.TypeVarchar
	TypeVarint    = gocql.TypeVarint
	LoggedBatch   = gocql.LoggedBatch
	UnloggedBatch = gocql.UnloggedBatch
)

// What the adapter uses.
var (
	DCAwareRoundRobin    = gocql.DCAwareRoundRobinPolicy
	Marshal              = gocql.Marshal
	NewCluster           = gocql.NewCluster
	ParseConsistency     = gocql.ParseConsistencyWrapper
	ShuffleReplicas      = gocql.ShuffleReplicas
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
