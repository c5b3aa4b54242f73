//go:build race

package main

// foldersToCheck is small where every folder starts a server that is built with
// the race detector; the figures are checked without it.
const foldersToCheck = 5
