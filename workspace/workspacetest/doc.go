// Package workspacetest is the test kit of package workspace.
//
// [TestStorage] is the conformance suite for whoever writes a storage of their
// own. [Faulty] lets a storage fail, or its process die, at the nth change.
// [Counting] counts what is asked of a storage, for tests that say how many syncs
// a step may cost.
package workspacetest
