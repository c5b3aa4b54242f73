package workflow

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

// CostsOptions say what [Costs] reads. The zero value and nil are everything, with
// no prices for calls that the ledger lacks.
type CostsOptions struct {
	// Filter narrows what is counted.
	Filter costs.Filter
	// Prices price the calls of runs that the ledger does not have in full.
	Prices *costs.Prices
}

// Costs tells what a workspace has spent: the daily ledger, and the calls that
// only a journal knows, of runs that are under way or were killed. It writes
// nothing to the workspace. Where cost files or journals are damaged the summary
// holds all the rest, and the error names each of them; after any other error the
// summary is nil.
func Costs(ctx context.Context, ws *workspace.Workspace, opts *CostsOptions) (*costs.Summary, error) {
	if opts == nil {
		opts = &CostsOptions{}
	}
	st := ws.Storage()
	behind, damaged, err := missingCalls(ctx, ws, opts.Prices)
	if err != nil {
		return nil, err
	}
	if len(behind) > 0 {
		// The ledger is brought up to date as a resume would do it, in a copy.
		if st, err = copyLedger(ctx, st); err != nil {
			return nil, err
		}
		ledger := costs.NewLedger(st)
		for _, b := range behind {
			if err := ledger.Write(ctx, b.run, b.spent); err != nil && !errors.Is(err, costs.ErrDamaged) {
				return nil, err
			}
		}
	}
	summary, err := costs.Read(ctx, st, opts.Filter)
	if err != nil && !errors.Is(err, costs.ErrDamaged) {
		return nil, err
	}
	return summary, errors.Join(append(damaged, err)...)
}

// behindRun is a run whose share of the ledger is not what its journal says.
type behindRun struct {
	run   costs.Run
	spent *costs.Tally
}

func missingCalls(ctx context.Context, ws *workspace.Workspace, prices *costs.Prices) (behind []behindRun, damaged []error, err error) {
	standings, err := Runs(ctx, ws)
	if err != nil {
		return nil, nil, err
	}
	ledger, err := costs.Read(ctx, ws.Storage(), costs.Filter{Scope: costs.ScopeExecution})
	if err != nil && !errors.Is(err, costs.ErrDamaged) {
		return nil, nil, err
	}
	counted := map[string]int64{}
	for _, row := range ledger.ByRun() {
		counted[row.Key.RunID] += row.Amount.Calls
	}
	for i := range standings {
		s := &standings[i]
		if s.Problem != "" {
			damaged = append(damaged, &RunError{Run: s.RunFolder, Err: errors.New(s.Problem)})
		}
		if s.RunID == "" || s.Totals.Calls == counted[s.RunID] {
			continue
		}
		_, a, err := recount(ctx, ws.Storage(), s.RunFolder, prices)
		if err != nil {
			return nil, nil, err
		}
		run := costs.Run{ID: s.RunID, Folder: s.RunFolder, Group: groupOfFolder(s.RunFolder)}
		behind = append(behind, behindRun{run: run, spent: a.spent})
	}
	return behind, damaged, nil
}

// copyLedger copies the daily files into memory.
func copyLedger(ctx context.Context, st workspace.Storage) (workspace.Storage, error) {
	mem := workspace.NewMem()
	for _, scope := range []string{costs.ScopeExecution, costs.ScopeEvaluation} {
		if err := copyFolder(ctx, st, mem, workspace.CostsDir+"/"+scope); err != nil {
			return nil, err
		}
	}
	return mem, nil
}

func copyFolder(ctx context.Context, from, to workspace.Storage, name string) error {
	entries, err := from.ReadDir(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		file := name + "/" + e.Name()
		if e.IsDir() {
			if err := copyFolder(ctx, from, to, file); err != nil {
				return err
			}
			continue
		}
		if path.Ext(file) != ".json" {
			continue
		}
		data, err := readIfExists(ctx, from, file)
		if err != nil {
			return err
		}
		if data == nil {
			continue
		}
		if err := to.WriteFile(ctx, file, data, workspace.Lazy); err != nil {
			return err
		}
	}
	return nil
}
