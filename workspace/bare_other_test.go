//go:build !linux

package workspace_test

import "os"

func bareSync(f *os.File) error { return f.Sync() }
