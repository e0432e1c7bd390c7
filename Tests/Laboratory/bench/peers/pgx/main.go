// The registry's two hottest calls as a team would write them by hand in Go: net/http, pgx and a pool, one transaction
// a request, the statements of the registry itself.
//
//	pgx -database URL -statements FILE -address HOST:PORT [-certificate FILE -key FILE]
//
// Keys and the issuer of JWTs are those that the registry's database has.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"regexp"
	"strconv"

	"../peer"
)

// A statement of the registry: its text and what goes into each of its parameters.
type statement struct {
	Path       string `json:"path"`
	SQL        string `json:"sql"`
	Parameters []struct {
		Name string `json:"name"`
		Type int    `json:"type"`
	} `json:"parameters"`
}

// values are a request's parameters by name.
type values map[string]interface{}

func (s *statement) arguments(v values) []interface{} {
	arguments := make([]interface{}, len(s.Parameters))
	for index, parameter := range s.Parameters {
		if value, ok := v[parameter.Name]; ok {
			arguments[index] = value
		} else {
			arguments[index] = "{NULL}"
		}
	}
	return arguments
}

var typeNames = map[int]string{
	17: "bytea", 20: "bigint", 25: "text", 1186: "interval",
	1000: "boolean[]", 1001: "bytea[]", 1009: "text[]", 1185: "timestamptz[]", 3807: "jsonb[]",
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// readStatements reads the lines of `pushreg statements`. The registry declares the types of parameters when it
// prepares; pgx lets the server guess them, so they are written into the text.
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
		s.SQL = placeholder.ReplaceAllStringFunc(s.SQL, func(name string) string {
			number, _ := strconv.Atoi(name[1:])
			return name + "::" + typeNames[s.Parameters[number-1].Type]
		})
		all[s.Path] = append(all[s.Path], s)
	}
	return all, scanner.Err()
}

func main() {
	database := flag.String("database", "", "connection string")
	statements := flag.String("statements", "", "the output of pushreg statements")
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
