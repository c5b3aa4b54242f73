//go:build !race

package main

// foldersToCheck is how many generated folders go through each model.
const foldersToCheck = 50
