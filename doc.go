// Package treadle holds the documentation of the module.
package treadle
