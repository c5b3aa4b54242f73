package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	modernc "modernc.org/sqlite"
)

// openReadOnly opens a pool whose connections can do nothing but read.
func openReadOnly(path string, opts *Options) (*sql.DB, error) {
	parameters := opts.parameters("ro")
	parameters.Set("_query_only", "1")
	base, err := modernc.NewConnector(source(path, parameters))
	if err != nil {
		return nil, failure(ErrUnavailable, err)
	}
	pool := sql.OpenDB(readOnly{base})
	pool.SetMaxOpenConns(maxReaders)
	return pool, nil
}

// maxReaders is how many queries of one handle run at the same time; more wait.
const maxReaders = 8

// readOnly puts every connection under an authorizer.
type readOnly struct{ driver.Connector }

// Connect implements [driver.Connector].
func (r readOnly) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	guarded, ok := conn.(modernc.AuthorizerRegisterer)
	if !ok {
		return nil, errors.Join(errors.New("the driver has no authorizer"), conn.Close())
	}
	if err := guarded.RegisterAuthorizer(onlyReads); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// onlyReads admits what a query needs, and the pragmas that describe tables, as
// functions such as pragma_table_info are made of them.
func onlyReads(action modernc.AuthorizerActionCode, name, function, _, _ string) modernc.AuthorizerReturnCode {
	switch action {
	case modernc.AuthSelect, modernc.AuthRead, modernc.AuthRecursive:
		return modernc.AuthorizerOK
	case modernc.AuthFunction:
		if function != "load_extension" {
			return modernc.AuthorizerOK
		}
	case modernc.AuthPragma:
		if slices.Contains([]string{"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}, name) {
			return modernc.AuthorizerOK
		}
	}
	return modernc.AuthorizerDeny
}
