// The registry's two most frequent calls, as a team would write them in Go: net/http, pgx with a pool, one transaction per
// request, and the registry's statements.
//
//	pgx -database URL -statements FILE -address HOST:PORT [-certificate FILE -key FILE]
//
// It uses the keys and the JWT issuer of the registry's database.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"

	"../peer"
)

// A statement of the registry: its text and the names of its parameters.
type statement struct {
	Path       string   `json:"path"`
	SQL        string   `json:"sql"`
	Parameters []string `json:"parameters"`
}

// values are a request's parameters, by name.
type values map[string]interface{}

func (s *statement) arguments(v values) []interface{} {
	arguments := make([]interface{}, len(s.Parameters))
	for index, name := range s.Parameters {
		arguments[index] = v[name]
	}
	return arguments
}

// readStatements reads a statement from each line.
func readStatements(path string) (map[string][]*statement, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	all := map[string][]*statement{}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		s := new(statement)
		if err := json.Unmarshal(scanner.Bytes(), s); err != nil {
			return nil, err
		}
		all[s.Path] = append(all[s.Path], s)
	}
	return all, scanner.Err()
}

func main() {
	database := flag.String("database", "", "connection string")
	statements := flag.String("statements", "", "a file of the registry's statements")
	connections := flag.Int("connections", 16, "connections to Postgres")
	flag.Parse()

	texts, err := readStatements(*statements)
	if err != nil {
		log.Fatal(err)
	}
	access, err := peer.ReadAccess(context.Background(), *database)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := peer.Connect(context.Background(), *database, *connections)
	if err != nil {
		log.Fatal(err)
	}
	service := &service{pool: pool, statements: texts}
	if err := service.readApp(context.Background()); err != nil {
		log.Fatal(err)
	}
	peer.Serve(service, access)
}
