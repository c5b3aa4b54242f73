// Command treadle runs the workflow in a folder: see "treadle help".
package main

import "os"

func main() {
	c := &cli{stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv}
	os.Exit(c.main(os.Args[1:]))
}
