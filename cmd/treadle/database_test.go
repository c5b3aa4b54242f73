package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/sqlite"
)

// doneAtOnce is a model that does nothing and says that it is done.
type doneAtOnce struct{}

func (doneAtOnce) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	response := agenttest.Reply("done").Response
	response.Message.Role = agent.RoleAssistant
	return &response, nil
}

// checkedRun runs one step with database checks on the disk, with one attempt, and
// returns what the validation wrote down and how the run ended. The text is empty where
// there was no validation.
func checkedRun(t *testing.T, dir string, checks []map[string]any) (log string, err error) {
	t.Helper()
	plan, err := json.Marshal(map[string]any{"steps": []any{map[string]any{
		"id": "a", "type": "regular", "description": "Work.", "validation_schema": map[string]any{"db": checks},
	}}})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "planning"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, workspace.PlanFile), plan, 0o644))
	ws, err := workspace.OpenDir(dir)
	require.NoError(t, err)
	defer ws.Close()
	ctl, err := workflow.NewController(workflow.Config{
		Models: agent.Single(doneAtOnce{}), Attempts: 1,
		Database: func(st workspace.Storage) validation.Database {
			return sqlite.NewReader(st, &sqlite.Options{BusyTimeout: 50 * time.Millisecond, QueryTime: time.Second})
		},
	})
	require.NoError(t, err)
	_, err = ctl.Run(t.Context(), ws, nil)
	data, readErr := os.ReadFile(filepath.Join(dir, "runs/iteration-1/logs/a/pre_validation.json"))
	if readErr != nil {
		require.ErrorIs(t, readErr, os.ErrNotExist)
	}
	return string(data), err
}

func one(query string, more ...map[string]any) []map[string]any {
	check := map[string]any{"name": "it", "sql": query}
	if len(more) > 0 {
		check["checks"] = more
	}
	return []map[string]any{check}
}

// filledDatabase makes a new database.
func filledDatabase(t *testing.T, statements string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, sqlite.File)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	if statements == "" {
		return dir, file
	}
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statements)
	require.NoError(t, err)
	return dir, file
}

const orders = `CREATE TABLE orders(id INTEGER, name TEXT, total REAL, paper BLOB); INSERT INTO orders VALUES (1, NULL, 9.5, x'00ff41')`

func TestARunFailsAtACheckThatMayNotBeAskedAndChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, says string }{
		"an endless query":          {"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n", "over a limit"},
		"a result that is huge":     {"SELECT hex(zeroblob(20000000))", "over a limit"},
		"a table that is missing":   {"SELECT * FROM invoices", "no such table: invoices"},
		"a function that loads":     {"SELECT load_extension('x')", "not authorized"},
		"a query of another file":   {"SELECT * FROM other.orders", "no such table: other.orders"},
		"a writing statement below": {"WITH n AS (SELECT 1) INSERT INTO orders(id) SELECT 2", "only a single statement that reads"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := filledDatabase(t, orders)
			before, err := os.ReadFile(file)
			require.NoError(t, err)
			log, err := checkedRun(t, dir, one(c.query))
			require.Error(t, err)
			assert.Contains(t, log+err.Error(), c.says)
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, before, after)
		})
	}
}

func TestAPlanWithAStatementThatIsNoQueryDoesNotRun(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"DELETE FROM orders", "PRAGMA writable_schema = 1", "ATTACH '/etc/passwd' AS other", "SELECT 1; DROP TABLE orders", "VACUUM INTO 'x'"} {
		dir, _ := filledDatabase(t, orders)
		_, err := checkedRun(t, dir, one(query))
		var ds workspace.Diagnostics
		require.ErrorAs(t, err, &ds, query)
		assert.NoDirExists(t, filepath.Join(dir, "runs"), "nothing was started")
	}
}

func TestNullsAndBytesAreCheckedAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	dir, _ := filledDatabase(t, orders)
	log, err := checkedRun(t, dir, one("SELECT name, total, length(paper) AS size, paper FROM orders",
		map[string]any{"path": "$.total", "value_type": "number", "min_value": 9.5},
		map[string]any{"path": "$.size", "min_value": 3, "max_value": 3},
		map[string]any{"path": "$.paper", "value_type": "string"}))
	require.NoError(t, err, log)
	dir, _ = filledDatabase(t, orders)
	log, err = checkedRun(t, dir, one("SELECT name FROM orders", map[string]any{"path": "$.name", "value_type": "string"}))
	require.ErrorIs(t, err, workflow.ErrValidation)
	assert.Contains(t, log, "null")
}

func TestARunSaysWhatIsWrongWithItsDatabase(t *testing.T) {
	t.Parallel()
	t.Run("there is none", func(t *testing.T) {
		t.Parallel()
		dir, file := filledDatabase(t, "")
		log, err := checkedRun(t, dir, one("SELECT 1"))
		require.Error(t, err)
		assert.Contains(t, log+err.Error(), "there is no database")
		assert.NoFileExists(t, file, "a check makes none")
	})
	t.Run("it is damaged", func(t *testing.T) {
		t.Parallel()
		dir, file := filledDatabase(t, "")
		require.NoError(t, os.WriteFile(file, []byte("this is a text and no database, whatever its name says"), 0o644))
		log, err := checkedRun(t, dir, one("SELECT 1"))
		require.Error(t, err)
		assert.Contains(t, log+err.Error(), "damaged or is no SQLite database")
	})
	t.Run("it is locked", func(t *testing.T) {
		t.Parallel()
		dir, file := filledDatabase(t, orders)
		db, err := sql.Open("sqlite", file)
		require.NoError(t, err)
		defer db.Close()
		conn, err := db.Conn(t.Context())
		require.NoError(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
		require.NoError(t, err)
		log, err := checkedRun(t, dir, one("SELECT 1 FROM orders"))
		require.Error(t, err)
		assert.Contains(t, log+err.Error(), "locked by another connection")
	})
}
